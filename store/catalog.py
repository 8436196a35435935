"""The library's papers, texts, passages, vectors, words and findings, as they are asked for."""

import json
import sqlite3
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from store import decisions, kept, texts
from store.database import Database
from store.duplicates import fingerprints, same_work
from store.errors import UnknownPaper
from store.intake import Intake, Outcome
from store.keywords import INDEXED_AS, indexed_words
from store.paper import Kind, Paper, Record, Source
from store.texts import PassageText, Text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_SCOPES = 8
MEMBERS = "(SELECT value FROM json_each(?))"


class StoredPassage(NamedTuple):
    """A passage with its own number (0 where it has none yet), its paper's, and where it stands."""

    id: int
    paper: int
    text: int
    first: int
    last: int


class Vectors(NamedTuple):
    """All vectors of an embedder: passage and paper numbers, and one row each, in order of paper and passage."""

    passages: "NDArray[np.int64]"
    papers: "NDArray[np.int64]"
    rows: "NDArray[np.float32]"


class Import(NamedTuple):
    """An earlier import of the same bytes, read in the same way."""

    file: str
    format: str
    kind: Kind
    records: int
    refused: list[tuple[int, str]]


class Intaken(NamedTuple):
    """A file that brought records: when it was added, how many of its records the library keeps, and how many it refused."""

    file: str
    format: str
    time: str
    kind: Kind
    records: int
    refused: int


class Flow(NamedTuple):
    """What a flow diagram counts: records as they came, papers after merging, and what was decided of them."""

    records: int
    by_source: dict[str, int]
    duplicates: int
    papers: int
    candidates: int
    included: int
    excluded: int
    excluded_for: dict[str, int]
    removed: int
    lookups: list[dict[str, object]]


class Members:
    """The papers of a scope, as every ranking needs them: their numbers, in order as an array, and as a table beside the library."""

    def __init__(self, numbers: Sequence[int], table: str) -> None:
        self.numbers = numbers
        self.table = table

    @cached_property
    def array(self) -> "NDArray[np.int64]":
        """The numbers in rising order."""
        import numpy as np

        return np.array(sorted(self.numbers), dtype=np.int64)


class Catalog:
    """What the library holds. Reads need no transaction; every write stands in `with catalog.writing():`."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self.database = Database(path, create=create)
        self.path = path
        self._db = self.database.run
        self._scopes: dict[Hashable, Members | None] = {}
        self._scopes_state: object = None
        self._vectors: tuple[tuple[object, ...], Vectors] | None = None

    def close(self) -> None:
        """Closes the file."""
        self.database.close()

    def writing(self) -> AbstractContextManager[None]:
        """A transaction: all of it or nothing. Raises LibraryBusy when another process writes for over ten seconds."""
        return self.database.writing()

    def meta(self, name: str) -> str:
        """A noted value, or nothing."""
        return self.database.meta(name)

    def note(self, name: str, value: str) -> None:
        """Notes a value under a name."""
        self.database.note(name, value)

    # -- records in

    def imported(self, digest: str) -> Import | None:
        """The import that had these bytes, if there was one."""
        row = self._db.execute("SELECT file, format, kind, report FROM import WHERE digest = ? AND digest <> '' ORDER BY id DESC LIMIT 1", (digest,)).fetchone()
        if row is None:
            return None
        report = json.loads(row["report"])
        return Import(row["file"], row["format"], row["kind"], report["records"], [(line, reason) for line, reason in report["refused"]])

    def new_import(self, file: str, format: str, kind: Kind, digest: str = "") -> int:  # noqa: A002  the record's word
        """Notes that a file is being added; its number, by which `finish_import` completes it."""
        row = self._db.execute(
            "INSERT INTO import (file, format, time, kind, digest, report) VALUES (?, ?, ?, ?, ?, '')", (file, format, now(), kind, digest)
        )
        return int(row.lastrowid or 0)

    def finish_import(self, number: int, records: int, refused: Sequence[tuple[int, str]]) -> None:
        """Notes what was read; an import that gave no new source is forgotten unless it is how the file is known."""
        report = json.dumps({"records": records, "refused": refused}, ensure_ascii=False)
        self._db.execute("UPDATE import SET report = ? WHERE id = ?", (report, number))
        if self._db.execute("SELECT 1 FROM source WHERE import = ? LIMIT 1", (number,)).fetchone():
            decisions.decide(self._db, decisions.next_step(self._db), "add", 0, {"import": number})

    def intake(self, imported: int, kind: Kind, kept_keys: frozenset[str] = frozenset()) -> Intake:
        """What takes the records of an import."""
        self._keep_words()
        return Intake(self.database, imported, kind, kept_keys)

    def take(self, record: Record, *, file: str, format: str, kind: Kind, kept_keys: frozenset[str] = frozenset()) -> Outcome:  # noqa: A002  the record's word
        """Stores one record with the work it belongs to; `kept_keys` are made-up keys that drafts use and that stay."""
        number = self.new_import(file, format, kind)
        (outcome,) = self.intake(number, kind, kept_keys).take([record])
        if outcome.became == "unchanged":
            self._db.execute("DELETE FROM import WHERE id = ?", (number,))
        return outcome

    def same_work(self, record: Record) -> int:
        """The number of the paper that a record would join, or 0."""
        marks = json.dumps(fingerprints(record))
        rows = self._db.execute(
            f"SELECT DISTINCT s.paper FROM fingerprint f JOIN source s ON s.id = f.source WHERE f.mark IN {MEMBERS} ORDER BY s.paper LIMIT 50", (marks,)
        )
        for (number,) in rows.fetchall():
            stored = texts.stored_record(self._db, number)
            if stored and same_work(record, stored):
                return int(number)
        return 0

    def _keep_words(self) -> None:
        """Indexes all words anew where another version of the rules indexed them."""
        noted = self.meta("words")
        if noted == INDEXED_AS:
            return
        if noted:
            self._db.execute("INSERT INTO words (words) VALUES ('delete-all')")
            for (number,) in self._db.execute("SELECT number FROM paper").fetchall():
                if record := texts.stored_record(self._db, number):
                    self._db.execute("INSERT INTO words (rowid, title, body, keywords) VALUES (?, ?, ?, ?)", (number, *indexed_words(record)))
        self.note("words", INDEXED_AS)

    # -- papers out

    def count(self) -> int:
        """How many papers there are, without those that were removed."""
        return int(self._db.execute("SELECT count(*) FROM paper WHERE status <> 'removed'").fetchone()[0])

    def number(self, key: str) -> int:
        """The paper that a key or alias names; raises UnknownPaper."""
        row = self._db.execute("SELECT a.paper, p.status FROM alias a JOIN paper p ON p.number = a.paper WHERE a.key = ?", (key,)).fetchone()
        if row is None:
            near = " or ".join(self.near_keys(key))
            raise UnknownPaper(f"no paper has the key {key!r}; {f'did you mean {near}? ' if near else ''}`carrel papers` lists the keys")
        return int(row["paper"])

    def near_keys(self, key: str) -> list[str]:
        """Up to three present keys that are spelt like one that no paper has."""
        from rapidfuzz import fuzz, process, utils

        return [found for found, _, _ in process.extract(key, self.every_key(), scorer=fuzz.ratio, processor=utils.default_process, limit=3, score_cutoff=65)]

    def every_key(self) -> list[str]:
        """The present keys of all papers but removed ones, in order."""
        return [row[0] for row in self._db.execute("SELECT key FROM paper WHERE status <> 'removed' ORDER BY key")]

    def language(self) -> str:
        """The language of most abstracts; `en` where there is none."""
        row = self._db.execute("SELECT language FROM text WHERE shown = 1 AND role = 'abstract' GROUP BY language ORDER BY count(*) DESC, language LIMIT 1").fetchone()
        return (row[0] if row else "") or "en"

    def papers(self, numbers: Iterable[int] | None = None) -> list[Paper]:
        """The papers of these numbers, or all but removed ones, in order of key."""
        if numbers is None:
            where, values = "status <> 'removed'", ()
        else:
            where, values = f"number IN {MEMBERS}", (json.dumps(sorted(set(numbers))),)  # type: ignore[assignment]  # a longer tuple
        rows = self._db.execute(f"SELECT * FROM paper WHERE {where} ORDER BY key", values).fetchall()
        papers: list[Paper] = []
        for start in range(0, len(rows), 1_000):
            papers += self._papers(rows[start : start + 1_000])
        return papers

    def _papers(self, rows: Sequence[sqlite3.Row]) -> list[Paper]:
        chosen = json.dumps([row["number"] for row in rows])
        aliases = self._by_paper(f"SELECT paper, key FROM alias WHERE paper IN {MEMBERS} ORDER BY key", chosen)
        reasons = {
            number: json.loads(data)["reason"]
            for number, data in self._db.execute(
                "SELECT s.paper, d.data FROM decision d JOIN source s ON s.id = d.source"
                f" WHERE d.kind = 'status' AND d.undone = 0 AND s.paper IN {MEMBERS} ORDER BY d.id",
                (chosen,),
            )
        }
        notes = self._by_paper(
            "SELECT s.paper, json_extract(d.data, '$.text') AS note FROM decision d JOIN source s ON s.id = d.source"
            f" WHERE d.kind = 'note' AND d.undone = 0 AND s.paper IN {MEMBERS} ORDER BY d.id",
            chosen,
        )
        tags = self._by_paper(f"SELECT paper, tag FROM tag WHERE paper IN {MEMBERS} ORDER BY tag", chosen)
        sources = self._by_paper(
            "SELECT s.paper, s.id, s.line, s.fields, s.raw, i.file, i.format, i.time, i.kind FROM source s JOIN import i ON i.id = s.import"
            f" WHERE s.paper IN {MEMBERS} ORDER BY s.id",
            chosen,
        )
        kept_texts = self._by_paper(
            f"SELECT s.paper, s.id AS source, t.role, t.characters, t.given, t.shown FROM source s JOIN text t ON t.source = s.id"
            f" WHERE s.paper IN {MEMBERS} ORDER BY t.id",
            chosen,
        )
        return [
            replace(
                _paper(row, aliases[row["number"]], tags[row["number"]], sources[row["number"]], kept_texts[row["number"]]),
                status_reason=reasons.get(row["number"], ""),
                notes=tuple(note["note"] for note in notes[row["number"]]),
            )
            for row in rows
        ]

    def _by_paper(self, query: str, chosen: str) -> dict[int, list[sqlite3.Row]]:
        by_paper: dict[int, list[sqlite3.Row]] = {number: [] for number in json.loads(chosen)}
        for row in self._db.execute(query, (chosen,)):
            by_paper[row["paper"]].append(row)
        return by_paper

    def numbers(self, where: str, values: Sequence[str]) -> list[int]:
        """The numbers of the papers for which a condition holds, in order of key."""
        rows = self._db.execute(f"SELECT number FROM paper WHERE {where} ORDER BY key", values)
        return [row[0] for row in rows]

    def remembered(self, scope: Hashable, make: Callable[[], Sequence[int] | None]) -> Members | None:
        """The members of a scope, made once while the library does not change; None for all papers."""
        if self._scopes_state != (state := self.database.state()) or len(self._scopes) >= MOST_SCOPES:
            for members in self._scopes.values():
                if members:
                    self._db.execute(f"DROP TABLE temp.{members.table}")
            self._scopes, self._scopes_state = {}, state
        if scope not in self._scopes:
            numbers = make()
            self._scopes[scope] = None if numbers is None else self._members(numbers)
        return self._scopes[scope]

    def _members(self, numbers: Sequence[int]) -> Members:
        members = Members(numbers, f"scope_{len(self._scopes)}")
        self._db.execute(f"CREATE TEMP TABLE {members.table} (number INTEGER PRIMARY KEY)")
        self._db.execute(f"INSERT INTO temp.{members.table} SELECT DISTINCT value FROM json_each(?) ORDER BY value", (json.dumps(list(numbers)),))
        return members

    def keys(self, numbers: Iterable[int]) -> dict[int, str]:
        """The keys of papers."""
        return dict(self._db.execute(f"SELECT number, key FROM paper WHERE number IN {MEMBERS}", (json.dumps(list(numbers)),)).fetchall())

    def reasons(self, number: int) -> list[str]:
        """For each source of a paper why it was merged into it; nothing for the first."""
        return [row[0] for row in self._db.execute("SELECT reason FROM source WHERE paper = ? ORDER BY id", (number,))]

    def sources(self, number: int) -> list[int]:
        """The numbers of a paper's sources, in order."""
        return [row[0] for row in self._db.execute("SELECT id FROM source WHERE paper = ? ORDER BY id", (number,))]

    def undecided(self) -> list[tuple[str, str, str]]:
        """Pairs of keys whose papers may be one work but contradict another, with the reason."""
        rows = self._db.execute(
            "SELECT a.key, b.key, min(u.reason) FROM undecided u JOIN source s ON s.id = u.source JOIN source o ON o.id = u.other"
            " JOIN paper a ON a.number = s.paper JOIN paper b ON b.number = o.paper GROUP BY 1, 2 ORDER BY 1, 2"
        )
        return [(row[0], row[1], row[2]) for row in rows]

    def papers_of(self, sources: Iterable[int]) -> list[int]:
        """The papers that sources belong to."""
        rows = self._db.execute(f"SELECT DISTINCT paper FROM source WHERE id IN {MEMBERS} ORDER BY paper", (json.dumps(list(sources)),))
        return [row[0] for row in rows]

    def note_lookup(self, service: str, query: str, found: int | None, shown: int, taken: int) -> None:
        """Keeps what was asked of a service and what came of it."""
        self._db.execute("INSERT INTO lookup (time, service, query, found, shown, taken) VALUES (?, ?, ?, ?, ?, ?)", (now(), service, query, found, shown, taken))

    def flow(self) -> Flow:
        """The counts of a flow diagram."""
        statuses = self.statuses()
        rows = self._db.execute("SELECT i.file, count(*) FROM source s JOIN import i ON i.id = s.import GROUP BY i.file ORDER BY min(i.id)")
        by_source = {row[0]: row[1] for row in rows}
        reasons: dict[str, int] = {}
        for (number,) in self._db.execute("SELECT number FROM paper WHERE status = 'excluded'").fetchall():
            reason = str(decisions.of_paper(self._db, number, "status")[-1].data["reason"])
            reasons[reason] = reasons.get(reason, 0) + 1
        lookups = [dict(row) for row in self._db.execute("SELECT time, service, query, found, shown, taken FROM lookup ORDER BY id")]
        return Flow(
            records=sum(by_source.values()),
            by_source=by_source,
            duplicates=sum(by_source.values()) - sum(statuses.values()),
            papers=sum(statuses.values()),
            candidates=statuses.get("candidate", 0),
            included=statuses.get("included", 0),
            excluded=statuses.get("excluded", 0),
            excluded_for=dict(sorted(reasons.items())),
            removed=statuses.get("removed", 0),
            lookups=lookups,
        )

    def files(self) -> list[Intaken]:
        """The files that brought records, or of which every record was refused, in the order in which they were added."""
        rows = self._db.execute(
            "SELECT i.file, i.format, i.time, i.kind, i.report, (SELECT count(*) FROM source s WHERE s.import = i.id) FROM import i ORDER BY i.id"
        )
        found = []
        for file, format_, time, kind, report, records in rows.fetchall():
            said = json.loads(report or "{}")
            read, refused = int(said.get("records", 0)), len(said.get("refused", ()))
            if records or (refused and not read):
                found.append(Intaken(file, format_, time, kind, records, refused))
        return found

    def decided(self) -> dict[str, int]:
        """How many decisions of a person count, by their kind; adding a file is none."""
        return dict(self._db.execute("SELECT kind, count(*) FROM decision WHERE undone = 0 AND kind <> 'add' GROUP BY kind ORDER BY kind").fetchall())

    def statuses(self) -> dict[str, int]:
        """How many papers have each status."""
        return dict(self._db.execute("SELECT status, count(*) FROM paper GROUP BY status ORDER BY status").fetchall())

    # -- texts, passages, vectors

    def texts(self, number: int) -> list[Text]:
        """The shown texts of a paper: title, abstract, then translations."""
        return texts.shown(self._db, number)

    def text(self, text: int) -> Text:
        """A text by its number, shown or not."""
        row = self._db.execute(
            "SELECT t.id, s.paper, t.role, t.language, t.characters FROM text t JOIN source s ON s.id = t.source WHERE t.id = ?", (text,)
        ).fetchone()
        return Text(*row)

    def is_shown(self, text: int) -> bool:
        """Whether a text is one that its paper shows."""
        row = self._db.execute("SELECT shown FROM text WHERE id = ?", (text,)).fetchone()
        return bool(row and row[0])

    def passages_of(self, numbers: Iterable[int]) -> dict[int, list[tuple[StoredPassage, str]]]:
        """The passages of papers with their characters, made at once where they are not stored yet."""
        found: dict[int, list[tuple[StoredPassage, str]]] = {}
        for number in numbers:
            shown = {text.id: text for text in texts.shown(self._db, number)}
            found[number] = [
                (StoredPassage(0, number, one.text, one.first, one.last), shown[one.text].run(one.first, one.last)) for one in texts.parted(shown.values())
            ]
        return found

    def passages(self) -> list[StoredPassage]:
        """The passages that are stored, those that have been embedded, in order of their own number."""
        return [StoredPassage(*row) for row in self._db.execute("SELECT id, paper, text, first, last FROM passage ORDER BY id")]

    def passage_count(self) -> int:
        """How many passages are stored."""
        return int(self._db.execute("SELECT count(*) FROM passage").fetchone()[0])

    def passage(self, number: int) -> StoredPassage:
        """A stored passage by its number."""
        return StoredPassage(*self._db.execute("SELECT id, paper, text, first, last FROM passage WHERE id = ?", (number,)).fetchone())

    def passage_text(self, passage: StoredPassage) -> str:
        """The characters of a passage, cut from its text."""
        return self.text(passage.text).run(passage.first, passage.last)

    def without_vector(self, languages: frozenset[str]) -> list[tuple[int, PassageText]]:
        """(paper, passage) of each passage in these languages that has no vector yet."""
        have = {
            (row[0], row[1], row[2]): row[3]
            for row in self._db.execute("SELECT p.text, p.first, p.last, p.digest FROM passage p JOIN vector v ON v.passage = p.id")
        }
        by_paper: dict[int, list[Text]] = {}
        rows = self._db.execute(
            "SELECT t.id, s.paper, t.role, t.language, t.characters FROM text t JOIN source s ON s.id = t.source"
            " JOIN paper p ON p.number = s.paper WHERE t.shown = 1 AND p.status <> 'removed' ORDER BY s.paper, t.id"
        )
        for row in rows:
            by_paper.setdefault(row[1], []).append(Text(*row))
        return [
            (number, one)
            for number, some in by_paper.items()
            for one in texts.parted(some)
            if one.language in languages and have.get((one.text, one.first, one.last)) != one.digest
        ]

    def add_vectors(self, embedder: str, vectors: Iterable[tuple[int, PassageText, bytes]]) -> None:
        """Stores passages of papers with their vectors; those of another embedder go, so that kinds never mix."""
        if self.meta("embedder") != embedder:
            self._db.execute("DELETE FROM vector")
            self._db.execute("DELETE FROM passage")
            self.note("embedder", embedder)
        for number, one, values in vectors:
            self._db.execute("DELETE FROM passage WHERE paper = ? AND text = ? AND first = ? AND last = ?", (number, one.text, one.first, one.last))
            passage = self._db.execute(
                "INSERT INTO passage (paper, text, first, last, digest) VALUES (?, ?, ?, ?, ?)", (number, one.text, one.first, one.last, one.digest)
            ).lastrowid
            self._db.execute("INSERT INTO vector VALUES (?, ?)", (passage, values))

    def vectors(self, embedder: str) -> Vectors:
        """The vectors of this embedder, held in memory until the library changes."""
        state = (embedder, self.database.state())
        if self._vectors is None or self._vectors[0] != state:
            self._vectors = (state, self._read_vectors(embedder))
        return self._vectors[1]

    def _read_vectors(self, embedder: str) -> Vectors:
        import numpy as np

        rows = []
        if self.meta("embedder") == embedder:
            rows = self._db.execute('SELECT p.id, p.paper, v."values" FROM vector v JOIN passage p ON p.id = v.passage ORDER BY p.paper, p.id').fetchall()
        width = len(rows[0][2]) // 2 if rows else 0
        packed = np.frombuffer(b"".join(row[2] for row in rows), dtype="<f2").reshape(len(rows), width)
        numbers = np.array([(row[0], row[1]) for row in rows], dtype=np.int64).reshape(len(rows), 2)
        return Vectors(numbers[:, 0].copy(), numbers[:, 1].copy(), packed.astype(np.float32))

    def vectors_of(self, papers: Iterable[int]) -> "list[tuple[int, int, NDArray[np.float32]]]":
        """(passage, paper, vector) of the passages of some papers."""
        return self._vectors_where("paper", papers)

    def vectors_of_passages(self, passages: Iterable[int]) -> "list[tuple[int, int, NDArray[np.float32]]]":
        """(passage, paper, vector) of some passages."""
        return self._vectors_where("id", passages)

    def _vectors_where(self, column: str, numbers: Iterable[int]) -> "list[tuple[int, int, NDArray[np.float32]]]":
        import numpy as np

        rows = self._db.execute(
            f'SELECT p.id, p.paper, v."values" FROM passage p JOIN vector v ON v.passage = p.id WHERE p.{column} IN {MEMBERS} ORDER BY p.id',
            (json.dumps(list(numbers)),),
        )
        return [(row[0], row[1], np.frombuffer(row[2], "<f2").astype(np.float32)) for row in rows]

    # -- keyword index

    def ranked(self, query: str, weights: Sequence[float], limit: int, members: Members | None = None) -> list[tuple[int, float]]:
        """(paper, BM25) for an FTS5 query, best first, among these members or all; higher is better."""
        columns = ", ".join(str(float(weight)) for weight in weights)
        # The sign keeps SQLite from looking each member up in the index of words.
        inside = f" AND +rowid IN (SELECT number FROM temp.{members.table})" if members else ""
        rows = self._db.execute(
            f"SELECT rowid, -bm25(words, {columns}) FROM words WHERE words MATCH ?{inside} ORDER BY 2 DESC, rowid LIMIT ?",
            (query, limit),
        )
        return [(row[0], row[1]) for row in rows]

    def holding(self, query: str) -> frozenset[int]:
        """The papers that an FTS5 query matches."""
        return frozenset(row[0] for row in self._db.execute("SELECT rowid FROM words WHERE words MATCH ?", (query,)))

    # -- what was read from papers

    def findings(self, task: str, name: str) -> dict[tuple[str, int], str]:
        """What a task read for a name, as JSON by item and paper."""
        rows = self._db.execute("SELECT item, paper, data FROM finding WHERE task = ? AND name = ?", (task, name))
        return {(row[0], row[1]): row[2] for row in rows}

    def finding_names(self, task: str) -> list[str]:
        """The names for which a task read anything, in order."""
        return [row[0] for row in self._db.execute("SELECT DISTINCT name FROM finding WHERE task = ? ORDER BY name", (task,))]

    def all_findings(self) -> Iterator[tuple[str, str, str, int, str]]:
        """(task, name, item, paper, JSON) of everything that was read, by task and name."""
        yield from self._db.execute("SELECT task, name, item, paper, data FROM finding ORDER BY task, name, item, paper")

    def keep_finding(self, task: str, name: str, item: str, paper: int, data: str) -> None:
        """Stores what was read for an item from a paper (0 for what belongs to none)."""
        self._db.execute("INSERT OR REPLACE INTO finding VALUES (?, ?, ?, ?, ?)", (task, name, item, paper, data))

    def drop_findings(self, task: str, name: str, item: str) -> None:
        """Forgets what was read for an item from all papers."""
        self._db.execute("DELETE FROM finding WHERE task = ? AND name = ? AND item = ?", (task, name, item))


def now() -> str:
    """The time as it is noted."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _paper(
    row: sqlite3.Row, aliases: Sequence[sqlite3.Row], tags: Sequence[sqlite3.Row], sources: Sequence[sqlite3.Row], texts_kept: Sequence[sqlite3.Row]
) -> Paper:
    record = kept.record(row["fields"] or sources[0]["fields"], [(text["role"], text["characters"]) for text in texts_kept if text["shown"]])
    return Paper(
        number=row["number"],
        key=row["key"],
        aliases=tuple(alias["key"] for alias in aliases if alias["key"] != row["key"]),
        title=record.title,
        abstract=record.abstract,
        authors=record.authors,
        author_count=record.author_count or len(record.authors) or None,
        organization=record.organization,
        date=record.date,
        date_inferred=record.date_inferred,
        venue=record.venue,
        entry_type=record.entry_type,
        language=record.language or "en",
        translations=record.translations,
        identifiers=record.identifiers,
        details=record.details,
        categories=record.categories,
        keywords=record.keywords,
        references=record.references,
        notices=record.notices,
        tags=tuple(tag["tag"] for tag in tags),
        status=row["status"],
        kind=row["kind"],
        sources=tuple(_source(source, texts_kept) for source in sources),
    )


def _source(row: sqlite3.Row, texts_kept: Sequence[sqlite3.Row]) -> Source:
    own = [text["characters"] for text in texts_kept if text["source"] == row["id"] and text["given"]]
    return Source(row["file"], row["format"], row["line"], row["time"], row["kind"], kept.inflated(row["raw"], row["fields"], own))
