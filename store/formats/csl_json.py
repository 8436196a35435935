"""CSL-JSON, the citation processors' own layout, as Zotero, pandoc and Better BibTeX write it, and Crossref for one DOI.

It is a list of objects with `id`, `type`, `title`, `author` (each a family and a given name) and `issued` (a year, or year,
month and day, in a list of lists; or a text).
"""

import re
from collections.abc import Iterator

from store.formats import json_items as fields
from store.formats.file import SourceFile
from store.formats.json_items import Item
from store.formats.reading import Options, arxiv_id, arxiv_identifiers, entry_type, iso_date, printed_name
from store.paper import Record, Refused

NAME = "csl-json"
TYPE = re.compile(
    r'"type"\s*:\s*"(?:article(?:-journal|-magazine|-newspaper)?|paper-conference|book|chapter|thesis|report|webpage|post(?:-weblog)?'
    r"|manuscript|dataset|software|speech|legislation|legal_case|patent|entry(?:-encyclopedia|-dictionary)?|review(?:-book)?|broadcast"
    r'|motion_picture|document|journal-article|proceedings-article|book-chapter|posted-content|dissertation|monograph)"'
)
OWN_NAMES = frozenset("date-parts container-title citation-key non-dropping-particle title-short container-title-short".split())
NOT_CROSSREF = re.compile(r'"title"\s*:\s*"')
KEY = re.compile(r"(?=.*[^\W\d_])[^\s{}\"#%,~\\/()'=]{2,120}")
NO_KEY = re.compile(
    r"(?:doi|pmid|pmc|pmcid|arxiv|isbn|url|wikidata|https?|urn):.*|[\da-f]{8}-[\da-f]{4}-[\da-f-]+|ITEM-\d+|10\.\d{4,}.*|PMC\d+", re.IGNORECASE
)
ZOTERO_ITEM = re.compile(r"(?=.*\d)[2-9A-NP-Z]{8}")
FIELD_OF_SCIENCE = "FOS: "  # how DataCite's replies list the OECD's fields among arXiv's categories
IN_NOTE = re.compile(r"^[ \t]*(PMID|PMCID|arXiv)[ \t]*:[ \t]*(\S+)", re.IGNORECASE | re.MULTILINE)


def matches(file: SourceFile) -> bool:
    """Whether the names are CSL's: a kind of work from its list, and names or dates in its own shape."""
    names = fields.names_in(file)
    if not names or "message-type" in names or not ({"title", "id", "DOI"} & names):
        return False
    if {"reference-count", "is-referenced-by-count"} & names and not NOT_CROSSREF.search(file.head):
        return False
    own = bool(names & OWN_NAMES) or ("author" in names and bool(names & {"family", "literal"}))
    return own and (bool(TYPE.search(file.head)) or {"id", "issued"} <= names)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every item of the list."""
    return fields.records(file, record)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """What one CSL item says."""
    return Record(
        title=fields.plain(item, "title"),
        abstract=fields.abstract(item, "abstract"),
        key=key_of(item),
        entry_type=_entry_type(item),
        authors=names_of(item, "author"),
        date=date_of(item, "issued"),
        venue=venue_of(item) or _event(item),
        language=fields.language(fields.text(item, "language")),
        identifiers=_identifiers(item),
        details=details_of(item),
        categories=tuple(category for category in fields.texts(item, "categories") if not category.startswith(FIELD_OF_SCIENCE)),
        keywords=_keywords(item),
        line=line,
        raw=raw,
    )


def key_of(item: Item) -> str:
    """The citation key, where the item has one."""
    return fields.text(item, "citation-key") or citation_key(fields.text(item, "id"))


def citation_key(value: str) -> str:
    """The text if it can be the citation key that a person uses; a web address, a number or a service's id is none."""
    key = value.removeprefix("@")
    return key if KEY.fullmatch(key) and not NO_KEY.fullmatch(key) and not ZOTERO_ITEM.fullmatch(key) else ""


def names_of(item: Item, role: str) -> tuple[str, ...]:
    """The people in a role, as their names are printed."""
    value = item.get(role)
    people: list[object] = value if isinstance(value, list) else [value]
    names = (_name(person) for person in people)
    return tuple(name for name in names if name)


def _name(person: object) -> str:
    """One name; a group's is printed whole."""
    if not isinstance(person, dict):
        return printed_name(fields.printed(person)) if isinstance(person, str) else ""
    family = fields.text(person, "family")
    if not family:
        return fields.text(person, "literal") or fields.text(person, "name") or fields.text(person, "given")
    parts = (fields.text(person, part) for part in ("given", "dropping-particle", "non-dropping-particle"))
    return " ".join(part for part in (*parts, family, fields.text(person, "suffix")) if part)


def date_of(item: Item, *names: str) -> str:
    """The first date under these names, in parts, as a text, or as it was typed."""
    for name in names:
        value = item.get(name)
        if value and (date := _date(value)):
            return date
    return ""


def _date(value: object) -> str:
    if not isinstance(value, dict):
        return iso_date(fields.printed(value))
    parts = value.get("date-parts")
    parts = parts if isinstance(parts, list) and parts else [[]]
    start = parts[0] if isinstance(parts[0], list) else parts
    numbers = [fields.printed(part) for part in start[:3]]
    return iso_date("-".join(numbers).rstrip("-")) or iso_date(fields.text(value, "raw")) or iso_date(fields.text(value, "literal"))


def venue_of(item: Item) -> str:
    """The journal or the book; of a list of two for a part of a book, the first names the series."""
    venues = fields.texts(item, "container-title")
    part = len(venues) > 1 and entry_type(fields.text(item, "type")) in {"incollection", "inproceedings"}
    return fields.plain({"": venues[-1 if part else 0]}, "") if venues else ""


def _event(item: Item) -> str:
    """The conference at which a paper was given, where no proceedings are named."""
    given = fields.text(item, "type") == "paper-conference"
    return fields.plain(item, "event-title") or fields.plain(item, "event") if given else ""


def _entry_type(item: Item) -> str:
    """The kind of work; CSL's plain `article` stands in no journal, it is a preprint."""
    said = fields.text(item, "type")
    return "misc" if said == "article" and not item.get("container-title") else entry_type(said)


def _keywords(item: Item) -> tuple[str, ...]:
    value = item.get("keyword")
    return tuple(fields.texts(item, "keyword")) if isinstance(value, list) else fields.listed(fields.printed(value))


def _identifiers(item: Item) -> dict[str, str]:
    doi, url = fields.doi(fields.text(item, "DOI")), fields.address(fields.text(item, "URL"))
    noted = _noted(item)
    return fields.given(
        {
            "doi": doi,
            "arxiv": fields.arxiv_of_doi(doi) or _archived(item) or arxiv_identifiers(url).get("arxiv", "") or arxiv_id(noted.get("arxiv", "")),
            "pmid": fields.pmid(fields.text(item, "PMID")) or fields.pmid(noted.get("pmid", "")),
            "pmcid": fields.pmcid(fields.text(item, "PMCID")) or fields.pmcid(noted.get("pmcid", "")),
            "url": url,
        }
    )


def _archived(item: Item) -> str:
    """The arXiv id where a preprint's number or place in its archive is one."""
    for name in ("number", "archive_location", "archive-place"):
        value = fields.text(item, name)
        if value.lower().startswith("arxiv:") and (found := arxiv_id(value)):
            return found
    return arxiv_id(fields.text(item, "archive_location")) if fields.text(item, "archive").lower() == "arxiv" else ""


def _noted(item: Item) -> dict[str, str]:
    """The identifiers that Zotero's extra field lists line by line."""
    note = item.get("note")
    return {kind.lower(): value for kind, value in IN_NOTE.findall(note)} if isinstance(note, str) and ":" in note else {}


def details_of(item: Item) -> dict[str, str]:
    """What else a bibliography prints, under BibTeX's names."""
    number = fields.text(item, "issue") or fields.text(item, "number")
    return fields.given(
        {
            "volume": fields.text(item, "volume"),
            "number": "" if number.lower().startswith("arxiv") else number,
            "pages": fields.text(item, "page"),
            "publisher": fields.plain(item, "publisher"),
            "address": fields.text(item, "publisher-place") or fields.text(item, "publisher-location"),
            "edition": fields.text(item, "edition"),
            "series": fields.plain(item, "collection-title"),
            "editor": "; ".join(names_of(item, "editor")),
            "issn": ", ".join(fields.texts(item, "ISSN")),
            "isbn": ", ".join(isbn.rpartition("/")[2] for isbn in fields.texts(item, "ISBN")),
        }
    )
