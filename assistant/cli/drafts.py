"""The draft command: a plan to edit, then the text."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant.cli.base import Context, note, progress
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    HOW_TO_SET,
    LONG_REPLY,
    WORDING,
    asking,
    cited,
    confirm_price,
    desk,
    finish,
    formats_option,
    model_options,
    output_option,
    quoted,
    show_options,
)
from assistant.document import OWN, Document, Problem, Row, Statement
from assistant.errors import NoModel, UsageError
from assistant.export.markdown import ALREADY, CLOSEST, STATES, nearness, sentence, shown
from assistant.files import plan_file, read_tree, taxonomy_file, write_kept
from assistant.plan import plan_markdown, read_plan
from assistant.tasks.desk import with_sources
from store.library import Library

if TYPE_CHECKING:
    from assistant.tasks.draft import Plan

CALLS_MORE = 2
"""The most that a draft about an abstract asks more than another: the closest papers and claims, and once more what cannot stand."""


def _print_draft(document: Document) -> None:
    for section in document.sections:
        click.secho(f"\n{section.heading}", bold=True)
        click.echo(" ".join(sentence(statement).replace("\\", "") for statement in section.statements))
    left = [one for one in document.coverage if not one.used]
    click.echo(f"\n{len(document.coverage) - len(left)} of {len(document.coverage)} papers are cited")
    for one in left:
        click.echo(f"  left out: {one.key}: {one.left_out}")
    _print_position(document)


def _print_position(document: Document) -> None:
    """The papers nearest to the person's own abstract, and its claims of novelty."""
    rows = {row.key: row for row in document.rows}
    if document.nearest or document.outcome:
        click.secho(f"\n{CLOSEST}", bold=True)
        click.echo(f"  {document.outcome}" if document.outcome else "", nl=bool(document.outcome))
    for near in document.nearest:
        click.echo(f"  {click.style(near.key, fg='cyan')}: {nearness(near)}")
        for line in _cells(document, rows[near.key]) if near.key in rows else ():
            click.echo(f"    {line}")
    if document.novelty:
        click.secho(f"\n{ALREADY}", bold=True)
    for one in document.novelty:
        click.echo(f"  {quoted(one.claim)}")
        for cite in one.cites:
            click.echo(f"    {quoted(cite)}")
        click.echo(f"    {click.style(STATES[one.state], fg='yellow' if one.state == 'found' else None)}: {one.reason}")


def _cells(document: Document, row: Row) -> list[str]:
    """A paper's cells, each with where it stands."""
    said = []
    for column in document.columns:
        if cell := row.cells.get(column.id):
            marks = tuple(Problem(column.name, mark.partition(":")[0], mark) for mark in cell.marks)
            said.append(f"{column.name}: {cited(Statement(shown(cell), cell.cites, marks))}")
    return said


@click.command()
@click.argument("name")
@click.option("--topic", default="", help="What the section is about; otherwise NAME.")
@click.option("--paragraphs", default=5, show_default=True, type=click.IntRange(1, 20), help="About how many.")
@click.option("--taxonomy", "tree_name", help="Plan along this tree.")
@click.option(
    "--about", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A text file with your own title and abstract: the draft positions it, and says what in the library comes closest.",
)  # fmt: skip
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
    about: Path | None,
    plan_only: bool,
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Drafts related work: a plan in drafts/NAME.plan.md, yours to edit, then the text, every sentence checked.

    Where the plan is there, only paragraphs whose plan changed are written. With --about the plan also says what your
    paper adds (@own in it is your abstract), and claims of novelty are held against the library.
    """
    from assistant import about as own_abstract
    from assistant.tasks import draft as task
    from assistant.tasks import position
    from assistant.tasks import taxonomy as trees
    from assistant.tree import Tree

    wanted, scope = asking(options), scope_of(context, options)
    path = plan_file(context.folder, name)
    printing = show or (as_json and not run)
    if printing:
        if about:
            raise UsageError("--about brings the draft up to date, and --show and --json only print it; add --run, or leave --show out")
        if not path.exists():
            raise UsageError(f"there is no draft {name!r} yet; `carrel draft {name}` plans and writes one")
        library = context.library(keywords_only=True)
        document = with_sources(library, task.document(library, name, planned(library, path), library.considered(scope)))
        finish(context, document, _print_draft, as_json=as_json, formats=formats, output=output)
        return
    own = own_abstract.taken(context.folder, name, about) if about else own_abstract.kept(context.folder, name)
    with desk(context, wanted, keywords_only=own is None, may_lack_model=own is not None) as at, progress("writing paragraphs") as bar:
        papers = at.library.considered(scope)
        if own and (mine := position.same_paper(at.library, own)):
            note(f"@{mine} in the library is your own paper; it is no neighbour of itself, and `carrel status excluded {mine}` keeps it out of the draft")
        if own and not (wanted.replay or at.settings.model_name):
            found = with_sources(at.library, position.positioned(at.library, Document(task.TASK, name), own, papers))
            finish(context, found, _print_position, as_json=as_json, formats=(), output=None)
            raise NoModel(HOW_TO_SET)
        if not path.exists():
            calls = 1 + paragraphs + (CALLS_MORE if own else 0)
            characters = 2 * sum(len(paper.abstract) for paper in papers) + WORDING * calls
            confirm_price(at.gateway, wanted, calls, characters, LONG_REPLY + 400 * (calls - 1))
            tree_path = taxonomy_file(context.folder, tree_name) if tree_name else None
            tree = trees.document(at.library, tree_name or "", Tree(*read_tree(tree_path)), papers) if tree_path else None
            made = task.plan(at, name, topic or name, papers, paragraphs, tree)
            write_kept(path, plan_markdown(name, made.paragraphs, made.left_out))
            note(f"the plan is in {path}, yours to edit")
        elif about and not any(paragraph.rests_on_own for paragraph in planned(at.library, path).paragraphs):
            note(f"the plan in {path} does not speak of your abstract yet: add lines that rest on @{OWN} 2, or remove the file to have it planned anew")
        if plan_only:
            return
        document = task.text(at, name, planned(at.library, path), papers, bar)
    finish(context, document, _print_draft, as_json=as_json, formats=formats, output=output)


def planned(library: Library, path: Path) -> "Plan":
    """The plan in a file, with the present keys of its papers; raises SettingsError or UnknownPaper naming the line or key."""
    from assistant.tasks import draft as task

    paragraphs, left_out = read_plan(path.read_text("utf-8"), str(path))
    return task.resolved(library, task.Plan(paragraphs, tuple(left_out.items())))

