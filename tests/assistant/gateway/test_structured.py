"""Structured replies: what is taken, what is mended, and what is asked once more."""

import asyncio
from pathlib import Path

import pytest
from conftest import Scripted, reply, request
from pydantic import BaseModel

from assistant.errors import KeyOrQuota, ReplyUnusable
from assistant.gateway import Gateway
from assistant.gateway.ledger import Ledger, Metered
from assistant.gateway.message import Message, Request
from assistant.gateway.recording import Recorded, Replayed
from assistant.gateway.structured import Parsed, found_json, structured


class Verdict(BaseModel):
    task: str
    year: int


def again(errors: str) -> Message:
    return Message("user", f"WRONG: {errors}")


def ask(model: Scripted, **more: object) -> Parsed[Verdict]:
    return asyncio.run(structured(model, request(), Verdict, again=again, **more))  # type: ignore[arg-type]


GOOD = '{"task": "qa", "year": 2020}'


@pytest.mark.parametrize(
    ("text", "repaired"),
    [
        (GOOD, False),
        (f"Here it is:\n```json\n{GOOD}\n```\nDone.", False),
        (f"I think {GOOD} is right.", False),
        (f'```json\n{{"task": "draft"}}\n```\nBetter:\n```json\n{GOOD}\n```', False),
        ("{'task': 'qa', 'year': 2020,}", True),
        ('```json\n{"task": "qa" "year": 2020\n```', True),
    ],
)
def test_json_is_found_where_models_put_it(text: str, repaired: bool) -> None:
    """Bare, fenced, in a sentence or slightly broken, it is one call."""
    parsed = ask(Scripted(text))
    assert parsed.value == Verdict(task="qa", year=2020)
    assert (parsed.calls, parsed.repaired, parsed.problems) == (1, repaired, ())


@pytest.mark.parametrize("text", ["no json at all", "12", "", "{}x"])
def test_prose_is_not_mended_into_json(text: str) -> None:
    """Text without an object or a list is an error, not an empty value."""
    if text == "{}x":
        assert found_json(text) == ({}, False)
    else:
        with pytest.raises(ValueError, match="no JSON"):
            found_json(text)


def test_a_reply_that_does_not_fit_is_asked_once_more() -> None:
    """The re-ask carries the reply and what is wrong with it, in the words of the caller's prompt."""
    model = Scripted('{"task": "qa", "year": "soon"}', GOOD)
    parsed = ask(model)
    assert (parsed.value.year, parsed.calls) == (2020, 2)
    second = model.asked[1]
    assert second.label == "ask/answer--one--again"
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    assert second.messages[2].content == '{"task": "qa", "year": "soon"}'
    assert second.messages[3].content.startswith("WRONG: year: Input should be a valid integer")


def test_two_replies_that_do_not_fit_are_an_error_with_both_reasons() -> None:
    """After the second the item fails, and both requests are disowned so that a rerun asks again."""
    model, disowned = Scripted("nothing", '{"task": 1}'), list[Request]()
    with pytest.raises(ReplyUnusable, match=r"no JSON.*year: Field required"):
        ask(model, disown=disowned.append)
    assert len(model.asked) == 2
    assert disowned == model.asked


def test_an_unusable_reply_is_asked_once_more() -> None:
    """A truncated reply is re-asked with its text; a refusal of nothing leaves no empty turn."""
    model = Scripted(reply('{"task', finish="length"), GOOD)
    assert ask(model).calls == 2
    assert model.asked[1].messages[2] == Message("assistant", '{"task')
    blank = Scripted("", GOOD)
    assert ask(blank).calls == 2
    assert [message.role for message in blank.asked[1].messages] == ["system", "user", "user"]


def test_what_the_caller_checks_is_asked_once_more() -> None:
    """The caller's check speaks like a schema error; if it still complains, the value comes with its problems."""

    def check(verdict: Verdict) -> list[str]:
        return [f"{verdict.year} is not in the passage"] if verdict.year != 2020 else []

    parsed = ask(Scripted('{"task": "qa", "year": 1999}', GOOD), check=check)
    assert (parsed.value.year, parsed.problems) == (2020, ())
    parsed = ask(Scripted('{"task": "qa", "year": 1999}', '{"task": "qa", "year": 1998}'), check=check)
    assert (parsed.value.year, parsed.problems, parsed.calls) == (1998, ("1998 is not in the passage",), 2)
    parsed = ask(Scripted('{"task": "qa", "year": 1999}', "sorry"), check=check)
    assert (parsed.value.year, parsed.problems) == (1999, ("1999 is not in the passage",))


def test_an_error_that_ends_the_run_is_not_asked_again() -> None:
    """A refused key is no reason to ask again."""
    model = Scripted(KeyOrQuota("no"))
    with pytest.raises(KeyOrQuota):
        ask(model)
    assert len(model.asked) == 1


def test_a_re_ask_is_replayed(tmp_path: Path) -> None:
    """The recorded second request is the one a replay makes, though the first reply was laid out anew."""
    first = ask(Recorded(Scripted('{"task":"qa"}', GOOD), tmp_path))  # type: ignore[arg-type]
    second = ask(Replayed(tmp_path))  # type: ignore[arg-type]
    assert first.value == second.value
    assert second.calls == 2


def test_a_rerun_asks_again_what_did_not_fit(tmp_path: Path) -> None:
    """A reply that is paid for but fits nothing does not answer the same item for ever."""
    model = Scripted("bad", "worse", GOOD)
    metered = _metered(model, tmp_path)
    with Gateway(metered, metered=metered) as gateway, pytest.raises(ReplyUnusable):
        gateway.structured(request(), Verdict, again)
    metered = _metered(model, tmp_path)
    with Gateway(metered, metered=metered) as gateway:
        assert gateway.structured(request(), Verdict, again).value.year == 2020
    assert len(model.asked) == 3


def _metered(model: Scripted, folder: Path) -> Metered:
    return Metered(model, Ledger(folder / "ledger.sqlite"))
