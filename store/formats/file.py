r"""A file as its reader sees it: decoded, lines ended by \n, whole or line by line, never more in memory than asked for."""

import codecs
import hashlib
import io
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from store.errors import UnreadableFile

LARGEST_WHOLE = 300 * 2**20
"""Bytes of a file that must be held whole (XML, BibTeX, a JSON array, a page); formats of lines have no such bound."""
LONGEST_LINE = 16 * 2**20
HEAD = 64 * 2**10
SAMPLE = 2**20
BLOCK = 2**20
NOTE = re.compile(r"\ufeff?[#%]\s*carrel:\s*source\s*=\s*note\s*$", re.MULTILINE)
LINE_BREAK = re.compile(r"\r\n?|\u2028|\u2029|\x85")
HAN_WORD = re.compile(r"[\u4e00-\u9fff]{2}")
BINARY = (b"%PDF-", b"\x89PNG", b"\xff\xd8\xff", b"SQLite format 3", b"\x1f\x8b", b"\x7fELF")
ZIP = b"PK\x03\x04"
MIXED = "carrel: cp1252 where it is not UTF-8"


def _western(error: UnicodeError) -> tuple[str, int]:
    """Bytes that are no UTF-8 in a file that mostly is: a bibliography of ten years has lines of both kinds."""
    assert isinstance(error, UnicodeDecodeError)  # registered for decoding alone
    return error.object[error.start : error.end].decode("cp1252", errors="replace"), error.end


codecs.register_error(MIXED, _western)


class SourceFile:
    """A file, or what was pasted (`data`). `name` is how reports call it."""

    def __init__(self, name: str, path: Path | None = None, data: bytes = b"") -> None:
        self.name = name
        self._path, self._data = path, data

    def open(self) -> io.BufferedReader:
        """Its bytes from the beginning; raises UnreadableFile."""
        try:
            return self._path.open("rb") if self._path else io.BufferedReader(io.BytesIO(self._data))
        except OSError as error:
            raise UnreadableFile(f"{self.name}: cannot be read ({error.strerror}); check the name and that you may read it") from error

    @property
    def suffix(self) -> str:
        """The end of its name in lower case: `.ris`; nothing for what was pasted."""
        return Path(self.name).suffix.lower()

    @cached_property
    def size(self) -> int:
        """Bytes."""
        return self._path.stat().st_size if self._path else len(self._data)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of its bytes: the same file again is known without being read."""
        with self.open() as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    @cached_property
    def start(self) -> bytes:
        """Its first bytes; raises UnreadableFile for a folder or what may not be read."""
        try:
            with self.open() as stream:
                return stream.read(SAMPLE)
        except OSError as error:
            raise UnreadableFile(f"{self.name}: cannot be read ({error.strerror}); check the name and that you may read it") from error

    @property
    def is_zip(self) -> bool:
        """Whether it is a zip archive, as .xlsx files are."""
        return self.start.startswith(ZIP)

    @cached_property
    def is_note(self) -> bool:
        """Whether a first line `# carrel: source=note` (or `%`) says that the texts are notes and not the authors' abstracts."""
        if self.is_zip:
            return False
        with self._decoded() as stream:
            return bool(NOTE.match(stream.readline(HEAD)))

    @cached_property
    def head(self) -> str:
        """The first 64 kB as text, by which its layout is found; raises UnreadableFile for an empty or binary file."""
        with self._decoded() as stream:
            return NOTE.sub("", _lined(stream.read(HEAD)), count=1) if self.is_note else _lined(stream.read(HEAD))

    @cached_property
    def whole(self) -> str:
        """All of its text; raises UnreadableFile when it is too large to be held."""
        if self.size > LARGEST_WHOLE:
            raise UnreadableFile(
                f"{self.name}: larger than {LARGEST_WHOLE >> 20} MB, and this layout must be read whole; split it, or save it as RIS, CSV or JSON Lines"
            )
        with self._decoded() as stream:
            return NOTE.sub("", _lined(stream.read()), count=1) if self.is_note else _lined(stream.read())

    def lines(self) -> Iterator[str]:
        """Its lines, one by one, without their ends; raises UnreadableFile for a line above 16 MB."""
        with self._decoded() as stream:
            number = 0
            while line := stream.readline(LONGEST_LINE):
                number += 1
                if len(line) >= LONGEST_LINE:
                    raise UnreadableFile(f"{self.name}:{number}: a line longer than {LONGEST_LINE >> 20} MB; this is no list of papers")
                yield "" if number == 1 and self.is_note else line.rstrip("\n")

    def blocks(self) -> Iterator[str]:
        """Its text in blocks, wherever lines end: for files that may stand on one line."""
        with self._decoded() as stream:
            while block := stream.read(BLOCK):
                yield block

    def _decoded(self) -> io.TextIOWrapper:
        encoding, errors = self._encoding
        return io.TextIOWrapper(self.open(), encoding, errors=errors, newline=None)

    @cached_property
    def _encoding(self) -> tuple[str, str]:
        """The encoding and how its faults are met; raises UnreadableFile for an empty or binary file."""
        start = self.start
        if not start.strip():
            raise UnreadableFile(f"{self.name}: the file is empty; expected a page, a digest or a bibliography of papers")
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            return self._whole_utf16("utf-16")
        if wide := _wide(start):
            return self._whole_utf16(wide)
        if start.startswith((*BINARY, ZIP)) or _looks_binary(start[:4096]):
            raise UnreadableFile(f"{self.name}: this is a binary file; expected a text file of papers (see `carrel add --help`)")
        if self._is_utf8():
            return "utf-8-sig", "strict"
        if _is_mostly_utf8(start):
            return "utf-8-sig", MIXED
        return ("gb18030", "replace") if _is_chinese(start) else ("cp1252", "replace")

    def _whole_utf16(self, encoding: str) -> tuple[str, str]:
        decoder = codecs.getincrementaldecoder(encoding)()
        read = 0
        try:
            with self.open() as stream:
                while block := stream.read(BLOCK):
                    decoder.decode(block)
                    read += len(block)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise UnreadableFile(
                f"{self.name}: not valid {encoding} at byte {read + error.start}; save it as UTF-8 and add it again"
            ) from error
        return encoding, "strict"

    def _is_utf8(self) -> bool:
        decoder = codecs.getincrementaldecoder("utf-8")()
        try:
            with self.open() as stream:
                while block := stream.read(BLOCK):
                    decoder.decode(block)
                decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
        return True


def _lined(text: str) -> str:
    return LINE_BREAK.sub("\n", text).lstrip("\ufeff")


def _wide(start: bytes) -> str:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    head = start[:400]
    if len(head) < 8 or head.count(0) < len(head) * 0.4:
        return ""
    return "utf-16-le" if head[1::2].count(0) > head[::2].count(0) else "utf-16-be"


def _looks_binary(head: bytes) -> bool:
    """Whether control bytes are more than a slip: a NUL in a field is dropped, a program is refused."""
    return sum(byte < 9 or 13 < byte < 32 for byte in head) > len(head) // 50


def _is_mostly_utf8(start: bytes) -> bool:
    """Whether most of what is not ASCII reads as UTF-8."""
    faults = start.decode("utf-8", errors="replace").count("\ufffd")
    marks = sum(byte >= 0xC2 for byte in start)
    return faults * 2 < marks


def _is_chinese(start: bytes) -> bool:
    """Whether the bytes read as Chinese; Latin letters with accents decode to lone characters, not to words."""
    try:
        text = codecs.getincrementaldecoder("gb18030")().decode(start)
    except UnicodeDecodeError:
        return False
    return bool(HAN_WORD.search(text))
