"""CSL-JSON, as Zotero, Better BibTeX, pandoc and citeproc write it."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.json_items import Item, date_parts, items, objects, prose, text, words
from store.formats.reading import Options, arxiv_id, doi_in, entry_type
from store.formats.tagged import given, pages
from store.language import language_code
from store.paper import Record, Refused

NAME = "csl-json"
TYPE = re.compile(
    r'"type"\s*:\s*"(?:article(?:-journal|-magazine|-newspaper)?|paper-conference|book|chapter|thesis|report|webpage|dataset|manuscript|'
    r'entry(?:-\w+)?|post(?:-weblog)?|preprint|speech|software|document|review)"'
)
TELLING = re.compile(r'"(?:issued|container-title|non-dropping-particle|citation-key|date-parts)"\s*:')
KEY = re.compile(r"[A-Za-z][A-Za-z0-9:_.+/-]*")


def matches(file: SourceFile) -> bool:
    """Whether items have CSL's types and names."""
    head = file.head if not file.is_zip else ""
    return head.lstrip()[:1] in {"[", "{"} and bool(TYPE.search(head)) and bool(TELLING.search(head)) and '"is-referenced-by-count"' not in head


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every item of the file."""
    for found in items(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """The record of an item."""
    if not any(name in item for name in ("title", "DOI", "author", "abstract", "URL")):
        return Refused(line, "no title, author, DOI or address: not an item of a bibliography")
    key = text(item, "citation-key", "citationKey", "id")
    url = text(item, "URL")
    return Record(
        key=key if KEY.fullmatch(key) and "://" not in key and not key.startswith("http") else "",
        title=text(item, "title"),
        abstract=prose(item, "abstract"),
        entry_type=entry_type(text(item, "type")),
        authors=names(objects(item, "author")),
        date=date_parts(item, "issued", "published", "submitted"),
        venue=text(item, "container-title", "event-title", "event"),
        language=language_code(text(item, "language")),
        identifiers=given(
            doi=doi_in(text(item, "DOI")),
            pmid=text(item, "PMID"),
            pmcid=text(item, "PMCID"),
            arxiv=arxiv_id(url) or arxiv_id(text(item, "number")) or next(iter(_arxiv(text(item, "note", "archive_location"))), ""),
            url=url if url.startswith("http") else "",
        ),
        details=given(
            volume=text(item, "volume"),
            number=text(item, "issue"),
            pages=text(item, "page").replace("–", "-") or pages(text(item, "page-first"), ""),
            publisher=text(item, "publisher"),
            address=text(item, "publisher-place"),
            edition=text(item, "edition"),
            editor="; ".join(names(objects(item, "editor"))),
            issn=text(item, "ISSN"),
            isbn=text(item, "ISBN"),
        ),
        keywords=words(item, "keyword", "keywords", "categories"),
        line=line,
        raw=raw,
    )


def names(people: list[Item]) -> tuple[str, ...]:
    """Names as they are printed."""
    printed = []
    for person in people:
        parts = ("given", "dropping-particle", "non-dropping-particle", "family", "suffix")
        printed.append(text(person, "literal", "name") or " ".join(part for name in parts if (part := text(person, name))))
    return tuple(name for name in printed if name)


def _arxiv(note: str) -> list[str]:
    return [number for word in note.split() if (number := arxiv_id(word.strip(".,;[]")))]
