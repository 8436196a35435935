"""How a paper is called in a text: author and year, all from the library."""

import re
from urllib.parse import quote

from assistant.document import Source
from assistant.export.escape import plain

LONGEST, SHORTEST = 40, 20
WEB = re.compile(r"https?://[A-Za-z0-9][^\s<>\"'\\^`{|}\x00-\x20]*")


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
    families = [name.split()[-1] for name in source.authors]
    if len(families) > 2:
        return f"{families[0]} et al."
    return " and ".join(families) or source.organization
