"""How the rows of a table stand in a file: under the headings of its groups, and turned where a paper is to be a column."""

from collections.abc import Sequence
from typing import TypeVar

from assistant.document import Document, Row

T = TypeVar("T")
GROUP = "group"
"""What the first column of a spreadsheet is called where the rows stand in groups."""


def parts(document: Document) -> list[tuple[str, tuple[Row, ...]]]:
    """The rows under each heading; all of them under none where the table is not grouped."""
    if not document.groups:
        return [("", document.rows)]
    rows = {row.key: row for row in document.rows}
    return [(group.heading, tuple(rows[key] for key in group.keys if key in rows)) for group in document.groups]


def turned(lines: Sequence[Sequence[T]]) -> list[list[T]]:
    """The lines as columns."""
    return [list(line) for line in zip(*lines, strict=True)]
