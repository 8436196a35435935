"""No key anywhere: a provider that repeats it in body, header, error and address does not get it into anything we keep or say."""

import asyncio
import json
import logging
import os
import traceback
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import stub_server as behave
from conftest import request
from stub_server import Behaviour, Stub, chunk, data, ending, events, ok, pieces, raw, shaped

from assistant.errors import AssistantError
from assistant.gateway import open_gateway

pytestmark = pytest.mark.filterwarnings("ignore")

KEY = "s3cret+key/of=mine&0123456789-abcdefghij"
FORMS = (KEY, quote(KEY, safe=""), KEY[4:30])
ROUTES = {
    "openai/slow": "OPENAI_API_KEY",
    "anthropic/claude-slow": "ANTHROPIC_API_KEY",
    "gemini/slow": "GEMINI_API_KEY",
    "azure/slow": "AZURE_API_KEY",
    "openrouter/slow": "OPENROUTER_API_KEY",
}
ADDRESS = f"https://api.example.org/v1/models?key={quote(KEY, safe='')}&alt=json"
SAID = f"Bearer {KEY} was refused at {ADDRESS}"
FAILURES: dict[str, Behaviour] = {
    "401": behave.echoing(401),
    "400": behave.echoing(400),
    "429": behave.echoing(429),
    "500": behave.echoing(500),
    "404 with the address": behave.failing(404, "x", SAID, {"X-Key": KEY, "Location": ADDRESS}),
    "HTML": raw(f"<html>{SAID}</html>".encode(), 503),
    "HTML with 200": raw(f"<html>{SAID}</html>".encode()),
    "truncated": raw(f'{{"key": "{KEY}", '.encode()),
    "error with 200": raw(json.dumps({"error": {"message": SAID, "code": KEY}}).encode()),
    "redirect": raw(b"", 307, {"Location": ADDRESS}),
    "closed": behave.closed,
    "in the reply": ok(f"Your key is {KEY}, is it not?", finish="stop"),
    "in the refusal": ok(None, refusal=SAID),
    "in the model's name": shaped(model=KEY, id=KEY),
    "in the finish": ok("fine", finish=KEY),
    "in usage": ok("fine", usage={"prompt_tokens": KEY}),
}
STREAMS: dict[str, Behaviour] = {
    **{name: FAILURES[name] for name in ("401", "500", "HTML with 200", "redirect", "closed")},
    "in pieces": events(*pieces("Your key is ", *[KEY[at : at + 3] for at in range(0, len(KEY), 3)], " is it not?"), *ending()),
    "begun at the end": events(*pieces("Your key is ", KEY), *ending("length")),
    "in an error event": events(*pieces("fi"), data({"error": {"message": SAID, "code": KEY}})),
    "in a broken line": events(*pieces("fi"), f'data: {{"key": "{KEY}'),
    "in the model's name": events(chunk({"content": "fine"}, model=KEY), *ending()),
}


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Every log record of every library, at DEBUG, as a file would get it."""
    lines: list[str] = []

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(self.format(record))

    handler, root = Keeping(), logging.getLogger()
    handler.setFormatter(logging.Formatter("%(name)s %(message)s %(args)s"))
    names = ["LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "openai", "httpx", "httpcore", "aiohttp", "asyncio"]
    before = {name: logging.getLogger(name).level for name in names}
    root_level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(root_level)
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.parametrize(
    ("model", "from_environment"),
    [("openai/slow", False), ("openai/slow", True), ("anthropic/claude-slow", True), ("gemini/slow", False), ("azure/slow", False), ("openrouter/slow", True)],
)
def test_the_key_is_nowhere(
    stub: Stub,
    tmp_path: Path,
    logged: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    model: str,
    from_environment: bool,
) -> None:
    """After many failures the key is in no error or traceback, log, recording, ledger or line on the terminal."""
    monkeypatch.setenv("AZURE_API_VERSION", "2024-06-01")
    if from_environment:
        monkeypatch.setenv(ROUTES[model], KEY)
        monkeypatch.setattr("assistant.gateway.provider._is_loopback", lambda address: False)
    said: list[str] = []
    sent = 0
    for number, (name, behaviour, streams) in enumerate(
        [(name, how, False) for name, how in FAILURES.items()] + [(name, how, True) for name, how in STREAMS.items()]
    ):
        stub.then(behaviour)
        with open_gateway(
            model=model,
            api_base=stub.url,
            api_key=None if from_environment else KEY,
            deadline_s=10.0,
            ledger=tmp_path / "ledger.sqlite",
            budget_usd=None,
            record=tmp_path / "recordings",
            replay=None,
            sleep=lambda seconds: asyncio.sleep(0),
        ) as gateway:
            for log in ("LiteLLM", "openai", "httpx", "aiohttp"):
                logging.getLogger(log).setLevel(logging.DEBUG)
            asked = request(f"ask/answer--{number}", content=f"{number} {name}")
            try:
                reply = gateway.stream(asked, said.append) if streams else gateway.complete(asked)
                said.append(repr(reply))
            except AssistantError as error:
                said += _everything(error)
        said.append("".join(said[-60:]))
        sent += any(KEY in value or quote(KEY, safe="") in value for each in stub.seen for value in (*each["headers"].values(), each["path"]))
    printed = capfd.readouterr()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sent == len(FAILURES) + len(STREAMS), "the key was sent each time, so there was something to leak"
    assert files
    assert len(logged) > 50
    for place, text in {
        "what was said": "\n".join(said),
        "what was printed": printed.out + printed.err,
        "the logs": "\n".join(logged),
        **{str(path): path.read_bytes().decode("utf-8", "replace") for path in files},
    }.items():
        for form in FORMS:
            at = text.find(form)
            assert at < 0, f"{place}: {text[max(0, at - 200) : at + 100]!r}"


def _everything(error: BaseException) -> list[str]:
    """What any handler of an error could print: its words, its traceback, and those of all it hangs on, shown or not."""
    found = [*traceback.format_exception(error)]
    links: list[BaseException | None] = [error]
    while links:
        link = links.pop()
        if link is not None:
            found += [str(link), repr(link), repr(vars(link)), repr(link.args)]
            links += [link.__cause__, link.__context__]
    return found


def test_a_key_that_is_no_key_of_ours_is_covered_by_its_shape(stub: Stub, tmp_path: Path) -> None:
    """A provider that names another key, such as the one of its own account, does not get that repeated either."""
    others = ["sk-proj-ABCDEFGHIJKLMNOP", "AIzaSyA-1234567890abcdefghijk"]
    stub.then(behave.failing(400, "x", " and ".join(others)))
    with open_gateway(
        model="openai/slow", api_base=stub.url, api_key=None, deadline_s=10.0, ledger=None, budget_usd=None, record=None, replay=None
    ) as gateway, pytest.raises(AssistantError) as caught:
        gateway.complete(request())
    assert not any(key in str(caught.value) for key in others)
    assert os.environ.get("OPENAI_API_KEY") not in others
