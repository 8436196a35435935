"""A text → its sentences, as positions in the text as it is stored.

Rules, not a model: a terminator ends a sentence unless what stands before it is an abbreviation, an initial or a list
number, what follows goes on in lower case, or a formula or bracket is still open. Measured in
`tests/store/test_sentences.py` on ends marked by hand.
"""

import re
from typing import NamedTuple

CUTTER = "1"
"""Version of the rules. Texts keep the sentences of the version that cut them; anchors are positions and never move."""

END = re.compile(r"(?:\.{3}|…+|[.!?]+|[。！？]+)(?:''|[\"'”’»)\]}*」』）])*")
MATH = re.compile(r"(?<!\\)\$\$?[^$]+\$\$?|\\\(.+?\\\)|\\\[.+?\\\]", re.DOTALL)
HAN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD_BEFORE = re.compile(rf"[^\s(\[{{“\"'«‘~{HAN}，、：；]+$")
NEXT = re.compile(r"(?P<space>\s*)(?P<open>[(\[“\"'«‘`{*$\\]*)(?P<word>[^\s(),;:]{0,200})")
METHOD_NAME = re.compile(r"[a-zα-ωµ]\S*(?:[A-Z0-9₀-₉]|[a-z]\.[a-z]{2})")
INITIAL = re.compile(r"(?:[A-ZÀ-Þ]\.)|(?:[A-ZÀ-Þ][a-z]?\.-[A-Z]\.)")
ACRONYM = re.compile(r"(?:[A-Za-z]\.){2,}|Ph\.D\.|M\.Sc\.|B\.Sc\.")
LIST_NUMBER = re.compile(r"(?:\d{1,2}|[a-z]|[ivx]{1,4})\.")

NEVER_LAST = frozenset(
    ["e.g.", "i.e.", "eg.", "ie.", "cf.", "vs.", "w.r.t.", "resp.", "approx.", "fig.", "figs.", "eq.", "eqs.", "sec.", "secs.", "sect.", "tab.", "ref.", "refs.", "ch.", "chap.", "viz.", "ca.", "esp.", "incl.", "a.k.a.", "aka.", "z.b.", "d.h.", "u.a.", "bzw.", "vgl.", "s.o.", "art.", "app.", "thm.", "lem.", "prop.", "def.", "alg.", "p.ex.", "s.t."]
)
SPACED = frozenset({("z.", "b."), ("d.", "h."), ("u.", "a."), ("o.", "ä."), ("i.", "d."), ("d.", "r."), ("s.", "o."), ("s.", "u."), ("z.", "t."), ("v.", "a."), ("i.", "e."), ("e.", "g."), ("p.", "ex."), ("n.", "chr."), ("v.", "chr."), ("a.", "m.")})
"""Abbreviations that are printed with a space, as German typesetting asks for."""
TITLES = frozenset(["Dr.", "Prof.", "Mr.", "Mrs.", "Ms.", "St.", "Mme.", "Mlle.", "Mt.", "Gen.", "Sen.", "Rev.", "Hon.", "Lt.", "Col.", "Capt.", "Sgt.", "Maj."])
BEFORE_NUMBER = frozenset(["no.", "nos.", "nr.", "vol.", "vols.", "pp.", "p.", "art.", "n°.", "jan.", "feb.", "mar.", "apr.", "jun.", "jul.", "aug.", "sep.", "sept.", "oct.", "nov.", "dec."])
MAYBE_LAST = frozenset(["al.", "inc.", "ltd.", "co.", "corp.", "jr.", "sr.", "dept.", "univ.", "est.", "ed.", "eds.", "u.s.", "u.k.", "e.u.", "deg.", "max.", "min.", "avg."])
BEFORE_CAPITAL = frozenset(["etc.", "usw.", "a.m.", "p.m."])
BEFORE_NAME = frozenset(["by", "and", "with", "from", "of", "to", "in", "as", "for", "at", "see", "after", "per"])
GERMAN_MONTHS = frozenset(["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober", "November", "Dezember"])
STARTERS = frozenset(
    ["We", "The", "Our", "This", "These", "Those", "That", "In", "It", "Its", "To", "However", "A", "An", "For", "By", "On", "As", "While", "With", "Here", "Then", "They", "There", "Both", "Each", "All", "Such", "When", "If", "Since", "Using", "From", "At", "Unlike", "Existing", "Recent", "Despite", "Although", "Yet", "But", "And", "Or", "So", "Experiments", "Results", "Extensive", "Finally", "Moreover", "Furthermore", "Additionally", "Further", "Also", "Code", "Overall", "Thus", "Hence", "Therefore", "Specifically", "Empirically", "Notably", "Nevertheless", "Nonetheless", "Because", "After", "Before", "During", "Under", "Across", "Through", "Is", "Are", "Was", "Were", "Can", "Does", "Do", "How", "What", "Why", "Which", "Where", "Who", "Not", "No", "One", "Two", "Three", "Most", "Many", "Some", "Several", "Few", "Another", "Other", "First", "Second", "Third", "Next", "Later", "Instead", "Even", "Only", "Once", "Unless", "Until", "Given", "Compared", "Building", "Based", "He", "She", "His", "Her", "You", "Your", "I", "My", "Ours", "Their", "Der", "Die", "Das", "Wir", "Es", "Ein", "Eine", "Dies", "Diese", "Il", "Elle", "Le", "La", "Les", "Nous", "Un", "Une", "Ce", "Cette"]
)
LONGEST_BRACKET = 400
LONGEST_WORD = 100


class Sentence(NamedTuple):
    """The `number`-th sentence of a text, counted from 1, as text[start:end]."""

    number: int
    start: int
    end: int


def cut(text: str) -> list[Sentence]:
    """The sentences in order; together they hold every character of the text but the white space between them."""
    closed = _formulas(text)
    sentences: list[Sentence] = []
    start = _skip_space(text, 0)
    while start < len(text):
        end = _end(text, start, closed)
        sentences.append(Sentence(len(sentences) + 1, start, end))
        start = _skip_space(text, end)
    return sentences


def _skip_space(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def _formulas(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in MATH.finditer(text)]


def _end(text: str, start: int, formulas: list[tuple[int, int]]) -> int:
    """Where the sentence that starts here ends."""
    line_end = text.find("\n", start)
    stop = len(text.rstrip()) if line_end < 0 else start + len(text[start:line_end].rstrip())
    for found in END.finditer(text, start, stop):
        inside_formula = any(a < found.start() and found.end() < b for a, b in formulas)
        if not inside_formula and found.end() < stop and _is_end(text, start, found):
            return found.end()
    return stop


def _is_end(text: str, start: int, found: re.Match[str]) -> bool:
    mark = found[0]
    if mark[0] in "。！？":
        return not _in_bracket(text, start, found.end(), "（", "）") and not _quoted_question(text, start, found)
    after = NEXT.match(text, found.end())
    if after is None:
        return True
    if not after["space"]:
        return bool(re.match(rf"[{HAN}]", text[found.end() : found.end() + 1])) and not _goes_on_in_chinese(text, found)
    if _in_bracket(text, start, found.end(), "(", ")") or _in_quotes(text, start, found.end()):
        return False
    if _goes_on(after["word"], after["open"]):
        return False
    return mark[0] != "." or (len(mark) > 1 and mark.startswith("...")) or _is_full_stop(text, start, found, after["word"])


def _goes_on_in_chinese(text: str, found: re.Match[str]) -> bool:
    """A full stop between Latin letters and Chinese may belong to a name (`Node.js`); after Chinese it ends."""
    return found[0] == "." and not re.match(rf"[{HAN}A-Za-z0-9)%]", text[found.start() - 1 : found.start()])


def _goes_on(word: str, opening: str) -> bool:
    """Whether the next word continues the sentence: lower case that is no method's name, or a bare sign."""
    if not word:
        return not opening
    if word[0].islower():
        return not METHOD_NAME.match(word) and not opening.startswith(("\\", "$"))
    return not (word[0].isalnum() or opening or word[0] in "#@+-–—.~")


def _is_full_stop(text: str, start: int, found: re.Match[str], following: str) -> bool:
    """Whether a full stop ends the sentence, judged by the word before it."""
    before = WORD_BEFORE.search(text, max(start, found.start() - LONGEST_WORD), found.start() + 1)
    word = before[0] if before else "."
    lowered = word.lower()
    starts_anew = following.rstrip(".") in STARTERS
    if (lowered, following.lower()) in SPACED:
        return False
    if lowered in NEVER_LAST or word in TITLES:
        return False
    if lowered in BEFORE_CAPITAL:
        return not following[:1].islower()
    if lowered in BEFORE_NUMBER:
        return not following[:1].isdigit() and (word[0].islower() or starts_anew or lowered in {"no.", "nos."})
    if lowered in MAYBE_LAST or ACRONYM.fullmatch(word):
        return starts_anew
    if INITIAL.fullmatch(word):
        return starts_anew or _names_no_person(text[start : before.start()] if before else "")
    if word[:-1].isdigit() and following.rstrip(".,") in GERMAN_MONTHS:
        return False
    return not (LIST_NUMBER.fullmatch(word) and before and not text[start:before.start()].strip("([ "))


def _names_no_person(before: str) -> bool:
    """Whether a lone capital letter follows a noun (`group C.`) and so is no initial of a name."""
    word = before.rsplit(maxsplit=1)[-1] if before.split() else ""
    return word.isalpha() and word.islower() and word not in BEFORE_NAME


def _in_quotes(text: str, start: int, at: int) -> bool:
    """Whether straight quotes opened in this sentence close later and the sentence goes on behind them."""
    if text.count('"', start, at) % 2 == 0:
        return False
    closing = text.find('"', at, at + LONGEST_BRACKET)
    return closing >= 0 and bool(re.match(r"[,;:]|\s+[a-z]", text[closing + 1 :]))


def _quoted_question(text: str, start: int, found: re.Match[str]) -> bool:
    """A Chinese question or exclamation in quotes within a sentence, unless a colon led up to it."""
    opening = text.rfind("“", start, found.start())
    return found[0][0] in "！？" and "”" in found[0] and opening > start and text[opening - 1] not in "：:"


def _in_bracket(text: str, start: int, at: int, opening: str, closing: str) -> bool:
    """Whether a bracket opened in this sentence is still open and closes soon; one that opens the sentence holds it."""
    inner = text[start:at]
    unclosed = inner.count(opening) - inner.count(closing)
    opened = inner.rfind(opening)
    return unclosed > 0 and opened > 0 and closing in text[at : at + LONGEST_BRACKET].split("\n", maxsplit=1)[0]
