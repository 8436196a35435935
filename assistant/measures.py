"""The number of a cell: its value, its unit and what it measures, so that a column sorts and two papers can be compared."""

import re
from collections.abc import Sequence

from assistant.document import Cell, Column, Measure
from assistant.numbers import UNITS, Number, numbers

CLAUSE = re.compile(r"[;:()\[\]]|,(?!\d)|\.(?!\d)|\s(?:while|whereas|but|versus|vs\.?|compared (?:to|with)|against|than|from)\s", re.IGNORECASE)
EDGE = " \t-–—~≈=<>≤≥±$,.:;"


def measured(cell: Cell, column: Column, unit: str = "") -> Measure | None:
    """The number of a stated cell, in `unit` where it is of that kind; None where the cell has no number.

    A bare number takes its unit and what it measures from the sentence that it rests on; words hold theirs themselves.
    """
    if cell.status != "stated" or isinstance(cell.value, bool | tuple) or cell.value is None:
        return None
    if isinstance(cell.value, int | float):
        return _of_sentence(float(cell.value), [cite.quote for cite in cell.cites], unit or column.unit)
    wanted = _kind(unit or column.unit)
    found = numbers(cell.raw)
    first = next((number for number in found if number.unit == wanted), found[0]) if found else None
    return _made(first, cell.raw, unit or column.unit) if first else None


def every_measure(cell: Cell, column: Column) -> list[Measure]:
    """Every number of a stated cell; a bare one with the words of its sentence."""
    if cell.status == "stated" and isinstance(cell.value, str):
        return [_made(number, cell.raw, column.unit, in_clause=True) for number in numbers(cell.raw)]
    one = measured(cell, column)
    return [one] if one else []


def unit_word(number: Number) -> str:
    """The unit as it is printed behind a number: `hours`, `%`; nothing where none is."""
    tail = number.printed.lower().rstrip()
    known = [unit for unit in UNITS if tail.endswith(unit) and UNITS[unit][0] == number.unit]
    return max(known, key=len, default="") if number.unit else ""


def common_unit(found: Sequence[Measure]) -> str:
    """The unit that most of the measures have, of the kind that most of them are; nothing where most have none."""
    kinds = [one.kind for one in found]
    kind = max(sorted(set(kinds)), key=kinds.count, default="")
    units = [one.unit for one in found if one.kind == kind and one.unit]
    return max(sorted(set(units)), key=units.count, default="") if kind else ""


def _of_sentence(value: float, quotes: Sequence[str], unit: str) -> Measure:
    for quote in quotes:
        for number in numbers(quote):
            if _is(number, value):
                return _made(number, quote, unit, in_clause=True)
    kind, factor = UNITS.get(unit.lower(), ("", 1.0))
    return Measure(value, unit, "", kind, value * factor)


def _is(number: Number, value: float) -> bool:
    """Whether this is the number that a cell gives bare: as printed, with or without its word for thousands."""
    digits = re.match(r"[\d.]+", number.printed.replace(",", ""))
    return abs(number.bare - value) <= 1e-9 * max(abs(value), 1) or (digits is not None and digits[0].rstrip(".") == f"{value:g}")


def _made(number: Number, text: str, unit: str, *, in_clause: bool = False) -> Measure:
    """The measure of a number; `in_clause` where the text is a sentence, of which only the clause around it is taken."""
    kind, factor = UNITS.get(unit.lower(), ("", 1.0))
    of = _subject(number, text, clause=in_clause)
    if number.unit and number.unit == kind:
        return Measure(round(number.value / factor, 10), unit, of, kind, number.value)
    if not number.unit:  # a bare number stands in the unit of its column
        return Measure(number.bare, unit, of, kind, number.bare * factor)
    return Measure(number.bare, unit_word(number) or number.unit, of, number.unit, number.value)


def _kind(unit: str) -> str:
    return UNITS.get(unit.lower(), ("", 1.0))[0]


def _subject(number: Number, text: str, *, clause: bool) -> str:
    """What a number measures: the words around it, those of its clause where the text is a whole sentence."""
    start = text.find(number.printed)
    if start < 0:
        return ""
    end = start + len(number.printed)
    before, after = text[:start], text[end:]
    if clause:
        before, after = CLAUSE.split(before)[-1], CLAUSE.split(after)[0]
    return " ".join(f"{before.strip(EDGE + '(')} {after.strip(EDGE + ')')}".split())
