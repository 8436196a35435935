"""What is looked at in a table, as a grid of words: counts with their gaps, disagreements, differences. Written as files."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assistant.errors import UsageError
from assistant.export.escape import OTHER_SCRIPT, OTHER_SCRIPT_DEFINED, PART_DEFINED, breakable, cell, markdown, plain, printed, remark
from assistant.export.workbook import sheet_of
from assistant.files import write_whole
from store.keys import slug

GAP = "·"
"""What stands where no paper is."""
MOST_LETTERS, UPRIGHT, SIDEWAYS = 14, 85, 125
"""Letters of a word that a column leaves whole, and letters of a line of a page, upright and sideways."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A name, what it is called beside the table's, the head and the lines, and what is to be said below."""

    name: str
    view: str
    head: Sequence[str]
    lines: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()
    shape: Mapping[str, object] = field(default_factory=dict)
    """The same with the fields that `--json` promises."""
    legend: str = ""
    """What a caption says of it."""


def as_markdown(grid: Grid) -> str:
    """The grid under its heading, the remarks below."""
    rows = [f"| {' | '.join(map(_words, line))} |" for line in grid.lines]
    lines = [f"# {markdown(grid.name)}: {markdown(grid.view)}", "", f"| {' | '.join(map(_words, grid.head))} |", f"|{'---|' * len(grid.head)}", *rows, ""]
    return "\n".join([*lines, *(f"- {markdown(said.strip())}" for said in grid.remarks)]).rstrip() + "\n"


def as_csv(grid: Grid) -> str:
    """The grid, and a line for each remark below it."""
    wide = [""] * (len(grid.head) - 1)
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerows([cell(value) for value in line] for line in [grid.head, *grid.lines, *([said, *wide] for said in grid.remarks)])
    return "\ufeff" + out.getvalue()


def as_xlsx(grid: Grid) -> bytes:
    """The grid as a sheet, figures as figures, the remarks on a sheet of their own."""
    return sheet_of(grid.head, grid.lines, grid.remarks)


def as_latex(grid: Grid) -> str:
    """A booktabs table to paste into a paper, sideways or in parts where its words need that; a gap is a dot, the remarks are comments below."""
    texts = list(zip(grid.head, *grid.lines, strict=True))
    words = [max((len(OTHER_SCRIPT.sub("[1F680]", word)) for text in some for word in text.split()), default=1) for some in texts]
    weights = [max(min(word, MOST_LETTERS) + 2, min(max(map(len, some)), 60) ** 0.5 * 2) for word, some in zip(words, texts, strict=True)]
    some = _abreast(weights)
    lines = [line for number, places in enumerate(some, 1) for line in _tabled(grid, places, weights, f" ({number} of {len(some)})" if len(some) > 1 else "")]
    if sum(weights) > UPRIGHT:
        lines = ["% needs \\usepackage{pdflscape}", "\\begin{landscape}", *lines, "\\end{landscape}"]
    lines += [remark(said) for said in grid.remarks]
    scripts = OTHER_SCRIPT_DEFINED if any("\\otherscript" in line for line in lines) else ()
    parts = [PART_DEFINED] if any("\\partat" in line for line in lines) else []
    return "\n".join(["% needs \\usepackage[T1]{fontenc} with pdfLaTeX", "% needs \\usepackage{booktabs,longtable,array}", *parts, *scripts, *lines]) + "\n"


def _abreast(weights: Sequence[float]) -> list[list[int]]:
    """The columns that stand beside each other on a page turned sideways, each time after the first, which names the lines."""
    some: list[list[int]] = [[0]]
    for at in range(1, len(weights)):
        if len(some[-1]) > 1 and sum(weights[place] for place in some[-1]) + weights[at] > SIDEWAYS:
            some.append([0])
        some[-1].append(at)
    return some


def _tabled(grid: Grid, places: Sequence[int], weights: Sequence[float], part: str) -> list[str]:
    whole = sum(weights[at] for at in places)
    columns = "".join(f">{{\\raggedright\\hspace{{0pt}}\\arraybackslash}}p{{\\dimexpr{weights[at] / whole:.4f}\\linewidth-2\\tabcolsep\\relax}}" for at in places)
    head, *body = (f"{' & '.join(_tex(line[at]) for at in places)} \\\\" for line in [grid.head, *grid.lines])
    top = ["\\toprule", head, "\\midrule"]
    return [
        "{\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        f"\\begin{{longtable}}{{{columns}}}",
        f"\\caption{{{printed(f'{grid.name}: {grid.view}{part}. {grid.legend}'.strip())}}}\\\\",
        *[*top, "\\endfirsthead", *top, "\\endhead", "\\bottomrule", "\\endfoot"],
        *body,
        "\\end{longtable}",
        "}",
    ]


def as_json(grid: Grid) -> str:
    """The shape that `--json` prints."""
    return json.dumps(grid.shape, ensure_ascii=False, indent=1) + "\n"


FORMS: dict[str, Callable[[Grid], str | bytes]] = {"md": as_markdown, "csv": as_csv, "xlsx": as_xlsx, "tex": as_latex, "json": as_json}


def written(grid: Grid, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The files that a grid was written to, one a format; raises UsageError and OutputError."""
    for name in formats:
        if name not in FORMS:
            raise UsageError(f"--to {name}: {grid.view} can be written as {', '.join(FORMS)}")
    paths = []
    for name in formats:
        path = folder / f"{slug(grid.name)[:60]}.{slug(grid.view)[:60]}.{name}"
        write_whole(path, FORMS[name](grid))
        paths.append(path)
    return paths


def _words(text: str) -> str:
    return markdown(plain(text))


def _tex(text: str) -> str:
    return "$\\cdot$" if text == GAP else breakable(plain(text))
