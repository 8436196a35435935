"""What is pasted into a paper compiles: with every hostile title, no line far too wide, and no citation undefined."""

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.document import Assignment, Cell, Column, Document, Group, Node, Row, Unassigned
from assistant.export import grids, written
from assistant.export.grids import Grid
from tests.assistant.test_export import HOSTILE, documents, source

PREAMBLE = r"""\documentclass%s{article}
\usepackage[T1]{fontenc}\usepackage{booktabs,tabularx,longtable,array,pdflscape}\usepackage[edges]{forest}\usepackage[numbers]{natbib}
\begin{document}
"""
WORST = 3.0
"""Points by which a line may be too wide."""

pytestmark = pytest.mark.skipif(shutil.which("pdflatex") is None or shutil.which("bibtex") is None, reason="LaTeX is not installed")


def compiled(folder: Path, names: list[str], options: str = "") -> str:
    """The log of a paper that inputs these files, after BibTeX; skips where the machine lacks one of the packages."""
    inputs = "\n".join(f"\\input{{{name}}}\\clearpage" for name in names)
    paper = PREAMBLE % options + inputs + "\n\\bibliographystyle{plain}\\bibliography{all}\n\\end{document}\n"
    (folder / "paper.tex").write_text(paper, "utf-8")
    latex = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape"]
    for command in ([*latex, "-draftmode", "paper"], ["bibtex", "paper"], [*latex, "-draftmode", "paper"], [*latex, "paper"]):
        subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=200)
    log = (folder / "paper.log").read_text("utf-8", errors="replace")
    if missing := re.search(r"File `([^']+\.sty)' not found", log):
        pytest.skip(f"{missing[1]} is not installed")
    return log


def faults(log: str, worst: float = WORST) -> list[str]:
    """What a reader would see: errors, undefined citations, lines that stand out too far."""
    wide = [line for line in log.splitlines() if (found := re.match(r"Overfull \\hbox \(([\d.]+)pt", line)) and float(found[1]) > worst]
    return [line for line in log.splitlines() if line.startswith("!") or "undefined" in line] + wide


def test_hostile_titles_compile(tmp_path: Path) -> None:
    """Every hostile text in every field of every kind of document, in one paper."""
    names = []
    for number, text in enumerate(HOSTILE):
        for document in documents(text):
            if document.task != "taxonomy":  # one tree holds them all
                (path,) = written(document, tmp_path / f"{number}{document.task}", ["tex"])
                names.append(str(path.relative_to(tmp_path)))
    nodes = tuple(Node(f"n{number}", text, text, facet="f") for number, text in enumerate(HOSTILE))
    entries = {f"k{number}": source(f"k{number}", text, venue=text) for number, text in enumerate(HOSTILE)}
    entries |= {key: source(key, key) for key in ("a2026x", "b")}
    tree = Document("taxonomy", "tree", nodes=nodes, assignments=tuple(Assignment(key, f"n{at}") for at, key in enumerate(entries)), sources=entries)
    names += [path.name for path in written(tree, tmp_path, ["tex"])]
    written(Document("table", "all", sources=entries), tmp_path, ["bib"])
    assert faults(compiled(tmp_path, names), worst=8) == []  # an address in a narrow line of text


WORDS = "reinforcement-learning generalisation of vision-language-action-models RLVR/GRPO_style under_partial_observability 81.3% Qwen2.5-VL-72B-Instruct"


@pytest.mark.parametrize("options", ["", "[twocolumn]"])
def test_tables_and_trees_fit_the_page(tmp_path: Path, options: str) -> None:
    """Two, five and nine columns, two and sixty papers, one to four levels: nothing stands out, and no citation is undefined."""
    sources = {f"key{at}": source(f"key{at}", f"Name{at}: {WORDS}", authors=(f"Ada Lovelace{at}", "B C", "D E")) for at in range(60)}
    names = []

    def made(document: Document) -> None:
        names.extend(path.name for path in written(document, tmp_path, ["tex"]))

    for columns, papers in ((2, 2), (5, 6), (9, 60)):
        if options and papers == 60:
            continue  # a long table stands in no column of two, as LaTeX says
        every = tuple(Column(f"c{at}", f"Vision-language-action column {at}", "?", "text") for at in range(columns))
        cells = {f"c{at}": Cell(WORDS[: 30 + 20 * at], WORDS[: 30 + 20 * at], "stated") if at % 3 else Cell(None, "", "not stated") for at in range(columns)}
        whole = Document("table", f"table {columns}", columns=every, rows=tuple(Row(f"key{at}", cells) for at in range(papers)), sources=sources)
        made(whole)
        groups = (Group(HOSTILE[0], tuple(row.key for row in whole.rows)), Group(WORDS, tuple(row.key for row in whole.rows[:2])))
        made(replace(whole, name=f"grouped {columns}", groups=groups))
        if not options:
            made(replace(whole, name=f"turned {columns}", groups=groups[:1], transposed=True))
            grid = Grid("t", f"count {columns}", ["one by other", *HOSTILE[: columns * 2]], [[text, *["·", "12"] * columns] for text in HOSTILE], HOSTILE, {}, HOSTILE[0])
            (path,) = grids.written(grid, tmp_path, ["tex"])
            names.append(path.name)
    for depth, facets in ((1, 1), (2, 1), (4, 1), (4, 2)):
        nodes, leaves = [], []
        for top in range(4):
            parent = ""
            for level in range(depth):
                nodes.append(Node(f"n{top}{level}", f"Vision-language-action generalisation {top} {level}", "What tells it apart from its siblings.", parent, f"facet {top % facets}"))
                parent = f"n{top}{level}"
            leaves.append(parent)
        placed = tuple(Assignment(f"key{at}", leaves[0] if at < 20 else leaves[at % 4]) for at in range(40))
        tree = Document("taxonomy", f"tree {depth} {facets}", nodes=tuple(nodes), assignments=placed, unassigned=(Unassigned("key50", "none fits"),), sources=sources)
        written(tree, tmp_path, ["tex"])
        names.append(f"tree-{depth}-{facets}.tex")
        if not options:
            names.append(f"tree-{depth}-{facets}.table.tex")
    whole = Document("table", "all", rows=tuple(Row(key, {}) for key in sources), sources=sources)
    written(whole, tmp_path, ["bib"])
    log = compiled(tmp_path, names, options)
    assert faults(log) == []
    assert "Output written on paper.pdf" in log.replace("\n", "")
