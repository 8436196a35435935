"""The numbers of a text, each with the class of its unit, and whether one text holds the numbers of another.

81.3 % is 0.813 and never 81.3; 7B is 7 billion; "three" is 3; 10x is ten times. Digits inside names (GPT-4, Qwen2.5-7B)
are no numbers: such a name has to stand in the other text as it is.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_ONES = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = (
    {word: float(value) for value, word in enumerate(_ONES, 2)}
    | {word: 10.0 * value for value, word in enumerate(_TENS, 2)}
    | {f"{ten}-{one}": 10.0 * tens + ones for tens, ten in enumerate(_TENS, 2) for ones, one in enumerate(["one", *_ONES[:8]], 1)}
)
TIMES_WORDS = {"twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "doubling": 2.0, "thrice": 3.0, "triple": 3.0, "triples": 3.0, "tripled": 3.0, "quadruple": 4.0, "quadrupled": 4.0}  # fmt: skip
PARTS = {"half": 0.5, "halves": 0.5, "halved": 0.5, "halving": 0.5}
SCALES = {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12, "hundred": 1e2}  # fmt: skip
UNITS: dict[str, tuple[str, float]] = {
    "%": ("percent", 1), "percent": ("percent", 1), "per cent": ("percent", 1), "pct": ("percent", 1), "‰": ("percent", 0.1),
    "percentage point": ("points", 1), "percentage points": ("points", 1), "pp": ("points", 1), "pps": ("points", 1),
    "% point": ("points", 1), "% points": ("points", 1), "point": ("points", 1), "points": ("points", 1), "pts": ("points", 1),
    "x": ("times", 1), "×": ("times", 1), "times": ("times", 1), "fold": ("times", 1),
    "ns": ("time", 1e-9), "µs": ("time", 1e-6), "μs": ("time", 1e-6), "ms": ("time", 1e-3), "millisecond": ("time", 1e-3), "milliseconds": ("time", 1e-3),
    "s": ("time", 1), "sec": ("time", 1), "second": ("time", 1), "seconds": ("time", 1), "min": ("time", 60), "minute": ("time", 60),
    "minutes": ("time", 60), "h": ("time", 3600), "hr": ("time", 3600), "hrs": ("time", 3600), "hour": ("time", 3600), "hours": ("time", 3600),
    "day": ("time", 86400), "days": ("time", 86400), "week": ("time", 604800), "weeks": ("time", 604800),
    "month": ("months", 1), "months": ("months", 1), "year": ("months", 12), "years": ("months", 12),
    "kb": ("bytes", 1e3), "mb": ("bytes", 1e6), "gb": ("bytes", 1e9), "tb": ("bytes", 1e12),
    "hz": ("frequency", 1), "khz": ("frequency", 1e3), "mhz": ("frequency", 1e6), "ghz": ("frequency", 1e9),
    "nm": ("length", 1e-9), "mm": ("length", 1e-3), "cm": ("length", 1e-2), "km": ("length", 1e3), "m": ("length", 1), "db": ("decibel", 1),
    "mg": ("mass", 1e-3), "g": ("mass", 1), "kg": ("mass", 1e3), "usd": ("money", 1),
    "gpu": ("gpus", 1), "gpus": ("gpus", 1), "token": ("tokens", 1), "tokens": ("tokens", 1), "parameter": ("parameters", 1), "parameters": ("parameters", 1),
}  # fmt: skip
"""What may stand behind a number: the class of the unit, and how many of the class's own unit it is."""

_DIGITS = r"\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_POWER = r"(?:\s?[×x*·]\s?10\s?\^?\s?([-−]?\d{1,2})(?!\d))|(?:e([-+−]?\d{1,2})\b)"
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_WORDS = "|".join(sorted([*WORDS, *TIMES_WORDS, *PARTS], key=len, reverse=True))
NAME = re.compile(r"(?<![^\W_])[^\W\d_](?:\w*(?:[-.@'’_+=<>≤≥^]{1,2}\w+)*%?)?")
NUMBER = re.compile(
    rf"(?<![\w.@])(?:10\^(?P<ten>[-−]?\d{{1,2}})(?!\d)|(?P<digits>{_DIGITS})(?!\.?\d)(?:{_POWER})?)"
    rf"(?:[\s-]?(?P<scale>{_SCALE})(?![^\W_]))?"
    rf"(?:[\s-]?(?P<unit>{_UNIT})(?![^\W_]))?(?P<more>[^\W_]\w*)?",
    re.IGNORECASE,
)
WORD = re.compile(rf"(?<![\w-])(?<!of the )(?P<word>{_WORDS})(?![^\W_])(?:[\s-](?P<scale>hundred|thousand|million|billion|trillion)\b)?(?:[\s-]?(?P<unit>{_UNIT})(?![^\W_]))?", re.IGNORECASE)
POSSESSIVE = re.compile(r"['’]s$")
RUNS = re.compile(r"\d+(?:\.\d+)*|[^\W\d_]+|%")
JOINED = re.compile(r"\s*(?:-|–|—|/|to|and|or|through|,|vs\.?|versus)\s*[-+~$]?", re.IGNORECASE)
LATEX = ((re.compile(r"\\[,;:! ]|~"), " "), (re.compile(r"\{,\}"), ","), (re.compile(r"\\%"), "%"), (re.compile(r"\\times"), "×"), (re.compile(r"\^\{\s*(-?\d+)\s*\}"), r"^\1"), (re.compile(r"[${}]"), ""))  # fmt: skip
SUPERSCRIPT = re.compile("([0-9])([⁻⁰¹²³⁴-⁹]+)")
SPACED = re.compile(r"(?<=\d)[\u00a0\u2009\u202f](?=\d{3}(?!\d))")


class Number(NamedTuple):
    """A number without sign: as printed (`bare`), and in the unit of its class (`value`; no unit: the same)."""

    value: float
    unit: str
    printed: str
    bare: float
    at: int
    end: int


class Name(NamedTuple):
    """A name with digits, as its runs of letters and of digits: Qwen2.5-7B is qwen 2.5 7 b."""

    runs: tuple[str, ...]
    printed: str


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a text in their order; a number of a range has also the unit that stands behind its last."""
    plain = _plain(text)
    names = [(hit.start(), hit.end()) for hit in NAME.finditer(plain)]
    found = [_number(hit) for hit in NUMBER.finditer(plain) if not hit["more"] and not _inside(hit.start(), names)]
    found += [_worded(hit) for hit in WORD.finditer(plain)]
    found.sort(key=lambda number: number.at)
    shared = [
        number._replace(unit=after.unit)
        for number, after in zip(found, found[1:], strict=False)
        if not number.unit and after.unit and JOINED.fullmatch(plain, number.end, after.at)
    ]
    return (*found, *shared)


@lru_cache(maxsize=4096)
def names(text: str) -> tuple[Name, ...]:
    """The names with digits in a text: GPT-4o, AIME24, pass@1, 3D, k=4."""
    plain = _plain(text)
    tokens = [POSSESSIVE.sub("", hit[0]).rstrip(".'’") for hit in NAME.finditer(plain) if any(char.isdigit() for char in hit[0])]
    within = [(hit.start(), hit.end()) for hit in NAME.finditer(plain)]
    tokens += [hit[0] for hit in NUMBER.finditer(plain) if hit["more"] and not _inside(hit.start(), within)]
    return tuple(Name(_runs(token), token) for token in dict.fromkeys(tokens))


def missing(statement: str, sources: str) -> list[Number]:
    """The numbers of a statement that its sources do not hold with the same class of unit."""
    held, asked = numbers(sources), numbers(statement)
    there = {(number.at, number.printed) for number in asked if any(_equal(number, other) for other in held)}
    return [number for number in asked[: len({one.at for one in asked})] if (number.at, number.printed) not in there]


def unknown_names(statement: str, sources: str) -> list[str]:
    """The names with digits in a statement that its sources do not hold."""
    held = _runs(_plain(sources))
    return [name.printed for name in names(statement) if not _holds(held, name.runs)]


def misplaced(statement: str, sources: Sequence[str]) -> list[Number]:
    """The numbers that the sources hold, but not with the words that stand around them in the statement.

    A number counts as misplaced only where its own words stand in the sources beside a different number of the same unit.
    """
    held = [(number, _around(source, number)) for source in sources for number in numbers(source)]
    found = []
    for number in numbers(statement):
        words = _around(statement, number)
        shared = [(len(words & near), other) for other, near in held if other.unit == number.unit]
        best = max((count for count, _ in shared), default=0)
        mine = max((count for count, other in shared if _equal(number, other)), default=0)
        if best >= 3 and mine == 0:
            found.append(number)
    return found


def _plain(text: str) -> str:
    for pattern, becomes in LATEX:
        text = pattern.sub(becomes, text)
    text = SUPERSCRIPT.sub(lambda hit: f"{hit[1]}^{unicodedata.normalize('NFKC', hit[2])}", text)
    return unicodedata.normalize("NFKC", SPACED.sub("", text)).replace("−", "-")


def _number(hit: re.Match[str]) -> Number:
    value = 10.0 ** int(hit["ten"]) if hit["ten"] else float(re.sub("[,'’]", "", hit["digits"]))
    power = hit[3] or hit[4]
    return _made(value * 10.0 ** int(power) if power else value, hit)


def _worded(hit: re.Match[str]) -> Number:
    word = hit["word"].lower()
    if word in TIMES_WORDS:
        return Number(TIMES_WORDS[word], "times", hit["word"], TIMES_WORDS[word], hit.start(), hit.end())
    return _made(PARTS.get(word) or WORDS[word], hit)


def _made(value: float, hit: re.Match[str]) -> Number:
    scale, unit = (hit["scale"] or "").lower(), (hit["unit"] or "").lower()
    kind, factor = UNITS.get(unit, ("", 1.0))
    bare = value * SCALES.get(scale, 1.0)
    return Number(bare * factor, kind, hit[0].strip(), bare, hit.start(), hit.end())


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


def _runs(text: str) -> tuple[str, ...]:
    return tuple(run.lower() for run in RUNS.findall(text))


def _holds(held: tuple[str, ...], runs: tuple[str, ...]) -> bool:
    return any(held[at : at + len(runs)] == runs for at in range(len(held) - len(runs) + 1))


def _around(text: str, number: Number) -> frozenset[str]:
    plain = _plain(text)
    before = [run for run in _runs(plain[: number.at]) if not run[0].isdigit()][-6:]
    after = [run for run in _runs(plain[number.end :]) if not run[0].isdigit()][:6]
    return frozenset(word for word in (*before, *after) if len(word) > 2)


def _equal(one: Number, other: Number) -> bool:
    if one.unit == other.unit:
        return _near(one.value, other.value)
    if one.unit and other.unit:
        return False
    with_unit, bare = (one, other) if one.unit else (other, one)
    if with_unit.unit == "percent":
        return bare.value <= 1 and _near(with_unit.value / 100, bare.value)
    return _near(with_unit.bare, bare.bare)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1e-12)
