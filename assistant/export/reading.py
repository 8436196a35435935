"""A table or a tree that a person edited as CSV or XLSX, read back: what changed is the person's, what did not stays as it was.

Only what differs from what was written counts as a change. What cannot be taken is named, and nothing else is lost by it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assistant.document import STATUSES, Cell, Column, Document, Status
from assistant.errors import UsageError
from assistant.export.escape import CONTROL, FORMULA_SIGNS, plain, sheet, shortened
from assistant.export.markdown import shown
from assistant.export.sheets import FROM, UNASSIGNED
from assistant.export.tree import LEVELS, paths
from assistant.export.workbook import LONGEST_CELL, MAIN, WHERE, heading
from store.formats.tables import sheet_rows
from store.normalize import folded

SILENT: dict[str, Status] = {
    "": "not stated", "–": "not stated", "-": "not stated", "not stated": "not stated", "none": "absent", "absent": "absent",
    "see paper": "full text needed", "full text needed": "full text needed",
}  # fmt: skip
"""What a person writes where there is no value, and which kind of no it is."""
YES, NO = frozenset({"yes", "true", "1", "y"}), frozenset({"no", "false", "0", "n"})
NUMBER = re.compile(r"([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(.*)", re.DOTALL)
LEVEL = re.compile(r"level \d+")


@dataclass(frozen=True, slots=True)
class CellEdits:
    """The cells that a person changed, by key and column id, and what could not be taken."""

    cells: dict[tuple[str, str], Cell]
    odd: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Moves:
    """The papers that a person moved, with the node they go to, and what could not be taken."""

    nodes: dict[str, str]
    odd: tuple[str, ...]


def changed_cells(path: Path, document: Document, present: Mapping[str, str]) -> CellEdits:
    """What a file changes in a table; `present` gives the key of today for each older one. Raises UsageError and UnreadableFile."""
    head, lines = _read(path, MAIN["table"])
    columns, odd = _columns(head, document.columns)
    rows = {row.key: row for row in document.rows}
    cells: dict[tuple[str, str], Cell] = {}
    for number, line in lines:
        key = _key(line[head["key"]], present)
        if key not in rows:
            odd.append(f"{path.name}, row {number}: no paper of the table has the key {key!r}; nothing was taken from this row")
            continue
        for column, at in columns:
            old, text = rows[key].cells.get(column.id), line[at]
            status = next((line[place] for name, place in head.items() if _flat(name) == _flat(f"{column.name}: status")), "")
            made = _changed(old, text, status, column)
            if isinstance(made, Cell):
                cells[key, column.id] = made
            if isinstance(made, str):
                odd.append(f"{path.name}, row {number} ({key}), {column.name}: {made}")
    return CellEdits(cells, tuple(odd))


def moved_papers(path: Path, document: Document, present: Mapping[str, str]) -> Moves:
    """Which papers stand at another node in a file than in the tree. Raises UsageError and UnreadableFile."""
    head, lines = _read(path, MAIN["taxonomy"])
    levels = sorted(at for name, at in head.items() if name in LEVELS or LEVEL.fullmatch(name))
    if not levels:
        raise UsageError(f"{path}: no column {LEVELS[0]!r}; a tree is read from the CSV or XLSX that was exported")
    places = {node: tuple(map(_plain, labels)) for node, labels in paths(document).items()}
    nodes = {labels: node for node, labels in places.items()}
    now = {one.key: one.node for one in document.assignments if one.rank == 1}
    papers = {*now, *(one.key for one in document.unassigned)}
    moved: dict[str, str] = {}
    odd: list[str] = []
    for number, line in lines:
        key, labels = _key(line[head["key"]], present), tuple(_plain(line[at]) for at in levels if line[at])
        where = f"{path.name}, row {number} ({key})"
        if line[head["rank"]] not in {"", "1"} if "rank" in head else False:
            continue
        if key not in papers:
            odd.append(f"{path.name}, row {number}: no paper of the tree has the key {key!r}")
        elif labels in {(), (UNASSIGNED,)}:
            odd += [f"{where}: it stays where it is; a paper is filed under a node, and taken out by hand in the tree's file"] if key in now else []
        elif labels not in nodes:
            odd.append(f"{where}: there is no node {' / '.join(line[at] for at in levels if line[at])!r}; add it to the tree first")
        elif nodes[labels] != now.get(key):
            moved[key] = nodes[labels]
    return Moves(moved, tuple(odd))


def _read(path: Path, name: str) -> tuple[dict[str, int], list[tuple[int, list[str]]]]:
    """Where each column of the header stands, and the rows that hold anything, numbered as a spreadsheet does."""
    rows = [[_unguarded(cell) for cell in row] for row in sheet_rows(path, name)]
    if not rows or "key" not in rows[0]:
        raise UsageError(f"{path}: its first row has no column 'key'; a table is read from the CSV or XLSX that was exported")
    wide = len(rows[0])
    lines = [(number, [*row, *[""] * wide][:wide]) for number, row in enumerate(rows[1:], 2) if any(row)]
    return {name: at for at, name in reversed(list(enumerate(rows[0]))) if name}, lines


def _columns(head: Mapping[str, int], columns: Sequence[Column]) -> tuple[list[tuple[Column, int]], list[str]]:
    """The columns of the table that the file has, with their places, and what is said of the others."""
    found = []
    known = {"key", "title", "year", FROM}
    for column in columns:
        wanted = _forms(column.name) | _forms(heading(column))
        called = [name for name in head if _flat(name) in wanted]
        known |= {*called, *_forms(f"{column.name}: status"), *_forms(f"{column.name}: sentences")}
        if called:
            found.append((column, head[called[0]]))
    return found, [f"the table has no column {name!r}, which the file has; nothing was taken from it" for name in head if name not in known and _flat(name) not in known]


def _changed(old: Cell | None, text: str, status: str, column: Column) -> Cell | str | None:
    """The cell as the person has it; nothing where it is as it was, and the reason where it cannot be taken."""
    before = shown(old)
    is_same = _same(text, before, column)
    if is_same and (old is None or status in {"", old.status}):
        return None
    if is_same and status not in STATUSES:
        return f"{status!r} is no status; one of {', '.join(STATUSES)}"
    if is_same and status == "stated":
        return "it is called 'stated', and no value is given; write the value"
    if is_same or text.casefold() in SILENT:
        kind: Status = next(one for one in STATUSES if one == status) if is_same else SILENT[text.casefold()]
        return Cell(None, "", kind, by="person")
    return _valued(text, column)


def _valued(text: str, column: Column) -> Cell | str:
    """A person's value, of the column's type."""
    value: str | float | bool | tuple[str, ...] = text
    if column.type == "number":
        number, rest = NUMBER.fullmatch(text).groups() if NUMBER.fullmatch(text) else ("", text)  # type: ignore[union-attr]  # asked just before
        if not any(char.isdigit() for char in number) or (rest and folded(rest) != folded(column.unit)):
            return f"{text!r} is no number{f' of {column.unit}' if column.unit else ''}; the cell stays as it was"
        value = float(number.replace(",", ""))
    elif column.type == "yes/no":
        if text.casefold() not in YES | NO:
            return f"{text!r} is neither yes nor no; the cell stays as it was"
        value = text.casefold() in YES
    elif column.type == "list":
        value = tuple(part.strip() for part in text.split(";") if part.strip())
    return Cell(value, text, "stated", by="person")


def _same(text: str, before: str, column: Column) -> bool:
    """Whether a cell reads as it was written: a spreadsheet may write 5 as 5.0, and holds no more than so many characters."""
    if _flat(text) in _forms(before):
        return True
    if column.type != "number":
        return False
    try:
        return float(text) == float(before)
    except ValueError:
        return False


def _forms(text: str) -> set[str]:
    """How a text may stand in a file that it was written to."""
    return {_flat(form) for form in (text, sheet(text), shortened(sheet(text), LONGEST_CELL, WHERE))}


def _flat(text: str) -> str:
    return " ".join(CONTROL.sub("", text).split())


def _key(text: str, present: Mapping[str, str]) -> str:
    return present.get(text, text)


def _plain(label: str) -> str:
    return shortened(plain(label), LONGEST_CELL, WHERE).casefold()


def _unguarded(cell: str) -> str:
    """A cell without the apostrophe that kept a spreadsheet from running it."""
    text = cell.strip()
    return text[1:] if text[:1] == "'" and text[1:2] and text[1] in FORMULA_SIGNS else text
