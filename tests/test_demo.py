"""The demo, as a new user runs it: offline, on recorded replies, and what it leaves behind."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import EXAMPLE

RECORDINGS = EXAMPLE / "recordings"
MOST_RECORDINGS = 40


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The demo's output folder, after it ran with no network, no key and no model."""
    folder = tmp_path_factory.mktemp("demo")
    bin_folder = Path(sys.executable).parent
    environment = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    environment |= {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}", "CARREL_EMBEDDER": "hash"}
    ran = subprocess.run(
        ["/bin/sh", str(EXAMPLE / "demo.sh"), str(folder)], capture_output=True, text=True, env=environment, check=False
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    (folder / "said.txt").write_text(ran.stdout, "utf-8")
    return folder


def test_the_demo_says_what_it_made_and_that_it_is_recorded(out: Path) -> None:
    """What to open first, and plainly that no model was asked."""
    said = (out / "said.txt").read_text("utf-8")
    assert "recordings of a language model answering offline" in said
    assert said.strip().splitlines()[-1].startswith("Open first: ")
    assert "No evidence" in said


def test_the_table_has_thirty_rows_and_six_columns_with_sentences(out: Path) -> None:
    """Every filled cell quotes its paper; every paper is a row."""
    table = json.loads((out / "methods.json").read_text("utf-8"))
    assert len(table["columns"]) >= 6
    assert len(table["rows"]) >= 30
    cells = [(row["key"], cell) for row in table["rows"] for cell in row["cells"].values()]
    assert len(cells) == len(table["columns"]) * len(table["rows"])
    for key, cell in cells:
        assert cell["cites"] or cell["status"] in {"not stated", "full text needed"}
        assert (cell["value"] is not None) == (cell["status"] == "stated")
        assert all(cite["key"] == key and cite["quote"] for cite in cell["cites"])
    rows = list(csv.DictReader((out / "methods.csv").read_text("utf-8-sig").splitlines()))
    assert len(rows) == len(table["rows"])


def test_every_paper_is_in_the_tree_or_unassigned(out: Path) -> None:
    """No paper is lost, no node is empty, no unassigned paper without a reason."""
    tree = json.loads((out / "training-signal.json").read_text("utf-8"))
    placed = {one["key"] for one in tree["assignments"]} | {one["key"] for one in tree["unassigned"]}
    assert len(placed) == 36
    parents = {node["parent"] for node in tree["nodes"]}
    assert {node["id"] for node in tree["nodes"]} - parents == {one["node"] for one in tree["assignments"]}
    assert all(one["reason"] for one in tree["unassigned"])
    assert all(one["cites"] for one in tree["assignments"])


def test_the_table_is_counted_and_an_edit_of_the_tree_is_told_and_taken_back(out: Path) -> None:
    """Gaps stand as dots in the cross table; the diff says what a merge moved and why, and the tree is as it was grown."""
    text = (out / "methods.count-training-signal-by-domain.md").read_text("utf-8")
    assert re.search(r"^\| environment or simulator \| · \|.* 5 \|", text, re.MULTILINE)
    assert "is part of 'Reference Answer Checking' now" in (out / "diff.txt").read_text("utf-8")
    assert 'id = "code-execution-feedback"' in (out / "library" / "taxonomies" / "training-signal.toml").read_text("utf-8")


def test_the_draft_cites_and_its_bibliography_is_exact(out: Path) -> None:
    """At least four paragraphs; the .bib holds the keys that the .tex cites, and no others."""
    draft = json.loads((out / "related-work.json").read_text("utf-8"))
    assert sum(bool(paragraph["statements"]) for paragraph in draft["paragraphs"]) >= 4
    cited = {key for keys in re.findall(r"\\cite[pt]\{([^}]*)\}", (out / "related-work.tex").read_text("utf-8")) for key in keys.split(",")}
    assert cited == set(re.findall(r"^@\w+\{([^,]+),", (out / "related-work.bib").read_text("utf-8"), re.MULTILINE))
    assert len(draft["coverage"]) == 36
    assert all(one["used"] or one["left_out"] for one in draft["coverage"])


def test_the_draft_keeps_to_its_plan_and_claims_no_gap_that_a_paper_fills(out: Path) -> None:
    """Nearly every line of the plan has its sentence; a gap by absence rests on what code looked for, and nothing failed."""
    draft = json.loads((out / "related-work.json").read_text("utf-8"))
    assert sum(bool(line["text"]) for line in draft["plan"]) >= 0.95 * len(draft["plan"])
    assert any(cite.get("text") == "scope" for paragraph in draft["paragraphs"] for one in paragraph["statements"] for cite in one["cites"])
    assert not draft["report"].get("failed")


def test_a_claim_that_may_not_be_new_is_shown_beside_the_sentence_that_may_say_it(out: Path) -> None:
    """The invented abstract says it is the first to reward single turns of a search agent; search alone finds TIPS."""
    mine = (out / "mine.txt").read_text("utf-8")
    assert "xie2026tips" in mine
    assert "to compare" in mine


def test_the_draft_is_audited_and_how_it_was_made_is_said(out: Path) -> None:
    """The audit judges each citation of the .tex; the statement names the model of the recordings."""
    assert re.search(r"^\d+ citations in 1 file: .* supported", (out / "audit.txt").read_text("utf-8"), re.MULTILINE)
    assert "desk" in (out / "methods-statement.md").read_text("utf-8")


def test_every_quote_stands_in_the_examples_files(out: Path) -> None:
    """Quotes of all outputs, held against the files they came from, and said to be from notes."""
    texts = "\n".join(json.dumps(json.loads(path.read_text("utf-8")), ensure_ascii=False) for path in (EXAMPLE.parents[1] / "tests/data/formats").glob("*.json"))
    for path in out.glob("*.json"):
        for quote in re.findall(r'"quote": "((?:[^"\\]|\\.)*)"', path.read_text("utf-8")):
            if quote.startswith("None of the titles and abstracts of the "):
                continue  # what code found when it looked for the words of a gap
            assert all(part in texts for part in quote.split(" … ")), (path.name, quote)
    assert "our notes, not from the authors' abstracts" in (out / "related-work.md").read_text("utf-8")


def test_the_recordings_are_few_real_and_all_used(out: Path) -> None:
    """At most forty, each says which model replied and when, and each names a step of the demo."""
    paths = sorted(RECORDINGS.rglob("*.txt"))
    assert 0 < len(paths) <= MOST_RECORDINGS
    for path in paths:
        head = path.read_text("utf-8").split("===", 1)[0]
        assert 'model: "openai/desk"' in head
        assert "recorded: " in head
        assert "origin" not in head
    steps = {path.relative_to(RECORDINGS).parts[0] for path in paths}
    assert steps == {"ask", "verify", "summarize", "table", "taxonomy", "draft"}
