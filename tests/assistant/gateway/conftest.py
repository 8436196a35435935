"""What the gateway's tests share: a stub provider, one event loop, and a model that answers from a list."""

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from stub_server import Stub

from assistant.errors import AssistantError
from assistant.gateway.message import Message, Reply, Request, Usage, usable


class Scripted:
    """A model that answers from a list: text, a whole reply, or an error to raise; the last one repeats."""

    name = "test/scripted"

    def __init__(self, *answers: str | Reply | AssistantError) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        await asyncio.sleep(0)
        if isinstance(answer, AssistantError):
            raise answer
        return usable(answer if isinstance(answer, Reply) else reply(answer))

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        whole = await self.complete(request)
        half = len(whole.text) // 2
        yield whole.text[:half]
        yield whole.text[half:]
        yield whole


def reply(text: str = "fine", *, cost: float | None = 0.01, finish: str = "stop") -> Reply:
    return Reply(text, Usage(11, 3), cost, "scripted-1", finish)


def request(label: str = "ask/answer--one", content: str = "What is known?", **more: object) -> Request:
    return Request((Message("system", "You help."), Message("user", content)), label, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def shared_stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def stub(shared_stub: Stub) -> Stub:
    shared_stub.released.clear()
    return shared_stub


@pytest.fixture(scope="session")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as shared:
        yield shared
