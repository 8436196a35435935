"""The command line as a new user meets it: what it prints, what `--json` promises, and how it ends when something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from store.library import Library
from tests.conftest import EXAMPLE, EXAMPLE_FILES, Carrel

HEAVY = ("litellm", "chromadb", "onnxruntime", "pydantic", "tenacity", "jinja2")
PAPER_FIELDS = ["key", "aliases", "title", "authors", "author_count", "organization", "date", "date_inferred", "venue", "abstract", "language", "translations", "identifiers", "categories", "keywords", "tags", "status", "sources"]


def test_from_nothing_to_a_found_paper(carrel: Carrel, tmp_path: Path) -> None:
    """init, add, papers, show, search: the first five minutes."""
    assert carrel("init", tmp_path / "r").code == 0
    added = carrel("add", *EXAMPLE_FILES, at=tmp_path / "r")
    assert added.code == 0
    assert "the library holds 36 papers" in added.out
    assert "36 papers" in carrel("papers").out
    assert "   1  " in carrel("show", "qian2025toolrl").out
    assert "qian2025toolrl" in carrel("search", "What does ToolRL do?").out


def test_add_reports_as_json_and_again_nothing_changes(carrel: Carrel, folder: Path) -> None:
    """One document of counts; the same files again are all unchanged."""
    report = json.loads(carrel("add", *EXAMPLE_FILES, "--json", at=folder).out)
    assert [(Path(one["file"]).name, one["format"], one["new"], one["merged"], one["unchanged"], one["refused"]) for one in report["files"]] == [
        ("digest.txt", "keyword-digest", 0, 0, 12, []),
        ("daily-papers.txt", "daily-papers", 0, 0, 12, []),
        ("abstracts.txt", "abstract-links", 0, 0, 5, []),
        ("reading-list.bib", "bibtex", 0, 0, 7, []),
    ]


def test_papers_as_json_has_the_promised_fields(carrel: Carrel, folder: Path) -> None:
    """A list in order of key, nothing else on standard output."""
    papers = json.loads(carrel("papers", "--json", at=folder).out)
    assert len(papers) == 36
    assert all(list(paper) == PAPER_FIELDS for paper in papers)
    assert [paper["key"] for paper in papers] == sorted(paper["key"] for paper in papers)
    assert {source["kind"] for paper in papers for source in paper["sources"]} == {"note"}


@pytest.mark.parametrize("width", ["80", "120", "200"])
def test_the_list_of_papers_shows_every_key_whole(carrel: Carrel, folder: Path, monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    """Whatever the width of the terminal, a key can be read and copied; the title takes what room is left."""
    monkeypatch.setenv("COLUMNS", width)
    shown = carrel("papers", at=folder).out
    keys = {paper["key"] for paper in json.loads(carrel("papers", "--json").out)}
    assert keys <= {line.split(" ")[0] for line in shown.splitlines()}
    assert all(len(line) <= int(width) for line in shown.splitlines())


def test_search_as_json_has_the_promised_shape(carrel: Carrel, folder: Path) -> None:
    """Hits with a score, the rankings that found them, and a passage with its sentences."""
    found = json.loads(carrel("search", "reward hacking in code generation", "--json", at=folder).out)
    assert found["query"] == "reward hacking in code generation"
    assert set(found["hits"][0]) == {"key", "title", "score", "found_by", "passage"}
    assert {name for hit in found["hits"] for name in hit["found_by"]} <= {"keywords", "vectors"}
    passage = found["hits"][0]["passage"]
    shown = json.loads(carrel("show", found["hits"][0]["key"], "--json").out)
    sentences = {one["number"]: one["text"] for text in shown["texts"] if text["text"] == "abstract" for one in text["sentences"]}
    assert all(sentences[number] in passage["text"] for number in passage["sentences"])


def test_what_is_pasted_is_added(carrel: Carrel, empty: Library) -> None:
    """`add -` reads standard input."""
    assert carrel("add", "-", at=empty.folder, pasted=(EXAMPLE / "abstracts.txt").read_text("utf-8")).code == 0
    assert empty.catalog.count() == 5


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n\x1a\n\x00\x00\x00", b"Dear diary,\n\nnothing happened.\n"])
def test_a_file_that_holds_no_papers_ends_with_65(carrel: Carrel, empty: Library, tmp_path: Path, content: bytes) -> None:
    """Its name, what was expected, and nothing half imported."""
    (tmp_path / "odd.txt").write_bytes(content)
    ran = carrel("add", tmp_path / "odd.txt", at=empty.folder)
    assert ran.code == 65
    assert "odd.txt" in ran.err
    assert "expected" in ran.err
    assert empty.catalog.count() == 0


def test_a_bad_file_does_not_stop_a_good_one(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """Exit 1, the bad one named, the good one in."""
    (tmp_path / "odd.txt").write_text("", "utf-8")
    assert carrel("add", tmp_path / "odd.txt", EXAMPLE / "abstracts.txt", at=empty.folder).code == 1
    assert empty.catalog.count() == 5


def test_a_cut_page_says_which_line(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """The whole records are in; the broken one is named by file and line."""
    (tmp_path / "cut.txt").write_text((EXAMPLE / "daily-papers.txt").read_text("utf-8")[:3000], "utf-8")
    ran = carrel("add", tmp_path / "cut.txt", at=empty.folder)
    assert ran.code == 1
    assert "cut.txt:" in ran.err
    assert "cut off" in ran.err
    assert empty.catalog.count() >= 2


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("show", "nobody2020x"), 2, "nobody2020x"),
        (("search", "x", "--key", "nobody2020x"), 2, "nobody2020x"),
        (("table", "t"), 2, "--column"),
        (("taxonomy", "t"), 2, "--facet"),
        (("draft", "d", "--show"), 2, "no draft"),
        (("export", "table", "t"), 2, "no table"),
        (("table", "t", "--column", "Method: what?"), 78, "no model is configured"),
        (("table", "t", "--column", "nonsense"), 2, "Name: question"),
        (("nosuch",), 2, "nosuch"),
    ],
)
def test_what_cannot_be_done_says_why_and_what_to_do(carrel: Carrel, folder: Path, words: tuple[str, ...], code: int, said: str) -> None:
    """One line and an exit code, never a traceback."""
    ran = carrel(*words, at=folder)
    assert ran.code == code
    assert said in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(("model", "money"), [("openai/nobody-knows-it", "price unknown"), ("openai/gpt-5-mini", "US dollars")])
def test_the_price_is_said_before_many_calls(carrel: Carrel, folder: Path, model: str, money: str) -> None:
    """Without a terminal and without --yes nothing is asked: the price is printed, and the exit code is 2."""
    words = ("draft", "d", "--topic", "rewards", "--paragraphs", "6", "--model", model)
    ran = carrel(*words, at=folder)
    assert ran.code == 2
    assert "about 7 calls" in ran.err
    assert money in ran.err
    assert "--yes" in ran.err
    assert not (folder / "drafts" / "d.plan.md").exists()


def test_outside_a_library_every_command_says_so(carrel: Carrel, tmp_path: Path) -> None:
    """And how to make one."""
    ran = carrel("papers", at=tmp_path)
    assert ran.code == 2
    assert "carrel init" in ran.err


def test_without_a_model_ask_shows_what_it_would_have_used(carrel: Carrel, folder: Path) -> None:
    """The passages, then how to configure a model."""
    ran = carrel("ask", "How is reward hacking studied in gridworlds?", "--keywords", at=folder)
    assert ran.code == 78
    assert "cagatan2026reward" in ran.out
    assert "carrel.toml" in ran.err


def test_a_question_to_an_empty_library_is_answered_without_a_model(carrel: Carrel, empty: Library) -> None:
    """No evidence is an answer, and needs no model to be configured."""
    ran = carrel("ask", "How is reward hacking studied?", "--json", at=empty.folder)
    assert ran.code == 0
    answer = json.loads(ran.out)
    assert (answer["outcome"], answer["report"]["model_calls"], answer["model"]) == ("no evidence", 0, None)
    assert "No evidence" in carrel("ask", "How is reward hacking studied?").out


def test_a_replayed_answer_has_the_promised_shape_and_loads_nothing_heavy(folder: Path) -> None:
    """The demo's question on its recording: one JSON document, quotes with their sentences, said to be from notes."""
    question = "How do these papers give credit to single steps or tokens instead of only the final answer?"
    words = ["ask", question, "--keywords", "--count", "12", "--replay", str(EXAMPLE / "recordings"), "--json"]
    script = (
        "import sys; from assistant.cli.base import run, commands\n"
        f"assert run(commands, {words!r}) == 0\n"
        "assert not {'litellm', 'chromadb', 'onnxruntime', 'tenacity'} & sys.modules.keys()"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False, env=os.environ)  # noqa: S603
    assert ran.returncode == 0, ran.stderr
    answer = json.loads(ran.stdout)
    assert set(answer) == {"question", "outcome", "statements", "report", "model", "tokens", "cost_usd", "note"}
    assert answer["outcome"] == "answered"
    assert set(answer["statements"][0]) == {"text", "cites", "marks"}
    assert {"key", "sentences", "quote"} <= set(answer["statements"][0]["cites"][0])
    assert set(answer["report"]) == {
        "statements", "checked_by_code", "checked_by_model", "not_checked", "blocked", "marked", "model_calls"
    }  # fmt: skip
    assert "our notes" in answer["note"]


def test_a_replay_without_the_recording_says_how_to_record(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """Strict: no reply is made up."""
    ran = carrel("ask", "How is reward hacking studied in gridworlds?", "--keywords", "--replay", tmp_path, at=folder)
    assert ran.code == 65
    assert "--record" in ran.err


def test_a_wrong_setting_is_named(carrel: Carrel, folder: Path) -> None:
    """A misspelt name lists the known ones; a wrong type says the right one."""
    (folder / "carrel.toml").write_text('[model]\nnmae = "x"\n', "utf-8")
    assert "model.name" in carrel("settings", at=folder).err
    (folder / "carrel.toml").write_text('[model]\ndeadline_s = "soon"\n', "utf-8")
    ran = carrel("settings", at=folder)
    assert (ran.code, "a number" in ran.err) == (78, True)


def test_the_settings_of_a_new_library_are_all_there_as_comments(carrel: Carrel, tmp_path: Path) -> None:
    """Every setting stands in carrel.toml with its default and what it does."""
    carrel("init", tmp_path / "r")
    text = (tmp_path / "r" / "carrel.toml").read_text("utf-8")
    assert "# name = " in text
    assert "# usd = 0" in text
    assert carrel("settings", at=tmp_path / "r").code == 0


@pytest.mark.parametrize("words", [("--help",), ("papers",), ("papers", "--json"), ("search", "reward", "--keywords"), ("show", "qian2025toolrl")])
def test_light_commands_load_nothing_heavy(folder: Path, words: tuple[str, ...]) -> None:
    """Neither litellm nor chromadb nor onnxruntime, so they start at once."""
    script = (
        "import sys; from assistant.cli.base import run, commands\n"
        f"assert run(commands, {list(words)!r}) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True, env=os.environ)  # noqa: S603
    assert ran.stderr.strip().splitlines()[-1] == "[]"
