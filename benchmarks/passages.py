"""Which passage size finds papers best: nDCG@10 of vectors and of the fusion, for several sizes, on one set.

    python benchmarks/passages.py FOLDER [SIZE …]

FOLDER holds corpus.jsonl (id, title, abstract), queries.jsonl (id, text) and qrels.tsv (query, paper, grade).
"""

import json
import math
import sys
import tempfile
from pathlib import Path

import numpy as np

from store import search
from store.catalog import Catalog
from store.embedding import open_embedder
from store.paper import Record
from store.passages import passages
from store.sentences import cut
from store.vectors import Near

SIZES = (700, 1_000, 1_400, 2_000, 100_000)


def main(folder: Path, sizes: tuple[int, ...]) -> None:
    """One line a size; the keyword ranking beside them does not depend on it."""
    corpus = [json.loads(line) for line in (folder / "corpus.jsonl").read_text("utf-8").splitlines()]
    queries = {one["id"]: one["text"] for one in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())}
    grades = _grades(folder / "qrels.tsv", queries.keys())
    embedder = open_embedder("minilm", None)
    if embedder is None:
        sys.exit("minilm is not installed; run `carrel embedder install`")
    with tempfile.TemporaryDirectory() as place:
        catalog = Catalog(Path(place) / "library.sqlite", create=True)
        numbers = _indexed(catalog, corpus)
        words = {query: search.keyword_scores(catalog, queries[query], None) for query in grades}
        asked = dict(zip(grades, embedder.embed([queries[query] for query in grades]), strict=True))
        print(f"{folder.name}: keywords {_mean(words, grades, numbers):.3f}")
        for size in sizes:
            owners, texts = _parted(corpus, numbers, size)
            vectors = embedder.embed(texts)
            near = {query: _nearest(vectors @ vector, owners) for query, vector in asked.items()}
            cosines = {query: {paper: one.cosine for paper, one in found.items()} for query, found in near.items()}
            fused = {query: search.fused(words[query], near[query]) for query in grades}
            vector_score, fused_score = _mean(cosines, grades, numbers), _mean(fused, grades, numbers)
            print(f"  {size:>7} characters: {len(texts)} passages, vectors {vector_score:.3f}, fusion {fused_score:.3f}", flush=True)


def _grades(path: Path, queries: object) -> dict[str, dict[str, int]]:
    grades: dict[str, dict[str, int]] = {}
    for line in path.read_text("utf-8").splitlines():
        query, paper, grade = line.split("\t")[:3]
        if grade.lstrip("-").isdigit() and query in queries:  # type: ignore[operator]  # a view of keys
            grades.setdefault(query, {})[paper] = int(grade)
    return grades


def _indexed(catalog: Catalog, corpus: list[dict[str, str]]) -> dict[str, int]:
    """Every record as a paper of its own; equal texts are no concern of this measurement."""
    with catalog.writing():
        return {
            str(one["id"]): catalog.take(
                Record(title=one["title"], abstract=one["abstract"] or "", identifiers={"doi": f"10.0000/{one['id']}"}),
                file="corpus", format="benchmark", kind="abstract",
            ).paper
            for one in corpus
        }  # fmt: skip


def _parted(corpus: list[dict[str, str]], numbers: dict[str, int], size: int) -> tuple[list[int], list[str]]:
    owners, texts = [], []
    for one in corpus:
        abstract = one["abstract"] or ""
        sentences = cut(abstract)
        runs = [abstract[sentences[run.first - 1].start : sentences[run.last - 1].end] for run in passages(sentences, size)] or [""]
        owners += [numbers[str(one["id"])]] * len(runs)
        texts += [f"{one['title']}\n{run}" for run in runs]
    return owners, texts


def _nearest(cosines: "np.ndarray[tuple[int], np.dtype[np.float32]]", owners: list[int]) -> dict[int, Near]:
    best: dict[int, Near] = {}
    for cosine, paper in zip(cosines.tolist(), owners, strict=True):
        if paper not in best or cosine > best[paper].cosine:
            best[paper] = Near(0, paper, cosine)
    return best


def _mean(found: dict[str, dict[int, float]], grades: dict[str, dict[str, int]], numbers: dict[str, int]) -> float:
    """nDCG@10 (Järvelin and Kekäläinen 2002), linear gains, mean over the queries."""
    scores = []
    for query, wanted in grades.items():
        by_number = {numbers[paper]: grade for paper, grade in wanted.items() if paper in numbers}
        ranked = sorted(found[query], key=lambda paper: (-round(found[query][paper], 4), paper))[:10]
        gain = sum(by_number.get(paper, 0) / math.log2(rank + 2) for rank, paper in enumerate(ranked))
        best = sum(grade / math.log2(rank + 2) for rank, grade in enumerate(sorted(by_number.values(), reverse=True)[:10]))
        scores.append(gain / best if best else 0.0)
    return float(np.mean(scores))


if __name__ == "__main__":
    main(Path(sys.argv[1]), tuple(map(int, sys.argv[2:])) or SIZES)
