"""What every task returns: statements with anchors and checks, cells, nodes, a coverage sheet and an integrity report."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

Status = Literal["stated", "absent", "not stated", "full text needed"]
STATUSES: tuple[Status, ...] = ("stated", "absent", "not stated", "full text needed")
By = Literal["model", "person"]
OWN: Final = "own"
"""The text of a citation, and the reference of a plan, that is the person's own abstract: it has no key and is in no bibliography."""
YOURS: Final = "your abstract"
"""What it is called wherever a person reads."""
NOT_NEAR: Final = "no paper of the library is near your abstract"
"""The outcome of a draft about an abstract that nothing in the library comes close to."""


@dataclass(frozen=True, slots=True)
class Cite:
    """Sentences of one text of a paper, and the words there, cut from the stored text.

    `text` is `title`, `abstract` or `abstract:zh`; `anchor` is the stored text's number, which never changes. Without a key
    it is of no paper: `scope` is what code found in all papers of the scope, `own` are sentences (0 its title) of the abstract
    that the person writes about.
    """

    key: str
    text: str
    sentences: tuple[int, ...]
    quote: str
    anchor: int = 0

    @property
    def is_own(self) -> bool:
        """Whether it names the person's own abstract and no paper."""
        return self.text == OWN

    @property
    def place(self) -> str:
        """Where it stands, as a person reads it: `key 2,3`, `key title`, `your abstract, sentences 2,3`, or in all papers of the scope."""
        if self.text == SCOPE:
            return "all papers of the scope"
        if not self.is_own:
            return f"{self.key} {'title' if self.text == 'title' else ','.join(map(str, self.sentences))}"
        numbers = [str(number) for number in self.sentences if number]
        parts = [YOURS, *(["title"] if 0 in self.sentences else ()), *([f"sentence{'s' * (len(numbers) > 1)} {','.join(numbers)}"] if numbers else ())]
        return ", ".join(parts)


SCOPE = "scope"
"""The text of a citation that names no paper, but what code found when it looked through all of them."""
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
    asked; `exchange` names the request that it came from. `by` code are figures that code counted. `line` is the line of a
    draft's plan, from 1 in its paragraph, that it was written for. `named` are the papers whose authors the text names, in
    its order.
    """

    text: str
    cites: tuple[Cite, ...] = ()
    problems: tuple[Problem, ...] = ()
    unchecked: tuple[str, ...] = ()
    verdict: str = ""
    exchange: str = ""
    blocked: tuple[Problem, ...] = ()
    by: Literal["model", "code"] = "model"
    line: int = 0
    named: tuple[Named, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The papers that it cites, in order of first mention."""
        return tuple(dict.fromkeys(cite.key for cite in self.cites if cite.key))

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
    """Where a paper of the scope was used, or why it was left out.

    In a draft `times` says for each place of `used` how many of its statements cite the paper; `title` and `date` are the
    library's, since a paper that is left out is none of the document's sources.
    """

    key: str
    used: tuple[str, ...]
    left_out: str = ""
    times: tuple[int, ...] = ()
    title: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class CoverageNote:
    """What a reader of a draft should know of its use of papers: of one section, or of the whole where `section` is empty."""

    kind: Literal["no recent paper", "no dates", "no paper", "one paper alone", "depends on a paper", "depends on a group", "only in lists"]
    section: str
    text: str
    keys: tuple[str, ...]


NOT_YET = "not written yet"


@dataclass(frozen=True, slots=True)
class PlanLine:
    """A line of a draft's plan and what the text made of it; `notes` say where the text went another way."""

    heading: str
    line: int
    job: str
    says: str
    words: int
    asked: tuple[str, ...]
    text: str = ""
    notes: tuple[str, ...] = ()


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
class Nearness:
    """How near a paper is to the person's own abstract: the search's fused score, the cosine of its best passage, what found it."""

    key: str
    score: float
    cosine: float | None
    found_by: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Novelty:
    """A sentence of the person's own abstract that claims something new, and sentences of a library paper that may say it already.

    `state` is "found"; "weak" where too few words are shared and no second reader agrees; "to compare" where search alone named
    the sentences; "none found" where nothing was found in the papers compared, which says nothing of others.
    """

    claim: Cite
    cites: tuple[Cite, ...] = ()
    reason: str = ""
    state: Literal["found", "weak", "to compare", "none found"] = "none found"
    verdict: str = ""


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


Support = Literal["supported", "no objection", "doubtful", "partly", "not", "too little to tell"]
SUPPORT: dict[Support, str] = {
    "supported": "the second reader says so; or, by code, a quotation that stands in the abstract, or nearly all of its words in two sentences",
    "no objection": "code looked and found nothing against it; that is not support",
    "doubtful": "code found a number, a name, a negation or too few words that do not agree",
    "partly": "the second reader says that only part of it is said",
    "not": "the second reader says that it is not said; or, by code, the key names no work, or a quotation does not stand in the abstract",
    "too little to tell": "the paper is not in the library or has no abstract there, the languages differ, or the sentence says too little",
}
"""What an audit says of a citation, best first but for the last, and what each word means."""


@dataclass(frozen=True, slots=True)
class Citation:
    """One key that a sentence of a manuscript cites, and whether its paper says so; its statement is the document's of the same number.

    `paper` is the library's key, empty where it has none; `reasons` say why it is not simply supported; `cite` are the
    sentences of the abstract that come nearest.
    """

    place: str
    sentence: str
    key: str
    paper: str
    support: Support
    by: Literal["code", "second reader"] = "code"
    reasons: tuple[Problem, ...] = ()
    cite: Cite | None = None


@dataclass(frozen=True, slots=True)
class Uncited:
    """A sentence of a manuscript that claims something and cites nothing."""

    place: str
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Fitting:
    """A paper of the library that a manuscript does not cite and that would fit a paragraph: its sentence, and the one beside which it would stand."""

    place: str
    beside: str
    cite: Cite


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which an entry of a bibliography differs from the library's record of its paper."""

    key: str
    paper: str
    place: str
    field: str
    given: str
    known: str


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found beside the statements.

    `missing` are keys that are cited and stand in no bibliography, each with its place and a key that is spelt like it;
    `never_cited` entries that no text cites; `unknown` those that are not in the library, each with its title; `remarks`
    what was odd about the files, each with its place; `own` counts uncited sentences that need no source by the look of them.
    """

    files: tuple[str, ...] = ()
    bibliographies: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()
    uncited: tuple[Uncited, ...] = ()
    own: int = 0
    fitting: tuple[Fitting, ...] = ()
    differences: tuple[Difference, ...] = ()
    missing: tuple[tuple[str, str, str], ...] = ()
    never_cited: tuple[str, ...] = ()
    unknown: tuple[tuple[str, str], ...] = ()
    remarks: tuple[tuple[str, str], ...] = ()

    def count(self, support: Support) -> int:
        """How many citations are judged so."""
        return sum(one.support == support for one in self.citations)


@dataclass(frozen=True, slots=True)
class Document:
    """What a task made. Parts that it has not are empty; every export takes the whole of it.

    `restated` is the question as it was looked up, where that is not the question as it was asked. A table whose rows stand
    in `groups` may have a paper in several; one that is `transposed` is printed with a column a paper. The table of a draft holds
    the papers `nearest` to the person's own abstract; its `novelty` are claims of that abstract. `citations` is how
    its text is to cite, where a format has several ways and the person chose one.
    """

    task: Literal["ask", "table", "taxonomy", "draft", "check", "summarize", "audit"]
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
    plan: tuple[PlanLine, ...] = ()
    coverage_notes: tuple[CoverageNote, ...] = ()
    sources: dict[str, Source] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    outcome: str = ""
    restated: str = ""
    nearest: tuple[Nearness, ...] = ()
    novelty: tuple[Novelty, ...] = ()
    citations: Citations = ""
    model: str = ""
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cost_usd: float | None = 0.0
    audit: Audit | None = None

    @property
    def statements(self) -> tuple[Statement, ...]:
        """All statements, section by section."""
        return tuple(statement for section in self.sections for statement in section.statements)

    def cited(self) -> tuple[str, ...]:
        """The keys that are cited anywhere, in order of key."""
        return tuple(sorted({cite.key for cite in self.cites() if cite.key}))

    def mentioned(self) -> frozenset[str]:
        """Every paper that the document speaks of, cited or not."""
        filed = {one.key for one in self.assignments} | {one.key for one in self.unassigned}
        near = {one.key for one in self.nearest} | {cite.key for one in self.novelty for cite in one.cites}
        return frozenset(self.cited()) | {row.key for row in self.rows} | {one.key for one in self.summaries} | filed | near

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
        for one in self.audit.fitting if self.audit else ():
            yield one.cite

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
                replace(row, key=names.get(row.key, row.key), cells={name: replace(cell, cites=cites(cell.cites)) for name, cell in row.cells.items()})
                for row in self.rows
            ),
            nearest=tuple(replace(one, key=names.get(one.key, one.key)) for one in self.nearest),
            novelty=tuple(replace(one, cites=cites(one.cites)) for one in self.novelty),
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
            novelty=tuple(replace(one, cites=moved(one.cites, one.claim.quote)[0]) for one in self.novelty),
        )
        return replace(whole, report=replace(whole.report, marked=(*whole.report.marked, *changed))) if changed else whole

    def rests_on_notes(self) -> bool:
        """Whether any quote is from a note and not from the authors' abstract."""
        some = (*self.cites(), *(cite for one in self.novelty for cite in one.cites))
        return any(self.sources[cite.key].is_note for cite in some if cite.key in self.sources)


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
