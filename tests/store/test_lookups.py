"""Look-ups against servers on loopback that answer in the services' shapes, and in shapes that no service should."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from store.errors import KeyNeeded, LookupFailed
from store.lookups import open_service
from store.lookups.web import Web

ATOM = Path(__file__).parents[1] / "data" / "arxiv_atom" / "feed.xml"
WORK = {
    "id": "https://openalex.org/W1", "doi": "https://doi.org/10.1234/walk", "title": "Bridges that walk", "publication_date": "2024-05-01",
    "authorships": [{"author": {"display_name": "Ada Lovelace"}}], "abstract_inverted_index": {"A": [0], "bridge": [1], "walks.": [2]},
    "referenced_works": ["https://openalex.org/W7"], "is_retracted": True, "type": "article",
}  # fmt: skip
PAPER = {"paperId": "abc", "title": "Bridges that walk", "externalIds": {"DOI": "10.1234/walk"}, "authors": [{"name": "Ada Lovelace"}], "year": 2024}
ITEM = {"DOI": "10.1234/walk", "title": ["Bridges that walk"], "type": "journal-article", "author": [{"given": "Ada", "family": "Lovelace"}]}

Answer = tuple[int, dict[str, str], bytes]
Script = Callable[[str, dict[str, str], bytes], Answer]


def ok(body: object) -> Answer:
    """A reply of JSON."""
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


class Server:
    """A server that answers by a script and remembers what it was asked."""

    def __init__(self, script: Script) -> None:
        asked: list[tuple[str, dict[str, str], dict[str, str]]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                parameters = {name: values[0] for name, values in parse_qs(parts.query).items()}
                asked.append((parts.path, parameters, dict(self.headers)))
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                code, headers, data = script(parts.path, parameters, body)
                self.send_response(code)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def serving() -> Iterator[Callable[[Script], Server]]:
    """Makes servers, and stops them in the end."""
    servers: list[Server] = []

    def serve(script: Script) -> Server:
        servers.append(Server(script))
        return servers[-1]

    yield serve
    for server in servers:
        server.close()


Serving = Callable[[Script], Server]


def web(server: Server, waited: list[float], **more: object) -> Web:
    """A connection that waits for nobody, and says for how long it would have."""
    return Web("The service", server.base, gap=0, sleep=waited.append, **more)  # type: ignore[arg-type]


# the services


def test_arxiv_answers_by_id_and_by_query(serving: Serving) -> None:
    """A feed's entries are records; an entry that is an error loses no other."""
    server = serving(lambda *_: (200, {}, ATOM.read_bytes()))
    service = open_service("arxiv", base=server.base)
    (record,) = service.by_ids([{"arxiv": "2603.13224"}, {"doi": "10.1/x"}])
    assert (record.identifiers["arxiv"], record.notices) == ("2603.13224", ("withdrawn",))
    found = service.find("walking bridges", 5)
    assert (len(found.records), found.total) == (1, 120)
    assert [asked[1].get("id_list") or asked[1]["search_query"] for asked in server.asked] == ["2603.13224", "all:walking AND all:bridges"]
    with pytest.raises(LookupFailed, match="openalex"):
        service.citing({"arxiv": "2603.13224"}, 5)


def test_openalex_answers_by_every_identifier_and_by_citation(serving: Serving) -> None:
    """Batches by kind of identifier; the key and the contact go as parameters; pages are turned."""

    def answer(path: str, parameters: dict[str, str], _: bytes) -> Answer:
        return ok({"meta": {"count": 3}, "results": [WORK, {"nonsense": 1}, None] if parameters["page"] == "1" else []})

    server = serving(answer)
    service = open_service("openalex", base=server.base, key="secret", contact="ada@example.org")
    records = service.by_ids([{"doi": "10.1234/walk"}, {"arxiv": "2603.13224"}, {"pmid": "123"}, {}])
    assert {record.title for record in records} == {"Bridges that walk"}
    assert records[0].notices == ("retracted",)
    assert records[0].references == ("openalex:W7",)
    filters = list(dict.fromkeys(asked[1]["filter"] for asked in server.asked))
    assert filters == ["doi:10.1234/walk|10.48550/arxiv.2603.13224", "pmid:123"]
    assert server.asked[0][1]["api_key"] == "secret"
    assert service.citing({"openalex": "W1"}, 1).total == 3
    assert server.asked[-1][1]["filter"] == "cites:W1"
    service.cited_by({"doi": "10.1234/walk"}, 1)
    assert server.asked[-1][1]["filter"] == "cited_by:W1"


def test_crossref_answers_by_doi_and_by_query(serving: Serving) -> None:
    """What cites a work it cannot tell, and says who can."""
    server = serving(lambda *_: ok({"status": "ok", "message": {"total-results": 7, "items": [ITEM]}}))
    service = open_service("crossref", base=server.base)
    assert [record.title for record in service.by_ids([{"doi": "10.1234/walk"}])] == ["Bridges that walk"]
    assert service.find("walking", 3).total == 7
    with pytest.raises(LookupFailed, match="semanticscholar"):
        service.citing({"doi": "10.1234/walk"}, 3)


def test_semantic_scholar_answers_in_batches_and_lists(serving: Serving) -> None:
    """A paper it does not know is null in the list; the key goes as a header."""

    def answer(path: str, parameters: dict[str, str], body: bytes) -> Answer:
        if path.endswith("/batch"):
            return ok([PAPER if "10.1234" in name else None for name in json.loads(body)["ids"]])
        if path.endswith("/citations"):
            return ok({"offset": 0, "data": [{"citingPaper": PAPER}]})
        return ok({"total": 1, "data": [PAPER]})

    server = serving(answer)
    service = open_service("semanticscholar", base=server.base, key="secret")
    assert len(service.by_ids([{"doi": "10.1234/walk"}, {"arxiv": "2603.13224"}])) == 1
    assert server.asked[0][2]["x-api-key"] == "secret"
    assert service.find("walking", 5).total == 1
    assert [record.title for record in service.citing({"arxiv": "2603.13224"}, 5).records] == ["Bridges that walk"]


# what goes wrong


def test_it_waits_as_it_is_told_and_asks_again(serving: Serving) -> None:
    """429 with Retry-After, then an answer: two requests, and the wait that was asked for."""
    answers = iter([(429, {"Retry-After": "7"}, b"slow down"), (200, {}, b'{"a": 1}')])
    server, waited = serving(lambda *_: next(answers)), list[float]()
    assert web(server, waited).get_json("/x", {}) == {"a": 1}
    assert (len(server.asked), waited) == (2, [7.0])


def test_it_gives_up_after_four_tries(serving: Serving) -> None:
    """And says so; the waits grow."""
    server, waited = serving(lambda *_: (500, {}, b"broken")), list[float]()
    with pytest.raises(LookupFailed, match=r"The service: answers 500, 4 times over"):
        web(server, waited).get("/x", {})
    assert len(server.asked) == 4
    assert waited == sorted(waited)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ((200, {}, b"<html>Log in</html>"), "no JSON but begins '<html>"),
        ((200, {}, b'{"results": [{"title": "cut'), "no JSON"),
        ((200, {}, b"[1, 2]"), "list where an object"),
        ((404, {}, b"{}"), "knows nothing"),
        ((400, {}, b"{}"), "refuses the request"),
        ((302, {"Location": "http://example.org/elsewhere"}, b""), "wants to send us to example.org"),
        ((200, {}, b"   "), "answered nothing"),
    ],
)
def test_an_answer_that_is_none_is_said_to_be_none(serving: Serving, answer: Answer, said: str) -> None:
    """With what it was, in one line, and never a traceback."""
    server = serving(lambda *_: answer)
    with pytest.raises(LookupFailed, match=said) as error:
        web(server, []).get_json("/x", {})
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 69


def test_a_refused_key_is_another_thing_than_a_failure(serving: Serving) -> None:
    """Exit 77, and where to put a key."""
    server = serving(lambda *_: (403, {}, b"{}"))
    with pytest.raises(KeyNeeded, match="wants a key") as error:
        web(server, []).get("/x", {})
    assert error.value.exit_code == 77


def test_an_answer_without_end_is_cut(serving: Serving, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its size, while it comes."""
    monkeypatch.setattr("store.lookups.web.LARGEST", 1_000)
    server = serving(lambda *_: (200, {}, b"x" * 100_000))
    with pytest.raises(LookupFailed, match="larger than"):
        web(server, []).get("/x", {})


def test_a_service_that_is_not_there_is_named() -> None:
    """Nobody listens."""
    with pytest.raises(LookupFailed, match=r"The service: cannot be reached \(ConnectError\)"):
        Web("The service", "http://127.0.0.1:9", gap=0, sleep=lambda _: None).get("/x", {})


def test_nothing_is_asked_twice_and_no_key_is_kept(serving: Serving, tmp_path: Path) -> None:
    """A second run answers from the folder, whatever key it has; an old answer is asked for anew."""
    server = serving(lambda *_: ok({"a": 1}))
    for key in ("secret", "other"):
        assert web(server, [], cache=tmp_path, secret={"api_key": key}).get_json("/x", {"q": "1"}) == {"a": 1}
    assert len(server.asked) == 1
    assert not any(b"secret" in path.read_bytes() or "secret" in path.name for path in tmp_path.rglob("*"))
    web(server, [], cache=tmp_path, days=0).get_json("/x", {"q": "1"})
    assert len(server.asked) == 2


def test_it_keeps_the_gap_that_a_service_wants(serving: Serving) -> None:
    """Measured by its own clock."""
    server, waited, now = serving(lambda *_: ok({})), list[float](), [100.0]
    asked = Web("The service", server.base, gap=3.0, sleep=waited.append, clock=lambda: now[0])
    asked.get("/x", {})
    now[0] += 1.0
    asked.get("/y", {})
    assert waited == [2.0]
