"""A question → an answer of cited sentences, or `no evidence`."""

from collections.abc import Callable
from typing import NamedTuple

from assistant.document import Document, Section, Statement
from assistant.evidence import Evidence, gathered
from assistant.grounding import report_of
from assistant.tasks.desk import Desk, label_for
from assistant.writing import Written, write
from store import keywords
from store.keys import slug
from store.library import Library
from store.scope import Scope
from store.search import Hit

SHOWN = 10
LOWEST_COSINE = 0.40
LOWEST_SHARE = 0.50
"""A question is declined without a model when no paper found reaches either: the cosine of its best passage, or the
share of the question's words that it holds, weighted by rarity. The fused score is relative and says nothing here."""


class Found(NamedTuple):
    """What a question found: the hits, and whether the best of them can be an answer at all."""

    hits: list[Hit]
    is_evidence: bool


def found(library: Library, question: str, *, count: int = SHOWN, scope: Scope | None = None, by_keywords: bool = False) -> Found:
    """The papers that a question is answered from."""
    hits = library.search(question, count=count, scope=scope, by_keywords=by_keywords)
    near = any(hit.cosine is not None and hit.cosine >= LOWEST_COSINE for hit in hits)
    shares = keywords.shares(library.catalog, question, [hit.paper for hit in hits])
    return Found(hits, near or any(share >= LOWEST_SHARE for share in shares.values()))


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
    hits, is_evidence = found(desk.library, question, count=count, scope=scope, by_keywords=by_keywords)
    if not is_evidence:
        return desk.finished(Document("ask", question, outcome="no evidence"))
    evidence = gathered(desk.library, desk.library.catalog.papers([hit.paper for hit in hits]))
    written = _written(desk, question, evidence, on_statement)
    return desk.finished(_document(question, written))


def _written(desk: Desk, question: str, evidence: Evidence, on_statement: Callable[[Statement], None]) -> Written:
    request = desk.request("ask/answer", label_for("ask", "answer", slug(question)[:60]), papers=evidence.papers, question=question)
    return write(desk.gateway, request, evidence, desk.own, on_statement)


def _document(question: str, written: Written) -> Document:
    report = report_of(written.statements, list(written.blocked), list(written.failed), 0)
    answered = any(statement.cites for statement in written.statements)
    return Document(
        "ask",
        question,
        sections=(Section("", written.statements if answered else ()),),
        report=report,
        outcome="answered" if answered else "no evidence",
    )
