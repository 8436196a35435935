"""Commands that ask a model: ask, taxonomy, draft."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant import stored
from assistant.cli.base import Context, note, print_json, progress
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
    say_report,
    show_options,
)
from assistant.document import Document
from assistant.errors import NoModel, UsageError
from assistant.export.markdown import sentence
from assistant.files import plan_file, read_tree, taxonomy_file, write_kept
from assistant.gateway.message import sendable
from assistant.plan import plan_markdown, read_plan
from assistant.shapes import document_json
from assistant.tasks import ask as ask_task
from assistant.tasks.desk import with_sources
from store.library import Library

if TYPE_CHECKING:
    from assistant.tasks.draft import Plan


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


def _finish(context: Context, document: Document, *, as_json: bool, formats: tuple[str, ...], output: Path | None) -> None:
    if as_json:
        print_json(document_json(document))
    else:
        {"taxonomy": _print_tree, "draft": _print_draft}[document.task](document)
    if not as_json or document.report.model_calls:
        say_report(document)
    exported(context, document, formats, output)
    ended(document)


def _print_tree(document: Document) -> None:
    from rich.console import Console
    from rich.tree import Tree as Branch

    from assistant.tree import Tree

    root = Branch(document.name, guide_style="dim")
    tree = Tree(document.name, document.nodes)
    facets = {facet: root.add(facet, style="bold", highlight=False) if len(tree.facets) > 1 else root for facet in tree.facets}
    branches: dict[str, Branch] = {}
    for _, node in tree.ordered:
        keys = [one.key for one in document.assignments if one.node == node.id]
        branches[node.id] = branches.get(node.parent, facets[node.facet]).add(f"{node.label} ({len(keys)})" if keys else node.label, highlight=False)
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
    from assistant.tree import Tree

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
            tree = trees.document(at.library, tree_name or "", Tree(*read_tree(tree_path)), papers) if tree_path else None
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

