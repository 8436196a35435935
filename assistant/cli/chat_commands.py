"""What can be done in a conversation besides asking: the commands that begin with a slash, and the scope in words."""

import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import NamedTuple

import click

from assistant.cli.base import note
from assistant.cli.library import DATE, at_node
from assistant.cli.model import cited, quoted, say_report
from assistant.document import Column, Document, Statement
from assistant.errors import UsageError
from assistant.export import written_conversation
from assistant.files import plan_file, table_file, with_columns, write_kept
from assistant.plan import PlannedParagraph, PlannedSentence, Reference, plan_markdown, read_plan
from assistant.tasks import ask as ask_task
from assistant.tasks import chat as task
from assistant.tasks.desk import Desk
from store.curation import STATUSES
from store.keys import slug
from store.library import Library
from store.scope import Scope

BOUND = re.compile(r"year\s*(>=|<=|=)\s*(\S+)")
SCOPE_WORDS = ("@", "year>=", "year<=", "node:", "tag:", "category:", "status:", "file:", "off")
HOW_TO_SCOPE = "write /scope with any of @key year>=2025 year<=2026 node:TREE/LABEL tag:NAME category:cs.RO status:included file:NAME, or off"


@dataclass(slots=True)
class Session:
    """A conversation under way: what it works with, its turns, and the scope in words."""

    desk: Desk
    talk: task.Conversation
    words: tuple[str, ...] = ()
    count: int = ask_task.SHOWN
    by_keywords: bool = False

    @property
    def library(self) -> Library:
        """The library that is talked with."""
        return self.desk.library

    @property
    def answered(self) -> task.Turn:
        """The last turn; raises UsageError where there is none."""
        if self.talk.last is None:
            raise UsageError("nothing was asked in this conversation yet")
        return self.talk.last


class SlashCommand(NamedTuple):
    """A command: what does it, what follows its name, and what it is for."""

    run: Callable[[Session, str], None]
    usage: str
    summary: str


def taken(session: Session, line: str) -> None:
    """Does what a line says: a command, or a question. Raises what goes wrong."""
    text = line.strip()
    if not text:
        return
    if not text.startswith("/"):
        asked(session, text)
        return
    name, _, rest = text[1:].partition(" ")
    if name not in COMMANDS:
        near = get_close_matches(name.lower(), COMMANDS, 1, 0.4)
        raise UsageError(f"there is no command /{name}; {f'did you mean /{near[0]}? ' if near else ''}/help lists them")
    COMMANDS[name].run(session, rest.strip())


def asked(session: Session, question: str, *, again: bool = False) -> None:
    """Asks a question, prints the sentences as they come, and keeps the turn."""
    scope = scope_of(session.library, session.words)
    inquiry = ask_task.Inquiry(question, count=session.count, scope=scope, by_keywords=session.by_keywords)
    session.talk = task.turn(
        session.desk,
        session.talk,
        task.Asking(inquiry, session.words, again=again),
        lambda statement: click.echo(cited(statement)),
        lambda restated: note(f"({restated})") if restated != question else None,
    )
    document = session.answered.document
    if document.outcome != "answered":
        click.echo("No evidence: no paper in the library answers this." if not session.words else "No evidence: no paper in the scope answers this.")
    say_report(document)


# -- the scope


def scope_of(library: Library, words: Sequence[str]) -> Scope | None:
    """The scope that words give, None where there are none; raises UsageError for a word that cannot be read."""
    scope = Scope()
    for word in words:
        scope = _narrower(library, scope, word)
    return scope if words else None


def _narrower(library: Library, scope: Scope, word: str) -> Scope:
    if word.startswith("@") and len(word) > 1:
        key = library.paper(word[1:]).key
        return replace(scope, keys=(*(scope.keys or ()), key))
    if bound := BOUND.fullmatch(word):
        if not DATE.fullmatch(bound[2]):
            raise UsageError(f"{word}: a date is 2026, 2026-03 or 2026-03-25")
        since = bound[2] if bound[1] in {">=", "="} else scope.since
        return replace(scope, since=since, until=bound[2] if bound[1] in {"<=", "="} else scope.until)
    kind, _, value = word.partition(":")
    if not value:
        raise UsageError(f"{word!r} is no scope; {HOW_TO_SCOPE}")
    if kind == "node":
        return replace(scope, nodes=(*scope.nodes, at_node(library, value)))
    if kind == "status" and value not in STATUSES:
        raise UsageError(f"{word}: a status is one of {', '.join(STATUSES)}")
    if kind not in {"tag", "category", "status", "file"}:
        raise UsageError(f"{word!r} is no scope; {HOW_TO_SCOPE}")
    more = {kind: (value,)}
    return replace(
        scope,
        tags=(*scope.tags, *more.get("tag", ())),
        categories=(*scope.categories, *more.get("category", ())),
        statuses=(*scope.statuses, *more.get("status", ())),
        sources=(*scope.sources, *more.get("file", ())),
    )


def merged(old: Sequence[str], new: Sequence[str]) -> tuple[str, ...]:
    """The words of a scope with others added: a bound takes the place of the same bound, and `off` of all before it."""
    words = list(old)
    for word in new:
        bound = BOUND.fullmatch(word)
        if word == "off":
            words = []
            continue
        if bound:
            word = f"year{bound[1]}{bound[2]}"
            words = [one for one in words if not one.startswith("year") or (bound[1] != "=" and not one.startswith((f"year{bound[1]}", "year=")))]
        if word not in words:
            words.append(word)
    return tuple(words)


def scope_said(session: Session) -> str:
    """The scope in words, and how many papers it leaves."""
    numbers = (scope_of(session.library, session.words) or Scope()).numbers(session.library.catalog)
    count = session.library.catalog.count() if numbers is None else len(numbers)
    shown = " ".join(f"{kind}:{shlex.quote(value)}" if " " in value else word for word in session.words for kind, _, value in [word.partition(":")])
    return f"scope: {shown or 'all papers that are not excluded'} ({count} {'paper' if count == 1 else 'papers'})"


# -- the commands


def _help(session: Session, rest: str) -> None:
    for name, command in COMMANDS.items():
        click.echo(f"  {f'/{name} {command.usage}'.strip():<34} {command.summary}")
    click.echo("Anything else is a question; @key in it names a paper. A line that ends with \\ goes on in the next.")


def _sources(session: Session, rest: str) -> None:
    statements = session.answered.document.statements
    written = dict.fromkeys(cite for statement in statements if statement.by == "model" for cite in statement.cites)
    for cite in written:
        click.echo(quoted(cite))
    if not written:
        counted = [cited(statement) for statement in statements if statement.by == "code"]
        click.echo("\n".join(counted) or "the last answer cites nothing")


def _why(session: Session, rest: str) -> None:
    turn = session.answered
    statements = turn.document.statements
    if not statements:
        click.echo("the last answer has no sentence")
    if rest and (not rest.isdecimal() or not 1 <= int(rest) <= len(statements)):
        raise UsageError(f"/why {rest}: the last answer has the sentences 1 to {len(statements)}")
    for number, statement in enumerate(statements, 1):
        if not rest or number == int(rest):
            _explain(turn, number, statement)


def _explain(turn: task.Turn, number: int, statement: Statement) -> None:
    if statement.by == "code":
        click.echo(f"{number}. {cited(statement)}\n   counted by code; no model wrote it")
        return
    click.secho(f"{number}. {statement.text}", bold=True)
    for cite in statement.cites:
        click.echo(f"   {quoted(cite)}")
    for problem in statement.problems:
        better = f"; better: {problem.better}" if problem.better else ""
        click.echo(f"   marked {problem.rule}: {problem.reason}{better}")
    if statement.unchecked:
        click.echo(f"   not checked by {' and '.join(statement.unchecked)}: its words and its sources' are of different languages")
    if not statement.problems:
        click.echo("   checked by code: no rule marks it" if statement.cites else "   not checked: it cites nothing")
    if statement.verdict:
        click.echo(f"   the second reader says: {statement.verdict}")
    if statement.exchange:
        click.echo(f"   written in the exchange {statement.exchange.partition(' ')[0]}")
    shown = {one.key: one for one in turn.shown}
    for key in dict.fromkeys(cite.key for cite in statement.cites):
        click.echo(f"   {key}: {_found_by(shown.get(key))}")


def _found_by(paper: ask_task.ShownPaper | None) -> str:
    if paper is None or not paper.found_by:
        return "named in the question, in the scope, or by the answer before"
    cosine = "" if paper.cosine is None else f" (cosine {paper.cosine:.2f})"
    return f"found by {' and '.join(paper.found_by)}{cosine}"


def _scope(session: Session, rest: str) -> None:
    words = merged(session.words, _split(rest))
    scope_of(session.library, words)
    session.words = words
    click.echo(scope_said(session))


def _split(rest: str) -> list[str]:
    try:
        return shlex.split(rest)
    except ValueError as error:
        raise UsageError(f"{rest!r} cannot be read ({error}); close each quotation mark") from error


def _save(session: Session, rest: str) -> None:
    if not session.talk.turns:
        raise UsageError("nothing was asked in this conversation yet")
    name = rest or session.talk.name
    for path, stood in written_conversation(name, [turn.document for turn in session.talk.turns], session.library.folder / "exports"):
        click.echo(f"wrote {path}{', in place of the file of that name' if stood else ''}")


def _column(session: Session, rest: str) -> None:
    words = _split(rest)
    if len(words) < 2:
        raise UsageError('write /column TABLE "Name of the column"')
    name, heading = words[0], " ".join(words[1:])
    path = table_file(session.library.folder, name)
    text = path.read_text("utf-8") if path.exists() else ""
    column = Column(slug(heading), heading, session.answered.standing)
    write_kept(path, with_columns(text, [column]))
    click.echo(f"{path}: column “{heading}”: {column.question} (`carrel table {name}` fills it)")


def _plan(session: Session, rest: str) -> None:
    if not rest:
        raise UsageError("write /plan DRAFT")
    turn = session.answered
    paragraph = planned(turn.standing, turn.document)
    if not paragraph.sentences:
        raise UsageError("the last answer has no sentence that cites a paper, so there is nothing to plan")
    path = plan_file(session.library.folder, rest)
    new = plan_markdown(rest, [paragraph], ())
    if path.exists():
        before, heading, after = path.read_text("utf-8").partition("\n## Left out")
        new = before.rstrip() + "\n" + new[new.index("\n## ") :] + heading + after
    read_plan(new, str(path))
    write_kept(path, new)
    click.echo(f"{path}: {len(paragraph.sentences)} planned sentences more (`carrel draft {rest}` writes them)")


def planned(heading: str, document: Document) -> PlannedParagraph:
    """An answer's sentences as a paragraph of a plan, each resting on what it cites."""
    sentences = []
    for statement in document.statements:
        if statement.by == "model" and statement.cites:
            rests = tuple(Reference(cite.key, (0,) if cite.text.startswith("title") else cite.sentences) for cite in statement.cites)
            job = "compares" if len({cite.key for cite in statement.cites}) > 1 else "introduces"
            words = min(max(len(statement.text.split()), 15), 40)
            sentences.append(PlannedSentence(job, words, statement.text, rests))
    return PlannedParagraph(" ".join(heading.split()), tuple(sentences))


def _again(session: Session, rest: str) -> None:
    asked(session, session.answered.question, again=True)


COMMANDS: dict[str, SlashCommand] = {
    "help": SlashCommand(_help, "", "these commands"),
    "sources": SlashCommand(_sources, "", "the sentences that the last answer quotes"),
    "why": SlashCommand(_why, "[N]", "what sentence N of the last answer rests on, its checks, and what found its papers"),
    "scope": SlashCommand(_scope, "[WORDS … | off]", "which papers are looked at: @key year>=2025 tag:x category:cs.RO …"),
    "save": SlashCommand(_save, "[NAME]", "the conversation as Markdown and JSON in exports/"),
    "column": SlashCommand(_column, 'TABLE "Name"', "the last question as a column of a table"),
    "plan": SlashCommand(_plan, "DRAFT", "the last answer's sentences into the plan of a draft"),
    "again": SlashCommand(_again, "", "the last question asked anew"),
}
