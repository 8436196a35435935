"""Commands about files and money: export, cost, settings."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant import stored
from assistant.cli.base import Context, note, print_json, print_table
from assistant.cli.model import cite_option
from assistant.document import Citations, Document
from assistant.errors import UsageError
from assistant.export import FORMATS, formats_of, written
from assistant.files import plan_file, read_columns, read_tree, table_file, taxonomy_file
from assistant.settings import SETTINGS
from assistant.tasks import ask
from assistant.tasks.desk import with_sources
from store.library import Library

if TYPE_CHECKING:
    from assistant.gateway.ledger import Spent

KINDS = ("ask", "summarize", "table", "taxonomy", "draft")


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("name", default="")
@click.option("--to", "formats", multiple=True, type=click.Choice(list(FORMATS)), help="A format; otherwise all that fit.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for the files; otherwise exports/.")
@cite_option
@click.pass_obj
def export(context: Context, /, kind: str, name: str, formats: tuple[str, ...], output: Path | None, cite: Citations | None) -> None:
    """Writes the KIND called NAME as files; asks no model. An answer's NAME is its question; summaries have none."""
    library = context.library(keywords_only=True)
    document = replace(with_sources(library, stored_document(library, kind, name)), citations=cite or "")
    for path in written(document, output or library.folder / "exports", formats or formats_of(kind)):
        click.echo(path)


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
