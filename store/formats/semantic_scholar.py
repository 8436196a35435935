"""Papers of Semantic Scholar: replies of its API, and lines of its data sets.

A reply is one paper, a list of them, or has them under `data`; citations wrap each in `citedPaper` or `citingPaper`. The data sets
write the same names in lower case.
"""

import re
from collections.abc import Iterator

from store.formats import json_items as fields
from store.formats.file import SourceFile
from store.formats.json_items import Item
from store.formats.reading import Options, arxiv_id, entry_type, iso_date, printed_name
from store.paper import Record, Refused

NAME = "semantic-scholar"
OWN_NAMES = frozenset("externalIds externalids corpusId corpusid citedPaper citingPaper openaccessinfo recommendedPapers".split())
OWN_ID = re.compile(r'"paperId"\s*:\s*(?:"[0-9a-f]{40}"|null)')
PAPER_ID = re.compile(r"[0-9a-f]{40}")
WRAPPED = ("citedPaper", "citingPaper")


def matches(file: SourceFile) -> bool:
    """Whether the papers have Semantic Scholar's ids."""
    names = fields.names_in(file)
    return bool(names & OWN_NAMES) or ("paperId" in names and bool(OWN_ID.search(file.head)))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every paper."""
    return fields.records(file, record)


def record(item: Item, line: int = 0, raw: str = "") -> Record | Refused:
    """What Semantic Scholar says of one paper."""
    wrapping = next((name for name in WRAPPED if name in item), "")
    if wrapping and not fields.inner(item, wrapping):
        return Refused(line, f"{wrapping} is empty: Semantic Scholar does not say which paper it is")
    paper = _lower(fields.inner(item, wrapping) if wrapping else item)
    journal, venue = _published(paper, "journal"), _published(paper, "publicationvenue")
    return Record(
        title=fields.plain(paper, "title"),
        abstract=fields.abstract(paper, "abstract"),
        entry_type=_entry_type(paper, venue),
        authors=_authors(paper),
        date=iso_date(fields.text(paper, "publicationdate")) or iso_date(fields.text(paper, "year")),
        venue=_venue(paper, journal, venue),
        identifiers=_identifiers(paper),
        details=_details(journal, venue),
        references=_references(paper),
        line=line,
        raw=raw,
    )


def _lower(item: Item) -> Item:
    return {name.lower(): value for name, value in item.items()}


def _published(paper: Item, name: str) -> Item:
    """Where it appeared; arXiv is no journal."""
    found = fields.inner(paper, name)
    return fields.EMPTY if _is_arxiv(fields.text(found, "name")) else found


def _is_arxiv(venue: str) -> bool:
    return venue.lower().startswith("arxiv")


def _authors(paper: Item) -> tuple[str, ...]:
    people = fields.items(paper, "authors")
    names = [fields.text(person, "name") for person in people] if people else map(printed_name, fields.texts(paper, "authors"))
    return tuple(name for name in names if name)


def _venue(paper: Item, journal: Item, venue: Item) -> str:
    """The journal or conference by its full name."""
    names = (fields.text(venue, "name"), fields.text(paper, "venue"), fields.text(journal, "name"))
    return next((name for name in names if name and not _is_arxiv(name)), "")


def _entry_type(paper: Item, venue: Item) -> str:
    """The first kind that is one; a paper of a journal and a conference is what its venue is."""
    kinds = [entry_type(kind) for kind in fields.texts(paper, "publicationtypes")]
    told = [kind for kind in kinds if kind != "misc"]
    of_venue = entry_type(fields.text(venue, "type"))
    return of_venue if len(set(told)) > 1 and of_venue in told else (told or kinds or [""])[0]


def _external(paper: Item) -> Item:
    """The identifiers of others, by the names of their services in lower case."""
    open_access = fields.inner(paper, "openaccessinfo")
    ids = fields.inner(paper, "externalids") or fields.inner(open_access, "externalids") or fields.inner(open_access, "externalIds")
    return _lower(ids)


def _ids(paper: Item) -> dict[str, str]:
    """DOI, arXiv id, PubMed ids and Semantic Scholar's own."""
    external = _external(paper)
    doi = fields.doi(fields.text(external, "doi"))
    own, number = fields.text(paper, "paperid").lower(), fields.text(paper, "corpusid") or fields.text(external, "corpusid")
    return fields.given(
        {
            "doi": doi,
            "arxiv": arxiv_id(fields.text(external, "arxiv")) or fields.arxiv_of_doi(doi),
            "pmid": fields.pmid(fields.text(external, "pubmed")),
            "pmcid": fields.pmcid(fields.text(external, "pubmedcentral")),
            "semanticscholar": own if PAPER_ID.fullmatch(own) else f"CorpusId:{number}" if number.isdecimal() else "",
        }
    )


def _identifiers(paper: Item) -> dict[str, str]:
    open_access = fields.inner(paper, "openaccesspdf") or fields.inner(paper, "openaccessinfo")
    url = fields.address(fields.text(paper, "url"))
    return _ids(paper) | fields.given({"url": url, "pdf": fields.address(fields.text(open_access, "url"))})


def _details(journal: Item, venue: Item) -> dict[str, str]:
    return fields.given(
        {
            "volume": fields.text(journal, "volume"),
            "pages": fields.text(journal, "pages").replace(" - ", "-"),
            "issn": fields.text(venue, "issn"),
        }
    )


def _references(paper: Item) -> tuple[str, ...]:
    """The cited papers, each by the best of its identifiers."""
    cited = (fields.inner(reference, "citedPaper") or reference for reference in fields.items(paper, "references"))
    found = (_reference(_ids(_lower(reference))) for reference in cited)
    return tuple(dict.fromkeys(reference for reference in found if reference))


def _reference(ids: dict[str, str]) -> str:
    kinds = ("arxiv", "doi", "semanticscholar") if "arxiv" in ids and fields.arxiv_of_doi(ids.get("doi", "")) else ("doi", "arxiv", "semanticscholar")
    return next((f"{kind}:{ids[kind]}" for kind in kinds if kind in ids), "")
