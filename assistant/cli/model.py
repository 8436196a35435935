"""What the commands that ask a model share: their options, the gateway they open, the price before, the words after."""

import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, TypeVar

import click

from assistant.cli.base import Context, note, print_json
from assistant.cli.library import ITEMS_FAILED
from assistant.document import CITATIONS, NOTE_WARNING, Cite, Document, Statement
from assistant.errors import NoModel, SettingsError, UsageError
from assistant.export import FORMATS, written
from assistant.export.markdown import summary
from assistant.gateway import Gateway, Price, Reply, Request, Usage, open_gateway
from assistant.settings import Settings, is_loopback, may_use_key, trust
from assistant.shapes import document_json
from assistant.tasks.desk import PACK, Desk
from store.library import Library
from store.paper import Paper

LEDGER = "ledger.sqlite"
FEW_CALLS = 5
MOST_KEYS = 60
WORDING, LONG_REPLY = 3_000, 2_000
"""Characters of a prompt that are not papers, and tokens of a tree or a plan; for the price that is said before."""
HOW_TO_SET = (
    "no model is configured: put name under [model] in carrel.toml (for a server of your own also api_base), or give --model; "
    "the provider's key is read from its usual variable, e.g. OPENAI_API_KEY. --replay FOLDER answers from recordings"
)
Command = TypeVar("Command", bound=Callable[..., object])


class Asking(NamedTuple):
    """What the options of a command that asks a model say."""

    model: str | None
    api_base: str | None
    deadline: float | None
    budget: float | None
    record: Path | None
    replay: Path | None
    again: bool
    yes: bool
    verify: bool


def model_options(command: Command) -> Command:
    """The options of every command that asks a model."""
    folder = click.Path(path_type=Path, file_okay=False)
    for option in (
        click.option("--verify", is_flag=True, help="Have a second reader, a model too, judge each statement by the sentences it cites."),
        click.option("--yes", is_flag=True, help="Do not ask before spending."),
        click.option("--again", is_flag=True, help="Ask anew instead of taking replies that were paid for."),
        click.option("--replay", type=folder, help="Answer from the recordings in this folder; calls no model."),
        click.option("--record", type=folder, help="Keep each exchange as a readable file in this folder."),
        click.option("--budget", type=float, help="Stop at this many US dollars."),
        click.option("--deadline", type=float, help="Give a call up after this many seconds."),
        click.option("--api-base", help="Address of an OpenAI-compatible server."),
        click.option("--model", help="The model, as litellm names it."),
    ):
        command = option(command)
    return command


formats_option = click.option(
    "--to", "formats", multiple=True, type=click.Choice(list(FORMATS)), help="Also write it as a file."
)
cite_option = click.option(
    "--cite",
    type=click.Choice(CITATIONS),
    help="How the text cites: natbib (citep), plain LaTeX (cite), biblatex (autocite), numbered, pandoc, or with authors as words (textual).",
)
output_option = click.option("--output", type=click.Path(path_type=Path, file_okay=False), help="The folder for files; otherwise exports/.")


def show_options(command: Command) -> Command:
    """The options of a command that brings up to date what it also only shows."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="As JSON; asks no model unless --run is given."),
        click.option("--run", is_flag=True, help="With --json: bring it up to date first."),
        click.option("--show", is_flag=True, help="Only print what there is; asks no model."),
    ):
        command = option(command)
    return command


def asking(options: dict[str, object]) -> Asking:
    """The model options of a command, taken out of all its options."""
    return Asking(*(options.pop(name) for name in Asking._fields))  # type: ignore[arg-type]  # click made the types


class Nobody:
    """The model where none is configured: whoever asks it is told how to name one."""

    name = ""

    async def complete(self, request: Request) -> Reply:
        """Raises NoModel."""
        raise NoModel(HOW_TO_SET)

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        """Raises NoModel."""
        yield await self.complete(request)


@contextmanager
def desk(context: Context, wanted: Asking, *, keywords_only: bool = False, may_lack_model: bool = False) -> Iterator[Desk]:
    """A desk with the library open and the model to ask.

    Raises NoModel where none is configured; where a desk may do without one, only what asks it raises.
    """
    settings = context.settings(
        model_name=wanted.model, model_api_base=wanted.api_base, model_deadline_s=wanted.deadline, budget_usd=wanted.budget
    )
    library = context.library(keywords_only=keywords_only)
    lacks = may_lack_model and not wanted.replay and not settings.model_name
    gateway = Gateway(Nobody()) if lacks else gateway_for(library, settings, wanted)
    try:
        yield Desk(library, gateway, settings, wanted.verify, lambda *amount: confirm_price(gateway, wanted, *amount))
    finally:
        gateway.close()
        library.close()


def gateway_for(library: Library, settings: Settings, wanted: Asking) -> Gateway:
    """The model of the settings, or the recordings asked for."""
    if not wanted.replay:
        if not settings.model_name:
            raise NoModel(HOW_TO_SET)
        _confirm_address(settings)
    return open_gateway(
        model=(wanted.model or "") if wanted.replay else settings.model_name,
        api_base=settings.model_api_base or None,
        api_key=os.environ.get("CARREL_API_KEY"),
        deadline_s=settings.model_deadline_s,
        ledger=None if wanted.replay else library.folder / LEDGER,
        budget_usd=settings.budget_usd or None,
        budget_tokens=settings.budget_tokens or None,
        own_price=_own_price(settings),
        notice=note,
        record=wanted.record,
        replay=wanted.replay,
        again=wanted.again,
        concurrency=settings.model_concurrency,
    )


def _own_price(settings: Settings) -> Price | None:
    """What the settings say that the model costs; one half of it says nothing."""
    read, written = settings.model_price_in, settings.model_price_out
    if read is None and written is None:
        return None
    if read is None or written is None:
        raise SettingsError("model.price_in and model.price_out go together: set both, 0 for what is free")
    return Price(read, written)


def _confirm_address(settings: Settings) -> None:
    """A library from somebody else may name any address: it gets no key before the person agreed once."""
    if may_use_key(settings) or is_loopback(settings.model_api_base):
        return
    question = f"carrel.toml of this library sends your questions, and your key, to {settings.model_api_base}. Is that right?"
    if not sys.stdin.isatty():
        raise SettingsError(f"{question} Confirm it once at a terminal, or give the address with --api-base")
    click.confirm(question, abort=True, err=True)
    trust(settings)


def confirm_price(gateway: Gateway, wanted: Asking, calls: int, characters: int, tokens_out: int) -> None:
    """Says what a task with more than a few calls will ask, and asks; raises UsageError where nobody can answer.

    Tokens in are a quarter of the characters, tokens out a guess from earlier runs; both are said to be about right.
    """
    if wanted.replay or calls <= FEW_CALLS:
        return
    cost = gateway.price(Usage(characters // 4, tokens_out))
    money = "price unknown" if cost is None else f"about {cost:.2f} US dollars" if not 0 < cost < 0.01 else "less than 0.01 US dollars"
    price = f"about {calls} calls, {characters // 4:,} tokens in, {tokens_out:,} out, {money}"
    if wanted.yes:
        note(price)
    elif sys.stdin.isatty() and sys.stderr.isatty():
        click.confirm(f"{price}. Go on?", abort=True, err=True)
    else:
        raise UsageError(f"{price}; add --yes to go on")


def say_price(at: Desk, wanted: Asking, papers: Sequence[Paper], each: int, more: int = 0) -> None:
    """Says the price of reading papers in packs at about `each` tokens out a paper, and of `more` calls over all of them."""
    calls = -(-len(papers) // PACK) + more
    characters = (1 + more) * sum(len(paper.abstract) for paper in papers) + WORDING * calls
    confirm_price(at.gateway, wanted, calls, characters, each * len(papers) + LONG_REPLY * more)


def dollars(cost: float) -> str:
    """An amount as it is shown; what is known to be little never looks like nothing."""
    return f"{cost:.4f}" if cost >= 0.0001 or not cost else "less than 0.0001"


def cited(statement: Statement) -> str:
    """A statement as the terminal shows it, its citations behind it; of what code counted the first keys."""
    found = [cite.key if statement.by == "code" else cite.place for cite in statement.cites]
    more = f", and {len(found) - MOST_KEYS} more" if len(found) > MOST_KEYS else ""
    places = ("; " if any(not cite.key for cite in statement.cites) else ", ").join(found[:MOST_KEYS]) + more
    marks = f" ({', '.join(statement.marks)}!)" if statement.marks else ""
    return f"{statement.text}{click.style(f' [{places}]', fg='cyan') if places else ''}{click.style(marks, fg='yellow')}"


def quoted(cite: Cite) -> str:
    """The words that a citation points at, with where they stand."""
    return f"{click.style(f'[{cite.place}]', fg='cyan')} {cite.quote}"


def say_report(document: Document, *, problems: bool = True) -> None:
    """The integrity report and what was asked, on standard error; `problems` says each of them too."""
    report = document.report
    is_counted = bool(document.statements) and all(statement.by == "code" for statement in document.statements)
    if (report.statements and not is_counted) or report.blocked or report.failed:
        note(summary(report))
    for problem in (*report.blocked, *report.marked) if problems else ():
        note(f"  {problem.rule}: {problem.text}: {problem.reason}")
    for problem in report.unchecked if problems else ():
        note(f"  not checked by {problem.rule}: {problem.text}: {problem.reason}")
    for item in report.failed:
        note(f"  failed: {item}")
    if document.rests_on_notes():
        note(NOTE_WARNING)
    if report.model_calls:
        cost = "cost unknown" if document.cost_usd is None else f"{dollars(document.cost_usd)} US dollars"
        read, wrote = ("unknown" if tokens is None else str(tokens) for tokens in (document.tokens_in, document.tokens_out))
        note(f"{report.model_calls} model calls, {read} tokens in, {wrote} out, {cost}")


def ended(document: Document) -> None:
    """Exit 1 when items failed, so that a script sees it."""
    if document.report.failed:
        raise click.exceptions.Exit(ITEMS_FAILED)


def exported(context: Context, document: Document, formats: Sequence[str], output: Path | None) -> None:
    """Writes the document as files of these formats, and says where."""
    if formats:
        for path in written(document, output or context.folder / "exports", formats):
            note(f"wrote {path}")


def finish(
    context: Context, document: Document, show: Callable[[Document], None], *, as_json: bool, formats: Sequence[str], output: Path | None
) -> None:
    """What a task made, on the terminal as `show` prints it or as JSON, its report, and its files."""
    if as_json:
        print_json(document_json(document))
    else:
        show(document)
    if not as_json or document.report.model_calls:
        say_report(document)
    exported(context, document, formats, output)
    ended(document)
