"""Two processes at one library: both writes are kept, a search goes on while the index is built anew."""

import os
import subprocess
import sys
from pathlib import Path

from store.embedding import HashEmbedder
from store.library import Library
from tests.conftest import EXAMPLE_FILES, ROOT


def started(folder: Path, *words: str) -> "subprocess.Popen[str]":
    """`carrel` in a process of its own."""
    command = [sys.executable, "-m", "assistant", "--library", str(folder), *words]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_two_processes_that_add_at_once_both_succeed(empty: Library) -> None:
    """Every paper of both files is in, once."""
    running = [started(empty.folder, "add", str(path)) for path in EXAMPLE_FILES]
    for process in running:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert empty.catalog.count() == 36
    empty.catalog._db.execute("INSERT INTO words (words) VALUES ('integrity-check')")


def test_a_search_goes_on_while_another_process_builds_the_index(folder: Path) -> None:
    """The scan answers until the new index stands, and then the index does."""
    library = Library(folder, HashEmbedder())
    before = [hit.paper for hit in library.search("reward hacking", exact=True)]
    building = started(folder, "index", "--json")
    while building.poll() is None:
        assert [hit.paper for hit in library.search("reward hacking")] == before
    assert building.returncode == 0
    assert library.index.is_good()
    assert library.index.nearest("reward hacking", 5)


def test_a_removed_or_renamed_paper_is_so_for_a_process_that_is_open(folder: Path) -> None:
    """What is remembered of scopes and vectors is forgotten when another process changes the library."""
    library = Library(folder, HashEmbedder())
    (first, *_) = library.search("reward hacking in code generation")
    key = library.catalog.keys([first.paper])[first.paper]
    process = started(folder, "remove", key)
    process.communicate(timeout=60)
    assert process.returncode == 0
    assert first.paper not in [hit.paper for hit in library.search("reward hacking in code generation")]
