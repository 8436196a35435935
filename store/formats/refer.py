"""refer, as EndNote and Google Scholar write it (.enw): `%0 Journal Article`, `%T Title`, a blank line between records."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, entry_type, iso_date, printed_name
from store.formats.tagged import Entry, Syntax, first_doi, given, keyword_list, numbers, records
from store.language import language_code
from store.paper import Record, Refused

NAME = "endnote-refer"
TAG = re.compile(r"\ufeff?%([0-9A-Z@!#$&()*+?<=>^~\]\[])(?:\s(.*))?$")
SYNTAX = Syntax(TAG, first="0")
BEGINNING = re.compile(r"^\ufeff?%0 +\w", re.MULTILINE)
OTHER = re.compile(r"^%[TAJDX] \S", re.MULTILINE)


def matches(file: SourceFile) -> bool:
    """Whether a refer record begins in the file."""
    return not file.is_zip and bool(BEGINNING.search(file.head)) and bool(OTHER.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file."""
    return records(file, SYNTAX, _record)


def _record(entry: Entry) -> Record:
    dates = [date for value in entry.values("D", "8") if (date := iso_date(value))]
    links = entry.values("U", ">")
    return Record(
        title=entry.first("T"),
        abstract=entry.text("X"),
        entry_type=entry_type(entry.first("0")),
        authors=tuple(printed_name(name) for name in entry.values("A")),
        date=max((date for date in dates if date[:4] == dates[0][:4]), key=len, default=""),
        venue=entry.first("J", "B"),
        language=language_code(entry.first("G")),
        identifiers=given(
            doi=first_doi(entry.values("R", "3")) or first_doi([link for link in links if "doi.org/" in link]),
            arxiv=next((name for link in links if (name := arxiv_id(link))), ""),
            url=next((link for link in links if link.startswith("http")), ""),
        ),
        details=given(
            volume=entry.first("V"), number=entry.first("N"), pages=entry.first("P"), publisher=entry.first("I"), address=entry.first("C"),
            edition=entry.first("7"), editor="; ".join(printed_name(name) for name in entry.values("E")),
        )
        | numbers(entry.values("@")),
        keywords=keyword_list(entry.lines("K")),
        line=entry.line,
        raw="\n".join(entry.raw).rstrip(),
    )  # fmt: skip
