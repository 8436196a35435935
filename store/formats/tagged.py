"""Files of `TAG value` lines: records cut out of them, with their line and raw text, one at a time.

RIS, MEDLINE, Web of Science and refer files differ in what a tag line looks like and where a record begins and ends;
a line without a tag goes on with the value above it. (rispy reads RIS too, but whole files, and keeps neither the line
nor the raw record.)
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from store.formats.file import SourceFile
from store.formats.reading import doi_in
from store.formats.text import clean, one_line
from store.paper import Record, Refused

MOST_LINES = 20_000
"""Lines of one record; above that its end is missing."""
ISSN = re.compile(r"\b\d{4}-?\d{3}[\dXx]\b")
ISBN = re.compile(r"\b(?:97[89][- ]?)?(?:\d[- ]?){9}[\dXx]\b")
PUBMED_LINK = re.compile(r"pubmed(?:\.ncbi\.nlm\.nih\.gov|/)/?(\d{5,9})|/pubmed/(\d{5,9})")


class Syntax(NamedTuple):
    """How tag lines look: `tag` matches one (groups: tag, value); a record begins at `first` and ends at `last`.

    Without `last` a record ends where the next begins, or (`blank_ends`) at a blank line.
    """

    tag: re.Pattern[str]
    first: str
    last: str = ""
    blank_ends: bool = False


@dataclass(slots=True)
class Entry:
    """One record: its tags with the lines of each value, in order."""

    line: int
    fields: list[tuple[str, list[str]]] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)

    def lines(self, *tags: str) -> list[str]:
        """Every value line of these tags that is not empty, tag by tag in the order asked for."""
        return [line.strip() for tag in tags for name, values in self.fields if name == tag for line in values if line.strip()]

    def values(self, *tags: str) -> list[str]:
        """Every value of these tags on one line, tag by tag in the order asked for."""
        found = (one_line(" ".join(values)) for tag in tags for name, values in self.fields if name == tag)
        return [value for value in found if value]

    def first(self, *tags: str) -> str:
        """The first value there is of these tags, in the order asked for."""
        return next(iter(self.values(*tags)), "")

    def text(self, *tags: str) -> str:
        """The first running text there is of these tags; hard line ends become spaces, blank lines stay paragraphs."""
        for tag in tags:
            parts = ["\n".join(line.strip() for line in values) for name, values in self.fields if name == tag]
            whole = clean("\n\n".join(part for part in parts if part.strip()))
            if whole:
                return re.sub(r"\n{2,}", "\n", re.sub(r"(?<!\n)\n(?!\n)", " ", whole))
        return ""


def entries(lines: Iterator[str], syntax: Syntax) -> Iterator[Entry | Refused]:
    """The records of a file, one at a time; what stands outside of records is passed over."""
    entry: Entry | None = None
    for number, line in enumerate(lines, 1):
        found = syntax.tag.match(line)
        tag = found[1] if found else ""
        if tag == syntax.first:
            if entry:
                yield entry
            entry = Entry(number)
        elif entry and ((syntax.last and tag == syntax.last) or (syntax.blank_ends and not line.strip())):
            yield entry
            entry = None
            continue
        if entry is None:
            continue
        entry.raw.append(line)
        if found:
            entry.fields.append((tag, [found[2] or ""]))
        elif entry.fields:
            entry.fields[-1][1].append(line)
        if len(entry.raw) > MOST_LINES:
            yield Refused(entry.line, f"a record of more than {MOST_LINES:,} lines: its end is missing")
            entry = None
    if entry:
        yield entry


def records(file: SourceFile, syntax: Syntax, record: Callable[[Entry], Record]) -> Iterator[Record | Refused]:
    """The papers of a file of this syntax, and in their place the records that cannot be read."""
    for entry in entries(file.lines(), syntax):
        yield entry if isinstance(entry, Refused) else record(entry)


def numbers(values: list[str]) -> dict[str, str]:
    """ISSN and ISBN among some values, told by their shape."""
    found: dict[str, str] = {}
    for value in values:
        if issn := ISSN.search(value):
            found.setdefault("issn", issn[0])
        elif isbn := ISBN.search(value):
            found.setdefault("isbn", isbn[0].strip())
    return found


def pages(start: str, end: str) -> str:
    """`12-34`, from first and last page or from what is such a run already."""
    return f"{start}-{end}" if start and end and "-" not in start and start != end else start or end


def first_doi(values: list[str]) -> str:
    """The first DOI that a value holds."""
    return next((doi for value in values if (doi := doi_in(value))), "")


def pmid_in(values: list[str]) -> str:
    """The PubMed number in a link to it."""
    found = next((link for value in values if (link := PUBMED_LINK.search(value))), None)
    return (found[1] or found[2]) if found else ""


def keyword_list(lines: list[str]) -> tuple[str, ...]:
    """Keywords, one a line or parted by semicolons, each once."""
    words = (one_line(word).lstrip("*").strip() for line in lines for word in line.split(";"))
    return tuple(dict.fromkeys(word for word in words if word))


def given(**values: str) -> dict[str, str]:
    """The values that are not empty."""
    return {name: value for name, value in values.items() if value}
