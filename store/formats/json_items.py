"""JSON files: their items one at a time, with line and raw text; and fields read as what they should be.

An array is decoded item by item, so a broken or cut item loses no other; JSON Lines are read line by line.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from store.formats.file import SourceFile
from store.formats.reading import iso_date
from store.formats.text import clean, one_line
from store.paper import Refused

WITHIN = ("results", "items", "data", "papers", "works", "references", "citations", "message", "recommendedPapers")
"""Names under which services put their list."""
START = re.compile(r"\s*([\[{])")
GAP = re.compile(r"[\s,]*")
MARKUP = re.compile(r"</?(?:jats:)?[a-zA-Z][a-zA-Z0-9:-]*(?:\s[^<>]*)?/?>")
TITLE = re.compile(r"<(?:jats:)?title[^>]*>\s*(.*?)\s*</(?:jats:)?title>", re.DOTALL)
LONGEST_RAW = 100_000
Item = Mapping[str, object]


class Found(NamedTuple):
    """An object, the line where it begins, and its text as it stood in the file."""

    item: Item
    line: int
    raw: str


def items(file: SourceFile) -> Iterator[Found | Refused]:
    """The objects of the file: of its array, of the array inside of its object, or its lines."""
    if is_lines(file):
        yield from _from_lines(file)
    else:
        yield from _from_whole(file.whole)


def is_lines(file: SourceFile) -> bool:
    """Whether the first line is an object by itself, or is followed by a line that is another object."""
    lines = [line for line in file.head.split("\n") if line.strip()][:2]
    if not lines or not lines[0].lstrip().startswith("{"):
        return False
    if len(lines) == 2 and lines[1].lstrip().startswith("{"):
        return True
    value = _decoded(lines[0])
    return isinstance(value, dict) and len(lines) == 1 and not any(isinstance(value.get(name), list | dict) for name in WITHIN)


def _from_lines(file: SourceFile) -> Iterator[Found | Refused]:
    for number, line in enumerate(file.lines(), 1):
        if not line.strip() or line.strip() in "[],":
            continue
        text = line.strip().rstrip(",")
        value = _decoded(text)
        if isinstance(value, dict):
            yield Found(value, number, text[:LONGEST_RAW])
        else:
            yield Refused(number, value if isinstance(value, str) else "not an object: a record stands between { and }")


def _decoded(text: str) -> "dict[str, object] | str | None":
    """An object, or what is wrong with the text; None for a value of another kind."""
    try:
        value = json.loads(text)
    except RecursionError:
        return "nested too deeply to be a record"
    except ValueError as error:
        return f"not valid JSON ({str(error).split(':')[0]}); the line may be cut off"
    return value if isinstance(value, dict) else None


def _from_whole(text: str) -> Iterator[Found | Refused]:
    """The items of the outermost array, or of the first array under a known name, or the one object itself."""
    start = START.match(text)
    if not start:
        return
    at = start.start(1)
    if text[at] == "{":
        inner = _array_inside(text, at)
        if inner < 0:
            yield from _one(text, at)
            return
        at = inner
    yield from _array(text, at)


def _array_inside(text: str, at: int) -> int:
    """Where the list under a known name begins, at most two objects deep; -1 where there is none."""
    decoder = json.JSONDecoder()
    at += 1
    while at < len(text):
        at = GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        if at >= len(text) or text[at] != '"':
            return -1
        try:
            name, at = decoder.raw_decode(text, at)
            at = re.compile(r"\s*:\s*").match(text, at).end()  # type: ignore[union-attr]
            if name in WITHIN and text[at] == "[":
                return at
            if name in WITHIN and text[at] == "{" and (inner := _array_inside(text, at)) >= 0:
                return inner
            _, at = decoder.raw_decode(text, at)
        except (ValueError, AttributeError, IndexError, RecursionError):
            return -1
    return -1


def _one(text: str, at: int) -> Iterator[Found | Refused]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError) as error:
        yield Refused(1 + text.count("\n", 0, at), f"not valid JSON ({str(error).split(':')[0]}); the file may be cut off")
        return
    yield Found(value, 1 + text.count("\n", 0, at), text[at : min(end, at + LONGEST_RAW)])


def _array(text: str, at: int) -> Iterator[Found | Refused]:
    decoder = json.JSONDecoder()
    line, counted = 1, 0
    at += 1
    while True:
        at = GAP.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing too
        line, counted = line + text.count("\n", counted, at), at
        if at >= len(text):
            yield Refused(line, "the list is not closed; the file is cut off here")
            return
        if text[at] == "]":
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).split(":")[0]
            yield Refused(line, f"not valid JSON ({reason}); this record was not read")
            if (at := _next_object(text, at)) < 0:
                return
            continue
        if isinstance(value, dict):
            yield Found(value, line, text[at : min(end, at + LONGEST_RAW)])
        else:
            yield Refused(line, "not an object: a record stands between { and }")
        at = end


def _next_object(text: str, at: int) -> int:
    """Where the next item of an array seems to begin after a broken one; -1 where none does."""
    found = re.compile(r"\}\s*,\s*(?=\{)").search(text, at + 1)
    return found.end() if found else -1


# -- fields as what they should be


def text(item: Item, *names: str) -> str:
    """The first of these fields that holds text or a number, on one line; of a list its first."""
    for name in names:
        value = item.get(name)
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str) and value.strip():
            return one_line(value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def prose(item: Item, *names: str) -> str:
    """The first of these fields that holds text, with markup such as <jats:p> taken out and its paragraphs kept."""
    for name in names:
        value = item.get(name)
        if isinstance(value, str) and value.strip():
            return _without_markup(clean(value))
    return ""


def _without_markup(text: str) -> str:
    if "<" not in text:
        return text
    labelled = TITLE.sub(lambda found: "" if found[1].strip().lower() == "abstract" else f"\n{found[1].strip().rstrip(':')}: ", text)
    bare = MARKUP.sub("", re.sub(r"</(?:jats:)?p>", "\n", labelled))
    import html

    lines = (" ".join(line.split()) for line in html.unescape(bare).split("\n"))
    return re.sub(r":\n", ": ", "\n".join(line for line in lines if line))


def inner(item: Item, *path: str) -> Item:
    """The object at the end of a path of names; empty where there is none."""
    value: object = item
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def objects(item: Item, name: str) -> list[Item]:
    """The objects of a list under a name."""
    value = item.get(name)
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def words(item: Item, *names: str) -> tuple[str, ...]:
    """The texts of a list under the first of these names, or of one text parted by semicolons; each once."""
    for name in names:
        value = item.get(name)
        if isinstance(value, str) and value.strip():
            value = re.split(r";" if ";" in value else r",", value)
        if isinstance(value, list):
            found = (one_line(one) for one in value if isinstance(one, str))
            return tuple(dict.fromkeys(word for word in found if word))
    return ()


def date_parts(item: Item, *names: str) -> str:
    """The first date there is in CSL's form: {"date-parts": [[2020, 3, 15]]}, or raw, or text."""
    for name in names:
        value = inner(item, name)
        parts = value.get("date-parts")
        first = parts[0] if isinstance(parts, list) and parts and isinstance(parts[0], list) else []
        numbers = [str(part) for part in first if isinstance(part, int | str) and str(part).strip()]
        said = "-".join(numbers[:3]) or text(value, "raw", "literal") or text(item, name)
        if date := iso_date(said):
            return date
    return ""
