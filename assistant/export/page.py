"""A document as one HTML page: readable offline, on paper, in light and dark; nothing in it runs, nothing comes from outside."""

from functools import cache
from typing import TYPE_CHECKING

from assistant.document import NOTE_WARNING, SUMMARY_FIELDS, Document, Statement
from assistant.export import names
from assistant.export.checks import found
from assistant.export.escape import CONTROL, plain
from assistant.export.markdown import LEGEND, shown, stopped_results, summary
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
        wide=document.task in {"table", "summarize"},
        branches=branches(document),
        found=found(document),
        fields=SUMMARY_FIELDS,
        legend=LEGEND,
        note_warning=NOTE_WARNING,
        language="en",
        title=title,
        numbers=numbers,
        cited_numbers=cited_numbers,
    )
    return CONTROL.sub("", text)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    made = Environment(
        loader=PackageLoader("assistant.export", ""), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.globals.update(
        shown=shown, plain=plain, summary=summary, stopped_results=stopped_results, heading=heading,
        byline=names.byline, listing=names.listing, link=names.link,
    )  # fmt: skip
    return made
