"""The command that reads each paper: summarize."""

from pathlib import Path
from typing import NamedTuple

import click

from assistant.cli.base import Context, console, note, print_json, progress
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    asking,
    desk,
    ended,
    exported,
    formats_option,
    model_options,
    output_option,
    say_price,
    say_report,
    show_options,
)
from assistant.document import SUMMARY_FIELDS, Cite, Document, Summary
from assistant.export.escape import plain
from assistant.export.markdown import stopped_results, told
from assistant.shapes import summary_json

TOKENS_EACH = 320
"""Tokens out a paper, about what a summary took in the trial."""


class _Line(NamedTuple):
    """A line of a card: the field, what is said, the sentences behind it, and the rules that marked it."""

    name: str
    said: str
    cites: tuple[Cite, ...] = ()
    marks: tuple[str, ...] = ()


@click.command()
@click.argument("named", metavar="[KEY]...", nargs=-1)
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def summarize(
    context: Context,
    /,
    named: tuple[str, ...],
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Reads each paper, or those of the KEYs: problem, approach, contribution, data, limitations and results.

    A summary is kept: only papers that have none are read, unless --again is given.
    """
    from assistant.tasks import summarize as task
    from assistant.tasks.desk import with_sources

    options["keys"] = (*named, *options["keys"])  # type: ignore[misc]  # click made a tuple
    wanted, scope = asking(options), scope_of(context, options)
    library = context.library(keywords_only=True)
    papers = library.considered(scope)
    waiting = papers if wanted.again else task.unread(library, papers)
    if show or (as_json and not run) or not waiting:
        document = with_sources(library, task.document(library, papers))
    else:
        with desk(context, wanted, keywords_only=True) as at, progress("reading papers") as bar:
            say_price(at, wanted, waiting, each=TOKENS_EACH)
            document = task.read(at, papers, bar, again=wanted.again)
    if as_json:
        print_json([summary_json(summary) for summary in document.summaries])
    else:
        _print_cards(document)
    _say_unread(document)
    say_report(document)
    exported(context, document, formats, output)
    ended(document)


def _print_cards(document: Document) -> None:
    """A card a paper: its title, then each field, and behind it the numbers of the sentences it rests on."""
    from rich.table import Table
    from rich.text import Text

    out = console()
    for summary in document.summaries:
        source = document.sources.get(summary.key)
        out.print(Text.assemble("\n", (summary.key, "bold cyan"), "  ", (plain(source.title) if source else "", "bold")))
        card = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1))
        card.add_column(no_wrap=True, style="dim")
        card.add_column(overflow="fold")
        for line in _lines(summary):
            marks = f" ({', '.join(line.marks)}!)" if line.marks else ""
            card.add_row(f"  {line.name}", Text.assemble(line.said, (_places(line.cites), "cyan"), (marks, "yellow")))
        out.print(card)


def _lines(summary: Summary) -> list[_Line]:
    """What a card shows: each field, then each result, the first of them beside the word."""
    fields = [(name, summary.cells[field]) for field, name in SUMMARY_FIELDS.items()]
    lines = [_Line(name, told(cell), cell.cites, _rules(cell.marks)) for name, cell in fields]
    results = [_Line("", str(result), result.cites, _rules(result.marks)) for result in summary.results]
    results += [_Line("", stopped_results(summary))] if summary.blocked else []
    first, *others = results or [_Line("", "not stated")]
    return [*lines, first._replace(name="Results"), *others]


def _rules(marks: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(mark.partition(":")[0] for mark in marks))


def _places(cites: tuple[Cite, ...]) -> str:
    """The numbers of the sentences, as `carrel show` counts them."""
    places = ["title" if cite.text == "title" else ",".join(map(str, cite.sentences)) for cite in cites]
    return f" [{'; '.join(places)}]" if places else ""


def _say_unread(document: Document) -> None:
    waiting = len(document.coverage) - len(document.summaries)
    if not document.coverage:
        note("no paper is in scope")
    elif waiting and not document.report.failed:
        note(f"{waiting} of {len(document.coverage)} papers have no summary yet; `carrel summarize` makes them")
