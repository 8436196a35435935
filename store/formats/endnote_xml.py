"""EndNote's XML: <record> with fields whose text may be parted into <style> runs."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, entry_type, iso_date, printed_name
from store.formats.tagged import first_doi, given, numbers, pmid_in
from store.formats.xml import Found, records, text_at, text_of, texts_at
from store.language import language_code
from store.paper import Record, Refused

NAME = "endnote-xml"


def matches(file: SourceFile) -> bool:
    """Whether the file is EndNote's: records with a ref-type or titles."""
    return not file.is_zip and "<records" in file.head and "<record" in file.head and ("<ref-type" in file.head or "<titles" in file.head)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every record of the file."""
    for found in records(file, "record"):
        yield found if isinstance(found, Refused) else _record(found)


def _record(found: Found) -> Record:
    record = found.element
    kind = record.find("ref-type")
    name = kind.get("name", "") if kind is not None else ""
    links = texts_at(record, "urls//url")
    return Record(
        title=text_at(record, "titles/title"),
        abstract=text_at(record, "abstract"),
        entry_type=entry_type(name),
        authors=tuple(printed_name(author) for author in texts_at(record, "contributors/authors/author")),
        date=_date(record),
        venue=text_at(record, "periodical/full-title") or text_at(record, "titles/secondary-title") or text_at(record, "titles/alt-title"),
        language=language_code(text_at(record, "language")),
        identifiers=given(
            doi=first_doi([text_at(record, "electronic-resource-num"), *(link for link in links if "doi.org/" in link)]),
            arxiv=next((number for link in links if (number := arxiv_id(link))), ""),
            pmid=_pmid(record, links),
            url=next((link for link in links if link.startswith("http")), ""),
        ),
        details=given(
            volume=text_at(record, "volume"),
            number=text_at(record, "number"),
            pages=text_at(record, "pages"),
            publisher=text_at(record, "publisher"),
            address=text_at(record, "pub-location"),
            edition=text_at(record, "edition"),
            editor="; ".join(printed_name(editor) for editor in texts_at(record, "contributors/secondary-authors/author")),
        )
        | numbers(texts_at(record, "isbn")),
        keywords=tuple(dict.fromkeys(word for place in record.iterfind("keywords/keyword") for word in _words(place))),
        line=found.line,
        raw=found.raw,
    )


def _words(place: Element) -> list[str]:
    """One keyword, or the several that somebody pasted into its field."""
    return [word for part in "".join(place.itertext()).replace("\r", "\n").split("\n") if (word := " ".join(part.split()))]


def _date(record: Element) -> str:
    year = text_at(record, "dates/year")
    whole = iso_date(f"{text_at(record, 'dates/pub-dates/date')} {year}") if year else ""
    return whole or iso_date(year) or iso_date(text_at(record, "dates/pub-dates/date"))


def _pmid(record: Element, links: list[str]) -> str:
    number = text_of(record.find("accession-num"))
    source = f"{text_at(record, 'remote-database-name')} {text_at(record, 'remote-database-provider')}".lower()
    return number if number.isdigit() and ("medline" in source or "pubmed" in source or "nlm" in source) else pmid_in(links)
