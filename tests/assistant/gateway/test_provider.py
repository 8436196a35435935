"""The provider against a server that misbehaves: which error, how many requests, and no key in any message."""

import asyncio
import traceback
from collections.abc import Iterator

import pytest
import stub_server as behave
from conftest import request
from stub_server import Behaviour, Stub

from assistant.errors import GatewayError, KeyOrQuota, ProviderUnavailable, ReplyUnusable, SettingsError
from assistant.gateway.message import Reply, Usage, particulars
from assistant.gateway.provider import LiteLLM
from assistant.gateway.retrying import Retrying

# Of the provider library, not ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Item:UserWarning"),
]

KEY = "a-very-secret-key-123"


@pytest.fixture(scope="module")
def warm(runner: asyncio.Runner, shared_stub: Stub) -> Iterator[LiteLLM]:
    """The library loads half of itself at the first call, which would take up a short deadline."""
    model = LiteLLM("openai/slow", api_base=shared_stub.url, deadline_s=60)
    shared_stub.then(behave.ok())
    runner.run(model.complete(request()))
    yield model
    runner.run(model.close())


@pytest.fixture
def model(warm: LiteLLM, stub: Stub) -> LiteLLM:
    return LiteLLM("openai/slow", api_base=stub.url, api_key=KEY, deadline_s=5)


def test_a_good_reply_has_text_usage_and_an_unknown_cost(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """One request brings the text and its tokens; a model without a price costs an unknown amount, not nothing."""
    stub.then(behave.ok("fine"))
    got = runner.run(model.complete(request(settings={"max_tokens": 7, "temperature": 0})))
    assert got == Reply("fine", Usage(11, 3), None, "stub-1", "stop")
    assert stub.requests == 1
    assert stub.seen[0]["body"]["max_tokens"] == 7
    assert "response_format" not in stub.seen[0]["body"]


def test_a_known_model_has_a_price(runner: asyncio.Runner, warm: LiteLLM, stub: Stub) -> None:
    """The price list that comes with the library is used, streamed or not, without the network."""
    known = LiteLLM("openai/gpt-4o-mini", api_base=stub.url, deadline_s=5)
    stub.then(behave.ok())
    whole = runner.run(known.complete(request()))
    stub.then(behave.streamed("fi", "ne"))
    streamed = runner.run(_all(known))[-1]
    assert isinstance(streamed, Reply)
    assert whole.cost == streamed.cost == pytest.approx(11 * 0.15e-6 + 3 * 0.6e-6)


def test_a_server_on_this_machine_never_gets_a_key_from_the_environment(
    runner: asyncio.Runner, warm: LiteLLM, stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a configured key a loopback server is sent a stand-in."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    stub.then(behave.ok())
    runner.run(warm.complete(request()))
    assert stub.seen[0]["key"] == "Bearer none"


@pytest.mark.parametrize(
    ("behaviour", "error", "words"),
    [
        pytest.param(behave.failing(429), ProviderUnavailable, "429", id="busy"),
        pytest.param(behave.failing(429, "insufficient_quota"), KeyOrQuota, "", id="no money"),
        pytest.param(behave.failing(402), KeyOrQuota, "402", id="payment"),
        pytest.param(behave.failing(403), KeyOrQuota, "403", id="forbidden"),
        pytest.param(behave.echoing(401), KeyOrQuota, "[key]", id="wrong key"),
        pytest.param(behave.failing(404), SettingsError, "404", id="unknown model"),
        pytest.param(behave.failing(400), GatewayError, "400", id="bad request"),
        pytest.param(behave.failing(500), ProviderUnavailable, "500", id="server error"),
        pytest.param(behave.raw(b"<html>", 503), ProviderUnavailable, "503", id="html 503"),
        pytest.param(behave.reset, ProviderUnavailable, "", id="connection closed"),
        pytest.param(behave.short_body, ReplyUnusable, "cannot be read", id="body cut short"),
        pytest.param(behave.raw(b'{"id": '), ReplyUnusable, "cannot be read", id="truncated json"),
        pytest.param(behave.raw(b'{"a":"\xff"}'), ReplyUnusable, "cannot be read", id="not utf-8"),
        pytest.param(behave.raw(b"<html>hi"), ReplyUnusable, "cannot be read", id="html 200"),
        pytest.param(behave.raw(b""), ReplyUnusable, "cannot be read", id="empty 200"),
        pytest.param(behave.raw(b'{"id":"1"}'), ReplyUnusable, "cannot be read", id="no choices"),
        pytest.param(behave.shaped(choices=[]), ReplyUnusable, "without any choice", id="choices empty"),
        pytest.param(behave.ok(None, refusal="I will not"), ReplyUnusable, "refusal: I will not", id="refusal"),
        pytest.param(behave.ok("half", finish="length"), ReplyUnusable, "max_tokens", id="finish length"),
        pytest.param(behave.ok("half", finish="content_filter"), ReplyUnusable, "filter", id="finish filter"),
        pytest.param(behave.ok("  "), ReplyUnusable, "empty", id="blank"),
    ],
)
def test_each_failure_is_one_request_and_its_own_error(
    runner: asyncio.Runner, model: LiteLLM, stub: Stub, behaviour: Behaviour, error: type[Exception], words: str
) -> None:
    """Whatever the server does, the library sends one request, and the error's type says what to do."""
    stub.then(behaviour)
    with pytest.raises(error) as caught:
        runner.run(model.complete(request()))
    assert type(caught.value) is error
    assert words in str(caught.value)
    assert stub.requests == 1
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_an_unusable_reply_is_still_there(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """A reply that was paid for but cut off travels with its error, so the ledger can keep it."""
    stub.then(behave.ok("half", finish="length"))
    with pytest.raises(ReplyUnusable) as caught:
        runner.run(model.complete(request()))
    assert particulars(caught.value).reply == Reply("half", Usage(11, 3), None, "stub-1", "length")


def test_a_server_that_hangs_is_cut_off_at_the_deadline(runner: asyncio.Runner, warm: LiteLLM, stub: Stub) -> None:
    """The deadline is ours and is for the whole call."""
    stub.then(behave.hang)
    impatient = LiteLLM("openai/slow", api_base=stub.url, deadline_s=0.3)
    with pytest.raises(ProviderUnavailable, match=r"within 0\.3 s"):
        runner.run(impatient.complete(request()))
    with pytest.raises(ProviderUnavailable, match=r"within 0\.3 s"):
        runner.run(_all(impatient))
    stub.released.set()
    assert stub.requests == 2


def test_missing_usage_is_unknown_not_zero(runner: asyncio.Runner, warm: LiteLLM, stub: Stub) -> None:
    """A reply without usage has unknown tokens and an unknown cost, streamed or not."""
    known = LiteLLM("openai/gpt-4o-mini", api_base=stub.url, deadline_s=5)
    stub.then(behave.ok(usage=None))
    whole = runner.run(known.complete(request()))
    stub.then(behave.streamed("fine", usage=False))
    streamed = runner.run(_all(known))[-1]
    assert isinstance(streamed, Reply)
    assert (whole.usage, whole.cost) == (streamed.usage, streamed.cost) == (Usage(None, None), None)


def test_characters_no_file_takes_are_made_visible(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """NULs and lone surrogates become U+FFFD, in what is sent and in what comes back."""
    stub.then(behave.ok("a\ud800\x00b"))
    assert runner.run(model.complete(request(content="x\udfff"))).text == "a��b"
    assert stub.seen[0]["body"]["messages"][1]["content"] == "x�"


def test_a_key_in_a_reply_is_not_kept(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """A server that repeats the key in its reply does not get it into a ledger or a recording."""
    stub.then(behave.ok(f"your key is {KEY}"))
    assert runner.run(model.complete(request())).text == "your key is [key]"


def test_a_stream_brings_pieces_and_then_the_whole(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """The last thing of a stream is the same reply as without streaming."""
    stub.then(behave.streamed("fi", "ne"))
    *pieces, whole = runner.run(_all(model))
    assert pieces == ["fi", "ne"]
    assert isinstance(whole, Reply)
    assert (whole.text, whole.usage, whole.finish) == ("fine", Usage(11, 3), "stop")


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(behave.streamed("fi", finish=None, cut=True), id="connection cut"),
        pytest.param(behave.streamed("fi", finish=None), id="ends without a reason"),
        pytest.param(behave.streamed("fi", finish="length"), id="too long"),
    ],
)
def test_a_stream_that_is_cut_is_unusable(
    runner: asyncio.Runner, model: LiteLLM, stub: Stub, behaviour: Behaviour
) -> None:
    """Half a reply is never passed off as a whole one, and nothing is asked again behind the reader's back."""
    stub.then(behaviour)
    with pytest.raises(ReplyUnusable, match="broke off|cut off"):
        runner.run(_all(Retrying(model, sleep=_no_sleep)))
    assert stub.requests == 1


def test_a_busy_provider_is_asked_again_when_it_says(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """Retry-After is honoured, up to a minute, and each attempt is one request."""
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    stub.then(
        behave.failing(429, headers={"Retry-After": "17"}),
        behave.failing(429, headers={"Retry-After": "900"}),
        behave.ok("at last"),
    )
    assert runner.run(Retrying(model, sleep=sleep).complete(request())).text == "at last"
    assert slept == [17.0, 60.0]
    assert stub.requests == 3


def test_a_stream_that_does_not_start_is_asked_again(runner: asyncio.Runner, model: LiteLLM, stub: Stub) -> None:
    """Before the first piece a stream is retried like any call."""
    stub.then(behave.failing(500), behave.streamed("fine"))
    assert runner.run(_all(Retrying(model, sleep=_no_sleep)))[0] == "fine"
    assert stub.requests == 2


def test_a_model_without_a_provider_is_a_setting_to_mend(runner: asyncio.Runner, warm: LiteLLM) -> None:
    """A model name that belongs to no provider is refused before anything is sent."""
    with pytest.raises(SettingsError, match="name the provider"):
        runner.run(LiteLLM("gibberish").complete(request()))


async def _all(model: LiteLLM | Retrying) -> list[str | Reply]:
    return [piece async for piece in model.stream(request())]


async def _no_sleep(_: float) -> None:
    pass
