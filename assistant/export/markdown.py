"""A document as Markdown that a person reads and pandoc converts: citations are `[@key]`, or numbers with a list."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from assistant.document import (
    NOTE_WARNING,
    SECOND_READER,
    SUMMARY_FIELDS,
    SUPPORT,
    Audit,
    Cell,
    Cite,
    CoverageNote,
    Document,
    Nearness,
    Report,
    Row,
    Section,
    Statement,
    Summary,
)
from assistant.export import coverage, names
from assistant.export.escape import markdown, plain
from assistant.export.layout import parts, turned
from assistant.tree import Tree

ABSENT = {"not stated": "–", "absent": "none", "full text needed": "see paper"}
CLOSEST, ALREADY = "Closest to your abstract", "Already in your library?"
"""What the parts of a draft are called that hold it against the person's own abstract; no statement of theirs is the draft's."""
STATES = {
    "found": "already there", "weak": "perhaps already there, too few words in common", "to compare": "to compare", "none found": "nothing found",
}  # fmt: skip
"""What is said of a claim of novelty."""
PLAIN_KEY = re.compile(r"[A-Za-z0-9_](?:[:.+/-]?[A-Za-z0-9_]+)*")
DEEPEST = 6
"""Levels of headings that Markdown has."""
LEGEND = "– is not stated in the abstract; none: the paper says there is none; see paper: it has it, the abstract does not say what."

STATUSES_EXPLAINED = (
    "*not stated*: the abstract is silent; *absent*: the paper says there is none; *full text needed*: the paper has it, "
    "or a model said so and no sentence of the abstract vouches for it."
)


def write(document: Document) -> str:
    """The document with what it rests on, its coverage and its checks."""
    return "\n".join([*_body(document), *_coverage(document), *_report(document)]).rstrip() + "\n"


def _body(document: Document) -> list[str]:
    return {"ask": _written, "table": _table, "taxonomy": _taxonomy, "draft": _written, "check": _checked, "summarize": _summaries, "audit": _audited}[document.task](document)


def paper(document: Document) -> str:
    """As `write`, for pandoc to make a paper of: the bibliography, which pandoc fills in, stands behind the text, the checks at the end."""
    references = _sources(document) if document.citations == "numbered" else ["## References", "", "::: {#refs}", ":::", ""]
    if document.task in {"ask", "draft"}:
        body = [*_text(document), *references, *_beside(document), *_evidence(document), *_cells_evidence(document)]
    else:
        body = [*_body(document), *references]
    return "\n".join([*body, *_coverage(document), *_report(document)]).rstrip() + "\n"


def sentence(statement: Statement) -> str:
    """A statement with its citations before its full stop, as a terminal shows it: papers that it names are words."""
    parts, _, end = names.parted(replace(statement, named=statement.named[-1:]))
    body = "".join(names.spaced(part.text, markdown) for part in parts)
    return names.ended(f"{body}{_bracket(_keys(statement))}", end)


def cited(statement: Statement, numbers: Mapping[str, int] | None = None) -> str:
    """A statement as pandoc reads it: `@key` where it names a paper, the others in the bracket; or all as numbers, behind each name its own."""
    parts, rest, end = names.joined(names.parted(statement))
    words = []
    for part in parts:
        said = names.spaced(part.text, markdown)
        words.append(said if not part.is_cite else at(part.key) if numbers is None else f"{said} [{numbers[part.key]}]")
    bracket = _bracket(rest) if numbers is None else _numbered(rest, numbers)
    return names.ended(f"{''.join(words)}{bracket}", end)


def at(key: str) -> str:
    """A key as pandoc knows it for one: in braces where its signs would end it."""
    return f"@{key}" if PLAIN_KEY.fullmatch(key) else f"@{{{key}}}"


def _keys(statement: Statement) -> list[str]:
    return list(statement.keys)


def _bracket(keys: Sequence[str]) -> str:
    return f" [{'; '.join(map(at, keys))}]" if keys else ""


def _numbered(keys: Sequence[str], numbers: Mapping[str, int]) -> str:
    return f" [{', '.join(map(str, sorted(numbers[key] for key in keys)))}]" if keys else ""


def _numbers(document: Document) -> dict[str, int] | None:
    return names.numbers(document) if document.citations == "numbered" else None


def conversation(name: str, answers: Sequence[Document]) -> str:
    """Several answers as one text, each under its question."""
    parts = [re.sub(r"^#", "##", write(answer), flags=re.MULTILINE) for answer in answers]
    return "\n".join([f"# {markdown(name)}", "", *parts])


def _warning(document: Document) -> list[str]:
    return [f"*Note: {NOTE_WARNING}.*", ""] if document.rests_on_notes() else []


def _written(document: Document) -> list[str]:
    """An answer or a draft, with its sentences and its sources behind it."""
    return [*_text(document), *_beside(document), *_evidence(document), *_cells_evidence(document), *([] if _is_silent(document) else _sources(document))]


def _beside(document: Document) -> list[str]:
    """What stands behind a draft's text: what it shares with the person's own abstract, and where it went another way than its plan."""
    return [*_closest(document), *_novelty(document), *_against_plan(document)] if document.task == "draft" else []


def _is_silent(document: Document) -> bool:
    return document.task == "ask" and document.outcome != "answered"


def _text(document: Document) -> list[str]:
    lines = [f"# {markdown(document.name)}", "", *_warning(document)]
    lines += [f"*Looked up as: {markdown(document.restated)}*", ""] if document.restated else []
    if _is_silent(document):
        return [*lines, "No evidence: no paper in the library answers this.", ""]
    for section in document.sections:
        lines += [f"## {markdown(section.heading)}", ""] if section.heading else []
        lines += _paragraph(section, _numbers(document))
    return lines


def _closest(document: Document) -> list[str]:
    """The papers nearest to the person's own abstract, as a table where they were read beside it."""
    if not document.nearest:
        return [f"## {CLOSEST}", "", f"*({markdown(document.outcome)})*", ""] if document.outcome else []
    lines = [f"## {CLOSEST}", ""]
    if document.rows:
        head = ["paper", *(markdown(column.name) for column in document.columns)]
        lines += [*_grid(head, [_row(document, row) for row in document.rows]), "", LEGEND, ""]
    return [*lines, *(f"- `{one.key}`: {nearness(one)}" for one in document.nearest), ""]


def nearness(near: Nearness) -> str:
    """How near a paper is, in numbers: the search's own score, no measure of likeness in per cent."""
    cosine = "" if near.cosine is None else f", cosine of its best passage {near.cosine:.2f}"
    return f"search score {near.score:.2f}{cosine}, found by {' and '.join(near.found_by)}"


def _novelty(document: Document) -> list[str]:
    """The claims of the person's own abstract, each with what may say it already; keys as code, for nothing is cited here."""
    lines = [f"## {ALREADY}", ""] if document.novelty else []
    for one in document.novelty:
        lines.append(f"- {one.claim.place}: “{markdown(one.claim.quote)}”")
        lines += [f"    - `{cite.key}` {','.join(map(str, cite.sentences))}: “{markdown(cite.quote)}”" for cite in one.cites]
        lines.append(f"    - {STATES[one.state]}: {markdown(one.reason)}")
    return [*lines, ""] if lines else []


def _against_plan(document: Document) -> list[str]:
    """Where the text went another way than its plan."""
    other = [line for line in document.plan if line.notes]
    if not document.plan:
        return []
    lines = ["## Plan and text", "", f"{len(document.plan) - len(other)} of {len(document.plan)} lines of the plan are written as planned.", ""]
    lines += [f"- {markdown(line.heading)}, line {line.line} ({markdown(line.job)}): {markdown('; '.join(line.notes))}" for line in other]
    return [*lines, ""] if other else lines


def _checked(document: Document) -> list[str]:
    """Each statement of a file with its verdict, the reasons, and the sentences it can rest on."""
    lines = [f"# {markdown(document.name)}", "", *_warning(document)]
    for number, statement in enumerate(document.statements, 1):
        lines.append(f"{number}. **{verdict(statement)}** {markdown(statement.text)}")
        lines += [f"    - {problem.rule}: {markdown(problem.reason)}" for problem in (*statement.blocked, *statement.problems)]
        lines += [f"    - {_quoted(cite)}" for cite in statement.cites if cite.quote]
    return [*lines, ""]


def _audited(document: Document) -> list[str]:
    """Each citation of a manuscript with its verdict, then what else was found, each part only where there is some of it."""
    found = document.audit or Audit()
    lines = [f"# {markdown(document.name)}", "", *_warning(document), f"{markdown(audit_line(document))}", ""]
    lines += [f"- **{word}**: {meaning}" for word, meaning in SUPPORT.items() if found.count(word)]
    lines += ["", "## Citations", ""] if found.citations else []
    for one, statement in zip(found.citations, document.statements, strict=True):
        lines.append(f"- {markdown(one.place)} **{one.support}**{' (second reader)' if one.by == 'second reader' else ''} `{one.key}` {markdown(statement.text)}")
        lines += [f"    - {f'{problem.rule}: ' if problem.rule else ''}{markdown(problem.reason)}" for problem in one.reasons]
        lines += [f"    - {_quoted(one.cite)}" for _ in range(1) if one.cite]
    for heading, entries in audit_parts(document):
        lines += ["", f"## {heading}", "", *(f"- {markdown(place)} {markdown(said)}".replace("-  ", "- ") for place, said in entries)]
    return [*lines, ""]


def audit_parts(document: Document) -> list[tuple[str, list[tuple[str, str]]]]:
    """What an audit found beside the citations: headings, and under each places and lines; parts without any are left out."""
    found = document.audit or Audit()
    parts = {
        "Claims without a citation": [(one.place, f"{one.text} ({one.reason})") for one in found.uncited],
        "Papers of the library that would fit": [(one.place, f"@{one.cite.key} beside “{one.beside}”: “{one.cite.quote}”") for one in found.fitting],
        "Bibliography entries that differ from the library": [
            (one.place, f"{one.key} ({one.paper}), {one.field}: {one.given or 'missing'} → {one.known}") for one in found.differences
        ],
        "Keys cited that no bibliography has": [(place, f"{key}{f', did you mean {near}?' if near else ''}") for key, place, near in found.missing],
        "Entries that are not in the library: they cannot be checked": [(key, title) for key, title in found.unknown],
        "Entries that are never cited": [(key, "") for key in found.never_cited],
        "About the files": list(found.remarks),
    }
    return [(heading, entries) for heading, entries in parts.items() if entries]


def audit_line(document: Document) -> str:
    """An audit in one line."""
    found = document.audit or Audit()
    judged = ", ".join(f"{found.count(word)} {word}" for word in SUPPORT if found.count(word)) or "none"
    counts = (
        (len(found.uncited), "claim without a citation", "claims without a citation"),
        (len(found.fitting), "paper of the library would fit", "papers of the library would fit"),
        (len({one.key for one in found.differences}), "entry differs from the library", "entries differ from the library"),
        (len(found.missing), "key without an entry", "keys without an entry"),
        (len(found.unknown), "entry not in the library", "entries not in the library"),
        (len(found.never_cited), "entry never cited", "entries never cited"),
    )
    citations, files = len(found.citations), len(found.files)
    head = f"{citations} citation{'s' * (citations != 1)} in {files} file{'s' * (files != 1)}: {judged}"
    return "; ".join([head, *(f"{count} {one if count == 1 else more}" for count, one, more in counts if count)]) + "."


def verdict(statement: Statement) -> str:
    """A statement in a word: blocked, marked, not checked (which is not passed), or holds."""
    if statement.blocked:
        return "blocked"
    if statement.problems:
        return "marked"
    return "not checked" if statement.unchecked or not statement.cites else "holds"


def reasons(statement: Statement) -> str:
    """What blocks or marks a statement, with its rules."""
    return "; ".join(f"{problem.rule}: {problem.reason}" for problem in (*statement.blocked, *statement.problems))


def _paragraph(section: Section, numbers: Mapping[str, int] | None) -> list[str]:
    return [" ".join(cited(statement, numbers) for statement in section.statements) or "*(nothing stands yet)*", ""]


def _evidence(document: Document) -> list[str]:
    if _is_silent(document):
        return []
    lines = ["## Sentences behind it", ""]
    numbers = _numbers(document)
    for number, statement in enumerate(document.statements, 1):
        marks = f" *(marked {', '.join(statement.marks)})*" if statement.marks else ""
        lines.append(f"{number}. {markdown(statement.text)}{marks}")
        lines += [f"    - {_quoted(cite, numbers)}" for cite in statement.cites]
    return [*lines, ""]


def _quoted(cite: Cite, numbers: Mapping[str, int] | None = None) -> str:
    if cite.is_own:
        return f"{cite.place}: “{markdown(cite.quote)}”"
    if not cite.key:
        return markdown(cite.quote)
    where = "title" if cite.text == "title" else f"{'' if cite.text == 'abstract' else cite.text + ' '}{','.join(map(str, cite.sentences))}"
    return f"{at(cite.key) if numbers is None else f'[{numbers[cite.key]}]'}, {where}: “{markdown(cite.quote)}”"


def _sources(document: Document) -> list[str]:
    """Each source; where the text cites by numbers those that it cites, by these numbers."""
    if (numbers := _numbers(document)) is not None:
        return ["## Sources", "", *(f"{number}. {_listed(document, key)}" for key, number in numbers.items()), ""]
    cited = {*document.cited(), *(row.key for row in document.rows)}
    return ["## Sources", "", *(f"- {at(key)}: {markdown(names.listing(source))}" for key, source in document.sources.items() if key in cited), ""]


def _listed(document: Document, key: str) -> str:
    return markdown(names.listing(document.sources[key])) if key in document.sources else f"`{key}`"


def _table(document: Document) -> list[str]:
    head = ["paper", *(markdown(column.name) for column in document.columns)]
    by_key = {row.key: _row(document, row) for row in document.rows}
    rows: list[list[str]] = []
    for heading, some in parts(document):
        rows += [[f"**{markdown(heading)}**", *[""] * len(document.columns)]] if heading else []
        rows += [by_key[row.key] for row in some]
    if document.transposed:
        head, *rows = turned([head, *rows])
    lines = [f"# {markdown(document.name)}", "", *_warning(document), *_grid(head, rows), "", LEGEND, "", "## Columns", ""]
    lines += [f"- **{markdown(column.name)}**: {markdown(column.question)}" for column in document.columns]
    return [*lines, "", "## Sentences behind it", "", *_cells_evidence(document), ""]


def _row(document: Document, row: Row) -> list[str]:
    """A paper's line of a table."""
    paper = f"{markdown(names.byline(document.sources[row.key]))} [@{row.key}]" if row.key in document.sources else f"@{row.key}"
    return [paper, *(_cell(row.cells.get(column.id)) for column in document.columns)]


def _cells_evidence(document: Document) -> list[str]:
    lines: list[str] = []
    for row in document.rows:
        lines.append(f"- @{row.key}")
        for column in document.columns:
            cell = row.cells.get(column.id)
            lines += [f"    - {markdown(column.name)} {_quoted(cite)}" for cite in (cell.cites if cell else ())]
    return [*lines, ""] if document.task == "draft" and lines else lines


def _grid(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *(f"| {' | '.join(row)} |" for row in rows)]


def shown(cell: Cell | None) -> str:
    """A cell as one text: its value, or the word for what is missing."""
    if cell is None:
        return "?"
    if cell.value is None or cell.status != "stated":
        return ABSENT.get(cell.status, "?")
    if isinstance(cell.value, bool):
        return "yes" if cell.value else "no"
    if isinstance(cell.value, tuple):
        return plain("; ".join(cell.value))
    if isinstance(cell.value, float) and cell.number:
        return plain(f"{cell.number.value:g}{'' if cell.number.unit in {'', '%'} else ' '}{cell.number.unit}")
    return plain(cell.value if isinstance(cell.value, str) else cell.raw or str(cell.value))


def _cell(cell: Cell | None) -> str:
    by_hand = " *(by hand)*" if cell and cell.by == "person" else ""
    return markdown(shown(cell)) + by_hand + _marks(cell.marks if cell else ())


def _marks(marks: Sequence[str]) -> str:
    return f" ({', '.join(mark.partition(':')[0] for mark in marks)}!)" if marks else ""


def _taxonomy(document: Document) -> list[str]:
    lines = [f"# {markdown(document.name)}", "", *_warning(document)]
    facet = ""
    for depth, node in Tree("", document.nodes).ordered:
        if node.facet and node.facet != facet:
            lines += [f"By {markdown(node.facet)}.", ""]
            facet = node.facet
        papers = [one for one in document.assignments if one.node == node.id]
        lines.append(f"{'#' * min(depth + 1, DEEPEST)} {markdown(node.label)}{f' ({len(papers)})' if papers else ''}")
        lines += ["", markdown(node.definition), ""]
        lines += [f"For example @{node.example}.", ""] if node.example else []
        for one in papers:
            source = document.sources.get(one.key)
            title = markdown(plain(source.title)) if source and source.title else ""
            again = " *(also)*" if one.rank > 1 else " *(filed by hand)*" if one.by == "person" else ""
            lines.append(f"- @{one.key}{again} {title}")
            lines += [f"    - {_quoted(cite)}" for cite in one.cites]
        lines += [""] if papers else []
    if document.unassigned:
        lines += ["## Unassigned", "", *(f"- @{one.key}: {markdown(one.reason)}" for one in document.unassigned), ""]
    return lines


def _summaries(document: Document) -> list[str]:
    lines = [f"# {markdown(document.name)}", "", *_warning(document)]
    for summary in document.summaries:
        source = document.sources.get(summary.key)
        lines += [f"## {markdown(plain(source.title) if source and source.title else summary.key)}", ""]
        lines += [f"{markdown(names.byline(source))} [@{summary.key}]" if source else f"@{summary.key}", ""]
        for field, name in SUMMARY_FIELDS.items():
            cell = summary.cells[field]
            lines.append(f"- **{name}**: {markdown(told(cell))}{_marks(cell.marks)}")
            lines += [f"    - {_quoted(cite)}" for cite in cell.cites]
        lines += [*_results(summary), ""]
    return [*lines, STATUSES_EXPLAINED, ""] if document.summaries else [*lines, "No paper has a summary yet.", ""]


def _results(summary: Summary) -> list[str]:
    lines = [f"- **Results**: {stopped_results(summary) or ('' if summary.results else 'not stated')}".rstrip()]
    for result in summary.results:
        lines.append(f"    - {markdown(plain(str(result)))}{_marks(result.marks)}")
        lines += [f"        - {_quoted(cite)}" for cite in result.cites]
    return lines


def told(cell: Cell) -> str:
    """A cell of a summary as one text: what it says, or which kind of no."""
    return shown(cell) if cell.status == "stated" else cell.status


def stopped_results(summary: Summary) -> str:
    """What stands for results that no sentence vouches for, so that they are not taken for none."""
    return f"full text needed for {len(summary.blocked)} that a rule stopped, see the report" if summary.blocked else ""


def _coverage(document: Document) -> list[str]:
    """The coverage sheet: what is left out by reason, what is noted, and in a draft where each paper is cited."""
    if not document.coverage:
        return []
    lines = ["## Coverage", "", coverage.tally(document), ""]
    for group in coverage.left_out(document):
        keys = ", ".join(f"`{key}`" for key in group.keys)
        lines.append(f"- {keys}: left out: {markdown(group.reason)}" if len(group.keys) == 1 else f"- left out, {len(group.keys)}: {markdown(group.reason)}: {keys}")
    lines += [""] if lines[-1] else []
    lines += [f"- {markdown(coverage.noted(note))}{_noted(note)}" for note in document.coverage_notes]
    lines += [""] if lines[-1] else []
    lines += [f"- `{one.key}`: {markdown(coverage.places(one))}" for one in document.coverage if one.times]
    return [*lines, ""] if lines[-1] else lines


def _noted(note: CoverageNote) -> str:
    return f" ({', '.join(f'`{key}`' for key in note.keys)})" if note.kind in coverage.LISTED else ""


def _report(document: Document) -> list[str]:
    report = document.report
    lines = ["## Checks", "", summary(report), ""]
    for name, problems in (("blocked by", report.blocked), ("marked by", report.marked), ("not checked by", report.unchecked)):
        lines += [f"- {name} {problem.rule}: {markdown(problem.text)} ({markdown(problem.reason)})" for problem in problems]
    lines += [f"- failed: {markdown(item)}" for item in report.failed]
    return lines


def summary(report: Report) -> str:
    """The report in one line, with how far the second reader can be trusted where there was one."""
    failed = f"; {len(report.failed)} failed" if report.failed else ""
    trust = f" (the second reader: {SECOND_READER})" if report.checked_by_model else ""
    return (
        f"{report.statements} statements: {report.checked_by_code} checked by code against the sentences they cite, "
        f"{report.checked_by_model} by a model{trust}, {report.not_checked} not checked; "
        f"{len(report.blocked)} blocked, {len(report.marked)} marked{failed}."
    )
