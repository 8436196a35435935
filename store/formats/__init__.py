"""A file → the papers it holds. The layout is found by content; a new one is a module here and a line in READERS."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from store.errors import UnreadableFile
from store.formats import abstract_links, bibtex, daily_papers, keyword_digest
from store.formats.reading import Reading
from store.formats.text import decoded


class Reader(Protocol):
    """A module that knows one layout."""

    def matches(self, text: str) -> bool: ...

    def read(self, text: str, year: int | None = None) -> Reading: ...


READERS: tuple[Reader, ...] = (keyword_digest, daily_papers, bibtex, abstract_links)
"""In the order in which they are asked: the most telling layouts first."""

EXPECTED = (
    "expected a Daily Papers page, an arXiv keyword digest, abstracts each followed by a link, or a BibTeX file"
)
NOTE = re.compile(r"[#%]\s*carrel:\s*source\s*=\s*note\s*")
LARGEST = 200 * 2**20


def read_file(path: Path, year: int | None = None) -> Reading:
    """What a file holds; raises UnreadableFile when there is nothing in it to import."""
    try:
        if path.stat().st_size > LARGEST:
            raise UnreadableFile(f"{path}: larger than 200 MB; split it and add the parts")
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path}: cannot be read ({error.strerror}); {EXPECTED}") from error
    return read_bytes(data, str(path), year)


def read_bytes(data: bytes, name: str, year: int | None = None) -> Reading:
    """What the bytes hold, whatever their layout; `year` dates a page that prints none for its own year.

    A first line `# carrel: source=note` (or `%`) says that the texts are somebody's notes on the papers and not the
    authors' abstracts.
    """
    text = decoded(data, name)
    first, _, rest = text.partition("\n")
    is_note = bool(NOTE.fullmatch(first.strip()))
    text = "\n" + rest if is_note else text
    reader = next((reader for reader in READERS if reader.matches(text)), None)
    if reader is None:
        raise UnreadableFile(f"{name}: no known layout; {EXPECTED}")
    reading = reader.read(text, year)
    if not reading.records and not reading.refused:
        raise UnreadableFile(f"{name}: looks like {reading.format}, but holds no paper; {EXPECTED}")
    return replace(reading, kind="note") if is_note else reading
