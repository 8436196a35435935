"""Semantic Scholar papers, as its Graph interface and its bulk data sets give them."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.json_items import Item, inner, items, objects, prose, text, words
from store.formats.reading import Options, arxiv_id, doi_in, entry_type, iso_date
from store.formats.tagged import given
from store.paper import Record, Refused

NAME = "semantic-scholar"
TELLING = re.compile(r'"(?:paperId|externalIds|corpusid|externalids|corpusId)"\s*:')


def matches(file: SourceFile) -> bool:
    """Whether items have Semantic Scholar's names."""
    return not file.is_zip and file.head.lstrip()[:1] in {"[", "{"} and bool(TELLING.search(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every paper of the file."""
    for found in items(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """The record of a paper; a citation (`citedPaper`, `citingPaper`) is that of the paper in it."""
    paper = inner(item, "citedPaper") or inner(item, "citingPaper") or item
    identifiers = _identifiers(paper)
    if not text(paper, "title") and not identifiers:
        return Refused(line, "neither a title nor an id: not a paper of Semantic Scholar")
    journal = inner(paper, "journal")
    types = words(paper, "publicationTypes", "publicationtypes")
    venue = text(inner(paper, "publicationVenue"), "name") or text(journal, "name") or text(paper, "venue")
    return Record(
        title=text(paper, "title"),
        abstract=prose(paper, "abstract"),
        entry_type="inproceedings" if "Conference" in types else entry_type(types[0]) if types else "",
        authors=tuple(name for one in objects(paper, "authors") if (name := text(one, "name"))),
        date=iso_date(text(paper, "publicationDate", "publicationdate") or text(paper, "year")),
        venue="" if venue.lower() in {"arxiv.org", "arxiv"} else venue,
        identifiers=identifiers,
        details=given(volume=text(journal, "volume"), pages=text(journal, "pages")),
        references=tuple(dict.fromkeys(name for one in objects(paper, "references") if (name := _name(one)))),
        line=line,
        raw=raw,
    )


def _identifiers(paper: Item) -> dict[str, str]:
    ids = inner(paper, "externalIds") or inner(paper, "externalids")
    medical = text(ids, "PubMedCentral", "PMC")
    return given(
        doi=doi_in(text(ids, "DOI", "doi")),
        arxiv=arxiv_id(text(ids, "ArXiv", "arXiv", "arxiv")),
        pmid=text(ids, "PubMed", "pubmed"),
        pmcid=f"PMC{medical.removeprefix('PMC')}" if medical else "",
        semanticscholar=text(paper, "paperId", "paperid") or (f"CorpusID:{number}" if (number := text(paper, "corpusId", "corpusid")) else ""),
        url=text(paper, "url"),
        pdf=text(inner(paper, "openAccessPdf") or inner(paper, "openaccesspdf"), "url"),
    )


def _name(reference: Item) -> str:
    """The most telling identifier of a cited paper."""
    ids = _identifiers(inner(reference, "citedPaper") or reference)
    return next((f"{kind}:{ids[kind]}" for kind in ("doi", "arxiv", "pmid", "semanticscholar") if kind in ids), "")
