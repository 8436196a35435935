"""What every task returns: statements with anchors and checks, cells, nodes, a coverage sheet and an integrity report."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

Status = Literal["stated", "absent", "not stated", "full text needed"]
STATUSES: tuple[Status, ...] = ("stated", "absent", "not stated", "full text needed")
By = Literal["model", "person"]


@dataclass(frozen=True, slots=True)
class Cite:
    """Sentences of one text of a paper, and the words there, cut from the stored text.

    `text` is `title`, `abstract` or `abstract:zh`; `anchor` is the stored text's number, which never changes.
    """

    key: str
    text: str
    sentences: tuple[int, ...]
    quote: str
    anchor: int = 0


SOURCE_CHANGED = "source text changed"
"""The mark of what rests on a text that its paper no longer shows."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A statement that a rule stopped or marked, with the reason and, where there is one, a better sentence."""

    text: str
    rule: str
    reason: str
    better: str = ""


Citations = Literal["", "citep", "cite", "autocite", "numbered", "pandoc", "textual"]
CITATIONS: tuple[Citations, ...] = ("citep", "cite", "autocite", "numbered", "pandoc", "textual")
"""How a text cites: natbib, plain LaTeX, biblatex, numbers with a list, pandoc, or with the authors' names as words of the sentences."""


@dataclass(frozen=True, slots=True)
class Named:
    """A paper that is a word of its sentence: its authors' name as code put it there, its key, and where in the text it begins."""

    name: str
    key: str
    at: int


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence, what it rests on, and what was found.

    `problems` mark it; `blocked` stop it, and are found only in statements that others wrote; `unchecked` are rules that could not be applied; `verdict` is the second reader's, where one was
    asked; `exchange` names the request that it came from. `by` code are figures that code counted. `named` are
    the papers whose authors the text names, in its order.
    """

    text: str
    cites: tuple[Cite, ...] = ()
    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()
    verdict: str = ""
    exchange: str = ""
    blocked: tuple[Problem, ...] = ()
    by: Literal["model", "code"] = "model"
    named: tuple[Named, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The rules that mark it, each once."""
        return tuple(dict.fromkeys(problem.rule for problem in self.problems))


@dataclass(frozen=True, slots=True)
class Report:
    """What was checked, and what was found: nothing is repaired in silence.

    `statements` counts those that stand in the output; `blocked` ones do not. `checked_by_code` and `not_checked` add up
    to them; those that a second reader (a model) saw as well are `checked_by_model`. `unchecked` says which rules could
    not be applied to what; `failed` are items that got no usable reply.
    """

    statements: int = 0
    checked_by_code: int = 0
    checked_by_model: int = 0
    not_checked: int = 0
    blocked: tuple[Problem, ...] = ()
    marked: tuple[Problem, ...] = ()
    unchecked: tuple[Problem, ...] = ()
    failed: tuple[str, ...] = ()
    model_calls: int = 0


@dataclass(frozen=True, slots=True)
class Coverage:
    """Where a paper of the scope was used, or why it was left out."""

    key: str
    used: tuple[str, ...]
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """Statements under a heading."""

    heading: str
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Measure:
    """A number as it sorts: `value` in `unit`, `of` what it measures; `base` is the value in the own unit of its `kind`."""

    value: float
    unit: str = ""
    of: str = ""
    kind: str = ""
    base: float = 0.0


@dataclass(frozen=True, slots=True)
class Cell:
    """What a paper says in a column: the value, or which kind of no, with the sentences it rests on.

    `raw` is the wording as it was read; `value` may be what a mapping makes of it, and `number` what of it sorts.
    """

    value: str | float | bool | tuple[str, ...] | None
    raw: str
    status: Status
    by: By = "model"
    cites: tuple[Cite, ...] = ()
    marks: tuple[str, ...] = ()
    exchange: str = ""
    verdict: str = ""
    number: Measure | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: what it asks of each paper, and of what type the answer is.

    `definitions` has one for each word of the vocabulary (some may be empty), or is empty where no word has any.
    """

    id: str
    name: str
    question: str
    type: str = "text"
    unit: str = ""
    vocabulary: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[tuple[str, str], ...]:
        """The words of the vocabulary, each with its definition."""
        return tuple(zip(self.vocabulary, self.definitions or ("",) * len(self.vocabulary), strict=True))


@dataclass(frozen=True, slots=True)
class Row:
    """A paper's cells by column id."""

    key: str
    cells: dict[str, Cell]


@dataclass(frozen=True, slots=True)
class Group:
    """Papers of a table that stand together, under a heading."""

    heading: str
    keys: tuple[str, ...]


SUMMARY_FIELDS = {
    "problem": "Problem",
    "approach": "Approach",
    "contribution_type": "Contribution",
    "data": "Data",
    "limitations": "Limitations",
}
"""The fields of a summary, beside its results, and what they are called."""


@dataclass(frozen=True, slots=True)
class Result:
    """An outcome that a paper reports, as printed; a part is empty where its sentences do not say it."""

    metric: str
    value: str
    baseline: str = ""
    task: str = ""
    cites: tuple[Cite, ...] = ()
    marks: tuple[str, ...] = ()
    exchange: str = ""
    verdict: str = ""

    def __str__(self) -> str:
        said = f"{self.metric}{': ' if self.metric else ''}{self.value}"
        return f"{said}{f', against {self.baseline}' if self.baseline else ''}{f'; {self.task}' if self.task else ''}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What a paper says of itself: a cell a field of SUMMARY_FIELDS, and the results it reports.

    `blocked` are results that no sentence vouches for: they are left out, and no results is not the same as some blocked.
    """

    key: str
    cells: dict[str, Cell]
    results: tuple[Result, ...] = ()
    blocked: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a taxonomy; `parent` is another node's id, or nothing at the top; `example` is the key of a typical paper."""

    id: str
    label: str
    definition: str
    parent: str = ""
    facet: str = ""
    locked: bool = False
    example: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """A paper filed under a node: rank 1 is its place, 2 and up are secondary ones.

    `under` is what the node was when the paper was filed, in short: where it changed since, the paper is filed anew.
    """

    key: str
    node: str
    rank: int = 1
    by: By = "model"
    confidence: str = ""
    cites: tuple[Cite, ...] = ()
    exchange: str = ""
    under: str = ""


@dataclass(frozen=True, slots=True)
class Unassigned:
    """A paper that is filed nowhere, and why."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """How a cited paper is called in a text: from the library only, never from a model."""

    key: str
    title: str
    authors: tuple[str, ...]
    author_count: int | None
    organization: str
    year: str
    venue: str
    entry_type: str
    identifiers: dict[str, str]
    is_note: bool
    details: dict[str, str] = field(default_factory=dict)
    date: str = ""
    categories: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """What a task made. Parts that it has not are empty; every export takes the whole of it.

    `restated` is the question as it was looked up, where that is not the question as it was asked. A table whose rows stand
    in `groups` may have a paper in several; one that is `transposed` is printed with a column a paper. `citations` is how its text
    is to cite, where a format has several ways and the person chose one.
    """

    task: Literal["ask", "table", "taxonomy", "draft", "check", "summarize"]
    name: str
    sections: tuple[Section, ...] = ()
    columns: tuple[Column, ...] = ()
    rows: tuple[Row, ...] = ()
    groups: tuple[Group, ...] = ()
    transposed: bool = False
    summaries: tuple[Summary, ...] = ()
    nodes: tuple[Node, ...] = ()
    assignments: tuple[Assignment, ...] = ()
    unassigned: tuple[Unassigned, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    outcome: str = ""
    restated: str = ""
    citations: Citations = ""
    model: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cost_usd: float | None = 0.0

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements, section by section."""
        return tuple(statement for section in self.sections for statement in section.statements)

    def cited(self) -> tuple[str, ...]:
        """The keys that are cited anywhere, in order of key."""
        return tuple(sorted({cite.key for cite in self.cites()}))

    def mentioned(self) -> frozenset[str]:
        """Every paper that the document speaks of, cited or not."""
        filed = {one.key for one in self.assignments} | {one.key for one in self.unassigned}
        return frozenset(self.cited()) | {row.key for row in self.rows} | {one.key for one in self.summaries} | filed

    def cites(self) -> Iterable[Cite]:
        """Every citation of statements, cells, results and assignments."""
        for statement in self.statements:
            yield from statement.cites
        for cells in (*(row.cells for row in self.rows), *(one.cells for one in self.summaries)):
            for cell in cells.values():
                yield from cell.cites
        for summary in self.summaries:
            for result in summary.results:
                yield from result.cites
        for assignment in self.assignments:
            yield from assignment.cites

    def renamed(self, names: Mapping[str, str]) -> "Document":
        """The same document with the papers of `names` under other keys."""

        def cites(old: tuple[Cite, ...]) -> tuple[Cite, ...]:
            return tuple(replace(cite, key=names.get(cite.key, cite.key)) for cite in old)

        def named(old: tuple[Named, ...]) -> tuple[Named, ...]:
            return tuple(replace(one, key=names.get(one.key, one.key)) for one in old)

        return replace(
            self,
            sections=tuple(
                replace(section, statements=tuple(replace(one, cites=cites(one.cites), named=named(one.named)) for one in section.statements))
                for section in self.sections
            ),
            rows=tuple(
                replace(row, cells={name: replace(cell, cites=cites(cell.cites)) for name, cell in row.cells.items()}) for row in self.rows
            ),
            summaries=tuple(
                replace(
                    summary,
                    cells={name: replace(cell, cites=cites(cell.cites)) for name, cell in summary.cells.items()},
                    results=tuple(replace(one, cites=cites(one.cites)) for one in summary.results),
                )
                for summary in self.summaries
            ),
            assignments=tuple(
                replace(one, key=names.get(one.key, one.key), cites=cites(one.cites)) for one in self.assignments
            ),
            coverage=tuple(replace(one, key=names.get(one.key, one.key)) for one in self.coverage),
        )

    def anchored(self, present: Callable[[Cite], Cite | None]) -> "Document":
        """The same document with each citation as `present` gives it.

        Where that is None the paper shows another text now, in which the sentence does not stand: the statement or cell
        keeps its old words and is marked, and the report lists it.
        """
        changed: list[Problem] = []

        def moved(old: tuple[Cite, ...], said: str) -> tuple[tuple[Cite, ...], tuple[Problem, ...]]:
            new = [(present(cite), cite) for cite in old]
            lost = [Problem(said, SOURCE_CHANGED, f"{cite.key} shows another text now, without “{cite.quote}”") for found, cite in new if found is None]
            changed.extend(lost)
            return tuple(found or cite for found, cite in new), tuple(lost)

        def statement(one: Statement) -> Statement:
            cites, lost = moved(one.cites, one.text)
            moved_to = {old.key: new.key for old, new in zip(one.cites, cites, strict=True)}
            named = tuple(replace(name, key=moved_to.get(name.key, name.key)) for name in one.named)
            return replace(one, cites=cites, problems=(*one.problems, *lost), named=named)

        def cell(one: Cell) -> Cell:
            cites, lost = moved(one.cites, one.raw)
            return replace(one, cites=cites, marks=(*one.marks, SOURCE_CHANGED) if lost else one.marks)

        def result(one: Result) -> Result:
            cites, lost = moved(one.cites, str(one))
            return replace(one, cites=cites, marks=(*one.marks, SOURCE_CHANGED) if lost else one.marks)

        whole = replace(
            self,
            sections=tuple(replace(section, statements=tuple(map(statement, section.statements))) for section in self.sections),
            rows=tuple(replace(row, cells={name: cell(one) for name, one in row.cells.items()}) for row in self.rows),
            summaries=tuple(
                replace(one, cells={name: cell(of) for name, of in one.cells.items()}, results=tuple(map(result, one.results)))
                for one in self.summaries
            ),
            assignments=tuple(replace(one, cites=moved(one.cites, one.key)[0]) for one in self.assignments),
        )
        return replace(whole, report=replace(whole.report, marked=(*whole.report.marked, *changed))) if changed else whole

    def rests_on_notes(self) -> bool:
        """Whether any quote is from a note and not from the authors' abstract."""
        return any(self.sources[cite.key].is_note for cite in self.cites() if cite.key in self.sources)


SECOND_READER = "on 72 claims judged by people, .59 of what it flags is rightly flagged (precision), and .97 of what is unsupported is flagged (recall)"
"""How far the second reader can be trusted; it stands wherever its count does."""
NOTE_WARNING = "quotes are from our notes, not from the authors' abstracts"


def joined(reports: Iterable[Report]) -> Report:
    """One report of several."""
    every = list(reports)
    return Report(
        statements=sum(report.statements for report in every),
        checked_by_code=sum(report.checked_by_code for report in every),
        checked_by_model=sum(report.checked_by_model for report in every),
        not_checked=sum(report.not_checked for report in every),
        blocked=tuple(problem for report in every for problem in report.blocked),
        marked=tuple(problem for report in every for problem in report.marked),
        unchecked=tuple(problem for report in every for problem in report.unchecked),
        failed=tuple(item for report in every for item in report.failed),
        model_calls=sum(report.model_calls for report in every),
    )
