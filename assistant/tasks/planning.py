"""A draft's plan: proposed from the papers, in groups where they are many; put right against the library; extended for new papers.

A model only proposes: once the plan is a file it is the person's, and nothing here takes a line away.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from pydantic import BaseModel, Field

from assistant import about, gaps
from assistant.document import Document
from assistant.errors import ReplyUnusable, UsageError
from assistant.evidence import Evidence, Label, gathered, label_list
from assistant.plan import GAP, JOBS, OWN_KEY, POSITIONS, Guide, PlannedParagraph, PlannedSentence, Reference
from assistant.tasks.desk import Desk, label_for
from assistant.visible import visible
from store.errors import UnknownPaper
from store.keys import slug
from store.library import Library
from store.paper import Paper

TASK: Final = "draft"
SEEN: Final = "draft papers"
AT_ONCE = 48
"""Papers whose whole abstracts are planned in one prompt; more are grouped by their titles first."""
MOST_TITLES = 1_000
"""Titles that one prompt groups."""


class SentenceReply(BaseModel):
    """A planned sentence as a model gives it."""

    job: str
    words: int = 25
    says: str
    rests_on: list[str] = Field(default_factory=list)
    absent: list[str] = Field(default_factory=list)


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


class GroupReply(BaseModel):
    """Papers that are planned together."""

    label: str
    definition: str = ""
    papers: list[int]


class GroupsReply(BaseModel):
    """The groups of a section."""

    groups: list[GroupReply]
    left_out: list[LeftOut] = Field(default_factory=list)


class LineReply(SentenceReply):
    """A sentence to be put into a paragraph of the plan, behind one of its lines."""

    paragraph: int
    after: int = 0


class ExtendReply(BaseModel):
    """What new papers add to a plan."""

    lines: list[LineReply] = Field(default_factory=list)
    paragraphs: list[ParagraphReply] = Field(default_factory=list)
    left_out: list[LeftOut] = Field(default_factory=list)


class Plan(NamedTuple):
    """Paragraphs, (key, reason) of the papers left out, and how to write."""

    paragraphs: tuple[PlannedParagraph, ...]
    left_out: tuple[tuple[str, str], ...]
    guide: Guide = Guide()


class Group(NamedTuple):
    """Papers that belong together: what they are called, what they have in common, and their keys."""

    label: str
    definition: str
    keys: tuple[str, ...]


class Outline(NamedTuple):
    """A group as a prompt shows it: its papers by their numbers there."""

    label: str
    definition: str
    papers: tuple[int, ...]


class Addition(NamedTuple):
    """What new papers add: sentences behind rows of the plan's file, paragraphs, and papers left out."""

    after: tuple[tuple[int, PlannedSentence], ...]
    paragraphs: tuple[PlannedParagraph, ...]
    left_out: tuple[tuple[str, str], ...]


def plan(
    desk: Desk, name: str, guide: Guide, papers: Sequence[Paper], paragraphs: int, groups: Sequence[Group] = (), words: int = 0
) -> Plan:
    """A plan proposed from the papers, along groups where some are given; raises ReplyUnusable when none can be used.

    More papers than one prompt can show are planned group by group; where there are no groups a model makes them first.
    """
    if any(paper.key == OWN_KEY for paper in papers):
        raise UsageError(f"a plan keeps @{OWN_KEY} for your own abstract, and a paper of the library has that key; give it another: `carrel rename {OWN_KEY} NEW-KEY`")
    if len(papers) <= AT_ONCE:
        made = _planned_part(desk, name, guide, papers, paragraphs, words, groups=groups)
    else:
        made = _planned_in_parts(desk, name, guide, papers, paragraphs, words, groups)
    if not made.paragraphs:
        raise ReplyUnusable(f"{name}: the proposed plan has no paragraph; run it with --again")
    remember(desk.library, name, papers)
    return made._replace(guide=guide)


def calls_to_plan(papers: int, groups: int) -> int:
    """About how many calls a plan of so many papers takes."""
    return 1 if papers <= AT_ONCE else (groups or 1 + math.ceil(papers / (AT_ONCE / 2)))


def tree_groups(tree: Document) -> list[Group]:
    """The nodes of a taxonomy that have papers, as groups."""
    labels = {node.id: node.label for node in tree.nodes}
    groups = []
    for node in tree.nodes:
        keys = tuple(one.key for one in tree.assignments if one.node == node.id and one.rank == 1)
        if keys:
            groups.append(Group(f"{labels[node.parent]} / {node.label}" if node.parent else node.label, node.definition, keys))
    return groups


def table_groups(table: Document) -> list[Group]:
    """The groups of a grouped table; a paper with several values is in the first."""
    taken: set[str] = set()
    groups = []
    for group in table.groups:
        keys = tuple(key for key in group.keys if key not in taken)
        taken.update(keys)
        if keys:
            groups.append(Group(group.heading, "", keys))
    return groups


def resolved(library: Library, plan: Plan, file: str) -> Plan:
    """The plan with the present keys of its papers; what is not in the library stands as a fault of its paragraph."""
    return plan._replace(paragraphs=tuple(_resolved(library, paragraph, file) for paragraph in plan.paragraphs))


def new_papers(library: Library, name: str, plan: Plan, papers: Sequence[Paper]) -> list[Paper]:
    """The papers of the scope that neither stand in the plan nor were ever shown to whoever planned it."""
    seen = {item for item, _ in library.catalog.findings(SEEN, slug(name))}
    known = {key for paragraph in plan.paragraphs for key in paragraph.keys} | {key for key, _ in plan.left_out}
    return [paper for paper in papers if str(paper.number) not in seen and not known & {paper.key, *paper.aliases}]


def remember(library: Library, name: str, papers: Iterable[Paper]) -> None:
    """Keeps which papers a plan was made from, so that a line that a person takes out is not proposed again."""
    with library.catalog.writing():
        for paper in papers:
            library.catalog.keep_finding(SEEN, slug(name), str(paper.number), 0, "[]")


def extended(desk: Desk, name: str, plan: Plan, papers: Sequence[Paper]) -> Addition:
    """What new papers add to a plan, in one call a pack of them; every line that stands in the plan stays."""
    parts = []
    for start in range(0, len(papers), AT_ONCE):
        evidence = gathered(desk.library, papers[start : start + AT_ONCE])
        request = desk.request(
            "draft/extend",
            label_for(TASK, "extend", f"{slug(name)}-{evidence.keys[0]}"),
            ExtendReply,
            papers=evidence.papers,
            topic=plan.guide.topic or name,
            jobs=[job for job in JOBS if job != GAP],
            plan=plan.paragraphs,
            language=plan.guide.language or desk.settings.language,
        )
        parsed = desk.structured(request, ExtendReply, lambda reply, evidence=evidence: _extend_faults(reply, evidence, plan))  # type: ignore[misc]  # bound at once
        parts.append(_addition(parsed.value, evidence, plan))
    remember(desk.library, name, papers)
    return Addition(
        tuple(one for part in parts for one in part.after),
        tuple(one for part in parts for one in part.paragraphs),
        tuple(one for part in parts for one in part.left_out),
    )


def looked_through(library: Library, papers: Sequence[Paper]) -> list[tuple[str, str]]:
    """(key, sentence) of every title and abstract of the scope, for words that none of them is to hold."""
    return [(shown.paper.key, line.text) for shown in gathered(library, papers).papers for line in shown.lines]


# -- proposing


def _planned_part(
    desk: Desk,
    name: str,
    guide: Guide,
    papers: Sequence[Paper],
    paragraphs: int,
    words: int,
    *,
    groups: Sequence[Group] = (),
    part: str = "",
    others: Sequence[str] = (),
    scope: Sequence[tuple[str, str]] = (),
) -> Plan:
    """The plan of papers that one prompt shows; `part` is what they are of a section whose other parts are planned apart."""
    evidence = replace(gathered(desk.library, papers), own=about.kept(desk.library.folder, name))
    sentences = scope or looked_through(desk.library, papers)
    request = desk.request(
        "draft/plan",
        label_for(TASK, "plan", slug(f"{name} {part}".strip())),
        PlanReply,
        papers=evidence.papers,
        about=evidence.own,
        topic=guide.topic or name,
        paragraphs=paragraphs,
        words=words,
        jobs=_jobs(evidence),
        outline=_outline(groups, evidence),
        subject=part,
        others=others,
        language=guide.language or desk.settings.language,
    )
    parsed = desk.structured(request, PlanReply, lambda reply: _plan_faults(reply, evidence, sentences, needs_own=not part))
    return _planned(parsed.value, evidence, sentences)


def _planned_in_parts(desk: Desk, name: str, guide: Guide, papers: Sequence[Paper], paragraphs: int, words: int, groups: Sequence[Group]) -> Plan:
    """A plan in parts, one prompt a group; papers that no group has are a part of their own, and nothing is dropped in silence."""
    by_key = {paper.key: paper for paper in papers}
    left_out: list[tuple[str, str]] = []
    if not groups:
        groups, left_out = _grouped(desk, name, guide, papers)
    filed = {key for group in groups for key in group.keys} | {key for key, _ in left_out}
    rest = tuple(sorted(by_key.keys() - filed))
    parts = [part for group in [*groups, *([Group("Further work", "", rest)] if rest else [])] for part in _cut(group, by_key)]
    scope = looked_through(desk.library, papers)
    made = []
    for part in parts:
        share = len(part.keys) / sum(len(one.keys) for one in parts)
        made.append(
            _planned_part(
                desk,
                name,
                guide,
                [by_key[key] for key in part.keys],
                max(1, round(paragraphs * share)),
                round(words * share),
                part=part.label,
                others=[one.label for one in parts if one is not part],
                scope=scope,
            )
        )
    return Plan(
        tuple(paragraph for one in made for paragraph in one.paragraphs),
        (*left_out, *(out for one in made for out in one.left_out)),
    )


def _cut(group: Group, by_key: dict[str, Paper]) -> list[Group]:
    """A group as parts that a prompt can show, in order of key."""
    keys = sorted(key for key in group.keys if key in by_key)
    count = math.ceil(len(keys) / AT_ONCE)
    size = math.ceil(len(keys) / count) if count else 0
    cut = [tuple(keys[at * size : (at + 1) * size]) for at in range(count)]
    return [Group(f"{group.label} ({at} of {count})" if count > 1 else group.label, group.definition, part) for at, part in enumerate(cut, 1)]


def _grouped(desk: Desk, name: str, guide: Guide, papers: Sequence[Paper]) -> tuple[list[Group], list[tuple[str, str]]]:
    """The papers in groups by their titles, and those that fit none with the reason; raises UsageError for too many."""
    if len(papers) > MOST_TITLES:
        raise UsageError(
            f"{len(papers)} papers are too many for one section: take fewer with --since, --tag or --node, "
            "or grow a tree first with `carrel taxonomy` and give it with --taxonomy"
        )
    evidence = gathered(desk.library, papers)
    keys = {shown.number: shown.paper.key for shown in evidence.papers}
    request = desk.request(
        "draft/group",
        label_for(TASK, "group", slug(name)),
        GroupsReply,
        topic=guide.topic or name,
        titles=[(shown.number, visible(shown.paper.title) or (shown.lines[0].text if shown.lines else "")) for shown in evidence.papers],
        groups=math.ceil(len(papers) / (AT_ONCE / 2)),
        most=AT_ONCE,
    )
    reply = desk.structured(request, GroupsReply, lambda reply: _group_faults(reply, set(keys))).value
    groups, taken = [], set[int]()
    for group in reply.groups:
        numbers = [number for number in dict.fromkeys(group.papers) if number in keys and number not in taken]
        taken.update(numbers)
        if numbers:
            groups.append(Group(" ".join(group.label.split()), " ".join(group.definition.split()), tuple(keys[number] for number in numbers)))
    return groups, [(keys[one.paper], one.reason) for one in reply.left_out if one.paper in keys and one.paper not in taken]


def _outline(groups: Sequence[Group], evidence: Evidence) -> list[Outline]:
    numbers = {shown.paper.key: shown.number for shown in evidence.papers}
    shown = [Outline(group.label, group.definition, tuple(numbers[key] for key in group.keys if key in numbers)) for group in groups]
    return [outline for outline in shown if outline.papers]


# -- what is wrong with a proposal


def _group_faults(reply: GroupsReply, numbers: set[int]) -> list[str]:
    placed = [number for group in reply.groups for number in group.papers] + [one.paper for one in reply.left_out]
    said = [f"paper {number} was not shown" for number in sorted(set(placed) - numbers)]
    said += [f"paper {number} stands twice" for number in sorted({number for number in placed if placed.count(number) > 1})]
    missing = sorted(numbers - set(placed))
    return said + ([f"papers {', '.join(map(str, missing))} are in no group and not left out"] if missing else [])


def _plan_faults(reply: PlanReply, evidence: Evidence, scope: Sequence[tuple[str, str]], *, needs_own: bool) -> list[str]:
    """What must be mended in a plan: labels that were not shown, claims and gaps that rest on nothing, papers not accounted for.

    Where the author's own abstract is shown, a plan that is no part of another one has to speak of it.
    """
    said, used = [], {one.paper for one in reply.left_out}
    for paragraph in reply.paragraphs:
        for sentence in paragraph.sentences:
            used |= {label.paper for label in label_list(sentence.rests_on)}
            said += _sentence_faults(sentence, evidence) + _gap_faults(sentence, evidence, scope)
    said += ["no sentence rests on the author's own abstract, paper 0"] if needs_own and evidence.own and 0 not in used else []
    return said + _unused(used, evidence)


def _extend_faults(reply: ExtendReply, evidence: Evidence, plan: Plan) -> list[str]:
    said, used = [], {one.paper for one in reply.left_out}
    for sentence in [*reply.lines, *(one for paragraph in reply.paragraphs for one in paragraph.sentences)]:
        used |= {label.paper for label in label_list(sentence.rests_on)}
        said += _sentence_faults(sentence, evidence)
    for line in reply.lines:
        count = len(plan.paragraphs[line.paragraph - 1].sentences) if 1 <= line.paragraph <= len(plan.paragraphs) else None
        if count is None:
            said.append(f"the plan has no paragraph {line.paragraph}")
        elif not 0 <= line.after <= count:
            said.append(f"paragraph {line.paragraph} has no line {line.after}, it has {count}")
    return said + _unused(used, evidence)


def _jobs(evidence: Evidence) -> list[str]:
    """The jobs that a sentence may have: nothing positions a paper of which nothing is shown."""
    return [job for job in JOBS if job != POSITIONS or evidence.own]


def _sentence_faults(sentence: SentenceReply, evidence: Evidence) -> list[str]:
    found = label_list(sentence.rests_on)
    said = [f"{label} was not shown" for label in found if evidence.cite(label) is None]
    if sentence.job not in _jobs(evidence):
        said.append(f"{sentence.job!r} is none of the jobs {', '.join(_jobs(evidence))}")
    if not found and not sentence.absent:
        said.append(f"{sentence.says!r} rests on no sentence")
    return said


def _gap_faults(sentence: SentenceReply, evidence: Evidence, scope: Sequence[tuple[str, str]]) -> list[str]:
    """A gap rests on a sentence that states one, or on words that no abstract of the scope holds."""
    said = [f"the gap {sentence.says!r} does not hold: {one.word!r} stands in {one.sentence!r}" for one in gaps.held(sentence.absent, scope)]
    told = gaps.is_told(cite.quote for label in label_list(sentence.rests_on) if (cite := evidence.cite(label)))
    if sentence.job == GAP and not sentence.absent and not told:
        said.append(f"the gap {sentence.says!r} rests on no sentence that states one; give the words that are absent, or leave it out")
    return said


def _unused(used: set[int], evidence: Evidence) -> list[str]:
    return [f"paper {shown.number} is neither used nor left out with a reason" for shown in evidence.papers if shown.number not in used]


# -- a proposal as a plan


def _planned(reply: PlanReply, evidence: Evidence, scope: Sequence[tuple[str, str]]) -> Plan:
    """The plan with keys for labels; labels that were not shown are dropped, and a sentence that then rests on nothing too."""
    keys = {shown.number: shown.paper.key for shown in evidence.papers}
    paragraphs = tuple(made for paragraph in reply.paragraphs if (made := _paragraph(paragraph, evidence, scope)))
    used = {key for paragraph in paragraphs for key in paragraph.keys}
    return Plan(paragraphs, _left_out(reply.left_out, keys, used))


def _addition(reply: ExtendReply, evidence: Evidence, plan: Plan) -> Addition:
    keys = {shown.number: shown.paper.key for shown in evidence.papers}
    after = []
    for line in reply.lines:
        sentence = _sentence(line, evidence, ())
        if sentence is None or not 1 <= line.paragraph <= len(plan.paragraphs):
            continue
        paragraph = plan.paragraphs[line.paragraph - 1]
        before = paragraph.sentences[: max(line.after, 0)]
        after.append((before[-1].row if before else paragraph.sentences[0].row - 1, sentence))
    paragraphs = tuple(made for paragraph in reply.paragraphs if (made := _paragraph(paragraph, evidence, ())))
    used = {one.key for _, sentence in after for one in sentence.rests_on} | {key for paragraph in paragraphs for key in paragraph.keys}
    return Addition(tuple(after), paragraphs, _left_out(reply.left_out, keys, used))


def _left_out(replies: Sequence[LeftOut], keys: dict[int, str], used: set[str]) -> tuple[tuple[str, str], ...]:
    reasons = {keys[one.paper]: one.reason for one in replies if one.paper in keys}
    return tuple((key, reasons.get(key, "the plan does not mention it")) for key in sorted(set(keys.values()) - used))


def _paragraph(reply: ParagraphReply, evidence: Evidence, scope: Sequence[tuple[str, str]]) -> PlannedParagraph | None:
    sentences = tuple(made for sentence in reply.sentences if (made := _sentence(sentence, evidence, scope)))
    return PlannedParagraph(" ".join(reply.heading.split()), sentences) if sentences else None


def _sentence(reply: SentenceReply, evidence: Evidence, scope: Sequence[tuple[str, str]]) -> PlannedSentence | None:
    """A planned sentence; none where nothing that was shown bears it out."""
    keys = {shown.number: shown.paper.key for shown in evidence.papers}
    found = [label for label in label_list(reply.rests_on) if evidence.cite(label)]
    is_held = bool(gaps.held(reply.absent, scope))
    absent = () if is_held else tuple(" ".join(word.replace(",", " ").replace(";", " ").split()) for word in reply.absent if word.strip())
    if not absent and (not found or is_held):
        return None
    return PlannedSentence(reply.job, reply.words, " ".join(reply.says.split()), _references(found, keys | {0: OWN_KEY}), absent)


def _references(found: Sequence[Label], keys: dict[int, str]) -> tuple[Reference, ...]:
    grouped: dict[str, list[int]] = {}
    for label in found:
        grouped.setdefault(keys[label.paper], []).append(label.sentence)
    return tuple(Reference(key, tuple(sorted(set(numbers)))) for key, numbers in grouped.items())


# -- a plan as it is read


def _resolved(library: Library, paragraph: PlannedParagraph, file: str) -> PlannedParagraph:
    faults: list[str] = []
    sentences = []
    for sentence in paragraph.sentences:
        rests = []
        for one in sentence.rests_on:
            key, wrong = _reference(library, one)
            faults += [f"{file}:{sentence.row}: {wrong}"] if wrong else []
            rests.append(Reference(key, one.sentences))
        sentences.append(replace(sentence, rests_on=tuple(rests)))
    return replace(paragraph, sentences=tuple(sentences), faults=tuple(faults))


def _reference(library: Library, one: Reference) -> tuple[str, str]:
    """A reference's present key, and what is wrong with it."""
    if one.key == OWN_KEY:
        return one.key, ""
    try:
        paper = library.paper(one.key)
    except UnknownPaper as error:
        return one.key, f"the plan rests on @{one.key}: {error}"
    count = next((len(text.sentences) for text in library.texts(paper) if text.role.startswith("abstract")), 0)
    gone = [number for number in one.sentences if number > count]
    return paper.key, f"the plan rests on sentence {gone[0]} of @{one.key}, whose abstract has {count} (`carrel show {one.key}`)" if gone else ""
