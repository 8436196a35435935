r"""Files with citations → the statements in them: Markdown (`[@key]`), LaTeX (`\cite{key}`), JSON Lines, and our own JSON.

Each statement is a sentence without its citations, with the keys it cites and the line where it stands. Headings, tables,
code, formulas on lines of their own, bibliographies and the appendices of our own exports state nothing.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assistant.document import NOTE_WARNING, OWN
from assistant.errors import UsageError
from store import sentences

if TYPE_CHECKING:
    from pylatexenc.latex2text import LatexNodes2Text

LARGEST = 20 * 2**20
"""Bytes; a thesis has one."""
OPEN, CLOSE, BREAK, NAMED = "\ue000", "\ue001", "\ue002", "Ɔ"
"""Marks that no text holds; a citation that is a word of its sentence looks like a name, so that a sentence can begin with it."""
PLACE = re.compile(rf"\s*{NAMED}?{OPEN}(\d+){CLOSE}")
KEY = r"[\w][\w:.+/-]*[\w]|\w"
SURROGATE = re.compile("[\ud800-\udfff]")
FOOTNOTE = re.compile(r"\[\^[^\]\s]{1,60}\]:?")
BRACKETED = re.compile(r"\[(?=[^\[\]]*@)([^\[\]]*)\]")
INLINE = re.compile(rf"(?<![\w.@])-?@(?:\{{([^{{}}\s]{{1,200}})\}}|({KEY}))(?:\s?\[(?:pp?|chap|ch|sec|figs?|vol|no|lines?|[Kk]ap|Abs|S|§)\b\.?[^\[\]@]{{0,60}}\])?")
APPENDIX = re.compile(r"^(?:sentences behind it|sources|references|bibliography|works cited|literature|literatur|références|coverage|checks|columns|plan and text|closest to your abstract|already in your library\?|参考文献)$", re.IGNORECASE)
LATEX_CITE = re.compile(r"\\([A-Za-z]*cite[A-Za-z]*)\*?\s*((?:\[[^\]]{0,500}\]\s*){0,2})\{([^{}\\]{0,5000})\}((?:(?<=\})(?:\[[^\]]{0,200}\]){0,2}\{[^{}\s]{1,200}\})*)")
NARRATIVE = re.compile(r"(?:textcite|citet|citeauthor|citealt|cite[Pp]?t)$|^[cC]itet")
PAGE = re.compile(r"(?:(?:pp?|pages?|chap|chapter|ch|sec|section|figs?|figure|tab|table|app|appendix|vol|lines?|[Kk]ap|S)\b\.?|§+)[\s~]*[\dIVXivx][\w.–-]*", re.IGNORECASE)
LATEX_COMMENT = re.compile(r"(?<!\\)%.*")
LATEX_OUT = "figure|table|tabular|longtable|equation|align|gather|multline|eqnarray|verbatim|lstlisting|algorithm|algorithmic|tikzpicture|forest|thebibliography|comment"
LATEX_BLOCK = re.compile(rf"\\begin\{{({LATEX_OUT})\*?\}}.*?\\end\{{\1\*?\}}", re.DOTALL)
LATEX_BREAK = re.compile(r"\\(?:part|chapter|(?:sub)*section|paragraph|subparagraph|title|author|date|caption|label|bibliography|bibliographystyle|addbibresource|usepackage|documentclass|input|include)\*?\s*(?:\[[^\]]*\])?\{[^}]*\}|\\(?:item|maketitle|tableofcontents|newpage|clearpage|printbibliography|par|noindent)\b\s*(?:\[[^\]]*\])?|\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?")


@dataclass(frozen=True, slots=True)
class Asked:
    r"""A citation as a file gives it: the key, and where it says so the sentences and the words quoted, or the page (`p. 3`).

    `named` says that the citation is a word of its sentence: `\citet{a} show …`.
    """

    key: str
    sentences: tuple[int, ...] = ()
    quote: str = ""
    text: str = ""
    page: str = ""
    named: bool = False

    @property
    def is_own(self) -> bool:
        """Whether it names the writer's own abstract and no paper."""
        return self.text == OWN and not self.key


@dataclass(frozen=True, slots=True)
class Given:
    """A statement of a file: its words without citations, what it cites, and its line.

    `ends` says for each citation, where the file is a text, how many characters of the statement stand before it.
    """

    text: str
    cites: tuple[Asked, ...]
    line: int
    ends: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that holds no statement though it should, and why."""

    line: int
    reason: str


def statements_in(path: Path) -> list[Given | Unreadable]:
    """The statements of a file, told by its name or else by its content; raises UsageError when it cannot be read."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path}: larger than {LARGEST >> 20} MB; check it in parts")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read ({error}); it should be a text file in UTF-8") from error
    try:
        found = list(_reader(path, text)(text))
    except RecursionError as error:
        raise UsageError(f"{path}: its braces or brackets stand too deep in one another to be read") from error
    if not found:
        raise UsageError(f'{path}: no statement in it; expected Markdown, LaTeX or JSON Lines of {{"text", "cites": [{{"key"}}]}}')
    return found


def _reader(path: Path, text: str) -> Callable[[str], Iterator[Given | Unreadable]]:
    suffix = path.suffix.lower()
    if suffix in {".jsonl", ".ndjson", ".json"}:
        return from_json
    if suffix in {".md", ".markdown", ".qmd", ".rmd"}:
        return from_markdown
    if text.lstrip().startswith("{") and suffix not in {".tex", ".ltx"}:
        return from_json
    if suffix in {".tex", ".ltx"} or re.search(r"\\(?:section|begin|documentclass|[A-Za-z]*cite[A-Za-z]*)\b", text):
        return from_latex
    return from_markdown


def from_json(text: str) -> Iterator[Given | Unreadable]:
    """JSON Lines of {"text", "cites": [{"key", "sentences", "quote"}]}, or one document as `ask`, `draft` or `check` print it."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and ("statements" in whole or "paragraphs" in whole):
        parts = [whole, *(part for part in _listed(whole, "paragraphs") if isinstance(part, dict))]
        yield from (_given(one, 1) for part in parts for one in _listed(part, "statements"))
        return
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            yield _json_line(line, number)


def _listed(fields: dict[str, object], name: str) -> list[object]:
    value = fields.get(name)
    return value if isinstance(value, list) else []


def _json_line(line: str, number: int) -> Given | Unreadable:
    try:
        return _given(json.loads(line), number)
    except (ValueError, RecursionError) as error:
        return Unreadable(number, f"not JSON ({error})")


def _given(fields: object, line: int) -> Given | Unreadable:
    if not isinstance(fields, dict) or not isinstance(fields.get("text"), str) or not fields["text"].strip():
        return Unreadable(line, 'expected an object with "text", and "cites" as a list')
    if SURROGATE.search(fields["text"]):
        return Unreadable(line, '"text" holds half a character (a lone surrogate)')
    cites = fields.get("cites") or []
    if not isinstance(cites, list):
        return Unreadable(line, '"cites" should be a list of {"key", "sentences", "quote"}')
    asked = [_asked({"key": cite} if isinstance(cite, str) else cite) for cite in cites]
    bad = next((one for one in asked if isinstance(one, str)), None)
    if bad is not None:
        return Unreadable(line, bad)
    return Given(fields["text"].strip(), tuple(one for one in asked if isinstance(one, Asked)), line)


def _asked(cite: object) -> Asked | str:
    """A citation, or what is wrong with it."""
    if not isinstance(cite, dict) or not isinstance(cite.get("key"), str):
        return 'a citation should be {"key", "sentences", "quote"}'
    if any(SURROGATE.search(str(value)) for value in cite.values()):
        return "a citation holds half a character (a lone surrogate)"
    numbers = cite.get("sentences") or []
    if not isinstance(numbers, list) or not all(isinstance(number, int) and not isinstance(number, bool) for number in numbers):
        return '"sentences" should be a list of whole numbers, counted from 1'
    return Asked(cite["key"].strip().lstrip("@"), tuple(numbers), str(cite.get("quote") or ""), str(cite.get("text") or ""))


def from_markdown(text: str) -> Iterator[Given]:
    """The sentences of Markdown with pandoc's citations; headings, tables, code and our own appendices are left out."""
    for block in markdown_blocks(text):
        yield from block.sentences


class Block(NamedTuple):
    """The sentences of a paragraph, and the heading under which they stand."""

    heading: str
    sentences: tuple[Given, ...]


def markdown_blocks(text: str) -> Iterator[Block]:
    """The same, paragraph by paragraph."""
    from markdown_it import MarkdownIt

    tokens = MarkdownIt("commonmark").enable("table").parse(_without_front_matter(text))
    inside_table, skipped, heading = False, False, ""
    for at, token in enumerate(tokens):
        if token.type in {"table_open", "table_close"}:
            inside_table = token.type == "table_open"
        if token.type == "heading_open":
            heading = tokens[at + 1].content.strip()
            skipped = bool(APPENDIX.match(heading))
        if token.type == "inline" and not inside_table and not skipped and tokens[at - 1].type != "heading_open":
            words = "".join(_inline(child.type, child.content, str(child.attrs.get("href", ""))) for child in token.children or ())
            yield Block(heading, tuple(_cut(_marked_markdown(words), token.map[0] + 1 if token.map else 1)))


def _without_front_matter(text: str) -> str:
    """The text with its YAML header blanked, so that lines still count."""
    found = re.match(r"---\n.*?\n(?:---|\.\.\.)\n", text, re.DOTALL)
    return "\n" * found[0].count("\n") + text[found.end() :] if found else text


def _inline(kind: str, content: str, address: str) -> str:
    """The words of a piece of Markdown; a link shows its address, for a link is a reference too."""
    if kind == "link_open":
        return f" {address} " if "//" in address else ""
    if kind == "html_inline":
        return " "
    return "\n" if kind in {"softbreak", "hardbreak"} else content if kind in {"text", "code_inline"} else ""


def _marked_markdown(text: str) -> "_Marked":
    marked = _Marked()

    def bracket(hit: re.Match[str]) -> str:
        asked = [Asked(one[1] or one[2], page=_page(part)) for part in hit[1].split(";") for one in INLINE.finditer(part)]
        return marked.place(asked) if asked else hit[0]

    marked.text = INLINE.sub(lambda hit: marked.place([Asked(hit[1] or hit[2])], narrative=True), BRACKETED.sub(bracket, FOOTNOTE.sub("", text)))
    return marked


def from_latex(text: str) -> Iterator[Given]:
    r"""The sentences of LaTeX with `\cite` and its kin; floats, formulas and the bibliography are left out."""
    body = re.search(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", text, re.DOTALL)
    first = text.count("\n", 0, body.start(1)) + 1 if body else 1
    plain = LATEX_BLOCK.sub(lambda hit: "\n" * hit[0].count("\n"), LATEX_COMMENT.sub("", body[1] if body else text))
    plain = LATEX_BREAK.sub(f"{BREAK}", plain)
    line = first
    for part in re.split(rf"(\n\s*\n|{BREAK})", plain):
        if part.strip() and part != BREAK:
            yield from latex_sentences(part.strip("\n"), line + len(part) - len(part.lstrip("\n")))
        line += part.count("\n")


def latex_sentences(paragraph: str, line: int) -> Iterator[Given]:
    """The sentences of a paragraph of LaTeX that begins at a line."""
    marked = _marked_latex(paragraph)
    marked.text = _decoded(marked.text)
    yield from _cut(marked, line)


def _decoded(text: str) -> str:
    """LaTeX as plain text; what the decoder stumbles over loses its commands and braces instead."""
    try:
        return str(_decoder().latex_to_text(text))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError):
        return re.sub(r"\\(?:[A-Za-z]+\*?|.)|[{}]", " ", text)


@cache
def _decoder() -> "LatexNodes2Text":
    from pylatexenc.latex2text import LatexNodes2Text

    return LatexNodes2Text(math_mode="verbatim", strict_latex_spaces=False)


def _marked_latex(text: str) -> "_Marked":
    marked = _Marked()

    def cite(hit: re.Match[str]) -> str:
        if hit[1] == "nocite":
            return hit[4]
        several = hit[1].endswith("cites")
        keys = [hit[3], *(re.findall(r"\{([^}]*)\}", hit[4]) if several else ())]
        page = _page(hit[2]) if not several else ""
        asked = [Asked(key.strip(), page=page) for key in ",".join(keys).split(",") if key.strip()]
        lines = "\n" * hit[0].count("\n", 0, len(hit[0]) - len(hit[4]))
        return marked.place(asked, narrative=bool(NARRATIVE.search(hit[1]))) + lines + ("" if several else hit[4]) if asked else lines

    marked.text = LATEX_CITE.sub(cite, text)
    return marked


def _page(around: str) -> str:
    """The place in the full text that a citation names: `p. 3`, `sec. 2`."""
    found = PAGE.search(around)
    return found[0].replace("~", " ").strip() if found else ""


class _Marked:
    """A text in which each citation is a mark, and what the marks stand for."""

    def __init__(self) -> None:
        self.text = ""
        self.cites: list[list[Asked]] = []

    def place(self, asked: list[Asked], *, narrative: bool = False) -> str:
        """The mark for a citation; a narrative one is a word of its sentence."""
        self.cites.append([replace(one, named=True) for one in asked] if narrative else asked)
        return f"{NAMED if narrative else ''}{OPEN}{len(self.cites) - 1}{CLOSE}"


def _cut(marked: _Marked, line: int) -> Iterator[Given]:
    """The sentences of a paragraph; a citation behind a full stop belongs to the sentence before it."""
    text = re.sub(rf"([.!?。！？])(\s*)((?:{OPEN}\d+{CLOSE}\s*)+)", r"\3\1\2", marked.text)
    for _, start, end in sentences.cut(text.replace("\n", " ")):
        words = text[start:end]
        asked: dict[Asked, int] = {}
        for hit in PLACE.finditer(words):
            for one in marked.cites[int(hit[1])]:
                if one not in asked:
                    asked[one] = len(_bare(words[: hit.start()]))
        bare = _bare(words)
        if re.search(r"\w", bare) and NOTE_WARNING not in bare:
            yield Given(bare, tuple(asked), line + text.count("\n", 0, start), tuple(asked.values()))


def _bare(words: str) -> str:
    """Words without the marks of citations, with single spaces."""
    return re.sub(r"\s+([.,;:!?)])", r"\1", re.sub(r"\s+", " ", PLACE.sub("", words))).strip()
