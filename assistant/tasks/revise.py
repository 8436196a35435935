"""A draft changed as its author wishes, sentence by sentence: what was not asked to change is taken over as it is stored.

The model says of each sentence that it is kept, replaced or dropped, and writes new ones; code puts the draft together. A
new sentence that a rule stops is not taken: the old one stays. Afterwards the plan says what the text says.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pydantic import BaseModel, Field

from assistant import about, stored
from assistant.document import Cite, Problem, Statement
from assistant.errors import ReplyUnusable, UsageError
from assistant.evidence import Evidence, Label, carried, gathered
from assistant.grounding import RULES, checked
from assistant.plan import JOBS, LEFT_OUT, OWN_KEY, PlannedParagraph, PlannedSentence, Reference, left_out_line, plan_line
from assistant.tasks.desk import Desk, label_for
from assistant.tasks.draft import ROUNDS, item_of, keep_paragraph
from assistant.tasks.draft_diff import Change, Difference
from assistant.tasks.planning import TASK, Plan
from assistant.visible import visible
from assistant.writing import Written, sentences_in
from store.keys import slug
from store.keywords import ranking
from store.library import Library
from store.paper import Paper

AT_ONCE: Final = 60
"""Papers whose whole abstracts are shown; of more, those that the draft cites and those nearest to the wish."""
MOST_TITLES: Final = 300
NAME = re.compile(r"\W*[Ss]?(\d{1,3})\.(\d{1,3})\W*")
MANNER = re.compile(r"(?:Topic|Tense|Language|Style|Citations):\s*\S.*", re.IGNORECASE)


class SentenceReply(BaseModel):
    """A sentence of the revised draft: one that is kept, or a new one."""

    keep: str = ""
    job: str = ""
    text: str = ""
    instead_of: list[str] = Field(default_factory=list)
    why: str = ""


class ParagraphReply(BaseModel):
    """A paragraph of the revised draft."""

    heading: str
    sentences: list[SentenceReply]


class DroppedReply(BaseModel):
    """A sentence that the revised draft does without."""

    sentence: str
    reason: str


class RevisionReply(BaseModel):
    """A revised draft."""

    paragraphs: list[ParagraphReply]
    dropped: list[DroppedReply] = Field(default_factory=list)
    not_done: str = ""


@dataclass(frozen=True, slots=True)
class Old:
    """A sentence of the draft as it stands: its paragraph and place (from 0), its line of the plan where it is known."""

    paragraph: int
    place: int
    statement: Statement
    line: PlannedSentence | None
    labels: str
    fixed: bool

    @property
    def name(self) -> str:
        """How the prompt calls it."""
        return f"S{self.paragraph + 1}.{self.place + 1}"

    @property
    def job(self) -> str:
        """Its job, as planned; else as its citations suggest."""
        return self.line.job if self.line else JOBS[len({cite.key for cite in self.statement.cites}) > 1]

    @property
    def words(self) -> int:
        """Its length."""
        return len(self.statement.text.split())

    @property
    def text(self) -> str:
        """Its words, as a prompt may show them."""
        return visible(self.statement.text)


@dataclass(frozen=True, slots=True)
class OldParagraph:
    """A paragraph of the draft as it stands, with what was blocked when it was written and the planned lines without a sentence."""

    heading: str
    planned: PlannedParagraph
    sentences: tuple[Old, ...]
    blocked: tuple[Problem, ...]

    @property
    def unwritten(self) -> tuple[PlannedSentence, ...]:
        """Lines of the plan that no sentence was written for; none where it is not known which sentence is whose."""
        if any(one.line is None for one in self.sentences):
            return ()
        return tuple(line for line in self.planned.sentences if all(one.line is not line for one in self.sentences))


@dataclass(frozen=True, slots=True)
class New:
    """A sentence that the reply wrote: with its job, the sentences that it stands for, and the rules that stop it."""

    statement: Statement
    job: str
    instead_of: tuple[Old, ...]
    why: str
    blocked: tuple[Problem, ...]


Piece = Old | New


@dataclass(slots=True)
class Draft:
    """The revised draft while it is put together: per paragraph its heading, its sentences, and the old paragraph that it continues."""

    headings: list[str]
    paragraphs: list[list[Piece]]
    origins: list[int | None]


class Revised(NamedTuple):
    """A paragraph after the revision: its plan, its sentences, what was blocked in it, and whether anything in it is different."""

    planned: PlannedParagraph
    statements: tuple[Statement, ...]
    blocked: tuple[Problem, ...]
    is_changed: bool


class Revision(NamedTuple):
    """A revised draft: the plan as a file (as it was where nothing changed), its paragraphs, the difference, and what a rule stopped."""

    text: str
    paragraphs: tuple[Revised, ...]
    difference: Difference
    blocked: tuple[Problem, ...]

    @property
    def is_changed(self) -> bool:
        """Whether the draft is another now."""
        return any(change.kind != "stays" for change in self.difference.changes)


def revised(desk: Desk, name: str, wish: str, plan: Plan, text: str, papers: Sequence[Paper]) -> Revision:
    """The draft changed as wished, in one call and at most one more; nothing is stored yet.

    `text` is the plan's file. Raises UsageError for an empty wish or a draft that is not written, ReplyUnusable where the
    reply cannot be used at all.
    """
    if not re.search(r"\w", wish):
        raise UsageError(f'say what is to change: `carrel draft {name} --revise "shorter, and contrast with DPO earlier"`')
    stored_ones = _stored(desk.library, name, plan)
    shown = _papers_shown(desk.library, wish, stored_ones, papers)
    evidence = replace(gathered(desk.library, shown), own=about.kept(desk.library.folder, name))
    draft = _numbered(desk.library, plan, stored_ones, evidence)
    request = desk.request(
        "draft/revise",
        label_for(TASK, "revise", f"{slug(name)}-{slug(wish)[:40]}".rstrip("-")),
        RevisionReply,
        papers=evidence.papers,
        about=evidence.own,
        titles=[visible(paper.title) for paper in papers if paper.key not in evidence.keys][:MOST_TITLES],
        draft=draft,
        jobs=JOBS,
        manner=_manner(text),
        wish=visible(wish),
    )
    parsed = desk.structured(request, RevisionReply, lambda reply: _faults(reply, draft, evidence))
    exchange = desk.gateway.exchange(parsed.request)
    return _revision(name, wish, parsed.value, draft, evidence, exchange, plan, text)


def keep(library: Library, name: str, plan: Plan, revision: Revision) -> None:
    """Keeps the sentences of a revision under its plan as its file gives it, so that a run neither writes nor mends them."""
    own = about.kept(library.folder, name)
    for planned, one in zip(plan.paragraphs, revision.paragraphs, strict=True):
        if one.is_changed:
            keep_paragraph(library, name, planned, plan.guide, Written(one.statements, one.blocked), ROUNDS, own)


# -- the draft as it is shown


def _stored(library: Library, name: str, plan: Plan) -> list[tuple[tuple[Statement, ...], tuple[Problem, ...]]]:
    """The sentences of each paragraph as they are stored; raises UsageError where one is not written yet."""
    have = library.catalog.findings(TASK, slug(name))
    own = about.kept(library.folder, name)
    found = []
    for paragraph in plan.paragraphs:
        data = have.get((item_of(paragraph, plan.guide, own), 0))
        if data is None:
            raise UsageError(f"the paragraph {paragraph.heading!r} is not written yet, or its plan changed since; `carrel draft {name}` writes it, then revise")
        found.append(stored.paragraph(json.loads(data)))
    if not any(statements for statements, _ in found):
        raise UsageError(f"no sentence of the draft {name!r} stands, so there is nothing to revise; `carrel draft {name} --again` writes it anew")
    return found


def _papers_shown(library: Library, wish: str, stored_ones: Sequence[tuple[tuple[Statement, ...], tuple[Problem, ...]]], papers: Sequence[Paper]) -> list[Paper]:
    """All papers of the scope up to `AT_ONCE`; of more, those that the draft cites and those whose words are nearest to the wish."""
    cited = {paper.number: paper for statements, _ in stored_ones for one in statements for cite in one.cites if cite.key for paper in [library.paper(cite.key)]}
    every = {paper.number: paper for paper in papers}
    if len(every) > AT_ONCE:
        near = [number for number, _ in ranking(library.catalog, wish) if number in every and number not in cited]
        every = {number: every[number] for number in near[: max(AT_ONCE - len(cited), 0)]}
    return list((cited | every).values())


def _numbered(library: Library, plan: Plan, stored_ones: Sequence[tuple[tuple[Statement, ...], tuple[Problem, ...]]], evidence: Evidence) -> list[OldParagraph]:
    paragraphs = []
    for at, (planned, (statements, blocked)) in enumerate(zip(plan.paragraphs, stored_ones, strict=True)):
        lines = _lines_of(planned, statements)
        sentences = []
        for place, (statement, line) in enumerate(zip(statements, lines, strict=True)):
            labels = _labels(library, statement.cites, evidence)
            sentences.append(Old(at, place, statement, line, labels or "", fixed=labels is None))
        paragraphs.append(OldParagraph(planned.heading, planned, tuple(sentences), blocked))
    return paragraphs


def _lines_of(planned: PlannedParagraph, statements: Sequence[Statement]) -> list[PlannedSentence | None]:
    """The plan's line of each sentence: the one it names, else the one at its place; unknown for all where that does not come out."""
    count = len(planned.sentences)
    if all(1 <= one.line <= count for one in statements):
        return [planned.sentences[one.line - 1] for one in statements]
    return list(planned.sentences) if len(statements) == count else [None] * len(statements)


def _labels(library: Library, cites: Iterable[Cite], evidence: Evidence) -> str | None:
    """What a sentence cites as the labels of this prompt; None where something of it has none here."""
    found = []
    for cite in cites:
        if cite.is_own and evidence.own:  # another abstract would be another paragraph, so these are its sentences
            found += [Label(0, number) for number in cite.sentences]
            continue
        now = carried(library, cite) if cite.key else None
        shown = evidence.shown(library.paper(now.key).key) if now else None
        text = next((one for one in (shown.title, shown.text) if one and now and one.id == now.anchor), None) if shown else None
        if shown is None or text is None or now is None:
            return None
        found += [Label(shown.number, 0 if text is shown.title else number) for number in now.sentences]
    return "".join(map(str, found))


def _manner(text: str) -> list[str]:
    """The lines at the head of the plan's file that say how the draft is to be written."""
    head = re.split(r"^## ", text, maxsplit=1, flags=re.MULTILINE)[0]
    return [visible(line) for line in head.splitlines() if MANNER.match(line)]


# -- what the reply says


class Read(NamedTuple):
    """A reply, read against the draft: its paragraphs, the sentences dropped with the reasons, and what is wrong with it."""

    headings: list[str]
    paragraphs: list[list[Piece]]
    dropped: dict[str, str]
    faults: list[str]

    @property
    def new(self) -> list[New]:
        """The sentences that it wrote."""
        return [piece for pieces in self.paragraphs for piece in pieces if isinstance(piece, New)]


def _faults(reply: RevisionReply, draft: Sequence[OldParagraph], evidence: Evidence) -> list[str]:
    """What must be mended in a reply: sentences that are not accounted for, or twice; new ones that a rule stops."""
    if not reply.paragraphs:
        return [] if reply.not_done.strip() else ['there is no paragraph; where nothing of the wish can be done, say why in "not_done"']
    read = _read(reply, draft, evidence)
    said = [*read.faults]
    for one in _sentences(draft):
        kept = sum(piece is one for pieces in read.paragraphs for piece in pieces)
        count = kept + any(one in new.instead_of for new in read.new) + (one.name in read.dropped)
        if count != 1:
            said.append(f"{one.name} is neither kept, nor replaced, nor dropped with a reason" if not count else f"{one.name} stands in {count} places; it has one")
    said += [f"{new.statement.text!r} cannot be used: {problem.reason}" for new in read.new for problem in new.blocked]
    return said + [f"{new.statement.text!r} is doubted: {one.reason}" for new in read.new for one in new.statement.problems if one.rule in RULES]  # taken with its marks after that


def _read(reply: RevisionReply, draft: Sequence[OldParagraph], evidence: Evidence, exchange: str = "") -> Read:
    """A reply with the sentences that it names; what it names and the draft has not is left out and is a fault."""
    by_name = {one.name: one for one in _sentences(draft)}
    faults: list[str] = []

    def named(given: str) -> list[Old]:
        hit = NAME.fullmatch(given)
        found = by_name.get(f"S{int(hit[1])}.{int(hit[2])}") if hit else None
        if found is None:
            faults.append(f"the draft has no sentence {given!r}")
        return [found] if found else []

    def read(sentence: SentenceReply) -> Sequence[Piece]:
        if bool(sentence.keep.strip()) == bool(sentence.text.strip()):
            faults.append(f"each sentence has either \"keep\" or \"text\", this one {'both' if sentence.keep.strip() else 'neither'}: {sentence.keep or sentence.why!r}")
        if sentence.keep.strip():
            return named(sentence.keep)
        olds = tuple(dict.fromkeys(one for name in sentence.instead_of for one in named(name)))
        if any(one.fixed for one in olds):
            faults.append(f"{', '.join(one.name for one in olds if one.fixed)} can be kept, moved or dropped, and not be replaced")
            return [one for one in olds if one.fixed]
        if sentence.job not in JOBS:
            faults.append(f"{sentence.job!r} is none of the jobs {', '.join(JOBS)}")
        return [_new(line, sentence, olds, evidence, exchange) for line in sentences_in(" ".join(sentence.text.split()))]

    paragraphs = [[piece for sentence in paragraph.sentences for piece in read(sentence)] for paragraph in reply.paragraphs]
    dropped = {one.name: " ".join(drop.reason.split()) for drop in reply.dropped if drop.reason.strip() for one in named(drop.sentence)}
    return Read([_heading(paragraph.heading) for paragraph in reply.paragraphs], paragraphs, dropped, faults)


def _new(line: str, reply: SentenceReply, olds: tuple[Old, ...], evidence: Evidence, exchange: str) -> Piece:
    """A sentence that was written, held against what it cites; the old one where it is that, word for word."""
    statement, blocked = checked(line, evidence)
    if len(olds) == 1 and statement.text == olds[0].statement.text and statement.cites == olds[0].statement.cites:
        return olds[0]
    if not statement.cites and not (olds and all(not one.statement.cites for one in olds)):
        blocked.append(Problem(statement.text, "R7", "it rests on no sentence"))
    job = reply.job if reply.job in JOBS else olds[0].job if olds else JOBS[len({cite.key for cite in statement.cites}) > 1]
    return New(replace(statement, exchange=exchange), job, olds, " ".join(reply.why.split()), tuple(blocked))


def _sentences(draft: Sequence[OldParagraph]) -> list[Old]:
    return [one for paragraph in draft for one in paragraph.sentences]


def _heading(text: str) -> str:
    """A heading as a line of the plan can have it; nothing where it would be read as another part of the plan."""
    said = " ".join(text.split()).lstrip("# ")
    return "" if said.casefold() == LEFT_OUT.casefold() else said


# -- the draft put together


def _revision(name: str, wish: str, reply: RevisionReply, draft: Sequence[OldParagraph], evidence: Evidence, exchange: str, plan: Plan, text: str) -> Revision:
    count = len(_sentences(draft))
    not_done = " ".join(reply.not_done.split())
    if not reply.paragraphs:
        same = tuple(Revised(one.planned, tuple(old.statement for old in one.sentences), one.blocked, is_changed=False) for one in draft)
        return Revision(text, same, Difference(wish, count, count, (), not_done or "the reply changes nothing and says not why"), ())
    read = _read(reply, draft, evidence, exchange)
    fallen = _fallen(read.new)
    made, put_back = _settled(read, fallen, draft)
    if not made.paragraphs:
        raise ReplyUnusable(f"{name}: the reply drops every sentence; ask for something narrower, or run it with --again")
    moved = _moved(made)
    changes = [
        *_changes(made, draft, moved),
        *(Change("dropped", draft[one.paragraph].heading, one.statement.text, "", read.dropped[one.name]) for one in _gone(made, draft) if one.name in read.dropped),
        *(_stays(one, fallen, draft) for one in put_back),
        *(Change("stays", "", "", "", f"a new sentence was stopped by {_stopped(new)}") for new in fallen if not new.instead_of),
    ]
    paragraphs, lost = _paragraphs(made, draft)
    changes += [Change("dropped", heading, line.says, "", "planned, and no sentence was written for it; its paragraph is gone") for heading, line in lost]
    as_they_were = count - len({one.name for one in _gone(made, draft)} | {one.name for one in moved})
    difference = Difference(wish, count, as_they_were, tuple(changes), not_done)
    whole = _file(text, made, draft, paragraphs, plan) if any(one.is_changed for one in paragraphs) or _reordered(made) else text
    return Revision(whole, tuple(paragraphs), difference, tuple(problem for new in fallen for problem in new.blocked))


def _fallen(new: Sequence[New]) -> list[New]:
    """The new sentences that a rule stops, and those that stand for an old sentence together with one of them."""
    fallen = [one for one in new if one.blocked]
    while more := [one for one in new if one not in fallen and any(old in other.instead_of for other in fallen for old in one.instead_of)]:
        fallen += more
    return fallen


def _settled(read: Read, fallen: Sequence[New], draft: Sequence[OldParagraph]) -> tuple[Draft, list[Old]]:
    """The paragraphs of a reply with each old sentence in one place, and those that were put back because nothing stands for them."""
    seen = {old.name for new in read.new if new not in fallen for old in new.instead_of}
    made = Draft([], [], [])
    for heading, pieces in zip(read.headings, read.paragraphs, strict=True):
        standing: list[Piece] = []
        for piece in pieces:
            if isinstance(piece, New):
                standing += [] if piece in fallen else [piece]
            elif piece.name not in seen:
                seen.add(piece.name)
                standing.append(piece)
        if standing:
            made.headings.append(heading)
            made.paragraphs.append(standing)
    again = {old.name for new in fallen for old in new.instead_of}
    put_back = [one for one in _sentences(draft) if one.name not in seen and (one.name in again or one.name not in read.dropped)]
    for one in put_back:
        _put_back(made, one, draft)
    made.origins = _origins(made.paragraphs)
    taken = [draft[origin].heading if origin is not None else "" for origin in made.origins]
    made.headings = [heading or old or draft[_olds(pieces)[0].paragraph].heading if _olds(pieces) else heading or "Further work" for heading, old, pieces in zip(made.headings, taken, made.paragraphs, strict=True)]
    return made, put_back


def _put_back(made: Draft, one: Old, draft: Sequence[OldParagraph]) -> None:
    """Puts an old sentence behind the one that stood before it, else before the one behind it, else into its own paragraph anew."""
    row = draft[one.paragraph].sentences
    for near, step in ((reversed(row[: one.place]), 1), (iter(row[one.place + 1 :]), 0)):
        for neighbour in near:
            for pieces in made.paragraphs:
                places = [at for at, piece in enumerate(pieces) if neighbour in _olds([piece])]
                if places:
                    pieces.insert(places[-1] + 1 if step else places[0], one)
                    return
    before = [at for at, pieces in enumerate(made.paragraphs) if any(old.paragraph < one.paragraph for old in _olds(pieces))]
    at = before[-1] + 1 if before else 0
    made.paragraphs.insert(at, [one])
    made.headings.insert(at, draft[one.paragraph].heading)


def _olds(pieces: Iterable[Piece]) -> list[Old]:
    """The old sentences that some sentences are or stand for."""
    return [old for piece in pieces for old in ((piece,) if isinstance(piece, Old) else piece.instead_of)]


def _origins(paragraphs: Sequence[Sequence[Piece]]) -> list[int | None]:
    """The old paragraph that each continues: the one it shares most sentences with; each is continued once."""
    shared = [(-sum(old.paragraph == origin for old in _olds(pieces)), at, origin) for at, pieces in enumerate(paragraphs) for origin in {old.paragraph for old in _olds(pieces)}]
    found: dict[int, int] = {}
    for _, at, origin in sorted(shared):
        if at not in found and origin not in found.values():
            found[at] = origin
    return [found.get(at) for at in range(len(paragraphs))]


# -- what is different


def _moved(made: Draft) -> list[Old]:
    """The kept sentences that stand in another paragraph, or before one that stood before them."""
    moved = []
    for pieces, origin in zip(made.paragraphs, made.origins, strict=True):
        kept = [piece for piece in pieces if isinstance(piece, Old)]
        home = [one for one in kept if one.paragraph == origin]
        stay = _rising([one.place for one in home])
        moved += [one for one in kept if one.paragraph != origin] + [one for at, one in enumerate(home) if at not in stay]
    return moved


def _rising(numbers: Sequence[int]) -> set[int]:
    """The places of a longest rising row among some numbers."""
    best: list[list[int]] = []
    for at, number in enumerate(numbers):
        before: list[list[int]] = [[], *(row for row in best if numbers[row[-1]] < number)]
        best.append([*max(before, key=len), at])
    longest = max([[], *best], key=len)
    return set(longest)


def _reordered(made: Draft) -> bool:
    known = [origin for origin in made.origins if origin is not None]
    return known != sorted(known)


def _gone(made: Draft, draft: Sequence[OldParagraph]) -> list[Old]:
    """The old sentences that no longer stand as they were written."""
    kept = {piece.name for pieces in made.paragraphs for piece in pieces if isinstance(piece, Old)}
    return [one for one in _sentences(draft) if one.name not in kept]


def _changes(made: Draft, draft: Sequence[OldParagraph], moved: Sequence[Old]) -> list[Change]:
    """What is different, in the order of the new draft: headings, paragraphs and sentences that moved, sentences that are new."""
    found = []
    stay = _rising([-1 if origin is None else origin for origin in made.origins])
    for at, (heading, pieces, origin) in enumerate(zip(made.headings, made.paragraphs, made.origins, strict=True)):
        if origin is not None and heading != draft[origin].heading:
            found.append(Change("heading", heading, draft[origin].heading, heading))
        if origin is not None and at not in stay:
            found.append(Change("moved", heading, "", "", f"the whole paragraph: it was number {origin + 1}, and is number {at + 1}"))
        for piece in pieces:
            if isinstance(piece, New):
                was = " ".join(old.statement.text for old in piece.instead_of)
                found.append(Change("rewritten" if was else "new", heading, was, piece.statement.text, _why(piece, was)))
            elif piece in moved:
                where = "within its paragraph" if piece.paragraph == origin else f"from “{draft[piece.paragraph].heading}”"
                found.append(Change("moved", heading, piece.statement.text, piece.statement.text, where))
    return found


def _why(new: New, was: str) -> str:
    """Why a sentence is new; where its words are the old ones, what it cites now."""
    cited = ", ".join(f"{one.key} {','.join(map(str, one.sentences))}" for one in _references(new.statement.cites))
    return "; ".join(part for part in (new.why, f"it cites {cited} now" if new.statement.text == was else "") if part)


def _stays(one: Old, fallen: Sequence[New], draft: Sequence[OldParagraph]) -> Change:
    """Why an old sentence stays though the reply had it otherwise."""
    tried = [new for new in fallen if one in new.instead_of]
    why = f"the new one was stopped by {_stopped(tried[0])}" if tried else "the reply did not say what becomes of it"
    return Change("stays", draft[one.paragraph].heading, one.statement.text, one.statement.text, why)


def _stopped(new: New) -> str:
    reason = f"{new.blocked[0].rule} ({new.blocked[0].reason})" if new.blocked else "a rule, with another that it belongs to"
    return f"{reason}: “{new.statement.text}”"


# -- the plan that goes with it


def _paragraphs(made: Draft, draft: Sequence[OldParagraph]) -> tuple[list[Revised], list[tuple[str, PlannedSentence]]]:
    """Each paragraph with its plan, and planned lines without a sentence whose paragraph nobody continues."""
    paragraphs = []
    taken: list[PlannedSentence] = []
    for heading, pieces, origin in zip(made.headings, made.paragraphs, made.origins, strict=True):
        old = draft[origin] if origin is not None else None
        if old and heading == old.heading and pieces == list(old.sentences):
            paragraphs.append(Revised(old.planned, tuple(one.statement for one in old.sentences), old.blocked, is_changed=False))
            continue
        lines: list[PlannedSentence] = []
        statements = []
        for piece in pieces:
            line = piece.line if isinstance(piece, Old) else None
            if not (line and lines and line is lines[-1]):  # two sentences may be written for one line, and stand together still
                lines.append(_own_line(piece) if line is None or any(line is one for one in taken) else line)
                taken.append(lines[-1])
            statements.append(replace(piece.statement, line=len(lines)))
        planned = PlannedParagraph(heading, (*lines, *(old.unwritten if old else ())), old.planned.row if old else 0)
        paragraphs.append(Revised(planned, tuple(statements), old.blocked if old else (), is_changed=True))
    gone = [one for at, one in enumerate(draft) if at not in made.origins]
    return paragraphs, [(one.heading, line) for one in gone for line in one.unwritten]


def _own_line(piece: Piece) -> PlannedSentence:
    """A sentence as a line of the plan of its own: what it says and rests on."""
    text = piece.statement.text
    return PlannedSentence(piece.job, len(text.split()), text, _references(piece.statement.cites))


def _references(cites: Iterable[Cite]) -> tuple[Reference, ...]:
    grouped: dict[str, set[int]] = {}
    for cite in cites:
        if cite.key or cite.is_own:
            grouped.setdefault(cite.key or OWN_KEY, set()).update({0} if cite.text == "title" else cite.sentences)
    return tuple(Reference(key, tuple(sorted(numbers))) for key, numbers in grouped.items())


def _file(text: str, made: Draft, draft: Sequence[OldParagraph], paragraphs: Sequence[Revised], plan: Plan) -> str:
    """The plan's file after the revision: lines that still hold stand as a person wrote them, and so do their own notes."""
    lines = text.splitlines()
    starts = [one.planned.row - 1 for one in draft]
    out = next((at for at, line in enumerate(lines) if re.match(rf"##\s+{LEFT_OUT}\s*$", line)), len(lines))
    ends = [min(end for end in (*starts, out, len(lines)) if end > start) for start in starts]
    parts = [lines[: min(starts)]]
    for one, origin in zip(paragraphs, made.origins, strict=True):
        block = lines[starts[origin] : ends[origin]] if origin is not None else []
        parts.append(_block(one.planned, block, draft[origin] if origin is not None else None, lines) if one.is_changed else block)
    for at, old in enumerate(draft):
        if at not in made.origins:
            parts[-1] = [*_trimmed(parts[-1]), *_notes(lines[starts[at] : ends[at]], old)]
    parts.append(_left_out(lines[out:], plan, paragraphs))
    return "\n\n".join("\n".join(trimmed) for part in parts if (trimmed := _trimmed(part))) + "\n"


def _block(planned: PlannedParagraph, block: Sequence[str], old: OldParagraph | None, lines: Sequence[str]) -> list[str]:
    """A changed paragraph as lines of the file; a note stays before the line that it stood before, or comes behind the last."""
    if old is None:
        return [f"## {planned.heading}", "", *map(plan_line, planned.sentences)]
    rows = sorted(_rows(old))
    before = {old.planned.row + row: list(block[last + 1 : row]) for last, row in zip(rows, rows[1:], strict=False)}
    said = [block[0] if old.heading == planned.heading else f"## {planned.heading}", *before.pop(old.planned.row + rows[1])]
    for line in planned.sentences:
        said += [*before.pop(line.row, []), lines[line.row - 1] if line.row else plan_line(line)]
    return [*said, *(note for notes in before.values() for note in notes if note.strip()), *block[rows[-1] + 1 :]]


def _notes(block: Sequence[str], old: OldParagraph) -> list[str]:
    """The person's own notes in a paragraph that is gone."""
    rows = _rows(old)
    return [line for at, line in enumerate(block) if at not in rows and line.strip()]


def _rows(old: OldParagraph) -> set[int]:
    """Where a paragraph's heading and lines stand in its part of the file, from 0."""
    return {0, *(line.row - old.planned.row for line in old.planned.sentences)}


def _left_out(lines: Sequence[str], plan: Plan, paragraphs: Sequence[Revised]) -> list[str]:
    """The part on papers that the plan does without: papers that a revision needs are taken out, those that it no longer needs put in."""
    before = {key for paragraph in plan.paragraphs for key in paragraph.keys}
    now = {key for one in paragraphs for key in one.planned.keys}
    kept = [line for line in lines if not ((hit := re.match(r"\s*[*-] @(\S+?):", line)) and hit[1] in now)]
    new = [left_out_line(key, "no sentence needs it after a revision") for key in sorted(before - now) if key not in dict(plan.left_out)]
    if not new:
        return kept
    head = kept or [f"## {LEFT_OUT}", ""]
    return [*_trimmed(head), *([""] if len(_trimmed(head)) == 1 else []), *new]


def _trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without the blank ones at their end."""
    count = next((at for at in range(len(lines), 0, -1) if lines[at - 1].strip()), 0)
    return list(lines[:count])
