"""The ledger: every call is written down before it is sent, every reply before it is read.

A reply that was paid for once answers the same request for ever. A row is `sent` when the call goes out; it becomes
`done`, `malformed`, `refused` or `failed`. Only `done` answers; a rerun tries the others once more. A row that
stays `sent` belongs to a run that died meanwhile: it may have been paid.
"""

import asyncio
import contextlib
import json
import sqlite3
import threading
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, TypeVar

from assistant.errors import AssistantError, OutputError, ReplyUnusable
from assistant.gateway.budget import Budget
from assistant.gateway.message import FILTERED, REFUSAL, Message, Model, Reply, Request, Usage, particulars, question_of

N = TypeVar("N", int, float)

# Before 3.51.3 two connections that write and checkpoint at once can damage a database in WAL mode.
_WAL_IS_SAFE: Final = (3, 51, 3)
_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS call (
    id INTEGER PRIMARY KEY,
    request TEXT NOT NULL,
    question TEXT NOT NULL,
    sample INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    task TEXT NOT NULL,
    label TEXT NOT NULL,
    settings TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('sent', 'done', 'malformed', 'refused', 'failed')),
    started TEXT NOT NULL,
    ended TEXT,
    replied TEXT,
    finish TEXT,
    tokens_in INTEGER,
    tokens_out INTEGER,
    cost REAL,
    reply TEXT,
    error TEXT,
    messages BLOB
) STRICT;
CREATE INDEX IF NOT EXISTS call_by_request ON call (request, state);
CREATE INDEX IF NOT EXISTS call_by_question ON call (question, sample);
"""
_SUMMARY: Final = """
SELECT task, model, substr(started, 1, 10) AS day, count(*), sum(tokens_in), sum(tokens_out), sum(cost),
       count(*) - count(cost), count(*) - count(tokens_in)
FROM call WHERE state <> 'failed' GROUP BY task, model, day ORDER BY day, task, model
"""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one task spent with one model on one day.

    `unknown` calls are not in `cost`, `uncounted` ones not in the tokens; a sum is None where there is nothing known to add.
    """

    task: str
    model: str
    day: str
    calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    unknown: int
    uncounted: int


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question to a model as it was sent, and the reply as it came."""

    label: str
    model: str
    day: str
    messages: tuple[Message, ...]
    reply: str


class Ledger:
    """The file of all calls; each method is committed when it returns."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # One connection, used from the gateway's thread and, for summaries, from the caller's.
        self._lock = threading.Lock()
        with self._committed():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=10, check_same_thread=False)
            journal = "WAL" if sqlite3.sqlite_version_info >= _WAL_IS_SAFE else "DELETE"
            for pragma in (f"journal_mode={journal}", "synchronous=FULL", "busy_timeout=10000", "trusted_schema=OFF"):
                self._connection.execute(f"PRAGMA {pragma}")
            self._connection.executescript(_SCHEMA)
            if "messages" not in {row[1] for row in self._connection.execute("PRAGMA table_info(call)")}:
                self._connection.execute("ALTER TABLE call ADD COLUMN messages BLOB")  # a ledger of before prompts were kept

    def answer(self, request: Request, model: str) -> Reply | None:
        """The reply already paid for, or None."""
        query = (
            "SELECT reply, tokens_in, tokens_out, cost, replied, finish FROM call "
            "WHERE request = ? AND state = 'done' ORDER BY id DESC LIMIT 1"
        )
        with self._committed():
            row = self._connection.execute(query, (request.fingerprint(model),)).fetchone()
        if row is None:
            return None
        text, read, written, cost, replied, finish = row
        return Reply(text, Usage(read, written), cost, replied, finish, paid=False)

    def next_sample(self, request: Request, model: str) -> int:
        """The lowest sample number that was never asked for."""
        query = "SELECT coalesce(max(sample) + 1, 0) FROM call WHERE question = ?"
        with self._committed():
            return int(self._connection.execute(query, (question_of(request, model),)).fetchone()[0])

    def claim(self, request: Request, model: str) -> int:
        """The number of a new row that says this call is about to be sent."""
        columns = {
            "request": request.fingerprint(model),
            "question": question_of(request, model),
            "sample": request.sample,
            "provider": model.partition("/")[0],
            "model": model,
            "task": request.label.partition("/")[0],
            "label": request.label,
            "settings": json.dumps(dict(request.settings), sort_keys=True),
            "state": "sent",
            "started": _now(),
            "messages": zlib.compress(json.dumps([[one.role, one.content] for one in request.messages]).encode("ascii")),
        }
        marks = ", ".join("?" * len(columns))
        insert = f"INSERT INTO call ({', '.join(columns)}) VALUES ({marks})"
        with self._committed():
            return int(self._connection.execute(insert, tuple(columns.values())).lastrowid or 0)

    def settle(self, row: int, state: str, reply: Reply | None, error: str | None = None) -> None:
        """Write down how the call ended, with the reply exactly as it came."""
        usage = reply.usage if reply else Usage(None, None)
        found = (reply.text, reply.model, reply.finish, reply.cost) if reply else (None, None, None, None)
        update = (
            "UPDATE call SET state = ?, ended = ?, error = ?, tokens_in = ?, tokens_out = ?, "
            "reply = ?, replied = ?, finish = ?, cost = ? WHERE id = ?"
        )
        with self._committed():
            self._connection.execute(update, (state, _now(), error, usage.input, usage.output, *found, row))

    def disown(self, request: Request, model: str) -> None:
        """Keep the latest reply to this question, but never answer with it again: it did not fit."""
        update = (
            "UPDATE call SET state = 'malformed' WHERE id = "
            "(SELECT max(id) FROM call WHERE question = ? AND state = 'done')"
        )
        with self._committed():
            self._connection.execute(update, (question_of(request, model),))

    def exchanges(self, question: str) -> list[Exchange]:
        """What was asked and answered with a question's number, the latest first; without the prompt where it was not kept."""
        query = "SELECT label, model, substr(started, 1, 10), messages, reply FROM call WHERE question = ? AND reply IS NOT NULL ORDER BY id DESC"
        with self._committed():
            rows = self._connection.execute(query, (question,)).fetchall()
        return [Exchange(label, model, day, _messages(kept), reply) for label, model, day, kept, reply in rows]

    def summary(self) -> list[Spent]:
        """What was spent, by day, task and model."""
        with self._committed():
            return [Spent(*row) for row in self._connection.execute(_SUMMARY)]

    def served(self) -> dict[str, tuple[str, ...]]:
        """By the model as it was asked for, the names under which the providers replied."""
        found: dict[str, tuple[str, ...]] = {}
        with self._committed():
            for model, replied in self._connection.execute("SELECT DISTINCT model, replied FROM call WHERE replied <> '' ORDER BY model, replied"):
                found[model] = (*found.get(model, ()), replied)
        return found

    def answered(self) -> frozenset[str]:
        """The numbers of the questions that got a reply."""
        with self._committed():
            return frozenset(row[0] for row in self._connection.execute("SELECT DISTINCT question FROM call WHERE reply IS NOT NULL"))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    @contextlib.contextmanager
    def _committed(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except (sqlite3.Error, OSError) as error:
                raise OutputError(f"The ledger {self._path} cannot be used: {error}") from error


class Metered:
    """Another model whose every call is in the ledger, and which stops at the budget of this run."""

    def __init__(self, inner: Model, ledger: Ledger, *, budget: Budget | None = None, again: bool = False) -> None:
        self.name = inner.name
        self._inner = inner
        self._ledger = ledger
        self._budget = budget or Budget()
        self._again = again
        # The same question asked twice at once is paid once: the second waits for the row of the first.
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def complete(self, request: Request) -> Reply:
        """The reply of the ledger, unpaid, or a new one that is in the ledger when this returns."""
        async with self._turn(request) as asked:
            known = self._ledger.answer(asked, self.name)
            if known is not None:
                return known
            with self._claimed(asked) as row:
                return self._kept(row, asked, await self._inner.complete(asked))

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """The reply of the ledger in one piece, or the pieces of a new one."""
        async with self._turn(request) as asked:
            known = self._ledger.answer(asked, self.name)
            if known is not None:
                yield known.text
                yield known
                return
            with self._claimed(asked) as row:
                async for piece in self._inner.stream(asked):
                    yield self._kept(row, asked, piece) if isinstance(piece, Reply) else piece

    def disown(self, request: Request) -> None:
        """Let a rerun ask this again, because the reply did not fit."""
        self._ledger.disown(request, self.name)

    def summary(self) -> list[Spent]:
        """What was spent, by day, task and model."""
        return self._ledger.summary()

    def close(self) -> None:
        """Close the ledger."""
        self._ledger.close()

    @contextlib.asynccontextmanager
    async def _turn(self, request: Request) -> AsyncIterator[Request]:
        async with self._turns[question_of(request, self.name)]:
            sample = self._ledger.next_sample(request, self.name) if self._again else request.sample
            yield replace(request, sample=sample)

    @contextlib.contextmanager
    def _claimed(self, request: Request) -> Iterator[int]:
        share = self._budget.reserve(request)
        try:
            row = self._ledger.claim(request, self.name)
            with self._settled(row, request):
                yield row
        finally:
            self._budget.release(share)

    @contextlib.contextmanager
    def _settled(self, row: int, request: Request) -> Iterator[None]:
        try:
            yield
        except ReplyUnusable as error:
            reply = particulars(error).reply
            refused = reply is not None and reply.finish in (REFUSAL, FILTERED)
            self._budget.count(request, reply)
            self._ledger.settle(row, "refused" if refused else "malformed", reply, str(error))
            raise
        except AssistantError as error:
            self._ledger.settle(row, "failed", None, str(error))
            raise

    def _kept(self, row: int, request: Request, reply: Reply) -> Reply:
        self._ledger.settle(row, "done", reply)
        self._budget.count(request, reply)
        return reply


def whole(rows: Iterable[Spent]) -> Spent:
    """All of them as one, with what is unknown still apart from the sums."""
    every = list(rows)
    read, written = _known(row.tokens_in for row in every), _known(row.tokens_out for row in every)
    cost, unknown = _known(row.cost for row in every), sum(row.unknown for row in every)
    calls, uncounted = sum(row.calls for row in every), sum(row.uncounted for row in every)
    return Spent("", "", "in all", calls, read, written, cost, unknown, uncounted)


def _known(values: Iterable[N | None]) -> N | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _messages(kept: bytes | None) -> tuple[Message, ...]:
    return tuple(Message(role, content) for role, content in json.loads(zlib.decompress(kept))) if kept else ()
