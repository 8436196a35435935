"""What is asked of a model and what comes back: the records that every layer of the gateway passes on.

A layer is anything with `complete` and `stream`; it wraps another layer and adds one thing. Nothing here knows
where a reply comes from.
"""

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, Protocol

from assistant.errors import ReplyUnusable

Role = Literal["system", "user", "assistant"]

# Far above any review section, far below what a runaway server could fill a disk with.
LONGEST_REPLY = 2_000_000
# Of what a provider says about a failure: enough to know what it is about, on one line.
LONGEST_SAID = 300

WHOLE = "stop"
REFUSAL = "refusal"
BROKEN_OFF = "broken off"
FILTERED = "content_filter"

_ENDED_BADLY = {
    "length": "was cut off at the limit of tokens; raise max_tokens or ask for less at once",
    FILTERED: "was cut by the provider's content filter",
    REFUSAL: "is a refusal: {text}",
    BROKEN_OFF: "broke off before its end",
}
_TOOLS = frozenset({"tool_calls", "function_call"})
_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model, named by what it is about.

    `label` is `<task>/<step>--<subject>` and names the recording; `schema` is the JSON schema of a structured reply,
    which the prompt already describes; `settings` are exactly what is sent; `sample` asks for another answer.
    """

    messages: tuple[Message, ...]
    label: str
    schema: Mapping[str, object] | None = field(default=None, hash=False)
    settings: Mapping[str, int | float | str] = field(default_factory=dict, hash=False)
    sample: int = 0

    def fingerprint(self, model: str) -> str:
        """The same 64 hex digits for the same question to the same model, whatever its label."""
        asked = {
            "model": model,
            "messages": [[message.role, message.content] for message in self.messages],
            "schema": self.schema,
            "settings": dict(self.settings),
            "sample": self.sample,
        }
        canonical = json.dumps(asked, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def question_of(request: Request, model: str) -> str:
    """The same 64 hex digits for the same question to the same model, whichever sample of its answers is asked for."""
    return replace(request, sample=0).fingerprint(model)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens read and written; None is unknown and never stands for 0."""

    input: int | None
    output: int | None


class Price(NamedTuple):
    """US dollars for a million tokens read and written."""

    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole reply, what it cost in US dollars (None is unknown), and whether this run paid for it."""

    text: str
    usage: Usage
    cost: float | None
    model: str
    finish: str
    paid: bool = True


class Model(Protocol):
    """Anything that answers a request: a provider, a folder of recordings, or a layer around one."""

    @property
    def name(self) -> str:
        """The model's name as configured."""

    async def complete(self, request: Request) -> Reply:
        """The whole reply."""

    def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Pieces of text as they come, then the whole reply last."""


class Particulars(Exception):
    """What a layer further out may want to know about a failure; an error is raised `from` it.

    It stands in the place of the provider library's own exception, whose text may repeat a key.
    """

    def __init__(self, *, reply: Reply | None = None, retry_after: float | None = None, final: bool = False) -> None:
        super().__init__()
        self.reply = reply
        self.retry_after = retry_after
        # No other request of this run would fare better.
        self.final = final


def particulars(error: BaseException) -> Particulars:
    """What is known about a failure besides its message."""
    cause = error.__cause__
    return cause if isinstance(cause, Particulars) else Particulars()


def usable(reply: Reply) -> Reply:
    """The reply itself if it is whole; otherwise ReplyUnusable, which still carries it."""
    reason = _ENDED_BADLY.get(reply.finish)
    if reason is None and not reply.text.strip():
        reason = "calls a tool, though none was offered" if reply.finish in _TOOLS else "is empty"
    if reason is None and len(reply.text) > LONGEST_REPLY:
        reason = f"has more than {LONGEST_REPLY:,} characters"
    if reason is None:
        return reply
    said = reason.format(text=one_line(reply.text, 200))
    raise ReplyUnusable(f"The reply of {reply.model} {said}") from Particulars(reply=reply)


def sendable(text: str) -> str:
    """The text with NULs and lone surrogates, which no file or database takes, made visible as U+FFFD."""
    return _UNSENDABLE.sub("�", text)


def one_line(text: str, longest: int) -> str:
    """The text on one line, cut to so many characters, and fit for any file."""
    line = " ".join(sendable(text).split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def total(usages: Iterable[Usage]) -> Usage:
    """All tokens together; unknown as soon as one part is."""
    inputs, outputs = [], []
    for usage in usages:
        inputs.append(usage.input)
        outputs.append(usage.output)
    return Usage(_sum(inputs), _sum(outputs))


def _sum(counts: list[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
