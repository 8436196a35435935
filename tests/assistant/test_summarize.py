"""Summaries from replies written by hand, good and bad: what stands, what is stopped by which rule, what is asked again."""

import csv
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assistant.document import SUMMARY_FIELDS, Document
from assistant.errors import ReplyUnusable
from assistant.export import WRITERS
from assistant.gateway import Gateway, Reply, Request, Usage
from assistant.gateway.recording import Recorded, read, written
from assistant.settings import Settings
from assistant.shapes import summary_json
from assistant.tasks import summarize
from assistant.tasks.desk import Desk, with_sources
from store.embedding import HashEmbedder
from store.library import Library
from store.paper import Paper
from tests.conftest import Carrel

DATA = Path(__file__).parents[1] / "data" / "summaries"
KEYS = ("arxiv-2603.12698", "arxiv-2603.12868", "deepsearch2025", "modomodo2025")
LABEL = "summarize/read--arxiv-2603.12698"
Answer = str | Exception


class ByHand:
    """A model whose replies were written by hand: the next of a list, or made from the request."""

    name = "test/by-hand"

    def __init__(self, answer: Callable[[Request], Answer]) -> None:
        self.answer = answer
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answer(request)
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer, Usage(10, 5), 0.01, "by hand", "stop")

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        yield await self.complete(request)


def nobody(done: int, total: int) -> None:
    """Watches no progress."""


def papers_of(library: Library, keys: Sequence[str] = KEYS) -> list[Paper]:
    return [library.paper(key) for key in keys]


def summarized(library: Library, model: ByHand, keys: Sequence[str] = KEYS, *, again: bool = False) -> Document:
    gateway = Gateway(model)
    try:
        return summarize.read(Desk(library, gateway, Settings()), papers_of(library, keys), nobody, again=again)
    finally:
        gateway.close()


def faulty(request: Request) -> Answer:
    """Faults of each kind; the second reply mends one of them."""
    return (DATA / ("again.json" if request.label.endswith("--again") else "first.json")).read_text("utf-8")


def good(numbers: Sequence[int]) -> str:
    """A reply in which each paper states its problem and one result, and nothing else."""
    silent = {field: {"status": "not stated"} for field in SUMMARY_FIELDS}
    papers = [
        {
            "paper": number,
            **silent,
            "problem": {"status": "stated", "value": "it fails", "sentences": [f"{number}.1"]},
            "results": [{"metric": "speed", "value": "faster", "sentences": [f"{number}.2"]}],
        }
        for number in numbers
    ]
    return json.dumps({"papers": papers})


@pytest.fixture(scope="module")
def recordings(made_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both exchanges about the four papers, recorded, and marked as written by hand."""
    import shutil

    folder = tmp_path_factory.mktemp("recordings")
    library = Library(Path(shutil.copytree(made_library, tmp_path_factory.mktemp("recorded") / "library")), HashEmbedder())
    gateway = Gateway(Recorded(ByHand(faulty), folder))
    summarize.read(Desk(library, gateway, Settings()), papers_of(library), nobody)
    gateway.close()
    library.close()
    for path in folder.rglob("*.txt"):
        path.write_text(written(replace(read(path.read_text("utf-8"), LABEL), origin="written by hand")), "utf-8")
    return folder


def test_a_faulty_reply_printed_exported_and_reported_whole(carrel: Carrel, folder: Path, recordings: Path, tmp_path: Path) -> None:
    """What stands, what is marked, what was stopped and by which rule: the same in every output, to the character."""
    ran = carrel("summarize", *KEYS, "--replay", recordings, "--json", "--run", "--to", "md", "--to", "csv", "--to", "tex", "--to", "json", "--output", tmp_path, at=folder)
    made = {"out.json": ran.out, "err.txt": "".join(line for line in ran.err.splitlines(True) if not line.startswith("wrote "))}
    made |= {path.name: path.read_bytes().decode() for path in tmp_path.glob("summaries.*")}
    made["card.txt"] = carrel("summarize", *KEYS, "--show").out
    assert ran.code == 1
    assert sorted(made) == ["card.txt", "err.txt", "out.json", "summaries.checks.csv", "summaries.csv", "summaries.json", "summaries.md", "summaries.tex"]
    for name, text in made.items():
        assert text == (DATA / name).read_bytes().decode(), name


def test_each_fault_is_told_to_the_model_once(library: Library) -> None:
    """One re-ask, which names every fault and no other; R4 alone is no reason to ask again."""
    model = ByHand(faulty)
    summarized(library, model)
    assert [request.label for request in model.asked] == [LABEL, f"{LABEL}--again"]
    assert model.asked[1].messages[-1].content.splitlines()[1:-2] == [
        "paper 1, contribution_type: 'framework' is not in the vocabulary",
        "paper 2, problem: [1.1] is a sentence of another paper than 2",
        "paper 2, result 2: a result needs the labels of the sentences that say it",
        "paper 3, problem: a reference in free form (names and a year): 'Chen et al. (2024)'",
        "paper 3, limitations: the reply left it out",
        "paper 4 was left out",
    ]


def test_a_rerun_asks_only_for_what_is_missing(library: Library) -> None:
    """A summary is kept; the paper that no reply gave is asked for alone; `again` reads all and replaces them."""
    first = summarized(library, ByHand(faulty))
    assert first.report.failed == ("modomodo2025: left out of the reply",)
    model = ByHand(lambda _: good([1]))
    second = summarized(library, model)
    assert len(model.asked) == 1
    assert "MoDoMoDo" in model.asked[0].messages[1].content
    assert "DeepSearch" not in model.asked[0].messages[1].content
    assert [one.key for one in second.summaries] == list(KEYS)
    assert second.summaries[:3] == first.summaries
    assert summarized(library, model).report.failed == ()
    assert len(model.asked) == 1
    third = summarized(library, ByHand(lambda _: good([1, 2, 3, 4])), again=True)
    assert {one.cells["problem"].value for one in third.summaries} == {"it fails"}


def test_a_failed_second_reading_leaves_the_first(library: Library) -> None:
    """Asked `again` and answered with nothing usable: the old summaries stand, and the failure is reported."""
    first = summarized(library, ByHand(lambda _: good([1, 2, 3, 4])))
    second = summarized(library, ByHand(lambda _: "no"), again=True)
    assert second.summaries == first.summaries
    assert len(second.report.failed) == 4


@pytest.mark.parametrize("reply", ["", "not JSON", '{"papers": 3}', '{"papers": []}', '{"papers": [{"paper": 99}]}'])
def test_a_reply_that_says_nothing_fails_its_papers_alone(library: Library, reply: str) -> None:
    """Each paper of the pack is named and none is stored; the next pack is read."""
    keys = [paper.key for paper in library.papers()[:14]]
    model = ByHand(lambda request: good([1, 2]) if request.label.startswith(f"summarize/read--{keys[12]}") else reply or ReplyUnusable("is empty"))
    document = summarized(library, model, keys)
    assert [item.split(":")[0] for item in document.report.failed] == keys[:12]
    assert [one.key for one in document.summaries] == keys[12:]
    assert [one.left_out for one in document.coverage if not one.used] == ["not read yet, or its reply could not be used"] * 12


def test_results_that_no_sentence_vouches_for_are_no_empty_list(library: Library) -> None:
    """Where all results were stopped, every output says that there were some."""

    def unsupported(request: Request) -> Answer:
        papers = json.loads(good([1]))["papers"]
        return json.dumps({"papers": [papers[0] | {"results": [{"metric": "m", "value": "81.3%", "sentences": []}]}]})

    document = with_sources(library, summarized(library, ByHand(unsupported), KEYS[:1]))
    assert summary_json(document.summaries[0])["results"] == []
    assert summary_json(document.summaries[0])["blocked"] == [
        {"text": "m: 81.3%", "rule": "R7", "reason": "a result needs the labels of the sentences that say it"}
    ]
    assert "1 that a rule stopped" in WRITERS["md"](document)
    assert [(problem.rule, problem.text) for problem in document.report.blocked] == [("R7", "arxiv-2603.12698, result: m: 81.3%")]


def test_what_was_read_follows_its_paper(library: Library) -> None:
    """Under the key that the paper has now, and marked where the paper shows another text."""
    key = "agentrlvr2025"
    summarized(library, ByHand(lambda _: good([1])), [key])
    title = library.paper(key).title
    library.add_text(f"@misc{{Mine25, title={{{title}}}, abstract={{{'Quite another text. ' * 80}}}, doi={{10.1/x}}}}".encode(), "mine.bib")
    document = with_sources(library, summarize.document(library, [library.paper("Mine25")]))
    assert {cite.key for cite in document.cites()} == {"Mine25"}
    assert set(document.sources) == {"Mine25"}
    assert [problem.rule for problem in document.report.marked] == ["source text changed"] * 2
    assert document.summaries[0].results[0].marks == ("source text changed",)


def test_only_the_papers_that_were_named(carrel: Carrel, folder: Path, library: Library) -> None:
    """Keys and filters hold; what is not read yet is no row of the JSON; an unknown key is an error that names it."""
    summarized(library, ByHand(lambda _: good([1, 2, 3, 4])))
    assert [one["key"] for one in json.loads(carrel("summarize", "--json", at=folder).out)] == list(KEYS)
    shown = carrel("summarize", KEYS[2], "twinrlvla2026", "--json")
    assert [one["key"] for one in json.loads(shown.out)] == [KEYS[2]]
    assert "1 of 2 papers have no summary yet" in shown.err
    assert (carrel("summarize", KEYS[2]).code, carrel("summarize", "twinrlvla2026").code) == (0, 78)  # a model is needed for the second alone
    nothing = carrel("summarize", "--tag", "nothing-has-this-tag", "--json")
    assert (nothing.code, json.loads(nothing.out)) == (0, [])
    assert "no paper is in scope" in nothing.err
    assert "no-such-key" in carrel("summarize", "no-such-key", "--show").err


def test_export_writes_the_summaries_too(carrel: Carrel, folder: Path, library: Library, tmp_path: Path) -> None:
    """Without a name, since there is one set of them; other kinds still need theirs."""
    summarized(library, ByHand(lambda _: good([1, 2, 3, 4])))
    assert carrel("export", "summarize", "--output", tmp_path, at=folder).code == 0
    rows = list(csv.DictReader((tmp_path / "summaries.csv").read_text("utf-8-sig").splitlines()))
    assert [(row["key"], row["row"], row["value"]) for row in rows[:2]] == [(KEYS[0], "paper", ""), (KEYS[0], "result", "faster")]
    assert json.loads((tmp_path / "summaries.json").read_text("utf-8"))["report"]["statements"] == 24
    assert carrel("export", "table").code == 2


def test_many_papers_cost_nothing_before_they_are_agreed_to(carrel: Carrel, folder: Path, library: Library) -> None:
    """More than a few calls: the price is said, and without a terminal nothing is asked."""
    records = "\n".join(f"@misc{{k{number}, title={{Title number {number} of its own}}, abstract={{It is about {number}.}}}}" for number in range(60))
    library.add_text(records.encode(), "many.bib")
    ran = carrel("summarize", "--model", "openai/none", "--api-base", "http://127.0.0.1:9/v1", at=folder)
    assert ran.code == 2
    assert "about 8 calls" in ran.err
    assert "--yes" in ran.err


LABELS = st.builds("{}.{}".format, st.integers(0, 5), st.integers(0, 12)) | st.sampled_from(["", "3", "[2.1]", "2.1-3", "nonsense", "99999.1"])
WORDS = st.sampled_from(["it fails", "81.3%", "12 of 40", "method", "framework", "as Chen et al. (2024) say", "arXiv:2401.00001", "", "…"]) | st.text(max_size=8)
CELL = st.fixed_dictionaries(
    {"status": st.sampled_from(["stated", "absent", "not stated", "full text needed"])},
    optional={"value": st.none() | WORDS | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False) | st.lists(WORDS, max_size=2), "sentences": st.lists(LABELS, max_size=3)},
)
RESULT = st.fixed_dictionaries(
    {},
    optional={"metric": st.none() | WORDS, "value": st.none() | WORDS | st.integers(0, 99), "baseline": st.none() | WORDS, "task": st.none() | WORDS, "sentences": st.lists(LABELS, max_size=3)},
)
PAPER = st.fixed_dictionaries(
    {"paper": st.integers(0, 4)},
    optional={**dict.fromkeys(SUMMARY_FIELDS, CELL | st.none()), "results": st.none() | st.lists(RESULT, max_size=3)},
)
REPLY = st.builds(json.dumps, st.fixed_dictionaries({"papers": st.lists(PAPER, max_size=5)}) | st.lists(CELL, max_size=2)) | st.text(max_size=20)


@pytest.fixture(scope="module")
def shared(made_library: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """One library for many made-up replies."""
    import shutil

    opened = Library(Path(shutil.copytree(made_library, tmp_path_factory.mktemp("shared") / "library")), HashEmbedder())
    yield opened
    opened.close()


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=REPLY, again=REPLY)
def test_whatever_a_reply_says_quotes_are_the_papers_own_and_no_paper_is_lost(shared: Library, first: str, again: str) -> None:
    """Each paper is kept or reported; what is kept quotes that paper alone, and says nothing that quotes no sentence."""
    with shared.catalog.writing():
        shared.catalog.drop_findings(summarize.TASK, summarize.NAME, summarize.ITEM)
    document = summarized(shared, ByHand(lambda request: again if request.label.endswith("--again") else first), KEYS[:3])
    kept = {one.key for one in document.summaries}
    failed = {item.split(":")[0] for item in document.report.failed}
    assert kept | failed == set(KEYS[:3])
    assert not kept & failed
    for summary in document.summaries:
        sentences = [text.sentence(number) for text in shared.texts(shared.paper(summary.key)) for number, _, _ in text.sentences]
        for one in (*summary.cells.values(), *summary.results):
            assert all(cite.key == summary.key and all(part in sentences for part in cite.quote.split(" … ")) for cite in one.cites)
        for name, cell in summary.cells.items():
            assert cell.cites or cell.status in {"not stated", "full text needed"}, name
            assert (cell.value is not None) == (cell.status == "stated"), name
            assert cell.value is None or all(word.strip() for word in ([cell.value] if isinstance(cell.value, str) else cell.value)), name
        assert all(result.cites and result.value for result in summary.results)
        assert summary.cells["contribution_type"].value in {None, *summarize.KINDS}
