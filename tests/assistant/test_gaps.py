"""Gaps: which sentences claim one, of whom, and whether words that are said to be absent are (R12)."""

import pytest

from assistant import gaps

OF_THE_FIELD = (
    "No work has studied reward hacking in robots.",
    "Little attention has been paid to the cost of verifiers.",
    "How credit is assigned across turns remains largely unexplored.",
    "The transfer of such rewards has not been investigated.",
    "Few studies compare dense and sparse rewards.",
    "Safety is an open problem for agents that use tools.",
    "Long horizons are underexplored.",
)
OF_PAPERS = (
    "None of the twelve abstracts reviewed here mentions tactile sensing.",
    "Of these works, none reports the cost of its verifier.",
    "None of these papers compares the two.",
    "Neither paper reports how long training takes.",
)
NO_GAP = (
    "TIPS needs no reward model.",
    "The method trains without labels and lacks a critic.",
    "Unlike GRPO, it keeps the value network.",
    "Rewards come from unit tests, which run in seconds.",
)


@pytest.mark.parametrize("sentence", OF_THE_FIELD)
def test_a_gap_of_the_field_is_known(sentence: str) -> None:
    """It is claimed, and of nobody in particular."""
    assert gaps.claims_gap(sentence)
    assert not gaps.is_scoped(sentence)


@pytest.mark.parametrize("sentence", OF_PAPERS)
def test_a_gap_of_papers_is_scoped(sentence: str) -> None:
    """It is claimed of papers that can be looked through."""
    assert gaps.claims_gap(sentence)
    assert gaps.is_scoped(sentence)


@pytest.mark.parametrize("sentence", NO_GAP)
def test_what_a_method_does_without_is_no_gap(sentence: str) -> None:
    """A negation alone claims nothing of a field."""
    assert not gaps.claims_gap(sentence)


def test_words_count_as_held_in_any_inflection_and_phrases_where_their_words_stand_together() -> None:
    """Rather found once too often: `robot` is held by “robots”; a phrase needs its words side by side."""
    sentences = [("a2026x", "Robots are trained by force."), ("b2026y", "Feedback helps everybody greatly, and force counts."), ("c2026z", "The feedback of forces is felt.")]
    found = gaps.held(["robot", "force feedback", "tactile", "train robots"], sentences)
    assert [(one.word, one.key) for one in found] == [("robot", "a2026x"), ("force feedback", "c2026z"), ("train robots", "a2026x")]
    assert not gaps.held(["unsupervised techniques"], [("d", "An unsupervised algorithm that rivals the best of supervised techniques.")])
