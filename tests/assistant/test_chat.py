"""Conversations as records: follow-ups restated, at most three calls a turn, and what follows a paper that changed."""

import json
from collections.abc import Callable, Iterator

import click
import pytest

from assistant.document import SOURCE_CHANGED
from assistant.errors import BudgetReached, ReplyUnusable
from assistant.gateway import Gateway, Request
from assistant.settings import Settings
from assistant.tasks import ask, chat
from assistant.tasks.desk import Desk
from store.library import Library
from store.scope import Scope
from tests.assistant.test_tasks import QUESTION, Answer, ByHand, shown_number

UNUSABLE = ReplyUnusable("the reply is empty")
RESTATED = "Which robots are used in gridworlds with reward hacking?"
BAD = "Good. [1.1]\nBad. [99.1]"


class Talk:
    """A conversation with a model whose replies are given; each `say` is a turn."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self.model = ByHand(lambda request: "It is so. [1.1]")
        self.gateway = Gateway(self.model)
        self.talk = chat.conversation(library, "t")

    def say(self, question: str, answers: Callable[[Request], Answer] | None = None, *, again: bool = False, **how: object) -> chat.Turn:
        if answers:
            self.model.answers = answers
        self.model.asked.clear()
        inquiry = ask.Inquiry(question, **{"by_keywords": True, **how})
        self.talk = chat.turn(Desk(self.library, self.gateway, Settings()), self.talk, chat.Asking(inquiry, again=again))
        return self.talk.turns[-1]

    @property
    def labels(self) -> list[str]:
        return [request.label.split("--", 1)[0] + ("--again" if request.label.endswith("--again") else "") for request in self.model.asked]


@pytest.fixture
def talk(library: Library) -> Iterator[Talk]:
    begun = Talk(library)
    yield begun
    begun.gateway.close()


def restating(said: str, then: Answer = "It is so. [1.1]") -> Callable[[Request], Answer]:
    """A follow-up restated so, then answered so."""
    return lambda request: json.dumps({"question": said}) if "/restate" in request.label else then


def test_the_first_question_is_not_restated(talk: Talk) -> None:
    """It stands alone."""
    turn = talk.say(QUESTION)
    assert talk.labels == ["ask/answer"]
    assert turn.standing == QUESTION
    assert turn.document.restated == ""


def test_a_follow_up_is_restated_from_the_last_turns(talk: Talk) -> None:
    """The model sees questions, answers and keys; retrieval and answer use the restated question."""
    first = talk.say(QUESTION)
    turn = talk.say("And on robots?", restating(RESTATED))
    shown = talk.model.asked[0].messages[1].content
    assert f"Question: {QUESTION}" in shown
    assert f"It is so. (@{first.document.cited()[0]})" in shown
    assert "Latest question: And on robots?" in shown
    assert f"Question: {RESTATED}" in talk.model.asked[1].messages[1].content
    assert (turn.question, turn.document.name, turn.document.restated) == ("And on robots?", "And on robots?", RESTATED)


def both(first: Answer, second: Answer) -> Callable[[Request], Answer]:
    """Restated, then a first reply and a second."""
    return lambda request: json.dumps({"question": RESTATED}) if "/restate" in request.label else second if request.label.endswith("--again") else first


@pytest.mark.parametrize(
    ("answers", "labels"),
    [
        (both("Good. [1.1]", ""), ["chat/restate", "ask/answer"]),
        (both(BAD, "Mended. [1.2]"), ["chat/restate", "ask/answer", "ask/answer--again"]),
        (both(BAD, UNUSABLE), ["chat/restate", "ask/answer", "ask/answer--again"]),
        (both(UNUSABLE, BAD), ["chat/restate", "ask/answer", "ask/answer--again"]),
        (both(UNUSABLE, UNUSABLE), ["chat/restate", "ask/answer", "ask/answer--again"]),
        (lambda _: UNUSABLE, ["chat/restate", "ask/answer", "ask/answer--again"]),
        (restating("Which manure nourishes barley?"), ["chat/restate"]),
    ],
)
def test_a_turn_costs_at_most_three_calls(talk: Talk, answers: Callable[[Request], Answer], labels: list[str]) -> None:
    """Whatever the model replies; the turn's report counts its own calls and tokens alone."""
    talk.say(QUESTION)
    turn = talk.say("How is reward hacking studied on robots?", answers)
    assert talk.labels == labels
    assert turn.document.report.model_calls == len(labels)


def test_a_follow_up_in_another_language_is_restated_once(talk: Talk) -> None:
    """Into the papers' language; the answer is asked for in the question's own."""
    talk.say(QUESTION)
    talk.say("Und wie ist es bei den Robotern?", restating(RESTATED))
    assert talk.labels == ["chat/restate", "ask/answer"]
    assert "Answer in German" in talk.model.asked[1].messages[0].content


def test_what_cannot_be_restated_is_asked_as_it_stands(talk: Talk) -> None:
    """And the report says so."""
    talk.say(QUESTION)
    turn = talk.say("How is reward hacking studied on robots?", restating("no key such as @nobody2020x"))
    assert turn.document.restated == ""
    assert turn.document.report.failed == ("the question was asked as it stands: restated it named @nobody2020x, which no paper has",)
    assert turn.document.outcome == "answered"


def test_how_do_they_differ_is_about_the_papers_of_the_last_answer(talk: Talk) -> None:
    """The last answer that cites any, even where one without evidence came between."""
    first = talk.say(QUESTION, lambda _: "One. [1.1]\nTwo. [2.1][3.1]")
    talk.say("Which manure nourishes barley?", restating("Which manure nourishes barley?"))
    turn = talk.say("How do they differ?", restating("How do the approaches to reward hacking differ?"))
    assert tuple(one.key for one in turn.shown) == first.document.cited()
    assert "You compare papers" in talk.model.asked[1].messages[0].content


def test_papers_named_by_the_restated_question_are_shown(talk: Talk) -> None:
    """`the second one` becomes a key, and only that paper is looked at."""
    talk.say(QUESTION)
    turn = talk.say("What does the second one do?", restating("What does @xie2026tips do?"))
    assert turn.document.cited() == ("xie2026tips",)


def test_counts_need_no_model_at_any_turn(talk: Talk) -> None:
    """`these` are the papers of the last answer; without the pronoun it is the library."""
    talk.say(QUESTION, lambda _: "One. [1.1]\nTwo. [2.1][3.1]")
    assert talk.say("How many of these papers are there?").document.statements[0].text == "Counted by code: 3 papers."
    assert talk.say("How many papers are there?").document.statements[0].text == "Counted by code: 36 papers."
    assert talk.labels == []


def test_again_takes_the_next_sample_without_restating(talk: Talk) -> None:
    """The same prompt once more, as a turn of its own."""
    talk.say(QUESTION)
    talk.say("And on robots?", restating(RESTATED))
    talk.say("And on robots?", again=True)
    assert [request.sample for request in talk.model.asked] == [1]
    assert f"Question: {RESTATED}" in talk.model.asked[0].messages[1].content
    assert len(talk.talk.turns) == 3


def test_a_conversation_comes_back_as_it_was_kept(talk: Talk, library: Library) -> None:
    """Questions, statements, anchors, checks, the papers shown, coverage."""
    talk.say(QUESTION, lambda _: "It is so. [1.1]\nIn 7 of 9 runs. [2.1]")
    talk.say("Which papers use rewards?", restating("Which papers use rewards?", "It does. [1.1]"))
    assert chat.conversation(library, "t") == talk.talk
    assert [(one.name, one.turns, one.question) for one in chat.conversations(library)] == [("t", 2, "Which papers use rewards?")]


def test_a_resumed_conversation_follows_renamed_keys(talk: Talk, library: Library) -> None:
    """In its citations and in the papers shown; the next follow-up names the new key."""
    talk.say(QUESTION, lambda request: f"So. [{shown_number(request, 'Gridworlds')}.2]")
    library.curation.rename("cagatan2026reward", "gridworlds")
    again = chat.conversation(library, "t")
    assert again.turns[0].document.cited() == ("gridworlds",)
    assert "gridworlds" in {one.key for one in again.turns[0].shown}
    assert "gridworlds" in again.turns[0].document.sources


def test_a_resumed_conversation_marks_what_rests_on_another_text(talk: Talk, library: Library) -> None:
    """The old words stand, with the mark."""
    talk.say(QUESTION, lambda request: f"So. [{shown_number(request, 'Gridworlds')}.2]")
    quote = talk.talk.turns[0].document.statements[0].cites[0].quote
    library.curation.edit("cagatan2026reward", [("abstract", "It says something else now. Quite so.")])
    statement = chat.conversation(library, "t").turns[0].document.statements[0]
    assert statement.marks == (SOURCE_CHANGED,)
    assert statement.cites[0].quote == quote


def test_papers_that_a_conversation_rests_on_are_not_forgotten(talk: Talk, library: Library) -> None:
    """Its anchors are found by whatever asks which texts are in use."""
    talk.say(QUESTION)
    texts = library.catalog.findings("chat", "t")[("000001", 0)]
    assert json.loads(texts)["document"]["sections"][0]["statements"][0]["cites"][0]["anchor"] > 0
    assert library.curation._anchored()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), click.Abort(), BudgetReached("the budget is spent")])
def test_what_came_before_an_answer_broke_off_is_kept(library: Library, error: BaseException) -> None:
    """As a turn that says so; the error goes on."""

    class BreaksOff(ByHand):
        async def stream(self, request: Request):  # noqa: ANN202  as its base
            yield "It is so. [1.1]\nAnd "
            if isinstance(error, BudgetReached):
                raise error
            yield "more. [1.2]\n"

    def stop(statement: object) -> None:
        if not isinstance(error, BudgetReached):
            raise error

    with Gateway(BreaksOff({})) as gateway, pytest.raises(type(error)):
        chat.turn(Desk(library, gateway, Settings()), chat.conversation(library, "t"), chat.Asking(ask.Inquiry(QUESTION, by_keywords=True)), stop)
    (turn,) = chat.conversation(library, "t").turns
    assert [statement.text for statement in turn.document.statements] == ["It is so."]
    assert turn.document.report.failed[0].startswith("the answer broke off: ")
    assert turn.document.cited()[0] in {one.key for one in turn.shown}


def test_two_windows_on_one_conversation_lose_no_turn(talk: Talk, library: Library) -> None:
    """A turn that was kept meanwhile is not written over."""
    other = Talk(library)
    talk.say(QUESTION)
    other.say(QUESTION)
    other.gateway.close()
    assert len(chat.conversation(library, "t").turns) == 2


def test_an_error_before_the_first_sentence_leaves_no_turn(talk: Talk) -> None:
    """Nothing came, so there is nothing to keep."""
    with pytest.raises(BudgetReached):
        talk.say(QUESTION, lambda _: BudgetReached("the budget is spent"))
    assert chat.conversation(talk.library, "t").turns == ()


def test_a_scope_that_leaves_no_paper_finds_nothing(talk: Talk) -> None:
    """Never no filter."""
    assert talk.say(QUESTION, scope=Scope(tags=("nobody",))).document.outcome == "no evidence"
    assert talk.labels == []
