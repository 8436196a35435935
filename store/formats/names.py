"""Author strings → names as they are printed: `A B and C D`, `Family, G.; Family, G.`, `Family I., Family I.`."""

import re

from store.formats.reading import printed_name
from store.formats.text import one_line

INITIALS = re.compile(r"(?:[^\W\d_]\.?[- ]?){1,4}\.?")
OTHERS = frozenset({"others", "et al", "et al.", "..."})


def author_list(text: str) -> tuple[str, ...]:
    """The names in a text that lists them in whatever way."""
    whole = one_line(text).strip(";,| ")
    names = [printed_name(part.strip()) for part in _parted(whole) if part.strip() and part.strip().lower() not in OTHERS]
    return tuple(name for name in names if name)


def _parted(whole: str) -> list[str]:
    for mark in (";", "|"):
        if mark in whole:
            return whole.split(mark)
    parts = re.split(r"\s+(?:and|&|und|et)\s+", whole)
    if len(parts) > 1 and all(part.count(",") <= 1 and not _is_list(part) for part in parts):
        return parts
    commas = [piece for part in parts for piece in part.split(",") if piece.strip()]
    # `Family, I., Family, I.`: every second piece is initials.
    if len(commas) > 1 and len(commas) % 2 == 0 and all(INITIALS.fullmatch(piece.strip()) for piece in commas[1::2]):
        return [f"{family.strip()}, {given.strip()}" for family, given in zip(commas[::2], commas[1::2], strict=True)]
    return commas if _is_list(whole) or len(commas) > 2 else parts


def _is_list(text: str) -> bool:
    """Whether commas part names and not a family name from a given one: there is a name of two words on both sides."""
    pieces = [piece.strip() for piece in text.split(",") if piece.strip()]
    return len(pieces) > 1 and all(" " in piece for piece in pieces)

