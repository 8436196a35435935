"""A review's folder: papers in (`add`), ranked passages out (`search`). Each method is a list of steps."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from store import formats, keywords, search, vectors
from store.catalog import Catalog, Members
from store.curation import Curation
from store.embedding import Embedder
from store.errors import IndexUnusable, LibraryNotFound, UnreadableFile
from store.formats.file import SourceFile
from store.formats.reading import Options
from store.index import Index
from store.language import language_of, script_of
from store.paper import Kind, Paper, Record, Refused
from store.scope import Scope
from store.search import Hit, Weighed
from store.texts import Text

if TYPE_CHECKING:
    from store.vectors import Near

DATABASE = "library.sqlite"
SETTINGS = "carrel.toml"
LARGEST_SCAN = 50_000
"""Passages up to which a one-off search scans exactly; above it the index answers, when it is good."""
TIE = 1e-4
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

    def add(self, path: Path, options: Options | None = None, *, kind: Kind | None = None) -> FileReport:
        """Stores every paper of a file, all of them or (on a failure) none; a file that cannot be read is reported."""
        return self._add(SourceFile(str(path), path), options or Options(), kind)

    def add_text(self, data: bytes, name: str, options: Options | None = None, *, kind: Kind | None = None) -> FileReport:
        """The same for what was pasted."""
        return self._add(SourceFile(name, data=data), options or Options(), kind)

    def add_records(self, records: Iterable[Record | Refused], name: str, format: str, kind: Kind = "abstract") -> FileReport:  # noqa: A002  the record's word
        """The same for records that a service or a person gave."""
        with self.catalog.writing():
            return self._take(records, name, format, kind, "")

    def _add(self, file: SourceFile, options: Options, kind: Kind | None) -> FileReport:
        try:
            as_read = f"{file.digest} {kind} {options.year} {sorted(options.columns.items())} {version('carrel')}"
            if known := self.catalog.imported(as_read):
                refused = tuple(Refused(*one) for one in known.refused)
                return FileReport(file.name, known.format, 0, 0, known.records, refused)
            found = formats.opened(file, options)
            with self.catalog.writing():
                report = self._take(found.items, file.name, found.format, kind or found.kind, as_read)
                if not (report.new or report.merged or report.unchanged or report.refused):
                    raise formats.nothing_in(file, found.format)
                return report
        except (UnreadableFile, OSError) as error:
            reason = str(error) if isinstance(error, UnreadableFile) else f"{file.name}: cannot be read ({error.strerror})"
            return FileReport(file.name, "", 0, 0, 0, (), reason)

    def _take(self, items: Iterable[Record | Refused], name: str, format_: str, kind: Kind, as_read: str) -> FileReport:
        refused: list[Refused] = []

        def records() -> Iterator[Record]:
            for item in items:
                if isinstance(item, Refused):
                    refused.append(item)
                else:
                    yield item

        number = self.catalog.new_import(name, format_, kind, as_read)
        counts = {"new": 0, "merged": 0, "unchanged": 0}
        for outcome in self.catalog.intake(number, kind, self.used_keys()).take(records()):
            counts[outcome.became] += 1
        self.catalog.finish_import(number, sum(counts.values()), [(one.line, one.reason) for one in refused])
        return FileReport(name, format_, counts["new"], counts["merged"], counts["unchanged"], tuple(refused))

    def known(self, record: Record) -> str:
        """The key of the paper that a record is the same work as, or nothing."""
        number = self.catalog.same_work(record)
        return self.catalog.keys([number])[number] if number else ""

    @property
    def curation(self) -> Curation:
        """The changes that a person can make."""
        return Curation(self.catalog, self.used_keys())

    def embed(self, progress: vectors.Progress | None = None) -> int:
        """Computes the vectors that are missing; how many there were."""
        return vectors.fill(self.catalog, self.embedder, progress) if self.embedder else 0

    def papers(self, scope: Scope | None = None) -> list[Paper]:
        """The papers in scope, in order of key; without one, all but those that were removed."""
        return self.catalog.papers(scope.numbers(self.catalog) if scope else None)

    def considered(self, scope: Scope | None = None) -> list[Paper]:
        """The papers a task reads: those in scope that are not excluded, in order of key."""
        return self.catalog.papers((scope or Scope()).numbers(self.catalog))

    def paper(self, key: str) -> Paper:
        """The paper that a key or alias names; raises UnknownPaper."""
        return self.catalog.papers([self.catalog.number(key)])[0]

    def texts(self, paper: Paper) -> list[Text]:
        """The texts a paper shows, cut into sentences."""
        return self.catalog.texts(paper.number)

    def search(
        self, query: str, *, count: int = 10, scope: Scope | None = None, by_keywords: bool = False, exact: bool = False, also: str = ""
    ) -> list[Hit]:
        """The `count` papers that fit a query best, within the scope; `also` are more words for the keyword ranking alone."""
        members = (scope or Scope()).members(self.catalog)
        if members is not None and not members.numbers:
            return []
        by_words = search.keyword_scores(self.catalog, f"{query} {also}" if also else query, members)
        near = [] if by_keywords else self._near(query, members, by_words, exact=exact)
        return search.hits(self.catalog, query, by_words, search.vector_scores(near), count)

    def weighed(
        self, query: str, wanted: Sequence[str], *, scope: Scope | None = None, by_keywords: bool = False, also: str = ""
    ) -> list[Weighed]:
        """Every paper in scope with what speaks for it, best first; none is cut off.

        `wanted` are wordings of what is asked for: a paper's share is the best of its shares of their words.
        """
        members = (scope or Scope()).members(self.catalog)
        numbers = self.catalog.numbers("status <> 'removed'", ()) if members is None else members.numbers
        by_words = search.keyword_scores(self.catalog, f"{query} {also}" if also else query, members)
        cosines = {} if by_keywords else self._cosines(query, members)
        shares = [keywords.shares(self.catalog, words, numbers) for words in wanted if words]
        scores = search.fused(by_words, cosines)
        return search.in_order(
            Weighed(
                number,
                key,
                round(scores.get(number, 0.0), 4),
                round(cosines[number].cosine, 4) if number in cosines else None,
                max((one[number] for one in shares), default=0.0),
            )
            for number, key in self.catalog.keys(numbers).items()
        )

    def _cosines(self, query: str, members: Members | None) -> "dict[int, Near]":
        """The nearest passage of every paper that has a vector."""
        if self.embedder is None or script_of(language_of(query)) not in self.embedder.scripts:
            return {}
        scan = vectors.Scan(self.catalog, self.embedder, query, None if members is None else members.array)
        return search.vector_scores(scan.nearest(len(scan.papers)))

    def similar(self, key: str, *, count: int = 10, scope: Scope | None = None, by_keywords: bool = False) -> list[Hit]:
        """The papers that are most like one, itself left out: its title and abstract are the query."""
        paper = self.paper(key)
        query = f"{paper.title}\n{paper.abstract}".strip()
        hits = self.search(query, count=count + 1, scope=scope, by_keywords=by_keywords)
        return [hit for hit in hits if hit.paper != paper.number][:count]

    def _near(self, query: str, members: Members | None, by_words: Iterable[int], *, exact: bool) -> "list[Near]":
        """The vector ranking: the index where it is large and good and nothing is filtered, else the exact scan.

        It holds the papers of the keyword ranking too, however far, so that both parts of a score are known.
        """
        if self.embedder is None or script_of(language_of(query)) not in self.embedder.scripts:
            return []
        if members is None and not exact and self._is_large:
            try:
                return self.index.nearest(query, search.DEPTH, also=by_words)
            except IndexUnusable:
                pass  # the exact scan below answers, whatever state the index is in
        scan = vectors.Scan(self.catalog, self.embedder, query, None if members is None else members.array)
        return [*scan.nearest(search.DEPTH), *scan.of(by_words)]

    @cached_property
    def _is_large(self) -> bool:
        return self.catalog.passage_count() > LARGEST_SCAN

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
            exact = vectors.scan(self.catalog, self.embedder, query)[:count]
            found = self.index.nearest(query, count)
            # Passages as near as the last of the best are as good as it, whichever of them is named.
            good = sum(near.cosine >= exact[-1].cosine - TIE for near in found) if exact else 1
            shares.append(min(good / max(len(exact), 1), 1.0))
        return sum(shares) / max(len(shares), 1)

    def used_keys(self) -> frozenset[str]:
        """The keys that drafts cite; they are not replaced by better ones."""
        plans = (self.folder / "drafts").glob("*.plan.md")
        return frozenset(key for plan in plans for key in USED_KEY.findall(plan.read_text("utf-8")))
