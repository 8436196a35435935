"""What a person decided of a table, beside its columns: cells set by hand, and which wordings are one value.

`tables/NAME.toml` has a [[cell]] with key, column and value (or status) for each cell set by hand; `tables/NAME.mapping.toml`
has [value.COLUMN] "wording" = "value", and [unit] COLUMN = "unit". What a model proposes stands beside each, as
`NAME.proposed.toml` and `NAME.mapping.proposed.toml`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.document import STATUSES, Column, Status
from assistant.errors import SettingsError, UsageError
from assistant.files import _tables, _text, _toml, table_file
from assistant.numbers import numbers
from store.keys import slug
from store.normalize import folded

if TYPE_CHECKING:
    from tomlkit import TOMLDocument

Value = str | float | bool | tuple[str, ...] | None
YES, NO = ("yes", "true"), ("no", "false")
LONG_ENOUGH = 7
"""Shorter words that end in -ise (rise, noise) are no verbs with two spellings."""
RESERVED = (".proposed", ".mapping")
NEW_MAPPING = """# Which wordings of this table are one value: on the left what a cell says, on the right what the table shows.
# Yours to edit. Take a line away and the table shows the paper's own wording again; later papers reuse what stands here.
"""


@dataclass(frozen=True, slots=True)
class ByHand:
    """A cell that a person set: `stated` with a value, or one of the three kinds of no."""

    key: str
    column: str
    value: Value
    status: Status = "stated"


@dataclass(frozen=True)
class Wordings:
    """What one column's wordings become; one that is not listed is found by its folded form, among the values too."""

    values: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _folded(self) -> dict[str, str]:
        return {alike(value): value for value in self.values.values()} | {alike(raw): value for raw, value in self.values.items()}

    def value(self, raw: str) -> str:
        """The value of a wording: itself where nothing is said of it."""
        return self.values.get(raw) or self._folded.get(alike(raw)) or raw

    def knows(self, raw: str) -> bool:
        """Whether the wording, or one like it, has a value."""
        return raw in self.values or alike(raw) in self._folded

    @property
    def shown(self) -> tuple[str, ...]:
        """The values, each once, in their order."""
        return tuple(dict.fromkeys(self.values.values()))


@dataclass(frozen=True, slots=True)
class Decisions:
    """Cells set by hand, and by column id the wordings and the unit in which its numbers are shown."""

    by_hand: tuple[ByHand, ...] = ()
    wordings: Mapping[str, Wordings] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)


def alike(text: str) -> str:
    """A form that wordings share which differ in case, hyphens, plural or accents; figures and symbols are kept."""
    words = " ".join(_singular(word) for word in folded(text.replace("-", " ")).split())
    figures = " ".join(f"{number.value:g}{number.unit}" for number in numbers(text))
    signs = "".join(char for char in text if char in "+<>=≤≥±~")
    return f"{words}|{figures}|{signs}" if words else text


def _singular(word: str) -> str:
    """A word without its plural, spelled as in America: policies is policy, optimisation is optimization."""
    plain = re.sub(r"is(e[ds]?|ing|ation)$", r"iz\1", word) if len(word) > LONG_ENOUGH else word
    if len(plain) > 4 and plain.endswith("ies"):
        return f"{plain[:-3]}y"
    return plain[:-1] if len(plain) > 3 and plain.endswith("s") and not plain.endswith(("ss", "us", "is")) else plain


def mapping_file(folder: Path, name: str) -> Path:
    """Where the mapping of a table stands."""
    return table_file(folder, name).with_suffix(".mapping.toml")


def proposed(path: Path) -> Path:
    """Where a proposal beside a person's file stands."""
    return path.with_suffix(".proposed.toml")


def checked_name(name: str) -> str:
    """The name of a table; raises UsageError for one whose file would be another table's mapping or proposal."""
    if slug(name).endswith(RESERVED):
        raise UsageError(f"{name}: a table's name does not end in {' or '.join(RESERVED)}; those are files beside a table")
    return name


def read_decisions(folder: Path, name: str) -> Decisions:
    """What a person decided of a table; nothing where no file is. Raises SettingsError naming the place at fault."""
    path, mapping = table_file(folder, name), mapping_file(folder, name)
    by_hand = read_by_hand(path) if path.exists() else ()
    wordings, units = read_mapping(mapping) if mapping.exists() else ({}, {})
    return Decisions(by_hand, wordings, units)


def read_by_hand(path: Path) -> tuple[ByHand, ...]:
    """The cells of a table's file that were set by hand."""
    cells = []
    for number, fields in enumerate(_tables(path, "cell"), 1):
        where = f"{path}: cell {number}"
        key, column = _text(fields, "key", where), _text(fields, "column", where)
        value, status = fields.get("value"), str(fields.get("status", "stated"))
        if status not in STATUSES:
            raise SettingsError(f"{where} ({key}, {column}): status {status!r} is none of {', '.join(STATUSES)}")
        if status == "stated" and value in (None, "", []):
            raise SettingsError(f"{where} ({key}, {column}): it needs a value, or a status: {', '.join(STATUSES[1:])}")
        found: Value = tuple(map(str, value)) if isinstance(value, list) else float(value) if type(value) is int else value  # type: ignore[assignment]  # TOML has no more
        cells.append(ByHand(key, column, found if status == "stated" else None, status))
    return tuple(cells)


def read_mapping(path: Path) -> tuple[dict[str, Wordings], dict[str, str]]:
    """The wordings of a mapping by column id, and the units; raises SettingsError naming the column at fault."""
    tables = _toml(path)
    unknown = sorted(set(tables) - {"value", "unit"})
    if unknown:
        raise SettingsError(f"{path}: {unknown[0]!r} is neither [value.COLUMN] nor [unit]")
    values, units = tables.get("value", {}), tables.get("unit", {})
    if not isinstance(values, dict) or not all(isinstance(one, dict) for one in values.values()):
        raise SettingsError(f'{path}: write the wordings of a column as [value.COLUMN] and below it "wording" = "value"')
    for column, pairs in values.items():
        for raw, value in pairs.items():
            if not isinstance(value, str) or not value.strip():
                raise SettingsError(f"{path}: [value.{column}] {raw!r}: the value should be text in quotation marks")
    if not isinstance(units, dict) or not all(isinstance(unit, str) for unit in units.values()):
        raise SettingsError(f'{path}: write units as [unit] and below it COLUMN = "unit"')
    return {column: Wordings(pairs) for column, pairs in values.items()}, {column: str(unit) for column, unit in units.items()}


def with_mapping(text: str, values: Mapping[str, Mapping[str, str]], units: Mapping[str, str]) -> str:
    """The text of a mapping with these lines more; what a person wrote there stays, comments too."""
    import tomlkit

    document = _parsed(text or NEW_MAPPING)
    for name, every in (("unit", {"": units}), ("value", values)):
        for column, pairs in every.items():
            if not pairs:
                continue
            if name not in document:
                document[name] = tomlkit.table(is_super_table=bool(column))
            home = document[name]
            if column and column not in home:
                home[column] = tomlkit.table()
            table = home[column] if column else home
            for raw, value in pairs.items():
                if raw not in table:
                    table[raw] = value
    return tomlkit.dumps(document)


def with_cell(text: str, cell: ByHand) -> str:
    """The text of a table's file with this cell set by hand, in the place of the one it had."""
    import tomlkit
    from tomlkit.items import AoT

    document = _parsed(without_cell(text, cell.key, cell.column)[0])
    array = document.get("cell")
    if not isinstance(array, AoT):
        array = tomlkit.aot()
        document["cell"] = array
    table = tomlkit.table()
    value = list(cell.value) if isinstance(cell.value, tuple) else cell.value
    table.update({"key": cell.key, "column": cell.column} | ({"value": value} if cell.status == "stated" else {"status": cell.status}))
    array.append(table)
    return tomlkit.dumps(document)


def without_cell(text: str, key: str, column: str) -> tuple[str, bool]:
    """The text without that cell set by hand, and whether there was one."""
    import tomlkit
    from tomlkit.items import AoT

    document = _parsed(text)
    array = document.get("cell")
    places = [at for at, old in enumerate(array) if (old.get("key"), old.get("column")) == (key, column)] if isinstance(array, AoT) else []
    for at in reversed(places):
        del array[at]  # type: ignore[union-attr]  # it has places
    if places and not array:
        del document["cell"]
    return tomlkit.dumps(document), bool(places)


def with_cells_of(text: str, other: str) -> str:
    """The columns of one text with the cells set by hand of another: a set of columns is taken without its papers."""
    import tomlkit

    document = _parsed(text)
    document.pop("cell", None)
    cells = _parsed(other).get("cell")
    if cells is not None:
        document["cell"] = cells
    return tomlkit.dumps(document)


def given_value(column: Column, said: str) -> tuple[Value, Status]:
    """What a person writes for a cell, in the type of its column; the name of a kind of no is that no. Raises UsageError."""
    words = said.strip()
    if words in STATUSES[1:]:
        return None, words
    if not words:
        raise UsageError(f"{column.name}: write a value, or one of {', '.join(STATUSES[1:])}; --unset gives the model's cell back")
    if column.type == "yes/no":
        if words.lower() not in (*YES, *NO):
            raise UsageError(f"{column.name} is answered by yes or no, not {words!r}")
        return words.lower() in YES, "stated"
    if column.type == "number":
        found = numbers(words)
        try:
            return float(words), "stated"
        except ValueError:
            if len({one.at for one in found}) != 1:
                raise UsageError(f"{column.name} is a number; {words!r} is none") from None
            return found[0].bare, "stated"
    parts = [part.strip() for part in words.split(";") if part.strip()] if column.type == "list" else [words]
    strange = [part for part in parts if column.vocabulary and part not in {*column.vocabulary, "other"}]
    if strange:
        raise UsageError(f"{column.name}: {strange[0]!r} is not in its vocabulary: {'; '.join((*column.vocabulary, 'other'))}")
    return (tuple(parts) if column.type == "list" else words), "stated"


def column_of(columns: Sequence[Column], said: str) -> Column:
    """The column that a person names by id or name; raises UsageError with the nearest."""
    wanted = folded(said)
    for column in columns:
        if wanted in {folded(column.id), folded(column.name)} or slug(said) == column.id:
            return column
    raise UsageError(f"there is no column {said!r}{nearest(said, [name for column in columns for name in (column.name, column.id)])}")


def nearest(said: str, known: Iterable[str]) -> str:
    """What follows a name that is not known: the nearest, or all of them."""
    from difflib import get_close_matches

    names = list(dict.fromkeys(known))
    lower = {name.lower(): name for name in reversed(names)}
    near = get_close_matches(said.lower(), lower, n=1, cutoff=0.5)
    return f"; did you mean {lower[near[0]]!r}?" if near else f"; there are {', '.join(names)}"


def _parsed(text: str) -> "TOMLDocument":
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(text)
    except TOMLKitError as error:
        raise SettingsError(f"a file of this table is not valid TOML ({error}); mend that line") from error
