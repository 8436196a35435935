"""Cells, assignments and statements as JSON in the library, with their anchors, and back."""

import json
from dataclasses import asdict
from typing import Any

from assistant.document import Assignment, Cell, Cite, Problem, Result, Statement, Summary

Fields = dict[str, object]


def dump(value: Cell | Statement | Summary | list[Assignment] | list[Statement] | list[Problem]) -> str:
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
        tuple(Result(**{**one, "cites": _cites(one["cites"]), "marks": tuple(one["marks"])}) for one in fields["results"]),
        tuple(Problem(**one) for one in fields["blocked"]),
    )


def _cell(fields: dict[str, Any]) -> Cell:
    value = tuple(fields["value"]) if isinstance(fields["value"], list) else fields["value"]
    return Cell(**{**fields, "value": value, "cites": _cites(fields["cites"]), "marks": tuple(fields["marks"])})


def assignments(data: str) -> list[Assignment]:
    """Stored places of one paper."""
    return [Assignment(**{**fields, "cites": _cites(fields["cites"])}) for fields in json.loads(data)]


def statements(data: str) -> list[Statement]:
    """Stored statements of one paragraph or answer."""
    return [_statement(fields) for fields in json.loads(data)]


def problems(data: str) -> list[Problem]:
    """Stored problems of one paragraph or answer."""
    return [Problem(**fields) for fields in json.loads(data)]


def _statement(fields: dict[str, Any]) -> Statement:
    return Statement(
        fields["text"],
        _cites(fields["cites"]),
        tuple(Problem(**problem) for problem in fields["problems"]),
        tuple(fields["unchecked"]),
        fields["verdict"],
        fields["exchange"],
    )  # what is stored stands: nothing blocks it


def _cites(fields: list[dict[str, object]]) -> tuple[Cite, ...]:
    return tuple(
        Cite(str(one["key"]), str(one["text"]), tuple(one["sentences"]), str(one["quote"]), int(str(one["anchor"])))  # type: ignore[arg-type]  # a list of numbers
        for one in fields
    )
