"""Commands by which a person corrects and decides: edit, rename, tag, note, status, remove, merge, split, undo, flow."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assistant.cli.base import Context, note, print_json
from store.curation import REMOVED, STATUSES
from store.errors import BadDecision

if TYPE_CHECKING:
    from store.decisions import Decision
    from store.library import Library


@click.command()
@click.argument("key")
@click.argument("fields", nargs=-1, required=True, metavar="FIELD=VALUE …")
@click.pass_obj
def edit(context: Context, /, key: str, fields: tuple[str, ...]) -> None:
    """Sets fields of the paper KEY, and keeps them over every later import.

    `carrel edit smith2020deep title="Deep Learning" year=2020 authors="A B; C D"`; an empty value empties the field.
    """
    named = [_field(one) for one in fields]
    library = context.library(keywords_only=True)
    library.curation.edit(key, named)
    note(f"{library.paper(key).key}: {', '.join(name for name, _ in named)} set; `carrel undo` takes it back")


def _field(said: str) -> tuple[str, str]:
    name, equals, value = said.partition("=")
    if not equals:
        raise BadDecision(f'{said!r} should be FIELD=VALUE, such as title="…"')
    return {"year": "date", "journal": "venue", "author": "authors", "type": "entry_type"}.get(name, name), value


@click.command()
@click.argument("key")
@click.argument("new")
@click.pass_obj
def rename(context: Context, /, key: str, new: str) -> None:
    """Gives the paper KEY the citation key NEW; the old one goes on working."""
    context.library(keywords_only=True).curation.rename(key, new)
    note(f"{key} is now {new}; {key} goes on naming it")


@click.command()
@click.argument("tag_name", metavar="TAG")
@click.argument("keys", nargs=-1, required=True)
@click.option("--off", is_flag=True, help="Takes the tag off instead.")
@click.pass_obj
def tag(context: Context, /, tag_name: str, keys: tuple[str, ...], off: bool) -> None:
    """Puts TAG on the papers KEYS; `--tag TAG` then filters by it."""
    context.library(keywords_only=True).curation.tag(keys, tag_name, on=not off)
    note(f"{len(keys)} papers {'no longer ' if off else ''}tagged {tag_name}")


@click.command("note")
@click.argument("key")
@click.argument("text")
@click.pass_obj
def note_command(context: Context, /, key: str, text: str) -> None:
    """Keeps a note of yours on the paper KEY. It is shown with the paper, and never used as evidence."""
    context.library(keywords_only=True).curation.note(key, text)
    note(f"kept with {key}; `carrel show {key}` shows it")


@click.command()
@click.argument("word", metavar="STATUS", type=click.Choice(STATUSES))
@click.argument("keys", nargs=-1, required=True)
@click.option("--reason", default="", help="Why, for the flow diagram: “no abstract”, “not about agents”.")
@click.pass_obj
def status(context: Context, /, word: str, keys: tuple[str, ...], reason: str) -> None:
    """Makes the papers KEYS `candidate`, `included` or `excluded`. Tasks and searches leave excluded ones out."""
    context.library(keywords_only=True).curation.set_status(keys, word, reason)
    note(f"{len(keys)} papers are {word}{f' ({reason})' if reason else ''}")


@click.command()
@click.argument("keys", nargs=-1, required=True)
@click.pass_obj
def remove(context: Context, /, keys: tuple[str, ...]) -> None:
    """Takes the papers KEYS out of the library. They stay out when their file is added again, until `carrel undo`."""
    context.library(keywords_only=True).curation.set_status(keys, REMOVED)
    note(f"{len(keys)} papers removed; `carrel undo` brings them back")


@click.command()
@click.argument("one")
@click.argument("other")
@click.pass_obj
def merge(context: Context, /, one: str, other: str) -> None:
    """Makes two papers one, whatever their identifiers say, and keeps them so."""
    library = context.library(keywords_only=True)
    library.curation.merge(one, other)
    note(f"{one} and {other} are one paper: {library.paper(one).key}")


@click.command()
@click.argument("key")
@click.option("--source", "leaving", type=int, multiple=True, help="Number of a source, as `carrel show` lists them, that leaves; else all part.")
@click.pass_obj
def split(context: Context, /, key: str, leaving: tuple[int, ...]) -> None:
    """Parts the paper KEY into the works that its sources are, and keeps them apart."""
    library = context.library(keywords_only=True)
    sources = library.catalog.sources(library.paper(key).number)
    library.curation.split(key, leaving)
    homes = library.catalog.papers_of(sources)
    note(f"{key} is now {', '.join(sorted(library.catalog.keys(homes).values()))}")


@click.command()
@click.pass_obj
def undo(context: Context) -> None:
    """Takes back the last command that changed papers: an edit, a status, a merge, an add."""
    library = context.library(keywords_only=True)
    undone = library.curation.undo()
    note(f"taken back: {_said(library, undone)}" if undone else "there is nothing to take back")


def _said(library: "Library", undone: "Sequence[Decision]") -> str:
    kinds = Counter(decision.kind for decision in undone)
    keys = library.catalog.keys(library.catalog.papers_of(decision.source for decision in undone if decision.source))
    about = f" of {', '.join(sorted(keys.values())[:5])}" if keys else ""
    return ", ".join(kind if count == 1 else f"{count} × {kind}" for kind, count in kinds.items()) + about


@click.command()
@click.option("--json", "as_json", is_flag=True, help="The counts as JSON.")
@click.pass_obj
def flow(context: Context, /, as_json: bool) -> None:
    """Counts what a flow diagram (PRISMA) needs: records by source, duplicates, candidates, excluded by reason, included."""
    library = context.library(keywords_only=True)
    counts = library.catalog.flow()
    if as_json:
        print_json(counts._asdict())
        return
    click.echo(f"{counts.records:>7} records identified")
    for source, number in counts.by_source.items():
        click.echo(f"{number:>14}  {source}")
    click.echo(f"{counts.duplicates:>7} duplicates merged")
    click.echo(f"{counts.papers:>7} papers")
    click.echo(f"{counts.excluded:>14}  excluded")
    for reason, number in counts.excluded_for.items():
        click.echo(f"{number:>21}  {reason or 'no reason given'}")
    click.echo(f"{counts.removed:>14}  removed")
    click.echo(f"{counts.candidates:>14}  candidates, not decided yet")
    click.echo(f"{counts.included:>14}  included")
    for lookup in counts.lookups:
        click.echo(f"searched {lookup['service']} on {str(lookup['time'])[:10]} for {lookup['query']!r}: {lookup['found']} found, {lookup['shown']} looked at, {lookup['taken']} taken")
