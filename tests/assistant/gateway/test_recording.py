"""Recordings: nothing is lost, a person can read them, and a replay is strict."""

import asyncio
import re
from pathlib import Path

import pytest
from conftest import Scripted, reply, request
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.errors import OutputError, RecordingMismatch, ReplyUnusable
from assistant.gateway.message import Message, Reply, Request, Usage
from assistant.gateway.recording import Recorded, Recording, Replayed, laid_out, read, written

UGLY = st.lists(
    st.one_of(
        st.text(st.characters(), max_size=20),
        st.sampled_from(["\n", "\r\n", "\r", "", "\\", "\x85", " ", "=== user ===", "=== reply =====\n", "model: 1"]),
        st.sampled_from(["\n=== reply ===\n", "\n\\=== user ==\n", "\n\\\\=== system =\n", '{"a": 1}', "\ud800"]),
    ),
    max_size=8,
).map("".join)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), UGLY), max_size=5)


@settings(max_examples=300, deadline=None)
@given(MESSAGES.map(tuple), UGLY)
def test_nothing_is_lost_on_the_way(messages: tuple[Message, ...], text: str) -> None:
    """Whatever the messages hold, a transcript gives them back to the character, and the reply as laid out."""
    asked = Request(messages, "t/x", {"type": "object", "$defs": {}}, {"temperature": 0.1, "max_tokens": 5})
    answered = Reply(laid_out(text), Usage(1, None), 0.00001, "m-1", "length", paid=False)
    recording = Recording("p/m", asked, answered, "2026-01-01", "written by hand")
    assert (
        read(written(recording).encode("utf-8", "surrogatepass").decode("utf-8", "surrogatepass"), "t/x") == recording
    )


def test_the_layout_is_one_a_person_reviews() -> None:
    """The header comes first, each message under its rule, and a JSON reply is indented at the end."""
    recording = Recording(
        "openai/gpt-5-mini",
        request(settings={"max_tokens": 400, "temperature": 0}),
        Reply(laid_out('{"task":"naïve","n":[1]}'), Usage(212, 24), 0.000101, "gpt-5-mini-2025-08-07", "stop"),
        "2026-08-22",
    )
    assert written(recording) == (
        'model: "openai/gpt-5-mini"\n'
        'settings: {"max_tokens": 400, "temperature": 0}\n'
        f'request: "{recording.request.fingerprint("openai/gpt-5-mini")[:12]}"\n'
        'replied: "gpt-5-mini-2025-08-07"\n'
        "tokens: [212, 24]\n"
        'recorded: "2026-08-22"\n'
        "cost_usd: 0.000101\n"
        "\n"
        "=== system =============================================================\n"
        "You help.\n"
        "\n"
        "=== user ===============================================================\n"
        "What is known?\n"
        "\n"
        "=== reply ==============================================================\n"
        '{\n  "task": "naïve",\n  "n": [\n    1\n  ]\n}\n'
    )


@pytest.mark.parametrize(
    "text", ['{"a": 1, "a": 2}', '{"a": 1e400}', '"text"', "12", '{"a": "\\ud800"}', "{broken", "NaN"]
)
def test_json_that_would_change_is_kept_to_the_character(text: str) -> None:
    """A name twice, a number out of range and a lone surrogate are not touched."""
    assert laid_out(text) == text


@pytest.mark.parametrize(("text", "kept"), [("fine", "fine"), ('{"a":1}', '{\n  "a": 1\n}')])
def test_a_replay_gives_what_the_recording_run_saw(tmp_path: Path, text: str, kept: str) -> None:
    """Both runs get the same text, so what is built on it, such as a re-ask, is the same request."""
    recorded = asyncio.run(Recorded(Scripted(text), tmp_path).complete(request()))
    replayed = asyncio.run(Replayed(tmp_path).complete(request()))
    assert recorded.text == replayed.text == kept
    assert not replayed.paid
    assert (replayed.usage, replayed.cost, replayed.model) == (recorded.usage, recorded.cost, recorded.model)


def test_a_stream_is_recorded_and_replayed(tmp_path: Path) -> None:
    """A streamed reply makes the same file, and a replay streams it in one piece."""

    async def pieces(model: Recorded | Replayed) -> list[str | Reply]:
        return [piece async for piece in model.stream(request())]

    assert asyncio.run(pieces(Recorded(Scripted("fine"), tmp_path)))[:2] == ["fi", "ne"]
    assert asyncio.run(pieces(Replayed(tmp_path)))[0] == "fine"


def test_an_unusable_reply_is_unusable_again(tmp_path: Path) -> None:
    """A reply that was cut off is recorded with its finish, so a replay takes the same way."""
    model = Scripted(reply("half", finish="length"))
    for each in (Recorded(model, tmp_path), Replayed(tmp_path)):
        with pytest.raises(ReplyUnusable, match="cut off"):
            asyncio.run(each.complete(request()))


def test_a_changed_prompt_is_a_diff_and_a_command(tmp_path: Path) -> None:
    """A replay that does not fit shows what changed and how to record it again."""
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request(content="one\ntwo")))
    with pytest.raises(RecordingMismatch) as caught:
        asyncio.run(Replayed(tmp_path).complete(request(content="one\n2")))
    assert "\n-two\n+2\n" in str(caught.value)
    assert f"--record {tmp_path}" in str(caught.value)


@pytest.mark.parametrize(
    "changed",
    [request(settings={"temperature": 1}), request(schema={"type": "object"}), request(content="other")],
    ids=["settings", "schema", "message"],
)
def test_a_replay_is_strict(tmp_path: Path, changed: Request) -> None:
    """Settings, schema and every message must be those of the recording."""
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request()))
    with pytest.raises(RecordingMismatch, match="not the recorded one"):
        asyncio.run(Replayed(tmp_path).complete(changed))


def test_the_model_is_compared_when_one_is_configured(tmp_path: Path) -> None:
    """Without a model any recording will do; with one it must be the recorded one."""
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request()))
    assert asyncio.run(Replayed(tmp_path, Scripted.name).complete(request())).text == "fine"
    with pytest.raises(RecordingMismatch, match="openai/other"):
        asyncio.run(Replayed(tmp_path, "openai/other").complete(request()))


def test_a_missing_or_broken_recording_names_the_file(tmp_path: Path) -> None:
    """No file and a file that is no recording are both told apart by their message."""
    with pytest.raises(RecordingMismatch, match="no recording of this request"):
        asyncio.run(Replayed(tmp_path).complete(request("ask/answer")))
    (tmp_path / "ask").mkdir()
    (tmp_path / "ask/answer.txt").write_text("hello\n")
    with pytest.raises(RecordingMismatch, match="this is no recording"):
        asyncio.run(Replayed(tmp_path).complete(request("ask/answer")))


def test_what_nobody_read_is_known(tmp_path: Path) -> None:
    """At the end of a run the recordings that nothing asked for can be listed."""
    recorded = Recorded(Scripted("fine"), tmp_path)
    for label in ("ask/one", "ask/two"):
        asyncio.run(recorded.complete(request(label, content=label)))
    replayed = Replayed(tmp_path)
    asyncio.run(replayed.complete(request("ask/one", content="ask/one")))
    assert replayed.unread == (tmp_path / "ask/two.txt",)


def test_a_label_names_one_request(tmp_path: Path) -> None:
    """The same label for two requests would lose one of them, so the second is refused before it is paid for."""
    model = Scripted("fine")
    recorded = Recorded(model, tmp_path)
    asyncio.run(recorded.complete(request()))
    with pytest.raises(RecordingMismatch, match="ask/answer--one"):
        asyncio.run(recorded.complete(request(content="another")))
    assert len(model.asked) == 1


def test_recording_the_same_again_changes_no_file(tmp_path: Path) -> None:
    """A file whose exchange is the same keeps its date, so nothing churns."""
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request()))
    path = tmp_path / "ask/answer--one.txt"
    old = re.sub('recorded: ".*"', 'recorded: "2001-01-01"', path.read_text())
    path.write_text(old)
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request()))
    assert path.read_text() == old
    asyncio.run(Recorded(Scripted("other"), tmp_path).complete(request()))
    assert path.read_text() != old


@pytest.mark.parametrize("label", ["../out", "ask//x", "/etc/x", "ask/" + "x" * 300])
def test_a_label_stays_inside_the_folder(tmp_path: Path, label: str) -> None:
    """A label that leaves the folder, or that no file system takes, is refused."""
    with pytest.raises(OutputError, match="cannot name"):
        asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request(label)))
