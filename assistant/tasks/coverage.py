"""The coverage sheet of a draft: each paper of the scope, cited where and how often, and what the use of papers leans on.

Everything is counted from the statements as they stand and from the library's own dates, authors and venues; no model is
asked and no clock is read. A note is a place to look, not a fault: a section may well be about one group's work.
"""

import calendar
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from assistant.document import Coverage, CoverageNote, Document, Section, Source, Statement
from store.normalize import folded
from store.paper import Paper

RECENT_YEARS: Final = 2
"""A field moves on in about two years; "now" is the newest date in the scope, so that a draft of an old library is judged by it."""
FEW_TIMES: Final = 3
"""Two sentences about a paper are one comparison, in a short section already more than a third."""
PAPER_SHARE: Final = (1, 3)
"""A paper that more than a third of the statements cite carries the text: without it the argument would not stand."""
FEW_PAPERS: Final = 5
"""Of fewer cited papers two of one group are already a large part, by chance."""
GROUP_SHARE: Final = (1, 2)
"""More than half from one group: the others are the minority, and a reader should be told."""
LONG_LIST: Final = 5
"""A citation beside four others says that a paper exists, not what it found."""
PREPRINT_SERVERS: Final = frozenset({"arxiv", "corr", "biorxiv", "medrxiv", "ssrn", "preprint", "preprints", "openreview", "hal", "zenodo"})
"""Where anybody puts papers: no venue that its papers share."""


class Group(NamedTuple):
    """Papers that share something: what it is, in words, and of how many of the cited papers it is known."""

    said: str
    keys: tuple[str, ...]
    known: int


def with_sheet(document: Document, papers: Mapping[str, Paper], tree: Document | None = None) -> Document:
    """The document with its coverage counted from its statements, and what is to be noted; `tree` adds the nodes of a taxonomy."""
    rows = tuple(_counted(one, document.sections, papers.get(one.key)) for one in document.coverage)
    counted = replace(document, coverage=rows)
    return replace(counted, coverage_notes=tuple(notes(counted, tree)))


def notes(document: Document, tree: Document | None = None) -> Iterator[CoverageNote]:
    """What to know of a draft's use of papers: of each section in its order, then of the whole."""
    dates = {one.key: one.date for one in document.coverage}
    newest = max(dates.values(), key=_latest, default="")
    written = [section for section in document.sections if section.statements]
    groups = list(_heavy(_cited(document.statements), document.sources, tree))
    for section in written:
        keys = _cited(section.statements)
        if not keys:
            yield CoverageNote("no paper", section.heading, "cites no paper", ())
            continue
        if newest and not any(_may_be_recent(dates.get(key, ""), newest) for key in keys):
            yield CoverageNote("no recent paper", section.heading, _no_recent(keys, dates, newest), keys)
        if len(keys) == 1:
            yield CoverageNote("one paper alone", section.heading, f"rests on {keys[0]} alone", keys)
        elif len(written) > 1:  # else the whole says it
            yield from _leading_papers(section.heading, section.statements)
            said = {group.said for group in groups}
            yield from _leading_groups(section.heading, keys, [one for one in _heavy(keys, document.sources, None) if one.said not in said])
    if not newest and document.coverage:
        yield CoverageNote("no dates", "", "no paper of the scope has a date in the library, so it cannot be told which are recent", ())
    yield from _leading_papers("", document.statements)
    yield from _leading_groups("", _cited(document.statements), groups)
    yield from _only_in_lists(document.statements)


def _counted(row: Coverage, sections: Sequence[Section], paper: Paper | None) -> Coverage:
    counts = [(section.heading, sum(_cites(statement, row.key) for statement in section.statements)) for section in sections]
    used = [(heading, count) for heading, count in counts if count]
    known = (paper.name, paper.date) if paper else (row.title, row.date)
    return replace(row, used=tuple(heading for heading, _ in used), times=tuple(count for _, count in used), title=known[0], date=known[1])


def _cites(statement: Statement, key: str) -> bool:
    return any(cite.key == key for cite in statement.cites)


def _cited(statements: Iterable[Statement]) -> tuple[str, ...]:
    """The keys that statements cite, in order of key."""
    return tuple(sorted({cite.key for statement in statements for cite in statement.cites}))


# -- dates


def _latest(date: str) -> str:
    """The last day that a date can mean: 2024 is 2024-12-31, and no date is before all others."""
    if len(date) == 4:
        return f"{date}-12-31"
    return f"{date}-{calendar.monthrange(int(date[:4]), int(date[5:7]))[1]:02}" if len(date) == 7 else date


def _may_be_recent(date: str, newest: str) -> bool:
    """Whether a date is within the last years before the newest; a year alone counts where it may be."""
    return bool(date) and _latest(date) >= _since(newest)


def _since(newest: str) -> str:
    """The date from which on papers are recent, as precise as the newest is."""
    return f"{int(newest[:4]) - RECENT_YEARS:04}{newest[4:]}".replace("-02-29", "-02-28")


def _no_recent(keys: Sequence[str], dates: Mapping[str, str], newest: str) -> str:
    dated = [dates[key] for key in keys if dates.get(key)]
    last = f"the newest is of {max(dated, key=_latest)}" if dated else "none has a date"
    undated = f", {len(keys) - len(dated)} of {len(keys)} have no date" if dated and len(dated) < len(keys) else ""
    now = f"the newest of the scope is of {newest}, by the library's own dates"
    return f"cites no paper known to be from {_since(newest)} or later ({last}{undated}; {now})"


# -- leaning on one paper, or on one group


def _leading_papers(section: str, statements: Sequence[Statement]) -> Iterator[CoverageNote]:
    """The papers that a section, or the whole draft, depends on."""
    part, whole = PAPER_SHARE
    counts = Counter(key for statement in statements for key in {cite.key for cite in statement.cites})
    for key, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
        if count >= FEW_TIMES and count * whole > len(statements) * part:
            yield CoverageNote("depends on a paper", section, f"{count} of {len(statements)} statements cite {key}", (key,))


def _leading_groups(section: str, cited: Sequence[str], groups: Iterable[Group]) -> Iterator[CoverageNote]:
    for group in groups:
        known = "" if group.known == len(cited) else f" (known of {group.known})"
        yield CoverageNote("depends on a group", section, f"{len(group.keys)} of {len(cited)} cited papers {group.said}{known}", group.keys)


def _heavy(cited: Sequence[str], sources: Mapping[str, Source], tree: Document | None) -> Iterator[Group]:
    """The groups that more than half of enough cited papers are of."""
    part, whole = GROUP_SHARE
    if len(cited) >= FEW_PAPERS:
        yield from (group for group in _groups(cited, sources, tree) if len(group.keys) * whole > len(cited) * part)


def _groups(cited: Sequence[str], sources: Mapping[str, Source], tree: Document | None) -> Iterator[Group]:
    """The papers that share an organization, a first or last author, a venue, or a node of a tree: the largest of each."""
    known = {key: sources[key] for key in cited if key in sources}
    yield from _largest("are of the organization {}", {key: (one.organization,) for key, one in known.items()})
    yield from _largest("have {} as first or last author", {key: _outer(one) for key, one in known.items()})
    yield from _largest("appeared in {}", {key: (_venue(one),) for key, one in known.items()})
    if tree:
        labels = {node.id: node.label for node in tree.nodes}
        places = {key: tuple(labels[one.node] for one in tree.assignments if one.key == key and one.rank == 1) for key in cited}
        yield from _largest("are filed under {} in the tree " + tree.name, places)


def _largest(said: str, names: Mapping[str, tuple[str, ...]]) -> Iterator[Group]:
    """The name that most papers have, names that differ only in case, accents and punctuation being one."""
    printed: dict[str, str] = {}
    holders: dict[str, set[str]] = {}
    for key, some in names.items():
        for name in filter(folded, some):
            printed.setdefault(folded(name), name)
            holders.setdefault(folded(name), set()).add(key)
    if holders:
        name = min(holders, key=lambda name: (-len(holders[name]), name))
        known = sum(any(some) for some in names.values())
        yield Group(said.format(printed[name]), tuple(sorted(holders[name])), known)


def _outer(source: Source) -> tuple[str, ...]:
    """The first author and the last, where the list of authors is whole."""
    is_whole = source.author_count in {None, len(source.authors)}
    return tuple(dict.fromkeys((*source.authors[:1], *(source.authors[-1:] if is_whole else ()))))


def _venue(source: Source) -> str:
    return "" if folded(source.venue) in PREPRINT_SERVERS or folded(source.venue).startswith("arxiv") else source.venue


def _only_in_lists(statements: Sequence[Statement]) -> Iterator[CoverageNote]:
    """The papers that are never cited but among many."""
    fewest: dict[str, int] = {}
    for statement in statements:
        keys = {cite.key for cite in statement.cites}
        for key in keys:
            fewest[key] = min(fewest.get(key, len(keys)), len(keys))
    found = tuple(sorted(key for key, count in fewest.items() if count >= LONG_LIST))
    if found:
        are = "paper is" if len(found) == 1 else "papers are"
        yield CoverageNote("only in lists", "", f"{len(found)} {are} cited only in a list of {LONG_LIST} or more", found)
