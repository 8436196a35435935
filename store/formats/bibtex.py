"""BibTeX: entries with the researcher's own keys, accents decoded, mathematics kept."""

import logging
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from store.formats.file import SourceFile
from store.formats.reading import ARXIV_ID, Options, arxiv_identifiers, in_order
from store.formats.text import clean
from store.paper import Record, Refused

if TYPE_CHECKING:
    from bibtexparser.library import Library
    from bibtexparser.model import Entry, ParsingFailedBlock

NAME = "bibtex"
ENTRY = re.compile(r"^\s*@\s*(\w+)\s*[{(]", re.MULTILINE)
NOT_A_PAPER = frozenset({"comment", "string", "preamble"})
MATH = re.compile(r"((?<!\\)\$[^$]+(?<!\\)\$|\\\(.+?\\\))", re.DOTALL)
BARE_PERCENT = re.compile(r"(?<!\\)%")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
VENUE = ("journal", "journaltitle", "booktitle", "series", "school", "institution", "publisher")


def matches(file: SourceFile) -> bool:
    """Whether the text holds an entry other than a comment or a string."""
    text = file.head
    return any(found[1].lower() not in NOT_A_PAPER for found in ENTRY.finditer(text))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every entry under its own key; a broken or repeated one is reported with its line."""
    text = file.whole
    library = _parsed(text)
    records = tuple(_record(entry) for entry in library.entries)
    refused = tuple(
        Refused((block.start_line or 0) + 1, _reason(block))
        for block in library.failed_blocks
    )
    return in_order(records, refused)


def _reason(block: "ParsingFailedBlock") -> str:
    from bibtexparser.model import DuplicateBlockKeyBlock

    if isinstance(block, DuplicateBlockKeyBlock):
        return f"the key {block.key!r} is used before; give the entry its own"
    return f"not a whole BibTeX entry: {(str(block.error).splitlines() or ['a brace or quote is not closed'])[0]}"


def _parsed(text: str) -> "Library":
    from bibtexparser.entrypoint import parse_string

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what it could not read stands in failed_blocks
    return parse_string(text)


def _record(entry: "Entry") -> Record:
    fields = {field.key.lower(): " ".join(str(field.value).split()) for field in entry.fields}
    return Record(
        key=entry.key.strip(),
        entry_type=entry.entry_type.lower(),
        title=clean(decoded(fields.get("title", ""))),
        abstract=clean(decoded(fields.get("abstract", ""))),
        authors=_authors(fields.get("author", "")),
        date=_date(fields),
        venue=clean(decoded(next((fields[name] for name in VENUE if fields.get(name)), ""))),
        organization=clean(decoded(fields.get("organization", ""))),
        identifiers=_identifiers(fields),
        categories=tuple(fields.get("primaryclass", "").split()),
        keywords=tuple(word.strip() for word in re.split(r"[;,]", decoded(fields.get("keywords", ""))) if word.strip()),
        line=(entry.start_line or 0) + 1,
        raw=entry.raw or "",
    )


def decoded(value: str) -> str:
    """A field without its protecting braces, accents as letters, and mathematics and unknown commands as they stood."""
    if not any(mark in value for mark in "\\{}~"):
        return value
    return "".join(part if MATH.fullmatch(part) else _letters(part) for part in MATH.split(value))


def _letters(part: str) -> str:
    from pylatexenc.latex2text import LatexNodes2Text

    whole = BARE_PERCENT.sub(r"\\%", part)  # in a field it is a sign, and begins no comment
    return str(LatexNodes2Text(keep_comments=True, math_mode="verbatim", strict_latex_spaces=True).latex_to_text(whole))


def _authors(field: str) -> tuple[str, ...]:
    names = (_name(name) for name in _parted(field) if name.strip() not in {"", "others"})
    return tuple(clean(decoded(name)) for name in names)


def _parted(field: str) -> list[str]:
    """A name list parted at each ` and ` that no braces protect."""
    parts, depth, start = [], 0, 0
    for found in re.finditer(r"[{}]|\s+and\s+", field):
        if found[0] in "{}":
            depth += 1 if found[0] == "{" else -1
        elif depth == 0:
            parts.append(field[start : found.start()])
            start = found.end()
    return [*parts, field[start:]]


def _name(name: str) -> str:
    """`Family, Given` and `Family, Jr, Given` as they are printed; braces keep a corporate name whole."""
    if _is_one_group(name.strip()):
        return name.strip()
    parts = [part.strip() for part in name.split(",")]
    return " ".join([*parts[2:], parts[0], parts[1]]) if len(parts) > 2 else " ".join(reversed(parts))


def _is_one_group(name: str) -> bool:
    """Whether the brace that opens a name is closed by the one that ends it: `{The ATLAS Collaboration}`."""
    depth = 0
    for at, char in enumerate(name):
        depth += (char == "{") - (char == "}")
        if depth == 0:
            return at > 0 and at == len(name) - 1
    return False


def _date(fields: dict[str, str]) -> str:
    if re.fullmatch(r"\d{4}(-\d{2}){0,2}", fields.get("date", "")):
        return fields["date"]
    year = re.search(r"\d{4}", fields.get("year", "") or fields.get("date", ""))
    if not year:
        return ""
    month = fields.get("month", "").strip("{}").lower()
    number = MONTHS.index(month[:3]) + 1 if month[:3] in MONTHS else int(month) if month.isdigit() else 0
    return f"{year[0]}-{number:02}" if 1 <= number <= 12 else year[0]


def _identifiers(fields: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    doi = re.search(r"10\.\d{4,9}/\S+", fields.get("doi", "").replace("\\_", "_"))
    if doi:
        found["doi"] = doi[0].rstrip("}.").lower()
    eprint = re.sub(r"^arxiv:\s*|v\d+$", "", fields.get("eprint", ""), flags=re.IGNORECASE)
    if "arxiv" in fields.get("archiveprefix", fields.get("eprinttype", "arxiv")).lower() and ARXIV_ID.fullmatch(eprint):
        found["arxiv"] = eprint
    found |= arxiv_identifiers(fields.get("url", "")) if "arxiv" not in found else {}
    return found | ({"url": fields["url"]} if fields.get("url") else {})
