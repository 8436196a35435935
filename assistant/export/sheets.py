"""A document as CSV: one row a paper or a statement, its sentences beside it, no cell that a spreadsheet would run."""

import csv
import io
from collections.abc import Iterable

from assistant.document import SUMMARY_FIELDS, Audit, Cite, Document, Row
from assistant.export.escape import cell, plain
from assistant.export.exported import EXPORTED, place_mark, row_marks
from assistant.export.layout import GROUP, parts, turned
from assistant.export.markdown import audit_parts, reasons, shown, stopped_results, told, verdict
from assistant.export.tree import nowhere, path_names, paths

FROM = "quotes are from"


def write(document: Document) -> str:
    """The rows of the document's own kind, with a byte order mark, so that spreadsheets read it as UTF-8."""
    rows = {"table": _table, "taxonomy": _taxonomy, "ask": _statements, "draft": _statements, "check": _checked, "summarize": _summaries, "audit": _audit}[document.task](document)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([[cell(value) for value in row] for row in rows])
    return "\ufeff" + out.getvalue()


def _table(document: Document) -> Iterable[list[str]]:
    """A row a paper, behind the heading of its group where there are groups; turned where the table is."""
    columns = [name for column in document.columns for name in (column.name, f"{column.name}: status", f"{column.name}: sentences")]
    lines = [["key", "title", "year", *columns, FROM, EXPORTED]]
    headings = [GROUP]
    for heading, rows in parts(document):
        lines += [_row(document, row) for row in rows]
        headings += [heading] * len(rows)
    if document.groups:
        lines = [[heading, *line] for heading, line in zip(headings, lines, strict=True)]
    return turned(lines) if document.transposed else lines


def _row(document: Document, row: Row) -> list[str]:
    source = document.sources.get(row.key)
    cells = [row.cells.get(column.id) for column in document.columns]
    said = [value for one in cells for value in (shown(one), one.status if one else "", _quotes(one.cites) if one else "")]
    marks = row_marks(row, document.columns, {column.id: shown(row.cells.get(column.id)) for column in document.columns})
    return [row.key, plain(source.title) if source else "", source.year if source else "", *said, _whose(document, [row.key]), marks]


def _summaries(document: Document) -> Iterable[list[str]]:
    """A row a paper, and beneath it a row a result: filtered by "row", either is a table of its own."""
    columns = [name for called in SUMMARY_FIELDS.values() for name in (called, f"{called}: status", f"{called}: sentences")]
    yield ["key", "title", "year", "row", *columns, "Results", "metric", "value", "baseline", "task", "marks", "sentences", FROM]
    for summary in document.summaries:
        source = document.sources.get(summary.key)
        head = [summary.key, plain(source.title) if source else "", source.year if source else ""]
        cells = [summary.cells[field] for field in SUMMARY_FIELDS]
        said = [value for cell in cells for value in (told(cell), cell.status, _quotes(cell.cites))]
        results = " | ".join(filter(None, [*map(str, summary.results), stopped_results(summary)])) or "not stated"
        marks = ", ".join(f"{name}: {mark}" for name, cell in zip(SUMMARY_FIELDS.values(), cells, strict=True) for mark in cell.marks)
        yield [*head, "paper", *said, plain(results), *[""] * 4, marks, "", _whose(document, [summary.key])]
        for one in summary.results:
            outcome = [one.metric, one.value, one.baseline, one.task, ", ".join(one.marks), _quotes(one.cites)]
            yield [*head, "result", *[""] * len(said), "", *outcome, _whose(document, [summary.key])]


def _taxonomy(document: Document) -> Iterable[list[str]]:
    """A row a place, the facet first where there are several; then what is filed nowhere, by facet."""
    yield ["key", "title", *path_names(document), "rank", "by", "confidence", "sentences", FROM, EXPORTED]
    places, wide = paths(document), len(path_names(document))

    def titled(key: str) -> list[str]:
        return [key, plain(document.sources[key].title) if key in document.sources else ""]

    for one in document.assignments:
        path = [*places[one.node], *[""] * wide][:wide]
        marks = place_mark(places[one.node], one.node)
        yield [*titled(one.key), *path, str(one.rank), one.by, one.confidence, _quotes(one.cites), _whose(document, [one.key]), marks]
    for out, path_out in nowhere(document):
        marks = place_mark(path_out, "")
        yield [*titled(out.key), *path_out, *[""] * (wide - len(path_out)), "", "", "", out.reason, "", marks]


def _statements(document: Document) -> Iterable[list[str]]:
    yield ["heading", "statement", "keys", "sentences", "marks", FROM]
    for section in document.sections:
        for statement in section.statements:
            whose = _whose(document, statement.keys)
            yield [section.heading, statement.text, "; ".join(statement.keys), _quotes(statement.cites), ", ".join(statement.marks), whose]


def _checked(document: Document) -> Iterable[list[str]]:
    """A row a statement of somebody's text: its verdict, why, and the sentences it can rest on."""
    yield ["statement", "verdict", "reasons", "keys", "sentences", FROM]
    for one in document.statements:
        keys = list(one.keys)
        quotes = _quotes(cite for cite in one.cites if cite.quote)
        yield [one.text, verdict(one), reasons(one), "; ".join(keys), quotes, _whose(document, keys)]


def _audit(document: Document) -> Iterable[list[str]]:
    """A row a citation; then, told apart by the first column, what else was found."""
    yield ["part", "place", "key", "paper", "support", "by", "statement", "reasons", "sentences", FROM]
    found = document.audit or Audit()
    for one, statement in zip(found.citations, document.statements, strict=True):
        said = " | ".join(f"{problem.rule}: {problem.reason}".removeprefix(": ") for problem in one.reasons)
        quotes = _quotes([one.cite] if one.cite else ())
        yield ["Citations", one.place, one.key, one.paper, one.support, one.by, statement.text, said, quotes, _whose(document, [one.paper])]
    for heading, entries in audit_parts(document):
        yield from ([heading, place, "", "", "", "", said, "", "", ""] for place, said in entries)


def _whose(document: Document, keys: Iterable[str]) -> str:
    """Whose words the quoted sentences are."""
    notes = {document.sources[key].is_note for key in keys if key in document.sources}
    return " and ".join(name for is_note, name in ((True, "our notes"), (False, "abstracts")) if is_note in notes)


def _quotes(cites: Iterable[Cite]) -> str:
    places = ((one.place if not one.key else f"{one.key} {','.join(map(str, one.sentences))}", one.quote) for one in cites)
    return " | ".join(f"{place}: {quote}" for place, quote in places)
