"""A draft: its plan as a person edits it, its text as it is written and mended, its gaps, and what the text did with the plan."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.document import Document
from assistant.errors import SettingsError, UsageError
from assistant.export.markdown import write as markdown
from assistant.gateway import Gateway, Request
from assistant.plan import (
    GAP,
    Guide,
    PlannedParagraph,
    PlannedSentence,
    Reference,
    plan_markdown,
    read_plan,
    with_added,
    with_guide,
    with_words,
)
from assistant.settings import Settings
from assistant.shapes import document_json
from assistant.tasks import draft, planning
from assistant.tasks.desk import Desk
from store.library import Library
from store.paper import Paper
from store.scope import Scope
from tests.assistant.test_tasks import Answer, ByHand, nobody

HEADING = "Where rewards come from"


def three(library: Library) -> list[Paper]:
    """Three papers, in order of key."""
    return sorted(library.papers()[:3], key=lambda paper: paper.key)


def one_line(key: str, job: str = "introduces", words: int = 10, says: str = "what it does", **more: object) -> PlannedSentence:
    return PlannedSentence(job, words, says, (Reference(key, (1,)),) if key else (), **more)  # type: ignore[arg-type]


def of(*sentences: PlannedSentence, guide: Guide | None = None) -> planning.Plan:
    return planning.Plan((PlannedParagraph(HEADING, sentences),), (), guide or Guide())


def told(library: Library, plan: planning.Plan, answer: Callable[[Request], Answer], *, verify: bool = False) -> tuple[Document, ByHand]:
    """The draft of a plan by a model whose replies are written by hand, and the model."""
    model = ByHand(answer)
    desk = Desk(library, Gateway(model), Settings(), verify)
    return draft.text(desk, "d", plan, three(library), nobody), model


# -- the plan as a file


PLAN = """# Plan of d

my own words, which are no sentence of the text

Topic: rewards
Tense: past

## One
- [contrasts] x against y {@a2026x; @b 2, 3}
- a line without a job {@a2026x 1}
a note between the lines
- [states a gap; 18 words] nobody asks {@b 4; absent: haptic, force feedback}

## Left out

* @c: off topic
"""


def test_a_person_may_write_lines_in_short_and_notes_between_them() -> None:
    """A line needs neither job nor length; notes are nobody's sentence; a gap says which words no abstract has."""
    (paragraph,), left_out, guide = read_plan(PLAN, "d.plan.md")
    assert [(one.job, one.words, one.says) for one in paragraph.sentences] == [
        ("contrasts", 25, "x against y"),
        ("introduces", 25, "a line without a job"),
        (GAP, 18, "nobody asks"),
    ]
    assert paragraph.sentences[2].absent == ("haptic", "force feedback")
    assert (left_out, guide) == ({"c": "off topic"}, Guide("rewards", "past"))


def test_a_line_that_cannot_be_read_is_named() -> None:
    """A bracket that is not closed is no note that is passed over in silence."""
    with pytest.raises(SettingsError, match=r"d.md:3: .*cannot be read"):
        read_plan("## One\n- [introduces] fine {@a}\n- [contrasts 20 words x {@a}\n", "d.md")


def test_options_change_the_head_of_a_plan_and_nothing_else() -> None:
    """A tense is set where it stands and put in where it does not; every other line stays to the letter."""
    changed = with_guide(PLAN, Guide(tense="present", language="German"))
    assert read_plan(changed, "d")[2] == Guide("rewards", "present", "German")
    assert [line for line in changed.splitlines() if line not in PLAN.splitlines()] == ["Tense: present", "Language: German"]
    bare = "## One\n\n- [positions; 20 words] x {@a}\n"
    assert read_plan(with_guide(bare, Guide(tense="past")), "d")[2].tense == "past"


def test_a_plan_made_half_as_long_keeps_its_lines_and_its_proportions() -> None:
    """Lengths go down together, but none below what a sentence needs."""
    text = "## One\n- [positions; 40 words] x {@a}\n- [positions; 30 words] y {@a}\n- [positions; 16 words] z {@a}\n"
    (paragraph,), _, _ = read_plan(with_words(text, 43), "d")
    assert [one.words for one in paragraph.sentences] == [20, 15, 12]


def test_lines_are_added_and_none_is_touched() -> None:
    """New lines go behind the line they follow, new paragraphs before what is left out; the rest stands as it stood."""
    row = next(at for at, line in enumerate(PLAN.splitlines(), 1) if line.startswith("- a line"))
    added = with_added(PLAN, [(row, one_line("new"))], [PlannedParagraph("Two", (one_line("newer"),))], [("newest", "off topic too")])
    kept = iter(added.splitlines())
    assert all(line in kept for line in PLAN.splitlines())
    paragraphs, left_out, _ = read_plan(added, "d")
    assert [one.rests_on[0].key for one in paragraphs[0].sentences] == ["a2026x", "a2026x", "new", "b"]
    assert [paragraph.heading for paragraph in paragraphs] == ["One", "Two"]
    assert left_out == {"c": "off topic", "newest": "off topic too"}


# -- from the plan to the text


def test_each_sentence_belongs_to_the_line_of_the_plan_whose_number_it_begins_with(library: Library) -> None:
    """What was asked and what was done stand side by side: other papers, other lengths and lines without a sentence are named."""
    first, second, third = (paper.key for paper in three(library))
    plan = of(one_line(first), one_line(second), one_line(third, "contrasts", 10), one_line(third, words=40))
    replies = "2. A method is trained with rewards in this one. [2.1]\n3. The third one trains a model in some other way. [3.1]\n4. Short. [1.1]\n"
    document, _ = told(library, plan, lambda _: replies)
    assert [(line.line, line.notes) for line in document.plan] == [
        (1, ("not written",)),
        (2, ()),
        (3, ("contrasts nothing: it cites 1 paper",)),
        (4, (f"does not cite @{third}", f"cites @{first} besides", "1 words for 40")),
    ]
    assert document_json(document)["plan"][0] == {  # type: ignore[index]
        "heading": HEADING, "line": 1, "job": "introduces", "says": "what it does", "words": 10, "asked": [first], "text": None, "notes": ["not written"],
    }  # fmt: skip


def test_how_to_write_is_part_of_the_prompt_and_of_what_is_stored(library: Library) -> None:
    """Another tense writes the paragraph anew; the same one does not."""
    key = three(library)[0].key
    _, model = told(library, of(one_line(key), guide=Guide(tense="past")), lambda _: "1. It was written. [1.1]")
    assert "in the past tense" in model.asked[0].messages[0].content
    assert not told(library, of(one_line(key), guide=Guide(tense="past")), lambda _: "1. It was written. [1.1]")[1].asked
    assert len(told(library, of(one_line(key), guide=Guide(tense="present")), lambda _: "1. It is written. [1.1]")[1].asked) == 1


WRONG = "1. It reaches 99.7 percent on every benchmark that was tried. [1.1]"


def test_a_sentence_with_a_mark_is_asked_for_once_more(library: Library) -> None:
    """The writer is told what is wrong; a sentence that is better takes the place of the old one, in its line."""
    replies = iter([WRONG, "1. It says nothing of numbers any more. [1.1]"])
    document, model = told(library, of(one_line(three(library)[0].key)), lambda _: next(replies))
    assert [(one.text, one.line) for one in document.statements] == [("It says nothing of numbers any more.", 1)]
    asked = model.asked[1].messages
    assert asked[-2].content == WRONG
    assert "99.7" in asked[-1].content
    assert "is not in the cited sentences" in asked[-1].content


def test_a_number_word_that_counts_what_sentences_list_is_not_sent_back(library: Library) -> None:
    """“Two kinds” is marked, for no sentence says two; but no writer is asked for it again."""
    document, model = told(library, of(one_line(three(library)[0].key)), lambda _: "1. It is tried on three kinds of tasks by all of them. [1.1]")
    assert "R4" in document.statements[0].marks
    assert len(model.asked) == 1


def test_a_sentence_that_gets_no_better_stays_with_its_mark_and_is_not_paid_for_again(library: Library) -> None:
    """A rerun asks nothing, however often the sentence was marked."""
    plan = of(one_line(three(library)[0].key))
    document, model = told(library, plan, lambda _: WRONG)
    assert "R4" in document.statements[0].marks
    assert len(model.asked) == 2
    assert not told(library, plan, lambda _: WRONG)[1].asked


def test_a_sentence_that_its_writer_takes_back_is_reported(library: Library) -> None:
    """DROP leaves it out, and the report and the plan's line say so."""
    replies = iter([WRONG, "DROP"])
    document, _ = told(library, of(one_line(three(library)[0].key)), lambda _: next(replies))
    assert not document.statements
    assert [problem.rule for problem in document.report.blocked] == ["R4"]
    assert document.plan[0].notes == ("not written",)


def test_a_sentence_on_ones_own_paper_needs_ones_own_abstract(library: Library) -> None:
    """Nothing was shown of it, so whatever is said of it is objected to."""
    document, model = told(library, of(one_line(three(library)[0].key)), lambda _: "1. Unlike these, our work needs no rewards. [1.1]")
    assert "R7" in document.statements[0].marks
    assert "--about" in model.asked[1].messages[-1].content


def judged(verdict: str, words: str) -> str:
    return json.dumps({"verdict": verdict, "overreach": [{"words": words, "kind": "other"}] if verdict != "supported" else [], "reason": "Not said."})


def test_what_a_second_reader_objects_to_is_mended_and_read_again(library: Library) -> None:
    """The reader sees the new sentence alone; its word is that of the new sentence."""

    def answer(request: Request) -> Answer:
        if request.label.startswith("verify/"):
            return judged("partly", "every task") if "every task" in request.messages[-1].content else judged("supported", "")
        return "1. It is trained for many tasks. [1.1]" if len(request.messages) > 2 else "1. It is trained for every task. [1.1]"

    document, model = told(library, of(one_line(three(library)[0].key)), answer, verify=True)
    assert [(one.text, one.verdict) for one in document.statements] == [("It is trained for many tasks.", "supported")]
    assert [request.label.partition("/")[0] for request in model.asked] == ["draft", "verify", "draft", "verify"]
    assert "“every task” (other)" in model.asked[2].messages[-1].content


def test_a_line_that_names_no_paper_gets_those_that_its_words_find(library: Library) -> None:
    """A person may ask for a sentence and leave it to the library who says so."""
    _, model = told(library, of(one_line("", says="reward hacking is studied in gridworlds")), lambda _: "1. It is. [1.1]")
    assert "Gridworlds" in model.asked[0].messages[1].content


# -- plans that do not fit the library


def test_a_paragraph_whose_plan_names_what_is_not_there_waits_and_the_others_are_written(library: Library) -> None:
    """An unknown key and a sentence that is gone are named with their lines, all at once."""
    key = three(library)[0].key
    text = f"## Bad\n- [introduces; 20 words] x {{@nobody2020x 1}}\n- [introduces; 20 words] y {{@{key} 99}}\n## Good\n- [introduces; 10 words] z {{@{key} 1}}\n"
    paragraphs, _, guide = read_plan(text, "d.plan.md")
    plan = planning.resolved(library, planning.Plan(paragraphs, (), guide), "d.plan.md")
    document, model = told(library, plan, lambda _: "1. It is written. [1.1]")
    assert [len(section.statements) for section in document.sections] == [0, 1]
    assert len(model.asked) == 1
    assert [line.split(": ")[0] for line in document.report.failed] == ["d.plan.md:2", "d.plan.md:3"]
    assert "sentence 99" in document.report.failed[1]


# -- gaps


def gap_plan(library: Library, *absent: str) -> planning.Plan:
    return of(one_line(three(library)[0].key), replace(one_line("", GAP, 15, "none of them speaks of it"), absent=absent))


def test_a_gap_rests_on_words_that_code_looked_for(library: Library) -> None:
    """The prompt shows what code found with a label of its own, and the statement cites it, but no paper."""
    plan = gap_plan(library, "zymurgy", "brewer's yeast")
    document, model = told(library, plan, lambda _: "1. It is written. [1.1]\n2. None of the three abstracts reviewed here mentions zymurgy. [2.1]")
    prompt = model.asked[0].messages[1].content
    assert "[2.1] None of the titles and abstracts of the 3 papers holds any of these words: “zymurgy”, “brewer's yeast”." in prompt
    assert "2. [states a gap; about 15 words] none of them speaks of it — rests on [2.1]" in prompt
    gap = document.statements[1]
    assert (gap.keys, gap.cites[0].text, gap.marks) == ((), "scope", ())
    assert document.plan[1].notes == ()
    assert "zymurgy" in markdown(document)
    assert "@" not in markdown(document).split("## Sentences")[0].split("mentions")[1]


def test_a_gap_that_a_paper_fills_is_not_written_and_one_that_was_written_is_marked(library: Library) -> None:
    """A word that some abstract holds stops the line and names the paper; a paper that comes later marks the sentence."""
    word = next(word for word in three(library)[1].abstract.split() if len(word) > 7 and word.isalpha())
    document, model = told(library, gap_plan(library, word), lambda _: "1. It is written. [1.1]")
    assert not model.asked
    assert f"“{word}” stands in {three(library)[1].key}" in document.report.failed[0]
    plan = gap_plan(library, "zymurgy")
    told(library, plan, lambda _: "1. It is written. [1.1]\n2. None of the abstracts reviewed here mentions zymurgy. [2.1]")
    library.add_text(b'{"key": "late2026z", "title": "Zymurgy with rewards", "abstract": "We brew."}\n', "late.jsonl")
    late = draft.document(library, "d", plan, [*three(library), library.paper("late2026z")])
    assert "R12" in late.statements[1].marks
    assert "late2026z" in late.report.failed[0]


def test_a_planner_is_told_which_of_its_gaps_do_not_hold(library: Library) -> None:
    """A gap needs a sentence that states it, or words that no abstract has; what is left unmended does not reach the plan."""
    word = next(word for word in three(library)[1].abstract.split() if len(word) > 7 and word.isalpha())
    lines = [
        {"job": "introduces", "words": 20, "says": "what they do", "rests_on": ["1.1", "2.1", "3.1"]},
        {"job": GAP, "words": 20, "says": "a held one", "absent": [word]},
        {"job": GAP, "words": 20, "says": "a good one", "absent": ["zymurgy"]},
    ]
    model = ByHand(lambda _: json.dumps({"paragraphs": [{"heading": "A", "sentences": lines}], "left_out": []}))
    plan = planning.plan(Desk(library, Gateway(model), Settings()), "d", Guide("rewards"), three(library), 1)
    assert [one.says for one in plan.paragraphs[0].sentences] == ["what they do", "a good one"]
    assert "does not hold" in model.asked[1].messages[-1].content
    assert "a good one" not in model.asked[1].messages[-1].content


# -- many papers, new papers


def many(library: Library, count: int) -> list[Paper]:
    rows = [json.dumps({"key": f"p{at:03}", "title": f"Paper number {at}", "abstract": f"We study subject {at}."}) for at in range(count)]
    library.add_text("\n".join(rows).encode(), "many.jsonl")
    return [library.paper(f"p{at:03}") for at in range(count)]


def planner(request: Request) -> Answer:
    """Groups papers by tens, and plans one paragraph with a line for each paper but the first."""
    content = request.messages[1].content
    if "/group" in request.label:
        numbers = [int(line.partition(":")[0]) for line in content.splitlines() if line[:1].isdigit()]
        groups = [{"label": f"Group {at}", "definition": "Alike.", "papers": numbers[at : at + 40]} for at in range(0, len(numbers) - 1, 40)]
        groups[-1]["papers"] = groups[-1]["papers"][:-1]  # type: ignore[index]
        return json.dumps({"groups": groups, "left_out": [{"paper": numbers[-1], "reason": "fits nowhere"}]})
    shown = [int(line.split()[1]) for line in content.splitlines() if line.startswith("<<<paper")]
    lines = [{"job": "introduces", "words": 20, "says": f"about {number}", "rests_on": [f"{number}.1"]} for number in shown[1:]]
    return json.dumps({"paragraphs": [{"heading": f"On {shown[0]}", "sentences": lines}], "left_out": [{"paper": shown[0], "reason": "too far"}]})


def test_many_papers_are_grouped_first_and_none_is_dropped_in_silence(library: Library) -> None:
    """A hundred papers: one call for the groups, one a group; each paper is planned or left out with a reason."""
    papers = many(library, 100)
    model = ByHand(planner)
    plan = planning.plan(Desk(library, Gateway(model), Settings()), "big", Guide("subjects"), papers, 6)
    assert [request.label.split("--")[0] for request in model.asked] == ["draft/group", "draft/plan", "draft/plan", "draft/plan"]
    assert "Other parts are planned apart, on: Group 40; Group 80" in model.asked[1].messages[1].content
    planned = {key for paragraph in plan.paragraphs for key in paragraph.keys}
    reasons = dict(plan.left_out)
    assert planned | reasons.keys() == {paper.key for paper in papers}
    assert reasons["p099"] == "fits nowhere"


def test_far_too_many_papers_are_refused_with_a_way_on(library: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads a section of thousands of papers: the error says how to take fewer."""
    monkeypatch.setattr(planning, "MOST_TITLES", 60)
    with pytest.raises(UsageError, match="--taxonomy"):
        planning.plan(Desk(library, Gateway(ByHand(planner)), Settings()), "big", Guide("x"), many(library, 61), 6)


def test_new_papers_get_lines_and_a_line_that_was_taken_out_does_not_come_back(library: Library) -> None:
    """Only papers that no plan was made from are new; what the model adds stands where it says."""
    papers = three(library)
    first = json.dumps({"paragraphs": [{"heading": "A", "sentences": [{"job": "introduces", "says": "x", "rests_on": ["1.1", "2.1", "3.1"]}]}]})
    made = planning.plan(Desk(library, Gateway(ByHand(lambda _: first)), Settings()), "d", Guide("x"), papers, 1)
    text = plan_markdown("d", made.paragraphs, ()).replace(f"; @{papers[2].key} 1", "")  # the person takes a paper out
    paragraphs, _, guide = read_plan(text, "d")
    plan = planning.Plan(paragraphs, (), guide)
    (late,) = many(library, 1)
    assert planning.new_papers(library, "d", plan, [*papers, late]) == [late]
    reply = {"lines": [{"paragraph": 1, "after": 1, "job": "compares", "words": 20, "says": "new", "rests_on": ["1.1"]}]}
    model = ByHand(lambda _: json.dumps(reply))
    added = planning.extended(Desk(library, Gateway(model), Settings()), "d", plan, [late])
    (grown,), _, _ = read_plan(with_added(text, added.after, added.paragraphs, added.left_out), "d")
    assert [one.says for one in grown.sentences] == ["x", "new"]
    assert planning.new_papers(library, "d", plan, [*papers, late]) == []


def test_no_paper_and_one_paper(carrel: Callable[..., object], tmp_path: Path, library: Library) -> None:
    """Without a paper a draft says what to do; with one it has a plan."""
    empty = tmp_path / "empty"
    carrel("init", empty)
    ran = carrel("draft", "d", "--model", "openai/nobody", at=empty)
    assert (ran.code, "carrel add" in ran.err) == (2, True)  # type: ignore[attr-defined]
    one = many(library, 1)
    reply = json.dumps({"paragraphs": [{"heading": "A", "sentences": [{"job": "introduces", "says": "x", "rests_on": ["1.1"]}]}]})
    assert planning.plan(Desk(library, Gateway(ByHand(lambda _: reply)), Settings()), "d", Guide("x"), one, 1).paragraphs[0].keys == ("p000",)


def test_a_scope_holds_for_what_lines_without_papers_find(library: Library) -> None:
    """A search for a line looks at the papers of the scope alone."""
    key = three(library)[0].key
    plan = of(one_line("", says="reinforcement learning with rewards"))
    evidence = draft.shown_to(library, plan.paragraphs[0], three(library), Scope(keys=(key,)))
    assert set(evidence.keys) <= {key}
