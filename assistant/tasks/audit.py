r"""A manuscript held against the library: each \cite, what claims without one, what would fit and is missing, and its bibliography.

A citation is a sentence and one key. Of a sentence with citations in several places each is judged by the words before it;
of \cite{a,b} each key alone. Code says what it can; the second reader says whether the abstract says so.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from assistant import attribution, bibliographies
from assistant.bibliographies import Bibliography
from assistant.citing import Asked, Given
from assistant.document import Audit, Citation, Cite, Document, Fitting, Problem, Section, Statement, Support, Uncited
from assistant.evidence import Evidence, gathered, joined_cites
from assistant.grounding import (
    attribution_problems,
    free_form,
    number_problems,
    paper_problems,
    polarity_problems,
    report_of,
    uncited,
    unfounded_quotations,
)
from assistant.manuscript import REFERRED, Manuscript, Paragraph, Sentence
from assistant.numbers import numbers
from assistant.quotes import quotations
from assistant.tasks.check import MOST_WORDS, OWN, evidence_beside, meant_text, narrowed
from assistant.tasks.verify import RULE
from store.errors import UnknownPaper
from store.keywords import stems
from store.library import Library
from store.paper import Paper
from store.scope import Scope

TASK: Final = "audit"
STRONG, STRONG_WORDS = 0.8, 6
"""The weighted share of a statement's content words that two sentences of the abstract hold for code to call it supported, and how many it
needs; with fewer, words shared or not tell little (R6)."""
CANDIDATES, MOST_FITTING = 12, 2
NEARLY, FITS, SHARED_WORDS = 0.5, 0.45, 5
"""A missing paper is named where one of its sentences holds this weighted share of a sentence of the paragraph, and so many of its words."""
PRIOR_WORK = re.compile(
    r"related|background|prior|previous|introduction|literature|state of the art|motivation|preliminar|survey|overview|history|einleitung|stand der|相关|引言|背景|综述",
    re.IGNORECASE,
)
NO_PROSE = re.compile(r"^(?:abstract|acknowledge?ments?|appendix|funding|ethics|data availability|author contributions)\b", re.IGNORECASE)
OWN_PARTS = re.compile(
    rf"{REFERRED}|\b(?:Table|Figure|Fig\.|Section|Sec\.|Appendix|Algorithm|Equation|Eq\.|Chapter)\s*[\dA-Z]\b"
    r"|\b(?:the (?:rest|remainder) of|is organi[sz]ed as follows|contributions? (?:is|are|of))\b"
)
"""A sentence about the manuscript's own parts claims nothing that needs a source."""
LEANS = re.compile(r"^(?:It|Its|They|Their|Them|He|She|This (?:method|approach|work|model|framework|system|paper)|These (?:methods|works|models)|The (?:authors|method|approach|latter|former))\b")
"""A sentence that goes on about the work cited just before it."""


class _Claim(NamedTuple):
    """One key of a sentence, the words it is cited for, and whether the citation stands behind a name alone."""

    sentence: Sentence
    asked: Asked
    part: str
    is_name: bool


class _Judged(NamedTuple):
    """What code says of a claim: the statement with what blocks and marks it, and the verdict."""

    statement: Statement
    support: Support
    reasons: tuple[Problem, ...]


def audit(library: Library, manuscript: Manuscript, bibliography: Bibliography, on_done: Callable[[int, int], None]) -> Document:
    """The manuscript with a statement for each citation, judged by code, whole abstracts cited; `concluded` makes it readable."""
    resolve = _Resolver(library, manuscript, bibliography)
    sentences = [sentence for paragraph in manuscript.paragraphs for sentence in paragraph.sentences]
    judged: list[_Judged] = []
    citations: list[Citation] = []
    for done, sentence in enumerate(sentences, 1):
        for claim, one, paper in _of_sentence(library, sentence, resolve):
            judged.append(one)
            citations.append(Citation(str(sentence.place), sentence.text, claim.asked.key, paper.key if paper else "", one.support, reasons=one.reasons))
        on_done(done, len(sentences))
    for key, place in manuscript.elsewhere:
        known = resolve.paper(key)
        if isinstance(known, Problem):
            judged.append(_unresolved(known, ""))
            citations.append(Citation(str(place), "", key, "", judged[-1].support, reasons=judged[-1].reasons))
    loose, own = _uncited(manuscript)
    statements = tuple(one.statement for one in judged)
    cited = manuscript.cited
    found_differences = [difference for entry in bibliography.entries.values() for difference in bibliographies.differences(entry)]
    whole = Audit(
        manuscript.files, bibliography.files, tuple(citations), loose, own,
        tuple(_fitting(library, manuscript, {known.number for key in cited if isinstance(known := resolve.paper(key), Paper)})),
        tuple(found_differences),
        tuple(resolve.missing(cited.items())),
        tuple(key for key in bibliography.entries if key not in cited and key not in manuscript.listed) if "*" not in manuscript.listed else (),
        tuple((key, entry.record.title) for key, entry in bibliography.entries.items() if entry.paper is None),
        (*((one.place, one.text) for one in manuscript.remarks), *bibliography.remarks),
    )  # fmt: skip
    report = report_of(statements, [problem for one in statements for problem in one.blocked], [])
    return Document(TASK, f"audit of {manuscript.name}", sections=(Section("", statements),), report=report, audit=whole)


def concluded(library: Library, document: Document) -> Document:
    """The document with the second reader's verdicts where it gave any, and each citation cut to the sentences that say so best."""
    assert document.audit is not None
    statements, citations = [], []
    for statement, citation in zip(document.statements, document.audit.citations, strict=True):
        near = _nearest(library, statement)
        statements.append(replace(statement, cites=near))
        support, by = citation.support, citation.by
        if statement.verdict and support != "not":
            support, by = _verdict(statement.verdict), "second reader"
        read = tuple(problem for problem in statement.problems if problem.rule == RULE)
        citations.append(replace(citation, support=support, by=by, reasons=(*citation.reasons, *read), cite=near[0] if near and near[0].quote else None))
    found = replace(document.audit, citations=tuple(citations))
    return replace(document, sections=(Section("", tuple(statements)),), audit=found)


def _verdict(word: str) -> Support:
    return "supported" if word == "supported" else "partly" if word == "partly" else "not"


def _nearest(library: Library, statement: Statement) -> tuple[Cite, ...]:
    if not statement.cites:
        return ()
    paper = library.paper(statement.cites[0].key)
    given = Given(statement.text, (Asked(paper.key),), 0)
    return tuple(narrowed(cite, given, gathered(library, [paper])) for cite in statement.cites)


# -- keys


class _Resolver:
    """Which paper a key of the manuscript is: by its bibliography, or, where it has none, by the library's own keys."""

    def __init__(self, library: Library, manuscript: Manuscript, bibliography: Bibliography) -> None:
        self.library, self.listed, self.bibliography = library, manuscript.listed, bibliography
        self.is_told = bool(bibliography.files)
        self._known: dict[str, Paper | Problem] = {}

    def paper(self, key: str) -> Paper | Problem:
        """The paper, or why there is none: R1 where the key names no work at all, no rule where the library does not hold it."""
        if key not in self._known:
            self._known[key] = self._found(key)
        return self._known[key]

    def _found(self, key: str) -> Paper | Problem:
        if entry := self.bibliography.entries.get(key):
            return entry.paper or Problem("", "", "not in the library, so it cannot be checked")
        try:
            return self.library.paper(key)
        except UnknownPaper as error:
            if key in self.listed:
                return Problem("", "", "its bibliography entry is text and no .bib, so it cannot be checked")
            if not self.is_told:
                return Problem("", "R1", str(error))
            near = self.near(key)
            return Problem("", "R1", f"no bibliography has the key {key!r}{f'; did you mean {near}?' if near else ''}", near)

    def near(self, key: str) -> str:
        """A key of the bibliography that is spelt like one that it has not."""
        from rapidfuzz import fuzz, process

        found = process.extractOne(key, list(self.bibliography.entries), scorer=fuzz.ratio, score_cutoff=65)
        return found[0] if found else ""

    def missing(self, cited: Iterable[tuple[str, object]]) -> Iterator[tuple[str, str, str]]:
        """The cited keys that stand in no bibliography, where there is one."""
        if self.is_told:
            for key, place in cited:
                if key not in self.bibliography.entries and key not in self.listed:
                    yield key, str(place), self.near(key)


# -- one sentence


def _of_sentence(library: Library, sentence: Sentence, resolve: _Resolver) -> Iterator[tuple[_Claim, _Judged, Paper | None]]:
    claims = _claims(sentence)
    papers = {claim.asked.key: paper for claim in claims if isinstance(paper := resolve.paper(claim.asked.key), Paper)}
    beside: dict[str, Evidence] = {}
    for claim in claims:
        found = resolve.paper(claim.asked.key)
        if isinstance(found, Problem):
            yield claim, _unresolved(found, claim.part), None
            continue
        if claim.part not in beside:
            beside[claim.part] = evidence_beside(library, claim.part, list({paper.number: paper for paper in papers.values()}.values()))
        yield claim, _by_code(library, claim, found, [paper for paper in papers.values() if paper.number != found.number], beside[claim.part]), found


def _claims(sentence: Sentence) -> list[_Claim]:
    """A claim for each key: the words since the citation before it, behind a name those after it; where they say too little, the whole sentence."""
    text, ends = sentence.text, sorted(set(sentence.ends))
    claims = []
    for asked, end in zip(sentence.cites, sentence.ends, strict=True):
        at = ends.index(end)
        is_last = at + 1 == len(ends)
        before, after = text[ends[at - 1] if at else 0 : end], text[end : None if is_last else ends[at + 1]]
        parts = (after, before) if asked.named else (before + after if is_last else before, after)
        part = next((one.strip(" ,;:–—") for one in parts if _says(one)), "")
        claims.append(_Claim(sentence, asked, text if len(ends) == 1 or not part else part, len(ends) > 1 and not part))
    return claims


def _says(part: str) -> bool:
    return len(stems(part)) >= attribution.LEAST_WORDS


def _unresolved(problem: Problem, text: str) -> _Judged:
    found = replace(problem, text=text)
    if problem.rule:
        return _Judged(Statement(text, blocked=(found,)), "not", (found,))
    return _Judged(Statement(text), "too little to tell", (found,))


def _by_code(library: Library, claim: _Claim, paper: Paper, others: Sequence[Paper], evidence: Evidence) -> _Judged:
    cites = _whole(library, paper, claim)
    statement = Statement(claim.part, cites)
    notices = tuple(paper_problems(claim.part, [Cite(paper.key, "title", (1,), "")], evidence))
    if not cites or not cites[0].text.startswith("abstract"):
        return _too_little(Statement(claim.part, problems=notices), "the library has no abstract of it")
    if not attribution.comparable(claim.part, cites):
        return _too_little(replace(statement, problems=notices, unchecked=("R6", "R11")), "sentence and abstract are in different languages")
    around = joined_cites([*cites, *(cite for other in others for cite in _whole(library, other, claim))])
    blocked = tuple(unfounded_quotations(claim.part, around, evidence))
    if blocked and claim.asked.page:
        where = f"it quotes {claim.asked.page}, and the library holds the abstract alone"
        return _too_little(replace(statement, problems=notices), where)
    if blocked:
        return _Judged(replace(statement, problems=notices, blocked=blocked), "not", (*blocked, *notices))
    fit = next((one.share for one in attribution.ranked(claim.part, evidence, 2) if one.key == paper.key), 0.0)
    problems = (*_number_problems(claim, cites, around, evidence), *_word_problems(claim, statement, others, evidence, fit), *notices)
    marked = replace(statement, problems=problems)
    if problems:
        return _Judged(marked, "doubtful", problems)
    if not _says(claim.part) or (not claim.is_name and fit < attribution.LEAST_FIT):
        return _too_little(marked, "it says too little to be held against an abstract")
    if quotations(claim.part) and not unfounded_quotations(claim.part, cites, evidence):
        return _Judged(marked, "supported", ())
    if fit >= STRONG and len(stems(claim.part)) >= STRONG_WORDS:
        return _Judged(marked, "supported", ())
    if claim.is_name and fit < attribution.LEAST_FIT:
        return _too_little(marked, "the citation stands behind a name, and what else the sentence says is cited elsewhere")
    return _Judged(marked, "no objection", ())


def _too_little(statement: Statement, why: str) -> _Judged:
    return _Judged(statement, "too little to tell", (Problem(statement.text, "", why), *statement.problems))


def _whole(library: Library, paper: Paper, claim: _Claim) -> tuple[Cite, ...]:
    """The whole abstract as a citation, in the sentence's language where there is one; the title where there is no abstract."""
    text = meant_text(library.texts(paper), claim.asked, claim.part)
    if text is None:
        return ()
    return joined_cites(Cite(paper.key, text.role, (number,), text.sentence(number), text.id) for number, _, _ in text.sentences)


def _number_problems(claim: _Claim, cites: Sequence[Cite], around: Sequence[Cite], evidence: Evidence) -> list[Problem]:
    """Numbers and names that its paper does not hold; one that another paper of the sentence holds is no fault of a paper with numbers of its own there."""
    alone = number_problems(claim.part, cites, evidence)
    if not alone or len(around) == len(cites) or number_problems(claim.part, around, evidence):
        return alone
    return [] if claim.is_name or len(alone) < len(numbers(claim.part)) else alone


def _word_problems(claim: _Claim, statement: Statement, others: Sequence[Paper], evidence: Evidence, fit: float) -> list[Problem]:
    """Too few words in common, or another paper that fits much better (R6); turned negations (R11)."""
    if claim.is_name:
        return []
    beside = {paper.key for paper in others}
    is_short = len(stems(claim.part)) < STRONG_WORDS
    words = [] if is_short else [one for one in attribution_problems(statement, evidence) if fit < attribution.LEAST_FIT or one.better.split(" ")[0] not in beside]
    near = tuple(narrowed(cite, Given(claim.part, (claim.asked,), 0), evidence) for cite in statement.cites)
    return [*words, *polarity_problems(replace(statement, cites=tuple(cite for cite in near if cite.quote)), evidence)]


# -- what is not cited


def _uncited(manuscript: Manuscript) -> tuple[tuple[Uncited, ...], int]:
    """The sentences that claim without a citation, and how many more there are that need none by the look of them."""
    has_headings = any(paragraph.headings for paragraph in manuscript.paragraphs)
    found: list[Uncited] = []
    own = 0
    for paragraph in manuscript.paragraphs:
        leans = False
        is_asked = _is_about_others(paragraph, has_headings=has_headings)
        for sentence in paragraph.sentences:
            if sentence.cites:
                leans = True
                continue
            problem = _loose(sentence.text, leans=leans and bool(LEANS.match(sentence.text))) if is_asked else None
            leans = leans and bool(LEANS.match(sentence.text))
            if problem:
                found.append(Uncited(str(sentence.place), sentence.text, problem))
            else:
                own += 1
    return tuple(found), own


def _is_about_others(paragraph: Paragraph, *, has_headings: bool) -> bool:
    """Whether a paragraph speaks of others' work: it cites some, or stands where one does so; abstracts and appendices do not."""
    if paragraph.kind != "text" or any(NO_PROSE.search(heading) for heading in paragraph.headings):
        return False
    return not has_headings or any(sentence.cites for sentence in paragraph.sentences) or any(PRIOR_WORK.search(heading) for heading in paragraph.headings)


def _loose(text: str, *, leans: bool) -> str:
    """Why a sentence without a citation should have one; nothing where it needs none."""
    if named := [problem for problem in free_form(text) if "“" not in problem.reason]:
        return f"names a work without citing it: {named[0].reason.partition(': ')[2]}"
    if leans or OWN.search(text) or OWN_PARTS.search(text) or not _says(text) or not any(uncited(text)):
        return ""
    return "claims something and cites nothing"


def _fitting(library: Library, manuscript: Manuscript, cited: set[int]) -> Iterator[Fitting]:
    """Papers that the manuscript cites nowhere and that fit a paragraph, and a sentence of it, nearly as well as what it cites; each once."""
    has_headings = any(paragraph.headings for paragraph in manuscript.paragraphs)
    told = set(cited)
    for paragraph in manuscript.paragraphs:
        words = " ".join(sentence.text for sentence in paragraph.sentences)
        if not _is_about_others(paragraph, has_headings=has_headings) or len(stems(words)) < 2 * SHARED_WORDS:
            continue
        query = " ".join(list(dict.fromkeys(words.split()))[:MOST_WORDS])
        hits = library.search(query, count=CANDIDATES, scope=Scope(), by_keywords=True)
        scores = sorted(hit.score for hit in hits if hit.paper in cited)
        least = NEARLY * scores[len(scores) // 2] if scores else 0.0
        evidence = gathered(library, library.catalog.papers([hit.paper for hit in hits]))
        numbers_of = {shown.paper.key: shown.paper.number for shown in evidence.papers}
        close = {hit.paper for hit in hits if hit.score >= least and hit.paper not in told}
        best = sorted((one for one in _nearest_sentences(paragraph, evidence) if numbers_of[one[1].key] in close), key=lambda one: (-one[0], one[1].key))
        for _, cite, sentence in best[:MOST_FITTING]:
            told.add(numbers_of[cite.key])
            yield Fitting(str(sentence.place), sentence.text, cite)


def _nearest_sentences(paragraph: Paragraph, evidence: Evidence) -> Iterator[tuple[float, Cite, Sentence]]:
    """For each paper shown the sentence that fits a sentence of the paragraph best, where it fits well enough."""
    best: dict[str, tuple[float, Cite, Sentence]] = {}
    for sentence in paragraph.sentences:
        for fit in attribution.ranked(sentence.text, evidence) if _says(sentence.text) else ():
            shown = evidence.shown(fit.key)
            text = shown.text if shown else None
            if text is None or fit.sentences == (0,) or fit.share < FITS or fit.share <= best.get(fit.key, (0.0,))[0]:
                continue
            quote = text.sentence(fit.sentences[0])
            if len(stems(sentence.text) & (stems(quote) | stems(shown.paper.title if shown else ""))) >= SHARED_WORDS:
                best[fit.key] = (fit.share, Cite(fit.key, text.role, fit.sentences, quote, text.id), sentence)
    yield from best.values()


def holds(document: Document, *, strict: bool = False) -> bool:
    """Whether every citation is supported, as far as could be told; `strict` does not let doubtful and partly pass."""
    assert document.audit is not None
    failing: tuple[Support, ...] = ("not", "partly", "doubtful") if strict else ("not",)
    return not any(document.audit.count(support) for support in failing)

