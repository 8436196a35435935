"""Each kind of question: what is shown, what is counted, what is left out and why, and never more than two model calls."""

import json
from collections.abc import Callable, Iterator

import pytest

from assistant.document import Document
from assistant.errors import ReplyUnusable, UsageError
from assistant.gateway import Gateway, Request
from assistant.settings import Settings
from assistant.shapes import document_json
from assistant.tasks import ask, counting
from assistant.tasks.desk import Desk
from store.errors import UnknownPaper
from store.library import Library
from store.scope import Scope
from tests.assistant.test_tasks import LABEL, QUESTION, Answer, ByHand, shown_number

EVERY = 36
BAD = "Good. [1.1]\nBad. [99.1]"


@pytest.fixture
def asking(library: Library) -> Iterator[Callable[..., tuple[Document, ByHand]]]:
    """Asks a question of a model whose replies are given; the answer and the model."""
    gateways: list[Gateway] = []

    def asked(question: str, answers: dict[str, Answer] | Callable[[Request], Answer] = lambda _: "", **how: object) -> tuple[Document, ByHand]:
        model = ByHand(answers)
        gateways.append(Gateway(model))
        desk = Desk(library, gateways[-1], Settings())
        inquiry = ask.Inquiry(question, **{"by_keywords": True, **how})
        return ask.answered(desk, inquiry).document, model

    yield asked
    for gateway in gateways:
        gateway.close()


Asking = Callable[..., tuple[Document, ByHand]]


def papers_shown(request: Request) -> int:
    return request.messages[1].content.count("<<<paper")


def each_paper(request: Request) -> Answer:
    """A line for each paper shown."""
    return "\n".join(f"It fits in its own way. [{number}.1]" for number in range(1, papers_shown(request) + 1))


# -- at most two calls

FOREIGN = "Wie lernen Roboter durch Ausprobieren?"
RESTATED = "ask/restate--wie-lernen-roboter-durch-ausprobieren"
ANSWER = "ask/answer--wie-lernen-roboter-durch-ausprobieren"
ENGLISH = json.dumps({"question": "How do robots learn by reinforcement learning on the real robot?"})
UNUSABLE = ReplyUnusable("the reply is empty")


@pytest.mark.parametrize(
    ("question", "answers", "labels"),
    [
        (QUESTION, {LABEL: "Good. [1.1]"}, [LABEL]),
        (QUESTION, {LABEL: BAD, f"{LABEL}--again": "Mended. [1.2]"}, [LABEL, f"{LABEL}--again"]),
        (QUESTION, {LABEL: BAD, f"{LABEL}--again": UNUSABLE}, [LABEL, f"{LABEL}--again"]),
        (QUESTION, {LABEL: UNUSABLE, f"{LABEL}--again": "Good. [1.1]"}, [LABEL, f"{LABEL}--again"]),
        (QUESTION, {LABEL: UNUSABLE, f"{LABEL}--again": BAD}, [LABEL, f"{LABEL}--again"]),
        (QUESTION, {LABEL: UNUSABLE, f"{LABEL}--again": UNUSABLE}, [LABEL, f"{LABEL}--again"]),
        (FOREIGN, {RESTATED: ENGLISH, ANSWER: "Gut. [1.1]"}, [RESTATED, ANSWER]),
        (FOREIGN, {RESTATED: ENGLISH, ANSWER: BAD}, [RESTATED, ANSWER]),
        (FOREIGN, {RESTATED: ENGLISH, ANSWER: UNUSABLE}, [RESTATED, ANSWER]),
        (FOREIGN, {RESTATED: "no JSON"}, [RESTATED]),
        (FOREIGN, {RESTATED: UNUSABLE}, [RESTATED]),
        (FOREIGN, {RESTATED: json.dumps({"question": "Which manure nourishes barley?"})}, [RESTATED]),
        ("Which manure nourishes barley?", {}, []),
        ("How many papers are from 2025?", {}, []),
    ],
)
def test_a_question_costs_at_most_two_calls(asking: Asking, question: str, answers: dict[str, Answer], labels: list[str]) -> None:
    """Restating, answering, mending and a broken reply share them, whatever happens."""
    document, model = asking(question, answers)
    assert [request.label for request in model.asked] == labels
    assert document.report.model_calls == len(labels)


def test_what_cannot_be_mended_any_more_is_left_out_and_reported(asking: Asking) -> None:
    """After a question was restated no call is left for a blocked sentence."""
    document, _ = asking(FOREIGN, {RESTATED: ENGLISH, ANSWER: BAD})
    assert [one.text for one in document.statements] == ["Good."]
    assert [(one.rule, one.text) for one in document.report.blocked] == [("R2", "Bad.")]


def test_a_reply_that_broke_off_leaves_no_sentence_behind(library: Library) -> None:
    """What came before the break stands once, as the second reply has it."""

    class BreaksOff(ByHand):
        async def stream(self, request: Request):  # noqa: ANN202  as its base
            async for piece in super().stream(request):
                yield piece
                if len(self.asked) == 1 and not isinstance(piece, str):
                    raise ReplyUnusable("it broke off")

    model = BreaksOff(lambda _: "Said once. [1.1]\nSaid too. [1.2]\n")
    said: list[str] = []
    with Gateway(model) as gateway:
        document = ask.answer(Desk(library, gateway, Settings()), QUESTION, by_keywords=True, on_statement=lambda one: said.append(one.text))
    assert [one.text for one in document.statements] == said == ["Said once.", "Said too."]
    assert len(model.asked) == 2


# -- named papers


def test_named_papers_alone_are_shown(asking: Asking) -> None:
    """However little the question has in common with them; the prompt says which is which."""
    document, model = asking("Does @qian2025toolrl or @xie2026tips bake bread?", lambda _: "Neither does. [1.1][2.1]")
    user = model.asked[0].messages[1].content
    assert papers_shown(model.asked[0]) == 2
    assert "@qian2025toolrl means paper 1" in user
    assert document.cited() == ("qian2025toolrl", "xie2026tips")


def test_papers_given_by_key_are_shown_without_a_threshold(asking: Asking) -> None:
    """`--key` names papers as `@` does."""
    document, model = asking("Who bakes bread?", lambda _: "Nobody. [1.1]", scope=Scope(keys=("qian2025toolrl",)))
    assert papers_shown(model.asked[0]) == 1
    assert document.outcome == "answered"


def test_a_key_that_no_paper_has_names_the_near_ones(asking: Asking) -> None:
    """A slip of the finger is an error that helps."""
    with pytest.raises(UnknownPaper, match="did you mean qian2025toolrl"):
        asking("What does @quian2025toolrl do?")


def test_an_alias_names_its_paper(asking: Asking, library: Library) -> None:
    """An old key goes on working."""
    library.curation.rename("qian2025toolrl", "toolrl")
    _, model = asking("What does @qian2025toolrl do?", lambda _: "It uses tools. [1.1]")
    assert "@qian2025toolrl means paper 1" in model.asked[0].messages[1].content


def test_a_named_paper_outside_the_scope_is_an_error(asking: Asking) -> None:
    """A filter holds for what is named too."""
    with pytest.raises(UsageError, match="@xie2026tips is outside the scope"):
        asking("What does @xie2026tips do?", scope=Scope(until="2025"))


def test_named_papers_are_compared(asking: Asking) -> None:
    """By a prompt of its own; each of them is accounted for."""
    document, model = asking("How do @qian2025toolrl, @li2026wist and @xie2026tips differ?", lambda _: "One does this, the other that. [1.1][3.1]")
    assert "You compare papers" in model.asked[0].messages[0].content
    assert {one.key: one.used or one.left_out for one in document.coverage} == {
        "li2026wist": ("sentence 1",),
        "qian2025toolrl": ask.NOT_USED,
        "xie2026tips": ("sentence 1",),
    }


def test_they_are_the_papers_of_the_answer_before(asking: Asking) -> None:
    """Only those are compared; without an answer before it is a question like any other."""
    _, model = asking("How do they differ?", lambda _: "So. [1.1][2.1]", among=("xie2026tips", "li2026wist"))
    assert papers_shown(model.asked[0]) == 2
    _, alone = asking("How do they differ?", lambda _: "So. [1.1]")
    assert "You answer a researcher's question" in alone.asked[0].messages[0].content


def test_methods_that_are_compared_name_no_papers(asking: Asking) -> None:
    """`Compare PPO and GRPO` is answered from the papers that fit best, in the plain prompt."""
    _, model = asking("Compare PPO and GRPO", lambda _: "So. [1.1]", among=("xie2026tips",))
    assert "You answer a researcher's question" in model.asked[0].messages[0].content
    assert papers_shown(model.asked[0]) == ask.SHOWN


# -- lists


def test_a_list_looks_at_every_paper(asking: Asking, library: Library) -> None:
    """More than ten are shown; each considered paper is used or left out with a reason; code says on how many it rests."""
    document, model = asking("Which papers use rewards?", each_paper)
    number = papers_shown(model.asked[0])
    assert number > ask.SHOWN
    assert [one.key for one in document.coverage] == [paper.key for paper in library.papers()]
    assert sum(bool(one.used) for one in document.coverage) == number
    assert all(one.left_out.startswith("not shown: too little in common") for one in document.coverage if not one.used)
    figure = document.statements[-1]
    assert figure.text == f"Counted by code: this answer rests on {number} papers, of {number} shown and {EVERY} considered."
    assert (figure.by, figure.marks, {cite.key for cite in figure.cites}) == ("code", (), set(document.cited()))
    assert document.report.statements == document.report.checked_by_code == number + 1


def test_a_paper_that_is_shown_and_not_used_says_so(asking: Asking) -> None:
    """The model left it out, and the coverage sheet does not hide it."""
    document, model = asking("Which papers use rewards?", lambda _: "It does. [1.1]")
    assert sum(one.left_out == ask.NOT_USED for one in document.coverage) == papers_shown(model.asked[0]) - 1
    assert document.statements[-1].text.startswith("Counted by code: this answer rests on 1 paper, of ")


def test_above_the_budget_the_best_are_shown(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    """By fused rank; the others say that there was no room."""
    monkeypatch.setattr(ask, "MOST_CHARACTERS", 4_000)
    document, model = asking("Which papers use rewards, as against reward hacking?", each_paper)
    shown = {one.key for one in document.coverage if one.used}
    assert 1 < len(shown) < 10
    assert "cagatan2026reward" in shown
    assert sum(len(line) for line in model.asked[0].messages[1].content.splitlines() if "." in line[:6]) < 6_000
    assert any(one.left_out == ask.TOO_MANY for one in document.coverage)


def test_a_list_that_nothing_fits_is_no_evidence(asking: Asking) -> None:
    """Without a model; every paper says why."""
    document, model = asking("Which papers study fertilizers for wheat?")
    assert (document.outcome, model.asked, len(document.coverage)) == ("no evidence", [], EVERY)


def test_a_list_keeps_to_its_scope(asking: Asking, library: Library) -> None:
    """Coverage is of the papers in scope; an empty scope has none."""
    scope = Scope(categories=("cs.RO",))
    document, _ = asking("Which papers use rewards or robots?", each_paper, scope=scope)
    assert {one.key for one in document.coverage} == {paper.key for paper in library.papers(scope)}
    nothing, model = asking("Which papers use rewards?", each_paper, scope=Scope(tags=("nobody",)))
    assert (nothing.outcome, nothing.coverage, model.asked) == ("no evidence", (), [])


def test_list_all_papers_means_all(asking: Asking) -> None:
    """Where nothing is asked for in particular nothing is too far away."""
    _, model = asking("List all papers", each_paper)
    assert papers_shown(model.asked[0]) == EVERY


def test_a_list_by_meaning_finds_what_words_do_not(asking: Asking, library: Library) -> None:
    """A paper whose passage is near counts, whichever words it uses."""
    question = "Which papers study hacking of rewards in gridworlds?"
    words = {one.key for one in asking(question, each_paper)[0].coverage if one.used}
    both = {one.key for one in asking(question, each_paper, by_keywords=False)[0].coverage if one.used}
    assert words <= both


# -- counts


def test_how_many_papers_do_something_is_counted_from_the_citations(asking: Asking) -> None:
    """The model names them, code counts them."""
    document, model = asking("How many papers use rewards?", lambda _: "One does. [1.1]\nAnother does. [2.1]\nThe first again. [1.2]")
    assert "Write no figure of how many" in model.asked[0].messages[0].content
    assert document.statements[-1].text.startswith("Counted by code: 2 papers fit the question, of ")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many papers are there?", lambda paper: True),
        ("How many papers are from 2025?", lambda paper: paper.year == "2025"),
        ("How many papers are from March 2026?", lambda paper: paper.date.startswith("2026-03")),
        ("How many papers since 2026?", lambda paper: paper.year >= "2026"),
        ("How many papers appeared before 2026?", lambda paper: "" < paper.year < "2026"),
        ("How many papers are in cs.RO?", lambda paper: "cs.RO" in paper.categories),
        ("How many cs.RO papers are from 2026?", lambda paper: "cs.RO" in paper.categories and paper.year == "2026"),
        ("How many papers are tagged core?", lambda paper: "core" in paper.tags),
        ("How many papers have the tag to read?", lambda paper: "to read" in paper.tags),
        ("How many papers are included?", lambda paper: paper.status == "included"),
        ("How many excluded papers are there?", lambda paper: paper.status == "excluded"),
        ("How many papers are from digest.txt?", lambda paper: any(source.file.endswith("digest.txt") for source in paper.sources)),
        ("How many papers are by Yutao Xie?", lambda paper: "Yutao Xie" in paper.authors),
        ("How many papers by Xie are there?", lambda paper: any("Xie" in name for name in paper.authors)),
        ("How many papers are by Nobody Atall?", lambda paper: False),
        ("Wie viele Arbeiten sind aus 2025?", lambda paper: paper.year == "2025"),
        ("Combien d'articles y a-t-il depuis 2026 ?", lambda paper: paper.year >= "2026"),
        ("2025年有多少篇论文？", lambda paper: paper.year == "2025"),
        ("2026年3月有多少篇论文？", lambda paper: paper.date.startswith("2026-03")),
    ],
)
def test_the_librarys_own_fields_are_counted_by_code(asking: Asking, library: Library, question: str, expected: Callable[..., bool]) -> None:
    """No model is asked; the statement says that code counted, and points at each paper."""
    library.curation.tag(["qian2025toolrl", "xie2026tips"], "core")
    library.curation.tag(["xie2026tips"], "to read")
    library.curation.set_status(["qian2025toolrl"], "excluded", "off topic")
    library.curation.set_status(["xie2026tips"], "included")
    document, model = asking(question)
    counted = [paper.key for paper in library.papers() if expected(paper) and ("excluded" in question or paper.status != "excluded")]
    assert model.asked == []
    assert document.statements[0].text.startswith(f"Counted by code: {len(counted)} paper")
    assert [cite.key for cite in document.statements[0].cites] == counted
    assert document_json(document)["statements"][0]["by"] == "code"
    assert document.report.checked_by_code == len(document.statements)


def test_papers_are_counted_per_year(asking: Asking, library: Library) -> None:
    """A statement a year, and one for papers without."""
    document, _ = asking("How many papers are there per year?")
    years = [paper.year or "no year" for paper in library.papers()]
    expected = [f"Counted by code: {year}: {years.count(year)} paper{'s' if years.count(year) > 1 else ''}." for year in sorted(set(years))]
    assert [statement.text for statement in document.statements[1:]] == expected


def test_a_count_keeps_to_its_scope(asking: Asking, library: Library) -> None:
    """Filters of the command and years of the question hold together."""
    document, _ = asking("How many papers are from 2026?", scope=Scope(categories=("cs.RO",)))
    assert len(document.cited()) == sum(paper.year == "2026" for paper in library.papers(Scope(categories=("cs.RO",))))


@pytest.mark.parametrize(
    "question",
    [
        "How many papers use GRPO?",
        "How many papers from 2025 use GRPO?",
        "How many papers are by far the best?",
        "How many papers are motivated by robotics?",
        "How many samples does GRPO need?",
        "Which papers are from 2025?",
        "Wie viele Arbeiten nutzen GRPO?",
        "有多少篇论文使用 GRPO？",
    ],
)
def test_what_only_papers_say_is_not_counted_from_fields(question: str) -> None:
    """A word that is no clause leaves the question to the papers."""
    assert counting.read_count(question) is None


# -- other languages


def test_a_question_in_another_language_is_restated_and_answered_in_its_own(asking: Asking) -> None:
    """It is looked up in the papers' language; the answer is asked for in the question's."""
    document, model = asking(FOREIGN, {RESTATED: ENGLISH, ANSWER: "Durch Ausprobieren. [1.1]"})
    restating, answering = model.asked
    assert "in English" in restating.messages[0].content
    assert "Answer in German" in answering.messages[0].content
    assert "Question: How do robots learn" in answering.messages[1].content
    assert document.name == FOREIGN
    assert document_json(document)["restated"] == "How do robots learn by reinforcement learning on the real robot?"


def test_good_evidence_needs_no_restating(asking: Asking) -> None:
    """Chinese words that stand in translated abstracts find their papers at once."""
    document, model = asking("奖励塑形 多轮 搜索 智能体", lambda _: "有。 [1.1]")
    assert len(model.asked) == 1
    assert "Answer in Chinese" in model.asked[0].messages[0].content
    assert document.restated == ""


def test_a_few_shared_words_are_no_good_evidence_in_another_language(asking: Asking) -> None:
    """A name that a question shares with papers does not keep it from being restated; in their own language it is evidence."""
    question = "Wie nutzt GRPO Rewards?"
    _, model = asking(question, lambda request: json.dumps({"question": "How does GRPO use rewards?"}) if "/restate" in request.label else "So. [1.1]")
    assert [request.label.split("--")[0] for request in model.asked] == ["ask/restate", "ask/answer"]


def test_a_list_in_another_language_is_restated_too(asking: Asking) -> None:
    """And stays a list."""
    said = json.dumps({"question": "Which papers use real robots for manipulation?"})
    document, model = asking("Welche Arbeiten verwenden Greifarme?", lambda request: said if "/restate" in request.label else each_paper(request))
    assert "In German. Look at every paper" in model.asked[1].messages[0].content
    assert document.statements[-1].text.startswith("Counted by code: this answer rests on ")


def test_a_plain_question_asks_what_it_always_asked(asking: Asking) -> None:
    """The prompt of ask/answer, ten papers, no further fields in its JSON."""
    document, model = asking(QUESTION, lambda request: f"So it is. [{shown_number(request, 'Gridworlds')}.2]")
    assert papers_shown(model.asked[0]) == ask.SHOWN
    assert set(document_json(document)) == {"question", "outcome", "statements", "report", "model", "tokens", "cost_usd", "note"}
    assert set(document_json(document)["statements"][0]) == {"text", "cites", "marks"}
