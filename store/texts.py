"""The texts a paper shows, cut into sentences and passages, as they are asked for."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

from store import kept, sentences
from store.paper import Record
from store.passages import passages
from store.sentences import Sentence

OF_PAPER = (
    "SELECT t.id, s.paper, t.role, t.language, t.characters FROM source s JOIN text t ON t.source = s.id"
    " WHERE s.paper = ? AND t.shown = 1 ORDER BY instr(t.role, ':') > 0, t.role DESC, t.id"
)


@dataclass(frozen=True)
class Text:
    """A text of a paper as stored. `role`: `title`, `abstract`, `title:zh`, `abstract:zh`."""

    id: int
    paper: int
    role: str
    language: str
    characters: str

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its sentences as positions, numbered from 1; a title is one."""
        if self.role.startswith("title"):
            return (Sentence(1, 0, len(self.characters)),)
        return tuple(sentences.cut(self.characters))

    def sentence(self, number: int) -> str:
        """The sentence of that number, cut from the stored characters; raises IndexError for a number it has not."""
        if not 1 <= number <= len(self.sentences):
            raise IndexError(f"text {self.id} has sentences 1 to {len(self.sentences)}, not {number}")
        _, start, end = self.sentences[number - 1]
        return self.characters[start:end]

    def run(self, first: int, last: int) -> str:
        """The characters from one sentence to another, both included."""
        return self.characters[self.sentences[first - 1].start : self.sentences[last - 1].end]


class PassageText(NamedTuple):
    """A run of sentences of a stored text, with what is embedded for it: the title in its language, then the sentences."""

    text: int
    language: str
    first: int
    last: int
    embedded: str

    @property
    def digest(self) -> bytes:
        """Names what is embedded."""
        return blake2b(self.embedded.encode("utf-8", "replace"), digest_size=16).digest()


def shown(database: sqlite3.Connection, number: int) -> list[Text]:
    """The shown texts of a paper: title, abstract, then translations."""
    return [Text(*row) for row in database.execute(OF_PAPER, (number,))]


def passage_texts(database: sqlite3.Connection, number: int) -> list[PassageText]:
    """The passages of a paper: those of its abstracts, or its title where there is no abstract."""
    return parted(shown(database, number))


def parted(texts: Iterable[Text]) -> list[PassageText]:
    """The passages of one paper's shown texts."""
    some = list(texts)
    titles = {text.language: text.characters for text in some if text.role.startswith("title")}
    found = [
        PassageText(text.id, text.language, run.first, run.last, _under(titles.get(text.language) or next(iter(titles.values()), ""), text, run.first, run.last))
        for text in some
        if text.role.startswith("abstract")
        for run in passages(text.sentences)
    ]
    return found or [PassageText(text.id, text.language, 1, 1, text.characters) for text in some if text.role == "title"]


def _under(title: str, text: Text, first: int, last: int) -> str:
    said = text.run(first, last)
    return f"{title}\n{said}" if title else said


def stored_record(database: sqlite3.Connection, number: int) -> Record | None:
    """A paper's record as it is shown and indexed now, without raw form; None where it has no fields yet."""
    row = database.execute("SELECT fields FROM paper WHERE number = ?", (number,)).fetchone()
    if row is None:
        return None
    fields = row[0] or database.execute("SELECT fields FROM source WHERE paper = ? ORDER BY id LIMIT 1", (number,)).fetchone()[0]
    texts = [(text.role, text.characters) for text in shown(database, number)]
    return kept.record(fields, texts)
