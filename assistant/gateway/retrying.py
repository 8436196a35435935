"""Trying again: the one place that imports tenacity, and the breaker that all calls of a run share.

What may pass by itself is exactly what the provider reports as ProviderUnavailable: a 429, a 5xx, a lost connection,
a deadline. Each call tries it five times; when five failures follow each other across all calls, none of them is
helped by trying, so everybody waits.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final, TypeVar

import tenacity

from assistant.errors import GatewayError, ProviderUnavailable
from assistant.gateway.message import Model, Particulars, Reply, Request, particulars

T = TypeVar("T")
Sleep = Callable[[float], Awaitable[None]]

ATTEMPTS: Final = 5
LONGEST_WAIT_S: Final = 60.0
FAILURES_TO_PAUSE: Final = 5
PAUSES: Final = 3
PAUSE_S: Final = 30.0


class Breaker:
    """Pauses every call after five failures in a row, and ends the run after three pauses that helped nothing."""

    def __init__(self, sleep: Sleep) -> None:
        self.gave_up = False
        self._sleep = sleep
        self._failures = 0
        self._pauses = 0
        self._pause: asyncio.Future[None] | None = None

    async def passed(self) -> None:
        """Return when calls may be sent; ProviderUnavailable when they may not any more in this run."""
        while self._pause is not None and not self._pause.done():
            # Shielded: a call that is cancelled must not end the pause of the others.
            await asyncio.shield(self._pause)
        if self.gave_up:
            raise ProviderUnavailable(
                f"The provider failed {FAILURES_TO_PAUSE} times in a row after each of {PAUSES} pauses; what is "
                "done is kept, so run the same command again later"
            ) from Particulars(final=True)

    def succeeded(self) -> None:
        """Note that the provider answers."""
        self._failures = self._pauses = 0

    def failed(self) -> None:
        """Note a failure that may pass; failures of calls sent before a pause do not count again."""
        if self._pause is not None and not self._pause.done():
            return
        self._failures += 1
        if self._failures < FAILURES_TO_PAUSE:
            return
        self._failures = 0
        if self._pauses == PAUSES:
            self.gave_up = True
        else:
            self._pauses += 1
            self._pause = asyncio.ensure_future(self._sleep(PAUSE_S))


class Retrying:
    """Another model, asked again while its failure is one that may pass."""

    def __init__(self, inner: Model, *, sleep: Sleep = asyncio.sleep) -> None:
        self.name = inner.name
        self._inner = inner
        self._breaker = Breaker(sleep)
        self._retry = tenacity.AsyncRetrying(
            stop=tenacity.stop_after_attempt(ATTEMPTS),
            wait=_wait,
            retry=tenacity.retry_if_exception(self._may_pass),
            sleep=sleep,
            reraise=True,
        )

    async def complete(self, request: Request) -> Reply:
        """The reply of the first attempt that is served."""
        return await self._retry.copy()(self._attempt, lambda: self._inner.complete(request))

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """The pieces of the first attempt that yields one; from there on nothing is asked again."""
        opened: _Opened = await self._retry.copy()(self._attempt, lambda: _opened(self._inner.stream(request)))
        first, rest = opened
        yield first
        async for piece in rest:
            yield piece

    async def _attempt(self, ask: Callable[[], Awaitable[T]]) -> T:
        await self._breaker.passed()
        try:
            answer = await ask()
        except ProviderUnavailable:
            self._breaker.failed()
            raise
        except GatewayError:
            self._breaker.succeeded()
            raise
        self._breaker.succeeded()
        return answer

    def _may_pass(self, error: BaseException) -> bool:
        return isinstance(error, ProviderUnavailable) and not self._breaker.gave_up


_Opened = tuple[str | Reply, AsyncIterator[str | Reply]]


async def _opened(stream: AsyncIterator[str | Reply]) -> _Opened:
    return await anext(stream), stream


_jitter = tenacity.wait_exponential_jitter(initial=1, max=LONGEST_WAIT_S)


def _wait(state: tenacity.RetryCallState) -> float:
    error = state.outcome.exception() if state.outcome else None
    asked = particulars(error).retry_after if error else None
    # The comparison also drops a header that says NaN.
    return max(min(asked, LONGEST_WAIT_S) if asked is not None and asked > 0 else 0.0, _jitter(state))
