"""What `carrel draft` does with a draft that is written: revise it, show what a revision changed, take it back."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from assistant.cli.base import note, print_json
from assistant.cli.drafts import AtDraft, planned, print_draft
from assistant.cli.model import Asking, desk, ended, exported, finish, say_report
from assistant.errors import EditedMeanwhile, UsageError
from assistant.export.escape import markdown
from assistant.files import undone, write_kept, write_whole
from assistant.shapes import document_json
from assistant.tasks.desk import with_sources
from store.keys import slug

if TYPE_CHECKING:
    from assistant.tasks.draft_diff import Change, Difference

MARKS = {"both": ("", ""), "gone": ("[-", "-]"), "come": ("{+", "+}")}
"""As `git diff --word-diff` marks words, so that it reads without colours too."""
COLOURS = {"both": None, "gone": "red", "come": "green"}
EMPHASIS = {"both": ("", ""), "gone": ("~~", "~~"), "come": ("**", "**")}


def revise(at: AtDraft, wanted: Asking, wish: str) -> None:
    """Changes the draft as wished, and shows what is different; where nothing is, nothing is written."""
    from assistant.tasks import draft as task
    from assistant.tasks import draft_diff
    from assistant.tasks import revise as revising

    text = at.need()
    with desk(at.context, wanted, keywords_only=True) as open_desk:
        library = open_desk.library
        plan, papers = planned(library, at.path), library.considered(at.scope)
        made = revising.revised(open_desk, at.name, wish, plan, text, papers)
        if made.is_changed:
            new = planned(library, at.path, made.text)
            if at.path.read_text("utf-8") != text:
                raise EditedMeanwhile(f"{at.path} was edited while the draft was revised; nothing was written, run it again (the reply is not paid twice)")
            revising.keep(library, at.name, new, made)  # before the plan: with one that has no text, a run would write anew
            draft_diff.keep(library, at.name, new, made.difference)
            write_kept(at.path, made.text)
            plan = new
        document = open_desk.finished(task.document(library, at.name, plan, papers))
    document = replace(document, report=replace(document.report, blocked=(*document.report.blocked, *made.blocked)))
    if at.shown.as_json:
        print_json(document_json(document) | draft_diff.difference_json(at.name, made.difference))
    else:
        print_difference(made.difference)
    if made.is_changed:
        note(f"{at.path.name} is changed; `carrel draft {at.name} --undo` takes it back, --show prints the whole")
    say_report(document)
    exported(at.context, document, at.shown.formats, at.shown.output)
    ended(document)


def undo_change(at: AtDraft) -> None:
    """Goes back to the plan before the last change; its text is stored, so that nothing is paid."""
    from assistant.tasks import draft as task

    at.need()
    if not undone(at.path):
        raise UsageError(f"there is no earlier version of {at.path}")
    note(f"{at.path} is as it was before; what was taken back is in {at.path.parent / '.versions'}")
    library = at.context.library(keywords_only=True)
    document = with_sources(library, task.document(library, at.name, planned(library, at.path), library.considered(at.scope)))
    finish(at.context, document, print_draft, as_json=at.shown.as_json, formats=at.shown.formats, output=at.shown.output)


def show_difference(at: AtDraft) -> None:
    """Says again what the revision changed that led to the present draft."""
    from assistant.tasks import draft_diff

    at.need()
    library = at.context.library(keywords_only=True)
    kept = draft_diff.kept(library, at.name, planned(library, at.path))
    if kept is None:
        raise UsageError(f'the draft {at.name!r} was not revised yet; `carrel draft {at.name} --revise "what to change"` does')
    if not kept.is_present:
        note("the draft is another now: this revision was taken back, or its plan was edited since")
    if at.shown.as_json:
        print_json(draft_diff.difference_json(at.name, kept.difference))
    else:
        print_difference(kept.difference)
    if at.shown.formats:
        path = (at.shown.output or at.context.folder / "exports") / f"{slug(at.name)}.diff.md"
        write_whole(path, difference_markdown(at.name, kept.difference))
        note(f"wrote {path}")


def print_difference(found: "Difference") -> None:
    """A difference on the terminal: what was asked, each change with the words that went and came, and how much stayed."""
    click.secho(found.wish, bold=True)
    heading = None
    for change in found.changes:
        if change.paragraph != heading and change.kind != "heading":
            heading = change.paragraph
            click.secho(f"\n{heading}" if heading else "", bold=True)
        click.echo(f"{change.kind}{f' ({change.why})' if change.why else ''}{':' if change.was or change.now else ''}")
        for line in _lines(change):
            click.echo(f"  {line}")
    click.echo(f"\n{found}" if found.changes else f"Nothing is different: {found}")
    if found.not_done:
        click.echo(f"not done: {found.not_done}")


def _lines(change: "Change") -> Iterable[str]:
    from assistant.tasks.draft_diff import pieces

    if change.kind in {"moved", "stays"}:
        return [change.now] if change.now else []
    row = pieces(change.was, change.now) if change.was and change.now else []
    whole = [("gone", change.was)] * bool(change.was) + [("come", change.now)] * bool(change.now)
    return ["".join(_marked(kind, words) for kind, words in row or whole)]


def _marked(kind: str, words: str) -> str:
    before, after = MARKS[kind]
    return click.style(f"{before}{words}{after}", fg=COLOURS[kind]) if COLOURS[kind] else words


def difference_markdown(name: str, found: "Difference") -> str:
    """A difference as Markdown: words that went struck out, words that came in bold."""
    lines = [f"# What changed in {markdown(name)}", "", f"Asked for: {markdown(found.wish)}", "", f"{markdown(str(found))}.", ""]
    heading = ""
    for change in found.changes:
        if change.paragraph and change.paragraph != heading:
            heading = change.paragraph
            lines += [f"## {markdown(heading)}", ""]
        lines += [f"- *{change.kind}*{f' ({markdown(change.why)})' if change.why else ''}{_markdown_words(change)}"]
    return "\n".join([*lines, *(["", f"Not done: {markdown(found.not_done)}"] if found.not_done else [])]) + "\n"


def _markdown_words(change: "Change") -> str:
    from assistant.tasks.draft_diff import pieces

    if change.kind in {"moved", "stays"}:
        return f": {markdown(change.now)}" if change.now else ""
    row: Sequence[tuple[str, str]] = pieces(change.was, change.now) if change.was and change.now else [("gone", change.was)] * bool(change.was) + [("come", change.now)] * bool(change.now)
    return ": " + "".join(_emphasised(kind, words) for kind, words in row)


def _emphasised(kind: str, words: str) -> str:
    """Words between their marks, which have to touch them: spaces stand outside."""
    bare = words.strip()
    before, after = EMPHASIS[kind] if bare else ("", "")
    start = words[: len(words) - len(words.lstrip())] if bare else words
    end = words[len(words.rstrip()) :] if bare else ""
    return f"{start}{before}{markdown(bare)}{after}{end}"
