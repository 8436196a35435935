"""The bibliography of exactly the cited papers, every field from the library; what is read back from it is the same."""

import re
import unicodedata
from collections.abc import Mapping
from urllib.parse import quote

from assistant.authors import is_corporate, parted
from assistant.document import Document, Source
from assistant.export.escape import bibtex, command, field

NO_PAPER = frozenset({"comment", "string", "preamble", "xdata", "set"})
VENUE = {
    "article": "journal", "inproceedings": "booktitle", "conference": "booktitle", "incollection": "booktitle", "inbook": "booktitle",
    "phdthesis": "school", "mastersthesis": "school", "thesis": "institution", "techreport": "institution", "report": "institution",
    "book": "publisher", "proceedings": "series",
}  # fmt: skip
"""What a venue is called in an entry of each type; in others `howpublished`."""
DETAILS = ("volume", "number", "series", "edition", "chapter", "publisher", "address", "school", "institution", "howpublished", "isbn", "issn")
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
NO_PLACE = re.compile(r"\b(?:arxiv|corr|preprint|biorxiv|medrxiv|ssrn|openreview)\b", re.IGNORECASE)
"""A venue where papers are put, not published."""
UNPUBLISHED = frozenset({"", "misc", "online", "unpublished", "preprint"})
PROCEEDINGS = re.compile(
    r"\b(?:proceedings|proc\.?|conference|symposium|workshops?|meeting|neurips|nips|icml|iclr|aaai|ijcai|acl|naacl|eacl|emnlp|coling|colm|cvpr|iccv|eccv|wacv|icra|iros"
    r"|corl|rss|kdd|sigir|www|chi|icassp|interspeech|aistats|uai|colt|osdi|sosp|nsdi|sigmod|vldb|usenix)\b",
    re.IGNORECASE,
)
JOURNAL = re.compile(r"\b(?:journal|transactions|trans\.|letters|review|annals|magazine|bulletin|nature|science|jmlr|tmlr|tacl|pnas|plos)\b", re.IGNORECASE)
ARXIV_SUBJECT = re.compile(r"[a-z-]+(?:\.[A-Za-z-]{2,})?")
TAUGHT = (
    '@preamble{{"\\def\\lettersknown{{\\ifcsname ver@CJKutf8.sty\\endcsname \\else {}\\fi }}\\lettersknown '
    '\\immediate\\write\\csname @auxout\\endcsname {{\\detokenize\\expandafter{{\\lettersknown}}}} "}}\n'
    "% pdfLaTeX prints letters that it has no font for as their numbers; LuaLaTeX, XeLaTeX and the package CJKutf8 print them as they are\n"
)
"""What lets pdfLaTeX compile a bibliography in any alphabet; by way of the .aux file also the names that the text before it cites."""
SIGN = "\\expandafter\\ifx\\csname u8:\\detokenize{{{sign}}}\\endcsname \\relax \\expandafter\\gdef\\csname u8:\\detokenize{{{sign}}}\\endcsname {{{meaning}}}\\fi "


def write(document: Document) -> str:
    """One entry a cited paper, in order of key."""
    table = {row.key for row in document.rows}
    keys = sorted({*document.cited(), *table}) if document.task in {"ask", "draft"} else tuple(document.sources)
    text = "\n".join(entry(document.sources[key]) for key in keys if key in document.sources)
    return _taught(text) + text


def _taught(text: str) -> str:
    """A preamble for the letters that pdfLaTeX may not know; nothing where there are none."""
    signs = sorted({sign for sign in text if not sign.isascii()})
    return TAUGHT.format("".join(SIGN.format(sign=sign, meaning=_meaning(sign)) for sign in signs)) + "\n" if signs else ""


def _meaning(sign: str) -> str:
    """What pdfLaTeX prints for a sign: a command that it knows, a space, nothing for what only joins others, else its number."""
    kind = unicodedata.category(sign)
    if kind in {"Mn", "Me", "Cf"}:
        return ""
    known = " " if kind == "Zs" else command(sign)
    return known if known.isascii() else f"[{ord(sign):X}]\\penalty0 "


def entry(source: Source) -> str:
    """A paper as a BibTeX entry; what the library does not know is not there."""
    known, arxiv, kind = source.details, source.identifiers.get("arxiv", ""), _type(source)
    month = source.date[5:7]
    fields = {
        "title": bibtex(source.title),
        "author": _authors(source),
        "organization": bibtex(source.organization) if source.authors else "",
        "editor": " and ".join(_name(name) for name in known.get("editor", "").split("; ") if name),
        "year": source.year,
        "month": MONTHS[int(month) - 1] if month.isdecimal() and 1 <= int(month) <= len(MONTHS) else "",
        "day": source.date[8:10].lstrip("0"),
        **_venue(source, known, kind),
        **{name: bibtex(known.get(name, "")) for name in DETAILS if known.get(name)},
        "pages": "--".join(map(field, known.get("pages", "").split("-"))),
        "doi": _verbatim(source.identifiers.get("doi", "")),
        "eprint": _verbatim(arxiv),
        "archiveprefix": "arXiv" if arxiv else "",
        "primaryclass": next((one for one in source.categories if arxiv and ARXIV_SUBJECT.fullmatch(one)), ""),
        "pmid": _verbatim(source.identifiers.get("pmid", "")),
        "pmcid": _verbatim(source.identifiers.get("pmcid", "")),
        "url": _verbatim(source.identifiers.get("url", "")),
        "keywords": ", ".join(map(bibtex, source.keywords)),
    }
    lines = [f"  {name} = {value if name == 'month' else f'{{{value}}}'}," for name, value in fields.items() if value]
    return "\n".join([f"@{kind}{{{source.key},", *lines, "}", ""])


def _type(source: Source) -> str:
    """The entry's type: the library's, but for a preprint that has been published since, which is of the type of that publication."""
    given = source.entry_type if source.entry_type.isalpha() and source.entry_type.isascii() and source.entry_type not in NO_PAPER else "misc"
    venue = source.venue
    if source.entry_type not in UNPUBLISHED or not venue or NO_PLACE.search(venue) or venue in source.details.values():
        return given
    if PROCEEDINGS.search(venue):
        return "inproceedings"
    return "article" if JOURNAL.search(venue) or {"volume", "issn"} & source.details.keys() else given


def _venue(source: Source, known: Mapping[str, str], kind: str) -> dict[str, str]:
    """The venue under the name of its entry's type, or of the detail that it was taken from.

    Of a type that prints none, `howpublished` prints it, and `journal` keeps it for those who read the file; where it is
    arXiv or its like, which `eprint` prints, `journal` alone.
    """
    same = [name for name in ("series", "school", "institution", "publisher") if source.venue and known.get(name) == source.venue]
    usual = VENUE.get(kind, "")
    name = same[0] if same and usual not in {"journal", "booktitle"} else usual
    said = bibtex(source.venue)
    if name or not said:
        return {name: said} if name else {}
    return {"journal": said} if NO_PLACE.search(source.venue) else {"howpublished": said, "journal": said}


def _authors(source: Source) -> str:
    if source.authors:
        others = ["others"] if (source.author_count or 0) > len(source.authors) else []
        return " and ".join([*map(_name, source.authors), *others])
    return f"{{{field(source.organization)}}}" if source.organization else ""


def _name(name: str) -> str:
    """A person's name first name first, with a suffix in the order that BibTeX wants; one that is no person's whole, in braces."""
    given, family, suffix = parted(name)
    if is_corporate(name) or "[" in name or "]" in name:  # a bracket would end the label that natbib makes of it
        return f"{{{field(name)}}}"
    *before, last = family.split() or [""]
    first, family = " ".join(map(_initial, given.split())), " ".join([*map(_initial, before), field(last)])
    return f"{family}, {field(suffix)}, {first}" if suffix else f"{first} {family}".strip()


def _initial(word: str) -> str:
    """A given name whose first letter BibTeX can take alone: of a letter that it knows no command for it would take a part."""
    written = field(word)
    return written if written[:1].isascii() else f"{{\\relax {written[0]}}}{written[1:]}"


def _verbatim(value: str) -> str:
    """An address or a number as it is, but for what would close or break its field."""
    return quote(value, safe="!#$%&'()*+,-./:;=?@[]_~", encoding="utf-8")
