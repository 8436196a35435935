"""The command `chat`: a conversation at the terminal, or a question a line from a pipe."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assistant.cli.base import Context, note, print_table
from assistant.cli.chat_commands import COMMANDS, SCOPE_WORDS, Session, merged, scope_of, scope_said, taken
from assistant.cli.library import ITEMS_FAILED, scope_options
from assistant.cli.model import asking, desk, model_options
from assistant.errors import AssistantError, UsageError
from assistant.gateway.message import sendable
from assistant.tasks import ask as ask_task
from assistant.tasks import chat as task
from store.errors import IndexUnusable, StoreError
from store.library import LARGEST_SCAN, Library

if TYPE_CHECKING:
    from prompt_toolkit import PromptSession
    from prompt_toolkit.completion import CompleteEvent, Completer, Completion
    from prompt_toolkit.document import Document as Typed
    from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent

HISTORY = ".chat-history"
MOST_OFFERED = 50
KEY_BEGUN = re.compile(r"(?<![A-Za-z0-9_])@([A-Za-z0-9:_.+/-]*)$")
WORD_BEGUN = re.compile(r"(?:^|\s)(\S*)$")


@click.command()
@click.argument("name", required=False)
@click.option("--new", "is_new", is_flag=True, help="Begin another conversation.")
@click.option("--list", "lists", is_flag=True, help="List the conversations.")
@click.option("--count", "-n", default=ask_task.SHOWN, show_default=True, type=click.IntRange(1, 60), help="How many papers are shown.")
@click.option("--keywords", "by_keywords", is_flag=True, help="Find papers by the keyword ranking alone.")
@scope_options
@model_options
@click.pass_obj
def chat(
    context: Context, /, name: str | None, is_new: bool, lists: bool, count: int, by_keywords: bool, **options: object
) -> None:
    """Talks with the library: questions and follow-ups, each answer in sentences that point at their sources.

    The conversation NAME goes on where it ended; without a name the last one does. /help lists what can be done in it. With
    input from a pipe each line is a question or a command.
    """
    wanted, words = asking(options), _words(options)
    if lists:
        _list(context)
        return
    with desk(context, wanted, keywords_only=by_keywords, may_lack_model=True) as at:
        talk = _opened(at.library, name, is_new=is_new)
        scope_of(at.library, words)
        session = Session(at, talk, words or _last_scope(at.library, talk), count, by_keywords)
        _ready_index(at.library)
        is_terminal = _is_terminal()
        _say_opened(session, is_terminal=is_terminal)
        if is_terminal:
            for line in typed(at.library):
                _at_terminal(session, line)
        elif _piped(session, sys.stdin):
            raise click.exceptions.Exit(ITEMS_FAILED)


def _is_terminal() -> bool:
    return sys.stdin.isatty()


def _words(options: dict[str, object]) -> tuple[str, ...]:
    """The scope options of the command as the words of /scope; takes them out of the options."""
    forms = {
        "keys": "@{}", "since": "year>={}", "until": "year<={}", "categories": "category:{}", "tags": "tag:{}",
        "statuses": "status:{}", "sources": "file:{}", "nodes": "node:{}",
    }  # fmt: skip
    words: list[str] = []
    for option, form in forms.items():
        given = options.pop(option)
        words += [form.format(value) for value in (given if isinstance(given, tuple) else (given,) if given else ())]
    return merged((), words)


def _list(context: Context) -> None:
    found = task.conversations(context.library(keywords_only=True))
    if not found:
        note("there is no conversation yet; `carrel chat` begins one")
        return
    rows = [[one.name, str(one.turns), one.time[:16].replace("T", " "), " ".join(one.question.split())] for one in found]
    print_table({"name": "whole", "turns": "whole", "last": "whole", "last question": "rest"}, rows)


def _opened(library: Library, name: str | None, *, is_new: bool) -> task.Conversation:
    """The conversation asked for: a named one, the last one, or a new one."""
    if name:
        talk = task.conversation(library, name)
        if is_new and talk.turns:
            raise UsageError(f"there is a conversation {talk.name!r} already; leave --new out to go on with it, or give another name")
        return talk
    last = next(iter(task.conversations(library)), None)
    return task.conversation(library, task.free_name(library) if is_new or last is None else last.name)


def _last_scope(library: Library, talk: task.Conversation) -> tuple[str, ...]:
    """The words of the scope that held last; where they cannot be read any more that is said, and all papers are looked at."""
    words = talk.last.scope if talk.last else ()
    try:
        scope_of(library, words)
    except (StoreError, AssistantError, click.ClickException) as error:
        note(f"the scope of the last turn is off, since it cannot be read any more: {_message(error)}")
        return ()
    return words


def _message(error: Exception) -> str:
    return error.format_message() if isinstance(error, click.ClickException) else str(error)


def _say_opened(session: Session, *, is_terminal: bool) -> None:
    talk = session.talk
    if talk.last:
        note(f"{talk.name}: going on after {len(talk.turns)} {'turn' if len(talk.turns) == 1 else 'turns'}; last asked: {talk.last.question}")
    elif is_terminal:
        note(f"{talk.name}: a new conversation; /help lists the commands, Ctrl-D ends")
    if session.words:
        note(scope_said(session))


def _ready_index(library: Library) -> None:
    """Brings the index of a large library up to date, so that it can answer; where that fails the scan does."""
    if library.embedder is None or library.catalog.passage_count() <= LARGEST_SCAN:
        return
    try:
        if not library.index.is_good():
            note("bringing the index up to date")
            library.index.rebuild()
    except IndexUnusable as error:
        note(f"{error}; the exact scan answers")


def _piped(session: Session, lines: Iterable[str]) -> bool:
    """Takes each line; whether any of them failed."""
    failed = False
    for line in _joined(lines):
        try:
            before = len(session.talk.turns)
            taken(session, sendable(line))  # what is piped in may hold bytes that are no UTF-8
            failed |= len(session.talk.turns) > before and bool(session.answered.document.report.failed)
        except (StoreError, AssistantError, click.ClickException) as error:
            _say_failed(session, error)
            failed = True
    return failed


def _joined(lines: Iterable[str]) -> Iterator[str]:
    """The lines, one that ends with a backslash together with the next."""
    begun = ""
    for line in lines:
        text = begun + line.rstrip("\r\n")
        begun = f"{text[:-1]}\n" if text.endswith("\\") else ""
        if not begun:
            yield text
    if begun:
        yield begun


def _at_terminal(session: Session, line: str) -> None:
    """Takes a line; what goes wrong, and Ctrl-C, end the answer and not the conversation."""
    try:
        taken(session, line)
    except (KeyboardInterrupt, click.Abort):
        session.talk = task.conversation(session.library, session.talk.name)
        note("stopped; the sentences that had come are kept")
    except (StoreError, AssistantError, click.ClickException) as error:
        _say_failed(session, error)
    click.echo("")


def _say_failed(session: Session, error: Exception) -> None:
    session.talk = task.conversation(session.library, session.talk.name)
    note(f"carrel: {_message(error)}")


def typed(library: Library) -> Iterator[str]:
    """The lines that a person types, until Ctrl-D; Ctrl-C leaves the line."""
    prompt = _prompt(library.folder, library.catalog.every_key())
    while True:
        try:
            yield prompt.prompt("> ")
        except KeyboardInterrupt:
            continue
        except EOFError:
            return


def _prompt(folder: Path, keys: Sequence[str]) -> "PromptSession[str]":
    """A prompt with history, completion, and several lines: Enter sends, Alt-Enter or a backslash before it goes on."""
    from prompt_toolkit import PromptSession
    from prompt_toolkit.history import FileHistory

    history = FileHistory(str(folder / HISTORY))
    return PromptSession(
        history=history, multiline=True, key_bindings=_bindings(), completer=_completer(keys), complete_while_typing=False, prompt_continuation="  "
    )


def _bindings() -> "KeyBindings":
    from prompt_toolkit.key_binding import KeyBindings

    bindings = KeyBindings()

    @bindings.add("enter")
    def _send(event: "KeyPressEvent") -> None:
        buffer = event.current_buffer
        if buffer.document.char_before_cursor == "\\":
            buffer.delete_before_cursor()
            buffer.newline()
        else:
            buffer.validate_and_handle()

    @bindings.add("escape", "enter")
    def _go_on(event: "KeyPressEvent") -> None:
        event.current_buffer.newline()

    return bindings


def _completer(keys: Sequence[str]) -> "Completer":
    from prompt_toolkit.completion import Completer, Completion

    class Offered(Completer):
        """Commands, the words of a scope, and keys."""

        def get_completions(self, document: "Typed", complete_event: "CompleteEvent") -> "Iterator[Completion]":
            for word, start in completions(document.text_before_cursor, keys):
                yield Completion(word, start)

    return Offered()


def completions(text: str, keys: Sequence[str]) -> list[tuple[str, int]]:
    """What a line that was begun may go on with, and how far back that starts: commands, the words of a scope, keys."""
    if begun := KEY_BEGUN.search(text):
        held = [key for key in keys if begun[1].lower() in key.lower()]
        return [(key, -len(begun[1])) for key in sorted(held, key=lambda key: not key.startswith(begun[1]))][:MOST_OFFERED]
    word = WORD_BEGUN.search(text)
    assert word is not None  # it matches any text
    if text.startswith("/") and " " not in text:
        return [(f"/{name}{' ' if command.usage else ''}", -len(text)) for name, command in COMMANDS.items() if name.startswith(text[1:])]
    if text.startswith("/scope "):
        return [(one, -len(word[1])) for one in SCOPE_WORDS if one.startswith(word[1])]
    return []
