"""A table or a tree that a person edited as CSV or XLSX, read back: what changed is the person's, what did not stays as it was.

Only what differs from what was written counts as a change. What cannot be taken is named, and nothing else is lost by it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from assistant.document import STATUSES, Cell, Column, Document, Status
from assistant.errors import UsageError
from assistant.export.escape import CONTROL, FORMULA_SIGNS, plain, sheet, shortened
from assistant.export.exported import EXPORTED, Was, cell_mark, letter, path_mark, read_row
from assistant.export.layout import GROUP, turned
from assistant.export.markdown import shown
from assistant.export.sheets import FROM
from assistant.export.tree import FACET, LEVELS, UNASSIGNED, facets, paths
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
    """The cells that a person changed, by key and column id; how many changed elsewhere since and stay so; and what could not be taken."""

    cells: dict[tuple[str, str], Cell]
    odd: tuple[str, ...]
    newer: int = 0


@dataclass(frozen=True, slots=True)
class Moves:
    """The papers that a person moved, each with the node it goes to (one in each facet); how many moved elsewhere since and stay there; the rest."""

    nodes: tuple[tuple[str, str], ...]
    odd: tuple[str, ...]
    newer: int = 0


class Grid(NamedTuple):
    """A file as a table: where each column stands, the rows that hold anything, and what a row and a column of it are called in the file."""

    head: Mapping[str, int]
    lines: Sequence[tuple[int, list[str]]]
    row: str = "row"

    def said(self, line: Sequence[str], name: str) -> str:
        """What a row has in a column; nothing where there is no such column."""
        return line[self.head[name]] if name in self.head else ""


def changed_cells(path: Path, document: Document, present: Mapping[str, str]) -> CellEdits:
    """What a file changes in a table; `present` gives the key of today for each older one. Raises UsageError and UnreadableFile.

    A cell that the file has as it was exported is left as it is now; one that was changed here and there is named, not taken.
    """
    grid = _read(path, MAIN["table"])
    columns, odd = _columns(grid.head, document.columns)
    rows = {row.key: row for row in document.rows}
    cells: dict[tuple[str, str], Cell] = {}
    newer: set[tuple[str, str]] = set()
    for number, line in grid.lines:
        key = _key(line[grid.head["key"]], present)
        if key not in rows:
            odd.append(f"{path.name}, {grid.row} {number}: no paper of the table has the key {key!r}; nothing was taken from this {grid.row}")
            continue
        was = read_row(grid.said(line, EXPORTED))
        for column, at in columns:
            old, text = rows[key].cells.get(column.id), line[at]
            status = next((line[place] for name, place in grid.head.items() if _flat(name) == _flat(f"{column.name}: status")), "")
            where = f"{path.name}, {grid.row} {number} ({key}), {column.name}"
            before = was.get(column.id)
            is_newer = before is not None and not _is_still(old, before, column)
            if before is not None and cell_mark(text, column) == before.mark and status[:1] in {"", before.status}:
                newer |= {(key, column.id)} if is_newer else set()
                continue
            # a status that the reader left says nothing of a value that they wrote, or that came since
            made = _changed(old, text, "" if before and status[:1] == before.status else status, column)
            if isinstance(made, Cell) and is_newer:
                odd.append(f"{where}: changed here to {shown(made)!r}, and since the export to {shown(old)!r}, which stays; --set it, or export anew")
            elif isinstance(made, Cell) and cells.get((key, column.id), made) != made:
                odd.append(f"{where}: {shown(made)!r}, but another {grid.row} of this paper says {shown(cells[key, column.id])!r}, which was taken")
            elif isinstance(made, Cell):
                cells[key, column.id] = made
            elif made:
                odd.append(f"{where}: {made}")
    return CellEdits(cells, tuple(odd), len(newer))


def _is_still(cell: Cell | None, was: Was, column: Column) -> bool:
    """Whether a cell is what it was when it was exported, in either form that a file gives it."""
    forms = {shown(cell), str(cell.value) if cell else ""}
    return letter(cell) == was.status and was.mark in {cell_mark(form, column) for form in forms}


def moved_papers(path: Path, document: Document, present: Mapping[str, str]) -> Moves:
    """Which papers stand at another node in a file than in the tree. Raises UsageError and UnreadableFile.

    A paper that the file has where it was exported stays where it is now; one that was moved here and there is named, not taken.
    """
    grid = _read(path, MAIN["taxonomy"])
    levels = sorted(at for name, at in grid.head.items() if name in LEVELS or LEVEL.fullmatch(name))
    if not levels:
        raise UsageError(f"{path}: no column {LEVELS[0]!r}; a tree is read from the CSV or XLSX that was exported")
    places = Places.of(document)
    levels = [grid.head[FACET], *levels] if places.facets and FACET in grid.head else levels
    moved: dict[tuple[str, str], str] = {}
    odd: list[str] = []
    newer = 0
    for number, line in grid.lines:
        key, said = _key(line[grid.head["key"]], present), [line[at] for at in levels if line[at]]
        was_mark, _, was = grid.said(line, EXPORTED).partition(" ")
        facet, target = places.meant(said)
        here = places.now.get((key, facet), "")
        if was_mark == path_mark(said):
            newer += grid.said(line, "rank") in {"", "1"} and here != was
            continue
        reason = _cannot_move(places, key, said, was if was_mark else None)
        if grid.said(line, "rank") not in {"", "1"}:
            reason = f"a further place is not read from a file; `taxonomy NAME file {key} NODE...` files it" if was_mark else ""
        elif not reason and moved.get((key, facet), target) != target:
            reason = f"it stands at {' / '.join(said)!r} here, but at {moved[key, facet]!r} in another row, which was taken"
        elif not reason and target != here:
            moved[key, facet] = target
        odd += [f"{path.name}, row {number} ({key}): {reason}"] if reason else []
    return Moves(tuple((key, node) for (key, _), node in moved.items()), tuple(odd), newer)


class Places(NamedTuple):
    """A tree as a file names it: each node by its labels, and where each paper stands now, by facet where there are several."""

    nodes: Mapping[tuple[str, ...], str]
    facets: Sequence[str]
    facet_of: Mapping[str, str]
    now: Mapping[tuple[str, str], str]
    papers: frozenset[str]

    @classmethod
    def of(cls, document: Document) -> "Places":
        """The places of a tree."""
        several = facets(document)
        facet_of = {node.id: node.facet or document.name for node in document.nodes} if several else {}
        return cls(
            {tuple(map(_plain, labels)): node for node, labels in paths(document).items()},
            several,
            facet_of,
            {(one.key, facet_of.get(one.node, "")): one.node for one in document.assignments if one.rank == 1},
            frozenset({one.key for one in document.assignments} | {one.key for one in document.unassigned}),
        )

    def meant(self, said: Sequence[str]) -> tuple[str, str]:
        """The facet and the node that labels name; nothing where they name none."""
        labels = tuple(map(_plain, said))
        node = self.nodes.get(labels, "")
        return self.facet_of.get(node, next((name for name in self.facets if labels[:1] == (_plain(name),)), "")), node


def _cannot_move(places: Places, key: str, said: Sequence[str], was: str | None) -> str:
    """Why a paper cannot be filed where a file has it; nothing where it can. `was` is its node at the export, where that is known."""
    facet, target = places.meant(said)
    here = places.now.get((key, facet), "")
    if key not in places.papers:
        return f"no paper of the tree has the key {key!r}"
    if not target and (not said or said[-1].casefold() == UNASSIGNED):
        return "it stays where it is; a paper is filed under a node, and taken out by hand in the tree's file" if here else ""
    if not target:
        return f"there is no node {' / '.join(said)!r}; add it to the tree first"
    if was is not None and here not in {was, target}:
        return f"moved here to {' / '.join(said)!r}, and since the export to {here or UNASSIGNED!r}, where it stays; `file` it by hand, or export anew"
    return ""


def _read(path: Path, name: str) -> Grid:
    """Where each column of the header stands, and the rows that hold anything, numbered as a spreadsheet does.

    A table that is turned is turned back; the headings of groups, which stand before the keys, are left out.
    """
    rows = [[_unguarded(cell) for cell in row] for row in sheet_rows(path, name)]
    wide = max(map(len, rows), default=0)
    rows = [[*row, *[""] * wide][:wide] for row in rows]
    is_turned = [row[0] for row in rows if row[:1] != [GROUP]][:3] == ["key", "title", "year"] and "title" not in rows[0]
    rows = turned(rows) if is_turned else rows
    if rows and rows[0][:2] == [GROUP, "key"]:
        rows = [row[1:] for row in rows]
    if not rows or "key" not in rows[0]:
        raise UsageError(f"{path}: its first row has no column 'key'; a table is read from the CSV or XLSX that was exported")
    lines = [(number, row) for number, row in enumerate(rows[1:], 2) if any(row)]
    return Grid({name: at for at, name in reversed(list(enumerate(rows[0]))) if name}, lines, "column" if is_turned else "row")


def _columns(head: Mapping[str, int], columns: Sequence[Column]) -> tuple[list[tuple[Column, int]], list[str]]:
    """The columns of the table that the file has, with their places, and what is said of the others."""
    found = []
    known = {"key", "title", "year", FROM, EXPORTED}
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
