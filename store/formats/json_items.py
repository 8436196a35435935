"""The records inside JSON, whatever holds them: a list, an object with the list under a known name, one record, or one a line.

Lines are read one by one. A list is decoded item by item, so that a broken item is refused with its line and the others
are kept. The fields of a record are read through `text`, `first`, `items`, `inner`: a wrong type there is an empty field.
"""

import html
import json
import math
import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import NamedTuple

from store.errors import UnreadableFile
from store.formats.file import SourceFile
from store.formats.reading import arxiv_id, doi_in
from store.formats.text import clean, one_line
from store.paper import Record, Refused

Item = Mapping[str, object]
EMPTY: Item = {}

LISTS = frozenset(
    "results data items papers references works records documents docs entries articles publications recommendedPapers".split()
)
"""What services and programs call their list of papers."""
INSIDE = frozenset("message response result".split())
"""What they call the object that holds the list, or the one paper asked for."""
TELLING = frozenset("title display_name paperId corpusid corpusId DOI doi abstract abstract_inverted_index authors authorships author".split())
"""Names of a paper's own: a list beside one of these is a field of that paper."""

BEGINNING = re.compile(r"\s*(?:\[\s*(?:\{|\]|null\b)|\{\s*[\"}]|\{\s*$)")
NAMES = re.compile(r'"([\w.-]{1,60})"\s*:')
GAP = re.compile(r"[\s,]*")
MEMBER = re.compile(r'[\s,]*"([^"\\]*)"\s*:\s*')
OBJECTS = re.compile(r"\[\s*(?:\{|\]|null\b|$)")
TOKEN = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[\]{}]', re.DOTALL)
WORTHLESS = re.compile(r'[^,\[\]{}"]+|.', re.DOTALL)
FIRST_NAME = re.compile(r'\{\s*"[^"\\]*"')
OPENING = {"}": "{", "]": "["}
ENDINGS = ("}", "]", '"')
LONGEST_BROKEN = 2**20
"""Characters in which the end of a broken item is looked for."""
PATIENCE = 2**23
"""Characters that may be looked through in vain for such ends; then a broken item ends where the next one seems to begin."""
CUT = "cut off, or a quote or bracket in it is not closed; copy or export it again to have it whole"


def _no_value(_: str) -> None:
    """What NaN and Infinity say of a paper."""


DECODER = json.JSONDecoder(strict=False, parse_constant=_no_value)


class Found(NamedTuple):
    """A record's object, the line on which it begins, and its own text."""

    item: Item
    line: int
    raw: str


def looks_like_json(file: SourceFile) -> bool:
    """Whether the file begins as a list of objects or as an object."""
    return bool(BEGINNING.match(file.head))


def names_in(file: SourceFile) -> frozenset[str]:
    """The names of fields in the beginning of a JSON file; none for any other file."""
    return frozenset(NAMES.findall(file.head)) if looks_like_json(file) else frozenset()


def records(file: SourceFile, record: Callable[[Item, int, str], Record | Refused]) -> Iterator[Record | Refused]:
    """What `record` makes of each object of the file, and in their place those that cannot be read."""
    for found in objects(file):
        yield found if isinstance(found, Refused) else record(found.item, found.line, found.raw)


def objects(file: SourceFile) -> Iterator[Found | Refused]:
    """The objects of a JSON file one by one, and in their place those that cannot be read."""
    return _in_lines(file) if _is_lines(file) else _Walk(file.whole, 1).run()


# Lines


def _is_lines(file: SourceFile) -> bool:
    """Whether each line is an object: the first one is whole, or the second begins as one too."""
    first, second = _first_two(file)
    if not first.startswith("{") or len(first) == 1 or not second:
        return False
    try:
        _, end = DECODER.raw_decode(first)
    except (ValueError, RecursionError):
        return second.startswith("{") and not first.endswith("[")
    return first[end:] in {"", ","}


def _first_two(file: SourceFile) -> tuple[str, str]:
    filled = (line.strip() for line in file.lines())
    written = (line for line in filled if line)
    try:
        return next(written, ""), next(written, "")
    except UnreadableFile:  # one line may hold the whole of a large list
        return "", ""


def _in_lines(file: SourceFile) -> Iterator[Found | Refused]:
    for number, line in enumerate(file.lines(), 1):
        stripped = line.strip()
        if stripped:
            yield from _in_line(stripped, number)


def _in_line(line: str, number: int) -> Iterator[Found | Refused]:
    try:
        item, end = DECODER.raw_decode(line)
    except (ValueError, RecursionError) as error:
        yield Refused(number, _reason(error, "this line"))
        return
    if line[end:].strip() not in {"", ","}:
        yield Refused(number, f"more stands on this line after its JSON, from column {end + 1}; put each record on a line of its own")
    elif not isinstance(item, dict):
        yield Refused(number, f"no record but {_kind(item)} stands on this line; a record is an object, {{…}}")
    elif _may_hold_list(item):
        yield from _Walk(line, number).run()
    else:
        yield Found(item, number, line[:end])


def _may_hold_list(item: Item) -> bool:
    return not (LISTS.isdisjoint(item) and INSIDE.isdisjoint(item)) and TELLING.isdisjoint(item)


# A list, or what holds one


class _Text(str):  # noqa: SLOT000  json's scanner takes nothing but a str
    """The text of a file; json counts lines from its beginning at every fault, which is not asked of it here."""

    def count(self, *args: object) -> int:
        return 0

    def rfind(self, *args: object) -> int:
        return -1


class _Walk:
    """A way through the text from its beginning to its end, with the line counted once as it goes."""

    def __init__(self, text: str, line: int) -> None:
        self._text = _Text(text)
        self._line, self._counted = line, 0
        self._cut = False
        self._patience = PATIENCE

    def run(self) -> Iterator[Found | Refused]:
        """Every record of the text, which holds a list, an object, or several of them."""
        at = self._filled(0)
        while at < len(self._text):
            if self._text[at] == "[":
                at = yield from self._list(at + 1)
            elif self._text[at] == "{":
                at = yield from self._object(at)
            else:
                yield Refused(self._line_at(at), "from here on this is no JSON; what follows was not read, mend it or export it again")
                return
            at = self._filled(at)

    def _list(self, at: int) -> Generator[Found | Refused, None, int]:
        """The items of a list, from behind its bracket; where it ends."""
        while True:
            at = self._filled(at)
            if at >= len(self._text):
                if not self._cut:
                    yield Refused(self._line_at(at), "the list ends here without its closing bracket; the file may be cut off: copy or export it again")
                return at
            if self._text[at] == "]":
                return at + 1
            at = yield from self._item(at)

    def _object(self, at: int) -> Generator[Found | Refused, None, int]:
        """The records of an object that holds a list, or the object as the one record."""
        begin, depth, is_list = self._inside(at)
        end = yield from self._list(begin) if is_list else self._item(begin)
        return self._behind_holders(end, depth) if depth else end

    def _inside(self, start: int) -> tuple[int, int, bool]:
        """Where the list or the record begins, how many objects hold it, and whether it is a list."""
        at, depth, inner = start + 1, 1, start
        while member := MEMBER.match(self._text, at):
            name, at = member[1], member.end()
            if name in LISTS and OBJECTS.match(self._text, at):
                return at + 1, depth, True
            if name in TELLING:
                return inner, depth - 1, False
            if name in INSIDE and inner == start and self._text[at : at + 1] == "{":
                at, depth, inner = at + 1, 2, at
                continue
            try:
                at = DECODER.raw_decode(self._text, at)[1]
            except (ValueError, RecursionError):
                break
        return start, 0, False

    def _item(self, at: int) -> Generator[Found | Refused, None, int]:
        """The record at this place; where reading goes on."""
        line = self._line_at(at)
        try:
            item, end = DECODER.raw_decode(self._text, at)
        except (ValueError, RecursionError) as error:
            end = self._behind_broken(at)
            yield Refused(line, f"this item is {CUT}" if self._cut else _reason(error, "this item", self._place(at, line, error)))
            return end
        if isinstance(item, dict):
            yield Found(item, line, self._text[at:end])
        else:
            yield Refused(line, f"no record but {_kind(item)} stands here; a record is an object, {{…}}")
        return end

    def _place(self, at: int, line: int, error: Exception) -> str:
        return f"on line {line + str.count(self._text, chr(10), at, error.pos)}" if isinstance(error, json.JSONDecodeError) else ""

    def _behind_broken(self, at: int) -> int:
        """Where the next item begins: on a line of its own like this one, behind the last bracket, or by its first name."""
        before = self._text[max(0, at - 200) : at]
        indent = before[str.rfind(before, "\n") + 1 :]
        if self._text[at] == "{" and not indent.strip() and (following := self._text.find(f"\n{indent}{{", at)) > 0:
            return following + 1 + len(indent)
        if self._text[at] not in '{["':
            return self._worthless(at)
        if closed := self._closed(at):
            return closed
        named = FIRST_NAME.match(self._text, at)
        comma = re.compile(rf",\s*{re.escape(named[0])}").search(self._text, at) if named else None
        self._cut = comma is None
        return comma.start() + 1 if comma else len(self._text)

    def _worthless(self, at: int) -> int:
        found = WORTHLESS.match(self._text, at)
        assert found  # any character matches
        return found.end()

    def _behind_holders(self, at: int, depth: int) -> int:
        """Where the objects that hold the list are closed, or the text ends."""
        for token in TOKEN.finditer(self._text, at):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
            if depth == 0:
                return token.end()
        return len(self._text)

    def _closed(self, at: int) -> int:
        """Where a broken value is closed, although brackets in it may not be; 0 if it never is."""
        opened: list[str] = []
        counts = {"{": 0, "[": 0}
        end = min(len(self._text), at + LONGEST_BROKEN, at + self._patience)
        for token in TOKEN.finditer(self._text, at, end):
            said = token[0]
            if said in counts:
                opened.append(said)
                counts[said] += 1
            elif said in OPENING:
                if not counts[OPENING[said]]:
                    break
                while (last := opened.pop()) != OPENING[said]:
                    counts[last] -= 1
                counts[last] -= 1
            if not opened and said.endswith(ENDINGS):
                return token.end()
        self._patience -= end - at
        return 0

    def _filled(self, at: int) -> int:
        gap = GAP.match(self._text, at)
        assert gap  # nothing is a gap too
        return gap.end()

    def _line_at(self, at: int) -> int:
        """The line of this place; places are asked for from the beginning to the end."""
        if at > self._counted:
            self._line += str.count(self._text, "\n", self._counted, at)
            self._counted = at
        return self._line


def _kind(value: object) -> str:
    kinds = {bool: "true or false", str: "a text", list: "a list", int: "a number", float: "a number"}
    return kinds.get(type(value), "null")


def _reason(error: Exception, what: str, place: str = "") -> str:
    if isinstance(error, RecursionError):
        return f"{what} is nested too deeply for the record of a paper; take it out"
    if isinstance(error, json.JSONDecodeError):
        said = error.msg[:1].lower() + error.msg[1:].removesuffix(" starting at")
        return f"{what} is no valid JSON ({said}, {place or f'at character {error.pos + 1}'}); it may be cut off: mend it or export it again"
    return f"{what} holds a number of thousands of digits; take it out"


# Fields


def text(item: Item, name: str) -> str:
    """A field's text on one line, or its number; nothing for any other type."""
    value = item.get(name)
    if type(value) is str:
        return one_line(value) if value else ""
    return printed(value)


def printed(value: object) -> str:
    """A text or number as a person would write it; nothing for anything else."""
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return ""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else str(value)


def texts(item: Item, name: str) -> list[str]:
    """The texts of a list, without the empty ones; a text that stands alone is a list of one."""
    value = item.get(name)
    if not value:
        return []
    found = map(printed, value) if isinstance(value, list) else [printed(value)]
    return [one for one in found if one]


def first(item: Item, *names: str) -> str:
    """The first text under any of these names, alone or in a list."""
    for name in names:
        value = item.get(name)
        found = text(item, name) if not isinstance(value, list) else next(iter(texts(item, name)), "")
        if found:
            return found
    return ""


def items(item: Item, name: str) -> list[Item]:
    """The objects of a list; an object that stands alone is a list of one."""
    value = item.get(name)
    if isinstance(value, list):
        return [one for one in value if isinstance(one, dict)]
    return [value] if isinstance(value, dict) else []


def inner(item: Item, name: str) -> Item:
    """The object under a name; an empty one where there is none."""
    value = item.get(name)
    return value if isinstance(value, dict) else EMPTY


def listed(value: str) -> tuple[str, ...]:
    """The words of a list that is printed as one text: at its semicolons, or else at its commas."""
    return tuple(word.strip() for word in value.split(";" if ";" in value else ",") if word.strip())


def given(fields: Mapping[str, str]) -> dict[str, str]:
    """Those of the fields that say something."""
    return {name: value for name, value in fields.items() if value}


def pages(begin: str, end: str) -> str:
    """First and last page as one range."""
    return f"{begin}-{end}" if begin and end and begin != end else begin or end


# Identifiers

DOI_PREFIX = re.compile(r"^(?:https?://)?(?:(?:dx\.)?doi\.org/)?(?:doi:\s*)?(?=10\.)", re.IGNORECASE)
ANGLED_DOI = re.compile(r"10\.\d{4,9}/[^\s\"]*[<>][^\s\"]*")
DOI_OF_ARXIV = "10.48550/arxiv."
PMID = re.compile(r"(?:^|/|pmid:?\s*)(\d{1,9})/?$", re.IGNORECASE)
PMCID = re.compile(r"(?:^|/|pmcid:?\s*)(?:PMC)?(\d{1,9})/?$", re.IGNORECASE)
LONGEST_ADDRESS = 4_000
ADDRESS = re.compile(r"https?://\S+", re.IGNORECASE)


def doi(value: str) -> str:
    """The DOI of a field that holds one, bare or as an address; older ones may have angle brackets."""
    if "10." not in value:
        return ""
    bare = DOI_PREFIX.sub("", value, count=1)
    return bare.lower() if ("<" in bare or ">" in bare) and ANGLED_DOI.fullmatch(bare) else doi_in(bare)


def arxiv_of_doi(value: str) -> str:
    """The arXiv id that a DOI of arXiv's own holds."""
    return arxiv_id(value[len(DOI_OF_ARXIV) :]) if value.startswith(DOI_OF_ARXIV) else ""


def pmid(value: str) -> str:
    """The PubMed number, bare or at the end of an address."""
    found = PMID.search(value) if value else None
    return found[1] if found else ""


def pmcid(value: str) -> str:
    """The PubMed Central id with its letters."""
    found = PMCID.search(value) if value else None
    return f"PMC{found[1]}" if found else ""


def address(value: str) -> str:
    """A web address, or nothing where the text is none."""
    return value if value and len(value) <= LONGEST_ADDRESS and ADDRESS.fullmatch(value) else ""


# Marked-up text

TAG = re.compile(
    r"<(/?)((?:jats|mml):[\w-]+|p|i|b|u|em|strong|italic|bold|sub|sup|sc|scp|span|div|br|title|sec|section|ul|ol|li|list|list-item|h[1-6]"
    r"|inline-formula|alternatives|tex-math|math)(?:\s+[\w:-]+\s*=\s*(?:\"[^\"<>]*\"|'[^'<>]*'))*\s*/?>",
    re.IGNORECASE,
)
ENTITY = re.compile(r"&(?:#\d{1,7}|#x[\da-f]{1,6}|[a-z]{2,10}\d{0,2});", re.IGNORECASE)
BLOCKS = frozenset("p div br sec section ul ol li list list-item".split())
HEADINGS = frozenset("title h1 h2 h3 h4 h5 h6".split())
OPENED, CLOSED = "\x01", "\x02"
HEADING = re.compile(f"{OPENED}([^{OPENED}{CLOSED}]*){CLOSED}\\s*")
PARAGRAPH = re.compile(
    r"\n\s*\n|\n(?=\s*(?:[A-Z][A-Z &/,]{2,40}|Backgrounds?|Objectives?|Aims?|Purpose|Introduction|Methods?|Results?|Findings"
    r"|Conclusions?|Discussion|Significance|Interpretation):)"
)


def paragraphs(value: str) -> str:
    """A text with each of its paragraphs on one line, however it was wrapped."""
    cleaned = clean(value)
    if "\n" not in cleaned:
        return cleaned
    return "\n".join(line for part in PARAGRAPH.split(cleaned) if (line := " ".join(part.split())))


def unmarked(value: str) -> str:
    """A text without the markup of JATS or HTML: its paragraphs on lines, its headings as labels, formulas as LaTeX where they are given so."""
    if "<" in value:
        value = _without_tags(value)
    if "&" in value:
        value = ENTITY.sub(lambda entity: html.unescape(entity[0]), value)
    return paragraphs(value)


def plain(item: Item, name: str) -> str:
    """A field's text, or the first of its list, on one line and without markup."""
    value = item.get(name)
    found = next(iter(value), "") if isinstance(value, list) else value
    if not isinstance(found, str):
        return printed(found)
    return " ".join(unmarked(found).split()) if "<" in found or "&" in found else one_line(found)


def abstract(item: Item, name: str) -> str:
    """A field's paragraphs without markup."""
    value = item.get(name)
    return unmarked(value) if isinstance(value, str) and value else ""


def _without_tags(value: str) -> str:
    """Its words, with empty lines around paragraphs and labels for headings."""
    parts = TAG.split(value.replace(OPENED, "").replace(CLOSED, ""))
    has_latex = any(name.lower().endswith("tex-math") for name in parts[2::3])
    kept, in_formula = [parts[0]], False
    for slash, said, following in zip(parts[1::3], parts[2::3], parts[3::3], strict=True):
        name = said.lower().rpartition(":")[2]
        if name == "math" and has_latex:  # the same formula again
            in_formula = not slash
        kept += [_instead(name, bool(slash)), "" if in_formula else following]
    return HEADING.sub(_label, "".join(kept))


def _instead(name: str, is_end: bool) -> str:
    if name in HEADINGS:
        return CLOSED if is_end else OPENED
    return "\n\n" if name in BLOCKS else ""


def _label(heading: re.Match[str]) -> str:
    """A heading as the label of the paragraph under it; `Abstract` over an abstract says nothing."""
    said = " ".join(heading[1].split()).rstrip(":.")
    return f"\n\n{said}: " if said and said.lower() not in {"abstract", "summary"} else "\n\n"


# Languages

LANGUAGE = re.compile(r"([a-z]{2})(?:[-_][^\W_]+)*", re.IGNORECASE)
LANGUAGES: Mapping[str, str] = {
    name: code
    for code, names in {
        "ar": "ara arabic", "cs": "cze ces czech", "da": "dan danish", "de": "ger deu german", "el": "gre ell greek", "en": "eng english",
        "es": "spa spanish", "fa": "per fas persian", "fi": "fin finnish", "fr": "fre fra french", "he": "heb hebrew", "hi": "hin hindi",
        "hu": "hun hungarian", "id": "ind indonesian", "it": "ita italian", "ja": "jpn japanese", "ko": "kor korean", "nl": "dut nld dutch",
        "no": "nor norwegian", "pl": "pol polish", "pt": "por portuguese", "ro": "rum ron romanian", "ru": "rus russian", "sv": "swe swedish",
        "tr": "tur turkish", "uk": "ukr ukrainian", "vi": "vie vietnamese", "zh": "chi zho chinese",
    }.items()
    for name in names.split()
}  # fmt: skip


def language(value: str) -> str:
    """The two-letter code of a language, for `en`, `en-US`, `eng`, `English`; nothing for another word."""
    found = LANGUAGE.fullmatch(value) if value else None
    return found[1].lower() if found else LANGUAGES.get(value.lower(), "")
