"""Sources that are linked → papers: who belongs together is judged anew, and what is derived of a paper is renewed."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from store import decisions, kept
from store.database import Database
from store.duplicates import COMMONEST, Verdict, fingerprints, judged, linked
from store.keys import KeyRank, free_key, own_key
from store.keywords import indexed_words
from store.merging import merged
from store.paper import Kind, Record
from store.texts import passage_texts, stored_record


class Works:
    """Papers as works, inside a transaction of the caller's. `kept_keys` are keys that drafts use and that stay."""

    def __init__(self, database: Database, kept_keys: frozenset[str] = frozenset()) -> None:
        self._db = database.run
        self._kept_keys = kept_keys

    def settle(self, sources: Collection[int]) -> Verdict:
        """Judges anew which works these sources and all that are linked to them make up; papers follow the verdict."""
        records = self._component(sources)
        verdict = judged(records, decisions.links(self._db, records.keys()))
        before = self._papers_of(records)
        papers = {number for number in before.values() if number}
        for number in papers:
            self._unindex(number)
        groups = self._numbered(verdict.groups, before)
        self._db.executemany("UPDATE source SET reason = ? WHERE id = ?", [(reason, source) for source, reason in verdict.reasons.items()])
        marks = ",".join("?" * len(records))
        self._db.execute(f"DELETE FROM undecided WHERE source IN ({marks})", list(records))
        self._db.executemany("INSERT OR REPLACE INTO undecided VALUES (?, ?, ?)", verdict.undecided)
        own = {number: {source: own_key(records[source]) for source in sorted(group)} for number, group in sorted(groups.items())}
        for number, keys in own.items():
            for key in [*(key for key, _ in keys.values()), *(str(named.data["to"]) for named in decisions.of_paper(self._db, number, "rename"))]:
                self._give(key, number)
        # A key that went to another paper of these must be free before that one shows it.
        self._db.executemany(
            "UPDATE paper SET key = '?' || number WHERE number = ? AND NOT EXISTS (SELECT 1 FROM alias a WHERE a.key = paper.key AND a.paper = number)",
            [(number,) for number in own],
        )
        for number, keys in own.items():
            self._name(number, keys)
        for number in sorted(groups):
            self._renew(number)
        self._move_findings(groups.keys() | papers)
        return verdict

    def renew(self, number: int) -> None:
        """Everything derived of a paper, after a decision about it."""
        self._unindex(number)
        self._renew(number)

    def forget(self, sources: Collection[int], papers: Collection[int]) -> None:
        """Takes sources out of these papers, with their texts; a paper without a source is no more."""
        inside = "(SELECT value FROM json_each(?))"
        for number in papers:
            self._unindex(number)
        chosen, them = json.dumps(sorted(sources)), json.dumps(sorted(papers))
        self._db.execute("PRAGMA defer_foreign_keys=ON")
        self._db.execute(f"DELETE FROM passage WHERE paper IN {inside}", (them,))
        self._db.execute(f"DELETE FROM text WHERE source IN {inside}", (chosen,))
        self._db.execute(f"DELETE FROM undecided WHERE source IN {inside} OR other IN {inside}", (chosen, chosen))
        self._db.executemany("DELETE FROM fingerprint WHERE mark = ? AND source = ?", self._marks(sources))
        self._db.execute(f"DELETE FROM source WHERE id IN {inside}", (chosen,))
        self._db.execute(f"DELETE FROM paper WHERE number IN {inside} AND NOT EXISTS (SELECT 1 FROM source WHERE source.paper = number)", (them,))
        for number in papers:
            if self._db.execute("SELECT 1 FROM paper WHERE number = ?", (number,)).fetchone():
                self._renew(number)

    def _marks(self, sources: Collection[int]) -> list[tuple[int, int]]:
        rows = self._db.execute("SELECT mark, source FROM fingerprint WHERE source IN (SELECT value FROM json_each(?))", (json.dumps(sorted(sources)),))
        return [(row[0], row[1]) for row in rows]

    # -- which sources hang together

    def _component(self, sources: Collection[int]) -> dict[int, Record]:
        """The records of these sources and of all that are linked to them, by whatever way."""
        records: dict[int, Record] = {}
        marks_of: dict[int, frozenset[int]] = {}
        loose: dict[int, Record] = {}
        waiting = set(sources)
        while waiting:
            records |= {source: loose.pop(source) for source in waiting & loose.keys()}
            records |= self._records(waiting - records.keys())
            for source in waiting:
                marks_of[source] = frozenset(fingerprints(records[source]))
            beside = self._beside(waiting) | decisions.linked_sources(self._db, waiting)
            candidates = self._sharing({mark for source in waiting for mark in marks_of[source]})
            unknown = {source for shared in candidates.values() for source in shared} - records.keys() - loose.keys()
            loose |= self._records(unknown)
            found = {source for source in beside if source not in records}
            for source in waiting:
                for mark in marks_of[source]:
                    found |= {
                        other
                        for other in candidates.get(mark, ())
                        if other not in records and other not in found and linked(records[source], loose[other])
                    }
            waiting = found
        return records

    def _records(self, sources: Collection[int]) -> dict[int, Record]:
        if not sources:
            return {}
        chosen = json.dumps(sorted(sources))
        texts: dict[int, list[tuple[str, str]]] = defaultdict(list)
        inside = "(SELECT value FROM json_each(?))"
        for source, role, characters in self._db.execute(
            f"SELECT source, role, characters FROM text WHERE source IN {inside} AND given = 1 ORDER BY id", (chosen,)
        ):
            texts[source].append((role, characters))
        rows = self._db.execute(f"SELECT id, fields, line FROM source WHERE id IN {inside}", (chosen,))
        return {row["id"]: kept.record(row["fields"], texts[row["id"]], row["line"]) for row in rows}

    def _beside(self, sources: Collection[int]) -> set[int]:
        """The other sources of the papers that these belong to."""
        rows = self._db.execute(
            "SELECT id FROM source WHERE paper IN (SELECT paper FROM source WHERE paper > 0 AND id IN (SELECT value FROM json_each(?)))",
            (json.dumps(sorted(sources)),),
        )
        return {row[0] for row in rows}

    def _sharing(self, marks: Collection[int]) -> dict[int, list[int]]:
        """The sources that have each mark, where it is not too common to say anything."""
        shared: dict[int, list[int]] = defaultdict(list)
        for mark, source in self._db.execute(
            "SELECT mark, source FROM fingerprint WHERE mark IN (SELECT value FROM json_each(?))", (json.dumps(sorted(marks)),)
        ):
            shared[mark].append(source)
        return {mark: sources for mark, sources in shared.items() if 1 < len(sources) <= COMMONEST}

    # -- which paper a group of sources is

    def _papers_of(self, sources: Iterable[int]) -> dict[int, int]:
        rows = self._db.execute("SELECT id, paper FROM source WHERE id IN (SELECT value FROM json_each(?))", (json.dumps(sorted(sources)),))
        return {row[0]: row[1] for row in rows}

    def _numbered(self, groups: Sequence[Sequence[int]], before: dict[int, int]) -> dict[int, Sequence[int]]:
        """The paper of each group: that of its eldest source, if it was the eldest there; else a new one."""
        eldest: dict[int, int] = {}
        for source in sorted(before):
            eldest.setdefault(before[source], source)
        numbered: dict[int, Sequence[int]] = {}
        for group in groups:
            claimed = sorted({before[source] for source in group if before[source] and eldest[before[source]] == source})
            number = claimed[0] if claimed else self._new_number()
            for other in claimed[1:]:
                for table in ("alias", "finding"):
                    self._db.execute(f"UPDATE OR IGNORE {table} SET paper = ? WHERE paper = ?", (number, other))
            self._db.executemany("UPDATE source SET paper = ? WHERE id = ?", [(number, source) for source in group])
            numbered[number] = group
        for number in set(before.values()) - numbered.keys() - {0}:
            self._db.execute("DELETE FROM paper WHERE number = ?", (number,))
        return numbered

    def _new_number(self) -> int:
        """A paper that has nothing but a number yet."""
        number = self._db.execute("SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'paper'").fetchone()[0]
        self._db.execute(
            "INSERT INTO paper (number, key, chosen, kind, date, fields) VALUES (?, ?, 0, 'abstract', '', '')", (number, f"?{number}")
        )
        return int(number)

    def _move_findings(self, numbers: Collection[int]) -> None:
        """What was read from papers goes where the texts that it points at went; without anchors it goes with the elder."""
        inside = "(SELECT value FROM json_each(?))"
        rows = self._db.execute(
            f"SELECT task, name, item, paper, data FROM finding WHERE paper IN {inside}",
            (json.dumps(sorted(numbers)),),
        ).fetchall()
        for task, name, item, paper, data in rows:
            homes = self._homes_of(data)
            if len(homes) == 1 and homes != {paper}:
                self._db.execute(
                    "UPDATE OR IGNORE finding SET paper = ? WHERE task = ? AND name = ? AND item = ? AND paper = ?", (*homes, task, name, item, paper)
                )

    def _homes_of(self, data: str) -> set[int]:
        """The papers whose texts some stored finding points at."""
        rows = self._db.execute(
            "SELECT DISTINCT s.paper FROM json_tree(?) j JOIN text t ON t.id = j.value JOIN source s ON s.id = t.source WHERE j.key = 'anchor'", (data,)
        )
        return {row[0] for row in rows}

    def _name(self, number: int, own: dict[int, tuple[str, KeyRank]]) -> None:
        """The paper's key: what a person gave it, else the best of the keys that its records alone would have."""
        row = self._db.execute("SELECT key, chosen FROM paper WHERE number = ?", (number,)).fetchone()
        mine = {alias[0] for alias in self._db.execute("SELECT key FROM alias WHERE paper = ?", (number,))}
        present = row["key"] if row["key"] in mine else ""
        if (given := decisions.chosen_key(self._db, number)) and given in mine:
            self._db.execute("UPDATE paper SET key = ?, chosen = ? WHERE number = ?", (given, decisions.BY_PERSON, number))
            return
        if present and present in self._kept_keys:
            return
        best = max(rank for _, rank in own.values())
        wanted = sorted(key for key, rank in own.values() if rank is best)
        imported = best is KeyRank.IMPORTED
        if present and any(present == key or _is_variant(present, key) for key in wanted):
            key = present
        elif free := [key for key in (self._eldest(own, best), *wanted) if key in mine]:
            key = free[0]
        else:
            key = free_key(wanted[0], self._has_key)
            self._db.execute("INSERT INTO alias VALUES (?, ?)", (key, number))
        self._db.execute("UPDATE paper SET key = ?, chosen = ? WHERE number = ?", (key, int(imported), number))

    def _eldest(self, own: dict[int, tuple[str, KeyRank]], best: KeyRank) -> str:
        """The key of the first source that gave one so good: an imported key is not replaced by a later one."""
        return next(key for key, rank in own.values() if rank is best)

    def _give(self, key: str, number: int) -> None:
        """Makes a key name a paper, unless it names another that has a right to it."""
        row = self._db.execute("SELECT paper FROM alias WHERE key = ?", (key,)).fetchone()
        if row is None:
            self._db.execute("INSERT INTO alias VALUES (?, ?)", (key, number))
        elif row[0] != number and not self._has_right(key, row[0]):
            self._db.execute("UPDATE alias SET paper = ? WHERE key = ?", (number, key))

    def _has_right(self, key: str, number: int) -> bool:
        """Whether a paper has a source that gives it this key, or a person did."""
        row = self._db.execute("SELECT key FROM paper WHERE number = ?", (number,)).fetchone()
        if row and row["key"] == key and key in self._kept_keys:
            return True
        if any(decision.data["to"] == key for decision in decisions.of_paper(self._db, number, "rename")):
            return True
        sources = [source[0] for source in self._db.execute("SELECT id FROM source WHERE paper = ?", (number,))]
        return any(own_key(record)[0] == key for record in self._records(sources).values())

    def _has_key(self, key: str) -> bool:
        return self._db.execute("SELECT 1 FROM alias WHERE key = ?", (key,)).fetchone() is not None

    # -- what is derived of a paper

    def _renew(self, number: int) -> None:
        """Fields, texts, passages and words of a paper from its sources and what a person decided of it."""
        rows = self._db.execute(
            "SELECT s.id, i.kind FROM source s JOIN import i ON i.id = s.import WHERE s.paper = ? ORDER BY s.id", (number,)
        ).fetchall()
        records = self._records([row["id"] for row in rows])
        kinds: dict[int, Kind] = {row["id"]: row["kind"] for row in rows}
        whole, kind = merged([(records[source], kinds[source]) for source in sorted(records)])
        edited = decisions.edited(self._db, number, whole)
        self._db.execute("UPDATE paper SET status = ? WHERE number = ?", (decisions.status(self._db, number), number))
        self._db.execute("DELETE FROM tag WHERE paper = ?", (number,))
        self._db.executemany("INSERT INTO tag (paper, tag) VALUES (?, ?)", [(number, tag) for tag in decisions.tags(self._db, number)])
        alone = len(rows) == 1 and edited == whole
        fields = "" if alone else kept.fields_json(edited)
        self._db.execute("UPDATE paper SET kind = ?, date = ?, fields = ? WHERE number = ?", (kind, edited.date, fields, number))
        self._db.execute("DELETE FROM category WHERE paper = ?", (number,))
        self._db.executemany("INSERT OR IGNORE INTO category VALUES (?, ?)", [(code, number) for code in edited.categories])
        self._show_texts(number, edited)
        self._db.execute("INSERT INTO words (rowid, title, body, keywords) VALUES (?, ?, ?, ?)", (number, *indexed_words(edited)))
        self._part(number)

    def _unindex(self, number: int) -> None:
        """Takes a paper's words out of the keyword index, before anything of it changes."""
        if record := stored_record(self._db, number):
            words = indexed_words(record)
            self._db.execute("INSERT INTO words (words, rowid, title, body, keywords) VALUES ('delete', ?, ?, ?, ?)", (number, *words))

    def _show_texts(self, number: int, record: Record) -> None:
        """Exactly the texts of the merged record are shown; one that a person wrote stands with the eldest source."""
        rows = self._db.execute(
            "SELECT t.id, t.source, t.role, t.language, t.characters FROM text t JOIN source s ON s.id = t.source WHERE s.paper = ? ORDER BY t.id",
            (number,),
        ).fetchall()
        have = {(row["role"], row["characters"]): row["id"] for row in reversed(rows)}
        self._db.execute("UPDATE text SET shown = 0 WHERE shown = 1 AND source IN (SELECT id FROM source WHERE paper = ?)", (number,))
        eldest = self._db.execute("SELECT min(id) FROM source WHERE paper = ?", (number,)).fetchone()[0]
        for role, language, characters in kept.texts(record):
            if (role, characters) in have:
                self._db.execute("UPDATE text SET shown = 1 WHERE id = ?", (have[role, characters],))
            else:
                self._db.execute(
                    "INSERT INTO text (source, role, language, characters, given, shown) VALUES (?, ?, ?, ?, 0, 1)",
                    (eldest, role, language, characters),
                )

    def _part(self, number: int) -> None:
        """Passages that are no longer what is embedded go; those that are missing are made when they are embedded."""
        wanted = {(run.text, run.first, run.last): run.digest for run in passage_texts(self._db, number)}
        rows = self._db.execute(
            "SELECT id, text, first, last, digest FROM passage WHERE paper = ? OR text IN"
            " (SELECT t.id FROM text t JOIN source s ON s.id = t.source WHERE s.paper = ?)",
            (number, number),
        ).fetchall()
        for row in rows:
            if wanted.get((row["text"], row["first"], row["last"])) == row["digest"]:
                self._db.execute("UPDATE passage SET paper = ? WHERE id = ?", (number, row["id"]))
            else:
                self._db.execute("DELETE FROM passage WHERE id = ?", (row["id"],))


def _is_variant(key: str, base: str) -> bool:
    """Whether a key is another with the letters that a clash gave it."""
    return key.startswith(base) and len(key) <= len(base) + 2 and key[len(base) :].isalpha() and key[len(base) :].islower()
