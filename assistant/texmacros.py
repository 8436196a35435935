r"""Braces and macros of LaTeX: which brace closes which, what a text defines, and the text with its macros written out."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

TOKEN = re.compile(r"\\.|[{}]", re.DOTALL)
LONGEST_OPTION, LONGEST_BODY, ROUNDS = 500, 2_000, 4
GROWTH, ROOM = 4, 200_000
"""Written out, a text may be so many times longer, and so many characters: nobody's macros need more."""
DEFINED = re.compile(
    r"\\(?:(?:re)?newcommand|providecommand|DeclareRobustCommand)\*?\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))\s*(?:\[\s*([0-9])\s*\])?"
    r"|\\[gex]?def\s*\\([A-Za-z@]+)\s*((?:#[1-9])*)\s*(?=\{)"
    r"|\\(?:New|Renew|Provide|Declare)(?:Expandable)?DocumentCommand\s*(?:\{\s*\\([A-Za-z@]+)\s*\}|\\([A-Za-z@]+))\s*(?=\{)"
    r"|\\let\s*\\([A-Za-z@]+)\s*=?\s*\\([A-Za-z@]+)"
)
ARGUMENT = re.compile(r"#([1-9])")
XPARSE = re.compile(r"[msod]|O\{[^{}]*\}")
CITES_ARGUMENT = re.compile(r"(\\[A-Za-z]*cite[A-Za-z]*)\*?\s*(?:\[[^\]]*\]\s*){0,2}\{\s*#([1-9])\s*\}")
STANDARD = frozenset(
    "cite citep citet citealp citealt citeauthor citeyear citeyearpar Citep Citet Citealp Citealt parencite textcite autocite footcite fullcite "
    "footfullcite smartcite supercite Parencite Textcite Autocite cites parencites textcites autocites nocite citenum citetitle section subsection "
    "begin end item input include footnote caption label ref textbf emph textit bibliography".split()
)
"""What a manuscript may redefine without meaning another thing by it."""


class Macro(NamedTuple):
    """A macro: its arguments (`None` must be given; a text may be left out, and is what stands then), and what it writes."""

    arguments: tuple[str | None, ...]
    body: str


class Group(NamedTuple):
    """What stands between braces, where it begins, and where the closing brace ends."""

    text: str
    start: int
    end: int


class Braces(NamedTuple):
    """Which brace closes which, and those that match none."""

    closing: dict[int, int]
    unclosed: list[int]
    strays: list[int]


def braces(text: str) -> Braces:
    """The braces of a text, escaped ones left out."""
    closing: dict[int, int] = {}
    waiting: list[int] = []
    strays: list[int] = []
    for hit in TOKEN.finditer(text):
        if hit[0] == "{":
            waiting.append(hit.start())
        elif hit[0] == "}" and waiting:
            closing[waiting.pop()] = hit.start()
        elif hit[0] == "}":
            strays.append(hit.start())
    return Braces(closing, waiting, strays)


def group(text: str, at: int, closing: Mapping[int, int]) -> Group | None:
    """The braces that begin here, spaces aside; None where none do or they are not closed."""
    while at < len(text) and text[at].isspace():
        at += 1
    end = closing.get(at)
    return None if end is None else Group(text[at + 1 : end], at + 1, end + 1)


def bracketed(text: str, at: int) -> int | None:
    """Where the square brackets end that begin here, spaces aside; None where none do."""
    while at < len(text) and text[at].isspace():
        at += 1
    if text[at : at + 1] != "[":
        return None
    depth = 0
    for place in range(at + 1, min(at + LONGEST_OPTION, len(text))):
        char = text[place]
        depth += (char in "{[") - (char in "}]" and depth > 0)
        if char == "]" and depth == 0 and not text[at + 1 : place].count("[") > text[at + 1 : place].count("]"):
            return place + 1
    return None


def definitions(text: str) -> tuple[dict[str, Macro], str]:
    """The macros that a text defines, the last definition of each, and the text without the definitions."""
    closing = braces(text).closing
    found: dict[str, Macro] = {}
    parts: list[str] = []
    at = 0
    for hit in DEFINED.finditer(text):
        if hit.start() < at:
            continue
        name = hit[1] or hit[2] or hit[4] or hit[6] or hit[7] or hit[8]
        made = _defined(text, hit, closing)
        if made is None:
            continue
        macro, end = made
        if name not in STANDARD and len(macro.body) <= LONGEST_BODY:
            found[name] = macro
        parts += [text[at : hit.start()], "{}" + "\n{}" * text.count("\n", hit.start(), end)]
        at = end
    return found, "".join([*parts, text[at:]])


def _defined(text: str, hit: re.Match[str], closing: Mapping[int, int]) -> tuple[Macro, int] | None:
    """The macro of a definition, and where it ends."""
    if hit[8]:
        return Macro((), f"\\{hit[9]} "), hit.end()
    if hit[6] or hit[7]:
        signature = group(text, hit.end(), closing)
        body = group(text, signature.end, closing) if signature else None
        return (_document_command(signature.text, body.text), body.end) if signature and body else None
    count = int(hit[3] or 0) if not hit[4] else len(hit[5]) // 2
    end, default = hit.end(), None
    if hit[3] and (after := bracketed(text, end)) is not None:
        default, end = text[text.index("[", end) + 1 : after - 1], after
    body = group(text, end, closing)
    if body is None:
        return None
    return Macro((default, *[None] * (count - 1)) if count else (), body.text), body.end


def _document_command(signature: str, body: str) -> Macro:
    """A macro of xparse; of one that cites only the citation is kept, for its body asks which arguments were given."""
    kinds = XPARSE.findall(signature)
    arguments = tuple(None if kind == "m" else kind[2:-1] if kind[0] == "O" else "" for kind in kinds if kind != "s")
    stars = [place for place, kind in enumerate(kinds, 1) if kind == "s"]
    cites = CITES_ARGUMENT.search(body)
    plain = f"{cites[1]}{{#{int(cites[2])}}}" if cites else body
    for place in reversed(stars):
        plain = _without_argument(plain, place)
    return Macro(arguments, plain)


def _without_argument(body: str, place: int) -> str:
    """A body whose later arguments count one less."""
    return ARGUMENT.sub(lambda one: f"#{int(one[1]) - (int(one[1]) > place)}", body)


def names_as_cite(text: str, names: Sequence[str]) -> str:
    r"""The text with each macro that a person named as a citation written as \cite."""
    some = "|".join(re.escape(name.lstrip("\\")) for name in names if name.strip("\\"))
    return re.sub(rf"\\(?:{some})(?![A-Za-z@])(?=\*?\s*[\[{{])", r"\\cite", text) if some else text


def written_out(text: str, macros: Mapping[str, Macro]) -> tuple[str, bool]:
    """The text with its macros written out, line for line; and whether that came to an end."""
    if not macros:
        return text, True
    pattern = re.compile(rf"\\({'|'.join(sorted(map(re.escape, macros), key=len, reverse=True))})(?![A-Za-z@])\*?")
    most = GROWTH * len(text) + ROOM
    for _ in range(ROUNDS):
        if not pattern.search(text):
            break
        parts: list[str] = []
        size = 0
        for part in _expanded(text, pattern, macros):
            size += len(part)
            if size > most:
                return text, False
            parts.append(part)
        text = "".join(parts)
    return text, True


def _expanded(text: str, pattern: re.Pattern[str], macros: Mapping[str, Macro]) -> Iterator[str]:
    closing = braces(text).closing
    at = 0
    for hit in pattern.finditer(text):
        if hit.start() < at:
            continue
        given, end = _given(text, hit.end(), macros[hit[1]].arguments, closing)
        if given is None:
            continue
        body = _filled(macros[hit[1]].body, given)
        missing = text.count("\n", hit.start(), end) - body.count("\n")
        yield text[at : hit.start()]
        yield (" ".join(body.split("\n")) + "\n{}" * text.count("\n", hit.start(), end)) if missing < 0 else body + "\n{}" * missing
        at = end
    yield text[at:]


def _filled(body: str, given: Sequence[str]) -> str:
    return ARGUMENT.sub(lambda one: given[int(one[1]) - 1] if int(one[1]) <= len(given) else "", body)


def _given(text: str, at: int, arguments: Sequence[str | None], closing: Mapping[int, int]) -> tuple[list[str] | None, int]:
    """The arguments that follow a macro, and where they end; None where one that must be there is not."""
    values: list[str] = []
    for default in arguments:
        if default is not None:
            end = bracketed(text, at)
            values.append(default if end is None else text[text.index("[", at) + 1 : end - 1])
            at = at if end is None else end
            continue
        found = group(text, at, closing)
        if found is None:
            return None, at
        values.append(found.text)
        at = found.end
    if not arguments and text[at : at + 2] == "{}":
        at += 2
    return values, at
