"""A conversation with the library, kept as records: each turn a question and the answer as it was given.

A follow-up is restated from the last turns into a question that stands alone, and then answered like any other; at most
three model calls a turn. Turns are kept with their anchors, so a conversation that is taken up again follows its papers.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pydantic import BaseModel

from assistant import stored
from assistant.document import Document, Section, Statement
from assistant.errors import ReplyUnusable
from assistant.tasks import ask, questions
from assistant.tasks.desk import Desk, label_for, with_sources
from assistant.visible import visible
from store.catalog import now
from store.errors import UnknownPaper
from store.library import Library

TASK: Final = "chat"
CALLS: Final = 3
LAST_TURNS, LAST_SENTENCES = 4, 8
"""What of a conversation a follow-up is restated from."""


class FollowUpReply(BaseModel):
    """A follow-up as a question that stands alone."""

    question: str


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, the answer to it, the papers that it was written from, and the words of the scope that held."""

    question: str
    document: Document
    shown: tuple[ask.ShownPaper, ...] = ()
    scope: tuple[str, ...] = ()
    time: str = ""

    @property
    def standing(self) -> str:
        """The question as it stands alone."""
        return self.document.restated or self.question


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of a conversation, in order."""

    name: str
    turns: tuple[Turn, ...] = ()

    @property
    def last(self) -> Turn | None:
        """The last turn, if there is one."""
        return self.turns[-1] if self.turns else None

    @property
    def cited(self) -> tuple[str, ...]:
        """The papers of the last answer that cites any: what "they" means."""
        return next((keys for turn in reversed(self.turns) if (keys := turn.document.cited())), ())


class Summary(NamedTuple):
    """A conversation in a list: its name, how many turns it has, when the last was, and the last question."""

    name: str
    turns: int
    time: str
    question: str


class Asking(NamedTuple):
    """How the next question is to be answered; `scope_words` are kept with the turn."""

    inquiry: ask.Inquiry
    scope_words: tuple[str, ...] = ()
    again: bool = False


# -- records


def conversation(library: Library, name: str) -> Conversation:
    """A conversation as it is kept, its citations under the present keys and texts of their papers; empty where there is none."""
    name = ask.name_of(name)
    have = library.catalog.findings(TASK, name)
    return Conversation(name, tuple(_turn(library, json.loads(data)) for _, data in sorted(have.items())))


def conversations(library: Library) -> list[Summary]:
    """All conversations that are kept, the last one first."""
    found = []
    for name in library.catalog.finding_names(TASK):
        have = library.catalog.findings(TASK, name)
        last = json.loads(have[max(have)])
        found.append(Summary(name, len(have), last["time"], last["question"]))
    return sorted(found, key=lambda one: (one.time, one.name), reverse=True)


def free_name(library: Library) -> str:
    """A name that no conversation has yet."""
    taken = set(library.catalog.finding_names(TASK))
    return next(name for number in range(1, len(taken) + 2) if (name := f"chat-{number}") not in taken)


def kept(library: Library, talk: Conversation, turn: Turn) -> Conversation:
    """The conversation with one more turn, stored."""
    fields = {
        "question": turn.question,
        "scope": turn.scope,
        "time": turn.time,
        "shown": [one._asdict() for one in turn.shown],
        "document": stored.answer_fields(turn.document),
    }
    with library.catalog.writing():
        last = max((int(item) for item, _ in library.catalog.findings(TASK, talk.name)), default=0)  # another window may have gone on
        library.catalog.keep_finding(TASK, talk.name, f"{last + 1:06}", 0, json.dumps(fields, ensure_ascii=False))
    return replace(talk, turns=(*talk.turns, turn))


def _turn(library: Library, fields: dict[str, Any]) -> Turn:
    shown = tuple(ask.ShownPaper(_present(library, one["key"]), tuple(one["found_by"]), one["cosine"]) for one in fields["shown"])
    document = with_sources(library, stored.answer(fields["document"]))
    return Turn(fields["question"], document, shown, tuple(fields["scope"]), fields["time"])


def _present(library: Library, key: str) -> str:
    try:
        return library.paper(key).key
    except UnknownPaper:  # it was shown and not cited, and is gone since
        return key


# -- a turn


def turn(
    desk: Desk,
    talk: Conversation,
    asking: Asking,
    on_statement: Callable[[Statement], None] = lambda statement: None,
    on_restated: Callable[[str], None] = lambda question: None,
) -> Conversation:
    """The conversation with the answer to one more question, stored. At most three model calls.

    Where the answer is interrupted or the model fails on the way, the sentences that had come are kept as the turn, and the
    error goes on.
    """
    since = desk.gateway.calls
    came: list[Statement] = []

    def on_came(statement: Statement) -> None:
        came.append(statement)
        on_statement(statement)

    inquiry, failed = asking.inquiry, ""
    try:
        inquiry, failed = _standing_alone(desk, talk, asking)
        if inquiry.restated:
            on_restated(inquiry.restated)
        left = min(inquiry.calls, CALLS - (desk.gateway.calls - since))
        answered = ask.answered(desk, replace(inquiry, calls=left), on_came)
    except (Exception, KeyboardInterrupt) as error:  # whatever it was goes on; what came is kept first
        if came:
            broken = desk.finished(_broken_off(inquiry, came, str(error) or "interrupted"), since, is_whole=False)
            shown = ask.chosen(desk.library, inquiry).shown
            kept(desk.library, talk, Turn(inquiry.question, broken, shown, asking.scope_words, now()))
        raise
    calls, usage, cost = desk.gateway.spent(since)
    report = answered.document.report
    report = replace(report, model_calls=calls, failed=(*([failed] if failed else []), *report.failed))
    document = replace(answered.document, report=report, tokens_in=usage.input, tokens_out=usage.output, cost_usd=cost)
    return kept(desk.library, talk, Turn(inquiry.question, document, answered.shown, asking.scope_words, now()))


def _broken_off(inquiry: ask.Inquiry, came: Sequence[Statement], why: str) -> Document:
    report = ask.report(tuple(came), (), (f"the answer broke off: {why}",))
    outcome = "answered" if any(statement.cites for statement in came) else "no evidence"
    restated = inquiry.restated if inquiry.restated != inquiry.question else ""
    return Document("ask", inquiry.question, sections=(Section("", tuple(came)),), report=report, outcome=outcome, restated=restated)


def _standing_alone(desk: Desk, talk: Conversation, asking: Asking) -> tuple[ask.Inquiry, str]:
    """The inquiry with its question as it stands alone, and what failed on the way; no call where it stands alone as it is."""
    inquiry = replace(asking.inquiry, subject=_subject(talk, asking), among=talk.cited)
    same = [one for one in talk.turns if one.question == inquiry.question]
    if asking.again and same:
        return replace(inquiry, restated=same[-1].document.restated, sample=len(same), among=_before(talk, same[0])), ""
    if not talk.turns:
        return inquiry, ""
    if counted := _counted(desk.library, inquiry):
        return counted, ""
    main = desk.library.catalog.language()
    request = desk.request(
        "chat/restate",
        label_for(TASK, "restate", inquiry.subject),
        FollowUpReply,
        turns=_last_turns(talk),
        question=inquiry.question,
        language=ask.LANGUAGES.get(main, main),
    )
    try:
        said = " ".join(desk.structured(request, FollowUpReply, once=True).value.question.split())
    except ReplyUnusable as error:
        return inquiry, f"the question could not be restated, and was asked as it stands: {error}"
    if strange := _strange_keys(desk.library, said):
        return inquiry, f"the question was asked as it stands: restated it named {', '.join(f'@{key}' for key in strange)}, which no paper has"
    return replace(inquiry, restated=said), ""


def _subject(talk: Conversation, asking: Asking) -> str:
    """What names a turn in recordings; the question too, since a turn that failed leaves its number to the next."""
    return f"{talk.name}-{len(talk.turns) + 1:02}-{ask.name_of(asking.inquiry.question)[:40]}"


def _counted(library: Library, inquiry: ask.Inquiry) -> ask.Inquiry | None:
    """The inquiry where code can count what it asks for, "these papers" being those of the last answer; else None."""
    asked = questions.asked(inquiry.question)
    if asked.kind != "counting" or not ask.is_about_fields(inquiry):
        return None
    if asked.refers_back:
        return replace(inquiry, scope=ask.narrowed(library, inquiry.scope, inquiry.among)) if inquiry.among else None
    return inquiry


def _before(talk: Conversation, turn: Turn) -> tuple[str, ...]:
    return Conversation(talk.name, talk.turns[: talk.turns.index(turn)]).cited


def _strange_keys(library: Library, question: str) -> list[str]:
    strange = []
    for key in questions.keys_in(question):
        try:
            library.paper(key)
        except UnknownPaper:
            strange.append(key)
    return strange


def _last_turns(talk: Conversation) -> list[tuple[str, list[str]]]:
    """The last questions, each asked once, and the first sentences of their answers with the keys that they cite."""
    by_question = {turn.standing: turn for turn in talk.turns}
    return [
        (visible(question), [_sentence(statement) for statement in turn.document.statements[:LAST_SENTENCES]])
        for question, turn in list(by_question.items())[-LAST_TURNS:]
    ]


def _sentence(statement: Statement) -> str:
    keys = dict.fromkeys(cite.key for cite in statement.cites)
    return visible(statement.text) + (f" ({', '.join(f'@{key}' for key in list(keys)[:12])})" if keys else "")
