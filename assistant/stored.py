"""Cells, assignments and statements as JSON in the library, with their anchors, and back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from assistant.document import Assignment, Cell, Cite, Coverage, Document, Named, Problem, Report, Result, Section, Statement, Summary

Fields = dict[str, object]


def dump(value: Cell | Summary | list[Assignment]) -> str:
    """The JSON that the library keeps."""
    return json.dumps([asdict(one) for one in value] if isinstance(value, list) else asdict(value), ensure_ascii=False)


def cell(data: str) -> Cell:
    """A stored cell."""
    return _cell(json.loads(data))


def summary(data: str, key: str) -> Summary:
    """A stored summary, of the paper that has this key now."""
    fields = json.loads(data)
    return Summary(
        key,
        {name: _cell(one) for name, one in fields["cells"].items()},
        tuple(Result(**{**one, "cites": cites(one["cites"]), "marks": tuple(one["marks"])}) for one in fields["results"]),
        tuple(Problem(**one) for one in fields["blocked"]),
    )


def _cell(fields: dict[str, Any]) -> Cell:
    value = tuple(fields["value"]) if isinstance(fields["value"], list) else fields["value"]
    return Cell(**{**fields, "value": value, "cites": cites(fields["cites"]), "marks": tuple(fields["marks"])})


def assignments(data: str) -> list[Assignment]:
    """Stored places of one paper."""
    return [Assignment(**{**fields, "cites": cites(fields["cites"])}) for fields in json.loads(data)]


def paragraph_fields(statements: Sequence[Statement], blocked: Sequence[Problem], rounds: int = 0) -> Fields:
    """A paragraph as fields of JSON: its statements with their anchors, what was blocked for good, and how often it was mended."""
    return {"statements": [asdict(one) for one in statements], "blocked": [asdict(one) for one in blocked], "rounds": rounds}


def paragraph(fields: Mapping[str, Any]) -> tuple[tuple[Statement, ...], tuple[Problem, ...]]:
    """A paragraph's statements, and what was blocked, from its fields."""
    return tuple(_statement(one) for one in fields["statements"]), tuple(Problem(**one) for one in fields["blocked"])


def answer_fields(document: Document) -> Fields:
    """An answer as fields of JSON: its statements with their anchors, its coverage and its checks."""
    kept = ("name", "sections", "coverage", "report", "outcome", "restated", "model", "tokens_in", "tokens_out", "cost_usd")
    fields = asdict(document)
    return {name: fields[name] for name in kept}


def answer(fields: Mapping[str, Any]) -> Document:
    """An answer from its fields; its sources are the library's to say."""
    report = fields["report"]
    found = {name: tuple(Problem(**one) for one in report[name]) for name in ("blocked", "marked", "unchecked")}
    return Document(
        "ask",
        fields["name"],
        sections=tuple(Section(one["heading"], tuple(_statement(each) for each in one["statements"])) for one in fields["sections"]),
        coverage=tuple(Coverage(one["key"], tuple(one["used"]), one["left_out"]) for one in fields["coverage"]),
        report=Report(**{**report, **found, "failed": tuple(report["failed"])}),
        **{name: fields[name] for name in ("outcome", "restated", "model", "tokens_in", "tokens_out", "cost_usd")},
    )


def _statement(fields: dict[str, Any]) -> Statement:
    return Statement(
        fields["text"],
        cites(fields["cites"]),
        tuple(Problem(**problem) for problem in fields["problems"]),
        tuple(fields["unchecked"]),
        fields["verdict"],
        fields["exchange"],
        by=fields["by"],
        line=fields.get("line", 0),
        named=tuple(Named(**one) for one in fields.get("named", ())),
    )  # what is stored stands: nothing blocks it


def cites(fields: list[dict[str, object]]) -> tuple[Cite, ...]:
    """Stored citations."""
    return tuple(
        Cite(str(one["key"]), str(one["text"]), tuple(one["sentences"]), str(one["quote"]), int(str(one["anchor"])))  # type: ignore[arg-type]  # a list of numbers
        for one in fields
    )
