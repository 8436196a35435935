"""What must outlast every import: anchors, findings, keys, sources; and what two processes may do to one library."""

import shutil
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import store.database
from store.catalog import Catalog
from store.embedding import HashEmbedder
from store.errors import LibraryBusy, LibraryNotFound
from store.intake import Intake, Outcome
from store.library import Library, find_folder
from store.paper import Record, Translation
from tests.conftest import EXAMPLE_FILES

SENTENCES = ("A robot walks.", "It does not fall.", "It was tried on twelve bridges.", "Three of them moved.")
TITLE = "Learning to Walk on Moving Bridges"
same_work_records = st.builds(
    lambda abstract, zh, **fields: Record(
        title=TITLE,
        abstract=" ".join(abstract),
        translations={"zh": Translation("学习行走", "".join(zh))} if zh else {},
        identifiers={"arxiv": "2603.00001"},
        **fields,
    ),
    abstract=st.lists(st.sampled_from(SENTENCES), max_size=4, unique=True),
    zh=st.lists(st.sampled_from(["机器人会走路。", "它不会摔倒。"]), max_size=2),
    key=st.sampled_from(["", "Mine", "Yours"]),
    authors=st.sampled_from([(), ("Ada Lovelace",), ("Ada Lovelace", "Alan Turing")]),
    date=st.sampled_from(["", "2026", "2026-03-25"]),
    keywords=st.sampled_from([(), ("walking",)]),
)


def take(library: Library, record: Record) -> int:
    """Puts a record into the library; its paper's number."""
    with library.catalog.writing():
        return library.catalog.take(record, file="f", format="test", kind="abstract").paper


@settings(max_examples=60, deadline=None)
@given(st.lists(same_work_records, min_size=1, max_size=6))
def test_nothing_that_was_ever_pointed_at_is_lost(tmp_path_factory: pytest.TempPathFactory, given_records: list[Record]) -> None:
    """After each record of a work every anchor, key and source from before is what it was, and the paper is one."""
    library = Library(tmp_path_factory.mktemp("work"), create=True)
    anchors: dict[tuple[int, int], str] = {}
    keys: set[str] = set()
    for record in given_records:
        number = take(library, record)
        (paper,) = library.papers()
        assert paper.number == number
        for text in library.texts(paper):
            anchors |= {(text.id, sentence.number): text.sentence(sentence.number) for sentence in text.sentences}
        keys |= {paper.key, *paper.aliases}
        for (text_id, sentence), quote in anchors.items():
            assert library.catalog.text(text_id).sentence(sentence) == quote
        assert {library.paper(key).number for key in keys} == {number}
    shown = {text.role: text.characters for text in library.texts(paper)}
    assert shown.get("abstract", "") == max((record.abstract for record in given_records), key=len) or len(shown["abstract"]) == max(
        len(record.abstract) for record in given_records
    )
    distinct = {repr((r.title, r.abstract, r.key, r.authors, r.date, r.keywords, r.translations)) for r in given_records}
    assert len(paper.sources) == len(distinct)
    library.close()


def test_a_sentence_that_a_text_has_not_is_an_error(library: Library) -> None:
    """A label beyond the last sentence never gives another one's words."""
    text = next(text for text in library.texts(library.paper("qian2025toolrl")) if text.role == "abstract")
    assert text.sentence(len(text.sentences)) == text.characters[text.sentences[-1].start :]
    for number in (0, -1, len(text.sentences) + 1):
        with pytest.raises(IndexError):
            text.sentence(number)


def united(library: Library) -> tuple[int, int, int]:
    """Two papers with one abstract that a third record shows to be one; the second's number, its text, the remaining number."""
    library.add_text(b"@misc{one, title={Learning to Walk on Moving Bridges and over Rivers}, abstract={A robot walks.}}", "one.bib")
    other = take(library, Record(title="Learnin to Walk on Moving Bridges and over Rivers", abstract="A robot walks.", identifiers={"arxiv": "2603.00001"}))
    assert library.catalog.count() == 2
    (text,) = [text for text in library.catalog.texts(other) if text.role == "abstract"]
    with library.catalog.writing():
        library.catalog.keep_finding("table", "t", "c", other, "{}")
    remaining = take(library, Record(title="Learning to Walk on Moving Bridges and over Rivers", identifiers={"arxiv": "2603.00001"}))
    assert library.catalog.count() == 1
    return other, text.id, remaining


def test_two_papers_that_become_one_keep_their_keys_sources_and_findings(empty: Library) -> None:
    """Both keys name it, all three sources stand with it, and what was read from either is its."""
    _, _, remaining = united(empty)
    assert empty.paper("one").number == empty.paper("learnin").number == remaining
    assert len(empty.paper("one").sources) == 3
    assert set(empty.catalog.findings("table", "t")) == {("c", remaining)}
    assert {passage.paper for passage, _ in empty.catalog.passages_of([remaining])[remaining]} == {remaining}


def test_an_anchor_outlives_that_two_papers_become_one(empty: Library) -> None:
    """Also where both had the same abstract."""
    _, text, _ = united(empty)
    assert empty.catalog.text(text).sentence(1) == "A robot walks."


def test_every_file_is_a_source_with_its_line(library: Library) -> None:
    """Each of the example's papers says in which file and line it stood, and keeps its raw record."""
    sources = [source for paper in library.papers() for source in paper.sources]
    assert len(sources) == 36
    assert {source.file for source in sources} == {str(path) for path in EXAMPLE_FILES}
    for source in sources:
        lines = Path(source.file).read_text("utf-8").splitlines()
        assert lines[source.line - 1].strip() in source.raw
        assert source.time.endswith("+00:00")


# Transactions


def test_a_failure_in_the_middle_of_a_file_leaves_nothing(empty: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file's first records go too; the next try, on the same connection and on another, takes all."""
    real = Intake._take_run

    def fail(self: Intake, records: Sequence[Record]) -> list[Outcome]:
        outcomes = real(self, records[:7])
        if len(outcomes) == 7:
            raise RuntimeError("power cut")
        return outcomes

    monkeypatch.setattr(Intake, "_take_run", fail)
    with pytest.raises(RuntimeError, match="power cut"):
        empty.add(EXAMPLE_FILES[0])
    monkeypatch.undo()
    for table in ("import", "paper", "alias", "source", "text", "passage", "fingerprint", "words"):
        assert empty.catalog._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0
    assert not list(empty.folder.glob("*.writer"))
    assert Library(empty.folder).add(EXAMPLE_FILES[0]).new == 12
    assert empty.catalog.count() == 12


def test_a_process_that_dies_while_writing_leaves_the_library_as_it_was(folder: Path, tmp_path: Path) -> None:
    """The files as they are on disk in the middle of a transaction open as the library before it."""
    library = Library(folder, HashEmbedder())
    with library.catalog.writing():
        library.catalog._db.execute("PRAGMA cache_size=1")
        library.catalog._db.execute("UPDATE paper SET status = 'included'")
        library.catalog._db.execute("PRAGMA cache_spill=1")
        library.catalog._db.execute("DELETE FROM fingerprint")
        shutil.copytree(folder, tmp_path / "after")
        library.catalog._db.execute("ROLLBACK")
        library.catalog._db.execute("BEGIN")
    left = Library(tmp_path / "after", HashEmbedder())
    assert {paper.status for paper in left.papers()} == {"candidate"}
    assert len([text for paper in left.papers() for text in left.texts(paper)]) > 36
    assert left.catalog._db.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


def test_a_reader_sees_the_library_before_a_write_until_it_is_done(folder: Path) -> None:
    """Never half of a file."""
    writer, reader = Library(folder), Library(folder)
    with writer.catalog.writing():
        writer.catalog.take(Record(title="Something Wholly New"), file="f", format="test", kind="abstract")
        assert (writer.catalog.count(), reader.catalog.count()) == (37, 36)
    assert reader.catalog.count() == 37


def test_a_writer_waits_for_one_that_is_done_soon(folder: Path) -> None:
    """Two that write at once both succeed."""
    one, other = Library(folder), Library(folder)
    began, done = threading.Event(), threading.Event()

    def hold() -> None:
        with one.catalog.writing():
            one.catalog.note("one", "yes")
            began.set()
            done.wait(5)

    thread = threading.Thread(target=hold)
    thread.start()
    assert began.wait(5)
    threading.Timer(0.2, done.set).start()
    with other.catalog.writing():
        other.catalog.note("other", one.catalog.meta("one"))
    thread.join()
    assert one.catalog.meta("other") == "yes"


def test_a_busy_library_is_named_with_its_holder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which process writes, that the command can be run again, and exit 75; also where the holder left no name."""
    monkeypatch.setattr(store.database, "BUSY_MS", 20)
    one, other = Library(folder), Library(folder)
    with one.catalog.writing():
        for named, said in ((True, r"process \d+ is writing"), (False, "another process is writing")):
            if not named:
                next(folder.glob("*.writer")).unlink()
            with pytest.raises(LibraryBusy, match=said) as error, other.catalog.writing():
                pass
            assert "again" in str(error.value)
            assert error.value.exit_code == 75


# Opening


def test_two_processes_may_open_a_new_library_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second finds the tables made when its turn comes."""
    real, path = Catalog.writing, tmp_path / "library.sqlite"

    def overtaken(self: Catalog) -> object:
        monkeypatch.setattr(Catalog, "writing", real)
        Catalog(path).close()
        return real(self)

    monkeypatch.setattr(Catalog, "writing", overtaken)
    assert Catalog(path, create=True).count() == 0


def test_a_newer_library_is_not_touched(folder: Path) -> None:
    """It says which program can open it."""
    db = sqlite3.connect(folder / "library.sqlite")
    db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(LibraryNotFound, match="newer Carrel"):
        Library(folder)


def test_a_folder_without_a_library_is_said_to_have_none(tmp_path: Path) -> None:
    """And nothing is made there."""
    with pytest.raises(LibraryNotFound, match="carrel init"):
        Library(tmp_path)
    with pytest.raises(LibraryNotFound, match="carrel init"):
        find_folder(tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_library_is_found_from_a_folder_within(folder: Path) -> None:
    """The nearest one above."""
    (folder / "a" / "b").mkdir(parents=True)
    assert find_folder(folder / "a" / "b") == folder
    (folder / "a" / "carrel.toml").touch()
    assert find_folder(folder / "a" / "b") == folder / "a"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(EXAMPLE_FILES))
def test_the_order_of_files_changes_nothing(library: Library, tmp_path_factory: pytest.TempPathFactory, order: list[Path]) -> None:
    """The example's papers, fields, keys and aliases are the same in whatever order its files come."""
    other = Library(tmp_path_factory.mktemp("order"), create=True)
    for path in order:
        other.add(path)

    def said(one: Library) -> list[tuple[object, ...]]:
        return [
            (p.key, p.aliases, p.title, p.abstract, p.authors, p.author_count, p.organization, p.date, p.venue, repr(p.identifiers), p.categories)
            for p in one.papers()
        ]

    assert said(other) == said(library)
    other.close()
