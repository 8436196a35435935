"""XML files: their records one at a time, with line and raw text, in bounded memory and without trust.

Entities, external files and deep nesting are refused (defusedxml); a broken record is reported, the others are read.
"""

import codecs
import itertools
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, TreeBuilder

from store.errors import UnreadableFile
from store.formats.file import SourceFile
from store.formats.text import clean
from store.paper import Refused

BLOCK = 2**16
DEEPEST = 200
LONGEST_RAW = 100_000
LARGEST_RECORD = 20 * 2**20
DECLARED = re.compile(rb"""^\s*<\?xml[^>]*encoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
SPACE = re.compile(r"\s+")
FORBIDDEN = re.compile(
    rb"[\x00-\x08\x0b\x0c\x0e-\x1f]|&#(?:x0*(?:[0-8bcef]|1[0-9a-f]|d[89a-f][0-9a-f]{2});|0*(?:[0-8]|1[124-9]|2[0-9]|3[01]);)", re.IGNORECASE
)
"""Control characters and references to them (or to surrogates), which no XML may hold."""
BEFORE_ROOT = re.compile(rb"[^<]*(?:<\?xml[^>]*\?>)?")
PREFIX = re.compile(rb"""xmlns:[\w.-]+\s*=\s*["'][^"'<>&]*["']""")


class Found(NamedTuple):
    """A record's element, the line where it begins, and its text as it stood in the file."""

    element: Element
    line: int
    raw: str


class _TooDeep(Exception):
    """Elements inside elements beyond any record."""


class _Records:
    """What the parser calls: it builds only the wanted elements, so nothing else is held."""

    def __init__(self, wanted: frozenset[str]) -> None:
        self.wanted = wanted
        self.done: list[tuple[Element, int, int, int]] = []
        self.position: Callable[[], tuple[int, int]] = lambda: (0, 0)
        self.open_line = 0
        self._builder: TreeBuilder | None = None
        self._inside = self._depth = 0
        self._began = (0, 0)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > DEEPEST:
            raise _TooDeep
        name = local(tag)
        if self._builder is None and name in self.wanted:
            self._builder, self._inside, self._began = TreeBuilder(), 0, self.position()
            self.open_line = self._began[1]
        if self._builder is not None:
            self._inside += 1
            self._builder.start(name, attributes)

    def end(self, tag: str) -> None:
        self._depth -= 1
        if self._builder is None:
            return
        self._builder.end(local(tag))
        self._inside -= 1
        if self._inside == 0:
            self.done.append((self._builder.close(), self._began[1], self._began[0], self.position()[0]))
            self._builder, self.open_line = None, 0

    @property
    def began(self) -> int:
        """The byte where the record begins that was opened last."""
        return self._began[0]

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def close(self) -> None:
        """Nothing is left to return: records were handed out as they ended."""


def records(file: SourceFile, *names: str) -> Iterator[Found | Refused]:
    """Each element of these names, wherever it stands; after a broken one it goes on at the next.

    Raises UnreadableFile for a file that means harm.
    """
    from defusedxml.common import DefusedXmlException

    blocks, rest, line = _cleaned(_blocks(file)), b"", 1
    opening = re.compile(rb"<(?:[\w.-]+:)?(?:" + "|".join(names).encode() + rb")[\s>]")
    root = b""
    try:
        while True:
            parsed = _Parsed(frozenset(names), line, root)
            try:
                for block in itertools.chain([rest] if rest else [], blocks):
                    root = root or _root(block)
                    parsed.feed(block)
                    yield from parsed.handed_out()
                    if parsed.too_large:
                        yield Refused(
                            parsed.open_line, f"a record larger than {LARGEST_RECORD >> 20} MB; the rest of the file was not read"
                        )
                        return
                parsed.close()
                yield from parsed.handed_out()
            except ParseError as error:
                yield from parsed.handed_out()
                if parsed.open_line or not parsed.resumed:
                    yield Refused(parsed.open_line or parsed.line_of(error), _broken(parsed, error))
                rest, line = _from_next(opening, *parsed.after(error), blocks)
            else:
                return
            if not rest:
                return
    except DefusedXmlException as error:
        raise UnreadableFile(
            f"{file.name}: it declares entities ({type(error).__name__}), which lists of papers do not need and attacks use; it was not read"
        ) from error
    except _TooDeep as error:
        raise UnreadableFile(f"{file.name}: elements are nested more than {DEEPEST} deep; no list of papers is") from error


class _Parsed:
    """A parser, the bytes of the record it is in, and where in the file they stood."""

    def __init__(self, wanted: frozenset[str], line: int, root: bytes) -> None:
        from defusedxml.ElementTree import DefusedXMLParser

        self.resumed = bool(root)
        self._target = _Records(wanted)
        self._parser = DefusedXMLParser(target=self._target, encoding="utf-8", forbid_dtd=False, forbid_entities=True, forbid_external=True)
        self._target.position = lambda: (self._parser.parser.CurrentByteIndex, self._parser.parser.CurrentLineNumber)
        self._kept, self._base, self._line = bytearray(), 0, line
        if self.resumed:
            self.feed(root)

    def feed(self, block: bytes) -> None:
        """Read on; raises ParseError."""
        self._kept += block
        self._parser.feed(block)

    def close(self) -> None:
        """Nothing more comes; raises ParseError where something is open."""
        self._parser.close()

    def handed_out(self) -> Iterator[Found]:
        """The records that have ended since the last time; bytes that no record needs are let go."""
        kept = self._kept
        for element, line, start, end in self._target.done:
            stop = kept.find(b">", end - self._base) + 1
            raw = bytes(kept[start - self._base : min(stop, start - self._base + LONGEST_RAW)]).decode("utf-8", "replace")
            yield Found(element, line + self._line - 1, raw)
            del kept[: end - self._base]
            self._base = end
        self._target.done.clear()
        if len(kept) > LARGEST_RECORD and not self.open_line:
            self._base += len(kept)
            kept.clear()

    @property
    def open_line(self) -> int:
        """The line of the record that has begun and not ended, or 0."""
        return self._target.open_line and self._target.open_line + self._line - 1

    @property
    def too_large(self) -> bool:
        return len(self._kept) > LARGEST_RECORD

    def line_of(self, error: ParseError) -> int:
        """The file's line that broke."""
        return error.position[0] + self._line - 1

    def after(self, error: ParseError) -> tuple[bytes, int]:
        """What has been fed behind the beginning of the broken record (or behind the error outside of one), and its first line."""
        start = self._target.began if self.open_line else self._parser.parser.ErrorByteIndex
        return bytes(self._kept[max(start - self._base, 0) :]), self.open_line or self.line_of(error)


def _from_next(opening: re.Pattern[bytes], rest: bytes, line: int, blocks: Iterator[bytes]) -> tuple[bytes, int]:
    """From where the next record opens, and its line; empty when none does."""
    while True:
        if found := opening.search(rest, 1):
            return rest[found.start() :], line + rest.count(b"\n", 0, found.start())
        line += rest.count(b"\n", 0, max(len(rest) - 100, 0))
        tail = rest[-100:]
        rest = next(blocks, b"")
        if not rest:
            return b"", line
        rest = tail + rest


def _root(block: bytes) -> bytes:
    """An element to go on in after an error, that knows the prefixes of the file's first lines."""
    return b"<x " + b" ".join(dict.fromkeys(PREFIX.findall(block[:BLOCK]))) + b">"


def _broken(parsed: _Parsed, error: ParseError) -> str:
    line, inside = parsed.line_of(error), parsed.open_line
    where = f", in the record that begins in line {inside}" if inside else ""
    return f"the XML is cut off or broken in line {line}{where} ({str(error).split(':')[0]}); the records before and behind were read"


def _cleaned(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Without what XML forbids and reference managers write (control characters), and without what stands before the root.

    The declaration goes too, as the text has been decoded; line ends stay, so that lines can be counted.
    """
    first, carried = True, b""
    for block in blocks:
        block = carried + block
        if first and block.strip():
            head = BEFORE_ROOT.match(block)
            block = b"\n" * head[0].count(b"\n") + block[head.end() :] if head else block
            first = False
        cut = block.rfind(b"&", max(len(block) - 12, 0))
        carried, block = (block[cut:], block[:cut]) if cut >= 0 else (b"", block)
        yield FORBIDDEN.sub(b" ", block)
    yield FORBIDDEN.sub(b" ", carried)


def _blocks(file: SourceFile) -> Iterator[bytes]:
    """The file as UTF-8, whatever it is in: as it declares, or as it is told from its bytes."""
    declared = DECLARED.match(file.start[:200].removeprefix(codecs.BOM_UTF8))
    named = declared[1].decode("ascii").lower() if declared else "utf-8"
    if named.replace("-", "").startswith(("utf", "usascii", "ucs")) or not _is_text(named):
        yield from (block.encode("utf-8", "replace") for block in file.blocks())
        return
    decoder = codecs.getincrementaldecoder(named)("replace")
    with file.open() as stream:
        while block := stream.read(BLOCK):
            yield decoder.decode(block).encode("utf-8")


def _is_text(codec: str) -> bool:
    """Whether it is a codec for text; Python also knows `zlib`, `idna` and others."""
    try:
        return b"<?xml".decode(codec, "replace") == "<?xml"
    except (LookupError, ValueError):
        return False


def local(tag: str) -> str:
    """An element's name without its namespace."""
    return tag.rpartition("}")[2]


def text_of(element: Element | None) -> str:
    """All text inside an element on one line, markup such as <i> and <sup> dropped."""
    return "" if element is None else SPACE.sub(" ", clean("".join(element.itertext()))).strip()


def text_at(element: Element, path: str) -> str:
    """The text of the first element on a path inside."""
    return text_of(element.find(path))


def texts_at(element: Element, path: str) -> list[str]:
    """The texts, where there are any, of all elements on a path inside."""
    return [text for found in element.iterfind(path) if (text := text_of(found))]
