"""A draft's text: written paragraph by paragraph from the plan, checked, mended once where somebody objects, held against the plan."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from assistant import about, gaps, stored
from assistant.document import CITATIONS, NOT_YET, SCOPE, Coverage, Document, PlanLine, Problem, Section, Statement
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota, UsageError
from assistant.evidence import Evidence, Label, OwnText, gathered
from assistant.gateway import Message, Request
from assistant.grounding import report_of
from assistant.plan import OWN_KEY, TOGETHER, Guide, PlannedParagraph, PlannedSentence
from assistant.tasks import position, verify
from assistant.tasks.desk import Desk, label_for, with_sources
from assistant.tasks.planning import TASK, Plan, looked_through
from assistant.wording import block
from assistant.writing import Written, asked_again, taken, write_all
from store.keys import slug
from store.language import language_of
from store.library import Library
from store.paper import Paper
from store.scope import Scope

COUNT = re.compile(r"'(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)(?:-\w+)?' (?:is not|stands)")
"""A number word that no cited sentence holds: most often it counts what they list, so its mark alone changes no text."""
ROUNDS = 2
"""How often sentences that are objected to are asked for again, at most."""
TEXTUAL = "textual"
"""The way to cite in which a sentence may have a paper's authors as its subject, so that its words are others."""
OWN_PAPER = re.compile(r"\b(?:[Ww]e|[Oo]urs?|[Tt]he present (?:paper|work|study|article))\b")
"""In a draft these words can only mean the paper that it is for."""
FOUND = 3
"""Papers that are looked for where a planned sentence names none."""
FAR_FROM = 0.4
"""A sentence that is longer or shorter than planned by more than this share is noted."""
MENDED: Final = frozenset({"R4", "R7", "R12", verify.RULE})
"""What a sentence is sent back for. R6 and R11 are too often wrong about good sentences, so their marks alone change no text."""
SEARCHED = "None of the titles and abstracts of the {count} papers holds any of these words: {words}."


class Job(NamedTuple):
    """The `at`-th paragraph, from 1: its prompt, what that shows, and its plan."""

    at: int
    request: Request
    evidence: Evidence
    paragraph: PlannedParagraph


class Weak(NamedTuple):
    """A paragraph with statements that somebody objects to, what was blocked in it, and how often it was mended."""

    job: Job
    statements: tuple[Statement, ...]
    blocked: tuple[Problem, ...]
    rounds: int


def text(desk: Desk, name: str, plan: Plan, papers: Sequence[Paper], on_done: Callable[[int, int], None], scope: Scope | None = None) -> Document:
    """The draft, after writing the paragraphs whose plan changed since, and mending what the rules or a second reader object to.

    A paragraph whose plan names what the library does not have, or a gap that does not hold, is not written; the others are.
    """
    have = desk.library.catalog.findings(TASK, slug(name))
    held = _held(desk.library, plan, papers)
    own = about.kept(desk.library.folder, name)
    if own is None and any(paragraph.rests_on_own for paragraph in plan.paragraphs):
        raise UsageError(f"the plan of {name} rests on @{OWN_KEY}, but your abstract is not kept beside it; give it with --about FILE, or take @{OWN_KEY} out of the plan")
    sound = [(at, one) for at, one in enumerate(plan.paragraphs, 1) if not one.faults and not any(_gap_faults(one, held))]
    jobs = [_asked(desk, name, at, paragraph, plan.guide, papers, scope, own) for at, paragraph in sound]
    waiting = [job for job in jobs if (item_of(job.paragraph, plan.guide, own), 0) not in have]
    by_label = {job.request.label: job for job in waiting}
    failed: list[str] = []
    last: GatewayError | None = None
    for done, (request, outcome) in enumerate(write_all(desk.gateway, [(job.request, job.evidence) for job in waiting], desk.own), 1):
        paragraph = by_label[request.label].paragraph
        if isinstance(outcome, GatewayError):
            failed.append(f"{paragraph.heading}: {outcome}")
            last = outcome
        else:
            keep_paragraph(desk.library, name, paragraph, plan.guide, outcome, own=own)
        on_done(done, len(waiting))
    if isinstance(last, BudgetReached | KeyOrQuota):
        raise last
    failed += _mended(desk, name, plan, papers, jobs, own)
    failed += position.read(desk, name, own, papers) if own else []
    return desk.finished(document(desk.library, name, plan, papers, failed))


def document(library: Library, name: str, plan: Plan, papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The draft as it is stored, held against its plan; calls no model."""
    have = library.catalog.findings(TASK, slug(name))
    held = _held(library, plan, papers)
    own = about.kept(library.folder, name)
    sections: list[Section] = []
    blocked: list[Problem] = []
    lines: list[PlanLine] = []
    for paragraph in plan.paragraphs:
        data = have.get((item_of(paragraph, plan.guide, own), 0))
        standing, stopped = stored.paragraph(json.loads(data)) if data else ((), ())
        standing = tuple(_with_own(_with_gap(statement, paragraph, held)) for statement in standing)
        sections.append(Section(paragraph.heading, standing))
        blocked += stopped
        lines += _against_plan(paragraph, standing, stopped)
    statements = tuple(statement for section in sections for statement in section.statements)
    faults = [fault for paragraph in plan.paragraphs for fault in (*paragraph.faults, *_gap_faults(paragraph, held))]
    report = report_of(statements, blocked, [*faults, *failed])
    made = Document(TASK, name, sections=tuple(sections), coverage=_coverage(sections, plan, papers), plan=tuple(lines), report=report)
    made = replace(made, citations=next((one for one in CITATIONS if one == plan.guide.citations), ""))
    return position.positioned(library, made, own, papers) if own else made


def calls_to_write(library: Library, name: str, plan: Plan) -> int:
    """How many paragraphs wait to be written."""
    have = library.catalog.findings(TASK, slug(name))
    own = about.kept(library.folder, name)
    return sum((item_of(paragraph, plan.guide, own), 0) not in have for paragraph in plan.paragraphs if not paragraph.faults)


def item_of(paragraph: PlannedParagraph, guide: Guide, own: OwnText | None = None) -> str:
    """A paragraph with its plan, with how it is to be written, and with the own abstract where it rests on that.

    An edited plan is another item, so only that paragraph is written anew. What is left empty does not count, so that texts
    of earlier versions are found.
    """
    absent = tuple(word for sentence in paragraph.sentences for word in sentence.absent)
    how = (guide.tense, guide.language, guide.style, guide.citations, absent, *((own.digest,) if own and paragraph.rests_on_own else ()))
    return hashlib.sha256(repr((paragraph, how) if any(how) else paragraph).encode()).hexdigest()[:16]


def keep_paragraph(library: Library, name: str, paragraph: PlannedParagraph, guide: Guide, written: Written, rounds: int = 0, own: OwnText | None = None) -> None:
    """Keeps what was written for a paragraph of the plan; `rounds` is how often it was mended."""
    data = json.dumps(stored.paragraph_fields(written.statements, written.blocked, rounds), ensure_ascii=False)
    with library.catalog.writing():
        library.catalog.keep_finding(TASK, slug(name), item_of(paragraph, guide, own), 0, data)


def shown_to(library: Library, paragraph: PlannedParagraph, papers: Sequence[Paper], scope: Scope | None = None) -> Evidence:
    """What the prompt of a paragraph shows: the papers that its plan names, those found for lines that name none, and what all papers lack."""
    some = {paper.number: paper for key in paragraph.keys for paper in [library.paper(key)]}
    for sentence in paragraph.sentences:
        if not sentence.rests_on and not sentence.absent:
            hits = library.search(sentence.says, count=FOUND, scope=scope, by_keywords=True)
            some |= {paper.number: paper for paper in library.catalog.papers([hit.paper for hit in hits])}
    searched = tuple(_searched(sentence, len(papers)) for sentence in paragraph.sentences if sentence.absent)
    return replace(gathered(library, list(some.values())), searched=searched)


# -- writing


def _asked(
    desk: Desk, name: str, at: int, paragraph: PlannedParagraph, guide: Guide, papers: Sequence[Paper], scope: Scope | None, own: OwnText | None
) -> Job:
    """The prompt for the `at`-th paragraph, which shows the papers of its plan and no others, and the own abstract where it rests on that."""
    evidence = replace(shown_to(desk.library, paragraph, papers, scope), own=own if paragraph.rests_on_own else None, textual=guide.citations == TEXTUAL)
    request = desk.request(
        "draft/paragraph",
        label_for(TASK, "paragraph", f"{slug(name)}-{at:02}"),
        papers=evidence.papers,
        about=evidence.own,
        searched=evidence.found,
        looked_at=len(papers),
        heading=paragraph.heading,
        guide=guide,
        textual=evidence.textual,
        lines=[(sentence, _labels(sentence, paragraph, evidence)) for sentence in paragraph.sentences],
    )
    return Job(at, request, evidence, paragraph)


def _labels(sentence: PlannedSentence, paragraph: PlannedParagraph, evidence: Evidence) -> str:
    """A planned sentence's references as the labels of this prompt; an aliased key finds its paper."""
    numbers = {alias: shown.number for shown in evidence.papers for alias in (shown.paper.key, *shown.paper.aliases)} | {OWN_KEY: 0}
    found = [str(Label(numbers[one.key], number)) for one in sentence.rests_on if one.key in numbers for number in one.sentences or (0,)]
    if sentence.absent:
        place = [one for one in paragraph.sentences if one.absent].index(sentence)
        found.append(evidence.found[place].label)
    return " ".join(found)


def _mended(desk: Desk, name: str, plan: Plan, papers: Sequence[Paper], jobs: Sequence[Job], own: OwnText | None) -> list[str]:
    """Asks once more for sentences that the rules object to, or twice for what a second reader objects to; what failed.

    A paragraph is asked for so often and no oftener, however often the command is run.
    """
    failed: list[str] = []
    most = ROUNDS if desk.second_reader else 1
    for _ in range(most):
        judged = with_sources(desk.library, document(desk.library, name, plan, papers))
        if desk.second_reader:
            judged = verify.verified(desk, judged)
        stored_now = desk.library.catalog.findings(TASK, slug(name))
        weak = []
        for job in jobs:
            statements = judged.sections[job.at - 1].statements
            data = stored_now.get((item_of(job.paragraph, plan.guide, own), 0))
            kept = json.loads(data) if data else {}
            if data and _objections(statements) and kept.get("rounds", 0) < most:
                weak.append(Weak(job, statements, tuple(Problem(**one) for one in kept["blocked"]), kept.get("rounds", 0)))
        if not weak:
            break
        failed += _asked_again(desk, name, plan.guide, weak, own)
    return failed


def _asked_again(desk: Desk, name: str, guide: Guide, weak: Sequence[Weak], own: OwnText | None) -> list[str]:
    """Keeps each paragraph with what was mended in it; what got no usable reply."""
    failed: list[str] = []
    last: GatewayError | None = None
    by_label: dict[str, Weak] = {}
    requests = []
    for one in weak:
        objections = _objections(one.statements)
        message = Message("user", block("draft/mend", "user", desk.own, problems=[objections[at] for at in sorted(objections)]))
        request = asked_again(one.job.request, one.job.evidence, one.statements, objections, message)
        by_label[request.label] = one
        requests.append(request)
    for request, outcome in desk.gateway.complete_all(requests):
        one = by_label[request.label]
        if isinstance(outcome, GatewayError):
            failed.append(f"{one.job.paragraph.heading}: not mended: {outcome}")
            last = outcome
            continue
        standing, dropped = taken(outcome.text, desk.gateway.exchange(request), one.job.evidence, one.statements, _objections(one.statements))
        written = Written(tuple(map(_unjudged, standing)), (*one.blocked, *dropped))
        keep_paragraph(desk.library, name, one.job.paragraph, guide, written, one.rounds + 1, own)
    if isinstance(last, BudgetReached | KeyOrQuota):
        raise last
    return failed


def _unjudged(statement: Statement) -> Statement:
    """A statement without the second reader's word, which is kept apart."""
    return replace(statement, verdict="", problems=tuple(one for one in statement.problems if one.rule != verify.RULE))


def _objections(statements: Sequence[Statement]) -> dict[int, Problem]:
    """For each statement that another wording could mend what is said against it, by its place."""
    found = {}
    for at, statement in enumerate(statements):
        said = [problem for problem in statement.problems if problem.rule in MENDED and not COUNT.match(problem.reason)]
        if said:
            found[at] = Problem(statement.text, said[0].rule, "; ".join(dict.fromkeys(problem.reason for problem in said)))
    return found


# -- gaps


def _searched(sentence: PlannedSentence, count: int) -> str:
    return SEARCHED.format(count=count, words=", ".join(f"“{word}”" for word in sentence.absent))


def _held(library: Library, plan: Plan, papers: Sequence[Paper]) -> Mapping[str, gaps.Held]:
    """Of the words that gaps of the plan rest on, those that a paper of the scope holds."""
    words = list(dict.fromkeys(word for paragraph in plan.paragraphs for sentence in paragraph.sentences for word in sentence.absent))
    return {one.word: one for one in gaps.held(words, looked_through(library, papers))} if words else {}


def _gap_faults(paragraph: PlannedParagraph, held: Mapping[str, gaps.Held]) -> Iterator[str]:
    for sentence in paragraph.sentences:
        for word in sentence.absent:
            if one := held.get(word):
                yield f"line {sentence.row} of the plan: the gap does not hold, “{word}” stands in {one.key}: “{one.sentence}”"


def _with_gap(statement: Statement, paragraph: PlannedParagraph, held: Mapping[str, gaps.Held]) -> Statement:
    """A statement on what no paper has, marked where one has it by now."""
    planned = paragraph.sentences[statement.line - 1] if 0 < statement.line <= len(paragraph.sentences) else None
    if not planned or not any(cite.text == SCOPE for cite in statement.cites):
        return statement
    new = [Problem(statement.text, "R12", f"“{word}” stands in {held[word].key}: “{held[word].sentence}”", held[word].key) for word in planned.absent if word in held]
    return replace(statement, problems=(*statement.problems, *new)) if new else statement


def _with_own(statement: Statement) -> Statement:
    """A statement on the person's own paper, marked where it rests on no sentence of that paper's abstract."""
    if not OWN_PAPER.search(statement.text) or any(cite.is_own for cite in statement.cites):
        return statement
    return replace(statement, problems=(*statement.problems, Problem(statement.text, "R7", "it speaks of your own paper, and no sentence of your abstract says so (--about)")))


# -- what the plan asked and the text did


def _against_plan(paragraph: PlannedParagraph, standing: Sequence[Statement], stopped: Sequence[Problem]) -> list[PlanLine]:
    """Each line of a paragraph's plan with the sentence written for it, and where the two differ."""
    lines = []
    if standing and not any(statement.line for statement in standing):  # written before replies gave the line
        standing = [replace(statement, line=number) for number, statement in enumerate(standing, 1)]
    for number, planned in enumerate(paragraph.sentences, 1):
        asked = tuple(dict.fromkeys(one.key for one in planned.rests_on))
        mine = [statement for statement in standing if statement.line == number]
        notes = _notes(planned, asked, mine) if mine else (("not written",) if standing or stopped else (NOT_YET,))
        lines.append(PlanLine(paragraph.heading, number, planned.job, planned.says, planned.words, asked, " ".join(one.text for one in mine), tuple(notes)))
    extra = [statement for statement in standing if not 0 < statement.line <= len(paragraph.sentences)]
    return lines + [PlanLine(paragraph.heading, 0, "", "", 0, (), statement.text, ("not in the plan",)) for statement in extra]


def _notes(planned: PlannedSentence, asked: Sequence[str], mine: Sequence[Statement]) -> Iterator[str]:
    cited = dict.fromkeys(cite.key or OWN_KEY for statement in mine for cite in statement.cites if cite.text != SCOPE)
    missing = [key for key in asked if key not in cited]
    if missing:
        yield f"does not cite {', '.join(f'@{key}' for key in missing)}"
    if more := [key for key in cited if key not in asked] if asked else []:
        yield f"cites {', '.join(f'@{key}' for key in more)} besides"
    if planned.job in TOGETHER and len(cited) < 2:
        yield f"{planned.job} nothing: it cites {len(cited) or 'no'} paper{'s' if not cited else ''}"
    if planned.absent and not any(cite.text == SCOPE for statement in mine for cite in statement.cites):
        yield "does not rest on what code looked for"
    words = sum(map(_length, mine))
    if abs(words - planned.words) > FAR_FROM * planned.words:
        yield f"{words} words for {planned.words}"


def _length(statement: Statement) -> int:
    """The words of a statement; of Chinese and Japanese two characters are one."""
    return math.ceil(len(statement.text) / 2) if language_of(statement.text) in {"zh", "ja"} else len(statement.text.split())


def _coverage(sections: Sequence[Section], plan: Plan, papers: Sequence[Paper]) -> tuple[Coverage, ...]:
    """Each paper of the scope: cited in which paragraphs, or why not."""
    used: dict[str, list[str]] = {}
    for section in sections:
        for key in {key for statement in section.statements for key in statement.keys}:
            used.setdefault(key, []).append(section.heading)
    planned = {key for paragraph in plan.paragraphs for key in paragraph.keys}
    reasons = dict(plan.left_out)
    keys = sorted({paper.key for paper in papers} | used.keys())

    def why(key: str) -> str:
        if key in used:
            return ""
        return "planned, but no sentence that cites it stands" if key in planned else reasons.get(key, "not in the plan")

    return tuple(Coverage(key, tuple(used.get(key, ())), why(key)) for key in keys)
