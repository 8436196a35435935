"""What all commands share: the group, `--library`, errors as one line and an exit code, progress on standard error."""

import errno
import importlib
import json
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from assistant.errors import AssistantError
from assistant.settings import Settings, read_settings
from store.errors import StoreError

if TYPE_CHECKING:
    from rich.console import Console

    from store.embedding import Embedder
    from store.library import Library

DISK, BUG, INTERRUPTED, LOCKED = 74, 70, 130, 75
MODULES = {
    "init": "library",
    "add": "library",
    "papers": "library",
    "show": "library",
    "search": "library",
    "similar": "library",
    "edit": "decisions",
    "rename": "decisions",
    "tag": "decisions",
    "note": "decisions",
    "status": "decisions",
    "remove": "decisions",
    "merge": "decisions",
    "split": "decisions",
    "undo": "decisions",
    "flow": "decisions",
    "find": "lookups",
    "enrich": "lookups",
    "index": "library",
    "embedder": "library",
    "ask": "answers",
    "chat": "chat",
    "summarize": "summaries",
    "table": "tables",
    "taxonomy": "taxonomies",
    "draft": "drafts",
    "audit": "audit",
    "check": "checks",
    "trace": "checks",
    "export": "files",
    "cost": "files",
    "settings": "files",
}
"""Each command and the module in which it is written."""


class Commands(click.Group):
    """The group that loads a command's module when the command is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The commands, in the order in which they are used."""
        return list(MODULES)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        """The command of that name."""
        if name not in MODULES:
            return None
        module = importlib.import_module(f"assistant.cli.{MODULES[name]}")
        command: click.Command = getattr(module, "note_command" if name == "note" else name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands with a line each; written here, so that `--help` loads none of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(SUMMARIES.items()))


SUMMARIES = {
    "init": "make a library in a folder",
    "add": "take papers from files, or from what is pasted (-)",
    "papers": "list the papers",
    "show": "one paper, its sentences numbered",
    "search": "find papers by words and by meaning",
    "similar": "the papers most like one",
    "edit": "correct a paper's fields, for good",
    "rename": "give a paper another key; the old one goes on working",
    "tag": "put a tag on papers",
    "note": "keep a note of yours on a paper",
    "status": "make papers candidate, included or excluded",
    "remove": "take papers out",
    "merge": "make two papers one",
    "split": "part a paper that is two works",
    "undo": "take back the last change",
    "flow": "counts for a flow diagram",
    "find": "look for papers at arXiv, OpenAlex, Crossref or Semantic Scholar",
    "enrich": "fill in what is missing, find newer versions and retractions",
    "index": "bring the vector index up to date",
    "embedder": "set up the embedder",
    "ask": "ask a question; every sentence of the answer points at its source",
    "chat": "a conversation with the library; follow-ups are understood",
    "summarize": "what each paper says of itself: problem, approach, data, results, limits",
    "table": "papers by columns, each cell with the sentence it rests on",
    "taxonomy": "a tree of the papers, each filed with its sentence",
    "draft": "related work: a plan to edit, then text",
    "audit": "hold a manuscript and its bibliography against the library",
    "check": "hold a text with citations against the library",
    "trace": "where a sentence comes from: sources, prompt and reply",
    "export": "answers, tables, trees and drafts as files",
    "cost": "what was asked of models, and what it cost",
    "settings": "the settings in force, and where each comes from",
}


class Context:
    """What the commands are given: the library folder asked for, and ways to open it."""

    def __init__(self, folder: Path | None) -> None:
        self._asked = folder

    @property
    def folder(self) -> Path:
        """The library's folder: `--library`, $CARREL_LIBRARY, or found from here upwards."""
        from store.library import find_folder

        return find_folder(self._asked.resolve() if self._asked else Path.cwd())

    def settings(self, **given: object) -> Settings:
        """The settings in force for the library."""
        return read_settings(self.folder, **given)

    def library(self, *, keywords_only: bool = False) -> "Library":
        """The library, open; without its embedder where only words are asked for."""
        from store.library import Library

        embedder = None if keywords_only else self.embedder()
        return Library(self.folder, embedder)

    def embedder(self) -> "Embedder | None":
        """The embedder of the settings, or None where it is not set up."""
        from store.embedding import open_embedder

        settings = self.settings()
        folder = Path(settings.embedder_folder).expanduser() if settings.embedder_folder else None
        return open_embedder(settings.embedder_name, folder)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--library",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="CARREL_LIBRARY",
    help="The library's folder; otherwise the one that this folder lies in.",
)
@click.version_option(package_name="carrel", prog_name="carrel")
@click.pass_context
def commands(ctx: click.Context, library: Path | None) -> None:
    """Carrel: a literature review assistant whose every statement points at the sentence that says so."""
    ctx.obj = Context(library)


def run(group: click.Group, arguments: Sequence[str] | None = None) -> int:
    """Runs a command; the exit code. What goes wrong is one line that names the cause and what to do."""
    try:
        outcome = group.main(args=arguments, prog_name="carrel", standalone_mode=False)
        return outcome if isinstance(outcome, int) else 0
    except (StoreError, AssistantError) as error:
        return _said(str(error), error.exit_code)
    except click.exceptions.Exit as error:
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _said("interrupted; what was done is kept, and the same command goes on", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read us has gone
        return 0
    except (OSError, sqlite3.Error) as error:
        return _said(*_disk_trouble(error))
    except Exception as error:
        if os.environ.get("CARREL_DEBUG"):
            raise
        return _said(f"a bug of ours: {type(error).__name__}: {error}; run it again with CARREL_DEBUG=1 and send us what it prints", BUG)


def _disk_trouble(error: OSError | sqlite3.Error) -> tuple[str, int]:
    text = str(error)
    if "locked" in text:
        return f"the library is in use by another process ({text}); run the command again", LOCKED
    full = (isinstance(error, OSError) and error.errno == errno.ENOSPC) or "full" in text
    return (f"the disk is full ({text}); free some space and run it again" if full else f"cannot read or write: {text}"), DISK


def _said(message: str, code: int) -> int:
    click.echo(f"carrel: {message}", err=True)
    return code


def stop(message: str, code: int) -> NoReturn:
    """Ends the command with a line on standard error."""
    raise click.exceptions.Exit(_said(message, code))


def note(message: str) -> None:
    """A line for the person at the terminal; never part of the output."""
    click.echo(message, err=True)


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    click.echo(json.dumps(value, ensure_ascii=False, indent=1))


def print_table(columns: Mapping[str, str], rows: Sequence[Sequence[str]]) -> None:
    """A table a person can read, as wide as the terminal.

    `columns` are names with how they are set: "whole" is never cut, "rest" takes what room is left and is cut, a number
    is the most characters shown; anything else is folded.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(header_style="bold", box=None, pad_edge=False, expand="rest" in columns.values())
    for name, setting in columns.items():
        widest = int(setting) if setting.isdigit() else None
        folds = setting not in {"whole", "rest"} and widest is None
        table.add_column(
            name, no_wrap=not folds, overflow="fold" if folds else "ellipsis", ratio=1 if setting == "rest" else None, max_width=widest
        )
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    console().print(table)


def console() -> "Console":
    """Standard output as wide as the terminal, or as COLUMNS says where there is none."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "140")), highlight=False)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on standard error, at a terminal; elsewhere nothing. Call it with how many are done, of how many."""
    if not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
