"""One wording for one value: a proposal a column, by code where the wordings are few, by a model where they are many.

Code puts wordings together that differ in case, hyphens, plural or accents alone, and gives numbers the unit that most of
them have. What means the same in other words a model says, in one call a column. What a person's mapping has stays.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from pydantic import BaseModel, Field

from assistant.document import Column, Document
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota
from assistant.gateway import Check, Request
from assistant.grounding import free_form
from assistant.measures import common_unit, measured
from assistant.numbers import missing, numbers
from assistant.tables import Decisions, Wordings, alike
from assistant.tasks.desk import Desk, label_for
from assistant.visible import visible
from store.keys import slug

FEW: Final = 8
"""Up to so many values a person sees at a glance; code puts their spellings together and no model is asked."""
PROSE: Final = 9
"""Wordings of more words than this (the median) are sentences: each paper's own, never one value."""
MOST_NUMERIC: Final = 0.6
"""Where so many cells of a column of words begin with a number, the column sorts by it."""
FIRST: Final = 8
"""A cell begins with a number where it stands so near to its start: `about 3 hours`."""


class ValueReply(BaseModel):
    """Wordings that mean the same, by number, and what the table shows for them."""

    value: str
    definition: str = ""
    wordings: list[int] = Field(default_factory=list)


class TidyReply(BaseModel):
    """One column's values."""

    values: list[ValueReply]


class Wording(NamedTuple):
    """A wording of a column, with its number in the prompt and how many papers have it."""

    number: int
    text: str
    papers: int


@dataclass(frozen=True, slots=True)
class ColumnWordings:
    """What of a column a model is asked: the wordings that have no value yet, and the values in use."""

    column: Column
    wordings: tuple[Wording, ...]
    known: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Proposal:
    """New lines for a mapping: wordings and units by column id; and the columns that got none, with the reason."""

    values: Mapping[str, Mapping[str, str]]
    units: Mapping[str, str]
    left: tuple[tuple[str, str], ...] = ()
    failed: tuple[str, ...] = ()


def by_code(document: Document, decisions: Decisions) -> Proposal:
    """Spellings and units, without a model: for each column the wordings that code can put together.

    The document is the table as it was read, without its mapping.
    """
    values: dict[str, dict[str, str]] = {}
    units: dict[str, str] = {}
    left = []
    for column in document.columns:
        unit = _unit(document, column)
        if unit is not None:
            units.update({column.id: unit} if column.id not in decisions.units else {})
            continue
        if column.type == "yes/no" or (column.type == "category" and column.vocabulary):
            left.append((column.id, "its words are given"))
            continue
        counted = _counted(document, column)
        if _is_prose(counted):
            left.append((column.id, "its cells are sentences of their own"))
        elif spelled := _spelled(counted, decisions.wordings.get(column.id, Wordings())):
            values[column.id] = spelled
    return Proposal(values, units, tuple(left))


def waiting(document: Document, decisions: Decisions, coded: Proposal) -> list[ColumnWordings]:
    """The columns that a model is asked about: those that still have many values, with at least two wordings that are new."""
    asked = []
    done = {name for name, _ in coded.left} | set(coded.units) | set(decisions.units)
    for column in document.columns:
        if column.id in done:
            continue
        mapped = decisions.wordings.get(column.id, Wordings())
        spelled = coded.values.get(column.id, {})
        counts: Counter[str] = Counter()
        for raw, count in _counted(document, column).items():
            if not mapped.knows(raw):
                counts[spelled.get(raw, raw)] += count
        if len(counts) + len(mapped.shown) > FEW and len(counts) > (0 if mapped.shown else 1):
            ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
            wordings = tuple(Wording(number, visible(text), count) for number, (text, count) in enumerate(ordered, 1))
            asked.append(ColumnWordings(column, wordings, mapped.shown))
    return asked


def tidied(desk: Desk, document: Document, decisions: Decisions) -> Proposal:
    """A proposal for every column: what code finds, and what a model says of the columns with many values."""
    coded = by_code(document, decisions)
    values = {name: dict(pairs) for name, pairs in coded.values.items()}
    failed: list[str] = []
    last: GatewayError | None = None
    for job, outcome in desk.structured_all(waiting(document, decisions, coded), lambda job: _asked(desk, document.name, job)):
        if isinstance(outcome, GatewayError):
            failed.append(f"{job.column.name}: {outcome}")
            last = outcome
            continue
        said = _said(job, outcome.value)
        spelled = values.setdefault(job.column.id, {})
        for raw in _counted(document, job.column):
            wording = visible(spelled.get(raw, raw))
            if wording in said and said[wording] != raw:
                spelled[raw] = said[wording]
    if isinstance(last, BudgetReached | KeyOrQuota):
        raise last
    return Proposal({name: pairs for name, pairs in values.items() if pairs}, coded.units, coded.left, tuple(failed))


def _asked(desk: Desk, name: str, job: ColumnWordings) -> tuple[Request, type[TidyReply], Check[TidyReply]]:
    label = label_for("table", "tidy", f"{slug(name)}-{job.column.id}")
    known = [visible(value) for value in job.known]
    request = desk.request("table/tidy", label, TidyReply, column=job.column, wordings=job.wordings, known=known)
    return request, TidyReply, lambda reply: _faults(reply, job)


def _said(job: ColumnWordings, reply: TidyReply) -> dict[str, str]:
    """Each wording's value; where the re-ask left a fault, its value is left out."""
    texts = {one.number: one.text for one in job.wordings}
    taken = Counter(number for one in reply.values for number in set(one.wordings))
    found = {}
    for one in reply.values:
        for number in one.wordings:
            if number in texts and taken[number] == 1 and not _value_faults(one.value, texts[number]):
                found[texts[number]] = " ".join(one.value.split())
    return found


def _faults(reply: TidyReply, job: ColumnWordings) -> list[str]:
    texts = {one.number: one.text for one in job.wordings}
    taken = Counter(number for one in reply.values for number in set(one.wordings))
    found = [f"wording {number} is in {count} values" for number, count in taken.items() if count > 1]
    found += [f"there is no wording {number}" for number in taken if number not in texts]
    for one in reply.values:
        found += [fault for number in one.wordings if number in texts for fault in _value_faults(one.value, texts[number])]
    return list(dict.fromkeys(found))


def _value_faults(value: str, wording: str) -> list[str]:
    """A value says something, is no reference, and has the numbers of its wording and no others."""
    if not value.strip():
        return ["a value is empty"]
    found = [f"value {value!r}: {problem.reason}" for problem in free_form(value)]
    changed = [*missing(value, wording), *missing(wording, value)] if numbers(value) or numbers(wording) else []
    return found + [f"value {value!r} has not the same numbers as {wording!r}"] * bool(changed)


def _counted(document: Document, column: Column) -> Counter[str]:
    """The wordings of a column, each with how many papers have it; what a person set is theirs."""
    counts: Counter[str] = Counter()
    for row in document.rows:
        cell = row.cells.get(column.id)
        if cell and cell.status == "stated" and cell.by == "model":
            counts.update(set(cell.value) if isinstance(cell.value, tuple) else [cell.value] if isinstance(cell.value, str) else [])
    return counts


def _spelled(counted: Counter[str], mapped: Wordings) -> dict[str, str]:
    """Wordings that differ in spelling alone, each with the one that most papers have; those that the mapping knows are left."""
    groups: dict[str, list[str]] = {}
    for raw in counted:
        if not mapped.knows(raw):
            groups.setdefault(alike(raw), []).append(raw)
    found = {}
    for group in groups.values():
        best = min(group, key=lambda raw: (-counted[raw], raw))
        found.update({raw: best for raw in sorted(group) if raw != best})
    return found


def _is_prose(counted: Counter[str]) -> bool:
    lengths = sorted(len(raw.split()) for raw in counted) or [0]
    return lengths[len(lengths) // 2] >= PROSE


def _unit(document: Document, column: Column) -> str | None:
    """The unit that a column's numbers are shown in; None where it is no column of numbers."""
    cells = [row.cells[column.id] for row in document.rows if column.id in row.cells and row.cells[column.id].status == "stated"]
    found = [one for cell in cells if (one := measured(cell, column))]
    if column.type == "number":
        return column.unit or common_unit(found)
    if column.type != "text" or not found or len(found) < MOST_NUMERIC * len(cells) or _is_prose(_counted(document, column)):
        return None
    first = sum(any(number.at <= FIRST for number in numbers(cell.raw)) for cell in cells)
    return common_unit(found) if first >= MOST_NUMERIC * len(cells) else None
