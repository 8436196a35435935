"""XML files: their records one at a time, with line and raw text, in bounded memory and without trust.

Entities, external files and deep nesting are refused (defusedxml); a file that is cut off keeps the records before.
"""

import codecs
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

    def data(self, text: str) -> None:
        if self._builder is not None:
            self._builder.data(text)

    def close(self) -> None:
        """Nothing is left to return: records were handed out as they ended."""


def records(file: SourceFile, *names: str) -> Iterator[Found | Refused]:
    """Each element of these names, wherever it stands; raises UnreadableFile for a file that means harm."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser

    target = _Records(frozenset(names))
    parser = DefusedXMLParser(target=target, encoding="utf-8", forbid_dtd=False, forbid_entities=True, forbid_external=True)
    target.position = lambda: (parser.parser.CurrentByteIndex, parser.parser.CurrentLineNumber)
    kept, base = bytearray(), 0
    try:
        for block in _blocks(file):
            kept += block
            parser.feed(block)
            for element, line, start, end in target.done:
                stop = kept.find(b">", end - base) + 1
                yield Found(element, line, bytes(kept[start - base : min(stop, start - base + LONGEST_RAW)]).decode("utf-8", "replace"))
                del kept[: end - base]
                base = end
            target.done.clear()
            if len(kept) > LARGEST_RECORD:
                if target.open_line:
                    yield Refused(target.open_line, f"a record larger than {LARGEST_RECORD >> 20} MB; the rest of the file was not read")
                    return
                base += len(kept)
                kept.clear()
        parser.close()
    except ParseError as error:
        line = error.position[0]
        where = f", in the record that begins in line {target.open_line}" if target.open_line else ""
        yield Refused(target.open_line or line, f"the XML is cut off or broken in line {line}{where} ({str(error).split(':')[0]}); what stands before was read")
    except DefusedXmlException as error:
        raise UnreadableFile(
            f"{file.name}: it declares entities ({type(error).__name__}), which lists of papers do not need and attacks use; it was not read"
        ) from error
    except _TooDeep as error:
        raise UnreadableFile(f"{file.name}: elements are nested more than {DEEPEST} deep; no list of papers is") from error


def _blocks(file: SourceFile) -> Iterator[bytes]:
    """The file as UTF-8, whatever it is in: as it declares, or as it is told from its bytes."""
    declared = DECLARED.match(file.start[:200].removeprefix(codecs.BOM_UTF8))
    named = declared[1].decode("ascii").lower() if declared else "utf-8"
    try:
        decoder = codecs.getincrementaldecoder(named)("replace")
    except LookupError:
        decoder = None
    if decoder is None or named.replace("-", "").startswith(("utf", "usascii", "ucs")):
        yield from (line.encode("utf-8", "replace") for line in _joined(file.lines()))
        return
    with file.open() as stream:
        while block := stream.read(BLOCK):
            yield decoder.decode(block).encode("utf-8")


def _joined(lines: Iterator[str]) -> Iterator[str]:
    """Lines in blocks; their ends are put back."""
    some: list[str] = []
    size = 0
    for line in lines:
        some.append(line)
        size += len(line)
        if size > BLOCK:
            yield "\n".join(some) + "\n"
            some, size = [], 0
    yield "\n".join(some)


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
