"""The citation key of a work."""

import re
from collections.abc import Callable
from enum import IntEnum

from store.normalize import family_name, telling_word
from store.paper import Record

SAFE = re.compile(r"[^A-Za-z0-9:_.+/-]")
LONGEST_WORD = 24


class KeyRank(IntEnum):
    """How telling a key is; the best a work's records give is shown."""

    IDENTIFIER = 0
    WORD = 1
    WORD_YEAR = 2
    AUTHOR_YEAR = 3
    IMPORTED = 4


def own_key(record: Record) -> tuple[str, KeyRank]:
    """The key that this record alone would have, and how telling it is."""
    key = imported_key(record)
    return (key, KeyRank.IMPORTED) if key else _made_up(record)


def made_up_key(record: Record) -> str:
    """Family name, year and first telling word of the title; else that word and the year, if known; else the identifier."""
    return _made_up(record)[0]


def _made_up(record: Record) -> tuple[str, KeyRank]:
    word = telling_word(record.title)[:LONGEST_WORD]
    year = record.date[:4]
    family = family_name(record.authors[0]) if record.authors and year else ""
    if word:
        rank = KeyRank.AUTHOR_YEAR if family else KeyRank.WORD_YEAR if year else KeyRank.WORD
        return f"{family}{year}{word}" if family else f"{word}{year}", rank
    for kind in ("arxiv", "doi", "pmid", "url"):
        if record.identifiers.get(kind):
            return slug(f"{kind}-{record.identifiers[kind]}"), KeyRank.IDENTIFIER
    family = family_name(record.authors[0]) if record.authors else ""
    return f"{family}{year}" or "untitled", KeyRank.IDENTIFIER


def imported_key(record: Record) -> str:
    """The key that the source gave, without what BibTeX and file names cannot hold."""
    return SAFE.sub("", record.key)


def free_key(wanted: str, taken: Callable[[str], bool]) -> str:
    """The wanted key, or with `a`, `b`, … `z`, `aa` behind it until nobody has it."""
    if not taken(wanted):
        return wanted
    number = 1
    while taken(candidate := f"{wanted}{_letters(number)}"):
        number += 1
    return candidate


def slug(text: str) -> str:
    """A name that is safe as a key and in a file name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:80] or "untitled"


def _letters(number: int) -> str:
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("a") + rest) + letters
    return letters
