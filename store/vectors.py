"""The exact scan: every vector against the query's, in one pass over memory."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from store.catalog import Catalog, Vectors
from store.embedding import Embedder
from store.language import LANGUAGES, script_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

BATCH = 256
"""Texts that are embedded and stored at once: an interruption loses no more than these."""
DENSE = 0.3
"""The share of papers in a scope from which on all vectors are scanned: gathering rows then costs more than it saves."""


class Progress(Protocol):
    """Is told how many are done, of how many."""

    def __call__(self, done: int, total: int, /) -> None: ...


class Near(NamedTuple):
    """A passage, its paper, and the cosine similarity to the query."""

    passage: int
    paper: int
    cosine: float


def fill(catalog: Catalog, embedder: Embedder, progress: Progress | None = None) -> int:
    """Embeds what has no vector yet and stores it batch by batch; how many there were.

    Texts go by length, so that a batch is of one length and nothing is computed for padding.
    """
    known = frozenset(language for language in LANGUAGES if script_of(language) in embedder.scripts)
    if catalog.meta("embedder") not in {"", embedder.fingerprint}:
        with catalog.writing():
            catalog.add_vectors(embedder.fingerprint, [])
    waiting = sorted(catalog.without_vector(known), key=lambda one: len(one[1].embedded))
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        rows = embedder.embed([one.embedded for _, one in batch])
        packed = [(paper, one, row.astype("<f2").tobytes()) for (paper, one), row in zip(batch, rows, strict=True)]
        with catalog.writing():
            catalog.add_vectors(embedder.fingerprint, packed)
        if progress:
            progress(min(start + BATCH, len(waiting)), len(waiting))
    return len(waiting)


class Scan:
    """The cosines of one query with every passage of some papers, or of all."""

    def __init__(self, catalog: Catalog, embedder: Embedder, query: str, papers: "Numbers | None" = None) -> None:
        import numpy as np

        held = catalog.vectors(embedder.fingerprint)
        rows = None if papers is None else _rows_of(held, papers)
        self._passages = held.passages if rows is None else held.passages[rows]
        self._papers = held.papers if rows is None else held.papers[rows]
        question = embedder.embed([query])[0] if len(self._papers) else np.empty(0, np.float32)
        self.cosines: Floats = _cosines(held.rows, rows, question)
        starts = np.flatnonzero(np.diff(self._papers, prepend=-1))
        self.papers: Numbers = self._papers[starts]
        """The papers that have a passage, in order of number."""
        self.best: Floats = np.maximum.reduceat(self.cosines, starts) if len(starts) else self.cosines
        """The cosine of each paper's nearest passage."""
        counts = np.diff(starts, append=len(self.cosines))
        tops = np.flatnonzero(self.cosines == np.repeat(self.best, counts))
        # Of equally near passages of one paper the first counts.
        self._tops: Numbers = tops[np.flatnonzero(np.diff(self._papers[tops], prepend=-1))]

    def nearest(self, count: int) -> list[Near]:
        """The nearest passage of each of the `count` nearest papers, best first; equal ones in order of paper."""
        import numpy as np

        some = np.argpartition(-self.best, count)[:count] if len(self.best) > count else np.arange(len(self.best))
        # Ties at the edge must not depend on how the partition fell.
        if len(some) < len(self.best):
            some = np.flatnonzero(self.best >= self.best[some].min())
        ordered = some[np.lexsort((self.papers[some], -np.round(self.best[some], 4)))][:count]
        return self._near(ordered)

    def of(self, papers: Iterable[int]) -> list[Near]:
        """The nearest passage of each of these papers that has one."""
        import numpy as np

        wanted = np.array(sorted(papers), dtype=np.int64)
        at = np.searchsorted(self.papers, wanted)
        found = at[(at < len(self.papers)) & (self.papers[np.minimum(at, len(self.papers) - 1)] == wanted)] if len(self.papers) else at[:0]
        return self._near(found)

    def every(self) -> list[Near]:
        """Each passage, best first."""
        found = [Near(int(p), int(n), float(c)) for p, n, c in zip(self._passages, self._papers, self.cosines, strict=True)]
        return sorted(found, key=lambda near: (-round(near.cosine, 4), near.passage))

    def _near(self, at: "Numbers") -> list[Near]:
        """The nearest passages of the papers at these places."""
        tops = self._tops[at]
        return list(map(Near, self._passages[tops].tolist(), self.papers[at].tolist(), self.cosines[tops].tolist()))


def _rows_of(held: Vectors, papers: "Numbers") -> "Numbers":
    """The rows of these papers' passages."""
    import numpy as np

    inside = np.zeros(int(max(held.papers.max(initial=0), papers.max(initial=0))) + 1, dtype=bool)
    inside[papers] = True
    return np.flatnonzero(inside[held.papers])


def _cosines(rows: "Floats", chosen: "Numbers | None", question: "Floats") -> "Floats":
    if not len(question):
        return question
    if chosen is None:
        return rows @ question
    if len(chosen) > DENSE * len(rows):
        cosines: Floats = (rows @ question)[chosen]
        return cosines
    return rows[chosen] @ question


def scan(catalog: Catalog, embedder: Embedder, query: str, papers: Collection[int] | None = None) -> list[Near]:
    """Every passage of these papers (or of all) by its cosine to the query, best first."""
    import numpy as np

    return Scan(catalog, embedder, query, None if papers is None else np.array(sorted(papers), dtype=np.int64)).every()
