"""What the benchmark of tables counts: columns found, cells that agree, and cells left empty where the abstract is silent."""

import pytest

from benchmarks.table import Case, agrees, scored

CASE = Case(
    "c",
    "Agents",
    (("p1", "", ""), ("p2", "", "")),
    ("Paradigm", "Base model"),
    {"p1": {"Paradigm": "RL", "Base model": "Qwen2.5-7B"}, "p2": {"Paradigm": "SFT", "Base model": "-"}},
    {"p1": {"Paradigm": True, "Base model": False}, "p2": {"Paradigm": False}},
)


def cell(value: object, status: str = "stated") -> dict[str, object]:
    return {"value": value, "status": status}


def test_columns_are_found_by_name_and_by_cells_and_silence_is_counted() -> None:
    """`Training` says what `Paradigm` says in both papers; a cell that people left empty counts neither way."""
    columns = [{"id": "training", "name": "Training", "question": "How is it trained?"}, {"id": "base", "name": "Base", "question": "Which model is it built on?"}]
    rows = [
        {"key": "p1", "cells": {"training": cell("reinforcement learning"), "base": cell(None, "not stated")}},
        {"key": "p2", "cells": {"training": cell("SFT"), "base": cell("Llama")}},
    ]
    score = scored(CASE, {"columns": columns, "rows": rows})
    assert (score.columns, score.by_name, score.by_cells) == (2, 1, 1)
    assert (score.filled, score.right, score.equal) == (2, 2, 1)
    assert (score.present, score.found, score.absent, score.abstained) == (1, 1, 2, 1)


@pytest.mark.parametrize(
    ("given", "wanted", "same"),
    [
        ("yes, clipped", "Yes", True), ("no", "Yes", False), ("81.5 F1", "81.5", True), ("81.3", "81.5", False), ("two-stage RL with a judge", "judge", True),
        ("supervised fine-tuning", "SFT", True), ("imitation", "RL", False), ("judged by people", "unit tests and a judge", False),
    ],
)  # fmt: skip
def test_cells_agree_by_figure_polarity_words_and_initials(given: str, wanted: str, same: bool) -> None:
    """As the head of the benchmark says."""
    assert agrees(given, wanted) == same
