"""Recordings: one exchange, one file that a person can read, review and compare.

A file is a transcript: a header of `name: <JSON>` lines, each message under a rule, the reply last. A line of content
that looks like a rule has a backslash before it; everything else is as it was sent, to the character.
"""

import difflib
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, cast

from assistant.errors import OutputError, RecordingMismatch, ReplyUnusable
from assistant.gateway.message import WHOLE, Message, Model, Reply, Request, Role, Usage, particulars, usable

_RULE: Final = re.compile(r"=== (system|user|assistant|reply) =+")
_WIDTH: Final = 72
_LONGEST_NAME: Final = 240
# Lone surrogates are kept as they are: a recording must give back what it was given.
_ENCODING: Final = ("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Recording:
    """One exchange as it is kept in a file; `origin` says who made it up, if it is not a model's."""

    model: str
    request: Request
    reply: Reply
    recorded: str
    origin: str | None = None


def written(recording: Recording) -> str:
    """The transcript of an exchange."""
    request, reply = recording.request, recording.reply
    header: dict[str, object] = {"model": recording.model, "settings": dict(request.settings)}
    if request.schema is not None:
        header["schema"] = request.schema
    header |= {
        "request": request.fingerprint(recording.model)[:12],
        "replied": reply.model,
        "tokens": [reply.usage.input, reply.usage.output],
        "recorded": recording.recorded,
        "cost_usd": reply.cost,
    }
    if reply.finish != WHOLE:
        header["finish"] = reply.finish
    if recording.origin is not None:
        header["origin"] = recording.origin
    lines = "".join(f"{name}: {_header_value(name, value)}\n" for name, value in header.items())
    return f"{lines}\n{_sections(request.messages, laid_out(reply.text))}"


def read(text: str, label: str) -> Recording:
    """The exchange of a transcript; ValueError says what is wrong with the text."""
    header_text, separator, rest = text.partition("\n\n")
    if not separator:
        raise ValueError("there is no blank line after the header")
    header = _header(header_text)
    sections = _read_sections(rest)
    if not sections or sections[-1][0] != "reply":
        raise ValueError("the last section is not the reply")
    messages = tuple(Message(cast("Role", role), content) for role, content in sections[:-1])
    request = Request(messages, label, header.get("schema"), header.get("settings", {}))
    model = header.get("model", "")
    usage = Usage(*header.get("tokens", (None, None)))
    replied, finish = header.get("replied", model), header.get("finish", WHOLE)
    reply = Reply(sections[-1][1], usage, header.get("cost_usd"), replied, finish, paid=False)
    return Recording(model, request, reply, header.get("recorded", ""), header.get("origin"))


def recorded(folder: Path, label: str) -> Recording | None:
    """The exchange that a folder holds under a label; None where it holds none that can be read."""
    path = _path(folder, label)
    try:
        return read(path.read_bytes().decode(*_ENCODING), label)
    except (OSError, ValueError, TypeError):
        return None


def laid_out(text: str) -> str:
    """A reply as it is recorded: JSON indented where that changes nothing else, so a new value is a changed line."""
    try:
        found = _exact(text)
        if not isinstance(found, list | _Pairs):
            return text
        indented = json.dumps(json.loads(text), indent=2, ensure_ascii=False)
        indented.encode()
        return indented if _exact(indented) == found else text
    except (ValueError, RecursionError):
        return text


class Recorded:
    """Another model whose every reply is written into a folder, under the label of its request."""

    def __init__(self, inner: Model, folder: Path) -> None:
        self.name = inner.name
        self._inner = inner
        self._folder = folder
        self._asked: dict[str, str] = {}

    async def complete(self, request: Request) -> Reply:
        """The reply as a replay will give it: JSON is already laid out as in the file."""
        self._refuse_second_use(request)
        try:
            return self._kept(request, await self._inner.complete(request))
        except ReplyUnusable as error:
            self._keep_unusable(request, error)
            raise

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """The pieces as they come, then the whole reply, recorded."""
        self._refuse_second_use(request)
        try:
            async for piece in self._inner.stream(request):
                yield self._kept(request, piece) if isinstance(piece, Reply) else piece
        except ReplyUnusable as error:
            self._keep_unusable(request, error)
            raise

    def _refuse_second_use(self, request: Request) -> None:
        fingerprint = request.fingerprint(self.name)
        if self._asked.setdefault(request.label, fingerprint) != fingerprint:
            raise RecordingMismatch(f"Two different requests of this run have the label {request.label}")

    def _keep_unusable(self, request: Request, error: ReplyUnusable) -> None:
        reply = particulars(error).reply
        if reply is not None:
            self._kept(request, reply)

    def _kept(self, request: Request, reply: Reply) -> Reply:
        laid = replace(reply, text=laid_out(reply.text))
        path = _path(self._folder, request.label)
        recording = Recording(self.name, request, laid, datetime.now(UTC).date().isoformat())
        if not _says_the_same(path, recording):
            _write(path, written(recording))
        return laid


class Replayed:
    """A folder of recordings that answers exactly the requests it was recorded with."""

    def __init__(self, folder: Path, model: str | None = None) -> None:
        self.name = model or "replayed"
        self._folder = folder
        self._model = model
        self._read: set[Path] = set()

    @property
    def unread(self) -> tuple[Path, ...]:
        """The recordings that nothing has asked for so far."""
        return tuple(sorted(set(self._folder.rglob("*.txt")) - self._read))

    async def complete(self, request: Request) -> Reply:
        """The recorded reply; RecordingMismatch with a diff if anything about the request differs."""
        return usable(self._recording(request).reply)

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """The recorded reply in one piece, then whole."""
        reply = self._recording(request).reply
        yield reply.text
        yield usable(reply)

    def _recording(self, request: Request) -> Recording:
        path = _path(self._folder, request.label)
        if not path.is_file():
            raise RecordingMismatch(f"{path}: there is no recording of this request.\n{_hint(self._folder)}")
        try:
            recording = read(path.read_bytes().decode(*_ENCODING), request.label)
        except (ValueError, TypeError) as error:
            raise RecordingMismatch(f"{path}: this is no recording: {error}.\n{_hint(self._folder)}") from error
        self._read.add(path)
        difference = self._difference(recording, request)
        if difference:
            raise RecordingMismatch(
                f"{path}: the request is not the recorded one.\n{difference}\n{_hint(self._folder)}"
            )
        return recording

    def _difference(self, recording: Recording, request: Request) -> str:
        recorded_model = None if self._model is None else recording.model
        before, now = _question(recording.request, recorded_model), _question(request, self._model)
        lines = difflib.unified_diff(before.split("\n"), now.split("\n"), "recorded", "asked now", lineterm="")
        return "\n".join(lines)


def _question(request: Request, model: str | None) -> str:
    header: dict[str, object] = {} if model is None else {"model": model}
    header |= {"settings": dict(request.settings), "schema": request.schema}
    lines = [f"{name}: {json.dumps(value, ensure_ascii=False, sort_keys=True)}" for name, value in header.items()]
    return "\n".join([*lines, "", _sections(request.messages, None)])


def _sections(messages: tuple[Message, ...], reply: str | None) -> str:
    parts = [(str(message.role), message.content) for message in messages]
    if reply is not None:
        parts.append(("reply", reply))
    return "\n".join(f"{f'=== {role} '.ljust(_WIDTH, '=')}\n{_escaped(content)}\n" for role, content in parts)


def _read_sections(text: str) -> list[tuple[str, str]]:
    sections: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        rule = _RULE.fullmatch(line)
        if rule:
            sections.append((rule[1], []))
        elif not sections:
            raise ValueError("there is text between the header and the first rule")
        else:
            sections[-1][1].append(line[1:] if line.startswith("\\") and _RULE.fullmatch(line.lstrip("\\")) else line)
    # Each section ends with the blank line before the next rule, the last one with the end of the file.
    return [(role, "\n".join(lines[:-1] if lines and not lines[-1] else lines)) for role, lines in sections]


def _escaped(content: str) -> str:
    lines = content.split("\n")
    return "\n".join(f"\\{line}" if _RULE.fullmatch(line.lstrip("\\")) else line for line in lines)


def _header(text: str) -> dict[str, Any]:
    pairs = (line.partition(": ") for line in text.split("\n"))
    return {name: json.loads(value) for name, _, value in pairs}


def _header_value(name: str, value: object) -> str:
    if isinstance(value, float):
        # Never 1e-05, and all the digits there are, so that nothing is lost on the way back.
        return format(Decimal(repr(value)), "f")
    return json.dumps(value, ensure_ascii=False, separators=(",", ":") if name == "schema" else None)


class _Pairs(tuple[tuple[str, object], ...]):
    """The members of a JSON object, in order and with any name that comes twice."""

    __slots__ = ()


def _exact(text: str) -> object:
    return json.loads(text, object_pairs_hook=_Pairs, parse_float=Decimal, parse_constant=_no_number)


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is not JSON")


def _path(folder: Path, label: str) -> Path:
    parts = label.split("/")
    if any(
        part in ("", ".", "..") or "\\" in part or "\0" in part or len(part.encode()) > _LONGEST_NAME for part in parts
    ):
        raise OutputError(f"{label!r} cannot name a recording")
    return folder.joinpath(*parts[:-1], parts[-1] + ".txt")


def _says_the_same(path: Path, recording: Recording) -> bool:
    if not path.is_file():
        return False
    kept = path.read_bytes().decode(*_ENCODING)
    return _undated(kept) == _undated(written(recording))


def _undated(text: str) -> list[str]:
    return [line for line in text.split("\n") if not line.startswith(("recorded: ", "cost_usd: "))]


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.draft")
        draft.write_bytes(text.encode(*_ENCODING))
        draft.replace(path)
    except OSError as error:
        raise OutputError(f"{path}: the recording cannot be written: {error}") from error


def _hint(folder: Path) -> str:
    return f"To record it again, run the same command with --record {folder} in place of --replay"
