"""`carrel check`: texts that Carrel did not write, held against the library, and the second reader on top."""

import io
import json
from pathlib import Path

import openpyxl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant.citing import Given, Unreadable, from_json, from_latex, from_markdown
from assistant.document import Document
from assistant.gateway import Gateway
from assistant.gateway.message import Reply, Request, Usage
from assistant.settings import Settings
from assistant.tasks.check import check
from assistant.tasks.desk import Desk, with_sources
from assistant.tasks.verify import VerdictReply, faults
from store.library import Library
from tests.conftest import Carrel

TIPS = "xie2026tips"
GAIN = "With Qwen-2.5 7B Instruct, average Exact Match gains 11.8% over PPO and F1 gains 13.6%."

MARKDOWN = """---
title: A draft
---
# Related work [@no-heading]

TIPS rewards each segment [@xie2026tips; see @li2026wist, p. 3]. @fu2026capx shows
that scaffolding matters. Behind the stop. [@xie2026tips] A claim alone.

- an item [-@li2026wist]

| a [@xie2026tips] | b |
|---|---|
| c | d |

```
code [@xie2026tips]
```

## Sources

- @xie2026tips: TIPS
"""

LATEX = r"""
\documentclass{article}
\begin{document}
\section{Related work \cite{heading}} % \cite{comment}
TIPS gains 11.8\% over PPO~\cite{xie2026tips,li2026wist}.
\citet{fu2026capx} show that ``scaffolding matters a lot''.\citep[see][p.~3]{xie2026tips}
\begin{table} in a table \cite{xie2026tips} \end{table}

A second paragraph on 50\% of $x^2$ \parencite{li2026wist}.
\bibliography{refs}
\end{document}
"""


def test_markdown_is_read_sentence_by_sentence() -> None:
    """Citations in brackets and in the sentence, behind the stop, over line ends; headings, tables, code and sources state nothing."""
    assert [(one.text, [cite.key for cite in one.cites], one.line) for one in from_markdown(MARKDOWN)] == [
        ("TIPS rewards each segment.", ["xie2026tips", "li2026wist"], 6),
        ("shows that scaffolding matters.", ["fu2026capx"], 6),
        ("Behind the stop.", ["xie2026tips"], 7),
        ("A claim alone.", [], 7),
        ("an item", ["li2026wist"], 9),
    ]


def test_latex_is_read_sentence_by_sentence() -> None:
    """Each kind of \\cite; comments, headings, floats and the bibliography are left out; percent signs and quotes are text."""
    assert [(one.text, [cite.key for cite in one.cites]) for one in from_latex(LATEX)] == [
        ("TIPS gains 11.8% over PPO.", ["xie2026tips", "li2026wist"]),
        ("show that “scaffolding matters a lot”.", ["fu2026capx", "xie2026tips"]),
        ("A second paragraph on 50% of $x^2$.", ["li2026wist"]),
    ]
    assert [one.line for one in from_latex(LATEX)][0] == 5


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"), ("[1]", "expected an object"), ('{"text": ""}', "expected an object"), ('{"text": "x", "cites": 3}', "should be a list"),
        ('{"text": "x", "cites": [{"k": 1}]}', "a citation should be"), ('{"text": "x", "cites": [{"key": "a", "sentences": ["1"]}]}', "whole numbers"),
    ],
)  # fmt: skip
def test_a_line_of_json_that_cannot_be_read_is_named(line: str, reason: str) -> None:
    """The others are read all the same."""
    bad, good = from_json(line + '\n{"text": "It works.", "cites": ["a"]}')
    assert isinstance(bad, Unreadable)
    assert bad.line == 1
    assert reason in bad.reason
    assert isinstance(good, Given)
    assert good.line == 2


@settings(deadline=None, max_examples=150)
@given(st.text(alphabet=st.sampled_from("ab .!?\n[]@{}\\cite%$*_`#|-–;,\ue000\ue001中"), max_size=80))
def test_any_text_is_read(text: str) -> None:
    """Markdown and LaTeX of any kind give statements without citations in them, never an error."""
    for reader in (from_markdown, from_latex):
        for one in reader(text):
            assert one.text
            assert one.line >= 1


def checked(library: Library, *given: dict[str, object]) -> Document:
    lines = "\n".join(json.dumps(one) for one in given)
    return with_sources(library, check(library, "x", list(from_json(lines)), lambda done, total: None))


@pytest.mark.parametrize(
    ("statement", "cite", "blocked", "marks"),
    [
        (GAIN, {"key": TIPS, "sentences": [5]}, [], []),
        (GAIN, {"key": TIPS}, [], []),
        (GAIN, {"key": TIPS, "quote": "average Exact Match gains 11.8% over PPO"}, [], []),
        (GAIN, {"key": TIPS, "quote": "average Exact Match gains 18.1% over PPO"}, ["R5"], []),
        (GAIN, {"key": "xie2026tip"}, ["R1"], []),
        (GAIN, {"key": TIPS, "sentences": [0]}, ["R1"], []),
        (GAIN, {"key": TIPS, "sentences": [7]}, ["R1"], []),
        (GAIN.replace("11.8", "118"), {"key": TIPS, "sentences": [5]}, [], ["R4"]),
        (GAIN.replace("11.8%", "11.8x"), {"key": TIPS}, [], ["R4"]),
        (GAIN.replace("gains 13.6%", "gains 13.6% (Smith et al., 2021)"), {"key": TIPS, "sentences": [5]}, ["R3"], ["R4"]),
        (GAIN, {"key": "fu2026capx"}, [], ["R4", "R6"]),
        (GAIN.replace("gains", "loses"), {"key": TIPS, "sentences": [5]}, [], ["R11"]),
        ("TIPS says it “beats both PPO and DPO”.", {"key": TIPS}, ["R5"], []),
    ],
)
def test_each_rule_holds_for_given_statements(library: Library, statement: str, cite: dict[str, object], blocked: list[str], marks: list[str]) -> None:
    """What stands, what is blocked, what is marked."""
    one = checked(library, {"text": statement, "cites": [cite]}).statements[0]
    assert list(dict.fromkeys(problem.rule for problem in one.blocked)) == blocked
    assert list(one.marks) == marks


def test_a_wrong_paper_comes_with_a_better_one(library: Library) -> None:
    """R6 suggests the sentence that fits; a key that is nearly right suggests the right one."""
    one = checked(library, {"text": GAIN, "cites": ["fu2026capx"]}).statements[0]
    assert next(problem for problem in one.problems if problem.rule == "R6").better.startswith(TIPS)
    assert checked(library, {"text": GAIN, "cites": ["xie2026tip"]}).statements[0].blocked[0].better == TIPS


def test_a_citation_without_a_place_is_given_one(library: Library) -> None:
    """The sentences of the abstract that share the statement's words; nothing where none does."""
    assert checked(library, {"text": GAIN, "cites": [TIPS]}).statements[0].cites[0].sentences == (5,)
    assert checked(library, {"text": "Nothing of the kind.", "cites": [TIPS]}).statements[0].cites[0].sentences == ()


def test_a_translation_is_what_a_statement_in_its_language_is_held_against(library: Library) -> None:
    """A Chinese statement is compared with the Chinese abstract where there is one; else its words are not checked."""
    paper = next(paper for paper in library.papers() if "zh" in paper.translations and paper.translations["zh"].abstract)
    text = next(text for text in library.texts(paper) if text.role == "abstract:zh")
    one = checked(library, {"text": text.sentence(2), "cites": [paper.key]}).statements[0]
    assert (one.marks, one.unchecked, one.cites[0].text) == ((), (), "abstract:zh")
    other = next(paper for paper in library.papers() if "zh" not in paper.translations)
    assert checked(library, {"text": text.sentence(2), "cites": [other.key]}).statements[0].unchecked == ("R6", "R11")


def test_the_command_prints_reports_and_ends_with_one(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """Exit code 0 where all holds, 1 where something does not; JSON in the promised shape."""
    good, bad = tmp_path / "good.md", tmp_path / "bad.jsonl"
    good.write_text(f"# Related work\n\n{GAIN[:-1]} [@{TIPS}].\n\nOur own method is another.\n", "utf-8")
    bad.write_text(json.dumps({"text": GAIN.replace("11.8", "81.1"), "cites": [{"key": TIPS, "sentences": [5]}]}) + "\nbroken\n", "utf-8")
    ran = carrel("check", good, at=folder)
    assert ran.code == 0
    assert "holds" in ran.out
    ran = carrel("check", bad, "--json", "--to", "md", "--output", tmp_path, at=folder)
    assert ran.code == 1
    shape = json.loads(ran.out)
    assert shape["statements"][0] == {
        "text": GAIN.replace("11.8", "81.1"), "cites": [{"key": TIPS, "sentences": [5], "quote": GAIN}], "blocked": [], "marks": ["R4"],
    }  # fmt: skip
    assert shape["report"]["failed"] == ["line 2: not JSON (Expecting value: line 1 column 1 (char 0))"]
    assert "'81.1%' is not in the cited sentences" in (next(tmp_path.glob("check-of-bad*.md"))).read_text("utf-8")
    assert carrel("check", tmp_path / "missing.md", at=folder).code == 2


@pytest.mark.parametrize("name", ["csv", "xlsx", "html"])
def test_the_outcome_is_written_like_that_of_other_tasks(carrel: Carrel, folder: Path, tmp_path: Path, name: str) -> None:
    """Each statement with its verdict, why, and the sentence it rests on; LaTeX is not offered."""
    given = tmp_path / "given.jsonl"
    given.write_text(json.dumps({"text": GAIN.replace("11.8", "81.1"), "cites": [{"key": TIPS, "sentences": [5]}]}), "utf-8")
    assert carrel("check", given, "--to", name, "--output", tmp_path, at=folder).code == 1
    made = (tmp_path / f"check-of-given.jsonl.{name}").read_bytes()
    text = made.decode() if name != "xlsx" else " ".join(str(cell.value) for sheet in openpyxl.load_workbook(io.BytesIO(made)) for row in sheet.iter_rows() for cell in row)
    for words in (GAIN.replace("11.8", "81.1"), "marked", "is not in the cited sentences", GAIN):
        assert words in text.replace("&#39;", "'"), words
    assert carrel("check", given, "--to", "tex").code == 2


class Reader:
    """A second reader made up for the test: it doubts every statement that says `all`."""

    name = "made-up"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def complete(self, request: Request) -> Reply:
        said = request.messages[-1].content.partition("<<<statement")[2]
        self.asked.append(said)
        doubts = {"verdict": "partly", "overreach": [{"words": "all", "kind": "population"}], "reason": "One model was studied."}
        return Reply(json.dumps(doubts if " all " in said else {"verdict": "supported"}), Usage(10, 5), 0.0, self.name, "stop")

    def stream(self, request: Request) -> object:
        raise NotImplementedError


def test_the_second_readers_verdicts_are_marks_and_are_kept(library: Library) -> None:
    """One call a statement; statements stay as they are; the same statement is not asked about twice, and shows its verdict without a model."""
    reader = Reader()
    with Gateway(reader) as gateway:  # type: ignore[arg-type]  # it never streams
        desk = Desk(library, gateway, Settings(), second_reader=True)
        some = [{"text": GAIN, "cites": [TIPS]}, {"text": "TIPS beats all methods, PPO and GRPO among them.", "cites": [TIPS]}, {"text": "Nothing cited."}]
        lines = "\n".join(json.dumps(one) for one in some)
        documents = [desk.finished(check(library, "x", list(from_json(lines)), lambda done, total: None)) for _ in range(2)]
    assert len(reader.asked) == 2
    for document in (*documents, checked(library, *some)):
        assert [statement.verdict for statement in document.statements] == ["supported", "partly", ""]
        assert [statement.text for statement in document.statements] == [one["text"] for one in some]
        assert document.report.checked_by_model == 2
        assert [problem.reason for problem in document.report.marked if problem.rule == "second reader"] == [
            "what it cites says only part of it: “all” (population): One model was studied."
        ]


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ({"verdict": "partly", "overreach": [{"words": "every model", "kind": "population"}]}, "'every model' is not in the statement"),
        ({"verdict": "supported", "overreach": [{"words": "all", "kind": "other"}]}, "a supported statement has no words that overreach"),
        ({"verdict": "not"}, "'not' needs the words of the statement that overreach"),
    ],
)
def test_a_verdict_names_words_of_the_statement(reply: dict[str, object], fault: str) -> None:
    """A reader that invents the statement's words, or contradicts itself, is asked again."""
    assert faults(VerdictReply.model_validate(reply), "It beats all methods.") == [fault]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It works [@{key:a}].", [("It works.", ["key:a"])]),
        ("@one [p. 3] says so.", [("says so.", ["one"])]),
        ("It works.[^1] It holds [@one].[^n]\n\n[^1]: So does this [@two].", [("It works.", []), ("It holds.", ["one"]), ("So does this.", ["two"])]),
        ("One line<br/>is whole [@one].", [("One line is whole.", ["one"])]),
    ],
)
def test_what_pandoc_knows_is_read(text: str, found: list[tuple[str, list[str]]]) -> None:
    """Braces around keys, places behind them, footnotes and breaks."""
    assert [(one.text, [cite.key for cite in one.cites]) for one in from_markdown(text)] == found


def test_what_biblatex_knows_is_read() -> None:
    r"""\cites names several keys, each in braces of its own, and \nocite cites nothing."""
    read = list(from_latex(r"It works \cites{one}[3]{two}. It holds\nocite{*} \cite{one}."))
    assert [[cite.key for cite in one.cites] for one in read] == [["one", "two"], ["one"]]


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("a.jsonl", '{"text": "a \\ud800 b", "cites": [{"key": "x"}]}', 1),
        ("b.jsonl", '{"text": "a b", "cites": [{"key": "x\\ud800"}]}', 1),
        ("c.json", "[" * 100_000, 1),
        ("d.json", '{"statements": 5}', 2),
        ("e.json", '{"statements": [5, null], "paragraphs": [1, {"statements": null}]}', 1),
        ("f.tex", "{" * 5000 + "It works" + "}" * 5000, 2),
        ("g.md", "{It works} [@xie2026tips]", 0),
    ],
)
def test_an_odd_file_never_breaks_a_check(carrel: Carrel, folder: Path, tmp_path: Path, name: str, text: str, code: int) -> None:
    """Half characters, brackets without end and shapes of no sense are no bug of ours."""
    (tmp_path / name).write_text(text, "utf-8")
    assert carrel("check", tmp_path / name, at=folder).code == code


def test_a_very_long_sentence_is_checked(library: Library) -> None:
    """Ten thousand numbers in one sentence are compared in time that grows with them."""
    text = "It gains 11.8% over PPO, " * 10_000
    document = check(library, "a", [*from_json(json.dumps({"text": text, "cites": ["xie2026tips"]}))], lambda done, total: None)
    assert document.report.statements == 1


def test_a_gap_of_our_own_draft_is_looked_for_again(library: Library) -> None:
    """What code once found in no abstract may stand in a paper that came since: then the gap is stopped, and the paper named."""
    cite = {"key": "", "text": "scope", "sentences": [1], "quote": "None of the titles and abstracts of the 36 papers holds any of these words: “zymurgy”, “brewing”."}
    statements = list(from_json(json.dumps({"paragraphs": [{"heading": "", "statements": [{"text": "None of these abstracts mentions zymurgy.", "cites": [cite], "marks": []}]}]})))
    before = check(library, "d", statements, lambda done, total: None)
    assert not before.statements[0].blocked
    library.add_text(b'{"key": "late2026z", "title": "Zymurgy with rewards", "abstract": "We brew."}\n', "late.jsonl")
    after = check(library, "d", statements, lambda done, total: None)
    assert [(one.rule, one.better) for one in after.statements[0].blocked] == [("R12", "late2026z")]
