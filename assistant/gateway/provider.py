"""The provider: the one place that speaks to litellm, and the one that knows how it fails.

litellm retries on its own, waits longer than it is told and turns broken answers into successes or server errors.
So its retries are off, a deadline of ours is around each call, each answer is checked, and each exception becomes
one of four outcomes: try again, stop the run, mend the settings, give up on this item.
"""

import asyncio
import contextlib
import logging
import os
import re
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Iterator
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from assistant.errors import AssistantError, GatewayError, KeyOrQuota, ProviderUnavailable, ReplyUnusable, SettingsError
from assistant.gateway.message import (
    BROKEN_OFF,
    LONGEST_REPLY,
    REFUSAL,
    WHOLE,
    Particulars,
    Reply,
    Request,
    Usage,
    sendable,
    usable,
)

T = TypeVar("T")

DEADLINE_S: Final = 120.0

# What the server itself said, by HTTP status; any other 4xx is about this one request, any 5xx may pass.
_STATUSES: Final[dict[int, type[AssistantError]]] = {
    401: KeyOrQuota,
    402: KeyOrQuota,
    403: KeyOrQuota,
    404: SettingsError,
    408: ProviderUnavailable,
    425: ProviderUnavailable,
    429: ProviderUnavailable,
}
# Where no status is known, by name of the exception's class, so that litellm need not be imported to name it.
_KINDS: Final[dict[str, type[AssistantError]]] = {
    "UnsupportedParamsError": SettingsError,
    "NotFoundError": SettingsError,
    "AuthenticationError": KeyOrQuota,
    "PermissionDeniedError": KeyOrQuota,
    "RateLimitError": ProviderUnavailable,
    "Timeout": ProviderUnavailable,
    "ServiceUnavailableError": ProviderUnavailable,
    "BadGatewayError": ProviderUnavailable,
    "APIConnectionError": ProviderUnavailable,
    "BadRequestError": GatewayError,
    "APIError": ReplyUnusable,
}
_NO_MONEY: Final = ("insufficient_quota", "billing_hard_limit", "credit balance is too low")
_NO_KEY: Final = ("Missing credentials", "api_key client option must be set")
# litellm reports an unreadable 200 as a server error 500: only these show that the connection failed, and these that
# a body came. A body cut short may have been paid for, so it is not asked for again unseen.
_NOT_SERVED: Final = frozenset({"APIConnectionError", "ConnectError", "ConnectTimeout", "ReadError", "ReadTimeout"})
_UNREADABLE: Final = frozenset({"JSONDecodeError", "UnicodeDecodeError", "ClientPayloadError", "ValidationError"})
_WRAPPING: Final = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Timeout): |\w+Exception - )+")
_SECRET_NAME: Final = re.compile(r"(?:KEY|TOKEN|SECRET)$", re.IGNORECASE)
# A shorter value is no key and may be part of any word.
_SHORTEST_KEY: Final = 8
_SECRET_SHAPE: Final = re.compile(
    r"(?i)(?:\bsk-[\w-]{8,}|\bAIza[\w-]{20,}|(?<=bearer )[\w.~+/-]{8,}|(?<=[?&]key=)[^&\s]+)"
)


class LiteLLM:
    """A model of any provider, cut off at the deadline and checked; each call is sent once."""

    def __init__(
        self, name: str, *, api_base: str | None = None, api_key: str | None = None, deadline_s: float = DEADLINE_S
    ) -> None:
        self.name = name
        self._api_base = api_base
        # The client library insists on a key; a server on this machine gets a stand-in, never one from the environment.
        self._api_key = api_key or ("none" if _is_loopback(api_base) else None)
        self._deadline_s = deadline_s
        self._litellm: Any = None

    async def complete(self, request: Request) -> Reply:
        """The whole reply, or the error that says what to do about it."""
        self._load()
        with self._classified():
            response = await self._within(self._sent(request), time.monotonic() + self._deadline_s)
            reply = self._read(response)
        return usable(reply)

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Pieces of text, then the whole reply; a stream that breaks off after its first piece is ReplyUnusable."""
        self._load()
        ends = time.monotonic() + self._deadline_s
        pieces: list[str] = []
        with self._classified(pieces):
            asked = self._sent(request, stream=True, stream_options={"include_usage": True})
            response = await self._within(asked, ends)
        try:
            while True:
                with self._classified(pieces):
                    chunk = await self._within(anext(response, None), ends)
                if chunk is None:
                    break
                piece = sendable(_piece(chunk))
                if piece:
                    pieces.append(piece)
                    self._refuse_flood(pieces)
                    yield piece
        finally:
            await _closed(response)
        yield usable(self._gathered(response, pieces))

    def price(self, usage: Usage) -> float | None:
        """What so many tokens would cost in US dollars at list price; None where the price is not known."""
        self._load()
        return self._priced(usage)

    async def close(self) -> None:
        """Close the connections kept open for the next call."""
        if self._litellm is not None:
            await self._litellm.close_litellm_async_clients()

    def _load(self) -> None:
        if self._litellm is not None:
            return
        # Without these the import itself fetches a price list from the network.
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
        os.environ["LITELLM_OFFLINE_MODE"] = "true"
        import litellm

        litellm.suppress_debug_info = True
        litellm.drop_params = False
        litellm.telemetry = False
        for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
            log = logging.getLogger(name)
            log.handlers.clear()
            log.setLevel(logging.CRITICAL)
        warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
        self._litellm = litellm

    async def _sent(self, request: Request, **extra: object) -> Any:
        messages = [{"role": message.role, "content": sendable(message.content)} for message in request.messages]
        address = {"api_base": self._api_base} if self._api_base else {}
        key = {"api_key": self._api_key} if self._api_key else {}
        return await self._litellm.acompletion(
            model=self.name,
            messages=messages,
            # Its timeout is for one read; it only must not cut before ours, which is for the whole call.
            timeout=self._deadline_s + 5,
            num_retries=0,
            max_retries=0,
            **address,
            **key,
            **request.settings,
            **extra,
        )

    async def _within(self, call: Awaitable[T], ends: float) -> T:
        async with asyncio.timeout(max(0.0, ends - time.monotonic())):
            return await call

    @contextlib.contextmanager
    def _classified(self, shown: list[str] | None = None) -> Iterator[None]:
        try:
            yield
        except AssistantError:
            raise
        except TimeoutError as error:
            reason = f"did not answer within {self._deadline_s:g} s (model.deadline_s)"
            raise self._failure(ProviderUnavailable, reason, shown) from _known(error)
        except Exception as error:  # noqa: BLE001 - whatever a provider library raises, it becomes one of our errors
            kind, reason = _kind(error)
            raise self._failure(kind, reason, shown) from _known(error)

    def _failure(self, kind: type[AssistantError], reason: str, shown: list[str] | None) -> AssistantError:
        if shown and kind in (ProviderUnavailable, ReplyUnusable):
            return ReplyUnusable(f"The reply of {self.name} broke off: {self._scrubbed(reason)}")
        return kind(f"{self.name}: {self._scrubbed(reason)}")

    def _scrubbed(self, text: str) -> str:
        return _SECRET_SHAPE.sub("[key]", self._without_keys(text))

    def _without_keys(self, text: str) -> str:
        secrets = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)} | {self._api_key or ""}
        for secret in sorted(secrets, key=len, reverse=True):
            if len(secret) >= _SHORTEST_KEY:
                text = text.replace(secret, "[key]")
        return text

    def _read(self, response: Any) -> Reply:
        choices = response.choices
        if not choices:
            raise ReplyUnusable(f"{self.name} sent a reply without any choice") from Particulars()
        message, finish = choices[0].message, choices[0].finish_reason or WHOLE
        text, refusal = message.content or "", _refusal(message)
        if refusal and not text:
            text, finish = refusal, REFUSAL
        usage = _usage(getattr(response, "usage", None))
        cost = None if usage.input is None else response._hidden_params.get("response_cost")  # noqa: SLF001 - its only place
        return Reply(self._without_keys(sendable(text)), usage, cost, response.model or self.name, finish)

    def _gathered(self, response: Any, pieces: list[str]) -> Reply:
        usage, finish = _stream_usage(response), _stream_finish(response)
        model = getattr(response, "model", None) or self.name
        return Reply(self._without_keys("".join(pieces)), usage, self._priced(usage), model, finish)

    def _priced(self, usage: Usage) -> float | None:
        known = self._litellm.model_cost
        if usage.input is None or not (self.name in known or self.name.partition("/")[2] in known):
            return None
        prices = self._litellm.cost_per_token(
            model=self.name, prompt_tokens=usage.input, completion_tokens=usage.output or 0
        )
        return float(sum(prices))

    def _refuse_flood(self, pieces: list[str]) -> None:
        if sum(map(len, pieces)) > LONGEST_REPLY:
            raise ReplyUnusable(
                f"The reply of {self.name} has more than {LONGEST_REPLY:,} characters"
            ) from Particulars()


def _kind(error: Exception) -> tuple[type[AssistantError], str]:
    chain = list(_chain(error))
    status = next((found for link in chain if (found := _status(link))), None)
    reason = _WRAPPING.sub("", str(error)) or type(error).__name__
    everything = " ".join(f"{link} {getattr(link, 'body', '')}" for link in chain)
    if any(word in everything for word in _NO_MONEY + _NO_KEY):
        return KeyOrQuota, reason
    if "LLM Provider NOT provided" in everything:
        return SettingsError, "name the provider before the model, such as openai/gpt-5-mini"
    if status is not None:
        return _by_status(status), f"HTTP {status}: {reason}"
    kind = _by_name(chain)
    return kind, f"the reply cannot be read: {reason}" if kind is ReplyUnusable else reason


def _status(link: BaseException) -> int | None:
    if type(link).__name__ != "HTTPStatusError":
        return None
    return int(getattr(getattr(link, "response", None), "status_code", 0)) or None


def _by_status(status: int) -> type[AssistantError]:
    return _STATUSES.get(status, ProviderUnavailable if status >= 500 else GatewayError)


def _by_name(chain: list[BaseException]) -> type[AssistantError]:
    names = [type(link).__name__ for link in chain]
    if not _UNREADABLE.isdisjoint(names):
        return ReplyUnusable
    if names[0] == "InternalServerError":
        return ReplyUnusable if _NOT_SERVED.isdisjoint(names) else ProviderUnavailable
    derived = [kind.__name__ for kind in type(chain[0]).__mro__]
    return next((_KINDS[name] for name in derived if name in _KINDS), GatewayError)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _known(error: BaseException) -> Particulars:
    for link in _chain(error):
        headers = getattr(getattr(link, "response", None), "headers", None) or {}
        with contextlib.suppress(KeyError, ValueError):
            return Particulars(retry_after=float(headers["retry-after"]))
    return Particulars()


def _usage(sent: Any) -> Usage:
    # litellm fills in zeros where the provider sent nothing; no prompt has no tokens.
    read = getattr(sent, "prompt_tokens", None) or None
    written = getattr(sent, "completion_tokens", None) or None
    return Usage(read, written if read is not None else None)


def _refusal(message: Any) -> str:
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal") or ""


def _piece(chunk: Any) -> str:
    return (chunk.choices[0].delta.content or "") if chunk.choices else ""


def _stream_usage(response: Any) -> Usage:
    # Only the chunks as they came: litellm passes on an estimate of its own where the provider sent no usage.
    sent = [getattr(chunk, "usage", None) for chunk in getattr(response, "chunks", ())]
    return _usage(next((usage for usage in reversed(sent) if usage is not None), None))


def _stream_finish(response: Any) -> str:
    # litellm 1.106 ends a stream that was cut with a "stop" of its own; these hold what the provider sent.
    received = getattr(response, "received_finish_reason", None)
    finish = received or getattr(response, "intermittent_finish_reason", None)
    return str(finish) if finish else BROKEN_OFF


async def _closed(response: Any) -> None:
    close = getattr(response, "aclose", None)
    if close is not None:
        await close()


def _is_loopback(api_base: str | None) -> bool:
    host = urlsplit(api_base or "").hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")
