"""BibTeX and biblatex: entries with the researcher's own keys, accents decoded, mathematics kept.

The file is parsed in runs of some hundred entries. An entry that inherits fields (`crossref`, `xdata`) from a later one
waits for it; entries that only lend fields are no papers.
"""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_id, arxiv_identifiers, doi_in, iso_date
from store.formats.tagged import given
from store.formats.text import clean
from store.language import language_code
from store.paper import Record, Refused

if TYPE_CHECKING:
    from bibtexparser.library import Library
    from bibtexparser.model import Block, Entry
    from pylatexenc.latex2text import LatexNodes2Text

NAME = "bibtex"
ENTRY = re.compile(r"^[ \t]*@[ \t]*(\w+)\s*[{(]", re.MULTILINE)
NOT_A_PAPER = frozenset({"comment", "string", "preamble"})
LENDING = frozenset({"xdata", "set"})
RUN = 300
MATH = re.compile(r"((?<!\\)\$[^$]+(?<!\\)\$|\\\(.+?\\\))", re.DOTALL)
BARE_PERCENT = re.compile(r"(?<!\\)%")
LENT = re.compile(r"\b(crossref|xdata)\s*=\s*[{\"]([^}\"]*)", re.IGNORECASE)
STRING = re.compile(r"^[ \t]*@[ \t]*string\s*[{(].*?[\"}]\s*[})][ \t]*$", re.IGNORECASE | re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"([}\"],?)[ \t]+%[^\n]*")
"""A comment behind a field, which biber reads and BibTeX does not."""
PART = re.compile(r"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\"[^\"]*\"|[^#\s]+")
UNCERTAIN = re.compile(r"[?~%]+$")
VENUE = ("journal", "journaltitle", "booktitle", "maintitle", "series", "school", "institution", "publisher")
IN_A_BOOK = frozenset({"inproceedings", "incollection", "inbook", "conference", "suppbook", "suppcollection", "inreference", "bookinbook"})
OWN = frozenset({"crossref", "xdata", "xref", "ids", "label", "options", "related", "sortkey", "presort", "abstract", "doi", "url", "eprint", "keywords", "pages", "note", "file"})
"""Fields that an entry does not take from the one it refers to."""
DETAILS = {
    "volume": ("volume",), "number": ("number", "issue"), "publisher": ("publisher",), "series": ("series",), "edition": ("edition",),
    "address": ("address", "location"), "isbn": ("isbn",), "issn": ("issn",), "school": ("school",), "institution": ("institution",),
    "howpublished": ("howpublished",), "chapter": ("chapter",),
}  # fmt: skip
SIGNS = {"textless": "<", "textgreater": ">", "textbar": "|", "textquotedbl": '"', "textasciicircum": "^", "textasciitilde": "~", "textbraceleft": "{", "textbraceright": "}", "lbrace": "{", "rbrace": "}", "relax": ""}
"""Signs that stand for commands in a bibliography, and that the decoder would drop."""
NAME_PARTS = re.compile(r"\b(family|given|prefix|suffix)\s*=\s*(\"[^\"]*\"|[^,]*)", re.IGNORECASE)


class Parsed(NamedTuple):
    """One entry: its own key, type, fields in lower-case names, the line where it starts, and its text."""

    key: str
    type: str
    fields: dict[str, str]
    line: int
    raw: str


def matches(file: SourceFile) -> bool:
    """Whether the text holds an entry other than a comment or a string."""
    return not file.is_zip and any(found[1].lower() not in NOT_A_PAPER for found in ENTRY.finditer(file.head))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every entry under its own key; a broken one is reported with its line."""
    text = file.whole
    inheritance = _Inheritance.of(text)
    for item in _entries(text):
        if isinstance(item, Refused):
            yield item
        elif inheritance.is_ready(item):
            yield _record(inheritance.completed(item))
    for item in inheritance.waiting:
        yield _record(inheritance.completed(item))


def _entries(text: str) -> Iterator[Parsed | Refused]:
    """The entries in runs; strings that a run defines hold for the later ones too."""
    starts = [found.start() for found in ENTRY.finditer(text)]
    strings, line, counted = "", 1, 0
    for at in range(0, len(starts), RUN):
        begin = starts[at] if at else 0
        end = starts[at + RUN] if at + RUN < len(starts) else len(text)
        line, counted = line + text.count("\n", counted, begin), begin
        run = text[begin:end]
        library = _parsed(strings + run)
        shift = line - strings.count("\n")
        yield from _of_library(library, shift)
        strings += "".join(f"{found[0].strip()}\n" for found in STRING.finditer(run))


def _parsed(text: str) -> "Library":
    from bibtexparser.entrypoint import parse_string

    logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)  # what it could not read stands in failed_blocks
    return parse_string(text)


def _of_library(library: "Library", shift: int) -> Iterator[Parsed | Refused]:
    from bibtexparser.model import DuplicateBlockKeyBlock, DuplicateFieldKeyBlock
    from bibtexparser.model import Entry as BibEntry

    strings = {name.lower(): str(string.value) for name, string in library.strings_dict.items()}
    blocks: list[Block] = [*library.entries, *library.failed_blocks]
    for block in sorted(blocks, key=lambda one: one.start_line or 0):
        if isinstance(block, BibEntry):
            yield _plain(block, strings, shift)
        elif isinstance(block, DuplicateBlockKeyBlock | DuplicateFieldKeyBlock) and isinstance(block.ignore_error_block, BibEntry):
            yield _plain(block.ignore_error_block, strings, shift)
        elif not isinstance(getattr(block, "ignore_error_block", None), BibEntry) and not _is_string(block):
            mended = COMMENT.sub(r"\1", block.raw or "")
            again = _parsed(mended).entries if mended != block.raw else []
            start = (block.start_line or 0) + shift
            yield _plain(again[0], strings, start) if again else Refused(start, _reason(block))


def _is_string(block: "Block") -> bool:
    """A string that is defined twice is no lost paper."""
    return bool(re.match(r"\s*@\s*(?:string|comment|preamble)", block.raw or "", re.IGNORECASE))


def _reason(block: "Block") -> str:
    return f"not a whole BibTeX entry: {(str(getattr(block, 'error', '')).splitlines() or ['a brace or quote is not closed'])[0]}"


def _plain(entry: "Entry", strings: Mapping[str, str], shift: int) -> Parsed:
    bare = {name for name, mark in (entry.parser_metadata.get("removed_enclosing") or {}).items() if mark == "no-enclosing"}
    fields: dict[str, str] = {}
    for one in entry.fields:
        value = str(one.value)
        joined = _concatenated(value, strings) if one.key in bare and "#" in value else value
        fields.setdefault(one.key.lower(), " ".join(joined.split()) if one.key.lower() != "abstract" else joined)
    return Parsed(entry.key.strip(), entry.entry_type.lower(), fields, (entry.start_line or 0) + shift, entry.raw or "")


def _concatenated(value: str, strings: Mapping[str, str]) -> str:
    """`n # { 33}`: texts and named strings put together."""
    parts: list[str] = PART.findall(value)
    return "".join(part[1:-1] if part[0] in '{"' else strings.get(part.lower(), part).strip('{}"') for part in parts)


# -- fields from other entries


@dataclass
class _Inheritance:
    """The entries that others take fields from, and those that wait for them."""

    wanted: frozenset[str]
    lenders: dict[str, Parsed] = field(default_factory=dict)
    waiting: list[Parsed] = field(default_factory=list)

    @classmethod
    def of(cls, text: str) -> "_Inheritance":
        """What a file's entries refer to."""
        return cls(frozenset(name.strip().lower() for found in LENT.finditer(text) for name in found[2].split(",")))

    def is_ready(self, entry: Parsed) -> bool:
        """Whether an entry is a paper that can be completed now; a lender is kept, one that waits is put by."""
        if self.wanted:
            for name in [entry.key, *entry.fields.get("ids", "").split(",")]:
                if name.strip().lower() in self.wanted:
                    self.lenders.setdefault(name.strip().lower(), entry)
        if entry.type in LENDING:
            return False
        if any(name not in self.lenders for name in self._named(entry)):
            self.waiting.append(entry)
            return False
        return True

    def completed(self, entry: Parsed) -> Parsed:
        """The entry with the fields that it takes from others; what is not there, or goes round in a circle, gives none."""
        if not self._named(entry):
            return entry
        return entry._replace(fields=self._fields(entry, frozenset()))

    def _fields(self, entry: Parsed, above: frozenset[str]) -> dict[str, str]:
        fields = dict(entry.fields)
        for name in self._named(entry):
            lender = self.lenders.get(name)
            if lender is None or name in above:
                continue
            is_data = name in _names(entry.fields.get("xdata", ""))
            for field_name, value in self._fields(lender, above | {name}).items():
                if field_name in OWN and not is_data:
                    continue
                taken = "booktitle" if field_name == "title" and not is_data and entry.type in IN_A_BOOK else field_name
                if taken != "title" or is_data:
                    fields.setdefault(taken, value)
        return fields

    def _named(self, entry: Parsed) -> list[str]:
        return _names(entry.fields.get("xdata", "")) + _names(entry.fields.get("crossref", ""))


def _names(value: str) -> list[str]:
    return [name.strip().lower() for name in value.split(",") if name.strip()]


# -- an entry's record


def _record(entry: Parsed) -> Record:
    fields = entry.fields
    return Record(
        key=entry.key,
        entry_type=entry.type,
        title=_text(fields, "title") + (f": {_text(fields, 'subtitle')}" if fields.get("subtitle") and fields.get("title") else ""),
        abstract=clean(decoded(re.sub(r"[ \t]*\n[ \t]*", " ", fields.get("abstract", "")))),
        authors=_authors(fields.get("author", "")),
        date=_date(fields),
        venue=clean(decoded(next((fields[name] for name in VENUE if fields.get(name)), ""))),
        organization=_text(fields, "organization"),
        language=language_code(fields.get("langid", "") or fields.get("language", "")),
        identifiers=_identifiers(fields),
        details={name: text for name, known in DETAILS.items() if (text := next((_text(fields, one) for one in known if fields.get(one)), ""))}
        | given(pages=re.sub(r"\s*[-–]+\s*", "-", _text(fields, "pages")).strip("-"), editor="; ".join(_authors(fields.get("editor", "")))),
        categories=tuple(fields.get("primaryclass", "").split()),
        keywords=tuple(dict.fromkeys(word.strip() for word in re.split(r"[;,]", decoded(fields.get("keywords", ""))) if word.strip())),
        line=entry.line,
        raw=entry.raw,
    )


def _text(fields: Mapping[str, str], name: str) -> str:
    return clean(decoded(fields.get(name, "")))


def decoded(value: str) -> str:
    """A field without its protecting braces, accents as letters, and mathematics and unknown commands as they stood."""
    if not any(mark in value for mark in "\\{}~"):
        return value
    if "\\" not in value and "~" not in value and "$" not in value and "%" not in value:
        return value.replace("{", "").replace("}", "")
    return "".join(part if MATH.fullmatch(part) else _letters(part) for part in MATH.split(value))


@cache
def _decoder() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    context = get_default_latex_context_db()
    context.add_context_category("signs", [MacroTextSpec(name, sign) for name, sign in SIGNS.items()], prepend=True)
    return LatexNodes2Text(context, keep_comments=True, math_mode="verbatim", strict_latex_spaces=True)


def _letters(part: str) -> str:
    if not any(mark in part for mark in "\\{}~"):
        return part
    whole = BARE_PERCENT.sub(r"\\%", part)  # in a field it is a sign, and begins no comment
    return str(_decoder().latex_to_text(whole))


def _authors(field: str) -> tuple[str, ...]:
    names = (_name(name) for name in _parted(field) if name.strip() not in {"", "others"})
    return tuple(name for one in names if (name := clean(decoded(one))))


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
    if extended := {found[1].lower(): found[2].strip(' "') for found in NAME_PARTS.finditer(name)}:
        return " ".join(extended[part] for part in ("given", "prefix", "family", "suffix") if extended.get(part))
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


def _date(fields: Mapping[str, str]) -> str:
    """The `date` of biblatex (the beginning of a range), else `year` with `month` and `day`."""
    if date := iso_date(UNCERTAIN.sub("", fields.get("date", "").split("/")[0].strip())) if not fields.get("date", "").startswith("-") else "":
        return date
    year = iso_date(fields.get("year", ""))[:4]
    month = decoded(fields.get("month", "")).strip("{} ")
    if not year or not month:
        return year
    return iso_date(f"{year}-{month}-{fields.get('day', '')}".rstrip("-")) if month.isdigit() else iso_date(f"{month} {fields.get('day', '')} {year}")


def _identifiers(fields: Mapping[str, str]) -> dict[str, str]:
    url = fields.get("url", "")
    doi = doi_in(fields.get("doi", "")) or (doi_in(url) if "doi.org/" in url else "")
    found = given(doi=doi, pmid=_digits(fields.get("pmid", "")), pmcid=fields.get("pmcid", ""))
    kind = fields.get("archiveprefix", fields.get("eprinttype", "arxiv")).lower()
    number = arxiv_id(fields.get("eprint", "")) if "arxiv" in kind else ""
    if not number and doi.startswith("10.48550/arxiv."):
        number = arxiv_id(doi.removeprefix("10.48550/arxiv."))
    if number:
        found["arxiv"] = number
    for name in ("url", "journal", "note", "howpublished", "volume", "number"):
        if "arxiv" not in found and "arxiv" in fields.get(name, "").lower():
            found |= arxiv_identifiers(fields[name])
    if kind == "pubmed" and "pmid" not in found:
        found |= given(pmid=_digits(fields.get("eprint", "")))
    return found | ({"url": url} if url else {})


def _digits(value: str) -> str:
    return value.strip() if value.strip().isdigit() else ""
