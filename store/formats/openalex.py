"""OpenAlex works, as its interface and its snapshots give them."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.json_items import Item, inner, items, objects, text, words
from store.formats.reading import Options, arxiv_id, doi_in, entry_type, iso_date
from store.formats.tagged import given, pages
from store.formats.text import clean
from store.language import language_code
from store.paper import Record, Refused

NAME = "openalex"
TELLING = re.compile(r'"(?:abstract_inverted_index|authorships|referenced_works|primary_location)"\s*:')
MOST_WORDS = 20_000
NUMBER = re.compile(r"[WPA]?\d+$")


def matches(file: SourceFile) -> bool:
    """Whether items have OpenAlex's names."""
    return not file.is_zip and bool(TELLING.search(file.head)) and "openalex.org" in file.head


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every work of the file."""
    for found in items(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """The record of a work."""
    if not any(name in item for name in ("title", "display_name", "id", "doi")):
        return Refused(line, "neither a title nor an id: not a work of OpenAlex")
    place = inner(item, "primary_location")
    biblio = inner(item, "biblio")
    source = inner(place, "source")
    return Record(
        title=text(item, "title", "display_name"),
        abstract=abstract_of(inner(item, "abstract_inverted_index")),
        entry_type=entry_type(text(item, "type_crossref", "type")),
        authors=tuple(
            name for one in objects(item, "authorships") if (name := text(inner(one, "author"), "display_name") or text(one, "raw_author_name"))
        ),
        date=iso_date(text(item, "publication_date") or text(item, "publication_year")),
        venue=text(source, "display_name"),
        language=language_code(text(item, "language")),
        identifiers=given(
            doi=doi_in(text(item, "doi") or text(inner(item, "ids"), "doi")),
            arxiv=_arxiv(item),
            pmid=_tail(text(inner(item, "ids"), "pmid")),
            pmcid=_pmc(text(inner(item, "ids"), "pmcid")),
            openalex=_tail(text(item, "id")),
            url=text(place, "landing_page_url"),
            pdf=text(inner(item, "best_oa_location"), "pdf_url") or text(place, "pdf_url"),
        ),
        details=given(
            volume=text(biblio, "volume"),
            number=text(biblio, "issue"),
            pages=pages(text(biblio, "first_page"), text(biblio, "last_page")),
            issn=text(source, "issn_l"),
        ),
        keywords=tuple(name for one in objects(item, "keywords") if (name := text(one, "display_name", "keyword"))) or words(item, "keywords"),
        references=tuple(f"openalex:{_tail(work)}" for work in words(item, "referenced_works")),
        notices=("retracted",) if item.get("is_retracted") is True else (),
        line=line,
        raw=raw,
    )


def abstract_of(inverted: Item) -> str:
    """The abstract from the places at which each of its words stands; places nobody can have are left out."""
    placed: dict[int, str] = {}
    for word, places in inverted.items():
        if isinstance(places, list):
            for place in places:
                if isinstance(place, int) and not isinstance(place, bool) and 0 <= place < MOST_WORDS:
                    placed.setdefault(place, word)
    said = clean(" ".join(placed[place] for place in sorted(placed)))
    return re.sub(r"^Abstract:?\s+(?=[A-Z])", "", said)


def _arxiv(item: Item) -> str:
    found = re.match(r"10\.48550/arxiv\.(.+)", doi_in(text(item, "doi")))
    if found:
        return arxiv_id(found[1])
    links = [text(place, "landing_page_url", "pdf_url") for place in [inner(item, "primary_location"), *objects(item, "locations")]]
    return next((number for link in links if (number := arxiv_id(link.replace("http://", "https://")))), "")


def _tail(address: str) -> str:
    """The last part of an address that is an id: `https://openalex.org/W123` → `W123`."""
    last = address.rstrip("/").rpartition("/")[2]
    return last if NUMBER.match(last) else ""


def _pmc(address: str) -> str:
    found = re.search(r"(?:PMC)?(\d+)/?$", address)
    return f"PMC{found[1]}" if found else ""
