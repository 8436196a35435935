"""How well search finds: nDCG@10, recall@20, recall@100 and MRR@10 of both rankings, of their fusion, and of the yardstick.

    python benchmarks/retrieval.py [--json] [--cache FOLDER] FOLDER …

Each FOLDER holds corpus.jsonl (id, title, abstract), queries.jsonl (id, text) and qrels.tsv (query, paper, grade). The
papers go through the library itself, with its passages and its embedder; libraries and the queries' vectors are kept in
the cache folder, so a second run only searches. Queries without a relevant paper in the corpus are left out.
"""

import argparse
import hashlib
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from platformdirs import user_cache_path

from store import keywords, search
from store.embedding import Embedder, open_embedder
from store.library import Library
from store.paper import Record
from store.vectors import Near, Scan

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANKINGS = ("keywords", "vectors", "fusion", "rrf")
MEASURES = ("ndcg@10", "recall@20", "recall@100", "mrr@10")
Scores = Mapping[int, float]


class Query(NamedTuple):
    """A query, the grades of its relevant papers by number, and what both rankings found."""

    text: str
    grades: dict[int, int]
    words: dict[int, float]
    near: dict[int, Near]


class Set(NamedTuple):
    """A folder's queries, with both rankings of each."""

    name: str
    queries: list[Query]


class Asked:
    """An embedder that has embedded the queries before, and only looks them up."""

    def __init__(self, embedder: Embedder, texts: Sequence[str], cache: Path) -> None:
        self.fingerprint, self.scripts, self._embedder = embedder.fingerprint, embedder.scripts, embedder
        name = hashlib.sha256("\n".join([embedder.fingerprint, *texts]).encode()).hexdigest()[:16]
        path = cache / f"queries-{name}.npy"
        if not path.exists():
            np.save(path, embedder.embed(texts))
        self._rows = dict(zip(texts, np.load(path), strict=True))

    def embed(self, texts: Sequence[str]) -> "NDArray[np.float32]":
        """The vectors of queries that are known."""
        return np.array([self._rows[text] for text in texts])


def measured(folder: Path, cache: Path, embedder: Embedder) -> Set:
    """Both rankings of every query of a set."""
    library, numbers = _library(folder, cache, embedder)
    queries = {str(one["id"]): str(one["text"]) for one in _lines(folder / "queries.jsonl")}
    grades = _grades(folder / "qrels.tsv", numbers)
    chosen = {query: wanted for query, wanted in grades.items() if query in queries and any(grade > 0 for grade in wanted.values())}
    asked = Asked(embedder, [queries[query] for query in chosen], cache)
    found = []
    for query, wanted in chosen.items():
        text = queries[query]
        words = search.keyword_scores(library.catalog, text)
        scan = Scan(library.catalog, asked, text)  # type: ignore[arg-type]  # as much of an embedder as a scan needs
        near = search.vector_scores([*scan.nearest(search.DEPTH), *scan.of(words)])
        found.append(Query(text, wanted, words, near))
    return Set(folder.name, found)


def _library(folder: Path, cache: Path, embedder: Embedder) -> tuple[Library, dict[str, int]]:
    """The set's papers as a library, made once; each record is a paper of its own, whatever it is like."""
    corpus = list(_lines(folder / "corpus.jsonl"))
    digest = hashlib.sha256((folder / "corpus.jsonl").read_bytes() + embedder.fingerprint.encode()).hexdigest()[:16]
    place = cache / f"{folder.name}-{digest}"
    place.mkdir(parents=True, exist_ok=True)
    library = Library(place, embedder, create=True)
    numbers = {str(one["id"]): number for number, one in enumerate(corpus, 1)}
    if library.catalog.count() == 0:
        records = (
            Record(title=str(one["title"] or ""), abstract=str(one["abstract"] or ""), key=f"p{at}", identifiers={"doi": f"10.0000/{at}"}, language="en")
            for at, one in enumerate(corpus, 1)
        )
        library.add_records(records, str(folder), "benchmark")
    library.embed(lambda done, total: print(f"\r{folder.name}: {done} of {total} passages", end="", file=sys.stderr))
    by_key = {library.catalog.number(f"p{number}"): name for name, number in numbers.items()}
    return library, {name: number for number, name in by_key.items()}


def _lines(path: Path) -> Iterable[dict[str, object]]:
    return (json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip())


def _grades(path: Path, numbers: Mapping[str, int]) -> dict[str, dict[int, int]]:
    grades: dict[str, dict[int, int]] = {}
    for line in path.read_text("utf-8").splitlines():
        query, paper, grade = line.split("\t")[:3]
        if grade.lstrip("-").isdigit() and paper in numbers:
            grades.setdefault(query, {})[numbers[paper]] = int(grade)
    return grades


def table(sets: Sequence[Set]) -> list[dict[str, object]]:
    """A row for each set and ranking, with its four measures, and the mean over the sets."""
    rankers: dict[str, Callable[[Query], Scores]] = {
        "keywords": lambda query: query.words,
        "vectors": lambda query: {paper: one.cosine for paper, one in query.near.items()},
        "fusion": lambda query: search.fused(query.words, query.near),
        "rrf": lambda query: search.reciprocal_ranks(query.words, query.near),
    }
    rows = []
    for one in sets:
        for name in RANKINGS:
            figures = np.array([_figures(rankers[name](query), query.grades) for query in one.queries]).mean(axis=0)
            rows.append({"set": one.name, "ranking": name} | {measure: round(float(figure), 4) for measure, figure in zip(MEASURES, figures, strict=True)})
    for name in RANKINGS if len(sets) > 1 else ():
        means = {measure: round(float(np.mean([row[measure] for row in rows if row["ranking"] == name])), 4) for measure in MEASURES}  # type: ignore[arg-type]
        rows.append({"set": "mean", "ranking": name} | means)
    return rows


def _figures(scores: Scores, grades: Mapping[int, int]) -> tuple[float, float, float, float]:
    """nDCG@10 (Järvelin and Kekäläinen 2002, linear gains), recall@20, recall@100, reciprocal rank within ten."""
    ranked = sorted(scores, key=lambda paper: (-round(scores[paper], 4), paper))[:100]
    relevant = {paper for paper, grade in grades.items() if grade > 0}
    gain = sum(max(grades.get(paper, 0), 0) / math.log2(rank + 2) for rank, paper in enumerate(ranked[:10]))
    best = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(sorted((g for g in grades.values() if g > 0), reverse=True)[:10]))
    first = next((1 / rank for rank, paper in enumerate(ranked[:10], 1) if paper in relevant), 0.0)
    return gain / best, len(relevant & set(ranked[:20])) / len(relevant), len(relevant & set(ranked)) / len(relevant), first


def main() -> None:
    """Prints the table, or with --json a list of its rows."""
    parser = argparse.ArgumentParser(description="nDCG@10, recall@20, recall@100 and MRR@10 of Carrel's rankings on sets with judgements.")
    parser.add_argument("folders", nargs="+", type=Path, help="folders with corpus.jsonl, queries.jsonl and qrels.tsv")
    parser.add_argument("--json", action="store_true", help="print a list of rows as JSON")
    parser.add_argument("--cache", type=Path, default=user_cache_path("carrel") / "benchmarks", help="where libraries and vectors are kept")
    asked = parser.parse_args()
    missing = [str(folder) for folder in asked.folders if not (folder / "corpus.jsonl").exists()]
    if missing:
        sys.exit(f"{missing[0]}: no corpus.jsonl there; name folders with corpus.jsonl, queries.jsonl and qrels.tsv")
    embedder = open_embedder("minilm", None)
    if embedder is None:
        sys.exit("minilm is not installed; run `carrel embedder install`")
    rows = table([measured(folder, asked.cache, embedder) for folder in asked.folders])
    if asked.json:
        print(json.dumps(rows, indent=1))
        return
    print(f"keyword weights {keywords.WEIGHTS}, share {search.KEYWORD_SHARE}, ceiling {search.COSINE_CEILING}")
    print(f"{'set':20}{'ranking':10}" + "".join(f"{measure:>12}" for measure in MEASURES))
    for row in rows:
        print(f"{row['set']:20}{row['ranking']:10}" + "".join(f"{row[measure]:>12.3f}" for measure in MEASURES))


if __name__ == "__main__":
    main()
