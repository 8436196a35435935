"""A Document as JSON: the field names that `--json` promises, and back again for what is stored."""

from collections.abc import Iterable, Mapping

from assistant.document import (
    NOT_NEAR,
    NOTE_WARNING,
    SECOND_READER,
    SUMMARY_FIELDS,
    SUPPORT,
    Assignment,
    Audit,
    Cell,
    Cite,
    Column,
    Document,
    Nearness,
    Node,
    Novelty,
    PlanLine,
    Problem,
    Report,
    Statement,
    Summary,
)

Json = dict[str, object]


def document_json(document: Document) -> Json:
    """The whole document in the shape of its task; `note` stands only where quotes are from notes."""
    shape = {"ask": _ask, "table": _table, "taxonomy": _taxonomy, "draft": _draft, "check": _check, "summarize": _summarize, "audit": _audit}[document.task](document)
    return shape | ({"note": NOTE_WARNING} if document.rests_on_notes() else {})


def cite_json(cite: Cite) -> Json:
    """A citation; `text` stands only where it is not the abstract."""
    shape: Json = {"key": cite.key, "sentences": list(cite.sentences), "quote": cite.quote}
    return shape | ({"text": cite.text} if cite.text != "abstract" else {})


def cites_json(cites: Iterable[Cite]) -> list[Json]:
    """Citations in their order."""
    return [cite_json(cite) for cite in cites]


def statement_json(statement: Statement) -> Json:
    """A statement with its citations and marks; `by` stands only where code counted it, `named` where the text names authors, `verdict` where a second reader judged."""
    shape: Json = {"text": statement.text, "cites": cites_json(statement.cites), "marks": list(statement.marks)}
    shape |= {"named": [{"name": one.name, "key": one.key, "at": one.at} for one in statement.named]} if statement.named else {}
    shape |= {"verdict": statement.verdict} if statement.verdict else {}
    return shape | ({"by": "code"} if statement.by == "code" else {})


def cell_json(cell: Cell) -> Json:
    """A cell of a table; `number` stands only where the cell has one that sorts."""
    value = list(cell.value) if isinstance(cell.value, tuple) else cell.value
    shape: Json = {"value": value, "raw": cell.raw, "status": cell.status, "by": cell.by, "cites": cites_json(cell.cites)}
    number = cell.number
    return shape | ({"number": {"value": number.value, "unit": number.unit or None, "of": number.of or None}} if number else {})


def _column_json(column: Column) -> Json:
    """A column; `definitions` stand only where its words have any."""
    shape: Json = {"id": column.id, "name": column.name, "question": column.question, "type": column.type}
    shape |= {"unit": column.unit or None, "vocabulary": list(column.vocabulary) or None}
    return shape | ({"definitions": dict(column.words)} if column.definitions else {})


def summary_json(summary: Summary) -> Json:
    """A paper's summary; a part of a result that its sentences do not say is null, `blocked` stands only where results were."""
    shape: Json = {"key": summary.key} | {name: cell_json(summary.cells[name]) for name in SUMMARY_FIELDS}
    shape["results"] = [
        {"metric": one.metric or None, "value": one.value, "baseline": one.baseline or None, "task": one.task or None, "cites": cites_json(one.cites)}
        for one in summary.results
    ]
    return shape | ({"blocked": [_problem(problem) for problem in summary.blocked]} if summary.blocked else {})


def report_json(report: Report) -> Json:
    """An integrity report; `unchecked`, `failed` and how far a second reader can be trusted stand only where there is any."""
    shape: Json = {
        "statements": report.statements,
        "checked_by_code": report.checked_by_code,
        "checked_by_model": report.checked_by_model,
        "not_checked": report.not_checked,
        "blocked": [_problem(problem) for problem in report.blocked],
        "marked": [{**_problem(problem), "better": problem.better or None} for problem in report.marked],
        "model_calls": report.model_calls,
    }
    more: Json = {"unchecked": [_problem(problem) for problem in report.unchecked]} if report.unchecked else {}
    more |= {"second_reader": SECOND_READER} if report.checked_by_model else {}
    return shape | more | ({"failed": list(report.failed)} if report.failed else {})


def _problem(problem: Problem) -> Json:
    return {"text": problem.text, "rule": problem.rule, "reason": problem.reason}


def _ask(document: Document) -> Json:
    """An answer; `restated` and `coverage` stand only where there is something to say."""
    shape: Json = {
        "question": document.name,
        "outcome": document.outcome,
        "statements": [statement_json(statement) for statement in document.statements],
        "report": report_json(document.report),
        "model": document.model or None,
        "tokens": {"in": document.tokens_in, "out": document.tokens_out},
        "cost_usd": document.cost_usd,
    }
    restated: Json = {"restated": document.restated} if document.restated else {}
    return shape | restated | ({"coverage": _coverage(document)} if document.coverage else {})


def _check(document: Document) -> Json:
    statements = [
        {
            "text": statement.text,
            "cites": cites_json(statement.cites),
            "blocked": list(dict.fromkeys(problem.rule for problem in statement.blocked)),
            "marks": list(statement.marks),
        }
        for statement in document.statements
    ]
    return {"statements": statements, "report": report_json(document.report)}


def _audit(document: Document) -> Json:
    """An audit; `cite` is null where no sentence of the abstract comes near."""
    found = document.audit or Audit()
    citations = [
        {
            "place": one.place,
            "sentence": one.sentence,
            "key": one.key,
            "paper": one.paper or None,
            "statement": statement.text,
            "support": one.support,
            "by": one.by,
            "reasons": [{"rule": problem.rule or None, "reason": problem.reason, "better": problem.better or None} for problem in one.reasons],
            "cite": cite_json(one.cite) if one.cite else None,
        }
        for one, statement in zip(found.citations, document.statements, strict=True)
    ]
    return {
        "name": document.name,
        "files": list(found.files),
        "bibliographies": list(found.bibliographies),
        "counts": {support: found.count(support) for support in SUPPORT},
        "citations": citations,
        "uncited": [{"place": one.place, "text": one.text, "reason": one.reason} for one in found.uncited],
        "fitting": [{"place": one.place, "beside": one.beside, "cite": cite_json(one.cite)} for one in found.fitting],
        "differences": [
            {"key": one.key, "paper": one.paper, "place": one.place, "field": one.field, "given": one.given, "library": one.known} for one in found.differences
        ],
        "missing": [{"key": key, "place": place, "near": near or None} for key, place, near in found.missing],
        "never_cited": list(found.never_cited),
        "not_in_library": [{"key": key, "title": title} for key, title in found.unknown],
        "remarks": [{"place": place, "text": text} for place, text in found.remarks],
        "report": report_json(document.report),
    }


def _coverage(document: Document) -> list[Json]:
    """The coverage sheet; `times` stands only where statements were counted."""
    return [
        {"key": one.key, "used": list(one.used), "left_out": one.left_out or None} | ({"times": list(one.times)} if one.times else {})
        for one in document.coverage
    ]


def _table(document: Document) -> Json:
    """A table; `groups` stand only where its rows are grouped, `transposed` only where it is."""
    shape: Json = {
        "name": document.name,
        "columns": [_column_json(column) for column in document.columns],
        "rows": [{"key": row.key, "cells": {name: cell_json(cell) for name, cell in row.cells.items()}} for row in document.rows],
        "coverage": _coverage(document),
        "report": report_json(document.report),
    }
    grouped: Json = {"groups": [{"group": group.heading, "keys": list(group.keys)} for group in document.groups]} if document.groups else {}
    return shape | grouped | ({"transposed": True} if document.transposed else {})


def _node(node: Node) -> Json:
    """A node; `example` stands only where a paper shows what it is."""
    shape: Json = {
        "id": node.id,
        "label": node.label,
        "definition": node.definition,
        "parent": node.parent or None,
        "facet": node.facet,
        "locked": node.locked,
    }
    return shape | ({"example": node.example} if node.example else {})


def _assignment(assignment: Assignment) -> Json:
    return {
        "key": assignment.key,
        "node": assignment.node,
        "rank": assignment.rank,
        "by": assignment.by,
        "confidence": assignment.confidence,
        "cites": cites_json(assignment.cites),
    }


def _taxonomy(document: Document) -> Json:
    return {
        "name": document.name,
        "nodes": [_node(node) for node in document.nodes],
        "assignments": [_assignment(assignment) for assignment in document.assignments],
        "unassigned": [{"key": one.key, "reason": one.reason} for one in document.unassigned],
        "coverage": _coverage(document),
        "report": report_json(document.report),
    }


def _draft(document: Document) -> Json:
    """A draft; `closest` and `novelty` stand only where it is about an abstract of the person's own."""
    shape: Json = {
        "name": document.name,
        "paragraphs": [
            {"heading": section.heading, "statements": [statement_json(statement) for statement in section.statements]}
            for section in document.sections
        ],
        "coverage": _coverage(document),
        "plan": [_plan_line(line) for line in document.plan],
        "coverage_notes": [
            {"kind": one.kind, "section": one.section or None, "text": one.text, "keys": list(one.keys)} for one in document.coverage_notes
        ],
        "report": report_json(document.report),
    }
    cells = {row.key: row.cells for row in document.rows}
    shape |= {"closest": [_near(one, cells.get(one.key, {})) for one in document.nearest]} if document.nearest or document.outcome == NOT_NEAR else {}
    return shape | ({"novelty": [novelty_json(one) for one in document.novelty]} if document.novelty else {})


def _near(near: Nearness, cells: Mapping[str, Cell]) -> Json:
    """A paper near to the person's own abstract; `cells` are empty where no model has read it beside that."""
    shape: Json = {"key": near.key, "score": near.score, "cosine": near.cosine, "found_by": list(near.found_by)}
    return shape | {"cells": {name: cell_json(cell) for name, cell in cells.items()}}


def novelty_json(novelty: Novelty) -> Json:
    """A claim of the person's own abstract, by the number of its sentence, and the paper's sentences that may say it already."""
    shape: Json = {"claim": novelty.claim.quote, "sentence": novelty.claim.sentences[0], "cites": cites_json(novelty.cites)}
    return shape | {"reason": novelty.reason, "state": novelty.state}


def _plan_line(line: PlanLine) -> Json:
    """A line of the plan; `text` is null where nothing stands for it, and `line` 0 where a sentence stands for none."""
    return {
        "heading": line.heading, "line": line.line, "job": line.job, "says": line.says, "words": line.words,
        "asked": list(line.asked), "text": line.text or None, "notes": list(line.notes),
    }  # fmt: skip


def _summarize(document: Document) -> Json:
    return {
        "summaries": [summary_json(summary) for summary in document.summaries],
        "coverage": _coverage(document),
        "report": report_json(document.report),
    }
