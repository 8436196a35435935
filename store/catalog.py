"""SQLite: papers, sources, texts, sentences, passages and vectors; the truth that all else is rebuilt from."""

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from store import duplicates, sentences
from store.errors import LibraryBusy, LibraryNotFound, UnknownPaper
from store.keys import free_key, imported_key, made_up_key
from store.keywords import indexed_words
from store.paper import Kind, Paper, Record, Source, Translation
from store.passages import passages
from store.sentences import Sentence

SAFE_WAL = (3, 51, 3)
"""SQLite before this version can corrupt a write-ahead log when two connections write and checkpoint at once."""
BUSY_MS = 10_000


class Outcome(NamedTuple):
    """What became of a record: `new`, `merged` or `unchanged`, and which paper holds it."""

    became: str
    paper: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a paper as stored, with the positions of its sentences. `role`: `title`, `abstract`, `abstract:zh`."""

    id: int
    paper: int
    role: str
    language: str
    characters: str
    sentences: tuple[Sentence, ...]

    def sentence(self, number: int) -> str:
        """The sentence of that number, cut from the stored characters; raises IndexError for a number it has not."""
        if not 1 <= number <= len(self.sentences):
            raise IndexError(f"text {self.id} has sentences 1 to {len(self.sentences)}, not {number}")
        _, start, end = self.sentences[number - 1]
        return self.characters[start:end]


class StoredPassage(NamedTuple):
    """A passage with its own number, its paper's, and the digest that names its vector."""

    id: int
    paper: int
    text: int
    first: int
    last: int
    digest: str


class Catalog:
    """The library's SQLite file. Reads need no transaction; every write stands in `with catalog.writing():`."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        if not create and not path.exists():
            raise LibraryNotFound(f"{path.parent}: no library here (there is no {path.name}); make one with `carrel init`")
        self.path = path
        self._db = sqlite3.connect(path, timeout=BUSY_MS / 1000, isolation_level=None, check_same_thread=False)
        self._db.row_factory = sqlite3.Row
        journal = "WAL" if sqlite3.sqlite_version_info >= SAFE_WAL else "DELETE"
        for pragma in (f"journal_mode={journal}", "synchronous=FULL", "foreign_keys=ON", f"busy_timeout={BUSY_MS}"):
            self._db.execute(f"PRAGMA {pragma}")
        self._migrate()

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    # -- schema and transactions

    def _migrate(self) -> None:
        done = self._db.execute("PRAGMA user_version").fetchone()[0]
        steps = sorted((step for step in files("store").joinpath("migrations").iterdir() if step.name.endswith(".sql")), key=lambda step: step.name)
        if done > len(steps):
            raise LibraryNotFound(f"{self.path}: written by a newer Carrel (schema {done}); install that version to open it")
        if done == len(steps):
            return
        with self.writing():
            # Asked again inside: another process may have made the tables since.
            done = self._db.execute("PRAGMA user_version").fetchone()[0]
            for number, step in enumerate(steps[done:], done + 1):
                for statement in _statements(step.read_text("utf-8")):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={number}")

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction: all of it or nothing. Raises LibraryBusy when another process writes for over ten seconds."""
        holder = self.path.with_suffix(".writer")
        try:
            self._db.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            who = holder.read_text("utf-8") if holder.exists() else "another process"
            raise LibraryBusy(f"{self.path}: {who} is writing to it; run the command again when that is done") from error
        try:
            holder.write_text(f"process {os.getpid()}", "utf-8")
            yield
            self._db.execute("COMMIT")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        finally:
            holder.unlink(missing_ok=True)

    def meta(self, name: str) -> str:
        """A noted value, or nothing."""
        row = self._db.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def note(self, name: str, value: str) -> None:
        """Notes a value under a name."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    # -- records in

    def take(self, record: Record, *, file: str, format: str, kind: Kind, kept_keys: frozenset[str] = frozenset()) -> Outcome:  # noqa: A002  the record's word
        """Stores a record with the work it belongs to; `kept_keys` are made-up keys that drafts use and that stay."""
        data = _record_json(record)
        digest = hashlib.sha256(f"{kind}\n{_comparable(data)}".encode()).hexdigest()
        if row := self._db.execute("SELECT paper FROM source WHERE digest = ?", (digest,)).fetchone():
            return Outcome("unchanged", row[0])
        same = self._same_works(record)
        contradicting = self._contradicting(list(same))
        if len(same) > 1 and not contradicting:
            self._unite(list(same))
        number = min(same) if same and not contradicting else self._new_paper(record)
        reason = next(iter(same.values())) if same and not contradicting else ""
        source = self._db.execute(
            "INSERT INTO source (paper, file, format, line, time, kind, reason, record, digest) VALUES (?,?,?,?,?,?,?,?,?)",
            (number, file, format, record.line, datetime.now(UTC).isoformat(timespec="seconds"), kind, reason, data, digest),
        ).lastrowid
        self._alias(imported_key(record) or made_up_key(record), number)
        for other, why in same.items() if contradicting else ():
            self._db.execute("INSERT INTO undecided VALUES (?, ?, ?)", (source, other, why))
        self._rebuild(number, kept_keys)
        return Outcome("merged" if reason else "new", number, reason)

    def _same_works(self, record: Record) -> dict[int, str]:
        """The papers that this record is the same work as, each with the reason."""
        found: dict[int, str] = {}
        candidates: set[int] = set()
        for kind, value in duplicates.fingerprints(record):
            rows = self._db.execute("SELECT paper FROM fingerprint WHERE kind = ? AND value = ? LIMIT 200", (kind, value))
            candidates |= {row[0] for row in rows}
        for number in sorted(candidates):
            if reason := duplicates.same_work(record, self._merged(number)[0]):
                found[number] = reason
        return found

    def _contradicting(self, numbers: Sequence[int]) -> bool:
        records = [self._merged(number)[0] for number in numbers]
        return any(duplicates.contradict(a, b) for at, a in enumerate(records) for b in records[at + 1 :])

    def _new_paper(self, record: Record) -> int:
        key = free_key(imported_key(record) or made_up_key(record), self._has_key)
        number = self._db.execute(
            "INSERT INTO paper (key, imported, kind, date, fields) VALUES (?, ?, 'abstract', '', '{}')", (key, bool(record.key))
        ).lastrowid
        assert number is not None  # an INSERT has a row
        self._db.execute("INSERT INTO alias VALUES (?, ?)", (key, number))
        return number

    def _has_key(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM alias WHERE key = ?", (key,)).fetchone() is not None

    def _alias(self, key: str, number: int) -> None:
        """The key that this record alone would have: it names the paper too, so that aliases do not depend on order."""
        if not self._has_key(key):
            self._db.execute("INSERT INTO alias VALUES (?, ?)", (key, number))

    def _unite(self, numbers: list[int]) -> None:
        """A record that two papers share makes them one: the elder keeps its number, and all keys go on working."""
        elder, *others = sorted(numbers)
        for other in others:
            for table in ("source", "alias", "text", "finding", "tag"):
                self._db.execute(f"UPDATE OR IGNORE {table} SET paper = ? WHERE paper = ?", (elder, other))  # noqa: S608  fixed names
            self._db.execute("DELETE FROM words WHERE rowid = ?", (other,))
            self._db.execute("DELETE FROM paper WHERE number = ?", (other,))

    def _merged(self, number: int) -> tuple[Record, Kind]:
        rows = self._db.execute("SELECT record, kind FROM source WHERE paper = ? ORDER BY id", (number,)).fetchall()
        return duplicates.merged([(_record(row["record"]), row["kind"]) for row in rows])

    def _rebuild(self, number: int, kept_keys: frozenset[str]) -> None:
        """Everything derived of a paper's sources: fields, keys, fingerprints, texts, passages, keyword index."""
        record, kind = self._merged(number)
        self._rename(number, record, kept_keys)
        self._db.execute(
            "UPDATE paper SET kind = ?, date = ?, fields = ? WHERE number = ?", (kind, record.date, _record_json(record), number)
        )
        self._db.execute("DELETE FROM fingerprint WHERE paper = ?", (number,))
        self._db.executemany(
            "INSERT OR IGNORE INTO fingerprint VALUES (?, ?, ?)", [(*mark, number) for mark in duplicates.fingerprints(record)]
        )
        self._show_texts(number, record)
        self._part(number, record)
        self._db.execute("DELETE FROM words WHERE rowid = ?", (number,))
        self._db.execute("INSERT INTO words (rowid, title, body, keywords) VALUES (?, ?, ?, ?)", (number, *indexed_words(record)))

    def _rename(self, number: int, record: Record, kept_keys: frozenset[str]) -> None:
        """An imported key replaces one that was made up, a better made-up one an earlier; the old go on as aliases."""
        row = self._db.execute("SELECT key, imported FROM paper WHERE number = ?", (number,)).fetchone()
        wanted = imported_key(record) or made_up_key(record)
        if row["imported"] or row["key"] in kept_keys or (row["key"].startswith(wanted) and not record.key):
            wanted = row["key"]
        owner = self._db.execute("SELECT paper FROM alias WHERE key = ?", (wanted,)).fetchone()
        if owner is None or owner[0] != number:
            wanted = free_key(wanted, self._has_key)
            self._db.execute("INSERT INTO alias VALUES (?, ?)", (wanted, number))
        imported = bool(record.key) and row["key"] not in kept_keys
        self._db.execute("UPDATE paper SET key = ?, imported = ? WHERE number = ?", (wanted, imported, number))

    def _show_texts(self, number: int, record: Record) -> None:
        self._db.execute("UPDATE text SET shown = 0 WHERE paper = ?", (number,))
        for role, language, characters in _texts(replace(record, language=record.language or "en")):
            row = self._db.execute(
                "SELECT id FROM text WHERE paper = ? AND role = ? AND language = ? AND characters = ? ORDER BY id",
                (number, role, language, characters),
            ).fetchone()
            if row:
                self._db.execute("UPDATE text SET shown = 1 WHERE id = ?", (row[0],))
            else:
                self._new_text(number, role, language, characters)

    def _new_text(self, number: int, role: str, language: str, characters: str) -> None:
        text = self._db.execute(
            "INSERT INTO text (paper, role, language, characters, cutter, shown) VALUES (?, ?, ?, ?, ?, 1)",
            (number, role, language, characters, sentences.CUTTER),
        ).lastrowid
        whole = [Sentence(1, 0, len(characters))] if role == "title" else sentences.cut(characters)
        self._db.executemany("INSERT INTO sentence VALUES (?, ?, ?, ?)", [(text, *sentence) for sentence in whole])

    def _part(self, number: int, record: Record) -> None:
        """The passages of the shown abstracts; one that is as it was keeps its number, so the index need not change."""
        wanted = {
            (text.id, run.first, run.last): _digest(title_of(record, text.language), _run(text, run.first, run.last))
            for text in self.texts(number)
            if text.role.startswith("abstract")
            for run in passages(text.sentences)
        }
        rows = self._db.execute("SELECT * FROM passage WHERE paper = ?", (number,)).fetchall()
        have = {(row["text"], row["first"], row["last"]): row for row in rows}
        for place, row in have.items():
            if wanted.get(place) != row["digest"]:
                self._db.execute("DELETE FROM passage WHERE id = ?", (row["id"],))
        for place, digest in wanted.items():
            if place not in have or have[place]["digest"] != digest:
                self._db.execute(
                    "INSERT INTO passage (paper, text, first, last, digest) VALUES (?, ?, ?, ?, ?)", (number, *place, digest)
                )

    # -- papers out

    def count(self) -> int:
        """How many papers there are."""
        return int(self._db.execute("SELECT count(*) FROM paper").fetchone()[0])

    def number(self, key: str) -> int:
        """The paper that a key or alias names; raises UnknownPaper."""
        row = self._db.execute("SELECT paper FROM alias WHERE key = ?", (key,)).fetchone()
        if row is None:
            raise UnknownPaper(f"no paper has the key {key!r}; `carrel papers` lists the keys")
        return int(row[0])

    def papers(self, numbers: Iterable[int] | None = None) -> list[Paper]:
        """The papers of these numbers, or all, in order of key."""
        rows = self._db.execute("SELECT * FROM paper ORDER BY key").fetchall()
        wanted = None if numbers is None else set(numbers)
        chosen = [row for row in rows if wanted is None or row["number"] in wanted]
        alone = chosen[0]["number"] if len(chosen) == 1 else None
        aliases = self._by_paper("SELECT paper, key FROM alias", alone, "ORDER BY key")
        tags = self._by_paper("SELECT paper, tag FROM tag", alone, "ORDER BY tag")
        sources = self._by_paper("SELECT * FROM source", alone, "ORDER BY id")
        return [_paper(row, aliases, tags, sources) for row in chosen]

    def _by_paper(self, query: str, alone: int | None, order: str) -> dict[int, list[sqlite3.Row]]:
        """The rows of a query by paper; of one paper alone where only that is wanted."""
        where, values = ("WHERE paper = ?", (alone,)) if alone is not None else ("", ())
        by_paper: dict[int, list[sqlite3.Row]] = {}
        for row in self._db.execute(f"{query} {where} {order}", values):
            by_paper.setdefault(row["paper"], []).append(row)
        return by_paper

    def numbers(self, where: str, values: Sequence[str]) -> list[int]:
        """The numbers of the papers for which a condition holds, in order of key."""
        rows = self._db.execute(f"SELECT number FROM paper WHERE {where} ORDER BY key", values)  # noqa: S608  conditions are ours
        return [row[0] for row in rows]

    def reasons(self, number: int) -> list[str]:
        """For each source of a paper why it was merged into it; nothing for the first."""
        return [row[0] for row in self._db.execute("SELECT reason FROM source WHERE paper = ? ORDER BY id", (number,))]

    def undecided(self) -> list[tuple[str, str, str]]:
        """Pairs of keys whose papers may be one work but contradict another, with the reason."""
        rows = self._db.execute(
            "SELECT a.key, b.key, u.reason FROM undecided u JOIN source s ON s.id = u.source"
            " JOIN paper a ON a.number = s.paper JOIN paper b ON b.number = u.paper ORDER BY 1, 2"
        )
        return [(row[0], row[1], row[2]) for row in rows]

    # -- texts, passages, vectors out

    def texts(self, number: int) -> list[Text]:
        """The shown texts of a paper: title, abstract, then translations."""
        rows = self._db.execute(
            "SELECT * FROM text WHERE paper = ? AND shown = 1 ORDER BY instr(role, ':') > 0, role DESC, id", (number,)
        ).fetchall()
        return [self._text(row) for row in rows]

    def text(self, text: int) -> Text:
        """A text by its number, shown or not."""
        return self._text(self._db.execute("SELECT * FROM text WHERE id = ?", (text,)).fetchone())

    def _text(self, row: sqlite3.Row) -> Text:
        cuts = self._db.execute('SELECT number, start, "end" FROM sentence WHERE text = ? ORDER BY number', (row["id"],))
        whole = tuple(Sentence(*cut) for cut in cuts)
        return Text(row["id"], row["paper"], row["role"], row["language"], row["characters"], whole)

    def passages(self, numbers: Iterable[int] | None = None) -> list[StoredPassage]:
        """The passages of these papers, or of all, in order of their own number."""
        rows = self._db.execute("SELECT id, paper, text, first, last, digest FROM passage ORDER BY id")
        wanted = None if numbers is None else set(numbers)
        return [StoredPassage(*row) for row in rows if wanted is None or row["paper"] in wanted]

    def passage_text(self, passage: StoredPassage) -> str:
        """The characters of a passage, cut from its text."""
        return _run(self.text(passage.text), passage.first, passage.last)

    def without_vector(self, embedder: str, languages: frozenset[str]) -> list[tuple[str, str]]:
        """(digest, text to embed) of each passage in these languages that has no vector of this embedder."""
        rows = self._db.execute(
            "SELECT p.* FROM passage p JOIN text t ON t.id = p.text LEFT JOIN vector v ON v.digest = p.digest AND v.embedder = ?"
            " WHERE v.digest IS NULL GROUP BY p.digest ORDER BY p.id",
            (embedder,),
        ).fetchall()
        found = []
        for row in rows:
            text = self.text(row["text"])
            if text.language in languages:
                title = next((t for t in self.texts(row["paper"]) if t.role.startswith("title") and t.language == text.language), None)
                found.append((row["digest"], _embedded(title.characters if title else "", _run(text, row["first"], row["last"]))))
        return found

    def add_vectors(self, embedder: str, vectors: Iterable[tuple[str, bytes]]) -> None:
        """Stores vectors under the digests of what was embedded."""
        self._db.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?)", [(embedder, *pair) for pair in vectors])

    def vectors(self, embedder: str) -> list[tuple[int, int, bytes]]:
        """(passage, paper, vector) of each passage that has a vector of this embedder, in order of passage."""
        rows = self._db.execute(
            'SELECT p.id, p.paper, v."values" FROM passage p JOIN vector v ON v.digest = p.digest AND v.embedder = ? ORDER BY p.id',
            (embedder,),
        )
        return [(row[0], row[1], row[2]) for row in rows]

    # -- keyword index

    def ranked(self, query: str, weights: Sequence[float], limit: int) -> list[tuple[int, float]]:
        """(paper, BM25) for an FTS5 query, best first; higher is better."""
        columns = ", ".join(str(float(weight)) for weight in weights)
        rows = self._db.execute(
            f"SELECT rowid, -bm25(words, {columns}) FROM words WHERE words MATCH ? ORDER BY 2 DESC, rowid LIMIT ?",  # noqa: S608  numbers
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

    def keep_finding(self, task: str, name: str, item: str, paper: int, data: str) -> None:
        """Stores what was read for an item from a paper (0 for what belongs to none)."""
        self._db.execute("INSERT OR REPLACE INTO finding VALUES (?, ?, ?, ?, ?)", (task, name, item, paper, data))

    def drop_findings(self, task: str, name: str, item: str) -> None:
        """Forgets what was read for an item from all papers."""
        self._db.execute("DELETE FROM finding WHERE task = ? AND name = ? AND item = ?", (task, name, item))


def title_of(record: Record, language: str) -> str:
    """The title in a language, or the original one."""
    translation = record.translations.get(language)
    return translation.title if translation and translation.title else record.title


def _texts(record: Record) -> Iterator[tuple[str, str, str]]:
    """(role, language, characters) of each text that a record shows."""
    yield from (
        (role, record.language, characters) for role, characters in (("title", record.title), ("abstract", record.abstract)) if characters
    )
    for language, translation in record.translations.items():
        if translation.title:
            yield f"title:{language}", language, translation.title
        if translation.abstract:
            yield f"abstract:{language}", language, translation.abstract


def _run(text: Text, first: int, last: int) -> str:
    return text.characters[text.sentences[first - 1].start : text.sentences[last - 1].end]


def _embedded(title: str, passage: str) -> str:
    return f"{title}\n{passage}" if title else passage


def _digest(title: str, passage: str) -> str:
    return hashlib.sha256(_embedded(title, passage).encode()).hexdigest()


def _record_json(record: Record) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, sort_keys=True)


def _comparable(data: str) -> str:
    """A record as JSON without where it stood: the same entry on another line is the same."""
    fields = json.loads(data)
    return json.dumps({name: value for name, value in fields.items() if name not in {"line", "raw"}}, ensure_ascii=False, sort_keys=True)


def _record(data: str) -> Record:
    fields = json.loads(data)
    lists = {name: tuple(fields[name]) for name in ("authors", "categories", "keywords")}
    translations = {code: Translation(**pair) for code, pair in fields["translations"].items()}
    return replace(Record(), **{**fields, **lists, "translations": translations})


def _paper(
    row: sqlite3.Row, aliases: dict[int, list[sqlite3.Row]], tags: dict[int, list[sqlite3.Row]], sources: dict[int, list[sqlite3.Row]]
) -> Paper:
    record, number = _record(row["fields"]), row["number"]
    return Paper(
        number=number,
        key=row["key"],
        aliases=tuple(alias["key"] for alias in aliases.get(number, ()) if alias["key"] != row["key"]),
        title=record.title,
        abstract=record.abstract,
        authors=record.authors,
        author_count=record.author_count or len(record.authors) or None,
        organization=record.organization,
        date=record.date,
        date_inferred=record.date_inferred,
        venue=record.venue,
        entry_type=record.entry_type,
        language=record.language,
        translations=record.translations,
        identifiers=record.identifiers,
        categories=record.categories,
        keywords=record.keywords,
        tags=tuple(tag["tag"] for tag in tags.get(number, ())),
        status=row["status"],
        kind=row["kind"],
        sources=tuple(_source(source) for source in sources.get(number, ())),
    )


def _source(row: sqlite3.Row) -> Source:
    raw = json.loads(row["record"])["raw"]
    return Source(row["file"], row["format"], row["line"], row["time"], row["kind"], raw)


def _statements(script: str) -> Iterator[str]:
    """The statements of a migration; its comments hold no semicolon."""
    return (statement for part in script.split(";\n") if (statement := part.strip()))
