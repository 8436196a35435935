"""Revising a written draft: what was not asked to change stays to the byte; what changed is shown, kept, and taken back."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from assistant.cli import model
from assistant.gateway import Gateway, Request
from assistant.tasks import revise as revising
from assistant.tasks.draft_diff import pieces
from store.library import Library
from tests.assistant.test_tasks import Answer, ByHand
from tests.conftest import Carrel, Ran

AGENT, FAST, CODER = "agentrlvr2025", "arxiv-2603.12612", "arxiv-2603.12698"
PLAN = f"""# Plan of work

Style: sentences of about 20 words; impersonal

## Sparse rewards

My own note: ask the co-author.
- [introduces; 30 words] rewards are rare in software engineering {{@{AGENT} 1}}
- [introduces; 20 words] guided attempts update the policy {{@{AGENT} 3}}
- [contrasts; 25 words] tests that are weak and fixed {{@{CODER} 1}}

## Humanoids

- [introduces; 10 words] stochastic policies can be kept {{@{FAST} 2}}
- [introduces; 20 words] it equals or exceeds deterministic baselines {{@{FAST} 4}}

## Left out

* @arxiv-2603.13019: about machines
"""
LINES = {"Sparse rewards": ((AGENT, 1), (AGENT, 3), (CODER, 1)), "Humanoids": ((FAST, 2), (FAST, 4))}
KEPT = {"Sparse rewards": ["S1.1", "S1.2", "S1.3"], "Humanoids": ["S2.1", "S2.2"]}
Reply = dict[str, object]


def said(library: Library, key: str, number: int) -> str:
    """A sentence of a paper's abstract: a statement in these words rests on it, whatever rule looks."""
    paper = library.paper(key)
    return next(text for text in library.texts(paper) if text.role == "abstract").sentence(number)


def label(library: Library, key: str, number: int) -> str:
    """The label of a sentence in a prompt that shows every paper."""
    return f"[{[paper.key for paper in library.considered()].index(key) + 1}.{number}]"


def kept(*names: str) -> list[Reply]:
    """Sentences that stay, in this order."""
    return [{"keep": name} for name in names]


def new(text: str, *instead_of: str, job: str = "introduces", why: str = "shorter") -> Reply:
    """A sentence that is written."""
    return {"job": job, "text": text, "instead_of": list(instead_of), "why": why}


def whole(one: Sequence[Reply] = tuple(kept(*KEPT["Sparse rewards"])), two: Sequence[Reply] = tuple(kept(*KEPT["Humanoids"])), **more: object) -> Reply:
    """A reply with both paragraphs, each as it stands unless it is given."""
    paragraphs = [{"heading": heading, "sentences": list(row)} for heading, row in zip(KEPT, (one, two), strict=True)]
    return {"paragraphs": paragraphs, **more}


class Hand(ByHand):
    """A model that writes the paragraphs in the papers' own words, and revises as it is told to, reply after reply."""

    def __init__(self, library: Library) -> None:
        super().__init__(self.reply)
        self.library = library
        self.revisions: list[Reply] = []

    def reply(self, request: Request) -> Answer:
        if request.label.startswith("draft/revise"):
            return json.dumps(self.revisions.pop(0))
        heading = next(heading for heading in LINES if f'"{heading}"' in request.messages[1].content)
        numbers = {key: at for at, key in enumerate(sorted({key for key, _ in LINES[heading]}), 1)}
        return "\n".join(
            f"{at}. {said(self.library, key, number)} [{numbers[key]}.{number}]" for at, (key, number) in enumerate(LINES[heading], 1)
        )

    @property
    def asked_to_revise(self) -> list[Request]:
        """The requests that were about a revision."""
        return [request for request in self.asked if request.label.startswith("draft/revise")]


@pytest.fixture
def hand(library: Library, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hand]:
    by_hand = Hand(library)
    monkeypatch.setattr(model, "gateway_for", lambda library, settings, wanted: Gateway(by_hand))
    monkeypatch.setenv("CARREL_MODEL", "test/by-hand")
    yield by_hand


@pytest.fixture
def path(folder: Path, carrel: Carrel, hand: Hand) -> Path:
    """The plan of a draft of two paragraphs that is written."""
    plan = folder / "drafts" / "work.plan.md"
    plan.parent.mkdir(exist_ok=True)
    plan.write_text(PLAN, "utf-8")
    ran = carrel("draft", "work", at=folder)
    assert ran.code == 0, ran.err
    return plan


Revise = Callable[..., Ran]


@pytest.fixture
def revise(carrel: Carrel, folder: Path, hand: Hand, path: Path) -> Revise:
    """Revises the draft; the model's replies are given."""

    def ran(*replies: Reply, wish: str = "shorter", options: Sequence[str] = ()) -> Ran:
        hand.revisions = list(replies)
        return carrel("draft", "work", "--revise", wish, *options, at=folder)

    return ran


def statements(carrel: Carrel, folder: Path) -> list[list[dict[str, object]]]:
    """The sentences of each paragraph as they are stored."""
    return [one["statements"] for one in json.loads(carrel("draft", "work", "--json", at=folder).out)["paragraphs"]]


def test_what_is_not_replaced_stays_to_the_byte(revise: Revise, carrel: Carrel, folder: Path, hand: Hand, path: Path) -> None:
    """One sentence is written anew; the others, their citations, and all other lines of the plan are what they were."""
    before, plan = statements(carrel, folder), path.read_text("utf-8")
    text = f"The policy is updated by RLVR after guided attempts. {label(hand.library, AGENT, 3)}"
    ran = revise(whole([*kept("S1.1"), new(text, "S1.2"), *kept("S1.3")]))
    assert ran.code == 0, ran.err
    after = statements(carrel, folder)
    assert [after[0][0], after[0][2], after[1]] == [before[0][0], before[0][2], before[1]]
    assert after[0][1]["text"] == "The policy is updated by RLVR after guided attempts."
    assert after[0][1]["cites"] == before[0][1]["cites"]
    old, line = plan.splitlines(), "- [introduces; 9 words] The policy is updated by RLVR after guided attempts. {@agentrlvr2025 3}"
    assert path.read_text("utf-8").splitlines() == [line if "guided attempts" in one else one for one in old]
    assert "1 of 5 sentences changed (1 rewritten); 4 are as they were" in ran.out
    assert "The policy is [-then -]updated by RLVR [-on the rewards of the -]{+after +}guided attempts." in ran.out


def test_after_a_revision_a_run_writes_nothing_anew(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """The plan says what the text says: `carrel draft` asks no model, and the revised text is what it shows."""
    revise(whole([*kept("S1.1"), new(f"The policy is updated by RLVR with $SE(3)$ \\textbf{{in mind}}. {label(hand.library, AGENT, 3)}", "S1.2"), *kept("S1.3")]))
    text, asked = statements(carrel, folder), len(hand.asked)
    assert carrel("draft", "work", at=folder).code == 0
    assert len(hand.asked) == asked
    assert statements(carrel, folder) == text
    assert "in mind" in str(text)


def test_sentences_move_merge_part_and_go(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """Each is told as what it is; a dropped one with its reason, and a paper that no line needs any more is left out with one."""
    merged = f"A software-engineering agent fails so often that the reward is nearly always absent, and the policy is updated on the rewards of guided attempts. {label(hand.library, AGENT, 1)}{label(hand.library, AGENT, 3)}"
    reply = whole([*kept("S2.2"), new(merged, "S1.1", "S1.2", why="merged")], kept("S2.1"), dropped=[{"sentence": "S1.3", "reason": "carries least"}])
    ran = revise(reply, options=["--json"])
    made = json.loads(ran.out)
    assert [(one["kind"], one["why"]) for one in made["changes"]] == [
        ("moved", "from “Humanoids”"),
        ("rewritten", "merged"),
        ("dropped", "carries least"),
    ]
    assert made["changes"][1]["was"] == f"{said(hand.library, AGENT, 1)} {said(hand.library, AGENT, 3)}"
    assert made["changes"][2]["now"] is None
    assert (made["sentences"], made["same"]) == (5, 1)
    assert [len(row) for row in statements(carrel, folder)] == [2, 1]
    left_out = {one["key"]: one["left_out"] for one in made["coverage"] if not one["used"]}
    assert left_out[CODER] == "no sentence needs it after a revision"
    assert left_out["arxiv-2603.13019"] == "about machines"


def test_a_sentence_that_a_rule_stops_is_not_taken(revise: Revise, carrel: Carrel, folder: Path, hand: Hand, path: Path) -> None:
    """It is asked for again once; where it is stopped again the old sentence stays, and the difference says why."""
    before, plan = statements(carrel, folder), path.read_text("utf-8")
    bad = whole([*kept("S1.1"), new("Guided attempts help (Smith, 2021). [99.1]", "S1.2"), *kept("S1.3")])
    ran = revise(bad, bad)
    assert len(hand.asked_to_revise) == 2
    assert "was not shown" in hand.asked_to_revise[1].messages[-1].content
    assert statements(carrel, folder) == before
    assert path.read_text("utf-8") == plan
    assert "stays (the new one was stopped by R2" in ran.out
    assert "0 of 5 sentences changed; 5 are as they were" in ran.out
    assert "R2: Guided attempts help" in ran.err


def test_of_two_sentences_that_part_one_both_stand_or_neither(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """Where one of them is stopped, the old sentence would stand beside the other: so neither is taken."""
    before = statements(carrel, folder)
    good = new(f"Rewards are nearly always absent. {label(hand.library, AGENT, 1)}", "S1.1")
    bad = whole([good, new("An agent fails often.", "S1.1"), *kept("S1.2", "S1.3")])
    revise(bad, bad)
    assert statements(carrel, folder) == before


def test_a_sentence_that_the_reply_forgets_is_asked_for_and_then_stays(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """Nothing vanishes in silence: the first is put back at its place, and so is a whole paragraph."""
    before = statements(carrel, folder)
    forgetful = {"paragraphs": [{"heading": "Sparse rewards", "sentences": kept("S1.2", "S1.3")}]}
    ran = revise(forgetful, forgetful)
    again = hand.asked_to_revise[1].messages[-1].content
    assert all(f"{name} is neither kept, nor replaced, nor dropped with a reason" in again for name in ("S1.1", "S2.1", "S2.2"))
    assert statements(carrel, folder) == before
    assert ran.out.count("the reply did not say what becomes of it") == 3


def test_a_reply_that_is_mended_is_taken(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """Names that the draft does not have, sentences named twice and unknown jobs are faults that the second reply can mend."""
    text = f"The policy is updated by RLVR. {label(hand.library, AGENT, 3)}"
    wrong = whole([*kept("S1.1", "S1.1", "S7.1"), new(text, "S1.2", job="sums up"), *kept("S1.3")], dropped=[{"sentence": "S1.3", "reason": "x"}])
    revise(wrong, whole([*kept("S1.1"), new(text, "S1.2"), *kept("S1.3")]))
    again = hand.asked_to_revise[1].messages[-1].content
    for fault in ("no sentence 'S7.1'", "'sums up' is none of the jobs", "S1.1 stands in 2 places", "S1.3 stands in 2 places"):
        assert fault in again
    assert statements(carrel, folder)[0][1]["text"] == "The policy is updated by RLVR."


def test_a_sentence_that_a_rule_marks_is_asked_for_again_and_taken_with_its_mark(revise: Revise, carrel: Carrel, folder: Path, hand: Hand) -> None:
    """A number that the cited sentence does not hold is doubted once; what is not mended stands with its mark."""
    wrong = whole([*kept("S1.1"), new(f"The policy is then updated by RLVR on 17 guided attempts. {label(hand.library, AGENT, 3)}", "S1.2"), *kept("S1.3")])
    revise(wrong, wrong)
    assert "is doubted: '17' is not in the cited sentences" in hand.asked_to_revise[1].messages[-1].content
    assert statements(carrel, folder)[0][1]["marks"] == ["R4"]


def test_a_sentence_whose_source_has_no_label_here_is_never_replaced(
    revise: Revise, carrel: Carrel, folder: Path, hand: Hand, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is shown as fixed; a reply that would replace it leaves it where it is."""
    monkeypatch.setattr(revising, "_labels", lambda library, cites, evidence: None)
    before = statements(carrel, folder)
    reply = whole([new(f"Guided attempts. {label(hand.library, AGENT, 3)}", "S1.1"), *kept("S1.2", "S1.3")])
    revise(reply, reply)
    assert "S1.1 [introduces; 28 words; fixed]" in hand.asked_to_revise[0].messages[1].content
    assert "S1.1 can be kept, moved or dropped, and not be replaced" in hand.asked_to_revise[1].messages[-1].content
    assert statements(carrel, folder) == before


def test_of_many_papers_those_that_are_cited_and_those_near_the_wish_are_shown(
    revise: Revise, hand: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others stand by their titles, so that a wish about one of them can be answered in words."""
    monkeypatch.setattr(revising, "AT_ONCE", 4)
    revise(whole(), wish="say more of ARL-Tangram, which schedules actions")
    user = hand.asked_to_revise[0].messages[1].content
    assert user.count("<<<paper ") == 4
    assert said(hand.library, "arxiv-2603.13019", 2) in user
    assert said(hand.library, CODER, 6) in user
    far = hand.library.paper("arxiv-2603.12868")
    assert far.title in user
    assert said(hand.library, far.key, 4) not in user


def test_a_wish_that_nothing_fits_changes_nothing(revise: Revise, carrel: Carrel, folder: Path, path: Path) -> None:
    """The reply says why, the person reads it, and no file and no text is another."""
    before, plan = statements(carrel, folder), path.read_text("utf-8")
    ran = revise({"paragraphs": [], "not_done": "no paper here is about DPO"}, wish="contrast with DPO earlier")
    assert ran.code == 0
    assert "Nothing is different: 0 of 5 sentences changed" in ran.out
    assert "not done: no paper here is about DPO" in ran.out
    assert (statements(carrel, folder), path.read_text("utf-8")) == (before, plan)


@pytest.mark.parametrize(("wish", "says"), [("", "say what is to change"), (" … ", "say what is to change")])
def test_an_empty_wish_is_refused(revise: Revise, hand: Hand, wish: str, says: str) -> None:
    """It asks no model, and says what to write."""
    ran = revise(wish=wish)
    assert (ran.code, says in ran.err) == (2, True)
    assert not hand.asked_to_revise


def test_a_draft_that_is_not_written_is_not_revised(revise: Revise, carrel: Carrel, folder: Path, path: Path) -> None:
    """No plan, or a paragraph whose plan was edited since: the command that helps is named."""
    ran = carrel("draft", "other", "--revise", "shorter", at=folder)
    assert (ran.code, "there is no draft 'other' yet" in ran.err) == (2, True)
    path.write_text(PLAN.replace("weak and fixed", "weak"), "utf-8")
    ran = revise()
    assert (ran.code, "'Sparse rewards' is not written yet" in ran.err) == (2, True)


def test_undo_brings_back_the_plan_and_its_text_unpaid(revise: Revise, carrel: Carrel, folder: Path, hand: Hand, path: Path) -> None:
    """Revise, undo, revise: each shows what it should, and only revisions ask the model."""
    before, plan = statements(carrel, folder), path.read_text("utf-8")
    reply = whole(kept("S1.1", "S1.2"), dropped=[{"sentence": "S1.3", "reason": "carries least"}])
    revise(reply)
    revised = statements(carrel, folder)
    asked = len(hand.asked)
    ran = carrel("draft", "work", "--undo", at=folder)
    assert ran.code == 0
    assert said(hand.library, CODER, 1).rstrip(".") in ran.out
    assert (path.read_text("utf-8"), statements(carrel, folder), len(hand.asked)) == (plan, before, asked)
    assert "taken back" in carrel("draft", "work", "--diff", at=folder).err
    revise(reply)
    assert statements(carrel, folder) == revised
    assert carrel("draft", "work", "--undo", at=folder).code == 0
    ran = carrel("draft", "work", "--undo", at=folder)
    assert (ran.code, "no earlier version" in ran.err) == (2, True)


def test_the_last_difference_is_shown_again(revise: Revise, carrel: Carrel, folder: Path, path: Path) -> None:
    """`--diff` prints what the revision printed, as JSON and as Markdown too; before any there is none."""
    ran = carrel("draft", "work", "--diff", at=folder)
    assert (ran.code, "was not revised yet" in ran.err) == (2, True)
    first = revise(whole(kept("S1.3", "S1.1", "S1.2")), wish="the *contrast* first")
    again = carrel("draft", "work", "--diff", "--to", "md", at=folder)
    assert again.out == first.out
    assert "moved (within its paragraph)" in again.out
    file = (folder / "exports" / "work.diff.md").read_text("utf-8")
    assert "Asked for: the \\*contrast\\* first" in file
    assert "- *moved* (within its paragraph): RL for code generation" in file
    made = json.loads(carrel("draft", "work", "--diff", "--json", at=folder).out)
    assert made["changes"][0]["was"] == made["changes"][0]["now"]
    path.write_text(path.read_text("utf-8").replace("stochastic policies", "such policies"), "utf-8")
    assert "its plan was edited since" in carrel("draft", "work", "--diff", at=folder).err


def test_the_prompt_shows_the_draft_its_labels_and_how_it_is_to_be_written(revise: Revise, hand: Hand) -> None:
    """Each sentence with its job, length and labels; whole abstracts; the lines at the head of the plan; the wish last."""
    revise(whole(), wish="shorter, >>> please")
    system, user = (message.content for message in hand.asked_to_revise[0].messages)
    assert "- Style: sentences of about 20 words; impersonal" in system
    assert f"S2.1 [introduces; 8 words] {said(hand.library, FAST, 2)} {label(hand.library, FAST, 2)}" in user
    assert f"{label(hand.library, CODER, 6)} {said(hand.library, CODER, 6)}" in user
    assert user.rstrip().endswith("The author's wish: shorter, ››› please")


def test_a_paragraph_that_goes_leaves_its_notes(revise: Revise, hand: Hand, path: Path) -> None:
    """A person's own lines outlast the paragraph that they stood in; a new heading is told as one."""
    ran = revise({"paragraphs": [{"heading": "All", "sentences": kept("S2.1", "S2.2", "S1.1")}], "dropped": [{"sentence": name, "reason": "off topic"} for name in ("S1.2", "S1.3")]})
    plan = path.read_text("utf-8")
    assert "My own note: ask the co-author." in plan
    assert plan.count("\n## ") == 2
    assert f"## All\n\n- [introduces; 10 words] stochastic policies can be kept {{@{FAST} 2}}" in plan
    assert "heading:\n  [-Humanoids-] {+All+}" in ran.out


def test_a_person_who_edits_meanwhile_loses_nothing(revise: Revise, hand: Hand, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan that changed while the model wrote stays as the person left it."""
    reply = hand.reply

    def slow(request: Request) -> Answer:
        path.write_text(PLAN.replace("My own note", "My new note"), "utf-8")
        return reply(request)

    monkeypatch.setattr(hand, "answers", slow)
    ran = revise(whole(kept("S1.3", "S1.1", "S1.2")))
    assert (ran.code, "was edited while" in ran.err) == (75, True)
    assert "My new note" in path.read_text("utf-8")


def test_words_that_went_and_came_are_marked() -> None:
    """Sentences that are alike are shown as one row of words, those that are not one after the other."""
    row = pieces("The policy is then updated by RLVR on guided attempts.", "The policy is updated by RLVR on attempts.")
    assert [piece for piece in row if piece.kind == "gone"] == [("gone", "then "), ("gone", "guided ")]
    assert [kind for kind, _ in pieces("Rewards are rare.", "A humanoid keeps its balance.")] == ["gone", "both", "come"]
