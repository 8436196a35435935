"""The model gateway: plain calls outside, one event loop in a thread of its own inside.

`open_gateway` stacks the layers: `Recorded(Metered(Retrying(LiteLLM)))` for a user, `Replayed` for a replay. Tasks
are plain functions that hold a `Gateway`. What a layer needs is imported when it is needed, never before.
"""

import asyncio
import queue
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

from assistant.errors import BudgetReached, GatewayError, KeyOrQuota, NoModel, ReplyUnusable, UsageError
from assistant.gateway.message import Message, Model, Price, Reply, Request, Usage, particulars, question_of, total
from assistant.gateway.structured import Again, Check, Parsed, structured

if TYPE_CHECKING:
    from pydantic import BaseModel

    from assistant.gateway.ledger import Metered
    from assistant.gateway.provider import LiteLLM

__all__ = ["Again", "Check", "Gateway", "Message", "Parsed", "Price", "Reply", "Request", "Usage", "open_gateway"]

T = TypeVar("T", bound="BaseModel")
J = TypeVar("J")
R = TypeVar("R")

# After one of these no other item would fare better.
_ENDS_THE_RUN: Final = (KeyOrQuota, BudgetReached)
_END: Final = object()


class Spent(NamedTuple):
    """How many calls, their tokens, and their US dollars; None is unknown."""

    calls: int
    usage: Usage
    cost: float | None


class Gateway:
    """A model to ask: one request or many, at once or piece by piece, as text or as a value.

    `calls` counts the replies that were asked for in this run, replayed ones too; `from_ledger` those that were already
    paid for. `usage` and `cost` are of `calls`, and None as soon as one of them is unknown; of a replay they are what
    the recorded calls took.
    """

    def __init__(
        self, model: Model, *, metered: "Metered | None" = None, provider: "LiteLLM | None" = None, concurrency: int = 8
    ) -> None:
        self.name = model.name
        self._model = _Counted(model, self._count)
        self._metered = metered
        self._provider = provider
        self._concurrency = concurrency
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.calls = 0
        self.from_ledger = 0
        self._usages: list[Usage] = []
        self._costs: list[float | None] = []

    @property
    def usage(self) -> Usage:
        """Tokens of this run's calls."""
        return self.spent().usage

    @property
    def cost(self) -> float | None:
        """US dollars of this run's calls."""
        return self.spent().cost

    def spent(self, since: int = 0) -> "Spent":
        """What was asked after the first `since` calls of this run."""
        costs = self._costs[since:]
        known = [cost for cost in costs if cost is not None]
        return Spent(self.calls - since, total(self._usages[since:]), sum(known) if len(known) == len(costs) else None)

    def price(self, usage: Usage) -> float | None:
        """What so many tokens would cost in US dollars at list price; None where that is not known, as in a replay."""
        return self._provider.price(usage) if self._provider else None

    def exchange(self, request: Request) -> str:
        """Names what is asked with a request: the label of its recording, and the question's number in the ledger."""
        return f"{request.label} {question_of(request, self.name)}"

    def complete(self, request: Request) -> Reply:
        """The whole reply to one request."""
        return self._run(self._model.complete(request))

    def complete_all(self, requests: Iterable[Request]) -> Iterator[tuple[Request, Reply | GatewayError]]:
        """Each request with its reply, or with its own error, in the order they come back."""
        return self._all(list(requests), self._model.complete)

    def stream(self, request: Request, on_text: Callable[[str], None]) -> Reply:
        """The whole reply, after `on_text` was given its pieces, in this thread, as they came."""
        whole: Reply | None = None
        pieces: Iterator[str | Reply] = self._handed_over(lambda put: self._pieces(request, put))
        for piece in pieces:
            if isinstance(piece, Reply):
                whole = piece
            else:
                on_text(piece)
        if whole is None:
            raise ReplyUnusable(f"{request.label}: the stream ended without a reply")
        return whole

    def structured(self, request: Request, schema: "type[T]", again: Again, check: Check[T] | None = None, *, once: bool = False) -> Parsed[T]:
        """The reply as a value of the schema, after at most one re-ask, or none."""
        return self._run(self._structured(request, schema, again, check, once=once))

    def structured_all(
        self, items: "Iterable[tuple[Request, type[T], Check[T] | None]]", again: Again
    ) -> Iterator[tuple[Request, Parsed[T] | GatewayError]]:
        """Each request with its value, or with its own error, in the order they come back."""

        def ask(item: "tuple[Request, type[T], Check[T] | None]") -> Coroutine[Any, Any, Parsed[T]]:
            request, schema, check = item
            return self._structured(request, schema, again, check)

        return (((item[0]), outcome) for item, outcome in self._all(list(items), ask))

    def close(self) -> None:
        """Cancel what is outstanding, close the connections and the ledger, and end the thread."""
        if self._loop is not None and self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._wound_up(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()
            self._loop = self._thread = None
        if self._metered is not None:
            self._metered.close()
            self._metered = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()

    def _count(self, reply: Reply | None) -> None:
        # None is a reply that came, and may have been paid, but could not be read.
        if reply is not None and not reply.paid and self._metered is not None:
            self.from_ledger += 1
            return
        self.calls += 1
        self._usages.append(reply.usage if reply else Usage(None, None))
        self._costs.append(reply.cost if reply else None)

    async def _structured(
        self, request: Request, schema: "type[T]", again: Again, check: Check[T] | None, *, once: bool = False
    ) -> Parsed[T]:
        disown = self._metered.disown if self._metered else None
        return await structured(self._model, request, schema, again=again, check=check, disown=disown, once=once)

    async def _pieces(self, request: Request, put: Callable[[str | Reply], None]) -> None:
        async for piece in self._model.stream(request):
            put(piece)

    def _all(self, jobs: list[J], ask: Callable[[J], Awaitable[R]]) -> Iterator[tuple[J, R | GatewayError]]:
        return self._handed_over(lambda put: _spread(jobs, ask, put, self._concurrency))

    def _run(self, work: Coroutine[Any, Any, R]) -> R:
        future = asyncio.run_coroutine_threadsafe(work, self._running())
        try:
            return future.result()
        finally:
            # Ctrl-C reaches the caller's thread only; the call must not go on behind its back.
            future.cancel()

    def _handed_over(self, work: Callable[[Callable[[R], None]], Coroutine[Any, Any, None]]) -> Iterator[R]:
        found: queue.SimpleQueue[Any] = queue.SimpleQueue()
        future = asyncio.run_coroutine_threadsafe(work(found.put), self._running())
        future.add_done_callback(lambda _: found.put(_END))
        try:
            while (item := found.get()) is not _END:
                yield item
            future.result()
        finally:
            future.cancel()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            self._thread = threading.Thread(target=self._loop.run_forever, name="model gateway", daemon=True)
            self._thread.start()
        return self._loop

    async def _wound_up(self) -> None:
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        if self._provider is not None:
            await self._provider.close()
        await asyncio.get_running_loop().shutdown_asyncgens()


class _Counted:
    """The outermost layer: it tells the gateway of each reply."""

    def __init__(self, inner: Model, count: Callable[[Reply | None], None]) -> None:
        self.name = inner.name
        self._inner = inner
        self._count = count

    async def complete(self, request: Request) -> Reply:
        try:
            reply = await self._inner.complete(request)
        except ReplyUnusable as error:
            self._count(particulars(error).reply)
            raise
        self._count(reply)
        return reply

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        try:
            async for piece in self._inner.stream(request):
                if isinstance(piece, Reply):
                    self._count(piece)
                yield piece
        except ReplyUnusable as error:
            self._count(particulars(error).reply)
            raise


async def _spread(
    jobs: list[J], ask: Callable[[J], Awaitable[R]], put: Callable[[tuple[J, R | GatewayError]], None], width: int
) -> None:
    waiting = iter(jobs)
    ended: GatewayError | None = None

    async def work() -> None:
        nonlocal ended
        for job in waiting:
            if ended is not None:
                put((job, ended))
                continue
            try:
                put((job, await ask(job)))
            except GatewayError as error:
                ends = isinstance(error, _ENDS_THE_RUN) or particulars(error).final
                ended = ended or (error if ends else None)
                put((job, error))

    workers = [asyncio.create_task(work()) for _ in range(min(width, len(jobs)))]
    try:
        await asyncio.gather(*workers)
    finally:
        for worker in workers:
            worker.cancel()


def open_gateway(
    *,
    model: str,
    api_base: str | None,
    api_key: str | None,
    deadline_s: float,
    ledger: Path | None,
    budget_usd: float | None,
    record: Path | None,
    replay: Path | None,
    budget_tokens: int | None = None,
    own_price: Price | None = None,
    again: bool = False,
    concurrency: int = 8,
    notice: Callable[[str], None] = lambda line: None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Gateway:
    """A gateway to the configured model, or to a folder of recordings; nothing is connected yet.

    `own_price` comes before the list price. `notice` is given a line for the person, from the gateway's own thread.
    """
    from assistant.gateway.recording import Recorded, Replayed

    if replay is not None:
        if record is not None:
            raise UsageError("--record and --replay exclude each other: a recording comes from a model")
        return Gateway(Replayed(replay, model or None), concurrency=concurrency)
    if not model:
        raise NoModel("No model is configured; name one as model.name in carrel.toml")
    from assistant.gateway.provider import LiteLLM
    from assistant.gateway.retrying import Retrying

    provider = LiteLLM(model, api_base=api_base, api_key=api_key, deadline_s=deadline_s, own_price=own_price)
    layers: Model = Retrying(provider, sleep=sleep)
    metered = None
    if ledger is not None:
        from assistant.gateway.budget import Budget
        from assistant.gateway.ledger import Ledger, Metered

        budget = Budget(usd=budget_usd, tokens=budget_tokens, price=provider.price, notice=notice)
        layers = metered = Metered(layers, Ledger(ledger), budget=budget, again=again)
    if record is not None:
        layers = Recorded(layers, record)
    return Gateway(layers, metered=metered, provider=provider, concurrency=concurrency)
