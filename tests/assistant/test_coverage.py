"""The coverage sheet of a draft: what is counted, what is noted, and how it reads in every format."""

import csv
import io
import json
from pathlib import Path

import openpyxl
import pytest

from assistant import stored
from assistant.document import Assignment, Cite, Coverage, Document, Node, Section, Source, Statement
from assistant.export import WRITERS, coverage, written
from assistant.shapes import document_json
from assistant.tasks import draft
from assistant.tasks.coverage import with_sheet
from store.keys import slug
from store.library import Library
from tests.conftest import Carrel

DATA = Path(__file__).parents[1] / "data" / "coverage"
PLAN = """## Rewards

- [introduces; 20 words] one {@agentrlvr2025 1}
- [compares; 20 words] two {@agentrlvr2025 1; @implicit2025 1}

## Left out

* @deepsearch2025: a matter of search
"""


def source(key: str, **more: object) -> Source:
    fields: dict[str, object] = {
        "key": key, "title": f"On {key}", "authors": (), "author_count": None, "organization": "", "year": "", "venue": "", "entry_type": "",
        "identifiers": {}, "is_note": False,
    }  # fmt: skip
    return Source(**{**fields, **more})  # type: ignore[arg-type]


def said(*keys: str) -> Statement:
    """A statement that cites these papers."""
    return Statement("A claim.", tuple(Cite(key, "abstract", (1,), "A claim.") for key in keys))


def sheet(sections: dict[str, list[Statement]], dates: dict[str, str] | None = None, tree: Document | None = None, **sources: Source) -> Document:
    """A draft of these sections with its sheet; the scope is what is cited and what has a date."""
    made = tuple(Section(heading, tuple(statements)) for heading, statements in sections.items())
    keys = sorted({cite.key for section in made for one in section.statements for cite in one.cites} | set(dates or {}))
    rows = tuple(Coverage(key, (), date=(dates or {}).get(key, "")) for key in keys)
    return with_sheet(Document("draft", "d", made, coverage=rows, sources={key: sources.get(key, source(key)) for key in keys}), {}, tree)


def noted(document: Document) -> list[tuple[str, str]]:
    return [(one.kind, coverage.noted(one)) for one in document.coverage_notes if one.kind != "no dates"]


def example() -> Document:
    """Two sections on seven of 27 papers: one leans on a paper, the other is old and a list; twenty papers share a reason."""
    dates = {"ng2026": "2026-03", "lee2024": "2024", "old2019": "2019-05-01"}
    lists = [said("a1", "a2", "a3", "a4", "old2019")]
    many = tuple(Coverage(f"out{number:02}", (), "Not about rewards.") for number in range(20))
    lab = {key: source(key, organization="Lab *A*") for key in ("a1", "a2", "a3", "a4")}
    made = sheet({"Credit_1": [said("ng2026"), said("ng2026", "lee2024"), said("ng2026"), said()], "Lists": lists}, dates, **lab)
    rows = (*made.coverage, *many, Coverage("last", (), "=too late|"))
    return with_sheet(Document("draft", "d", made.sections, coverage=rows, sources=made.sources), {})


def compared(name: str, text: str) -> None:
    """A whole output beside the file that a person can open."""
    assert text == (DATA / name).read_bytes().decode()


def test_each_paper_is_cited_where_and_how_often() -> None:
    """Statements are counted section by section; a paper that nothing cites has no place."""
    made = sheet({"One": [said("a"), said("a", "b")], "Two": [said("a")]}, {"c": "2024"})
    assert [(one.key, one.used, one.times) for one in made.coverage] == [("a", ("One", "Two"), (2, 1)), ("b", ("One",), (1,)), ("c", (), ())]


@pytest.mark.parametrize(
    ("newest", "cited", "is_recent"),
    [
        ("2026-03-10", "2024-03-10", True),
        ("2026-03-10", "2024-03-09", False),
        ("2026-03-10", "2024-03", True),  # its last day may be within the two years
        ("2026-03-10", "2024-02", False),
        ("2026-03-10", "2024", True),
        ("2026-03-10", "2023", False),
        ("2026", "2024-01-01", True),
        ("2024-02-29", "2022-02-28", True),
        ("1999", "1996", False),  # the newest of the scope counts as now, whatever the year is
    ],
)
def test_recent_is_two_years_before_the_newest_of_the_scope(newest: str, cited: str, is_recent: bool) -> None:
    """By the library's own dates; a date that may be recent counts as recent."""
    found = [kind for kind, _ in noted(sheet({"One": [said("a", "b")]}, {"a": cited, "b": cited, "new": newest}))]
    assert found == ([] if is_recent else ["no recent paper"])


def test_the_note_on_dates_says_what_it_goes_by() -> None:
    """The newest paper of the section and of the scope, and how many have no date; without any date nothing can be told."""
    made = sheet({"One": [said("a", "b")]}, {"a": "2019", "new": "2026-03"})
    (note,) = noted(made)
    assert note == (
        "no recent paper",
        "“One”: cites no paper known to be from 2024-03 or later (the newest is of 2019, 1 of 2 have no date; "
        "the newest of the scope is of 2026-03, by the library's own dates)",
    )
    undated = sheet({"One": [said("a", "b")]})
    assert [one.kind for one in undated.coverage_notes] == ["no dates"]


def test_a_paper_that_more_than_a_third_of_the_statements_cite_is_noted() -> None:
    """Three of eight are; three of nine are a third and no more; two are one comparison, however short the section."""
    others = [said(f"x{number}") for number in range(6)]
    assert noted(sheet({"One": [said("a")] * 3 + others[:5]})) == [("depends on a paper", "in all: 3 of 8 statements cite a")]
    assert noted(sheet({"One": [said("a")] * 3 + others})) == []
    assert noted(sheet({"One": [said("a")] * 2 + others[:1]})) == []
    both = sheet({"One": [said("a")] * 3 + others[:2], "Two": [said(f"y{number}") for number in range(9)]})
    assert noted(both) == [("depends on a paper", "“One”: 3 of 5 statements cite a")]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"organization": "Deep Lab"}, "are of the organization Deep Lab"),
        ({"authors": ("Ada Lovelace", "Bo Li")}, "have Ada Lovelace as first or last author"),
        ({"venue": "NeurIPS"}, "appeared in NeurIPS"),
    ],
)
def test_more_than_half_of_one_group_is_noted(fields: dict[str, object], words: str) -> None:
    """Of at least five cited papers; one that is not known counts as of another, and is said."""
    keys = ["a", "b", "c", "d", "e"]
    some = {key: source(key, **fields) for key in keys}
    assert (words in noted(sheet({"One": [said("a", "b"), said("c", "d")], "Two": [said("e", "x")]}, **some))[0][1])
    three = {key: some[key] for key in keys[:3]}
    assert noted(sheet({"One": [said("a", "b"), said("c", "d")], "Two": [said("e", "x")]}, **three)) == []
    first = noted(sheet({"One": [said("a", "b"), said("c", "d", "e")]}, **three))[0]
    assert first == ("depends on a group", f"in all: 3 of 5 cited papers {words} (known of 3)")
    assert noted(sheet({"One": [said("a", "b"), said("c", "d")]}, **some)) == []


def test_what_is_said_of_the_whole_is_not_said_of_each_section() -> None:
    """A group of a section stands only where it is not that of the whole."""
    some = {key: source(key, organization="Lab") for key in "abcdefg"}
    made = sheet({"One": [said("a", "b"), said("c", "d", "e")], "Two": [said("f"), said("g")]}, **some)
    assert [text for _, text in noted(made)] == ["in all: 7 of 7 cited papers are of the organization Lab"]
    part = sheet({"One": [said("a", "b"), said("c", "d", "e")], "Two": [said("v", "w", "x"), said("y", "z")]}, **{key: some[key] for key in "abcde"})
    assert [text for _, text in noted(part)] == ["“One”: 5 of 5 cited papers are of the organization Lab"]


def test_a_preprint_server_is_no_venue_and_a_cut_list_has_no_last_author() -> None:
    """arXiv is where everybody's papers are; the last of three printed names of twelve is not the last author."""
    keys = ["a", "b", "c", "d", "e"]
    assert noted(sheet({"One": [said(*keys[:3]), said(*keys[3:])]}, **{key: source(key, venue="arXiv preprint arXiv:2603.1") for key in keys})) == []
    cut = {key: source(key, authors=(f"First {key}", "Bo Li"), author_count=12) for key in keys}
    assert noted(sheet({"One": [said(*keys[:3]), said(*keys[3:])]}, **cut)) == []
    whole = {key: source(key, authors=(f"First {key}", "Bo Li"), author_count=2) for key in keys}
    assert noted(sheet({"One": [said(*keys[:3]), said(*keys[3:])]}, **whole)) == [("depends on a group", "in all: 5 of 5 cited papers have Bo Li as first or last author")]


def test_a_node_of_a_tree_is_a_group_where_a_tree_is_given() -> None:
    """By the first place of each paper."""
    tree = Document("taxonomy", "signal", nodes=(Node("n", "Outcome", ""), Node("m", "Step", "")), assignments=(
        *(Assignment(key, "n") for key in "abc"), Assignment("d", "m"), Assignment("d", "n", rank=2)))  # fmt: skip
    made = sheet({"One": [said("a", "b"), said("c", "d", "e")]}, tree=tree)
    assert noted(made) == [("depends on a group", "in all: 3 of 5 cited papers are filed under Outcome in the tree signal (known of 4)")]


def test_sections_on_one_paper_or_none_and_papers_only_in_lists() -> None:
    """A paper of a list of five that is cited elsewhere with fewer is no such paper."""
    made = sheet({"One": [said("a")], "None": [said()], "Empty": [], "Lists": [said("b", "c", "d", "e", "f"), said("b")]})
    assert noted(made) == [
        ("one paper alone", "“One”: rests on a alone"),
        ("no paper", "“None”: cites no paper"),
        ("only in lists", "in all: 4 papers are cited only in a list of 5 or more"),
    ]
    assert made.coverage_notes[-1].keys == ("c", "d", "e", "f")


def test_the_sheet_on_a_terminal() -> None:
    """Short after a draft, and in full; papers left out for one reason stand together."""
    compared("short.txt", "\n".join(coverage.said(example(), whole=False)) + "\n")
    compared("whole.txt", "\n".join(coverage.said(example(), whole=True)) + "\n")


def test_the_sheet_in_markdown_and_csv() -> None:
    """Whole outputs, beside which nothing of a paper's text is markup or a formula."""
    text = WRITERS["md"](example())
    assert isinstance(text, str)
    compared("sheet.md", text[text.index("## Coverage") : text.index("## Checks")])
    compared("sheet.csv", coverage.write(example()))


def test_the_sheet_in_a_workbook_and_on_a_page(tmp_path: Path) -> None:
    """A sheet of papers with numbers that sort, one of notes; on the page what is many is folded away. The CSV stands beside."""
    book = openpyxl.load_workbook(io.BytesIO(bytes(WRITERS["xlsx"](example()))))  # type: ignore[arg-type]
    assert book.sheetnames == ["Draft", "Evidence", "Checks", "Coverage", "Coverage notes"]
    rows = [[cell.value for cell in row] for row in book["Coverage"].iter_rows()]
    assert rows[0] == ["key", "title", "date", "cited in", "statements", "left out"]
    assert ["ng2026", None, "2026-03", "Credit_1 (3)", 3, None] in rows
    assert book["Coverage notes"].max_row == 1 + len(example().coverage_notes)
    page = str(WRITERS["html"](example()))
    assert "left out, 20: Not about rewards." in page
    assert "Credit_1 (3)" in page
    names = [path.name for path in written(example(), tmp_path, ["csv"])]
    assert names == ["d.csv", "d.checks.csv", "d.coverage.csv"]


def test_the_sheet_as_json() -> None:
    """Rows as they always were, how often beside them, and the notes."""
    shape = json.loads(json.dumps(document_json(example())))
    assert {"key": "ng2026", "used": ["Credit_1"], "left_out": None, "times": [3]} in shape["coverage"]
    assert {"key": "out00", "used": [], "left_out": "Not about rewards."} in shape["coverage"]
    assert shape["coverage_notes"][1] == {"kind": "no recent paper", "section": "Lists", "text": shape["coverage_notes"][1]["text"], "keys": ["a1", "a2", "a3", "a4", "old2019"]}


def test_five_hundred_papers_stay_readable() -> None:
    """Left out for three reasons they are three lines, each with a few keys and how many more there are."""
    rows = tuple(Coverage(f"p{number:03}", (), f"reason {number % 3}") for number in range(500))
    lines = coverage.said(with_sheet(Document("draft", "d", (Section("One", (said("x"),)),), coverage=(*rows, Coverage("x", ()))), {}), whole=False)
    assert len([line for line in lines if "left out" in line]) == 3
    assert lines[1] == "  left out, 167: p000, p003, p006, p009, p012, p015 and 161 more: reason 0"
    assert lines[0] == "1 of 501 papers are cited"


def kept(library: Library, folder: Path) -> None:
    """A draft of one paragraph in the library, as if a model had written it."""
    (folder / "drafts").mkdir()
    (folder / "drafts" / "d.plan.md").write_text(PLAN, "utf-8")
    from assistant.cli.drafts import planned

    plan = planned(library, folder / "drafts" / "d.plan.md")
    (paragraph,) = plan.paragraphs
    texts = {key: library.texts(library.paper(key))[1] for key in ("agentrlvr2025", "implicit2025")}
    cites = {key: Cite(key, "abstract", (1,), text.sentence(1), text.id) for key, text in texts.items()}
    statements = [Statement("One.", (cites["agentrlvr2025"],)), Statement("Two.", tuple(cites.values()))]
    data = json.dumps(stored.paragraph_fields(statements, ()), ensure_ascii=False)
    with library.catalog.writing():
        library.catalog.keep_finding(draft.TASK, slug("d"), draft.item_of(paragraph, plan.guide), 0, data)


def test_the_command_prints_the_whole_sheet(library: Library, folder: Path, carrel: Carrel) -> None:
    """`--coverage` prints it alone, with titles and dates from the library in the files; JSON has it too."""
    kept(library, folder)
    ran = carrel("draft", "d", "--coverage", "--to", "csv", "--output", folder / "out", at=folder)
    assert ran.code == 0
    assert ran.out.splitlines()[:3] == ["2 of 36 papers are cited", "  agentrlvr2025: Rewards (2)", "  implicit2025: Rewards"]
    assert "left out: deepsearch2025: a matter of search" in ran.out
    rows = list(csv.DictReader(io.StringIO((folder / "out" / "d.coverage.csv").read_text("utf-8-sig"))))
    assert [row["date"] for row in rows if row["key"] == "agentrlvr2025"] == [library.paper("agentrlvr2025").date]
    shape = json.loads(carrel("draft", "d", "--json", at=folder).out)
    assert shape["coverage_notes"] == []
    assert "One [@agentrlvr2025]." in carrel("draft", "d", "--show", at=folder).out
