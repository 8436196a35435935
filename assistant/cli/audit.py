"""The audit command: a manuscript and its bibliography against the library."""

from pathlib import Path

import click

from assistant import bibliographies, manuscript
from assistant.cli.base import Context, print_json, progress
from assistant.cli.model import asking, desk, exported, model_options, output_option, say_report
from assistant.document import Audit, Document, Support
from assistant.export.markdown import audit_line, audit_parts
from assistant.shapes import document_json
from assistant.tasks.desk import with_sources

NOT_HELD = 1
COLOURS: dict[Support, str] = {
    "supported": "green", "no objection": "green", "doubtful": "yellow", "partly": "yellow", "not": "red", "too little to tell": "bright_black",
}  # fmt: skip
SHOWN = 8
"""Lines of a part that is only a list of keys; --json and the files have all."""


MEANINGS = """\b
supported           --verify's second reader says so; by code alone: a quotation
                    that stands in the abstract, or nearly all of its words there
no objection        code found nothing against it; that is not support
doubtful            a number, name, negation or too few words do not agree
partly              the second reader: only part of it is said
not                 the second reader: not said; by code: no such key, or a
                    quotation that does not stand in the abstract
too little to tell  not in the library, no abstract, another language, too short
"""
"""What the verdicts mean, at the end of --help."""


@click.command(epilog=MEANINGS)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.argument("bib", nargs=-1, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--strict", is_flag=True, help="Also end with exit code 1 where a citation is doubtful or only partly supported.")
@click.option("--root", type=click.Path(path_type=Path, file_okay=False, exists=True), help="The folder that files may be read from; otherwise FILE's own.")
@model_options
@click.option("--to", "formats", multiple=True, type=click.Choice(["md", "csv", "xlsx", "html", "json"]), help="Also write the outcome as a file.")
@output_option
@click.option("--json", "as_json", is_flag=True, help="The outcome as JSON.")
@click.pass_obj
def audit(
    context: Context,
    /,
    file: Path,
    bib: tuple[Path, ...],
    strict: bool,
    root: Path | None,
    formats: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    **options: object,
) -> None:
    r"""Holds a manuscript against the library: does each \cite's paper say so, what claims and cites nothing, is BIB right?

    FILE is LaTeX (what it reads with \input too) or Markdown with [@key]; without BIB, the bibliographies that it names.
    Nothing of it is changed. No model is asked, except with --verify.

    Ends with exit code 1 where something is "not"; the words are explained below.
    """
    from assistant.tasks import audit as task

    wanted = asking(options)
    read = manuscript.read(file, context.settings().audit_cite_macros, root)
    with progress("auditing") as bar:
        if wanted.verify:
            with desk(context, wanted, keywords_only=True) as at:
                entries = bibliographies.read(at.library, bib or read.bibliographies)
                document = task.concluded(at.library, at.finished(task.audit(at.library, read, entries, bar)))
        else:
            library = context.library(keywords_only=True)
            entries = bibliographies.read(library, bib or read.bibliographies)
            document = task.concluded(library, with_sources(library, task.audit(library, read, entries, bar)))
    if as_json:
        print_json(document_json(document))
    else:
        _print(document)
    if document.report.model_calls or document.report.failed:
        say_report(document, problems=False)
    exported(context, document, formats, output)
    click.echo(audit_line(document) if as_json else f"\n{audit_line(document)}", err=as_json)
    if not task.holds(document, strict=strict) or document.report.failed:
        raise click.exceptions.Exit(NOT_HELD)


def _print(document: Document) -> None:
    """Each citation with its verdict and why, then what else was found."""
    found = document.audit or Audit()
    for one, statement in zip(found.citations, document.statements, strict=True):
        by = " (second reader)" if one.by == "second reader" else ""
        paper = f" = {one.paper}" if one.paper not in {"", one.key} else ""
        click.echo(f"{one.place}  {click.style(one.support + by, fg=COLOURS[one.support])}  {click.style(one.key + paper, fg='cyan')}  {statement.text}")
        for problem in one.reasons:
            click.echo(f"    {f'{problem.rule}: ' if problem.rule else ''}{problem.reason}")
        if one.cite:
            where = "title" if one.cite.text == "title" else ",".join(map(str, one.cite.sentences))
            click.echo(click.style(f"    [{one.cite.key} {where}] {one.cite.quote}", dim=True))
    for heading, entries in audit_parts(document):
        click.secho(f"\n{heading} ({len(entries)})", bold=True)
        is_list = not any(":" in place for place, _ in entries)
        for place, said in entries[: SHOWN if is_list else None]:
            click.echo(f"  {place}  {said}".rstrip())
        if is_list and len(entries) > SHOWN:
            click.echo(f"  … and {len(entries) - SHOWN} more; --json has them all")
