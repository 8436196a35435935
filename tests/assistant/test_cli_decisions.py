"""The commands of decisions and look-ups, as a person types them."""

import json
from pathlib import Path

import pytest

from store.library import Library
from store.texts import Text
from tests.conftest import Carrel
from tests.store.test_lookups import ITEM, PAPER, WORK, Answer, Server, ok, serving

__all__ = ["serving"]
KEY = "qian2025toolrl"


def papers(carrel: Carrel, folder: Path, *words: str) -> list[dict[str, object]]:
    """What `papers --json` says."""
    found: list[dict[str, object]] = json.loads(carrel("papers", "--json", *words, at=folder).out)
    return found


def of(carrel: Carrel, folder: Path, key: str = KEY) -> dict[str, object]:
    (found,) = papers(carrel, folder, "--key", key)
    return found


def test_what_a_person_sets_is_shown_and_taken_back(carrel: Carrel, folder: Path) -> None:
    """edit, tag, note, status and rename, then undo of each."""
    for words in (
        ("edit", KEY, "venue=ICML 2025", "year=2025-06"), ("tag", "core", KEY), ("note", KEY, "read again"),
        ("status", "excluded", KEY, "--reason", "about tools"), ("rename", KEY, "ToolRL"),
    ):  # fmt: skip
        assert carrel(*words, at=folder).code == 0
    one = of(carrel, folder, "ToolRL")
    assert (one["venue"], one["date"], one["tags"], one["notes"]) == ("ICML 2025", "2025-06", ["core"], ["read again"])
    assert (one["status"], one["status_reason"], one["aliases"]) == ("excluded", "about tools", [KEY])
    shown = carrel("show", KEY, at=folder).out
    assert "excluded: about tools" in shown
    assert "read again" in shown
    for _ in range(5):
        assert "taken back" in carrel("undo", at=folder).err
    one = of(carrel, folder)
    assert (one["key"], one["venue"], one["tags"], one["status"]) == (KEY, "", [], "candidate")


def test_excluded_papers_are_left_out_of_searches_and_tables(carrel: Carrel, folder: Path) -> None:
    """Until they are asked for."""
    found = [hit["key"] for hit in json.loads(carrel("search", "ToolRL tool use rewards", "--json", "--keywords", at=folder).out)["hits"]]
    assert KEY in found
    assert carrel("status", "excluded", KEY, at=folder).code == 0
    found = [hit["key"] for hit in json.loads(carrel("search", "ToolRL tool use rewards", "--json", "--keywords", at=folder).out)["hits"]]
    assert KEY not in found
    assert [one["key"] for one in papers(carrel, folder, "--status", "excluded")] == [KEY]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("edit", KEY, "venue"), "FIELD=VALUE"),
        (("edit", KEY, "titel=x"), "no field 'titel'"),
        (("edit", "nobody", "title=x"), "no paper has the key"),
        (("rename", KEY, "a b"), "citation key"),
        (("status", "maybe", KEY), "maybe"),
        (("merge", KEY, KEY), "one paper already"),
        (("split", KEY), "one source only"),
        (("papers", "--since", "garbage"), "2026-03-25"),
        (("papers", "--node", "nowhere/x"), "TREE/NODE"),
        (("search",), "query"),
        (("find",), "one of QUERY"),
        (("add", "--column", "title", "x.csv"), "FIELD=NAME"),
    ],
)
def test_what_cannot_be_is_a_usage_error(carrel: Carrel, folder: Path, words: tuple[str, ...], said: str) -> None:
    """Exit 2 and what to do, and nothing is changed."""
    before = papers(carrel, folder)
    ran = carrel(*words, at=folder)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert papers(carrel, folder) == before


def test_a_removed_paper_comes_back_by_undo(carrel: Carrel, folder: Path) -> None:
    """And its key goes on being its own."""
    assert carrel("remove", KEY, at=folder).code == 0
    assert len(papers(carrel, folder)) == 35
    assert carrel("undo", at=folder).code == 0
    assert of(carrel, folder)["status"] == "candidate"


def test_two_papers_are_merged_and_parted_again(carrel: Carrel, folder: Path) -> None:
    """By their keys, which both go on working."""
    keys = [str(one["key"]) for one in papers(carrel, folder)][:2]
    assert carrel("merge", *keys, at=folder).code == 0
    assert len(papers(carrel, folder)) == 35
    assert "source 2" in carrel("show", keys[0], at=folder).out
    assert carrel("split", keys[0], at=folder).code == 0
    assert {str(one["key"]) for one in papers(carrel, folder)} >= set(keys)


def test_the_flow_of_a_review_is_counted(carrel: Carrel, folder: Path) -> None:
    """Records by file, duplicates, and what was decided."""
    carrel("status", "excluded", KEY, "--reason", "about tools", at=folder)
    counts = json.loads(carrel("flow", "--json", at=folder).out)
    assert (counts["records"], counts["duplicates"], counts["papers"], counts["excluded"], counts["excluded_for"]) == (36, 0, 36, 1, {"about tools": 1})
    assert "about tools" in carrel("flow", at=folder).out


def test_similar_papers_and_a_text_as_query(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """`similar` leaves the paper itself out; a file with an abstract finds its paper first."""
    hits = json.loads(carrel("similar", KEY, "--json", "-n", "5", at=folder).out)["hits"]
    assert len(hits) == 5
    assert KEY not in [hit["key"] for hit in hits]
    (tmp_path / "abstract.txt").write_text(str(of(carrel, folder)["abstract"]), "utf-8")
    hits = json.loads(carrel("search", "--file", tmp_path / "abstract.txt", "--json", at=folder).out)["hits"]
    assert hits[0]["key"] == KEY


def test_a_column_can_be_named(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """A table whose header says something else."""
    (tmp_path / "mine.csv").write_text("Was,Wer,title\nBridges That Walk at Night,Ada Lovelace,x\n", "utf-8")
    report = json.loads(carrel("add", tmp_path / "mine.csv", "--column", "title=Was", "--column", "authors=Wer", "--json", at=folder).out)
    assert report["files"][0]["new"] == 1
    assert [one["authors"] for one in papers(carrel, folder) if one["title"] == "Bridges That Walk at Night"] == [["Ada Lovelace"]]


# look-ups


def answering(path: str, parameters: dict[str, str], body: bytes) -> Answer:
    """All three services at one address."""
    if path.startswith("/works") and "per-page" in parameters:
        return ok({"meta": {"count": 9}, "results": [WORK]})
    if path.startswith("/works"):
        return ok({"message": {"total-results": 9, "items": [ITEM]}})
    return ok({"total": 9, "data": [PAPER]})


@pytest.mark.parametrize("name", ["openalex", "crossref", "semanticscholar"])
def test_what_is_found_is_reviewed_before_it_is_added(
    carrel: Carrel, folder: Path, serving: object, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing is taken unless told; what was asked and found is kept; a second time it is here already."""
    server = Server(answering)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv(f"CARREL_LOOKUPS_{name.upper()}", server.base)
    looked = carrel("find", "walking bridges", "--from", name, at=folder)
    assert (looked.code, "1 of 9 found" in looked.out, "--take" in looked.err) == (0, True, True)
    assert len(papers(carrel, folder)) == 36
    assert carrel("find", "walking bridges", "--from", name, "--take", "1", at=folder).code == 0
    assert len(papers(carrel, folder)) == 37
    found = json.loads(carrel("find", "walking bridges", "--from", name, "--json", at=folder).out)["papers"]
    assert found[0]["here"] is not None
    counts = json.loads(carrel("flow", "--json", at=folder).out)
    assert [(one["query"], one["found"], one["taken"]) for one in counts["lookups"]][:2] == [("walking bridges", 9, 0), ("walking bridges", 9, 1)]
    server.close()


def test_enriching_fills_what_is_missing_and_notes_a_retraction(carrel: Carrel, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the identifier; what is there stays."""
    server = Server(answering)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CARREL_LOOKUPS_OPENALEX", server.base)
    (tmp_path / "ids.txt").write_text("doi:10.1234/walk\n", "utf-8")
    assert carrel("add", tmp_path / "ids.txt", at=folder).code == 0
    said = json.loads(carrel("enrich", "--json", "doi-10.1234-walk", at=folder).out)
    assert (said["asked"], said["known"]) == (1, 1)
    one = of(carrel, folder, "doi-10.1234-walk")
    assert (one["title"], one["authors"], one["date"], one["notices"]) == ("Bridges that walk", ["Ada Lovelace"], "2024-05-01", ["retracted"])
    server.close()


def test_identifiers_are_added_though_no_service_can_be_reached(carrel: Carrel, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As papers of their identifier alone, and with what to do later."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CARREL_LOOKUPS_OPENALEX", "http://127.0.0.1:9")
    monkeypatch.setattr("store.lookups.web.TRIES", 1)
    ran = carrel("add", "doi:10.1234/unheard-of", at=folder)
    assert "cannot be reached" in ran.err
    assert "enrich" in ran.err
    assert len(papers(carrel, folder)) == 37


def test_what_rests_on_a_changed_text_is_carried_over_or_marked(library: Library) -> None:
    """A sentence that the new text still has keeps its words under its new number; one that is gone is marked."""
    from assistant.document import SOURCE_CHANGED, Cite, Document, Section, Statement
    from assistant.tasks.desk import with_sources

    def text() -> Text:
        return next(text for text in library.texts(library.paper(KEY)) if text.role == "abstract")

    old = text()
    said = [Statement(f"s{n}", (Cite(KEY, "abstract", (n,), old.sentence(n), old.id),)) for n in (1, 2)]
    document = Document("ask", "q", sections=(Section("", tuple(said)),))
    library.curation.edit(KEY, [("abstract", f"Something new stands here. {old.sentence(2)}")])
    gone, moved = with_sources(library, document).statements
    assert (gone.marks, gone.cites[0].anchor) == ((SOURCE_CHANGED,), old.id)
    assert (moved.marks, moved.cites[0].anchor, moved.cites[0].sentences, moved.cites[0].quote) == ((), text().id, (2,), old.sentence(2))
    assert [problem.rule for problem in with_sources(library, document).report.marked] == [SOURCE_CHANGED]
