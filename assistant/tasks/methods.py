"""How the review was made, gathered from the library and its ledger; asks no model, reads no clock, invents nothing."""

from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from assistant.document import Document
from assistant.gateway.ledger import Ledger, Spent, whole
from assistant.gateway.recording import Recording, recorded
from assistant.methods import Imported, Lookup, Made, Methods, ModelUse, RecordedUse, Selection
from assistant.tasks.trace import kept
from assistant.wording import FOLDER
from store.catalog import Flow, Intaken
from store.library import Library
from store.lookups import SERVICES


def gathered(library: Library, documents: Sequence[Document], ledger: Ledger | None, recordings: Path | None = None) -> Methods:
    """What the library knows of how these documents were made.

    Kept statements whose exchange is not in the ledger were replayed: `recordings` is the folder that tells from which model.
    """
    known = ledger.answered() if ledger else frozenset()
    exchanges = {one.exchange.partition(" ")[::2] for one in kept(library) if one.exchange}
    elsewhere = sorted({label for label, question in exchanges if question not in known})
    found = [one for label in elsewhere if recordings and (one := recorded(recordings, label))]
    models = _models(ledger.summary(), ledger.served()) if ledger else ()
    tasks = {task for one in models for task in one.tasks} | {label.partition("/")[0] for label, _ in exchanges}
    judged = {"verify"} if any(document.report.checked_by_model for document in documents) else set()
    return Methods(
        version=_version(),
        imports=tuple(map(_imported, library.catalog.files())),
        lookups=tuple(map(_lookup, library.catalog.flow().lookups)),
        selection=_selection(library, library.catalog.flow()),
        embedder=library.catalog.meta("embedder"),
        models=models,
        recorded=_recorded(found),
        unknown_replies=len(elsewhere) - len(found),
        has_ledger=ledger is not None,
        tasks=tuple(sorted(tasks | judged)),
        made=tuple(_made(document) for document in documents),
        answers=sum(document.task == "ask" for document in documents),
        decisions=library.catalog.decided(),
        own_prompts=tuple(sorted(path.relative_to(library.folder / FOLDER).as_posix() for path in (library.folder / FOLDER).rglob("*.md.j2"))),
    )


def _version() -> str:
    """The program's version; nothing where it is not installed as a package."""
    try:
        return version("carrel")
    except PackageNotFoundError:
        return ""


def _imported(one: Intaken) -> Imported:
    """A file by its name, what a service gave by what it was asked."""
    return Imported(one.file if one.format in SERVICES else Path(one.file).name, one.format, one.time[:10], one.records, one.refused)


def _lookup(row: dict[str, object]) -> Lookup:
    found = row["found"]
    return Lookup(
        str(row["service"]), str(row["query"]), str(row["time"])[:10], None if found is None else int(str(found)), int(str(row["shown"])), int(str(row["taken"]))
    )


def _selection(library: Library, flow: Flow) -> Selection:
    papers = library.considered()
    tags: dict[str, int] = {}
    for paper in papers:
        for tag in paper.tags:
            tags[tag] = tags.get(tag, 0) + 1
    return Selection(
        flow.records,
        flow.duplicates,
        flow.papers,
        flow.candidates,
        flow.included,
        flow.excluded,
        flow.excluded_for,
        flow.removed,
        undecided=len(library.catalog.undecided()),
        with_notes=sum(paper.kind == "note" for paper in papers),
        tags=dict(sorted(tags.items())),
    )


def _models(rows: Sequence[Spent], served: dict[str, tuple[str, ...]]) -> tuple[ModelUse, ...]:
    """The models of the ledger, the one that was asked first first."""
    found = []
    for name in dict.fromkeys(row.model for row in rows):
        own = [row for row in rows if row.model == name]
        tasks: dict[str, int] = {}
        for row in own:
            tasks[row.task] = tasks.get(row.task, 0) + row.calls
        total, days = whole(own), [row.day for row in own]
        found.append(
            ModelUse(
                name, served.get(name, ()), min(days), max(days), total.calls, tasks,
                total.tokens_in, total.tokens_out, total.uncounted, total.cost, total.unknown,
            )
        )
    return tuple(found)


def _recorded(found: Iterable[Recording]) -> tuple[RecordedUse, ...]:
    by_model: dict[str, list[Recording]] = {}
    for one in found:
        by_model.setdefault(one.model, []).append(one)
    return tuple(
        RecordedUse(model, min(one.recorded for one in some), max(one.recorded for one in some), len(some), sum(bool(one.origin) for one in some))
        for model, some in sorted(by_model.items())
    )


def _made(document: Document) -> Made:
    """A document's size, what a person set in it, and its checks."""
    cells = [cell for row in document.rows for cell in row.cells.values()]
    filed = {one.key for one in document.assignments}
    sizes = {"table": len(document.rows), "taxonomy": len(filed), "summarize": len(document.summaries)}
    papers = sizes.get(document.task, len(document.cited()))
    return Made(
        document.task,
        document.name,
        papers,
        columns=len(document.columns),
        cells=len(cells),
        nodes=len(document.nodes),
        unassigned=len({one.key for one in document.unassigned} - filed),
        paragraphs=len(document.sections) if document.task == "draft" else 0,
        statements=len(document.statements),
        by_person=sum(cell.by == "person" for cell in cells) + sum(one.by == "person" for one in document.assignments),
        locked=sum(node.locked for node in document.nodes),
        report=document.report,
    )
