"""Does each statement rest on what it cites? Plain code that calls no model; the rules are those of docs/evidence.md.

A statement is **blocked** where it cannot stand: R1 its paper is in the library, R2 its sentences were shown in this very
prompt, R3 it holds no reference in free form, R5 what it puts in quotation marks stands in what it cites. It is **marked**
where a reader should look: R4 numbers and names with digits, R6 shared words, R7 a claim without a citation, R10 retracted
papers, R11 negations and directions, R12 gaps that are claimed of a whole field. R8 (nothing is repaired in silence) is the report; R9 (bibliography fields come from
the library) holds by construction.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from assistant import attribution, gaps, polarity
from assistant.document import YOURS, Cite, Problem, Report, Statement
from assistant.evidence import Evidence, Label, Labelled, Shown, Spoken, joined_cites, labels, spoken, unreadable_labels
from assistant.numbers import Number, as_read, misplaced, missing, numbers, unknown_names
from assistant.quotes import quotations, stands_in
from assistant.references import free_references
from store.keywords import stems

RULES = frozenset({"R4", "R6", "R7", "R11", "R12"})
"""The rules whose marks another wording, or another label, can take away."""
NO_SOURCE = "[no source]"
NO_CLAIM = re.compile(r"[?？:：]\s*$")
"""A question, or words that lead over to what follows."""
A_FEW = 3
CLOSE = 0.5
"""Where a citation names more sentences than a few, a number counts in those that share half as many words with the
statement as the nearest does: a whole abstract holds too many numbers to vouch for any."""
RETRACTED_TITLE = re.compile(r"^\W*(?:RETRACTED|WITHDRAWN|Retract(?:ed|ion)|Withdrawn)\b\W")
SUSPICIOUS = "instruction-like text"
"""The mark of what rests on a paper whose text reads like an instruction to a model."""


def checked(line: str, evidence: Evidence) -> tuple[Statement, list[Problem]]:
    """A line of a reply as a statement with anchors and marks, and the problems for which it must be blocked.

    Where the reply may name papers, the names are put in, and the rules see the sentence without them.
    """
    text, found = labels(line)
    blocked = [Problem(text, "R2", f"{label} was not shown") for label in found if evidence.cite(label) is None]
    blocked += [Problem(text, "R2", f"{words!r} is no label") for words in unreadable_labels(text)]
    cites = joined_cites(cite for label in found if (cite := evidence.cite(label)))
    said = spoken(text, cites, evidence) if evidence.textual else Spoken(text, (), text, ())
    blocked += [*(Problem(text, rule, reason) for rule, reason in said.faults), *free_form(said.bare), *unfounded_quotations(said.bare, cites, evidence)]
    statement = judged(Statement(said.bare, cites), evidence)
    problems = tuple(replace(problem, text=said.text) for problem in statement.problems)
    return replace(statement, text=said.text, named=said.named, problems=problems), [replace(problem, text=said.text) for problem in blocked]


def free_form(text: str) -> list[Problem]:
    """References that our renderer did not make (R3)."""
    return [Problem(text, "R3", f"a reference in free form ({kind}): {words!r}") for kind, words in free_references(text.replace(NO_SOURCE, ""))]


def unfounded_quotations(text: str, cites: Sequence[Cite], evidence: Evidence) -> list[Problem]:
    """What a statement puts in quotation marks and the papers it cites do not say in these words (R5)."""
    papers = {cite.key for cite in cites} or {shown.key for shown in evidence.every}
    whole = [words for shown in evidence.every if shown.key in papers for words in shown.texts]
    named = ", ".join(key or YOURS for key in sorted(papers))
    return [
        Problem(text, "R5", f"“{quote}” does not stand so in {named if cites else 'any paper shown'}")
        for quote in quotations(text)
        if not any(stands_in(quote, words) for words in whole)
    ]


def judged(statement: Statement, evidence: Evidence) -> Statement:
    """The statement with what marks it, and with the rules that could not be applied to it."""
    if not statement.cites:
        return replace(statement, problems=tuple(uncited(statement.text)), unchecked=())
    compared = attribution.comparable(statement.text, statement.cites)
    found = [
        *number_problems(statement.text, statement.cites, evidence),
        *(attribution_problems(statement, evidence) if compared else ()),
        *paper_problems(statement.text, statement.cites, evidence),
        *(polarity_problems(statement, evidence) if compared else ()),
        *gap_problems(statement, evidence),
    ]
    return replace(statement, problems=tuple(found), unchecked=() if compared else ("R6", "R11"))


def uncited(text: str) -> Iterator[Problem]:
    """A claim without a citation (R7); questions, and words that lead over, claim nothing."""
    if NO_SOURCE not in text and not NO_CLAIM.search(text):
        yield Problem(text, "R7", "a claim without a citation")


def number_problems(text: str, cites: Sequence[Cite], evidence: Evidence) -> list[Problem]:
    """Numbers that the cited sentences do not hold, or hold of something else, and names with digits that no cited paper holds (R4)."""
    sources = near_sentences(text, cites, evidence)
    read = as_read(text, " ; ".join(sources))
    papers = len({cite.key for cite in cites if cite.key})
    absent = [one for one in missing(read, " ; ".join(sources)) if not _counts(one, papers)]
    elsewhere = " ; ".join(cite.quote for cite in cites)
    found = [Problem(text, "R4", _absent(number, elsewhere)) for number in absent]
    found += [
        Problem(text, "R4", f"{number.printed!r} stands in the cited sentences, but beside other words")
        for number in misplaced(read, sources)
        if number not in absent and not _counts(number, papers)
    ]
    whole = " ; ".join([*(words for cite in cites if (shown := evidence.cited(cite)) for words in shown.texts), elsewhere])
    return found + [Problem(text, "R4", f"{name!r} is not in the papers it cites") for name in unknown_names(read, whole)]


def near_sentences(text: str, cites: Sequence[Cite], evidence: Evidence) -> list[str]:
    """The cited sentences that a statement can be about: all of a few, of a whole abstract those that share its words."""
    wanted = stems(text)
    near: list[str] = []
    alone = len({cite.key for cite in cites}) == 1  # of several papers each part of a statement is about another
    for cite in cites:
        sentences = evidence.sentences(cite)
        shared = [len(wanted & stems(sentence)) for sentence in sentences]
        least = CLOSE * max(shared) if len(sentences) > A_FEW and alone else 0
        near += [sentence for sentence, count in zip(sentences, shared, strict=True) if count >= least]
    return near


def _absent(number: Number, elsewhere: str) -> str:
    if not missing(number.printed, elsewhere):
        return f"{number.printed!r} stands only in a cited sentence about something else"
    near = [other.printed for other in numbers(elsewhere) if other.bare == number.bare]
    return f"{number.printed!r} is not in the cited sentences" + (f", which say {near[0]!r}" if near else "")


def _counts(number: Number, papers: int) -> bool:
    """Whether a number word counts the papers that the statement cites: “Two works …”."""
    return number.printed.isalpha() and number.value == papers


def attribution_problems(statement: Statement, evidence: Evidence) -> list[Problem]:
    """Too few words in common with what is cited, or another sentence that fits much better (R6)."""
    verdict = attribution.judged(statement.text, statement.cites, evidence)
    if verdict is None or (verdict.cited >= attribution.LEAST_FIT and verdict.better is None):
        return []
    better = str(verdict.better) if verdict.better else ""
    says = f"it shares {verdict.cited:.0%} of its content words with what it cites"
    return [Problem(statement.text, "R6", f"{says}, and {verdict.better.share:.0%} with {better}" if verdict.better else says, better)]


def paper_problems(text: str, cites: Sequence[Cite], evidence: Evidence) -> list[Problem]:
    """Cited papers that are retracted, withdrawn or superseded (R10), or whose text reads like an instruction to a model."""
    found = []
    for cite in {cite.key: cite for cite in cites}.values():
        shown = evidence.cited(cite)
        if shown is None:
            continue
        found += [Problem(text, "R10", f"{cite.key}: {notice}") for notice in (notices(shown) if isinstance(shown, Shown) else ())]
        if shown.is_suspicious:
            found.append(Problem(text, SUSPICIOUS, suspicion(shown)))
    return found


def suspicion(shown: Labelled) -> str:
    """Which words of a paper read like an instruction; neutral, for papers on such attacks quote them too."""
    return f"{shown.key or YOURS} holds text that reads like an instruction to a model, or hides characters: “{shown.instruction}”"


def notices(shown: Shown) -> tuple[str, ...]:
    """What is said against a paper: retracted, withdrawn, superseded."""
    titled = ("its title says that it is retracted or withdrawn",) if RETRACTED_TITLE.match(shown.paper.title) else ()
    return (*shown.paper.notices, *titled)


def polarity_problems(statement: Statement, evidence: Evidence) -> list[Problem]:
    """Negations and directions that the cited sentences do not share (R11)."""
    sources = tuple(sentence for cite in statement.cites for sentence in evidence.sentences(cite))
    return [Problem(statement.text, "R11", clash.reason) for clash in polarity.clashes(statement.text, sources)]


def gap_problems(statement: Statement, evidence: Evidence) -> list[Problem]:
    """A gap that is claimed of a whole field, where no cited sentence says that anything is missing (R12)."""
    if not gaps.claims_gap(statement.text) or gaps.is_scoped(statement.text):
        return []
    told = gaps.is_told(sentence for cite in statement.cites if cite.key for sentence in evidence.sentences(cite))
    return [] if told else [Problem(statement.text, "R12", "a gap, and no cited sentence says that anything is missing; say of which papers it holds")]


def label_problems(found: list[Label], evidence: Evidence, paper: int) -> list[str]:
    """Why labels cannot stand for one paper: not shown, or another paper's."""
    said = [f"[{label.paper}.{label.sentence}] was not shown" for label in found if evidence.cite(label) is None]
    return said + [f"[{label.paper}.{label.sentence}] is a sentence of another paper than {paper}" for label in found if label.paper != paper]


def cites_of(found: list[Label], evidence: Evidence) -> tuple[Cite, ...]:
    """The anchors that labels name; those that were not shown are left out (and were reported)."""
    return joined_cites(cite for label in found if (cite := evidence.cite(label)))


def report_of(statements: tuple[Statement, ...], blocked: Sequence[Problem], failed: Sequence[str]) -> Report:
    """The integrity report of statements that stand, and of those that do not."""
    by_code = sum(bool(statement.cites) and not statement.unchecked for statement in statements)
    return Report(
        statements=len(statements),
        checked_by_code=by_code,
        checked_by_model=sum(bool(statement.verdict) for statement in statements),
        not_checked=len(statements) - by_code,
        blocked=tuple(blocked),
        marked=tuple(problem for statement in statements for problem in statement.problems),
        unchecked=tuple(
            Problem(statement.text, rule, "statement and source are in different languages, so their words cannot be compared")
            for statement in statements
            for rule in statement.unchecked
        ),
        failed=tuple(failed),
    )
