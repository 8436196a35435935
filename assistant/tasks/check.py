"""Statements that Carrel did not write, held against the library by the rules of docs/evidence.md; asks no model.

R2 does not apply: nothing was shown. A citation without a place cites its paper's whole abstract.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from assistant import gaps
from assistant.citing import Asked, Given, Unreadable
from assistant.document import SCOPE, YOURS, Cite, Document, Problem, Section, Statement
from assistant.evidence import Evidence, OwnText, gathered, joined_cites
from assistant.grounding import free_form, judged, report_of, unfounded_quotations
from assistant.quotes import stands_in
from assistant.tasks.planning import looked_through
from store.errors import UnknownPaper
from store.keywords import ranking, stems
from store.language import language_of
from store.library import Library
from store.paper import Paper
from store.texts import Text

TASK: Final = "check"
RIVALS = 10
"""Papers of the library, besides those cited, that may fit a statement better."""
MOST_WORDS = 300
"""Different words of a statement with which they are looked for."""
WHERE = 3
"""At most so many sentences of a whole abstract are given as the place where it says so."""
IN_QUOTES = re.compile(r"“([^”]+)”")
OWN = re.compile(r"\b(?:[Ww]e|[Oo]urs?|[Uu]s|I|[Mm]y|[Tt]his (?:paper|work|section|survey|review|thesis|article|study))\b|我们|本文")
"""A statement about one's own work needs no citation."""
OF_OWN_WORK = frozenset({"R4", "R11"})
"""The rules that hold it against the writer's own abstract: its figures and directions; other words may be of the paper it is in."""


class Resolved(NamedTuple):
    """A statement's citations as anchors, the papers they are of, and what is wrong with them."""

    cites: tuple[Cite, ...]
    papers: tuple[Paper, ...]
    problems: tuple[Problem, ...]


def check(
    library: Library, name: str, given: Sequence[Given | Unreadable], on_done: Callable[[int, int], None], own: OwnText | None = None
) -> Document:
    """Each statement with the rules that block or mark it; `name` is what the file is called.

    `own` is the abstract of the writer, where there is one: what cites it, or speaks of the writer's own work, rests on it too.
    """
    statements: list[Statement] = []
    failed: list[str] = []
    for done, one in enumerate(given, 1):
        if isinstance(one, Unreadable):
            failed.append(f"line {one.line}: {one.reason}")
        else:
            statements.append(checked(library, one, own))
        on_done(done, len(given))
    some = tuple(statements)
    report = report_of(some, [problem for statement in some for problem in statement.blocked], failed)
    return Document(TASK, name, sections=(Section("", some),), report=report)


def checked(library: Library, given: Given, own: OwnText | None = None) -> Statement:
    """One statement with what blocks it, what marks it, and the sentences it can rest on."""
    cites, papers, problems = _resolved(library, given, own)
    evidence = replace(evidence_beside(library, given.text, papers), own=own)
    statement = Statement(given.text, cites)
    blocked = [*problems, *free_form(given.text)]
    if cites:
        blocked += unfounded_quotations(given.text, cites, evidence)
    if given.cites and not cites:
        return replace(statement, blocked=tuple(blocked))
    found = judged(statement, evidence)
    if not papers and OWN.search(given.text):
        found = replace(found, problems=tuple(problem for problem in found.problems if cites and problem.rule in OF_OWN_WORK))
    return replace(found, cites=tuple(narrowed(cite, given, evidence) for cite in found.cites), blocked=tuple(blocked))


def evidence_beside(library: Library, text: str, papers: Sequence[Paper]) -> Evidence:
    """The cited papers and those of the library that share the statement's words most."""
    rivals = [number for number, _ in ranking(library.catalog, " ".join(list(dict.fromkeys(text.split()))[:MOST_WORDS]))[:RIVALS]] if papers else []
    numbers = {paper.number for paper in papers}
    others = library.catalog.papers([number for number in rivals if number not in numbers])
    return gathered(library, [*papers, *others], language_of(text))


def _own_cites(given: Given, own: OwnText | None) -> list[Cite]:
    """The sentences of the writer's own abstract that a statement cites, or all of them where it speaks of the writer's work."""
    named = [number for asked in given.cites if asked.is_own for number in asked.sentences]
    numbers = named or (range(1, own.count + 1) if own and OWN.search(given.text) else ())
    return [cite for number in numbers if own and (cite := own.cite(number))]


def _own_problems(given: Given, asked: Asked, own: OwnText | None) -> list[Problem]:
    """What is wrong with a citation of the writer's own abstract."""
    if own is None:
        return [Problem(given.text, "R1", f"it rests on {YOURS}, which is not kept beside this draft; `carrel draft NAME --about FILE` keeps it")]
    absent = [number for number in asked.sentences if own.cite(number) is None]
    found = [Problem(given.text, "R1", f"{YOURS} has no sentence {absent[0]} (1 to {own.count})")] if absent else []
    if asked.quote and not any(stands_in(asked.quote, words) for words in own.texts):
        found.append(Problem(given.text, "R5", f"“{asked.quote}” does not stand so in {YOURS}"))
    return found


def _filled_gaps(library: Library, given: Given, asked: Asked) -> list[Problem]:
    """The words of a gap that some paper of the library holds: what code once found in none is looked for again."""
    words = IN_QUOTES.findall(asked.quote)
    return [
        Problem(given.text, "R12", f"“{one.word}” stands in {one.key}: “{one.sentence}”", one.key)
        for one in gaps.held(words, looked_through(library, library.considered()))
    ]


def _resolved(library: Library, given: Given, own: OwnText | None) -> Resolved:
    cites: list[Cite] = []
    papers: dict[int, Paper] = {}
    problems: list[Problem] = []
    for asked in given.cites:
        if asked.is_own:
            problems += _own_problems(given, asked, own)
            continue
        if not asked.key and asked.text == SCOPE:
            cites.append(Cite("", SCOPE, asked.sentences, asked.quote))
            problems += _filled_gaps(library, given, asked)
            continue
        try:
            paper = library.paper(asked.key)
        except UnknownPaper as error:
            problems.append(Problem(given.text, "R1", str(error), next(iter(library.catalog.near_keys(asked.key)), "")))
            continue
        papers[paper.number] = paper
        found, wrong = _anchored(library, paper, asked, given.text)
        cites += found
        problems += wrong
    return Resolved(joined_cites([*cites, *_own_cites(given, own)]), tuple(papers.values()), tuple(problems))


def _anchored(library: Library, paper: Paper, asked: Asked, statement: str) -> tuple[list[Cite], list[Problem]]:
    """The sentences that a citation names, one citation a sentence, and what is wrong with it."""
    texts = library.texts(paper)
    text = meant_text(texts, asked, statement)
    if text is None:
        return [], [Problem(statement, "R1", f"{paper.key} has no {asked.text or 'text'} in the library")]
    problems = []
    if asked.quote and not any(stands_in(asked.quote, one.characters) for one in texts):
        problems.append(Problem(statement, "R5", f"“{asked.quote}” does not stand so in {paper.key}"))
    count = len(text.sentences)
    absent = [number for number in asked.sentences if not 1 <= number <= count]
    if absent:
        problems.append(Problem(statement, "R1", f"{paper.key} has no sentence {absent[0]} ({text.role}: 1 to {count})"))
    numbers = [number for number in asked.sentences if 1 <= number <= count] or _quoted(text, asked.quote) or range(1, count + 1)
    return [Cite(paper.key, text.role, (number,), text.sentence(number), text.id) for number in numbers], problems


def meant_text(texts: Sequence[Text], asked: Asked, statement: str) -> Text | None:
    """The text that a citation means: the one it names, the one that holds its quote, else the abstract in the statement's language."""
    if asked.text:
        return next((text for text in texts if text.role == asked.text), None)
    if asked.quote and (found := next((text for text in texts if stands_in(asked.quote, text.characters)), None)):
        return found
    language = language_of(statement)
    abstracts = [text for text in texts if text.role.startswith("abstract")]
    spoken = [text for text in abstracts if text.language == language]
    return next(iter([*(spoken if not asked.sentences else ()), *abstracts, *texts]), None)


def _quoted(text: Text, quote: str) -> list[int]:
    """The sentences in which a quote stands: one, or the shortest run."""
    if not quote:
        return []
    count = len(text.sentences)
    runs = sorted(((first, last) for first in range(1, count + 1) for last in range(first, min(first + 4, count + 1))), key=lambda run: run[1] - run[0])
    return next((list(range(first, last + 1)) for first, last in runs if stands_in(quote, text.run(first, last))), [])


def narrowed(cite: Cite, given: Given, evidence: Evidence) -> Cite:
    """A citation of a whole abstract as the few sentences that share most words with the statement; none where none does."""
    asked = {number for one in given.cites for number in one.sentences}
    if len(cite.sentences) <= WHERE or set(cite.sentences) <= asked:
        return cite
    wanted = stems(given.text)
    shared = {number: len(wanted & stems(words)) for number, words in zip(cite.sentences, evidence.sentences(cite), strict=False)}
    best = sorted(shared, key=lambda number: (-shared[number], number))[:WHERE]
    near = [number for number in best if shared[number] * 2 >= max(shared.values()) and shared[number] > 1]
    words = dict(zip(cite.sentences, evidence.sentences(cite), strict=False))
    return replace(cite, sentences=tuple(sorted(near)), quote=" … ".join(words[number] for number in sorted(near)))
