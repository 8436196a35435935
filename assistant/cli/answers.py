"""The ask command: an answer of cited sentences."""

import json
from pathlib import Path

import click

from assistant import stored
from assistant.cli.base import Context, note, print_json
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    asking,
    cited,
    desk,
    ended,
    exported,
    formats_option,
    model_options,
    output_option,
    quoted,
    say_report,
)
from assistant.document import Document
from assistant.errors import NoModel
from assistant.gateway.message import sendable
from assistant.shapes import document_json
from assistant.tasks import ask as ask_task
from assistant.tasks.desk import with_sources
from store.library import Library


@click.command()
@click.argument("question")
@click.option("--count", "-n", default=ask_task.SHOWN, show_default=True, type=click.IntRange(1, 60), help="How many papers are shown.")
@click.option("--keywords", "by_keywords", is_flag=True, help="Find papers by the keyword ranking alone.")
@scope_options
@model_options
@formats_option
@output_option
@click.option("--json", "as_json", is_flag=True, help="The answer as JSON.")
@click.pass_obj
def ask(
    context: Context,
    /,
    question: str,
    count: int,
    by_keywords: bool,
    formats: tuple[str, ...],
    output: Path | None,
    as_json: bool,
    **options: object,
) -> None:
    """Asks QUESTION of the library: an answer of sentences, each pointing at the sentences that say so."""
    wanted, scope = asking(options), scope_of(context, options)
    question = sendable(question)  # a terminal may hand over bytes that are no UTF-8
    inquiry = ask_task.Inquiry(question, count=count, scope=scope, by_keywords=by_keywords)
    say = click.echo if not as_json else _unsaid
    try:
        document = _counted(context, inquiry)
        for statement in document.statements if document else ():
            say(cited(statement))
        if document is None:
            with desk(context, wanted, keywords_only=by_keywords) as at:
                document = ask_task.answered(at, inquiry, lambda statement: say(cited(statement))).document
                keep_answer(at.library, document)
    except NoModel:
        if _shows_evidence(context, inquiry, as_json=as_json):
            raise
        document = Document("ask", question, outcome="no evidence")
    if as_json:
        print_json(document_json(document))
    else:
        _say_sources(document)
    say_report(document)
    exported(context, document, formats, output)
    ended(document)


def _unsaid(words: str) -> None:
    """Where the answer is printed as JSON, nothing is printed before it."""


def _counted(context: Context, inquiry: ask_task.Inquiry) -> Document | None:
    """The answer where the library's own fields give it; needs no model to be configured."""
    if not ask_task.is_about_fields(inquiry):
        return None
    library = context.library(keywords_only=True)
    document = ask_task.counted(library, inquiry)
    if document:
        document = with_sources(library, document)
        keep_answer(library, document)
    library.close()
    return document


def keep_answer(library: Library, document: Document) -> None:
    """Keeps an answer, for `carrel export ask`."""
    data = json.dumps(stored.answer_fields(document), ensure_ascii=False)
    with library.catalog.writing():
        library.catalog.keep_finding(ask_task.TASK, ask_task.name_of(document.name), document.name, 0, data)


def _say_sources(document: Document) -> None:
    if document.restated:
        note(f"looked up as: {document.restated}")
    if document.outcome != "answered":
        click.echo("No evidence: no paper in the library answers this.")
        return
    click.echo("")
    for cite in dict.fromkeys(cite for statement in document.statements if statement.by == "model" for cite in statement.cites):
        click.echo(quoted(cite))


def _shows_evidence(context: Context, inquiry: ask_task.Inquiry, *, as_json: bool) -> bool:
    """Whether a model could have answered; where it could, the passages that it would have been shown."""
    library = context.library(keywords_only=inquiry.by_keywords)
    papers = ask_task.chosen(library, inquiry).papers
    hits = library.search(inquiry.question, count=60, scope=inquiry.scope, by_keywords=inquiry.by_keywords) if papers and not as_json else []
    passages = {hit.paper: hit.passage for hit in hits}
    places = list(passages)
    for paper in sorted(papers, key=lambda paper: places.index(paper.number) if paper.number in passages else len(places)) if not as_json else ():
        click.secho(f"{paper.key}: {paper.name}", bold=True)
        if passage := passages.get(paper.number):
            click.echo(f"    {library.catalog.passage_text(passage)}\n")
    return bool(papers) or bool(library.catalog.count() and ask_task.foreign_language(library, inquiry.question))
