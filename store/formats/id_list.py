"""A plain list of arXiv ids, DOIs and `PMID:` numbers. It prints no titles, and none is made up: `carrel enrich` finds them."""

import re
from collections.abc import Iterator

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, doi_in
from store.paper import Record, Refused

NAME = "identifiers"
PMID = re.compile(r"pmid:?\s*(\d{4,9})", re.IGNORECASE)
DOI_WORD = re.compile(r"(?:https?://(?:dx\.)?doi\.org/|doi:\s*)?10\.\d{4,9}/\S+", re.IGNORECASE)
PARTS = re.compile(r"[\s,;]*\s+|[,;](?=(?:arxiv:|doi:|pmid:|https?://|\d{4}\.\d{4,5}|10\.\d{4,9}/))", re.IGNORECASE)


def matches(file: SourceFile) -> bool:
    """Whether nearly every word of the file is an identifier."""
    words = [word for line in _lines(file.head) for word in _words(line)] if not file.is_zip else []
    return bool(words) and sum(bool(identifiers_in(word)) for word in words) >= 0.8 * len(words)


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """A paper for each identifier."""
    for number, line in enumerate(file.lines(), 1):
        for word in _words(_bare(line)):
            found = identifiers_in(word)
            if found:
                yield Record(identifiers=found, line=number, raw=word)
            else:
                yield Refused(number, f"{word[:60]!r} is neither an arXiv id nor a DOI nor a PMID")


def identifiers_in(word: str) -> dict[str, str]:
    """What identifier a word is: `2603.13224v2`, `arxiv:2603.13224`, `doi:10.1145/…`, `pmid:123`, or an address of these."""
    word = word.strip().strip("<>")
    if number := arxiv_id(word):
        return {"arxiv": number, "url": f"https://arxiv.org/abs/{number}"}
    if found := PMID.fullmatch(word):
        return {"pmid": found[1]}
    if not DOI_WORD.fullmatch(word):
        return {}
    doi = doi_in(word)
    if (preprint := re.match(r"10\.48550/arxiv\.(.+)", doi)) and (number := arxiv_id(preprint[1])):
        return {"arxiv": number, "doi": doi}
    return {"doi": doi}


def _lines(text: str) -> list[str]:
    return [bare for line in text.split("\n") if (bare := _bare(line))]


def _bare(line: str) -> str:
    """A line without its comment and its list mark."""
    return re.sub(r"^\s*(?:[-*•]|\d{1,3}[.)])\s+", "", re.sub(r"(?:^|\s)#.*$", "", line)).strip()


def _words(line: str) -> list[str]:
    return [word for part in PARTS.split(re.sub(r"(?i)\b(pmid|doi|arxiv):\s+", r"\1:", line)) if (word := part.strip(",; "))]
