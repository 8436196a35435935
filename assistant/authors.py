"""How a text calls a paper by its authors: family names, names that are printed whole, `A`, `A and B`, `A et al.`"""

import re
from collections.abc import Sequence
from typing import NamedTuple

CORPORATE = re.compile(
    r"\b(?:collaboration|consortium|team|group|university|institute|laborator(?:y|ies)|labs?|research|foundation|society|association|inc|ltd|gmbh|"
    r"committee|project|network|initiative|openai|deepmind)\b|[,&;]|\band\b",
    re.IGNORECASE,
)
"""A name that is no person's is printed whole, and is not parted into a first and a last name."""
SUFFIX = re.compile(r"(?:Jr|Sr)\.?|I{2,3}|IV")


class Name(NamedTuple):
    """A person's name in the parts that a bibliography prints apart; one that is no person's is all `family`."""

    given: str
    family: str
    suffix: str = ""


def is_corporate(name: str) -> bool:
    """Whether a name is to be printed whole."""
    return bool(CORPORATE.search(name)) or name.casefold() == "others"


def parted(name: str) -> Name:
    """A printed name in its parts; particles belong to the family name, as BibTeX has it: `Ludwig | van Beethoven`."""
    words = name.split()
    if is_corporate(name) or len(words) < 2:
        return Name("", name)
    suffix = words.pop() if len(words) > 2 and SUFFIX.fullmatch(words[-1]) else ""
    particle = next((at for at, word in enumerate(words[:-1]) if at and word[:1].islower()), len(words) - 1)
    return Name(" ".join(words[:particle]), " ".join(words[particle:]), suffix)


def called(authors: Sequence[str], count: int | None = None, organization: str = "") -> str:
    """`Xie`, `Xie and Wu`, `Xie et al.`; where no author is known the organization, which may be nothing.

    `count` is how many authors there are, where more are known of than named.
    """
    families = [parted(name).family for name in authors]
    if len(families) > 2 or (families and (count or 0) > len(families)):
        return f"{families[0]} et al."
    return " and ".join(families) or organization
