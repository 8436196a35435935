"""Papers → labelled sentences for a prompt, and labels in a reply → anchors.

A prompt shows `[3.2]`, sentence 2 of the third paper shown; `[3.0]` is its title; `[0.2]` is of the abstract that the person
writes about, where there is one. The model answers with labels, code turns them into anchors and cuts the quotes from the
stored text, so a quote is verbatim by construction.
"""

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from assistant.authors import called
from assistant.document import OWN, SCOPE, Cite, Named, Source, Statement
from assistant.visible import HIDDEN, reads_like_an_instruction, visible
from store.library import Library
from store.paper import Paper
from store.texts import Text

LABEL = re.compile(r"\[(\d+)\.(\d+)\]")
_NUMBER = r"\d{1,6}"
GROUP = re.compile(rf"\[\s?{_NUMBER}\.\s?{_NUMBER}(?:\s?(?:[,;–—/&-]|and|to)\s?{_NUMBER}(?:\.\s?{_NUMBER})?){{0,99}}\s?[,;]?\s?\]")
INNER = re.compile(rf"({_NUMBER})\.\s?({_NUMBER})(?:\s?(?:[–—-]|to)\s?(?:({_NUMBER})\.)?({_NUMBER}))?|({_NUMBER})")
NO_LABEL = re.compile(r"[\[<][^\[\]<>\d]{0,20}\d+\s?\.\s?-?\d+[^\[\]<>]{0,30}(?:[\]>]|$)|(?<!\[)\b\d{1,3}\.\d{1,3}\]")
"""What looks like a label and is none, after the labels were taken out: `[see 3.2]`, `[3.2`, `<3.2>`."""
NO_PAPER = -1
"""The paper of a number that stands where a label should: none."""
NAME = re.compile(r"(?<![A-Za-z0-9^_\\}$])\{\s?(\d{1,4}(?:\s?,\s?\d{1,4}){0,9})\s?\}(?![A-Za-z0-9{])")
"""`{3}` for the authors of paper 3; in mathematics (`x^{2}`, `\\{1\\}`) it is none."""
BARE = "they"
"""What stands for a name while the rules look at a sentence."""
EMPTIED = re.compile(r"\[\s?\]|``|\*\*\s?\*\*")

@dataclass(frozen=True, slots=True)
class Label:
    """Paper `paper` of those shown (0 is the person's own abstract), sentence `sentence` of its text (0 is the title)."""

    paper: int
    sentence: int

    def __str__(self) -> str:
        return f"[{self.paper}.{self.sentence}]" if self.paper >= 0 else f"[{self.sentence}]"


@dataclass(frozen=True, slots=True)
class Line:
    """A labelled sentence as a prompt shows it."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text as a prompt shows it, its sentences labelled. Either of `title` and `text` may be missing."""

    number: int
    title: Text | None
    text: Text | None

    @property
    def key(self) -> str:
        """The key of its paper; the person's own abstract has none."""
        return ""

    @property
    def lines(self) -> list[Line]:
        """The title as sentence 0, then the sentences, without hidden characters."""
        lines = [Line(f"[{self.number}.0]", visible(self.title.characters))] if self.title else []
        for number, _, _ in self.text.sentences if self.text else ():
            assert self.text is not None  # the loop is over its sentences
            lines.append(Line(f"[{self.number}.{number}]", visible(self.text.sentence(number))))
        return lines

    @property
    def texts(self) -> list[str]:
        """Its title and its text as they are stored."""
        return [text.characters for text in (self.title, self.text) if text]

    @property
    def instruction(self) -> str:
        """The first sentence that reads like an instruction to a model, or that hides text from a reader; usually nothing."""
        return next((line.text for line, raw in zip(self.lines, self._raw(), strict=True) if reads_like_an_instruction(raw)), "")

    @property
    def is_suspicious(self) -> bool:
        """Whether there is such a sentence."""
        return bool(self.instruction)

    def _raw(self) -> list[str]:
        titles = [self.title.characters] if self.title else []
        return titles + ([self.text.sentence(number) for number, _, _ in self.text.sentences] if self.text else [])


@dataclass(frozen=True, slots=True)
class Shown(Labelled):
    """One paper as a prompt shows it, its title and text as they are stored."""

    paper: Paper

    @property
    def key(self) -> str:
        """The key of the paper."""
        return self.paper.key

    @property
    def heading(self) -> Cite | None:
        """The title, or the first sentence where there is none: what names the paper where nothing more is said of it."""
        text = self.title or self.text
        return _cite(self.paper.key, text, 1) if text and text.sentences else None

    @property
    def about(self) -> str:
        """Date and kind, for the head of the paper in a prompt."""
        return self.paper.year or "no date"


@dataclass(frozen=True, slots=True)
class OwnText(Labelled):
    """The person's own abstract: paper 0 of a prompt. Statements may rest on it; nothing is anchored in it, no bibliography lists it."""

    def cite(self, sentence: int) -> Cite | None:
        """A sentence of it, 0 the title; None for a number it has not."""
        if sentence == 0:
            return Cite("", OWN, (0,), self.title.characters) if self.title else None
        has = self.text is not None and 1 <= sentence <= len(self.text.sentences)
        return Cite("", OWN, (sentence,), self.text.sentence(sentence)) if has and self.text else None

    @property
    def count(self) -> int:
        """How many sentences it has, its title aside."""
        return len(self.text.sentences) if self.text else 0

    @property
    def digest(self) -> str:
        """Names its words: what was written from other words is written anew."""
        return hashlib.sha256("\n".join(self.texts).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Evidence:
    """The papers of one prompt, in order of key, numbered from 1, and beside them the person's own abstract where it is shown.

    `searched` are sentences of code on what all papers of the scope lack; their labels follow those of the papers.
    Where it is `textual`, a reply may write `{3}` for the authors of paper 3.
    """

    papers: tuple[Shown, ...]
    searched: tuple[str, ...] = ()
    own: OwnText | None = None
    textual: bool = False

    @property
    def found(self) -> list[Line]:
        """What code found in all papers of the scope, as a prompt shows it."""
        return [Line(f"[{len(self.papers) + 1}.{number}]", text) for number, text in enumerate(self.searched, 1)]

    def cite(self, label: Label) -> Cite | None:
        """The anchor that a label names, or None when no such label was shown."""
        if label.paper == 0 and self.own:
            return self.own.cite(label.sentence)
        if label.paper == len(self.papers) + 1 and 1 <= label.sentence <= len(self.searched):
            return Cite("", SCOPE, (label.sentence,), self.searched[label.sentence - 1])
        if not 1 <= label.paper <= len(self.papers):
            return None
        shown = self.papers[label.paper - 1]
        if label.sentence == 0:
            return _cite(shown.paper.key, shown.title, 1) if shown.title else None
        if shown.text is None or not 1 <= label.sentence <= len(shown.text.sentences):
            return None
        return _cite(shown.paper.key, shown.text, label.sentence)

    def labels(self, cites: Iterable[Cite]) -> str:
        """The labels of citations as this prompt shows them, for a statement that is shown again."""
        numbers = {shown.paper.key: shown.number for shown in self.papers} | {"": len(self.papers) + 1}
        return "".join(
            str(Label(numbers[cite.key], 0 if cite.text == "title" else number))
            for cite in cites
            if cite.key in numbers
            for number in cite.sentences
        )

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of the papers shown."""
        return tuple(shown.paper.key for shown in self.papers)

    @property
    def every(self) -> tuple[Labelled, ...]:
        """All that was shown: the papers, and the person's own abstract."""
        return (*self.papers, *((self.own,) if self.own else ()))

    def shown(self, key: str) -> Shown | None:
        """The paper of that key, if it was shown."""
        return next((shown for shown in self.papers if shown.paper.key == key), None)

    def cited(self, cite: Cite) -> Labelled | None:
        """What a citation names, if it was shown: a paper, or the person's own abstract."""
        return self.own if cite.is_own else self.shown(cite.key)

    def sentences(self, cite: Cite) -> list[str]:
        """The sentences that a citation names, one by one; its whole quote where the text is none of those shown."""
        if cite.is_own:
            return [one.quote for number in cite.sentences if self.own and (one := self.own.cite(number))] or [cite.quote]
        shown = self.shown(cite.key)
        text = next((one for one in (shown.title, shown.text) if one and one.id == cite.anchor), None) if shown else None
        return [text.sentence(number) for number in cite.sentences] if text else [cite.quote]


def gathered(library: Library, papers: Sequence[Paper], language: str = "") -> Evidence:
    """The papers with their whole abstracts, in order of key: a prompt changes only when the chosen papers do.

    A paper that has its abstract in two languages shows the original, or the one that is asked for.
    """
    shown = []
    for number, paper in enumerate(sorted(papers, key=lambda paper: paper.key), 1):
        texts = {text.role: text for text in library.texts(paper)}
        title, abstract = (_in_language(texts, role, language) for role in ("title", "abstract"))
        shown.append(Shown(number, title, abstract, paper))
    return Evidence(tuple(shown))


def _in_language(texts: dict[str, Text], role: str, language: str) -> Text | None:
    """The text of a role in a language; otherwise the original, otherwise a translation."""
    some = [text for name, text in texts.items() if name.partition(":")[0] == role]
    return next((text for text in some if text.language == language), texts.get(role) or next(iter(some), None))


def carried(library: Library, cite: Cite) -> Cite | None:
    """The citation in the text that its paper shows now; None where the quoted sentences do not stand in it.

    A text stays with its source, so after a split the citation names the paper that the text belongs to.
    """
    if not cite.anchor:
        return cite
    text = library.catalog.text(cite.anchor)
    key = library.catalog.keys([text.paper])[text.paper]
    if library.catalog.is_shown(cite.anchor):
        return cite if key == cite.key else replace(cite, key=key)
    quoted = [text.sentence(number) for number in cite.sentences]
    for shown in library.catalog.texts(text.paper):
        numbers = {shown.sentence(sentence.number): sentence.number for sentence in shown.sentences}
        if shown.role == cite.text and all(sentence in numbers for sentence in quoted):
            return replace(cite, key=key, sentences=tuple(numbers[sentence] for sentence in quoted), anchor=shown.id)
    return None


def source_of(paper: Paper) -> Source:
    """A paper as a bibliography needs it."""
    return Source(
        key=paper.key,
        title=paper.title,
        authors=paper.authors,
        author_count=paper.author_count,
        organization=paper.organization,
        year=paper.year,
        venue=paper.venue,
        entry_type=paper.entry_type,
        identifiers=dict(paper.identifiers),
        is_note=paper.kind == "note",
        details=dict(paper.details),
        date=paper.date,
        categories=paper.categories,
        keywords=paper.keywords,
    )


class Spoken(NamedTuple):
    """A sentence with the names of papers put in for `{3}`, what they are, the same sentence with a bare word for each, and what cannot be named."""

    text: str
    named: tuple[Named, ...]
    bare: str
    faults: tuple[tuple[str, str], ...]


def spoken(text: str, cites: Sequence[Cite], evidence: Evidence) -> Spoken:
    """The sentence with each `{3}` as the library calls the authors of paper 3, which the sentence has to cite.

    The rules are held against the bare sentence, so that a name is neither a reference in free form nor a word or a
    number that the cited sentences lack. Faults are (rule, reason).
    """
    cited = {cite.key for cite in cites}
    said, bare, at, past = "", "", 0, 0
    named: list[Named] = []
    faults: list[tuple[str, str]] = []
    for hit in NAME.finditer(text):
        numbers = [int(number) for number in hit[1].split(",")]
        papers = [evidence.papers[number - 1].paper for number in numbers if 1 <= number <= len(evidence.papers)]
        whole = len(papers) == len(numbers) and all(paper.key in cited for paper in papers)
        if len(numbers) > 1 and not whole:
            continue  # a set of numbers, as in {0, 1}
        said, bare = said + text[past : hit.start()], bare + text[at : hit.start()] + BARE
        at = past = hit.end()
        found = _name_faults(hit[0], papers, cited)
        faults += found
        if found:
            said += hit[0]
            continue
        for place, paper in enumerate(papers):
            said += "" if not place else " and " if place == len(papers) - 1 else ", "
            name = called(paper.authors, paper.author_count, paper.organization)
            named.append(Named(name, paper.key, len(said)))
            said += name if said else name[:1].upper() + name[1:]
        past += said.endswith(".") and text[past : past + 1] == "."  # the full stop of “et al.” ends the sentence too
    return Spoken(said + text[past:], tuple(named), bare + text[at:], tuple(faults))


def _name_faults(written: str, papers: Sequence[Paper], cited: Collection[str]) -> list[tuple[str, str]]:
    if not papers:
        return [("R2", f"{written} names a paper that was not shown")]
    unknown = [paper.key for paper in papers if not called(paper.authors, paper.author_count, paper.organization)]
    if unknown:
        return [("R9", f"the library knows no author of {unknown[0]}, so {written} cannot be named")]
    return [("R2", f"{written} is named, but no sentence of {paper.key} is cited") for paper in papers if paper.key not in cited]


def written_again(statement: Statement, evidence: Evidence) -> str:
    """The statement's text as a reply that would have given it: with `{3}` for the authors of paper 3."""
    numbers = {shown.paper.key: shown.number for shown in evidence.papers}
    text = statement.text
    for one in reversed(statement.named):
        if one.key in numbers:
            text = f"{text[: one.at]}{{{numbers[one.key]}}}{text[one.at + len(one.name) :]}"
    return text


def labels(text: str) -> tuple[str, list[Label]]:
    """A statement without its labels, and the labels: `[3.2]`, `[3.2, 4.1]`, `[3.2-4]` and `[3.2][4.1]`."""
    text = HIDDEN.sub("", text)
    found: list[Label] = []
    for group in GROUP.finditer(text):
        found += _expanded(group[0])
    bare = EMPTIED.sub("", GROUP.sub("", text)) if found else text
    return re.sub(r"\s+([.,;:!?。，；：！？])", r"\1", re.sub(r"\s{2,}", " ", bare)).strip(), list(dict.fromkeys(found))


def unreadable_labels(text: str) -> list[str]:
    """What is left of a statement without its labels and looks like one: it cites nothing that can be told."""
    return [hit[0] for hit in NO_LABEL.finditer(text)]


def label_list(values: Iterable[str]) -> list[Label]:
    """The labels in a list of them, with or without brackets."""
    found: list[Label] = []
    for value in values:
        found += _expanded(value)
    return list(dict.fromkeys(found))


def joined_cites(cites: Iterable[Cite]) -> tuple[Cite, ...]:
    """Sentences of one text as one citation, in order of first mention; neighbours are quoted as they stand."""
    grouped: dict[tuple[str, str, int], list[Cite]] = {}
    for cite in cites:
        grouped.setdefault((cite.key, cite.text, cite.anchor), []).append(cite)
    joined = []
    for (key, text, anchor), parts in grouped.items():
        ordered = sorted({part.sentences[0]: part for part in parts}.values(), key=lambda part: part.sentences)
        quote = " … ".join(part.quote for part in ordered)
        joined.append(Cite(key, text, tuple(part.sentences[0] for part in ordered), quote, anchor))
    return tuple(joined)


def _expanded(group: str) -> list[Label]:
    found: list[Label] = []
    for paper, first, other, last, alone in (part.groups() for part in INNER.finditer(group)):
        if alone:
            found.append(Label(found[-1].paper if found else NO_PAPER, int(alone)))
        elif last and (not other or other == paper) and 0 < int(last) - int(first) < 30:
            found += [Label(int(paper), number) for number in range(int(first), int(last) + 1)]
        else:
            found.append(Label(int(paper), int(first)))
            found += [Label(int(other or paper), int(last))] if last else []
    return found


def _cite(key: str, text: Text, sentence: int) -> Cite:
    return Cite(key, text.role, (sentence,), text.sentence(sentence), text.id)

