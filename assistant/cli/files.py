"""Commands about files and money: export, cost, settings."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant import stored
from assistant.cli.base import Context, note, print_json, print_table
from assistant.cli.model import cite_option
from assistant.document import Citations, Document
from assistant.errors import AssistantError, UsageError
from assistant.export import FORMATS, formats_of, written
from assistant.files import plan_file, read_columns, read_tree, table_file, taxonomy_file
from assistant.settings import SETTINGS
from assistant.tasks import ask
from assistant.tasks.desk import with_sources
from store.errors import StoreError
from store.library import Library

if TYPE_CHECKING:
    from assistant.gateway.ledger import Spent

KINDS = ("ask", "summarize", "table", "taxonomy", "draft")
METHODS = "methods"


@click.command()
@click.argument("kind", type=click.Choice([*KINDS, METHODS]), required=False)
@click.argument("name", default="")
@click.option("--methods", is_flag=True, help="How the review was made: the methods and the statement on the use of AI; the same as the KIND methods.")
@click.option("--replay", type=click.Path(path_type=Path, file_okay=False, exists=True), help="With methods: recordings that replies were replayed from.")
@click.option("--to", "formats", multiple=True, type=click.Choice(list(FORMATS)), help="A format; otherwise all that fit.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for the files; otherwise exports/.")
@cite_option
@click.pass_obj
def export(
    context: Context, /, kind: str | None, name: str, methods: bool, replay: Path | None, formats: tuple[str, ...], output: Path | None, cite: Citations | None
) -> None:
    """Writes the KIND called NAME as files; asks no model. An answer's NAME is its question; summaries have none.

    `carrel export methods`, or `--methods`, writes how the review was made: for the methods section of a paper, and the
    statement on the use of AI that journals ask for. Lines in brackets there are for you to confirm or complete.
    """
    if methods or kind == METHODS:
        if name or kind not in {None, METHODS}:
            raise click.UsageError("the methods are those of the whole library: give no other KIND and no NAME")
        _export_methods(context, formats, output, replay)
        return
    if kind is None:
        raise click.UsageError(f"what is to be written? One of {', '.join([*KINDS, METHODS])}")
    library = context.library(keywords_only=True)
    document = with_sources(library, stored_document(library, kind, name))
    document = replace(document, citations=cite or document.citations)
    for path in written(document, output or library.folder / "exports", formats or formats_of(kind)):
        click.echo(path)


def _export_methods(context: Context, formats: tuple[str, ...], output: Path | None, recordings: Path | None) -> None:
    from assistant.cli.library import ITEMS_FAILED
    from assistant.cli.model import LEDGER
    from assistant.export import methods as export_methods
    from assistant.gateway.ledger import Ledger
    from assistant.tasks.methods import gathered

    library = context.library(keywords_only=True)
    path = context.folder / LEDGER
    ledger = Ledger(path) if path.exists() else None
    documents, failed = _every_document(library)
    facts = gathered(library, documents, ledger, recordings)
    if ledger:
        ledger.close()
    for written_path in export_methods.written(facts, output or library.folder / "exports", formats or tuple(export_methods.WRITERS)):
        click.echo(written_path)
    for line in failed:
        note(f"left out of the methods: {line}")
    if failed:
        raise click.exceptions.Exit(ITEMS_FAILED)


def _every_document(library: Library) -> tuple[list[Document], list[str]]:
    """All that was made of the library, and a line for each that cannot be read."""
    documents: list[Document] = []
    failed: list[str] = []
    for name, read in _readers(library):
        try:
            documents += read()
        except (AssistantError, StoreError) as error:
            failed.append(f"{name}: {error}")
    return documents, failed


def _readers(library: Library) -> Iterator[tuple[str, Callable[[], Sequence[Document]]]]:
    """Each thing that was made, by name, with what reads it."""
    from assistant.tables import RESERVED
    from assistant.tasks import chat, summarize

    def of(kind: str, name: str) -> list[Document]:
        return [with_sources(library, stored_document(library, kind, name))]

    def conversation(name: str) -> list[Document]:
        return [turn.document for turn in chat.conversation(library, name).turns]

    if library.catalog.finding_names(summarize.TASK):
        yield "summaries", partial(of, "summarize", "")
    for kind, file, end in (("table", table_file, ".toml"), ("taxonomy", taxonomy_file, ".toml"), ("draft", plan_file, ".plan.md")):
        for path in sorted(file(library.folder, "x").parent.glob(f"*{end}")):
            name = path.name.removesuffix(end)
            if not name.endswith(RESERVED):
                yield f"{kind} {name}", partial(of, kind, name)
    for question, _ in (item for name in library.catalog.finding_names(ask.TASK) for item in library.catalog.findings(ask.TASK, name)):
        yield f"the answer to {question!r}", partial(of, "ask", question)
    for name in library.catalog.finding_names(chat.TASK):
        yield f"the conversation {name!r}", partial(conversation, name)


def stored_document(library: Library, kind: str, name: str) -> Document:
    """What the library holds of that kind and name; raises UsageError when there is none."""
    if kind == "summarize":
        from assistant.tasks import summarize

        return summarize.document(library, library.considered())
    if not name:
        raise click.UsageError(f"which {kind}? Give its NAME")
    if kind == "ask":
        return _answer(library, name)
    path = {"table": table_file, "taxonomy": taxonomy_file, "draft": plan_file}[kind](library.folder, name)
    if not path.exists():
        raise UsageError(f"there is no {kind} {name!r}; `carrel {kind} {name}` makes one ({path} is missing)")
    if kind == "table":
        from assistant.tables import read_decisions
        from assistant.tasks import table

        return table.document(library, name, read_columns(path), library.considered(), decisions=read_decisions(library.folder, name))
    if kind == "taxonomy":
        from assistant.tasks import taxonomy
        from assistant.tree import Tree

        return taxonomy.document(library, name, Tree(*read_tree(path)), library.considered())
    from assistant.cli.drafts import planned
    from assistant.tasks import draft

    return draft.document(library, name, planned(library, path), library.considered())


def _answer(library: Library, question: str) -> Document:
    have = library.catalog.findings(ask.TASK, ask.name_of(question))
    if not have:
        raise UsageError(f"no answer to {question!r} is kept; ask it with `carrel ask`")
    return stored.answer(json.loads(have.get((question, 0)) or next(iter(have.values()))))


@click.command()
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def cost(context: Context, /, as_json: bool) -> None:
    """What was asked of models, by task, model and day, and what it cost; what is unknown says so."""
    from assistant.cli.model import LEDGER
    from assistant.gateway.ledger import Ledger, whole

    path = context.folder / LEDGER
    if not path.exists():
        if as_json:
            print_json([])
        note("nothing was asked of a model yet")
        return
    ledger = Ledger(path)
    spent = ledger.summary()
    ledger.close()
    if as_json:
        print_json([asdict(row) for row in spent])
    elif spent:
        columns = ("day", "task", "model", "calls", "tokens in", "tokens out", "US dollars")
        print_table(dict.fromkeys(columns, ""), [*map(_cost_row, spent), _cost_row(whole(spent))])


def _cost_row(row: "Spent") -> list[str]:
    from assistant.cli.model import dollars

    read, written = (_sum(None if value is None else f"{value:,}", row.uncounted) for value in (row.tokens_in, row.tokens_out))
    return [row.day, row.task, row.model, str(row.calls), read, written, _sum(None if row.cost is None else dollars(row.cost), row.unknown)]


def _sum(known: str | None, unknown: int) -> str:
    """A sum as it is: what is known, and of how many calls it is not."""
    return " + ".join([*([] if known is None else [known]), *([f"{unknown} unknown"] if unknown else [])]) or "0"


@click.command()
@click.pass_obj
def settings(context: Context) -> None:
    """The settings in force, where each comes from, and what it does."""
    now = context.settings()
    rows = []
    for setting in SETTINGS:
        field = setting.name.replace(".", "_")
        rows.append([setting.name, _shown(getattr(now, field)), now.origins.get(field, "default"), setting.variable, setting.help])
    print_table({"setting": "whole", "value": "30", "from": "whole", "variable": "whole", "what it does": ""}, rows)


def _shown(value: object) -> str:
    return "unknown" if value is None else str(value)
