"""`carrel chat`: a line a turn from a pipe, the prompt of a terminal, and every command in it."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from assistant.cli import chat, model
from assistant.cli.chat_commands import COMMANDS, merged
from assistant.errors import BudgetReached
from assistant.gateway import Gateway, Request
from assistant.plan import read_plan
from store.library import Library
from tests.assistant.test_tasks import Answer, ByHand
from tests.conftest import Carrel

QUESTION = "How is reward hacking studied in gridworlds?"


def replies(request: Request) -> Answer:
    """A sentence for each question, and follow-ups given back as questions about the gridworlds."""
    if "/restate" in request.label:
        asked = request.messages[1].content.split("Latest question: ")[1].strip()
        return json.dumps({"question": f"{asked.rstrip('?')} in gridworlds with reward hacking?"})
    return "It is studied in text environments. [1.1]\nA second sentence. [1.2][2.1]"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    """A model whose replies were written by hand, in the place of the one of the settings."""
    by_hand = ByHand(replies)
    monkeypatch.setattr(model, "gateway_for", lambda library, settings, wanted: Gateway(by_hand))
    monkeypatch.setenv("CARREL_MODEL", "test/by-hand")
    yield by_hand


@pytest.fixture
def say(carrel: Carrel, folder: Path, asked: ByHand) -> Callable[..., str]:
    """Runs `carrel chat` with these lines from a pipe; what it printed."""

    def ran(*lines: str, name: str = "talk") -> str:
        done = carrel("chat", name, "--keywords", at=folder, pasted="".join(f"{line}\n" for line in lines))
        assert done.code == 0, done.err
        return done.out

    return ran


def test_a_line_is_a_turn_and_no_prompt_is_printed(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """Answers on standard output, reports on standard error, and nothing else."""
    ran = carrel("chat", "talk", "--keywords", at=folder, pasted=f"{QUESTION}\n\nAnd what is measured?\n")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("It is studied in text environments. [")
    assert "(And what is measured in gridworlds with reward hacking?)" in ran.err
    assert [request.label for request in asked.asked] == [
        "ask/answer--talk-01-how-is-reward-hacking-studied-in-gridwor",
        "chat/restate--talk-02-and-what-is-measured",
        "ask/answer--talk-02-and-what-is-measured",
    ]


def test_a_conversation_goes_on_where_it_ended(carrel: Carrel, folder: Path, say: Callable[..., str], asked: ByHand) -> None:
    """By its name, or without one the last; --new begins another, and --list shows both."""
    say(QUESTION)
    assert "going on after 1 turn" in carrel("chat", "--keywords", at=folder, pasted="And what is measured?\n").err
    assert asked.asked[-2].label.startswith("chat/restate--talk-02-")
    carrel("chat", "--new", "--keywords", pasted=f"{QUESTION}\n")
    listed = carrel("chat", "--list").out
    assert "talk " in listed
    assert "chat-1" in listed
    assert "And what is measured?" in listed
    assert carrel("chat", "talk", "--new", pasted="x\n").code == 2


def test_sources_and_why_show_what_an_answer_rests_on(say: Callable[..., str]) -> None:
    """The quoted sentences; the checks of a sentence; what found its papers."""
    out = say(QUESTION, "/sources", "/why 2", "/why")
    assert "found by keywords" in out
    assert "checked by code: no rule marks it" in out
    assert "written in the exchange ask/answer--talk-01-" in out
    assert out.count("2. A second sentence.") == 2
    assert out.count("1. It is studied") == 1


def test_the_scope_is_shown_with_what_it_leaves(say: Callable[..., str]) -> None:
    """Words add up, a bound takes the place of its like, `off` takes all away."""
    out = say("/scope", "/scope year>=2026", "/scope category:cs.RO year>=2025", "/scope tag:nobody", "/scope off @qian2025toolrl", "/scope off").splitlines()
    assert out[0] == "scope: all papers that are not excluded (36 papers)"
    assert out[1].startswith("scope: year>=2026 (")
    assert out[2].startswith("scope: category:cs.RO year>=2025 (")
    assert out[3].endswith("(0 papers)")
    assert out[4] == "scope: @qian2025toolrl (1 paper)"
    assert out[5] == out[0]


def test_an_empty_scope_finds_nothing(say: Callable[..., str], asked: ByHand) -> None:
    """No paper means no evidence, never no filter."""
    assert "No evidence: no paper in the scope answers this." in say("/scope tag:nobody", QUESTION)
    assert asked.asked == []


def test_save_writes_the_conversation_and_says_what_it_replaces(say: Callable[..., str], folder: Path) -> None:
    """Markdown and JSON in exports/; the same again says nothing; another text in the place of the old one does."""
    out = say(QUESTION, "/save notes")
    assert "in place of" not in out
    saved = json.loads((folder / "exports" / "notes.json").read_text("utf-8"))
    assert saved["turns"][0]["question"] == QUESTION
    assert f"## {QUESTION}" in (folder / "exports" / "notes.md").read_text("utf-8")
    assert "in place of" not in say("/save notes")
    assert say("And what is measured?", "/save notes").count("in place of") == 2


def test_the_last_question_becomes_a_column(say: Callable[..., str], folder: Path) -> None:
    """As it stands alone, under the name given, beside what the table has."""
    say(QUESTION, '/column methods "Where it is studied"', "What is measured?", "/column methods Measured")
    text = (folder / "tables" / "methods.toml").read_text("utf-8")
    assert f'question = "{QUESTION}"' in text
    assert 'name = "Where it is studied"' in text
    assert "What is measured in gridworlds" in text


def test_the_last_answer_goes_into_a_plan(say: Callable[..., str], folder: Path) -> None:
    """Each sentence as a planned one with what it cites, before the papers left out; twice is two paragraphs."""
    plan = folder / "drafts" / "work.plan.md"
    say(QUESTION, "/plan work")
    plan.write_text(plan.read_text("utf-8") + "\n## Left out\n\n* @qian2025toolrl: off topic\n", "utf-8")
    say("/plan work")
    paragraphs, left_out, _ = read_plan(plan.read_text("utf-8"), "work")
    assert [len(paragraph.sentences) for paragraph in paragraphs] == [2, 2]
    assert [sentence.job for sentence in paragraphs[0].sentences] == ["introduces", "compares"]
    assert left_out == {"qian2025toolrl": "off topic"}


def test_again_asks_for_the_next_sample(say: Callable[..., str], asked: ByHand) -> None:
    """The same prompt, another sample, and no question restated."""
    say(QUESTION, "/again", "/again")
    assert [request.sample for request in asked.asked] == [0, 1, 2]
    assert len({request.messages for request in asked.asked}) == 1


def test_an_unknown_command_suggests_the_nearest(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """One line; the conversation goes on, and a script sees that something failed."""
    ran = carrel("chat", "--keywords", at=folder, pasted=f"/sorces\n/xyzzy\n/why\n/scope colour:red\n{QUESTION}\n")
    assert ran.code == 1
    assert "did you mean /sources?" in ran.err
    assert "/help lists them" in ran.err
    assert "nothing was asked" in ran.err
    assert "category:cs.RO" in ran.err
    assert "It is studied" in ran.out


def test_a_model_error_ends_the_turn_and_not_the_conversation(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """Its line is printed, the next line is taken."""
    first = True

    def answer(request: Request) -> Answer:
        nonlocal first
        was, first = first, False
        return BudgetReached("the budget is spent") if was else "Now it is said. [1.1]"

    asked.answers = answer
    ran = carrel("chat", "--keywords", at=folder, pasted=f"{QUESTION}\n{QUESTION}\n")
    assert ran.code == 1
    assert "the budget is spent" in ran.err
    assert "Now it is said." in ran.out


def test_without_a_model_the_commands_and_counts_work(carrel: Carrel, folder: Path) -> None:
    """Only a question that needs one says how to name it."""
    ran = carrel("chat", "--keywords", at=folder, pasted=f"/scope\nHow many papers are from 2025?\n{QUESTION}\n")
    assert ran.code == 1
    assert "Counted by code:" in ran.out
    assert "no model is configured" in ran.err


def test_help_names_every_command(say: Callable[..., str]) -> None:
    """With what each is for."""
    out = say("/help")
    assert all(f"/{name}" in out and command.summary in out for name, command in COMMANDS.items())


def test_scope_options_of_the_command_are_the_first_scope(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """The same filters as everywhere; kept with the turn, so that they hold when the conversation goes on."""
    ran = carrel("chat", "t", "--keywords", "--since", "2026", "--category", "cs.LG", at=folder, pasted=f"/scope\n{QUESTION}\n")
    assert ran.out.startswith("scope: year>=2026 category:cs.LG (")
    again = carrel("chat", "t", "--keywords", pasted="/scope\n")
    assert again.out.startswith("scope: year>=2026 category:cs.LG (")
    assert "scope: year>=2026" in again.err
    assert carrel("chat", "t", "--key", "nobody2020x", pasted="/scope\n").code == 2


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ((), ("year>=2025",), ("year>=2025",)),
        (("year>=2025", "tag:x"), ("year>=2026",), ("tag:x", "year>=2026")),
        (("year>=2025",), ("year<=2026",), ("year>=2025", "year<=2026")),
        (("year>=2025", "year<=2026"), ("year=2024",), ("year=2024",)),
        (("year=2024",), ("year>=2025",), ("year>=2025",)),
        (("tag:x",), ("tag:x",), ("tag:x",)),
        (("tag:x",), ("off", "tag:y"), ("tag:y",)),
    ],
)
def test_how_scopes_add_up(old: tuple[str, ...], new: tuple[str, ...], words: tuple[str, ...]) -> None:
    """What is said last counts."""
    assert merged(old, new) == words


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("/s", [("/sources", -2), ("/scope ", -2), ("/save ", -2)]),
        ("/scope ye", [("year>=", -2), ("year<=", -2)]),
        ("what does @li", [("li2026wist", -2)]),
        ("/scope @xie", [("xie2026tips", -3)]),
        ("what does @2026", [("li2026wist", -4), ("xie2026tips", -4)]),
        ("write to me@li", []),
        ("plain words", []),
    ],
)
def test_what_is_offered(text: str, offered: list[tuple[str, int]]) -> None:
    """Commands after a slash, words of a scope after /scope, keys after an @."""
    assert chat.completions(text, ["li2026wist", "xie2026tips"]) == offered


def test_the_prompt_sends_and_goes_on(library: Library) -> None:
    """Enter sends; a backslash or Alt-Enter goes on; Ctrl-C leaves the line; Ctrl-D ends; what was sent is remembered."""
    with create_pipe_input() as keyboard, create_app_session(input=keyboard, output=DummyOutput()):
        keyboard.send_text("one\r" "two\\\rlines\r" "three\x1b\rmore\r" "left\x03" "four\r" "\x04")
        assert list(chat.typed(library)) == ["one", "two\nlines", "three\nmore", "four"]
    assert "two" in (library.folder / chat.HISTORY).read_text("utf-8")


def test_at_a_terminal_ctrl_c_stops_the_answer_and_keeps_what_came(
    carrel: Carrel, folder: Path, asked: ByHand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentences that had come are the turn; the conversation goes on."""
    monkeypatch.setattr(chat, "_is_terminal", lambda: True)
    monkeypatch.setattr(chat, "typed", lambda library: iter([QUESTION, "/why", QUESTION]))
    echo, said = chat.click.echo, 0

    def interrupted(words: str = "", **options: object) -> None:
        nonlocal said
        said += words.startswith("A second")
        if words.startswith("A second") and said == 1:
            raise KeyboardInterrupt
        echo(words, **options)

    monkeypatch.setattr("click.echo", interrupted)
    ran = carrel("chat", "t", "--keywords", at=folder)
    assert ran.code == 0
    assert "stopped; the sentences that had come are kept" in ran.err
    assert "1. It is studied in text environments." in ran.out
    assert len(asked.asked) == 3


def test_a_scope_that_cannot_be_read_any_more_is_said_to_be_off(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """A tree that is gone does not keep a conversation from going on."""
    tree = folder / "taxonomies" / "t.toml"
    tree.parent.mkdir()
    tree.write_text('facet = "x"\n[[node]]\nid = "a"\nlabel = "A b"\n', "utf-8")
    ran = carrel("chat", "t", "--keywords", at=folder, pasted=f'/scope node:t/"A b"\n{QUESTION}\n')
    assert ran.out.startswith("scope: node:'t/A b' (0 papers)")
    tree.unlink()
    again = carrel("chat", "t", "--keywords", pasted="/scope\n")
    assert "the scope of the last turn is off" in again.err
    assert "36 papers" in again.out


def test_conversations_with_names_of_other_scripts_stay_apart(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """A name without Latin letters is one of its own."""
    carrel("chat", "奖励", "--keywords", at=folder, pasted=f"{QUESTION}\n")
    assert "going on" not in carrel("chat", "机器人", "--keywords", pasted=f"{QUESTION}\n").err
    assert "going on after 1 turn;" in carrel("chat", "奖励", "--keywords", pasted="/scope\n").err


def test_bytes_that_are_no_text_break_nothing(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """A question with half characters or NULs, given as a word or from a pipe, is asked with a sign in their place."""
    assert carrel("ask", "Reward hacking \udcff in gridworlds?", "--keywords", at=folder).code == 0
    assert "\ufffd" in asked.asked[-1].messages[1].content
    assert carrel("chat", "talk", "--keywords", at=folder, pasted="Reward hacking \0 in gridworlds?\n").code == 0
