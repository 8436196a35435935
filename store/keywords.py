"""Words of texts and queries, and the keyword ranking: SQLite FTS5 with Porter stemming, BM25 over three columns.

Chinese and Japanese are written without spaces, so their runs are indexed as overlapping pairs of characters.
"""

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

from store.paper import Record

if TYPE_CHECKING:
    from store.catalog import Catalog, Members

HAN_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
WORD = re.compile(r"[^\W_]+")
WEIGHTS = (3.0, 1.0, 1.0)
"""Of title, body and keywords; a title weight between 2 and 5 gained a little on nearly every set measured."""
STOP = frozenset(
    ["a", "an", "and", "are", "as", "at", "be", "been", "by", "can", "could", "did", "do", "does", "for", "from", "had", "has", "have", "how", "i", "in", "into", "is", "it", "its", "may", "of", "on", "or", "our", "should", "so", "such", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "was", "we", "were", "what", "when", "where", "which", "who", "whom", "whose", "why", "will", "with", "would", "you", "your", "paper", "papers", "any"]
)
DEEPEST = 1_000
INDEXED_AS = "1"
"""Version of what `indexed_words` gives and of the tables of small words; another one means that all is indexed anew."""


def indexed_words(record: Record) -> tuple[str, str, str]:
    """(title, body, keywords) of a record as they are indexed, translations beside the original."""
    translations = [translation for _, translation in sorted(record.translations.items())]
    title = " ".join([record.title, *(t.title for t in translations)])
    body = " ".join([record.abstract, *(t.abstract for t in translations)])
    names = " ".join([*record.keywords, *record.categories, *record.authors, record.venue, record.organization])
    return paired(title), paired(body), paired(names)


def paired(text: str) -> str:
    """The text with each run of Chinese or Japanese as overlapping pairs of characters, parted by spaces."""
    return text if text.isascii() else HAN_RUN.sub(lambda run: f" {' '.join(_pairs(run[0]))} ", text)


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]


def query_words(query: str) -> list[str]:
    """The words a query asks for: repeated ones repeated, stop words left out unless nothing else is asked."""
    words = [word.lower() for word in WORD.findall(paired(query))]
    return [word for word in words if word not in STOP] or words


def match(words: Iterable[str]) -> str:
    """An FTS5 query for any of the words; each is quoted, so nothing in it is read as syntax."""
    return " OR ".join(f'"{word}"' for word in words)


def ranking(catalog: "Catalog", query: str, members: "Members | None" = None) -> list[tuple[int, float]]:
    """(paper, BM25) of the thousand papers, of these or of all, that fit the words of the query best."""
    words = query_words(query)
    return catalog.ranked(match(words), WEIGHTS, DEEPEST, members) if words else []


def shares(catalog: "Catalog", query: str, papers: Iterable[int]) -> dict[int, float]:
    """For each paper the share of the query's words that it holds, each word weighted by its rarity in the library.

    The weight is log(1 + N / n) for a word that n of N papers hold; one that none holds weighs as if one did.
    """
    words = list(dict.fromkeys(query_words(query)))
    holders = {word: catalog.holding(match([word])) for word in words}
    total = max(catalog.count(), 1)
    weights = {word: math.log(1 + total / max(len(holders[word]), 1)) for word in words}
    whole = sum(weights.values()) or 1.0
    return {paper: sum(weights[word] for word in words if paper in holders[word]) / whole for paper in papers}


def overlap(query: str, text: str) -> float:
    """How many different words of the query a text holds, by their stems; picks a paper's best passage."""
    held = stems(text)
    return float(sum(stem in held for stem in stems(query)))


@lru_cache(maxsize=8192)
def stems(text: str) -> frozenset[str]:
    """The different words of a text, stop words left out, each cut to what its inflections share."""
    return frozenset(stem(word) for word in query_words(text))


def stem(word: str) -> str:
    """A word in lower case without its ending; two characters of Chinese or Japanese are whole."""
    return word if HAN_RUN.match(word) or len(word) < 6 else word[: max(5, len(word) - 3)]
