"""The bibliography of exactly the cited papers, every field from the library; what is read back from it is the same."""

import re
from collections.abc import Mapping
from urllib.parse import quote

from assistant.document import Document, Source
from assistant.export.escape import bibtex, field

NO_PAPER = frozenset({"comment", "string", "preamble", "xdata", "set"})
VENUE = {
    "article": "journal", "inproceedings": "booktitle", "conference": "booktitle", "incollection": "booktitle", "inbook": "booktitle",
    "phdthesis": "school", "mastersthesis": "school", "thesis": "institution", "techreport": "institution", "report": "institution",
    "book": "publisher", "proceedings": "series", "online": "organization",
}  # fmt: skip
"""What a venue is called in an entry of each type; in others `howpublished`."""
DETAILS = ("volume", "number", "series", "edition", "chapter", "publisher", "address", "school", "institution", "howpublished", "isbn", "issn")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
CORPORATE = re.compile(
    r"\b(?:collaboration|consortium|team|group|university|institute|laborator(?:y|ies)|labs?|research|foundation|society|association|inc|ltd|gmbh|"
    r"committee|project|network|initiative|openai|deepmind)\b|[,&]| and ",
    re.IGNORECASE,
)
"""A name that is to be printed whole: braces keep it from being parted into a first and a last name."""


def write(document: Document) -> str:
    """One entry a cited paper, in order of key."""
    table = {row.key for row in document.rows}
    keys = sorted({*document.cited(), *table}) if document.task in {"ask", "draft"} else tuple(document.sources)
    return "\n".join(entry(document.sources[key]) for key in keys if key in document.sources)


def entry(source: Source) -> str:
    """A paper as a BibTeX entry; what the library does not know is not there."""
    known, arxiv = source.details, source.identifiers.get("arxiv", "")
    month = source.date[5:7]
    fields = {
        "title": bibtex(source.title),
        "author": _authors(source),
        "editor": " and ".join(_name(name) for name in known.get("editor", "").split("; ") if name),
        "year": source.year,
        "month": MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month) <= len(MONTHS) else "",
        "day": source.date[8:10].lstrip("0"),
        _venue_field(source, known): bibtex(source.venue),
        **{name: bibtex(known.get(name, "")) for name in DETAILS if known.get(name)},
        "pages": "--".join(map(field, known.get("pages", "").split("-"))),
        "doi": _verbatim(source.identifiers.get("doi", "")),
        "eprint": _verbatim(arxiv),
        "archiveprefix": "arXiv" if arxiv else "",
        "pmid": _verbatim(source.identifiers.get("pmid", "")),
        "pmcid": _verbatim(source.identifiers.get("pmcid", "")),
        "url": _verbatim(source.identifiers.get("url", "")),
    }
    lines = [f"  {name} = {value if name == 'month' else f'{{{value}}}'}," for name, value in fields.items() if value]
    return "\n".join([f"@{_type(source)}{{{source.key},", *lines, "}", ""])


def _type(source: Source) -> str:
    return source.entry_type if source.entry_type.isalpha() and source.entry_type.isascii() and source.entry_type not in NO_PAPER else "misc"


def _venue_field(source: Source, known: Mapping[str, str]) -> str:
    """The field of the venue: the one that the library took it from, or else the one of its type."""
    same = [name for name in ("series", "school", "institution", "publisher") if source.venue and known.get(name) == source.venue]
    return VENUE.get(source.entry_type) or (same[0] if same else "howpublished")


def _authors(source: Source) -> str:
    if source.authors:
        others = ["others"] if (source.author_count or 0) > len(source.authors) else []
        return " and ".join([*map(_name, source.authors), *others])
    return f"{{{field(source.organization)}}}" if source.organization else ""


def _name(name: str) -> str:
    """A person's name as it is printed, first name first; one that is no person's whole."""
    return f"{{{field(name)}}}" if CORPORATE.search(name) or name.casefold() == "others" else field(name)


def _verbatim(value: str) -> str:
    """An address or a number as it is, but for what would close or break its field."""
    return quote(value, safe="!#$%&'()*+,-./:;=?@[]_~", encoding="utf-8")
