"""What each cell and place of a spreadsheet was when it was written, in a few letters beside its row.

Read back, they tell what its reader changed from what changed elsewhere in the meantime: neither undoes the other.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote, unquote

from assistant.document import Cell, Column, Row
from assistant.export.escape import CONTROL, plain

EXPORTED = "as exported"
"""The column that holds them."""
COMPARED = 30_000
"""Characters of a cell that count: a workbook holds few more."""
LETTERS = 8


class Was(NamedTuple):
    """A cell as it was written: a mark of its words, and the first letter of its status."""

    mark: str
    status: str


def mark(text: str) -> str:
    """A short mark of a text, the same for the same words whatever their spaces."""
    words = " ".join(CONTROL.sub("", text).split())[:COMPARED]
    return hashlib.sha256(words.encode()).hexdigest()[:LETTERS]


def cell_mark(text: str, column: Column) -> str:
    """The mark of a cell's words; a number is the same however a spreadsheet writes it."""
    if column.type == "number":
        try:
            return mark(repr(float(text)))
        except ValueError:
            pass  # a number with its unit, or none
    return mark(text)


def row_marks(row: Row, columns: Sequence[Column], written: Mapping[str, str]) -> str:
    """What the cells of a row are, by column id; `written` is how each is written."""
    return " ".join(
        f"{quote(column.id, safe='')}:{cell_mark(written[column.id], column)}{letter(row.cells.get(column.id))}" for column in columns
    )


def letter(cell: Cell | None) -> str:
    """The first letter of a cell's status."""
    return cell.status[0] if cell else "-"


def read_row(said: str) -> dict[str, Was]:
    """What the cells of a row were, by column id; nothing of what is not understood."""
    found = {}
    for part in said.split():
        name, colon, was = part.rpartition(":")
        if colon and len(was) == LETTERS + 1:
            found[unquote(name)] = Was(was[:LETTERS], was[LETTERS])
    return found


def path_mark(labels: Sequence[str]) -> str:
    """The mark of a place by its labels from the first level down."""
    return mark(" / ".join(plain(label).casefold() for label in labels))


def place_mark(labels: Sequence[str], node: str) -> str:
    """What a paper's place is: its mark, and the id of its node, or nothing where it has none."""
    return f"{path_mark(labels)} {node}".strip()
