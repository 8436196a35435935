"""The draft command: a plan to edit, then the text."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from assistant.cli.base import Context, note, progress
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    LONG_REPLY,
    WORDING,
    Asking,
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
from assistant.cli.positions import met, own_text, print_position, say_where_missing
from assistant.document import NOT_YET, Citations, Document
from assistant.errors import UsageError
from assistant.export import coverage
from assistant.export.markdown import sentence
from assistant.files import plan_file, read_columns, read_tree, table_file, taxonomy_file, write_kept
from assistant.plan import Guide, plan_markdown, read_plan, with_added, with_guide, with_words
from assistant.style import style_of_file
from assistant.tasks.desk import Desk, with_sources
from store.library import Library
from store.paper import Paper
from store.scope import Scope

if TYPE_CHECKING:
    from assistant.tasks.planning import Group, Plan

TENSES = ("present", "past")
EACH_PARAGRAPH = 400
"""Tokens out for a paragraph, with what is mended in it."""
CALLS_MORE = 2
"""The most that a draft about an abstract asks more than another: the closest papers and claims, and once more what cannot stand."""


class Wanted(NamedTuple):
    """What the options say of the plan: how to write, how long, and what to plan along."""

    guide: Guide
    paragraphs: int
    words: int
    tree: str | None
    table: str | None
    by: str | None
    extend: bool
    plan_only: bool
    calls_more: int = 0


class Shown(NamedTuple):
    """How a command shows what it made."""

    as_json: bool
    formats: tuple[str, ...]
    output: Path | None


class AtDraft(NamedTuple):
    """A draft that a command is about."""

    context: Context
    name: str
    path: Path
    scope: Scope | None
    shown: Shown

    def need(self) -> str:
        """The text of its plan; raises UsageError where there is none."""
        if not self.path.exists():
            raise UsageError(f"there is no draft {self.name!r} yet; `carrel draft {self.name}` plans and writes one")
        return self.path.read_text("utf-8")


@click.command()
@click.argument("name")
@click.option("--topic", default="", help="What the section is about; otherwise NAME.")
@click.option("--paragraphs", default=5, show_default=True, type=click.IntRange(1, 60), help="About how many are planned.")
@click.option("--words", type=click.IntRange(50, 20_000), help="About how long the whole text is; on a plan that is there, each sentence in proportion.")
@click.option("--tense", type=click.Choice(TENSES), help="Of what papers do and find.")
@click.option("--language", default="", help="The language of the text; otherwise that of the settings.")
@click.option("--taxonomy", "tree_name", help="Plan along this tree.")
@click.option("--table", "table_name", help="Plan along this table, grouped by --by.")
@click.option("--by", help="The column of the table whose values are the groups.")
@click.option("--extend", is_flag=True, help="Add lines to the plan for papers that came after it was made; every line in it stays.")
@click.option("--coverage", "only_coverage", is_flag=True, help="Only print the coverage sheet, in full; with --taxonomy, its nodes too.")
@click.option(
    "--about", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A text file with your own title and abstract: the draft positions it, and says what in the library comes closest.",
)  # fmt: skip
@click.option("--plan-only", is_flag=True, help="Stop after the plan, to edit it.")
@click.option("--style-from", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Write as this .tex, .md or .txt of yours does: lengths, tense, voice, spelling. Its words go nowhere.")
@click.option("--revise", "wish", metavar="TEXT", help="Change the written draft as you say; sentences that this is not about stay as they are.")
@click.option("--diff", is_flag=True, help="What the last revision changed, and why; with --to also as a file.")
@click.option("--undo", is_flag=True, help="Go back to the plan, and so to the text, before the last change.")
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
    words: int | None,
    tense: str | None,
    language: str,
    tree_name: str | None,
    table_name: str | None,
    by: str | None,
    extend: bool,
    only_coverage: bool,
    about: Path | None,
    plan_only: bool,
    style_from: Path | None,
    wish: str | None,
    diff: bool,
    undo: bool,
    show: bool,
    run: bool,
    as_json: bool,
    cite: Citations | None,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Drafts related work: a plan in drafts/NAME.plan.md, yours to edit, then the text, every sentence checked.

    Where the plan is there it stays as it is, and only paragraphs whose plan changed are written. Sentences that a rule
    objects to are asked for once more; with --verify, those too that a second reader objects to. --revise changes single
    sentences of a draft that is written. With --about the plan also says what your paper adds (@own in it is your abstract),
    and claims of novelty are held against the library.
    """
    asked, path = asking(options), plan_file(context.folder, name)
    at = AtDraft(context, name, path, scope_of(context, options), Shown(as_json, formats, output))
    if wish is not None or diff or undo:
        if (wish is not None) + diff + undo + show + bool(about) > 1:
            raise UsageError("--revise, --diff, --undo, --show and --about are commands of their own; give one at a time")
        from assistant.cli.revisions import revise, show_difference, undo_change

        revise(at, asked, wish) if wish is not None else show_difference(at) if diff else undo_change(at)
    elif show or only_coverage or (as_json and not run):
        if about:
            raise UsageError("--about brings the draft up to date, and --show, --coverage and --json only print it; add --run, or leave them out")
        _show_stored(at, tree_name, cite, only_coverage=only_coverage)
    else:
        style = style_of_file(style_from).described() if style_from else ""
        guide = Guide(topic, tense or "", language, style, cite if cite == "textual" else "")
        _bring_up_to_date(at, asked, Wanted(guide, paragraphs, words or 0, tree_name, table_name, by, extend, plan_only), about, cite)


def _show_stored(at: AtDraft, tree_name: str | None, cite: Citations | None, *, only_coverage: bool) -> None:
    """Prints the draft as it is stored; with a tree its sheet knows the nodes too."""
    from assistant.tasks import draft as task

    at.need()
    library = at.context.library(keywords_only=True)
    papers = library.considered(at.scope)
    document = with_sources(library, task.document(library, at.name, planned(library, at.path), papers))
    if tree_name:
        from assistant.tasks.coverage import with_sheet

        document = with_sheet(document, {}, _filed(at.context, library, tree_name, papers))
    _finish(at, document, cite, _print_coverage if only_coverage else print_draft)


def _bring_up_to_date(at: AtDraft, asked: Asking, wanted: Wanted, about: Path | None, cite: Citations | None) -> None:
    """Plans where there is no plan, and writes the paragraphs that are not written."""
    from assistant.tasks import draft as task

    own = own_text(at.context.folder, at.name, about)
    wanted = wanted._replace(calls_more=CALLS_MORE if own else 0)
    with desk(at.context, asked, keywords_only=own is None, may_lack_model=own is not None) as table, progress("writing paragraphs") as bar:
        papers = table.library.considered(at.scope)
        if not papers:
            raise UsageError("no paper is in the scope: add some with `carrel add`, or ask for a wider scope")
        met(at.context, table, asked, at.name, own, papers, as_json=at.shown.as_json)
        is_priced = _bring_plan(at, table, asked, wanted, papers)
        if wanted.plan_only:
            return
        plan = planned(table.library, at.path)
        if about:
            say_where_missing(at.path, plan.paragraphs)
        waiting = task.calls_to_write(table.library, at.name, plan)
        characters = sum(WORDING + sum(len(paper.abstract) for paper in papers if paper.key in one.keys) for one in plan.paragraphs)
        if not is_priced:
            confirm_price(table.gateway, asked, waiting, characters, EACH_PARAGRAPH * waiting)
        document = task.text(table, at.name, plan, papers, bar, at.scope)
    _finish(at, document, cite, print_draft)


def _finish(at: AtDraft, document: Document, cite: Citations | None, printed: Callable[[Document], None]) -> None:
    shown = at.shown
    finish(at.context, replace(document, citations=cite or document.citations), printed, as_json=shown.as_json, formats=shown.formats, output=shown.output)


def planned(library: Library, path: Path, text: str | None = None) -> "Plan":
    """The plan in a file, with the present keys of its papers; raises SettingsError naming the line.

    `text` is what the file is going to hold, where it does not yet.
    """
    from assistant.tasks import planning

    paragraphs, left_out, guide = read_plan(path.read_text("utf-8") if text is None else text, str(path))
    return planning.resolved(library, planning.Plan(paragraphs, tuple(left_out.items()), guide), path.name)


def _bring_plan(at: AtDraft, table: Desk, asked: Asking, wanted: Wanted, papers: Sequence[Paper]) -> bool:
    """The plan's file: made where there is none, else kept with what the options change in it; whether the price of the text was said with it."""
    from assistant.tasks import planning

    if not at.path.exists():
        groups = _groups(at.context, table.library, wanted, papers)
        calls = planning.calls_to_plan(len(papers), len(groups))
        every = calls + wanted.paragraphs + wanted.calls_more
        characters = 2 * sum(len(paper.abstract) for paper in papers) + WORDING * every
        confirm_price(table.gateway, asked, every, characters, LONG_REPLY * calls + EACH_PARAGRAPH * wanted.paragraphs)
        made = planning.plan(table, at.name, wanted.guide, papers, wanted.paragraphs, groups, wanted.words)
        write_kept(at.path, plan_markdown(at.name, made.paragraphs, made.left_out, made.guide))
        note(f"the plan is in {at.path}, yours to edit")
        return len(made.paragraphs) <= 2 * wanted.paragraphs
    text = at.path.read_text("utf-8")
    changed = with_guide(text, wanted.guide)
    changed = with_words(changed, wanted.words) if wanted.words else changed
    if changed != text:
        write_kept(at.path, changed)
    plan = planned(table.library, at.path)
    new = planning.new_papers(table.library, at.name, plan, papers)
    if new and wanted.extend:
        added = planning.extended(table, at.name, plan, new)
        write_kept(at.path, with_added(changed, added.after, added.paragraphs, added.left_out))
        lines = len(added.after) + sum(len(paragraph.sentences) for paragraph in added.paragraphs)
        note(f"{lines} lines for {len(new) - len(added.left_out)} new papers are in {at.path}; {len(added.left_out)} were left out with a reason")
    elif new:
        note(f"{len(new)} papers of the scope came after the plan was made; --extend adds lines for them")
    return False


def _groups(context: Context, library: Library, wanted: Wanted, papers: Sequence[Paper]) -> "list[Group]":
    """What a tree or a table gives to plan along; nothing where neither is named."""
    from assistant.tasks import planning

    if wanted.tree:
        return planning.tree_groups(_filed(context, library, wanted.tree, papers))
    if not wanted.table:
        return []
    from assistant.tables import read_decisions
    from assistant.tasks import table, views

    columns = read_columns(table_file(context.folder, wanted.table))
    whole = table.document(library, wanted.table, columns, papers, decisions=read_decisions(library.folder, wanted.table))
    telling = next((column.name for column in columns if column.vocabulary), columns[0].name)
    return planning.table_groups(views.grouped(whole, views.field_of(whole, wanted.by or telling)))


def _filed(context: Context, library: Library, name: str, papers: Sequence[Paper]) -> Document:
    """The tree of that name with its papers."""
    from assistant.tasks import taxonomy
    from assistant.tree import Tree

    return taxonomy.document(library, name, Tree(*read_tree(taxonomy_file(context.folder, name))), papers)


def print_draft(document: Document) -> None:
    """A draft on the terminal: its text, what went another way than planned, its coverage."""
    for section in document.sections:
        click.secho(f"\n{section.heading}", bold=True)
        click.echo(" ".join(sentence(statement).replace("\\", "") for statement in section.statements))
    asked = [line for line in document.plan if line.line]
    other = [line for line in document.plan if line.notes]
    click.echo(f"\n{sum(bool(line.text) for line in asked)} of {len(asked)} lines of the plan are written, {len(other)} another way than planned")
    waiting = {line.heading for line in other if line.notes == (NOT_YET,)}
    for heading in sorted(waiting):
        click.echo(f"  {heading}: {NOT_YET}")
    for line in other:
        if line.heading not in waiting:
            click.echo(f"  {line.heading}{f', line {line.line}' if line.line else ''}: {'; '.join(line.notes)}")
    _print_coverage(document, whole=False)
    print_position(document)


def _print_coverage(document: Document, *, whole: bool = True) -> None:
    for line in coverage.said(document, whole=whole):
        click.echo(line)
