"""`carrel trace`: any sentence of an output, as it was pasted, to its anchors, the prompt and the reply it came from."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from assistant.cli import model
from assistant.cli.answers import keep_answer
from assistant.gateway import Gateway
from assistant.gateway.ledger import Ledger, Metered
from assistant.settings import Settings
from assistant.tasks import ask, trace
from assistant.tasks.desk import Desk
from store.embedding import HashEmbedder
from store.library import Library
from tests.assistant.test_tasks import ByHand
from tests.conftest import EXAMPLE, Carrel

RECORDINGS = EXAMPLE / "recordings"
REPLAY = ("--replay", RECORDINGS)
TOPIC = (
    "Reinforcement learning after pre-training, for language models, multimodal models and robots: "
    "where the learning signal comes from and how it is assigned"
)
CREDIT = "How do these papers give credit to single steps or tokens instead of only the final answer?"
MADE: dict[str, tuple[str | Path, ...]] = {
    "ask": ("ask", CREDIT, "--keywords", "--count", "12"),
    "summarize": ("summarize",),
    "table": ("table", "methods", "--columns", EXAMPLE / "columns.toml"),
    "taxonomy": ("taxonomy", "training-signal", "--facet", "where the training signal comes from"),
    "draft": ("draft", "related-work", "--topic", TOPIC, "--paragraphs", "5", "--taxonomy", "training-signal"),
}


def made(carrel: Carrel, folder: Path, *tasks: str) -> None:
    """Runs these tasks of the demo on its recordings."""
    for task in tasks:
        ran = carrel(*MADE[task], *REPLAY, at=folder)
        assert ran.code == 0, ran.err


def traced(carrel: Carrel, folder: Path, text: str, *options: str | Path) -> list[dict[str, Any]]:
    """What `carrel trace --json` says of a text."""
    ran = carrel("trace", text, "--json", *options, at=folder)
    assert ran.code == 0, ran.err
    found: list[dict[str, Any]] = json.loads(ran.out)["traces"]
    return found


def kept(folder: Path, task: str) -> trace.Kept:
    """A sentence, cell or placement that the library keeps of a task, with a citation."""
    library = Library(folder, HashEmbedder())
    found = next(one for one in trace.kept(library) if one.task == task and one.cites and len(one.said) > 30)
    library.close()
    return found


@pytest.mark.parametrize("task", ["ask", "summarize", "table", "draft"])
def test_what_a_task_says_is_traced_to_its_sentences_and_its_reply(carrel: Carrel, folder: Path, task: str) -> None:
    """Characters of the stored text, a file and line, a prompt that shows the quote and a reply, from the recordings."""
    made(carrel, folder, *(("taxonomy", "draft") if task == "draft" else (task,)))
    said = kept(folder, task)
    found = next(one for one in traced(carrel, folder, said.said, *REPLAY) if one["task"] == task)
    library = Library(folder, HashEmbedder())
    for cite in found["cites"]:
        text = next(text for text in library.texts(library.paper(cite["key"])) if text.role == cite.get("text", "abstract"))
        assert " … ".join(text.characters[start:end] for start, end in cite["characters"]) == cite["quote"]
        assert Path(cite["source"].rpartition(":")[0]).name.endswith((".txt", ".bib"))
    library.close()
    assert found["exchange"]["reply"]
    prompt = found["exchange"]["messages"][1]["content"]
    assert all(part in prompt for cite in found["cites"] for part in cite["quote"].split(" … "))


def test_a_placement_is_traced_by_the_name_of_its_node(carrel: Carrel, folder: Path) -> None:
    """A tree says of a paper only where it is filed; the node's id finds the papers in it with their sentences."""
    made(carrel, folder, "taxonomy")
    library = Library(folder, HashEmbedder())
    placed = next(one for one in trace.kept(library) if one.task == "taxonomy" and one.cites)
    library.close()
    found = traced(carrel, folder, placed.said, *REPLAY)
    assert placed.cites[0].key in {cite["key"] for one in found for cite in one["cites"]}


def test_a_sentence_is_found_as_it_was_pasted_from_any_export(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """Markdown with [@key], LaTeX with cite commands and escapes, a half of a sentence, other case and spaces."""
    made(carrel, folder, "taxonomy")
    assert carrel(*MADE["draft"], *REPLAY, "--to", "md", "--to", "tex", "--output", tmp_path, at=folder).code == 0
    markdown = next(line for line in (tmp_path / "related-work.md").read_text("utf-8").splitlines() if "[@" in line)
    latex = next(line for line in (tmp_path / "related-work.tex").read_text("utf-8").splitlines() if "\\citep{" in line and "\\%" in line)
    of_paragraph, of_line = traced(carrel, folder, markdown), traced(carrel, folder, latex)
    assert len(of_paragraph) > 2
    assert {one["task"] for one in of_paragraph} == {"draft"}
    assert of_line[0]["statement"] in {one["statement"] for one in of_paragraph}
    said = of_line[0]["statement"]
    assert traced(carrel, folder, said[: len(said) // 2].upper().replace(" ", "  "))[0]["statement"] == said


def test_after_a_rename_a_trace_names_the_paper_as_it_is_called_now(carrel: Carrel, folder: Path) -> None:
    """Anchors are positions in a stored text, so a new key changes no citation."""
    made(carrel, folder, "ask")
    said = kept(folder, "ask")
    old = said.cites[0]
    assert carrel("rename", old.key, "anothername2026", at=folder).code == 0
    cites = traced(carrel, folder, said.said)[0]["cites"]
    assert ("anothername2026", old.quote) in {(cite["key"], cite["quote"]) for cite in cites}
    assert old.key not in {cite["key"] for cite in cites}


def test_after_a_paper_is_gone_its_sentences_are_still_told(carrel: Carrel, folder: Path) -> None:
    """Nothing is lost: what a statement rests on is kept with it, whatever became of the paper."""
    made(carrel, folder, "ask")
    said = kept(folder, "ask")
    gone, into = said.cites[0].key, "cagatan2026reward"
    assert carrel("remove", gone, at=folder).code == 0
    ran = carrel("trace", said.said, at=folder)
    assert ran.code == 0, ran.err
    assert said.cites[0].quote.split(" … ")[0] in ran.out
    assert carrel("undo", at=folder).code == 0
    assert carrel("merge", into, gone, at=folder).code == 0
    assert carrel("trace", said.said, at=folder).code == 0


@pytest.fixture
def ledger(folder: Path) -> Iterator[Ledger]:
    opened = Ledger(folder / "ledger.sqlite")
    yield opened
    opened.close()


def test_from_a_ledger_the_very_call_is_told(library: Library, ledger: Ledger) -> None:
    """The prompt and the reply of the statement, without any recording."""
    by_hand = ByHand(lambda request: "It is studied in text environments. [1.1]\nA second sentence. [1.2]")
    document = ask.answer(Desk(library, Gateway(Metered(by_hand, ledger)), Settings()), "How is reward hacking studied in gridworlds?", by_keywords=True)
    keep_answer(library, document)
    found = trace.traces(library, document.statements[1].text, ledger, None)
    assert found[0].exchange is not None
    assert found[0].exchange.messages == by_hand.asked[0].messages
    assert "A second sentence. [1.2]" in found[0].exchange.reply
    assert found[0].kept.cites == document.statements[1].cites


def test_where_nothing_is_found_the_nearest_sentence_is_named(carrel: Carrel, folder: Path) -> None:
    """Exit code 1; a text that is like none gets no suggestion, and neither does an empty one."""
    made(carrel, folder, "ask")
    said = kept(folder, "ask").said
    words = said.split()
    near = carrel("trace", " ".join([words[0], "never", *words[2:]]), at=folder)
    assert near.code == 1
    assert said in near.err
    for text in ("zzz", "", "  ", "[@", "a\x01b"):
        far = carrel("trace", text, at=folder)
        assert (far.code, far.out) == (1, "")
        assert "nearest" not in far.err
        assert "Traceback" not in far.err


def test_without_recordings_or_ledger_the_exchange_is_said_to_be_unknown(carrel: Carrel, folder: Path) -> None:
    """The sentences stand all the same."""
    made(carrel, folder, "ask")
    ran = carrel("trace", kept(folder, "ask").said, at=folder)
    assert ran.code == 0
    assert "characters " in ran.out
    assert "not known any more" in ran.out


def test_a_turn_of_a_conversation_is_traced_too(carrel: Carrel, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `carrel chat` said stands in the conversation it keeps."""
    by_hand = ByHand(lambda request: "It is studied in text environments of the old kind. [1.1]")
    monkeypatch.setattr(model, "gateway_for", lambda library, settings, wanted: Gateway(by_hand))
    monkeypatch.setenv("CARREL_MODEL", "test/by-hand")
    assert carrel("chat", "talk", "--keywords", at=folder, pasted="How is reward hacking studied in gridworlds?\n").code == 0
    found = traced(carrel, folder, "It is studied in text environments of the old kind.")
    assert (found[0]["task"], found[0]["name"]) == ("chat", "talk")
    assert found[0]["cites"][0]["quote"]
