"""A bilingual arXiv digest by keyword: under `Keyword: …` each paper's title, translated title and labelled fields.

TITLE
TRANSLATED TITLE
- Authors: A, B, C
- Subjects: Subjects:
Computation and Language (cs.CL); Machine Learning (cs.LG)
- Arxiv link: https://arxiv.org/abs/2603.22293
- Pdf link: https://arxiv.org/pdf/2603.22293
- Abstract
TEXT
- 中文摘要
TRANSLATED TEXT
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from store.formats.file import SourceFile
from store.formats.reading import Options, arxiv_identifiers, ends_whole, in_order
from store.formats.text import clean
from store.paper import Record, Refused, Translation

NAME = "keyword-digest"
AUTHORS = re.compile(r"- Authors?:\s*(.*)")
LABEL = re.compile(r"- (Authors?|Subjects|Arxiv link|Pdf link|Comments?|Journal[ -]ref|DOI|Abstract|中文摘要)\b:?\s*(.*)")
KEYWORD = re.compile(r"Keyword:\s*(.+)")
PUBLISHED = re.compile(r"Arxiv 发布时间:\s*(\d{4}-\d{2}-\d{2})")
CODE = re.compile(r"\(([a-z-]+(?:\.[A-Za-z-]+)?)\)\s*(?:;|$)")
HAN = re.compile(r"[\u3400-\u9fff]")
LABELS = ("- Authors:", "- Subjects:", "- Arxiv link:", "- Pdf link:", "- Abstract", "- 中文摘要")
NO_RESULT = frozenset({"There is no result", "没有结果", "没有相关文章", "暂无相关文章"})
TEXTS = frozenset({"Abstract", "中文摘要"})


@dataclass(slots=True)
class Entry:
    """One record while it is read: the title lines, then each label's lines."""

    line: int
    titles: list[str]
    keyword: str
    lines: dict[str, list[str]] = field(default_factory=dict)
    raw: list[str] = field(default_factory=list)
    is_cut: bool = False
    raw_to: int = 0


def matches(file: SourceFile) -> bool:
    """Whether labelled fields of the digest stand in the text."""
    text = file.head
    starts = {found[1] for line in text.splitlines() if (found := LABEL.fullmatch(line.strip()))}
    return bool(starts & {"Arxiv link", "Pdf link", "Authors"}) and bool(starts & (TEXTS | {"Subjects"}))


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every paper of the digest, dated by the publication time that its head prints."""
    text = file.whole
    published = PUBLISHED.search(text)
    entries = _entries(text)
    records: list[Record] = []
    refused: list[Refused] = []
    for entry in entries:
        reason = _fault(entry, last=entry is entries[-1], bilingual=any("中文摘要" in other.lines for other in entries))
        if reason:
            refused.append(Refused(entry.line, reason))
        else:
            records.append(_record(entry, published[1] if published else ""))
    return in_order(records, refused)


def _entries(text: str) -> list[Entry]:
    """Each paper's lines, gathered label by label.

    A title stands above `- Authors:`, so the lines under the last label of one paper are its text and then the next
    paper's one or two title lines.
    """
    entries: list[Entry] = []
    pending: list[tuple[int, str]] = []
    keyword = next_keyword = ""
    label = ""
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        found = LABEL.fullmatch(line)
        if section := KEYWORD.fullmatch(line):
            next_keyword = section[1].strip()
            _settle(entries, label, pending, keep=0)
            pending, label = [], ""
        elif found and (found[1].startswith("Author") or not entries):
            titles = _settle(entries, label, pending, keep=_title_lines(pending, label))
            keyword = next_keyword or keyword
            start = titles[0][0] if titles else number
            entries.append(Entry(start, [title for _, title in titles], keyword, raw=[title for _, title in titles]))
            label, pending = _labelled(entries[-1], found, number)
        elif found:
            _settle(entries, label, pending, keep=0)
            label, pending = _labelled(entries[-1], found, number)
        elif line and line not in NO_RESULT:
            pending.append((number, line))
    _settle_end(entries, label, pending)
    return entries


def _labelled(entry: Entry, found: re.Match[str], number: int) -> tuple[str, list[tuple[int, str]]]:
    label = "Authors" if found[1].startswith("Author") else found[1]
    entry.lines.setdefault(label, [])
    entry.raw.append(found[0])
    entry.raw_to = number
    rest = found[2].removeprefix("Subjects:").strip()
    return label, [(number, rest)] if rest else []


def _title_lines(pending: list[tuple[int, str]], label: str) -> int:
    """How many of the last lines above `- Authors:` are the new paper's title: itself and its translation."""
    spare = len(pending) - (1 if label in TEXTS else 0)
    if spare <= 1:
        return max(spare, 0)
    translated = HAN.search(pending[-1][1]) or spare == 2 or pending[-1][1] == pending[-2][1]
    return 2 if translated else 1


def _settle(entries: list[Entry], label: str, pending: list[tuple[int, str]], keep: int) -> list[tuple[int, str]]:
    """Gives the gathered lines to the label they stood under, but for the last `keep`, which are returned."""
    split = len(pending) - keep
    if entries and label:
        entries[-1].lines[label] += [line for _, line in pending[:split]]
        entries[-1].raw += [line for number, line in pending[:split] if number > entries[-1].raw_to]
    return pending[split:]


def _settle_end(entries: list[Entry], label: str, pending: list[tuple[int, str]]) -> None:
    """At the end of the file the lines after a text may be the title of a paper that was cut off."""
    is_cut_label = bool(pending) and any(full.startswith(pending[-1][1]) for full in LABELS)
    rest = pending[:-1] if is_cut_label else pending
    if not label and rest:
        entries.append(Entry(rest[0][0], [line for _, line in rest[:2]], ""))
    elif label in TEXTS and len(rest) > 1 and not HAN.search(rest[1][1]):
        _settle(entries, label, rest[:1], keep=0)
        entries.append(Entry(rest[1][0], [line for _, line in rest[1:3]], ""))
    else:
        _settle(entries, label, rest, keep=0)
        if entries and is_cut_label:
            entries[-1].is_cut = True


def _fault(entry: Entry, *, last: bool, bilingual: bool) -> str:
    """Why an entry cannot be taken, or nothing."""
    abstract = "\n".join(entry.lines.get("Abstract", []))
    if last and (entry.is_cut or not abstract or not ends_whole(abstract) or (bilingual and not _translation_whole(entry))):
        return "the digest is cut off in this record; copy it again to have it whole"
    if not entry.titles and not abstract:
        return "neither a title nor an abstract"
    return ""


def _translation_whole(entry: Entry) -> bool:
    return ends_whole("\n".join(entry.lines.get("中文摘要", [])))


def _record(entry: Entry, published: str) -> Record:
    def text(label: str) -> str:
        return clean("\n".join(entry.lines.get(label, [])))

    zh = Translation(clean(entry.titles[1]) if len(entry.titles) > 1 else "", text("中文摘要"))
    pdf = text("Pdf link")
    return Record(
        title=clean(entry.titles[0]) if entry.titles else "",
        abstract=text("Abstract"),
        authors=tuple(name.strip() for name in text("Authors").split(",") if name.strip()),
        date=published,
        translations={"zh": zh} if zh.title or zh.abstract else {},
        identifiers=arxiv_identifiers(text("Arxiv link") or pdf) | ({"pdf": pdf} if pdf else {}),
        categories=tuple(CODE.findall(text("Subjects").replace("\n", "; "))),
        keywords=(entry.keyword,) if entry.keyword else (),
        line=entry.line,
        raw="\n".join(entry.raw),
    )
