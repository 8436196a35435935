"""`carrel table`: columns given, proposed and edited, cells set by hand, one wording for one value, and every way to look at a table."""

import csv
import io
import json
import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from pathlib import Path

import openpyxl
import pytest

from assistant.cli import model
from assistant.document import Cell, Cite, Column, Document, Measure, Row
from assistant.errors import KeyOrQuota, SettingsError, UsageError
from assistant.files import read_columns, with_columns
from assistant.gateway import Gateway, Request
from assistant.tables import ByHand as SetByHand
from assistant.tables import Wordings, alike, given_value, read_decisions, with_cell, with_mapping, without_cell
from assistant.tasks import views
from assistant.wording import render
from store.library import Library
from tests.assistant import providers
from tests.assistant.gateway import stub_server as behave
from tests.assistant.gateway.stub_server import Handler, Stub
from tests.assistant.test_resume import CONCURRENCY, started, until
from tests.assistant.test_tasks import Answer, ByHand
from tests.conftest import Carrel

Value = str | float | bool | list[str] | None
COLUMNS = """# mine, and to be kept
[[column]]
id = "signal"      # the first
name = "Signal"
question = "Where does the reward come from?"

[[column]]
id = "gain"
name = "Gain"
question = "By how much does it improve?"
type = "number"
"""


def asked_for(request: Request) -> tuple[list[int], list[str]]:
    """The numbers of the papers and the ids of the columns that a prompt shows."""
    prompt = request.messages[1].content
    return [int(number) for number in re.findall(r"^<<<paper (\d+) ", prompt, re.MULTILINE)], re.findall(r'^- id "([^"]+)":', prompt, re.MULTILINE)


def titles(request: Request) -> dict[int, str]:
    """The title under each number of a prompt."""
    return {int(number): title for number, title in re.findall(r"^\[(\d+)\.0\] (.*)$", request.messages[1].content, re.MULTILINE)}


def cell(number: int, value: Value, status: str = "stated") -> dict[str, object]:
    return {"status": status, "value": value, "sentences": [f"{number}.1"] if status in {"stated", "absent"} else []}


class Reader:
    """A model that fills every cell as `says` says for a title and a column; other prompts get `others`."""

    def __init__(self) -> None:
        self.says: Callable[[str, str], Value] = lambda title, column: 3.0 if column == "gain" else f"{column} as told"
        self.others: dict[str, Answer] = {}

    def __call__(self, request: Request) -> Answer:
        for start, answer in self.others.items():
            if request.label.startswith(start):
                return answer
        numbers, columns = asked_for(request)
        title = titles(request)
        papers = []
        for number in numbers:
            values = {column: self.says(title.get(number, ""), column) for column in columns}
            papers.append({"paper": number, "cells": {name: cell(number, value, "not stated" if value is None else "stated") for name, value in values.items()}})
        return json.dumps({"papers": papers})


class Asked(ByHand):
    """A model by hand that is a Reader."""

    def __init__(self) -> None:
        self.reader = Reader()
        super().__init__(self.reader)

    @property
    def labels(self) -> list[str]:
        return [request.label for request in self.asked]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """That model in the place of the one of the settings."""
    by_hand = Asked()
    monkeypatch.setattr(model, "gateway_for", lambda library, settings, wanted: Gateway(by_hand))
    monkeypatch.setenv("CARREL_MODEL", "test/by-hand")
    yield by_hand


@pytest.fixture
def at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A library to work in, with the file of the table t."""
    monkeypatch.chdir(folder)
    (folder / "tables").mkdir()
    (folder / "tables" / "t.toml").write_text(COLUMNS, "utf-8")
    return folder


def table(carrel: Carrel, *words: str) -> dict[str, dict[str, dict[str, object]]]:
    """The cells of the table t as it is stored: by key, then by column."""
    ran = carrel("table", "t", "--json", *words)
    assert ran.code == 0, ran.err
    return {row["key"]: row["cells"] for row in json.loads(ran.out)["rows"]}


def keys(library: Path) -> list[str]:
    opened = Library(library)
    found = sorted(paper.key for paper in opened.papers())
    opened.close()
    return found


# Columns: given, with definitions, edited, proposed, reused


def test_the_prompt_of_columns_without_definitions_is_what_it_was() -> None:
    """To the byte, since recordings are replayed strictly."""
    columns = [Column("a", "A", "What?"), Column("b", "B", "Which?", "category", "", ("x", "y")), Column("c", "C", "How many?", "number", "%")]
    user = render("table/fill", None, language="en", papers=(), columns=columns, known={})[1].content
    assert user == (
        'Columns:\n- id "a": A — What?\n  type text\n- id "b": B — Which?\n  type category; one of: x; y; other\n- id "c": C — How many?\n  type number, in %\n'
    )


def test_words_have_definitions_which_the_prompt_shows(tmp_path: Path) -> None:
    """`vocabulary` and [[column.word]] go together; a word without a definition stands alone."""
    path = tmp_path / "t.toml"
    path.write_text(
        "[[column]]\nname = 'Signal'\nquestion = 'Where from?'\ntype = 'category'\nvocabulary = ['rule', 'judge']\n"
        "[[column.word]]\nname = 'judge'\ndefinition = 'a model rates the answer'\n[[column.word]]\nname = 'test'\ndefinition = 'programs are run'\n",
        "utf-8",
    )
    (column,) = read_columns(path)
    assert column.words == (("rule", ""), ("judge", "a model rates the answer"), ("test", "programs are run"))
    user = render("table/fill", None, language="en", papers=(), columns=[column], known={})[1].content
    assert '\n  type category\n  one of these words, by its definition, or "other" when none fits:\n  - rule\n  - judge: a model rates the answer\n' in user
    path.write_text(with_columns("", [column]), "utf-8")
    assert read_columns(path) == (column,)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ("question = '?'", "asks nothing"),
        ("question = 'What?'\nvocabulary = ['a', 'A']", "twice"),
        ("question = 'What?'\nvocabulary = ['a', '']", "empty word"),
        ("question = 'What?'\nword = ['a']", "column.word"),
        ("question = 'What?'\ntype = 'number'\nvocabulary = ['a']", "no word is a number"),
        ("question = 'What?'\nword = [{definition = 'x'}]", "name is missing"),
    ],
)
def test_a_column_that_means_nothing_is_named(tmp_path: Path, more: str, said: str) -> None:
    """A question without words, a vocabulary that cannot be told apart."""
    (tmp_path / "t.toml").write_text(f"[[column]]\nname = 'X'\n{more}\n", "utf-8")
    with pytest.raises(SettingsError, match=said):
        read_columns(tmp_path / "t.toml")


def test_a_column_on_the_command_line_that_means_nothing_is_not_written(carrel: Carrel, at: Path) -> None:
    """The table goes on as it was; a new one is not begun."""
    before = (at / "tables" / "t.toml").read_text("utf-8")
    for name in ("t", "new"):
        ran = carrel("table", name, "--column", "Foo: ???", "--columns-only")
        assert (ran.code, "column" in ran.err, "(Foo): '???' asks nothing" in ran.err, "nothing was written" in ran.err) == (78, True, True, True), ran.err
    assert (at / "tables" / "t.toml").read_text("utf-8") == before
    assert not (at / "tables" / "new.toml").exists()
    assert not list((at / "tables").glob(".*.check"))


def test_a_column_that_no_paper_answers_is_said(carrel: Carrel, at: Path, asked: Asked) -> None:
    """A question that means nothing to a reader leaves the column silent, and the report names it."""
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else None
    ran = carrel("table", "t")
    assert "silent: Signal: none of 36 papers says anything" in ran.err


def test_a_broken_file_is_named_with_its_line(carrel: Carrel, at: Path) -> None:
    """And left as it is, whatever the command wanted to write there."""
    broken = COLUMNS.replace('"Gain"', '"Gain')
    (at / "tables" / "t.toml").write_text(broken, "utf-8")
    for words in ((), ("--column", "More: what more?"), ("--set", "x", "gain=3"), ("--show",)):
        ran = carrel("table", "t", *words)
        assert ran.code in {2, 78}
        assert ran.code == 2 or ("t.toml" in ran.err and "line 9" in ran.err)
    assert (at / "tables" / "t.toml").read_text("utf-8") == broken


def test_a_column_on_the_command_line_may_have_a_type_a_unit_and_words(carrel: Carrel, at: Path, asked: Asked) -> None:
    """And --columns-only asks for no cell."""
    ran = carrel("table", "u", "--column", "Gain (number in %): how much?", "--column", "Kind (category; rule, judge): which kind?", "--columns-only")
    assert (ran.code, asked.asked) == (0, [])
    columns = read_columns(at / "tables" / "u.toml")
    assert [(one.type, one.unit, one.vocabulary) for one in columns] == [("number", "%", ()), ("category", "", ("rule", "judge"))]


def test_an_edited_column_is_refilled_alone(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Only that column is asked, of all papers; the other cells and the comments stay."""
    assert carrel("table", "t").code == 0
    first = len(asked.asked)
    before = table(carrel)
    asked.reader.says = lambda title, column: "otherwise"
    path = at / "tables" / "t.toml"
    path.write_text(path.read_text("utf-8").replace("Where does the reward come from?", "Who gives the reward?"), "utf-8")
    assert carrel("table", "t").code == 0
    assert [asked_for(request)[1] for request in asked.asked[first:]] == [["signal"]] * 3
    after = table(carrel)
    assert {cells["signal"]["value"] for cells in after.values()} == {"otherwise"}
    assert [cells["gain"] for cells in after.values()] == [cells["gain"] for cells in before.values()]
    assert "# mine, and to be kept" in path.read_text("utf-8")


def test_a_set_of_columns_is_used_again(carrel: Carrel, at: Path, asked: Asked) -> None:
    """--like takes another table's columns and not its cells set by hand; the table's own cells stay."""
    key = keys(at)[0]
    assert carrel("table", "t", "--set", key, "gain=4").code == 0
    assert carrel("table", "u", "--like", "t", "--columns-only").code == 0
    assert read_columns(at / "tables" / "u.toml") == read_columns(at / "tables" / "t.toml")
    assert read_decisions(at, "u").by_hand == ()
    assert carrel("table", "t", "--columns", at / "tables" / "u.toml", "--columns-only").code == 0
    assert [one.value for one in read_decisions(at, "t").by_hand] == [4.0]
    ran = carrel("table", "u", "--like", "nothing")
    assert (ran.code, "there is no table 'nothing'" in ran.err) == (2, True)


PROPOSED = {
    "columns": [
        {"name": "Reward", "question": "Who or what gives the reward?", "type": "category", "vocabulary": [
            {"name": "rule", "definition": "A program checks the answer."}, {"name": "judge", "definition": "A model rates it."}, {"name": "other", "definition": "x"}]},
        {"name": "Scale", "question": "How many parameters has the model?", "type": "number", "unit": "parameters"},
    ]
}  # fmt: skip


def test_columns_are_proposed_for_an_intent_and_filled(carrel: Carrel, at: Path, asked: Asked) -> None:
    """A table that has no file gets one; the words have definitions, and "other" is none of them."""
    asked.reader.others = {"table/columns": json.dumps(PROPOSED)}
    asked.reader.says = lambda title, column: "rule" if column == "reward" else None
    ran = carrel("table", "new", "--intent", "how is reward obtained and verified?")
    assert ran.code == 0, ran.err
    first, second = read_columns(at / "tables" / "new.toml")
    assert (first.vocabulary, first.definitions, second.unit) == (("rule", "judge"), ("A program checks the answer.", "A model rates it."), "parameters")
    assert "how is reward obtained and verified?" in asked.asked[0].messages[1].content
    assert len(asked_for(asked.asked[0])[0]) == 24
    assert "24 of the 36 papers" in asked.asked[0].messages[1].content
    assert asked.labels[0] == "table/columns--new"
    assert all(label.startswith("table/fill--new") for label in asked.labels[1:])


def test_columns_for_a_table_that_has_some_stand_beside_it(carrel: Carrel, at: Path, asked: Asked) -> None:
    """The person's file is untouched until --accept, which keeps their columns and comments; --undo takes it back."""
    path, beside = at / "tables" / "t.toml", at / "tables" / "t.proposed.toml"
    asked.reader.others = {"table/columns": json.dumps(PROPOSED)}
    ran = carrel("table", "t", "--intent", "rewards")
    assert (ran.code, len(asked.asked)) == (0, 1)
    assert "--accept" in ran.err
    assert "- Signal: Where does the reward come from?" in asked.asked[0].messages[1].content
    assert path.read_text("utf-8") == COLUMNS
    assert [column.id for column in read_columns(beside)] == ["reward", "scale"]
    assert carrel("table", "t", "--accept").code == 0
    assert [column.id for column in read_columns(path)] == ["signal", "gain", "reward", "scale"]
    assert path.read_text("utf-8").startswith('# mine, and to be kept\n[[column]]\nid = "signal"      # the first')
    assert not beside.exists()
    assert carrel("table", "t", "--accept").code == 2
    assert carrel("table", "t", "--undo").code == 0
    assert path.read_text("utf-8") == COLUMNS


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"name": "Signal"}, "the table has a column of that name"),
        ({"question": "Reward?"}, "asks nothing"),
        ({"vocabulary": []}, "vocabulary of two words"),
        ({"vocabulary": [{"name": "a", "definition": ""}, {"name": "b", "definition": "x"}]}, "no definition"),
        ({"question": "Is it as Smith et al. (2021) say?"}, "free form"),
    ],
)
def test_a_proposal_with_faults_is_asked_for_again_then_refused(carrel: Carrel, at: Path, asked: Asked, changed: dict[str, object], said: str) -> None:
    """The fault is named to the model and to the person; no file is written."""
    asked.reader.others = {"table/columns": json.dumps({"columns": [PROPOSED["columns"][0] | changed]})}
    ran = carrel("table", "t", "--intent", "rewards")
    assert (ran.code, len(asked.asked)) == (1, 2)
    assert said in ran.err
    assert said in asked.asked[1].messages[-1].content
    assert not (at / "tables" / "t.proposed.toml").exists()


# Cells: packs, by hand, words that fit nobody


def test_a_vocabulary_that_no_paper_fits_is_said(carrel: Carrel, at: Path, asked: Asked) -> None:
    """After filling, in the report; a column whose words fit somebody is not mentioned."""
    asked.reader.says = lambda title, column: "other" if column == "crop" or "Gridworlds" not in title else "rule"
    ran = carrel("table", "u", "--column", "Crop (category; wheat, rye): which crop?", "--column", "Kind (category; rule, judge): which kind?")
    assert ran.code == 0
    assert "vocabulary: Crop: none of its words fits any paper (36 papers are 'other', 0 state nothing)" in ran.err
    assert "Kind: none" not in ran.err


def test_a_cell_set_by_hand_is_kept_over_every_rerun(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Marked as the person's, whatever is asked again; --unset shows what was read."""
    key = keys(at)[0]
    assert carrel("table", "t").code == 0
    ran = carrel("table", "t", "--set", key, "Signal=a program")
    assert (ran.code, ran.out, ran.err) == (0, "", f"{key}, Signal: a program, set by hand\n")
    assert table(carrel, "--set", key, "Gain=7")[key]["gain"]["value"] == 7
    assert carrel("table", "t", "--unset", key, "Gain").code == 0
    assert carrel("table", "t", "--again").code == 0
    cells = table(carrel)[key]
    assert (cells["signal"]["value"], cells["signal"]["by"], cells["gain"]["by"]) == ("a program", "person", "model")
    assert "a program (by hand)" in carrel("table", "t", "--show").out
    assert carrel("table", "t", "--set", key, "Signal=not stated").code == 0
    assert (table(carrel)[key]["signal"]["value"], table(carrel)[key]["signal"]["status"]) == (None, "not stated")
    assert carrel("table", "t", "--unset", key, "signal").code == 0
    assert table(carrel)[key]["signal"]["value"] == "signal as told"
    assert (at / "tables" / "t.toml").read_text("utf-8") == COLUMNS


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nobody2020x", "gain=3"), "nobody2020x"),
        (("cagatan2026reward", "gian=3"), "did you mean 'Gain'"),
        (("cagatan2026reward", "gain=much"), "is a number"),
        (("cagatan2026reward", "gain="), "write a value"),
        (("cagatan2026reward", "gain"), "COLUMN=VALUE"),
    ],
)
def test_a_cell_that_cannot_be_set_says_why(carrel: Carrel, at: Path, words: tuple[str, str], said: str) -> None:
    """Paper, column or value is named with the nearest there is; the file stays."""
    ran = carrel("table", "t", "--set", *words)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert (at / "tables" / "t.toml").read_text("utf-8") == COLUMNS


def test_a_cell_set_by_hand_whose_paper_or_column_is_gone_is_named_and_kept(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Nothing is lost: the file holds it, the report says it."""
    path = at / "tables" / "t.toml"
    lost = '\n[[cell]]\nkey = "gone2020x"\ncolumn = "gain"\nvalue = 3\n\n[[cell]]\nkey = "cagatan2026reward"\ncolumn = "colour"\nvalue = "red"\n'
    path.write_text(COLUMNS + lost, "utf-8")
    ran = carrel("table", "t")
    assert ran.code == 0
    assert "the library has no paper 'gone2020x'" in ran.err
    assert "the table has no column 'colour'" in ran.err
    assert path.read_text("utf-8") == COLUMNS + lost


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("number", "2.5", 2.5), ("number", "3 hours", 3.0), ("yes/no", "Yes", True), ("yes/no", "no", False),
        ("list", "MATH; AIME", ("MATH", "AIME")), ("text", "a = b", "a = b"),
    ],
)  # fmt: skip
def test_what_a_person_writes_is_read_in_the_type_of_the_column(kind: str, said: str, value: object) -> None:
    """Numbers with or without unit, yes and no, lists parted by semicolons."""
    assert given_value(Column("c", "C", "What?", kind), said) == (value, "stated")


def test_a_word_outside_the_vocabulary_is_refused() -> None:
    """With the words that there are."""
    with pytest.raises(UsageError, match="rule; judge; other"):
        given_value(Column("c", "C", "What?", "category", "", ("rule", "judge")), "ruler")


def test_a_cell_is_put_in_and_taken_out_of_the_file_without_a_trace() -> None:
    """Comments and columns are as they were."""
    text = with_cell(COLUMNS, SetByHand("k", "gain", 3.0))
    assert with_cell(text, SetByHand("k", "gain", 4.0)).count("[[cell]]") == 1
    assert without_cell(text, "k", "gain") == (COLUMNS, True)


# One wording for one value


def test_wordings_that_are_alike_are_one_and_figures_are_never() -> None:
    """Case, hyphens, plural; another number or sign is another wording."""
    assert alike("Verifiable rewards") == alike("verifiable-reward")
    assert alike("policy optimisation") == alike("Policy Optimization")
    assert alike("code generation") != alike("code generator")
    assert alike("noise") == "noise||"
    assert alike("7B") != alike("8B")
    assert alike("C") != alike("C++")
    assert alike("81.3%") != alike("81.3")


def test_spellings_become_one_by_code_and_no_model_is_asked(carrel: Carrel, at: Path, asked: Asked) -> None:
    """The mapping is a file to edit; the wording that was read stays in `raw`; a later paper follows the mapping."""
    words = ["verifiable reward", "Verifiable Rewards", "verifiable-rewards", "learned judge"]
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else words[len(title) % 4]
    assert carrel("table", "t").code == 0
    asked.asked.clear()
    ran = carrel("table", "t", "--tidy")
    assert (ran.code, asked.asked) == (0, []), ran.err
    path = at / "tables" / "t.mapping.toml"
    cells = [one["signal"] for one in table(carrel).values()]
    shown = {str(one["value"]) for one in cells}
    assert len(shown) == 2
    assert {str(one["raw"]) for one in cells} == set(words)
    best = (shown - {"learned judge"}).pop()
    path.write_text(path.read_text("utf-8").replace(f'"{best}"', '"RLVR"'), "utf-8")
    assert "RLVR" in {one["signal"]["value"] for one in table(carrel).values()}
    assert read_decisions(at, "t").wordings["signal"].value("VERIFIABLE REWARDS") == "RLVR"


def test_undo_takes_back_the_mapping_too(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Whichever changed last: a cell set by hand, then the mapping that --tidy made, which is gone as it was before."""
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else ["verifiable reward", "Verifiable Rewards"][len(title) % 2]
    assert carrel("table", "t").code == 0
    assert carrel("table", "t", "--tidy").code == 0
    mapping, columns = at / "tables" / "t.mapping.toml", at / "tables" / "t.toml"
    before = columns.read_text("utf-8")
    assert carrel("table", "t", "--set", keys(at)[0], "Signal=mine").code == 0
    assert carrel("table", "t", "--undo").code == 0
    assert (columns.read_text("utf-8"), mapping.exists()) == (before, True)
    ran = carrel("table", "t", "--undo")
    assert "t.mapping.toml is gone, as it was before" in ran.err
    assert (columns.read_text("utf-8"), mapping.exists()) == (before, False)
    assert len({one["signal"]["value"] for one in table(carrel).values()}) == 2


MANY = ["PPO", "proximal policy optimization", "GRPO", "group-relative policy optimisation", "DPO", "SFT", "RLOO", "REINFORCE", "search", "distillation", "ReST", "DAgger"]


def groups(request: Request, *together: tuple[str, tuple[str, ...]]) -> str:
    """A reply that puts wordings of a prompt together."""
    numbers = {text: int(number) for number, text in re.findall(r"^(\d+)\. (.*) \(\d+\)$", request.messages[1].content, re.MULTILINE)}
    return json.dumps({"values": [{"value": value, "definition": "d", "wordings": [numbers[text] for text in some]} for value, some in together]})


def test_many_values_are_put_to_a_model_once_a_column(carrel: Carrel, at: Path, asked: Asked) -> None:
    """One call; the next proposal leaves the person's mapping alone, stands beside it and is taken with --accept."""
    reader = asked.reader
    reader.says = lambda title, column: 3.0 if column == "gain" else MANY[len(title) % 12]
    plain = Reader.__call__

    def answer(request: Request) -> Answer:
        if not request.label.startswith("table/tidy"):
            return plain(reader, request)
        return groups(request, ("PPO", ("PPO", "proximal policy optimization")), ("GRPO", ("GRPO", "group-relative policy optimisation")))

    asked.answers = answer
    assert carrel("table", "t").code == 0
    asked.asked.clear()
    ran = carrel("table", "t", "--tidy")
    assert (ran.code, asked.labels) == (0, ["table/tidy--t-signal"]), ran.err
    path = at / "tables" / "t.mapping.toml"
    first = path.read_text("utf-8")
    assert read_decisions(at, "t").wordings["signal"].values == {"group-relative policy optimisation": "GRPO", "proximal policy optimization": "PPO"}
    assert "proximal policy optimization" not in {one["signal"]["value"] for one in table(carrel).values()}

    asked.answers = lambda request: groups(request, ("imitation", ("SFT", "distillation"))) if "tidy" in request.label else plain(reader, request)
    assert carrel("table", "t", "--tidy").code == 0
    assert "- PPO\n- GRPO" in asked.asked[-1].messages[1].content or "- GRPO\n- PPO" in asked.asked[-1].messages[1].content
    assert path.read_text("utf-8") == first
    assert carrel("table", "t", "--accept").code == 0
    assert path.read_text("utf-8").startswith(first.rstrip("\n").split("[value")[0])
    assert read_decisions(at, "t").wordings["signal"].value("SFT") == "imitation"
    assert read_decisions(at, "t").wordings["signal"].value("proximal policy optimization") == "PPO"


def test_a_mapping_is_shown_to_the_reader_of_later_papers(carrel: Carrel, at: Path, asked: Asked) -> None:
    """The values in use stand in the prompt; without a mapping it is what it was."""
    key = keys(at)[0]
    assert carrel("table", "t", "--key", key).code == 0
    (at / "tables" / "t.mapping.toml").write_text('[value.signal]\n"a" = "program"\n"b" = "judge"\n', "utf-8")
    assert carrel("table", "t").code == 0
    assert "use it word for word" not in asked.asked[0].messages[1].content
    assert "where one of these says it, use it word for word: program; judge" in asked.asked[1].messages[1].content


def test_a_value_that_changes_a_number_is_not_taken() -> None:
    """A proposal never alters a figure, and a wording in two values is in none."""
    from assistant.tasks.tidy import ColumnWordings, TidyReply, ValueReply, Wording, _faults, _said

    texts = ("7B model", "7 billion parameters", "8B model", "a judge", "judges")
    job = ColumnWordings(Column("c", "C", "What?"), tuple(Wording(number, text, 1) for number, text in enumerate(texts, 1)), ())
    reply = TidyReply(values=[ValueReply(value="7B model", wordings=[1, 2, 3]), ValueReply(value="judge", wordings=[4, 5]), ValueReply(value="court", wordings=[5])])
    assert _said(job, reply) == {"7B model": "7B model", "7 billion parameters": "7B model", "a judge": "judge"}
    assert _faults(reply, job) == ["wording 5 is in 2 values", "value '7B model' has not the same numbers as '8B model'"]


@pytest.mark.parametrize(
    ("text", "said"),
    [("[values.signal]\n'a' = 'b'\n", "neither"), ("[value.signal]\n'a' = 3\n", "quotation"), ("value = 3\n", "write the wordings"), ("[value\n", "not valid TOML"), ("[unit]\ngain = 3\n", "write units")],
)  # fmt: skip
def test_a_bad_mapping_says_where(carrel: Carrel, at: Path, text: str, said: str) -> None:
    """File and place, exit 78, and no table is shown half mapped."""
    (at / "tables" / "t.mapping.toml").write_text(text, "utf-8")
    ran = carrel("table", "t", "--show")
    assert (ran.code, said in ran.err, "t.mapping.toml" in ran.err) == (78, True, True), ran.err


def test_lines_are_added_to_a_mapping_beside_a_persons_own() -> None:
    """A wording that has a value keeps it; comments stay."""
    mine = '# ours\n[value.signal]\n"a" = "A"  # decided in May\n'
    text = with_mapping(mine, {"signal": {"a": "Z", "b": "A"}, "task": {"x y": "z"}}, {"gain": "%"})
    assert "# decided in May" in text
    assert '"a" = "A"' in text
    assert 'b = "A"' in text
    assert '[value.task]\n"x y" = "z"' in text
    assert Wordings({"a": "A", "b": "A"}).shown == ("A",)


def test_numbers_sort_by_value_whatever_their_unit(carrel: Carrel, at: Path, asked: Asked) -> None:
    """A column of words that are figures becomes sortable: each with its unit and what it measures."""
    told = ["90 minutes of training", "2 hours of training", "1.5 hours on one GPU"]
    turns = cycle(told)
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else next(turns)
    assert carrel("table", "t").code == 0
    ran = carrel("table", "t", "--tidy")
    assert "signal: sorts as a number in hours" in ran.err
    numbers = {str(one["signal"]["raw"]): one["signal"]["number"] for one in table(carrel).values()}
    assert numbers[told[0]] == {"value": 1.5, "unit": "hours", "of": "of training"}
    assert numbers[told[2]] == {"value": 1.5, "unit": "hours", "of": "on one GPU"}


# Looked at: no model is asked


def made(*cells: dict[str, Cell], columns: tuple[Column, ...]) -> Document:
    """A table of these rows, with keys a, b, c, …"""
    return Document("table", "t", columns=columns, rows=tuple(Row("abcdefgh"[at], row) for at, row in enumerate(cells)))


def stated(value: str | float | bool | tuple[str, ...], quote: str = "", number: Measure | None = None) -> Cell:
    cites = (Cite("k", "abstract", (1,), quote, 1),) if quote else ()
    return Cell(value, value if isinstance(value, str) else str(value), "stated", cites=cites, number=number)


SILENT, HAS_NONE = Cell(None, "", "not stated"), Cell(None, "", "absent")
KIND = Column("kind", "Kind", "Which kind?", "category", "", ("rule", "judge", "oracle"))
TASK = Column("task", "Task", "Which tasks?", "list")
GAIN = Column("gain", "Gain", "How much?", "number")
SMALL = made(
    {"kind": stated("rule"), "task": stated(("code", "maths")), "gain": stated(3.0)},
    {"kind": stated("judge"), "task": stated(("code",)), "gain": SILENT},
    {"kind": SILENT, "task": stated(("vision",)), "gain": stated(20.0)},
    {"kind": HAS_NONE, "task": SILENT, "gain": stated(-1.0)},
    {},
    columns=(KIND, TASK, GAIN),
)


def shown_keys(document: Document) -> str:
    return "".join(row.key for row in document.rows)


def named(said: str) -> views.Field:
    return views.field_of(SMALL, said)


@pytest.mark.parametrize(("column", "up", "down"), [("gain", "dacbe", "cadbe"), ("Kind", "abdce", "badce"), ("task", "bacde", "cabde"), ("key", "abcde", "edcba")])
def test_rows_sort_by_number_by_vocabulary_and_by_word(column: str, up: str, down: str) -> None:
    """What a paper does not state comes last either way; one that has none of it stands between."""
    assert shown_keys(views.sorted_by(SMALL, named(column))) == up
    assert shown_keys(views.sorted_by(SMALL, named(column), downwards=True)) == down


@pytest.mark.parametrize(
    ("conditions", "keys"),
    [
        (["kind=rule"], "a"), (["Kind = Rules"], "a"), (["kind=JUDGE"], "b"), (["kind!=rule"], "bd"), (["kind=none"], "d"), (["kind=not stated"], "c"), (["kind!=not stated"], "abde"),
        (["gain>2"], "ac"), (["gain<=3"], "ad"), (["gain<0"], "d"), (["task=code"], "ab"), (["task~ision"], "c"), (["task=code", "gain>=3"], "a"), (["kind=nothing"], ""),
        (["kind=not read"], "e"),
    ],
)  # fmt: skip
def test_conditions_keep_the_rows_that_fit(conditions: list[str], keys: str) -> None:
    """A paper that states nothing fits neither `=` nor `!=`, unless just that is asked for."""
    assert shown_keys(views.where(SMALL, conditions, named)) == keys


def test_hours_and_minutes_compare() -> None:
    """A bound with a unit is held against numbers of its kind, whatever unit they are printed in."""
    times = (Measure(90, "minutes", "", "time", 5400), Measure(2, "hours", "", "time", 7200), Measure(3, "%", "", "percent", 3))
    document = made(*({"cost": stated("x", number=one)} for one in times), columns=(Column("cost", "Cost", "How long?"),))
    field = partial(views.field_of, document)
    assert shown_keys(views.where(document, ["cost<1.75 hours"], field)) == "a"
    assert shown_keys(views.where(document, ["cost>=90 min"], field)) == "ab"


@pytest.mark.parametrize(("condition", "said"), [("kin=rule", "did you mean 'Kind'"), ("kind", "COLUMN=value"), ("kind=", "COLUMN=value"), ("gain>much", "is no number"), ("kind>3", "has no numbers")])
def test_a_condition_that_cannot_be_says_why(condition: str, said: str) -> None:
    """Unknown columns with the nearest, comparisons with what is no number."""
    with pytest.raises(UsageError, match=said):
        views.where(SMALL, [condition], named)


def test_groups_hold_each_paper_under_each_of_its_values() -> None:
    """And those that tell none in a group of their own, last."""
    groups = views.grouped(SMALL, named("task")).groups
    assert [(group.heading, "".join(group.keys)) for group in groups] == [("code", "ab"), ("maths", "a"), ("vision", "c"), ("(not read)", "e"), ("(not stated)", "d")]


def test_counts_name_the_gaps_and_set_apart_what_is_not_stated() -> None:
    """A word of the vocabulary that no paper has is a gap; a silent paper is counted apart; none is a value of its own."""
    counts = views.counted(SMALL, named("kind"))
    assert [(tally.value, "".join(tally.keys)) for tally in counts.tallies] == [("rule", "a"), ("judge", "b"), ("none", "d")]
    assert counts.gaps == (("oracle", ""),)
    assert counts.apart == (("c", "Kind: not stated"), ("e", "Kind: not read"))


def test_a_cross_table_counts_pairs_and_names_those_that_no_paper_has() -> None:
    """A paper with several values counts in each."""
    counts = views.counted(SMALL, named("kind"), named("task"))
    assert {(tally.value, tally.by): "".join(tally.keys) for tally in counts.tallies} == {("rule", "code"): "a", ("rule", "maths"): "a", ("judge", "code"): "b"}
    assert ("judge", "vision") in counts.gaps
    assert not any("none" in pair for pair in counts.gaps)
    assert ("d", "Task: not stated") in counts.apart


def test_yes_against_no_is_a_disagreement_with_both_sentences() -> None:
    """A paper that says it has none says no; one that is silent takes no side."""
    column = Column("kl", "KL", "Is a KL penalty used?", "yes/no")
    document = made({"kl": stated(True, "We add a KL term.")}, {"kl": stated(False, "No KL term is used.")}, {"kl": SILENT}, {"kl": HAS_NONE}, columns=(column,))
    (found,) = views.disagreements(document)
    assert [(side.key, side.said) for side in found.sides] == [("a", "yes"), ("b", "no"), ("d", "no")]
    assert found.sides[1].cites[0].quote == "No KL term is used."
    assert views.disagreements(made({"kl": stated(True)}, {"kl": SILENT}, columns=(column,))) == []


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("81.3% accuracy on MATH", "79% accuracy on MATH", True), ("81.3% accuracy on MATH", "81.3 percent accuracy on MATH", False),
        ("81.3% accuracy on MATH", "79% accuracy on AIME", False), ("81.3% accuracy on MATH", "79 points accuracy on MATH", False),
        ("58.7% success rate", "24% success rate over the baselines on unseen tasks", False), ("trains in 2 hours on eight GPUs", "trains in 120 minutes on eight GPUs", False),
    ],
)  # fmt: skip
def test_numbers_disagree_where_measure_and_condition_are_the_same(one: str, other: str, differ: bool) -> None:
    """Another benchmark, another unit, or the same figure in another unit is no disagreement."""
    document = made({"r": stated(one, one)}, {"r": stated(other, other)}, columns=(Column("r", "R", "What came out?"),))
    assert [found.kind for found in views.disagreements(document)] == ["numbers"] * differ


def test_sentences_of_one_matter_in_opposite_directions_disagree() -> None:
    """More against less beside the same words; another matter is none, nor is a negation."""
    more = "Reasoning chains increase the accuracy of small models."
    less = "Reasoning chains decrease the accuracy of small models."
    other = "Shorter prompts decrease the cost of large retrieval systems."
    without = "Reasoning chains increase the accuracy of small models without any labels."
    document = made(*({"r": stated(text, text)} for text in (more, less, other, without)), columns=(Column("r", "R", "What came out?"),))
    assert [(found.kind, [side.key for side in found.sides]) for found in views.disagreements(document)] == [
        ("direction", ["a", "b"]), ("direction", ["b", "d"]),
    ]  # fmt: skip


def test_the_views_are_there_on_the_command_line_and_ask_no_model(carrel: Carrel, at: Path) -> None:
    """On a table that was never filled, with no model configured; what cannot be named ends with 2."""
    for words in (("--sort", "gain:desc"), ("--group", "signal"), ("--where", "gain=3"), ("--transpose",), ("--count", "signal", "--by", "gain"), ("--disagreements",), ("--diff",)):
        assert carrel("table", "t", *words).code == 0, words
        json.loads(carrel("table", "t", *words, "--json").out)
    for words, said in ((("--sort", "signl"), "did you mean 'Signal'"), (("--by", "gain"), "--count"), (("--group", "node:x"), "there is no tree 'x'"), (("--count", "colour"), "no column")):
        ran = carrel("table", "t", *words)
        assert (ran.code, said in ran.err) == (2, True), ran.err


def test_what_is_looked_at_is_written_too(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Counts with their gaps, disagreements and differences as Markdown, CSV, XLSX, LaTeX and JSON; a format that they have not is said."""
    turns = cycle(["kind | one", "=kind 2"])
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else next(turns)
    assert carrel("table", "t").code == 0
    every = [word for name in ("md", "csv", "xlsx", "tex", "json") for word in ("--to", name)]
    assert carrel("table", "t", "--count", "signal", "--by", "key", *every).code == 0
    place = at / "exports" / "t.count-signal-by-key"
    text = place.with_name(f"{place.name}.md").read_text("utf-8")
    assert re.search(r"^\| =kind 2 \| .*·", text, re.MULTILINE)
    assert "no paper of these 36 states both of" in text
    rows = list(csv.reader(io.StringIO(place.with_name(f"{place.name}.csv").read_text("utf-8-sig"))))
    assert rows[0][0] == "Signal by key"
    assert {row[0] for row in rows[1:3]} == {"kind | one", "'=kind 2"}
    assert "·" in {cell for row in rows[1:3] for cell in row}
    sheet = openpyxl.load_workbook(place.with_name(f"{place.name}.xlsx")).worksheets[0]
    assert sum(cell.value for row in sheet.iter_rows(min_row=2) for cell in row if isinstance(cell.value, int)) == sum(int(cell) for row in rows[1:3] for cell in row if cell.isdigit())
    tex = place.with_name(f"{place.name}.tex").read_text("utf-8")
    assert "$\\cdot$" in tex
    assert r"kind \textbar{} one" in tex
    assert json.loads(place.with_name(f"{place.name}.json").read_text("utf-8")) == json.loads(carrel("table", "t", "--count", "signal", "--by", "key", "--json").out)
    assert carrel("table", "t", "--disagreements", "--diff", "--to", "md").code == 0
    assert carrel("table", "t", "--disagreements", "--to", "md", "--to", "csv").code == 0
    assert "Code finds no two papers" in (at / "exports" / "t.disagreements.md").read_text("utf-8")
    assert "kind \\| one" in (at / "exports" / "t.diff.md").read_text("utf-8")
    ran = carrel("table", "t", "--count", "signal", "--to", "svg")
    assert (ran.code, "count Signal can be written as md, csv, xlsx, tex, json" in ran.err) == (2, True)


def test_grouped_and_transposed_tables_are_written_so(carrel: Carrel, at: Path, asked: Asked) -> None:
    """In Markdown a group has its heading, and a transposed table a column a paper; JSON has the groups beside the rows."""
    some = keys(at)[:2]
    scope = ("--key", some[0], "--key", some[1])
    turns = cycle(["kind of one", "kind of other"])
    asked.reader.says = lambda title, column: 3.0 if column == "gain" else next(turns)
    assert carrel("table", "t", *scope).code == 0
    carrel("table", "t", *scope, "--group", "signal", "--to", "md")
    text = (at / "exports" / "t.md").read_text("utf-8")
    assert len(re.findall(r"^\| \*\*kind of .*\*\* \|  \|  \|$", text, re.MULTILINE)) == 2
    carrel("table", "t", *scope, "--transpose", "--to", "md")
    assert "\n| Gain | 3 (R4!) | 3 (R4!) |\n" in (at / "exports" / "t.md").read_text("utf-8")
    document = json.loads(carrel("table", "t", *scope, "--group", "signal", "--json").out)
    assert sorted(key for group in document["groups"] for key in group["keys"]) == some


# What is different


def test_a_diff_says_what_new_papers_and_an_edited_column_changed(carrel: Carrel, at: Path, asked: Asked) -> None:
    """Cell by cell, old and new; a rerun with nothing to do leaves it standing."""
    first, second = keys(at)[:2]
    assert carrel("table", "t", "--diff").out.startswith("The table t has not been filled yet")
    assert carrel("table", "t", "--key", first).code == 0
    asked.reader.says = lambda title, column: "otherwise"
    path = at / "tables" / "t.toml"
    path.write_text(path.read_text("utf-8").replace("Where does the reward come from?", "Who gives the reward?").replace('type = "number"', 'type = "text"'), "utf-8")
    scope = ("--key", first, "--key", second)
    assert carrel("table", "t", *scope).code == 0
    assert carrel("table", "t", *scope).code == 0
    found = json.loads(carrel("table", "t", *scope, "--diff", "--json").out)
    assert (found["new_papers"], found["gone_papers"]) == ([second], [])
    assert [(one["column"], one["new"]) for one in found["columns"]] == [("signal", "Who gives the reward? (text)"), ("gain", "By how much does it improve? (text)")]
    assert [(one["key"], one["column"], one["old"], one["new"]) for one in found["cells"]] == [
        (first, "signal", "signal as told", "otherwise"), (first, "gain", "3", "otherwise"), (second, "signal", None, "otherwise"), (second, "gain", None, "otherwise"),
    ]  # fmt: skip
    assert "signal as told" in carrel("table", "t", *scope, "--diff").out


def test_a_diff_goes_back_to_before_a_run_that_broke_off(carrel: Carrel, at: Path, asked: Asked) -> None:
    """The rest of a run is not a run of its own."""
    plain = asked.answers
    calls = iter(range(99))
    asked.answers = lambda request: KeyOrQuota("no money left") if next(calls) else plain(request)  # type: ignore[operator]
    assert carrel("table", "t").code == 77
    asked.answers = plain
    assert carrel("table", "t").code == 0
    assert len(json.loads(carrel("table", "t", "--diff", "--json").out)["new_papers"]) == 36


# Scale


def test_300_papers_by_8_columns_take_25_calls_though_killed_in_the_middle(empty: Library, tmp_path: Path) -> None:
    """Packs of twelve; SIGKILL after ten of them, then the same command asks the rest and ends with every cell."""
    records = (f"@article{{paper{number:04d}, title={{On matter {number}}}, abstract={{We study matter {number}. It is so.}}}}" for number in range(300))
    (tmp_path / "many.bib").write_text("\n".join(records), "utf-8")
    empty.add(tmp_path / "many.bib")
    empty.close()
    columns = [f"column{number}" for number in range(8)]
    (empty.folder / "tables").mkdir()
    (empty.folder / "tables" / "t.toml").write_text("".join(f'[[column]]\nname = "{name}"\nquestion = "What of {name}?"\n' for name in columns), "utf-8")

    def fill(handler: Handler) -> None:
        time.sleep(0.05)
        prompt = handler.asked["messages"][-1]["content"]
        parts = [json.loads(providers.cells(prompt, name))["papers"] for name in columns]
        papers = [{"paper": same[0]["paper"], "cells": {name: value for one in same for name, value in one["cells"].items()}} for same in zip(*parts, strict=True)]
        behave.ok(json.dumps({"papers": papers}))(handler)

    stub = Stub()
    stub.then(fill)
    words = ("table", "t", "--yes", "--model", "plain/one", "--json", "--run")
    unpriced = started(empty.folder, stub, *[word for word in words if word != "--yes"])
    _, err = unpriced.communicate(timeout=60)
    assert (unpriced.returncode, stub.requests) == (2, 0)
    assert b"about 25 calls" in err
    run = started(empty.folder, stub, *words)
    until(stub, 10, run)
    run.kill()
    run.communicate()
    assert 10 <= stub.requests < 25
    out, err = (last := started(empty.folder, stub, *words)).communicate(timeout=60)
    stub.close()
    assert last.returncode == 0, err
    prompts = [each["body"]["messages"][-1]["content"] for each in stub.seen]
    assert len(set(prompts)) == 25
    assert len(prompts) <= 25 + CONCURRENCY  # those that were under way when it was killed
    assert [len(row["cells"]) for row in json.loads(out)["rows"]] == [8] * 300
