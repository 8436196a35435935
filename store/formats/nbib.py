"""MEDLINE text as PubMed exports it (.nbib): `PMID- 123`, four letters of tag, further lines indented by six."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, doi_in, entry_type, iso_date, printed_name
from store.formats.tagged import Entry, Syntax, given, keyword_list, numbers, records
from store.language import language_code
from store.paper import Record, Refused, Translation

NAME = "pubmed-nbib"
TAG = re.compile(r"\ufeff?([A-Z]{2,4})\s*-(?:\s(.*))?$")
SYNTAX = Syntax(TAG, first="PMID", blank_ends=True)
BEGINNING = re.compile(r"^\ufeff?PMID\s*- *\d+", re.MULTILINE)
OTHER = re.compile(r"^(?:TI|AB|DP|FAU|JT|OWN|STAT)\s*- ", re.MULTILINE)
KINDS = (("Book", "book"), ("Preprint", "misc"))


def matches(file: SourceFile) -> bool:
    """Whether a MEDLINE record begins in the file."""
    return not file.is_zip and bool(BEGINNING.search(file.head)) and bool(OTHER.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file."""
    return records(file, SYNTAX, _record)


def _record(entry: Entry) -> Record:
    types = entry.values("PT")
    language = language_code(entry.first("LA"))
    return Record(
        title=entry.first("TI", "BTI").removeprefix("[").removesuffix("]").removesuffix("].") if _is_translated(entry) else entry.first("TI", "BTI"),
        abstract=entry.text("AB"),
        entry_type=next((kind for name, kind in KINDS if name in types), entry_type("article" if entry.first("JT", "TA") else "book")),
        authors=tuple([printed_name(name) for name in entry.values("FAU") or entry.values("AU")] + entry.values("CN")),
        date=iso_date(entry.first("DP")) or iso_date(_spaced(entry.first("DEP"))),
        venue=entry.first("JT", "TA"),
        language="en" if _is_translated(entry) else language,
        translations=_translations(entry, language),
        identifiers=given(
            pmid=entry.first("PMID"),
            doi=next((doi_in(value) for value in entry.values("LID", "AID", "SO") if "[doi]" in value or "doi:" in value), ""),
            pmcid=entry.first("PMC"),
        ),
        details=given(volume=entry.first("VI"), number=entry.first("IP"), pages=entry.first("PG"), publisher=entry.first("PB"), edition=entry.first("EN"))
        | numbers(entry.values("IS", "ISBN")),
        keywords=keyword_list(entry.lines("OT", "MH")),
        notices=("retracted",) if "Retracted Publication" in types or entry.values("RIN") else (),
        line=entry.line,
        raw="\n".join(entry.raw),
    )


def _is_translated(entry: Entry) -> bool:
    """PubMed prints the English of a title in another language in brackets."""
    return entry.first("TI").startswith("[") and entry.first("TI").rstrip(".").endswith("]")


def _spaced(date: str) -> str:
    return f"{date[:4]}-{date[4:6]}-{date[6:]}" if re.fullmatch(r"\d{8}", date) else date


def _translations(entry: Entry, language: str) -> dict[str, Translation]:
    """The title in its own language, and the other abstracts by theirs."""
    found: dict[str, Translation] = {}
    if language and language != "en" and entry.first("TT"):
        found[language] = Translation(entry.first("TT"), "")
    codes = [language_code(code) for code in entry.values("OABL")] or ([language] if language != "en" else [])
    if entry.first("OAB") and codes and codes[0]:
        found[codes[0]] = Translation(found[codes[0]].title if codes[0] in found else "", entry.text("OAB"))
    return found
