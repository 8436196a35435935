"""A loopback server that speaks the chat completions dialect and misbehaves as it is told."""

import json
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}


class Stub:
    """The server: `script` holds one behaviour a request, the last one repeats; `seen` holds the requests."""

    def __init__(self) -> None:
        self.script: list[Callable[[Handler], None]] = [ok()]
        self.seen: list[dict[str, Any]] = []
        self.released = threading.Event()
        stub = self

        class Bound(Handler):
            owner = stub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Bound)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> int:
        return len(self.seen)

    def then(self, *behaviours: Callable[["Handler"], None]) -> None:
        self.script = list(behaviours)
        self.seen.clear()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Stub

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.owner.seen.append({"body": body, "key": self.headers.get("Authorization", "")})
        number = min(len(self.owner.seen), len(self.owner.script))
        self.owner.script[number - 1](self)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events: list[str], *, cut: bool = False) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            data = f"data: {event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
            time.sleep(0.01)
        if not cut:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


Behaviour = Callable[[Handler], None]


def body(
    content: str | None = "fine", finish: str = "stop", usage: dict[str, int] | None = USAGE, **message: object
) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    answer = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub-1",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
    }
    return answer if usage is None else {**answer, "usage": usage}


def ok(content: str | None = "fine", **more: Any) -> Behaviour:
    return lambda handler: handler.send(200, json.dumps(body(content, **more)).encode())


def raw(data: bytes, status: int = 200) -> Behaviour:
    return lambda handler: handler.send(status, data)


def without_choices() -> Behaviour:
    return raw(json.dumps({**body(), "choices": []}).encode())


def failing(status: int, code: str = "oops", message: str = "no", headers: dict[str, str] | None = None) -> Behaviour:
    error = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    return lambda handler: handler.send(status, error, headers)


def echoing_key(handler: Handler) -> None:
    failing(401, "invalid_api_key", f"Incorrect API key: {handler.headers['Authorization']}")(handler)


def hang(handler: Handler) -> None:
    handler.owner.released.wait(20)
    handler.close_connection = True


def reset(handler: Handler) -> None:
    handler.close_connection = True


def short_body(handler: Handler) -> None:
    whole = json.dumps(body()).encode()
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(whole)))
    handler.end_headers()
    handler.wfile.write(whole[:40])
    handler.close_connection = True


def streamed(*pieces: str, finish: str | None = "stop", usage: bool = True, cut: bool = False) -> Behaviour:
    def chunk(delta: dict[str, str], ended: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": ended}
        return json.dumps(
            {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub-1", "choices": [choice]}
        )

    events = [chunk({"role": "assistant", "content": piece}) for piece in pieces]
    if finish:
        events.append(chunk({}, finish))
        if usage:
            last = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub-1", "choices": []}
            events.append(json.dumps({**last, "usage": USAGE}))
        events.append("[DONE]")
    return lambda handler: handler.send_events(events, cut=cut)
