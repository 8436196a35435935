"""Papers → a summary each: problem, approach, contribution, data, limitations and results, with the sentences that say so."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from pydantic import BaseModel, Field

from assistant import stored
from assistant.cells import (
    FORM,
    STOPS,
    CellReply,
    Fault,
    Value,
    cell_faults,
    label_faults,
    mark_problem,
    marks_of,
    read_cell,
    reference_faults,
    stopped_cell,
)
from assistant.document import SUMMARY_FIELDS, Cell, Column, Coverage, Document, Problem, Report, Result, Summary
from assistant.evidence import Evidence, Shown, label_list
from assistant.gateway import Check, Parsed, Request
from assistant.grounding import cites_of
from assistant.tasks.desk import Desk, label_for
from store.keys import slug
from store.library import Library
from store.paper import Paper

TASK: Final = "summarize"
NAME: Final = "Summaries"
ITEM: Final = "summary-1"
"""What a paper's summary is stored as; other fields would be another item, so that every paper is read anew."""
KINDS: Final = ("method", "system", "benchmark", "dataset", "empirical study", "theory", "survey", "position", "other")
FIELDS: Final = tuple(
    Column(name, called, "", "category" if name == "contribution_type" else "text", vocabulary=KINDS if name == "contribution_type" else ())
    for name, called in SUMMARY_FIELDS.items()
)
LEFT_OUT: Final = Fault(FORM, "the reply left it out")


class ResultReply(BaseModel):
    """A result as a model gives it."""

    metric: str | None = None
    value: str | int | float | None = None
    baseline: str | int | float | None = None
    task: str | None = None
    sentences: list[str] = Field(default_factory=list)


class PaperReply(BaseModel):
    """One paper's fields and results; what is None was left out."""

    paper: int
    problem: CellReply | None = None
    approach: CellReply | None = None
    contribution_type: CellReply | None = None
    data: CellReply | None = None
    limitations: CellReply | None = None
    results: list[ResultReply] | None = None

    def cell(self, field: str) -> CellReply | None:
        """The cell of a field of SUMMARY_FIELDS."""
        cell: CellReply | None = getattr(self, field)
        return cell


class PackReply(BaseModel):
    """The reply to a pack of papers."""

    papers: list[PaperReply]


def read(desk: Desk, papers: Sequence[Paper], on_done: Callable[[int, int], None], *, again: bool = False) -> Document:
    """The summaries, after asking for those that are not stored yet, or for all `again`: a pack of papers a call."""
    failed = desk.read_packs(
        papers if again else unread(desk.library, papers),
        lambda evidence: _asked(desk, evidence),
        lambda evidence, reply: _kept(desk, evidence, reply),
        on_done,
    )
    return desk.finished(document(desk.library, papers, failed))


def unread(library: Library, papers: Sequence[Paper]) -> list[Paper]:
    """The papers that have no summary yet."""
    have = library.catalog.findings(TASK, NAME)
    return [paper for paper in papers if (ITEM, paper.number) not in have]


def document(library: Library, papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The summaries as they are stored; calls no model."""
    have = library.catalog.findings(TASK, NAME)
    ordered = sorted(papers, key=lambda paper: paper.key)
    summaries = [stored.summary(have[ITEM, paper.number], paper.key) for paper in ordered if (ITEM, paper.number) in have]
    return Document(
        TASK,
        NAME,
        summaries=tuple(summaries),
        coverage=_coverage(ordered, {summary.key: summary for summary in summaries}),
        report=_report(summaries, failed),
    )


def _coverage(papers: Sequence[Paper], summaries: dict[str, Summary]) -> tuple[Coverage, ...]:
    sheet = []
    for paper in papers:
        summary = summaries.get(paper.key)
        used = [name for field, name in SUMMARY_FIELDS.items() if summary and summary.cells[field].status in {"stated", "absent"}]
        used += ["Results"] if summary and summary.results else []
        sheet.append(Coverage(paper.key, tuple(used), "" if used else _left_out(summary)))
    return tuple(sheet)


def _left_out(summary: Summary | None) -> str:
    if summary is None:
        return "not read yet, or its reply could not be used"
    stopped = summary.blocked or any(cell.marks for cell in summary.cells.values())
    return "nothing that the reply said of it could stand" if stopped else "its abstract states nothing that a summary asks for"


def _report(summaries: Sequence[Summary], failed: Sequence[str]) -> Report:
    marks = [
        mark_problem(f"{summary.key}, {where}{': ' if said else ''}{said}", mark)
        for summary in summaries
        for where, said, found in (
            *((SUMMARY_FIELDS[field], cell.raw, cell.marks) for field, cell in summary.cells.items()),
            *(("result", str(result), result.marks) for result in summary.results),
        )
        for mark in found
    ]
    cited = [bool(cell.cites) for summary in summaries for cell in summary.cells.values()]
    cited += [bool(result.cites) for summary in summaries for result in summary.results]
    return Report(
        statements=len(cited),
        checked_by_code=sum(cited),
        not_checked=len(cited) - sum(cited),
        blocked=(
            *(problem for problem in marks if problem.rule in STOPS),
            *(Problem(f"{summary.key}, result: {one.text}", one.rule, one.reason) for summary in summaries for one in summary.blocked),
        ),
        marked=tuple(problem for problem in marks if problem.rule not in STOPS),
        failed=tuple(failed),
    )


def _asked(desk: Desk, evidence: Evidence) -> tuple[Request, type[PackReply], Check[PackReply]]:
    label = label_for(TASK, "read", slug(evidence.keys[0]))
    request = desk.request("summarize/read", label, PackReply, papers=evidence.papers, kinds=KINDS)
    return request, PackReply, lambda reply: _faults(reply, evidence)


def _faults(reply: PackReply, evidence: Evidence) -> list[str]:
    """What must be mended in a reply: papers and fields left out, and whatever a rule stops."""
    given = {paper.paper: paper for paper in reply.papers}
    said = [f"paper {number} was not shown" for number in given if not 1 <= number <= len(evidence.papers)]
    said += ["a paper stands there twice"] if len(given) < len(reply.papers) else []
    for shown in evidence.papers:
        if shown.number not in given:
            said.append(f"paper {shown.number} was left out")
            continue
        for where, faults in _paper_faults(given[shown.number], evidence, shown):
            said += [f"paper {shown.number}, {where}: {fault.reason}" for fault in faults]
    return said


def _paper_faults(paper: PaperReply, evidence: Evidence, shown: Shown) -> list[tuple[str, list[Fault]]]:
    """The faults of each field, then of each result in its place."""
    fields = [(field.id, _field_faults(paper, field, evidence, shown)) for field in FIELDS]
    results = [(f"result {number}", _result_faults(result, evidence, shown)) for number, result in enumerate(paper.results or (), 1)]
    return [*fields, *([("results", [LEFT_OUT])] if paper.results is None else []), *results]


def _field_faults(paper: PaperReply, field: Column, evidence: Evidence, shown: Shown) -> list[Fault]:
    cell = paper.cell(field.id)
    if cell is None:
        return [LEFT_OUT]
    said = cell_faults(cell, field, evidence, shown)
    if cell.status == "stated" and not _is_text(cell.value, field):
        said.append(Fault(FORM, "the value should be one word of the vocabulary" if field.vocabulary else "the value should be text"))
    return said


def _is_text(value: Value, field: Column) -> bool:
    words = value if isinstance(value, list) and not field.vocabulary else [value]
    return bool(words) and all(isinstance(word, str) and word.strip() for word in words)


def _result_faults(result: ResultReply, evidence: Evidence, shown: Shown) -> list[Fault]:
    said = label_faults(result.sentences, evidence, shown)
    if not label_list(result.sentences):
        said.append(Fault("R7", "a result needs the labels of the sentences that say it"))
    if not _text(result.value):
        said.append(Fault(FORM, "a result needs a value"))
    return said + [fault for part in _parts(_result(result)) for fault in reference_faults(part)]


def _kept(desk: Desk, evidence: Evidence, outcome: Parsed[PackReply]) -> list[str]:
    """Stores the summary of each paper of a pack; returns those that the reply left out."""
    given = {paper.paper: paper for paper in outcome.value.papers}
    failed = []
    catalog, exchange = desk.library.catalog, desk.gateway.exchange(outcome.request)
    with catalog.writing():
        for shown in evidence.papers:
            if shown.number in given:
                data = stored.dump(_from(exchange, _summary(given[shown.number], evidence, shown)))
                catalog.keep_finding(TASK, NAME, ITEM, shown.paper.number, data)
            else:
                failed.append(f"{shown.paper.key}: left out of the reply")
    return failed


def _from(exchange: str, summary: Summary) -> Summary:
    cells = {name: replace(cell, exchange=exchange) for name, cell in summary.cells.items()}
    return replace(summary, cells=cells, results=tuple(replace(result, exchange=exchange) for result in summary.results))


def _summary(paper: PaperReply, evidence: Evidence, shown: Shown) -> Summary:
    """A paper's part of a reply with its anchors; what a rule stops is kept without its value, or as a blocked result."""
    results, blocked = [], [] if paper.results is not None else [Problem("", *LEFT_OUT)]
    for given in paper.results or ():
        result = _result(given)
        if faults := _result_faults(given, evidence, shown):
            blocked.append(Problem(str(result), *faults[0]))
        else:
            results.append(_anchored(result, given, evidence))
    cells = {field.id: _cell(paper, field, evidence, shown) for field in FIELDS}
    return Summary(shown.paper.key, cells, tuple(results), tuple(blocked))


def _cell(paper: PaperReply, field: Column, evidence: Evidence, shown: Shown) -> Cell:
    cell = paper.cell(field.id)
    if cell is None:
        return stopped_cell(LEFT_OUT)
    made = read_cell(cell, next(iter(_field_faults(paper, field, evidence, shown)), None), evidence)
    return made if made.status == "stated" else replace(made, value=None)


def _result(given: ResultReply) -> Result:
    return Result(_text(given.metric), _text(given.value), _text(given.baseline), _text(given.task))


def _anchored(result: Result, given: ResultReply, evidence: Evidence) -> Result:
    cites = cites_of(label_list(given.sentences), evidence)
    marks = marks_of("; ".join(_parts(result)), cites, evidence)
    return replace(result, cites=cites, marks=marks)


def _parts(result: Result) -> tuple[str, ...]:
    return result.metric, result.value, result.baseline, result.task


def _text(value: str | float | None) -> str:
    return "" if value is None else " ".join(str(value).split())
