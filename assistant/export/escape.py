"""What comes from a paper or a model, made harmless for the format it goes into."""

import re
import unicodedata
from functools import cache
from typing import TYPE_CHECKING

from assistant.visible import HIDDEN

if TYPE_CHECKING:
    from pylatexenc.latexencode import UnicodeToLatexEncoder

LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
}
MARKDOWN = re.compile(r"([\\`*_{}\[\]<>|~#$])")
SYMBOL = re.compile(r"[\u0250-\u02ff\u0370-\u03ff\u2000-\u22ff\u2300-\u2bff\U0001d400-\U0001d7ff]")
HEADING = re.compile(r"^(\s*)([-+]|\d+[.)])(\s)")
FORMULA_SIGNS = "=+-@\t\r＝＋－＠"
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""What no file may hold: XML and UTF-8 know no such characters."""
COMMENT = re.compile(r"(?<!\\)%")
"""A percent sign that LaTeX would take for the start of a comment; in a title or a cell it is one of percent."""
ACCENTED = re.compile("[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0125\u0128-\u0137\u0139-\u013e\u0141-\u0148\u014a-\u0165\u0168-\u016f\u0172-\u017e]")
"""Letters with accents, and ligatures, that BibTeX has commands for."""
DOTLESS = re.compile(r"\\([ij])(?![A-Za-z])")
OTHER_SCRIPT = re.compile("[^\x00-\u017f]+")
OTHER_SCRIPT_DEFINED = (
    "% other alphabets print where the font has them (LuaLaTeX, XeLaTeX), else as their numbers; with CJKutf8 give \\otherscript a meaning of your own",
    '\\ifdefined\\otherscript\\else\\def\\otherscriptfirst#1 #2;{"#1 }\\protected\\def\\otherscript#1#2{\\ifnum0\\ifdefined\\directlua1\\fi'
    "\\ifdefined\\XeTeXversion1\\fi>0 \\iffontchar\\font\\otherscriptfirst#2 ;#1\\else[#2]\\fi\\else[#2]\\fi}\\fi",
)
MATH = re.compile(r"((?<!\\)\$[^$]+(?<!\\)\$)")
HARMLESS = re.compile(r"\$(?:[A-Za-z0-9 ^_{}()\[\]+\-=.,:;/*<>|'!]|\\[A-Za-z]+|\\[,;! ])+\$")
COMMAND = re.compile(r"\\([A-Za-z]+)")
MATH_COMMANDS = frozenset(
    "alpha beta gamma delta epsilon varepsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi varphi chi psi omega Gamma Delta Theta Lambda "
    "Xi Pi Sigma Phi Psi Omega mathbb mathcal mathbf mathrm mathit mathsf boldsymbol text textit textbf operatorname times cdot leq le geq ge neq ne to rightarrow "
    "leftarrow leftrightarrow infty pm mp sim approx equiv sqrt frac ell star ast circ log exp min max sum prod int in notin subset cup cap hat tilde bar vec dot "
    "ldots dots cdots prime dagger partial nabla forall exists langle rangle left right mid ll gg propto oplus otimes".split()
)
SIGNS_INSIDE = re.compile(r"\w[^\w\s-]+\w.*[^\w\s-]+\w")
LONG_WORD, LONGEST_PART, LONGEST_REMARK = 12, 24, 400
WORD_PART = re.compile(r"([^\w\s]|_)")
ADDRESS = 40
"""Characters of a word in a sentence that is no name; it may be wider than the line."""
PART_DEFINED = r"\providecommand{\partat}[1]{\nobreak\hspace{0pt}#1\hspace{0pt}}% a sign at which a long word may be parted"
SHEET_CODE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
"""Where a spreadsheet would read a character's number."""


def plain(text: str) -> str:
    """A text with its LaTeX shown in Unicode, on one line: for titles and cells, never for quotes."""
    if "\\" in text or "$" in text:
        from pylatexenc.latex2text import LatexNodes2Text

        text = LatexNodes2Text(math_mode="text", strict_latex_spaces=True).latex_to_text(COMMENT.sub(r"\\%", text))
    return " ".join(CONTROL.sub("", text).split())


def latex(text: str) -> str:
    """The text printed literally by LaTeX, whatever it holds."""
    return SYMBOL.sub(lambda symbol: command(symbol[0]), _escaped(text))


def _escaped(text: str) -> str:
    plain_text = unicodedata.normalize("NFC", CONTROL.sub("", text))
    return "".join(LATEX.get(char, char) for char in plain_text).replace("--", "-{}-").replace("--", "-{}-")  # two would print as a dash


def command(char: str) -> str:
    """A Greek letter or a sign as a command; letters of other alphabets are left to the document's input encoding."""
    return str(_encoder().unicode_to_latex(char))


@cache
def _encoder() -> "UnicodeToLatexEncoder":
    from pylatexenc.latexencode import UnicodeToLatexEncoder

    return UnicodeToLatexEncoder(non_ascii_only=True, unknown_char_policy="keep", unknown_char_warning=False)


def printed(text: str) -> str:
    """The text for the body of a LaTeX document: letters that the engine may not know are given to a command with their numbers."""
    return OTHER_SCRIPT.sub(lambda run: f"\\otherscript{{{run[0]}}}{{{' '.join(f'{ord(char):X}' for char in run[0])}}}", latex(HIDDEN.sub("", text)))


def breakable(text: str) -> str:
    """As `printed`, with places where a long word may be parted, for narrow columns."""
    return " ".join(_parted(word) for word in HIDDEN.sub("", text).split())


def prose(text: str) -> str:
    """As `printed`, with places where an address in a text may be parted; names such as Qwen2.5-Math-1.5B stay as they are."""
    return " ".join(_parted(word) if len(word) > ADDRESS and SIGNS_INSIDE.search(word) else printed(word) for word in HIDDEN.sub("", text).split())


def _parted(word: str) -> str:
    if len(word) <= LONG_WORD:
        return printed(word)
    return "".join(f"\\partat{{{printed(part)}}}" if at % 2 else _pieces(part) for at, part in enumerate(WORD_PART.split(word)))


def _pieces(part: str) -> str:
    return r"\hspace{0pt}".join(printed(part[at : at + LONGEST_PART]) for at in range(0, len(part), LONGEST_PART))


def remark(text: str) -> str:
    """The text as a line behind a percent sign: one line, and harmless were it not behind one."""
    line = " ".join(latex(HIDDEN.sub("", text)).split())
    return f"% {line if len(line) <= LONGEST_REMARK else line[:LONGEST_REMARK].rsplit(' ', 1)[0] + ' …'}"


def sheet(text: str) -> str:
    """The text as a spreadsheet's cell holds it: no control character, nothing that it would decode (`_x0041_`), whole."""
    return SHEET_CODE.sub("_x005F_", CONTROL.sub("", text))


def shortened(text: str, longest: int, where: str) -> str:
    """The text, or as much of it as fits with how long it is and where the whole stands."""
    if len(text) <= longest:
        return text
    note = f" … (cut: {len(text):,} characters; {where})"
    return text[: longest - len(note)] + note


def markdown(text: str) -> str:
    """The text printed literally by Markdown: no link, image, emphasis, heading or HTML comes of it."""
    escaped = MARKDOWN.sub(r"\\\1", " ".join(CONTROL.sub("", text).split()))
    return HEADING.sub(r"\1\\\2\3", escaped)


def cell(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula."""
    clean = CONTROL.sub("", text)
    return f"'{clean}" if clean[:1] in FORMULA_SIGNS and clean else clean


def bibtex(text: str) -> str:
    """A field of a BibTeX entry: balanced, with capitals protected word by word, and mathematics kept where it can do no harm."""
    parts = [part if at % 2 and _is_harmless(part) else " ".join(map(_word, _unicode(part).split(" "))) for at, part in enumerate(MATH.split(text))]
    return " ".join("".join(parts).split())


def _unicode(part: str) -> str:
    """As `plain`, with the spaces at both ends, which stand beside mathematics."""
    return f"{' ' * part[:1].isspace()}{plain(part)}{' ' * (part[-1:].isspace() and bool(part.strip()))}"


def _is_harmless(formula: str) -> bool:
    """Whether a formula has only signs and commands of mathematics, and its braces are balanced."""
    depth = 0
    for char in formula:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    return depth == 0 and bool(HARMLESS.fullmatch(formula)) and set(COMMAND.findall(formula)) <= MATH_COMMANDS


def field(text: str) -> str:
    """A text inside a field of a BibTeX entry, as it is.

    Braces are mathematics: BibTeX counts them even behind a backslash, and biber makes bare ones of their other names. Accents are commands in braces, which BibTeX takes for one letter each where it shortens a name or sorts. Other letters
    and signs stay as they are: what pdfLaTeX is to make of them stands at the head of the bibliography.
    """
    written = _escaped(text).replace("\\{", "\\ensuremath{\\lbrace}").replace("\\}", "\\ensuremath{\\rbrace}")
    return ACCENTED.sub(lambda letter: f"{{{_accented(letter[0])}}}", written)


def _accented(letter: str) -> str:
    """A letter as its command, of an i with its dot, which biber would take for another letter without it."""
    said = command(letter).strip("{}") if command(letter).startswith("{") else command(letter)
    return DOTLESS.sub(r"\1", said) if len(said) > 2 else said


def _word(word: str) -> str:
    escaped = field(word)
    lone = len(word) == 1 and word.isupper() and word != "A"
    return f"{{{escaped}}}" if lone or any(char.isupper() for char in word[1:]) else escaped
