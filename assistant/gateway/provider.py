"""The provider: the one place that speaks to litellm, and the one that knows how it fails.

litellm retries on its own, waits longer than it is told and turns broken answers into successes or server errors.
So its retries are off, a deadline of ours is around each call, each answer is checked, and each exception becomes
one of four outcomes: try again, stop the run, mend the settings, give up on this item.
"""

import asyncio
import contextlib
import logging
import math
import os
import re
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar
from urllib.parse import quote, urlsplit

from assistant.errors import AssistantError, GatewayError, KeyOrQuota, ProviderUnavailable, ReplyUnusable, SettingsError
from assistant.gateway.message import (
    BROKEN_OFF,
    LONGEST_REPLY,
    LONGEST_SAID,
    REFUSAL,
    WHOLE,
    Particulars,
    Price,
    Reply,
    Request,
    Usage,
    one_line,
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
# litellm gives what it cannot read the status 500 or 422, as if the server had said so. Only an HTTPStatusError is the
# server's word, only these names show that the connection failed, and these that a body came. A body cut short may have
# been paid for, so it is not asked for again unseen.
_NOT_SERVED: Final = frozenset({"TransportError", "ConnectionError", "ClientConnectionError", "APITimeoutError", "Timeout"})
_UNREADABLE: Final = frozenset({"JSONDecodeError", "UnicodeDecodeError", "ClientPayloadError", "ValidationError"})
_NO_STATUS: Final = frozenset({"InternalServerError", "APIConnectionError", "APIError", "MidStreamFallbackError"})
_MADE_UP_STATUS: Final = 422
_WRAPPING: Final = re.compile(r"^(?:(?:litellm\.)?\w*(?:Error|Timeout): |\w+Exception(?: \w+(?:Error|Timeout))? - |Timeout Error: )+")
_MESSAGE: Final = re.compile(r'"message": *"((?:[^"\\]|\\.)+)"')
# What litellm adds at the end: the same once more, its own stack, advice for its own users.
_ADDED: Final = re.compile(r"\s*(?:Original exception: |Traceback \(most recent|Handle with `litellm|File an issue if|, ?Original Response:).*", re.DOTALL)
_PAGE: Final = re.compile(r"<(?:!doctype|html)\b.*", re.IGNORECASE | re.DOTALL)
_SECRET_NAME: Final = re.compile(r"(?:KEY|TOKEN|SECRET)$", re.IGNORECASE)
# A shorter value is no key and may be part of any word.
_SHORTEST_KEY: Final = 8
_SECRET_SHAPE: Final = re.compile(
    r"(?i)(?:\bsk-[\w-]{8,}|\bAIza[\w-]{20,}|(?<=bearer )[\w.~+/-]{8,}|(?<=[?&]key=)[^&\s]+)"
)
_ADVICE: Final[dict[type[AssistantError], str]] = {
    KeyOrQuota: "check the key and the account; what is done is kept",
    ProviderUnavailable: "what is done is kept, so run the same command again later",
}
# More tokens than any model reads are no count but a mistake.
_MOST_TOKENS: Final = 100_000_000
# Keys given to us and not by the environment; logs are written behind our back, so every key of this process is known here.
_given_keys: Final[set[str]] = set()


class LiteLLM:
    """A model of any provider, cut off at the deadline and checked; each call is sent once."""

    def __init__(
        self,
        name: str,
        *,
        api_base: str | None = None,
        api_key: str | None = None,
        deadline_s: float = DEADLINE_S,
        own_price: Price | None = None,
    ) -> None:
        self.name = name
        self._own_price = own_price
        self._api_base = api_base
        # The client library insists on a key; a server on this machine gets a stand-in, never one from the environment.
        self._api_key = api_key or ("none" if _is_loopback(api_base) else None)
        self._deadline_s = deadline_s
        self._litellm: Any = None
        if api_key:
            _given_keys.add(api_key)

    async def complete(self, request: Request) -> Reply:
        """The whole reply, or the error that says what to do about it."""
        self._load()
        return usable(await self._answered(self._whole(request), time.monotonic() + self._deadline_s))

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Pieces of text, then the whole reply; a stream that breaks off after its first piece is ReplyUnusable."""
        self._load()
        ends = time.monotonic() + self._deadline_s
        pieces: list[str] = []
        refusal = ""
        shown = _Shown(_keys())
        asked = self._sent(request, stream=True, stream_options={"include_usage": True})
        response = await self._answered(asked, ends, pieces)
        try:
            while (chunk := await self._answered(anext(response, None), ends, pieces)) is not None:
                text, refused = _piece(chunk)
                refusal += refused
                pieces.append(sendable(text))
                self._refuse_flood(pieces)
                if safe := shown.more(pieces[-1]):
                    yield safe
        finally:
            await _closed(response)
        if rest := shown.rest():
            yield rest
        yield usable(self._gathered(response, pieces, refusal))

    def price(self, usage: Usage) -> float | None:
        """What so many tokens would cost in US dollars; None where the price is not known."""
        if self._own_price is None:
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
        _scrub_logs()
        _follow_no_redirect()
        self._litellm = litellm

    async def _whole(self, request: Request) -> Reply:
        return self._read(await self._sent(request))

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

    async def _answered(self, call: Awaitable[T], ends: float, pieces: list[str] | None = None) -> T:
        """What a call brings before the deadline; `pieces` are those of its stream so far."""
        try:
            async with asyncio.timeout(max(0.0, ends - time.monotonic())):
                return await call
        except AssistantError:
            raise
        except TimeoutError as error:
            reason = f"did not answer within {self._deadline_s:g} s (model.deadline_s)"
            failure, known = self._failure(ProviderUnavailable, reason, pieces), _known(error)
        except Exception as error:  # noqa: BLE001 - whatever a provider library raises, it becomes one of our errors
            kind, reason = _kind(error, streaming=pieces is not None)
            failure, known = self._failure(kind, reason, pieces), _known(error)
        # Not inside an except clause: the library's exception, which may repeat a key, must not hang on ours as its context.
        raise failure from known

    def _failure(self, kind: type[AssistantError], reason: str, pieces: list[str] | None) -> AssistantError:
        said = one_line(_scrubbed(reason), LONGEST_SAID)
        if any(pieces or ()) and kind in (ProviderUnavailable, ReplyUnusable):
            return ReplyUnusable(f"The reply of {self.name} broke off: {said}")
        advice = f"; {_ADVICE[kind]}" if kind in _ADVICE else ""
        return kind(f"{self.name}: {said}{advice}")

    def _read(self, response: Any) -> Reply:
        choices = response.choices
        if not choices:
            raise ReplyUnusable(f"{self.name} sent a reply without any choice") from Particulars()
        message, finish = choices[0].message, choices[0].finish_reason or WHOLE
        text, refusal = message.content or "", _refusal(message)
        if refusal and not text:
            text, finish = refusal, REFUSAL
        usage = _usage(getattr(response, "usage", None))
        return self._reply(response, text, usage, finish, getattr(response, "_hidden_params", {}).get("response_cost"))

    def _gathered(self, response: Any, pieces: list[str], refusal: str) -> Reply:
        text, finish = "".join(pieces), _stream_finish(response)
        if refusal and not text.strip():
            text, finish = refusal, REFUSAL
        return self._reply(response, text, _stream_usage(response), finish)

    def _reply(self, response: Any, text: str, usage: Usage, finish: str, billed: object = None) -> Reply:
        cost = self._priced(usage)
        # litellm's own sum knows of cached tokens; it is taken only where the price is known at all, since it is 0 elsewhere.
        if cost is not None and self._own_price is None and isinstance(billed, float) and 0 <= billed < math.inf:
            cost = billed
        model = one_line(_without_keys(str(getattr(response, "model", None) or self.name)), 200)
        return Reply(_without_keys(sendable(text)), usage, cost, model, one_line(finish, 50))

    def _priced(self, usage: Usage) -> float | None:
        if usage.input is None or usage.output is None:
            return None
        if self._own_price is not None:
            return (usage.input * self._own_price.input + usage.output * self._own_price.output) / 1_000_000
        known = self._litellm.model_cost
        if not (self.name in known or self.name.partition("/")[2] in known):
            return None
        try:
            prices = self._litellm.cost_per_token(model=self.name, prompt_tokens=usage.input, completion_tokens=usage.output)
        except Exception:  # noqa: BLE001 - a price that its list cannot make out is unknown, however it says so
            return None
        return float(sum(prices))

    def _refuse_flood(self, pieces: list[str]) -> None:
        if sum(map(len, pieces)) > LONGEST_REPLY:
            raise ReplyUnusable(
                f"The reply of {self.name} has more than {LONGEST_REPLY:,} characters"
            ) from Particulars()


def _kind(error: Exception, *, streaming: bool) -> tuple[type[AssistantError], str]:
    chain = list(_chain(error))
    status = next((found for link in chain if (found := _status(link))), None)
    reason = _reason(error)
    everything = " ".join(f"{link} {getattr(link, 'body', '')}" for link in chain)
    if any(word in everything for word in _NO_MONEY + _NO_KEY):
        return KeyOrQuota, reason
    if "LLM Provider NOT provided" in everything:
        return SettingsError, "name the provider before the model, such as openai/gpt-5-mini"
    if status is not None:
        return _by_status(status, reason)
    kind = _by_name(chain, streaming=streaming)
    return kind, f"the reply cannot be read: {reason}" if kind is ReplyUnusable else reason


def _reason(error: Exception) -> str:
    """What the provider said, without what the library puts around it."""
    said = _PAGE.sub("a web page", _ADDED.sub("", _WRAPPING.sub("", str(error))))
    message = _MESSAGE.search(said)
    return (message[1] if message else said).rstrip(". ") or type(error).__name__


def _status(link: BaseException) -> int | None:
    if type(link).__name__ != "HTTPStatusError":
        return None
    return int(getattr(getattr(link, "response", None), "status_code", 0)) or None


def _by_status(status: int, reason: str) -> tuple[type[AssistantError], str]:
    if 300 <= status < 400:
        return SettingsError, f"HTTP {status}: the address sends us on to another one, which gets no key; name the right one as model.api_base"
    kind = _STATUSES.get(status, ProviderUnavailable if status >= 500 else GatewayError)
    return kind, f"HTTP {status}: {reason}{'; check model.name and model.api_base' if kind is SettingsError else ''}"


def _by_name(chain: list[BaseException], *, streaming: bool) -> type[AssistantError]:
    names = {kind.__name__ for link in chain for kind in type(link).__mro__}
    if not _UNREADABLE.isdisjoint(names):
        return ReplyUnusable
    if not _NOT_SERVED.isdisjoint(names):
        return ProviderUnavailable
    statuses = [found for link in chain if (found := getattr(link, "status_code", None)) is not None]
    if streaming and statuses and not any(status in _STATUSES for status in statuses if isinstance(status, int)):
        # An error in place of the first piece: the provider had not begun.
        return ProviderUnavailable
    derived = [kind.__name__ for kind in type(chain[0]).__mro__]
    if _MADE_UP_STATUS in statuses or derived[0] in _NO_STATUS:
        return ReplyUnusable
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
        if "retry-after" in headers:
            return Particulars(retry_after=_seconds(headers["retry-after"], headers.get("date")))
    return Particulars()


def _seconds(retry_after: str, now: str | None) -> float | None:
    """A Retry-After in seconds; where it is a date, from the date of the reply, so that a wrong clock of ours does no harm."""
    with contextlib.suppress(ValueError):
        return float(retry_after)
    with contextlib.suppress(ValueError, TypeError):
        return (parsedate_to_datetime(retry_after) - (parsedate_to_datetime(now) if now else datetime.now(UTC))).total_seconds()
    return None


def _usage(sent: Any) -> Usage:
    # litellm fills in zeros where the provider sent nothing; no prompt has no tokens.
    read, written = getattr(sent, "prompt_tokens", None), getattr(sent, "completion_tokens", None)
    if not (_is_count(read) and _is_count(written)):
        return Usage(_if_count(read), None)
    return Usage(read, written)


def _is_count(tokens: object) -> bool:
    return isinstance(tokens, int) and 0 < tokens <= _MOST_TOKENS


def _if_count(tokens: object) -> int | None:
    return tokens if isinstance(tokens, int) and _is_count(tokens) else None


def _refusal(message: Any) -> str:
    fields = getattr(message, "provider_specific_fields", None) or {}
    return getattr(message, "refusal", None) or fields.get("refusal") or ""


def _piece(chunk: Any) -> tuple[str, str]:
    """The text of a chunk, and what it says in refusal."""
    delta = chunk.choices[0].delta if chunk.choices else None
    return getattr(delta, "content", None) or "", _refusal(delta)


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


def _keys() -> tuple[str, ...]:
    """Every key that this process knows, as it is and as it stands in an address, the longest first."""
    named = {value for name, value in os.environ.items() if _SECRET_NAME.search(name)}
    keys = {key for key in named | _given_keys if len(key) >= _SHORTEST_KEY}
    return tuple(sorted(keys | {quote(key, safe="") for key in keys}, key=len, reverse=True))


def _without_keys(text: str) -> str:
    return _without(_keys(), text)


def _without(keys: tuple[str, ...], text: str) -> str:
    for key in keys:
        text = text.replace(key, "[key]")
    return text


def _scrubbed(text: str) -> str:
    return _SECRET_SHAPE.sub("[key]", _without_keys(text))


class _Shown:
    """Takes the pieces of a stream and gives out what holds no key; the beginning of one is held back until it is none."""

    def __init__(self, keys: tuple[str, ...]) -> None:
        self._keys = keys
        self._held = ""

    def more(self, piece: str) -> str:
        text = _without(self._keys, self._held + piece)
        begun = max((self._begun(text, key) for key in self._keys), default=0)
        self._held = text[len(text) - begun :]
        return text[: len(text) - begun]

    def rest(self) -> str:
        held, self._held = self._held, ""
        return held

    def _begun(self, text: str, key: str) -> int:
        return next((size for size in range(min(len(key) - 1, len(text)), 0, -1) if text.endswith(key[:size])), 0)


def _scrub_logs() -> None:
    """Every log record of this process is freed of keys when it is made: the libraries' debug logs repeat what a server says."""
    make = logging.getLogRecordFactory()
    if getattr(make, "scrubs", False):
        return

    def scrubbed(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if any(isinstance(part, Exception) for part in (record.exc_info or ())):
            record.exc_text = _scrubbed(logging.Formatter().formatException(record.exc_info))  # type: ignore[arg-type]  # it is one
            record.exc_info = None
        with contextlib.suppress(TypeError, ValueError):
            said = record.getMessage()
            if (clean := _scrubbed(said)) != said:
                record.msg, record.args = clean, ()
        return record

    scrubbed.scrubs = True  # type: ignore[attr-defined]  # a mark, so that it is put in once
    logging.setLogRecordFactory(scrubbed)


def _follow_no_redirect() -> None:
    """A redirect is an error: only the header Authorization would stay behind, and some providers' keys are in others."""
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    send = LiteLLMAiohttpTransport.handle_async_request
    if getattr(send, "stays", False):
        return

    async def stay(self: Any, request: Any) -> Any:
        response = await send(self, request)
        # Without this header the client library sees a status and no redirect.
        response.headers.pop("location", None)
        return response

    stay.stays = True  # type: ignore[attr-defined]  # a mark, so that it is put in once
    LiteLLMAiohttpTransport.handle_async_request = stay  # type: ignore[method-assign]  # litellm has no setting for it
    AsyncHTTPHandler.should_use_aiohttp_transport = staticmethod(lambda: True)  # type: ignore[method-assign]
