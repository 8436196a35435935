"""What a model says of one paper, field by field → cells with anchors; what no sentence vouches for loses its value.

`table` and `summarize` both read so.
"""

from dataclasses import replace
from typing import NamedTuple

from pydantic import BaseModel, Field

from assistant.document import Cell, Cite, Column, Problem, Status
from assistant.evidence import Evidence, Shown, label_list
from assistant.grounding import cites_of, free_form, label_problems, number_problems, paper_problems

Value = str | float | bool | list[str] | None
FORM = "form"
"""What stopped a cell that is not as it was asked for: no value, a word that is not in the vocabulary."""
STOPS = frozenset({"R2", "R3", "R7", FORM})
"""The rules that take a cell's value away; all others mark it."""


class CellReply(BaseModel):
    """A cell as a model gives it."""

    status: Status
    value: Value = None
    sentences: list[str] = Field(default_factory=list)


class Fault(NamedTuple):
    """Why something in a reply cannot stand, and the rule that stops it."""

    rule: str
    reason: str


def cell_faults(cell: CellReply, column: Column, evidence: Evidence, shown: Shown) -> list[Fault]:
    """What must be mended in a cell: labels that cannot stand, no labels, no value, a word or type that was not asked for."""
    said = label_faults(cell.sentences, evidence, shown)
    if cell.status in {"stated", "absent"} and not label_list(cell.sentences):
        said.append(Fault("R7", f"status {cell.status!r} needs the labels of the sentences that say so"))
    if cell.status == "stated" and cell.value in (None, "", []):
        said.append(Fault(FORM, "status 'stated' needs a value"))
    said += reference_faults(printed(cell.value))
    if column.vocabulary and cell.status == "stated":
        words = cell.value if isinstance(cell.value, list) else [cell.value]
        said += [Fault(FORM, f"{word!r} is not in the vocabulary") for word in words if str(word) not in {*column.vocabulary, "other"}]
    if column.type == "number" and cell.status == "stated" and (isinstance(cell.value, bool) or not isinstance(cell.value, int | float)):
        said.append(Fault(FORM, "the value should be a number"))
    return said


def label_faults(sentences: list[str], evidence: Evidence, shown: Shown) -> list[Fault]:
    """Labels that were not shown, or are another paper's (R2)."""
    return [Fault("R2", reason) for reason in label_problems(label_list(sentences), evidence, shown.number)]


def reference_faults(text: str) -> list[Fault]:
    """References in free form (R3)."""
    return [Fault("R3", problem.reason) for problem in free_form(text)]


def read_cell(cell: CellReply, stopped: Fault | None, evidence: Evidence) -> Cell:
    """A cell with its anchors; one that a rule stopped loses its value, and numbers from nowhere are marked (R4)."""
    raw = printed(cell.value)
    if stopped:
        return stopped_cell(stopped, raw)
    cites = cites_of(label_list(cell.sentences), evidence)
    value = tuple(cell.value) if isinstance(cell.value, list) else cell.value
    made = Cell(value if cell.status in {"stated", "absent"} else None, raw, cell.status, cites=cites)
    return replace(made, marks=marks_of(raw if cell.status == "stated" else "", cites, evidence))


def stopped_cell(fault: Fault, raw: str = "") -> Cell:
    """A cell that cannot stand: never a blank, which would read as absence."""
    return Cell(None, raw, "full text needed", marks=(f"{fault.rule}: {fault.reason}",))


def marks_of(text: str, cites: tuple[Cite, ...], evidence: Evidence) -> tuple[str, ...]:
    """What marks a value: numbers that its sentences do not hold (R4), papers that are retracted (R10) or read like an instruction."""
    found = [*number_problems(text, cites, evidence), *paper_problems(text, cites, evidence)]
    return tuple(f"{problem.rule}: {problem.reason}" for problem in found)


def mark_problem(where: str, mark: str) -> Problem:
    """A mark as the report lists it."""
    rule, _, reason = mark.partition(": ")
    return Problem(where, rule, reason)


def printed(value: Value) -> str:
    """A value as one text."""
    if isinstance(value, list):
        return "; ".join(value)
    return "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
