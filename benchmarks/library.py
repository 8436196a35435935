"""Time, memory and disk of a large library, as ratios taken in one run on one machine.

    python benchmarks/library.py [--papers N] [--only import|search|embedding]

Import: a JSON Lines file of N made-up records, against parsing it with the same reader and inserting the same text into a
bare FTS5 table; then the same file again. Search: hybrid, keywords alone, the exact scan alone, and filtered, over vectors
drawn around 300 centres. Embedding: passages through the library, against bare onnxruntime on the same sorted texts.
Disk: bytes a paper beyond its raw record, with vectors.
"""

import argparse
import json
import random
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from store import formats, keywords, vectors
from store.embedding import open_embedder
from store.formats.file import SourceFile
from store.formats.reading import Options
from store.library import Library
from store.paper import Record
from store.scope import Scope

if TYPE_CHECKING:
    from numpy.typing import NDArray

CENTRES, DIMENSIONS = 300, 384
QUERIES = 40


class Drawn:
    """An embedder that draws vectors around centres, so that a large library is made in seconds."""

    name, dimensions, scripts, fingerprint = "drawn", DIMENSIONS, frozenset({"Latin"}), "drawn 1"

    def __init__(self) -> None:
        self._random = np.random.default_rng(1)
        self._centres = self._random.normal(size=(CENTRES, DIMENSIONS)).astype(np.float32)

    def embed(self, texts: Sequence[str], *, progress: Callable[[int], None] | None = None) -> "NDArray[np.float32]":
        """A row around some centre for each text."""
        rows = self._centres[self._random.integers(CENTRES, size=len(texts))] + self._random.normal(scale=0.5, size=(len(texts), DIMENSIONS))
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def made_up(count: int) -> Iterator[dict[str, object]]:
    """Records with words of a natural distribution (Zipf), abstracts of about 180 words, all works of their own."""
    dice = random.Random(1)  # noqa: S311  no secret
    words = ["".join(dice.choice("aeiou" if at % 2 else "bcdfghklmnprstvw") for at in range(dice.randint(3, 10))) for _ in range(30_000)]
    weights = [1 / (rank + 10) for rank in range(len(words))]
    for number in range(count):
        drawn = dice.choices(words, weights, k=190)
        sentences = [" ".join(drawn[at : at + 20]).capitalize() + "." for at in range(10, 190, 20)]
        yield {
            "id": f"{2000 + number // 90_000}.{number % 90_000 + 10_000}",
            "title": " ".join(drawn[:10]).capitalize(),
            "abstract": " ".join(sentences),
            "authors": [f"{dice.choice(words).capitalize()} {dice.choice(words).capitalize()}" for _ in range(4)],
            "categories": dice.choice(["cs.CL", "cs.LG cs.AI", "cs.RO"]),
            "date": f"20{dice.randint(10, 25)}-{dice.randint(1, 12):02}",
        }


def timed(work: Callable[[], object]) -> float:
    """Seconds that some work took."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def importing(place: Path, count: int) -> dict[str, object]:
    """Import against parsing and a bare FTS5 table; the same file again; memory; and bytes beyond the raw records."""
    file = place / "papers.jsonl"
    with file.open("w", encoding="utf-8") as out:
        out.writelines(json.dumps(one) + "\n" for one in made_up(count))
    floor = timed(lambda: bare(file, place / "bare.sqlite"))
    library = Library(place / "library", create=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    first = timed(lambda: library.add(file))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    again = timed(lambda: library.add(file))
    library.embedder = Drawn()
    library.embed()
    library.close()
    disk = ((place / "library" / "library.sqlite").stat().st_size - file.stat().st_size) / count
    return {
        "papers": count,
        "import / (parse + bare FTS5)": first / floor,
        "first / again": first / again,
        "import, papers a second": count / first,
        "peak memory, MB": memory / 1024,
        "of which before the import, MB": before / 1024,
        "bytes a paper beyond its raw record, vectors included": disk,
    }


def bare(file: Path, path: Path) -> None:
    """The floor: the same reader, the same text, one FTS5 table, nothing else."""
    db = sqlite3.connect(path)
    db.execute('CREATE VIRTUAL TABLE words USING fts5 (title, body, keywords, tokenize = "porter unicode61 remove_diacritics 2")')
    items = formats.opened(SourceFile(str(file), file), Options()).items
    with db:
        db.executemany(
            "INSERT INTO words VALUES (?, ?, ?)",
            ((item.title, item.abstract, " ".join([*item.authors, *item.categories])) for item in items if isinstance(item, Record)),
        )
    db.close()


def searching(place: Path) -> dict[str, object]:
    """Hybrid search against its two parts, and filtered against unfiltered: medians over queries, taken in turn."""
    library = Library(place / "library", Drawn())
    texts = [str(one["abstract"]) for one in made_up(QUERIES)]
    queries = [" ".join(text.split()[at : at + 5]) for at, text in enumerate(texts)]
    scopes = {"half": Scope(since="2018"), "tenth": Scope(since="2024-06"), "category": Scope(categories=("cs.RO",))}
    embedder = library.embedder
    assert embedder is not None  # given above
    ways: dict[str, Callable[[str], object]] = {
        "keywords": lambda query: keywords.ranking(library.catalog, query),
        "scan": lambda query: vectors.Scan(library.catalog, embedder, query).nearest(10),
        "hybrid": lambda query: library.search(query, exact=True),
        **{f"hybrid, {name}": lambda query, scope=scope: library.search(query, scope=scope, exact=True) for name, scope in scopes.items()},  # type: ignore[misc]
    }
    for way in ways.values():
        way(queries[0])
    spent: dict[str, list[float]] = {name: [] for name in ways}
    for query in queries:
        for name, way in ways.items():
            spent[name].append(timed(lambda way=way, query=query: way(query)))  # type: ignore[misc]
    p50 = {name: statistics.median(times) for name, times in spent.items()}
    library.close()
    return (
        {"hybrid p50 / (keywords + scan)": p50["hybrid"] / (p50["keywords"] + p50["scan"])}
        | {f"filtered ({name}) / unfiltered": p50[f"hybrid, {name}"] / p50["hybrid"] for name in scopes}
        | {f"{name} p50, ms": value * 1000 for name, value in p50.items()}
    )


def embedding(place: Path, count: int = 400) -> dict[str, object]:
    """The library's embedding against bare onnxruntime on the same texts, sorted by length, in the same batches."""
    embedder = open_embedder("minilm", None)
    if embedder is None:
        return {"embedding": "minilm is not installed; run `carrel embedder install`"}
    library = Library(place / "embedded", create=True)
    library.add_records((Record(title=str(one["title"]), abstract=str(one["abstract"]), key=f"p{at}", language="en") for at, one in enumerate(made_up(count))), "x", "y")
    texts = sorted((one.embedded for _, one in library.catalog.without_vector(frozenset({"en"}))), key=len)
    embedder.embed(texts[:8])
    floor = timed(lambda: [embedder.embed(texts[at : at + vectors.BATCH]) for at in range(0, len(texts), vectors.BATCH)])
    library.embedder = embedder
    spent = timed(library.embed)
    library.close()
    return {"embedding: share of the bare rate": floor / spent, "passages a second": len(texts) / spent}


def main() -> None:
    """Prints a line for each figure."""
    parser = argparse.ArgumentParser(description="Import, search, embedding, memory and disk, as ratios in one run.")
    parser.add_argument("--papers", type=int, default=100_000)
    parser.add_argument("--only", choices=["import", "search", "embedding"])
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    figures: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "library").mkdir()
        (place / "embedded").mkdir()
        if asked.only != "embedding":
            figures |= importing(place, asked.papers)
        if asked.only in {None, "search"}:
            figures |= searching(place)
        if asked.only in {None, "embedding"}:
            figures |= embedding(place)
    if asked.json:
        print(json.dumps(figures, indent=1))
        return
    for name, value in figures.items():
        print(f"{name:60} {value:,.2f}" if isinstance(value, float) else f"{name:60} {value}")


if __name__ == "__main__":
    sys.exit(main())
