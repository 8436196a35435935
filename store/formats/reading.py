"""What every reader returns, and the few things that all layouts share."""

import re
from dataclasses import dataclass

from store.paper import Kind, Record, Refused

ARXIV = re.compile(r"(?:arxiv\.org/(?:abs|pdf|html)/|arxiv:\s*)((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(v\d+)?", re.IGNORECASE)
ARXIV_ID = re.compile(r"\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}")
WHOLE = re.compile(r"""(?:[.!?。！？…][)\]"'”’»}$*]*|https?://\S+|[）)])$""")
FIRST_OF_FIVE_DIGITS = 1501


@dataclass(frozen=True, slots=True)
class Reading:
    """The papers one file holds, the records that could not be read, and whose words the texts are."""

    format: str
    records: tuple[Record, ...]
    refused: tuple[Refused, ...] = ()
    kind: Kind = "abstract"


class Refusal(Exception):
    """One record that cannot be read; reading goes on at `next`."""

    def __init__(self, line: int, reason: str, next: int) -> None:  # noqa: A002  the natural word for it
        super().__init__(reason)
        self.line, self.reason, self.next = line, reason, next


def arxiv_identifiers(text: str, *, alone: bool = False) -> dict[str, str]:
    """The arXiv id (version stripped) and its address in a link; `alone` wants the link on a line of its own."""
    lines = [line.strip() for line in text.splitlines()] if alone else [text]
    for line in lines:
        found = ARXIV.search(line)
        if found and is_arxiv_id(found[1]) and (not alone or line.startswith(("http", "arXiv:", "arxiv:"))):
            return {"arxiv": found[1], "url": f"https://arxiv.org/abs/{found[1]}"}
    return {}


def is_arxiv_id(identifier: str) -> bool:
    """Whether the id can be whole: since 2015 a number has five digits, so four mean that a page was cut."""
    month, _, number = identifier.partition(".")
    return not month.isdigit() or len(number) == 5 or int(month) < FIRST_OF_FIVE_DIGITS


def ends_whole(text: str) -> bool:
    """Whether a text comes to an end, so that a page that stops here was not cut off in it."""
    return bool(WHOLE.search(text.rstrip()))
