"""The files that a person owns: read with the line at fault, changed in place with their comments, old versions kept."""

from pathlib import Path

import pytest

from assistant.document import Column
from assistant.errors import OutputError, SettingsError
from assistant.files import read_columns, read_tree, tree_toml, with_columns, write_kept, write_whole
from assistant.plan import read_plan

COLUMNS = """# mine
[[column]]
id = "method"   # keep this
name = "Method"
question = "What is proposed?"

[[column]]
name = "Main score"
question = "Which score?"
type = "number"
unit = "%"
"""


def test_columns_are_read_with_ids_made_from_names(tmp_path: Path) -> None:
    """A column without an id gets one from its name."""
    (tmp_path / "t.toml").write_text(COLUMNS, "utf-8")
    assert [(one.id, one.type, one.unit) for one in read_columns(tmp_path / "t.toml")] == [("method", "text", ""), ("main-score", "number", "%")]


def test_a_column_is_put_in_and_comments_stay() -> None:
    """A new column comes last, one of a known id takes its place, and what the person wrote beside them stays."""
    changed = with_columns(COLUMNS, [Column("main-score", "Main score", "Which one?"), Column("data", "Data", "Which data?")])
    assert changed.startswith("# mine")
    assert "# keep this" in changed
    assert changed.count("[[column]]") == 3
    assert "Which score?" not in changed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[column]]\nname = 'x'\n", "column 1: question is missing"),
        ("[[column]]\nname = 'x'\nquestion = 'y?'\ntype = 'poem'\n", "none of text, category"),
        ("column = 3\n", r"\[\[column\]\]"),
        ("[[column\n", "not valid TOML"),
        ("", "no \\[\\[column"),
    ],
)
def test_a_bad_file_of_columns_says_where(tmp_path: Path, text: str, said: str) -> None:
    """File, column and what is wrong with it."""
    (tmp_path / "t.toml").write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=said):
        read_columns(tmp_path / "t.toml")


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ("[[node]]\nid='a'\nlabel='A'\nparent='z'\n", "which is no node's id"),
        ("[[node]]\nid='a'\nlabel='A'\nparent='b'\n[[node]]\nid='b'\nlabel='B'\nparent='a'\n", "its own ancestor"),
        ("[[node]]\nid='a'\nlabel='A'\n[[node]]\nid='a'\nlabel='B'\n", "same id"),
        ("[[node]]\nid='a'\nlabel='A'\n[[filed]]\nkey='k'\nnode='z'\n", "which is no node's id"),
    ],
)
def test_a_tree_that_does_not_hold_together_is_refused(tmp_path: Path, nodes: str, said: str) -> None:
    """A parent that is not there, a circle, twins, a paper filed nowhere."""
    (tmp_path / "t.toml").write_text(nodes, "utf-8")
    with pytest.raises(SettingsError, match=said):
        read_tree(tmp_path / "t.toml")


def test_a_tree_is_read_back_as_written(tmp_path: Path) -> None:
    """Nodes, facet and papers filed by hand."""
    (tmp_path / "a.toml").write_text("facet='f'\n[[node]]\nlabel='A B'\ndefinition='d'\nlocked=true\n[[filed]]\nkey='k'\nnode='a-b'\n", "utf-8")
    read = read_tree(tmp_path / "a.toml")
    (tmp_path / "b.toml").write_text(tree_toml(*read), "utf-8")
    assert read_tree(tmp_path / "b.toml") == read


def test_old_versions_are_kept(tmp_path: Path) -> None:
    """What stood there before is in .versions; at most twenty."""
    for number in range(25):
        write_kept(tmp_path / "x.toml", f"a = {number}\n")
    assert len(list((tmp_path / ".versions").iterdir())) == 20


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """And the file that stood there is as it was."""
    (tmp_path / "file").write_text("whole", "utf-8")
    with pytest.raises(OutputError, match="file"):
        write_whole(tmp_path / "file" / "x.md", "new")
    assert (tmp_path / "file").read_text("utf-8") == "whole"


@pytest.mark.parametrize(("line", "said"), [("- [introduces; 20 words] x {nokey}", "d.md:2"), ("just prose", "no planned sentence")])
def test_a_plan_with_a_fault_says_which_line(line: str, said: str) -> None:
    """The reference that cannot be read, or that nothing is planned."""
    with pytest.raises(SettingsError, match=said):
        read_plan(f"## One\n{line}\n", "d.md")


def test_a_plan_written_by_hand_may_be_short() -> None:
    """Words, references and sentence numbers may be left out; other lines are the person's notes."""
    ((paragraph,), _, _) = read_plan("# Plan\n\nmy thoughts\n## One\n- [contrasts] x against y {@a2026x; @b 2, 3}\n- [positions] us\n", "d.md")
    assert [(one.job, one.words, [(ref.key, ref.sentences) for ref in one.rests_on]) for one in paragraph.sentences] == [
        ("contrasts", 25, [("a2026x", ()), ("b", (2, 3))]),
        ("positions", 25, []),
    ]
