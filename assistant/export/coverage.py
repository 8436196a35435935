"""The coverage sheet as lines and rows: what is cited where, what is left out by reason, and what is to be noted."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assistant.document import Coverage, CoverageNote, Document
from assistant.export.escape import cell, plain
from store.normalize import folded

HEAD = ("row", "key", "title", "date", "cited in", "statements", "left out", "kind", "note")
NAMED = 6
"""Keys that a short line names; the whole sheet names them all."""
LISTED = frozenset({"depends on a group", "only in lists"})
"""Notes whose words do not name their papers."""


class LeftOut(NamedTuple):
    """Papers that were left out for one reason."""

    reason: str
    keys: tuple[str, ...]


def tally(document: Document) -> str:
    """How many papers are used, in a sentence."""
    return f"{sum(bool(one.used) for one in document.coverage)} of {len(document.coverage)} papers of the scope are used."


def places(row: Coverage) -> str:
    """Where a paper is used: `Credit (2); Rewards`; how often only where it is more than once."""
    times = row.times or (1,) * len(row.used)
    return "; ".join(f"{plain(place)} ({count})" if count > 1 else plain(place) for place, count in zip(row.used, times, strict=True))


def left_out(document: Document) -> tuple[LeftOut, ...]:
    """The papers left out, by reason: the reason of most papers first, so that hundreds of them stay readable."""
    reasons: dict[str, str] = {}
    keys: dict[str, list[str]] = {}
    for one in document.coverage:
        if not one.used:
            reasons.setdefault(folded(one.left_out), one.left_out)
            keys.setdefault(folded(one.left_out), []).append(one.key)
    found = [LeftOut(reasons[name], tuple(some)) for name, some in keys.items()]
    return tuple(sorted(found, key=lambda group: (-len(group.keys), group.keys)))


def noted(note: CoverageNote) -> str:
    """A note with the section that it is about, or `in all`."""
    return f"“{plain(note.section)}”: {note.text}" if note.section else f"in all: {note.text}"


def said(document: Document, *, whole: bool) -> list[str]:
    """The sheet as lines for a terminal: in full, or what is left out by reason and what is noted, with a few keys each."""
    lines = [tally(document).rstrip(".").replace("of the scope are used", "are cited")]
    if whole:
        lines += [f"  {one.key}: {places(one)}" for one in document.coverage if one.used]
    for group in left_out(document):
        count = f", {len(group.keys)}" if len(group.keys) > 1 else ""
        lines.append(f"  left out{count}: {named(group.keys, None if whole else NAMED)}: {group.reason or 'no reason is known'}")
    for note in document.coverage_notes:
        keys = f" ({named(note.keys, None if whole else NAMED)})" if note.kind in LISTED else ""
        lines.append(f"  note: {noted(note)}{keys}")
    return lines


def named(keys: Sequence[str], most: int | None = None) -> str:
    """The keys in a row, or the first of them and how many more there are."""
    few = keys if most is None or len(keys) <= most + 1 else keys[:most]
    return ", ".join(few) + (f" and {len(keys) - len(few)} more" if len(few) < len(keys) else "")


def write(document: Document) -> str:
    """The sheet as CSV, to stand beside a draft: a row a paper, then a row a note; filtered by "row", either is a table of its own."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerows([cell(value) for value in row] for row in (HEAD, *rows(document)))
    return "\ufeff" + out.getvalue()


def rows(document: Document) -> Iterator[tuple[str, ...]]:
    """The rows of the sheet, under HEAD."""
    for one in document.coverage:
        yield ("paper", one.key, plain(one.title), one.date, places(one), str(sum(one.times)) if one.times else "", one.left_out, "", "")
    for note in document.coverage_notes:
        yield ("note", "; ".join(note.keys), "", "", plain(note.section), "", "", note.kind, note.text)
