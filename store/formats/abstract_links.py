"""A list of abstracts, each followed by its link on a line of its own. It prints no titles, and none is made up."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_identifiers, in_order, is_arxiv_id
from store.formats.text import clean
from store.paper import Record, Refused

NAME = "abstract-links"
LINK = re.compile(r"https?://\S+")
DOI = re.compile(r"https?://(?:dx\.)?doi\.org/(10\.\d{4,9}/\S+)", re.IGNORECASE)
CUT_ARXIV = re.compile(r"arxiv\.org/(?:abs|pdf)/(\d{4}\.\d{0,4}|[\d.]*)$")
BEGINNINGS = ("https://arxiv.org/abs/", "https://arxiv.org/pdf/", "https://doi.org/10.")
SHORTEST_ABSTRACT = 80


def matches(file: SourceFile) -> bool:
    """Whether links stand alone on their lines, each under a line long enough for an abstract."""
    text = file.head
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    links = [at for at, line in enumerate(lines) if LINK.fullmatch(line)]
    under_abstract = [at for at in links if at > 0 and len(lines[at - 1]) >= SHORTEST_ABSTRACT]
    return bool(links) and len(under_abstract) * 2 > len(links)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every abstract that has its link; one without is reported with its line."""
    text = file.whole
    records: list[Record] = []
    refused: list[Refused] = []
    lines: list[str] = []
    start = 0
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        if LINK.fullmatch(line.strip()):
            _close(lines, line.strip(), start or number, records, refused)
            lines, start = [], 0
        else:
            start = start or number
            lines.append(line.strip())
    if lines:
        refused.append(Refused(start, "no link under this abstract; the list may be cut off here"))
    return in_order(records, refused)


def _close(lines: list[str], link: str, start: int, records: list[Record], refused: list[Refused]) -> None:
    """A link ends a record; what stands above it is the abstract."""
    cut = CUT_ARXIV.search(link)
    if not lines:
        refused.append(Refused(start, f"no abstract above the link {link}"))
    elif (cut and not is_arxiv_id(cut[1])) or any(beginning.startswith(link) for beginning in BEGINNINGS):
        refused.append(Refused(start, f"the link {link} is cut off; copy the list again to have this record whole"))
    else:
        abstract = clean("\n".join(lines))
        records.append(Record(abstract=abstract, identifiers=_identifiers(link), line=start, raw="\n".join([*lines, link])))


def _identifiers(link: str) -> dict[str, str]:
    doi = DOI.fullmatch(link)
    if doi:
        return {"doi": doi[1].lower(), "url": link}
    return arxiv_identifiers(link) | {"url": link}
