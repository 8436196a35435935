"""Web of Science plain text: `FN`, `VR`, then records from `PT` to `ER`, further lines of a field indented by three."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, entry_type, iso_date, printed_name
from store.formats.tagged import Entry, Syntax, first_doi, given, keyword_list, numbers, pages, records
from store.language import language_code
from store.paper import Record, Refused

NAME = "web-of-science"
TAG = re.compile(r"\ufeff?([A-Z][A-Z0-9])(?: (.*))?$")
SYNTAX = Syntax(TAG, first="PT", last="ER")
BEGINNING = re.compile(r"^\ufeff?(?:FN (?:Clarivate|ISI|Thomson|Web of)|VR 1\.0$)", re.MULTILINE)
RECORD = re.compile(r"^PT [JBSPCD]\s*\n(?:AU|AF|BA|CA|TI|GP|BE) ", re.MULTILINE)
KINDS = {"J": "article", "B": "book", "S": "incollection", "C": "inproceedings", "P": "misc", "D": "misc"}


def matches(file: SourceFile) -> bool:
    """Whether the file begins as an export of Web of Science does, or holds one of its records."""
    return not file.is_zip and bool(BEGINNING.search(file.head) or RECORD.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file."""
    return records(file, SYNTAX, _record)


def _record(entry: Entry) -> Record:
    return Record(
        title=entry.first("TI"),
        abstract=entry.text("AB"),
        entry_type="inproceedings" if "Proceedings" in entry.first("DT") else KINDS.get(entry.first("PT")[:1]) or entry_type(entry.first("DT")),
        authors=tuple(printed_name(name) for name in entry.lines("AF") or entry.lines("AU")) + tuple(entry.lines("CA")),
        date=iso_date(f"{entry.first('PD')} {entry.first('PY')}") or iso_date(entry.first("EA")),
        venue=entry.first("SO", "JI"),
        language=language_code(entry.first("LA")),
        identifiers=given(
            doi=first_doi(entry.values("DI", "D2")), pmid=entry.first("PM"), wos=entry.first("UT").removeprefix("WOS:").removeprefix("ISI:")
        ),
        details=given(
            volume=entry.first("VL"),
            number=entry.first("IS"),
            pages=pages(entry.first("BP"), entry.first("EP")) or entry.first("AR"),
            publisher=entry.first("PU"),
            editor="; ".join(printed_name(name) for name in entry.lines("BE", "ED")),
        )
        | numbers(entry.values("SN", "EI", "BN")),
        keywords=keyword_list([" ".join(entry.values("DE")), " ".join(entry.values("ID"))]),
        notices=("retracted",) if "Retracted" in entry.first("DT") else (),
        line=entry.line,
        raw="\n".join(entry.raw),
    )
