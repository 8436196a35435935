"""The draft command: a plan to edit, then the text."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant.cli.base import Context, note, progress
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    LONG_REPLY,
    WORDING,
    asking,
    cite_option,
    confirm_price,
    desk,
    finish,
    formats_option,
    model_options,
    output_option,
    show_options,
)
from assistant.document import Citations, Document
from assistant.errors import UsageError
from assistant.export.markdown import sentence
from assistant.files import plan_file, read_tree, taxonomy_file, write_kept
from assistant.plan import plan_markdown, read_plan
from assistant.tasks.desk import with_sources
from store.library import Library

if TYPE_CHECKING:
    from assistant.tasks.draft import Plan


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
@cite_option
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
    cite: Citations | None,
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
        document = replace(with_sources(library, task.document(library, name, planned(library, path), library.considered(scope))), citations=cite or "")
        finish(context, document, _print_draft, as_json=as_json, formats=formats, output=output)
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
        document = replace(task.text(at, name, planned(at.library, path), papers, bar, textual=cite == "textual"), citations=cite or "")
    finish(context, document, _print_draft, as_json=as_json, formats=formats, output=output)


def planned(library: Library, path: Path) -> "Plan":
    """The plan in a file, with the present keys of its papers; raises SettingsError or UnknownPaper naming the line or key."""
    from assistant.tasks import draft as task

    paragraphs, left_out = read_plan(path.read_text("utf-8"), str(path))
    return task.resolved(library, task.Plan(paragraphs, tuple(left_out.items())))

