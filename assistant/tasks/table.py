"""Papers × columns: each cell a value or one of three kinds of no, with the sentences that say so."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from pydantic import BaseModel

from assistant import stored
from assistant.cells import STOPS, CellReply, Fault, cell_faults, mark_problem, read_cell
from assistant.document import Cell, Column, Coverage, Document, Problem, Report, Row
from assistant.evidence import Evidence
from assistant.gateway import Check, Parsed, Request
from assistant.tasks.desk import Desk, label_for
from store.keys import slug
from store.library import Library
from store.paper import Paper

TASK: Final = "table"


class PaperReply(BaseModel):
    """One paper's cells, by column id."""

    paper: int
    cells: dict[str, CellReply]


class PackReply(BaseModel):
    """The reply to a pack of papers."""

    papers: list[PaperReply]


def fill(desk: Desk, name: str, columns: Sequence[Column], papers: Sequence[Paper], on_done: Callable[[int, int], None]) -> Document:
    """The table, after asking for the cells that are not stored yet: a pack of papers a call, all columns at once."""
    failed = desk.read_packs(
        [paper for paper in papers if missing_columns(desk.library, name, columns, paper)],
        lambda evidence: _asked(desk, name, columns, evidence),
        lambda evidence, reply: _kept(desk, name, columns, evidence, reply),
        on_done,
    )
    return desk.finished(document(desk.library, name, columns, papers, failed))


def missing_columns(library: Library, name: str, columns: Sequence[Column], paper: Paper) -> list[Column]:
    """The columns of a paper that hold no cell, or one that another question was asked for."""
    have = library.catalog.findings(TASK, slug(name))
    return [column for column in columns if (_item(column), paper.number) not in have]


def document(library: Library, name: str, columns: Sequence[Column], papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The table as it is stored; calls no model."""
    have = library.catalog.findings(TASK, slug(name))
    rows: list[Row] = []
    coverage: list[Coverage] = []
    marked: list[Problem] = []
    blocked: list[Problem] = []
    for paper in sorted(papers, key=lambda paper: paper.key):
        cells = {
            column.id: stored.cell(have[_item(column), paper.number]) for column in columns if (_item(column), paper.number) in have
        }
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
        marked=tuple(marked),
        failed=tuple(failed),
    )
    return Document(TASK, name, columns=tuple(columns), rows=tuple(rows), coverage=tuple(coverage), report=report)


def keep_cells(library: Library, name: str, columns: Sequence[Column], cells: Mapping[tuple[str, str], Cell]) -> None:
    """Keeps cells that a person changed, by key and column id, in the place of what was read."""
    items = {column.id: _item(column) for column in columns}
    with library.catalog.writing():
        for (key, column), cell in cells.items():
            library.catalog.keep_finding(TASK, slug(name), items[column], library.catalog.number(key), stored.dump(cell))


def _left_out(cells: dict[str, Cell]) -> str:
    return "its abstract states nothing that a column asks for" if cells else "not read yet, or its reply could not be used"


def _item(column: Column) -> str:
    """A column with the question it asks; another question is another item, so an edited column is filled anew."""
    asked = f"{column.question}\n{column.type}\n{column.unit}\n{column.vocabulary}"
    return f"{column.id}:{hashlib.sha256(asked.encode()).hexdigest()[:12]}"


def _asked(desk: Desk, name: str, columns: Sequence[Column], evidence: Evidence) -> tuple[Request, type[PackReply], Check[PackReply]]:
    subject = f"{slug(name)}-{slug(evidence.keys[0])}"
    request = desk.request("table/fill", label_for(TASK, "fill", subject), PackReply, papers=evidence.papers, columns=columns)
    return request, PackReply, lambda reply: _faults(reply, columns, evidence)


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


def _kept(desk: Desk, name: str, columns: Sequence[Column], evidence: Evidence, outcome: Parsed[PackReply]) -> list[str]:
    """Stores each cell of a pack; what still cannot stand is kept as `full text needed`, with the reason. Returns failures."""
    given = {paper.paper: paper for paper in outcome.value.papers}
    failed = []
    catalog, exchange = desk.library.catalog, desk.gateway.exchange(outcome.request)
    with catalog.writing():
        for shown in evidence.papers:
            for column in columns:
                cell = given[shown.number].cells.get(column.id) if shown.number in given else None
                if cell is None:
                    failed.append(f"{shown.paper.key}: no cell for {column.name} in the reply")
                    continue
                made = replace(read_cell(cell, _stopped(cell_faults(cell, column, evidence, shown)), evidence), exchange=exchange)
                catalog.keep_finding(TASK, slug(name), _item(column), shown.paper.number, stored.dump(made))
    return failed


def _stopped(faults: Sequence[Fault]) -> Fault | None:
    """The first fault, under the rule about labels where that is among them, else under the one about sources."""
    return Fault("R2" if any(fault.rule == "R2" for fault in faults) else "R7", faults[0].reason) if faults else None
