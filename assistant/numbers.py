"""The numbers of a text, each with the class of its unit, and whether one text holds the numbers of another.

81.3 % is 0.813 and never 81.3; 7B is 7 billion; "three" is 3; 10x is ten times; 81,3 may be 81.3. Digits inside names
(GPT-4, Qwen2.5-7B) are no numbers: such a name has to stand in the other text as it is. The (1) of a list is
held against the marks of a list alone.
"""

import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import NamedTuple

from assistant.polarity import goes_down
from store.language import language_of

_ONES = "two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
WORDS = (
    {word: float(value) for value, word in enumerate(_ONES, 2)}
    | {word: 10.0 * value for value, word in enumerate(_TENS, 2)}
    | {f"{ten}-{one}": 10.0 * tens + ones for tens, ten in enumerate(_TENS, 2) for ones, one in enumerate(["one", *_ONES[:8]], 1)}
)
TIMES_WORDS = {"twice": 2.0, "double": 2.0, "doubles": 2.0, "doubled": 2.0, "doubling": 2.0, "thrice": 3.0, "triple": 3.0, "triples": 3.0, "tripled": 3.0, "quadruple": 4.0, "quadrupled": 4.0}  # fmt: skip
PARTS = {"half": 0.5, "halves": 0.5, "halved": 0.5, "halving": 0.5, "one-half": 0.5} | {
    f"{count}{gap}{part}": share
    for gap in "- "
    for count, part, share in (("a", "third", 1 / 3), ("one", "third", 1 / 3), ("two", "thirds", 2 / 3), ("a", "quarter", 0.25), ("one", "quarter", 0.25), ("three", "quarters", 0.75), ("a", "fifth", 0.2), ("one", "fifth", 0.2))
}  # fmt: skip
"""Parts of a whole; they agree with a percentage or a decimal that rounds to them."""
MANY = {"hundreds": 1e2, "thousands": 1e3, "millions": 1e6, "billions": 1e9}
"""How many they are at least; a thousand times that is more than they say."""
RANKS = {word: float(value) for value, word in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1)}
SCALES = {
    "k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "b": 1e9, "bn": 1e9, "billion": 1e9, "t": 1e12, "tn": 1e12, "trillion": 1e12, "hundred": 1e2,
    "millionen": 1e6, "millones": 1e6, "mio": 1e6, "milliarden": 1e9, "milliards": 1e9, "mrd": 1e9, "tausend": 1e3, "mille": 1e3, "千": 1e3, "万": 1e4, "萬": 1e4, "百万": 1e6, "亿": 1e8, "億": 1e8}  # fmt: skip
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
    "prozent": ("percent", 1), "pour cent": ("percent", 1), "por ciento": ("percent", 1), "prozentpunkte": ("points", 1), "prozentpunkten": ("points", 1),
    "points de pourcentage": ("points", 1), "个百分点": ("points", 1), "ポイント": ("points", 1), "倍": ("times", 1), "fach": ("times", 1), "mal": ("times", 1), "fois": ("times", 1),
    "sekunden": ("time", 1), "秒": ("time", 1), "minuten": ("time", 60), "分钟": ("time", 60), "stunden": ("time", 3600), "heures": ("time", 3600), "小时": ("time", 3600), "時間": ("time", 3600),
    "tage": ("time", 86400), "tagen": ("time", 86400), "jours": ("time", 86400), "天": ("time", 86400), "monate": ("months", 1), "mois": ("months", 1), "个月": ("months", 1),
    "jahre": ("months", 12), "jahren": ("months", 12), "ans": ("months", 12), "年": ("months", 12),
    "gpu": ("gpus", 1), "gpus": ("gpus", 1), "token": ("tokens", 1), "tokens": ("tokens", 1), "parameter": ("parameters", 1), "parameters": ("parameters", 1),
}  # fmt: skip
"""What may stand behind a number: the class of the unit, and how many of the class's own unit it is."""

_LETTER = r"[^\W_\u3040-\u9fff]"
_DIGITS = r"\d{1,3}(?:[,'’]\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
_POWER = r"(?:\s?[×x*·]\s?10\s?\^?\s?([-−]?\d{1,2})(?!\d))|(?:e([-+−]?\d{1,2})\b)"
_SCALE = "|".join(sorted(SCALES, key=len, reverse=True))
_UNIT = "|".join(re.escape(unit) for unit in sorted(UNITS, key=len, reverse=True))
_WORDS = "|".join(sorted([*WORDS, *TIMES_WORDS, *PARTS, *MANY], key=len, reverse=True))
_RANK = "|".join(RANKS)
NAME = re.compile(r"(?<![^\W_])[^\W\d_](?:\w*(?:[-.@'’_+=<>≤≥^]{1,2}\w+)*%?)?")
NUMBER = re.compile(
    rf"(?<![\w.@])(?:10\^(?P<ten>[-−]?\d{{1,2}})(?!\d)|(?P<digits>{_DIGITS})(?!\.?\d)(?:{_POWER})?)"
    rf"(?:[\s-]?(?P<scale>{_SCALE})(?!{_LETTER}))?"
    rf"(?:[\s-]?(?P<unit>{_UNIT})(?!{_LETTER}))?(?P<more>{_LETTER}\w*)?",
    re.IGNORECASE,
)
WORD = re.compile(rf"(?<![\w-])(?<!of the )(?P<word>{_WORDS})(?![^\W_])(?:[\s-](?P<scale>hundred|thousand|million|billion|trillion)\b)?(?:[\s-]?(?P<unit>{_UNIT})(?![^\W_]))?", re.IGNORECASE)
RANK = re.compile(
    rf"\b(?:rank\w*|plac(?:ed|es|ing)|finish\w*|came|comes?)\s+(?:in\s+|the\s+|at\s+)*(?P<after>{_RANK})\b(?!\s+(?:on|of|and)\s+the\s+\w+\s+\w+\s+to)"
    rf"|\b(?P<before>{_RANK})[\s-](?:place|rank|prize|position|best|largest|highest|lowest)\b",
    re.IGNORECASE,
)
ORDINAL = re.compile(rf"(?<![\w.])(?:(?P<digits>\d+)(?:st|nd|rd|th)|(?P<word>{_RANK}))(?!\w)", re.IGNORECASE)
LISTED = re.compile(r"(?<![\w)])\(?(\d|1\d)\)(?=\s*[A-Za-z\\$])")
"""The mark of an item in a list that runs through a sentence: (1) … (2) …"""
SPELT = re.compile(r"(?<=\d)[\s-](billion|million)(?![^\W_])")
DECIMAL_COMMA = re.compile(r"(?<![\w.,])(\d+),(\d{1,2})(?![\d]|[.,]\d)")
THOUSANDS_DOT = re.compile(r"(?<![\w.,])(\d{1,3})((?:\.\d{3})+)(?![\d]|\.\d)")
POSSESSIVE = re.compile(r"['’]s$")
RUNS = re.compile(r"\d+(?:\.\d+)*(?:\s?[bkmt](?![^\W_]))?|[^\W\d_\u3040-\u9fff]+|%", re.IGNORECASE)
JOINED = re.compile(r"\s*(?:-|–|—|/|to|and|or|through|,|vs\.?|versus)\s*[-+~$]?", re.IGNORECASE)
BESIDE_HAN = re.compile(r"(?<=[\u3040-\u9fff])(?=[A-Za-z0-9+−-])|(?<=[A-Za-z0-9%％])(?=[\u3040-\u9fff])")
LATEX = ((re.compile(r"\\[,;:! ]|~"), " "), (re.compile(r"\\(?:text|mathrm|mathbf|textbf|emph|textit)\s?\{([^{}]{0,40})\}"), r"\1"), (re.compile(r"\\(?:sim|approx|simeq|pm|leq?|geq?|rightarrow|to|uparrow|downarrow|ll|gg)(?![A-Za-z])"), " "), (re.compile(r"\{,\}"), ","), (re.compile(r"\\%"), "%"), (re.compile(r"\\times"), "×"), (re.compile(r"\^\{\s*(-?\d+)\s*\}"), r"^\1"), (re.compile(r"[${}]"), ""))  # fmt: skip
ROUNDED = 0.02
"""By so much a part in words may differ from the same in figures."""
REACH = 160
"""Characters on either side of a number in which the words about it are looked for."""
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
    is_negative: bool = False


class Name(NamedTuple):
    """A name with digits, as its runs of letters and of digits: Qwen2.5-7B is qwen 2.5 7 b."""

    runs: tuple[str, ...]
    printed: str


@lru_cache(maxsize=4096)
def numbers(text: str) -> tuple[Number, ...]:
    """The numbers of a text in their order; a number of a range has also the unit that stands behind its last."""
    whole = _plain(text)
    plain = LISTED.sub(lambda hit: " " * len(hit[0]), whole)
    names = [(hit.start(), hit.end()) for hit in NAME.finditer(plain)]
    found = [_number(hit) for hit in NUMBER.finditer(plain) if not hit["more"] and not _inside(hit.start(), names)]
    found += [_worded(hit) for hit in WORD.finditer(plain)]
    found += [_rank(hit[1] or hit[2], hit.start(1 if hit[1] else 2)) for hit in RANK.finditer(plain)]
    found += [_rank(hit[0], hit.start()) for hit in ORDINAL.finditer(plain) if hit["digits"]]
    found += [Number(float(hit[1]), "item", hit[0], float(hit[1]), hit.start(), hit.end()) for hit in LISTED.finditer(whole)]
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
    plain = SPELT.sub(lambda hit: hit[1][0], plain)
    tokens = [POSSESSIVE.sub("", hit[0]).rstrip(".'’") for hit in NAME.finditer(plain) if any(char.isdigit() for char in hit[0])]
    within = [(hit.start(), hit.end()) for hit in NAME.finditer(plain)]
    tokens += [hit[0] for hit in NUMBER.finditer(plain) if hit["more"] and not ORDINAL.fullmatch(hit[0].strip()) and not _inside(hit.start(), within)]
    return tuple(Name(_runs(token), token) for token in dict.fromkeys(tokens))


def missing(statement: str, sources: str) -> list[Number]:
    """The numbers of a statement that its sources do not hold with the same class of unit and the same sign."""
    held = [*numbers(sources), *_ordinals(sources)]
    if (continental := _continental(sources)) != sources:
        held += numbers(continental)
    asked = numbers(statement)
    if not any(number.unit == "item" for number in held):
        asked = tuple(number for number in asked if number.unit != "item")
    falls = goes_down(statement) or goes_down(sources)
    sizes = {run for name in names(sources) for run in name.runs if run[-1].isalpha() and run[0].isdigit()}

    def holds(number: Number) -> bool:
        if "".join(number.printed.lower().split()) in sizes or (number.printed.isalpha() and number.unit == "times" and _is_ratio(number.value, held)):
            return True
        return any(_equal(number, other) and (falls or number.is_negative == other.is_negative) for other in held)

    there = {(number.at, number.printed) for number in asked if holds(number)}
    return [number for number in asked[: len({one.at for one in asked})] if (number.at, number.printed) not in there]


def _is_ratio(value: float, held: Sequence[Number]) -> bool:
    """Whether two neighbouring numbers of the sources, of one unit, are so many times each other: “doubles” of 36% → 73%."""
    pairs = [(min(one.value, other.value), max(one.value, other.value)) for one, other in zip(held, held[1:], strict=False) if one.unit == other.unit]
    return any(low > 0 and 0.95 * value <= high / low <= 1.1 * value for low, high in pairs)


def as_read(statement: str, sources: str) -> str:
    """The statement with its decimal commas as points, where its sources then hold more of its numbers."""
    other = _continental(statement)
    return other if other != statement and len(missing(other, sources)) < len(missing(statement, sources)) else statement


def _continental(text: str) -> str:
    """The text with decimal commas as points, and where it is not English with the points of thousands as commas."""
    if THOUSANDS_DOT.search(text) and language_of(text) != "en":
        text = THOUSANDS_DOT.sub(lambda hit: hit[1] + hit[2].replace(".", ","), text)
    return DECIMAL_COMMA.sub(r"\1.\2", text)


def _ordinals(text: str) -> Iterator[Number]:
    """Every ordinal, whether it is a rank or not; what sources hold may be said as a rank."""
    return (_rank(hit["digits"] or hit["word"], hit.start()) for hit in ORDINAL.finditer(_plain(text)))


def unknown_names(statement: str, sources: str) -> list[str]:
    """The names with digits in a statement that its sources do not hold."""
    held = _runs(SPELT.sub(lambda hit: hit[1][0], _plain(sources)))
    return [name.printed for name in names(statement) if not _holds(held, name.runs)]


def misplaced(statement: str, sources: Sequence[str]) -> list[Number]:
    """The numbers that the sources hold, but not with the words that stand around them in the statement.

    A number counts as misplaced where its own words stand in the sources beside a different number of the same unit, or
    where the statement runs as a sentence of the sources does and has two of its numbers in each other's place.
    """
    held = [(number, words) for source in sources for number, words in _with_words(source)]
    found = []
    for number, words in _with_words(statement):
        shared = [(len(words & near), other) for other, near in held if other.unit == number.unit]
        best = max((count for count, _ in shared), default=0)
        mine = max((len(words & near) for other, near in held if _equal(number, other)), default=0)
        if best >= 3 and mine == 0:
            found.append(number)
    return found or next((swapped for source in sources if (swapped := _swapped(statement, source))), [])


def _swapped(statement: str, source: str) -> list[Number]:
    """The numbers of a statement that stand in each other's place, where it runs word for word as a source does there."""
    said, held = _tokens(statement), _tokens(source)
    if sum(isinstance(token, Number) for token in said) < 2 or len(said) * len(held) > 200_000:
        return []
    mine, theirs = ([token if isinstance(token, str) else "#" for token in some] for some in (said, held))
    off: list[tuple[Number, Number]] = []
    for block in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks():
        run = range(block.size)
        if sum(mine[block.a + at] != "#" and len(mine[block.a + at]) > 3 for at in run) < 1 or block.size < 4:
            continue
        for at in run:
            one, other = said[block.a + at], held[block.b + at]
            if isinstance(one, Number) and isinstance(other, Number) and not _near(one.bare, other.bare):
                off.append((one, other))
    values, places = sorted(one.bare for one, _ in off), sorted(other.bare for _, other in off)
    return [one for one, _ in off] if len(off) > 1 and values == places else []


def _tokens(text: str) -> list[str | Number]:
    """The words of a text with its numbers among them, units left out."""
    plain = _plain(text)
    tokens: list[str | Number] = []
    at = 0
    for number in sorted({number.at: number for number in numbers(text)}.values(), key=lambda number: number.at):
        if number.at >= at:
            tokens += [run for run in _runs(plain[at : number.at]) if run != "%"]
            tokens.append(number)
            at = number.end
    return [*tokens, *_runs(plain[at:])]


def _plain(text: str) -> str:
    for pattern, becomes in LATEX:
        text = pattern.sub(becomes, text)
    text = SUPERSCRIPT.sub(lambda hit: f"{hit[1]}^{unicodedata.normalize('NFKC', hit[2])}", text)
    return unicodedata.normalize("NFKC", BESIDE_HAN.sub(" ", SPACED.sub("", text))).replace("−", "-")


def _number(hit: re.Match[str]) -> Number:
    value = 10.0 ** int(hit["ten"]) if hit["ten"] else float(re.sub("[,'’]", "", hit["digits"]))
    power = hit[3] or hit[4]
    return _made(value * 10.0 ** int(power) if power else value, hit)


def _worded(hit: re.Match[str]) -> Number:
    word = hit["word"].lower()
    if word in TIMES_WORDS:
        return Number(TIMES_WORDS[word], "times", hit["word"], TIMES_WORDS[word], hit.start(), hit.end())
    if word in PARTS or word in MANY:
        value = PARTS.get(word) or MANY[word]
        return Number(value, "part" if word in PARTS else "many", hit["word"], value, hit.start(), hit.end("word"))
    return _made(WORDS[word], hit)


def _rank(printed: str, at: int) -> Number:
    value = RANKS.get(printed.lower()) or float(re.match(r"\d+", printed)[0])  # type: ignore[index]
    return Number(value, "rank", printed, value, at, at + len(printed))


def _made(value: float, hit: re.Match[str]) -> Number:
    scale, unit = (hit["scale"] or "").lower(), (hit["unit"] or "").lower()
    kind, factor = UNITS.get(unit, ("", 1.0))
    bare = value * SCALES.get(scale, 1.0)
    before = hit.string[max(hit.start() - 2, 0) : hit.start()]
    is_negative = before.endswith("-") and not re.match(r"[\w)%.-]", before[:-1])
    return Number(bare * factor, kind, hit[0].strip(), bare, hit.start(), hit.end(), is_negative)


def _inside(at: int, spans: list[tuple[int, int]]) -> bool:
    """Whether a position lies in one of some spans, which stand in order and apart."""
    before = bisect_right(spans, (at, sys.maxsize))
    return before > 0 and at < spans[before - 1][1]


def _runs(text: str) -> tuple[str, ...]:
    return tuple(run.lower() for run in RUNS.findall(text))


def _holds(held: tuple[str, ...], runs: tuple[str, ...]) -> bool:
    return any(held[at : at + len(runs)] == runs for at in range(len(held) - len(runs) + 1))


def _with_words(text: str) -> list[tuple[Number, frozenset[str]]]:
    """Each number of a text with the words around it: six on either side."""
    plain = _plain(text)
    found = []
    for number in numbers(text):
        before = [run for run in _runs(plain[max(number.at - REACH, 0) : number.at]) if not run[0].isdigit()][-6:]
        after = [run for run in _runs(plain[number.end : number.end + REACH]) if not run[0].isdigit()][:6]
        found.append((number, frozenset(word for word in (*before, *after) if len(word) > 2)))
    return found


def _equal(one: Number, other: Number) -> bool:
    if one.unit == other.unit:
        return _near(one.value, other.value)
    if {"rank", "item"} & {one.unit, other.unit}:
        return False
    for number, its in ((one, other), (other, one)):
        if number.unit == "part":
            share = its.value / 100 if its.unit == "percent" else 1 / its.value if its.unit == "times" and its.value else its.value
            return its.unit in {"percent", "times", ""} and abs(number.value - share) < ROUNDED
    if "many" in (one.unit, other.unit):  # a statement may say of 5,000 that they are thousands, and not of thousands that they are 5,000
        return one.unit == "many" and one.bare <= other.bare < one.bare * 1000
    if one.unit and other.unit:
        return False
    with_unit, bare = (one, other) if one.unit else (other, one)
    if with_unit.unit == "percent":
        return bare.value <= 1 and _near(with_unit.value / 100, bare.value)
    return _near(with_unit.bare, bare.bare)


def _near(one: float, other: float) -> bool:
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other), 1e-12)
