"""Structured replies: JSON that fits a schema and the caller's check, or one more question that says what is wrong."""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from assistant.errors import ReplyUnusable
from assistant.gateway.message import Message, Model, Reply, Request, particulars

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError

T = TypeVar("T", bound="BaseModel")

Check = Callable[[T], list[str]]
# Renders the re-ask from a prompt file: what is wrong with the reply, as text, becomes the user's next message.
Again = Callable[[str], Message]

_FENCED: Final = re.compile(r"```[\w-]*[ \t]*\n(.*?)```", re.DOTALL)
_MOST_ERRORS: Final = 20


class Parsed(NamedTuple, Generic[T]):
    """What a structured reply says, and to which request; `problems` are what the caller's check still finds after the re-ask."""

    value: T
    reply: Reply
    calls: int
    repaired: bool
    problems: tuple[str, ...]
    request: Request


class _Attempt(NamedTuple, Generic[T]):
    reply: Reply | None
    parsed: Parsed[T] | None
    problems: tuple[str, ...]


async def structured(
    model: Model,
    request: Request,
    schema: "type[T]",
    *,
    again: Again,
    check: Check[T] | None = None,
    disown: Callable[[Request], None] | None = None,
    once: bool = False,
) -> Parsed[T]:
    """The reply as a value of the schema, after at most one re-ask; ReplyUnusable names the errors of both replies.

    `once` asks no second time.

    A value that fits the schema but not the check is returned with its problems, so that the caller can keep the good
    part. `disown` is told of each request whose reply fits nothing, so that a rerun does not get it again.
    """
    first = await _attempt(model, request, schema, check)
    if first.parsed is not None and not first.problems:
        return first.parsed
    if once:
        if first.parsed is not None:
            return first.parsed
        if disown is not None:
            disown(request)
        raise ReplyUnusable(f"{request.label}: the reply did not fit: {'; '.join(first.problems)}")
    asked_again = _extended(request, first.reply, again("\n".join(first.problems)))
    second = await _attempt(model, asked_again, schema, check)
    fitting = [attempt.parsed for attempt in (second, first) if attempt.parsed is not None]
    if fitting:
        return min(fitting, key=lambda parsed: len(parsed.problems))._replace(calls=2)
    if disown is not None:
        disown(request)
        disown(asked_again)
    raise _unusable(request, first, second)


async def _attempt(model: Model, request: Request, schema: "type[T]", check: Check[T] | None) -> _Attempt[T]:
    try:
        reply = await model.complete(request)
    except ReplyUnusable as error:
        return _Attempt(particulars(error).reply, None, (str(error),))
    return _judged(request, reply, schema, check)


def _judged(request: Request, reply: Reply, schema: "type[T]", check: Check[T] | None) -> _Attempt[T]:
    from pydantic import ValidationError

    try:
        data, repaired = found_json(reply.text)
        # As JSON again, so that a strict schema still takes a list for a tuple and text for a date.
        value = schema.model_validate_json(json.dumps(data))
    except ValidationError as error:
        return _Attempt(reply, None, _errors(error))
    except ValueError as error:
        return _Attempt(reply, None, (str(error),))
    problems = tuple(check(value)) if check else ()
    return _Attempt(reply, Parsed(value, reply, 1, repaired, problems, request), problems)


def found_json(text: str) -> tuple[Any, bool]:
    """The object or list in a reply, fenced or bare, and whether it was repaired; ValueError if there is none."""
    candidates = list(_candidates(text))
    for candidate in candidates:
        try:
            data = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict | list):
            return data, False
    return _repaired(candidates), True


def _repaired(candidates: list[str]) -> Any:
    import json_repair

    for candidate in candidates[1:]:
        data = json_repair.loads(candidate, skip_json_loads=True)
        if isinstance(data, dict | list) and data:
            return data
    raise ValueError("the reply holds no JSON")


def _candidates(text: str) -> Iterator[str]:
    yield text
    # The last fence first: a model that thinks aloud ends with its answer.
    yield from reversed(_FENCED.findall(text))
    opened = re.search(r"[{\[]", text)
    if opened:
        closed = max(text.rfind("}"), text.rfind("]")) + 1
        yield text[opened.start() : closed if closed > opened.start() else len(text)]


def _errors(error: "ValidationError") -> tuple[str, ...]:
    # Without the input: it is in the conversation already, and would double the prompt.
    found = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, each['loc'])) or 'the whole'}: {each['msg']}" for each in found]
    more = (f"and {len(lines) - _MOST_ERRORS} more",) if len(lines) > _MOST_ERRORS else ()
    return (*lines[:_MOST_ERRORS], *more)


def _extended(request: Request, reply: Reply | None, asking: Message) -> Request:
    # An empty turn is refused by some providers, so a reply that never came leaves none.
    said = (Message("assistant", reply.text),) if reply and reply.text.strip() else ()
    return replace(request, label=f"{request.label}--again", messages=(*request.messages, *said, asking))


def _unusable(request: Request, first: _Attempt[T], second: _Attempt[T]) -> ReplyUnusable:
    before, after = "; ".join(first.problems), "; ".join(second.problems)
    return ReplyUnusable(f"{request.label}: two replies did not fit: first: {before}; then: {after}")
