"""Replies of Crossref's REST API: `message` is one work, or holds them as `items`.

Titles and venues are lists, dates are lists of lists, abstracts are JATS. A work that was retracted lists the notice under
`updated-by`; the notice itself lists the work under `update-to`.
"""

import re
from collections.abc import Iterator

from store.formats import json_items as fields
from store.formats.csl_json import date_of, details_of, names_of, venue_of
from store.formats.file import SourceFile
from store.formats.json_items import Item
from store.formats.reading import Options, arxiv_identifiers, entry_type
from store.paper import Record, Refused

NAME = "crossref"
TITLE_IN_LIST = re.compile(r'"title"\s*:\s*\[')
TITLE_ALONE = re.compile(r'"title"\s*:\s*"')
DATES = ("issued", "published-print", "published-online", "published", "posted")
WITHDRAWN = frozenset({"retraction", "withdrawal", "removal"})
OWN_NAMES = frozenset("reference-count is-referenced-by-count references-count content-domain container-title update-to published-print".split())


def matches(file: SourceFile) -> bool:
    """Whether it is a reply of works, or works out of one: a DOI, and the title in a list."""
    names = fields.names_in(file)
    if "message-type" in names:
        return '"work' in file.head and ("DOI" in names or "items" in names)
    if "DOI" not in names or not names & (OWN_NAMES | {"family", "issued"}):
        return False
    return bool(TITLE_IN_LIST.search(file.head)) and not TITLE_ALONE.search(file.head)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every work of the reply."""
    return fields.records(file, record)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """What Crossref says of one work."""
    return Record(
        title=_title(item),
        abstract=fields.abstract(item, "abstract"),
        entry_type=entry_type(fields.text(item, "type")),
        authors=names_of(item, "author"),
        date=date_of(item, *DATES),
        venue=venue_of(item),
        language=fields.language(fields.text(item, "language")),
        identifiers=_identifiers(item),
        details=details_of(item),
        references=_references(item),
        notices=("retracted",) if _is_retracted(item) else (),
        line=line,
        raw=raw,
    )


def _title(item: Item) -> str:
    """Title and subtitle, which some publishers repeat in the title."""
    title, subtitle = fields.plain(item, "title"), fields.plain(item, "subtitle")
    if not subtitle or subtitle.lower() in title.lower():
        return title
    return f"{title} {subtitle}" if title.endswith((":", "?", "!", "—", "–")) else f"{title}: {subtitle}" if title else subtitle


def _identifiers(item: Item) -> dict[str, str]:
    doi = fields.doi(fields.text(item, "DOI"))
    resource = fields.address(fields.text(fields.inner(fields.inner(item, "resource"), "primary"), "URL"))
    url = resource or fields.address(fields.text(item, "URL"))
    return fields.given({"doi": doi, "arxiv": fields.arxiv_of_doi(doi) or arxiv_identifiers(url).get("arxiv", ""), "url": url, "pdf": _pdf(item)})


def _pdf(item: Item) -> str:
    links = (link for link in fields.items(item, "link") if fields.text(link, "content-type") == "application/pdf")
    return next((found for link in links if (found := fields.address(fields.text(link, "URL")))), "")


def _references(item: Item) -> tuple[str, ...]:
    """The cited works whose DOI is known, each once."""
    dois = (fields.doi(fields.text(reference, "DOI")) for reference in fields.items(item, "reference"))
    return tuple(dict.fromkeys(f"doi:{doi}" for doi in dois if doi))


def _is_retracted(item: Item) -> bool:
    """Whether a notice withdraws this work; the notice about another work is not withdrawn itself."""
    own = fields.text(item, "DOI").lower()
    notices = fields.items(item, "updated-by")
    notices += [update for update in fields.items(item, "update-to") if own and fields.text(update, "DOI").lower() == own]
    return any(fields.text(notice, "type").lower() in WITHDRAWN for notice in notices)
