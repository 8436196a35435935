"""Trying again: what is tried, how often, and when everybody stops."""

import asyncio

import pytest
from conftest import Scripted, request

from assistant.errors import GatewayError, KeyOrQuota, ProviderUnavailable, ReplyUnusable
from assistant.gateway import Gateway
from assistant.gateway.message import particulars
from assistant.gateway.retrying import PAUSE_S, Retrying


class Clock:
    """Sleeps that take no time and are written down."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        await asyncio.sleep(0)


def test_a_call_is_tried_five_times() -> None:
    """A failure that may pass is tried five times, then it is the call's error."""
    model = Scripted(ProviderUnavailable("busy"))
    with pytest.raises(ProviderUnavailable, match="busy"):
        asyncio.run(Retrying(model, sleep=Clock().sleep).complete(request()))
    assert len(model.asked) == 5


@pytest.mark.parametrize("error", [KeyOrQuota("no"), ReplyUnusable("no"), GatewayError("no")])
def test_what_cannot_pass_is_tried_once(error: GatewayError) -> None:
    """A wrong key, a broken reply and a bad request are never asked again."""
    model = Scripted(error)
    with pytest.raises(type(error)):
        asyncio.run(Retrying(model, sleep=Clock().sleep).complete(request()))
    assert len(model.asked) == 1


def test_five_failures_pause_everybody() -> None:
    """After five failures in a row, of whichever calls, nothing is sent until the pause is over."""
    model, clock = Scripted(*[ProviderUnavailable("busy")] * 5, "fine"), Clock()
    retrying = Retrying(model, sleep=clock.sleep)

    async def three() -> list[str]:
        replies = await asyncio.gather(*(retrying.complete(request(content=str(number))) for number in range(3)))
        return [reply.text for reply in replies]

    assert asyncio.run(three()) == ["fine"] * 3
    assert clock.slept.count(PAUSE_S) == 1
    assert len(model.asked) == 8


def test_after_three_pauses_the_rest_is_not_sent() -> None:
    """A provider that stays away costs 20 requests, however many items there are."""
    model, clock = Scripted(ProviderUnavailable("busy")), Clock()
    with Gateway(Retrying(model, sleep=clock.sleep), concurrency=1) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all([request(content=str(n)) for n in range(50)])]
    assert len(outcomes) == 50
    assert all(isinstance(outcome, ProviderUnavailable) for outcome in outcomes)
    assert particulars(outcomes[-1]).final  # type: ignore[arg-type]
    assert len(model.asked) == 20
    assert clock.slept.count(PAUSE_S) == 3


def test_a_storm_that_passes_loses_nothing() -> None:
    """Calls of a pool that meets a short storm all come back, with at most five requests each."""
    model, clock = Scripted(*[ProviderUnavailable("busy")] * 12, "fine"), Clock()
    with Gateway(Retrying(model, sleep=clock.sleep), concurrency=8) as gateway:
        outcomes = [outcome for _, outcome in gateway.complete_all([request(content=str(n)) for n in range(20)])]
    assert not [outcome for outcome in outcomes if isinstance(outcome, GatewayError)]
    assert len(model.asked) == 32
