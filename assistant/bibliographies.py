"""A manuscript's bibliography beside the library: which entry is which paper, and where the two differ, field by field.

What only looks different is none: case, braces, accents, initials for given names, `and others`, kinds of dashes, usual
abbreviations of journals and conferences.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from assistant.document import Difference
from assistant.errors import UsageError
from store import formats
from store.duplicates import PREPRINT_DOIS
from store.errors import UnreadableFile
from store.formats import bibtex
from store.formats.file import SourceFile
from store.formats.reading import Options
from store.library import Library
from store.normalize import family_name, folded, identifier
from store.paper import Paper, Record, Refused

NEAR_TITLE = 93.0
"""Titles as alike as that, with a family name or a year in common, are one work with a slip in its title."""
AND_OTHERS = re.compile(r"\band\s+others\b|\bet\s+al\b", re.IGNORECASE)
PREPRINT = re.compile(r"\b(?:arxiv|corr|biorxiv|medrxiv|ssrn|preprint|openreview|psyarxiv|chemrxiv)\b", re.IGNORECASE)
LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ı": "i", "ð": "d", "þ": "th"})
TWO_LETTERS = re.compile(r"ae|oe|ue|æ|œ")
KINDS = {
    "article": "article", "inproceedings": "conference", "conference": "conference", "proceedings": "conference", "book": "book", "mvbook": "book",
    "inbook": "part of a book", "incollection": "part of a book", "phdthesis": "thesis", "mastersthesis": "thesis", "thesis": "thesis",
    "misc": "", "online": "", "unpublished": "", "techreport": "", "report": "", "electronic": "", "www": "",
}  # fmt: skip
"""What an entry is, where its type says so; a preprint may stand under many."""
NOISE = frozenset(
    "the of on and in for a an at to proceedings proc international intl int annual conference conf symposium workshop meeting transactions trans "
    "journal ieee acm aaai usenix cvf th st nd rd advances volume vol series lecture notes main track long papers findings".split()
)
ACRONYMS = {
    "neurips": "neural information processing systems", "nips": "neural information processing systems", "icml": "machine learning",
    "iclr": "learning representations", "acl": "association for computational linguistics", "emnlp": "empirical methods in natural language processing",
    "naacl": "north american chapter of the association for computational linguistics", "cvpr": "computer vision and pattern recognition",
    "iccv": "computer vision", "eccv": "european computer vision", "aaai": "artificial intelligence", "ijcai": "joint artificial intelligence",
    "jmlr": "machine learning research", "tmlr": "machine learning research", "tacl": "association for computational linguistics", "kdd": "knowledge discovery and data mining",
    "sigir": "research and development in information retrieval", "chi": "human factors in computing systems", "corl": "robot learning",
    "icra": "robotics and automation", "iros": "intelligent robots and systems", "rss": "robotics science and systems", "www": "world wide web",
    "colm": "language modeling", "coling": "computational linguistics", "interspeech": "interspeech", "icassp": "acoustics speech and signal processing",
    "pnas": "national academy of sciences", "uai": "uncertainty in artificial intelligence", "aistats": "artificial intelligence and statistics",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a bibliography, and the paper of the library that it is; `matched` says by what, `paper` is None where none is."""

    record: Record
    place: str
    paper: Paper | None = None
    matched: str = ""


@dataclass(frozen=True, slots=True)
class Bibliography:
    """The entries by key, and what was odd about the files: (place, what)."""

    files: tuple[str, ...] = ()
    entries: dict[str, Entry] = field(default_factory=dict)
    remarks: tuple[tuple[str, str], ...] = ()


class _Titles(NamedTuple):
    """The library's papers and their titles in comparable form."""

    papers: Sequence[Paper]
    folded: Sequence[str]


def read(library: Library, paths: Sequence[Path]) -> Bibliography:
    """The entries of the files, each with its paper; of two under one key the first counts. Raises UsageError."""
    entries: dict[str, Entry] = {}
    remarks: list[tuple[str, str]] = []
    papers = library.papers() if paths else []
    titles = _Titles(papers, [folded(paper.title) for paper in papers])
    for path in paths:
        for item in _items(path):
            place = f"{path.name}:{item.line}"
            if isinstance(item, Refused):
                remarks.append((place, f"{item.reason}; the other entries are read"))
            elif item.key in entries:
                remarks.append((place, f"the key {item.key!r} was given before, at {entries[item.key].place}; the first one counts"))
            elif item.key:
                entries[item.key] = Entry(item, place, *_paper(library, item, titles))
    remarks += _twice(entries.values())
    return Bibliography(tuple(path.name for path in paths), entries, tuple(remarks))


def _items(path: Path) -> list[Record | Refused]:
    """What a file holds, of BibTeX or whatever else has keys; raises UsageError."""
    if not path.is_file():
        raise UsageError(f"{path}: there is no such bibliography; give a .bib file")
    file = SourceFile(str(path), path)
    try:
        if path.suffix.lower() == ".bib":
            return list(bibtex.read(file, Options()))
        return list(formats.opened(file).items)
    except (OSError, UnreadableFile) as error:
        if path.suffix.lower() == ".bib" and path.stat().st_size == 0:
            return []
        raise UsageError(f"{path}: cannot be read as a bibliography: {error}") from error


def _paper(library: Library, record: Record, titles: _Titles) -> tuple[Paper | None, str]:
    """The paper that an entry is, by the library's own rules, and by what; a title counts before an identifier that is another work's."""
    by_all = library.catalog.same_work(record)
    by_title = library.catalog.same_work(Record(title=record.title)) if record.title else 0
    number = by_title if by_title and by_title != by_all else by_all
    if number:
        return library.catalog.papers([number])[0], "title" if number != by_all else "identifier or title"
    wanted = folded(record.title)
    if not wanted:
        return None, ""
    return _near(record, wanted, titles)


def _near(record: Record, wanted: str, titles: _Titles) -> tuple[Paper | None, str]:
    from rapidfuzz import fuzz, process

    for _, _, at in process.extract(wanted, titles.folded, scorer=fuzz.ratio, limit=3, score_cutoff=NEAR_TITLE):
        paper = titles.papers[at]
        families = {family_name(name) for name in record.authors} & {family_name(name) for name in paper.authors} - {""}
        if families or (record.date[:4] == paper.year and paper.year):
            return paper, "a title that is nearly the same"
    return None, ""


def _twice(entries: Iterable[Entry]) -> Iterator[tuple[str, str]]:
    """Entries under two keys that are one paper."""
    first: dict[int, Entry] = {}
    for entry in entries:
        if entry.paper is None:
            continue
        known = first.setdefault(entry.paper.number, entry)
        if known is not entry:
            yield entry.place, f"{entry.record.key!r} and {known.record.key!r} ({known.place}) are one work: {entry.paper.key} of the library"


# -- field by field


def differences(entry: Entry) -> list[Difference]:
    """Where an entry says something else than the library's record of its paper, or lacks what that has."""
    paper, record = entry.paper, entry.record
    if paper is None:
        return []
    found = [
        *_title(record, paper),
        *_authors(record, paper),
        *_year(record, paper),
        *_venue(record, paper),
        *_identifiers(record, paper),
        *_kind(record, paper),
        *_details(record, paper),
        *(("notice", "", notice) for notice in paper.notices),
    ]
    return [Difference(record.key, paper.key, entry.place, name, given, known) for name, given, known in found]


Found = Iterator[tuple[str, str, str]]


def _title(record: Record, paper: Paper) -> Found:
    if paper.title and _squeezed(record.title) != _squeezed(paper.title):
        yield "title", record.title, paper.title


def _squeezed(text: str) -> str:
    return folded(text).replace(" ", "")


def _authors(record: Record, paper: Paper) -> Found:
    if not paper.authors:
        return
    mine, theirs = record.authors, paper.authors
    if not mine:
        yield "authors", "", "; ".join(theirs)
        return
    is_cut = bool(AND_OTHERS.search(record.raw)) or any(folded(name) in {"others", "et al"} for name in mine)
    mine = tuple(name for name in mine if folded(name) not in {"others", "et al"})
    is_partial = (paper.author_count or 0) > len(theirs)
    same = all(_is_same_person(one, other) for one, other in zip(mine, theirs, strict=False))
    if not same or (len(mine) < len(theirs) and not is_cut) or (len(mine) > len(theirs) and not is_partial):
        yield "authors", "; ".join([*mine, *(["and others"] if is_cut else [])]), "; ".join(theirs)


def _is_same_person(one: str, other: str) -> bool:
    """Whether two printed names can be one person's: the same family name, and first names that agree as far as both say them."""
    a, b = _name_words(one), _name_words(other)
    if sorted(a) == sorted(b) or "".join(a) == "".join(b):
        return True
    if not a or not b or a[-1] != b[-1]:
        return False
    return len(a) == 1 or len(b) == 1 or a[0].startswith(b[0]) or b[0].startswith(a[0]) or (min(len(a[0]), len(b[0])) <= 2 and a[0][0] == b[0][0])


def _name_words(name: str) -> list[str]:
    return [word for word in TWO_LETTERS.sub(lambda hit: {"æ": "a", "œ": "o"}.get(hit[0], hit[0][0]), folded(name).translate(LETTERS)).split() if word not in {"jr", "sr", "ii", "iii"}]


def _year(record: Record, paper: Paper) -> Found:
    if paper.year and not paper.date_inferred and record.date[:4] != paper.year:
        yield "year", record.date[:4], paper.year


def _is_preprint(venue: str, identifiers: Iterable[str]) -> bool:
    return bool(PREPRINT.search(venue)) or (not venue and "doi" not in identifiers)


def _published(paper: Paper) -> str:
    """Where a paper was published, if the library knows it: its venue or its DOI, no preprint server's."""
    doi = identifier("doi", paper.identifiers.get("doi", ""))
    venue = "" if PREPRINT.search(paper.venue) else paper.venue
    return ", ".join(part for part in (venue, f"doi {doi}" if doi and not doi.startswith(PREPRINT_DOIS) else "") if part)


def _cites_preprint(record: Record) -> bool:
    doi = identifier("doi", record.identifiers.get("doi", ""))
    own = "" if not doi or doi.startswith(PREPRINT_DOIS) else doi
    return not own and bool(PREPRINT.search(record.venue) or (not record.venue and (record.identifiers.get("arxiv") or doi)))


def _venue(record: Record, paper: Paper) -> Found:
    published = _published(paper)
    if _cites_preprint(record):
        if published:
            yield "published", record.venue or "preprint", published
    elif paper.venue and not PREPRINT.search(paper.venue) and not _is_same_venue(record.venue, paper.venue):
        yield "venue", record.venue, paper.venue


def _is_same_venue(one: str, other: str) -> bool:
    a, b = _venue_words(one), _venue_words(other)
    if set(a) == set(b) or (a and b and (set(a) <= set(b) or set(b) <= set(a))):
        return True
    initials = ["".join(word[0] for word in folded(name).split() if word not in {"of", "the", "and", "on", "in", "for"}) for name in (one, other)]
    if any(short in long for short, long in ((folded(one).replace(" ", ""), initials[1]), (folded(other).replace(" ", ""), initials[0])) if len(short) > 2):
        return True
    short, long = sorted((a, b), key=lambda words: sum(map(len, words)))
    return bool(short) and len(short) == len(long) and all(word.startswith(start) for start, word in zip(short, long, strict=True))


def _venue_words(venue: str) -> list[str]:
    """The telling words of a venue, acronyms written out; in order."""
    words = [written for word in folded(venue).split() for written in ACRONYMS.get(word, word).split()]
    return [word for word in words if word not in NOISE and not re.fullmatch(r"\d+(?:st|nd|rd|th)?", word)]


def _identifiers(record: Record, paper: Paper) -> Found:
    mine, theirs = (identifier("doi", one.identifiers.get("doi", "")) for one in (record, paper))
    arxiv_mine, arxiv_theirs = (identifier("arxiv", one.identifiers.get("arxiv", "")) for one in (record, paper))
    is_preprints = any(doi.startswith(PREPRINT_DOIS) for doi in (mine, theirs))
    if theirs and mine != theirs and not is_preprints and not (not mine and _cites_preprint(record)):
        yield "doi", mine, theirs
    if arxiv_theirs and arxiv_mine != arxiv_theirs and (arxiv_mine or not mine):
        yield "arxiv", arxiv_mine, arxiv_theirs


def _kind(record: Record, paper: Paper) -> Found:
    mine, theirs = (KINDS.get(kind, "") for kind in (record.entry_type, paper.entry_type))
    if mine and theirs and mine != theirs and not _cites_preprint(record):
        yield "type", record.entry_type, paper.entry_type


def _details(record: Record, paper: Paper) -> Found:
    for name in ("volume", "number", "pages"):
        mine, theirs = (_figures(one.details.get(name, "")) for one in (record, paper))
        if mine and theirs and mine != theirs:
            yield name, record.details[name], paper.details[name]


def _figures(value: str) -> list[str]:
    """Volume, number or pages as they compare; `1123--45` is `1123-1145`."""
    parts = [part.lstrip("0").lower() for part in re.split(r"[^\w:.]+", value.removeprefix("pp.").strip()) if part]
    if len(parts) == 2 and all(part.isdecimal() for part in parts) and len(parts[1]) < len(parts[0]):
        parts[1] = parts[0][: len(parts[0]) - len(parts[1])] + parts[1]
    return parts
