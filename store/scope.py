"""Which papers a search, a list or a task is about."""

import json
from dataclasses import dataclass

from store.catalog import Catalog, Members

CONSIDERED = ("candidate", "included")
"""Papers of these statuses are searched and read unless another is asked for; an excluded one is not."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which papers a search may return; empty fields do not restrict, but excluded and removed papers have to be asked for.

    A scope that no paper fits finds nothing. `keys` None is no restriction, an empty tuple is no paper.
    """

    keys: tuple[str, ...] | None = None
    since: str = ""
    until: str = ""
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    nodes: tuple[tuple[int, ...], ...] = ()
    """The papers that stand at each of some taxonomy nodes; several are all of them together."""

    def numbers(self, catalog: Catalog) -> list[int] | None:
        """The numbers of the papers in scope in order of key, or None where all are."""
        conditions, values = self._conditions(catalog)
        return catalog.numbers(" AND ".join(conditions), values) if conditions else None

    def members(self, catalog: Catalog) -> Members | None:
        """The same, remembered while the library does not change."""
        return catalog.remembered(self, lambda: self.numbers(catalog))

    def _conditions(self, catalog: Catalog) -> tuple[list[str], list[str]]:
        conditions: list[str] = []
        values: list[str] = []
        if self.keys is not None:
            conditions.append("number IN (SELECT value FROM json_each(?))")
            values.append(json.dumps([catalog.number(key) for key in self.keys]))
        if self.nodes:
            conditions.append("number IN (SELECT value FROM json_each(?))")
            values.append(json.dumps([number for numbers in self.nodes for number in numbers]))
        for sign, date in ((">=", self.since), ("<=", self.until)):
            if date:
                conditions.append(f"date <> '' AND substr(date, 1, {len(date)}) {sign} ?")
                values.append(date)
        for condition, wanted in (
            ("number IN (SELECT paper FROM category WHERE code = ? OR (code > ? || '.' AND code < ? || '/'))", self.categories),
            ("number IN (SELECT paper FROM tag WHERE tag = ?)", self.tags),
            (
                "number IN (SELECT s.paper FROM import i JOIN source s ON s.import = i.id"
                " WHERE i.file = ? OR substr(i.file, -length(?) - 1) = '/' || ?)",
                self.sources,
            ),
        ):
            if wanted:
                conditions.append(f"({' OR '.join([condition] * len(wanted))})")
                values += [value for value in wanted for _ in range(condition.count("?"))]
        if self.statuses or (self.keys is None and catalog.statuses().keys() - set(CONSIDERED)):
            conditions.append(f"status IN ({','.join('?' * len(self.statuses or CONSIDERED))})")
            values += self.statuses or CONSIDERED
        return conditions, values
