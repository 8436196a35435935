"""What the library knows of how its review was made: the facts behind a methods paragraph. Unknown is None, and never 0."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from assistant.document import Report, joined


@dataclass(frozen=True, slots=True)
class Imported:
    """A file that records came from; `day` is when it was added."""

    file: str
    format: str
    day: str
    records: int
    refused: int


@dataclass(frozen=True, slots=True)
class Lookup:
    """What was asked of a service, and what came of it; `found` is None where the service does not say how many there are."""

    service: str
    query: str
    day: str
    found: int | None
    shown: int
    taken: int


@dataclass(frozen=True, slots=True)
class Selection:
    """Records as they came, papers after merging, and what was decided of them."""

    records: int
    duplicates: int
    papers: int
    candidates: int
    included: int
    excluded: int
    excluded_for: dict[str, int]
    removed: int
    undecided: int
    with_notes: int
    tags: dict[str, int]


@dataclass(frozen=True, slots=True)
class ModelUse:
    """What a model was asked, as the ledger has it; `served` are the names under which it replied.

    `uncounted` calls are not in the tokens, those of `unpriced` not in the cost; a sum is None where nothing of it is known.
    """

    model: str
    served: tuple[str, ...]
    first: str
    last: str
    calls: int
    tasks: dict[str, int]
    tokens_in: int | None
    tokens_out: int | None
    uncounted: int
    cost_usd: float | None
    unpriced: int


@dataclass(frozen=True, slots=True)
class RecordedUse:
    """Replies that came from recordings: of which model, recorded when; `by_hand` of them were written by a person."""

    model: str
    first: str
    last: str
    replies: int
    by_hand: int


@dataclass(frozen=True, slots=True)
class Made:
    """A table, tree, draft or other output: how large it is, what of it a person set, and its checks."""

    kind: str
    name: str
    papers: int
    columns: int = 0
    cells: int = 0
    nodes: int = 0
    unassigned: int = 0
    paragraphs: int = 0
    statements: int = 0
    by_person: int = 0
    locked: int = 0
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True)
class Methods:
    """All of it. `tasks` are those for which a model was asked; `unknown_replies` are those whose model nothing tells."""

    version: str
    imports: tuple[Imported, ...]
    lookups: tuple[Lookup, ...]
    selection: Selection
    embedder: str
    models: tuple[ModelUse, ...]
    recorded: tuple[RecordedUse, ...]
    unknown_replies: int
    has_ledger: bool
    tasks: tuple[str, ...]
    made: tuple[Made, ...]
    answers: int
    decisions: dict[str, int]
    own_prompts: tuple[str, ...]

    @property
    def report(self) -> Report:
        """The checks of all that was made, as one report."""
        return joined(one.report for one in self.made)

    @property
    def replayed(self) -> tuple[RecordedUse, ...]:
        """The recordings that a model made; a reply that a person wrote is no use of one."""
        return tuple(one for one in self.recorded if one.by_hand < one.replies)

    @property
    def used_model(self) -> bool:
        """Whether anything tells of a model's reply."""
        return bool(self.models or self.replayed or self.unknown_replies)


def by_rule(problems: Iterable[str]) -> dict[str, int]:
    """How often each rule is named, in order of the rule's name."""
    found: dict[str, int] = {}
    for rule in problems:
        found[rule] = found.get(rule, 0) + 1
    return dict(sorted(found.items()))
