"""The commands of the library: their JSON, their exit codes, and what they say when something is wrong."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from store.library import Library
from tests.conftest import EXAMPLE, EXAMPLE_FILES, Carrel

HEAVY = ("litellm", "chromadb", "onnxruntime", "pydantic")
PAPER = {
    "key": str, "aliases": list, "title": str, "authors": list, "author_count": (int, type(None)), "organization": str, "date": str,
    "date_inferred": bool, "venue": str, "abstract": str, "language": str, "translations": dict, "identifiers": dict, "categories": list,
    "keywords": list, "tags": list, "status": str, "sources": list,
}  # fmt: skip
KEY = "qian2025toolrl"


def told(carrel: Carrel, *words: str | Path, at: Path | None = None, code: int = 0) -> Any:
    """What a command with `--json` prints: one document and nothing else."""
    ran = carrel(*words, "--json", at=at)
    assert ran.code == code, ran.err
    return json.loads(ran.out)


def dump(folder: Path) -> list[tuple[object, ...]]:
    """Every row of the library's tables."""
    library = Library(folder)
    tables = ("paper", "alias", "source", "text", "passage", "vector", "fingerprint", "undecided")
    rows = [tuple(row) for table in tables for row in library.catalog._db.execute(f"SELECT * FROM {table}")]
    library.close()
    return rows


# init


def test_init_makes_a_library_and_again_changes_nothing(carrel: Carrel, tmp_path: Path) -> None:
    """Settings, database and a .gitignore for what is derived; what a person edited since stays."""
    assert carrel("init", tmp_path / "r").code == 0
    assert {path.name for path in (tmp_path / "r").iterdir()} == {"carrel.toml", "library.sqlite", ".gitignore"}
    assert "index/" in (tmp_path / "r" / ".gitignore").read_text("utf-8")
    (tmp_path / "r" / "carrel.toml").write_text("# mine\n", "utf-8")
    again = carrel("init", tmp_path / "r")
    assert (again.code, "already" in again.err) == (0, True)
    assert (tmp_path / "r" / "carrel.toml").read_text("utf-8") == "# mine\n"


def test_init_takes_the_folder_it_stands_in(carrel: Carrel, tmp_path: Path) -> None:
    """Without a name, here; and a .gitignore that is there stays."""
    (tmp_path / ".gitignore").write_text("*.pdf\n", "utf-8")
    assert carrel("init", at=tmp_path).code == 0
    assert (tmp_path / "library.sqlite").exists()
    assert (tmp_path / ".gitignore").read_text("utf-8") == "*.pdf\n"


def test_init_where_no_folder_can_be_is_73(carrel: Carrel, tmp_path: Path) -> None:
    """Below a file there is no folder."""
    (tmp_path / "file").touch()
    ran = carrel("init", tmp_path / "file" / "r")
    assert ran.code == 73
    assert "another folder" in ran.err


# add


def test_add_as_json_has_the_promised_fields(carrel: Carrel, empty: Library) -> None:
    """For each file its format, the counts, and what was refused."""
    report = told(carrel, "add", *EXAMPLE_FILES, at=empty.folder)
    assert list(report) == ["files"]
    assert all(list(one) == ["file", "format", "new", "merged", "unchanged", "refused"] for one in report["files"])
    assert [one["new"] for one in report["files"]] == [12, 12, 5, 7]
    assert [one["format"] for one in report["files"]] == ["keyword-digest", "daily-papers", "abstract-links", "bibtex"]
    assert empty.catalog.count() == 36


def test_adding_twice_changes_no_row(carrel: Carrel, folder: Path) -> None:
    """Neither under the same name, nor under another, nor pasted."""
    before = dump(folder)
    assert "0 new, 0 merged, 12 unchanged" in carrel("add", *EXAMPLE_FILES, at=folder).out
    other = folder.parent / "copy.txt"
    other.write_bytes((EXAMPLE / "digest.txt").read_bytes())
    assert carrel("add", other).code == 0
    assert carrel("add", "-", pasted=(EXAMPLE / "abstracts.txt").read_text("utf-8")).code == 0
    assert dump(folder) == before


def test_a_folder_adds_its_files(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """In order of name, hidden ones left alone."""
    (tmp_path / "in").mkdir()
    for name, source in (("b.bib", "reading-list.bib"), ("a.txt", "abstracts.txt"), (".hidden", "digest.txt")):
        (tmp_path / "in" / name).write_bytes((EXAMPLE / source).read_bytes())
    report = told(carrel, "add", tmp_path / "in", at=empty.folder)
    assert [(Path(one["file"]).name, one["new"]) for one in report["files"]] == [("a.txt", 5), ("b.bib", 7)]


@pytest.mark.parametrize("content", [b"", b" \n", b"\x89PNG\r\n\x1a\n\0\0", b"PK\x03\x04rest", b"nothing of this kind\n", None])
def test_a_file_with_nothing_to_import_is_65(carrel: Carrel, empty: Library, tmp_path: Path, content: bytes | None) -> None:
    """Its name in the message and in the JSON, for an empty, binary, unknown or missing file."""
    path = tmp_path / "thing.txt"
    if content is not None:
        path.write_bytes(content)
    ran = carrel("add", path, "--json", at=empty.folder)
    assert ran.code == 65
    assert "thing.txt" in ran.err
    (one,) = json.loads(ran.out)["files"]
    assert (one["file"], one["format"], one["new"], one["merged"], one["unchanged"]) == (str(path), "", 0, 0, 0)
    assert "thing.txt" in one["refused"][0]["reason"]
    assert empty.catalog.count() == 0


def test_nothing_pasted_is_65(carrel: Carrel, empty: Library) -> None:
    """And says where it came from."""
    ran = carrel("add", "-", at=empty.folder, pasted="")
    assert ran.code == 65
    assert "standard input" in ran.err


def test_an_empty_folder_is_65_and_is_named(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """The message says which folder held nothing."""
    (tmp_path / "hollow").mkdir()
    ran = carrel("add", tmp_path / "hollow", at=empty.folder)
    assert ran.code == 65
    assert "hollow" in ran.err


def test_some_failed_is_1_and_the_rest_is_in(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """A refused record or an unreadable file among others; each is told with its line."""
    (tmp_path / "b.bib").write_text("@misc{a, title={A Good Entry Here}}\n@misc{b, title={Broken\n", "utf-8")
    ran = carrel("add", tmp_path / "b.bib", "--json", at=empty.folder)
    assert ran.code == 1
    (one,) = json.loads(ran.out)["files"]
    assert (one["new"], [refused["line"] for refused in one["refused"]]) == (1, [2])
    assert "b.bib:2: " in ran.err
    assert carrel("add", tmp_path / "none.txt", EXAMPLE / "abstracts.txt").code == 1
    assert empty.catalog.count() == 6


def test_a_year_and_a_note_can_be_told(carrel: Carrel, empty: Library, tmp_path: Path) -> None:
    """`--year` dates a page that prints none; `--note` says whose words the texts are."""
    page = "Daily Papers\n\nA Paper on Bridges\n\nWe study bridges. They hold well.\n\n  • 5 authors\n·\nMay 13\n"
    (tmp_path / "page.txt").write_text(page, "utf-8")
    assert carrel("add", tmp_path / "page.txt", "--year", "2025", "--note", at=empty.folder).code == 0
    (paper,) = told(carrel, "papers")
    assert (paper["date"], paper["date_inferred"], paper["sources"][0]["kind"]) == ("2025-05-13", False, "note")
    assert carrel("add", tmp_path / "page.txt", "--year", "soon").code == 2


# papers


def test_papers_as_json_has_the_promised_fields_and_types(carrel: Carrel, folder: Path) -> None:
    """Every field of every paper, in order of key, and each source with its file and line."""
    papers = told(carrel, "papers", at=folder)
    assert [paper["key"] for paper in papers] == sorted(paper["key"] for paper in papers)
    assert len(papers) == 36
    for paper in papers:
        assert list(paper) == list(PAPER)
        assert all(isinstance(paper[name], kind) for name, kind in PAPER.items())
        assert all({"file", "format", "line", "time", "kind", "raw"} == set(source) for source in paper["sources"])
        assert all(source["line"] > 0 for source in paper["sources"])
    assert sum("zh" in paper["translations"] for paper in papers) == 12
    assert set(papers[0]["translations"].get("zh", {"title": "", "abstract": ""})) == {"title", "abstract"}


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--source", "digest.txt"), 12),
        (("--source", "digest.txt", "--source", "abstracts.txt"), 17),
        (("--source", "digest.txt", "--since", "2027"), 0),
        (("--key", KEY), 1),
        (("--status", "candidate"), 36),
        (("--tag", "none has it"), 0),
        (("--until", "1999"), 0),
    ],
)
def test_papers_can_be_filtered(carrel: Carrel, folder: Path, words: tuple[str, ...], count: int) -> None:
    """By file, date, key, status and tag; nothing that fits is an empty list and no error."""
    assert len(told(carrel, "papers", *words, at=folder)) == count
    assert f"{count} papers" in carrel("papers", *words).out


def test_what_was_merged_is_listed_with_the_reason(carrel: Carrel, folder: Path) -> None:
    """`--duplicates` shows the sources of a paper that two files hold, and nothing of the others."""
    carrel("add", "-", at=folder, pasted="@misc{mine, title={ToolRL: Reward is All Tool Learning Needs}, note={read}}")
    out = carrel("papers", "--duplicates").out
    assert KEY in out
    assert "standard input:1 (bibtex): same title" in out
    assert out.count("\n") == 3


# show


def test_show_as_json_is_the_paper_and_its_texts(carrel: Carrel, folder: Path) -> None:
    """Each sentence with its number and positions, which cut it from the abstract that is shown beside it."""
    shown = told(carrel, "show", KEY, at=folder)
    assert list(shown) == [*PAPER, "texts"]
    assert [text["text"] for text in shown["texts"]] == ["title", "abstract"]
    sentences = shown["texts"][1]["sentences"]
    assert [one["number"] for one in sentences] == list(range(1, len(sentences) + 1))
    assert all(shown["abstract"][one["start"] : one["end"]] == one["text"] for one in sentences)
    assert len(sentences) > 3


def test_show_prints_numbered_sentences_in_both_languages(carrel: Carrel, folder: Path) -> None:
    """As citations name them, and an alias names the paper too."""
    key = told(carrel, "papers", "--source", "digest.txt", at=folder)[0]["key"]
    shown, printed = told(carrel, "show", key), carrel("show", key).out
    for role in ("abstract", "abstract:zh"):
        (text,) = [text for text in shown["texts"] if text["text"] == role]
        assert all(f"{one['number']:>4}  {one['text']}\n" in printed for one in text["sentences"])
    carrel("add", "-", pasted=f"@misc{{Mine26, title={{{shown['title']}}}}}")
    assert told(carrel, "show", key)["key"] == "Mine26"


# search


def test_search_as_json_has_the_promised_fields(carrel: Carrel, folder: Path) -> None:
    """Hits in order, each with who found it and a passage of whole sentences; `role` and `note` where it is no abstract of the authors."""
    found = told(carrel, "search", "reward hacking", "-n", "5", at=folder)
    assert list(found) == ["query", "hits"]
    assert found["query"] == "reward hacking"
    assert len(found["hits"]) == 5
    scores = [hit["score"] for hit in found["hits"]]
    assert scores == sorted(scores, reverse=True)
    for hit in found["hits"]:
        assert list(hit) == ["key", "title", "score", "found_by", "passage"]
        assert hit["found_by"]
        assert set(hit["found_by"]) <= {"keywords", "vectors"}
        assert set(hit["passage"]) - {"role", "note"} == {"sentences", "text"}
        assert hit["passage"].get("role") != "abstract"
        assert hit["score"] == round(hit["score"], 4)


def test_search_by_keywords_exactly_and_filtered(carrel: Carrel, folder: Path) -> None:
    """The keyword ranking alone says so; the exact scan agrees with the search; a filter holds."""
    by_words = told(carrel, "search", "reward hacking", "--keywords", at=folder)["hits"]
    assert {name for hit in by_words for name in hit["found_by"]} == {"keywords"}
    assert by_words[0]["score"] == 1.0
    assert told(carrel, "search", "reward hacking", "--exact") == told(carrel, "search", "reward hacking")
    assert [hit["key"] for hit in told(carrel, "search", "reward", "--key", KEY)["hits"]] == [KEY]


@pytest.mark.parametrize("query", ["xyzzyplugh", "", "…", '"(', "--"])
def test_nothing_found_is_no_error(carrel: Carrel, folder: Path, query: str) -> None:
    """Exit 0, an empty list, and a word of it at the terminal."""
    ran = carrel("search", "--keywords", "--json", "--", query, at=folder)
    assert (ran.code, json.loads(ran.out)["hits"]) == (0, [])
    plain = carrel("search", "--keywords", "--", query)
    assert (plain.code, plain.out, "nothing found" in plain.err) == (0, "", True)


def test_a_chinese_query_finds_the_chinese_abstract(carrel: Carrel, folder: Path) -> None:
    """And the passage says that it is the translation's."""
    hit = told(carrel, "search", "回合级信息势奖励塑形", at=folder)["hits"][0]
    assert hit["key"] == "xie2026tips"
    assert hit["passage"]["role"] == "abstract:zh"


# index


def test_index_builds_then_finds_it_good(carrel: Carrel, folder: Path) -> None:
    """`--check` changes nothing; a new paper makes it stale; the recall against the scan is told."""
    fields = {"vectors", "good", "rebuilt", "recall_at_10"}
    unbuilt = told(carrel, "index", "--check", at=folder)
    assert (set(unbuilt), unbuilt["good"], unbuilt["rebuilt"], unbuilt["recall_at_10"]) == (fields, False, False, None)
    assert not (folder / "index" / "manifest.json").exists()
    built = told(carrel, "index")
    assert (built["good"], built["rebuilt"], built["vectors"] >= 36, built["recall_at_10"] >= 0.99) == (True, True, True, True)
    assert told(carrel, "index") == built | {"rebuilt": False}
    carrel("add", "-", pasted="@misc{new, title={A New Paper}, abstract={It is new.}}")
    assert told(carrel, "index", "--check")["good"] is False
    assert told(carrel, "index")["vectors"] == built["vectors"] + 1


def test_index_without_an_embedder_says_how_to_get_one(carrel: Carrel, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, no traceback; and a search there still answers by keywords."""
    monkeypatch.setenv("CARREL_EMBEDDER", "none")
    ran = carrel("index", at=folder)
    assert ran.code == 1
    assert "carrel embedder install" in ran.err
    assert {name for hit in told(carrel, "search", "reward")["hits"] for name in hit["found_by"]} == {"keywords"}


def test_a_library_without_an_embedder_says_so_once(carrel: Carrel, empty: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the first add, and not again."""
    monkeypatch.setenv("CARREL_EMBEDDER", "none")
    assert "keywords alone" in carrel("add", EXAMPLE / "abstracts.txt", at=empty.folder).err
    assert "keywords alone" not in carrel("add", EXAMPLE / "digest.txt").err


# everything


@pytest.mark.parametrize("words", [("show", "nobody2020x"), ("papers", "--key", "nobody2020x"), ("search", "x", "--key", "nobody2020x")])
def test_an_unknown_key_is_2(carrel: Carrel, folder: Path, words: tuple[str, ...]) -> None:
    """And is named, with nothing on standard output."""
    ran = carrel(*words, "--json", at=folder)
    assert (ran.code, ran.out) == (2, "")
    assert "nobody2020x" in ran.err


@pytest.mark.parametrize("words", [("papers",), ("show", KEY), ("search", "x"), ("index",), ("add", EXAMPLE / "digest.txt")])
def test_no_library_is_2(carrel: Carrel, tmp_path: Path, words: tuple[str, ...]) -> None:
    """It says how to make one, and makes none itself."""
    ran = carrel(*words, at=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "carrel init" in ran.err
    assert not list(tmp_path.iterdir())


def test_a_library_is_found_from_below_and_by_name(carrel: Carrel, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a folder inside it, by `--library`, and by the environment."""
    (folder / "drafts" / "deep").mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    here = told(carrel, "papers", at=folder / "drafts" / "deep")
    ran = carrel("--library", folder, "papers", "--json", at=elsewhere)
    assert json.loads(ran.out) == here
    monkeypatch.setenv("CARREL_LIBRARY", str(folder))
    assert told(carrel, "papers") == here


@pytest.mark.parametrize("words", [("search",), ("show",), ("add",), ("search", "x", "-n", "0"), ("papers", "--nosuch")])
def test_wrong_words_are_2(carrel: Carrel, folder: Path, words: tuple[str, ...]) -> None:
    """A missing argument, a count of nothing, an option that nobody knows."""
    ran = carrel(*words, at=folder)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage" in ran.err


@pytest.mark.parametrize(
    "words", [("--help",), ("add", "--help"), ("papers",), ("papers", "--json"), ("search", "reward", "--keywords"), ("search", "reward", "--keywords", "--json")]
)
def test_light_commands_start_without_the_slow_libraries(folder: Path, words: tuple[str, ...]) -> None:
    """Neither a model's, nor the index's, nor the embedder's."""
    script = (
        "import sys; from assistant.cli import main\n"
        f"sys.argv = ['carrel', *{list(words)!r}]\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n"
        f"    print(end.code, [name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=True, env=os.environ)
    assert ran.stderr.strip().splitlines()[-1] == "0 []"
    assert ran.stdout
