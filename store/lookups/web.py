"""Requests to a service: polite, retried, bounded in time and size, and kept for a while so that nothing is asked twice."""

import contextlib
import hashlib
import json
import os
import random
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from store.errors import KeyNeeded, LookupFailed

if TYPE_CHECKING:
    import ssl

    import httpx
    from tenacity import RetryCallState

TRIES = 4
LONGEST_WAIT = 60.0
SLOWEST = 60.0
LARGEST = 50 * 2**20
MOST_REDIRECTS = 3
DAY = 86_400.0
THROTTLED = b"Rate exceeded"
"""What arXiv answers, with code 200, to who asks too often."""

T = TypeVar("T")


class NotUnderstood(LookupFailed):
    """The service refuses this request and would take another; `said` is how its answer begins."""

    def __init__(self, message: str, said: str = "", *, is_unknown: bool = False) -> None:
        super().__init__(message)
        self.said, self.is_unknown = said, is_unknown


class _Again(Exception):
    """What may pass when it is asked once more; `wait` is what the service asks for, in seconds."""

    def __init__(self, reason: str, wait: float | None = None, *, is_throttling: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.is_throttling = wait, is_throttling


@dataclass
class Web:
    """One service: its name for messages, its address, and how it wants to be asked.

    `gap` is the least time between two requests, in seconds; `secret` are parameters and `headers` what no cache and no
    message may show; `days` is how long an answer in the `cache` folder is as good as a new one. `key_name` is the variable
    from which the service's key is taken, where it takes one, and `has_key` whether there is one; a service that `needs_key`
    answers hardly anybody without.
    """

    service: str
    base: str
    gap: float = 0.2
    secret: Mapping[str, str] | None = None
    headers: Mapping[str, str] | None = None
    contact: str = ""
    cache: Path | None = None
    days: float = 7.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    key_name: str = ""
    has_key: bool = False
    needs_key: bool = False
    _last: float = float("-inf")

    def get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """What the service answers to a GET; raises LookupFailed, KeyNeeded."""
        return self.get_as(path, parameters, bytes)

    def get_as(self, path: str, parameters: Mapping[str, str], read: Callable[[bytes], T]) -> T:
        """What `read` makes of the answer; one for which it raises LookupFailed is not kept."""
        return self._kept("GET", path, parameters, None, read)

    def get_json(self, path: str, parameters: Mapping[str, str], holds: tuple[str, ...] = ()) -> Mapping[str, object]:
        """The object it answers; `holds` are the names, from the outside in, under which its list must stand."""

        def read(data: bytes) -> Mapping[str, object]:
            answer = self._decoded(data)
            if not isinstance(answer, dict):
                raise LookupFailed(f"{self.service}: answered {type(answer).__name__} where an object was due; try again later")
            if holds and not _holds(answer, holds):
                raise LookupFailed(f"{self.service}: its answer holds no {' with '.join(holds)} as it always does; try again later")
            return answer

        return self.get_as(path, parameters, read)

    def post_json(self, path: str, parameters: Mapping[str, str], body: object) -> list[object]:
        """The list it answers to a POST of JSON."""

        def read(data: bytes) -> list[object]:
            answer = self._decoded(data)
            if not isinstance(answer, list):
                raise LookupFailed(f"{self.service}: answered {type(answer).__name__} where a list was due; try again later")
            return answer

        return self._kept("POST", path, parameters, json.dumps(body, sort_keys=True), read)

    def _decoded(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            start = data[:40].decode("utf-8", "replace").strip()
            raise LookupFailed(
                f"{self.service}: its answer is no JSON but begins {start!r}; it is cut off, or a proxy or a page stands in between"
            ) from error

    # -- answers that are kept

    def _kept(self, method: str, path: str, parameters: Mapping[str, str], body: str | None, read: Callable[[bytes], T]) -> T:
        place = self._place(method, path, parameters, body)
        if place:
            with contextlib.suppress(OSError, LookupFailed):  # what is old, gone or damaged is asked for anew
                if time.time() - place.stat().st_mtime < self.days * DAY:
                    return read(place.read_bytes())
        data = self._asked(method, path, parameters, body)
        made = read(data)
        if place:
            with contextlib.suppress(OSError):  # an answer that cannot be kept is one all the same
                _write(place, data)
        return made

    def _place(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> Path | None:
        said = json.dumps([method, self.base, path, sorted(parameters.items()), body])
        return self.cache / f"{hashlib.sha256(said.encode()).hexdigest()}.answer" if self.cache else None

    # -- requests

    def _asked(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> bytes:
        from tenacity import Retrying, retry_if_exception_type, stop_after_attempt

        trying = Retrying(
            stop=stop_after_attempt(TRIES), wait=_wait, retry=retry_if_exception_type(_Again), sleep=self.sleep, reraise=True
        )
        try:
            return trying(self._once, method, path, parameters, body)
        except _Again as error:
            is_shared = error.is_throttling and self.key_name and not self.has_key
            hint = f"; with a key in ${self.key_name} it is more patient" if is_shared else ""
            raise LookupFailed(f"{self.service}: {error}, {TRIES} times over; try again later{hint}") from error

    def _once(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> bytes:
        import httpx

        self._be_polite()
        try:
            return self._sent(method, path, parameters, body)
        except (httpx.UnsupportedProtocol, httpx.InvalidURL) as error:
            raise LookupFailed(
                f"{self.service}: its address, or where that leads, is none of the web; see [lookups] in carrel.toml"
            ) from error
        except (httpx.LocalProtocolError, UnicodeError) as error:
            raise LookupFailed(f"{self.service}: its key or the contact address holds letters that cannot be sent; check them") from error
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise _Again(f"cannot be reached ({type(error).__name__})") from error
        except (httpx.TransportError, httpx.DecodingError) as error:
            raise _Again(f"broke off its answer ({type(error).__name__})") from error

    def _sent(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> bytes:
        """The body of the answer, on the same host wherever that is; httpx's errors pass."""
        import httpx

        begun = self.clock()
        secret = self.secret or {}
        address = httpx.URL(self.base.rstrip("/") + path).copy_merge_params({**parameters, **secret})
        with httpx.Client(timeout=httpx.Timeout(SLOWEST, connect=10.0), headers=self._headers(body), verify=_certificates()) as client:
            for _ in range(MOST_REDIRECTS + 1):
                with client.stream(method, address, content=body) as answer:
                    if not answer.has_redirect_location:
                        return self._read(answer, begun)
                    address = self._moved(answer).copy_merge_params(secret)
        raise LookupFailed(f"{self.service}: redirects without end; try again later")

    def _headers(self, body: str | None) -> dict[str, str]:
        agent = f"Carrel/{version('carrel')}" + (f" (mailto:{self.contact})" if self.contact else "")
        of_body = {"Content-Type": "application/json"} if body is not None else {}
        return {"User-Agent": agent, "Accept": "application/json, application/atom+xml", **of_body, **(self.headers or {})}

    def _be_polite(self) -> None:
        wait = self._last + self.gap - self.clock()
        if wait > 0:
            self.sleep(wait)
        self._last = self.clock()

    def _moved(self, answer: "httpx.Response") -> "httpx.URL":
        """Where a redirect leads, on the same host; elsewhere nothing is asked, and no key is sent."""
        here = answer.url
        target = here.join(answer.headers["location"])
        if (target.host, target.port) != (here.host, here.port) or target.scheme not in {here.scheme, "https"}:
            raise LookupFailed(
                f"{self.service}: wants to send us to {target.host or 'no host'}; set its new address in carrel.toml if that is right"
            )
        return target.copy_with(userinfo=here.userinfo)

    def _read(self, answer: "httpx.Response", begun: float) -> bytes:
        """The body, as long as it is an answer, comes in time and stays in bounds."""
        parts: list[bytes] = []
        size = 0
        for part in answer.iter_bytes():
            size += len(part)
            parts.append(part)
            if size > LARGEST:
                raise LookupFailed(f"{self.service}: its answer is larger than {LARGEST >> 20} MB; ask for less")
            if self.clock() - begun > SLOWEST:
                raise _Again(f"was still sending after {SLOWEST:.0f} s")
        data = b"".join(parts)
        self._accepted(answer, data[:200])
        if not data.strip():
            raise _Again("answered nothing")
        return data

    def _accepted(self, answer: "httpx.Response", start: bytes) -> None:
        """Raises for what is no answer: _Again where it may pass."""
        code = answer.status_code
        self._allowed(code)
        is_throttling = code == 429 or start.startswith(THROTTLED)
        if is_throttling or code >= 500:
            wait = _seconds(answer.headers.get("retry-after", ""))
            if wait is not None and wait > LONGEST_WAIT:
                raise LookupFailed(f"{self.service}: answers {code} and wants {_spelled(wait)} of quiet; try again after that")
            raise _Again(f"answers {code}" if code != 200 else "is asked too often", wait, is_throttling=is_throttling)
        if code == 404:
            raise NotUnderstood(f"{self.service}: knows nothing under {answer.url.path} (404)", is_unknown=True)
        if code >= 300:
            said = start.decode("utf-8", "replace")
            raise NotUnderstood(f"{self.service}: refuses the request ({code}); the query may hold what it cannot read", said)

    def _allowed(self, code: int) -> None:
        """Raises where a key is what it lacks; without a place for one, who is refused is so for another reason."""
        if code not in {401, 403} and not (code in {409, 429} and self.needs_key and not self.has_key):
            return
        if not self.key_name:
            raise LookupFailed(f"{self.service}: does not let us in ({code}); it may do so later, or a proxy stands in between")
        if self.has_key:
            raise KeyNeeded(f"{self.service}: refuses the key that it got ({code}); check ${self.key_name}")
        since = ", and since February 2026 answers hardly anything without" if self.needs_key else ""
        raise KeyNeeded(f"{self.service}: wants a key ({code}){since}; get one there for free and put it into ${self.key_name}")


@cache
def _certificates() -> "ssl.SSLContext":
    """Whom to trust, read once: reading takes longer than most requests."""
    import httpx

    return httpx.create_ssl_context()


def _holds(answer: Mapping[str, object], names: tuple[str, ...]) -> bool:
    """Whether a list stands under these names; an empty one may be null, or missing where the total is said to be 0."""
    if answer.get("total") == 0:
        return True
    inside: object = answer
    for name in names:
        if not isinstance(inside, dict) or name not in inside:
            return False
        inside = inside[name]
    return inside is None or isinstance(inside, list)


def _write(place: Path, data: bytes) -> None:
    """Whole or not at all, whoever else is writing the same."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, draft = tempfile.mkstemp(dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        Path(draft).replace(place)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _wait(state: "RetryCallState") -> float:
    """What the service asks for, else one, two, four seconds and a little."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Again) and error.wait is not None:
        return min(error.wait, LONGEST_WAIT)
    return float(2 ** (state.attempt_number - 1)) + random.random()  # noqa: S311  no secret


def _seconds(header: str) -> float | None:
    """Retry-After in seconds, whether it gives those or a date; None for anything else."""
    header = header.strip()
    if header.isascii() and header.isdecimal():
        return float(header[:9])
    try:
        when = parsedate_to_datetime(header)
    except (ValueError, IndexError, TypeError, OverflowError):
        return None
    return max(0.0, (when.replace(tzinfo=when.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _spelled(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
