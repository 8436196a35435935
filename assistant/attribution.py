"""Does a statement share its words with what it cites, and does another sentence fit much better (R6)?

The fit of a statement to sentences is the share of its content words (stems, stop words left out) that they hold, each
weighted by its rarity among the papers shown, log(1 + N / n): the measure that the search has for the words of a question.
It says that words agree, not that meanings do; across languages it says nothing, and nothing is said.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from assistant.document import YOURS, Cite
from assistant.evidence import Evidence, Labelled
from store.keywords import stems
from store.language import language_of, script_of

LEAST_FIT = 0.25
"""A statement that shares less with what it cites is marked."""
MUCH_BETTER = 0.25
"""A sentence elsewhere is suggested where it fits by so much more."""
LEAST_WORDS = 4
"""With fewer content words a statement is too short for the share to mean anything."""


class Fit(NamedTuple):
    """Sentences of one paper, or of the person's own abstract (no key), and how well they fit: 0 to 1."""

    key: str
    sentences: tuple[int, ...]
    share: float

    def __str__(self) -> str:
        where = "title" if self.sentences == (0,) else ",".join(map(str, self.sentences))
        return f"{self.key or YOURS} {where}"


class Judged(NamedTuple):
    """How well the cited sentences fit, and what fits much better, if anything does."""

    cited: float
    better: Fit | None


@dataclass(frozen=True, slots=True)
class _Sentence:
    number: int
    stems: frozenset[str]


def judged(text: str, cites: Iterable[Cite], evidence: Evidence) -> Judged | None:
    """How a statement fits what it cites; None where words cannot tell (other languages, too few words)."""
    some = tuple(cites)
    wanted = stems(text)
    if len(wanted) < LEAST_WORDS or not comparable(text, some):
        return None
    weights = _weights(wanted, evidence)
    held = frozenset[str]().union(*(stems(cite.quote) for cite in some), *(_title_of(evidence.cited(cite)) for cite in some))
    mine = _share(weights, held)
    count = max(len(cite.sentences) for cite in some)
    rivals = ranked(text, evidence, count)
    best = next((fit for fit in rivals if not _is_cited(fit, some)), None)
    return Judged(mine, best if best and best.share >= mine + MUCH_BETTER else None)


def ranked(text: str, evidence: Evidence, count: int = 1) -> list[Fit]:
    """What was shown by how well the best `count` sentences of each fit a text, best first, ties by key."""
    weights = _weights(stems(text), evidence)
    fits = [_best(shown, weights, count) for shown in evidence.every]
    return sorted(fits, key=lambda fit: (-fit.share, fit.key))


def nearest(text: str, evidence: Evidence) -> Fit | None:
    """The one sentence of all shown that holds most of a text's words, titles left aside; None where none holds any."""
    weights = _weights(stems(text), evidence)
    fits = [Fit(shown.key, (one.number,), _share(weights, one.stems)) for shown in evidence.every for one in _sentences(shown)]
    best = min(fits, key=lambda fit: (-fit.share, fit.key, fit.sentences), default=None)
    return best if best and best.share > 0 else None


def comparable(text: str, cites: Iterable[Cite]) -> bool:
    """Whether a statement and the quotes are in one language, so that words can be compared."""
    quoted = " ".join(cite.quote for cite in cites)
    mine, theirs = language_of(text), language_of(quoted)
    return mine == theirs or (script_of(mine) == script_of(theirs) == "Latin" and _mostly_shared(text, quoted))


def _mostly_shared(text: str, quoted: str) -> bool:
    """A short sentence full of names may pass for another language; shared words say that it is not."""
    words = stems(text)
    return len(words & stems(quoted)) * 2 >= len(words)


def _is_cited(fit: Fit, cites: tuple[Cite, ...]) -> bool:
    return any(fit.key == cite.key and set(fit.sentences) & {0 if cite.text.startswith("title") else number for number in cite.sentences} for cite in cites)


def _best(shown: Labelled, weights: dict[str, float], count: int) -> Fit:
    """The sentences of a paper that together fit best, chosen one after the other; its title stands beside each."""
    sentences = _sentences(shown)
    held = _title_of(shown)
    chosen: list[int] = []
    while sentences and len(chosen) < count:
        sentence = max(sentences, key=lambda one: (_share(weights, held | one.stems), -one.number))
        if chosen and _share(weights, held | sentence.stems) <= _share(weights, held):
            break
        held |= sentence.stems
        chosen.append(sentence.number)
        sentences = [one for one in sentences if one.number != sentence.number]
    return Fit(shown.key, tuple(sorted(chosen)) or (0,), _share(weights, held))


def _sentences(shown: Labelled) -> list[_Sentence]:
    text = shown.text
    return [_Sentence(number, stems(text.sentence(number))) for number, _, _ in text.sentences] if text else []


def _title_of(shown: Labelled | None) -> frozenset[str]:
    return stems(shown.title.characters) if shown and shown.title else frozenset()


def _weights(wanted: frozenset[str], evidence: Evidence) -> dict[str, float]:
    """How much each word tells: log(1 + N / n) for a word that n of the N papers shown hold."""
    papers = [_title_of(shown).union(*(one.stems for one in _sentences(shown))) for shown in evidence.every]
    total = max(len(papers), 1)
    return {word: math.log(1 + total / max(sum(word in held for held in papers), 1)) for word in wanted}


def _share(weights: dict[str, float], held: frozenset[str]) -> float:
    whole = sum(weights.values())
    return sum(weight for word, weight in weights.items() if word in held) / whole if whole else 0.0
