"""The Atom feed in which arXiv's interface answers."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, doi_in, iso_date
from store.formats.tagged import given
from store.formats.xml import Found, records, text_at, texts_at
from store.paper import Record, Refused

NAME = "arxiv-atom"


def matches(file: SourceFile) -> bool:
    """Whether the file is a feed that speaks of arXiv."""
    return not file.is_zip and "http://www.w3.org/2005/Atom" in file.head[:4000] and "arxiv.org" in file.head[:8000]


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every entry of the feed."""
    for found in records(file, "entry"):
        yield found if isinstance(found, Refused) else _record(found)


def entries(data: bytes) -> list[Record | Refused]:
    """The entries of a feed as a service gave it; raises UnreadableFile where it is none that may be read."""
    return list(read(SourceFile("arXiv's answer", data=data), Options()))


def _record(found: Found) -> Record | Refused:
    entry = found.element
    number = arxiv_id(text_at(entry, "id"))
    if not number:
        return Refused(found.line, f"arXiv says: {text_at(entry, 'summary') or text_at(entry, 'title') or 'an entry without an id'}")
    comment = text_at(entry, "comment")
    journal = text_at(entry, "journal_ref")
    return Record(
        title=text_at(entry, "title"),
        abstract=text_at(entry, "summary"),
        authors=tuple(texts_at(entry, "author/name")),
        date=iso_date(text_at(entry, "published")),
        venue=journal,
        entry_type="article" if journal else "misc",
        identifiers=given(arxiv=number, doi=doi_in(text_at(entry, "doi")), url=f"https://arxiv.org/abs/{number}", pdf=_pdf(entry)),
        categories=_categories(entry),
        notices=("withdrawn",) if "withdrawn" in comment.lower() or "withdrawn" in text_at(entry, "summary")[:120].lower() else (),
        line=found.line,
        raw=found.raw,
    )


def _pdf(entry: Element) -> str:
    return next((link.get("href", "") for link in entry.iterfind("link") if link.get("title") == "pdf"), "")


def _categories(entry: Element) -> tuple[str, ...]:
    """Subject codes, the primary one first."""
    primary = [element.get("term", "") for element in entry.iterfind("primary_category")]
    codes = primary + [element.get("term", "") for element in entry.iterfind("category")]
    return tuple(dict.fromkeys(code for code in codes if code))
