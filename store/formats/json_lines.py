"""Any other JSON of papers, one record a line or in a list, read by the names of its fields.

These are guessed: `title`, `abstract` or `summary`, `authors` (a list of names or objects, or one text), `year` or `date`, and
so on. Which name stands for which field can be said, too (Options.columns), and that comes first.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

from store.formats import json_items as fields
from store.formats.csl_json import citation_key
from store.formats.file import SourceFile
from store.formats.json_items import Item
from store.formats.reading import ARXIV_ID, Options, arxiv_id, arxiv_identifiers, doi_in, entry_type, iso_date, printed_name
from store.paper import Record, Refused

NAME = "json-lines"
GUESSES: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "papertitle", "articletitle", "displayname"),
    "abstract": ("abstract", "summary", "paperabstract", "abstractnote", "abstracttext"),
    "authors": ("authorsparsed", "authors", "author", "authorlist", "authornames", "creators", "creator"),
    "date": ("date", "published", "publicationdate", "publishedat", "publisheddate", "datepublished", "pubdate", "issued", "day"),
    "year": ("year", "publicationyear", "pubyear", "publishedyear"),
    "venue": ("venue", "journal", "journaltitle", "journalname", "booktitle", "publicationtitle", "containertitle", "conference"),
    "doi": ("doi",),
    "arxiv": ("arxivid", "arxiv", "eprint"),
    "pmid": ("pmid", "pubmedid", "pubmed"),
    "pmcid": ("pmcid", "pmc"),
    "url": ("url", "link", "paperurl", "absurl", "htmlurl", "entryid"),
    "pdf": ("pdfurl", "pdf", "pdflink", "urlpdf"),
    "id": ("id", "paperid"),
    "keywords": ("keywords", "keyword", "tags"),
    "categories": ("categories", "category", "subjects", "primarycategory"),
    "key": ("key", "citationkey", "citekey", "bibtexkey", "bibkey"),
    "type": ("type", "entrytype", "itemtype", "publicationtype"),
    "language": ("language", "lang"),
    "volume": ("volume",),
    "number": ("issue", "issuenumber"),
    "pages": ("pages", "page"),
    "publisher": ("publisher",),
    "issn": ("issn",),
    "isbn": ("isbn",),
}
"""The names each field may have, without their hyphens and in lower case; the surest first."""
DETAILS = ("volume", "number", "pages", "publisher", "issn", "isbn")
JOINED = str.maketrans("", "", "_- .")
CATEGORY = re.compile(r"[a-z-]+(?:\.[A-Za-z-]{2,20})?")
INITIALS = re.compile(r"(?:[^\W\d_]\.?[\s-]?){1,4}")
TIME_OF_DAY = re.compile(r"\s\d{1,2}:\d\d.*")
AND = re.compile(r"\s*,?\s+(?:and|&)\s+", re.IGNORECASE)
OTHERS = frozenset({"others", "et al"})
NAME_PARTS = (("given", "family"), ("first", "last"), ("firstname", "lastname"), ("forename", "surname"), ("givenname", "familyname"))

Fields = Callable[[str], object]
"""A field's value by our name for it, or None."""


def matches(file: SourceFile) -> bool:
    """Whether it is JSON whose records have names; the other JSON layouts are asked first."""
    return fields.looks_like_json(file)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record, by the names that the person gave and those that can be guessed."""
    return fields.records(file, partial(record, columns=options.columns))


def record(item: Item, line: int = 0, raw: str = "", columns: Mapping[str, str] | None = None) -> Record | Refused:
    """What an object says of a paper, by its names; `columns` says which name in it holds which field."""
    values = _values(item, columns or {})
    value = values.get
    return Record(
        title=fields.plain(values, "title"),
        abstract=_abstract(value("abstract")),
        key=_key(item, value),
        entry_type=entry_type(fields.printed(value("type"))),
        authors=authors_of(value("authors")),
        date=_date(item, value),
        venue=_venue(value("venue")),
        language=fields.language(fields.printed(value("language"))),
        identifiers=_identifiers(value),
        details=fields.given({name: ", ".join(fields.texts(values, name)) for name in DETAILS if name in values}),
        categories=_categories(value("categories")),
        keywords=_words(value("keywords")),
        line=line,
        raw=raw,
    )


def _values(item: Item, columns: Mapping[str, str]) -> dict[str, object]:
    """What the object says, by our names: under the name that was said, else under the likeliest one that is not empty."""
    values: dict[str, object] = {}
    ranks: dict[str, int] = {}
    for name, value in item.items():
        field, rank = _meaning(name)
        if value and field and rank < ranks.get(field, len(GUESSES[field])):
            values[field], ranks[field] = value, rank
    said = {field: item[name] for field, name in columns.items() if item.get(name)}
    return values | said


@lru_cache(4096)
def _meaning(name: str) -> tuple[str, int]:
    """The field that a name likely stands for, and its place among the names of that field."""
    joined = name.lower().translate(JOINED)
    return next(((field, names.index(joined)) for field, names in GUESSES.items() if joined in names), ("", 0))


def _key(item: Item, value: Fields) -> str:
    """The citation key; BibTeX entries turned into JSON have it as `ID`."""
    return citation_key(fields.printed(value("key"))) or (citation_key(fields.text(item, "ID")) if "ENTRYTYPE" in item else "")


def _abstract(value: object) -> str:
    """The abstract; one in a list of paragraphs has them on lines."""
    if isinstance(value, list):
        return "\n".join(fields.unmarked(part) for part in value if isinstance(part, str) and part.strip())
    return fields.unmarked(value) if isinstance(value, str) else ""


def _date(item: Item, value: Fields) -> str:
    """The date, else the year, else the day on which arXiv's first version came."""
    for field in ("date", "year"):
        found = value(field)
        date = _day(fields.printed(found)) if found else ""
        if date:
            return date
    versions = fields.items(item, "versions")
    return _day(fields.text(versions[0], "created")) if versions else ""


def _day(value: str) -> str:
    """The date of a text that may name the time of day as well."""
    return iso_date(TIME_OF_DAY.sub("", value))


def _venue(value: object) -> str:
    """The journal or proceedings, printed or in an object of its own."""
    if isinstance(value, dict):
        return fields.first(value, "name", "title", "display_name")
    return fields.plain({"": value}, "")


# Identifiers


def _identifiers(value: Fields) -> dict[str, str]:
    own = fields.printed(value("id"))
    url, pdf = (fields.address(fields.printed(value(kind))) for kind in ("url", "pdf"))
    doi = fields.doi(fields.printed(value("doi"))) or _doi_of(own) or _doi_of(url)
    return fields.given(
        {
            "doi": doi,
            "arxiv": _arxiv(fields.printed(value("arxiv")), own, url, pdf) or fields.arxiv_of_doi(doi),
            "pmid": fields.pmid(fields.printed(value("pmid"))),
            "pmcid": fields.pmcid(fields.printed(value("pmcid"))),
            "url": url or fields.address(own),
            "pdf": pdf,
        }
    )


def _doi_of(value: str) -> str:
    """The DOI of a text that is nothing but one, bare or as an address."""
    return doi_in(value) if value.startswith("10.") or "doi.org/10." in value else ""


def _arxiv(*values: str) -> str:
    """The arXiv id of the first text that is one, or the address of one."""
    for value in values:
        if not value or len(value) > fields.LONGEST_ADDRESS:
            continue
        found = arxiv_id(value) if ARXIV_ID.search(value) else ""
        found = found or (arxiv_identifiers(value).get("arxiv", "") if "arxiv" in value.lower() else "")
        if found:
            return found
    return ""


# Lists


def _words(value: object) -> tuple[str, ...]:
    """The words of a list of texts or of objects with a name, or of one text."""
    if not isinstance(value, list):
        return fields.listed(fields.printed(value))
    words = (fields.first(word, "name", "display_name", "term", "tag") if isinstance(word, dict) else fields.printed(word) for word in value)
    return tuple(word for word in words if word)


def _categories(value: object) -> tuple[str, ...]:
    """The categories; arXiv's stand in one text between spaces."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    words = value.split() if isinstance(value, str) and not (";" in value or "," in value) else []
    return tuple(words) if len(words) > 1 and all(map(CATEGORY.fullmatch, words)) else _words(value)


def authors_of(value: object) -> tuple[str, ...]:
    """Names as printed, from a list of texts or of objects, or from one text in which they are listed."""
    if isinstance(value, str):
        names = _listed_names(value)
    elif isinstance(value, list):
        names = [_author(author) for author in value]
    else:
        names = [_author(value)]
    return tuple(name for name in names if name and name.lower().rstrip(".") not in OTHERS)


def _author(value: object) -> str:
    """One name: a text, an object, or the list of its parts with the family name first."""
    if isinstance(value, dict):
        return _named(value)
    if isinstance(value, list):
        family, given_name, suffix = ([fields.printed(part) for part in value] + ["", "", ""])[:3]
        return " ".join(part for part in (given_name, family, suffix) if part)
    return printed_name(fields.printed(value))


def _named(person: Item) -> str:
    parts = {name.lower().translate(JOINED): value for name, value in person.items()}
    whole = fields.first(parts, "name", "fullname", "displayname", "authorname", "literal")
    if whole:
        return printed_name(whole)
    for given_name, family in NAME_PARTS:
        if found := " ".join(part for part in (fields.text(parts, given_name), fields.text(parts, family)) if part):
            return found
    return fields.first(fields.inner(parts, "author"), "name", "display_name")


def _listed_names(value: str) -> list[str]:
    """The names in `A; B`, `A, B and C`, `Family, Given and Family, Given` or `Family, G., Family, G.`."""
    line = fields.printed(value)
    if ";" in line:
        return [printed_name(name) if "," in name else name for part in line.split(";") if (name := part.strip().removeprefix("and "))]
    pieces = [piece for piece in AND.split(line) if piece.lower().rstrip(".") not in OTHERS]
    if len(pieces) > 1 and all(piece.count(",") == 1 for piece in pieces):
        return [printed_name(piece) for piece in pieces]
    return _paired([part.strip().removeprefix("and ") for piece in pieces for part in piece.split(",") if part.strip()])


def _paired(parts: list[str]) -> list[str]:
    """Names between commas; where every second part is a given name, each with its family name."""
    if len(parts) == 2 and " " not in parts[0] and not INITIALS.fullmatch(parts[0]):
        return [f"{parts[1]} {parts[0]}"]
    if parts and len(parts) % 2 == 0 and all(map(INITIALS.fullmatch, parts[1::2])):
        return [f"{initials} {family}" for family, initials in zip(parts[::2], parts[1::2], strict=True)]
    return parts
