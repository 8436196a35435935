r"""The abstract that a person writes about: any text file → title and sentences, kept beside the draft it is for.

Text and Markdown are taken as they stand, of LaTeX the title and the abstract. What is no page of text is refused with the
reason: an abstract is what a draft can be positioned against, a whole paper is not.
"""

import re
from pathlib import Path
from typing import Final

from assistant.document import OWN
from assistant.errors import UsageError
from assistant.evidence import OwnText
from assistant.files import about_file, write_kept
from assistant.visible import HIDDEN
from store.formats.text import clean
from store.language import language_of
from store.texts import Text

LARGEST: Final = 2 * 2**20
"""Bytes of a file that is read at all: the LaTeX of a paper, of which the abstract is taken."""
LONGEST: Final = 10_000
"""Characters of an abstract: a page of small print."""
LONGEST_TITLE: Final = 300
KINDS: Final = ((b"%PDF", "a PDF"), (b"PK\x03\x04", "a Word document, a spreadsheet or an archive"), (b"{\\rtf", "an RTF document"), (b"\x89PNG", "an image"), (b"\xff\xd8", "an image"))
OTHER_TEXT: Final = (
    (re.compile(r"\s*@\w+\s*\{"), "a bibliography"),
    (re.compile(r"\s*(?:<\?xml|<!doctype|<html)", re.IGNORECASE), "a web page or XML"),
    (re.compile(r'\s*[\[{]\s*[\[{"]'), "JSON"),
)
FRONT_MATTER: Final = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
BULLET: Final = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")
KEYWORDS: Final = re.compile(r"\W*(?:key ?words?|index terms|schlagwörter|mots[- ]clés|关键词)\W*\s*[:：.—–-]", re.IGNORECASE)
LEAD: Final = re.compile(r"^\W{0,3}(?:abstract|summary|zusammenfassung|résumé|摘要)\W{0,3}[.:：—–]\W{0,3}\s*", re.IGNORECASE)
ABSTRACT: Final = re.compile(r"\W*(?:abstract|summary|zusammenfassung|résumé|摘要)\W*", re.IGNORECASE)


def taken(folder: Path, name: str, file: Path) -> OwnText:
    """The abstract of a file, from now on kept beside the draft `name`; raises UsageError where the file holds none."""
    own = read(file)
    parts = [*([f"# {own.title.characters}"] if own.title else ()), *(own.text.characters.split("\n") if own.text else ())]
    path = about_file(folder, name)
    write_kept(path, "\n\n".join(parts) + "\n")
    return read(path)


def kept(folder: Path, name: str) -> OwnText | None:
    """The abstract that is kept beside a draft; None where there is none. Raises UsageError where it was made unreadable."""
    path = about_file(folder, name)
    return read(path) if path.exists() else None


def read(file: Path) -> OwnText:
    """The title, if there is one, and the sentences of an abstract; raises UsageError naming the file and what to do."""
    text = _text(file)
    title, body = _parted(_of_latex(text) if _is_latex(file, text) else text)
    if not re.search(r"\w", HIDDEN.sub("", body)):
        raise UsageError(f"{file}: {'a title without an abstract' if title else 'empty'}; write the abstract of your paper into it, its title as the first line")
    if len(body) > LONGEST:
        raise UsageError(f"{file}: {len(body):,} characters are more than the {LONGEST:,} that an abstract may have; give the abstract alone")
    language = language_of(body)
    return OwnText(0, Text(0, 0, "title", language, title) if title else None, Text(0, 0, OWN, language, body))


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > LARGEST:
            raise UsageError(f"{file}: larger than {LARGEST >> 20} MB; give the abstract of your paper alone, as text")
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror}); give a text file with the abstract of your paper") from error
    kind = next((kind for start, kind in KINDS if data.startswith(start)), "")
    if not kind and b"\0" in data:
        kind = "no text in UTF-8"
    try:
        text = "" if kind else data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: no text in UTF-8 ({error.reason} at byte {error.start}); save it as UTF-8") from error
    kind = kind or next((kind for pattern, kind in OTHER_TEXT if pattern.match(text)), "")
    if kind:
        raise UsageError(f"{file}: this is {kind}; give a text file (.txt, .md or .tex) with the title and the abstract of your paper")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _is_latex(file: Path, text: str) -> bool:
    return file.suffix.lower() in {".tex", ".ltx"} or bool(re.search(r"\\(?:begin|title|documentclass)\s*[\[{]", text))


def _of_latex(text: str) -> str:
    """The title and the abstract of LaTeX as text, formulas as they are; all of it where no abstract is marked."""
    from pylatexenc.latex2text import LatexNodes2Text

    plain = re.sub(r"(?<!\\)%.*", "", text)
    title = re.search(r"\\title\s*(?:\[[^\]]*\]\s*)?\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}", plain)
    found = re.search(r"\\begin\{abstract\}(.*?)(?:\\end\{abstract\}|\Z)", plain, re.DOTALL) or re.search(r"\\abstract\{(.*)\}", plain, re.DOTALL)
    if found is None:
        body = re.search(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", plain, re.DOTALL)
        plain = body[1] if body else plain
        plain = plain.replace(title[0], "") if title else plain
    decoder = LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=False)
    words = decoder.latex_to_text(re.sub(r"~?\\(?:maketitle|(?:sub)*section\*?\{[^}]*\}|label\{[^}]*\}|[A-Za-z]*cite[A-Za-z]*\*?(?:\[[^\]]*\])*\{[^}]*\})", "", found[1] if found else plain))
    head = " ".join(decoder.latex_to_text(re.sub(r"\\\\|\\thanks\{[^}]*\}", " ", title[1])).split()) if title else ""
    return f"# {head}\n\n{words}" if head else words


def _parted(text: str) -> tuple[str, str]:
    """The title and the text beneath it, paragraph by paragraph, on one line each."""
    title = ""
    if front := FRONT_MATTER.match(text):
        named = re.search(r"^title:\s*(.+?)\s*$", front[1], re.MULTILINE)
        title, text = named[1].strip("\"'") if named else "", text[front.end() :]
    lines = clean(text).split("\n")
    start = next((at for at, line in enumerate(lines) if line.strip()), 0)
    if not title and _is_title(lines[start:]):
        title, lines = lines[start].strip().lstrip("#").strip(), lines[start + 1 :]
    said = [line for line in lines if not line.lstrip().startswith("#") and not ABSTRACT.fullmatch(line.strip() or "-") and not KEYWORDS.match(line)]
    return clean(title), LEAD.sub("", _unwrapped(said))


def _is_title(lines: list[str]) -> bool:
    """Whether the first line is a title: marked as one, or standing apart from what follows and no sentence."""
    first, rest = lines[0].strip() if lines else "", lines[1:]
    if first.startswith("#"):
        return bool(first.strip("# ")) and not ABSTRACT.fullmatch(first)
    if not any(line.strip() for line in rest) or not first or first[-1] in ".,;:。" or len(first) > LONGEST_TITLE or ABSTRACT.fullmatch(first):
        return False
    return not rest[0].strip() or len(rest[0]) > 2 * len(first)


def _unwrapped(lines: list[str]) -> str:
    """Lines that were broken at the margin as one; a blank line or a bullet begins another."""
    parts: list[str] = []
    is_open = False
    for line in lines:
        if line.strip() and is_open and not BULLET.match(line):
            parts[-1] += f" {line.strip()}"
        elif line.strip():
            parts.append(line.strip())
        is_open = bool(line.strip())
    return "\n".join(parts)
