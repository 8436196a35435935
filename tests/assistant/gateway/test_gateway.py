"""The door: plain calls, a bounded pool, totals, and nothing loaded or left running that is not needed."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import stub_server as behave
from conftest import Scripted, reply, request
from pydantic import BaseModel
from stub_server import Stub

from assistant.errors import BudgetReached, GatewayError, KeyOrQuota, NoModel, OutputError, ReplyUnusable, UsageError
from assistant.gateway import Gateway, Message, Parsed, Reply, Request, Usage, open_gateway
from assistant.gateway.ledger import Ledger, Metered
from assistant.gateway.recording import Recorded


class Year(BaseModel):
    year: int


class Slow(Scripted):
    """A model that answers late and knows how many it was asked at once, and who gave up on it."""

    def __init__(self, seconds: float = 0.02) -> None:
        super().__init__("fine")
        self.seconds = seconds
        self.at_once = self.most_at_once = self.cancelled = 0

    async def complete(self, request: Request) -> Reply:
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.at_once -= 1
        return await super().complete(request)


def many(count: int) -> list[Request]:
    return [request(f"ask/answer--{number}", content=str(number)) for number in range(count)]


def test_many_are_asked_a_few_at_once() -> None:
    """The pool is as wide as it was told, and each request comes back once."""
    model = Slow()
    with Gateway(model, concurrency=3) as gateway:
        answered = [asked.label for asked, outcome in gateway.complete_all(many(10)) if isinstance(outcome, Reply)]
    assert sorted(answered) == sorted(each.label for each in many(10))
    assert model.most_at_once == 3


def test_an_item_that_fails_does_not_stop_the_others() -> None:
    """Errors of one item are handed over like replies."""
    with Gateway(Scripted("a", ReplyUnusable("bad"), GatewayError("no"), "b"), concurrency=1) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all(many(4))]
    assert [type(outcome) for outcome in outcomes] == [Reply, ReplyUnusable, GatewayError, Reply]


@pytest.mark.parametrize("error", [KeyOrQuota("no"), BudgetReached("spent")])
def test_an_error_that_ends_the_run_spares_the_rest(error: GatewayError) -> None:
    """Nothing is sent after a refused key or a spent budget; every request still gets its answer."""
    model = Scripted("a", error)
    with Gateway(model, concurrency=2) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all(many(20))]
    assert len(outcomes) == 20
    assert outcomes.count(error) >= 18
    assert len(model.asked) <= 3


def test_any_other_error_is_the_callers() -> None:
    """A ledger that cannot be written is not an item's error; the call as a whole raises it."""
    with Gateway(Scripted("a", OutputError("disk full")), concurrency=1) as gateway, pytest.raises(OutputError):
        list(gateway.complete_all(many(5)))


def test_values_come_from_a_pool_too() -> None:
    """structured_all hands over values and errors in order of completion."""
    model = Scripted('{"year": 1}', "x", "y", '{"year": 2}')
    with Gateway(model, concurrency=1) as gateway:
        items = [(each, Year, None) for each in many(3)]
        outcomes = [outcome for _, outcome in gateway.structured_all(items, lambda text: Message("user", text))]
    assert isinstance(outcomes[0], Parsed)
    assert isinstance(outcomes[1], ReplyUnusable)
    assert isinstance(outcomes[2], Parsed)
    assert gateway.calls == 4


def test_a_stream_speaks_in_the_callers_thread() -> None:
    """on_text is called where the caller is, so it may print or draw."""
    said: list[tuple[str, threading.Thread]] = []
    with Gateway(Scripted("fine")) as gateway:
        whole = gateway.stream(request(), lambda text: said.append((text, threading.current_thread())))
    assert whole.text == "".join(text for text, _ in said) == "fine"
    assert {thread for _, thread in said} == {threading.current_thread()}


def test_totals_never_hide_what_is_unknown() -> None:
    """Tokens and cost add up until one of them is unknown; an unusable reply was paid for too."""
    with Gateway(Scripted("a", reply("half", finish="length"), reply("b", cost=None))) as gateway:
        assert (gateway.calls, gateway.usage, gateway.cost) == (0, Usage(0, 0), 0)
        gateway.complete(request())
        with pytest.raises(ReplyUnusable):
            gateway.complete(request())
        assert (gateway.calls, gateway.usage) == (2, Usage(22, 6))
        assert gateway.cost == pytest.approx(0.02)
        gateway.complete(request())
        assert (gateway.calls, gateway.usage, gateway.cost) == (3, Usage(33, 9), None)


def test_what_the_ledger_knows_is_no_call(tmp_path: Path) -> None:
    """A reply from the ledger is counted apart and adds no cost."""
    for expected in ((1, 0), (0, 1)):
        metered = Metered(Scripted("a"), Ledger(tmp_path / "ledger.sqlite"))
        with Gateway(metered, metered=metered) as gateway:
            gateway.complete(request())
            assert (gateway.calls, gateway.from_ledger) == expected
            assert gateway.cost == pytest.approx(0.01 * expected[0])


@pytest.fixture
def _ctrl_c_counts() -> Iterator[None]:
    """A process that a shell started in the background ignores Ctrl-C; this test's must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_cancels_what_is_outstanding(_ctrl_c_counts: None) -> None:
    """KeyboardInterrupt reaches the caller at once, and the calls do not go on behind its back."""
    model = Slow(60)
    with Gateway(model, concurrency=4) as gateway:
        for wait in (lambda: gateway.complete(request()), lambda: list(gateway.complete_all(many(9)))):
            timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                wait()
    assert model.cancelled == 5


def test_leaving_a_pool_early_cancels_the_rest() -> None:
    """A caller that has seen enough pays for no more."""
    model = Slow(0.01)
    with Gateway(model, concurrency=1) as gateway:
        for _ in gateway.complete_all(many(500)):
            break
        time.sleep(0.05)
        asked = len(model.asked)
        time.sleep(0.05)
        assert len(model.asked) == asked < 20


def test_a_closed_gateway_leaves_no_thread() -> None:
    """The thread starts with the first call and ends with the gateway."""
    gateway = Gateway(Scripted("a"))
    assert "model gateway" not in {thread.name for thread in threading.enumerate()}
    gateway.complete(request())
    gateway.close()
    assert "model gateway" not in {thread.name for thread in threading.enumerate()}


def opened(**changed: object) -> Gateway:
    usual = {
        "model": "openai/slow",
        "api_base": None,
        "api_key": None,
        "deadline_s": 30.0,
        "ledger": None,
        "budget_usd": None,
        "record": None,
        "replay": None,
    }
    return open_gateway(**{**usual, **changed})  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_whole_stack_records_meters_and_replays(stub: Stub, tmp_path: Path) -> None:
    """A user's gateway pays once, keeps the reply in the ledger, and its recording answers without the provider."""
    stub.then(behave.ok("fine"))
    ledger, folder = tmp_path / "ledger.sqlite", tmp_path / "recordings"
    for paid in (True, False):
        with opened(api_base=stub.url, ledger=ledger, record=folder) as gateway:
            assert gateway.complete(request()).paid is paid
    assert stub.requests == 1
    with opened(api_base=stub.url, ledger=ledger, again=True) as gateway:
        gateway.complete(request())
    assert stub.requests == 2
    with opened(model="", replay=folder) as gateway:
        assert gateway.complete(request()).text == "fine"
        assert (gateway.calls, gateway.from_ledger) == (1, 0)


def test_a_gateway_needs_a_model_or_a_folder(tmp_path: Path) -> None:
    """Without a model there is nothing to ask, and a replay is nothing to record."""
    with pytest.raises(NoModel):
        opened(model="")
    with pytest.raises(UsageError):
        opened(record=tmp_path, replay=tmp_path)


def loaded_after(code: str) -> set[str]:
    probe = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_nothing_slow_is_loaded_before_it_is_needed(tmp_path: Path) -> None:
    """Importing the gateway, and replaying plain replies, loads no provider library."""
    heavy = {"litellm", "tenacity", "pydantic", "openai", "json_repair", "sqlite3", "httpx"}
    assert not heavy & loaded_after("import assistant.gateway")
    asyncio.run(Recorded(Scripted("fine"), tmp_path).complete(request()))
    replay = f"""
from pathlib import Path
from assistant.gateway import Message, Request, open_gateway
request = Request((Message("system", "You help."), Message("user", "What is known?")), "ask/answer--one")
with open_gateway(model="", api_base=None, api_key=None, deadline_s=1, ledger=None, budget_usd=None, record=None,
                  replay=Path({str(tmp_path)!r})) as gateway:
    assert gateway.complete(request).text == "fine"
"""
    assert not heavy & loaded_after(replay)
