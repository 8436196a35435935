"""Each task on replies written by hand, good and bad: what stands, what is blocked, what is reported, what goes on."""

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from assistant.document import Column
from assistant.errors import KeyOrQuota, ReplyUnusable
from assistant.gateway import Gateway, Reply, Request, Usage
from assistant.plan import Guide, plan_markdown, read_plan
from assistant.settings import Settings
from assistant.tasks import ask, draft, planning, table, taxonomy
from assistant.tasks.desk import Desk, with_sources
from store.keys import slug
from store.library import Library
from store.paper import Paper

Answer = str | Exception
COLUMNS = (Column("method", "Method", "What is proposed?"), Column("score", "Score", "Which score?", "number"))


def nobody(done: int, total: int) -> None:
    """Watches no progress."""


class ByHand:
    """A model whose replies were written by hand: one for each label, or made from the request."""

    name = "test/by-hand"

    def __init__(self, answers: dict[str, Answer] | Callable[[Request], Answer]) -> None:
        self.answers = answers
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Reply:
        self.asked.append(request)
        answer = self.answers(request) if callable(self.answers) else self.answers[request.label]
        if isinstance(answer, Exception):
            raise answer
        return Reply(answer, Usage(10, 5), 0.01, "by hand", "stop")

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        reply = await self.complete(request)
        for at in range(0, len(reply.text), 7):
            yield reply.text[at : at + 7]
        yield reply


@pytest.fixture
def at(library: Library) -> Callable[[ByHand], Desk]:
    return lambda model: Desk(library, Gateway(model), Settings())


QUESTION = "How is reward hacking studied in gridworlds?"
LABEL = "ask/answer--how-is-reward-hacking-studied-in-gridworlds"


def shown_number(request: Request, title: str) -> int:
    """The number under which a prompt shows a paper."""
    line = next(line for line in request.messages[1].content.splitlines() if title in line)
    return int(line[1:].split(".")[0])


def test_an_answer_is_statements_with_anchors(at: Callable[[ByHand], Desk], library: Library) -> None:
    """Each line becomes a statement whose quote is the stored sentence, streamed as it comes."""
    model = ByHand(lambda request: f"It is studied in text environments. [{shown_number(request, 'Gridworlds')}.2]\n\n- A second one. [1.1]\n")
    streamed: list[str] = []
    document = ask.answer(at(model), QUESTION, by_keywords=True, on_statement=lambda one: streamed.append(one.text))
    paper = library.paper("cagatan2026reward")
    abstract = next(text for text in library.texts(paper) if text.role == "abstract")
    assert document.outcome == "answered"
    assert document.statements[0].cites[0].quote == abstract.sentence(2)
    assert streamed == ["It is studied in text environments.", "A second one."]
    assert document.report.checked_by_code == 2
    assert document.rests_on_notes()


def test_a_question_without_evidence_asks_no_model(at: Callable[[ByHand], Desk], empty: Library) -> None:
    """Nothing near the question, or an empty library: declined, and nothing was paid."""
    model = ByHand({})
    assert ask.answer(at(model), "Which manure nourishes barley?", by_keywords=True).outcome == "no evidence"
    assert ask.answer(Desk(empty, Gateway(model), Settings()), QUESTION).outcome == "no evidence"
    assert model.asked == []


def test_the_model_may_decline(at: Callable[[ByHand], Desk]) -> None:
    """NO EVIDENCE is an answer, with no statement."""
    document = ask.answer(at(ByHand({LABEL: "NO EVIDENCE"})), QUESTION, by_keywords=True)
    assert (document.outcome, document.statements, document.report.model_calls) == ("no evidence", (), 1)


def test_a_blocked_sentence_is_asked_for_again_once(at: Callable[[ByHand], Desk]) -> None:
    """The second try replaces it; the reason was in the request; what is good was kept."""
    model = ByHand({LABEL: "Good. [1.1]\nBad. [99.1]\nAs Smith et al. say. [1.1]", f"{LABEL}--again": "Mended. [1.2]\nDROP"})
    document = ask.answer(at(model), QUESTION, by_keywords=True)
    assert [statement.text for statement in document.statements] == ["Good.", "Mended."]
    assert [(problem.rule, problem.text) for problem in document.report.blocked] == [("R3", "As Smith et al. say.")]
    assert "[99.1] was not shown" in model.asked[1].messages[-1].content
    assert document.report.model_calls == 2


def test_a_sentence_that_stays_bad_is_left_out_and_reported(at: Callable[[ByHand], Desk]) -> None:
    """Blocked twice is gone, and the report says which and why."""
    model = ByHand({LABEL: "Good. [1.1]\nBad. [99.1]", f"{LABEL}--again": "Still bad. [98.1]"})
    document = ask.answer(at(model), QUESTION, by_keywords=True)
    assert [statement.text for statement in document.statements] == ["Good."]
    assert [problem.rule for problem in document.report.blocked] == ["R2"]


def test_an_empty_reply_is_asked_for_once_more_then_reported(at: Callable[[ByHand], Desk]) -> None:
    """Two empty replies are a failure of this question, not of the run."""
    document = ask.answer(at(ByHand(lambda _: ReplyUnusable("the reply is empty"))), QUESTION, by_keywords=True)
    assert document.outcome == "no evidence"
    assert document.report.failed == ("the reply is empty",)


def pack(cells: Callable[[int], dict[str, object]], count: int) -> str:
    return json.dumps({"papers": [{"paper": number, "cells": cells(number)} for number in range(1, count + 1)]})


def good(number: int) -> dict[str, object]:
    return {
        "method": {"status": "stated", "value": "a method", "sentences": [f"{number}.1"]},
        "score": {"status": "not stated", "value": None, "sentences": []},
    }


def three(library: Library) -> list[Paper]:
    return library.papers()[:3]


def test_a_table_is_filled_once(at: Callable[[ByHand], Desk], library: Library) -> None:
    """A pack a call, every cell stored; a rerun asks nothing, and an edited column asks for itself."""
    model = ByHand(lambda _: pack(good, 3))
    document = table.fill(at(model), "t", COLUMNS, three(library), nobody)
    assert len(model.asked) == 1
    assert {cell.status for row in document.rows for cell in row.cells.values()} == {"stated", "not stated"}
    assert all(row.cells["method"].cites[0].key == row.key for row in document.rows)
    table.fill(at(model), "t", COLUMNS, three(library), nobody)
    assert len(model.asked) == 1
    edited = (COLUMNS[0], Column("score", "Score", "Which score, in percent?", "number"))
    assert [batch.columns for batch in table.batches(library, "t", edited, three(library))] == [(edited[1],)]


def test_what_was_read_under_an_old_key_is_shown_under_the_present_one(at: Callable[[ByHand], Desk], library: Library) -> None:
    """An imported key replaces a made-up one; the cells read before go on under it."""
    paper = library.paper("agentrlvr2025")
    table.fill(at(ByHand(lambda _: pack(good, 1))), "t", COLUMNS, [paper], nobody)
    library.add_text(f"@misc{{Mine25, title={{{paper.title}}}, doi={{10.1/x}}}}".encode(), "mine.bib")
    document = with_sources(library, table.document(library, "t", COLUMNS, [library.paper("Mine25")]))
    assert document.rows[0].key == document.rows[0].cells["method"].cites[0].key == "Mine25"
    assert set(document.sources) == {"Mine25"}


def test_a_cell_that_cites_another_paper_loses_its_value(at: Callable[[ByHand], Desk], library: Library) -> None:
    """Asked again once; then the cell is `full text needed`, reported, and the others stand."""

    def bad(number: int) -> dict[str, object]:
        return good(number) | ({"method": {"status": "stated", "value": "stolen", "sentences": ["1.1"]}} if number == 2 else {})

    model = ByHand(lambda _: pack(bad, 3))
    document = table.fill(at(model), "t", COLUMNS, three(library), nobody)
    assert len(model.asked) == 2
    assert "another paper" in model.asked[1].messages[-1].content
    cell = document.rows[1].cells["method"]
    assert (cell.value, cell.status, cell.cites) == (None, "full text needed", ())
    assert [problem.rule for problem in document.report.blocked] == ["R2"]
    assert document.rows[0].cells["method"].value == "a method"


def test_a_number_that_the_sentences_do_not_hold_is_marked(at: Callable[[ByHand], Desk], library: Library) -> None:
    """R4 in a cell: kept, with its mark."""
    value = {"status": "stated", "value": 123456.0, "sentences": ["1.1"]}
    model = ByHand(lambda _: pack(lambda number: good(number) | {"score": value}, 1))
    document = table.fill(at(model), "t", COLUMNS, three(library)[:1], nobody)
    assert document.rows[0].cells["score"].value == 123456.0
    assert [problem.rule for problem in document.report.marked] == ["R4"]


@pytest.mark.parametrize("reply", ["", "not JSON at all", '{"papers": 3}', '{"papers": []}'])
def test_a_reply_that_is_no_table_fails_its_pack_alone(at: Callable[[ByHand], Desk], library: Library, reply: str) -> None:
    """Each paper of the pack is named; the next pack is filled."""
    first = library.papers()[0].key
    papers = library.papers()[:15]

    def answer(request: Request) -> Answer:
        return (reply or ReplyUnusable("is empty")) if slug(first) in request.label else pack(good, 3)

    document = table.fill(at(ByHand(answer)), "t", COLUMNS, papers, nobody)
    assert {item.split(":")[0] for item in document.report.failed} == {paper.key for paper in papers[:12]}
    assert all(len(row.cells) == 2 for row in document.rows[12:])
    assert [one.left_out for one in document.coverage[:1]] == ["not read yet, or its reply could not be used"]


def test_a_refused_key_ends_the_run_and_keeps_what_is_done(at: Callable[[ByHand], Desk], library: Library) -> None:
    """Nothing is asked in vain after the provider said no, and the packs before it are stored."""
    replies = iter([pack(good, 12), KeyOrQuota("no money left"), KeyOrQuota("no money left")])
    model = ByHand(lambda _: next(replies))
    at_desk = Desk(library, Gateway(model, concurrency=1), Settings())
    with pytest.raises(KeyOrQuota):
        table.fill(at_desk, "t", COLUMNS, library.papers(), nobody)
    kept = table.document(library, "t", COLUMNS, library.papers())
    assert sum(bool(row.cells) for row in kept.rows) == 12


TREE = json.dumps(
    {
        "nodes": [
            {"label": "Rewards", "definition": "Papers about where rewards come from.", "children": []},
            {"label": "Systems", "definition": "Papers about making training fast.", "children": []},
            {"label": "Nobody", "definition": "A node that no paper goes to.", "children": []},
        ]
    }
)


def test_every_paper_is_filed_or_unassigned_and_empty_nodes_go(at: Callable[[ByHand], Desk], library: Library) -> None:
    """A place needs its sentence; `none` needs a reason; a place that is no node leaves the paper unassigned."""

    def places(request: Request) -> Answer:
        if "/propose" in request.label:
            return TREE
        given = [("rewards", ["1.1"], ""), ("none", [], "about biology"), ("nowhere-such", ["3.1"], "")]
        return json.dumps({"papers": [{"paper": n, "node": a, "sentences": b, "reason": c} for n, (a, b, c) in enumerate(given, 1)]})

    desk = at(ByHand(places))
    grown = taxonomy.grow(desk, "t", "subject", three(library))
    document = taxonomy.file_papers(desk, "t", grown, three(library), nobody)
    keys = [paper.key for paper in three(library)]
    assert [(one.key, one.node) for one in document.assignments] == [(keys[0], "rewards")]
    assert [(one.key, one.reason) for one in document.unassigned][0] == (keys[1], "about biology")
    assert document.unassigned[1].key == keys[2]
    assert {one.key for one in document.coverage} == set(keys)
    tree = taxonomy.without_empty(grown, document)
    assert [node.id for node in tree.nodes] == ["rewards"]
    taxonomy.move_findings(library, "t", grown, tree)
    assert taxonomy.document(library, "t", tree, three(library)).assignments == document.assignments


def test_a_tree_with_twins_is_refused(at: Callable[[ByHand], Desk], library: Library) -> None:
    """Two nodes of one name after the re-ask end in an error that names them."""
    twins = json.dumps({"nodes": [{"label": "Rewards", "definition": "a b c d"}, {"label": "rewards", "definition": "e f g h"}]})
    with pytest.raises(ReplyUnusable, match="two nodes are called"):
        taxonomy.grow(at(ByHand(lambda _: twins)), "t", "subject", three(library))


PLAN = {
    "paragraphs": [
        {"heading": "One", "sentences": [{"job": "introduces", "words": 20, "says": "what one says", "rests_on": ["1.1"]}]},
        {"heading": "Two", "sentences": [{"job": "contrasts", "words": 30, "says": "how two differs", "rests_on": ["1.2", "2.1"]}]},
    ],
    "left_out": [{"paper": 3, "reason": "off topic"}],
}


def test_a_plan_goes_through_its_file_unchanged(at: Callable[[ByHand], Desk], library: Library) -> None:
    """What the model planned is what the person reads and what is written from."""
    plan = planning.plan(at(ByHand(lambda _: json.dumps(PLAN))), "d", Guide("topic"), three(library), 2)
    text = plan_markdown("d", plan.paragraphs, plan.left_out, plan.guide)
    assert read_plan(text, "d.plan.md") == (plan.paragraphs, dict(plan.left_out), Guide("topic"))
    assert plan.left_out == ((three(library)[2].key, "off topic"),)


def test_only_paragraphs_whose_plan_changed_are_written(at: Callable[[ByHand], Desk], library: Library) -> None:
    """A second run writes nothing; an edited line writes its paragraph alone; every paper is accounted for."""
    model = ByHand(lambda request: json.dumps(PLAN) if "/plan" in request.label else "It is written. [1.1]")
    desk = at(model)
    plan = planning.plan(desk, "d", Guide("topic"), three(library), 2)
    document = draft.text(desk, "d", plan, three(library), nobody)
    assert [len(section.statements) for section in document.sections] == [1, 1]
    asked = len(model.asked)
    draft.text(desk, "d", plan, three(library), nobody)
    assert len(model.asked) == asked
    edited = plan_markdown("d", plan.paragraphs, plan.left_out).replace("how two differs", "how two agrees")
    paragraphs, left_out, guide = read_plan(edited, "d")
    draft.text(desk, "d", planning.Plan(paragraphs, tuple(left_out.items()), guide), three(library), nobody)
    assert [request.label for request in model.asked[asked:]] == ["draft/paragraph--d-02"]
    assert {one.key: bool(one.used or one.left_out) for one in document.coverage} == dict.fromkeys([p.key for p in three(library)], True)


def test_own_prompts_come_before_ours(at: Callable[[ByHand], Desk], library: Library, folder: Path) -> None:
    """A template of the same name in the library's prompts/ is the one that is sent."""
    (folder / "prompts" / "ask").mkdir(parents=True)
    (folder / "prompts" / "ask" / "answer.md.j2").write_text(
        "{% block system %}Be brief.{% endblock %}{% block user %}{{ question }}{% endblock %}", "utf-8"
    )
    model = ByHand(lambda _: "NO EVIDENCE")
    ask.answer(at(model), QUESTION, by_keywords=True)
    assert [message.content for message in model.asked[0].messages] == ["Be brief.\n", f"{QUESTION}\n"]
