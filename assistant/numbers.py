"""The numbers in a text, with the class of their unit: 81.3 % is 0.813 and never 81.3."""

import re
import unicodedata
from typing import NamedTuple

WORDS = {word: float(value) for value, word in enumerate(["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"], 2)}
NUMBER = re.compile(
    r"(?<![\w.])(?<!\w[-–])[-+−]?(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?:\s?(%|percent\b|per cent\b|percentage points?\b))?"
)
WORD = re.compile(r"\b(" + "|".join(WORDS) + r")\b", re.IGNORECASE)


class Number(NamedTuple):
    """A value as printed, without sign; `percent` says whether a percent sign or word stands behind it."""

    value: float
    percent: bool
    printed: str


def numbers(text: str) -> list[Number]:
    """The numbers of a text; digits inside names (GPT-4, Qwen2.5) are no numbers."""
    plain = unicodedata.normalize("NFKC", text.replace("\\%", "%"))
    found = [Number(float(hit[1].replace(",", "")), bool(hit[2]), hit[0].strip()) for hit in NUMBER.finditer(plain)]
    return found + [Number(WORDS[hit[1].lower()], False, hit[1]) for hit in WORD.finditer(plain)]


def missing(statement: str, sources: str) -> list[Number]:
    """The numbers of a statement that its sources do not hold with the same class of unit."""
    held = numbers(sources)
    return [number for number in numbers(statement) if not any(_equal(number, other) for other in held)]


def _equal(one: Number, other: Number) -> bool:
    if one.percent == other.percent:
        return abs(one.value - other.value) < 1e-9
    percent, fraction = (one, other) if one.percent else (other, one)
    return abs(percent.value / 100 - fraction.value) < 1e-9 and fraction.value <= 1
