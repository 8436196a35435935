"""The ledger: what is written when, and what answers again."""

import asyncio
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Scripted, reply, request

from assistant.errors import BudgetReached, OutputError, ProviderUnavailable, ReplyUnusable
from assistant.gateway.budget import Budget
from assistant.gateway.ledger import Ledger, Metered, Spent
from assistant.gateway.message import Reply, Request, Usage


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    opened = Ledger(path)
    yield opened
    opened.close()


def states(path: Path) -> list[tuple[str, str | None]]:
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT state, reply FROM call ORDER BY id").fetchall()
    connection.close()
    return rows


def test_the_claim_is_on_disk_before_the_call(path: Path, ledger: Ledger) -> None:
    """Another connection sees the row `sent` while the provider is being asked, and `done` after."""
    during = []

    class Watching(Scripted):
        async def complete(self, request: Request) -> Reply:
            during.extend(states(path))
            return await super().complete(request)

    asyncio.run(Metered(Watching("fine"), ledger).complete(request()))
    assert during == [("sent", None)]
    assert states(path) == [("done", "fine")]


def test_what_is_done_answers_unpaid(path: Path, ledger: Ledger) -> None:
    """The second run asks nobody, and says so; a label takes no part in what is the same request."""
    model = Scripted("fine")
    first = asyncio.run(Metered(model, ledger).complete(request()))
    second = asyncio.run(Metered(model, ledger).complete(request("other/label")))
    assert (first.paid, second.paid) == (True, False)
    assert (second.text, second.usage, second.cost) == (first.text, first.usage, first.cost)
    assert len(model.asked) == 1


def test_the_same_question_at_once_is_paid_once(ledger: Ledger) -> None:
    """Two equal requests in one pool wait for each other."""
    model = Scripted("fine")

    async def both() -> tuple[Reply, Reply]:
        metered = Metered(model, ledger)
        return await asyncio.gather(metered.complete(request()), metered.complete(request()))

    assert sorted(reply.paid for reply in asyncio.run(both())) == [False, True]
    assert len(model.asked) == 1


def test_what_failed_is_tried_again(path: Path, ledger: Ledger) -> None:
    """Failed, malformed and refused calls keep their row and are asked once more by a rerun."""
    model = Scripted(
        ProviderUnavailable("away"),
        ReplyUnusable("broken"),
        reply("half", finish="length"),
        reply("no", finish="refusal"),
        "fine",
    )
    for expected in (ProviderUnavailable, ReplyUnusable, ReplyUnusable, ReplyUnusable):
        with pytest.raises(expected):
            asyncio.run(Metered(model, ledger).complete(request()))
    assert asyncio.run(Metered(model, ledger).complete(request())).text == "fine"
    assert states(path) == [
        ("failed", None),
        ("malformed", None),
        ("malformed", "half"),
        ("refused", "no"),
        ("done", "fine"),
    ]


def test_a_run_that_died_meanwhile_is_asked_again(path: Path, ledger: Ledger) -> None:
    """A row left at `sent` answers nothing; it stays as a trace of a call that may have been paid."""
    ledger.claim(request(), Scripted.name)
    asyncio.run(Metered(Scripted("fine"), ledger).complete(request()))
    assert states(path) == [("sent", None), ("done", "fine")]


def test_a_cancelled_call_stays_sent(path: Path, ledger: Ledger) -> None:
    """Ctrl-C leaves the claim, since nobody knows whether the provider counted the call."""

    class Hanging(Scripted):
        async def complete(self, request: Request) -> Reply:
            await asyncio.sleep(60)
            raise AssertionError

    async def cut() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await Metered(Hanging(), ledger).complete(request())

    asyncio.run(cut())
    assert states(path) == [("sent", None)]


def test_a_stream_is_kept_like_any_reply(path: Path, ledger: Ledger) -> None:
    """A streamed reply is in the ledger once it is whole, and then answers in one piece."""
    model = Scripted("fine")

    async def pieces() -> list[str | Reply]:
        return [piece async for piece in Metered(model, ledger).stream(request())]

    assert asyncio.run(pieces())[:2] == ["fi", "ne"]
    again = asyncio.run(pieces())
    assert again[0] == "fine"
    assert isinstance(again[1], Reply)
    assert not again[1].paid
    assert len(model.asked) == 1


def test_the_budget_is_of_this_run(ledger: Ledger) -> None:
    """The call after the budget is spent is not sent; a rerun has the budget again and keeps what is done."""
    model = Scripted(reply(cost=0.02))
    requests = [request(content=str(number)) for number in range(4)]

    async def as_far_as_it_goes() -> int:
        metered, done = Metered(model, ledger, budget=Budget(usd=0.04)), 0
        for each in requests:
            try:
                await metered.complete(each)
            except BudgetReached:
                return done
            done += 1
        return done

    assert asyncio.run(as_far_as_it_goes()) == 2
    assert asyncio.run(as_far_as_it_goes()) == 4
    assert len(model.asked) == 4


def test_calls_on_their_way_count_towards_the_budget(ledger: Ledger) -> None:
    """Once a price is known, a pool does not overrun the budget by its width."""
    model = Scripted(reply(cost=0.02))

    async def pool() -> list[Reply | BaseException]:
        metered = Metered(model, ledger, budget=Budget(usd=0.05))
        await metered.complete(request())
        calls = [metered.complete(request(content=str(number))) for number in range(8)]
        return await asyncio.gather(*calls, return_exceptions=True)

    refused = [outcome for outcome in asyncio.run(pool()) if isinstance(outcome, BudgetReached)]
    assert len(refused) == 6
    assert len(model.asked) == 3


def test_again_takes_the_next_sample(ledger: Ledger) -> None:
    """With `again` a request that is done is asked as a new sample, and both answers are kept."""
    model = Scripted("one", "two")
    asyncio.run(Metered(model, ledger).complete(request()))
    assert asyncio.run(Metered(model, ledger, again=True).complete(request())).text == "two"
    assert [asked.sample for asked in model.asked] == [0, 1]
    assert asyncio.run(Metered(model, ledger).complete(request())).text == "one"


def test_a_reply_that_did_not_fit_is_asked_again(path: Path, ledger: Ledger) -> None:
    """A disowned reply is kept but never answers again."""
    model = Scripted("bad", "good")
    metered = Metered(model, ledger)
    asyncio.run(metered.complete(request()))
    metered.disown(request())
    assert asyncio.run(Metered(model, ledger).complete(request())).text == "good"
    assert states(path) == [("malformed", "bad"), ("done", "good")]


def test_the_summary_never_adds_up_what_is_unknown(ledger: Ledger) -> None:
    """Tokens and cost are by task, model and day, with the number of calls whose cost nobody knows."""
    model = Scripted(reply(cost=0.02), reply(cost=None), Reply("x", Usage(None, None), None, "m", "stop"))
    metered = Metered(model, ledger)
    for label in ("ask/one", "ask/two", "compare/three"):
        asyncio.run(metered.complete(request(label, content=label)))
    ask, compare = metered.summary()
    assert ask == Spent("ask", "test/scripted", ask.day, 2, 22, 6, 0.02, 1, 0)
    assert compare == Spent("compare", "test/scripted", ask.day, 1, None, None, None, 1, 1)


def test_a_ledger_that_is_no_database_says_so(path: Path) -> None:
    """A damaged file is an error that names the file."""
    path.write_bytes(b"not a database" * 100)
    with pytest.raises(OutputError, match=r"ledger\.sqlite"):
        Ledger(path)
