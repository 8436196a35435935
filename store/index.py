"""Chroma over the library's vectors: a copy that may be deleted at any time, and is never trusted without proof.

It holds passage numbers and vectors, no text. One process owns the folder (a lock file); a manifest says which library
state, embedder and chromadb wrote it, and the sizes of its files, so that a stale, foreign or damaged index is rebuilt
and the exact scan answers meanwhile.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from store.catalog import Catalog
from store.embedding import Embedder
from store.errors import IndexUnusable, LibraryBusy
from store.vectors import Near, matrix

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

NAME = "passages"
BATCH = 2_000
SEARCH_DEPTH = 400
"""HNSW's ef at query time: recall@10 against the exact scan stays above 0.99 on real vectors."""


class Index:
    """The index of one library folder for one embedder."""

    def __init__(self, folder: Path, catalog: Catalog, embedder: Embedder) -> None:
        self.folder, self._catalog, self._embedder = folder, catalog, embedder
        self._collection: Collection | None = None

    def is_good(self) -> bool:
        """Whether the index is that of the present vectors and its files are as they were written."""
        try:
            manifest = json.loads(self._manifest.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        return bool(manifest == {"state": self.state(), "files": self._files()})

    def state(self) -> str:
        """A digest of what the index must hold: passages, their vectors' names, the embedder, chromadb's version."""
        held = [(passage.id, passage.digest) for passage in self._catalog.passages()]
        said = json.dumps([held, self._embedder.fingerprint, version("chromadb")])
        return hashlib.sha256(said.encode()).hexdigest()

    def rebuild(self) -> int:
        """Builds the index anew beside the old one and swaps it in; how many vectors it holds."""
        with self._owned():
            rows = self._catalog.vectors(self._embedder.fingerprint)
            self._close()
            shutil.rmtree(self.folder / "chroma", ignore_errors=True)
            self._manifest.unlink(missing_ok=True)
            collection = self._client().get_or_create_collection(
                NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine", "ef_search": SEARCH_DEPTH}}
            )
            for start in range(0, len(rows), BATCH):
                part = rows[start : start + BATCH]
                collection.upsert(ids=[str(row[0]) for row in part], embeddings=matrix(row[2] for row in part))
            if collection.count() != len(rows):
                raise IndexUnusable(f"{self.folder}: Chroma holds {collection.count()} of {len(rows)} vectors; use --exact")
            self._collection = collection
            self._manifest.write_text(json.dumps({"state": self.state(), "files": self._files()}), "utf-8")
            return len(rows)

    def nearest(self, query: str, count: int) -> list[Near]:
        """The `count` passages nearest to the query; raises IndexUnusable when the index is not provably good."""
        if not self.is_good():
            self._collection = None
            raise IndexUnusable(f"{self.folder}: the index is not that of the present library; run `carrel index`")
        papers = {passage.id: passage.paper for passage in self._catalog.passages()}
        with self._distrusted():
            self._collection = self._collection or self._client().get_collection(NAME, embedding_function=None)
            vector = self._embedder.embed([query])
            found = self._collection.query(query_embeddings=vector, n_results=count, include=["distances"])
        distances = (found["distances"] or [[]])[0]
        near = [Near(int(id_), papers[int(id_)], 1 - float(far)) for id_, far in zip(found["ids"][0], distances, strict=True)]
        return sorted(near, key=lambda one: (-round(one.cosine, 4), one.passage))

    @property
    def _manifest(self) -> Path:
        return self.folder / "manifest.json"

    def _files(self) -> dict[str, int]:
        """The sizes of the HNSW files. Chroma's own SQLite file changes when it is only read, so it is left out."""
        inside = self.folder / "chroma"
        return {str(path.relative_to(inside)): path.stat().st_size for path in sorted(inside.rglob("*.bin"))}

    def _client(self) -> "ClientAPI":
        os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
        import chromadb
        from chromadb.config import Settings

        self.folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(str(self.folder / "chroma"), settings=Settings(anonymized_telemetry=False))

    def _close(self) -> None:
        from chromadb.api.shared_system_client import SharedSystemClient

        self._collection = None
        SharedSystemClient.clear_system_cache()

    @contextmanager
    def _distrusted(self) -> Iterator[None]:
        """Whatever Chroma raises over a damaged folder, a panic of its core among it, means that the scan must answer."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            self._collection = None
            raise IndexUnusable(f"{self.folder}: Chroma cannot read it ({type(error).__name__}); run `carrel index`") from error

    @contextmanager
    def _owned(self) -> Iterator[None]:
        """One process writes the folder at a time; raises LibraryBusy naming the one that does."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(parents=True, exist_ok=True)
        owner = self.folder / "owner"
        try:
            with FileLock(self.folder / "lock", timeout=0):
                owner.write_text(f"process {os.getpid()}", "utf-8")
                yield
        except Timeout as error:
            who = owner.read_text("utf-8") if owner.exists() else "another process"
            raise LibraryBusy(f"{self.folder}: {who} is building the index; searches use the exact scan meanwhile") from error
