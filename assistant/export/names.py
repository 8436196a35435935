"""How a paper is called in a text: author and year, all from the library; and where a statement names papers."""

import re
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from assistant.authors import called
from assistant.document import Document, Source, Statement
from assistant.export.escape import plain

LONGEST, SHORTEST = 40, 20
WEB = re.compile(r"https?://[A-Za-z0-9][^\s<>\"'\\^`{|}\x00-\x20]*")


STOPS = ".!?。！？"
POSSESSIVE = re.compile(r"['’]s?(?!\w)")


class Part(NamedTuple):
    """A piece of a statement's text: words, or with a key the name of that paper; `is_cite` where its citation can stand in its place."""

    text: str
    key: str = ""
    is_cite: bool = False


class Parted(NamedTuple):
    """A statement in pieces, the keys that none of them cites, and the sign that ends it."""

    parts: list[Part]
    rest: list[str]
    end: str


def parted(statement: Statement) -> Parted:
    """A statement cut where it names papers; of each the first name cites it, if it is no possessive (`Xie et al.'s`)."""
    text, last = statement.text, statement.named[-1] if statement.named else None
    if last and last.at + len(last.name) == len(text):
        body, end = text, text[-1] if text[-1] in STOPS else ""
    else:
        body, end = (text[:-1], text[-1]) if text[-1:] in STOPS else (text, "")
    parts: list[Part] = []
    cites: set[str] = set()
    at = 0
    for one in statement.named:
        past = one.at + len(one.name)
        if one.at < at or text[one.at : past].casefold() != one.name.casefold():
            continue  # the text is another one than the names were put in
        is_cite = one.key not in cites and not POSSESSIVE.match(text, past)
        cites |= {one.key} if is_cite else set()
        parts += [Part(text[at : one.at]), Part(text[one.at : past], one.key, is_cite)]
        at = past
    parts.append(Part(body[at:]))
    rest = [key for key in dict.fromkeys(cite.key for cite in statement.cites) if key and key not in cites]
    return Parted([part for part in parts if part.text], rest, end)


def joined(pieces: Parted) -> Parted:
    """The same with a name at the very end cited in the bracket that follows it: two citations side by side would read as one, or as a slip."""
    parts, rest, end = pieces
    if not rest or not parts[-1].is_cite:
        return pieces
    return Parted([*parts[:-1], parts[-1]._replace(is_cite=False)], [*rest, parts[-1].key], end)


def ended(body: str, end: str) -> str:
    """A sentence with its full stop, unless the name that ends it (`Xie et al.`) has brought it."""
    return body if end == "." and body.endswith(".") else body + end


def spaced(text: str, write: Callable[[str], str]) -> str:
    """A piece of a text as `write` gives it, with the space at each end that `write` takes away."""
    if not text.strip():
        return " " * bool(text)
    return f"{' ' * text[0].isspace()}{write(text)}{' ' * text[-1].isspace()}"


def numbers(document: Document) -> dict[str, int]:
    """The cited papers, numbered in the order in which the text cites them first."""
    keys = dict.fromkeys(key for statement in document.statements for key in (cite.key for cite in statement.cites) if key)
    return {key: number for number, key in enumerate(keys, 1)}


def byline(source: Source) -> str:
    """`Xie et al. 2026`, `AI at Meta 2025`; where no author is known the start of the title, and at last the key."""
    who = _who(source) or _short(plain(source.title))
    return " ".join(part for part in (who, source.year) if part) if who else source.key


def short(source: Source) -> str:
    """What a paper calls its own work (`LlamaRL: …`), where its title says so in a word or two; else as `byline`."""
    head, colon, _ = plain(source.title).partition(":")
    return head.strip() if colon and len(head) <= SHORTEST and head.strip() else byline(source)


def listing(source: Source) -> str:
    """One line of a list of sources: who, when, title, where to find it."""
    names = ", ".join(source.authors) or source.organization or (f"{source.author_count} authors" if source.author_count else "")
    parts = (names, source.year, plain(source.title) or "(no title given)", source.venue, address(source))
    return ". ".join(part.rstrip(".") for part in parts if part) + "."


def address(source: Source) -> str:
    """Where to find it."""
    known = source.identifiers
    if known.get("doi"):
        return f"https://doi.org/{known['doi']}"
    return known.get("url") or (f"https://arxiv.org/abs/{known['arxiv']}" if known.get("arxiv") else "")


def link(source: Source) -> str:
    """Where to find it, as a link that a page may hold: http or https and nothing that a browser would run; else nothing."""
    known = source.identifiers
    made = f"https://doi.org/{quote(known['doi'], safe='/:;()._-')}" if known.get("doi") else address(source)
    return made if WEB.fullmatch(made) else ""


def _short(title: str) -> str:
    """What stands before a colon, as long as it is short, or the first words."""
    head = title.split(":", maxsplit=1)[0].strip()
    return head if len(head) <= LONGEST else head[:LONGEST].rsplit(" ", 1)[0] + " …"


def _who(source: Source) -> str:
    return called(source.authors, source.author_count, source.organization)
