"""A question → an answer of cited sentences, or `no evidence`; at most two model calls, whatever kind of question it is.

Code tells the kind (`questions.py`) and with it which papers are shown: those that are named, those that fit best, or, for a
list or a count, every paper of the scope that fits. What the library's own fields answer is counted without a model.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from pydantic import BaseModel

from assistant.document import Coverage, Document, Problem, Report, Section, Statement
from assistant.errors import ReplyUnusable, UsageError
from assistant.evidence import Evidence, gathered
from assistant.grounding import report_of
from assistant.tasks import counting, questions
from assistant.tasks.desk import Desk, label_for
from assistant.writing import CALLS, Written, write
from store import keywords
from store.keys import slug
from store.library import Library
from store.paper import Paper
from store.scope import Scope
from store.search import Hit, Ranker, Weighed

SHOWN = 12
LOWEST_COSINE = {"minilm": 0.25, "hash": 0.40}
LOWEST_SHARE = 0.40
SHARE_ALONE = 0.20
"""A question is declined without a model when no paper found reaches either: the cosine of its best passage (by embedder),
or the share of the question's words that it holds, weighted by rarity; by keywords alone a smaller share will do. Chosen
so that the model declines what is near and code only what is far: benchmarks/abstention.py. The fused score is relative
and says nothing here."""
GOOD_SHARE = 0.50
"""A question in another language than the papers is restated unless a paper holds this share of its own words; a cosine
across languages, and a smaller share, may be chance."""
LISTED_COSINE = 0.20
LISTED_SHARE = 0.25
"""For a list, each paper that reaches either is shown: lower than above, since the model can still leave a paper out."""
WHOLE = 40_000
MOST_WHOLE = 200
"""Characters of abstracts, and papers; a scope that has no more is shown whole for a list: about forty abstracts."""
MOST_CHARACTERS = 120_000
"""Of abstracts in one prompt; above it the best by fused rank are shown."""
TASK: Final = "ask"
LANGUAGES = {
    "en": "English", "de": "German", "fr": "French", "es": "Spanish", "it": "Italian", "pt": "Portuguese", "nl": "Dutch", "zh": "Chinese",
    "ja": "Japanese", "ko": "Korean", "ru": "Russian", "el": "Greek", "ar": "Arabic", "he": "Hebrew", "hi": "Hindi", "th": "Thai",
}  # fmt: skip
PROMPTS: dict[questions.Kind, str] = {
    "named": "ask/named", "comparison": "ask/compare", "listing": "ask/list", "counting": "ask/list", "plain": "ask/answer",
}  # fmt: skip


class RestatedReply(BaseModel):
    """A question as a model restates it."""

    question: str


class Found(NamedTuple):
    """What a question found: the hits, whether the best of them can be an answer at all, and whether its own words surely are."""

    hits: list[Hit]
    is_evidence: bool
    has_words: bool


class ShownPaper(NamedTuple):
    """A paper that an answer was written from, and what had found it; nothing where the question named it."""

    key: str
    found_by: tuple[Ranker, ...] = ()
    cosine: float | None = None


class Answered(NamedTuple):
    """An answer, and the papers it was written from."""

    document: Document
    shown: tuple[ShownPaper, ...] = ()


@dataclass(frozen=True, slots=True)
class Inquiry:
    """A question with how it is to be answered.

    `restated` is the question as it stands alone, where that is known; `among` are the papers that "they" and "these" mean;
    `sample` asks for another answer than the last; `subject` names it in recordings; `calls` is the most that may be asked.
    """

    question: str
    restated: str = ""
    among: tuple[str, ...] = ()
    count: int = SHOWN
    scope: Scope | None = None
    by_keywords: bool = False
    sample: int = 0
    subject: str = ""
    calls: int = CALLS

    @property
    def said(self) -> str:
        """The question that is looked up."""
        return self.restated or self.question


@dataclass(frozen=True, slots=True)
class Chosen:
    """The papers that are shown for a question, of those considered, and why each other one is not."""

    kind: questions.Kind
    papers: tuple[Paper, ...]
    shown: tuple[ShownPaper, ...]
    left_out: dict[str, str]
    is_good: bool = True
    """Whether the papers are evidence for the question as it was asked."""


def found(
    library: Library, question: str, *, count: int = SHOWN, scope: Scope | None = None, by_keywords: bool = False, also: str = ""
) -> Found:
    """The papers that a question is answered from; `also` is the same question in other words, for the keywords."""
    hits = library.search(question, count=count, scope=scope, by_keywords=by_keywords, also=also)
    near = any(hit.cosine is not None and hit.cosine >= lowest_cosine(library) for hit in hits)
    numbers = [hit.paper for hit in hits]
    least = LOWEST_SHARE if any(hit.cosine is not None for hit in hits) else SHARE_ALONE
    shares = [share for words in (question, also) if words for share in keywords.shares(library.catalog, words, numbers).values()]
    share = max(shares, default=0.0)
    return Found(hits, bool(hits) and (near or share >= least), share >= GOOD_SHARE)


def lowest_cosine(library: Library) -> float:
    """The cosine at which a passage may be evidence, for the library's embedder."""
    return LOWEST_COSINE.get(library.embedder.name, 0.0) if library.embedder else 0.0


def answer(
    desk: Desk,
    question: str,
    *,
    count: int = SHOWN,
    scope: Scope | None = None,
    by_keywords: bool = False,
    on_statement: Callable[[Statement], None] = lambda statement: None,
) -> Document:
    """The answer to a question; `on_statement` gets each sentence as it comes. At most two model calls, none without evidence."""
    return answered(desk, Inquiry(question, count=count, scope=scope, by_keywords=by_keywords), on_statement).document


def answered(desk: Desk, inquiry: Inquiry, on_statement: Callable[[Statement], None] = lambda statement: None) -> Answered:
    """The answer with the papers it was written from."""
    since = desk.gateway.calls
    if figures := counted(desk.library, inquiry):
        for statement in figures.statements:
            on_statement(statement)
        return Answered(desk.finished(figures, since), tuple(ShownPaper(key) for key in figures.cited()))
    language = foreign_language(desk.library, inquiry.question)
    some = chosen(desk.library, inquiry)
    failed: list[str] = []
    if language and not inquiry.restated and not some.is_good:
        try:
            inquiry = _restated(desk, inquiry)
        except ReplyUnusable as error:
            failed.append(f"the question could not be restated: {error}")
        some = chosen(desk.library, inquiry)
    if not some.papers:
        document = Document(TASK, inquiry.question, outcome="no evidence", coverage=_coverage(some, ()), report=Report(failed=tuple(failed)))
        return Answered(desk.finished(replace(document, restated=inquiry.restated), since))
    evidence = gathered(desk.library, some.papers)
    left = inquiry.calls - (desk.gateway.calls - since)
    written = _written(desk, inquiry, some, evidence, language, max(left, 1), on_statement)
    document = _document(inquiry, some, evidence, replace(written, failed=(*failed, *written.failed)))
    for statement in document.statements:
        if statement.by == "code":
            on_statement(statement)
    return Answered(desk.finished(document, since), some.shown)


def is_about_fields(inquiry: Inquiry) -> bool:
    """Whether a question reads like one that the library's own fields answer."""
    return not questions.keys_in(inquiry.said) and counting.read_count(inquiry.said) is not None


def counted(library: Library, inquiry: Inquiry) -> Document | None:
    """The answer where the library's own fields give it and no model is needed."""
    figures = counting.counted(library, inquiry.said, inquiry.scope) if is_about_fields(inquiry) else None
    if figures is None:
        return None
    restated = inquiry.restated if inquiry.restated != inquiry.question else ""
    return replace(figures, name=inquiry.question, restated=restated, report=report(figures.statements, (), ()))


def report(statements: tuple[Statement, ...], blocked: Sequence[Problem], failed: Sequence[str]) -> Report:
    """The integrity report of an answer; what code counted is checked by having been counted."""
    checked = report_of(tuple(one for one in statements if one.by == "model"), blocked, failed)
    figures = sum(one.by == "code" for one in statements)
    return replace(checked, statements=checked.statements + figures, checked_by_code=checked.checked_by_code + figures)


def foreign_language(library: Library, question: str) -> str:
    """The language of a question, where most papers of the library are in another one; else nothing."""
    code = questions.language(question)
    return code if code != library.catalog.language() else ""


def name_of(question: str) -> str:
    """A short name for a question, for files and recordings; one that has no Latin letters is named by its digest."""
    name = slug(question)[:60]
    return name if name != "untitled" else f"question-{hashlib.sha256(question.encode()).hexdigest()[:8]}"


# -- which papers are shown


def chosen(library: Library, inquiry: Inquiry) -> Chosen:
    """The papers that a question is answered from, and why not others; asks no model."""
    asked = _asked(inquiry)
    scope, named = inquiry.scope, asked.keys
    if not named and asked.kind == "comparison" and asked.refers_back and inquiry.among:
        return _of(library, inquiry, asked.kind, library.considered(narrowed(library, scope, inquiry.among)))
    if named:
        papers = library.considered(narrowed(library, scope, named, strictly=questions.keys_in(inquiry.question)))
        return _of(library, inquiry, asked.kind if len(papers) > 1 else "named", papers)
    kind = asked.kind if asked.kind != "comparison" or (scope and scope.keys) else "plain"
    if scope and scope.keys is not None:
        papers = library.considered(scope)
        return _of(library, inquiry, kind if kind != "comparison" or len(papers) > 1 else "plain", papers)
    return _listed(library, inquiry, kind) if kind in {"listing", "counting"} else _best(library, inquiry)


def _asked(inquiry: Inquiry) -> questions.Asked:
    """The kind of the question; a follow-up has that of the question as it stands alone, but points back by its own words."""
    own, whole = questions.asked(inquiry.question), questions.asked(inquiry.said)
    kind = own.kind if own.kind != "plain" and not whole.keys else whole.kind
    return questions.Asked(kind, whole.keys, own.refers_back)


def narrowed(library: Library, scope: Scope | None, named: Iterable[str], *, strictly: Collection[str] = ()) -> Scope:
    """The scope with no paper but the named ones.

    Raises UnknownPaper, and UsageError where the scope leaves out one of those that have to be in it.
    """
    keys = {key: library.paper(key).key for key in named}
    inside = frozenset(keys.values())
    if scope is not None:
        held = inside if scope.keys is None else inside & {library.paper(key).key for key in scope.keys}
        inside = frozenset(paper.key for paper in library.considered(replace(scope, keys=tuple(held))))
    for key in strictly:
        if keys.get(key, "") not in inside:
            raise UsageError(f"@{key} is outside the scope; widen the scope, or ask without it")
    return replace(scope or Scope(), keys=tuple(key for key in dict.fromkeys(keys.values()) if key in inside))


def _of(library: Library, inquiry: Inquiry, kind: questions.Kind, papers: Sequence[Paper]) -> Chosen:
    """Papers that are named: all of them, whatever their rank, as far as a prompt holds them."""
    some = papers
    if sum(len(paper.abstract) for paper in papers) > MOST_CHARACTERS:
        ranks = {one.paper: rank for rank, one in enumerate(library.weighed(inquiry.said, [inquiry.said], scope=inquiry.scope, by_keywords=True))}
        some = _within(sorted(papers, key=lambda paper: ranks.get(paper.number, len(ranks))))
    chosen = {paper.key for paper in some}
    left = {paper.key: "" if paper.key in chosen else TOO_MANY for paper in papers} if kind != "plain" else {}
    return Chosen(kind, tuple(some), tuple(ShownPaper(key) for key in sorted(chosen)), left)


def _best(library: Library, inquiry: Inquiry) -> Chosen:
    """The papers that fit the question best; none where the best is no evidence."""
    also = _other_words(inquiry)
    best = found(library, inquiry.said, count=inquiry.count, scope=inquiry.scope, by_keywords=inquiry.by_keywords, also=also)
    if not best.is_evidence:
        return Chosen("plain", (), (), {}, is_good=False)
    papers = tuple(library.catalog.papers([hit.paper for hit in best.hits]))
    hits = {hit.paper: hit for hit in best.hits}
    shown = tuple(ShownPaper(paper.key, hits[paper.number].found_by, hits[paper.number].cosine) for paper in papers)
    return Chosen("plain", papers, shown, {}, is_good=best.has_words)


def _listed(library: Library, inquiry: Inquiry, kind: questions.Kind) -> Chosen:
    """Every paper of the scope that fits, as far as a prompt holds them, with the reason for each other one."""
    also = _other_words(inquiry)
    wanted = [questions.subject(words) for words in (inquiry.said, also) if words]
    every = library.weighed(inquiry.said, wanted, scope=inquiry.scope, by_keywords=inquiry.by_keywords, also=also)
    fits = [one for one in every if _fits(one) or not any(wanted)]
    least = LOWEST_SHARE if any(one.cosine is not None for one in every) else SHARE_ALONE
    share = max((one.share for one in every), default=0.0) if any(wanted) else 1.0
    if share < least and not any(one.cosine is not None and one.cosine >= lowest_cosine(library) for one in every):
        return Chosen(kind, (), (), {one.key: _far(one) for one in every}, is_good=False)
    if len(every) <= MOST_WHOLE:
        considered = library.catalog.papers([one.paper for one in every])
        fits = every if sum(len(paper.abstract) for paper in considered) <= WHOLE else fits
    by_number = {paper.number: paper for paper in library.catalog.papers([one.paper for one in fits])}
    papers = _within([by_number[one.paper] for one in fits])
    chosen = {paper.key for paper in papers}
    left = {one.key: "" if one.key in chosen else TOO_MANY if one.paper in by_number else _far(one) for one in every}
    shown = tuple(ShownPaper(one.key, one.found_by, one.cosine) for one in every if one.key in chosen)
    return Chosen(kind, tuple(papers), shown, left, is_good=share >= GOOD_SHARE)


TOO_MANY = f"not shown: {MOST_CHARACTERS:,} characters of abstracts that fit the question better fill the prompt"
NOT_USED = "shown, but the answer does not use it"


def _fits(one: Weighed) -> bool:
    return one.share >= LISTED_SHARE or (one.cosine is not None and one.cosine >= LISTED_COSINE)


def _far(one: Weighed) -> str:
    cosine = "" if one.cosine is None else f", cosine {one.cosine:.2f}"
    return f"not shown: too little in common with the question (share of its words {one.share:.2f}{cosine})"


def _within(papers: Sequence[Paper]) -> list[Paper]:
    """As many of the papers, in their order, as a prompt holds; always one."""
    some: list[Paper] = []
    characters = 0
    for paper in papers:
        characters += len(paper.abstract)
        if some and characters > MOST_CHARACTERS:
            break
        some.append(paper)
    return some


def _other_words(inquiry: Inquiry) -> str:
    """The question as it was asked, where it was restated in another language."""
    differs = inquiry.restated and questions.language(inquiry.restated) != questions.language(inquiry.question)
    return inquiry.question if differs else ""


# -- what is asked of the model


def _restated(desk: Desk, inquiry: Inquiry) -> Inquiry:
    """The question in the language of most papers; raises ReplyUnusable. One call, and none for mending it."""
    main = desk.library.catalog.language()
    request = desk.request(
        "ask/restate",
        label_for(TASK, "restate", inquiry.subject or name_of(inquiry.question)),
        RestatedReply,
        question=inquiry.question,
        language=LANGUAGES.get(main, main),
    )
    said = " ".join(desk.structured(request, RestatedReply, once=True).value.question.split())
    return replace(inquiry, restated=said)


def _written(
    desk: Desk, inquiry: Inquiry, chosen: Chosen, evidence: Evidence, language: str, calls: int, on_statement: Callable[[Statement], None]
) -> Written:
    request = desk.request(
        PROMPTS[chosen.kind],
        label_for(TASK, "answer", inquiry.subject or name_of(inquiry.question)),
        papers=evidence.papers,
        question=inquiry.said,
        language=LANGUAGES.get(language, language) or desk.settings.language,
        named=_named(desk.library, inquiry, evidence),
    )
    return write(desk.gateway, replace(request, sample=inquiry.sample), evidence, desk.own, on_statement, calls)


def _named(library: Library, inquiry: Inquiry, evidence: Evidence) -> list[tuple[str, int]]:
    """The keys in the question with the number under which each paper is shown."""
    numbers = {shown.paper.key: shown.number for shown in evidence.papers}
    return [(key, numbers[present]) for key in questions.keys_in(inquiry.said) if (present := library.paper(key).key) in numbers]


# -- what comes of it


def _document(inquiry: Inquiry, chosen: Chosen, evidence: Evidence, written: Written) -> Document:
    statements = written.statements if any(statement.cites for statement in written.statements) else ()
    if statements and chosen.kind in {"listing", "counting"}:
        statements = (*statements, _figure(chosen, evidence, statements))
    blocked, failed = written.blocked, written.failed
    return Document(
        TASK,
        inquiry.question,
        sections=(Section("", statements),),
        coverage=_coverage(chosen, statements),
        report=report(statements or written.statements, blocked, failed),
        outcome="answered" if statements else "no evidence",
        restated=inquiry.restated if inquiry.restated != inquiry.question else "",
    )


def _figure(chosen: Chosen, evidence: Evidence, statements: Sequence[Statement]) -> Statement:
    """On how many papers an answer rests, counted by code from its citations."""
    cited = {cite.key for statement in statements for cite in statement.cites}
    cites = tuple(cite for shown in evidence.papers if shown.paper.key in cited and (cite := shown.heading))
    number = f"{len(cited)} {'paper' if len(cited) == 1 else 'papers'}"
    said = f"{number} {'fits' if len(cited) == 1 else 'fit'} the question" if chosen.kind == "counting" else f"this answer rests on {number}"
    return Statement(f"Counted by code: {said}, of {len(chosen.papers)} shown and {len(chosen.left_out)} considered.", cites, by="code")


def _coverage(chosen: Chosen, statements: Sequence[Statement]) -> tuple[Coverage, ...]:
    """Each considered paper: the sentences that use it, or why none does."""
    used: dict[str, list[str]] = {}
    for number, statement in enumerate(statements, 1):
        for key in dict.fromkeys(cite.key for cite in statement.cites if statement.by == "model"):
            used.setdefault(key, []).append(f"sentence {number}")
    return tuple(
        Coverage(key, tuple(used.get(key, ())), "" if key in used else reason or NOT_USED) for key, reason in sorted(chosen.left_out.items())
    )
