"""A review's folder: papers in (`add`), ranked passages out (`search`). Each method is a list of steps."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from store import formats, search, vectors
from store.catalog import Catalog, Text
from store.embedding import Embedder
from store.errors import IndexUnusable, LibraryNotFound, UnreadableFile
from store.formats.reading import Reading
from store.index import Index
from store.paper import Kind, Paper, Refused
from store.search import Hit, Scope

DATABASE = "library.sqlite"
SETTINGS = "carrel.toml"
LARGEST_SCAN = 50_000
"""Passages up to which a one-off search scans exactly; above it the index answers, when it is good."""
USED_KEY = re.compile(r"@([A-Za-z0-9:_.+/-]+)")


@dataclass(frozen=True, slots=True)
class FileReport:
    """What became of one file's records."""

    file: str
    format: str
    new: int
    merged: int
    unchanged: int
    refused: tuple[Refused, ...]
    failed: str = ""


def find_folder(start: Path) -> Path:
    """The library folder that `start` lies in, as git finds a repository; raises LibraryNotFound."""
    for folder in (start, *start.parents):
        if (folder / SETTINGS).exists() or (folder / DATABASE).exists():
            return folder
    raise LibraryNotFound(f"{start}: no library here or in a folder above; make one with `carrel init`, or name one with --library")


class Library:
    """An open library. `embedder` is None where papers are found by keywords alone."""

    def __init__(self, folder: Path, embedder: Embedder | None = None, *, create: bool = False) -> None:
        self.folder = folder
        self.embedder = embedder
        self.catalog = Catalog(folder / DATABASE, create=create)

    def close(self) -> None:
        """Closes the library's files."""
        self.catalog.close()

    def add(self, path: Path, *, year: int | None = None, kind: Kind | None = None) -> FileReport:
        """Stores every paper of a file, all of them or (on a failure) none; a file that cannot be read is reported."""
        try:
            reading = formats.read_file(path, year)
        except UnreadableFile as error:
            return FileReport(str(path), "", 0, 0, 0, (), str(error))
        return self._take(reading, str(path), kind)

    def add_text(self, data: bytes, name: str, *, year: int | None = None, kind: Kind | None = None) -> FileReport:
        """The same for what was pasted."""
        try:
            reading = formats.read_bytes(data, name, year)
        except UnreadableFile as error:
            return FileReport(name, "", 0, 0, 0, (), str(error))
        return self._take(reading, name, kind)

    def _take(self, reading: Reading, name: str, kind: Kind | None) -> FileReport:
        kept = self.used_keys()
        counts = {"new": 0, "merged": 0, "unchanged": 0}
        with self.catalog.writing():
            for record in reading.records:
                outcome = self.catalog.take(record, file=name, format=reading.format, kind=kind or reading.kind, kept_keys=kept)
                counts[outcome.became] += 1
        return FileReport(name, reading.format, counts["new"], counts["merged"], counts["unchanged"], reading.refused)

    def embed(self, progress: vectors.Progress | None = None) -> int:
        """Computes the vectors that are missing; how many there were."""
        return vectors.fill(self.catalog, self.embedder, progress) if self.embedder else 0

    def papers(self, scope: Scope | None = None) -> list[Paper]:
        """The papers in scope, in order of key."""
        return self.catalog.papers(scope.numbers(self.catalog) if scope else None)

    def paper(self, key: str) -> Paper:
        """The paper that a key or alias names; raises UnknownPaper."""
        return self.catalog.papers([self.catalog.number(key)])[0]

    def texts(self, paper: Paper) -> list[Text]:
        """The texts a paper shows, cut into sentences."""
        return self.catalog.texts(paper.number)

    def search(
        self, query: str, *, count: int = 10, scope: Scope | None = None, by_keywords: bool = False, exact: bool = False
    ) -> list[Hit]:
        """The `count` papers that fit a query best, within the scope."""
        papers = scope.numbers(self.catalog) if scope else None
        if papers is not None and not papers:
            return []
        wanted = None if papers is None else set(papers)
        by_words = search.keyword_scores(self.catalog, query, wanted)
        near = [] if by_keywords else self._near(query, wanted, count, exact=exact)
        return search.hits(self.catalog, query, by_words, search.vector_scores(near), count)

    def _near(self, query: str, papers: set[int] | None, count: int, *, exact: bool) -> Sequence[vectors.Near]:
        """The vector ranking: the index where it is large and good and nothing is filtered, else the exact scan."""
        if self.embedder is None or not self._knows_script(query):
            return []
        if papers is None and not exact and self._is_large:
            try:
                return self.index.nearest(query, max(10 * count, 100))
            except IndexUnusable:
                pass  # the exact scan below answers, whatever state the index is in
        return vectors.scan(self.catalog, self.embedder, query, papers)

    def _knows_script(self, query: str) -> bool:
        from store.keywords import HAN_RUN

        return self.embedder is not None and ("Han" in self.embedder.scripts or not HAN_RUN.search(query))

    @cached_property
    def _is_large(self) -> bool:
        return len(self.catalog.passages()) > LARGEST_SCAN

    @cached_property
    def index(self) -> Index:
        """The Chroma index of this library; raises IndexUnusable where there is no embedder."""
        if self.embedder is None:
            raise IndexUnusable("no embedder is set up, so there are no vectors to index; run `carrel embedder install`")
        return Index(self.folder / "index", self.catalog, self.embedder)

    def recall(self, queries: Iterable[str], count: int = 10) -> float:
        """The mean share of the exact scan's `count` nearest passages that the index finds too."""
        shares = []
        for query in queries:
            if self.embedder is None:
                raise IndexUnusable("no embedder is set up, so there is nothing to compare")
            exact = {near.passage for near in vectors.scan(self.catalog, self.embedder, query)[:count]}
            found = {near.passage for near in self.index.nearest(query, count)}
            shares.append(len(exact & found) / max(len(exact), 1))
        return sum(shares) / max(len(shares), 1)

    def used_keys(self) -> frozenset[str]:
        """The keys that drafts cite; they are not replaced by better ones."""
        plans = (self.folder / "drafts").glob("*.plan.md")
        return frozenset(key for plan in plans for key in USED_KEY.findall(plan.read_text("utf-8")))
