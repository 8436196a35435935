"""Records in: each becomes a source, sources that are one work become a paper, and what is derived of it is renewed.

Work is done in runs of some thousand records, so that a large file costs little memory and few statements; what comes
out does not depend on how the records were parted or ordered (`store.duplicates`).
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from store import kept
from store.database import Database
from store.duplicates import fingerprints
from store.kept import RoleText
from store.keys import KeyRank, free_key, own_key
from store.keywords import indexed_words
from store.paper import Kind, Record
from store.works import Works

RUN = 4_000
MOST_VALUES = 30_000
"""Values of one statement; SQLite takes 32,766."""


class Outcome(NamedTuple):
    """What became of a record: `new`, `merged` or `unchanged`, which paper holds it, and why it was merged."""

    became: str
    paper: int
    reason: str = ""


class _Incoming(NamedTuple):
    """A record that is a new source, with all that is computed of it once."""

    source: int
    record: Record
    fields: str
    texts: tuple[RoleText, ...]
    digest: bytes
    marks: tuple[int, ...]


class Intake:
    """Takes the records of one import into a library, inside a transaction of the caller's."""

    def __init__(self, database: Database, imported: int, kind: Kind, kept_keys: frozenset[str] = frozenset()) -> None:
        self._database, self._db = database, database.run
        self._import, self._kind, self._kept_keys = imported, kind, kept_keys

    def take(self, records: Iterable[Record]) -> Iterator[Outcome]:
        """What became of each record, in order."""
        waiting = iter(records)
        while run := list(islice(waiting, RUN)):
            yield from self._take_run(run)

    def _take_run(self, records: Sequence[Record]) -> list[Outcome]:
        incoming, known = self._incoming(records)
        self._insert(incoming.values())
        linked = self._linked(incoming)
        alone = [one for one in incoming.values() if one.source not in linked]
        reasons: dict[int, str] = {}
        firsts = {one.source for one in alone}
        if linked:
            verdict = Works(self._database, self._kept_keys).settle(linked)
            reasons = verdict.reasons
            firsts |= {group[0] for group in verdict.groups}
        self._new_papers(alone)
        homes = self._homes([one.source for one in incoming.values()] + list(known.values()))
        outcomes = []
        counted: set[int] = set()
        for at in range(len(records)):
            if at in incoming and incoming[at].source not in counted:
                source = incoming[at].source
                counted.add(source)
                became = "new" if source in firsts else "merged"
                outcomes.append(Outcome(became, homes[source], reasons.get(source, "")))
            else:
                outcomes.append(Outcome("unchanged", homes[known[at]]))
        return outcomes

    def _incoming(self, records: Sequence[Record]) -> tuple[dict[int, _Incoming], dict[int, int]]:
        """The records that are new, by their place in the run, and for the others the source that they are already."""
        prepared = []
        for record in records:
            texts = tuple(kept.texts(record))
            fields = kept.fields_json(record)
            prepared.append((record, fields, texts, kept.digest(fields, texts, self._kind)))
        there = self._sources_of([digest for _, _, _, digest in prepared])
        free = self._db.execute("SELECT coalesce(max(id), 0) + 1 FROM source").fetchone()[0]
        incoming: dict[int, _Incoming] = {}
        known: dict[int, int] = {}
        for at, (record, fields, texts, digest) in enumerate(prepared):
            if digest in there:
                known[at] = there[digest]
                continue
            there[digest] = free
            incoming[at] = _Incoming(free, record, fields, texts, digest, tuple(fingerprints(record)))
            free += 1
        return incoming, known

    def _sources_of(self, digests: Sequence[bytes]) -> dict[bytes, int]:
        found: dict[bytes, int] = {}
        for part in _parts(digests):
            marks = ",".join("?" * len(part))
            found |= dict(self._db.execute(f"SELECT digest, id FROM source WHERE digest IN ({marks})", part).fetchall())
        return found

    def _insert(self, incoming: Iterable[_Incoming]) -> None:
        """Sources with the paper still open (0), their texts and fingerprints."""
        some = list(incoming)
        self._db.execute("PRAGMA defer_foreign_keys=ON")  # a source has its paper before the transaction ends
        self._db.executemany(
            "INSERT INTO source (id, paper, import, line, reason, fields, raw, digest) VALUES (?, 0, ?, ?, '', ?, ?, ?)",
            ((one.source, self._import, one.record.line, one.fields, kept.deflated(one.record.raw, one.fields, (text.characters for text in one.texts)), one.digest) for one in some),
        )
        self._db.executemany(
            "INSERT INTO text (source, role, language, characters, given, shown) VALUES (?, ?, ?, ?, 1, 1)",
            ((one.source, *text) for one in some for text in one.texts),
        )
        self._db.executemany(
            "INSERT OR IGNORE INTO fingerprint VALUES (?, ?)", sorted((mark, one.source) for one in some for mark in one.marks)
        )

    def _linked(self, incoming: Mapping[int, _Incoming]) -> set[int]:
        """The new sources that share a fingerprint with another, new or old."""
        owners: dict[int, list[int]] = defaultdict(list)
        for one in incoming.values():
            for mark in one.marks:
                owners[mark].append(one.source)
        linked = {source for sources in owners.values() if len(sources) > 1 for source in sources}
        first = min((one.source for one in incoming.values()), default=0)
        for part in _parts(sorted(owners)):
            marks = ",".join("?" * len(part))
            rows = self._db.execute(f"SELECT DISTINCT mark FROM fingerprint WHERE mark IN ({marks}) AND source < {first}", part)
            for row in rows:
                linked.update(owners[row[0]])
        return linked

    def _new_papers(self, alone: Sequence[_Incoming]) -> None:
        """A paper for each source that is linked to no other: the quick way, which nearly every record takes."""
        number = self._db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'paper'").fetchone()
        free = (number[0] if number else 0) + 1
        wanted = [own_key(one.record) for one in alone]
        taken = self._taken_keys(key for key, _ in wanted)
        papers, sources, words = [], [], []
        for number, (one, (key, rank)) in enumerate(zip(alone, wanted, strict=True), free):
            given = free_key(key, lambda name: name in taken or (name != key and self._has_key(name)))  # noqa: B023  called at once
            taken.add(given)
            papers.append((number, given, int(rank is KeyRank.IMPORTED), self._kind, one.record.date))
            sources.append((number, one.source))
            words.append((number, *indexed_words(one.record)))
        self._db.executemany("INSERT INTO paper (number, key, chosen, kind, date, fields) VALUES (?, ?, ?, ?, ?, '')", papers)
        self._db.executemany("INSERT INTO alias VALUES (?, ?)", sorted((paper[1], paper[0]) for paper in papers))
        self._db.executemany(
            "INSERT OR IGNORE INTO category VALUES (?, ?)",
            sorted((code, number) for number, one in enumerate(alone, free) for code in one.record.categories),
        )
        self._db.executemany("UPDATE source SET paper = ? WHERE id = ?", sources)
        self._db.executemany("INSERT INTO words (rowid, title, body, keywords) VALUES (?, ?, ?, ?)", words)

    def _taken_keys(self, wanted: Iterable[str]) -> set[str]:
        taken: set[str] = set()
        for part in _parts(sorted(set(wanted))):
            marks = ",".join("?" * len(part))
            taken.update(row[0] for row in self._db.execute(f"SELECT key FROM alias WHERE key IN ({marks})", part))
        return taken

    def _has_key(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM alias WHERE key = ?", (key,)).fetchone() is not None

    def _homes(self, sources: Sequence[int]) -> dict[int, int]:
        homes: dict[int, int] = {}
        for part in _parts(sources):
            marks = ",".join("?" * len(part))
            homes |= dict(self._db.execute(f"SELECT id, paper FROM source WHERE id IN ({marks})", part).fetchall())
        return homes


def _parts(values: Iterable[object]) -> Iterator[list[object]]:
    """The values in runs that one statement can take."""
    waiting = iter(values)
    while part := list(islice(waiting, MOST_VALUES)):
        yield part
