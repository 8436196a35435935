"""The person's own abstract against the library: the papers nearest to it as a table, and its claims of novelty held against them.

Search finds the papers, one call reads them, code checks what it says. Without a reply the ranking stands alone, and says so.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Final, Literal, NamedTuple

from pydantic import BaseModel, Field

from assistant import attribution, stored
from assistant.cells import Fault, mark_problem, stopped_cell
from assistant.document import NOT_NEAR, YOURS, Cell, Cite, Column, Document, Nearness, Novelty, Problem, Report, Row, Statement, joined
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota
from assistant.evidence import Evidence, Label, OwnText, gathered, label_list
from assistant.gateway import Parsed
from assistant.grounding import SUSPICIOUS, cites_of, free_form, judged, suspicion
from assistant.tasks.desk import Desk, label_for
from store.keys import slug
from store.library import Library
from store.paper import Paper, Record
from store.scope import Scope
from store.search import CLOSE, Hit

TASK: Final = "position"
CLOSEST: Final = 5
PER_CLAIM: Final = 3
MOST_PAPERS: Final = 12
"""Papers that one call reads: the nearest, then by turns those that search finds for each claim."""
LEAST_COSINE: Final = {"hash": 0.5}
"""A paper is near where the cosine of its best passage reaches what search calls close (or this, by embedder). With minilm the
nearest of 36 papers on one field reach .38 and more, those to abstracts of other fields .31 at most. Words do not tell: of a
whole abstract any text shares a tenth. Where nothing is near there is nothing to position against, and no model is asked."""
SHARED, THEY, MINE = "shared", "they", "mine"
COLUMNS: Final = (
    Column(SHARED, "Shared problem", "What problem or idea do the writer's own abstract and the library paper share?"),
    Column(THEY, "What they do", "What does the library paper do about it?"),
    Column(MINE, "What this work adds", "What does the writer's own abstract add, or do differently?"),
)
CLAIM: Final = re.compile(
    r"\b(?:(?:the |a |our )?first(?:[- ]ever)?(?=\s+(?:to|time|work|study|method|approach|model|system|large|open|\w+[- ]\w+|\w+))|novel\w*|new(?:ly)?|unprecedented|unexplored"
    r"|hitherto|never (?:been|before)|no (?:prior|previous|existing|earlier|other) (?:work|method|approach|study|paper|system|model)\w*"
    r"|(?:has|have) not (?:yet )?been|(?:we|this paper|this work) (?:introduces?|proposes?|presents?|develops?|designs?))\b"
    r"|\b(?:neuartig\w*|erstmals|zum ersten Mal|wir (?:stellen|schlagen|führen|präsentieren)|nous (?:proposons|présentons|introduisons)|pour la première fois|proponemos|por primera vez)\b"
    r"|首次|首个|新颖|新的|我们提出|本文提出",
    re.IGNORECASE,
)
"""What a claim of novelty looks like; a list for search, the reader may name others."""
ORDER: Final = re.compile(r"(?:at|in|the) first (?:stage|step|phase|glance|place|half|part|layer|order)|first[- ](?:stage|step|order|principles?)|^first,|new(?:ly)? (?:data|tokens|line|york)", re.IGNORECASE)
"""Words that count or name and claim nothing."""
AMONG_THESE: Final = "none of the {count} library papers that were compared says it; of other papers this says nothing"
BY_SEARCH: Final = "nearest sentence by search, read by no model: compare for yourself"


class Said(BaseModel):
    """A cell as a model gives it."""

    says: str | None = None
    sentences: list[str] = Field(default_factory=list)


class CloseReply(BaseModel):
    """One of the nearest papers beside the own abstract."""

    paper: int
    shared: Said
    they: Said
    mine: Said

    def cell(self, column: str) -> Said:
        """The cell of a column."""
        return {SHARED: self.shared, THEY: self.they, MINE: self.mine}[column]


class AlreadyReply(BaseModel):
    """Sentences of one paper that already say what is claimed."""

    sentences: list[str]
    reason: str


class ClaimReply(BaseModel):
    """A sentence of the own abstract that claims something new."""

    claim: str
    already: list[AlreadyReply] = Field(default_factory=list)


class PositionReply(BaseModel):
    """The table of the nearest papers, and the claims."""

    closest: list[CloseReply]
    claims: list[ClaimReply] = Field(default_factory=list)


class Read(NamedTuple):
    """What stands of a reply, and what a rule stopped."""

    rows: tuple[Row, ...]
    novelty: tuple[Novelty, ...]
    blocked: tuple[Problem, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The papers that search finds for an abstract: the nearest, those for each of its claims, and all of them as one prompt shows them."""

    nearest: tuple[Nearness, ...]
    claims: tuple[int, ...]
    evidence: Evidence


def read(desk: Desk, name: str, own: OwnText, papers: Sequence[Paper]) -> list[str]:
    """Reads the nearest papers beside the abstract in one call and keeps what comes of it; what failed.

    What was read of these papers and these words before is not asked again.
    """
    found = search(desk.library, own, papers)
    have = desk.library.catalog.findings(TASK, slug(name)).get((own.digest, 0))
    if not found.nearest or (have and json.loads(have)["shown"] == list(found.evidence.keys)):
        return []
    numbers = {shown.key: shown.number for shown in found.evidence.papers}
    table = [numbers[one.key] for one in found.nearest]
    request = desk.request(
        "draft/closest",
        label_for("draft", "closest", slug(name)),
        PositionReply,
        papers=found.evidence.papers,
        about=own,
        closest=table,
        claims=[str(Label(0, number)) for number in found.claims],
    )
    try:
        parsed = desk.structured(request, PositionReply, lambda reply: faults(reply, table, found.evidence))
    except (BudgetReached, KeyOrQuota):
        raise
    except GatewayError as error:
        return [f"closest papers: {error}"]
    made = _of(parsed, found, desk.gateway.exchange(parsed.request))
    data = {
        "shown": found.evidence.keys,
        "nearest": [asdict(one) for one in found.nearest],
        "rows": [{"key": row.key, "cells": {column: asdict(cell) for column, cell in row.cells.items()}} for row in made.rows],
        "novelty": [asdict(one) for one in made.novelty],
        "blocked": [asdict(one) for one in made.blocked],
    }
    with desk.library.catalog.writing():
        desk.library.catalog.keep_finding(TASK, slug(name), own.digest, 0, json.dumps(data, ensure_ascii=False))
    return []


def positioned(library: Library, document: Document, own: OwnText, papers: Sequence[Paper]) -> Document:
    """The draft with the papers nearest to the abstract and its claims, as they were read; else as search alone finds them. Asks no model."""
    kept = library.catalog.findings(TASK, slug(document.name)).get((own.digest, 0))
    if not kept:
        found = search(library, own, papers)
        outcome = "" if found.nearest else NOT_NEAR
        return replace(document, nearest=found.nearest, novelty=tuple(to_compare(found)), outcome=outcome, report=_with_suspicion(document, own))
    data = json.loads(kept)
    rows = tuple(Row(row["key"], {column: stored.cell(json.dumps(cell)) for column, cell in row["cells"].items()}) for row in data["rows"])
    blocked = tuple(Problem(**one) for one in data["blocked"])
    return replace(
        document,
        columns=COLUMNS,
        rows=rows,
        nearest=tuple(Nearness(one["key"], one["score"], one["cosine"], tuple(one["found_by"])) for one in data["nearest"]),
        novelty=tuple(_novelty(one) for one in data["novelty"]),
        report=joined([_with_suspicion(document, own), _report(rows, blocked)]),
    )


def _with_suspicion(document: Document, own: OwnText) -> Report:
    """The draft's report; an abstract that reads like an instruction is told even where no statement rests on it."""
    told = any(problem.rule == SUSPICIOUS and problem.reason == suspicion(own) for problem in document.report.marked)
    if told or not own.is_suspicious:
        return document.report
    return replace(document.report, marked=(*document.report.marked, Problem(YOURS, SUSPICIOUS, suspicion(own))))


# -- what search finds


def search(library: Library, own: OwnText, papers: Sequence[Paper]) -> Found:
    """The papers nearest to an abstract, its own entry in the library left out, and for each of its claims those that may say it already."""
    mine = same_paper(library, own)
    scope = Scope(keys=tuple(paper.key for paper in papers if paper.key != mine))
    hits = [hit for hit in library.search(words(own), count=CLOSEST, scope=scope) if _is_near(library, hit) or _is_foreign(library, own)]
    claims = claim_sentences(own)
    some = [library.search(_subject(own, number), count=PER_CLAIM, scope=scope) for number in claims] if hits else []
    by_turns = [hit.paper for rank in range(PER_CLAIM) for found in some for hit in found[rank : rank + 1]]
    numbers = list(dict.fromkeys([*(hit.paper for hit in hits), *by_turns]))[:MOST_PAPERS]
    keys = library.catalog.keys(numbers)
    nearest = tuple(Nearness(keys[hit.paper], hit.score, hit.cosine, hit.found_by) for hit in hits)
    return Found(nearest, claims, replace(gathered(library, library.catalog.papers(numbers) if numbers else []), own=own))


def same_paper(library: Library, own: OwnText) -> str:
    """The key under which the library holds the person's own paper; nothing where it does not."""
    return library.known(Record(title=own.title.characters, abstract=_body(own))) if own.title else ""


def words(own: OwnText) -> str:
    """The whole abstract with its title, as it is looked up."""
    return "\n".join(own.texts)


def claim_sentences(own: OwnText) -> tuple[int, ...]:
    """The sentences that look like claims of novelty."""
    return tuple(number for number in range(1, own.count + 1) if _claims(_quote(own, number)))


def to_compare(found: Found) -> Iterator[Novelty]:
    """For each claim the nearest sentence of the papers found, named as what it is: search's word and no reader's."""
    papers = replace(found.evidence, own=None)
    own = found.evidence.own
    for number in found.claims if own and papers.papers else ():
        claim = own.cite(number) if own else None
        best = attribution.nearest(_bare(claim.quote), papers) if claim else None
        shown = papers.shown(best.key) if best else None
        if claim and best and shown:
            cites = cites_of([Label(shown.number, sentence) for sentence in best.sentences], papers)
            yield Novelty(claim, cites, f"{BY_SEARCH} ({best.share:.0%} of the claim's words)", "to compare")


def _is_near(library: Library, hit: Hit) -> bool:
    """Whether a paper is near; without its cosine that is not known, and its place in the ranking stands for what it is."""
    return hit.cosine is None or library.embedder is None or hit.cosine >= LEAST_COSINE.get(library.embedder.name, CLOSE)


def _is_foreign(library: Library, own: OwnText) -> bool:
    """Whether the abstract is in another language than most papers: cosines across languages are low, near or not."""
    return own.text is not None and own.text.language != library.catalog.language()


def _subject(own: OwnText, number: int) -> str:
    return _bare(_quote(own, number))


def _bare(sentence: str) -> str:
    """A claim without the words that make it one: what is left is looked for."""
    return " ".join(CLAIM.sub(" ", sentence).split()) or sentence


def _claims(sentence: str) -> bool:
    return bool(CLAIM.search(ORDER.sub(" ", sentence)))


def _quote(own: OwnText, number: int) -> str:
    cite = own.cite(number)
    return cite.quote if cite else ""


def _body(own: OwnText) -> str:
    return own.text.characters if own.text else ""


# -- what the reply says


def faults(reply: PositionReply, table: Sequence[int], evidence: Evidence) -> list[str]:
    """What must be mended in a reply: papers left out, labels that cannot stand, a side without a sentence, claims that are none."""
    given = {one.paper: one for one in reply.closest}
    said = [f"closest: paper {number} is none of the nearest papers" for number in given if number not in table]
    for number in table:
        if number not in given:
            said.append(f"closest: paper {number} is missing")
            continue
        said += [
            f"closest, paper {number}, {column.id}: {fault.reason}"
            for column in COLUMNS
            for fault in cell_faults(given[number].cell(column.id), column.id, number, evidence)
        ]
    for one in reply.claims:
        said += [f"claims, {one.claim}: {fault.reason}" for fault in claim_faults(one, evidence)]
        said += [f"claims, {one.claim}: {fault.reason}" for already in one.already for fault in already_faults(already, evidence)]
    return said


def cell_faults(said: Said, column: str, paper: int, evidence: Evidence) -> list[Fault]:
    """Why a cell cannot stand: foreign labels (R2), references in free form (R3), no sentence of a side that it speaks of (R7)."""
    found = label_list(said.sentences)
    if not said.says:
        return []
    allowed = {SHARED: {0, paper}, THEY: {paper}, MINE: {0, paper}}[column]
    needed = {SHARED: {0, paper}, THEY: {paper}, MINE: {0}}[column]
    wrong = [Fault("R2", f"{label} was not shown") for label in found if evidence.cite(label) is None]
    wrong += [Fault("R2", f"{label} is a sentence of another paper") for label in found if label.paper not in allowed]
    wrong += [Fault("R7", f"it needs a sentence of paper {side}") for side in sorted(needed - {label.paper for label in found})]
    return wrong + [Fault("R3", problem.reason) for problem in free_form(said.says)]


def claim_faults(claim: ClaimReply, evidence: Evidence) -> list[Fault]:
    """Why a claim cannot stand: it is no one sentence of the own abstract."""
    found = label_list([claim.claim])
    if len(found) != 1 or found[0].paper != 0 or evidence.cite(found[0]) is None:
        return [Fault("R2", f"{claim.claim!r} is no label of a sentence of paper 0")]
    return []


def already_faults(already: AlreadyReply, evidence: Evidence) -> list[Fault]:
    """Why a finding cannot stand: labels that were not shown or are not of one library paper, no label, references in free form."""
    found = label_list(already.sentences)
    wrong = [Fault("R2", f"{label} was not shown") for label in found if evidence.cite(label) is None]
    if not found:
        wrong.append(Fault("R7", "it names no sentence"))
    elif len({label.paper for label in found}) > 1 or found[0].paper == 0:
        wrong.append(Fault("R2", "its sentences are to be of one paper, and not of paper 0"))
    return wrong + [Fault("R3", problem.reason) for problem in free_form(already.reason)]


def _of(parsed: Parsed[PositionReply], found: Found, exchange: str) -> Read:
    """What stands of a reply; a cell that cannot stand loses its value, a finding that cannot is reported as blocked."""
    given = {one.paper: one for one in parsed.value.closest}
    numbers = {shown.key: shown.number for shown in found.evidence.papers}
    rows = []
    for one in found.nearest:
        reply = given.get(numbers[one.key])
        cells = {column.id: _cell(reply.cell(column.id), column.id, numbers[one.key], found.evidence, exchange) for column in COLUMNS} if reply else {}
        rows.append(Row(one.key, cells))
    novelty: list[Novelty] = []
    blocked: list[Problem] = []
    for claim in parsed.value.claims:
        if wrong := claim_faults(claim, found.evidence):
            blocked.append(Problem(claim.claim, wrong[0].rule, wrong[0].reason))
            continue
        made, stopped = _findings(claim, found.evidence)
        novelty += made or [one for one in to_compare(found) if stopped and str(Label(0, one.claim.sentences[0])) == str(label_list([claim.claim])[0])]
        blocked += stopped
    return Read(tuple(rows), tuple(dict.fromkeys(novelty)), tuple(blocked))


def _cell(said: Said, column: str, paper: int, evidence: Evidence, exchange: str) -> Cell:
    raw = " ".join((said.says or "").split())
    if not raw:
        return Cell(None, "", "not stated", exchange=exchange)
    if wrong := cell_faults(said, column, paper, evidence):
        return replace(stopped_cell(wrong[0], raw), exchange=exchange)
    statement = judged(Statement(raw, cites_of(label_list(said.sentences), evidence)), evidence)
    marks = tuple(f"{problem.rule}: {problem.reason}" for problem in statement.problems)
    return Cell(raw, raw, "stated", cites=statement.cites, marks=marks, exchange=exchange)


def _findings(claim: ClaimReply, evidence: Evidence) -> tuple[list[Novelty], list[Problem]]:
    """A claim with each sentence that already says it, and what of the reply was stopped; alone where the reply found nothing."""
    (mine,) = cites_of(label_list([claim.claim]), evidence)
    made: list[Novelty] = []
    blocked: list[Problem] = []
    for already in claim.already:
        if wrong := already_faults(already, evidence):
            blocked.append(Problem(mine.quote, wrong[0].rule, f"said to be in the library already: {wrong[0].reason}"))
            continue
        cites = cites_of(label_list(already.sentences), evidence)
        made.append(Novelty(mine, cites, " ".join(already.reason.split()), _state(mine, cites, evidence)))
    if not claim.already:
        made.append(Novelty(mine, (), AMONG_THESE.format(count=len(evidence.papers))))
    return made, blocked


def _state(claim: Cite, cites: tuple[Cite, ...], evidence: Evidence) -> Literal["found", "weak"]:
    """Whether the claim's words, without those that claim, bear the finding out."""
    fit = attribution.judged(_bare(claim.quote), cites, replace(evidence, own=None))
    return "found" if fit and fit.cited >= attribution.LEAST_FIT else "weak"


def _novelty(fields: dict[str, object]) -> Novelty:
    claim, cites = fields["claim"], fields["cites"]
    assert isinstance(claim, dict)
    assert isinstance(cites, list)
    (mine,) = stored.cites([claim])
    return Novelty(mine, stored.cites(cites), str(fields["reason"]), fields["state"])  # type: ignore[arg-type]  # as it was kept


def _report(rows: Sequence[Row], blocked: Sequence[Problem]) -> Report:
    """The report on the table's cells."""
    cells = [(f"{row.key}, {column.name}: {row.cells[column.id].raw}", row.cells[column.id]) for row in rows for column in COLUMNS if column.id in row.cells]
    found = [(cell, mark_problem(where, mark)) for where, cell in cells for mark in cell.marks]
    return Report(
        statements=len(cells),
        checked_by_code=sum(bool(cell.cites) for _, cell in cells),
        not_checked=sum(not cell.cites for _, cell in cells),
        blocked=(*(problem for cell, problem in found if cell.status != "stated"), *blocked),
        marked=tuple(problem for cell, problem in found if cell.status == "stated"),
    )
