"""Commands that ask a model: ask, table, taxonomy, draft."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant import stored
from assistant.cli.base import Context, note, print_json, print_table, progress
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    LONG_REPLY,
    WORDING,
    asking,
    cited,
    confirm_price,
    desk,
    ended,
    exported,
    formats_option,
    model_options,
    output_option,
    quoted,
    say_price,
    say_report,
    show_options,
)
from assistant.document import Column, Document
from assistant.errors import NoModel, UsageError
from assistant.export.markdown import sentence, shown
from assistant.files import plan_file, read_columns, read_tree, table_file, taxonomy_file, tree_toml, with_columns, write_kept
from assistant.gateway.message import sendable
from assistant.plan import plan_markdown, read_plan
from assistant.shapes import document_json
from assistant.tasks import ask as ask_task
from assistant.tasks.desk import with_sources
from store.keys import slug
from store.library import Library

if TYPE_CHECKING:
    from assistant.tasks.draft import Plan

COLUMN = re.compile(r"(?P<name>[^:=?]+?)\s*(?:\((?P<type>[a-z/]+)\))?\s*[:=]\s*(?P<question>.+)")


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


@click.command()
@click.argument("name")
@click.option("--columns", "columns_from", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A TOML file of columns.")
@click.option("--column", "given", multiple=True, help="A column: 'Name: question', or 'Name (number): question'.")
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def table(
    context: Context,
    /,
    name: str,
    columns_from: Path | None,
    given: tuple[str, ...],
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Makes the table NAME, or brings it up to date: papers by columns, each cell with the sentence it rests on.

    Columns stand in tables/NAME.toml; an edited question refills that column alone.
    """
    from assistant.tasks import table as task

    wanted, scope = asking(options), scope_of(context, options)
    columns = _columns(context, name, columns_from, given)
    if show or (as_json and not run):
        library = context.library(keywords_only=True)
        document = with_sources(library, task.document(library, name, columns, library.considered(scope)))
    else:
        with desk(context, wanted, keywords_only=True) as at, progress("reading papers") as bar:
            papers = at.library.considered(scope)
            waiting = [paper for paper in papers if task.missing_columns(at.library, name, columns, paper)]
            say_price(at, wanted, waiting, each=40 * len(columns))
            document = task.fill(at, name, columns, papers, bar)
    _finish(context, document, as_json=as_json, formats=formats, output=output)


def _columns(context: Context, name: str, columns_from: Path | None, given: tuple[str, ...]) -> tuple[Column, ...]:
    """The columns of the table's file, after those given were written to it."""
    path = table_file(context.folder, name)
    source = columns_from or (path if path.exists() else None)
    text = source.read_text("utf-8") if source else ""
    if given:
        text = with_columns(text, [_column(words) for words in given])
    if not text:
        raise UsageError(f"the table {name!r} has no columns yet: give --columns FILE, or --column 'Name: question' for each")
    if columns_from:
        read_columns(columns_from)
    if columns_from or given:
        write_kept(path, text)
    return read_columns(path)


def _column(words: str) -> Column:
    found = COLUMN.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"--column {words!r}: write 'Name: question', or 'Name (number): question'")
    return Column(slug(found["name"]), found["name"].strip(), found["question"].strip(), found["type"] or "text")


def _finish(context: Context, document: Document, *, as_json: bool, formats: tuple[str, ...], output: Path | None) -> None:
    if as_json:
        print_json(document_json(document))
    else:
        {"table": _print_table, "taxonomy": _print_tree, "draft": _print_draft}[document.task](document)
    if not as_json or document.report.model_calls:
        say_report(document)
    exported(context, document, formats, output)
    ended(document)


def _print_table(document: Document) -> None:
    rows = [[row.key, *(shown(row.cells.get(column.id)) for column in document.columns)] for row in document.rows]
    print_table({"key": "whole"} | dict.fromkeys([column.name for column in document.columns], ""), rows)


def _print_tree(document: Document) -> None:
    from rich.console import Console
    from rich.tree import Tree

    root = Tree(document.name, guide_style="dim")
    branches = {"": root}
    for node in document.nodes:
        keys = [one.key for one in document.assignments if one.node == node.id]
        branches[node.id] = branches.get(node.parent, root).add(f"{node.label} ({len(keys)})" if keys else node.label, highlight=False)
        if keys:
            branches[node.id].add(", ".join(keys), style="cyan", highlight=False)
    if document.unassigned:
        out = root.add(f"unassigned ({len(document.unassigned)})")
        for one in document.unassigned:
            out.add(f"{one.key}: {one.reason}", highlight=False)
    Console(highlight=False, markup=False).print(root)


def _print_draft(document: Document) -> None:
    for section in document.sections:
        click.secho(f"\n{section.heading}", bold=True)
        click.echo(" ".join(sentence(statement).replace("\\", "") for statement in section.statements))
    left = [one for one in document.coverage if not one.used]
    click.echo(f"\n{len(document.coverage) - len(left)} of {len(document.coverage)} papers are cited")
    for one in left:
        click.echo(f"  left out: {one.key}: {one.left_out}")


@click.command()
@click.argument("name")
@click.option("--facet", help="What the tree divides the papers by, e.g. 'where the reward comes from'.")
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def taxonomy(
    context: Context,
    /,
    name: str,
    facet: str | None,
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Grows the tree NAME by a facet and files every paper; where the tree is there, only files what is not filed.

    The tree stands in taxonomies/NAME.toml, and is yours to edit.
    """
    from assistant.tasks import taxonomy as task

    wanted, scope = asking(options), scope_of(context, options)
    path = taxonomy_file(context.folder, name)
    if not path.exists() and (show or not facet or (as_json and not run)):
        raise UsageError(f"there is no tree {name!r} yet: give --facet 'what it divides the papers by' to grow one")
    if show or (as_json and not run):
        library = context.library(keywords_only=True)
        tree = task.Tree(*read_tree(path))
        document = with_sources(library, task.document(library, name, tree, library.considered(scope)))
    else:
        with desk(context, wanted, keywords_only=True) as at, progress("filing papers") as bar:
            papers = at.library.considered(scope)
            say_price(at, wanted, papers, each=60, more=0 if path.exists() else 1)
            if path.exists():
                document = task.file_papers(at, name, task.Tree(*read_tree(path)), papers, bar)
            else:
                grown = task.grow(at, name, facet or "", papers)
                document = task.file_papers(at, name, grown, papers, bar)
                tree = task.without_empty(grown, document)
                task.move_findings(at.library, name, grown, tree)
                document = replace(document, nodes=tree.nodes)
                write_kept(path, tree_toml(tree.facet, tree.nodes))
                note(f"the tree is in {path}, yours to edit")
    _finish(context, document, as_json=as_json, formats=formats, output=output)


@click.command()
@click.argument("name")
@click.option("--topic", default="", help="What the section is about; otherwise NAME.")
@click.option("--paragraphs", default=5, show_default=True, type=click.IntRange(1, 20), help="About how many.")
@click.option("--taxonomy", "tree_name", help="Plan along this tree.")
@click.option("--plan-only", is_flag=True, help="Stop after the plan, to edit it.")
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def draft(
    context: Context,
    /,
    name: str,
    topic: str,
    paragraphs: int,
    tree_name: str | None,
    plan_only: bool,
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Drafts related work: a plan in drafts/NAME.plan.md, yours to edit, then the text, every sentence checked.

    Where the plan is there, only paragraphs whose plan changed are written.
    """
    from assistant.tasks import draft as task
    from assistant.tasks import taxonomy as trees

    wanted, scope = asking(options), scope_of(context, options)
    path = plan_file(context.folder, name)
    printing = show or (as_json and not run)
    if printing:
        if not path.exists():
            raise UsageError(f"there is no draft {name!r} yet; `carrel draft {name}` plans and writes one")
        library = context.library(keywords_only=True)
        document = with_sources(library, task.document(library, name, _read_plan(library, path), library.considered(scope)))
        _finish(context, document, as_json=as_json, formats=formats, output=output)
        return
    with desk(context, wanted, keywords_only=True) as at, progress("writing paragraphs") as bar:
        papers = at.library.considered(scope)
        if not path.exists():
            characters = 2 * sum(len(paper.abstract) for paper in papers) + WORDING * (1 + paragraphs)
            confirm_price(at.gateway, wanted, 1 + paragraphs, characters, LONG_REPLY + 400 * paragraphs)
            tree_path = taxonomy_file(context.folder, tree_name) if tree_name else None
            tree = trees.document(at.library, tree_name or "", trees.Tree(*read_tree(tree_path)), papers) if tree_path else None
            made = task.plan(at, name, topic or name, papers, paragraphs, tree)
            write_kept(path, plan_markdown(name, made.paragraphs, made.left_out))
            note(f"the plan is in {path}, yours to edit")
        if plan_only:
            return
        document = task.text(at, name, _read_plan(at.library, path), papers, bar)
    _finish(context, document, as_json=as_json, formats=formats, output=output)


def _read_plan(library: Library, path: Path) -> "Plan":
    from assistant.tasks import draft as task

    paragraphs, left_out = read_plan(path.read_text("utf-8"), str(path))
    return task.resolved(library, task.Plan(paragraphs, tuple(left_out.items())))

