"""How a review was made, as a paper's methods and its statement on the use of AI: figures that the library knows, and no others."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from assistant import stored
from assistant.document import Assignment, Cell, Cite, Column, Document, Node, Problem, Report, Row, Section, Statement
from assistant.export.methods import RULES, as_json, as_latex, as_markdown, blocks
from assistant.gateway.ledger import Ledger
from assistant.gateway.message import Message, Reply, Request, Usage, question_of
from assistant.gateway.recording import Recording
from assistant.gateway.recording import written as transcript
from assistant.methods import Imported, Lookup, Made, Methods, ModelUse, RecordedUse, Selection
from assistant.tasks.methods import gathered
from store.library import Library
from store.lookups import SERVICES
from tests.assistant.test_coverage import kept as keep_draft
from tests.conftest import EXAMPLE_FILES, Carrel

DATA = Path(__file__).parents[1] / "data" / "methods"
DOCS = Path(__file__).parents[2] / "docs" / "methods-statement.md"
REPORT = Report(
    40, 38, 12, 2,
    blocked=(Problem("x", "R2", "y"), Problem("z", "R2", "y")), marked=(Problem("x", "R4", "y"),), unchecked=(Problem("x", "R6", "y"),),
)  # fmt: skip
SELECTION = Selection(1204, 204, 1000, 100, 800, 90, {"no abstract": 60, "": 30}, 10, 1, 3, {"core_set": 12})
FULL = Methods(
    version="1.2.3",
    imports=(
        Imported("export 50%.ris", "ris", "2026-01-03", 1000, 2),
        Imported("openalex: credit & reward", "openalex", "2026-01-04", 204, 0),
    ),
    lookups=(Lookup("openalex", "credit & reward", "2026-01-04", 5120, 300, 204), Lookup("arxiv", "credit", "2026-01-05", None, 20, 0)),
    selection=SELECTION,
    embedder="minilm file sha256:1 384",
    models=(
        ModelUse("openai/gpt-5-mini", ("gpt-5-mini-2026-01-01",), "2026-01-05", "2026-02-01", 120, {"draft": 20, "table": 100}, 1_200_000, 80_000, 0, 1.234, 0),
        ModelUse("ollama/llama3.1", ("ollama/llama3.1",), "2026-02-02", "2026-02-02", 1, {"verify": 1}, None, None, 1, None, 1),
    ),
    recorded=(RecordedUse("openai/old", "2025-12-01", "2025-12-03", 4, 1),),
    unknown_replies=2,
    has_ledger=True,
    tasks=("ask", "chat", "draft", "table", "verify"),
    made=(
        Made("table", "methods_1", 36, columns=7, cells=252, by_person=3, report=REPORT),
        Made("taxonomy", "signal", 32, nodes=14, unassigned=4, locked=2, by_person=1),
        Made("draft", "related-work", 30, paragraphs=5, statements=29),
        Made("summarize", "summaries", 36),
        Made("ask", "Which?\n# no heading", 3, statements=4),
    ),
    answers=1,
    decisions={"edit": 1, "status": 900},
    own_prompts=("draft/plan.md.j2",),
)
NOTHING = Methods(
    "", (), (), Selection(0, 0, 0, 0, 0, 0, {}, 0, 0, 0, {}), "", (), (), 0, has_ledger=False, tasks=(), made=(), answers=0, decisions={}, own_prompts=()
)


def compared(name: str, text: str) -> None:
    """A whole output beside the file that a person can open."""
    assert text == (DATA / name).read_bytes().decode()


def words(facts: Methods) -> str:
    """The whole text on one line."""
    return " ".join(f"{block.sign} {block.text}" for block in blocks(facts))


def test_the_whole_text_with_everything_in_it() -> None:
    """As Markdown and as LaTeX: models, searches, counts, checks, decisions; what only the authors know stands in brackets."""
    compared("full.md", as_markdown(FULL))
    compared("full.tex", as_latex(FULL))


def test_the_whole_text_of_an_empty_library() -> None:
    """No records, no model, nothing made: it says so, and claims nothing."""
    compared("nothing.md", as_markdown(NOTHING))


def test_json_has_the_facts_and_the_text() -> None:
    """What is unknown is null; each piece of the text says what it is."""
    shape = json.loads(as_json(FULL))
    assert shape["facts"]["models"][1]["cost_usd"] is None
    assert {piece["kind"] for piece in shape["text"]} == {"title", "heading", "paragraph", "item", "confirm"}


def test_no_value_becomes_a_heading_an_item_or_markup() -> None:
    """A query, a reason and a file's name are words, whatever stands in them."""
    hostile = "x\n# Heading\n- item\n! To confirm\n= p <b> [l](u) \\input{x}"
    facts = replace(FULL, imports=(Imported(hostile, hostile, "2026-01-03", 1, 0),), lookups=(Lookup(hostile, hostile, "2026-01-03", 1, 1, 1),),
                    selection=replace(SELECTION, excluded_for={hostile: 1}, tags={hostile: 1}), own_prompts=(hostile,), decisions={hostile: 1},
                    models=(replace(FULL.models[0], model=hostile, served=(hostile,), tasks={hostile: 1}),), tasks=(hostile,),
                    made=(replace(FULL.made[0], name=hostile),), embedder=hostile)  # fmt: skip
    signs = [block.sign for block in blocks(facts)]
    assert signs.count("#") == 2
    assert "Heading" not in {block.text for block in blocks(facts)}
    assert "<b>" not in as_markdown(facts).replace(r"\<b\>", "")
    assert "\\input{" not in as_latex(facts)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"models": (), "recorded": (), "unknown_replies": 0, "has_ledger": False}, "No use of a language model is recorded. There is no ledger of requests."),
        ({"models": (), "recorded": (), "unknown_replies": 0}, "show no use of a language model for this work"),
        ({"models": (), "unknown_replies": 0}, "with the language model openai/old (recorded between 2025-12-01 and 2025-12-03). It served"),
        ({"models": (), "recorded": ()}, "with a language model whose name is not recorded. It served"),
        ({"models": (), "recorded": (), "has_ledger": False}, "For 2 replies behind what the library keeps, model and date are not known: there is no ledger of requests."),
        ({"models": (), "unknown_replies": 0, "recorded": (RecordedUse("m", "2026-01-01", "2026-01-01", 1, 1),)}, "1 of them was written by a person and not by a model"),
        ({"models": (), "unknown_replies": 0, "recorded": (RecordedUse("m", "2026-01-01", "2026-01-01", 1, 1),)}, "show no use of a language model"),
        ({"models": FULL.models[:1], "recorded": (), "unknown_replies": 0}, "with the language model openai/gpt-5-mini (between 2026-01-05 and 2026-02-01). It"),
        ({"embedder": ""}, "the library holds no embeddings"),
        ({"made": ()}, "Nothing was made of the papers yet."),
        ({"made": FULL.made[1:]}, "# Statement"),
        ({"selection": replace(SELECTION, included=0, excluded=0, removed=0, excluded_for={})}, "None was excluded by screening"),
        ({"version": ""}, "used Carrel, a literature review assistant"),
    ],
)  # fmt: skip
def test_right_words_for_what_is_and_is_not_known(change: dict[str, object], said: str) -> None:
    """A library without models, without a ledger, with recordings alone, made by hand, without embeddings."""
    assert said in words(replace(FULL, **change))  # type: ignore[arg-type]


def test_every_rule_that_is_checked_is_named() -> None:
    """The rules are those of docs/evidence.md, but for the two that hold by construction."""
    rules = set(re.findall(r"^\| (R\d+) \|", (DOCS.parent / "evidence.md").read_text("utf-8"), re.MULTILINE))
    assert set(RULES) == rules - {"R8", "R9"}


@pytest.mark.parametrize(
    ("cost", "unpriced", "said"),
    [(None, 3, "The cost is not known."), (0.0, 0, "The cost was 0.00 US dollars."), (0.004, 0, "The cost was less than 0.01 US dollars."),
     (12.5, 1, "The cost was 12.50 US dollars; that of 1 request is not known.")],
)  # fmt: skip
def test_an_unknown_cost_is_never_zero(cost: float | None, unpriced: int, said: str) -> None:
    """Known, free, little, and in part."""
    assert said in words(replace(FULL, models=(replace(FULL.models[0], cost_usd=cost, unpriced=unpriced),)))


def asked(ledger: Ledger, label: str, model: str, text: str, cost: float | None, day: str) -> Request:
    """A call in the ledger, as of a day."""
    request = Request((Message("user", text),), label)
    row = ledger.claim(request, model)
    ledger.settle(row, "done", Reply("reply", Usage(100, 10), cost, f"{model}-served", "stop"))
    with ledger._lock:
        ledger._connection.execute("UPDATE call SET started = ? WHERE id = ?", (f"{day}T12:00:00.000+00:00", row))
    return request


def a_table() -> Document:
    """Two papers by one column, one cell a person's, and a place by hand."""
    cells = {"c": Cell("x", "x", "stated")}, {"c": Cell("y", "y", "stated", by="person")}
    return Document("table", "t", columns=(Column("c", "C", "?"),), rows=(Row("a", cells[0]), Row("b", cells[1])), report=Report(2, 1, 0, 1))


def test_the_facts_are_those_of_the_ledger_and_the_library(library: Library, tmp_path: Path) -> None:
    """Models with first and last day, replies in no ledger, decisions that count, what a person set."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    asked(ledger, "table/fill--t", "openai/m", "one", 0.5, "2026-03-02")
    known = asked(ledger, "draft/paragraph--d-01", "openai/m", "two", None, "2026-03-01")
    statements = [
        Statement("One.", (Cite("agentrlvr2025", "abstract", (1,), "q"),), exchange=f"{known.label} {question_of(known, 'openai/m')}"),
        Statement("Two.", (Cite("agentrlvr2025", "abstract", (1,), "q"),), exchange="draft/paragraph--d-02 0000"),
        Statement("Three.", (Cite("agentrlvr2025", "abstract", (1,), "q"),), exchange="draft/paragraph--d-03 1111"),
    ]
    with library.catalog.writing():
        library.catalog.keep_finding("draft", "d", "item", 0, json.dumps(stored.paragraph_fields(statements, ())))
        library.catalog.note_lookup("openalex", "rewards", 7, 5, 2)
    library.curation.set_status(["deepsearch2025"], "excluded", "a matter of search")
    library.curation.tag(["implicit2025"], "core")
    library.curation.edit("implicit2025", [("venue", "X")])
    library.curation.undo()
    recording = Recording("openai/other", Request((Message("user", "x"),), "draft/paragraph--d-02"), Reply("r", Usage(1, 1), None, "m", "stop"), "2025-12-24", "written by hand")
    path = tmp_path / "recordings" / "draft" / "paragraph--d-02.txt"
    path.parent.mkdir(parents=True)
    path.write_text(transcript(recording), "utf-8")
    tree = Document("taxonomy", "s", nodes=(Node("n", "N", "", locked=True),), assignments=(Assignment("a", "n", by="person"), Assignment("b", "n")))

    facts = gathered(library, [a_table(), tree], ledger, tmp_path / "recordings")
    ledger.close()

    assert facts.models == (ModelUse("openai/m", ("openai/m-served",), "2026-03-01", "2026-03-02", 2, {"draft": 1, "table": 1}, 200, 20, 0, 0.5, 1),)
    assert facts.recorded == (RecordedUse("openai/other", "2025-12-24", "2025-12-24", 1, 1),)
    assert facts.unknown_replies == 1
    assert facts.tasks == ("draft", "table")
    assert [(one.kind, one.papers, one.cells, one.by_person, one.locked) for one in facts.made] == [("table", 2, 2, 1, 0), ("taxonomy", 2, 0, 1, 1)]
    assert facts.decisions == {"status": 1, "tag": 1}
    assert (facts.selection.papers, facts.selection.excluded_for, facts.selection.tags) == (36, {"a matter of search": 1}, {"core": 1})
    assert [(one.service, one.found, one.taken) for one in facts.lookups] == [("openalex", 7, 2)]
    assert sum(one.records for one in facts.imports) == facts.selection.records == 36
    assert [one.file for one in facts.imports] == [path.name for path in EXAMPLE_FILES]
    assert facts.embedder.startswith("hash")


def test_what_a_service_gave_is_named_by_what_it_was_asked(empty: Library) -> None:
    """A file goes by its name without its folder; the words asked of a service may hold a slash. Refused records are counted."""
    from store.paper import Record, Refused

    assert "openalex" in SERVICES
    empty.add_records([Record("A paper on and/or trees"), Refused(3, "no title")], "openalex: and/or", "openalex")
    empty.add_records([Record("Another work on graphs")], "/home/me/x.ris", "ris")
    found = gathered(empty, [], None).imports
    assert [(one.file, one.records, one.refused) for one in found] == [("openalex: and/or", 1, 1), ("x.ris", 1, 0)]


def test_the_command_writes_the_methods_of_a_library(library: Library, folder: Path, carrel: Carrel) -> None:
    """`--methods` and `methods` are the same; a draft without a ledger is of replies that nothing tells of."""
    keep_draft(library, folder)
    ran = carrel("export", "--methods", at=folder)
    assert (ran.code, [Path(line).name for line in ran.out.split()]) == (0, ["methods-statement.md", "methods-statement.tex", "methods-statement.json"])
    text = (folder / "exports" / "methods-statement.md").read_text("utf-8")
    assert "Draft “d”: 2 statements in 1 paragraph, citing 2 papers." in text
    assert carrel("export", "methods", "--to", "md", "--output", folder / "out", at=folder).code == 0
    assert (folder / "out" / "methods-statement.md").read_text("utf-8") == text


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("export",), "what is to be written?"),
        (("export", "table", "x", "--methods"), "give no other KIND and no NAME"),
        (("export", "methods", "x"), "give no other KIND and no NAME"),
        (("export", "--methods", "--to", "csv"), "--to csv: the methods can be written as md, tex, json"),
    ],
)
def test_what_cannot_be_written_says_why(given: tuple[str, ...], said: str, folder: Path, carrel: Carrel) -> None:
    """Exit 2 with a line."""
    ran = carrel(*given, at=folder)
    assert ran.code == 2
    assert said in ran.err


def test_a_file_that_cannot_be_read_is_left_out_and_said(folder: Path, carrel: Carrel) -> None:
    """One broken table stops nothing; the exit code says that something is missing."""
    (folder / "tables").mkdir()
    (folder / "tables" / "broken.toml").write_text("[[column", "utf-8")
    ran = carrel("export", "--methods", "--to", "md", at=folder)
    assert ran.code == 1
    assert "left out of the methods: table broken: " in ran.err
    assert (folder / "exports" / "methods-statement.md").exists()


def test_answers_and_summaries_count_and_one_about_a_paper_that_is_gone_is_said(library: Library, folder: Path, carrel: Carrel) -> None:
    """Two questions that begin alike are two answers; a paper that a stored answer cites and the library lost stops only that answer."""
    from assistant.cli.answers import keep_answer

    text = library.texts(library.paper("agentrlvr2025"))[1]
    cite = Cite("agentrlvr2025", "abstract", (1,), text.sentence(1), text.id)
    long = "What do these papers say of rewards, of credit, of data and of robots in the year"
    for question, key in ((f"{long} 2025?", "agentrlvr2025"), (f"{long} 2026?", "agentrlvr2025"), ("Gone?", "nobody2020")):
        sections = (Section("", (Statement("One.", (replace(cite, key=key),)),)),)
        keep_answer(library, Document("ask", question, sections, outcome="answered", report=Report(1, 1)))
    ran = carrel("export", "--methods", "--to", "md", at=folder)
    assert ran.code == 1
    assert "left out of the methods: the answer to 'Gone?': " in ran.err
    assert "2 answers to questions about the papers." in (folder / "exports" / "methods-statement.md").read_text("utf-8")


def test_the_latex_compiles(tmp_path: Path) -> None:
    """As part of a document, with pdfLaTeX."""
    if not shutil.which("pdflatex"):
        pytest.skip("there is no pdflatex")
    (tmp_path / "part.tex").write_text(as_latex(FULL), "utf-8")
    (tmp_path / "whole.tex").write_text("\\documentclass{article}\\usepackage[T1]{fontenc}\\begin{document}\\input{part}\\end{document}", "utf-8")
    ran = subprocess.run(["pdflatex", "-draftmode", "-interaction=nonstopmode", "-halt-on-error", "whole"], cwd=tmp_path, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout.decode("utf-8", "replace")[-800:]


def test_every_command_in_the_docs_runs(library: Library, folder: Path, carrel: Carrel) -> None:
    """Each line of the page that begins with `carrel`, on a library with a draft called related-work."""
    keep_draft(library, folder)
    (folder / "drafts" / "d.plan.md").rename(folder / "drafts" / "related-work.plan.md")
    (folder / "recordings").mkdir()
    with library.catalog.writing():
        for (item, paper), data in library.catalog.findings("draft", "d").items():
            library.catalog.keep_finding("draft", "related-work", item, paper, data)
    commands = re.findall(r"^ +carrel (.+?)(?:  +#.*)?$", DOCS.read_text("utf-8"), re.MULTILINE)
    assert len(commands) >= 4
    for command in commands:
        assert carrel(*command.split(), at=folder).code == 0, command
