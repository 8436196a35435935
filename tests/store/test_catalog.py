"""Records in, papers out: one work is one paper, nothing is lost, a key works for ever, an anchor never moves."""

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import store.database
from store.duplicates import same_work
from store.errors import LibraryBusy, UnknownPaper
from store.intake import Intake
from store.keys import made_up_key
from store.library import Library
from store.merging import merged
from store.paper import Record

ONE = Record(title="Learning to Walk on Moving Bridges", abstract="A robot walks. It does not fall.", authors=("Ada Lovelace",), date="2026")
words = st.text(alphabet="abc de", min_size=0, max_size=12)
records = st.builds(
    Record,
    title=st.sampled_from(["", "Learning to Walk", "Learning to Walk!", "Learning to Swim in Rivers", "On Flying"]) | words,
    abstract=st.sampled_from(["", "A robot walks. It falls.", "Fish swim. " * 12]),
    authors=st.lists(st.sampled_from(["Ada Lovelace", "Alan Turing"]), max_size=2).map(tuple),
    date=st.sampled_from(["", "2024", "2024-05", "2025-01-02"]),
    identifiers=st.dictionaries(st.sampled_from(["arxiv", "doi"]), st.sampled_from(["2603.00001", "2603.00002", "2603.00001v2"]), max_size=2),
    keywords=st.lists(st.sampled_from(["x", "y"]), max_size=1).map(tuple),
)


def take(library: Library, *given: Record) -> list[str]:
    with library.catalog.writing():
        return [library.catalog.take(record, file="f", format="test", kind="abstract").became for record in given]


def dump(library: Library) -> list[tuple[object, ...]]:
    return [tuple(row) for table in ("paper", "alias", "source", "text", "passage") for row in library.catalog._db.execute(f"SELECT * FROM {table}")]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(given_records=st.lists(records, min_size=1, max_size=6))
def test_taking_the_same_again_changes_nothing(given_records: list[Record], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Whatever the records, a second import finds every one unchanged; and every record's text is in some paper's sources."""
    folder = tmp_path_factory.mktemp("any")
    library = Library(folder, create=True)
    take(library, *given_records)
    before = dump(library)
    assert set(take(library, *given_records)) == {"unchanged"}
    assert dump(library) == before
    assert sum(len(paper.sources) for paper in library.papers()) == len({repr(record) for record in given_records})
    library.close()


@given(st.permutations([ONE, replace(ONE, abstract="Longer. " * 9, date="2026-03"), replace(ONE, authors=(), identifiers={"doi": "10.1/x"})]))
def test_a_merged_record_is_the_same_in_any_order(order: list[Record]) -> None:
    """The richest of each field, whichever source came first."""
    record, _ = merged([(record, "abstract") for record in order])
    assert (record.abstract, record.date, record.authors, dict(record.identifiers)) == (
        "Longer. " * 9, "2026-03", ("Ada Lovelace",), {"doi": "10.1/x"}
    )  # fmt: skip


def test_the_authors_abstract_comes_before_a_note() -> None:
    """However long a note is, the abstract is shown where a source gave it."""
    record, kind = merged([(replace(ONE, abstract="A note of ours. " * 50), "note"), (ONE, "abstract")])
    assert (record.abstract, kind) == (ONE.abstract, "abstract")


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (replace(ONE, title="Learning to walk on moving bridges."), "same title"),
        (Record(title="Other", identifiers={"arxiv": "2603.1"}), ""),
        (replace(ONE, title="Learning to Walk on Moving Bridgess", abstract=ONE.abstract + "!"), "near-equal title and abstract"),
        (replace(ONE, title="Learning to Walk on Moving Bridgess", abstract="Something else is said here."), ""),
    ],
)
def test_when_two_records_are_one_work(other: Record, reason: str) -> None:
    """Equal titles however they are printed, and near-equal ones only with the same abstract."""
    assert same_work(ONE, other) == reason


def test_a_version_is_the_same_preprint_and_another_id_another_work() -> None:
    """arXiv v2 is v1; equal titles under two DOIs are two works."""
    one, two = replace(ONE, identifiers={"arxiv": "2603.00001"}), replace(ONE, title="Renamed", identifiers={"arxiv": "2603.00001v2"})
    assert same_work(one, two) == "same arxiv"
    assert not same_work(replace(ONE, identifiers={"doi": "10.1/a"}), replace(ONE, identifiers={"doi": "10.1/b"}))


@pytest.mark.parametrize(
    ("record", "key"),
    [
        (Record(title="TIPS: Turn-Level Rewards", authors=("Yutao Xie", "B C"), date="2026-03-25"), "xie2026tips"),
        (Record(title="LlamaRL: A Distributed Framework"), "llamarl"),
        (Record(title="A Deep Dive", date="2024"), "deep2024"),
        (Record(abstract="x", identifiers={"arxiv": "2603.13224"}), "arxiv-2603.13224"),
        (Record(title="Über Äpfel", authors=("José van der Ñandú",), date="1999"), "nandu1999uber"),
        (Record(abstract="nothing else"), "untitled"),
    ],
)
def test_made_up_keys(record: Record, key: str) -> None:
    """Family name, year and first telling word; what is missing is left out."""
    assert made_up_key(record) == key


def test_an_imported_key_replaces_one_made_up_which_goes_on_working(empty: Library) -> None:
    """And a clash of made-up keys gets a letter."""
    take(empty, ONE, replace(ONE, key="Lovelace26", identifiers={"doi": "10.1/x"}), replace(ONE, title="Learning something else entirely"))
    assert [paper.key for paper in empty.papers()] == ["Lovelace26", "lovelace2026learninga"]
    assert empty.paper("lovelace2026learning").key == "Lovelace26"
    with pytest.raises(UnknownPaper, match="nobody2026"):
        empty.paper("nobody2026")


def test_a_key_that_a_draft_uses_stays(empty: Library) -> None:
    """A plan that cites a made-up key keeps it, and the imported one becomes an alias."""
    take(empty, ONE)
    (empty.folder / "drafts").mkdir()
    (empty.folder / "drafts" / "x.plan.md").write_text("- [introduces; 9 words] x {@lovelace2026learning 1}", "utf-8")
    empty.add_text(b"@misc{Mine, title={Learning to Walk on Moving Bridges}, doi={10.1/x}}", "x.bib")
    assert empty.paper("Mine").key == "lovelace2026learning"


def test_an_anchor_still_resolves_when_a_richer_text_comes(empty: Library) -> None:
    """The old text stays, with its sentences, and the new one is shown."""
    take(empty, ONE)
    (paper,) = empty.papers()
    old = next(text for text in empty.texts(paper) if text.role == "abstract")
    take(empty, replace(ONE, abstract=f"{ONE.abstract} And it swims."))
    assert empty.catalog.text(old.id).sentence(2) == "It does not fall."
    assert [len(text.sentences) for text in empty.texts(paper) if text.role == "abstract"] == [3]


def test_a_failure_in_the_middle_leaves_nothing(empty: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file's records are stored all or none."""
    monkeypatch.setattr(Intake, "_new_papers", lambda *_: (_ for _ in ()).throw(RuntimeError("power cut")))
    with pytest.raises(RuntimeError):
        take(empty, ONE)
    assert empty.catalog.count() == 0


def test_a_busy_library_names_who_writes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another writer is named, and nothing is lost."""
    monkeypatch.setattr(store.database, "BUSY_MS", 50)
    one, other = Library(folder), Library(folder)
    with one.catalog.writing(), pytest.raises(LibraryBusy, match=r"process \d+ is writing"), other.catalog.writing():
        pass
    with other.catalog.writing():
        other.catalog.note("after", "all")
    assert one.catalog.meta("after") == "all"


def test_every_connection_is_durable(library: Library) -> None:
    """Full synchronisation, and no write-ahead log below the SQLite that mends it."""
    db = library.catalog._db
    assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
    journal = db.execute("PRAGMA journal_mode").fetchone()[0]
    assert (journal == "wal") == (sqlite3.sqlite_version_info >= (3, 51, 3))
