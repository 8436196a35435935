"""A table or a tree that a person edited in a spreadsheet is read back: changes are theirs, and nothing else moves."""

import csv
import io
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import openpyxl
import pytest

from assistant.document import Assignment, Cell, Cite, Column, Document, Group, Measure, Node, Row, Unassigned
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
    at = next(at for at, name in enumerate(rows[0]) if name in {column, f"{column} (hours)"})
    row[at] = text


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_what_nobody_changed_is_no_change(kind: str, tmp_path: Path) -> None:
    """Formula signs, hostile titles, numbers that a spreadsheet writes otherwise: the export read back changes nothing."""
    assert changed_cells(edited(TABLE, tmp_path, kind, list), TABLE, {}) == changed_cells(edited(TABLE, tmp_path, kind, lambda rows: rows.reverse() or rows.insert(0, rows.pop())), TABLE, {})
    for text in (*HOSTILE, "word " * 8_000):
        table, tree = (one for one in documents(text) if one.task in {"table", "taxonomy"})
        found = changed_cells(edited(table, tmp_path, kind, list), table, {})
        assert (found.cells, found.odd) == ({}, ()), text
        moves = moved_papers(edited(tree, tmp_path, kind, list), tree, {})
        assert (moves.nodes, moves.odd) == ((), ()), text


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
    assert dict(found.nodes) == {"a1": "c", "c3": "a"}
    (said,) = found.odd
    assert "b2" in said
    assert "'Reward / Nowhere'" in said


def newer(document: Document, key: str, column: str, text: str) -> Document:
    """The table after a cell became another one, with nobody's file."""
    rows = tuple(replace(row, cells=row.cells | {column: Cell(text, text, "stated")}) if row.key == key else row for row in document.rows)
    return replace(document, rows=rows)


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_older_export_undoes_nothing_that_changed_since(kind: str, tmp_path: Path) -> None:
    """A cell that was left stays as it is now, one that was changed here and there is named, and the others are taken."""

    def change(rows: Grid) -> None:
        put(rows, "b2", "Method", "mine")
        put(rows, "a1", "Data", "z")
        rows.sort(key=lambda row: row[0] != "key" and row[0] != "b2")  # sorted otherwise, as a person would

    path = edited(TABLE, tmp_path, kind, change)
    now = newer(newer(TABLE, "a1", "m", "since"), "b2", "m", "theirs")
    found = changed_cells(path, now, {})
    assert {place: cell.value for place, cell in found.cells.items()} == {("a1", "l"): ("z",)}
    assert found.newer == 1
    (said,) = found.odd
    assert "changed here to 'mine', and since the export to 'theirs'" in said
    assert changed_cells(path, newer(TABLE, "b2", "m", "mine"), {}).odd == ()


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_number_with_its_unit_is_no_change(kind: str, tmp_path: Path) -> None:
    """A workbook holds 5 where the table shows 5 hours; read back that is the same."""
    cell = replace(TABLE.rows[0].cells["h"], number=Measure(5.0, "hours", "", "time", 18_000.0))
    table = replace(TABLE, rows=(replace(TABLE.rows[0], cells={"h": cell}),))
    assert changed_cells(edited(table, tmp_path, kind, list), table, {}) == changed_cells(edited(TABLE, tmp_path, kind, list), TABLE, {})


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
@pytest.mark.parametrize("transposed", [False, True])
def test_grouped_and_turned_tables_are_read_back(kind: str, transposed: bool, tmp_path: Path) -> None:
    """A paper that stands in two groups is changed in either row; two rows that say different things are named."""
    document = replace(TABLE, groups=(Group("x", ("a1", "b2")), Group("y", ("b2",))), transposed=transposed)
    assert changed_cells(edited(document, tmp_path, kind, list), TABLE, {}) == changed_cells(edited(TABLE, tmp_path, kind, list), TABLE, {})

    def change(rows: Grid, *texts: str) -> None:
        lines = [list(line) for line in zip(*rows, strict=True)] if transposed else rows
        for line, text in zip([line for line in lines if line[1] == "b2"], texts, strict=True):
            line[lines[0].index("Method")] = text
        rows[:] = [list(line) for line in zip(*lines, strict=True)] if transposed else lines

    found = changed_cells(edited(document, tmp_path, kind, lambda rows: change(rows, "–", "mine")), TABLE, {})
    assert ({place: cell.value for place, cell in found.cells.items()}, found.odd) == ({("b2", "m"): "mine"}, ())
    found = changed_cells(edited(document, tmp_path, kind, lambda rows: change(rows, "mine", "yours")), TABLE, {})
    assert {place: cell.value for place, cell in found.cells.items()} == {("b2", "m"): "mine"}
    assert "'yours', but another" in found.odd[0]


DEEP = Document(
    "taxonomy", "T",
    nodes=(
        Node("a", "Signal", "d", facet="signal"), Node("b", "Learned", "d", "a", "signal"), Node("c", "From people", "d", "b", "signal"), Node("e", "Pairs", "d", "c", "signal"),
        Node("g", "Given", "d", "a", "signal"), Node("m", "Maths", "d", facet="domain"), Node("p", "Pairs", "d", "m", "domain"),
    ),
    assignments=(Assignment("a1", "e"), Assignment("a1", "g", 2), Assignment("a1", "m"), Assignment("b2", "p")),
    unassigned=(Unassigned("b2", "by signal: none fits"), Unassigned("c3", "none fits")),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_a_deep_tree_of_several_facets_is_read_back(kind: str, tmp_path: Path) -> None:
    """The facet stands first, then four levels; a paper is moved in one facet and stays in the other."""
    same = moved_papers(edited(DEEP, tmp_path, kind, list), DEEP, {})
    assert (same.nodes, same.odd, same.newer) == ((), (), 0)

    def change(rows: Grid) -> None:
        at = rows[0].index("facet")
        assert rows[0][at + 1 : at + 5] == ["first level", "second level", "third level", "fourth level"]
        places = {(row[0], *filter(None, row[at : at + 5])): row for row in rows}
        places["a1", "signal", "Signal", "Learned", "From people", "Pairs"][at + 4] = ""
        places["b2", "signal", "unassigned"][at + 1 : at + 3] = ["Signal", "Given"]
        places["c3", "domain", "unassigned"][at + 1] = "Nowhere"

    found = moved_papers(edited(DEEP, tmp_path, kind, change), DEEP, {})
    assert found.nodes == (("a1", "c"), ("b2", "g"))
    (said,) = found.odd
    assert "there is no node 'domain / Nowhere'" in said


@pytest.mark.parametrize("kind", ["csv", "xlsx"])
def test_an_older_export_of_a_tree_moves_nothing_back(kind: str, tmp_path: Path) -> None:
    """Papers that moved since stay, labels that changed since are no move, and a paper moved here and there is named."""

    def change(rows: Grid) -> None:
        at = rows[0].index("first level")
        next(row for row in rows if row[0] == "b2")[at + 1] = "Learned"

    path = edited(TREE, tmp_path, kind, change)
    now = replace(TREE, nodes=(replace(TREE.nodes[0], label="Rewards"), *TREE.nodes[1:]), assignments=(Assignment("a1", "c"), Assignment("b2", "c")))
    moves = moved_papers(path, now, {})
    assert (moves.nodes, moves.newer) == ((), 1)
    assert "there is no node 'Reward / Learned'" in moves.odd[0]
    now = replace(TREE, assignments=(Assignment("a1", "b"), Assignment("b2", "a")))
    (said,) = moved_papers(path, now, {}).odd
    assert "moved here to 'Reward / Learned', and since the export to 'a'" in said


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
