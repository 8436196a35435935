"""What a person decides: kept over every later import, taken back one command at a time, and never a loss."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store.errors import BadDecision, UnknownPaper
from store.library import Library
from store.paper import Paper, Record
from store.scope import Scope
from store.texts import stored_record

ONE = Record(title="Learning to Walk on Moving Bridges", abstract="A robot walks. It does not fall.", authors=("Ada Lovelace",), date="2026")
OTHER = Record(title="Swimming in Cold Rivers", abstract="Fish swim in rivers.", identifiers={"doi": "10.1234/fish"})


def take(library: Library, *records: Record, file: str = "f") -> None:
    """Puts records into the library as one import."""
    library.add_records(records, file, "test")


def paper(library: Library, key: str = "lovelace2026learning") -> Paper:
    return library.paper(key)


def said(library: Library) -> list[tuple[object, ...]]:
    """All that the papers say but for their numbers and times."""
    return [
        (p.key, p.aliases, p.title, p.abstract, p.authors, p.date, p.venue, repr(p.identifiers), p.status, p.tags, p.notes, len(p.sources))
        for p in library.papers()
    ]


# edit


def test_an_edit_outlasts_every_later_import(empty: Library) -> None:
    """Whatever richer record comes, the fields that a person set are as set, and found by search."""
    take(empty, ONE)
    empty.curation.edit("lovelace2026learning", [("title", "Walking Zebras"), ("date", "2025-11"), ("authors", "A B; C D"), ("doi", "10.1/z")])
    take(empty, replace(ONE, date="2026-03-25", venue="J. Bridges", abstract=ONE.abstract + " It was tried on twelve bridges."))
    (edited,) = empty.papers()
    assert (edited.title, edited.date, edited.authors, edited.identifiers["doi"]) == ("Walking Zebras", "2025-11", ("A B", "C D"), "10.1/z")
    assert (edited.venue, edited.author_count, len(edited.sources)) == ("J. Bridges", 2, 2)
    assert [hit.paper for hit in empty.search("zebras", by_keywords=True)] == [edited.number]
    assert not empty.search("moving", by_keywords=True)


def test_an_empty_value_empties_a_field(empty: Library) -> None:
    """What a source says wrongly can be taken away."""
    take(empty, replace(ONE, venue="Wrong", identifiers={"doi": "10.1234/wrong"}, details={"pages": "1-9"}))
    empty.curation.edit("lovelace2026learning", [("venue", ""), ("doi", ""), ("pages", "")])
    assert (paper(empty).venue, dict(paper(empty).identifiers), dict(paper(empty).details)) == ("", {}, {})


def test_a_field_that_is_none_is_refused_and_nothing_is_changed(empty: Library) -> None:
    """The error names the fields there are."""
    take(empty, ONE)
    with pytest.raises(BadDecision, match=r"no field 'titel'.*title"):
        empty.curation.edit("lovelace2026learning", [("venue", "X"), ("titel", "Y")])
    assert paper(empty).venue == ""
    with pytest.raises(UnknownPaper):
        empty.curation.edit("nobody", [("venue", "X")])


def test_an_old_anchor_still_resolves_after_an_edit(empty: Library) -> None:
    """The text that a source gave is not shown any more, and stays."""
    take(empty, ONE)
    old = next(text for text in empty.texts(paper(empty)) if text.role == "abstract")
    empty.curation.edit("lovelace2026learning", [("abstract", "A robot dances. It does not fall.")])
    assert empty.catalog.text(old.id).sentence(1) == "A robot walks."
    assert not empty.catalog.is_shown(old.id)
    assert [text.sentence(1) for text in empty.texts(paper(empty)) if text.role == "abstract"] == ["A robot dances."]


# key, tag, note, status


def test_a_renamed_paper_answers_to_both_keys_for_ever(empty: Library) -> None:
    """Also after an import that brings a key of its own."""
    take(empty, ONE)
    empty.curation.rename("lovelace2026learning", "Bridges:26")
    take(empty, replace(ONE, key="Lovelace26"))
    assert [empty.paper(key).key for key in ("Bridges:26", "lovelace2026learning", "Lovelace26")] == ["Bridges:26"] * 3


@pytest.mark.parametrize("key", ["", "a b", "a{b", "é", "a,b"])
def test_what_cannot_be_a_key_is_refused(empty: Library, key: str) -> None:
    """BibTeX could not hold it."""
    take(empty, ONE)
    with pytest.raises(BadDecision, match="citation key"):
        empty.curation.rename("lovelace2026learning", key)


def test_a_key_that_names_another_paper_is_refused(empty: Library) -> None:
    """An alias of another paper too."""
    take(empty, ONE, OTHER)
    empty.curation.rename("swimming", "fish")
    for taken in ("fish", "swimming"):
        with pytest.raises(BadDecision, match="another paper"):
            empty.curation.rename("lovelace2026learning", taken)


def test_tags_and_notes_stand_with_the_paper(empty: Library) -> None:
    """A tag filters; a note is shown and no evidence."""
    take(empty, ONE, OTHER)
    empty.curation.tag(["swimming", "lovelace2026learning"], "core")
    empty.curation.tag(["swimming"], "core", on=False)
    empty.curation.note("swimming", "ask Ada about zebras")
    assert [p.key for p in empty.papers(Scope(tags=("core",)))] == ["lovelace2026learning"]
    assert paper(empty, "swimming").notes == ("ask Ada about zebras",)
    assert not empty.search("zebras", by_keywords=True)


def test_excluded_papers_are_read_only_when_asked_for(empty: Library) -> None:
    """Tasks and searches take candidates and included papers; a status or a key asks for the others."""
    take(empty, ONE, OTHER)
    empty.curation.set_status(["swimming"], "excluded", "about fish")
    empty.curation.set_status(["lovelace2026learning"], "included")
    assert [p.key for p in empty.considered()] == ["lovelace2026learning"]
    assert [p.key for p in empty.papers()] == ["lovelace2026learning", "swimming"]
    assert not empty.search("fish rivers", by_keywords=True)
    assert len(empty.search("fish rivers", by_keywords=True, scope=Scope(statuses=("excluded",)))) == 1
    assert len(empty.search("fish rivers", by_keywords=True, scope=Scope(keys=("swimming",)))) == 1
    assert (paper(empty, "swimming").status, paper(empty, "swimming").status_reason) == ("excluded", "about fish")
    with pytest.raises(BadDecision, match="candidate, included or excluded"):
        empty.curation.set_status(["swimming"], "maybe")


def test_a_removed_paper_stays_out_when_its_file_comes_again(empty: Library) -> None:
    """And comes back as it was by undo."""
    take(empty, ONE, OTHER)
    before = said(empty)
    empty.curation.set_status(["swimming"], "removed")
    take(empty, ONE, OTHER)
    assert [p.key for p in empty.papers()] == ["lovelace2026learning"]
    assert empty.catalog.count() == 1
    assert not empty.search("fish rivers")
    empty.curation.undo()
    assert said(empty) == before


def test_the_flow_diagram_counts_what_was_done(empty: Library) -> None:
    """Records by file, duplicates, and papers by status with the reasons."""
    take(empty, ONE, OTHER, file="a.bib")
    take(empty, replace(ONE, venue="J. Bridges"), Record(title="A Third One Entirely"), file="b.ris")
    empty.curation.set_status(["swimming"], "excluded", "about fish")
    empty.catalog.note_lookup("arxiv", "walking", 120, 20, 1)
    flow = empty.catalog.flow()
    assert flow.by_source == {"a.bib": 2, "b.ris": 2}
    assert (flow.records, flow.duplicates, flow.papers, flow.candidates, flow.excluded, flow.included) == (4, 1, 3, 2, 1, 0)
    assert flow.excluded_for == {"about fish": 1}
    assert [lookup["query"] for lookup in flow.lookups] == ["walking"]


# merge, split


def test_merged_by_hand_two_papers_stay_one(empty: Library) -> None:
    """Though their DOIs contradict; both keys name the paper, and a later record of either joins it."""
    one = replace(ONE, identifiers={"doi": "10.1234/bridge"})
    take(empty, one, OTHER)
    empty.curation.merge("lovelace2026learning", "swimming")
    take(empty, replace(OTHER, venue="J. Fish"), replace(one, venue="J. Bridges"))
    (merged,) = empty.papers()
    assert len(merged.sources) == 4
    assert empty.paper("swimming").number == empty.paper("lovelace2026learning").number == merged.number
    assert "merged by hand" in empty.catalog.reasons(merged.number)
    with pytest.raises(BadDecision, match="one paper already"):
        empty.curation.merge("lovelace2026learning", "swimming")


def test_split_by_hand_a_paper_stays_two(empty: Library) -> None:
    """Though the identifier is equal; a later record that fits both joins neither and is listed."""
    ids = {"arxiv": "2603.00001"}
    take(empty, replace(ONE, identifiers=ids), replace(OTHER, identifiers=ids))
    assert len(empty.papers()) == 1
    empty.curation.split(empty.papers()[0].key)
    assert sorted(p.title for p in empty.papers()) == [ONE.title, OTHER.title]
    take(empty, Record(title="A Third Name for It", identifiers=ids))
    assert len(empty.papers()) == 3
    assert {reason for _, _, reason in empty.catalog.undecided()} == {"same arxiv"}


def test_a_split_can_name_the_sources_that_leave(empty: Library) -> None:
    """The others stay together, with the paper's number and key."""
    take(empty, ONE, replace(ONE, venue="J. Bridges"), replace(ONE, venue="J. Rivers", key="Rivers26"))
    (whole,) = empty.papers()
    empty.curation.split(whole.key, [3])
    assert {(p.key, len(p.sources)) for p in empty.papers()} == {("lovelace2026learning", 2), ("Rivers26", 1)}
    for wrong in ([7], [1, 2]):
        with pytest.raises(BadDecision, match="1 to 2"):
            empty.curation.split("lovelace2026learning", wrong)
    with pytest.raises(BadDecision, match="one source only"):
        empty.curation.split("Rivers26")


def test_of_a_merge_and_a_split_the_later_counts(empty: Library) -> None:
    """And undo goes back through both."""
    take(empty, ONE, OTHER)
    before = said(empty)
    empty.curation.merge("lovelace2026learning", "swimming")
    empty.curation.split("lovelace2026learning")
    assert [p.title for p in empty.papers()] == [row[2] for row in before]
    empty.curation.undo()
    assert len(empty.papers()) == 1
    empty.curation.undo()
    assert said(empty) == before


def test_anchors_follow_their_text_through_a_split(empty: Library) -> None:
    """The text that a source gave goes with it, sentence by sentence."""
    ids = {"arxiv": "2603.00001"}
    take(empty, replace(ONE, identifiers=ids), replace(ONE, identifiers=ids, title="A Later Version of It", abstract="A robot runs. It falls."))
    number = empty.papers()[0].number
    anchors = {row[0]: row[1] for row in empty.catalog._db.execute("SELECT id, characters FROM text")}
    empty.curation.split(empty.papers()[0].key)
    for text, characters in anchors.items():
        assert empty.catalog.text(text).characters == characters
    assert {empty.catalog.text(text).paper for text in anchors} == {p.number for p in empty.papers()}
    assert number in {p.number for p in empty.papers()}


# undo


def test_undo_takes_back_a_whole_file(empty: Library) -> None:
    """What other imports gave of the same works stays."""
    take(empty, ONE)
    before = said(empty)
    take(empty, replace(ONE, venue="J. Bridges", key="Bridge26"), OTHER)
    assert len(empty.papers()) == 2
    empty.curation.undo()
    assert [row[2:] for row in said(empty)] == [row[2:] for row in before]
    assert [hit.paper for hit in empty.search("fish", by_keywords=True)] == []
    take(empty, OTHER)
    assert len(empty.papers()) == 2


def test_undo_keeps_a_file_on_which_something_rests(empty: Library) -> None:
    """An answer's anchor must not lose its text."""
    take(empty, ONE)
    (text,) = [text for text in empty.texts(paper(empty)) if text.role == "abstract"]
    with empty.catalog.writing():
        empty.catalog.keep_finding("ask", "q", "q", 0, f'[{{"text": "x", "cites": [{{"anchor": {text.id}}}]}}]')
    with pytest.raises(BadDecision, match="rest on"):
        empty.curation.undo()
    assert len(empty.papers()) == 1


def test_there_may_be_nothing_to_undo(empty: Library) -> None:
    """Which is no error."""
    assert empty.curation.undo() == []


steps = st.lists(
    st.sampled_from(["add one", "add other", "add third", "edit", "tag", "note", "exclude", "remove", "rename", "merge", "split"]), max_size=7
)


@settings(max_examples=60, deadline=None)
@given(steps=steps)
def test_undoing_every_step_goes_back_to_nothing(tmp_path_factory: pytest.TempPathFactory, steps: list[str]) -> None:
    """After each undo the papers are as they were before the step, and the words found are those of the papers."""
    library = Library(tmp_path_factory.mktemp("undo"), create=True)
    records = {"one": ONE, "other": OTHER, "third": replace(ONE, venue="J. Bridges", identifiers={"doi": "10.1234/fish"})}
    history = []
    for number, step in enumerate(steps):
        before, decided = said(library), decisions(library)
        keys = [p.key for p in library.papers()]
        try:
            if step.startswith("add"):
                take(library, records[step.split()[1]])
            elif keys:
                curation = library.curation
                {
                    "edit": lambda: curation.edit(keys[0], [("title", f"Edited Title Number {number}")]),
                    "tag": lambda: curation.tag(keys[:1], f"t{number}"),
                    "note": lambda: curation.note(keys[0], "n"),
                    "exclude": lambda: curation.set_status(keys[:1], "excluded", "r"),
                    "remove": lambda: curation.set_status(keys[-1:], "removed"),
                    "rename": lambda: curation.rename(keys[0], f"k{number}"),
                    "merge": lambda: curation.merge(keys[0], keys[-1]),
                    "split": lambda: curation.split(keys[0]),
                }[step]()
        except BadDecision:
            continue
        if decisions(library) > decided:
            history.append(before)
        consistent(library)
    for before in reversed(history):
        library.curation.undo()
        assert [row[2:] for row in said(library)] == [row[2:] for row in before]
        consistent(library)
    library.close()


def decisions(library: Library) -> int:
    """How many decisions there are."""
    return int(library.catalog._db.execute("SELECT count(*) FROM decision").fetchone()[0])


def consistent(library: Library) -> None:
    """The words found are those of the papers as shown, every source has a paper, every paper a source and a key."""
    db = library.catalog._db
    db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    for number, key in db.execute("SELECT number, key FROM paper").fetchall():
        assert not key.startswith("?")
        record = stored_record(db, number)
        assert record is not None
        for word in (record.title.split() or [""])[:1]:
            assert number in library.catalog.holding(f'"{word}"')
        assert db.execute("SELECT count(*) FROM source WHERE paper = ?", (number,)).fetchone()[0] > 0
        assert db.execute("SELECT paper FROM alias WHERE key = ?", (key,)).fetchone()[0] == number
    assert db.execute("PRAGMA foreign_key_check").fetchall() == []


def test_a_second_process_sees_what_was_decided(folder: Path) -> None:
    """Decisions are in the library's file."""
    one, other = Library(folder), Library(folder)
    key = one.papers()[0].key
    one.curation.tag([key], "core")
    assert [p.key for p in other.papers(Scope(tags=("core",)))] == [key]
