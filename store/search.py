"""Two rankings → one: keywords and vectors, fused by a weighted sum of scaled scores, with the passage that fits best."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from store import keywords
from store.catalog import Catalog, StoredPassage
from store.vectors import Near

Ranker = Literal["keywords", "vectors"]
KEYWORD_SHARE = 0.6
COSINE_CEILING = 0.8
"""Cosines are scaled by a fixed ceiling and not by the query's best, so a query that fits nothing scores low in vectors."""
CLOSE = 0.35
"""A cosine below this is no finding: unrelated abstracts of one field lie there."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Which papers a search may return; empty fields do not restrict. A scope that no paper fits finds nothing."""

    keys: tuple[str, ...] | None = None
    since: str = ""
    until: str = ""
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    def numbers(self, catalog: Catalog) -> list[int] | None:
        """The numbers of the papers in scope, or None where all are."""
        conditions, values = self._conditions(catalog)
        return catalog.numbers(" AND ".join(conditions), values) if conditions else None

    def _conditions(self, catalog: Catalog) -> tuple[list[str], list[str]]:
        conditions: list[str] = []
        values: list[str] = []
        if self.keys is not None:
            numbers = [str(catalog.number(key)) for key in self.keys]
            conditions.append(f"number IN ({','.join('?' * len(numbers))})")
            values += numbers
        for sign, date in ((">=", self.since), ("<=", self.until)):
            if date:
                conditions.append(f"date <> '' AND substr(date, 1, {len(date)}) {sign} ?")
                values.append(date)
        for condition, wanted in (
            ("EXISTS (SELECT 1 FROM json_each(fields, '$.categories') WHERE value = ? OR value LIKE ? || '.%')", self.categories),
            ("EXISTS (SELECT 1 FROM tag WHERE tag.paper = number AND tag = ?)", self.tags),
            ("status = ?", self.statuses),
            ("EXISTS (SELECT 1 FROM source WHERE source.paper = number AND (file = ? OR substr(file, -length(?) - 1) = '/' || ?))", self.sources),
        ):
            if wanted:
                conditions.append(f"({' OR '.join([condition] * len(wanted))})")
                values += [value for value in wanted for _ in range(condition.count("?"))]
        return conditions, values


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


def keyword_scores(catalog: Catalog, query: str, papers: Collection[int] | None) -> dict[int, float]:
    """BM25 of each paper over the query's best, between 0 and 1."""
    found = [(paper, score) for paper, score in keywords.ranking(catalog, query, everything=papers is not None) if papers is None or paper in papers]
    best = max((score for _, score in found), default=0.0)
    return {paper: max(score, 0.0) / best for paper, score in found} if best > 0 else {}


def vector_scores(near: Sequence[Near]) -> dict[int, Near]:
    """The nearest passage of each paper."""
    best: dict[int, Near] = {}
    for one in near:
        if one.paper not in best:
            best[one.paper] = one
    return best


def fused(by_words: dict[int, float], by_vectors: dict[int, Near]) -> dict[int, float]:
    """.6 of the keyword score and .4 of the cosine over its ceiling; without vectors the keyword score alone."""
    if not by_vectors:
        return by_words
    papers = by_words.keys() | by_vectors.keys()
    return {
        paper: KEYWORD_SHARE * by_words.get(paper, 0.0)
        + (1 - KEYWORD_SHARE) * (max(by_vectors[paper].cosine, 0.0) / COSINE_CEILING if paper in by_vectors else 0.0)
        for paper in papers
    }


def reciprocal_ranks(by_words: dict[int, float], by_vectors: dict[int, Near], k: int = 60) -> dict[int, float]:
    """Reciprocal rank fusion (Cormack, Clarke and Büttcher 2009), the yardstick beside the scaled sum."""
    scores: dict[int, float] = {}
    for ranked in (sorted(by_words, key=lambda p: -by_words[p]), sorted(by_vectors, key=lambda p: -by_vectors[p].cosine)):
        for rank, paper in enumerate(ranked, 1):
            scores[paper] = scores.get(paper, 0.0) + 1 / (k + rank)
    return scores


def hits(catalog: Catalog, query: str, by_words: dict[int, float], by_vectors: dict[int, Near], count: int) -> list[Hit]:
    """The `count` best papers; equal scores go by key."""
    scores = {paper: round(score, 4) for paper, score in fused(by_words, by_vectors).items()}
    found = {paper for paper in scores if paper in by_words or by_vectors[paper].cosine >= CLOSE}
    order = {number: at for at, number in enumerate(catalog.numbers("1", ()))}
    best = sorted(found, key=lambda paper: (-scores[paper], order[paper]))[:count]
    stored: dict[int, list[StoredPassage]] = {}
    for passage in catalog.passages(best):
        stored.setdefault(passage.paper, []).append(passage)
    return [_hit(catalog, query, paper, scores[paper], by_words, by_vectors, stored.get(paper, [])) for paper in best]


def _hit(
    catalog: Catalog,
    query: str,
    paper: int,
    score: float,
    by_words: dict[int, float],
    by_vectors: dict[int, Near],
    passages: list[StoredPassage],
) -> Hit:
    near = by_vectors.get(paper)
    found_by: list[Ranker] = [*(["keywords"] if paper in by_words else []), *(["vectors"] if near and near.cosine >= CLOSE else [])]  # type: ignore[list-item]  # literals
    near_passage = near.passage if near else 0
    best = max(
        passages,
        key=lambda one: (keywords.overlap(query, catalog.passage_text(one)), one.id == near_passage, -one.id),
        default=None,
    )
    return Hit(paper, score, tuple(found_by), best, round(near.cosine, 4) if near else None)
