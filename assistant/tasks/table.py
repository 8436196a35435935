"""Papers × columns: each cell a value or one of three kinds of no, with the sentences that say so."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import BaseModel

from assistant import stored
from assistant.cells import STOPS, CellReply, Fault, cell_faults, mark_problem, printed, read_cell
from assistant.document import Cell, Column, Coverage, Document, Problem, Report, Row
from assistant.evidence import Evidence
from assistant.gateway import Check, Parsed, Request
from assistant.measures import measured
from assistant.tables import Decisions
from assistant.tasks.changes import run_begins, run_ends
from assistant.tasks.desk import Desk, label_for
from assistant.visible import visible
from store.errors import UnknownPaper
from store.keys import slug
from store.library import Library
from store.paper import Paper

TASK: Final = "table"
NOTHING_DECIDED: Final = Decisions()
BY_HAND, VOCABULARY, SILENT = "by hand", "vocabulary", "silent"
"""Marks of a table: a cell set by hand that has lost its place, words that no paper fits, a column that no paper answers."""
ENOUGH = 3
"""Fewer papers say nothing about a vocabulary."""
MOST_KNOWN = 60
"""Values of a column in use that a prompt shows."""


class PaperReply(BaseModel):
    """One paper's cells, by column id."""

    paper: int
    cells: dict[str, CellReply]


class PackReply(BaseModel):
    """The reply to a pack of papers."""

    papers: list[PaperReply]


class Batch(NamedTuple):
    """Papers that want the same columns."""

    columns: tuple[Column, ...]
    papers: tuple[Paper, ...]


def batches(library: Library, name: str, columns: Sequence[Column], papers: Sequence[Paper], *, again: bool = False) -> list[Batch]:
    """What a run would ask: each paper with the columns that hold no cell yet, or with all of them; the largest batch first."""
    have = library.catalog.findings(TASK, slug(name))
    grouped: dict[tuple[Column, ...], list[Paper]] = {}
    for paper in papers:
        wanted = tuple(column for column in columns if again or (_item(column), paper.number) not in have)
        if wanted:
            grouped.setdefault(wanted, []).append(paper)
    return sorted((Batch(wanted, tuple(some)) for wanted, some in grouped.items()), key=lambda batch: (-len(batch.papers), -len(batch.columns)))


def fill(
    desk: Desk,
    name: str,
    columns: Sequence[Column],
    papers: Sequence[Paper],
    on_done: Callable[[int, int], None],
    decisions: Decisions = NOTHING_DECIDED,
    *,
    again: bool = False,
) -> Document:
    """The table, after asking for the cells that are not stored yet: a pack of papers a call, all their columns at once."""
    waiting = batches(desk.library, name, columns, papers, again=again)
    if waiting:
        run_begins(desk.library, document(desk.library, name, columns, papers, decisions=decisions))
    failed: list[str] = []
    for batch in waiting:
        asked = _Asked(name, batch.columns, is_whole=len(batch.columns) == len(columns), decisions=decisions)
        failed += desk.read_packs(
            batch.papers,
            lambda evidence, asked=asked: _request(desk, asked, evidence),  # type: ignore[misc]  # mypy cannot see through the default
            lambda evidence, reply, asked=asked: _kept(desk, asked, evidence, reply),  # type: ignore[misc]
            on_done,
        )
    made = document(desk.library, name, columns, papers, failed, decisions)
    if waiting:
        run_ends(desk.library, made, whole=not failed)
    return desk.finished(made)


def document(
    library: Library,
    name: str,
    columns: Sequence[Column],
    papers: Sequence[Paper],
    failed: Sequence[str] = (),
    decisions: Decisions = NOTHING_DECIDED,
) -> Document:
    """The table as it is stored, under what a person decided of it; calls no model."""
    have = library.catalog.findings(TASK, slug(name))
    by_hand, lost = _by_hand(library, columns, decisions)
    rows: list[Row] = []
    coverage: list[Coverage] = []
    marked: list[Problem] = [*lost]
    blocked: list[Problem] = []
    for paper in sorted(papers, key=lambda paper: paper.key):
        cells: dict[str, Cell] = {}
        for column in columns:
            if (paper.number, column.id) in by_hand:
                cell = by_hand[paper.number, column.id]
            elif (_item(column), paper.number) in have:
                cell = stored.cell(have[_item(column), paper.number])
            else:
                continue
            cells[column.id] = shown_cell(cell, column, decisions)
        rows.append(Row(paper.key, cells))
        stated = tuple(column.name for column in columns if column.id in cells and cells[column.id].status in {"stated", "absent"})
        coverage.append(Coverage(paper.key, stated, "" if stated else _left_out(cells)))
        for column in columns:
            for mark in cells[column.id].marks if column.id in cells else ():
                problem = mark_problem(f"{paper.key}, {column.name}: {cells[column.id].raw}", mark)
                (blocked if problem.rule in STOPS else marked).append(problem)
    filled = [cell for row in rows for cell in row.cells.values()]
    report = Report(
        statements=len(filled),
        checked_by_code=sum(bool(cell.cites) for cell in filled),
        not_checked=sum(not cell.cites for cell in filled),
        blocked=tuple(blocked),
        marked=(*marked, *_unfitting(columns, rows)),
        failed=tuple(failed),
    )
    return Document(TASK, name, columns=tuple(columns), rows=tuple(rows), coverage=tuple(coverage), report=report)


def shown_cell(cell: Cell, column: Column, decisions: Decisions) -> Cell:
    """A cell as the table shows it: its wording as the mapping has it, its number with unit; the wording stays in `raw`."""
    if cell.status != "stated":
        return cell
    wordings = decisions.wordings.get(column.id)
    if column.type == "number" or column.id in decisions.units:
        cell = replace(cell, number=measured(cell, column, decisions.units.get(column.id, "")))
    if wordings and isinstance(cell.value, str):
        return replace(cell, value=wordings.value(cell.value))
    if wordings and isinstance(cell.value, tuple):
        return replace(cell, value=tuple(dict.fromkeys(wordings.value(part) for part in cell.value)))
    return cell


def _by_hand(library: Library, columns: Sequence[Column], decisions: Decisions) -> tuple[dict[tuple[int, str], Cell], list[Problem]]:
    """The cells set by hand, by paper and column; and those whose paper or column is gone, which stay in the file."""
    cells: dict[tuple[int, str], Cell] = {}
    lost: list[Problem] = []
    ids = {column.id for column in columns}
    for one in decisions.by_hand:
        where = f"{one.key}, {one.column}"
        if one.column not in ids:
            lost.append(Problem(where, BY_HAND, f"set by hand, but the table has no column {one.column!r}; it stays in the file"))
            continue
        try:
            number = library.catalog.number(one.key)
        except UnknownPaper:
            lost.append(Problem(where, BY_HAND, f"set by hand, but the library has no paper {one.key!r}; it stays in the file"))
            continue
        value = list(one.value) if isinstance(one.value, tuple) else one.value
        cells[number, one.column] = Cell(one.value, printed(value), one.status, by="person")
    return cells, lost


def _unfitting(columns: Sequence[Column], rows: Sequence[Row]) -> list[Problem]:
    """The columns that no paper fits: every cell that says something says `other`, or none says anything."""
    found = []
    for column in columns if len(rows) >= ENOUGH else ():
        cells = [row.cells[column.id] for row in rows if column.id in row.cells]
        said = {word for cell in cells if cell.status == "stated" for word in (cell.value if isinstance(cell.value, tuple) else (str(cell.value),))}
        if column.vocabulary and len(cells) == len(rows) and not said - {"other"}:
            others = sum(cell.status == "stated" for cell in cells)
            told = f"{others} papers are 'other', {len(cells) - others} state nothing"
            found.append(Problem(column.name, VOCABULARY, f"none of its words fits any paper ({told}); change them in the table's file"))
        elif cells and len(cells) == len(rows) and all(cell.status == "not stated" for cell in cells):
            found.append(Problem(column.name, SILENT, f"none of {len(cells)} papers says anything; its question may ask for what abstracts do not tell: {column.question}"))
    return found


def _left_out(cells: dict[str, Cell]) -> str:
    return "its abstract states nothing that a column asks for" if cells else "not read yet, or its reply could not be used"


def _item(column: Column) -> str:
    """A column with the question it asks; another question is another item, so an edited column is filled anew."""
    asked = f"{column.question}\n{column.type}\n{column.unit}\n{column.vocabulary}"
    asked += f"\n{column.definitions}" if column.definitions else ""
    return f"{column.id}:{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


class _Asked(NamedTuple):
    """What is asked of a pack: the columns of a table, all of them or those that are missing."""

    name: str
    columns: tuple[Column, ...]
    is_whole: bool
    decisions: Decisions


def _request(desk: Desk, asked: _Asked, evidence: Evidence) -> tuple[Request, type[PackReply], Check[PackReply]]:
    part = "" if asked.is_whole else f"-{asked.columns[0].id}" + (f"-and-{len(asked.columns) - 1}" if len(asked.columns) > 1 else "")
    subject = f"{slug(asked.name)}-{slug(evidence.keys[0])}{part}"
    wordings = {column.id: asked.decisions.wordings.get(column.id) for column in asked.columns if not column.vocabulary}
    known = {name: [visible(value) for value in one.shown[:MOST_KNOWN]] for name, one in wordings.items() if one and one.shown}
    request = desk.request(
        "table/fill", label_for(TASK, "fill", subject), PackReply, papers=evidence.papers, columns=asked.columns, known=known
    )
    return request, PackReply, lambda reply: _faults(reply, asked.columns, evidence)


def _faults(reply: PackReply, columns: Sequence[Column], evidence: Evidence) -> list[str]:
    """What must be mended in a reply: papers and columns left out, labels that cannot stand, numbers from nowhere."""
    given = {paper.paper: paper for paper in reply.papers}
    said = [f"paper {number} was not shown" for number in given if not 1 <= number <= len(evidence.papers)]
    for shown in evidence.papers:
        for column in columns:
            cell = given[shown.number].cells.get(column.id) if shown.number in given else None
            where = f"paper {shown.number}, {column.id}"
            faults = [fault.reason for fault in cell_faults(cell, column, evidence, shown)] if cell else ["no cell"]
            said += [f"{where}: {fault}" for fault in faults]
    return said


def _kept(desk: Desk, asked: _Asked, evidence: Evidence, outcome: Parsed[PackReply]) -> list[str]:
    """Stores each cell of a pack; what still cannot stand is kept as `full text needed`, with the reason. Returns failures."""
    given = {paper.paper: paper for paper in outcome.value.papers}
    failed = []
    catalog, exchange = desk.library.catalog, desk.gateway.exchange(outcome.request)
    with catalog.writing():
        for shown in evidence.papers:
            for column in asked.columns:
                cell = given[shown.number].cells.get(column.id) if shown.number in given else None
                if cell is None:
                    failed.append(f"{shown.paper.key}: no cell for {column.name} in the reply")
                    continue
                made = replace(read_cell(cell, _stopped(cell_faults(cell, column, evidence, shown)), evidence), exchange=exchange)
                catalog.keep_finding(TASK, slug(asked.name), _item(column), shown.paper.number, stored.dump(made))
    return failed


def _stopped(faults: Sequence[Fault]) -> Fault | None:
    """The first fault, under the rule about labels where that is among them, else under the one about sources."""
    return Fault("R2" if any(fault.rule == "R2" for fault in faults) else "R7", faults[0].reason) if faults else None
