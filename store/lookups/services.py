"""arXiv, OpenAlex, Crossref and Semantic Scholar: papers by identifier, by query, and by who cites whom."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol
from urllib.parse import quote

from store.errors import LookupFailed, UnreadableFile
from store.formats import arxiv_atom, crossref, openalex, semantic_scholar
from store.formats.json_items import inner, items
from store.formats.reading import arxiv_id
from store.lookups.web import NotUnderstood, Web
from store.paper import Record, Refused

Identifiers = Mapping[str, str]
TOTAL = re.compile(rb"totalResults[^>]*>\s*(\d+)")
FEED_END = re.compile(rb"</(?:\w+:)?feed>\s*$")
MOST_REFUSALS = 16
"""Of parts of one list of identifiers; a service that refuses more has another reason than a bad one among them."""
S2_FIELDS = (
    "title,abstract,year,publicationDate,venue,publicationVenue,journal,authors.name,externalIds,publicationTypes,openAccessPdf,url"
)


class Found(NamedTuple):
    """Records that a service gave, and how many it says there are (None where it does not say)."""

    records: list[Record]
    total: int | None


class _Page(NamedTuple):
    """The records of one page, how many items it had, readable or not, and what there is in all."""

    records: list[Record]
    given: int
    total: int | None


class Service(Protocol):
    """A place where papers can be looked up."""

    name: str

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The papers of these identifiers that it knows, in no order; raises LookupFailed."""

    def find(self, query: str, count: int) -> Found:
        """The first papers that fit a query."""

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Papers that cite this one; raises LookupFailed where the service cannot tell."""

    def cited_by(self, paper: Identifiers, count: int) -> Found:
        """Papers that this one cites."""


@dataclass
class ArXiv:
    """The interface of arXiv. It knows no citations."""

    web: Web
    name: str = "arxiv"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The preprints of these arXiv ids."""
        numbers = [number for one in wanted if (number := arxiv_id(one.get("arxiv", "")))]
        return _in_parts(numbers, 100, lambda part: self._asked({"id_list": ",".join(part), "max_results": str(len(part))}).records)

    def find(self, query: str, count: int) -> Found:
        """Preprints whose text holds all words of the query, or what arXiv's own syntax (`ti:`, `au:`) asks for."""
        is_syntax = re.search(r"\b(?:ti|au|abs|cat|all|co|jr|id):", query)
        said = query if is_syntax else " AND ".join(f"all:{word}" for word in re.findall(r"[^\W_]+(?:-[^\W_]+)*", query))
        return _paged(
            count, 300, lambda turn, size: self._asked({"search_query": said, "start": str(turn * size), "max_results": str(size)})
        )

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Nothing: arXiv keeps no citations."""
        raise LookupFailed("arXiv: it keeps no citations; ask --from openalex or --from semanticscholar")

    cited_by = citing

    def _asked(self, parameters: Mapping[str, str]) -> _Page:
        return self.web.get_as("/query", parameters, self._page)

    @staticmethod
    def _page(data: bytes) -> _Page:
        """What a feed holds; arXiv says what it does not understand in a feed too, as its one entry."""
        if not FEED_END.search(data[-200:]):
            raise LookupFailed("arXiv: its answer is no feed, or is cut off; try again later")
        try:
            given = arxiv_atom.entries(data)
        except UnreadableFile as error:
            raise LookupFailed(f"arXiv: its answer cannot be read ({error}); try again later") from error
        records = _usable(given)
        refusal = next((item.reason for item in given if isinstance(item, Refused)), "")
        if refusal and not records:
            said = " ".join(refusal.removeprefix("arXiv says:").split())
            raise NotUnderstood(f"arXiv: does not understand what it was asked: {said[:200]}")
        total = TOTAL.search(data)
        return _Page(records, len(given), int(total[1]) if total else None)


@dataclass
class OpenAlex:
    """The interface of OpenAlex."""

    web: Web
    name: str = "openalex"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The works of these identifiers; a preprint is asked for by its DOI."""
        kinds = _by_kind(wanted, self._name)
        odd = [doi for doi in kinds.get("doi", []) if set(doi) & set(",|")]  # these part the values of a filter
        found = _in_parts(odd, 1, lambda part: _known(lambda: self._work(part[0])))
        for kind, values in kinds.items():
            found += _in_parts([value for value in values if value not in odd], 50, partial(self._of_kind, kind))
        return found

    def _work(self, doi: str) -> Record | Refused:
        return openalex.record(self.web.get_json(f"/works/doi:{quote(doi, safe='/')}", {}))

    def _of_kind(self, kind: str, part: Sequence[str]) -> list[Record]:
        return self._works({"filter": f"{kind}:{'|'.join(part)}"}, len(part)).records

    def find(self, query: str, count: int) -> Found:
        """Works that fit a query best."""
        return self._works({"search": query}, count)

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Works that cite this one."""
        return self._works({"filter": f"cites:{self._number(paper)}"}, count)

    def cited_by(self, paper: Identifiers, count: int) -> Found:
        """Works that this one cites."""
        return self._works({"filter": f"cited_by:{self._number(paper)}"}, count)

    def _number(self, paper: Identifiers) -> str:
        if number := paper.get("openalex"):
            return number
        number = next((record.identifiers["openalex"] for record in self.by_ids([paper]) if "openalex" in record.identifiers), "")
        if not number:
            raise LookupFailed("OpenAlex: it does not know that paper by its identifiers")
        return number

    @staticmethod
    def _name(one: Identifiers) -> tuple[str, str] | None:
        for kind, name in (("openalex", "openalex"), ("doi", "doi"), ("pmid", "pmid")):
            if one.get(kind):
                return name, one[kind]
        return ("doi", f"10.48550/arxiv.{one['arxiv']}") if one.get("arxiv") else None

    def _works(self, parameters: Mapping[str, str], count: int) -> Found:
        def page(turn: int, size: int) -> _Page:
            answer = self.web.get_json("/works", {**parameters, "per-page": str(size), "page": str(turn + 1)}, ("results",))
            records = _usable(openalex.record(one) for one in items(answer, "results"))
            return _Page(records, _length(answer, "results"), _whole(inner(answer, "meta").get("count")))

        return _paged(count, 200, page)


@dataclass
class Crossref:
    """The interface of Crossref. It tells what a work cites, not what cites it."""

    web: Web
    name: str = "crossref"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The works of these DOIs."""
        dois = [one["doi"] for one in wanted if one.get("doi")]
        alone = _in_parts([doi for doi in dois if "," in doi], 1, lambda part: _known(lambda: self._work(part[0])))  # a comma parts filters
        return alone + _in_parts([doi for doi in dois if "," not in doi], 20, self._of_dois)

    def _of_dois(self, part: Sequence[str]) -> list[Record]:
        return self._works({"filter": ",".join(f"doi:{doi}" for doi in part)}, len(part)).records

    def _work(self, doi: str) -> Record | Refused:
        return crossref.record(inner(self.web.get_json(f"/works/{quote(doi, safe='')}", {}), "message"))

    def find(self, query: str, count: int) -> Found:
        """Works that fit a query best."""
        return self._works({"query.bibliographic": query}, count)

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Nothing: Crossref's open interface does not tell."""
        raise LookupFailed("Crossref: it does not tell who cites a work; ask --from openalex or --from semanticscholar")

    def cited_by(self, paper: Identifiers, count: int) -> Found:
        """The works with a DOI that this one cites."""
        if not paper.get("doi"):
            raise LookupFailed("Crossref: it knows works by their DOI alone, and this paper has none")
        work = self._work(paper["doi"])
        cited = [name.removeprefix("doi:") for name in work.references] if isinstance(work, Record) else []
        return Found(self.by_ids([{"doi": doi} for doi in cited[:count]]), len(cited))

    def _works(self, parameters: Mapping[str, str], count: int) -> Found:
        def page(turn: int, size: int) -> _Page:
            where = {"offset": str(turn * size)} if turn else {}
            message = inner(self.web.get_json("/works", {**parameters, **where, "rows": str(size)}, ("message", "items")), "message")
            records = _usable(crossref.record(one) for one in items(message, "items"))
            return _Page(records, _length(message, "items"), _whole(message.get("total-results")))

        return _paged(count, 1000, page)


@dataclass
class SemanticScholar:
    """The Graph interface of Semantic Scholar."""

    web: Web
    name: str = "semanticscholar"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The papers of these identifiers."""
        return _in_parts([name for one in wanted if (name := self._name(one))], 500, self._batch)

    def _batch(self, part: Sequence[str]) -> list[Record]:
        try:
            answer = self.web.post_json("/graph/v1/paper/batch", {"fields": f"{S2_FIELDS},references.externalIds"}, {"ids": list(part)})
        except NotUnderstood as error:
            if "No valid paper ids" in error.said:  # it knows none of them
                return []
            raise
        return _usable(semantic_scholar.record(one) for one in answer if isinstance(one, dict))

    def find(self, query: str, count: int) -> Found:
        """Papers that fit a query best."""
        return self._listed("/graph/v1/paper/search", {"query": query}, count)

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Papers that cite this one."""
        return self._listed(f"/graph/v1/paper/{self._path(paper)}/citations", {}, count)

    def cited_by(self, paper: Identifiers, count: int) -> Found:
        """Papers that this one cites."""
        return self._listed(f"/graph/v1/paper/{self._path(paper)}/references", {}, count)

    def _path(self, paper: Identifiers) -> str:
        name = self._name(paper)
        if not name:
            raise LookupFailed("Semantic Scholar: it knows papers by DOI, arXiv id or PMID, and this one has none")
        return quote(name, safe=":/")

    @staticmethod
    def _name(one: Identifiers) -> str:
        kinds = (("semanticscholar", ""), ("doi", "DOI:"), ("arxiv", "ARXIV:"), ("pmid", "PMID:"))
        return next((f"{prefix}{one[kind]}" for kind, prefix in kinds if one.get(kind)), "")

    def _listed(self, path: str, parameters: Mapping[str, str], count: int) -> Found:
        def page(turn: int, size: int) -> _Page:
            asked = {**parameters, "fields": S2_FIELDS, "offset": str(turn * size), "limit": str(size)}
            answer = self.web.get_json(path, asked, holds=("data",))
            given = size if "next" in answer else _length(answer, "data")
            return _Page(_usable(semantic_scholar.record(one) for one in items(answer, "data")), given, _whole(answer.get("total")))

        return _paged(count, 100, page)


class Address(NamedTuple):
    """A service's maker, its public address, the least seconds between two requests, where its key belongs and is taken from."""

    make: Callable[[Web], Service]
    title: str
    base: str
    gap: float
    key_in: str = ""
    key_name: str = ""
    needs_key: bool = False


SERVICES: Mapping[str, Address] = {
    "arxiv": Address(ArXiv, "arXiv", "https://export.arxiv.org/api", 3.0),
    "openalex": Address(OpenAlex, "OpenAlex", "https://api.openalex.org", 0.2, "api_key", "OPENALEX_API_KEY", needs_key=True),
    "crossref": Address(Crossref, "Crossref", "https://api.crossref.org", 0.2),
    "semanticscholar": Address(
        SemanticScholar, "Semantic Scholar", "https://api.semanticscholar.org", 1.0, "x-api-key", "SEMANTIC_SCHOLAR_API_KEY"
    ),
}


def _usable(given: Iterable[Record | Refused]) -> list[Record]:
    """The records among what a service gave; one bad item loses no other."""
    return [item for item in given if isinstance(item, Record) and (item.title or item.identifiers)]


def _known(ask: Callable[[], Record | Refused]) -> list[Record]:
    """The one record that is asked for, or none where the service does not know it."""
    try:
        return _usable([ask()])
    except NotUnderstood as refusal:
        if refusal.is_unknown:
            return []
        raise


def _by_kind(wanted: Sequence[Identifiers], name: Callable[[Identifiers], tuple[str, str] | None]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for one in wanted:
        if named := name(one):
            kinds.setdefault(named[0], []).append(named[1])
    return kinds


def _in_parts(values: Iterable[str], size: int, ask: Callable[[Sequence[str]], list[Record]]) -> list[Record]:
    """What `ask` gives for all values; a part that is refused is asked for in halves, so that a bad value loses no other."""
    distinct = list(dict.fromkeys(values))
    waiting = [distinct[at : at + size] for at in range(0, len(distinct), size)][::-1]
    found: list[Record] = []
    refusals: list[NotUnderstood] = []
    is_answered = False
    while waiting:
        part = waiting.pop()
        try:
            found += ask(part)
            is_answered = True
        except NotUnderstood as refusal:
            refusals.append(refusal)
            if len(refusals) > MOST_REFUSALS:
                raise
            half = len(part) // 2
            waiting += [some for some in (part[half:], part[:half]) if half]
    if refusals and not is_answered:
        raise refusals[0]
    return found


def _paged(count: int, largest: int, page: Callable[[int, int], _Page]) -> Found:
    """As many records as asked for, page by page; items that cannot be read are made up for, within twice the pages due."""
    size = max(1, min(count, largest))
    records: list[Record] = []
    total: int | None = None
    for turn in range(2 * -(-count // size)):
        got = page(turn, size)
        records += got.records
        total = got.total if got.total is not None else total
        if len(records) >= count or got.given < size or (total is not None and (turn + 1) * size >= total):
            break
    return Found(records[:count], total)


def _length(answer: Mapping[str, object], name: str) -> int:
    """How many items a list has, readable or not."""
    given = answer.get(name)
    return len(given) if isinstance(given, list) else 0


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
