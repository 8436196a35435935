"""The integrity report as rows: each statement with how it was checked, and each thing that was found, under its rule."""

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assistant.document import SUMMARY_FIELDS, Cell, Cite, Document, Problem, Result, Statement
from assistant.export.escape import cell as guarded
from assistant.export.markdown import shown, summary, told

HEAD = ("statement", "state", "rule", "reason", "better")
BY_CODE, BY_BOTH, NOT_CHECKED, BLOCKED, FAILED = "checked by code", "checked by code and by a model", "not checked", "blocked", "failed"
BY_PERSON = "not checked: a person's"


@dataclass(frozen=True, slots=True)
class Check:
    """A statement and its state, with what one rule found, if one did."""

    statement: str
    state: str
    rule: str = ""
    reason: str = ""
    better: str = ""

    @property
    def row(self) -> tuple[str, ...]:
        """Its cells, under HEAD."""
        return (self.statement, self.state, self.rule, self.reason, self.better)


def write(document: Document) -> str:
    """The report as CSV, to stand beside a table or a text that has no room for it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([guarded(value) for value in row] for row in (HEAD, *(check.row for check in checks(document)), (summary(document.report), "in all", "", "", "")))
    return "\ufeff" + out.getvalue()


def checks(document: Document) -> tuple[Check, ...]:
    """A row for each statement, cell, result and place, or one for each problem of it; then what the report alone knows."""
    report = document.report
    stopped = {(one.rule, one.reason) for one in report.blocked}
    rows = [check if (check.rule, check.reason) not in stopped else Check(check.statement, check.state) for one in _items(document) for check in one]
    said = {(row.rule, row.reason) for row in rows if row.rule}
    rows += [Check(one.text, BY_CODE, one.rule, one.reason, one.better) for one in report.marked if (one.rule, one.reason) not in said]
    rows += [Check(one.text, NOT_CHECKED, one.rule, one.reason, one.better) for one in report.unchecked]
    rows += [Check(one.text, BLOCKED, one.rule, one.reason, one.better) for one in report.blocked]
    rows += [Check(item, FAILED) for item in report.failed]
    return tuple(dict.fromkeys(rows))


def found(document: Document) -> tuple[Check, ...]:
    """The rows that say more than that a statement was checked."""
    return tuple(check for check in checks(document) if check.rule or check.state == FAILED)


def _items(document: Document) -> Iterator[Sequence[Check]]:
    for statement in document.statements:
        yield _of_statement(statement)
    for row in document.rows:
        for column in document.columns:
            if cell := row.cells.get(column.id):
                yield _of_cell(f"{row.key}, {column.name}: {shown(cell)}", cell)
    for one in document.summaries:
        for field, name in SUMMARY_FIELDS.items():
            yield _of_cell(f"{one.key}, {name}: {told(one.cells[field])}", one.cells[field])
        for result in one.results:
            yield _of_cell(f"{one.key}, result: {result}", result)
    labels = {node.id: node.label for node in document.nodes}
    for place in document.assignments:
        state = BY_PERSON if place.by == "person" else _state(place.cites)
        yield [Check(f"{place.key} under {labels.get(place.node, place.node)}", state)]


def _of_statement(statement: Statement) -> list[Check]:
    is_checked = statement.by == "code" or (bool(statement.cites) and not statement.unchecked)
    state = NOT_CHECKED if not is_checked else BY_BOTH if statement.verdict else BY_CODE
    return _rows(statement.text, state, statement.problems)


def _of_cell(text: str, cell: Cell | Result) -> list[Check]:
    """A cell's row, or one for each mark."""
    marks = [mark.partition(": ") for mark in cell.marks]
    is_persons = isinstance(cell, Cell) and cell.by == "person"
    state = BY_PERSON if is_persons else _state(cell.cites, cell.verdict)
    return _rows(text, state, [Problem(text, rule, reason) for rule, _, reason in marks])


def _state(cites: Sequence[Cite], verdict: str = "") -> str:
    return NOT_CHECKED if not cites else BY_BOTH if verdict else BY_CODE


def _rows(text: str, state: str, problems: Sequence[Problem]) -> list[Check]:
    return [Check(text, state, one.rule, one.reason, one.better) for one in problems] or [Check(text, state)]
