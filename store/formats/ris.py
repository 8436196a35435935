"""RIS (`TY  - JOUR` … `ER  -`), as Scopus, Ovid, ProQuest, Embase, Web of Science, Zotero, EndNote and Rayyan write it."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, entry_type, iso_date, printed_name
from store.formats.tagged import Entry, Syntax, first_doi, given, keyword_list, numbers, pages, pmid_in, records
from store.language import language_code
from store.paper import Record, Refused

NAME = "ris"
TAG = re.compile(r"\ufeff?\s{0,3}([A-Z][A-Z0-9])[ \t]{1,4}-(?:[ \t](.*))?$")
SYNTAX = Syntax(TAG, first="TY", last="ER")
BEGINNING = re.compile(r"^\ufeff?[ \t]{0,3}TY[ \t]{1,4}-[ \t]+\S", re.MULTILINE)
CHAPTERS = frozenset({"CHAP", "ECHAP", "CONF", "CPAPER"})


def matches(file: SourceFile) -> bool:
    """Whether a record of this layout begins in the file."""
    return not file.is_zip and bool(BEGINNING.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file."""
    return records(file, SYNTAX, _record)


def _record(entry: Entry) -> Record:
    kind = entry.first("TY")
    links = entry.values("UR", "L2", "L1", "LK")
    return Record(
        title=entry.first("TI", "T1", "CT") or (entry.first("BT") if kind.upper() not in CHAPTERS else "") or entry.first("ST"),
        abstract=entry.text("AB", "N2"),
        entry_type=entry_type(kind),
        authors=tuple(printed_name(name.rstrip(";,")) for name in entry.values("AU", "A1")),
        date=_date(entry),
        venue=entry.first("JF", "T2", "JO", "BT", "JA", "J2", "J1") if entry.first("JF", "T2", "JO", "JA", "J2", "J1") or kind.upper() in CHAPTERS else "",
        language=language_code(entry.first("LA")),
        identifiers=_identifiers(entry, links),
        details=given(
            volume=entry.first("VL"),
            number=entry.first("IS", "CP"),
            pages=pages(entry.first("SP"), entry.first("EP")),
            publisher=entry.first("PB"),
            address=entry.first("CY"),
            edition=entry.first("ET"),
            editor="; ".join(printed_name(name) for name in entry.values("ED", "A2")),
        )
        | numbers(entry.values("SN")),
        keywords=keyword_list(entry.lines("KW", "DE")),
        line=entry.line,
        raw="\n".join(entry.raw),
    )


def _date(entry: Entry) -> str:
    """The most precise date that is in the year of publication."""
    dates = [date for value in entry.values("PY", "Y1", "DA") if (date := iso_date(value))]
    return max((date for date in dates if date[:4] == dates[0][:4]), key=len, default="")


def _identifiers(entry: Entry, links: list[str]) -> dict[str, str]:
    is_pubmed = any("pubmed" in name.lower() or "medline" in name.lower() for name in entry.values("DB", "DP"))
    number = next((value for value in entry.values("AN", "ID") if is_pubmed and value.isdigit()), "")
    arxiv = next((name for value in [*links, *entry.values("M3", "N1", "AN")] if (name := arxiv_id(value))), "")
    return given(
        doi=first_doi(entry.values("DO", "DI", "M3", "L3")) or first_doi([link for link in links if "doi.org/" in link]),
        arxiv=arxiv,
        pmid=number or pmid_in(links),
        pmcid=next((value for value in entry.values("C2") if re.fullmatch(r"PMC\d+", value)), ""),
        url=next((link for link in links if link.startswith("http")), ""),
    )
