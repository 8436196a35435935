"""Texts to vectors: what an embedder is, the one that tests use, and how one is opened by name."""

from __future__ import annotations

import hashlib
import re
import zlib
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from store.errors import EmbedderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

EMBEDDERS = ("minilm", "hash", "none")
"""The names `open_embedder` knows."""

PROBES = (
    "The study measures how rainfall changes the growth of trees.",
    "We propose a method that answers questions about long documents.",
    "Results differ between the two groups (p = 0.03).",
)
_WORD = re.compile(r"\w+")


class Embedder(Protocol):
    """Turns texts into vectors whose inner product says how near two texts are."""

    @property
    def name(self) -> str:
        """The word in the settings that chooses this embedder."""

    @property
    def dimensions(self) -> int:
        """The length of every vector."""

    @property
    def scripts(self) -> frozenset[str]:
        """The scripts it can read, such as "Latin"; texts in others are better found by keywords."""

    @property
    def fingerprint(self) -> str:
        """A word that changes whenever the vectors would; it is stored with them so that two kinds never mix."""

    def embed(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        """One row of length 1 for each text; `progress` is told how many texts are done."""


def open_embedder(name: str, folder: Path | None) -> Embedder | None:
    """The embedder of that name, or None for "none" and for "minilm" where its weights are not installed.

    `folder` is where the settings say that the weights are, or None for the usual places.
    """
    if name == "minilm":
        return _minilm(folder)
    if name == "hash":
        return HashEmbedder()
    if name == "none":
        return None
    message = f"There is no embedder called {name!r}; the settings can name one of: {', '.join(EMBEDDERS)}."
    raise EmbedderError(message)


def _minilm(folder: Path | None) -> Embedder | None:
    from store import minilm

    found = minilm.weights_folder(folder)
    return minilm.MiniLM(found) if found else None


def measured_fingerprint(embedder: Embedder, revision: str) -> str:
    """A fingerprint taken from the vectors of three fixed sentences, for embedders whose weights cannot be hashed."""
    import numpy as np

    # Three decimals hide the last bits, in which machines differ; adding 0 turns -0.0 into 0.0.
    rounded = np.round(embedder.embed(PROBES), 3).astype("<f4") + np.float32(0)
    digest = hashlib.sha256(rounded.tobytes()).hexdigest()
    return f"{embedder.name} {revision} {embedder.dimensions} sha256:{digest}"


class HashEmbedder:
    """Hashed counts of words and letter sequences: the same everywhere, at once, and without any weights.

    It is lexical. Texts are near when they share spellings, and it knows nothing of meaning; it is here for tests.
    """

    name = "hash"
    scripts = frozenset({"Latin", "Greek", "Cyrillic", "Arabic", "Han", "Hiragana", "Katakana", "Hangul"})

    def __init__(self, dimensions: int = 384) -> None:
        """Make vectors of that many dimensions; with few, unrelated features collide."""
        self.dimensions = dimensions

    @cached_property
    def fingerprint(self) -> str:
        """A word that changes whenever the vectors would."""
        return measured_fingerprint(self, "1")

    def embed(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> NDArray[np.float32]:
        """One row of length 1 for each text, the same on every machine."""
        import numpy as np

        rows = np.empty((len(texts), self.dimensions), dtype=np.float32)
        for number, text in enumerate(texts):
            rows[number] = self._row(text)
            if progress:
                progress(number + 1)
        return rows

    def _row(self, text: str) -> NDArray[np.float64]:
        import numpy as np

        hashes = np.array([zlib.crc32(feature.encode("utf-8", "replace")) for feature in _features(text)], np.int64)
        # The sign comes from a bit that the position does not use, so that colliding features cancel on average.
        signs = 1.0 - 2.0 * (hashes >> 31)
        counts = np.bincount((hashes & 0x7FFFFFFF) % self.dimensions, signs, self.dimensions)
        if not counts.any():
            counts[0] = 1.0  # A text without a word still needs a vector of length 1.
        row: NDArray[np.float64] = counts / np.linalg.norm(counts)
        return row


def _features(text: str) -> Iterator[str]:
    for word in _WORD.findall(text.casefold()):
        yield word
        # Pairs suit scripts without spaces, where a "word" is a whole clause.
        size = 3 if word.isascii() else 2
        framed = f"<{word}>"
        yield from (framed[start : start + size] for start in range(len(framed) - size + 1))
