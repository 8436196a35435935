"""A document as one HTML page: readable offline, on paper, in light and dark; nothing in it runs, nothing comes from outside."""

from functools import cache
from typing import TYPE_CHECKING

from assistant.document import NOTE_WARNING, SUMMARY_FIELDS, SUPPORT, Document, Statement
from assistant.export import coverage, names
from assistant.export.checks import found
from assistant.export.escape import CONTROL, plain
from assistant.export.layout import parts
from assistant.export.markdown import (
    ALREADY,
    CLOSEST,
    LEGEND,
    STATES,
    audit_line,
    audit_parts,
    nearness,
    shown,
    stopped_results,
    summary,
    verdict,
)
from assistant.export.templates import environment
from assistant.export.tree import branches
from assistant.export.workbook import heading

if TYPE_CHECKING:
    from jinja2 import Environment


def write(document: Document) -> str:
    """The page, its markup from the templates beside this file, every value escaped."""

    def title(key: str) -> str:
        return plain(document.sources[key].title) if key in document.sources else ""

    numbers = names.numbers(document) if document.citations == "numbered" else {}

    def cited_numbers(statement: Statement) -> list[int]:
        return sorted({numbers[cite.key] for cite in statement.cites if cite.key in numbers})

    text = _environment().get_template("page.html.j2").render(
        document=document,
        wide=document.task in {"table", "summarize", "audit"},
        support=SUPPORT,
        branches=branches(document),
        parts=parts(document),
        found=found(document),
        left_out=coverage.left_out(document),
        fields=SUMMARY_FIELDS,
        legend=LEGEND,
        note_warning=NOTE_WARNING,
        language="en",
        title=title,
        closest=CLOSEST,
        already=ALREADY,
        states=STATES,
        cited={*document.cited(), *(row.key for row in document.rows)},
        numbers=numbers,
        cited_numbers=cited_numbers,
    )
    return CONTROL.sub("", text)


@cache
def _environment() -> "Environment":
    made = environment(escapes=True)
    made.globals.update(
        audit_line=audit_line, audit_parts=audit_parts, shown=shown, plain=plain, nearness=nearness, summary=summary, verdict=verdict, stopped_results=stopped_results, heading=heading, coverage=coverage,
        byline=names.byline, listing=names.listing, link=names.link,
    )  # fmt: skip
    return made
