"""Look-ups against servers on loopback that answer in the services' shapes, and in shapes that no service should."""

import contextlib
import gzip
import json
import threading
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from store.errors import KeyNeeded, LookupFailed
from store.lookups import Service, open_service
from store.lookups.web import NotUnderstood, Web

DATA = Path(__file__).parents[1] / "data"
ATOM = DATA / "arxiv_atom" / "feed.xml"
TITLE = "Paper Lanterns: Folding Light into Small Models"
WORK = {
    "id": "https://openalex.org/W1", "doi": "https://doi.org/10.1234/walk", "title": "Bridges that walk", "publication_date": "2024-05-01",
    "authorships": [{"author": {"display_name": "Ada Lovelace"}}], "abstract_inverted_index": {"A": [0], "bridge": [1], "walks.": [2]},
    "referenced_works": ["https://openalex.org/W7"], "is_retracted": True, "type": "article",
}  # fmt: skip
PAPER = {"paperId": "abc", "title": "Bridges that walk", "externalIds": {"DOI": "10.1234/walk"}, "authors": [{"name": "Ada Lovelace"}], "year": 2024}
ITEM = {"DOI": "10.1234/walk", "title": ["Bridges that walk"], "type": "journal-article", "author": [{"given": "Ada", "family": "Lovelace"}]}

Answer = tuple[int, dict[str, str], bytes | Iterable[bytes]]
Script = Callable[[str, dict[str, str], bytes], Answer]


def ok(body: object) -> Answer:
    """A reply of JSON."""
    return 200, {"Content-Type": "application/json"}, json.dumps(body).encode()


def kept(name: str) -> Answer:
    """A reply in a service's own shape."""
    return 200, {}, (DATA / "lookups" / name).read_bytes()


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
                if isinstance(data, bytes):
                    if "Content-Length" not in headers:
                        self.send_header("Content-Length", str(len(data)))
                    data = [data]
                self.end_headers()
                with contextlib.suppress(OSError):  # who asked has heard enough
                    for part in data:
                        self.wfile.write(part)

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                """Quiet."""

        self.asked = asked
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

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
        ((302, {"Location": "//example.org/elsewhere"}, b""), "wants to send us to example.org"),
        ((302, {"Location": "https://example.org:443/elsewhere"}, b""), "wants to send us to example.org"),
        ((302, {"Location": "http://["}, b""), "wants to send us|none of the web"),
        ((302, {"Location": "/x"}, b""), "redirects without end"),
        ((304, {}, b""), "refuses the request"),
        ((200, {}, b"   "), "answered nothing"),
        ((200, {}, b""), "answered nothing"),
        ((200, {}, b"\xff\xfe\x00"), "no JSON"),
        ((200, {}, b"[" * 100_000), "no JSON"),
        ((200, {"Content-Length": "900"}, b'{"a": 1'), "broke off its answer"),
        ((200, {"Content-Encoding": "gzip"}, b"no gzip"), "broke off its answer"),
        ((200, {}, b"Rate exceeded."), "is asked too often"),
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
    with pytest.raises(KeyNeeded, match=r"wants a key .*\$SERVICE_KEY") as error:
        web(server, [], key_name="SERVICE_KEY").get("/x", {})
    assert error.value.exit_code == 77
    with pytest.raises(KeyNeeded, match="refuses the key"):
        web(server, [], key_name="SERVICE_KEY", has_key=True).get("/x", {})
    with pytest.raises(LookupFailed, match="does not let us in") as error:
        web(server, []).get("/x", {})
    assert error.value.exit_code == 69


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


# the services' own shapes


@pytest.mark.parametrize(
    ("name", "reply", "identifier", "notices", "total"),
    [
        ("arxiv", "arxiv_query.xml", ("arxiv", "2604.01234"), (), 41),
        ("openalex", "openalex_works.json", ("doi", "10.55555/lantern.2026.7"), ("retracted",), 2),
        ("crossref", "crossref_works.json", ("doi", "10.55555/lantern.2026.7"), ("retracted",), 2),
        ("semanticscholar", "semantic_scholar_search.json", ("arxiv", "2604.01234"), (), 2),
    ],
)
def test_a_reply_is_read_whatever_its_type_is_said_to_be(
    serving: Serving, name: str, reply: str, identifier: tuple[str, str], notices: tuple[str, ...], total: int
) -> None:
    """Its body decides; an item that is nothing loses no other."""
    _, _, data = kept(reply)
    found = open_service(name, base=serving(lambda *_: (200, {"Content-Type": "text/html"}, data)).base).find("lanterns", 2)
    first = found.records[0]
    assert (first.title, first.authors[0], first.identifiers[identifier[0]], first.notices) == (TITLE, "Mina Okafor", identifier[1], notices)
    assert (found.total, all(record.title or record.identifiers for record in found.records)) == (total, True)


def ask(service: Service) -> object:
    return service.find("lanterns", 2)


@pytest.mark.parametrize("name", ["arxiv", "openalex", "crossref", "semanticscholar"])
@pytest.mark.parametrize(
    "body",
    [
        (DATA / "lookups" / "portal.html").read_bytes(), b"null", b'"text"', b"7", b"{}", b"[]", b'{"message": []}', b'{"message": {"items": 7}}',
        b'{"results": "none", "meta": 5}', b'{"data": 3, "total": 1}', b'{"error": "Internal"}', (DATA / "lookups" / "arxiv_query.xml").read_bytes()[:1500],
    ],
)  # fmt: skip
def test_no_service_mistakes_for_an_answer_what_is_none(serving: Serving, tmp_path: Path, name: str, body: bytes) -> None:
    """One line that names the service, whatever came; and it is not kept, so that the next time may be better."""
    server = serving(lambda *_: (200, {}, body))
    with pytest.raises(LookupFailed, match=r"^(arXiv|OpenAlex|Crossref|Semantic Scholar): [^\n]+$"):
        ask(open_service(name, base=server.base, cache=tmp_path))
    assert not list(tmp_path.iterdir())


def test_arxiv_says_in_a_feed_what_it_does_not_understand(serving: Serving) -> None:
    """With code 200 and one entry, which is no paper."""
    with pytest.raises(NotUnderstood, match="does not understand what it was asked: malformed query: a parenthesis"):
        ask(open_service("arxiv", base=serving(lambda *_: kept("arxiv_error.xml")).base))


def test_one_identifier_that_is_refused_loses_no_other(serving: Serving) -> None:
    """The batch is asked for in halves; when all are refused, that is said."""

    def answer(path: str, parameters: dict[str, str], body: bytes) -> Answer:
        ids = json.loads(body)["ids"]
        return (400, {}, b'{"error": "bad id"}') if "DOI:10.1/bad" in ids else ok([{**PAPER, "title": name} for name in ids])

    service = open_service("semanticscholar", base=serving(answer).base)
    wanted = [{"doi": f"10.1/{n}"} for n in ("a", "b", "bad", "c", "d")]
    assert [record.title for record in service.by_ids(wanted)] == [f"DOI:10.1/{n}" for n in "abcd"]
    with pytest.raises(LookupFailed, match="refuses the request"):
        service.by_ids([{"doi": "10.1/bad"}])


def test_semantic_scholar_refuses_a_batch_of_which_it_knows_nothing(serving: Serving) -> None:
    """That is no failure."""
    server = serving(lambda *_: (400, {}, b'{"error": "No valid paper ids given"}'))
    assert open_service("semanticscholar", base=server.base).by_ids([{"doi": f"10.1/{n}"} for n in range(9)]) == []
    assert len(server.asked) == 1


@pytest.mark.parametrize(("name", "path"), [("openalex", "/works/doi:10.1/a,b"), ("crossref", "/works/10.1%2Fa%2Cb")])
def test_a_doi_that_would_part_a_filter_is_asked_for_alone(serving: Serving, name: str, path: str) -> None:
    """And when nobody knows it, the others are still found."""

    def answer(asked: str, parameters: dict[str, str], _: bytes) -> Answer:
        if "filter" not in parameters:
            return 404, {}, b"Resource not found."
        return ok({"meta": {}, "results": [WORK], "message": {"items": [ITEM]}})

    server = serving(answer)
    found = open_service(name, base=server.base).by_ids([{"doi": "10.1/a,b"}, {"doi": "10.1234/walk"}, {"doi": "10.1234/walk"}])
    assert [record.title for record in found] == ["Bridges that walk"]
    assert server.asked[0][0].replace("%2C", ",") == path.replace("%2C", ",")
    assert server.asked[1][1]["filter"] == "doi:10.1234/walk"


def test_what_is_no_arxiv_id_is_not_asked_for(serving: Serving) -> None:
    """One malformed id would have the whole list refused."""
    server = serving(lambda *_: kept("arxiv_query.xml"))
    open_service("arxiv", base=server.base).by_ids([{"arxiv": "2604.01234"}, {"arxiv": "no id"}, {"arxiv": "hep-th/9901001"}])
    assert [asked[1]["id_list"] for asked in server.asked] == ["2604.01234,hep-th/9901001"]


@pytest.mark.parametrize("name", ["openalex", "crossref", "semanticscholar"])
def test_pages_are_turned_past_items_that_are_nothing(serving: Serving, name: str) -> None:
    """Until there are as many as asked for, and no further than the last."""
    many = 2_500

    def answer(path: str, parameters: dict[str, str], _: bytes) -> Answer:
        size = int(parameters.get("per-page") or parameters.get("rows") or parameters["limit"])
        at = (int(parameters["page"]) - 1) * size if "page" in parameters else int(parameters.get("offset", 0))
        some = [None if n == 3 else {"title": f"T{n}" if name != "crossref" else [f"T{n}"]} for n in range(at, min(at + size, many))]
        more = {"next": at + size} if at + size < many else {}
        return ok({"meta": {"count": many}, "results": some, "message": {"items": some, "total-results": many}, "data": some, "total": many, **more})

    server = serving(answer)
    service = open_service(name, base=server.base)
    found = service.find("walking", 1_200)
    assert [record.title for record in found.records] == [f"T{n}" for n in range(1_201) if n != 3]
    assert (found.total, len(service.find("walking", 9_000).records)) == (many, many - 1)


def test_a_service_whose_pages_never_end_is_left(serving: Serving) -> None:
    """After twice as many as are due."""
    server = serving(lambda *_: ok({"meta": {"count": 10**9}, "results": [{}] * 5}))
    assert open_service("openalex", base=server.base).find("x", 5).records == []
    assert len(server.asked) == 2


# keys


@pytest.mark.parametrize("code", [401, 403, 409, 429])
def test_openalex_without_a_key_says_where_to_get_one(serving: Serving, code: int) -> None:
    """Whether or not a contact address is set; at once, and not after four tries."""
    server = serving(lambda *_: (code, {}, b"{}"))
    with pytest.raises(KeyNeeded, match=r"OpenAlex: wants a key .*since February 2026.*\$OPENALEX_API_KEY"):
        ask(open_service("openalex", base=server.base, contact="ada@example.org"))
    assert len(server.asked) == 1


def test_no_key_follows_a_redirect_to_another_host(serving: Serving) -> None:
    """Nor can a path be written so that it becomes a host; on the same host the key goes along."""
    other = serving(lambda *_: ok({"stolen": True}))
    host = other.base.removeprefix("http://")
    for location in (f"@{host}/x", f".{host}/x", f"x@{host}", "next?page=2", "/y?page=2"):
        replies = iter([(302, {"Location": location}, b""), ok({"a": 1})])
        server = serving(lambda *_, replies=replies: next(replies))
        assert web(server, [], secret={"api_key": "secret"}, headers={"x-api-key": "secret"}).get_json("/x", {"q": "1"}) == {"a": 1}
        assert server.asked[1][1].get("api_key") == "secret"
    assert (server.asked[1][0], server.asked[1][1]["page"]) == ("/y", "2")
    for location in (f"//{host}/x", f"{other.base}/x", f"http://127.0.0.1@{host}/x"):
        server = serving(lambda *_, location=location: (302, {"Location": location}, b""))
        with pytest.raises(LookupFailed, match="wants to send us"):
            web(server, [], secret={"api_key": "secret"}, headers={"x-api-key": "secret"}).get("/x", {})
    assert other.asked == []


@pytest.mark.parametrize("more", [{"headers": {"x-api-key": "schlüssel"}}, {"headers": {"x-api-key": "two\nlines"}}, {"contact": "zoë@example.org"}])
def test_a_key_that_cannot_be_sent_is_said_to_be_none(serving: Serving, more: dict[str, object]) -> None:
    """Without showing it, and without trying again."""
    waited: list[float] = []
    with pytest.raises(LookupFailed, match="letters that cannot be sent") as error:
        web(serving(lambda *_: ok({})), waited, **more).get("/x", {})
    assert ("schl" in str(error.value), waited) == (False, [])


@pytest.mark.parametrize("base", ["api.example.org", "ftp://127.0.0.1/x", "http://127.0.0.1:no"])
def test_an_address_that_is_none_is_said_to_be_none(base: str) -> None:
    """With where it is set."""
    with pytest.raises(LookupFailed, match=r"none of the web; see \[lookups\] in carrel.toml"):
        Web("The service", base, gap=0, sleep=lambda _: None).get("/x", {})


# time and size


def test_how_long_to_wait_may_be_a_date(serving: Serving) -> None:
    """Or nonsense, and then it is not waited for; a service that wants an hour of quiet has it."""
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True)
    waited: list[float] = []
    for header in (soon, "\xb2", "soon", "-5", "Thu, 01 Jan 1970 00:00:00 GMT"):
        answers = iter([(503, {"Retry-After": header}, b""), ok({})])
        web(serving(lambda *_, answers=answers: next(answers)), waited).get("/x", {})
    assert 20 < waited[0] <= 30
    assert [1 <= wait < 2 for wait in waited[1:4]] == [True, True, True]
    assert waited[4] == 0
    server = serving(lambda *_: (429, {"Retry-After": "3600"}, b""))
    with pytest.raises(LookupFailed, match="wants 60 min of quiet"):
        web(server, waited).get("/x", {})
    assert (len(server.asked), len(waited)) == (1, 5)


def test_a_body_that_trickles_is_left(serving: Serving) -> None:
    """After a minute by the clock, four times."""
    now = iter(range(0, 10**6, 20))
    server = serving(lambda *_: (200, {}, [b"x" * 100_000] * 20))
    with pytest.raises(LookupFailed, match="was still sending after 60 s, 4 times over"):
        web(server, [], clock=lambda: float(next(now))).get("/x", {})
    assert len(server.asked) == 4


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}])
def test_a_body_of_60_mb_is_refused_in_bounded_memory(serving: Serving, headers: dict[str, str]) -> None:
    """Packed or not."""
    block = bytes(2**20)
    body: bytes | list[bytes] = gzip.compress(block * 60, 1) if headers else [block] * 60
    server = serving(lambda *_: (200, headers, body))
    tracemalloc.start()
    with pytest.raises(LookupFailed, match="larger than 50 MB"):
        web(server, []).get("/x", {})
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 130 * 2**20


# what is kept


def test_a_page_that_came_instead_is_not_kept(serving: Serving, tmp_path: Path) -> None:
    """Signing in to the network is all it takes; what was damaged on the disk is asked for anew."""
    answers = iter([kept("portal.html"), ok({"a": 1}), ok({"a": 2})])
    asked = web(serving(lambda *_: next(answers)), [], cache=tmp_path)
    with pytest.raises(LookupFailed, match="no JSON"):
        asked.get_json("/x", {})
    assert asked.get_json("/x", {}) == asked.get_json("/x", {}) == {"a": 1}
    (place,) = tmp_path.iterdir()
    place.write_bytes(place.read_bytes()[:4])
    assert asked.get_json("/x", {}) == {"a": 2}


def test_an_answer_that_cannot_be_kept_is_one_all_the_same(serving: Serving, tmp_path: Path) -> None:
    """The folder may be a file."""
    (tmp_path / "file").write_text("", "utf-8")
    assert web(serving(lambda *_: ok({"a": 1})), [], cache=tmp_path / "file" / "in").get_json("/x", {}) == {"a": 1}


def test_other_questions_have_other_answers(serving: Serving, tmp_path: Path) -> None:
    """By parameter, path and body."""
    server = serving(lambda *_: ok([len(server.asked)]))
    asked = web(server, [], cache=tmp_path)
    answers = [asked.post_json("/x", {"fields": fields}, {"ids": ids}) for _ in range(2) for fields in "ab" for ids in (["1"], ["2"])]
    assert answers == [[1], [2], [3], [4]] * 2
