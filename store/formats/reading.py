"""What every reader returns, and the few things that all layouts share."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from store.formats.file import SourceFile
from store.paper import Kind, Record, Refused

ARXIV = re.compile(r"(?:arxiv\.org/(?:abs|pdf|html)/|arxiv:\s*)((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(v\d+)?", re.IGNORECASE)
ARXIV_ID = re.compile(r"\d{4}\.\d{4,5}|(?<![a-z.-])[a-z][a-z-]{1,15}(?:\.[A-Z]{2})?/\d{7}")
WHOLE = re.compile(r"""(?:[.!?。！？…][)\]"'”’»}$*]*|https?://\S+|[）)])$""")
FIRST_OF_FIVE_DIGITS = 1501


MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DOI = re.compile(r"10\.\d{4,9}/(?:\(sici\)\S+|[^\s\"<>{}|\\^`]+)", re.IGNORECASE)
CLOCK = re.compile(r"T?\d{1,2}:\d{2}(?::\d{2})?(?:\.\d+)?(?:Z|[+-]\d{2}:?\d{2})?|\b(?:GMT|UTC)\b")
YEAR = re.compile(r"(?<!\d)(1[5-9]\d\d|20\d\d|21[0-4]\d)(?!\d)")
NUMERIC = re.compile(r"(\d{4})[-/.](\d{1,2})(?:[-/.](\d{1,2}))?(?!\d)")
FAMILY_INITIALS = re.compile(r"([^\W\d_][\w'’-]+(?: [\w'’-]+)*) ((?:[^\W\d_]\.-?){1,4})")
FAMILY_CAPITALS = re.compile(r"([^\W\d_]*[^\W\d_A-Z][\w'’-]*(?: [\w'’-]+)*) ([A-Z]{1,3})")
LONGEST_NAME = 80
WORDED = re.compile(r"([A-Za-z]{3})[a-z]*")


@dataclass(frozen=True, slots=True)
class Options:
    """What the person says about a file: the year a page was copied in, which column of a table holds which field."""

    year: int | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


class Reader(Protocol):
    """A module that knows one layout."""

    NAME: str

    def matches(self, file: SourceFile) -> bool:
        """Whether the file has this layout, by its content."""

    def read(self, file: SourceFile, options: Options) -> Iterator[Record | Refused]:
        """Its papers in order, and in their place the records that cannot be read."""


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


def in_order(records: Iterable[Record], refused: Iterable[Refused]) -> Iterator[Record | Refused]:
    """Both in the order in which they stand in the file."""
    both: list[Record | Refused] = [*records, *refused]
    return iter(sorted(both, key=lambda item: item.line))


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


def doi_in(text: str) -> str:
    """The first DOI in a text, in lower case and without the punctuation behind it; nothing where there is none."""
    found = DOI.search(text.replace("\\_", "_"))
    if not found:
        return ""
    doi = found[0].rstrip(".,;:'")
    while doi.endswith((")", "]")) and doi.count("(") + doi.count("[") < doi.count(")") + doi.count("]"):
        doi = doi[:-1].rstrip(".,;:")
    return doi.lower()


def arxiv_id(text: str) -> str:
    """The arXiv id, version stripped, where the text is one: `2603.13224v2`, `arXiv:2603.13224`, `hep-th/9901001`, or its address."""
    bare = re.sub(r"^(?:https?://)?(?:www\.)?(?:export\.)?arxiv\.org/(?:abs|pdf|html)/|^arxiv:\s*|\.pdf$", "", text.strip(), flags=re.IGNORECASE)
    bare = re.sub(r"v\d+$", "", bare)
    return bare if ARXIV_ID.fullmatch(bare) and is_arxiv_id(bare) else ""


def iso_date(text: str) -> str:
    """A date as ISO, as precise as it is certain: `2020/03/15/`, `2020 Mar 15`, `15 March 2020`, `Spring 2020`, `2020`.

    Nothing where there is no year between 1500 and 2149; a month or day that cannot be is left out.
    """
    if ":" in text:
        text = CLOCK.sub(" ", text)
    numeric = NUMERIC.search(text)
    if numeric and YEAR.fullmatch(numeric[1]):
        return _dated(numeric[1], int(numeric[2]), int(numeric[3] or 0))
    found = YEAR.search(text)
    if not found:
        return ""
    rest = text[: found.start()] + " " + text[found.end() :]
    names = [word[1].lower() for word in WORDED.finditer(rest)]
    month = next((MONTHS.index(name) + 1 for name in names if name in MONTHS), 0)
    days = [int(day) for day in re.findall(r"(?<!\d)\d{1,2}(?!\d)", rest)]
    return _dated(found[0], month, days[0] if month and len(days) == 1 else 0)


def _dated(year: str, month: int, day: int) -> str:
    if not 1 <= month <= 12:
        return year
    return f"{year}-{month:02}-{day:02}" if 1 <= day <= _days(int(year), month) else f"{year}-{month:02}"


def _days(year: int, month: int) -> int:
    """How many days a month has (Gregorian)."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    return 30 if month in {4, 6, 9, 11} else 31


def printed_name(name: str) -> str:
    """`Family, Given`, `Family, Jr, Given` and `Family G.` as they are printed; any other name as it is."""
    name = name.replace("{", "").replace("}", "")
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if len(parts) < 2:
        bare = " ".join(name.replace(",", " ").split())
        turned = (FAMILY_INITIALS.fullmatch(bare) or FAMILY_CAPITALS.fullmatch(bare)) if len(bare) <= LONGEST_NAME else None
        return f"{turned[2]} {turned[1]}" if turned else bare
    suffix = [part for part in parts[1:] if part.rstrip(".").lower() in {"jr", "sr", "ii", "iii", "iv"}]
    given = [part for part in parts[1:] if part not in suffix]
    return " ".join(" ".join([*given, parts[0], *suffix]).split())


def entry_type(name: str) -> str:
    """The BibTeX entry type for what a format calls the kind of a work: `JOUR`, `journal-article`, `Conference Paper`."""
    said = re.sub(r"[^a-z]", "", name.lower())
    return next((kind for kind, names in ENTRY_TYPES.items() if said == kind or said in names), "misc" if said else "")


ENTRY_TYPES: Mapping[str, frozenset[str]] = {
    "article": frozenset(
        "jour jfull ejou abst mgzn news inpr article articlejournal articlemagazine articlenewspaper journalarticle journal j"
        " journalpaper electronicarticle magazinearticle newspaperarticle review editorial letter erratum".split()
    ),
    "inproceedings": frozenset(
        "conf cpaper paperconference proceedingsarticle conferencepaper conferenceproceedings conference c proceedingspaper".split()
    ),
    "book": frozenset("book whole edbook monograph editedbook referencebook b s booksection series".split()) - {"booksection"},
    "incollection": frozenset("chap echap bookchapter chapter booksection bookpart encyc dict entryencyclopedia referenceentry".split()),
    "phdthesis": frozenset("thes thesis dissertation".split()),
    "techreport": frozenset("rprt report reportseries techreport reportcomponent standard".split()),
    "proceedings": frozenset({"proceedings"}),
    "unpublished": frozenset("unpb unpd manuscript unpublishedwork".split()),
}
