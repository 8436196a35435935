"""Two rankings → one: keywords and vectors, fused by a weighted sum of scaled scores, with the passage that fits best."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from store import keywords
from store.catalog import Catalog, Members, StoredPassage
from store.vectors import Near

Ranker = Literal["keywords", "vectors"]
KEYWORD_SHARE = 0.5
"""Of the keyword score in the fused one. Between .45 and .6 it matters little; at .5 no set measured lost against its
better ranking by more than .003 (`benchmarks/retrieval.py`)."""
COSINE_CEILING = 0.8
"""Cosines are scaled by a fixed ceiling and not by the query's best, so a query that fits nothing scores low in vectors."""
CLOSE = 0.35
"""A cosine below this is no finding: unrelated abstracts of one field lie there."""
DEPTH = 1_000
"""Papers of each ranking that are fused."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A paper that a query found: its best passage, which rankings found it, and the scores behind the rank.

    `score` is the fused one, `cosine` that of the best passage (None without vectors), both rounded to 1e-4.
    """

    paper: int
    score: float
    found_by: tuple[Ranker, ...]
    passage: StoredPassage | None
    cosine: float | None


class Weighed(NamedTuple):
    """A paper with what speaks for it: its fused score, the cosine of its best passage, and its share of the words asked for."""

    paper: int
    key: str
    score: float
    cosine: float | None
    share: float

    @property
    def found_by(self) -> tuple[Ranker, ...]:
        """The rankings in which it is found."""
        words: tuple[Ranker, ...] = ("keywords",) if self.share > 0 else ()
        near: tuple[Ranker, ...] = ("vectors",) if self.cosine is not None and self.cosine >= CLOSE else ()
        return words + near


def in_order(papers: Iterable[Weighed]) -> list[Weighed]:
    """Best first; equal scores go by share and key."""
    return sorted(papers, key=lambda one: (-one.score, -one.share, one.key))


def keyword_scores(catalog: Catalog, query: str, papers: Members | None = None) -> dict[int, float]:
    """BM25 of each paper over the query's best, between 0 and 1."""
    found = keywords.ranking(catalog, query, papers)
    best = max((score for _, score in found), default=0.0)
    return {paper: max(score, 0.0) / best for paper, score in found} if best > 0 else {}


def vector_scores(near: Iterable[Near]) -> dict[int, Near]:
    """The nearest passage of each paper; `near` stand best first."""
    best: dict[int, Near] = {}
    for one in near:
        best.setdefault(one.paper, one)
    return best


def fused(by_words: Mapping[int, float], by_vectors: Mapping[int, Near]) -> dict[int, float]:
    """Half the keyword score and half the cosine over its ceiling; without vectors the keyword score alone."""
    if not by_vectors:
        return dict(by_words)
    papers = by_words.keys() | by_vectors.keys()
    return {
        paper: KEYWORD_SHARE * by_words.get(paper, 0.0)
        + (1 - KEYWORD_SHARE) * (max(by_vectors[paper].cosine, 0.0) / COSINE_CEILING if paper in by_vectors else 0.0)
        for paper in papers
    }


def reciprocal_ranks(by_words: Mapping[int, float], by_vectors: Mapping[int, Near], k: int = 60) -> dict[int, float]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009), the yardstick beside the scaled sum."""
    scores: dict[int, float] = {}
    for ranked in (sorted(by_words, key=lambda p: -by_words[p]), sorted(by_vectors, key=lambda p: -by_vectors[p].cosine)):
        for rank, paper in enumerate(ranked, 1):
            scores[paper] = scores.get(paper, 0.0) + 1 / (k + rank)
    return scores


def hits(catalog: Catalog, query: str, by_words: Mapping[int, float], by_vectors: Mapping[int, Near], count: int) -> list[Hit]:
    """The `count` best papers; equal scores go by key."""
    scores = {paper: round(score, 4) for paper, score in fused(by_words, by_vectors).items()}
    found = [paper for paper in scores if paper in by_words or by_vectors[paper].cosine >= CLOSE]
    found.sort(key=lambda paper: -scores[paper])
    last = scores[found[min(count, len(found)) - 1]] if found else 0.0
    keys = catalog.keys(paper for paper in found if scores[paper] >= last)
    best = sorted(keys, key=lambda paper: (-scores[paper], keys[paper]))[:count]
    stored = catalog.passages_of(best)
    return [_hit(catalog, query, paper, scores[paper], paper in by_words, by_vectors.get(paper), stored[paper]) for paper in best]


def _hit(
    catalog: Catalog, query: str, paper: int, score: float, has_words: bool, near: Near | None, passages: Sequence[tuple[StoredPassage, str]]
) -> Hit:
    is_near = near is not None and near.cosine >= CLOSE
    found_by: list[Ranker] = [*(["keywords"] if has_words else []), *(["vectors"] if is_near else [])]  # type: ignore[list-item]  # literals
    stored = catalog.passage(near.passage) if near else None
    place = (stored.text, stored.first) if stored else None
    best = max(
        passages,
        key=lambda one: (keywords.overlap(query, one[1]), (one[0].text, one[0].first) == place, -one[0].text, -one[0].first),
        default=None,
    )
    return Hit(paper, score, tuple(found_by), best[0] if best else None, round(near.cosine, 4) if near else None)
