"""Gaps: sentences that say what nobody has done (R12).

No abstract can show that a whole field lacks something. A gap stands where a cited paper says it, where it is said of the
papers at hand ("none of the works reviewed here ..."), or where its words were looked for in every abstract of the scope and
found in none, which code does. The wording is English; a statement in another language is not checked.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from store.keywords import query_words, stem

_WORKS = r"(?:works?|stud(?:y|ies)|papers?|abstracts?|methods?|approach(?:es)?|research|researchers?|attention|effort|literature|benchmarks?|one|authors?)"
GAP = re.compile(
    rf"""\b(?:
      (?:no|few|little|hardly\s+any|scarcely\s+any|not\s+one)\s+(?:\w+[\s-]+){{0,3}}?{_WORKS}\b
    | (?:none|nobody|neither)\b
    | remains?\s+(?:\w+\s+)?(?:open|unexplored|unclear|understudied|unaddressed|unsolved|unresolved|unknown|untested|unstudied|scarce|limited|elusive|an\s+open)\b
    | (?:under-?explored|under-?studied|unexplored|overlooked|neglected|yet\s+to\s+be|open\s+(?:question|problem|challenge)s?|research\s+gap|gap\s+in)\b
    | (?:has|have|is|are|was|were)\s+(?:rarely|seldom|never|not\s+yet|hardly)\s+(?:been\s+)?(?:studied|explored|addressed|examined|investigated|considered|compared|tested|evaluated|reported|measured|asked|attempted)\b
    | (?:has|have)\s+not\s+been\s+(?:studied|explored|addressed|examined|investigated|considered|compared|tested|evaluated|reported|measured|attempted)\b
    | missing\s+from\s+the\s+(?:literature|field)\b
    )""",
    re.IGNORECASE | re.VERBOSE,
)
SCOPED = re.compile(
    rf"""\b(?:
      (?:none|neither|nobody|not\s+one|no\s+one|few|one|all|each|any|most|some|two|three|\d+)\s+of\s+(?:the|these|those|them|both|our)\b(?!\s+(?:existing|previous|prior|current|literature|field|known))
    | (?:these|those|both|the\s+(?:two|three|four|five|six|seven|eight|nine|ten|\d+)(?:\s+\w+)?|the\s+cited|the\s+listed|the\s+surveyed|the\s+reviewed)\s+{_WORKS}
    | neither\s+(?:work|paper|abstract|study|method|approach|one|of)?
    | (?:reviewed|considered|surveyed|discussed|listed|cited|collected|gathered|read|covered)\s+here
    | (?:in|of)\s+(?:this|the|our)\s+(?:library|collection|set|scope|corpus)
    | here\b
    | {_WORKS}\s+(?:above|below)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
SAYS_NO = re.compile(r"\b(?:not|no|none|never|nor|cannot|can't|n't|lack\w*|limit\w*|without|fail\w*|remain\w*|open|future\s+work|only|however|little|few|rare\w*|unexplored|under\w*|overlook\w*|neglect\w*|challeng\w*|unclear|unknown|still|yet|gap\w*|leave\w*|left)\b", re.IGNORECASE)


class Held(NamedTuple):
    """A word that was said to be absent, and the paper whose sentence holds it."""

    word: str
    key: str
    sentence: str


def claims_gap(text: str) -> bool:
    """Whether a sentence says that something is not done, not known or not there."""
    return bool(GAP.search(text))


def is_scoped(text: str) -> bool:
    """Whether a gap is said of papers that can be pointed at, and not of the field."""
    return bool(SCOPED.search(text))


def is_told(sources: Iterable[str]) -> bool:
    """Whether a cited sentence itself says that something is missing or limited."""
    return any(SAYS_NO.search(source) for source in sources)


def held(words: Sequence[str], sentences: Iterable[tuple[str, str]]) -> list[Held]:
    """Of words that no paper is to hold, those that one does; `sentences` are (key, sentence) of every paper in the scope.

    A word counts as held in any inflection; a phrase where its words stand beside each other, in any order and with one other
    between them at most: rather found once too often than once too seldom.
    """
    wanted = {word: frozenset(_stems(word)) for word in words}
    found: dict[str, Held] = {}
    for key, sentence in sentences:
        here = _stems(sentence)
        for word, parts in wanted.items():
            if word not in found and parts and _stand_together(parts, here):
                found[word] = Held(word, key, sentence)
    return [found[word] for word in words if word in found]


def _stems(text: str) -> list[str]:
    return [stem(word) for word in query_words(text)]


def _stand_together(parts: frozenset[str], words: Sequence[str]) -> bool:
    return parts <= set(words) and any(parts <= set(words[at : at + len(parts) + 1]) for at in range(len(words)))
