"""Whether words stand in a text as they are quoted (R5); hidden characters, spaces, dashes, quotation marks and case aside."""

import re
import unicodedata
from functools import lru_cache

from assistant.visible import HIDDEN

DASHES = re.compile("[\u2010-\u2015\u2212\ufe58\ufe63\uff0d]+|--+")
MARKS = re.compile("[\u2018\u2019\u201a\u201b`´]|''")
DOUBLE = re.compile('[\u201c\u201d\u201e\u201f«»"]')
BROKEN_WORD = re.compile(r"(?<=[a-z])-[^\S\n]{0,20}\n\s{0,20}(?=[a-z])")
SPACES = re.compile(r"\s+")
GAP = re.compile(r"\s*(?:\[\s*)?(?:…|\.\.\.|\. \. \.)(?:\s*\])?\s*")
QUOTED = re.compile(r"[\u201c\u201e«\"]\s?([^\u201c\u201d\u201e«»\"]{2,400}?)\s?[\u201d\u201c»\"]")
LEAST_WORDS = 4
"""Fewer words in quotation marks are a term or irony, not a quotation."""
SHORTEST_PART = 12
"""Characters that a part of a quote beside an ellipsis needs, so that `…` cannot stand for anything."""


@lru_cache(maxsize=4096)
def folded(text: str) -> str:
    """The text without what copying changes: hidden characters, kinds of spaces, dashes and quotation marks, line breaks, case."""
    text = unicodedata.normalize("NFKC", HIDDEN.sub("", BROKEN_WORD.sub("", text)))
    text = DOUBLE.sub('"', MARKS.sub("'", DASHES.sub("-", text)))
    text = re.sub(r"\s*-\s*", "-", SPACES.sub(" ", text))
    return re.sub(r"\s+(?=[.,;:!?%)])", "", text).strip().casefold()


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote is in a text; around an ellipsis each part is, in order, and is 12 characters long at least."""
    parts = [folded(part).strip(' "') for part in GAP.split(SPACES.sub(" ", quote)) if part.strip()]
    if not parts or (len(parts) > 1 and min(map(len, parts)) < SHORTEST_PART):
        return False
    whole, at = folded(text), 0
    for part in parts:
        at = _whole_words(part, whole, at)
        if at < 0:
            return False
    return True


def quotations(text: str) -> list[str]:
    """What a statement puts in quotation marks, where it is long enough to be a quotation."""
    return [hit[1].strip().rstrip(",.;") for hit in QUOTED.finditer(text) if len(hit[1].split()) >= LEAST_WORDS]


def _whole_words(part: str, text: str, start: int) -> int:
    """Where the part ends in the text, cut at no word; -1 where it is not."""
    at = text.find(part, start)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(part) : at + len(part) + 1]
        if not (_joins(before) and _joins(part[:1])) and not (_joins(after) and _joins(part[-1:])):
            return at + len(part)
        at = text.find(part, at + 1)
    return -1


def _joins(char: str) -> bool:
    """Whether a character is of a word whose other characters would stand beside it; Chinese words stand without spaces."""
    return char.isalnum() and not "\u3040" <= char <= "\u9fff"
