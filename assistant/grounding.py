"""Does each statement rest on what it cites? Plain code that calls no model; the rules are those of docs/rules.md.

R1 the key is in the library, R2 its sentence was shown in this prompt, R3 no free-form reference: else blocked.
R4 each number stands in the cited sentences, R7 a sentence that claims has a citation: else marked.
R5 (quotes) and R9 (bibliography) hold by construction: quotes are cut from stored texts, fields come from the library.
"""

import re
from dataclasses import replace

from assistant.document import Cite, Problem, Report, Statement
from assistant.evidence import Evidence, Label, joined_cites, labels
from assistant.numbers import missing

NAME = r"[A-ZÀ-Þ][\w'’\-]+"
FREE_FORM = re.compile(
    rf"\(\s*(?:see |e\.g\.,? )?{NAME}(?:,? (?:et al\.?|and {NAME}|& {NAME}))?,? \(?(?:19|20)\d\d[a-z]?\)?[^)]*\)"
    rf"|\b{NAME} et al\b\.?|\b{NAME}(?: and {NAME})? \((?:19|20)\d\d[a-z]?\)"
    r"|\b10\.\d{4,9}/\S+|\b[aA]r[xX]iv\b[:\s]*\d{4}\.\d{4,5}|(?<![\d.])\d{4}\.\d{5}(?:v\d+)?(?!\d)|https?://\S+|\bwww\.\S+"
    r"|\[\s*[1-9]\d{0,2}(?:\s*[,–-]\s*\d+)*\s*\]|\[@[^\]]+\]|\\cite\w*\{|\[\s*(?:P|p|ref\.? ?)\d+\s*\]",
)
NO_SOURCE = "[no source]"
QUESTION = re.compile(r"[?？]\s*$")


def checked(line: str, evidence: Evidence) -> tuple[Statement, list[Problem]]:
    """A line of a reply as a statement with anchors and marks, and the problems for which it must be blocked."""
    text, found = labels(line)
    blocked = [Problem(text, "R2", f"{label} was not shown") for label in found if evidence.cite(label) is None]
    blocked += free_form(text)
    cites = [cite for label in found if (cite := evidence.cite(label))]
    return marked(Statement(text, joined_cites(cites))), blocked


def free_form(text: str) -> list[Problem]:
    """References that our renderer did not make (R3)."""
    return [Problem(text, "R3", f"a reference in free form: {found[0]!r}") for found in FREE_FORM.finditer(text.replace(NO_SOURCE, ""))]


def marked(statement: Statement) -> Statement:
    """The statement with the rules that mark it."""
    return replace(statement, marks=tuple(dict.fromkeys(problem.rule for problem in problems(statement))))


def problems(statement: Statement) -> list[Problem]:
    """What marks a statement: numbers that its sentences do not hold (R4), a claim without a citation (R7)."""
    text = statement.text
    if not statement.cites:
        claims = NO_SOURCE not in text and not QUESTION.search(text)
        return [Problem(text, "R7", "a claim without a citation")] if claims else []
    quoted = " ".join(cite.quote for cite in statement.cites)
    papers = len({cite.key for cite in statement.cites})
    return [
        Problem(text, "R4", f"{number.printed!r} is not in the cited sentences")
        for number in missing(text, quoted)
        if not (number.printed.isalpha() and number.value == papers)  # "Two works …" counts what it cites
    ]


def label_problems(found: list[Label], evidence: Evidence, paper: int) -> list[str]:
    """Why labels cannot stand for one paper: not shown, or another paper's."""
    said = [f"[{label.paper}.{label.sentence}] was not shown" for label in found if evidence.cite(label) is None]
    return said + [f"[{label.paper}.{label.sentence}] is a sentence of another paper than {paper}" for label in found if label.paper != paper]


def cites_of(found: list[Label], evidence: Evidence) -> tuple[Cite, ...]:
    """The anchors that labels name; those that were not shown are left out (and were reported)."""
    return joined_cites(cite for label in found if (cite := evidence.cite(label)))


def report_of(
    statements: tuple[Statement, ...], blocked: list[Problem], failed: list[str], model_calls: int, extra: tuple[Problem, ...] = ()
) -> Report:
    """The integrity report of statements that stand, and of those that do not."""
    rested = sum(bool(statement.cites) for statement in statements)
    return Report(
        statements=len(statements),
        checked_by_code=rested,
        not_checked=len(statements) - rested,
        blocked=tuple(blocked),
        marked=tuple(problem for statement in statements for problem in problems(statement)) + extra,
        failed=tuple(failed),
        model_calls=model_calls,
    )
