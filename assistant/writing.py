"""Prompt → checked sentences: the reply is read line by line, and what a rule stops is asked for again once.

A reply is one sentence a line, each followed by its labels. `ask` and `draft` both write so.
"""

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assistant.document import Cite, Problem, Statement
from assistant.errors import GatewayError, ReplyUnusable
from assistant.evidence import GROUP, Evidence, written_again
from assistant.gateway import Gateway, Message, Request
from assistant.grounding import RULES, checked
from assistant.wording import block

NO_EVIDENCE = "NO EVIDENCE"
DROP = "DROP"
CALLS = 2
"""The most that are asked for one piece of text: the reply, and either a whole second one or the sentences that were stopped."""
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
NUMBERED = re.compile(r"^\s*(\d{1,2})[.)]\s")
FENCE = re.compile(r"^\s*```")
NOT_A_SENTENCE = frozenset("#>|")
STOPS = frozenset(".!?。！？")
ENDED = re.compile(rf"(?:{GROUP.pattern}\s*)+(?P<stop>[.!?。！？])?(?:\s+(?=[A-ZÀ-Þ0-9\"“({{])|\s*(?=[\u3040-\u9fff]))")
"""Labels that another sentence follows."""


@dataclass(frozen=True, slots=True)
class Written:
    """The sentences that stand, those that were blocked for good, and what failed as a whole."""

    statements: tuple[Statement, ...] = ()
    blocked: tuple[Problem, ...] = ()
    failed: tuple[str, ...] = ()
    declined: bool = False


@dataclass(slots=True)
class Lines:
    """Takes the pieces of a streamed reply and hands on each whole line."""

    on_line: Callable[[str], None]
    rest: str = field(default="")

    def take(self, piece: str) -> None:
        """A piece of text as it came."""
        *whole, self.rest = (self.rest + piece).split("\n")
        for line in whole:
            self.on_line(line)

    def end(self) -> None:
        """The reply is over; what is left is a line."""
        if self.rest:
            self.on_line(self.rest)
            self.rest = ""


def write(
    gateway: Gateway,
    request: Request,
    evidence: Evidence,
    own: Path | None,
    on_statement: Callable[[Statement], None] = lambda statement: None,
    calls: int = CALLS,
) -> Written:
    """What a model writes from the evidence, in at most `calls` calls; `on_statement` is given each sentence that stands, as it comes.

    A sentence with a blocking problem is asked for again once, and left out if it fails again. A reply that is empty or
    broken is asked for once more; after that it is reported as failed. Where no call is left for either, that is the end.
    """
    drafts: list[tuple[Statement, list[Problem]]] = []
    told: set[tuple[str, tuple[Cite, ...]]] = set()

    def tell(statement: Statement) -> None:
        if (statement.text, statement.cites) not in told:  # a reply that broke off may have said it before
            told.add((statement.text, statement.cites))
            on_statement(statement)

    exchange = gateway.exchange(request)

    def on_line(line: str) -> None:
        for sentence in sentences_in(line):
            drafts.append(_from(exchange, checked(sentence, evidence)))
            if not drafts[-1][1]:
                tell(drafts[-1][0])

    try:
        reply, left = _streamed(gateway, request, on_line), calls - 1
    except ReplyUnusable as error:
        if calls < 2:
            return Written(failed=(str(error),))
        drafts.clear()
        try:
            second = replace(request, label=f"{request.label}--again", sample=request.sample + 1)
            exchange = gateway.exchange(second)
            reply, left = _streamed(gateway, second, on_line), calls - 2
        except ReplyUnusable:
            return Written(failed=(str(error),))
    if NO_EVIDENCE in reply and not any(statement.cites for statement, _ in drafts):
        return Written(declined=True)
    return _mended(gateway, request, reply, evidence, own, drafts, tell, may_ask=left > 0)


def write_all(
    gateway: Gateway, jobs: Sequence[tuple[Request, Evidence]], own: Path | None
) -> Iterator[tuple[Request, Written | GatewayError]]:
    """As `write` for many prompts at once, each with what was written or with its own error, as they come back."""
    evidences = {request.label: evidence for request, evidence in jobs}
    for request, outcome in gateway.complete_all([request for request, _ in jobs]):
        evidence = evidences[request.label]
        if isinstance(outcome, ReplyUnusable):
            second = replace(request, label=f"{request.label}--again", sample=request.sample + 1)
            outcome = next(iter(gateway.complete_all([second])))[1]
        if isinstance(outcome, GatewayError):
            yield request, outcome
            continue
        exchange = gateway.exchange(request)
        drafts = [
            _from(exchange, checked(sentence, evidence), _number(line)) for line in outcome.text.splitlines() for sentence in sentences_in(line)
        ]
        yield request, _mended(gateway, request, outcome.text, evidence, own, drafts, lambda statement: None)


def sentences_in(line: str) -> list[str]:
    """The sentences on a line of a reply, each with its labels; none for headings, fences and blank lines.

    A line is meant to be one sentence; where labels end one in its middle, the rest is another.
    """
    text = _sentence(line)
    found, start = [], 0
    for hit in ENDED.finditer(text):
        if hit["stop"] or text[start : hit.start()].rstrip()[-1:] in STOPS:
            found.append(text[start : hit.end()].strip())
            start = hit.end()
    return [one for one in (*found, text[start:].strip()) if one]


def asked_again(request: Request, evidence: Evidence, statements: Sequence[Statement], objections: Mapping[int, Problem], message: Message) -> Request:
    """The prompt that asks once more for those of the statements that have an objection; `message` says which, in their order."""
    said = [statement.text for statement in statements] + [objections[at].text for at in sorted(objections)]
    label = f"{request.label}--{hashlib.sha256(repr(said).encode()).hexdigest()[:8]}"
    return replace(request, messages=(*request.messages, Message("assistant", as_reply(statements, evidence)), message), label=label)


def taken(
    reply: str, exchange: str, evidence: Evidence, statements: Sequence[Statement], objections: Mapping[int, Problem]
) -> tuple[tuple[Statement, ...], tuple[Problem, ...]]:
    """The statements with those of the reply in their places, and those that their writer took back.

    A new sentence that a rule stops, or that has more marks of code than the old one had, is not taken: the old one stays.
    """
    lines = [sentence for line in reply.splitlines() if (sentence := _sentence(line))]
    standing: list[Statement | None] = list(statements)
    dropped = []
    for at, line in zip(sorted(objections), lines, strict=False):
        old = statements[at]
        if line.strip(".") == DROP:
            standing[at] = None
            dropped.append(objections[at])
            continue
        new, problems = _from(exchange, checked(line, evidence), old.line)
        is_better = not problems and new.cites and len(new.problems) <= sum(problem.rule in RULES for problem in old.problems)
        standing[at] = new if is_better else old
    return tuple(statement for statement in standing if statement), tuple(dropped)


def as_reply(statements: Sequence[Statement], evidence: Evidence) -> str:
    """Statements as a reply that would have given them: the number of the plan's line, the sentence, its labels."""
    return "\n".join(f"{statement.line}. {written_again(statement, evidence)} {evidence.labels(statement.cites)}".strip() for statement in statements)


def _number(line: str) -> int:
    """The number that a line of a reply begins with: the plan's line that it was written for."""
    found = NUMBERED.match(line)
    return int(found[1]) if found else 0


def _from(exchange: str, drafted: tuple[Statement, list[Problem]], line: int = 0) -> tuple[Statement, list[Problem]]:
    return replace(drafted[0], exchange=exchange, line=line), drafted[1]


def _streamed(gateway: Gateway, request: Request, on_line: Callable[[str], None]) -> str:
    lines = Lines(on_line)
    reply = gateway.stream(request, lines.take)
    lines.end()
    return reply.text


def _sentence(line: str) -> str:
    """The sentence on a line of a reply, or nothing for headings, fences and blank lines."""
    text = BULLET.sub("", line).strip()
    if not text or FENCE.match(text) or text[0] in NOT_A_SENTENCE or text in {NO_EVIDENCE, f"{NO_EVIDENCE}."}:
        return ""
    return text


def _mended(
    gateway: Gateway,
    request: Request,
    reply: str,
    evidence: Evidence,
    own: Path | None,
    drafts: list[tuple[Statement, list[Problem]]],
    on_statement: Callable[[Statement], None],
    *,
    may_ask: bool = True,
) -> Written:
    stopped = [at for at, (_, problems) in enumerate(drafts) if problems]
    if not stopped:
        return Written(tuple(statement for statement, _ in drafts))
    first = {at: Problem(drafts[at][0].text, problem.rule, problem.reason) for at in stopped for problem in drafts[at][1][:1]}
    shown = [replace(first[at], text=written_again(drafts[at][0], evidence)) for at in stopped]
    exchange, again = _again(gateway, request, reply, shown, own) if may_ask else ("", [])
    blocked: list[Problem] = []
    for at, line in zip(stopped, [*again, *([""] * len(stopped))], strict=False):
        statement, problems = _from(exchange, checked(line, evidence), drafts[at][0].line) if line and line.strip(".") != DROP else (None, list(first.values())[:1])
        standing = {other.text for other, found in drafts if not found}
        if statement is None or problems or not statement.cites or statement.text in standing:
            blocked.append(first[at])
            drafts[at] = (drafts[at][0], [first[at]])
        else:
            drafts[at] = (statement, [])
            on_statement(statement)
    return Written(tuple(statement for statement, problems in drafts if not problems), tuple(blocked))


def _again(gateway: Gateway, request: Request, reply: str, problems: list[Problem], own: Path | None) -> tuple[str, list[str]]:
    """The second exchange, and the sentences of its reply; none when it cannot be used."""
    messages = (
        *request.messages,
        Message("assistant", reply),
        Message("user", block("ask/mend", "user", own, problems=problems)),
    )
    asked = replace(request, messages=messages, label=f"{request.label}--again")
    try:
        second = gateway.complete(asked)
    except ReplyUnusable:
        return "", []
    return gateway.exchange(asked), [sentence for line in second.text.splitlines() if (sentence := _sentence(line))]
