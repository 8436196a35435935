"""What the tests share: the example as a library, the command line in this process, and no network but loopback."""

import io
import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest

from assistant.cli.base import commands, run
from store.embedding import HashEmbedder
from store.library import Library

ROOT = Path(__file__).parents[1]
EXAMPLE = ROOT / "examples" / "rl-post-training"
EXAMPLE_FILES = tuple(EXAMPLE / name for name in ("digest.txt", "daily-papers.txt", "abstracts.txt", "reading-list.bib"))
LOOPBACK = {"127.0.0.1", "::1", "localhost"}


class Ran(NamedTuple):
    """A command's exit code and what it printed."""

    code: int
    out: str
    err: str


Carrel = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """No setting of the machine counts, nothing of the user's is touched, and nothing leaves the machine."""
    for name in list(os.environ):
        if name.startswith("CARREL_") and name not in {"CARREL_SEEDS", "CARREL_IMPORT", "CARREL_CACHE"}:
            monkeypatch.delenv(name)
    monkeypatch.setenv("CARREL_EMBEDDER", "hash")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.mktemp("config")))
    connect = socket.socket.connect

    def refuse(self: socket.socket, address: object) -> None:
        if isinstance(address, tuple) and address[0] not in LOOPBACK:
            raise AssertionError(f"a test wanted to connect to {address[0]}")
        connect(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", refuse)


@pytest.fixture(scope="session")
def made_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's 36 papers as a library folder; copied, never changed."""
    folder = tmp_path_factory.mktemp("example") / "library"
    folder.mkdir()
    library = Library(folder, HashEmbedder(), create=True)
    for path in EXAMPLE_FILES:
        library.add(path)
    library.embed()
    library.close()
    (folder / "carrel.toml").write_text("", "utf-8")
    return folder


@pytest.fixture
def folder(made_library: Path, tmp_path: Path) -> Path:
    """A library folder of the example's papers, this test's own."""
    return Path(shutil.copytree(made_library, tmp_path / "library"))


@pytest.fixture
def library(folder: Path) -> Iterator[Library]:
    """That library, open."""
    opened = Library(folder, HashEmbedder())
    yield opened
    opened.close()


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Library]:
    """A library without papers."""
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "carrel.toml").write_text("", "utf-8")
    opened = Library(folder, HashEmbedder(), create=True)
    yield opened
    opened.close()


@pytest.fixture
def seeds() -> list[Path]:
    """The seed files, where CARREL_SEEDS names their folder."""
    if not os.environ.get("CARREL_SEEDS"):
        pytest.skip("CARREL_SEEDS does not name the folder of seed files")
    return sorted(Path(os.environ["CARREL_SEEDS"]).glob("*.txt"))


@pytest.fixture
def carrel(monkeypatch: pytest.MonkeyPatch) -> Carrel:
    """Runs `carrel` with these words in this process."""

    def ran(*words: str | Path, at: Path | None = None, pasted: str = "") -> Ran:
        if at:
            monkeypatch.chdir(at)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(pasted.encode())))
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = run(commands, [str(word) for word in words])
        return Ran(code, out.getvalue(), err.getvalue())

    return ran
