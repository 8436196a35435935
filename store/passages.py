"""Sentences → passages: runs of whole sentences, the unit that is embedded and searched."""

from collections.abc import Sequence
from typing import NamedTuple

from store.sentences import Sentence

LARGEST = 1_000
"""Characters of a passage: the size that found papers best in `benchmarks/passages.py`; with the title it stays well
below the 256 tokens that MiniLM reads, so nothing is cut off unread."""


class Passage(NamedTuple):
    """Sentences `first` to `last` of a text, both included."""

    first: int
    last: int


def passages(sentences: Sequence[Sentence], largest: int = LARGEST) -> list[Passage]:
    """The text parted into the fewest runs of at most `largest` characters, as even in length as they can be.

    A sentence longer than that is a passage of its own.
    """
    if not sentences:
        return []
    length = sentences[-1].end - sentences[0].start
    aim = length / -(-length // largest)
    runs: list[Passage] = []
    first = sentences[0]
    for sentence, following in zip(sentences, [*sentences[1:], None], strict=True):
        if following is None or _is_full(first, sentence, following, aim, largest):
            runs.append(Passage(first.number, sentence.number))
            first = following or first
    return runs


def _is_full(first: Sentence, last: Sentence, following: Sentence, aim: float, largest: int) -> bool:
    """Whether the run is nearer to its aim without the next sentence than with it."""
    now, then = last.end - first.start, following.end - first.start
    return then > largest or (now - aim) ** 2 < (then - aim) ** 2
