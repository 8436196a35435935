"""A Hugging Face *Daily Papers* page copied as text: title, abstract, then authors or organization, and a date.

Blocks are parted by blank lines. Under an abstract may stand `• 5 authors` or `facebook AI at Meta`, a line with a
middle dot, and a date. The page prints no year for the year in which it was copied.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from store.formats.file import SourceFile
from store.formats.reading import Options, Refusal, arxiv_identifiers, ends_whole, in_order
from store.formats.text import clean
from store.paper import Record, Refused

NAME = "daily-papers"
FURNITURE = frozenset(
    {
        "new",
        "Get trending papers in your email inbox!",
        "Get trending papers in your email inbox once a day!",
        "Get trending papers in your email inbox",
        "Subscribe",
        "Daily Papers",
        "Daily",
        "Weekly",
        "Monthly",
        "Trending Papers",
        "byAK and the research community",
        "by AK and the research community",
        "Previous",
        "Next",
        "Company",
        "TOS",
        "Privacy",
        "About",
        "Careers",
        "Website",
        "Models",
        "Datasets",
        "Spaces",
        "Pricing",
        "Docs",
        "Hugging Face",
    }
)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
DATE = re.compile(rf"({'|'.join(MONTHS)})[a-z]*\.? (\d{{1,2}})(?:, (\d{{4}}))?(?:\s+\d+)?")
AUTHORS = re.compile(r"•?\s*(\d+) authors?")
ORGANIZATION = re.compile(r"(\S+) (.+)")
LONGEST_TITLE = 300
SHORTEST_PROSE = 25


class Block(NamedTuple):
    """Lines that stand together, with the number of the first."""

    line: int
    lines: tuple[str, ...]


def matches(file: SourceFile) -> bool:
    """Whether the text is such a page: its heading, or a date line under a middle dot."""
    text = file.head
    lines = [line.strip() for line in text.splitlines()]
    heading = "Daily Papers" in lines[:40] or any(line.startswith("byAK and the") for line in lines[:40])
    return heading or any(_is_meta(Block(0, (a, b, c))) for a, b, c in zip(lines, lines[1:], lines[2:], strict=False))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every paper of the page; `options.year` is the year it was copied in, else it is inferred from the years printed."""
    text = file.whole
    blocks = [block for block in _blocks(text) if not _is_furniture(block)]
    records: list[Record] = []
    refused: list[Refused] = []
    at = _first_title(blocks)
    while at < len(blocks):
        try:
            record, at = _paper(blocks, at)
            records.append(record)
        except Refusal as refusal:
            refused.append(Refused(refusal.line, refusal.reason))
            at = refusal.next
    return in_order(_with_years(records, options.year), refused)


def _blocks(text: str) -> list[Block]:
    blocks: list[Block] = []
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        if line.strip():
            lines.append(line.strip())
        elif lines:
            blocks.append(Block(number - len(lines), tuple(lines)))
            lines = []
    return blocks


def _is_furniture(block: Block) -> bool:
    return all(line in FURNITURE for line in block.lines)


def _first_title(blocks: list[Block]) -> int:
    """The page's own date may stand before the first title."""
    return 1 if blocks and len(blocks[0].lines) == 1 and DATE.fullmatch(blocks[0].lines[0]) else 0


def _is_meta(block: Block) -> bool:
    if AUTHORS.fullmatch(block.lines[0]):
        return True
    return "·" in block.lines and any(DATE.fullmatch(line) for line in block.lines)


def _is_broken_meta(block: Block) -> bool:
    return block.lines[0].startswith("•") or "·" in block.lines


def _is_prose(block: Block) -> bool:
    """A further paragraph of an abstract and not the next title."""
    text = " ".join(block.lines)
    return len(text) > LONGEST_TITLE or (text.endswith(".") and len(text.split()) >= SHORTEST_PROSE)


def _paper(blocks: list[Block], at: int) -> tuple[Record, int]:
    """The record that starts at a block, and where the next one starts."""
    head = blocks[at]
    if _is_meta(head) or _is_broken_meta(head):
        raise Refusal(head.line, "a line of authors or a date with no paper above it", at + 1)
    if _is_prose(head):
        raise Refusal(head.line, "an abstract with no title above it", _after_meta(blocks, at + 1))
    end = at + 1
    while end < len(blocks) and (end == at + 1 or _is_prose(blocks[end])) and not _is_meta(blocks[end]):
        end += 1
    paragraphs = blocks[at + 1 : end]
    if not paragraphs or (len(paragraphs) == 1 and _is_broken_meta(paragraphs[0])):
        raise Refusal(head.line, f"no abstract under the title {' '.join(head.lines)!r}", _after_meta(blocks, end))
    meta = blocks[end] if end < len(blocks) and (_is_meta(blocks[end]) or _is_broken_meta(blocks[end])) else None
    record = _record(head, paragraphs, meta)
    last = end + (meta is not None) >= len(blocks)
    if last and not _is_whole(record, meta):
        raise Refusal(head.line, "the page is cut off in this record; copy it again to have it whole", len(blocks))
    return record, end + (meta is not None)


def _after_meta(blocks: list[Block], at: int) -> int:
    return at + 1 if at < len(blocks) and _is_meta(blocks[at]) else at


def _is_whole(record: Record, meta: Block | None) -> bool:
    """At the end of a page: a date under the abstract, or an abstract that comes to its end."""
    if meta is not None:
        return any(DATE.fullmatch(line) for line in meta.lines)
    return ends_whole(record.abstract)


def _record(head: Block, paragraphs: list[Block], meta: Block | None) -> Record:
    lines = (*head.lines, *(line for block in paragraphs for line in ("", *block.lines)), *(meta.lines if meta else ()))
    record = Record(
        title=clean(" ".join(head.lines)),
        abstract=clean("\n".join(" ".join(block.lines) for block in paragraphs)),
        line=head.line,
        raw="\n".join(lines),
    )
    return _described(record, meta) if meta else record


def _described(record: Record, meta: Block) -> Record:
    """The record with what stands under the abstract: a count of authors, an organization, a date."""
    for line in meta.lines:
        if count := AUTHORS.fullmatch(line):
            record = replace(record, author_count=int(count[1]))
        elif day := DATE.fullmatch(line):
            month = MONTHS.index(day[1]) + 1
            record = replace(record, date=f"{day[3] or '????'}-{month:02}-{int(day[2]):02}")
        elif organization := ORGANIZATION.fullmatch(line.lstrip("• ")):
            handle, name = organization.groups()
            record = replace(record, organization=clean(name), identifiers={"huggingface": handle})
        elif line not in "·•":
            record = replace(record, organization=clean(line))
    return replace(record, identifiers={**record.identifiers, **arxiv_identifiers(record.raw, alone=True)})


def _with_years(records: list[Record], year: int | None) -> list[Record]:
    """Dates printed without a year get the year of the page: told, or one more than the latest printed."""
    printed = [int(record.date[:4]) for record in records if record.date[:4].isdigit()]
    page_year = year or (max(printed) + 1 if printed else None)

    def dated(record: Record) -> Record:
        if not record.date.startswith("????"):
            return record
        if page_year is None:
            return replace(record, date="")
        return replace(record, date=f"{page_year}{record.date[4:]}", date_inferred=year is None)

    return [dated(record) for record in records]
