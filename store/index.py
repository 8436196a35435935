"""Chroma over the library's vectors: a copy that may be deleted at any time, and is never trusted without proof.

It holds passage numbers and vectors, no text. One process owns the folder (a lock file); a manifest says which library
state, embedder and chromadb wrote it, and the sizes of its files; when it is opened some vectors must find themselves. So
a stale, foreign or damaged index is rebuilt (beside the old one, and swapped in) and the exact scan answers meanwhile.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from store.catalog import Catalog
from store.embedding import Embedder
from store.errors import IndexUnusable, LibraryBusy
from store.vectors import Near

if TYPE_CHECKING:
    from chromadb.api import ClientAPI
    from chromadb.api.models.Collection import Collection

NAME = "passages"
BATCH = 2_000
PROBES = 16
NOTHING = 1e-3
SEARCH_DEPTH = 400
"""HNSW's ef at query time: recall@10 against the exact scan stays above 0.99 on real vectors."""


class Index:
    """The index of one library folder for one embedder."""

    def __init__(self, folder: Path, catalog: Catalog, embedder: Embedder) -> None:
        self.folder, self._catalog, self._embedder = folder, catalog, embedder
        self._collection: Collection | None = None
        self._opened = ""
        self._state: tuple[object, str] = (None, "")

    def is_good(self) -> bool:
        """Whether the index is that of the present vectors and its files are as they were written."""
        manifest = self._manifest()
        if manifest is None or manifest.get("state") != self.state():
            return False
        return manifest.get("files") == self._sizes(str(manifest.get("folder")))

    def state(self) -> str:
        """A digest of what the index must hold: passages (one never changes under its number), embedder, chromadb's version."""
        now = self._catalog.database.state()
        if self._state[0] != now:
            held = [passage.id for passage in self._catalog.passages()]
            said = json.dumps([held, self._embedder.fingerprint, version("chromadb")])
            self._state = (now, hashlib.sha256(said.encode()).hexdigest())
        return self._state[1]

    def rebuild(self) -> int:
        """Builds the index anew beside the old one and swaps it in; how many vectors it holds. Searches go on meanwhile."""
        with self._owned():
            held, state = self._catalog.vectors(self._embedder.fingerprint), self.state()
            self._close()
            name = f"chroma-{os.getpid()}-{time.time_ns():x}"
            collection = self._client(name).get_or_create_collection(
                NAME, embedding_function=None, configuration={"hnsw": {"space": "cosine", "ef_search": SEARCH_DEPTH}}
            )
            for start in range(0, len(held.rows), BATCH):
                part = slice(start, start + BATCH)
                collection.upsert(ids=[str(number) for number in held.passages[part].tolist()], embeddings=held.rows[part])
            if collection.count() != len(held.rows):
                raise IndexUnusable(f"{self.folder}: Chroma holds {collection.count()} of {len(held.rows)} vectors; use --exact")
            self._collection, self._opened = collection, name
            self._swap_in(name, state)
            return len(held.rows)

    def _swap_in(self, name: str, state: str) -> None:
        """The manifest names the new folder from one moment to the next; older folders go."""
        draft = self._path.with_suffix(".new")
        draft.write_text(json.dumps({"folder": name, "state": state, "files": self._sizes(name)}), "utf-8")
        draft.replace(self._path)
        for other in self.folder.glob("chroma*"):
            if other.name != name:
                shutil.rmtree(other, ignore_errors=True)

    def nearest(self, query: str, count: int, also: Iterable[int] = ()) -> list[Near]:
        """The `count` passages nearest to the query, best first, then those of the papers `also` asked for.

        Raises IndexUnusable when the index is not provably good.
        """
        if not self.is_good():
            self._collection = None
            raise IndexUnusable(f"{self.folder}: the index is not that of the present library; run `carrel index`")
        (vector,) = self._embedder.embed([query])
        with self._distrusted():
            collection = self._open()
            found = collection.query(query_embeddings=[vector], n_results=min(count, collection.count()), include=[])
        # Chroma only proposes: the cosines are computed from the library's own vectors.
        proposed = self._catalog.vectors_of_passages(int(name) for name in found["ids"][0])
        near = [Near(passage, paper, float(row @ vector)) for passage, paper, row in proposed]
        near.sort(key=lambda one: (-round(one.cosine, 4), one.passage))
        others = set(also) - {one.paper for one in near}
        return near + [Near(passage, paper, float(row @ vector)) for passage, paper, row in self._catalog.vectors_of(others)]

    def _open(self) -> "Collection":
        manifest = self._manifest() or {}
        name = str(manifest.get("folder"))
        if self._collection is None or self._opened != name:
            self._close()
            collection = self._client(name).get_collection(NAME, embedding_function=None)
            self._prove(collection)
            self._collection, self._opened = collection, name
        return self._collection

    def _prove(self, collection: "Collection") -> None:
        """Asks for some vectors that it must hold; raises IndexUnusable where one does not find itself."""
        held = self._catalog.passages()
        some = self._catalog.vectors_of_passages(passage.id for passage in held[:: max(len(held) // PROBES, 1)])
        if not some or collection.count() != len(held):
            raise IndexUnusable(f"{self.folder}: Chroma holds {collection.count()} vectors, the library {len(held)}; run `carrel index`")
        found = collection.query(query_embeddings=[row.tolist() for _, _, row in some], n_results=1, include=["distances"])
        for (passage, _, _), distances in zip(some, found["distances"] or [], strict=True):
            if not distances or distances[0] > NOTHING:
                raise IndexUnusable(f"{self.folder}: passage {passage} is not found by its own vector; run `carrel index`")

    @property
    def _path(self) -> Path:
        return self.folder / "manifest.json"

    def _manifest(self) -> dict[str, object] | None:
        try:
            manifest = json.loads(self._path.read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return manifest if isinstance(manifest, dict) else None

    def _sizes(self, name: str) -> dict[str, int]:
        """The sizes of the HNSW files. Chroma writes unused bytes of them, and its SQLite file, anew when it only reads."""
        inside = self.folder / name
        return {str(path.relative_to(inside)): path.stat().st_size for path in sorted(inside.rglob("*.bin"))}

    def _client(self, name: str) -> "ClientAPI":
        os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
        import chromadb
        from chromadb.config import Settings

        self.folder.mkdir(parents=True, exist_ok=True)
        return chromadb.PersistentClient(str(self.folder / name), settings=Settings(anonymized_telemetry=False))

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

