"""A document as XLSX: typed cells under a header that stays, their sentences as comments and on a sheet, checks and coverage.

Whatever comes from a paper or a model is written as text: no formula, link or error value is ever made of it.
"""

import io
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from assistant.document import NOTE_WARNING, SUMMARY_FIELDS, YOURS, Audit, Cell, Cite, Column, Document
from assistant.export import coverage
from assistant.export.checks import HEAD, checks
from assistant.export.escape import FORMULA_SIGNS, plain, sheet, shortened
from assistant.export.exported import EXPORTED, place_mark, row_marks
from assistant.export.layout import GROUP, parts, turned
from assistant.export.markdown import STATES, audit_parts, reasons, shown, stopped_results, summary, told, verdict
from assistant.export.tree import branches, nowhere, path_names, paths, walked

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

LONGEST_CELL, LONGEST_COMMENT = 32_767, 3_000
NARROWEST, WIDEST = 8, 60
EPOCH = datetime(2000, 1, 1)  # noqa: DTZ001  # no clock stands in a file: the same document is the same bytes
SAVED = re.compile(rb"(?<=>)[^<>]+(?=</dcterms:modified>)")
"""When openpyxl says that the file was saved, whatever it is told."""
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)
MAIN = {"ask": "Answer", "draft": "Draft", "table": "Table", "taxonomy": "Tree", "summarize": "Summaries", "check": "Statements", "audit": "Citations"}
EVIDENCE, NODES, CHECKS, COVERAGE, NOTES, FOUND = "Evidence", "Nodes", "Checks", "Coverage", "Coverage notes", "Found"
NEAREST, EVIDENCE_NEAREST, NOVELTY = "Closest", "Closest, evidence", "Already there"
WHERE = "the whole stands in the JSON export"


@dataclass(frozen=True, slots=True)
class Entry:
    """A cell of a sheet: text or a number, with the sentences that its comment shows and its marks."""

    value: str | float
    cites: tuple[Cite, ...] = ()
    marks: tuple[str, ...] = ()


Line = Sequence[Entry | str]


def write(document: Document) -> bytes:
    """The workbook: the document's own sheet first."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    head, lines = {"table": _table, "taxonomy": _tree, "ask": _statements, "draft": _statements, "check": _checked, "summarize": _summaries, "audit": _audit}[document.task](document)
    cut = _fill(book, MAIN[document.task], *_laid_out(document, head, lines), stays=_stays(document))
    if document.task == "draft" and document.nearest:
        beside, table = _table(document) if document.rows else (["key", "title", "year"], [_paper(document, one.key) for one in document.nearest])
        scores = [[Entry(one.score), "" if one.cosine is None else Entry(one.cosine), " and ".join(one.found_by)] for one in document.nearest]
        cut += _fill(book, NEAREST, [*beside, "search score", "cosine", "found by"], [[*row, *more] for row, more in zip(table, scores, strict=True)])
        cut += _fill(book, EVIDENCE_NEAREST, ("row", "column", "quote", "text", "sentences", "marks"), _evidence(beside, table)) if document.rows else 0
    if document.novelty:
        cut += _fill(book, NOVELTY, ("your sentence", "claim", "state", "paper", "sentences", "quote", "reason"), _novelty(document))
    if document.nodes:
        cut += _fill(book, NODES, ("id", "node", "parent", "facet", "definition", "example", "papers"), _nodes(document))
    if document.audit:
        cut += _fill(book, FOUND, ("part", "place", "what"), [(part, place, said) for part, entries in audit_parts(document) for place, said in entries])
    cut += _fill(book, EVIDENCE, ("row", "column", "quote", "text", "sentences", "marks"), _evidence(head, lines))
    _fill(book, CHECKS, HEAD, [*_report(document, cut), *(check.row for check in checks(document))])
    if document.coverage:
        _fill(book, COVERAGE, *_coverage(document))
    if document.coverage_notes:
        lines = [(coverage.noted(one), one.kind, "; ".join(one.keys)) for one in document.coverage_notes]
        _fill(book, NOTES, ("note", "kind", "keys"), lines)
    return _bytes(book)


def _coverage(document: Document) -> tuple[Line, list[Line]]:
    """The coverage sheet; a draft's has how many statements cite each paper."""
    if document.task != "draft":
        return ("key", "used", "left out"), [(one.key, coverage.places(one), one.left_out) for one in document.coverage]
    lines: list[Line] = [
        (one.key, plain(one.title), one.date, coverage.places(one), Entry(sum(one.times)), one.left_out) for one in document.coverage
    ]
    return ("key", "title", "date", "cited in", "statements", "left out"), lines


def sheet_of(head: Sequence[str], lines: Sequence[Sequence[str]], remarks: Sequence[str]) -> bytes:
    """A workbook of one grid, its figures as figures, with the remarks on a sheet of their own."""
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.worksheets[0])
    _fill(book, "View", head, [[Entry(int(text)) if text.isdecimal() else text for text in line] for line in lines])
    if remarks:
        _fill(book, "Remarks", ("remark",), [(remark.strip(),) for remark in remarks])
    return _bytes(book)


def heading(column: Column) -> str:
    """What a column is called in a sheet: its name, with the unit of its numbers."""
    return plain(f"{column.name} ({column.unit})" if column.unit else column.name)


def _table(document: Document) -> tuple[Line, Sequence[Line]]:
    lines: list[Line] = []
    for row in document.rows:
        cells = [_cell(row.cells.get(column.id)) for column in document.columns]
        marks = row_marks(row, document.columns, {column.id: str(one.value) for column, one in zip(document.columns, cells, strict=True)})
        lines.append([*_paper(document, row.key), *cells, marks])
    return ["key", "title", "year", *map(heading, document.columns), EXPORTED], lines


def _cell(cell: Cell | None) -> Entry:
    if cell is None:
        return Entry("?")
    is_number = isinstance(cell.value, int | float) and not isinstance(cell.value, bool) and cell.status == "stated" and math.isfinite(cell.value)
    return Entry(cell.value if is_number and isinstance(cell.value, int | float) else shown(cell), cell.cites, cell.marks)


def _tree(document: Document) -> tuple[Line, list[Line]]:
    names, places = path_names(document), paths(document)
    wide = len(names)
    lines: list[Line] = []
    for one in document.assignments:
        path = places[one.node]
        labels: list[Entry | str] = [*(Entry(plain(label), one.cites if at == len(path) else ()) for at, label in enumerate(path, 1)), *[""] * (wide - len(path))]
        lines.append([*_paper(document, one.key), *labels, Entry(one.rank), one.by, one.confidence, place_mark(path, one.node)])
    for out, path in nowhere(document):
        lines.append([*_paper(document, out.key), *path, *[""] * (wide - len(path)), "", "", out.reason, place_mark(path, "")])
    return ["key", "title", "year", *names, "rank", "by", "confidence or reason", EXPORTED], lines


def _nodes(document: Document) -> list[Line]:
    labels = {node.id: node.label for node in document.nodes}
    return [
        [one.node.id, plain(one.label), plain(labels.get(one.node.parent, "")), plain(one.node.facet), plain(one.node.definition), one.node.example, Entry(len(one.keys))]
        for _, one in walked(branches(document))
        if one.node
    ]


def _statements(document: Document) -> tuple[Line, list[Line]]:
    lines: list[Line] = []
    for section in document.sections:
        for one in section.statements:
            lines.append([Entry(len(lines) + 1), section.heading, Entry(one.text, one.cites, one.marks), "; ".join(one.keys), ", ".join(one.marks)])
    return ["number", "heading", "statement", "keys", "marks"], lines


def _novelty(document: Document) -> list[Line]:
    """A row for each finding on a claim of the person's own abstract, or one for a claim with none."""
    return [
        [one.claim.place, one.claim.quote, STATES[one.state], *found, one.reason]
        for one in document.novelty
        for found in [[cite.key, ", ".join(map(str, cite.sentences)), cite.quote] for cite in one.cites] or [["", "", ""]]
    ]


def _checked(document: Document) -> tuple[Line, list[Line]]:
    lines: list[Line] = []
    for one in document.statements:
        keys = "; ".join(one.keys)
        cites = tuple(cite for cite in one.cites if cite.quote)
        lines.append([Entry(len(lines) + 1), Entry(one.text, cites, one.marks), verdict(one), reasons(one), keys])
    return ["number", "statement", "verdict", "reasons", "keys"], lines


def _audit(document: Document) -> tuple[Line, list[Line]]:
    found = document.audit or Audit()
    lines: list[Line] = []
    for one, statement in zip(found.citations, document.statements, strict=True):
        reasons = "\n".join(f"{problem.rule}: {problem.reason}".removeprefix(": ") for problem in one.reasons)
        said = Entry(statement.text, (one.cite,) if one.cite else (), statement.marks)
        lines.append([Entry(len(lines) + 1), one.place, one.key, one.paper, one.support, one.by, said, reasons])
    return ["number", "place", "key", "paper", "support", "by", "statement", "reasons"], lines


def _summaries(document: Document) -> tuple[Line, list[Line]]:
    lines: list[Line] = []
    for one in document.summaries:
        cells = [Entry(told(cell), cell.cites, cell.marks) for cell in (one.cells[field] for field in SUMMARY_FIELDS)]
        said = "\n".join(filter(None, [*(plain(str(result)) for result in one.results), stopped_results(one)])) or "not stated"
        cites = tuple(cite for result in one.results for cite in result.cites)
        lines.append([*_paper(document, one.key), *cells, Entry(said, cites, tuple(mark for result in one.results for mark in result.marks))])
    return ["key", "title", "year", *SUMMARY_FIELDS.values(), "Results"], lines


def _paper(document: Document, key: str) -> list[Entry | str]:
    source = document.sources.get(key)
    year = source.year if source else ""
    return [key, plain(source.title) if source else "", Entry(int(year)) if year.isdecimal() else year]


def _evidence(head: Line, lines: Iterable[Line]) -> list[Line]:
    """Every sentence behind a cell: which row and column, the words, the text and its sentences, and the marks of the cell."""
    rows: list[Line] = []
    for line in lines:
        for name, one in ((name, one) for name, one in zip(head, line, strict=True) if isinstance(one, Entry)):
            for cite in one.cites:
                numbers = ", ".join(map(str, cite.sentences))
                rows.append([line[0], name, cite.quote, f"{cite.key} {cite.text}" if cite.key else YOURS if cite.is_own else cite.place, numbers, "; ".join(one.marks)])
    return rows


def _report(document: Document, cut: int) -> list[Line]:
    """What the report says in all, with what did not fit into a cell."""
    said = [("in all", summary(document.report))]
    said += [("quotes", NOTE_WARNING)] if document.rests_on_notes() else []
    said += [("cut", f"{cut} cells were longer than the {LONGEST_CELL:,} characters that a cell may hold; {WHERE}")] if cut else []
    return [(text, state, "", "", "") for state, text in said]


def _laid_out(document: Document, head: Line, lines: Sequence[Line]) -> tuple[Line, Sequence[Line]]:
    """The lines behind the headings of their groups, and turned where the table is."""
    if document.groups:
        of = {row.key: line for row, line in zip(document.rows, lines, strict=True)}
        head, lines = [GROUP, *head], [[heading, *of[row.key]] for heading, rows in parts(document) for row in rows]
    if document.transposed:
        head, *lines = turned([head, *lines])
    return head, lines


def _stays(document: Document) -> str:
    """The first cell that moves when the sheet is scrolled: names of columns and papers stay."""
    if not document.groups:
        return "B2"
    return "B3" if document.transposed else "C2"


def _fill(book: "Workbook", name: str, head: Line, lines: Sequence[Line], stays: str = "B2") -> int:
    """A sheet with a frozen header, a filter and sensible widths; how many cells had to be cut."""
    from openpyxl.styles import Alignment, Font, PatternFill
    from openpyxl.utils import get_column_letter

    made = book.create_sheet(name)
    cut = 0
    for number, line in enumerate([head, *lines], 1):
        for at, one in enumerate(line, 1):
            cut += _put(made, number, at, one if isinstance(one, Entry) else Entry(one))
    for at in range(1, len(head) + 1):
        top = made.cell(1, at)
        top.font, top.fill, top.alignment = Font(bold=True), PatternFill("solid", fgColor="E7E6E6"), Alignment(vertical="top", wrap_text=True)
        made.column_dimensions[get_column_letter(at)].width = _width([_text(line[at - 1]) for line in [head, *lines]])
        made.column_dimensions[get_column_letter(at)].hidden = _text(head[at - 1]) == EXPORTED
    for number, line in enumerate(lines, 2):
        made.row_dimensions[number].hidden = _text(line[0]) == EXPORTED
    made.freeze_panes = stays
    made.auto_filter.ref = f"A1:{get_column_letter(len(head))}{len(lines) + 1}"
    made.print_title_rows = "1:1"
    return cut


def _put(made: "Worksheet", row: int, column: int, entry: Entry) -> int:
    """Writes one cell; 1 where it had to be cut."""
    from openpyxl.comments import Comment
    from openpyxl.styles import Alignment

    place = made.cell(row, column)
    place.alignment = Alignment(vertical="top", wrap_text=isinstance(entry.value, str))
    is_cut = False
    if isinstance(entry.value, str):
        whole = sheet(entry.value)
        text = shortened(whole, LONGEST_CELL, WHERE)
        is_cut = text != whole
        if text:
            place.value, place.data_type = text, "s"
            place.quotePrefix = text[0] in FORMULA_SIGNS
    else:
        place.value = entry.value
    if entry.cites or entry.marks:
        said = [f"{cite.place}: “{cite.quote}”" for cite in entry.cites]
        note = shortened(sheet("\n".join([*said, *(f"! {mark}" for mark in entry.marks)])), LONGEST_COMMENT, f"the whole stands on the sheet {EVIDENCE}")
        place.comment = Comment(note, "Carrel", height=min(400, 40 + 18 * (1 + len(note) // 60)), width=420)
    return int(is_cut)


def _text(one: Entry | str) -> str:
    return str(one.value) if isinstance(one, Entry) else one


def _width(texts: Sequence[str]) -> float:
    """Wide enough for the longest word and for long texts in a few lines."""
    word = max((len(word) for text in texts for word in text.split()[:200]), default=0)
    text = max((len(text) for text in texts), default=0)
    return min(max(NARROWEST, min(word, WIDEST) + 3, min(text, 20) + 3, math.sqrt(text) * 3), WIDEST)


def _bytes(book: "Workbook") -> bytes:
    """The file, without a time in it."""
    book.properties.creator, book.properties.created, book.properties.modified = "Carrel", EPOCH, EPOCH
    first, second = io.BytesIO(), io.BytesIO()
    book.save(first)
    with zipfile.ZipFile(first) as made, zipfile.ZipFile(second, "w", zipfile.ZIP_DEFLATED) as timeless:
        for name in made.namelist():
            data = SAVED.sub(EPOCH.isoformat().encode() + b"Z", made.read(name)) if name == "docProps/core.xml" else made.read(name)
            timeless.writestr(zipfile.ZipInfo(name, ZIP_EPOCH), data, zipfile.ZIP_DEFLATED)
    return second.getvalue()
