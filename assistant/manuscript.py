r"""A manuscript of one file or many → its paragraphs, each sentence with what it cites and its place (`intro.tex:12`).

LaTeX is read as it is written: `\input` and its kin are followed, macros that the files define are written out, comments and
code are left out. What cannot be read is a remark and never the end. Markdown with `[@key]` is read too. Nothing is changed.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

from assistant.citing import LARGEST, LATEX_CITE, Asked, Given, latex_sentences, markdown_blocks
from assistant.errors import UsageError
from assistant.texmacros import Macro, braces, bracketed, definitions, group, names_as_cite, written_out
from store.errors import UnreadableFile
from store.formats.file import SourceFile

MARKDOWN = frozenset({".md", ".markdown", ".qmd", ".rmd"})
NO_MANUSCRIPT = {
    ".sty": "a style file holds no text", ".cls": "a class file holds no text", ".bib": "this is the bibliography",
    ".pdf": "a PDF cannot be audited", ".docx": "a Word file cannot be audited",
}  # fmt: skip
MOST_FILES = 500
BREAK, HEADING = "\ue002", "\ue003"
MARKS = re.compile("[\ue000-\ue003]")
CODE = r"verbatim|Verbatim|lstlisting|minted|comment|filecontents"
SKIPPED = re.compile(
    rf"\\begin\{{(?P<code>{CODE})\*?\}}"  # code, in which nothing is a command
    r"|(?P<false>\\iffalse\b)"
    r"|\\(?:verb|lstinline)\*?(?![A-Za-z{\[])(?P<mark>[^\sA-Za-z*])(?P<verb>[^\n]{0,500}?)(?P=mark)"
    r"|\\(?P<link>url|path|nolinkurl|href)\s*\{[^{}\n]{0,2000}\}"
    r"|\\[^\n]|(?P<comment>%[^\n]*)"
)
READS = re.compile(
    r"\\(?:(?P<reads>input|include|subfile|subfileinclude)(?![A-Za-z])\s*(?:\{(?P<file>[^{}]*)\}|(?P<plain>[^\s\\{}]+))"
    r"|(?P<imports>(?:sub)?(?:import|inputfrom|includefrom))\*?\s*\{(?P<folder>[^{}]*)\}\s*\{(?P<from>[^{}]*)\})"
)
PACKAGES = re.compile(r"\\(?:usepackage|RequirePackage)\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
RESOURCES = re.compile(r"\\(?:bibliography|addbibresource|addglobalbib|addsectionbib)(?![A-Za-z])\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
BIBITEM = re.compile(r"\\bibitem\s*(?:\[[^\]]*\])?\s*\{([^{}]*)\}")
DOCUMENT = re.compile(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", re.DOTALL)
FLOATS = "figure|wrapfigure|subfigure|table|wraptable|sidewaystable|sidewaysfigure|tabular[xy]?|longtable|tikzpicture|forest|algorithm|algorithmic|thebibliography|CCSXML"
FORMULAS = "equation|align|alignat|gather|multline|eqnarray|displaymath|math|flalign|subequations"
FLOAT = re.compile(rf"\\begin\{{((?:{FLOATS})\*?)\}}")
FORMULA = re.compile(rf"\\begin\{{((?:{FORMULAS})\*?)\}}|\\\[|\$\$")
ASIDE = re.compile(r"\\(footnote|footnotetext|thanks|caption|captionof|todo|section|subsection|subsubsection|chapter|part|paragraph|subparagraph)\*?(?![A-Za-z])")
SILENT = re.compile(
    r"\\(?:title|subtitle|author|date|label|bibliography|bibliographystyle|addbibresource|usepackage|documentclass|vspace|hspace|includegraphics|pagestyle"
    r"|thispagestyle|setlength|setcounter|addtocounter|affil|affiliation|email|address|keywords|ccsdesc|hypersetup|graphicspath|defcitealias|citestyle"
    r"|setcitestyle|bibitem|institute|orcid|phantomsection|markboth|newtheorem|pdfbookmark|addcontentsline)\*?(?![A-Za-z])"
)
STOPS = re.compile(r"\\(?:item|maketitle|tableofcontents|newpage|clearpage|printbibliography|par|bigskip|medskip|smallskip)(?![A-Za-z])\s*(?:\[[^\]\n]*\])?|\\(begin|end)\s*\{([^{}]*)\}(?:\[[^\]\n]*\])?(?:(?<=\{minipage\})\{[^{}\n]*\}|(?<=\{multicols\})\{[^{}\n]*\})?")
NAMED_PARTS = {"abstract": "Abstract", "acks": "Acknowledgements", "acknowledgments": "Acknowledgements", "acknowledgements": "Acknowledgements", "appendices": "Appendix"}
LARGE_PARTS = ("part", "chapter", "section", "subsection", "subsubsection")
REFERENCE = re.compile(r"\\(?:[cC]ref|[cC]refrange|[aA]utoref|ref|eqref|pageref|vref|nameref|labelcref)\*?\s*\{[^{}]*\}")
REFERRED = "⟨ref⟩"
NUMBER = re.compile(r"\$\s*((?:\\(?:sim|approx|pm|times)\b\s*)?[+-]?[\d.,{}\s]+(?:\\%|\\times\b|\^?\\circ\b)?)\s*\$")
UNCLOSED = re.compile(r"\\([A-Za-z]*cite[A-Za-z]*)\*?\s*(?:\[[^\]\n]{0,500}\]\s*){0,2}\{[^{}\\]{0,5000}?(?=\\|\n\s*\n|\{|\Z)")
KEY = re.compile(r"[^\s\\{}#%~,]{1,200}")
FRONT_MATTER = re.compile(r"---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)
SPELT = (
    (re.compile(r"(\\[A-Za-z]*cites)\s*(?:\([^()]*\)\s*){1,2}"), r"\1"),  # \autocites(see)(p. 3){a}{b}
    (re.compile(r"\\[A-Za-z]*volcite\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}"), r"\\cite"),
    (re.compile(r"(\\[A-Za-z]*cite[A-Za-z]*\*?)\s*<[^<>]*>"), r"\1"),
    (re.compile(r"\\citetext\b"), r"\\emph"),
)
"""Citation commands that are written in a way of their own, and the plain way."""


class Place(NamedTuple):
    """A line of a file of the manuscript, as `intro.tex:12`."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence without its citations, what it cites (`ends`: characters of it before each), and where it begins."""

    text: str
    cites: tuple[Asked, ...]
    ends: tuple[int, ...]
    place: Place


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Sentences that stand together, and the headings above them, the outermost first."""

    headings: tuple[str, ...]
    sentences: tuple[Sentence, ...]
    kind: Literal["text", "aside"] = "text"


@dataclass(frozen=True, slots=True)
class Remark:
    """Something about the files that their author should know, and where."""

    place: str
    text: str


@dataclass(frozen=True, slots=True)
class Manuscript:
    r"""A manuscript as it was read.

    `elsewhere` are keys cited in tables, headings and code of tables, where no sentence stands; `listed` are those of
    \nocite and \bibitem; `bibliographies` the files that it names and that are there.
    """

    name: str
    files: tuple[str, ...]
    paragraphs: tuple[Paragraph, ...]
    bibliographies: tuple[Path, ...] = ()
    elsewhere: tuple[tuple[str, Place], ...] = ()
    listed: frozenset[str] = frozenset()
    remarks: tuple[Remark, ...] = ()

    @property
    def cited(self) -> dict[str, Place]:
        """Each key that is cited, with the first place."""
        first: dict[str, Place] = {}
        for paragraph in self.paragraphs:
            for sentence in paragraph.sentences:
                for cite in sentence.cites:
                    first.setdefault(cite.key, sentence.place)
        for key, place in self.elsewhere:
            first.setdefault(key, place)
        return first


def read(path: Path, macros: Sequence[str] = (), root: Path | None = None) -> Manuscript:
    """A manuscript with all the files it reads in; `macros` are citation commands of its own, `root` the folder it may read from.

    Raises UsageError where there is no manuscript to read.
    """
    if why := NO_MANUSCRIPT.get(path.suffix.lower()):
        raise UsageError(f"{path}: {why}; give the manuscript first, a .tex with \\begin{{document}} or a .md with [@key], then its .bib")
    reading = _Reading(path.parent.resolve(), (root or path.parent).resolve())
    text = reading.text(path)
    try:
        if path.suffix.lower() in MARKDOWN:
            return _markdown(path, text, reading)
        return _latex(path, text, reading, macros)
    except RecursionError as error:
        raise UsageError(f"{path}: its braces or brackets stand too deep in one another to be read; look for one that is not closed") from error


@dataclass
class _Reading:
    """What has been read so far: the files, and what was odd about them."""

    home: Path
    root: Path
    files: list[str] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)
    characters: int = 0

    def text(self, path: Path) -> str:
        """The text of a file, in whatever encoding; raises UsageError."""
        try:
            if not path.is_file():
                raise UsageError(f"{path}: there is no such file; give the manuscript, a .tex or .md file")
            if path.stat().st_size > LARGEST:
                raise UsageError(f"{path}: larger than {LARGEST >> 20} MB; audit it in parts")
            file = SourceFile(str(path), path)
            if not file.size:
                raise UsageError(f"{path}: the file is empty; give the manuscript, a .tex or .md file")
            text = MARKS.sub("", file.whole)
        except (OSError, UnreadableFile) as error:
            raise UsageError(f"{path}: cannot be read ({error}); it should be a text file") from error
        self.files.append(self.named(path))
        self.characters += len(text)
        return text

    def named(self, path: Path) -> str:
        """A file as the manuscript's author calls it."""
        whole = path.resolve()
        return whole.relative_to(self.home).as_posix() if whole.is_relative_to(self.home) else str(path)

    def remark(self, place: Place, text: str) -> None:
        """Keeps what was odd, once."""
        if (one := Remark(str(place), text)) not in self.remarks:
            self.remarks.append(one)

    def found(self, name: str, folder: Path, place: Place) -> Path | None:
        """The file that a command names, or None and a remark why it is not read."""
        bare = name.strip().strip('"')
        if not bare or bare.startswith("|") or "\\" in bare or "\0" in bare:
            self.remark(place, f"reads {bare or 'nothing'!r}, which is no name of a file; left out")
            return None
        tries = [base / (bare + end) for base in dict.fromkeys((folder, self.home)) for end in (("", ".tex") if bare.endswith(".tex") else (".tex", ""))]
        path = next((one.resolve() for one in tries if one.is_file()), None)
        if path is None:
            self.remark(place, f"reads {bare!r}, which is not there; the rest is audited without it")
        elif not path.is_relative_to(self.root):
            self.remark(place, f"reads {bare!r}, which lies outside {self.root}; it is left out, unless --root names a folder that holds both")
            return None
        return path


# -- LaTeX


class _Line(NamedTuple):
    text: str
    place: Place


def _latex(path: Path, text: str, reading: _Reading, macros: Sequence[str]) -> Manuscript:
    lines = _flat(path, text, reading, path.parent.resolve(), ())
    whole = "\n".join(line.text for line in lines)
    places = [line.place for line in lines]
    known, whole = definitions(whole)
    known = {**_of_packages(whole, reading), **known}
    bibliographies = _resources(whole, places, reading)
    whole = names_as_cite(whole, macros)
    expanded, is_whole = written_out(whole, {name: macro for name, macro in known.items() if name not in macros})
    if not is_whole:
        reading.remark(places[0], "its macros write out to more text than a manuscript has; they are left as they stand from there on")
    for pattern, plain in SPELT:
        expanded = _respelt(expanded, pattern, plain)
    body, first = _body(expanded, places, reading, whole_document="\\documentclass" in text)
    paragraphs, elsewhere, listed = _Text(body, first, places, reading).read()
    return Manuscript(path.name, tuple(reading.files), paragraphs, bibliographies, elsewhere, listed, tuple(reading.remarks))


def _respelt(text: str, pattern: re.Pattern[str], plain: str) -> str:
    return pattern.sub(lambda hit: _as_long(hit.expand(plain), hit[0]), text)


def _flat(path: Path, text: str, reading: _Reading, folder: Path, above: tuple[Path, ...]) -> list[_Line]:
    """The lines of a file with those of the files that it reads in their place."""
    chain = (*above, path.resolve())
    name = reading.named(path)
    plain = _without_code(text).rstrip("\n")
    _say_unclosed(plain, name, reading)
    if above and (body := DOCUMENT.search(plain)):  # a file that can stand alone
        first = plain.count("\n", 0, body.start(1)) + 1
        plain = body[1]
    else:
        first = 1
    lines: list[_Line] = []
    at, number = 0, first
    for hit in READS.finditer(plain):
        before = plain[at : hit.start()]
        lines += [_Line(line, Place(name, number + down)) for down, line in enumerate(_part(before, ends=False, begins=not at).split("\n"))]
        number += before.count("\n")
        place = Place(name, number)
        lines += _read_in(hit, reading, folder, chain, place)
        number += hit[0].count("\n")
        at = hit.end()
    rest = plain[at:]
    return [*lines, *(_Line(line, Place(name, number + down)) for down, line in enumerate(_part(rest, ends=True, begins=not at).split("\n")))]


def _part(text: str, *, ends: bool, begins: bool = True) -> str:
    """A piece of a file beside another one that is read in there: the cut makes no empty line."""
    lines = text.split("\n")
    if not ends and not lines[-1].strip():
        lines[-1] = "{}"
    if not begins and not lines[0].strip():
        lines[0] = "{}"
    return "\n".join(lines)


def _read_in(hit: re.Match[str], reading: _Reading, folder: Path, chain: tuple[Path, ...], place: Place) -> list[_Line]:
    name = hit["file"] or hit["plain"] or hit["from"] or ""
    base = folder
    if hit["imports"]:
        base = (chain[-1].parent if hit["imports"].startswith("sub") else reading.home) / hit["folder"].strip()
    path = reading.found(name, base, place)
    if path is None:
        return []
    if path in chain:
        reading.remark(place, f"reads {name.strip()!r}, which reads this file: a circle; it is left out here")
        return []
    if len(reading.files) >= MOST_FILES or reading.characters > LARGEST:
        reading.remark(place, f"reads {name.strip()!r}, which is left out: more than {MOST_FILES} files, or {LARGEST >> 20} MB of text")
        return []
    try:
        text = reading.text(path)
    except UsageError as error:
        reading.remark(place, f"{error}; left out")
        return []
    within = path.parent if hit["imports"] or (hit["reads"] or "").startswith("subfile") else folder
    found = _flat(path, text, reading, within, chain)
    apart = (_Line("", place),) if hit["reads"] in {"include", "subfile", "subfileinclude"} else ()
    return [*apart, *found, *apart]


def _without_code(text: str) -> str:
    """The text without comments and code, line for line; a line that was only a comment ends no paragraph."""

    def end(hit: re.Match[str]) -> str:
        return f"\\end{{{hit['code']}" if hit["code"] else "\\fi" if hit["false"] else ""

    def plain(hit: re.Match[str], whole: str) -> str:
        if hit["comment"]:
            return "{}" if not text[text.rfind("\n", 0, hit.start()) + 1 : hit.start()].strip() else ""
        if hit["code"] or hit["false"]:
            return BREAK + "\n" * whole.count("\n")
        if hit["mark"]:
            return re.sub(r"[\\{}%$&#_^~@]", " ", hit["verb"])
        return "" if hit["link"] else whole

    return _cut_out(text, SKIPPED, end, plain)


def _end(hit: re.Match[str]) -> str:
    """What ends a float or a formula."""
    return f"\\end{{{hit[1]}}}" if hit[1] else "\\]" if hit[0] == "\\[" else "$$"


def _cut_out(text: str, begins: re.Pattern[str], end: Callable[[re.Match[str]], str], instead: Callable[[re.Match[str], str], str]) -> str:
    """The text with what stands from each beginning to its end replaced; what never ends stays, and is looked for only once."""
    parts: list[str] = []
    at, absent = 0, set[str]()
    for hit in begins.finditer(text):
        word = end(hit)
        if hit.start() < at or word in absent:
            continue
        stop = text.find(word, hit.end()) if word else hit.end()
        if stop < 0:
            absent.add(word)
            continue
        stop += len(word)
        parts += [text[at : hit.start()], instead(hit, text[hit.start() : stop])]
        at = stop
    return "".join([*parts, text[at:]])


def _say_unclosed(text: str, name: str, reading: _Reading) -> None:
    """Remarks where braces do not match."""
    found = braces(text)
    for at, said in [*((at, "a brace that opens here is not closed") for at in found.unclosed[:3]), *((at, "a brace closes here that none opens") for at in found.strays[:3])]:
        reading.remark(Place(name, text.count("\n", 0, at) + 1), f"{said}; what follows is read all the same")


def _of_packages(text: str, reading: _Reading) -> dict[str, Macro]:
    """The macros of the style files that lie beside the manuscript."""
    found: dict[str, Macro] = {}
    for hit in PACKAGES.finditer(text):
        for name in hit[1].split(","):
            path = (reading.home / f"{name.strip()}.sty").resolve()
            if name.strip() and path.is_relative_to(reading.root) and path.is_file() and path.stat().st_size < LARGEST:
                try:
                    found |= definitions(_without_code(reading.text(path)))[0]
                except UsageError as error:
                    reading.remark(Place(reading.named(path), 1), str(error))
    return found


def _resources(text: str, places: Sequence[Place], reading: _Reading) -> tuple[Path, ...]:
    """The .bib files that the manuscript names, those that are there."""
    found: dict[Path, None] = {}
    for hit in RESOURCES.finditer(text):
        place = places[text.count("\n", 0, hit.start())]
        for name in hit[1].split(","):
            bare = name.strip()
            tries = [(reading.home / (bare + end)).resolve() for end in ((".bib", "") if not bare.endswith(".bib") else ("",))]
            path = next((one for one in tries if bare and one.is_file()), None)
            if path is None:
                reading.remark(place, f"names the bibliography {bare!r}, which is not there; give it behind the manuscript")
            elif not path.is_relative_to(reading.root):
                reading.remark(place, f"names the bibliography {bare!r}, which lies outside {reading.root}; give it behind the manuscript, or use --root")
            else:
                found[path] = None
    return tuple(found)


def _body(text: str, places: Sequence[Place], reading: _Reading, *, whole_document: bool) -> tuple[str, int]:
    r"""What stands between \begin{document} and its end, and the number of its first line, from 0; else all of it."""
    if body := DOCUMENT.search(text):
        return body[1], text.count("\n", 0, body.start(1))
    if whole_document:
        reading.remark(places[0], "has a \\documentclass and no \\begin{document}; all of it is read as text")
    return text, 0


class _Text:
    """The body of a manuscript on its way to paragraphs; no step changes the number of lines."""

    def __init__(self, body: str, first: int, places: Sequence[Place], reading: _Reading) -> None:
        self.body, self.first, self.places, self.reading = body, first, places, reading
        self.asides: list[tuple[int, str]] = []
        self.headings: list[tuple[str, str]] = []

    def read(self) -> tuple[tuple[Paragraph, ...], tuple[tuple[str, Place], ...], frozenset[str]]:
        """The paragraphs in their order, the keys cited where no sentence stands, and those that are only listed."""
        text = UNCLOSED.sub(self._unclosed, self.body)
        every = [(key, self._place(text, hit.start())) for hit in LATEX_CITE.finditer(text) if hit[1] != "nocite" for key in _keys(hit)]
        listed = {key for hit in LATEX_CITE.finditer(text) if hit[1] == "nocite" for key in _keys(hit)} | {hit[1].strip() for hit in BIBITEM.finditer(text)}
        text = REFERENCE.sub(lambda hit: _as_long(REFERRED, hit[0]), text)
        text = NUMBER.sub(lambda hit: _as_long(_plain_number(hit[1]), hit[0]), text)
        text = self._without_asides(text)
        text = _cut_out(text, FLOAT, _end, lambda hit, whole: _as_long(BREAK, whole))
        text = _cut_out(text, FORMULA, _end, lambda hit, whole: _as_long(" … ", whole))
        text = STOPS.sub(self._stop, text)
        found = [*self._paragraphs(text), *self._aside_paragraphs()]
        found.sort(key=lambda one: one[0])
        paragraphs = tuple(paragraph for _, paragraph in found)
        told = {cite.key for paragraph in paragraphs for sentence in paragraph.sentences for cite in sentence.cites}
        elsewhere: dict[str, Place] = {}
        for key, place in every:
            if key not in told:
                elsewhere.setdefault(key, place)
        return paragraphs, tuple(elsewhere.items()), frozenset(listed)

    def _place(self, text: str, at: int) -> Place:
        return self._at(text.count("\n", 0, at))

    def _at(self, line: int) -> Place:
        return self.places[min(self.first + line, len(self.places) - 1)]

    def _unclosed(self, hit: re.Match[str]) -> str:
        self.reading.remark(self._place(self.body, hit.start()), f"a \\{hit[1]} without its closing brace; it is left out")
        return _as_long(" ", hit[0])

    def _without_asides(self, text: str) -> str:
        """The text without footnotes, captions and headings, which are kept, and without commands that print nothing."""
        matching = braces(text).closing
        parts: list[str] = []
        at = 0
        hits = sorted([*ASIDE.finditer(text), *SILENT.finditer(text)], key=lambda hit: hit.start())
        for hit in hits:
            if hit.start() < at:
                continue
            end = hit.end()
            while (option := bracketed(text, end)) is not None:
                end = option
            found = group(text, end, matching)
            if found and hit.re is ASIDE and hit[1] == "captionof":
                found = group(text, found.end, matching)
            if found is None:
                continue
            if hit.re is SILENT and hit[0].strip("\\* ") in {"defcitealias", "setcounter", "addtocounter", "setlength", "newtheorem"}:
                found = group(text, found.end, matching) or found
            parts.append(text[at : hit.start()])
            parts.append(_as_long(self._set_aside(hit, found.text, text.count("\n", 0, found.start)), text[hit.start() : found.end]))
            at = found.end
        return "".join([*parts, text[at:]])

    def _set_aside(self, hit: re.Match[str], content: str, line: int) -> str:
        """What stands in the text where a command stood."""
        if hit.re is SILENT or hit[1] == "todo":
            return ""
        if hit[1] in {"footnote", "footnotetext", "thanks", "caption", "captionof"}:
            self.asides.append((line, content))
            return ""
        self.headings.append((hit[1], " ".join(re.sub(r"\\[A-Za-z]+\*?|[{}]", " ", LATEX_CITE.sub("", content)).split())))
        return HEADING

    def _stop(self, hit: re.Match[str]) -> str:
        name = NAMED_PARTS.get((hit[2] or "").rstrip("*"))
        if name is None:
            return _as_long(BREAK, hit[0])
        return _as_long(f"{HEADING}{name if hit[1] == 'begin' else ''}{HEADING}", hit[0])

    def _paragraphs(self, text: str) -> Iterator[tuple[int, Paragraph]]:
        headings = iter(self.headings)
        above: dict[str, str] = {}
        line = 0
        for part in re.split(rf"({HEADING}[^{HEADING}\n]{{0,40}}{HEADING}|\n\s*\n|{BREAK}|{HEADING})", text):
            if part == HEADING:
                level, name = next(headings)
                if level in LARGE_PARTS:
                    above = {kept: above[kept] for kept in LARGE_PARTS[: LARGE_PARTS.index(level)] if kept in above} | {level: name}
            elif part.startswith(HEADING):
                above = {"section": part.strip(HEADING)} if part.strip(HEADING) else {}
            elif part.strip() and part != BREAK:
                began = line + len(part) - len(part.lstrip("\n"))
                yield began, Paragraph(tuple(above.values()), tuple(self._sentences(part.strip("\n"), began)))
            line += part.count("\n")

    def _aside_paragraphs(self) -> Iterator[tuple[int, Paragraph]]:
        for line, content in self.asides:
            yield line, Paragraph((), tuple(self._sentences(content, line)), "aside")

    def _sentences(self, part: str, line: int) -> Iterator[Sentence]:
        for one in latex_sentences(part, 0):
            yield _sentence(one, self._at(line + one.line))


def _sentence(given: Given, place: Place) -> Sentence:
    kept = [(cite, end) for cite, end in zip(given.cites, given.ends, strict=True) if KEY.fullmatch(cite.key)]
    return Sentence(given.text, tuple(cite for cite, _ in kept), tuple(end for _, end in kept), place)


def _keys(hit: re.Match[str]) -> list[str]:
    """The keys that a citation command names."""
    groups = [hit[3], *(re.findall(r"\{([^}]*)\}", hit[4]) if hit[1].endswith("cites") else ())]
    return [key.strip() for key in ",".join(groups).split(",") if KEY.fullmatch(key.strip())]


def _plain_number(formula: str) -> str:
    return re.sub(r"\\(?:sim|approx)\s*", "~", re.sub(r"[{}\s]", "", formula)).replace("\\pm", "±").replace("\\times", "×").replace("\\circ", "°").replace("^", "")


def _as_long(text: str, instead: str) -> str:
    """A text with as many line ends as the one that it stands for, and no empty line that was none."""
    return text + "\n{}" * (instead.count("\n") - text.count("\n"))


# -- Markdown


def _markdown(path: Path, text: str, reading: _Reading) -> Manuscript:
    name = reading.named(path)
    paragraphs = []
    for block in markdown_blocks(text):
        sentences = tuple(_sentence(one, Place(name, one.line)) for one in block.sentences)
        paragraphs.append(Paragraph((block.heading,) if block.heading else (), sentences))
    found: dict[Path, None] = {}
    for one in _front_matter_files(text):
        path_there = (reading.home / one).resolve()
        if not path_there.is_file():
            reading.remark(Place(name, 1), f"names the bibliography {one!r}, which is not there; give it behind the manuscript")
        elif not path_there.is_relative_to(reading.root):
            reading.remark(Place(name, 1), f"names the bibliography {one!r}, which lies outside {reading.root}; give it behind the manuscript, or use --root")
        else:
            found[path_there] = None
    return Manuscript(path.name, tuple(reading.files), tuple(paragraphs), tuple(found), remarks=tuple(reading.remarks))


def _front_matter_files(text: str) -> Iterable[str]:
    """The files that pandoc's `bibliography:` names: one, a list in brackets, or a list of lines."""
    header = FRONT_MATTER.match(text)
    if not header:
        return []
    said = re.search(r"^bibliography:[ \t]*(.*(?:\n[ \t]*-[^\n]*)*)", header[1], re.MULTILINE)
    return [name for one in re.split(r"[\n,]", said[1].strip("[] \t")) if (name := one.strip().lstrip("-").strip(" \"'[]"))] if said else []
