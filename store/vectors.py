"""The exact scan: every vector against the query's, in one pass over memory."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from store.catalog import Catalog
from store.embedding import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH = 64
LANGUAGES = {"Latin": frozenset({"en", "de", "fr", "es", "it", "pt", "nl"}), "Han": frozenset({"zh", "ja"})}


class Progress(Protocol):
    """Is told how many are done, of how many."""

    def __call__(self, done: int, total: int, /) -> None: ...


class Near(NamedTuple):
    """A passage, its paper, and the cosine similarity to the query."""

    passage: int
    paper: int
    cosine: float


def languages(embedder: Embedder) -> frozenset[str]:
    """The languages whose script an embedder knows."""
    return frozenset(code for script, codes in LANGUAGES.items() if script in embedder.scripts for code in codes)


def fill(catalog: Catalog, embedder: Embedder, progress: Progress | None = None) -> int:
    """Embeds what has no vector yet and stores it batch by batch; how many there were."""
    waiting = catalog.without_vector(embedder.fingerprint, languages(embedder))
    for start in range(0, len(waiting), BATCH):
        batch = waiting[start : start + BATCH]
        rows = embedder.embed([text for _, text in batch])
        packed = [(digest, row.astype("<f4").tobytes()) for (digest, _), row in zip(batch, rows, strict=True)]
        with catalog.writing():
            catalog.add_vectors(embedder.fingerprint, packed)
        if progress:
            progress(min(start + BATCH, len(waiting)), len(waiting))
    return len(waiting)


def scan(catalog: Catalog, embedder: Embedder, query: str, papers: Collection[int] | None = None) -> list[Near]:
    """Every passage of these papers (or of all) by its cosine to the query, best first."""
    rows = catalog.vectors(embedder.fingerprint)
    if papers is not None:
        rows = [row for row in rows if row[1] in papers]
    if not rows:
        return []
    cosines = matrix(row[2] for row in rows) @ embedder.embed([query])[0]
    found = [Near(row[0], row[1], float(cosine)) for row, cosine in zip(rows, cosines, strict=True)]
    return sorted(found, key=lambda near: (-round(near.cosine, 4), near.passage))


def matrix(blobs: Iterable[bytes]) -> "NDArray[np.float32]":
    """Stored vectors as the rows of one array."""
    import numpy as np

    packed = list(blobs)
    width = len(packed[0]) // 4 if packed else 0
    return np.frombuffer(b"".join(packed), dtype="<f4").reshape(len(packed), width)
