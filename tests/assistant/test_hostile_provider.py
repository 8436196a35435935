"""What a person sees when the provider misbehaves: one line that says what to do, an exit code, and no more requests than told."""

import asyncio
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from assistant.cli import model as cli_model
from assistant.gateway import open_gateway
from tests.assistant.gateway import stub_server as behave
from tests.assistant.gateway.stub_server import Behaviour, Stub, ending, error_event, events, failing, html, pieces
from tests.assistant.providers import ANSWER, QUESTION, answering
from tests.conftest import Carrel

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
KEY = "a-very-secret-key-123"


@pytest.fixture(scope="module")
def shared_stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def stub(shared_stub: Stub, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """The provider that every command is pointed at; between two attempts nobody waits."""
    monkeypatch.setenv("CARREL_API_BASE", shared_stub.url)
    monkeypatch.setenv("CARREL_API_KEY", KEY)
    monkeypatch.setattr(cli_model, "open_gateway", functools.partial(open_gateway, sleep=lambda seconds: asyncio.sleep(0)))
    yield shared_stub
    shared_stub.released.set()


@pytest.fixture(scope="module", autouse=True)
def _warm(shared_stub: Stub) -> None:
    """The library loads half of itself at the first call, which would take up a short deadline."""
    from assistant.gateway import Message, Request

    shared_stub.then(answering())
    with open_gateway(
        model="openai/slow", api_base=shared_stub.url, api_key=None, deadline_s=60.0, ledger=None, budget_usd=None, record=None, replay=None
    ) as gateway:
        gateway.stream(Request((Message("user", "hello"),), "ask/answer--warm"), lambda text: None)


NO_REPLY = [
    # what the provider does   how                                                  exit asked the line on standard error
    ("401, key echoed",        behave.echoing(401),                                  77, 1, "[key]"),
    ("no quota",               failing(429, "insufficient_quota", "no quota left"),  77, 1, "no quota left; check the key and the account"),
    ("402",                    failing(402, "payment", "top up"),                    77, 1, "HTTP 402: top up; check the key and the account"),
    ("404",                    failing(404, "model_not_found", "no such model"),     78, 1, "HTTP 404: no such model; check model.name and model.api_base"),
    ("redirect",               behave.redirecting("http://localhost:9"),             78, 1, "name the right one as model.api_base"),
    ("400",                    failing(400, "x", "too long"),                         1, 1, "HTTP 400: too long"),
    ("429",                    failing(429),                                         69, 5, "HTTP 429: no; what is done is kept, so run the same command again later"),
    ("503 html",               html(503),                                            69, 5, "HTTP 503: a web page; what is done is kept"),
    ("hangs",                  behave.hang,                                          69, 5, "did not answer within 0.2 s (model.deadline_s); what is done"),
    ("closes",                 behave.closed,                                        69, 5, "what is done is kept, so run the same command again later"),
    ("error event first",      events(error_event()),                                69, 5, "no more; what is done is kept"),
]  # fmt: skip
NO_USE = [
    # a reply came that cannot be used: asked once more, then the report says why
    ("HTML with 200",          html(200),                                             1, 2, "broke off"),
    ("empty stream",           events(),                                              1, 2, "broke off"),
    ("finish length",          events(*pieces(ANSWER), *ending("length")),            1, 2, "max_tokens"),
    ("finish content_filter",  events(*pieces(ANSWER), *ending("content_filter")),    1, 2, "content filter"),
    ("cut",                    events(*pieces(ANSWER), cut=True),                     1, 2, "broke off"),
    ("blank",                  events(*pieces("  "), *ending()),                      1, 2, "is empty"),
]  # fmt: skip
Row = tuple[str, Behaviour, int, int, str]


@pytest.mark.parametrize("row", NO_REPLY, ids=[row[0] for row in NO_REPLY])
def test_no_reply_is_one_line_and_an_exit_code(carrel: Carrel, folder: Path, stub: Stub, row: Row) -> None:
    """A real `ask` prints nothing but the line that says what happened and what to do."""
    name, behaviour, code, asked, words = row
    stub.then(behaviour)
    ran = carrel("ask", QUESTION, "--keywords", "--model", "openai/slow", "--deadline", "0.2" if name == "hangs" else "10", at=folder)
    assert (ran.code, stub.requests, ran.out) == (code, asked, "")
    [line] = ran.err.splitlines()
    assert line.startswith("carrel: openai/slow: ")
    assert words in line
    assert KEY not in line


@pytest.mark.parametrize("row", NO_USE, ids=[row[0] for row in NO_USE])
def test_a_reply_that_cannot_be_used_is_asked_for_once_more(carrel: Carrel, folder: Path, stub: Stub, row: Row) -> None:
    """Then the report names it as failed, what it may have cost is unknown or counted, and the exit code is 1."""
    _, behaviour, code, asked, words = row
    stub.then(behaviour)
    ran = carrel("ask", QUESTION, "--keywords", "--model", "openai/slow", at=folder)
    assert (ran.code, stub.requests) == (code, asked)
    assert [words in line for line in ran.err.splitlines() if "failed: " in line] == [True]
    assert "cost unknown" in ran.err
    assert "Traceback" not in ran.err


def test_a_broken_reply_and_then_a_good_one_is_an_answer(carrel: Carrel, folder: Path, stub: Stub) -> None:
    """The second reply counts, and is all that is kept for the next time."""
    stub.then(html(200), answering())
    words = ("ask", QUESTION, "--keywords", "--model", "openai/slow")
    ran = carrel(*words, at=folder)
    assert (ran.code, stub.requests) == (0, 2)
    assert "One of these papers studies reward hacking." in ran.out


def test_a_key_in_an_answer_is_in_no_output_or_export(carrel: Carrel, folder: Path, stub: Stub) -> None:
    """A provider that streams the key piece by piece gets it neither onto the terminal nor into a file."""
    halves = (KEY[:9], KEY[9:])
    stub.then(events(*behave.pieces("One paper says ", *halves, " of reward hacking. [1.1]\n"), *ending()))
    ran = carrel("ask", QUESTION, "--keywords", "--model", "openai/slow", "--to", "md", "--to", "json", "--record", "kept", at=folder)
    assert (ran.code, "One paper says [key] of reward hacking." in ran.out) == (0, True)
    assert KEY in stub.seen[0]["key"]
    assert KEY not in ran.out + ran.err
    written = [path for path in folder.rglob("*") if path.is_file()]
    assert {".md", ".json", ".txt", ".sqlite"} <= {path.suffix for path in written}
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
