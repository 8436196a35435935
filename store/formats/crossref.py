"""Crossref works, as its interface answers."""

import re
from collections.abc import Iterator

from store.formats.csl_json import names
from store.formats.file import SourceFile
from store.formats.json_items import Item, date_parts, items, objects, prose, text, words
from store.formats.reading import Options, arxiv_id, doi_in, entry_type
from store.formats.tagged import given
from store.language import language_code
from store.paper import Record, Refused

NAME = "crossref"
TELLING = re.compile(r'"(?:is-referenced-by-count|content-domain|reference-count|references-count|published-print|published-online)"\s*:')
CLOSED = {"retraction": "retracted", "withdrawal": "withdrawn", "removal": "withdrawn"}


def matches(file: SourceFile) -> bool:
    """Whether items have Crossref's names."""
    return not file.is_zip and file.head.lstrip()[:1] in {"[", "{"} and bool(TELLING.search(file.head)) and '"DOI"' in file.head


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every work of the file."""
    for found in items(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """The record of a work."""
    doi = doi_in(text(item, "DOI"))
    if not doi and not text(item, "title"):
        return Refused(line, "neither a DOI nor a title: not a work of Crossref")
    subtitle = text(item, "subtitle")
    title = text(item, "title")
    arxiv = re.match(r"10\.48550/arxiv\.(.+)", doi)
    return Record(
        title=f"{title}: {subtitle}" if subtitle and subtitle.lower() not in title.lower() else title,
        abstract=prose(item, "abstract"),
        entry_type=entry_type(text(item, "type")),
        authors=names(objects(item, "author")),
        date=_date(item),
        venue=text(item, "container-title", "event"),
        language=language_code(text(item, "language")),
        identifiers=given(doi=doi, arxiv=arxiv_id(arxiv[1]) if arxiv else "", url=text(item, "URL")),
        details=given(
            volume=text(item, "volume"),
            number=text(item, "issue"),
            pages=text(item, "page") or text(item, "article-number"),
            publisher=text(item, "publisher"),
            issn=text(item, "ISSN"),
            isbn=text(item, "ISBN"),
            editor="; ".join(names(objects(item, "editor"))),
        ),
        keywords=words(item, "subject"),
        references=tuple(dict.fromkeys(f"doi:{cited}" for one in objects(item, "reference") if (cited := doi_in(text(one, "DOI"))))),
        notices=tuple(dict.fromkeys(_notices(item, title))),
        line=line,
        raw=raw,
    )


def _date(item: Item) -> str:
    """The first publication, as precise as one of the dates of that year says it."""
    dates = [date for name in ("issued", "published-print", "published-online", "published", "created") if (date := date_parts(item, name))]
    return max((date for date in dates[:4] if date[:4] == dates[0][:4]), key=len, default="")


def _notices(item: Item, title: str) -> Iterator[str]:
    if title.lower().startswith(("retracted:", "retracted article", "[retracted]")):
        yield "retracted"
    for update in objects(item, "updated-by"):
        if kind := CLOSED.get(text(update, "type").lower()):
            yield kind
