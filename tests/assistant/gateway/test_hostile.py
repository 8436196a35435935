"""The whole stack against a provider that does everything wrong: what it becomes, how often it was asked, what the ledger says.

Each table reads: what the provider does, what the caller gets (a reply's text, or an error's class), how many requests the
provider saw, and the state of the ledger's row. A failure that may pass is asked five times; all else once, since it may
have been paid.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import stub_server as behave
from conftest import request
from stub_server import Behaviour, Stub, chunk, data, ending, error_event, events, failing, html, ok, pieces, raw, redirecting, shaped

from assistant.errors import GatewayError, KeyOrQuota, ProviderUnavailable, ReplyUnusable, SettingsError
from assistant.gateway import Gateway, Reply, Usage, open_gateway

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")

KEY = "a-very-secret-key-123"
ELSEWHERE = "http://localhost:9"  # nobody is there; the test of redirects has a server of its own
MANY_X = "x" * behave.MANY
Slept = list[float]


def open_stack(stub: Stub, folder: Path, slept: Slept, **changed: Any) -> Gateway:
    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        await asyncio.sleep(0)

    usual: dict[str, Any] = {"model": "openai/slow", "api_base": stub.url, "api_key": KEY, "deadline_s": 10.0, "record": None}
    more: dict[str, Any] = {"ledger": folder / "ledger.sqlite", "budget_usd": None, "replay": None, "sleep": sleep}
    return open_gateway(**{**usual, **more, **changed})


@pytest.fixture(scope="module", autouse=True)
def _warm(shared_stub: Stub, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The library loads half of itself at the first call, which would take up a short deadline."""
    shared_stub.then(ok())
    with open_stack(shared_stub, tmp_path_factory.mktemp("warm"), [], deadline_s=60.0) as gateway:
        gateway.complete(request())
        shared_stub.then(behave.streamed("fine"))
        gateway.stream(request(content="and streamed"), lambda text: None)


@pytest.fixture
def released(stub: Stub) -> Iterator[None]:
    """What hangs is let go at the end."""
    yield
    stub.released.set()


def rows(folder: Path) -> list[tuple[str, str | None, str | None]]:
    connection = sqlite3.connect(folder / "ledger.sqlite")
    found = connection.execute("SELECT state, reply, error FROM call ORDER BY id").fetchall()
    connection.close()
    return found


SLOW = {"hangs", "trickles", "stalls after a piece"}
Case = tuple[str, Behaviour, str | type[Exception], int, str, str]
WHOLE: list[Case] = [
    # what the provider does       how                                               reply or error       asked row         words
    ("429",                        failing(429),                                     ProviderUnavailable, 5, "failed",    "HTTP 429"),
    ("429 no quota",               failing(429, "insufficient_quota", "no quota"),   KeyOrQuota,          1, "failed",    "check the key and the account"),
    ("402",                        failing(402, "payment"),                          KeyOrQuota,          1, "failed",    "HTTP 402"),
    ("401, key echoed",            behave.echoing(401),                              KeyOrQuota,          1, "failed",    "[key]"),
    ("403, key echoed",            behave.echoing(403),                              KeyOrQuota,          1, "failed",    "[key]"),
    ("404 model",                  failing(404, "model_not_found", "no such model"), SettingsError,       1, "failed",    "check model.name"),
    ("400",                        failing(400),                                     GatewayError,        1, "failed",    "HTTP 400: no"),
    ("408",                        failing(408),                                     ProviderUnavailable, 5, "failed",    "HTTP 408: no"),
    ("500 json",                   failing(500),                                     ProviderUnavailable, 5, "failed",    "HTTP 500: no"),
    ("502 json",                   failing(502),                                     ProviderUnavailable, 5, "failed",    "HTTP 502: no"),
    ("503 json",                   failing(503),                                     ProviderUnavailable, 5, "failed",    "HTTP 503: no"),
    ("529 json",                   failing(529),                                     ProviderUnavailable, 5, "failed",    "HTTP 529: no"),
    ("500 html",                   html(500),                                        ProviderUnavailable, 5, "failed",    "HTTP 500: a web page"),
    ("502 html",                   html(502),                                        ProviderUnavailable, 5, "failed",    "HTTP 502: a web page"),
    ("503 html",                   html(503),                                        ProviderUnavailable, 5, "failed",    "HTTP 503: a web page"),
    ("529 html",                   html(529),                                        ProviderUnavailable, 5, "failed",    "HTTP 529: a web page"),
    ("hangs",                      behave.hang,                                      ProviderUnavailable, 5, "failed",    "within 0.2 s"),
    ("trickles",                   behave.trickle,                                   ProviderUnavailable, 5, "failed",    "within 0.2 s"),
    ("redirects, 302",             redirecting(ELSEWHERE, 302),                      SettingsError,       1, "failed",    "model.api_base"),
    ("redirects, 307",             redirecting(ELSEWHERE, 307),                      SettingsError,       1, "failed",    "model.api_base"),
    ("closes without a reply",     behave.closed,                                    ProviderUnavailable, 5, "failed",    "again later"),
    ("resets the connection",      behave.reset,                                     ProviderUnavailable, 5, "failed",    "again later"),
    ("less than Content-Length",   behave.short_body,                                ReplyUnusable,       1, "malformed", "cannot be read"),
    ("truncated JSON",             raw(b'{"id": '),                                  ReplyUnusable,       1, "malformed", "cannot be read"),
    ("invalid UTF-8",              raw(b'{"a":"\xff"}'),                             ReplyUnusable,       1, "malformed", "cannot be read"),
    ("HTML with 200",              html(200),                                        ReplyUnusable,       1, "malformed", "a web page"),
    ("empty 200",                  raw(b""),                                         ReplyUnusable,       1, "malformed", "cannot be read"),
    ("a list",                     raw(b"[]"),                                       ReplyUnusable,       1, "malformed", "cannot be read"),
    ("null",                       raw(b"null"),                                     ReplyUnusable,       1, "malformed", "cannot be read"),
    ("error with 200",             raw(b'{"error": {"message": "no"}}'),             ReplyUnusable,       1, "malformed", "no"),
    ("error text with 200",        raw(b'{"error": "overloaded"}'),                  ReplyUnusable,       1, "malformed", "cannot be read"),
    ("choices: []",                shaped(choices=[]),                               ReplyUnusable,       1, "malformed", "without any choice"),
    ("choices: {}",                shaped(choices={"a": 1}),                         ReplyUnusable,       1, "malformed", "cannot be read"),
    ("choices: text",              shaped(choices="x"),                              ReplyUnusable,       1, "malformed", "cannot be read"),
    ("choices: [null]",            shaped(choices=[None]),                           ReplyUnusable,       1, "malformed", "cannot be read"),
    ("no choices",                 shaped(choices=...),                              ReplyUnusable,       1, "malformed", "cannot be read"),
    ("content null",               ok(None),                                         ReplyUnusable,       1, "malformed", "is empty"),
    ("content blank",              ok(" \n "),                                       ReplyUnusable,       1, "malformed", "is empty"),
    ("content a number",           ok(5),                                            ReplyUnusable,       1, "malformed", "cannot be read"),
    ("refuses",                    ok(None, refusal="I will not"),                   ReplyUnusable,       1, "refused",   "refusal: I will not"),
    ("finish length",              ok("half", finish="length"),                      ReplyUnusable,       1, "malformed", "max_tokens"),
    ("finish content_filter",      ok("half", finish="content_filter"),              ReplyUnusable,       1, "refused",   "filter"),
    ("finish unknown",             ok("fine", finish="banana"),                      "fine",              1, "done",      ""),
    ("finish missing",             behave.without_finish(),                          "fine",              1, "done",      ""),
    ("usage missing",              ok("fine", usage=None),                           "fine",              1, "done",      ""),
    ("usage null",                 shaped(usage=None),                               "fine",              1, "done",      ""),
    ("usage negative",             ok("fine", usage=behave.usage(-5, -1)),           "fine",              1, "done",      ""),
    ("usage huge",                 ok("fine", usage=behave.usage(10**30, 10**30)),   "fine",              1, "done",      ""),
    ("usage words",                ok("fine", usage=behave.usage("many", "few")),    ReplyUnusable,       1, "malformed", "cannot be read"),
    ("usage a list",               ok("fine", usage=[1]),                            ReplyUnusable,       1, "malformed", "cannot be read"),
    ("calls a tool",               ok(None, tool_calls=behave.TOOL, finish="tool_calls"), ReplyUnusable,  1, "malformed", "calls a tool"),
    ("20 MB",                      lambda handler: ok(MANY_X)(handler),              ReplyUnusable,       1, "malformed", "2,000,000 characters"),
    ("lone surrogate and NUL",     ok("a\ud800\x00b"),                               "a\ufffd\ufffdb",    1, "done",      ""),
    ("model a number",             shaped(model=5),                                  "fine",              1, "done",      ""),
]  # fmt: skip
STREAMED: list[Case] = [
    ("cut after a piece",          events(*pieces("fi"), cut=True),                  ReplyUnusable,       1, "malformed", "broke off"),
    ("cut before a piece",         events(cut=True),                                 ReplyUnusable,       1, "malformed", "cannot be read"),
    ("stalls after a piece",       events(*pieces("fi"), behave.hang, cut=True),     ReplyUnusable,       1, "malformed", "broke off: did not answer"),
    ("hangs",                      behave.hang,                                      ProviderUnavailable, 5, "failed",    "within 0.2 s"),
    ("error event first",          events(error_event()),                            ProviderUnavailable, 5, "failed",    "no more"),
    ("429 event first",            events(error_event("rate_limit_exceeded")),       ProviderUnavailable, 5, "failed",    "no more"),
    ("error event after a piece",  events(*pieces("fi"), error_event()),             ReplyUnusable,       1, "malformed", "broke off: no more"),
    ("429 event after a piece",    events(*pieces("fi"), error_event("rate_limit_exceeded")), ReplyUnusable, 1, "malformed", "broke off"),
    ("a line of broken JSON",      events(*pieces("fi"), "data: {oops", *ending()),  ReplyUnusable,       1, "malformed", "broke off"),
    ("a line that is no event",    events(*pieces("fi"), "nonsense", *pieces("ne"), *ending()), "fine",   1, "done",      ""),
    ("ends without finish_reason", events(*pieces("fine"), data("[DONE]")),          ReplyUnusable,       1, "malformed", "broke off"),
    ("no [DONE]",                  events(*pieces("fine"), *ending(done=False)),     "fine",              1, "done",      ""),
    ("nothing but [DONE]",         events(data("[DONE]")),                           ReplyUnusable,       1, "malformed", "broke off"),
    ("empty",                      events(),                                         ReplyUnusable,       1, "malformed", "broke off"),
    ("20 MB",                      events(*pieces(*["x" * 1_000_000] * 20), *ending()), ReplyUnusable,    1, "malformed", "2,000,000 characters"),
    ("finish length",              events(*pieces("fi"), *ending("length")),         ReplyUnusable,       1, "malformed", "max_tokens"),
    ("finish content_filter",      events(*pieces("fi"), *ending("content_filter")), ReplyUnusable,       1, "refused",   "filter"),
    ("calls a tool",               events(chunk({"tool_calls": [{"index": 0, **behave.TOOL[0]}]}), *ending("tool_calls")), ReplyUnusable, 1, "malformed", "calls a tool"),
    ("usage missing",              events(*pieces("fine"), *ending(usage=None)),     "fine",              1, "done",      ""),
    ("usage absurd",               events(*pieces("fine"), *ending(usage=behave.usage(-5, 10**30))), "fine", 1, "done",    ""),
    ("lone surrogate and NUL",     events(*pieces("a\ud800\x00b"), *ending()),       "a\ufffd\ufffdb",    1, "done",      ""),
    ("no stream but JSON",         ok(),                                             ReplyUnusable,       1, "malformed", "broke off"),
    ("no stream but HTML",         html(200),                                        ReplyUnusable,       1, "malformed", "broke off"),
    ("401, key echoed",            behave.echoing(401),                              KeyOrQuota,          1, "failed",    "[key]"),
    ("429 no quota",               failing(429, "insufficient_quota", "no quota"),   KeyOrQuota,          1, "failed",    "account"),
    ("500",                        failing(500),                                     ProviderUnavailable, 5, "failed",    "HTTP 500"),
    ("closes without a reply",     behave.closed,                                    ProviderUnavailable, 5, "failed",    "again later"),
    ("redirects",                  redirecting(ELSEWHERE),                           SettingsError,       1, "failed",    "model.api_base"),
]  # fmt: skip


def table(cases: list[Case]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", cases, ids=[case[0] for case in cases])


@table(WHOLE)
@pytest.mark.usefixtures("released")
def test_what_a_whole_reply_becomes(case: Case, stub: Stub, tmp_path: Path) -> None:
    """Each behaviour has its class of error or its reply, its number of requests, and its row in the ledger."""
    _becomes(case, stub, tmp_path, lambda gateway: gateway.complete(request()))


@table(STREAMED)
@pytest.mark.usefixtures("released")
def test_what_a_stream_becomes(case: Case, stub: Stub, tmp_path: Path) -> None:
    """A stream is asked again only before its first piece; half of one is never a reply."""
    _becomes(case, stub, tmp_path, lambda gateway: gateway.stream(request(), lambda text: None))


def _becomes(case: Case, stub: Stub, folder: Path, ask: Callable[[Gateway], Reply]) -> None:
    name, behaviour, expected, asked, state, words = case
    stub.then(behaviour)
    with open_stack(stub, folder, []) as gateway:
        if name in SLOW:
            _made_impatient(gateway, stub, behaviour)
        if isinstance(expected, str):
            assert ask(gateway).text == expected
        else:
            with pytest.raises(GatewayError if issubclass(expected, GatewayError) else expected) as caught:
                ask(gateway)
            assert type(caught.value) is expected
            said = str(caught.value)
            assert words in said
            assert "\n" not in said
            assert len(said) < 450
            assert KEY not in said
    assert stub.requests == asked
    kept, text, error = rows(folder)[-1]
    assert kept == state
    assert KEY not in f"{text} {error}"


def _made_impatient(gateway: Gateway, stub: Stub, behaviour: Behaviour) -> None:
    """A short deadline, once the connection is there: to make it may take as long."""
    stub.then(ok())
    gateway.complete(request(content="hello"))
    assert gateway._provider is not None
    gateway._provider._deadline_s = 0.2
    stub.then(behaviour)


@pytest.mark.parametrize(
    ("usage", "counted"),
    [
        (behave.USAGE, Usage(11, 3)),
        (None, Usage(None, None)),
        (behave.usage(-5, -1), Usage(None, None)),
        (behave.usage(10**30, 5), Usage(None, None)),
        (behave.usage(0, 0), Usage(None, None)),
        (behave.usage(11, 0), Usage(11, None)),
    ],
)
def test_tokens_that_cannot_be_are_unknown_and_so_is_their_cost(stub: Stub, tmp_path: Path, usage: object, counted: Usage) -> None:
    """Negative, absurd or missing usage is unknown; the cost of a known model is then unknown too, and never 0."""
    stub.then(ok("fine", usage=usage))
    with open_stack(stub, tmp_path, [], model="openai/gpt-4o-mini") as gateway:
        reply = gateway.complete(request())
        assert reply.usage == counted
        assert (reply.cost is not None) is (counted == Usage(11, 3))
        assert gateway.cost == reply.cost


@pytest.mark.parametrize(
    ("header", "waits"),
    [
        pytest.param("7", [7.0, 7.0, 7.0], id="seconds"),
        pytest.param("Sat, 21 Nov 2026 08:00:20 GMT", [20.0, 20.0, 20.0], id="a date, from the date of the reply"),
        pytest.param("1e30", [60.0, 60.0, 60.0], id="huge"),
        pytest.param("inf", [60.0, 60.0, 60.0], id="endless"),
        pytest.param("nan", None, id="not a number"),
        pytest.param("-5", None, id="negative"),
        pytest.param("Wed, 21 Oct 2015 07:28:00 GMT", None, id="a date long past"),
        pytest.param("soon", None, id="words"),
    ],
)
def test_how_long_a_busy_provider_is_left_alone(stub: Stub, tmp_path: Path, header: str, waits: list[float] | None) -> None:
    """Retry-After is honoured up to a minute; what makes no sense is as if it were not there."""
    slept: Slept = []
    stub.then(failing(429, headers={"Retry-After": header, "Date": "Sat, 21 Nov 2026 08:00:00 GMT"}))
    with open_stack(stub, tmp_path, slept) as gateway, pytest.raises(ProviderUnavailable):
        gateway.complete(request())
    if waits is None:
        assert 1 <= slept[0] <= 3
        assert slept[3] <= 10
    else:
        assert slept[:3] == waits


ROUTES = ("openai/slow", "anthropic/claude-slow", "gemini/slow", "azure/slow", "openrouter/slow")


@pytest.mark.parametrize("status", [302, 307])
@pytest.mark.parametrize("model", ROUTES)
def test_no_request_and_no_key_follows_a_redirect(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, status: int
) -> None:
    """Whatever the provider, the address that a redirect names is never asked, so it never sees a key."""
    monkeypatch.setenv("AZURE_API_VERSION", "2024-06-01")
    other = Stub()
    stub.then(redirecting(other.url, status))
    with open_stack(stub, tmp_path, [], model=model) as gateway:
        with pytest.raises(SettingsError, match=r"model\.api_base"):
            gateway.complete(request())
        with pytest.raises(SettingsError, match=r"model\.api_base"):
            gateway.stream(request(content="streamed"), lambda text: None)
    assert (stub.requests, other.requests) == (2, 0)
    other.close()


UNREADABLE = {
    "truncated JSON": raw(b'{"id": '),
    "error with 200": raw(b'{"error": {"message": "no"}}'),
    "null": raw(b"null"),
    "no choices": shaped(choices=...),
    "HTML with 200": html(200),
}


@pytest.mark.parametrize("name", UNREADABLE)
@pytest.mark.parametrize("model", ROUTES)
def test_what_cannot_be_read_is_paid_once_with_any_provider(
    stub: Stub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, name: str
) -> None:
    """litellm calls some of these a lost connection; asking again would pay again."""
    monkeypatch.setenv("AZURE_API_VERSION", "2024-06-01")
    stub.then(UNREADABLE[name])
    with open_stack(stub, tmp_path, [], model=model) as gateway, pytest.raises(ReplyUnusable):
        gateway.complete(request())
    assert stub.requests == 1
    assert rows(tmp_path)[0][0] == "malformed"


@pytest.mark.parametrize("behaviour", [behave.echoing(401), failing(429, "insufficient_quota")], ids=["401", "quota"])
def test_a_refused_key_stops_a_pool_at_once(stub: Stub, tmp_path: Path, behaviour: Behaviour) -> None:
    """Of forty requests no more are sent than were on their way together."""
    stub.then(behaviour)
    with open_stack(stub, tmp_path, [], concurrency=4) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all(request(content=str(number)) for number in range(40))]
    assert len(outcomes) == 40
    assert all(isinstance(outcome, KeyOrQuota) for outcome in outcomes)
    assert stub.requests <= 4


def test_an_outage_in_the_middle_costs_only_what_is_missing(stub: Stub, tmp_path: Path) -> None:
    """The provider goes away after eight replies; when it is back the same requests ask for the other twelve and no more."""
    requests = [request(content=str(number)) for number in range(20)]
    stub.then(*[ok()] * 8, failing(503))
    slept: Slept = []
    with open_stack(stub, tmp_path, slept, concurrency=4) as gateway:
        first = [outcome for _, outcome in gateway.complete_all(requests)]
    assert sum(isinstance(outcome, Reply) for outcome in first) == 8
    assert slept.count(30.0) == 3
    assert stub.requests <= 8 + 12 * 5
    stub.then(ok())
    with open_stack(stub, tmp_path, slept, concurrency=4) as gateway:
        assert all(isinstance(outcome, Reply) for _, outcome in gateway.complete_all(requests))
        assert (gateway.calls, gateway.from_ledger) == (12, 8)
    assert stub.requests == 12


@pytest.mark.parametrize("times", [1, 2, 3])
def test_broken_replies_are_items_errors_and_a_rerun_asks_for_those_alone(stub: Stub, tmp_path: Path, times: int) -> None:
    """The k-th broken reply stops no other item; each rerun pays for the broken ones only."""
    requests = [request(content=str(number)) for number in range(6)]
    stub.then(*[raw(b'{"id": ')] * times, ok())
    with open_stack(stub, tmp_path, [], concurrency=1) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all(requests)]
    assert [type(outcome) for outcome in outcomes] == [ReplyUnusable] * times + [Reply] * (6 - times)
    stub.then(ok())
    with open_stack(stub, tmp_path, [], concurrency=1) as gateway:
        assert all(isinstance(outcome, Reply) for _, outcome in gateway.complete_all(requests))
    assert stub.requests == times
