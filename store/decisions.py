"""What a person decided of papers: kept in order, taken back one by one, and stronger than any import.

Kinds and their data (JSON): `edit` {"field", "value"}, `rename` {"from", "to", "chosen"}, `tag` {"tag", "on"}, `note`
{"text"}, `status` {"status", "reason"}, `merge` and `split` {"sources": [[…], […]]}, `add` {"import"}.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations, product
from typing import NamedTuple

from store.duplicates import Decisions
from store.errors import BadDecision
from store.paper import Record

BY_PERSON = 2
TEXT_FIELDS = ("title", "abstract", "venue", "organization", "date", "entry_type", "language")
LIST_FIELDS = ("authors", "keywords", "categories")
IDENTIFIERS = ("doi", "arxiv", "pmid", "pmcid", "url", "pdf", "openalex", "semanticscholar")
DETAILS = ("volume", "number", "pages", "publisher", "editor", "series", "edition", "address", "isbn", "issn")
FIELDS = (*TEXT_FIELDS, *LIST_FIELDS, *IDENTIFIERS, *DETAILS)


class Decision(NamedTuple):
    """One decision, with when it was taken."""

    id: int
    time: str
    kind: str
    source: int
    data: dict[str, object]


def next_step(database: sqlite3.Connection) -> int:
    """The number of a new command's decisions."""
    return int(database.execute("SELECT coalesce(max(step), 0) + 1 FROM decision").fetchone()[0])


def decide(database: sqlite3.Connection, step: int, kind: str, source: int, data: dict[str, object]) -> None:
    """Notes a decision about a source, and with it about the paper that it belongs to."""
    database.execute(
        "INSERT INTO decision (step, time, kind, source, data) VALUES (?, ?, ?, ?, ?)",
        (step, datetime.now(UTC).isoformat(timespec="seconds"), kind, source, json.dumps(data, ensure_ascii=False)),
    )


def last(database: sqlite3.Connection) -> list[Decision]:
    """The decisions of the last command that counts, the latest first."""
    rows = database.execute(
        "SELECT id, time, kind, source, data FROM decision WHERE undone = 0"
        " AND step = (SELECT max(step) FROM decision WHERE undone = 0) ORDER BY id DESC"
    )
    return [_decision(row) for row in rows.fetchall()]


def undo(database: sqlite3.Connection, decision: Decision) -> None:
    """Takes a decision back: it counts no more."""
    database.execute("UPDATE decision SET undone = 1 WHERE id = ?", (decision.id,))


def of_paper(database: sqlite3.Connection, paper: int, kind: str) -> list[Decision]:
    """The decisions of one kind about a paper that count, in order."""
    rows = database.execute(
        "SELECT d.id, d.time, d.kind, d.source, d.data FROM source s JOIN decision d ON d.source = s.id"
        " WHERE s.paper = ? AND d.kind = ? AND d.undone = 0 ORDER BY d.id",
        (paper, kind),
    )
    return [_decision(row) for row in rows]


def _decision(row: sqlite3.Row) -> Decision:
    return Decision(row["id"], row["time"], row["kind"], row["source"], json.loads(row["data"]))


def status(database: sqlite3.Connection, paper: int) -> str:
    """What was last decided of a paper."""
    said = of_paper(database, paper, "status")
    return str(said[-1].data["status"]) if said else "candidate"


def tags(database: sqlite3.Connection, paper: int) -> list[str]:
    """The tags that are on a paper."""
    on = {str(decision.data["tag"]): bool(decision.data["on"]) for decision in of_paper(database, paper, "tag")}
    return sorted(tag for tag, is_on in on.items() if is_on)


def chosen_key(database: sqlite3.Connection, paper: int) -> str:
    """The key that a person last gave a paper, or nothing."""
    said = of_paper(database, paper, "rename")
    return str(said[-1].data["to"]) if said else ""


def edited(database: sqlite3.Connection, paper: int, record: Record) -> Record:
    """The record with the fields that a person set, whatever sources say."""
    for decision in of_paper(database, paper, "edit"):
        record = changed(record, str(decision.data["field"]), str(decision.data["value"]))
    return record


def changed(record: Record, field: str, value: str) -> Record:
    """The record with one field set, or emptied; lists are parted by semicolons. Raises BadDecision for no such field."""
    if field in LIST_FIELDS:
        parts = tuple(part.strip() for part in value.split(";") if part.strip())
        return replace(record, **{field: parts}, **({"author_count": len(parts) or None} if field == "authors" else {}))  # type: ignore[arg-type]
    if field in TEXT_FIELDS:
        return replace(record, **{field: value}, **({"date_inferred": False} if field == "date" else {}))  # type: ignore[arg-type]
    for group, names in (("identifiers", IDENTIFIERS), ("details", DETAILS)):
        if field in names:
            rest = {name: kept for name, kept in getattr(record, group).items() if name != field}
            return replace(record, **{group: rest | ({field: value} if value else {})})  # type: ignore[arg-type]
    raise BadDecision(f"there is no field {field!r}; those that can be set are {', '.join(FIELDS)}")


def links(database: sqlite3.Connection, sources: Collection[int]) -> Decisions:
    """What was decided of these sources; of two decisions about a pair the later counts."""
    same: set[frozenset[int]] = set()
    different: set[frozenset[int]] = set()
    for decision in _about_sources(database):
        parts = [[source for source in group if source in sources] for group in groups(decision)]
        across = {frozenset(pair) for one, other in combinations(parts, 2) for pair in product(one, other)}
        if decision.kind == "merge":
            different -= across
            same |= {frozenset((one[0], other[0])) for one, other in combinations(parts, 2) if one and other}
        else:
            same -= across
            different |= across
    return Decisions(frozenset(same), frozenset(different))


def linked_sources(database: sqlite3.Connection, sources: Collection[int]) -> set[int]:
    """The sources that a decision names together with any of these."""
    found: set[int] = set()
    for decision in _about_sources(database):
        named = {source for group in groups(decision) for source in group}
        if not named.isdisjoint(sources):
            found |= named
    return found


def _about_sources(database: sqlite3.Connection) -> Iterable[Decision]:
    rows = database.execute("SELECT id, time, kind, source, data FROM decision WHERE kind IN ('merge', 'split') AND undone = 0 ORDER BY id")
    return [_decision(row) for row in rows.fetchall()]


def groups(decision: Decision) -> list[list[int]]:
    """The groups of sources that a `merge` or `split` names."""
    named = decision.data["sources"]
    assert isinstance(named, list)  # written by us
    return named
