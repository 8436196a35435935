"""Works of OpenAlex: a reply with `meta` and `results`, one work, or one a line as in its snapshot.

The abstract is an index from each word to its places in the text, and is put together again here.
"""

import re
from collections.abc import Iterator

from store.formats import json_items as fields
from store.formats.file import SourceFile
from store.formats.json_items import Item
from store.formats.reading import Options, arxiv_identifiers, entry_type, iso_date
from store.paper import Record, Refused

NAME = "openalex"
WORK = re.compile(r'"id"\s*:\s*"(?:https?://openalex\.org/)?W\d{4,}"')
OWN_NAMES = frozenset("authorships abstract_inverted_index primary_location referenced_works host_venue open_access publication_year".split())
WORK_ID = re.compile(r"(?:^|/)(W\d+)$", re.IGNORECASE)


def matches(file: SourceFile) -> bool:
    """Whether the works have OpenAlex's ids, or several of the names that nobody else uses."""
    names = fields.names_in(file)
    if not names & {"title", "display_name"}:
        return False
    return bool(WORK.search(file.head)) or len(names & OWN_NAMES) > 1


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every work."""
    return fields.records(file, record)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """What OpenAlex says of one work."""
    return Record(
        title=fields.plain(item, "title") or fields.plain(item, "display_name"),
        abstract=_abstract(item),
        entry_type=entry_type(fields.text(item, "type_crossref") or fields.text(item, "type")),
        authors=_authors(item),
        date=iso_date(fields.text(item, "publication_date")) or iso_date(fields.text(item, "publication_year")),
        venue=fields.plain(_source(item), "display_name"),
        language=fields.language(fields.text(item, "language")),
        identifiers=_identifiers(item),
        details=_details(item),
        keywords=_keywords(item),
        references=_references(item),
        notices=("retracted",) if item.get("is_retracted") is True else (),
        line=line,
        raw=raw,
    )


def _abstract(item: Item) -> str:
    """The words in the order of their places; where two claim one place both are kept, where none does nothing stands."""
    index = fields.inner(item, "abstract_inverted_index")
    index = fields.inner(index, "InvertedIndex") or index
    if not index:
        return fields.abstract(item, "abstract")
    places = [
        (place, word)
        for word, found in index.items()
        if isinstance(found, list)
        for place in dict.fromkeys(place for place in found if type(place) is int)
    ]
    places.sort(key=lambda pair: pair[0])
    return fields.unmarked(" ".join(word for _, word in places))


def _authors(item: Item) -> tuple[str, ...]:
    names = (
        fields.text(fields.inner(authorship, "author"), "display_name") or fields.text(authorship, "raw_author_name")
        for authorship in fields.items(item, "authorships")
    )
    return tuple(name for name in names if name)


def _locations(item: Item) -> list[Item]:
    """The places where the work is found, the most important first."""
    best = (fields.inner(item, name) for name in ("primary_location", "best_oa_location"))
    return [location for location in (*best, *fields.items(item, "locations")) if location]


def _source(item: Item) -> Item:
    """The journal or proceedings; a repository where a copy lies is none."""
    source = fields.inner(fields.inner(item, "primary_location"), "source") or fields.inner(item, "host_venue")
    return fields.EMPTY if fields.text(source, "type") == "repository" else source


def _identifiers(item: Item) -> dict[str, str]:
    ids, locations = fields.inner(item, "ids"), _locations(item)
    doi = fields.doi(fields.text(item, "doi") or fields.text(ids, "doi"))
    pdfs = (fields.address(fields.text(location, "pdf_url")) for location in locations)
    return fields.given(
        {
            "doi": doi,
            "arxiv": fields.arxiv_of_doi(doi) or _arxiv(locations),
            "pmid": fields.pmid(fields.text(ids, "pmid")),
            "pmcid": fields.pmcid(fields.text(ids, "pmcid")),
            "openalex": work_id(fields.text(item, "id") or fields.text(ids, "openalex")),
            "url": fields.address(fields.text(fields.inner(item, "primary_location"), "landing_page_url")),
            "pdf": next((pdf for pdf in pdfs if pdf), ""),
        }
    )


def _arxiv(locations: list[Item]) -> str:
    """The arXiv id in the addresses of the copies."""
    for location in locations:
        for name in ("landing_page_url", "pdf_url"):
            url = fields.text(location, name)
            found = arxiv_identifiers(url).get("arxiv", "") if "arxiv" in url.lower() else ""
            found = found or fields.arxiv_of_doi(fields.doi(url))
            if found:
                return found
    return ""


def work_id(value: str) -> str:
    """OpenAlex's id of a work without its address: `W2741809807`."""
    found = WORK_ID.search(value) if value else None
    return found[1].upper() if found else ""


def _details(item: Item) -> dict[str, str]:
    biblio = fields.inner(item, "biblio")
    return fields.given(
        {
            "volume": fields.text(biblio, "volume"),
            "number": fields.text(biblio, "issue"),
            "pages": fields.pages(fields.text(biblio, "first_page"), fields.text(biblio, "last_page")),
            "issn": ", ".join(fields.texts(_source(item), "issn")),
        }
    )


def _keywords(item: Item) -> tuple[str, ...]:
    words = [fields.text(word, "display_name") or fields.text(word, "keyword") for word in fields.items(item, "keywords")]
    return tuple(word for word in (words or fields.texts(item, "keywords")) if word)


def _references(item: Item) -> tuple[str, ...]:
    works = item.get("referenced_works")
    ids = (work_id(work) for work in works if isinstance(work, str)) if isinstance(works, list) else ()
    return tuple(dict.fromkeys(f"openalex:{work}" for work in ids if work))
