"""A loopback server that speaks the chat completions dialect and misbehaves as it is told."""

import json
import socket
import struct
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
MANY = 20_000_000


class Stub:
    """The server: `script` holds one behaviour a request, the last one repeats; `seen` holds the requests."""

    def __init__(self) -> None:
        self.script: list[Behaviour] = [ok()]
        self.seen: list[dict[str, Any]] = []
        self.released = threading.Event()
        stub = self

        class Bound(Handler):
            owner = stub

        self._server = _Quiet(("127.0.0.1", 0), Bound)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def requests(self) -> int:
        return len(self.seen)

    def then(self, *behaviours: "Behaviour") -> None:
        self.released.clear()
        self.script = list(behaviours)
        self.seen.clear()

    def close(self) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is what many of these tests are about."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Stub
    asked: dict[str, Any]

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked = body
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.seen.append({"body": body, "key": headers.get("authorization", ""), "headers": headers, "path": self.path})
        number = min(len(self.owner.seen), len(self.owner.script))
        self.owner.script[number - 1](self)

    def do_GET(self) -> None:
        """Where a redirect leads that turned a POST into a GET."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.owner.seen.append({"body": {}, "key": headers.get("authorization", ""), "headers": headers, "path": self.path})
        ok("followed")(self)

    def send(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response_only(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(body) if length is None else length)}
        for name, value in {**given, **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_events(self, events: "list[str | Behaviour]", *, cut: bool = False) -> None:
        self.send_response_only(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            if callable(event):
                event(self)
                continue
            data = f"{event}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
            self.wfile.flush()
        if not cut:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True


Behaviour = Callable[[Handler], None]


def body(content: object = "fine", finish: object = "stop", usage: object = USAGE, **message: object) -> dict[str, Any]:
    said = {"role": "assistant", "content": content, **message}
    answer = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "stub-1",
        "choices": [{"index": 0, "finish_reason": finish, "message": said}],
    }
    return answer if usage is None else {**answer, "usage": usage}


def ok(content: object = "fine", **more: Any) -> Behaviour:
    return lambda handler: handler.send(200, json.dumps(body(content, **more)).encode())


def shaped(**changed: object) -> Behaviour:
    """A good reply with some of its members changed; None takes one away."""
    whole = {**body(), **changed}
    return raw(json.dumps({name: value for name, value in whole.items() if value is not ...}).encode())


def without_finish() -> Behaviour:
    whole = body()
    del whole["choices"][0]["finish_reason"]
    return raw(json.dumps(whole).encode())


def raw(data: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Behaviour:
    return lambda handler: handler.send(status, data, headers)


def html(status: int) -> Behaviour:
    page = b"<!DOCTYPE html><html><head><title>Gateway</title></head><body>" + b"<p>down for now</p>" * 200 + b"</body></html>"
    return raw(page, status, {"Content-Type": "text/html"})


def failing(status: int, code: str = "oops", message: str = "no", headers: dict[str, str] | None = None) -> Behaviour:
    error = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
    return lambda handler: handler.send(status, error, headers)


def echoing(status: int) -> Behaviour:
    """Fails, and repeats every header of the request in its body and in headers of its own."""

    def echo(handler: Handler) -> None:
        sent = " ".join(handler.headers.values()) + " " + handler.path
        failing(status, "invalid_api_key", f"Incorrect API key provided: {sent}", {"X-Echo": sent, "WWW-Authenticate": sent})(handler)

    return echo


def redirecting(to: str, status: int = 307) -> Behaviour:
    return raw(b"", status, {"Location": f"{to}/elsewhere"})


def hang(handler: Handler) -> None:
    handler.owner.released.wait(20)
    handler.close_connection = True


def trickle(handler: Handler) -> None:
    """A byte now and then, so that no single read ever takes long."""
    whole = json.dumps(body()).encode()
    handler.send(200, whole[:1], length=len(whole))
    for at in range(1, len(whole)):
        if handler.owner.released.wait(0.1):
            break
        handler.wfile.write(whole[at : at + 1])
        handler.wfile.flush()
    handler.close_connection = True


def closed(handler: Handler) -> None:
    handler.close_connection = True


def reset(handler: Handler) -> None:
    """A reset in place of a reply: what was sent is not even read to the end."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def short_body(handler: Handler) -> None:
    whole = json.dumps(body()).encode()
    handler.send(200, whole[:40], length=len(whole))
    handler.close_connection = True


def data(value: object) -> str:
    return f"data: {value if isinstance(value, str) else json.dumps(value)}"


def chunk(delta: dict[str, Any], ended: str | None = None, **more: object) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": ended}
    return data({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "stub-1", "choices": [choice], **more})


def pieces(*texts: str) -> list[str]:
    return [chunk({"role": "assistant", "content": text}) for text in texts]


def ending(finish: str | None = "stop", usage: object = USAGE, *, done: bool = True) -> list[str]:
    last = [chunk({}, finish)] if finish else []
    counted = [chunk({}, None, choices=[], usage=usage)] if usage is not None else []
    return [*last, *counted, *([data("[DONE]")] if done else [])]


def events(*those: "str | Behaviour", cut: bool = False) -> Behaviour:
    return lambda handler: handler.send_events(list(those), cut=cut)


def streamed(*texts: str, finish: str | None = "stop", usage: bool = True, cut: bool = False) -> Behaviour:
    return events(*pieces(*texts), *(ending(finish, USAGE if usage else None) if finish else []), cut=cut)


def error_event(code: str = "server_error") -> str:
    return data({"error": {"message": "no more", "type": code, "code": code}})




TOOL = [{"id": "t1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]


def usage(read: object, written: object) -> dict[str, object]:
    return {"prompt_tokens": read, "completion_tokens": written, "total_tokens": 14}
