"""Related work in two steps: a plan, which is a file to edit, then the text, paragraph by paragraph, from the plan."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import BaseModel, Field

from assistant import stored
from assistant.document import Coverage, Document, Problem, Section
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota, ReplyUnusable
from assistant.evidence import Evidence, Label, gathered, label_list
from assistant.gateway import Request
from assistant.grounding import report_of
from assistant.plan import JOBS, PlannedParagraph, PlannedSentence, Reference
from assistant.tasks.desk import Desk, label_for
from assistant.writing import Written, write_all
from store.errors import UnknownPaper
from store.keys import slug
from store.library import Library
from store.paper import Paper

TASK: Final = "draft"


class SentenceReply(BaseModel):
    """A planned sentence as a model gives it."""

    job: str
    words: int = 25
    says: str
    rests_on: list[str] = Field(default_factory=list)


class ParagraphReply(BaseModel):
    """A planned paragraph."""

    heading: str
    sentences: list[SentenceReply]


class LeftOut(BaseModel):
    """A paper that the plan does without."""

    paper: int
    reason: str


class PlanReply(BaseModel):
    """A plan."""

    paragraphs: list[ParagraphReply]
    left_out: list[LeftOut] = Field(default_factory=list)


class Plan(NamedTuple):
    """Paragraphs, and (key, reason) of the papers left out."""

    paragraphs: tuple[PlannedParagraph, ...]
    left_out: tuple[tuple[str, str], ...]


class Outline(NamedTuple):
    """A group of papers that a taxonomy suggests for a paragraph: its label, definition and the numbers of its papers."""

    label: str
    definition: str
    papers: tuple[int, ...]


def plan(desk: Desk, name: str, topic: str, papers: Sequence[Paper], paragraphs: int, tree: Document | None = None) -> Plan:
    """A plan proposed from the papers, along a taxonomy where one is given; raises ReplyUnusable when none can be used."""
    evidence = gathered(desk.library, papers)
    request = desk.request(
        "draft/plan",
        label_for(TASK, "plan", slug(name)),
        PlanReply,
        papers=evidence.papers,
        topic=topic,
        paragraphs=paragraphs,
        jobs=JOBS,
        outline=_outline(tree, evidence) if tree else [],
    )
    parsed = desk.structured(request, PlanReply, lambda reply: _plan_faults(reply, evidence))
    if not parsed.value.paragraphs:
        raise ReplyUnusable(f"{name}: the proposed plan has no paragraph; run it with --again")
    return _planned(parsed.value, evidence)


def text(desk: Desk, name: str, plan: Plan, papers: Sequence[Paper], on_done: Callable[[int, int], None], *, textual: bool = False) -> Document:
    """The draft, after writing the paragraphs whose plan changed since they were last written; `textual` names papers as words of sentences."""
    have = desk.library.catalog.findings(TASK, slug(name))
    waiting = [(at, one) for at, one in enumerate(plan.paragraphs, 1) if (_item(one), 0) not in have]
    jobs = [_asked(desk, name, at, paragraph, textual=textual) for at, paragraph in waiting]
    by_label = {request.label: paragraph for (request, _), (_, paragraph) in zip(jobs, waiting, strict=True)}
    failed: list[str] = []
    last: GatewayError | None = None
    for done, (request, outcome) in enumerate(write_all(desk.gateway, jobs, desk.own), 1):
        if isinstance(outcome, GatewayError):
            failed.append(f"{by_label[request.label].heading}: {outcome}")
            last = outcome
        else:
            _keep(desk.library, name, by_label[request.label], outcome)
        on_done(done, len(jobs))
    if isinstance(last, BudgetReached | KeyOrQuota):
        raise last
    return desk.finished(document(desk.library, name, plan, papers, failed))


def document(library: Library, name: str, plan: Plan, papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The draft as it is stored; calls no model."""
    have = library.catalog.findings(TASK, slug(name))
    sections: list[Section] = []
    blocked: list[Problem] = []
    for paragraph in plan.paragraphs:
        data = have.get((_item(paragraph), 0))
        standing, stopped = stored.paragraph(json.loads(data)) if data else ((), ())
        sections.append(Section(paragraph.heading, standing))
        blocked += stopped
    statements = tuple(statement for section in sections for statement in section.statements)
    report = report_of(statements, blocked, failed)
    return Document(TASK, name, sections=tuple(sections), coverage=_coverage(sections, plan, papers), report=report)


def _asked(desk: Desk, name: str, at: int, paragraph: PlannedParagraph, *, textual: bool = False) -> tuple[Request, Evidence]:
    """The prompt for the `at`-th paragraph, which shows the papers that its plan names and no others."""
    evidence = replace(gathered(desk.library, [desk.library.paper(key) for key in paragraph.keys]), textual=textual)
    request = desk.request(
        "draft/paragraph",
        label_for(TASK, "paragraph", f"{slug(name)}-{at:02}"),
        papers=evidence.papers,
        heading=paragraph.heading,
        textual=textual,
        lines=[(sentence, _labels(sentence, evidence)) for sentence in paragraph.sentences],
    )
    return request, evidence


def _keep(library: Library, name: str, paragraph: PlannedParagraph, written: Written) -> None:
    data = json.dumps(stored.paragraph_fields(written.statements, written.blocked), ensure_ascii=False)
    with library.catalog.writing():
        library.catalog.keep_finding(TASK, slug(name), _item(paragraph), 0, data)


def _labels(sentence: PlannedSentence, evidence: Evidence) -> str:
    """A planned sentence's references as the labels of this prompt; an aliased key finds its paper."""
    numbers = {alias: shown.number for shown in evidence.papers for alias in (shown.paper.key, *shown.paper.aliases)}
    return " ".join(
        str(Label(numbers[one.key], number))
        for one in sentence.rests_on
        for number in one.sentences or (0,)
    )


def _item(paragraph: PlannedParagraph) -> str:
    """A paragraph with its plan; an edited plan is another item, so only that paragraph is written anew."""
    return hashlib.sha256(repr(paragraph).encode()).hexdigest()[:16]


def _outline(tree: Document, evidence: Evidence) -> list[Outline]:
    numbers = {shown.paper.key: shown.number for shown in evidence.papers}
    labels = {node.id: node.label for node in tree.nodes}
    groups = []
    for node in tree.nodes:
        keys = [one.key for one in tree.assignments if one.node == node.id and one.rank == 1 and one.key in numbers]
        if keys:
            label = f"{labels[node.parent]} / {node.label}" if node.parent else node.label
            groups.append(Outline(label, node.definition, tuple(numbers[key] for key in keys)))
    return groups


def _plan_faults(reply: PlanReply, evidence: Evidence) -> list[str]:
    """What must be mended in a plan: labels that were not shown, claims that rest on nothing, papers not accounted for."""
    said = []
    used = {one.paper for one in reply.left_out}
    for paragraph in reply.paragraphs:
        for sentence in paragraph.sentences:
            found = label_list(sentence.rests_on)
            used |= {label.paper for label in found}
            said += [f"{label} was not shown" for label in found if evidence.cite(label) is None]
            if sentence.job not in JOBS:
                said.append(f"{sentence.job!r} is none of the jobs {', '.join(JOBS)}")
            if not found:
                said.append(f"{sentence.says!r} rests on no sentence")
    return said + [f"paper {shown.number} is neither used nor left out with a reason" for shown in evidence.papers if shown.number not in used]


def _planned(reply: PlanReply, evidence: Evidence) -> Plan:
    """The plan with keys for labels; labels that were not shown are dropped, and a sentence that then rests on nothing too."""
    keys = {shown.number: shown.paper.key for shown in evidence.papers}
    paragraphs = []
    for paragraph in reply.paragraphs:
        sentences = []
        for sentence in paragraph.sentences:
            found = [label for label in label_list(sentence.rests_on) if evidence.cite(label)]
            if found:
                sentences.append(PlannedSentence(sentence.job, sentence.words, " ".join(sentence.says.split()), _references(found, keys)))
        if sentences:
            paragraphs.append(PlannedParagraph(" ".join(paragraph.heading.split()), tuple(sentences)))
    used = {key for paragraph in paragraphs for key in paragraph.keys}
    reasons = {keys[one.paper]: one.reason for one in reply.left_out if one.paper in keys}
    left_out = tuple((key, reasons.get(key, "the plan does not mention it")) for key in sorted(set(keys.values()) - used))
    return Plan(tuple(paragraphs), left_out)


def _references(found: Sequence[Label], keys: dict[int, str]) -> tuple[Reference, ...]:
    grouped: dict[str, list[int]] = {}
    for label in found:
        grouped.setdefault(keys[label.paper], []).append(label.sentence)
    return tuple(Reference(key, tuple(sorted(set(numbers)))) for key, numbers in grouped.items())


def _coverage(sections: Sequence[Section], plan: Plan, papers: Sequence[Paper]) -> tuple[Coverage, ...]:
    """Each paper of the scope: cited in which paragraphs, or why not."""
    used: dict[str, list[str]] = {}
    for section in sections:
        for key in {cite.key for statement in section.statements for cite in statement.cites}:
            used.setdefault(key, []).append(section.heading)
    planned = {key for paragraph in plan.paragraphs for key in paragraph.keys}
    reasons = dict(plan.left_out)
    keys = sorted({paper.key for paper in papers} | used.keys())

    def why(key: str) -> str:
        if key in used:
            return ""
        return "planned, but no sentence that cites it stands" if key in planned else reasons.get(key, "not in the plan")

    return tuple(Coverage(key, tuple(used.get(key, ())), why(key)) for key in keys)


def resolved(library: Library, plan: Plan) -> Plan:
    """The plan with the present keys of its papers; raises UnknownPaper naming the line's key."""

    def key(written: str) -> str:
        try:
            return library.paper(written).key
        except UnknownPaper as error:
            raise UnknownPaper(f"the plan rests on @{written}: {error}") from error

    paragraphs = tuple(
        replace(
            paragraph,
            sentences=tuple(
                replace(sentence, rests_on=tuple(Reference(key(one.key), one.sentences) for one in sentence.rests_on))
                for sentence in paragraph.sentences
            ),
        )
        for paragraph in plan.paragraphs
    )
    return Plan(paragraphs, plan.left_out)

