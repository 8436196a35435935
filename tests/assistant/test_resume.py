"""A run that is killed or stopped: what was paid stays paid, and the same command goes on to the same table."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.library import Library
from tests.assistant.gateway import stub_server as behave
from tests.assistant.gateway.stub_server import Stub
from tests.assistant.providers import QUESTION, filling
from tests.conftest import Carrel

PAPERS, PACKS, CONCURRENCY, KILLS = 480, 40, 4, 10
TABLE = ("table", "t", "--column", "Method: what is done?", "--yes", "--model", "plain/one", "--json", "--run")
# The command line with a provider of a few lines in litellm's place, which takes seconds to load; all else is as it is for a user.
SCRIPT = """
import asyncio, json, signal, sys
from urllib.parse import urlsplit
signal.signal(signal.SIGINT, signal.default_int_handler)
import assistant.gateway.provider
from assistant.gateway import Reply, Usage

class Plain:
    def __init__(self, name, *, api_base, **more):
        self.name, self.address = name, urlsplit(api_base)
    async def complete(self, request):
        body = json.dumps({"messages": [{"role": m.role, "content": m.content} for m in request.messages]}).encode()
        reader, writer = await asyncio.open_connection(self.address.hostname, self.address.port)
        writer.write(b"POST / HTTP/1.1\\r\\nContent-Length: %d\\r\\nConnection: close\\r\\n\\r\\n" % len(body) + body)
        head = await reader.readuntil(b"\\r\\n\\r\\n")
        size = int(head.lower().split(b"content-length: ")[1].split(b"\\r")[0])
        text = json.loads(await reader.readexactly(size))["choices"][0]["message"]["content"]
        writer.close()
        return Reply(text, Usage(11, 3), 0.001, "plain", "stop")
    def price(self, usage):
        return 0.001
    async def close(self):
        pass

assistant.gateway.provider.LiteLLM = Plain
from assistant.cli.base import commands, run
sys.exit(run(commands, sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def stub() -> Iterator[Stub]:
    server = Stub()
    yield server
    server.close()


@pytest.fixture
def many(empty: Library, tmp_path: Path) -> Path:
    """A library of 480 papers, which a table reads in 40 packs."""
    records = (
        f"@article{{paper{number:04d}, title={{On matter number {number}}}, year={{2020}}, abstract={{We study matter {number}. It is so.}}}}"
        for number in range(PAPERS)
    )
    (tmp_path / "many.bib").write_text("\n".join(records), "utf-8")
    empty.add(tmp_path / "many.bib")
    empty.close()
    return empty.folder


def started(folder: Path, stub: Stub, *words: str, script: str = SCRIPT, **more: str) -> subprocess.Popen[bytes]:
    settings = {"CARREL_API_BASE": stub.url, "CARREL_CONCURRENCY": str(CONCURRENCY), **more}
    command = [sys.executable, "-W", "ignore", "-c", script, *words]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        command, cwd=folder, env=os.environ | settings | {"PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def until(stub: Stub, requests: int, run: subprocess.Popen[bytes]) -> None:
    """Waits until the provider saw so many requests, or the run is over."""
    ends = time.monotonic() + 60
    while stub.requests < requests and run.poll() is None and time.monotonic() < ends:
        time.sleep(0.005)


def rows(table: bytes) -> object:
    return json.loads(table)["rows"]


def test_a_table_killed_ten_times_is_the_same_table_and_pays_little_twice(many: Path, stub: Stub, tmp_path: Path) -> None:
    """SIGKILL at random moments, then the same command again: at most kills × concurrency calls are sent twice."""
    dice = random.Random(7)
    stub.then(filling(seconds=0.06))
    for _ in range(KILLS):
        run = started(many, stub, *TABLE)
        until(stub, stub.requests + dice.randint(1, 4), run)
        time.sleep(dice.random() * 0.12)
        run.kill()
        run.communicate()
        assert run.returncode == -signal.SIGKILL, "the run was over before it could be killed; it must be longer"
    last = started(many, stub, *TABLE)
    out, err = last.communicate(timeout=60)
    assert last.returncode == 0, err
    prompts = [each["body"]["messages"][-1]["content"] for each in stub.seen]
    assert len(set(prompts)) == PACKS
    assert PACKS <= len(prompts) <= PACKS + KILLS * CONCURRENCY
    assert all(row["cells"] for row in rows(out))  # type: ignore[attr-defined]

    stub.then(filling())
    (many / "ledger.sqlite").unlink()
    whole = started(many, stub, "table", "u", *TABLE[2:])
    assert rows(whole.communicate(timeout=60)[0]) == rows(out)
    assert stub.requests == PACKS


def test_ctrl_c_stops_a_table_within_five_seconds_and_it_goes_on(many: Path, stub: Stub) -> None:
    """Exit 130 and the line says that the same command goes on; what had come is not asked again."""
    stub.then(*[filling()] * 10, behave.hang)
    run = started(many, stub, *TABLE)
    until(stub, 10 + CONCURRENCY, run)
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=20)
    assert time.monotonic() - began < 5
    assert run.returncode == 130
    assert err.decode().splitlines()[-1] == "carrel: interrupted; what was done is kept, and the same command goes on"
    assert b"Traceback" not in err
    stub.released.set()
    stub.then(filling())
    again = started(many, stub, *TABLE)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert stub.requests == PACKS - 10
    assert all(row["cells"] for row in rows(out))  # type: ignore[attr-defined]


@pytest.mark.parametrize("moment", range(4))
def test_ctrl_c_at_any_moment_leaves_everything_whole(many: Path, stub: Stub, moment: int) -> None:
    """Twice in a row, also while replies are stored: no bug is reported, the library and the ledger open again, every cell comes."""
    stub.then(filling(seconds=0.01))
    run = started(many, stub, *TABLE)
    until(stub, 1 + moment * 9, run)
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=20)
    assert run.returncode != 70, err
    again = started(many, stub, *TABLE)
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    assert all(row["cells"] for row in rows(out))  # type: ignore[attr-defined]


REAL = "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\nfrom assistant.cli.base import commands, run\nsys.exit(run(commands, sys.argv[1:]))"


def test_ctrl_c_stops_a_real_provider_that_hangs(folder: Path, stub: Stub, carrel: Carrel) -> None:
    """With the provider library loaded and a connection open: within five seconds, exit 130, one line, and the call stays `sent`."""
    stub.then(behave.hang)
    run = started(folder, stub, "ask", QUESTION, "--keywords", "--model", "openai/slow", script=REAL)
    until(stub, 1, run)
    killer = threading.Timer(30, run.kill)
    killer.start()
    time.sleep(0.3)
    began = time.monotonic()
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=40)
    killer.cancel()
    stub.released.set()
    assert time.monotonic() - began < 5
    assert run.returncode == 130
    assert err.decode().splitlines()[-1] == "carrel: interrupted; what was done is kept, and the same command goes on"
    assert b"Traceback" not in err
    assert "1 unknown" in carrel("cost", at=folder).out
