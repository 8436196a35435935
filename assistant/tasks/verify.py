"""The second reader: a model that sees one statement and the sentences it cites, and says whether they say so.

Its verdicts become marks and are kept in the library; they change no statement. How often it errs stands in
docs/evidence.md.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, Field

from assistant.document import OWN, SCOPE, SUMMARY_FIELDS, Cell, Cite, Document, Named, Novelty, Problem, Result, Statement
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota
from assistant.gateway import Check, Request
from assistant.quotes import folded
from assistant.visible import visible
from store.library import Library

if TYPE_CHECKING:
    from assistant.tasks.desk import Desk

TASK: Final = "verify"
RULE: Final = "second reader"
WORDING, VERDICT = 2_800, 60
"""Characters of a prompt that are neither statement nor sentences, and tokens of a verdict; for the price that is said before."""
Kind = Literal["hedge", "population", "causal", "number", "direction", "other"]


class Overreach(BaseModel):
    """Words of a statement that say more than its sentences do."""

    words: str
    kind: Kind


class VerdictReply(BaseModel):
    """What the second reader says."""

    verdict: Literal["supported", "partly", "not"]
    overreach: list[Overreach] = Field(default_factory=list)
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What a second reader is given: a statement and what it cites."""

    text: str
    cites: tuple[Cite, ...]
    named: tuple[Named, ...] = ()

    @property
    def item(self) -> str:
        """Names the claim in the library: another wording or other sentences are another claim."""
        return hashlib.sha256(json.dumps([self.text, [[cite.key, cite.quote] for cite in self.cites]]).encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Quoted:
    """The sentences of one paper as the prompt shows them."""

    title: str
    sentences: tuple[str, ...]
    is_own: bool = False
    is_scope: bool = False


def verified(desk: "Desk", document: Document) -> Document:
    """The document with a verdict on each statement and cell that cites something; what was judged before is not asked again."""
    have = desk.library.catalog.findings(TASK, "")
    waiting = list({claim.item: claim for claim in claims(document) if (claim.item, 0) not in have}.values())
    characters = sum(WORDING + len(claim.text) + sum(len(cite.quote) for cite in claim.cites) for claim in waiting)
    desk.price(len(waiting), characters, VERDICT * len(waiting))
    failed: list[str] = []
    last: GatewayError | None = None
    for claim, outcome in desk.structured_all(waiting, lambda claim: asked(desk, claim, document)):
        if isinstance(outcome, GatewayError):
            failed.append(f"second reader: {claim.text}: {outcome}")
            last = outcome
        else:
            with desk.library.catalog.writing():
                desk.library.catalog.keep_finding(TASK, "", claim.item, 0, outcome.value.model_dump_json())
    if isinstance(last, BudgetReached | KeyOrQuota):
        raise last
    judged = with_verdicts(desk.library, document)
    return replace(judged, report=replace(judged.report, failed=(*judged.report.failed, *failed)))


def asked(desk: "Desk", claim: Claim, document: Document) -> tuple[Request, type[VerdictReply], Check[VerdictReply]]:
    """The prompt for one claim."""
    request = desk.request(
        "verify/read", f"{TASK}/read--{claim.item[:16]}", VerdictReply, sources=_shown(claim, document), statement=visible(claim.text)
    )
    return request, VerdictReply, lambda reply: faults(reply, claim.text)


def faults(reply: VerdictReply, text: str) -> list[str]:
    """What must be mended in a verdict: words that the statement does not hold, a verdict that its words contradict."""
    said = [f"{one.words!r} is not in the statement" for one in reply.overreach if folded(one.words) not in folded(text)]
    if reply.verdict == "supported" and reply.overreach:
        said.append("a supported statement has no words that overreach")
    if reply.verdict != "supported" and not reply.overreach:
        said.append(f"{reply.verdict!r} needs the words of the statement that overreach")
    return said


def with_verdicts(library: Library, document: Document) -> Document:
    """The document with the verdicts that are stored for its statements and cells, as marks; asks no model."""
    have = library.catalog.findings(TASK, "")
    if not have:
        return document
    found: list[Problem] = []
    judged = 0

    def verdict(claim: Claim) -> VerdictReply | None:
        nonlocal judged
        data = have.get((claim.item, 0)) if claim.cites else None
        judged += data is not None
        return VerdictReply.model_validate_json(data) if data else None

    def statement(one: Statement) -> Statement:
        reply = verdict(_of_statement(one))
        if reply is None or one.verdict:
            return one
        problems = _problems(one.text, reply)
        found.extend(problems)
        return replace(one, verdict=reply.verdict, problems=(*one.problems, *problems))

    def cell(question: str, one: Cell) -> Cell:
        reply = verdict(_of_cell(question, one))
        if reply is None:
            return one
        problems = _problems(one.raw, reply)
        found.extend(problems)
        return replace(one, verdict=reply.verdict, marks=(*one.marks, *(f"{problem.rule}: {problem.reason}" for problem in problems)))

    def result(key: str, one: Result) -> Result:
        reply = verdict(_of_result(one))
        if reply is None:
            return one
        problems = _problems(f"{key}, result: {one}", reply)
        found.extend(problems)
        return replace(one, verdict=reply.verdict, marks=(*one.marks, *(f"{problem.rule}: {problem.reason}" for problem in problems)))

    def novelty(one: Novelty) -> Novelty:
        data = have.get((_of_novelty(one).item, 0)) if one.cites else None  # no statement of the document, so not counted as one
        said = VerdictReply.model_validate_json(data).verdict if data else ""
        return replace(one, verdict=said, state="weak" if said == "not" else "found") if said else one

    questions = {column.id: column.question for column in document.columns}
    seen = replace(
        document,
        sections=tuple(replace(section, statements=tuple(map(statement, section.statements))) for section in document.sections),
        rows=tuple(replace(row, cells={name: cell(questions.get(name, name), one) for name, one in row.cells.items()}) for row in document.rows),
        summaries=tuple(
            replace(
                one,
                cells={name: cell(f"{SUMMARY_FIELDS[name]}:", of) for name, of in one.cells.items()},
                results=tuple(result(one.key, of) for of in one.results),
            )
            for one in document.summaries
        ),
        novelty=tuple(novelty(one) for one in document.novelty),
    )
    report = replace(document.report, checked_by_model=judged, marked=(*document.report.marked, *found))
    return replace(seen, report=report)


def claims(document: Document) -> Iterator[Claim]:
    """Each statement, filled cell, result and claim of novelty of a document that cites something."""
    every = [_of_statement(statement) for statement in document.statements]
    questions = {column.id: column.question for column in document.columns}
    every += [_of_cell(questions.get(name, name), cell) for row in document.rows for name, cell in row.cells.items()]
    every += [_of_cell(f"{SUMMARY_FIELDS[name]}:", cell) for one in document.summaries for name, cell in one.cells.items()]
    every += [_of_result(result) for one in document.summaries for result in one.results]
    every += [_of_novelty(one) for one in document.novelty]
    return (claim for claim in every if claim.cites)


def _of_statement(statement: Statement) -> Claim:
    return Claim(statement.text, statement.cites if statement.by == "model" else (), statement.named)  # a count needs no reader


def _of_cell(question: str, cell: Cell) -> Claim:
    """A cell as a statement: the column's question with the paper's answer."""
    answer = cell.raw if cell.status == "stated" else "There is none."
    return Claim(f"{question} {answer}", cell.cites if cell.status in {"stated", "absent"} else ())


def _of_result(result: Result) -> Claim:
    return Claim(f"Result: {result}", result.cites)


def _of_novelty(novelty: Novelty) -> Claim:
    """A claim of the person's own abstract, held against the paper that may say it already."""
    return Claim(novelty.claim.quote, novelty.cites)


def _shown(claim: Claim, document: Document) -> list[Quoted]:
    """The sentences by paper; where the statement names a paper's authors, its title stands behind their name."""
    grouped: dict[str, list[str]] = {}
    for cite in claim.cites:  # no key begins with a space
        grouped.setdefault(cite.key or f" {cite.text}", []).extend(visible(part) for part in cite.quote.split(" … "))
    names = {one.key: f"{one.name}, " for one in claim.named}
    return [
        Quoted(visible(f"{names.get(key, '')}{document.sources[key].title}") if key in document.sources else "", tuple(parts), key == f" {OWN}", key == f" {SCOPE}")
        for key, parts in grouped.items()
    ]


def _problems(text: str, reply: VerdictReply) -> Iterable[Problem]:
    if reply.verdict == "supported":
        return ()
    words = "; ".join(f"“{one.words}” ({one.kind})" for one in reply.overreach)
    said = "says only part of it" if reply.verdict == "partly" else "does not say it"
    return (Problem(text, RULE, f"what it cites {said}: {words}{': ' if words else ''}{reply.reason}"),)

