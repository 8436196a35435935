"""A table or a tree that a person edited in a spreadsheet is read back: changes are theirs, and nothing else moves."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import openpyxl
import pytest

from assistant.document import Assignment, Cell, Cite, Column, Document, Node, Row, Unassigned
from assistant.errors import UsageError
from assistant.export import WRITERS
from assistant.export.reading import changed_cells, moved_papers
from tests.assistant.test_export import HOSTILE, documents, source
from tests.conftest import Carrel

Grid = list[list[str]]
CITE = Cite("a1", "abstract", (1,), "It takes 5 hours.", 1)
COLUMNS = (
    Column("m", "Method", "What?"), Column("h", "Time", "How long?", "number", "hours"), Column("o", "Open", "Is it?", "yes/no"),
    Column("l", "Data", "Which?", "list"),
)  # fmt: skip
TABLE = Document(
    "table", "T", columns=COLUMNS, sources={key: source(key, f"Title {key}") for key in ("a1", "b2")},
    rows=(
        Row("a1", {"m": Cell("=SUM(1)", "=SUM(1)", "stated", cites=(CITE,)), "h": Cell(5.0, "5", "stated"), "o": Cell(True, "yes", "stated"), "l": Cell(("x", "y"), "x; y", "stated")}),
        Row("b2", {"m": Cell(None, "", "not stated"), "h": Cell(None, "", "full text needed"), "o": Cell(None, "", "absent")}),
    ),
)  # fmt: skip
TREE = Document(
    "taxonomy", "T", nodes=(Node("a", "Reward", "d"), Node("b", "Learned", "d", "a"), Node("c", "Given, =by rule", "d", "a")),
    assignments=(Assignment("a1", "b"), Assignment("a1", "c", 2), Assignment("b2", "c")), unassigned=(Unassigned("c3", "none fits"),),
)  # fmt: skip


def edited(document: Document, folder: Path, kind: str, change: Callable[[Grid], object]) -> Path:
    """The export of a document after a change in its cells, saved as a spreadsheet would."""
    path = folder / f"t.{kind}"
    made = WRITERS[kind](document)
    if isinstance(made, bytes):
        book = openpyxl.load_workbook(io.BytesIO(made))
        sheet = book.worksheets[0]
        rows = [["" if cell.value is None else str(cell.value) for cell in row] for row in sheet.iter_rows()]
        change(rows)
        sheet.delete_rows(1, 99)
        for number, row in enumerate(rows, 1):
            for at, text in enumerate(row, 1):
                sheet.cell(number, at).value = text or None
                if text:
                    sheet.cell(number, at).data_type = "s"
        book.save(path)
    else:
        rows = list(csv.reader(io.StringIO(made.removeprefix("\ufeff"))))
        change(rows)
        out = io.StringIO()
        csv.writer(out, delimiter=";").writerows(rows)
        path.write_text(out.getvalue(), "utf-8")
    return path


def put(rows: Grid, key: str, column: str, text: str) -> None:
    (row,) = (row for row in rows if row[0] == key)
    row[rows[0].index(column)] = text


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_what_nobody_changed_is_no_change(kind: str, tmp_path: Path) -> None:
    """Formula signs, hostile titles, numbers that a spreadsheet writes otherwise: the export read back changes nothing."""
    assert changed_cells(edited(TABLE, tmp_path, kind, list), TABLE, {}) == changed_cells(edited(TABLE, tmp_path, kind, lambda rows: rows.reverse() or rows.insert(0, rows.pop())), TABLE, {})
    for text in (*HOSTILE, "word " * 8_000):
        table, tree = (one for one in documents(text) if one.task in {"table", "taxonomy"})
        found = changed_cells(edited(table, tmp_path, kind, list), table, {})
        assert (found.cells, found.odd) == ({}, ()), text
        moves = moved_papers(edited(tree, tmp_path, kind, list), tree, {})
        assert (moves.nodes, moves.odd) == ({}, ()), text


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_changed_cells_are_the_persons(kind: str, tmp_path: Path) -> None:
    """Each of the column's type, without the sentences that no longer vouch for it; the three kinds of no have their words."""
    time = "Time" if kind == "csv" else "Time (hours)"

    def change(rows: Grid) -> None:
        for key, column, text in (("a1", "Method", "+1 idea"), ("a1", time, "1,200.5 hours"), ("a1", "Open", "No"), ("b2", "Data", "p; q"), ("b2", "Method", "none"), ("b2", time, "")):
            put(rows, key, column, text)

    found = changed_cells(edited(TABLE, tmp_path, kind, change), TABLE, {})
    assert found.odd == ()
    assert {place: (cell.value, cell.status) for place, cell in found.cells.items()} == {
        ("a1", "m"): ("+1 idea", "stated"), ("a1", "h"): (1200.5, "stated"), ("a1", "o"): (False, "stated"), ("b2", "l"): (("p", "q"), "stated"),
        ("b2", "m"): (None, "absent"), ("b2", "h"): (None, "not stated"),
    }  # fmt: skip
    assert all(cell.by == "person" and not cell.cites for cell in found.cells.values())


def test_what_cannot_be_taken_is_named_and_nothing_else_is_lost(tmp_path: Path) -> None:
    """An unknown key, an unknown column, a word where a number belongs; an older key of a paper is known."""

    def change(rows: Grid) -> None:
        put(rows, "a1", "Time", "long")
        put(rows, "b2", "Method", "kept")
        rows[0].append("Mood")
        rows[-1][0] = "old-b"
        rows.append(["zz9", "T"])

    found = changed_cells(edited(TABLE, tmp_path, "csv", change), TABLE, {"old-b": "b2"})
    assert {place: cell.value for place, cell in found.cells.items()} == {("b2", "m"): "kept"}
    assert [word for word in ("Mood", "'long' is no number of hours", "zz9") if not any(word in line for line in found.odd)] == []
    assert len(found.odd) == 3


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_papers_that_were_moved_go_to_the_node_of_their_row(kind: str, tmp_path: Path) -> None:
    """By the labels from the first level down; a node that is not there is named, and no other place changes."""

    def change(rows: Grid) -> None:
        at = rows[0].index("first level")
        rows[1][at : at + 2] = ["reward", "Given, =by rule"]
        rows[3][at : at + 2] = ["Reward", "Nowhere"]
        rows[4][at : at + 2] = ["Reward", ""]

    found = moved_papers(edited(TREE, tmp_path, kind, change), TREE, {})
    assert found.nodes == {"a1": "c", "c3": "a"}
    (said,) = found.odd
    assert "b2" in said
    assert "'Reward / Nowhere'" in said


def test_a_file_that_is_no_export_is_refused(tmp_path: Path) -> None:
    """Without a column of keys nothing is read."""
    (tmp_path / "t.csv").write_text("name,value\na,b\n", "utf-8")
    with pytest.raises(UsageError, match="no column 'key'"):
        changed_cells(tmp_path / "t.csv", TABLE, {})


def test_the_commands_keep_what_was_edited(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """`--from` fills a cell of the table, and files a paper in the tree's own file, whose comments stay."""
    key = "xie2026tips"
    (tmp_path / "t.csv").write_text(f"key,Method\n{key},mine\nnobody,x\n", "utf-8")
    ran = carrel("table", "t", "--column", "Method: what?", "--from", tmp_path / "t.csv", "--json", at=folder)
    assert ran.code == 1
    assert '"by": "person"' in ran.out
    assert "nobody" in ran.out
    assert carrel("table", "t", "--show").out.count("mine") == 1
    tree = folder / "taxonomies" / "s.toml"
    tree.parent.mkdir()
    tree.write_text('# my tree\nfacet = "f"\n[[node]]\nid = "n"\nlabel = "Node"\ndefinition = "d"\n', "utf-8")
    (tmp_path / "s.csv").write_text(f"key,first level\n{key},Node\n", "utf-8")
    ran = carrel("taxonomy", "s", "--from", tmp_path / "s.csv")
    assert ran.code == 0, ran.err
    assert tree.read_text("utf-8").startswith("# my tree")
    assert f'[[filed]]\nkey = "{key}"\nnode = "n"' in tree.read_text("utf-8")
    assert (tree.parent / ".versions").exists()
