"""arXiv, OpenAlex, Crossref and Semantic Scholar: papers by identifier, by query, and by who cites whom."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol
from urllib.parse import quote

from store.errors import LookupFailed, UnreadableFile
from store.formats import arxiv_atom, crossref, openalex, semantic_scholar
from store.formats.json_items import inner, items
from store.lookups.web import Web
from store.paper import Record, Refused

Identifiers = Mapping[str, str]
TOTAL = re.compile(rb"totalResults[^>]*>\s*(\d+)")
S2_FIELDS = (
    "title,abstract,year,publicationDate,venue,publicationVenue,journal,authors.name,externalIds,publicationTypes,openAccessPdf,url"
)


class Found(NamedTuple):
    """Records that a service gave, and how many it says there are (None where it does not say)."""

    records: list[Record]
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
        numbers = [one["arxiv"] for one in wanted if one.get("arxiv")]
        return [record for part in _parts(numbers, 100) for record in self._asked({"id_list": ",".join(part), "max_results": "100"}).records]

    def find(self, query: str, count: int) -> Found:
        """Preprints whose text holds all words of the query, or what arXiv's own syntax (`ti:`, `au:`) asks for."""
        is_syntax = re.search(r"\b(?:ti|au|abs|cat|all|co|jr|id):", query)
        said = query if is_syntax else " AND ".join(f"all:{word}" for word in re.findall(r"[^\W_]+(?:-[^\W_]+)*", query))
        return self._asked({"search_query": said, "start": "0", "max_results": str(min(count, 300))})

    def citing(self, paper: Identifiers, count: int) -> Found:
        """Nothing: arXiv keeps no citations."""
        raise LookupFailed("arXiv: it keeps no citations; ask --from openalex or --from semanticscholar")

    cited_by = citing

    def _asked(self, parameters: Mapping[str, str]) -> Found:
        data = self.web.get("/query", parameters)
        try:
            records = _usable(arxiv_atom.entries(data))
        except UnreadableFile as error:
            raise LookupFailed(f"arXiv: its answer cannot be read ({error}); try again later") from error
        total = TOTAL.search(data)
        if not records and total is None:
            raise LookupFailed("arXiv: its answer is no feed; try again later")
        return Found(records, int(total[1]) if total else None)


@dataclass
class OpenAlex:
    """The interface of OpenAlex."""

    web: Web
    name: str = "openalex"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The works of these identifiers; a preprint is asked for by its DOI."""
        found: list[Record] = []
        for kind, values in _by_kind(wanted, self._name).items():
            for part in _parts(values, 50):
                found += self._works({"filter": f"{kind}:{'|'.join(part)}"}, len(part)).records
        return found

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
        records: list[Record] = []
        total: int | None = None
        page = 1
        while len(records) < count:
            size = min(count, 200)
            answer = self.web.get_json("/works", {**parameters, "per-page": str(size), "page": str(page)})
            some = items(answer, "results")
            if "results" not in answer:
                raise LookupFailed("OpenAlex: its answer holds no results; try again later")
            total = _whole(inner(answer, "meta").get("count"))
            records += _usable(openalex.record(one) for one in some)
            if len(some) < size:
                break
            page += 1
        return Found(records[:count], total)


@dataclass
class Crossref:
    """The interface of Crossref. It tells what a work cites, not what cites it."""

    web: Web
    name: str = "crossref"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The works of these DOIs."""
        found: list[Record] = []
        for part in _parts([one["doi"] for one in wanted if one.get("doi")], 20):
            found += self._works({"filter": ",".join(f"doi:{doi}" for doi in part)}, len(part)).records
        return found

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
        work = crossref.record(inner(self.web.get_json(f"/works/{quote(paper['doi'], safe='')}", {}), "message"))
        cited = [name.removeprefix("doi:") for name in work.references] if isinstance(work, Record) else []
        return Found(self.by_ids([{"doi": doi} for doi in cited[:count]]), len(cited))

    def _works(self, parameters: Mapping[str, str], count: int) -> Found:
        message = inner(self.web.get_json("/works", {**parameters, "rows": str(min(count, 1000))}), "message")
        if "items" not in message:
            raise LookupFailed("Crossref: its answer holds no items; try again later")
        return Found(_usable(crossref.record(one) for one in items(message, "items"))[:count], _whole(message.get("total-results")))


@dataclass
class SemanticScholar:
    """The Graph interface of Semantic Scholar."""

    web: Web
    name: str = "semanticscholar"

    def by_ids(self, wanted: Sequence[Identifiers]) -> list[Record]:
        """The papers of these identifiers."""
        names = [name for one in wanted if (name := self._name(one))]
        found: list[Record] = []
        for part in _parts(names, 500):
            answer = self.web.post_json("/graph/v1/paper/batch", {"fields": f"{S2_FIELDS},references.externalIds"}, {"ids": part})
            found += _usable(semantic_scholar.record(one) for one in answer if isinstance(one, dict))
        return found

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
        return quote(name, safe=":")

    @staticmethod
    def _name(one: Identifiers) -> str:
        kinds = (("semanticscholar", ""), ("doi", "DOI:"), ("arxiv", "ARXIV:"), ("pmid", "PMID:"))
        return next((f"{prefix}{one[kind]}" for kind, prefix in kinds if one.get(kind)), "")

    def _listed(self, path: str, parameters: Mapping[str, str], count: int) -> Found:
        records: list[Record] = []
        total: int | None = None
        offset = 0
        while len(records) < count:
            limit = min(count, 100)
            answer = self.web.get_json(path, {**parameters, "fields": S2_FIELDS, "offset": str(offset), "limit": str(limit)})
            if "data" not in answer:
                if answer.get("total") == 0:
                    return Found([], 0)
                raise LookupFailed("Semantic Scholar: its answer holds no data; try again later")
            some = items(answer, "data")
            total = _whole(answer.get("total")) if "total" in answer else total
            records += _usable(semantic_scholar.record(one) for one in some)
            offset += limit
            if len(some) < limit:
                break
        return Found(records[:count], total)


class Address(NamedTuple):
    """A service's maker, its public address, the least seconds between two requests, and where its key belongs."""

    make: Callable[[Web], Service]
    title: str
    base: str
    gap: float
    key_in: str = ""


SERVICES: Mapping[str, Address] = {
    "arxiv": Address(ArXiv, "arXiv", "https://export.arxiv.org/api", 3.0),
    "openalex": Address(OpenAlex, "OpenAlex", "https://api.openalex.org", 0.2, "api_key"),
    "crossref": Address(Crossref, "Crossref", "https://api.crossref.org", 0.2),
    "semanticscholar": Address(SemanticScholar, "Semantic Scholar", "https://api.semanticscholar.org", 1.0, "x-api-key"),
}


def _usable(given: Iterable[Record | Refused]) -> list[Record]:
    """The records among what a service gave; one bad item loses no other."""
    return [item for item in given if isinstance(item, Record) and (item.title or item.identifiers)]


def _by_kind(wanted: Sequence[Identifiers], name: Callable[[Identifiers], tuple[str, str] | None]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for one in wanted:
        if named := name(one):
            kinds.setdefault(named[0], []).append(named[1])
    return kinds


def _parts(values: Sequence[str], size: int) -> list[Sequence[str]]:
    return [values[at : at + size] for at in range(0, len(values), size)]


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
