"""A plain list of arXiv ids, DOIs and `PMID:` numbers, one a line or several; what stands behind `#` is a comment.

It prints no titles, and none is made up: `carrel enrich` finds them.
"""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, doi_in
from store.formats.tagged import pmid_in
from store.paper import Record, Refused

NAME = "identifiers"
PMID = re.compile(r"pmid:?\s*(\d{1,9})", re.IGNORECASE)
DOI_WORD = re.compile(r"(?:(?:https?://)?(?:dx\.|www\.)?doi\.org/|doi:\s*)?10\.\d{4,9}/\S+", re.IGNORECASE)
PARTS = re.compile(
    r"\s+|[,;]\s*(?=$|10\.\d{4}|https?:|(?:doi|arxiv|pmid):|\d{4}\.\d{4}|[a-z-]+(?:\.[a-z]{2})?/\d{7})", re.IGNORECASE
)
"""Between identifiers; a comma or semicolon alone may be part of a DOI."""
APART = re.compile(r"\b(pmid|doi|arxiv):\s+", re.IGNORECASE)
REMARK = re.compile(r"(?:^|\s)#.*$|\s\[[a-z-]+(?:\.[a-z-]+)?\](?=\s|$)", re.IGNORECASE)
"""A comment, or the subject that arXiv prints behind an id: `[cs.LG]`."""
ITEM = re.compile(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+")
COLUMN = frozenset({"doi", "dois", "pmid", "arxiv", "arxivid", "arxiv_id", "id"})
"""Names of a column: the list is a table then."""


def matches(file: SourceFile) -> bool:
    """Whether nearly every word of the file is an identifier."""
    words = [word for line in file.head.split("\n") for word in _words(line)] if not file.is_zip else []
    if not words or words[0].lower().strip('"') in COLUMN:
        return False
    return sum(bool(identifiers_in(word)) for word in words) >= 0.8 * len(words)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """A paper for each identifier."""
    for number, line in enumerate(file.lines(), 1):
        for word in _words(line):
            found = identifiers_in(word)
            if found:
                yield Record(identifiers=found, line=number, raw=word)
            else:
                yield Refused(number, _reason(word))


def identifiers_in(word: str) -> dict[str, str]:
    """What identifier a word is: `2603.13224v2`, `arxiv:2603.13224`, `doi:10.1145/…`, `pmid:123`, or an address of these."""
    word = word.strip().strip("<>\"'").rstrip(".,;")
    if number := arxiv_id(word):
        return {"arxiv": number, "url": f"https://arxiv.org/abs/{number}"}
    if found := PMID.fullmatch(word):
        return {"pmid": found[1].lstrip("0") or "0"}
    if "pubmed" in word and (pmid := pmid_in([word])):
        return {"pmid": pmid}
    if not DOI_WORD.fullmatch(word):
        return {}
    doi = doi_in(word)
    if doi.startswith("10.48550/arxiv.") and (number := arxiv_id(doi.removeprefix("10.48550/arxiv."))):
        return {"arxiv": number, "doi": doi}
    return {"doi": doi}


def _words(line: str) -> list[str]:
    """The words of a line without its comment and its list mark; those that are joined by mere commas are parted."""
    bare = APART.sub(r"\1:", ITEM.sub("", REMARK.sub("", line))).strip()
    words = [word for word in PARTS.split(bare) if word]
    return [part for word in words for part in ([word] if identifiers_in(word) else re.split("[,;]+", word)) if part]


def _reason(word: str) -> str:
    if word.isdigit():
        return f"{word[:60]!r} is a mere number; write PMID:{word[:12]} if it is one of PubMed's"
    return f"{word[:60]!r} is neither an arXiv id nor a DOI nor a PMID: mend it, or set # before what is a comment"
