"""A stored table looked at: sorted, filtered, grouped, counted, and where papers contradict each other. No model is asked.

A paper that states nothing in a column is never taken for one that has none of it: it sorts last, fits no `!=`, and is
counted apart.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from assistant.document import Cell, Cite, Column, Coverage, Document, Group, Measure, Row
from assistant.errors import UsageError
from assistant.measures import every_measure
from assistant.numbers import numbers
from assistant.polarity import OPPOSITE, SENSES, clashes
from assistant.shapes import Json, cites_json
from assistant.tables import alike, nearest
from store.keywords import stems
from store.normalize import folded

CONDITION = re.compile(r"(?P<name>[^=!<>~]+?)\s*(?P<sign>!=|<=|>=|=|<|>|~)\s*(?P<value>.*)", re.DOTALL)
TREE: Final = "node:"
NONE: Final = "none"
"""What is shown, and counted, where a paper says that there is none."""
NOT_READ: Final = "not read"
SAME_SUBJECT: Final = 0.75
"""Two numbers are of one measure and condition where so many of the words around them stand around both."""
ENOUGH_WORDS = {True: 2, False: 3}
"""Words that two numbers must share, with a unit and without one."""
SAME_MATTER: Final = 0.6
"""Two sentences are of one matter where so many of the content words of the shorter stand in both."""
LEAST_MATTER: Final = 4


class Told(NamedTuple):
    """What a paper tells in a field: its values, or why it has none; and its number where it has one."""

    status: str
    values: tuple[str, ...] = ()
    number: Measure | None = None
    cites: tuple[Cite, ...] = ()


class Field(NamedTuple):
    """Something a table can be sorted, filtered or grouped by: a column, the year, the title, or the nodes of a tree."""

    name: str
    of: Callable[[Row], Told]
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """The papers that have a value, or two values together."""

    value: str
    by: str
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Counts:
    """How many papers have which value, of one field or of two against each other.

    `apart` are the papers that are not counted, with the reason; `values` and `by_values` are those of the two fields, in order.
    """

    field: str
    by: str
    values: tuple[str, ...]
    by_values: tuple[str, ...]
    tallies: tuple[Tally, ...]
    apart: tuple[tuple[str, str], ...]

    @property
    def gaps(self) -> tuple[tuple[str, str], ...]:
        """The values, or pairs of values, that no paper of the table has; `other` and none are no values that could be missing."""
        have = {(tally.value, tally.by) for tally in self.tallies}
        pairs = [(value, by) for value in self.values for by in self.by_values or ("",)]
        return tuple((value, by) for value, by in pairs if (value, by) not in have and not {value, by} & {"other", NONE})


@dataclass(frozen=True, slots=True)
class Side:
    """One paper's side of a disagreement: what it says, and the sentences that say so."""

    key: str
    said: str
    cites: tuple[Cite, ...]


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Papers that say opposite things in one column: `yes/no`, other `numbers` of one thing, or the other `direction`."""

    column: str
    kind: str
    about: str
    sides: tuple[Side, ...]


def field_of(document: Document, said: str, places: Mapping[str, Mapping[str, tuple[str, ...]]] | None = None) -> Field:
    """The field that a person names; `places` are, by tree, the nodes of each paper. Raises UsageError with the nearest."""
    wanted = folded(said)
    if column := next((column for column in document.columns if wanted in {folded(column.id), folded(column.name)}), None):
        name, order = column.id, ("yes", "no") if column.type == "yes/no" else column.vocabulary
        return Field(column.name, lambda row: _told(row.cells.get(name)), order)
    if said.startswith(TREE) and places and said.removeprefix(TREE) in places:
        filed = places[said.removeprefix(TREE)]
        order = tuple(dict.fromkeys(node for nodes in filed.values() for node in nodes))
        return Field(said, lambda row: Told("stated", filed[row.key]) if filed.get(row.key) else Told("unassigned"), order)
    plain: dict[str, Callable[[str], str]] = {
        "key": lambda key: key,
        "title": lambda key: document.sources[key].title if key in document.sources else "",
        "year": lambda key: document.sources[key].year if key in document.sources else "",
    }
    if wanted in plain:
        return Field(wanted, lambda row: _plain(plain[wanted](row.key)))
    known = [*(name for column in document.columns for name in (column.name, column.id)), *plain, *(f"{TREE}{name}" for name in places or {})]
    raise UsageError(f"the table has no column {said!r}{nearest(said, known)}")


def sorted_by(document: Document, field: Field, *, downwards: bool = False) -> Document:
    """The rows in the order of a field, ties by key; papers that tell nothing there come last either way."""

    def place(row: Row) -> tuple[int, int, str, float, str]:
        told = field.of(row)
        if told.status != "stated":
            return (1 if told.status == "absent" else 2, 0, "", 0.0, "")
        if told.number:
            return (0, 0, told.number.kind, told.number.base, "")
        value = told.values[0] if told.values else ""
        at = field.order.index(value) if value in field.order else len(field.order)
        return (0, 1 + at, "", 0.0, folded(" ".join(told.values)) or value)

    last = [row for row in document.rows if place(row)[0]]
    first = sorted((row for row in document.rows if not place(row)[0]), key=lambda row: row.key)
    first.sort(key=place, reverse=downwards)
    return replace(document, rows=(*first, *sorted(last, key=lambda row: (place(row), row.key))))


def grouped(document: Document, field: Field) -> Document:
    """The table with its rows in groups: a paper stands in the group of each of its values, or in the one of those that tell none."""
    groups: dict[str, list[str]] = {}
    without: dict[str, list[str]] = {}
    for row in document.rows:
        told = field.of(row)
        for value in told.values or ([NONE] if told.status == "absent" else []):
            groups.setdefault(value, []).append(row.key)
        if not told.values and told.status != "absent":
            without.setdefault(told.status, []).append(row.key)
    ordered = [value for value in _ordered(field, {value: len(keys) for value, keys in groups.items()}) if value in groups]
    every = [Group(value, tuple(groups[value])) for value in ordered] + [Group(f"({status})", tuple(keys)) for status, keys in sorted(without.items())]
    rows = {row.key: row for row in document.rows}
    return replace(document, groups=tuple(every), rows=tuple(rows[key] for key in dict.fromkeys(key for group in every for key in group.keys)))


def where(document: Document, conditions: Sequence[str], field: Callable[[str], Field]) -> Document:
    """The rows that fit all conditions; the others stand in the coverage with the condition that they do not fit."""
    tests = [_test(document, words, field) for words in conditions]
    out = {row.key: words for row in document.rows for words, fits in zip(conditions, tests, strict=True) if not fits(row)}
    rows = tuple(row for row in document.rows if row.key not in out)
    coverage = tuple(Coverage(one.key, (), f"does not fit {out[one.key]}") if one.key in out else one for one in document.coverage)
    cells = [cell for row in rows for cell in row.cells.values()]
    gone = tuple(f"{key}, " for key in out)
    report = replace(
        document.report,
        statements=len(cells),
        checked_by_code=sum(bool(cell.cites) for cell in cells),
        not_checked=sum(not cell.cites for cell in cells),
        marked=tuple(one for one in document.report.marked if not (gone and one.text.startswith(gone))),
        blocked=tuple(one for one in document.report.blocked if not (gone and one.text.startswith(gone))),
    )
    return replace(document, rows=rows, coverage=coverage, report=report)


def counted(document: Document, field: Field, by: Field | None = None) -> Counts:
    """How many papers have which value; with a second field, how many have which two together."""
    tallies: dict[tuple[str, str], list[str]] = {}
    apart: list[tuple[str, str]] = []
    seen: dict[str, int] = {}
    seen_by: dict[str, int] = {}
    for row in document.rows:
        one, other = field.of(row), by.of(row) if by else Told("stated", ("",))
        for name, told, tally in ((field.name, one, seen), (by.name if by else "", other, seen_by)):
            for value in _values(told):
                tally[value] = tally.get(value, 0) + 1
            if not _values(told):
                apart.append((row.key, f"{name}: {told.status}"))
        for value in _values(one):
            for beside in _values(other):
                tallies.setdefault((value, beside), []).append(row.key)
    values = _ordered(field, seen)
    by_values = _ordered(by, seen_by) if by else ()
    made = [Tally(value, beside, tuple(keys)) for value in values for beside in by_values or ("",) if (keys := tallies.get((value, beside)))]
    return Counts(field.name, by.name if by else "", values, by_values, tuple(made), tuple(apart))


def disagreements(document: Document) -> list[Disagreement]:
    """What papers say against each other, column by column, with the sentences of both sides."""
    found: list[Disagreement] = []
    for column in document.columns:
        cells = [(row.key, row.cells[column.id]) for row in document.rows if column.id in row.cells]
        if column.type == "yes/no":
            found += _answers(column, cells)
        else:
            found += _figures(column, cells)
            found += _directions(column, cells) if column.type == "text" else []
    return found


def counts_json(name: str, counts: Counts) -> Json:
    """Counts with the fields that `--json` promises; `by` is null in counts of one field."""
    return {
        "name": name,
        "column": counts.field,
        "by": counts.by or None,
        "counts": [{"value": one.value, "by": one.by or None, "count": len(one.keys), "keys": list(one.keys)} for one in counts.tallies],
        "gaps": [{"value": value, "by": by or None} for value, by in counts.gaps],
        "not_counted": [{"key": key, "reason": reason} for key, reason in counts.apart],
    }


def disagreements_json(name: str, found: Sequence[Disagreement]) -> Json:
    """Disagreements with the fields that `--json` promises."""
    return {
        "name": name,
        "disagreements": [
            {
                "column": one.column,
                "kind": one.kind,
                "about": one.about,
                "sides": [{"key": side.key, "said": side.said, "cites": cites_json(side.cites)} for side in one.sides],
            }
            for one in found
        ],
    }


def _answers(column: Column, cells: Sequence[tuple[str, Cell]]) -> list[Disagreement]:
    """Yes against no; a paper that says it has none of it says no."""
    sides = [
        Side(key, "yes" if cell.value is True else "no", cell.cites)
        for key, cell in cells
        if cell.status == "absent" or (cell.status == "stated" and isinstance(cell.value, bool))
    ]
    ordered = tuple(sorted(sides, key=lambda side: (side.said == "no", side.key)))
    return [Disagreement(column.name, "yes/no", column.question, ordered)] if len({side.said for side in sides}) == 2 else []


def _figures(column: Column, cells: Sequence[tuple[str, Cell]]) -> list[Disagreement]:
    """Numbers of one kind and about the same words that differ, each pair of papers once."""
    told = [(key, cell, [(one, stems(one.of)) for one in every_measure(cell, column)]) for key, cell in cells]
    found = []
    for at, (key, cell, mine) in enumerate(told):
        for other_key, other_cell, theirs in told[at + 1 :]:
            pairs = [(one, other, words & others) for one, words in mine for other, others in theirs if one.kind == other.kind and _one_thing(one, words, others)]
            differing = [pair for pair in pairs if abs(pair[0].base - pair[1].base) > 1e-9 * max(abs(pair[0].base), abs(pair[1].base))]
            if differing and len(differing) == len(pairs):
                one, other, shared = max(differing, key=lambda pair: len(pair[2]))
                sides = (Side(key, _figure(one), cell.cites), Side(other_key, _figure(other), other_cell.cites))
                found.append(Disagreement(column.name, "numbers", " ".join(sorted(shared)), sides))
    return found


def _one_thing(one: Measure, words: frozenset[str], others: frozenset[str]) -> bool:
    shared = len(words & others)
    return shared >= ENOUGH_WORDS[bool(one.kind)] and shared >= SAME_SUBJECT * len(words | others)


def _figure(one: Measure) -> str:
    return f"{one.value:g} {one.unit}".strip() + (f" ({one.of})" if one.of else "")


def _directions(column: Column, cells: Sequence[tuple[str, Cell]]) -> list[Disagreement]:
    """Sentences about one matter of which one says more where the other says less; a negation alone is too often about another thing."""
    told = [(key, cell, " ".join(cite.quote for cite in cell.cites)) for key, cell in cells if cell.status == "stated" and cell.cites]
    held = [stems(quote) for _, _, quote in told]
    found = []
    for at, (key, cell, quote) in enumerate(told):
        for beside in range(at + 1, len(told)):
            shared = held[at] & held[beside]
            if len(shared) < LEAST_MATTER or len(shared) < SAME_MATTER * min(len(held[at]), len(held[beside])):
                continue
            other_key, other_cell, other = told[beside]
            if any(SENSES.get(clash.word.lower()) in OPPOSITE for clash in clashes(quote, (other,))):
                sides = (Side(key, cell.raw, cell.cites), Side(other_key, other_cell.raw, other_cell.cites))
                found.append(Disagreement(column.name, "direction", " ".join(sorted(shared)), sides))
    return found


def _told(cell: Cell | None) -> Told:
    if cell is None:
        return Told(NOT_READ)
    if cell.status != "stated" or cell.value is None:
        return Told(cell.status, cites=cell.cites)
    if isinstance(cell.value, tuple):
        return Told("stated", cell.value, None, cell.cites)
    if isinstance(cell.value, bool):
        return Told("stated", ("yes" if cell.value else "no",), None, cell.cites)
    if isinstance(cell.value, float | int):
        number = cell.number or Measure(float(cell.value), base=float(cell.value))
        return Told("stated", (f"{number.value:g} {number.unit}".strip(),), number, cell.cites)
    return Told("stated", (cell.value,), cell.number, cell.cites)


def _plain(text: str) -> Told:
    number = float(text) if text.isdigit() else None
    return Told("stated", (text,), Measure(number, base=number) if number is not None else None) if text else Told("not stated")


def _values(told: Told) -> tuple[str, ...]:
    return (NONE,) if told.status == "absent" else tuple(dict.fromkeys(told.values))


def _ordered(field: Field, counts: Mapping[str, int]) -> tuple[str, ...]:
    """Values in the order of the vocabulary, else the most frequent first; figures by size; `other` and none last."""
    last = [value for value in ("other", NONE) if value in counts]
    rest = [value for value in counts if value not in {*field.order, *last}]
    figures = all(numbers(value) for value in rest)
    rest.sort(key=lambda value: (numbers(value)[0].value if figures else -counts[value], folded(value)))
    return (*field.order, *rest, *last)


def _test(document: Document, words: str, field: Callable[[str], Field]) -> Callable[[Row], bool]:
    """A condition as a test of rows; raises UsageError where it cannot be read, or compares what has no numbers."""
    found = CONDITION.fullmatch(words.strip())
    if found is None or not found["value"].strip():
        raise UsageError(f"--where {words!r}: write 'COLUMN=value', or with != < <= > >= or ~ (holds these words)")
    column, sign, value = field(found["name"].strip()), found["sign"], found["value"].strip()
    if sign in {"=", "!="}:
        return lambda row: _equals(column.of(row), value, wanted=sign == "=")
    if sign == "~":
        return lambda row: any(value.casefold() in one.casefold() for one in column.of(row).values)
    bounds = numbers(value)
    if not bounds and not re.fullmatch(r"-?\d+(\.\d+)?", value):
        raise UsageError(f"--where {words!r}: {value!r} is no number")
    if document.rows and not any(column.of(row).number for row in document.rows):
        raise UsageError(f"--where {words!r}: {column.name} has no numbers to compare; where they stand in words, --tidy makes them sortable")
    kind, base, bare = (bounds[0].unit, bounds[0].value, bounds[0].bare) if bounds else ("", float(value), float(value))

    def fits(row: Row) -> bool:
        number = column.of(row).number
        if number is None or (kind and number.kind != kind):
            return False
        mine, bound = (number.base, base) if kind else (number.value, bare)
        return {"<": mine < bound, "<=": mine <= bound, ">": mine > bound, ">=": mine >= bound}[sign]

    return fits


def _equals(told: Told, value: str, *, wanted: bool) -> bool:
    """Whether a paper tells this value, or another; one that tells nothing fits neither, unless that is what is asked for."""
    if value in {"not stated", "full text needed", "absent", "stated", NOT_READ, "unassigned"} and value not in told.values:
        return (told.status == value) == wanted
    if told.status == "absent":
        return (value == NONE) == wanted
    if told.status != "stated":
        return False
    return (alike(value) in {alike(one) for one in told.values}) == wanted

