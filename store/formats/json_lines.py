"""Any other JSON records, by the names of their fields: one object a line, or an array."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.json_items import Item, items, objects, prose, text, words
from store.formats.names import author_list
from store.formats.reading import Options, arxiv_id, doi_in, entry_type, iso_date
from store.formats.tagged import given
from store.language import language_code
from store.paper import Record, Refused

NAME = "json-lines"
FIELDS = {
    "title": ("title", "paper_title", "name", "Title"),
    "abstract": ("abstract", "summary", "Abstract", "paper_abstract", "abstractText", "text"),
    "authors": ("authors", "author", "Authors", "creators"),
    "date": ("date", "published", "publication_date", "publicationDate", "day", "year", "Year", "pub_date"),
    "doi": ("doi", "DOI"),
    "arxiv": ("arxiv", "arxiv_id", "arXiv", "arxivId", "id"),
    "pmid": ("pmid", "PMID"),
    "venue": ("venue", "journal", "booktitle", "Journal", "conference", "source", "journal-ref", "journal_ref"),
    "keywords": ("keywords", "tags", "Keywords"),
    "categories": ("categories", "subjects", "category", "primary_category"),
    "url": ("url", "link", "URL", "html_url"),
    "key": ("key", "citation_key", "bibkey", "citekey"),
    "language": ("language", "lang"),
    "type": ("entry_type", "type", "document_type"),
}
HEAD = re.compile(r'"(?:title|paper_title|Title|abstract|summary|Abstract|doi|DOI|arxiv_id|name)"\s*:')
CODE = re.compile(r"[a-z-]+(?:\.[A-Za-z-]+)?")


def matches(file: SourceFile) -> bool:
    """Whether the file is JSON whose objects name a title, an abstract or an identifier."""
    return not file.is_zip and file.head.lstrip()[:1] in {"[", "{"} and bool(HEAD.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file; `options.columns` names the fields that are called otherwise."""
    named = {field: (options.columns[field],) if field in options.columns else names for field, names in FIELDS.items()}
    for found in items(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw, named)


def record(item: Item, line: int = 0, raw: str = "", named: dict[str, tuple[str, ...]] = FIELDS) -> Record | Refused:
    """The record of an object."""
    title, abstract = text(item, *named["title"]), prose(item, *named["abstract"])
    doi, arxiv = doi_in(text(item, *named["doi"])), _arxiv(item, named["arxiv"])
    if not (title or abstract or doi or arxiv):
        known = ", ".join(sorted(str(name) for name in item)[:8])
        return Refused(line, f"no title, abstract or identifier among its fields ({known}); name them with --column title=FIELD")
    url = text(item, *named["url"])
    key = text(item, *named["key"])
    return Record(
        title=title,
        abstract=abstract,
        key=key if re.fullmatch(r"[A-Za-z][A-Za-z0-9:_.+/-]*", key) else "",
        entry_type=entry_type(text(item, *named["type"])),
        authors=_authors(item, named["authors"]),
        date=next((date for name in named["date"] if (date := iso_date(text(item, name)))), ""),
        venue=text(item, *named["venue"]),
        language=language_code(text(item, *named["language"])),
        identifiers=given(doi=doi, arxiv=arxiv, pmid=text(item, *named["pmid"]), url=url if url.startswith("http") else ""),
        keywords=words(item, *named["keywords"]),
        categories=tuple(code for part in words(item, *named["categories"]) for code in part.split() if CODE.fullmatch(code)),
        line=line,
        raw=raw,
    )


def _arxiv(item: Item, names: tuple[str, ...]) -> str:
    return next((number for name in names if (number := arxiv_id(text(item, name)))), "")


def _authors(item: Item, names: tuple[str, ...]) -> tuple[str, ...]:
    """Names from a list of them, from a list of objects with a name, or from one text."""
    for name in names:
        if people := objects(item, name):
            parts = (text(one, "name", "full_name", "display_name") or f"{text(one, 'first', 'given')} {text(one, 'last', 'family')}" for one in people)
            return tuple(" ".join(part.split()) for part in parts if part.strip())
        value = item.get(name)
        if isinstance(value, list):
            return tuple(one for one in words(item, name) if one)
        if isinstance(value, str) and value.strip():
            return author_list(value)
    return ()
