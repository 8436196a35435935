"""What a person changes: each change is a decision that later imports keep, and `undo` takes back the last command's."""

import json
from collections.abc import Sequence

from store import decisions
from store.catalog import Catalog
from store.decisions import BY_PERSON, Decision
from store.errors import BadDecision
from store.keys import SAFE
from store.paper import Record
from store.works import Works

STATUSES = ("candidate", "included", "excluded")
REMOVED = "removed"


class Curation:
    """Changes to a library's papers, each method one command: all of it or nothing."""

    def __init__(self, catalog: Catalog, kept_keys: frozenset[str] = frozenset()) -> None:
        self._catalog = catalog
        self._db = catalog.database.run
        self._works = Works(catalog.database, kept_keys)

    def edit(self, key: str, fields: Sequence[tuple[str, str]]) -> None:
        """Sets fields of a paper, or empties them, whatever its sources say now or later; raises BadDecision."""
        for field, value in fields:
            decisions.changed(Record(), field, value)
        with self._catalog.writing():
            number, step = self._catalog.number(key), decisions.next_step(self._db)
            for field, value in fields:
                self._decide(step, "edit", number, {"field": field, "value": value})
            self._works.renew(number)

    def set_status(self, keys: Sequence[str], status: str, reason: str = "") -> None:
        """Makes papers candidates, included, excluded for a reason, or removed; raises BadDecision for another word."""
        if status not in (*STATUSES, REMOVED):
            raise BadDecision(f"there is no status {status!r}; a paper is {', '.join(STATUSES[:-1])} or {STATUSES[-1]}")
        with self._catalog.writing():
            step = decisions.next_step(self._db)
            for number in self._numbers(keys):
                self._decide(step, "status", number, {"status": status, "reason": reason})
                self._works.renew(number)

    def rename(self, key: str, new: str) -> None:
        """Gives a paper another key; the old one goes on working. Raises BadDecision for one that is taken or cannot be."""
        if not new or SAFE.search(new):
            raise BadDecision(f"{new!r} cannot be a citation key; letters, digits and : _ . + / - can stand in one")
        with self._catalog.writing():
            number = self._catalog.number(key)
            owner = self._db.execute("SELECT paper FROM alias WHERE key = ?", (new,)).fetchone()
            if owner and owner[0] != number:
                raise BadDecision(f"the key {new!r} names another paper already; choose another, or `carrel merge` the two")
            row = self._db.execute("SELECT key, chosen FROM paper WHERE number = ?", (number,)).fetchone()
            data = {"from": row["key"], "to": new, "chosen": row["chosen"]}
            self._decide(decisions.next_step(self._db), "rename", number, data)
            self._db.execute("INSERT OR IGNORE INTO alias VALUES (?, ?)", (new, number))
            self._db.execute("UPDATE paper SET key = ?, chosen = ? WHERE number = ?", (new, BY_PERSON, number))

    def tag(self, keys: Sequence[str], tag: str, *, on: bool = True) -> None:
        """Puts a tag on papers, or takes it off."""
        if not tag.strip():
            raise BadDecision("a tag is a word or a few; this one is empty")
        with self._catalog.writing():
            step = decisions.next_step(self._db)
            for number in self._numbers(keys):
                has = self._db.execute("SELECT 1 FROM tag WHERE paper = ? AND tag = ?", (number, tag)).fetchone() is not None
                if has != on:
                    self._decide(step, "tag", number, {"tag": tag, "on": on})
                    self._works.renew(number)

    def note(self, key: str, text: str) -> None:
        """Keeps a person's note on a paper; it is shown with the paper and is no evidence."""
        with self._catalog.writing():
            self._decide(decisions.next_step(self._db), "note", self._catalog.number(key), {"text": text})

    def merge(self, one: str, other: str) -> None:
        """Makes two papers one, whatever contradicts it now or later; raises BadDecision when they are one already."""
        with self._catalog.writing():
            numbers = [self._catalog.number(key) for key in (one, other)]
            if numbers[0] == numbers[1]:
                raise BadDecision(f"{one} and {other} are one paper already")
            self._regroup("merge", numbers[0], [self._catalog.sources(number) for number in numbers])

    def split(self, key: str, leaving: Sequence[int] = ()) -> None:
        """Parts a paper: the sources `leaving` (numbered from 1, as `show` lists them) from the others, or each from each.

        No later import puts them together again. Raises BadDecision where there is nothing to part.
        """
        with self._catalog.writing():
            number = self._catalog.number(key)
            sources = self._catalog.sources(number)
            if len(sources) < 2:
                raise BadDecision(f"{key} has one source only, so there is nothing to split")
            wrong = [at for at in leaving if not 1 <= at <= len(sources)]
            if wrong or len(set(leaving)) == len(sources):
                raise BadDecision(f"{key} has the sources 1 to {len(sources)}; name some of them, not all")
            left = [sources[at - 1] for at in sorted(set(leaving))]
            groups = [[source for source in sources if source not in left], left] if left else [[source] for source in sources]
            self._regroup("split", number, groups)

    def _regroup(self, kind: str, number: int, groups: list[list[int]]) -> None:
        self._decide(decisions.next_step(self._db), kind, number, {"sources": groups})
        self._works.settle([source for group in groups for source in group])

    def undo(self) -> list[Decision]:
        """Takes back the last command that changed papers, an `add` too; its decisions, or nothing where there is none left.

        Raises BadDecision for an `add` on whose papers something rests that was read since.
        """
        with self._catalog.writing():
            undone = decisions.last(self._db)
            for decision in undone:
                decisions.undo(self._db, decision)
                self._take_back(decision)
        return undone

    def _take_back(self, decision: Decision) -> None:
        data, papers = decision.data, self._catalog.papers_of([decision.source])
        match decision.kind:
            case "edit" | "status" | "tag":
                self._works.renew(papers[0])
            case "rename":
                self._db.execute("UPDATE paper SET key = ?, chosen = ? WHERE number = ?", (data["from"], data["chosen"], papers[0]))
            case "merge" | "split":
                self._works.settle([source for group in decisions.groups(decision) for source in group])
            case "add":
                self._forget_import(int(str(data["import"])))

    def _forget_import(self, imported: int) -> None:
        """Takes the sources of an import out; what hangs together by others is judged anew."""
        sources = [row[0] for row in self._db.execute("SELECT id FROM source WHERE import = ?", (imported,))]
        chosen = json.dumps(sources)
        inside = "(SELECT value FROM json_each(?))"
        texts = {row[0] for row in self._db.execute(f"SELECT id FROM text WHERE source IN {inside}", (chosen,))}
        anchored = self._anchored()
        if texts & anchored:
            raise BadDecision("answers, tables or drafts rest on papers of that import; `carrel remove` takes single papers out")
        papers = {row[0] for row in self._db.execute(f"SELECT paper FROM source WHERE id IN {inside}", (chosen,))}
        beside = [
            row[0] for row in self._db.execute(f"SELECT id FROM source WHERE paper IN {inside} AND import <> ?", (json.dumps(sorted(papers)), imported))
        ]
        self._works.forget(sources, papers)
        self._db.execute("DELETE FROM import WHERE id = ?", (imported,))
        if beside:
            self._works.settle(beside)

    def _anchored(self) -> set[int]:
        """The texts that something read from papers points at."""
        rows = self._db.execute("SELECT DISTINCT j.value FROM finding f, json_tree(f.data) j WHERE j.key = 'anchor'")
        return {int(row[0]) for row in rows}

    def _numbers(self, keys: Sequence[str]) -> list[int]:
        return list(dict.fromkeys(self._catalog.number(key) for key in keys))

    def _decide(self, step: int, kind: str, number: int, data: dict[str, object]) -> None:
        """Notes a decision about a paper, by its eldest source."""
        decisions.decide(self._db, step, kind, self._catalog.sources(number)[0], data)
