"""What is looked at in a table, laid out as grids that are written as files: counts, disagreements, differences."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from assistant.document import Column
from assistant.export.grids import GAP, Grid

if TYPE_CHECKING:
    from assistant.tasks.changes import Changes
    from assistant.tasks.views import Counts, Disagreement

MOST_GAPS = 40


def counts_grid(name: str, counts: "Counts", papers: int) -> Grid:
    """Values by how many papers have them, or one field against another, an empty cell a gap; below it what is missing and not counted."""
    from assistant.tasks.views import counts_json

    by_pair = {(tally.value, tally.by): tally.keys for tally in counts.tallies}

    def figure(value: str, by: str = "") -> str:
        return str(len(by_pair[value, by])) if (value, by) in by_pair else GAP

    head = [f"{counts.field} by {counts.by}", *counts.by_values] if counts.by else [counts.field, "papers", "keys"]
    lines = [
        [value, *(figure(value, by) for by in counts.by_values)] if counts.by else [value, figure(value), ", ".join(by_pair.get((value, ""), ()))]
        for value in counts.values
    ]
    view = f"count {counts.field}{f' by {counts.by}' if counts.by else ''}"
    silent = len({key for key, _ in counts.apart})
    legend = f"{GAP}: no paper of these {papers}.{f' {silent} papers are not counted, since they do not say.' if silent else ''}"
    return Grid(name, view, head, lines, (*gaps_said(counts, papers), *apart_said(counts, papers)), counts_json(name, counts), legend)


def gaps_said(counts: "Counts", papers: int) -> list[str]:
    """The gaps by name, in one line; nothing where there are none."""
    named = [f"{value} × {by}" if by else value for value, by in counts.gaps]
    more = f"; and {len(named) - MOST_GAPS} more" if len(named) > MOST_GAPS else ""
    both = "both of" if counts.by else "it"
    return [f"{GAP} gaps: no paper of these {papers} states {both}: {'; '.join(named[:MOST_GAPS])}{more}"] if named else []


def apart_said(counts: "Counts", papers: int) -> list[str]:
    """The papers that are not counted, a line a reason."""
    apart: dict[str, list[str]] = {}
    for key, reason in counts.apart:
        apart.setdefault(reason, []).append(key)
    first = [f"not counted, which does not mean that they have none: {len({key for key, _ in counts.apart})} of {papers} papers"] if apart else []
    return [*first, *(f"  {reason}: {len(some)} ({', '.join(some)})" for reason, some in apart.items())]


def disagreements_grid(name: str, found: "Sequence[Disagreement]") -> Grid:
    """A line a side: the column, how they disagree and about what, the paper, what it says, and its sentences."""
    from assistant.tasks.views import disagreements_json

    lines = [
        [str(number), one.column, one.kind, one.about, side.key, side.said, " … ".join(cite.quote for cite in side.cites) or "(set by hand)"]
        for number, one in enumerate(found, 1)
        for side in one.sides
    ]
    head = ["number", "column", "kind", "about", "key", "says", "sentences"]
    remarks = () if found else ("Code finds no two papers that state opposite things in one column.",)
    return Grid(name, "disagreements", head, lines, remarks, disagreements_json(name, found))


def changes_grid(name: str, columns: Sequence[Column], found: "Changes") -> Grid:
    """A line a cell, before and now; below it the papers and columns that came, went or changed."""
    from assistant.tasks.changes import changes_json

    names = {column.id: column.name for column in columns}
    lines = [[one.key, names.get(one.column, one.column), one.old or "–", one.new or "–"] for one in found.cells]
    remarks = [f"{what} papers: {', '.join(keys)}" for what, keys in (("new", found.new_papers), ("gone", found.gone_papers)) if keys]
    remarks += [f"column {one.column}: {one.old or '(none)'} → {one.new or '(taken away)'}" for one in found.columns]
    return Grid(name, "diff", ["key", "column", "before", "now"], lines, remarks or (() if lines else ("Nothing is different.",)), changes_json(name, found))
