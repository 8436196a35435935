"""Questions about the library's own fields ("how many papers from 2025?"), answered by code: no model is asked.

A question is taken apart clause by clause; where a word is left over that is no clause, it is about what papers say, and
is no question for code.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from assistant.document import Cite, Document, Section, Statement
from assistant.evidence import gathered
from assistant.tasks.questions import ARBEITEN, ARTICLES, LUNWEN, PAPERS
from store.library import Library
from store.paper import Paper
from store.scope import Scope

Y = r"((?:19|20)\d\d(?:-\d\d)?)"
CODE = r"([a-z]{2,}(?:-[a-z]{2,})*\.[A-Za-z-]{2,}|(?:category|subject|kategorie|catégorie|类别) ?([A-Za-z.-]+))"
NAME = r"[\"“”„'«]?([^\"“”'«»,;?？]+?)[\"“”'»]?"
FILE = r"[\"“]?([\w.-]*[A-Za-z][\w-]*\.(?:bib|ris|csv|tsv|txt|json|jsonl|xml|nbib|xlsx|enw|md|ciw|html?))[\"”]?"
STATUSES = {
    "included": "included", "excluded": "excluded", "candidate": "candidate", "candidates": "candidate", "undecided": "candidate",
    "eingeschlossen": "included", "eingeschlossene": "included", "ausgeschlossen": "excluded", "ausgeschlossene": "excluded",
    "kandidaten": "candidate", "inclus": "included", "exclus": "excluded", "candidats": "candidate", "纳入": "included", "排除": "excluded", "候选": "candidate",
}  # fmt: skip
PER = {
    "year": "year", "jahr": "year", "an": "year", "année": "year", "status": "status", "statut": "status", "category": "category", "subject": "category",
    "kategorie": "category", "catégorie": "category", "tag": "tag", "schlagwort": "tag", "étiquette": "tag", "file": "file", "source": "file",
    "datei": "file", "fichier": "file", "author": "author", "autor": "author", "auteur": "author",
}  # fmt: skip
HEADS = re.compile(
    rf"how many|(?:what is |what's |give me |tell me )?the number of|number of|count(?: up)?|wie ?viele|(?:die )?anzahl (?:der|aller)|combien|nombre"
    rf"|(?:多少|几)篇|多少(?={LUNWEN})|(?:的)?数量",
    re.IGNORECASE,
)
FILLER = re.compile(
    rf"\b(?:{PAPERS}|{ARBEITEN}|{ARTICLES}|paper|are|is|were|was|do|does|did|we|i|you|have|has|there|the|of|in|my|our|this|these|those|them|all|and|or"
    r"|library|collection|review|that|which|published|dated|appeared|came out|total|altogether|currently|now|please|any|it|hold|holds|held|marked|as|with|status"
    r"|gibt|es|sind|ist|in|der|die|das|den|meiner|dieser|bibliothek|sammlung|insgesamt|haben|hat|wir|ich|erschienen|veröffentlicht|wurden|davon"
    r"|de|des|du|d|y|a|t|il|ai|je|on|avons|nous|sont|est|ont|été|publiés|publiées|parus|datent|la|le|les|bibliothèque|au|dans)\b"
    rf"|{LUNWEN}|篇|库|图书馆|中|里|有|的|一共|总共|共|发表|是|在|我们?|这些?|被|了|吗|[?？!.,，。;'’-]",
    re.IGNORECASE,
)


MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january januar janvier", "february februar février", "march märz mars", "april avril", "may mai", "june juni juin", "july juli juillet",
            "august août", "september septembre", "october oktober octobre", "november novembre", "december dezember décembre",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
MONTH = re.compile(rf"\b({'|'.join(MONTHS)}) ((?:19|20)\d\d)\b|((?:19|20)\d\d) ?年 ?(\d\d?) ?月", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Count:
    """What is counted: the papers of a scope, by an author, and for each value of a field where `per` names one.

    `is_surely_author` says that "by" stood before the name; "from" may name anything.
    """

    scope: Scope = field(default_factory=Scope)
    author: str = ""
    is_surely_author: bool = False
    per: str = ""
    said: tuple[str, ...] = ()


def counted(library: Library, question: str, scope: Scope | None = None) -> Document | None:
    """The answer to a question about the library's own fields, or None for any other question."""
    asked = read_count(question)
    if asked is None:
        return None
    papers = _papers(library, asked, scope)
    if papers is None:
        return None
    what = f" {' and '.join(asked.said)}" if asked.said else ""
    statements = [_statement(library, f"Counted by code: {_number(papers)}{what}{_left_out(library, asked, scope)}.", papers)]
    for value, some in _groups(papers, asked.per).items():
        statements.append(_statement(library, f"Counted by code: {value}: {_number(some)}.", some))
    return Document("ask", question, sections=(Section("", tuple(statements)),), outcome="answered")


def read_count(question: str) -> Count | None:
    """What a question asks to be counted, or None where a part of it is about more than the library's fields."""
    text = " ".join(question.split())
    if not (head := HEADS.search(text)):
        return None
    rest = " ".join(MONTH.sub(_month, f"{text[: head.start()]} {text[head.end() :]}".replace("?", " ").replace("？", " ")).split()) + " "
    count = Count()
    for pattern, take in CLAUSES:
        for found in pattern.finditer(rest):
            count = take(count, found)
        rest = pattern.sub(" ", rest)
    return None if FILLER.sub(" ", rest).strip() else count


def _month(found: re.Match[str]) -> str:
    """`March 2026` as `2026-03`."""
    name, year, other_year, number = found.groups()
    return f" {year}-{MONTHS[name.lower()]:02} " if name else f" {other_year}-{int(number):02} "


def _dated(since: str, until: str) -> Callable[[Count, re.Match[str]], Count]:
    """Takes the dates of a clause: `{0}` is its first year, `{1}` its second; `+` and `-` are a year later and earlier."""

    def take(count: Count, found: re.Match[str]) -> Count:
        years = [year for year in found.groups() if year]
        first, last = _of(since, years), _of(until, years)
        said = f"from {first}" if first and first == last else " ".join([*([f"since {first}"] if first else []), *([f"until {last}"] if last else [])])
        old = count.scope
        narrowed = replace(old, since=max(old.since, first), until=min(filter(None, (old.until, last)), default=""))
        return replace(count, scope=narrowed, said=(*count.said, said))

    return take


def _of(form: str, years: list[str]) -> str:
    if not form:
        return ""
    year = years[int(form[0])]
    moved = {"+": 1, "-": -1}.get(form[1:], 0)
    return str(int(year[:4]) + moved) if moved else year


def _category(count: Count, found: re.Match[str]) -> Count:
    code = found[2] or found[1]
    return replace(count, scope=replace(count.scope, categories=(*count.scope.categories, code)), said=(*count.said, f"in {code}"))


def _tag(count: Count, found: re.Match[str]) -> Count:
    tag = found[1].strip()
    return replace(count, scope=replace(count.scope, tags=(*count.scope.tags, tag)), said=(*count.said, f"tagged {tag}"))


def _status(count: Count, found: re.Match[str]) -> Count:
    status = STATUSES[found[1].lower()]
    said = "that are candidates" if status == "candidate" else f"that are {status}"
    return replace(count, scope=replace(count.scope, statuses=(*count.scope.statuses, status)), said=(*count.said, said))


def _file(count: Count, found: re.Match[str]) -> Count:
    return replace(count, scope=replace(count.scope, sources=(*count.scope.sources, found[1])), said=(*count.said, f"from the file {found[1]}"))


def _author(count: Count, found: re.Match[str]) -> Count:
    return replace(count, author=found[2].strip(), is_surely_author="by" in found[1].lower(), said=(*count.said, f"by {found[2].strip()}"))


def _per(count: Count, found: re.Match[str]) -> Count:
    return replace(count, per=PER[found[1].lower()])


def _per_year(count: Count, found: re.Match[str]) -> Count:
    return replace(count, per="year")


def _clause(pattern: str, take: Callable[[Count, re.Match[str]], Count]) -> tuple[re.Pattern[str], Callable[[Count, re.Match[str]], Count]]:
    return re.compile(pattern, re.IGNORECASE), take


CLAUSES = (
    _clause(rf"\b(?:per|each|for each|for every|by|pro|je|par|nach) ({'|'.join(PER)})\b", _per),
    _clause(r"每一?年|按年份?|各年", _per_year),
    _clause(rf"\b(?:from|in|of|aus|von|du|de|dans) (?:(?:the|der|le) )?(?:(?:file|datei|fichier) )?{FILE}", _file),
    _clause(rf"\b(?:between|from|zwischen|von|entre|de) {Y} (?:and|to|through|till|until|und|bis|et|à) {Y}", _dated("0", "1")),
    _clause(rf"{Y} ?年?(?:至|到|[-–]) ?{Y} ?年?(?:间|之间|期间)?", _dated("0", "1")),
    _clause(rf"\b(?:since|from) {Y} (?:on|onwards?)\b|\b(?:since|seit|ab|depuis|à partir de) {Y}\b|{Y} ?年?(?:以来|之?后以?来?|起)", _dated("0", "")),
    _clause(rf"\b(?:after|later than|newer than|nach|après) {Y}\b", _dated("0+", "")),
    _clause(rf"\b(?:until|till|up to|through|bis|jusqu['’](?:en|à)) {Y}\b", _dated("", "0")),
    _clause(rf"\b(?:before|earlier than|older than|vor|avant) {Y}\b|{Y} ?年?(?:之前|以前)", _dated("", "0-")),
    _clause(rf"\b(?:(?:in|from|of|aus|von|im jahr|en|de|dated) )?(?:the year )?{Y}\b(?: ?年)?|{Y} ?年", _dated("0", "0")),
    _clause(rf"\b(?:tagged|labelled)(?: (?:with|as))? {NAME}(?= (?:are|is|from|in|since|do|and)\b|\s*$)", _tag),
    _clause(rf"\b(?:with|have|mit|avec) (?:the |a |dem |den |le |l['’])?(?:tag|schlagwort|étiquette) {NAME}(?= (?:are|is|from|in|since|do|and)\b|\s*$)", _tag),
    _clause(rf"\b(?:in |from |of |under |filed under |en |aus )?(?:the )?{CODE}(?![\w.])", _category),
    _clause(rf"(?<!\w)({'|'.join(STATUSES)})(?![a-z])", _status),
    _clause(r"\b((?:written |authored )?by|from|von|de|par) (?:the author )?((?-i:[A-ZÀ-Þ])[\w.'’-]+(?: (?:(?-i:[A-ZÀ-Þ])[\w.'’-]*|de|van|von|der|den|la|le))*)", _author),
)
"""The clauses of a question, in the order in which they are taken out of it."""


def _papers(library: Library, asked: Count, scope: Scope | None) -> list[Paper] | None:
    """The papers that are counted; None where a name that "from" stands before is no author's here."""
    papers = library.considered(asked.scope)
    if scope is not None:
        inside = replace(scope, statuses=asked.scope.statuses) if asked.scope.statuses and not scope.statuses else scope
        numbers = {paper.number for paper in library.considered(inside)}
        papers = [paper for paper in papers if paper.number in numbers]
    if not asked.author:
        return papers
    by_author = [paper for paper in papers if _wrote(asked.author, paper)]
    return by_author if by_author or asked.is_surely_author else None


def _wrote(author: str, paper: Paper) -> bool:
    words = _folded(author)
    return any(words <= _folded(name) for name in (*paper.authors, paper.organization))


def _folded(name: str) -> frozenset[str]:
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower() or name.lower()
    return frozenset(re.findall(r"\w+", plain))


def _groups(papers: Sequence[Paper], per: str) -> Mapping[str, list[Paper]]:
    groups: dict[str, list[Paper]] = {}
    for paper in papers:
        for value in _values(paper, per) if per else ():
            groups.setdefault(value, []).append(paper)
    return dict(sorted(groups.items()))


def _values(paper: Paper, per: str) -> Iterable[str]:
    found = {
        "year": (paper.year,),
        "status": (paper.status,),
        "category": paper.categories,
        "tag": paper.tags,
        "file": tuple(dict.fromkeys(source.file.rsplit("/", 1)[-1] for source in paper.sources)),
        "author": paper.authors,
    }[per]
    return tuple(value for value in found if value) or (f"no {per}",)


def _left_out(library: Library, asked: Count, scope: Scope | None) -> str:
    """What the figure leaves out, where a reader might think otherwise."""
    excluded = library.catalog.statuses().get("excluded", 0)
    said = [f"{excluded} excluded {'is' if excluded == 1 else 'are'} not counted"] if excluded and not asked.scope.statuses and scope is None else []
    undated = (asked.scope.since or asked.scope.until) and sum(not paper.date for paper in library.considered(replace(asked.scope, since="", until="")))
    said += [f"{undated} without a date could not be"] if undated else []
    return f" ({'; '.join(said)})" if said else ""


def _statement(library: Library, text: str, papers: Sequence[Paper]) -> Statement:
    return Statement(text, headings(library, papers), by="code")


def headings(library: Library, papers: Sequence[Paper]) -> tuple[Cite, ...]:
    """The title of each paper, or its first sentence where it has none."""
    return tuple(cite for shown in gathered(library, papers).papers if (cite := shown.heading))


def _number(papers: Sequence[Paper]) -> str:
    return f"{len(papers)} {'paper' if len(papers) == 1 else 'papers'}"
