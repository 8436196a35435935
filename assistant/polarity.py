"""Negations and directions: does a statement say no, more or less where its sentences do (R11)?

Words are compared in the neighbourhood of what both texts share: a direction word counts where the same content word or
number stands within a few words of it in both. The method is ours and simple; `docs/evidence.md` says how often it errs.
"""

import re
from typing import Literal, NamedTuple

from store.keywords import STOP, stem

Sense = Literal["not", "up", "down"]
NEGATIONS = frozenset("not no never none neither nor without cannot hardly rarely barely nothing nobody nowhere fail fails failed failing lack lacks lacked lacking unable absent".split())
UP = (
    "increase increases increased increasing raise raises raised raising rise rises rose rising improve improves improved improving improvement improvements"
    " gain gains gained gaining boost boosts boosted boosting higher high larger greater more better best faster stronger outperform outperforms outperformed outperforming"
    " surpass surpasses surpassed surpassing exceed exceeds exceeded exceeding beat beats beating enhance enhances enhanced enhancing grow grows grew growing longer above"
    " accelerate accelerates accelerated upward positive positively superior expand expands expanded strengthen strengthens strengthened"
)
DOWN = (
    "decrease decreases decreased decreasing lower lowers lowered lowering reduce reduces reduced reducing reduction reductions drop drops dropped dropping fall falls fell falling"
    " decline declines declined declining worse worst weaker slower smaller less fewer low underperform underperforms underperformed underperforming degrade degrades degraded"
    " degrading degradation diminish diminishes diminished lose loses lost losing cut cuts cutting shrink shrinks shrank shorter below worsen worsens worsened hurt hurts hurting"
    " harm harms harmed downward negative negatively inferior suppress suppresses suppressed weaken weakens weakened slow slows slowed"
)
_SENSED: tuple[tuple[frozenset[str], Sense], ...] = ((frozenset(UP.split()), "up"), (frozenset(DOWN.split()), "down"), (NEGATIONS, "not"))
SENSES: dict[str, Sense] = {word: sense for words, sense in _SENSED for word in words}
OPPOSITE: dict[Sense, Sense] = {"up": "down", "down": "up"}
WORD = re.compile(r"\w+(?:\.\d+)?(?:['’]t\b)?")
ANSWER = re.compile(r"^\s*(?:no|not quite|not entirely)\s*[,:;.–—]\s*", re.IGNORECASE)
"""The no with which a question is answered."""
ALIKE = 0.6
"""A negation is missed only where so much of its neighbourhood stands in the other text."""
REACH = 4
"""Words on either side within which a word of direction or negation is about another word."""


class Clash(NamedTuple):
    """A word of the statement, and how its sentences differ there."""

    word: str
    reason: str


class _Word(NamedTuple):
    text: str
    stem: str
    sense: Sense | None
    is_content: bool


def clashes(statement: str, sources: tuple[str, ...]) -> list[Clash]:
    """Where a statement and the sentences it cites disagree in negation or direction beside a word that both hold."""
    said, held = _words(statement), [words for source in sources for words in [_words(source)]]
    source = max(held, key=lambda words: len(_contents(words) & _contents(said)), default=[])
    if not _contents(source) & _contents(said):
        return []
    found = [clash for at, word in enumerate(said) if word.sense in OPPOSITE and (clash := _turned(at, said, held))]
    if any(word.sense == "not" and any(near.sense in OPPOSITE for near in said[at + 1 : at + 4]) for at, word in enumerate(said)):
        return found  # “does not increase” was compared as a direction
    added, dropped = _unmatched_negation(said, held), _unmatched_negation(source, [said])
    if added and not dropped:
        found.append(Clash(added, f"{added!r} stands in none of the cited sentences there"))
    if dropped and not added:
        found.append(Clash(dropped, f"the cited sentence says {dropped!r} there"))
    return found  # where both have a negation of their own, they may say the same no in other words


def goes_down(text: str) -> bool:
    """Whether a word of the text says that something falls, or is less."""
    return any(SENSES.get(word.lower()) == "down" for word in WORD.findall(text))


def _turned(at: int, said: list[_Word], held: list[list[_Word]]) -> Clash | None:
    """The clash at a word of direction: beside the words it stands with, the sources have only the opposite."""
    sense = _effective(at, said)
    near = _near(at, said)
    least = min(2, len(near))
    senses = [_effective(place, words) for words in held for place, word in enumerate(words) if word.sense in OPPOSITE and len(_near(place, words) & near) >= least]
    if senses and sense not in senses:
        return Clash(said[at].text, f"{said[at].text!r} turns what the cited sentence says of {', '.join(sorted(near)[:3])}")
    return None


def _effective(at: int, words: list[_Word]) -> Sense | None:
    """The direction that a word gives, turned by a negation in the three words before it."""
    sense = words[at].sense
    turned = any(word.sense == "not" for word in words[max(at - 3, 0) : at])
    return OPPOSITE.get(sense, sense) if sense and turned else sense


def _unmatched_negation(words: list[_Word], others: list[list[_Word]]) -> str:
    """A negation whose neighbours the other sentences hold too, with no negation near them; nothing where there is none."""
    for at, word in enumerate(words):
        if word.sense != "not":
            continue
        after = {one.stem for one in words[at + 1 : at + 1 + REACH] if one.is_content}
        near = _near(at, words)
        told = [(other, near & _contents(other)) for other in others]
        told = [(other, shared) for other, shared in told if after & shared and len(shared) >= min(2, len(near))]
        if any(_negated(place, other) for other, shared in told for place, one in enumerate(other) if one.stem in after & shared):
            continue
        if any(len(shared) >= ALIKE * len(near) for _, shared in told):
            return word.text
    return ""


def _negated(at: int, words: list[_Word]) -> bool:
    return any(word.sense == "not" for word in words[max(at - REACH - 1, 0) : at + REACH])


def _near(at: int, words: list[_Word]) -> set[str]:
    around = words[max(at - REACH, 0) : at] + words[at + 1 : at + 1 + REACH]
    return {word.stem for word in around if word.is_content}


def _contents(words: list[_Word]) -> set[str]:
    return {word.stem for word in words if word.is_content}


def _words(text: str) -> list[_Word]:
    found = []
    for token in WORD.findall(ANSWER.sub("", text)):
        word = token.lower().replace("’", "'")
        sense: Sense | None = "not" if word.endswith("n't") else SENSES.get(word)
        found.append(_Word(token, stem(word), sense, sense is None and word not in STOP and (len(word) > 2 or word.isdigit())))
    return found
