"""What a table was before its last run, and what is different now: papers, columns, and cell by cell."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from assistant.document import Cell, Cite, Column, Document, Row
from assistant.shapes import Json, cites_json
from store.keys import slug
from store.library import Library

TASK: Final = "table-state"
BEFORE, LAST = "before:", "last:"
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


def run_begins(library: Library, now: Document) -> None:
    """Before a run that will ask for cells: what the last run left becomes what the next `changes` are from.

    A run that goes on with one that broke off keeps the state before that one. `now` is the table as it is stored, for a
    table that was filled before states were kept.
    """
    name = slug(now.name)
    have = library.catalog.findings(TASK, name)
    last = _head(have, LAST)
    if last and not last["whole"]:
        return
    with library.catalog.writing():
        if last is None:
            _keep(library, now, LAST, whole=True)
            have = library.catalog.findings(TASK, name)
        for item in (f"{BEFORE}{ROW}", f"{BEFORE}{COLUMNS}"):
            library.catalog.drop_findings(TASK, name, item)
        for (item, number), data in have.items():
            if item.startswith(LAST):
                library.catalog.keep_finding(TASK, name, BEFORE + item.removeprefix(LAST), number, data)
        head = _head(library.catalog.findings(TASK, name), LAST) or {}
        library.catalog.keep_finding(TASK, name, f"{LAST}{COLUMNS}", 0, json.dumps(head | {"whole": False}, ensure_ascii=False))


def run_ends(library: Library, now: Document, *, whole: bool) -> None:
    """After a run: what the table is now; not `whole` where something failed, which another run goes on with."""
    with library.catalog.writing():
        _keep(library, now, LAST, whole=whole)


def changes(library: Library, now: Document) -> Changes:
    """What the table shows otherwise than before its last run; calls no model."""
    have = library.catalog.findings(TASK, slug(now.name))
    head = _head(have, BEFORE)
    if head is None:
        return Changes(is_known=False)
    numbers = [number for item, number in have if item == f"{BEFORE}{ROW}"]
    keys = library.catalog.keys(numbers)
    before = {keys[number]: dict(json.loads(have[f"{BEFORE}{ROW}", number])) for number in numbers if number in keys}
    considered = {paper.key for paper in library.considered()}
    rows = {row.key: row for row in now.rows}
    found = [change for row in now.rows for change in _row_changes(row, before.get(row.key, {}), now.columns)]
    # papers that had no cell yet are new to the table, whether or not they were in the library before
    new = tuple(key for key, row in rows.items() if row.cells and not before.get(key))
    gone = tuple(sorted(key for key, cells in before.items() if cells and key not in considered))
    return Changes(True, new, gone, tuple(_column_changes(dict(head["columns"]), now.columns)), tuple(found))


def changes_json(name: str, found: Changes) -> Json:
    """Changes with the fields that `--json` promises."""
    return {
        "name": name,
        "new_papers": list(found.new_papers),
        "gone_papers": list(found.gone_papers),
        "columns": [{"column": one.column, "old": one.old or None, "new": one.new or None} for one in found.columns],
        "cells": [{"key": one.key, "column": one.column, "old": one.old or None, "new": one.new or None, "cites": cites_json(one.cites)} for one in found.cells],
    }


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


def _keep(library: Library, now: Document, state: str, *, whole: bool) -> None:
    """Keeps the table's columns and the rows that it shows; those of papers that it does not look at stay."""
    name = slug(now.name)
    head = {"whole": whole, "columns": [[column.id, asks(column)] for column in now.columns]}
    library.catalog.keep_finding(TASK, name, f"{state}{COLUMNS}", 0, json.dumps(head, ensure_ascii=False))
    for row in now.rows:
        cells = [[column, said(cell)] for column, cell in row.cells.items()]
        library.catalog.keep_finding(TASK, name, f"{state}{ROW}", library.catalog.number(row.key), json.dumps(cells, ensure_ascii=False))


def _head(have: dict[tuple[str, int], str], state: str) -> dict[str, Any] | None:
    """Whether the run of a state went through, and its columns."""
    data = have.get((f"{state}{COLUMNS}", 0))
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
