"""The Chroma index: a copy of the vectors that answers only while it is provably that of the present library."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import store.library
from store import vectors
from store.embedding import HashEmbedder
from store.errors import IndexUnusable, LibraryBusy
from store.library import Library

QUERIES = ["reward hacking in code generation", "robots that walk", "scheduling rollouts", "强化学习"]
NEW = b"@misc{new, title={A New One}, abstract={It is new, and it is about reward hacking. It is good.}}"
WIDER = 1e-4
"""Hashed vectors have ties, which the index and the scan may break differently."""


def built(library: Library) -> Library:
    """The library with its index built."""
    library.index.rebuild()
    return library


def test_the_index_holds_every_vector_and_nothing_else(library: Library) -> None:
    """As many as there are passages; building it again gives the same."""
    count = len(library.catalog.passages())
    assert library.index.rebuild() == count
    assert library.index.rebuild() == count
    assert {one.passage for one in library.index.nearest("anything", count)} == {one.id for one in library.catalog.passages()}


def test_the_index_ranks_as_the_scan_does(library: Library) -> None:
    """The same cosines, best first, and nothing that the scan has among its ten best is missing but for ties."""
    built(library)
    embedder = library.embedder
    assert embedder is not None
    for query in QUERIES:
        exact = vectors.scan(library.catalog, embedder, query)
        cosine = {one.passage: one.cosine for one in exact}
        found = library.index.nearest(query, 10)
        assert len(found) == 10
        assert [one.cosine for one in found] == pytest.approx([one.cosine for one in exact[:10]], abs=WIDER)
        assert all(one.cosine == pytest.approx(cosine[one.passage], abs=WIDER) for one in found)
        assert {one.passage for one in exact[:10] if one.cosine > exact[10].cosine + WIDER} <= {one.passage for one in found}


def test_recall_is_complete_on_its_own_titles(library: Library) -> None:
    """Asked for each paper's own title the index finds the ten passages that the scan finds."""
    assert built(library).recall([paper.name for paper in library.papers()]) >= 0.99


def test_a_built_index_is_good_in_another_process(library: Library) -> None:
    """What makes it good is on disk."""
    built(library)
    script = (
        "import sys; from pathlib import Path; from store.library import Library; from store.embedding import HashEmbedder\n"
        "library = Library(Path(sys.argv[1]), HashEmbedder())\n"
        "print(library.index.is_good(), library.index.nearest('robots that walk', 1)[0].passage)"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(library.folder)], capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stdout.split() == ["True", str(library.index.nearest("robots that walk", 1)[0].passage)]


def test_a_new_paper_makes_it_stale_until_it_is_built_again(folder: Path) -> None:
    """It is never asked for a library that it does not hold."""
    library = built(Library(folder, HashEmbedder()))
    library.add_text(NEW, "new.bib")
    library.embed()
    assert not library.index.is_good()
    opened = Library(folder, HashEmbedder())
    with pytest.raises(IndexUnusable, match="carrel index"):
        opened.index.nearest("reward hacking", 5)
    built(opened)
    assert opened.index.is_good()
    number = opened.paper("new").number
    assert number in {one.paper for one in opened.index.nearest("A New One It is new", 3)}


def test_a_library_that_stays_open_does_not_ask_a_stale_index(library: Library) -> None:
    """Also where it answered before the new paper came."""
    built(library).index.nearest("reward hacking", 5)
    library.add_text(NEW, "new.bib")
    library.embed()
    with pytest.raises(IndexUnusable):
        library.index.nearest("reward hacking", 5)


def test_another_embedder_does_not_use_it(library: Library) -> None:
    """Vectors of two embedders never mix."""
    built(library)
    assert not Library(library.folder, HashEmbedder(64)).index.is_good()
    assert Library(library.folder, HashEmbedder()).index.is_good()


@pytest.mark.parametrize("harm", ["no folder", "no manifest", "broken manifest", "list for a manifest", "no vectors", "cut vectors", "longer vectors"])
def test_a_damaged_or_missing_file_is_noticed(library: Library, harm: str) -> None:
    """Whatever is gone or of another size, the index is not good, and building it again mends it."""
    built(library)
    index = library.folder / "index"
    part = max(index.rglob("*.bin"), key=lambda path: path.stat().st_size)
    if harm == "no folder":
        shutil.rmtree(index)
    elif harm == "no vectors":
        part.unlink()
    elif harm == "cut vectors":
        part.write_bytes(part.read_bytes()[:-1])
    elif harm == "longer vectors":
        part.write_bytes(part.read_bytes() + b"\0")
    elif harm == "no manifest":
        (index / "manifest.json").unlink()
    else:
        (index / "manifest.json").write_text("[]" if harm.startswith("list") else '{"state": "', "utf-8")
    opened = Library(library.folder, HashEmbedder())
    assert not opened.index.is_good()
    with pytest.raises(IndexUnusable):
        opened.index.nearest("anything", 1)
    built(opened)
    assert opened.index.is_good()
    assert opened.index.nearest("anything", 1)


@pytest.mark.parametrize("harm", ["no database", "cut database"])
def test_the_scan_answers_where_the_index_is_damaged(library: Library, harm: str) -> None:
    """A large library with a broken index finds what it finds without one."""
    built(library)
    (index,) = (library.folder / "index").glob("chroma*")
    if harm == "no database":
        (index / "chroma.sqlite3").unlink()
    else:
        (index / "chroma.sqlite3").write_bytes((index / "chroma.sqlite3").read_bytes()[:5000])
    script = (
        "import sys; from pathlib import Path; import store.library; from store.library import Library; from store.embedding import HashEmbedder\n"
        "store.library.LARGEST_SCAN = 0\n"
        "library = Library(Path(sys.argv[1]), HashEmbedder())\n"
        "print(library.search('reward hacking') == library.search('reward hacking', exact=True))"
    )
    ran = subprocess.run([sys.executable, "-c", script, str(library.folder)], capture_output=True, text=True, check=False, env=os.environ)
    assert ran.stdout.split() == ["True"], ran.stderr[-300:]


def test_a_large_library_asks_the_index_and_a_filtered_search_does_not(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the measured size the index answers; `exact`, a scope and keywords alone never ask it."""
    built(library)
    exact = library.search("reward hacking in code generation")
    monkeypatch.setattr(store.library, "LARGEST_SCAN", 0)
    library.__dict__.pop("_is_large", None)
    asked: list[str] = []
    nearest = library.index.nearest
    monkeypatch.setattr(library.index, "nearest", lambda query, count, also=(): asked.append(query) or nearest(query, count, also))
    assert [hit.paper for hit in library.search("reward hacking in code generation")][:3] == [hit.paper for hit in exact][:3]
    assert asked == ["reward hacking in code generation"]
    library.search("one", exact=True)
    library.search("two", by_keywords=True)
    library.search("three", scope=store.library.Scope(since="2025"))
    assert len(asked) == 1


def test_a_large_library_without_an_index_scans(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is lost where it was deleted."""
    expected = library.search("reward hacking")
    monkeypatch.setattr(store.library, "LARGEST_SCAN", 0)
    library.__dict__.pop("_is_large", None)
    assert library.search("reward hacking") == expected


def test_another_process_that_builds_is_named(library: Library) -> None:
    """A lock that a second process holds is respected, with its number in the message."""
    (library.folder / "index").mkdir(exist_ok=True)
    script = (
        "import sys; from pathlib import Path; from store.library import Library; from store.embedding import HashEmbedder\n"
        "library = Library(Path(sys.argv[1]), HashEmbedder())\n"
        "with library.index._owned():\n    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", script, str(library.folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdin is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(LibraryBusy, match=f"process {other.pid} is building"):
            library.index.rebuild()
        other.stdin.close()
        other.wait(timeout=10)
    assert library.index.rebuild() > 0


def test_without_an_embedder_there_is_no_index(folder: Path) -> None:
    """And the message says how to get one."""
    with pytest.raises(IndexUnusable, match="carrel embedder install"):
        _ = Library(folder).index
