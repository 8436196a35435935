"""Commands that say what statements rest on: check, trace."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant import about
from assistant.citing import Given, statements_in
from assistant.cli.base import Context, print_json, progress, stop
from assistant.cli.model import LEDGER, asking, desk, model_options, say_report
from assistant.document import Document
from assistant.export import formats_of, written
from assistant.export.markdown import verdict
from assistant.shapes import cite_json, document_json
from assistant.tasks.desk import with_sources

if TYPE_CHECKING:
    from assistant.tasks.trace import Trace

NOT_HELD = 1
COLOURS = {"holds": "green", "marked": "yellow", "blocked": "red", "not checked": "bright_black"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@model_options
@click.option("--to", "formats", multiple=True, type=click.Choice(formats_of("check")), help="Also write the outcome as a file.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for files; otherwise exports/.")
@click.option("--json", "as_json", is_flag=True, help="The outcome as JSON.")
@click.pass_obj
def check(context: Context, /, file: Path, formats: tuple[str, ...], output: Path | None, as_json: bool, **options: object) -> None:
    r"""Holds each statement of FILE against the library: do its papers say so? Asks no model, except with --verify.

    FILE is Markdown with [@key], LaTeX with \cite{key}, or JSON Lines of {"text", "cites": [{"key", "sentences",
    "quote"}]}. The abstract that a draft of this name is about counts as the writer's own. Ends with exit code 1 where a
    statement is blocked or marked.
    """
    from assistant.tasks import check as task

    wanted, given, own = asking(options), statements_in(file), about.kept(context.folder, file.stem)
    with progress("checking") as bar:
        if wanted.verify:
            with desk(context, wanted, keywords_only=True) as at:
                document = at.finished(task.check(at.library, f"check of {file.name}", given, bar, own))
        else:
            library = context.library(keywords_only=True)
            document = with_sources(library, task.check(library, f"check of {file.name}", given, bar, own))
    if as_json:
        print_json(document_json(document))
    else:
        _print(document, [one.line for one in given if isinstance(one, Given)])
    say_report(document, problems=False)
    for path in written(document, output or context.folder / "exports", formats) if formats else ():
        click.echo(f"wrote {path}", err=True)
    if document.report.blocked or document.report.marked or document.report.failed:
        raise click.exceptions.Exit(NOT_HELD)


def _print(document: Document, lines: list[int]) -> None:
    """Each statement with its verdict; why, where it does not simply hold."""
    for line, statement in zip(lines, document.statements, strict=True):
        word = verdict(statement)
        click.echo(f"{line:>4}  {click.style(word, fg=COLOURS[word])}  {statement.text}")
        for problem in (*statement.blocked, *statement.problems):
            click.echo(f"          {problem.rule}: {problem.reason}")
        for cite in statement.cites if word != "not checked" else ():
            if cite.quote:
                click.echo(click.style(f"          [{cite.place}] {cite.quote}", dim=True))


@click.command()
@click.argument("text")
@click.option("--replay", type=click.Path(path_type=Path, file_okay=False, exists=True), help="Look for exchanges in this folder of recordings too.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@click.pass_obj
def trace(context: Context, /, text: str, replay: Path | None, as_json: bool) -> None:
    """Where TEXT, a sentence of an answer, draft, table, tree or summary, comes from: its sources, the prompt and the reply."""
    from assistant.gateway.ledger import Ledger
    from assistant.tasks import trace as task

    library = context.library(keywords_only=True)
    ledger = Ledger(library.folder / LEDGER) if (library.folder / LEDGER).exists() else None
    found = task.traces(library, text, ledger, replay)
    if as_json:
        print_json({"text": text, "traces": [_trace_json(one) for one in found]})
    for one in found if not as_json else ():
        _print_trace(one)
    if not found:
        near = task.nearest(library, text)
        stop(f"nothing the library keeps says {text!r}{f'; nearest is: {near}' if near else ''}", NOT_HELD)


def _print_trace(one: "Trace") -> None:
    click.secho(one.kept.said, bold=True)
    click.echo(f"  {one.kept.task} {one.kept.name}".rstrip())
    for where in one.places:
        text = f"{where.cite.key} {where.cite.text} {','.join(map(str, where.cite.sentences))}"
        named = where.cite.place if not where.cite.key or where.cite.text == "title" else text
        spans = ", ".join(f"{start}–{end}" for start, end in where.spans)
        click.echo(f"  {click.style(f'[{named}]', fg='cyan')} {where.cite.quote}")
        click.echo(f"      {f'characters {spans} of the text; ' if spans else ''}read from {where.source}")
    for mark in one.kept.marks:
        click.secho(f"  marked by {mark}", fg="yellow")
    if one.exchange is None:
        click.echo("  The exchange with the model is not known any more (see --replay).\n")
        return
    click.echo(f"  {one.exchange.label}, {one.exchange.model}, {one.exchange.day}\n")
    for message in one.exchange.messages:
        click.echo(f"{click.style(f'--- {message.role}', dim=True)}\n{message.content.rstrip()}\n")
    click.echo(f"{click.style('--- reply', dim=True)}\n{one.exchange.reply.rstrip()}\n")


def _trace_json(one: "Trace") -> dict[str, object]:
    exchange = one.exchange and {
        "label": one.exchange.label,
        "model": one.exchange.model,
        "date": one.exchange.day,
        "messages": [{"role": message.role, "content": message.content} for message in one.exchange.messages],
        "reply": one.exchange.reply,
    }
    cites = [{**cite_json(place.cite), "characters": [list(span) for span in place.spans], "source": place.source} for place in one.places]
    return {
        "statement": one.kept.said, "task": one.kept.task, "name": one.kept.name, "cites": cites, "marks": list(one.kept.marks), "exchange": exchange,
    }  # fmt: skip
