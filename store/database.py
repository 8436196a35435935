"""The library's SQLite file: opened safely, brought to the present tables, written in whole transactions."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from store.errors import LibraryBusy, LibraryNotFound

SAFE_WAL = (3, 51, 3)
"""SQLite before this version can corrupt a write-ahead log when two connections write and checkpoint at once."""
NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "fuse.sshfs", "9p", "afpfs", "fuse.rclone", "fuse.gvfsd-fuse"})
BUSY_MS = 10_000
PAGE = 16_384
"""Bytes: abstracts fill pages of SQLite's usual 4 kB badly; a quarter of their room stood empty."""
PROJECT = 0x43615232
"""SQLite's application_id: `CaR2`, the second layout of the tables."""


class Database:
    """A connection. Reads need no transaction; every write stands in `with database.writing():`."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.exists():
            raise LibraryNotFound(f"{path.parent}: no library here (there is no {path.name}); make one with `carrel init`")
        self.path = path
        self._commits = 0
        self.run = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        self.run.row_factory = sqlite3.Row
        for pragma in (f"page_size={PAGE}", f"journal_mode={journal(path)}", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}", "cache_size=-65536"):
            self.run.execute(f"PRAGMA {pragma}")
        self._migrate()

    def close(self) -> None:
        """Closes the file."""
        self.run.close()

    def _migrate(self) -> None:
        done = self._version()
        steps = sorted((step for step in files("store").joinpath("migrations").iterdir() if step.name.endswith(".sql")), key=lambda step: step.name)
        if done > len(steps):
            raise LibraryNotFound(f"{self.path}: written by a newer Carrel (schema {done}); install that version to open it")
        if done == len(steps):
            return
        with self.writing():
            # Asked again inside: another process may have made the tables since.
            done = self._version()
            for number, step in enumerate(steps[done:], done + 1):
                for statement in _statements(step.read_text("utf-8")):
                    self.run.execute(statement)
                self.run.execute(f"PRAGMA user_version={number}")
            self.run.execute(f"PRAGMA application_id={PROJECT}")

    def _version(self) -> int:
        version = int(self.run.execute("PRAGMA user_version").fetchone()[0])
        if version and self.run.execute("PRAGMA application_id").fetchone()[0] != PROJECT:
            raise LibraryNotFound(
                f"{self.path}: made by Carrel 0.1, whose tables were other ones; rename it, run `carrel init` and add the files again"
            )
        return version

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all of it or nothing. Raises LibraryBusy when another process writes for over ten seconds."""
        holder = self.path.with_suffix(".writer")
        try:
            self.run.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            who = holder.read_text("utf-8") if holder.exists() else "another process"
            raise LibraryBusy(f"{self.path}: {who} is writing to it; run the command again when that is done") from error
        try:
            holder.write_text(f"process {os.getpid()}", "utf-8")
            yield
            self.run.execute("COMMIT")
            self._commits += 1
        except BaseException:
            if self.run.in_transaction:  # Ctrl-C may come just behind the commit
                self.run.execute("ROLLBACK")
            raise
        finally:
            holder.unlink(missing_ok=True)

    def state(self) -> tuple[int, int, bool]:
        """What is another whenever this process or another has changed the library, or is changing it."""
        return self.run.execute("PRAGMA data_version").fetchone()[0], self._commits, self.run.in_transaction

    def meta(self, name: str) -> str:
        """A noted value, or nothing."""
        row = self.run.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def note(self, name: str, value: str) -> None:
        """Notes a value under a name."""
        self.run.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def journal(path: Path) -> str:
    """A write-ahead log where SQLite keeps it safe and the folder is on a local disk; else a rollback journal."""
    return "WAL" if sqlite3.sqlite_version_info >= SAFE_WAL and not _is_remote(path) else "DELETE"


def _is_remote(path: Path) -> bool:
    """Whether the folder lies on a network file system, whose locks a write-ahead log cannot rest on."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text("utf-8", errors="replace").splitlines()]
    except OSError:
        return False
    place = path.resolve()
    over = [(point, kind) for point, kind in mounts if place.is_relative_to(point)]
    return bool(over) and max(over, key=lambda mount: len(mount[0]))[1] in NETWORK


def _statements(script: str) -> Iterator[str]:
    """The statements of a migration; its comments hold no semicolon at the end of a line."""
    return (statement for part in script.split(";\n") if (statement := part.strip()))
