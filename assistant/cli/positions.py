"""What `draft --about` says: the papers nearest to the person's own abstract, its claims of novelty, and what to do without a model."""

from pathlib import Path

import click

from assistant.cli.base import Context, note
from assistant.cli.model import HOW_TO_SET, Asking, cited, finish, quoted
from assistant.document import Document, Problem, Row, Statement
from assistant.errors import NoModel
from assistant.evidence import OwnText
from assistant.export.markdown import ALREADY, CLOSEST, STATES, nearness, shown
from assistant.plan import OWN_KEY, PlannedParagraph
from assistant.tasks.desk import Desk, with_sources
from store.paper import Paper


def own_text(folder: Path, name: str, file: Path | None) -> OwnText | None:
    """The abstract that a draft is about: from now on that of the file, where one is given; raises UsageError."""
    from assistant import about

    return about.taken(folder, name, file) if file else about.kept(folder, name)


def met(context: Context, at: Desk, asked: Asking, name: str, own: OwnText | None, papers: list[Paper], *, as_json: bool) -> None:
    """Where a draft is about an abstract: says where the library holds that paper; without a model prints what search alone finds, and raises NoModel."""
    from assistant.tasks import position

    if own is None:
        return
    if mine := position.same_paper(at.library, own):
        note(f"@{mine} in the library is your own paper; it is no neighbour of itself, and `carrel status excluded {mine}` keeps it out of the draft")
    if not (asked.replay or at.settings.model_name):
        found = with_sources(at.library, position.positioned(at.library, Document("draft", name), own, papers))
        finish(context, found, print_position, as_json=as_json, formats=(), output=None)
        raise NoModel(HOW_TO_SET)


def say_where_missing(path: Path, paragraphs: tuple[PlannedParagraph, ...]) -> None:
    """Says that a plan which was made before does not speak of the abstract yet."""
    if not any(paragraph.rests_on_own for paragraph in paragraphs):
        note(f"the plan in {path} does not speak of your abstract yet: add lines that rest on @{OWN_KEY} 2, or remove the file to have it planned anew")


def print_position(document: Document) -> None:
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
