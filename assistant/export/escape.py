"""What comes from a paper or a model, made harmless for the format it goes into."""

import re
import unicodedata

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
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
COMMENT = re.compile(r"(?<!\\)%")
"""A percent sign that LaTeX would take for the start of a comment; in a title or a cell it is one of percent."""
BIB_SAFE = re.compile(r"(\$[^$]+\$)")


def plain(text: str) -> str:
    """A text with its LaTeX shown in Unicode, on one line: for titles and cells, never for quotes."""
    if "\\" in text or "$" in text:
        from pylatexenc.latex2text import LatexNodes2Text

        text = LatexNodes2Text(math_mode="text", strict_latex_spaces=True).latex_to_text(COMMENT.sub(r"\\%", text))
    return " ".join(CONTROL.sub("", text).split())


def latex(text: str) -> str:
    """The text printed literally by LaTeX, whatever it holds."""
    plain_text = unicodedata.normalize("NFC", CONTROL.sub("", text))
    escaped = "".join(LATEX.get(char, char) for char in plain_text)
    return SYMBOL.sub(lambda symbol: _symbol(symbol[0]), escaped)


def _symbol(char: str) -> str:
    """A Greek letter or a sign as a command; letters of other alphabets are left to the document's input encoding."""
    from pylatexenc.latexencode import unicode_to_latex

    return str(unicode_to_latex(char, non_ascii_only=True, unknown_char_policy="keep"))


def markdown(text: str) -> str:
    """The text printed literally by Markdown: no link, image, emphasis, heading or HTML comes of it."""
    escaped = MARKDOWN.sub(r"\\\1", " ".join(CONTROL.sub("", text).split()))
    return HEADING.sub(r"\1\\\2\3", escaped)


def cell(text: str) -> str:
    """A CSV cell that no spreadsheet takes for a formula."""
    clean = CONTROL.sub("", text)
    return f"'{clean}" if clean[:1] in FORMULA_SIGNS and clean else clean


def bibtex(text: str) -> str:
    """A field of a BibTeX entry: balanced, with capitals protected word by word."""
    words = [_word(word) for word in plain(text).split(" ")]
    return " ".join(words)


def _word(word: str) -> str:
    escaped = latex(word)
    lone = len(word) == 1 and word.isupper() and word != "A"
    return f"{{{escaped}}}" if lone or any(char.isupper() for char in word[1:]) else escaped
