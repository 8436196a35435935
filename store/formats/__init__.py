"""A file → the papers it holds. The layout is found by content; a new one is a module here and a line in READERS."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from store.errors import UnreadableFile
from store.formats import (
    abstract_links,
    arxiv_atom,
    bibtex,
    crossref,
    csl_json,
    daily_papers,
    endnote_xml,
    id_list,
    json_lines,
    keyword_digest,
    nbib,
    openalex,
    pubmed_xml,
    refer,
    ris,
    semantic_scholar,
    tables,
    wos,
)
from store.formats.file import SourceFile
from store.formats.reading import Options, Reader, Reading
from store.language import language_of
from store.paper import Kind, Record, Refused

READERS: tuple[Reader, ...] = (
    arxiv_atom, pubmed_xml, endnote_xml,
    openalex, crossref, semantic_scholar, csl_json, json_lines,
    ris, nbib, wos, refer,
    keyword_digest, daily_papers, bibtex, id_list, abstract_links, tables,
)  # fmt: skip
"""In the order in which they are asked: the most telling layouts first."""

EXPECTED = (
    "expected BibTeX, RIS, PubMed (nbib, XML), EndNote (XML, refer), Web of Science text, CSL-JSON, OpenAlex, Crossref or Semantic Scholar JSON,"
    " JSON Lines, an arXiv feed, CSV/TSV/XLSX with a header, a list of arXiv ids or DOIs, a Daily Papers page, an arXiv keyword digest,"
    " or abstracts each followed by a link"
)
LONGEST = {"title": 5_000, "abstract": 100_000}
"""Characters; a field above that holds something else, such as a whole paper or what an unclosed quote swallowed."""
MOST_AUTHORS = 20_000


class Opened(NamedTuple):
    """The layout that was found, whose words the texts are, and the papers, read as they are asked for."""

    format: str
    kind: Kind
    items: Iterator[Record | Refused]


def opened(file: SourceFile, options: Options | None = None) -> Opened:
    """A file's layout and papers; raises UnreadableFile when it is of no known layout."""
    if file.is_zip and not tables.matches(file):
        raise UnreadableFile(f"{file.name}: an archive; unpack it and add what is in it; expected a list of papers")
    reader = tables if file.is_zip else next((reader for reader in READERS if reader.matches(file)), None)
    if reader is None:
        raise UnreadableFile(f"{file.name}: no known layout; {EXPECTED}")
    return Opened(reader.NAME, "note" if file.is_note else "abstract", map(_checked, reader.read(file, options or Options())))


def read_file(path: Path, year: int | None = None) -> Reading:
    """What a file holds, all at once; raises UnreadableFile when there is nothing in it to import."""
    return _reading(SourceFile(str(path), path), Options(year))


def read_bytes(data: bytes, name: str, year: int | None = None) -> Reading:
    """The same for what was pasted."""
    return _reading(SourceFile(name, data=data), Options(year))


def _reading(file: SourceFile, options: Options) -> Reading:
    format_, kind, items = opened(file, options)
    found = list(items)
    records = tuple(item for item in found if isinstance(item, Record))
    refused = tuple(item for item in found if isinstance(item, Refused))
    if not found:
        raise nothing_in(file, format_)
    return Reading(format_, records, refused, kind)


def nothing_in(file: SourceFile, format_: str) -> UnreadableFile:
    """What is said of a file of a known layout without a paper in it."""
    return UnreadableFile(f"{file.name}: looks like {format_}, but holds no paper; {EXPECTED}")


def _checked(item: Record | Refused) -> Record | Refused:
    """A record that can be kept, or why it cannot: it names no work, or a field holds what cannot be one."""
    if isinstance(item, Refused):
        return item
    if not (item.title or item.abstract or item.key or item.authors or any(kind not in {"url", "pdf"} for kind in item.identifiers)):
        return Refused(item.line, "neither a title nor an author, an abstract or an identifier: it names no work")
    for field, longest in LONGEST.items():
        if len(getattr(item, field)) > longest:
            return Refused(item.line, f"its {field} has {len(getattr(item, field)):,} characters; no {field} has: is a quote or brace before it not closed?")
    if len(item.authors) > MOST_AUTHORS:
        return Refused(item.line, f"{len(item.authors):,} authors; no work has so many")
    return item if item.language else replace(item, language=language_of(item.abstract or item.title))
