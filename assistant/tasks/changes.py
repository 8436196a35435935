"""What a table was before its last run, and what is different now: papers, columns, and cell by cell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from assistant.document import Cell, Cite, Column, Document, Row
from store.keys import slug
from store.library import Library

TASK: Final = "table-before"
COLUMNS, ROW = "columns", "row"


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that is new, gone or another one; the old and the new as the table shows them, nothing where there was none."""

    key: str
    column: str
    old: str
    new: str
    cites: tuple[Cite, ...] = ()


@dataclass(frozen=True, slots=True)
class ColumnChange:
    """A column that is new, gone, or asks something else."""

    column: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different since the last run that changed anything; `is_known` is False where the table never ran."""

    is_known: bool
    new_papers: tuple[str, ...] = ()
    gone_papers: tuple[str, ...] = ()
    columns: tuple[ColumnChange, ...] = ()
    cells: tuple[CellChange, ...] = ()


def keep_state(library: Library, now: Document, *, is_over: bool) -> None:
    """Keeps the table as it is before a run; not where the run has nothing to do, nor where it goes on with one that broke off."""
    name = slug(now.name)
    have = library.catalog.findings(TASK, name)
    last = json.loads(have[COLUMNS, 0]) if (COLUMNS, 0) in have else None
    if is_over or (last and not last["whole"]):
        return
    with library.catalog.writing():
        library.catalog.drop_findings(TASK, name, ROW)
        asked = [[column.id, asks(column)] for column in now.columns]
        library.catalog.keep_finding(TASK, name, COLUMNS, 0, json.dumps({"whole": False, "columns": asked}, ensure_ascii=False))
        for row in now.rows:
            cells = [[column, said(cell)] for column, cell in row.cells.items()]
            library.catalog.keep_finding(TASK, name, ROW, library.catalog.number(row.key), json.dumps(cells, ensure_ascii=False))


def state_is_whole(library: Library, name: str) -> None:
    """The run since the kept state went through: the next one keeps a state of its own."""
    last = _last(library, name)
    if last and not last["whole"]:
        with library.catalog.writing():
            library.catalog.keep_finding(TASK, slug(name), COLUMNS, 0, json.dumps(last | {"whole": True}, ensure_ascii=False))


def changes(library: Library, now: Document) -> Changes:
    """What the table shows otherwise than before its last run; calls no model."""
    last = _last(library, now.name)
    if last is None:
        return Changes(is_known=False)
    have = library.catalog.findings(TASK, slug(now.name))
    keys = library.catalog.keys([number for item, number in have if item == ROW])
    before = {keys[number]: dict(json.loads(data)) for (item, number), data in have.items() if item == ROW and number in keys}
    rows = {row.key: row for row in now.rows}
    found = [change for row in now.rows for change in _row_changes(row, before.get(row.key, {}), now.columns)]
    # papers that had no cell yet are new to the table, whether or not they were in the library before
    new = tuple(key for key, row in rows.items() if row.cells and not before.get(key))
    gone = tuple(sorted(key for key, cells in before.items() if cells and key not in rows))
    return Changes(True, new, gone, tuple(_column_changes(dict(last["columns"]), now.columns)), tuple(found))


def asks(column: Column) -> str:
    """A column's question with its type, unit and words."""
    more = [column.type, *([column.unit] if column.unit else []), *([", ".join(column.vocabulary)] if column.vocabulary else [])]
    return f"{column.question} ({'; '.join(more)})"


def said(cell: Cell) -> str:
    """A cell in words: its value and unit, or which kind of no."""
    if cell.status != "stated":
        return f"({cell.status})"
    if isinstance(cell.value, bool):
        return "yes" if cell.value else "no"
    if cell.number and not isinstance(cell.value, str):
        return f"{cell.number.value:g} {cell.number.unit}".strip()
    return "; ".join(cell.value) if isinstance(cell.value, tuple) else f"{cell.value:g}" if isinstance(cell.value, float) else str(cell.value)


def _last(library: Library, name: str) -> dict[str, Any] | None:
    data = library.catalog.findings(TASK, slug(name)).get((COLUMNS, 0))
    found: dict[str, Any] | None = json.loads(data) if data else None
    return found


def _row_changes(row: Row, before: dict[str, str], columns: Sequence[Column]) -> list[CellChange]:
    found = []
    for column in columns:
        cell = row.cells.get(column.id)
        old, new = before.get(column.id, ""), said(cell) if cell else ""
        if old != new:
            found.append(CellChange(row.key, column.id, old, new, cell.cites if cell else ()))
    return found


def _column_changes(old: dict[str, str], columns: Sequence[Column]) -> list[ColumnChange]:
    now = {column.id: asks(column) for column in columns}
    return [ColumnChange(name, old.get(name, ""), now.get(name, "")) for name in dict.fromkeys([*old, *now]) if old.get(name) != now.get(name)]
