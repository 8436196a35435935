"""The methods paragraph and the statement on the use of AI, as Markdown, LaTeX and JSON: one template, escaped line by line.

Lines in brackets are for the authors to confirm or complete: nothing is claimed for them that the library does not know.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from assistant.document import SECOND_READER
from assistant.errors import UsageError
from assistant.export.escape import OTHER_SCRIPT_DEFINED, PART_DEFINED, markdown, prose
from assistant.export.templates import environment
from assistant.files import write_whole
from assistant.methods import Methods, ModelUse, by_rule

if TYPE_CHECKING:
    from jinja2 import Template

NAME: Final = "methods-statement"
RULES: Final = {
    "R1": "the cited paper and sentence are in the library",
    "R2": "the cited sentence was shown to the model in that very request",
    "R3": "no reference was written in free form",
    "R4": "each number and each name with digits stands in the cited sentences",
    "R5": "a quotation stands word by word in the cited papers",
    "R6": "the statement shares its words with what it cites, and no other paper shown fits much better",
    "R7": "a sentence that claims something has a citation",
    "R10": "no cited paper is known to be retracted or superseded",
    "R11": "negations and words of direction agree with the cited sentences",
    "R12": "a gap is said of the papers at hand, or a cited sentence says that something is missing",
}
PURPOSES: Final = {
    "ask": "answering questions about the papers",
    "chat": "answering questions about the papers",
    "summarize": "summarising papers",
    "table": "filling comparison tables",
    "taxonomy": "building a taxonomy and filing papers in it",
    "draft": "planning and writing related-work text",
    "verify": "judging statements as a second reader",
}
DECISIONS: Final = {
    "edit": ("corrected field", "corrected fields"),
    "rename": ("changed key", "changed keys"),
    "tag": ("tag set or taken off", "tags set or taken off"),
    "note": ("note", "notes"),
    "status": ("decision on inclusion", "decisions on inclusion"),
    "merge": ("merge of records", "merges of records"),
    "split": ("split of a record", "splits of records"),
}
EMBEDDERS: Final = {"minilm": "all-MiniLM-L6-v2", "hash": "a lexical hash of words, meant for tests"}
SERVICES: Final = {"arxiv": "arXiv", "openalex": "OpenAlex", "crossref": "Crossref", "semanticscholar": "Semantic Scholar"}
CENT: Final = 0.01
SIGN: Final = re.compile(r"^(?=(?:##?|[-=!]) )", re.MULTILINE)
"""Where a block of the template begins."""


class Block(NamedTuple):
    """A piece of the text under its sign: `#` and `##` are headings, `=` a paragraph, `-` an item, `!` a line to confirm."""

    sign: str
    text: str


def written(facts: Methods, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The files that the text was written to, one a format; raises UsageError and OutputError."""
    for name in formats:
        if name not in WRITERS:
            raise UsageError(f"--to {name}: the methods can be written as {', '.join(WRITERS)}")
    paths = [folder / f"{NAME}.{name}" for name in formats]
    for path, name in zip(paths, formats, strict=True):
        write_whole(path, WRITERS[name](facts))
    return paths


def blocks(facts: Methods) -> tuple[Block, ...]:
    """The text in its pieces, nothing escaped yet."""
    report = facts.report
    text = _template().render(
        facts=facts,
        embedder=EMBEDDERS.get(facts.embedder.partition(" ")[0], facts.embedder.partition(" ")[0]),
        asks_for_sources=any(one.format not in {lookup.service for lookup in facts.lookups} for one in facts.imports),
        second_reader=SECOND_READER,
        blocked=_counted(by_rule(problem.rule for problem in report.blocked)),
        marked=_counted(by_rule(problem.rule for problem in report.marked)),
        unchecked=_counted(by_rule(problem.rule for problem in report.unchecked)),
        rules=RULES,
        decisions=", ".join(many(count, *DECISIONS.get(kind, (kind, kind))) for kind, count in facts.decisions.items()),
        purposes=_listed([*dict.fromkeys(purpose(task) for task in facts.tasks)]) or "reading the papers",
    )
    return tuple(_blocks(text))


def _blocks(text: str) -> Iterator[Block]:
    for part in SIGN.split(text)[1:]:
        sign, _, words = part.partition(" ")
        yield Block(sign, " ".join(words.split()))


def as_markdown(facts: Methods) -> str:
    """The text as Markdown; what is to be confirmed stands in brackets."""
    shapes = {"#": "# {}", "##": "## {}", "-": "- {}", "!": r"\[{}\]", "=": "{}"}
    found = blocks(facts)
    lines = ["<!-- Written by code from the library and its ledger of requests; no model was asked. Lines in brackets are yours. -->", ""]
    for at, block in enumerate(found):
        is_item_before_item = block.sign == "-" and at + 1 < len(found) and found[at + 1].sign == "-"
        lines += [shapes[block.sign].format(markdown(block.text)), *([] if is_item_before_item else [""])]
    return "\n".join(lines).rstrip() + "\n"


def as_latex(facts: Methods) -> str:
    """The text as a part of a LaTeX document."""
    shapes = {"#": "\\section*{{{}}}", "##": "\\subsection*{{{}}}", "-": "\\item {}", "!": "\\textbf{{[{}]}}", "=": "{}"}
    body: list[str] = []
    in_list = False
    for block in blocks(facts):
        if in_list != (block.sign == "-"):
            in_list = not in_list
            body += ["\\begin{itemize}"] if in_list else ["\\end{itemize}", ""]
        body += [shapes[block.sign].format(prose(block.text)), *([] if in_list else [""])]
    body += ["\\end{itemize}"] if in_list else []
    whole = "\n".join(body)
    needs = [*([PART_DEFINED] if "\\partat" in whole else []), *(OTHER_SCRIPT_DEFINED if "\\otherscript" in whole else [])]
    head = ["% Written by code from the library and its ledger of requests; no model was asked. Lines in brackets are yours.", *needs, ""]
    return "\n".join([*head, whole.rstrip()]) + "\n"


def as_json(facts: Methods) -> str:
    """The facts, and the text with its headings, paragraphs and lines to confirm."""
    kinds = {"#": "title", "##": "heading", "-": "item", "!": "confirm", "=": "paragraph"}
    said = [{"kind": kinds[block.sign], "text": block.text} for block in blocks(facts)]
    return json.dumps({"facts": asdict(facts), "text": said}, ensure_ascii=False, indent=1) + "\n"


WRITERS: Final[dict[str, Callable[[Methods], str]]] = {"md": as_markdown, "tex": as_latex, "json": as_json}


@cache
def _template() -> "Template":
    made = environment(escapes=False)
    made.finalize = lambda value: " ".join(value.split("\n")) if isinstance(value, str) else value  # so none begins a block
    made.globals.update(many=many, purpose=purpose, service=service, tokens=tokens, money=money)
    return made.get_template("methods.j2")


def many(count: int, one: str, more: str = "") -> str:
    """A number with its noun: `1 paper`, `1,204 papers`, `no papers`."""
    return f"{count:,} {one}" if count == 1 else f"{f'{count:,}' if count else 'no'} {more or f'{one}s'}"


def purpose(task: str) -> str:
    """What a model was asked for, in words."""
    return PURPOSES.get(task, task)


def service(name: str) -> str:
    """What a service calls itself."""
    return SERVICES.get(name, name)


def tokens(use: ModelUse) -> str:
    """What a model read and wrote, as far as it is known."""
    if use.tokens_in is None or use.tokens_out is None:
        return "How many tokens that took is not known."
    unknown = f"; those of {many(use.uncounted, 'request')} are not known" if use.uncounted else ""
    return f"It read {use.tokens_in:,} tokens and wrote {use.tokens_out:,}{unknown}."


def money(use: ModelUse) -> str:
    """What a model cost, as far as it is known."""
    if use.cost_usd is None:
        return "The cost is not known."
    known = "less than 0.01" if 0 < use.cost_usd < CENT else f"{use.cost_usd:,.2f}"
    unknown = f"; that of {many(use.unpriced, 'request')} is not known" if use.unpriced else ""
    return f"The cost was {known} US dollars{unknown}."


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{rule}: {count}" for rule, count in counts.items())


def _listed(parts: Sequence[str]) -> str:
    *before, last = parts or [""]
    return f"{', '.join(before)} and {last}" if before else last
