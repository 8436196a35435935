"""Commands that say what statements rest on: check."""

from pathlib import Path

import click

from assistant.citing import Given, statements_in
from assistant.cli.base import Context, print_json, progress
from assistant.cli.model import asking, desk, model_options, say_report
from assistant.document import Document
from assistant.export import written
from assistant.export.markdown import verdict
from assistant.shapes import document_json
from assistant.tasks.desk import with_sources

NOT_HELD = 1
COLOURS = {"holds": "green", "marked": "yellow", "blocked": "red", "not checked": "bright_black"}


@click.command()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@model_options
@click.option("--to", "formats", multiple=True, type=click.Choice(["md", "json"]), help="Also write the outcome as a file.")
@click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for files; otherwise exports/.")
@click.option("--json", "as_json", is_flag=True, help="The outcome as JSON.")
@click.pass_obj
def check(context: Context, /, file: Path, formats: tuple[str, ...], output: Path | None, as_json: bool, **options: object) -> None:
    r"""Holds each statement of FILE against the library: do its papers say so? Asks no model, except with --verify.

    FILE is Markdown with [@key], LaTeX with \cite{key}, or JSON Lines of {"text", "cites": [{"key", "sentences",
    "quote"}]}. Ends with exit code 1 where a statement is blocked or marked.
    """
    from assistant.tasks import check as task

    wanted, given = asking(options), statements_in(file)
    with progress("checking") as bar:
        if wanted.verify:
            with desk(context, wanted, keywords_only=True) as at:
                document = at.finished(task.check(at.library, f"check of {file.name}", given, bar))
        else:
            library = context.library(keywords_only=True)
            document = with_sources(library, task.check(library, f"check of {file.name}", given, bar))
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
            click.echo(f"          {problem.rule}: {problem.reason}{f'; did you mean {problem.better}?' if problem.rule == 'R1' and problem.better else ''}")
        for cite in statement.cites if word != "not checked" else ():
            if cite.quote:
                click.echo(click.style(f"          [{cite.key} {','.join(map(str, cite.sentences))}] {cite.quote}", dim=True))
