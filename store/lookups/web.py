"""Requests to a service: polite, retried, bounded in time and size, and kept for a while so that nothing is asked twice."""

import hashlib
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from store.errors import KeyNeeded, LookupFailed

if TYPE_CHECKING:
    import httpx
    from tenacity import RetryCallState

TRIES = 4
LONGEST_WAIT = 60.0
SLOWEST = 60.0
LARGEST = 50 * 2**20
MOST_REDIRECTS = 3
DAY = 86_400.0


class _Again(Exception):
    """What may pass when it is asked once more; `wait` is what the service asks for, in seconds."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait


@dataclass
class Web:
    """One service: its name for messages, its address, and how it wants to be asked.

    `gap` is the least time between two requests, in seconds; `secret` are parameters and `headers` what no cache and no
    message may show; `days` is how long an answer in the `cache` folder is as good as a new one.
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
    _last: float = float("-inf")

    def get(self, path: str, parameters: Mapping[str, str]) -> bytes:
        """What the service answers to a GET; raises LookupFailed, KeyNeeded."""
        return self._kept("GET", path, parameters, None)

    def get_json(self, path: str, parameters: Mapping[str, str]) -> Mapping[str, object]:
        """The object it answers."""
        return self._object(self.get(path, parameters))

    def post_json(self, path: str, parameters: Mapping[str, str], body: object) -> list[object]:
        """The list it answers to a POST of JSON."""
        answer = self._decoded(self._kept("POST", path, parameters, json.dumps(body, sort_keys=True)))
        if not isinstance(answer, list):
            raise LookupFailed(f"{self.service}: answered {type(answer).__name__} where a list was due; try again later")
        return answer

    def _object(self, data: bytes) -> Mapping[str, object]:
        answer = self._decoded(data)
        if not isinstance(answer, dict):
            raise LookupFailed(f"{self.service}: answered {type(answer).__name__} where an object was due; try again later")
        return answer

    def _decoded(self, data: bytes) -> object:
        try:
            return json.loads(data)
        except (ValueError, RecursionError) as error:
            start = data[:40].decode("utf-8", "replace").strip()
            raise LookupFailed(f"{self.service}: its answer is no JSON but begins {start!r}; a proxy or a page may stand in between") from error

    # -- answers that are kept

    def _kept(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> bytes:
        place = self._place(method, path, parameters, body)
        if place and place.exists() and time.time() - place.stat().st_mtime < self.days * DAY:
            return place.read_bytes()
        data = self._asked(method, path, parameters, body)
        if place:
            place.parent.mkdir(parents=True, exist_ok=True)
            draft = place.with_suffix(".new")
            draft.write_bytes(data)
            draft.replace(place)
        return data

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
            raise LookupFailed(f"{self.service}: {error}, {TRIES} times over; try again later") from error

    def _once(self, method: str, path: str, parameters: Mapping[str, str], body: str | None) -> bytes:
        import httpx

        self._be_polite()
        agent = f"Carrel/{version('carrel')}" + (f" (mailto:{self.contact})" if self.contact else "")
        headers = {"User-Agent": agent, "Accept": "application/json, application/atom+xml", **(self.headers or {})}
        address = self.base.rstrip("/") + path
        try:
            with httpx.Client(timeout=httpx.Timeout(SLOWEST, connect=10.0), headers=headers) as client:
                for _ in range(MOST_REDIRECTS + 1):
                    asked = {**parameters, **(self.secret or {})} if address.startswith(self.base) else None
                    content = {"content": body, "headers": {"Content-Type": "application/json"}} if body is not None else {}
                    with client.stream(method, address, params=asked, **content) as answer:  # type: ignore[arg-type]  # httpx takes None
                        if not answer.is_redirect:
                            self._accepted(answer)
                            return self._read(answer)
                        address = self._moved(address, answer.headers.get("location", ""))
                raise LookupFailed(f"{self.service}: redirects without end")
        except httpx.TransportError as error:
            raise _Again(f"cannot be reached ({type(error).__name__})") from error

    def _be_polite(self) -> None:
        wait = self._last + self.gap - self.clock()
        if wait > 0:
            self.sleep(wait)
        self._last = self.clock()

    def _moved(self, address: str, location: str) -> str:
        """Where a redirect leads, on the same host; elsewhere nothing is asked."""
        target = urlsplit(location)
        here = urlsplit(address)
        if target.netloc and target.netloc != here.netloc:
            raise LookupFailed(f"{self.service}: wants to send us to {target.netloc}; set its new address in carrel.toml if that is right")
        return f"{here.scheme}://{here.netloc}{target.path}" + (f"?{target.query}" if target.query else "")

    def _accepted(self, answer: "httpx.Response") -> None:
        """Raises for what is no answer: _Again where it may pass."""
        code = answer.status_code
        if code < 400:
            return
        if code in {401, 403} or (code in {409, 429} and self.service == "OpenAlex" and not self.secret):
            raise KeyNeeded(f"{self.service}: answers {code}: it wants a key, or refuses the one it got; see `docs/lookups.md` for where to put it")
        if code == 429 or code >= 500:
            raise _Again(f"answers {code}", _seconds(answer.headers.get("retry-after", "")))
        if code == 404:
            raise LookupFailed(f"{self.service}: knows nothing under {answer.url.path} (404)")
        raise LookupFailed(f"{self.service}: refuses the request ({code}); the query may hold what it cannot read")

    def _read(self, answer: "httpx.Response") -> bytes:
        """The body, as long as it comes in time and stays in bounds."""
        begun, parts, size = self.clock(), [], 0
        for part in answer.iter_bytes():
            size += len(part)
            parts.append(part)
            if size > LARGEST:
                raise LookupFailed(f"{self.service}: its answer is larger than {LARGEST >> 20} MB; ask for less")
            if self.clock() - begun > SLOWEST:
                raise _Again(f"was still sending after {SLOWEST:.0f} s")
        data = b"".join(parts)
        if not data.strip():
            raise _Again("answered nothing")
        return data


def _wait(state: "RetryCallState") -> float:
    """What the service asks for, else one, two, four seconds and a little."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, _Again) and error.wait is not None:
        return min(error.wait, LONGEST_WAIT)
    return float(2 ** (state.attempt_number - 1)) + random.random()  # noqa: S311  no secret


def _seconds(header: str) -> float | None:
    """Retry-After in seconds; a date in it is not understood and not needed."""
    return float(header) if header.strip().isdigit() else None
