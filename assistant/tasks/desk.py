"""What every task works with: the library, the model, the settings, and the wording's folder."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assistant.document import Document, Problem
from assistant.errors import BudgetReached, GatewayError, KeyOrQuota
from assistant.evidence import Evidence, carried, gathered, source_of
from assistant.gateway import Check, Gateway, Message, Parsed, Request
from assistant.grounding import SUSPICIOUS, suspicion
from assistant.settings import Settings
from assistant.wording import FOLDER, block, render
from store.library import Library
from store.paper import Paper

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T", bound="BaseModel")
J = TypeVar("J")
PACK = 12
"""Papers read in one call; in a trial twelve abstracts in a call lost nothing."""


@dataclass(frozen=True, slots=True)
class Desk:
    """A scholar's desk: the library open, a model to ask, and the settings in force.

    `second_reader` has every finished document read once more by the model; `price` is told before many calls how many,
    with how many characters and tokens out, and raises where the person says no.
    """

    library: Library
    gateway: Gateway
    settings: Settings
    second_reader: bool = False
    price: Callable[[int, int, int], None] = lambda calls, characters, tokens_out: None

    @property
    def own(self) -> Path:
        """Where the library's own prompt templates are, if it has any."""
        return self.library.folder / FOLDER

    def request(self, prompt: str, label: str, schema: "type[BaseModel] | None" = None, **values: object) -> Request:
        """A prompt rendered into a request; a structured one carries its schema."""
        return Request(
            render(prompt, self.own, **{"language": self.settings.language, **values}),
            label,
            schema.model_json_schema() if schema else None,
            {"max_tokens": self.settings.model_max_tokens},
        )

    def again(self, problems: str) -> Message:
        """The message that says what is wrong with a structured reply."""
        return Message("user", block("again", "user", self.own, problems=problems))

    def structured(self, request: Request, schema: "type[T]", check: "Check[T] | None" = None, *, once: bool = False) -> "Parsed[T]":
        """One structured reply; `once` does not ask a second time for one that does not fit."""
        return self.gateway.structured(request, schema, self.again, check, once=once)

    def structured_all(
        self, jobs: Sequence[J], made: "Callable[[J], tuple[Request, type[T], Check[T] | None]]"
    ) -> "Iterator[tuple[J, Parsed[T] | GatewayError]]":
        """Each job with its value or its own error, in the order they come back."""
        items = [made(job) for job in jobs]
        by_label = {item[0].label: job for item, job in zip(items, jobs, strict=True)}
        for request, outcome in self.gateway.structured_all(items, self.again):
            yield by_label[request.label], outcome

    def read_packs(
        self,
        papers: Sequence[Paper],
        asked: "Callable[[Evidence], tuple[Request, type[T], Check[T] | None]]",
        keep: "Callable[[Evidence, Parsed[T]], list[str]]",
        on_done: Callable[[int, int], None],
    ) -> list[str]:
        """Reads the papers pack by pack and keeps each reply as it comes; what failed, by key.

        A reply that cannot be used fails its pack alone. A refused key or a spent budget is raised when what came
        before it is kept.
        """
        jobs = [gathered(self.library, pack) for pack in packs(papers, self._is_suspicious)]
        failed: list[str] = []
        last: GatewayError | None = None
        for done, (evidence, outcome) in enumerate(self.structured_all(jobs, asked), 1):
            if isinstance(outcome, GatewayError):
                failed += [f"{key}: {outcome}" for key in evidence.keys]
                last = outcome
            else:
                failed += keep(evidence, outcome)
            on_done(done, len(jobs))
        if isinstance(last, BudgetReached | KeyOrQuota):
            raise last
        return failed

    def _is_suspicious(self, paper: Paper) -> bool:
        return gathered(self.library, [paper]).papers[0].is_suspicious

    def finished(self, document: Document, since: int = 0, *, is_whole: bool = True) -> Document:
        """The document with its sources from the library, and what this run asked and paid after its first `since` calls.

        One that broke off is not whole, and is not given to a second reader.
        """
        whole = with_sources(self.library, document)
        if self.second_reader and is_whole:
            from assistant.tasks.verify import verified

            whole = verified(self, whole)
        calls, usage, cost = self.gateway.spent(since)
        return replace(
            whole,
            model=self.gateway.name,
            tokens_in=usage.input,
            tokens_out=usage.output,
            cost_usd=cost,
            report=replace(whole.report, model_calls=calls),
        )


def with_sources(library: Library, document: Document) -> Document:
    """The document under the present keys of its papers, with what the library says of each.

    What was read is stored with the key of its day; an imported key may have replaced it since. Where a paper shows
    another text now, its anchors are carried over to the same sentences there, or the statement is marked. What a second
    reader said of it before stands beside it. A draft's coverage sheet is that of its statements as they stand.
    """
    from assistant.tasks.coverage import with_sheet
    from assistant.tasks.verify import with_verdicts

    known = _named(library, document.mentioned())
    names = {key: paper.key for key, paper in known.items()}
    renamed = document.renamed(names) if any(old != new for old, new in names.items()) else document
    present = renamed.anchored(lambda cite: carried(library, cite))
    known = {paper.key: paper for paper in known.values()} | _named(library, present.mentioned() - set(names.values()))
    judged = with_verdicts(library, replace(present, sources={key: source_of(known[key]) for key in sorted(present.mentioned())}))
    whole = replace(judged, report=replace(judged.report, marked=(*judged.report.marked, *suspicious(library, judged, known))))
    return with_sheet(whole, _named(library, (one.key for one in whole.coverage))) if whole.task == "draft" else whole


def _named(library: Library, keys: Iterable[str]) -> dict[str, Paper]:
    """The papers that keys name, fetched at once: a tree may hold ten thousand."""
    numbers = {key: library.catalog.number(key) for key in keys}
    papers = {paper.number: paper for paper in library.catalog.papers(numbers.values())} if numbers else {}
    return {key: papers[number] for key, number in numbers.items()}


def suspicious(library: Library, document: Document, known: Mapping[str, Paper]) -> list[Problem]:
    """The papers of a document whose text reads like an instruction to a model, where no statement that cites them says so yet."""
    told = {problem.reason for problem in document.report.marked if problem.rule == SUSPICIOUS}
    found = []
    for key in sorted(document.mentioned()):
        shown = gathered(library, [known[key]]).papers[0]
        if shown.is_suspicious and not any(reason.startswith(f"{key} ") for reason in told):
            found.append(Problem(key, SUSPICIOUS, suspicion(shown)))
    return found


def packs(papers: Sequence[Paper], is_suspicious: Callable[[Paper], bool], size: int = PACK) -> list[tuple[Paper, ...]]:
    """The papers in packs, in order of key; a paper whose text reads like an instruction is read alone, last.

    So the packs of the others are what they would be without it, to the byte.
    """
    alone: list[Paper] = []
    together: list[Paper] = []
    for paper in sorted(papers, key=lambda paper: paper.key):
        (alone if is_suspicious(paper) else together).append(paper)
    return [*(tuple(together[start : start + size]) for start in range(0, len(together), size)), *((paper,) for paper in alone)]


def label_for(task: str, step: str, subject: str) -> str:
    """`<task>/<step>--<subject>`, the name of a recording."""
    return f"{task}/{step}--{subject}"

