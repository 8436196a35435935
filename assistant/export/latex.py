r"""A document as LaTeX to paste into a paper: booktabs tables, a forest tree, text with \\cite; its checks as comments at the end."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from assistant.document import NOTE_WARNING, SUMMARY_FIELDS, Column, Document, Statement
from assistant.export import names
from assistant.export.checks import FAILED, found
from assistant.export.escape import OTHER_SCRIPT_DEFINED, PART_DEFINED, breakable, plain, printed, prose, remark
from assistant.export.layout import parts, turned
from assistant.export.markdown import ABSENT, ALREADY, LEGEND, STATES, shown, summary
from assistant.export.tree import Branch, branches, walked


class Commands(NamedTuple):
    """The commands of a style: for a bracket, for a paper that is a word of its sentence (none where LaTeX alone has none), and what they need."""

    bracket: str
    named: str = ""
    needs: str = ""


COMMANDS = {
    "citep": Commands("citep", "citet", "\\usepackage{natbib}"),
    "cite": Commands("cite"),
    "autocite": Commands("autocite", "textcite", "\\usepackage{biblatex}"),
}
"""Styles that LaTeX has; a text that is to cite in another way is written for natbib."""
FIRST_COLUMN = 0.14
"""How much of the line the papers' names take."""
LINES_ON_A_PAGE, LINE = 40, 95
"""What a table may have to stand on one page, by the characters of a line of it."""
COLUMNS_UPRIGHT = 5
"""More columns than these want a page turned sideways."""
PAPERS_ABREAST = 6
"""Papers that stand beside each other in a table that is turned."""
NAMED_IN_A_LEAF = 8
"""Papers of a leaf that are named before their citation; of more only the citation stands."""
FOREST_LINES = 58
"""Lines of a tree that fit on a page; a longer one is drawn branch by branch."""
ROOT, GAP, LEAF = 0.075, 0.055, 0.36
"""Shares of the line: the root on its side, the room between two levels, the least that a leaf takes."""
FOREST_STYLE = (
    "  forked edges,",
    "  for tree={grow'=east, draw, rounded corners=2pt, line width=0.5pt, font=\\footnotesize, node options={align=flush left},",
    "    anchor=west, parent anchor=east, child anchor=west, base=left, edge={draw, line width=0.5pt},",
    "    inner xsep=3pt, inner ysep=3pt, l sep=0.03\\linewidth, s sep=3pt, fork sep=0.015\\linewidth},",
    "  root side/.style={rotate=90, anchor=center, parent anchor=south, child anchor=north, node options={align=center}},",
    "  leaf/.style={draw=black!40, fill=black!4},",
)


def write(document: Document) -> str:
    """The part of a paper that this document is, after comments that say what it needs, and with its checks behind it."""
    body = {"ask": _text, "draft": _text, "table": _table, "taxonomy": _tree, "summarize": _summaries}[document.task](document)
    return _whole(document, [*body, *_report(document)])


def plain_tree(document: Document) -> str:
    """A taxonomy as a table, for converters that cannot draw a tree."""
    rows = []
    for labels, branch in walked(branches(document)):
        keys = [one.key for one in branch.papers]
        definition = branch.node.definition if branch.node else ""
        label = f"\\hspace*{{{len(labels) - 1}em}}{breakable(plain(branch.label))}"
        rows.append([label, breakable(plain(definition)), f"\\cite{{{','.join(keys)}}}" if keys else ""])
    head = ["Node", "Definition", "Papers"]
    return _whole(document, _longtable(document.name, head, rows, (0.28, 0.42, 0.30)))


def sentence(statement: Statement, commands: Commands = COMMANDS["citep"]) -> str:
    r"""A statement with \\citep before its full stop, and \\citet where a paper is a word of it."""
    pieces = names.parted(statement)
    parts, rest, end = pieces if commands.named else names.joined(pieces)
    words = []
    for at, part in enumerate(parts):
        if not part.key:
            words.append(names.spaced(part.text, prose))
        elif not commands.named:
            words.append(prose(part.text) + (f"~\\{commands.bracket}{{{part.key}}}" if part.is_cite else ""))
        else:
            command = commands.named if part.is_cite else "citeauthor"
            is_raised = not at and statement.named[0].name[0].islower()  # van Beethoven, who begins a sentence
            words.append(f"\\{command.capitalize() if is_raised else command}{{{part.key}}}")
    cited = f"~\\{commands.bracket}{{{','.join(rest)}}}" if rest else ""
    return names.ended(f"{''.join(words)}{cited}", printed(end))


def _whole(document: Document, body: Sequence[str]) -> str:
    warning = [f"% {NOTE_WARNING}"] if document.rests_on_notes() else []
    if document.citations in COMMANDS and document.task not in {"ask", "draft"}:
        chosen = COMMANDS[document.citations]
        needs = [f"% needs {chosen.needs}"] if chosen.needs else []
        body = [*needs, *(line.replace("\\cite{", f"\\{chosen.bracket}{{") for line in body)]
    scripts = OTHER_SCRIPT_DEFINED if any("\\otherscript" in line for line in body) else ()
    parts = [PART_DEFINED] if any("\\partat" in line for line in body) else []
    return "\n".join(["% needs \\usepackage[T1]{fontenc} with pdfLaTeX", *warning, *parts, *scripts, *body]) + "\n"


def _report(document: Document) -> list[str]:
    """The integrity report as comments: what is pasted brings it along."""
    lines = ["", remark(f"Checks: {summary(document.report)}")]
    for one in found(document):
        better = f"; better: {one.better}" if one.better else ""
        lines.append(remark(f"{one.state}: {one.statement}" if one.state == FAILED else f"{one.state}, {one.rule}: {one.statement} ({one.reason}{better})"))
    return lines


def _text(document: Document) -> list[str]:
    commands = COMMANDS.get(document.citations, COMMANDS["citep"])
    lines = [f"% needs {commands.needs}"] if commands.needs else []
    for section in document.sections:
        lines += [f"\\paragraph{{{prose(section.heading)}}}"] if section.heading else []
        lines += [*(sentence(statement, commands) for statement in section.statements), ""]
    return [*lines, *(_table(document, "Closest papers") if document.rows else ()), *_novelty(document)]


def _novelty(document: Document) -> list[str]:
    """The claims of the person's own abstract as comments: a paper is not the place for them."""
    lines = [remark(f"{ALREADY}")] if document.novelty else []
    for one in document.novelty:
        lines.append(remark(f"{one.claim.place}: {one.claim.quote}"))
        lines += [remark(f"    {cite.key} {','.join(map(str, cite.sentences))}: {cite.quote}") for cite in one.cites]
        lines.append(remark(f"    {STATES[one.state]}: {one.reason}"))
    return lines


# -- tables


def _table(document: Document, name: str = "") -> list[str]:
    """A table that fits on a page as tabularx in a float, a longer one as longtable; many columns on a page turned sideways."""
    if document.transposed:
        return _turned(document)
    cells = [[shown(row.cells.get(column.id)) for column in document.columns] for row in document.rows]
    head = ["Paper", *map(_name, document.columns)]
    by_key = {row.key: [_paper(document, row.key), *map(_silent, said)] for row, said in zip(document.rows, cells, strict=True)}
    rows: list[Sequence[str]] = []
    for heading, some in parts(document):
        rows += [[_heading(heading, len(head))]] if heading else []
        rows += [by_key[row.key] for row in some]
    widths = _widths([[column.name, *(said[at] for said in cells)] for at, column in enumerate(document.columns)])
    caption = f"{name or document.name}. {LEGEND}"
    lines = {row.key: max(1, sum(map(len, said)) // LINE + 1) for row, said in zip(document.rows, cells, strict=True)}
    long = sum(bool(heading) + sum(lines[row.key] for row in some) for heading, some in parts(document))
    if long <= LINES_ON_A_PAGE and len(document.columns) <= COLUMNS_UPRIGHT:
        return _tabularx(caption, head, rows, widths)
    return _sideways(_longtable(caption, head, rows, widths), is_wide=len(document.columns) > COLUMNS_UPRIGHT)


def _turned(document: Document) -> list[str]:
    """A column a paper: a table for each group, and for each handful of papers, since a page is only so wide."""
    lines: list[str] = []
    for heading, rows in parts(document):
        some = [rows[at : at + PAPERS_ABREAST] for at in range(0, len(rows), PAPERS_ABREAST)]
        for number, papers in enumerate(some, 1):
            said = [[shown(row.cells.get(column.id)) for column in document.columns] for row in papers]
            names = [_name(column) for column in document.columns]
            head = ["", *(_paper(document, row.key) for row in papers)]
            body = [[name, *map(_silent, line)] for name, line in zip(names, turned(said), strict=True)]
            part = f" ({number} of {len(some)})" if len(some) > 1 else ""
            caption = f"{document.name}{f', {heading}' if heading else ''}{part}. {LEGEND}"
            width = (1 - FIRST_COLUMN) / len(papers)
            is_wide = len(papers) > COLUMNS_UPRIGHT - 1
            lines += [*_sideways(_longtable(caption, head, body, [FIRST_COLUMN, *[width] * len(papers)]), is_wide=is_wide), ""]
    return lines


def _name(column: Column) -> str:
    return breakable(plain(f"{column.name} ({column.unit})" if column.unit else column.name))


def _heading(text: str, columns: int) -> str:
    """The heading of a group over all columns; one that a line cannot hold goes on in the next."""
    form = "l" if len(text) <= LINE * 2 // 3 else "p{0.95\\linewidth}"
    return f"\\multicolumn{{{columns}}}{{{form}}}{{\\textit{{{breakable(plain(text))}}}}}"


def _summaries(document: Document) -> list[str]:
    """A row a paper, on a page turned sideways."""
    rows = []
    for one in document.summaries:
        said = [*map(str, one.results), *(["see paper"] if one.blocked else [])]
        results = r" \newline ".join(f"\\textbullet~{breakable(plain(result))}" for result in said) or "--"
        rows.append([_paper(document, one.key), *(_silent(shown(one.cells[field])) for field in SUMMARY_FIELDS), results])
    caption = f"{document.name}. {LEGEND}"
    shares = (1, 1.2, 0.7, 0.8, 0.8, 1.5)
    widths = [FIRST_COLUMN, *((1 - FIRST_COLUMN) * share / sum(shares) for share in shares)]
    return _sideways(_longtable(caption, ["Paper", *SUMMARY_FIELDS.values(), "Results"], rows, widths), is_wide=True)


def _paper(document: Document, key: str) -> str:
    source = document.sources.get(key)
    return f"{breakable(names.byline(source))}~\\cite{{{key}}}" if source else f"\\cite{{{key}}}"


def _silent(text: str) -> str:
    return "--" if text == ABSENT["not stated"] else breakable(text)


def _widths(columns: Sequence[Sequence[str]]) -> list[float]:
    """Shares of the line, the papers' first; a column with more to say is wider, and none is so narrow that its words break."""
    longest = [max((len(word) for text in column for word in text.split()), default=1) for column in columns]
    weights = [max(min(word, 14), (sum(map(len, column)) / len(column)) ** 0.5 * 2) for word, column in zip(longest, columns, strict=True)]
    return [FIRST_COLUMN, *((1 - FIRST_COLUMN) * weight / sum(weights) for weight in weights)]


def _tabularx(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[float]) -> list[str]:
    columns = "".join(f">{{\\hsize={width * len(widths):.3f}\\hsize\\raggedright\\hspace{{0pt}}\\arraybackslash}}X" for width in widths)
    return [
        "% needs \\usepackage{booktabs,tabularx}",
        "\\begin{table*}[htbp]",
        "\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        f"\\caption{{{printed(caption)}}}",
        f"\\begin{{tabularx}}{{\\linewidth}}{{@{{}}{columns}@{{}}}}",
        "\\toprule",
        f"{' & '.join(head)} \\\\",
        "\\midrule",
        *_spaced(rows),
        "\\bottomrule",
        "\\end{tabularx}",
        "\\end{table*}",
    ]


def _longtable(caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], widths: Sequence[float]) -> list[str]:
    """A table over several pages, of columns by their shares of the line; the cells are LaTeX already."""
    top = ["\\toprule", f"{' & '.join(head)} \\\\", "\\midrule"]
    columns = "".join(f">{{\\raggedright\\hspace{{0pt}}\\arraybackslash}}p{{\\dimexpr{width:.4f}\\linewidth-2\\tabcolsep\\relax}}" for width in widths)
    return [
        "% needs \\usepackage{booktabs,longtable,array}",
        "{\\footnotesize\\setlength{\\tabcolsep}{3pt}",
        f"\\begin{{longtable}}{{{columns}}}",
        f"\\caption{{{printed(caption)}}}\\\\",
        *top,
        "\\endfirsthead",
        f"\\multicolumn{{{len(head)}}}{{l}}{{\\tablename\\ \\thetable, continued}}\\\\",
        *top,
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
        *_spaced(rows),
        "\\end{longtable}",
        "}",
    ]


def _spaced(rows: Iterable[Sequence[str]]) -> list[str]:
    """The rows with a little room between them, since each may take several lines; a heading stays with the row below it."""
    lines = [line for row in rows for line in (f"{' & '.join(row)} \\\\{'*' if len(row) == 1 else ''}", "\\addlinespace")]
    return lines[:-1]


def _sideways(lines: Sequence[str], *, is_wide: bool) -> list[str]:
    return ["% needs \\usepackage{pdflscape}", "\\begin{landscape}", *lines, "\\end{landscape}"] if is_wide else [*lines]


# -- trees


def _tree(document: Document) -> list[str]:
    """The tree as a figure; one that no page could hold is a figure a branch of the first level."""
    tops = branches(document)
    head = ["% needs \\usepackage[edges]{forest}; NAME.table.tex beside this file is the same tree as a table"]
    if sum(_lines(branch) for branch in tops) <= FOREST_LINES or len(tops) == 1:
        return [*head, *_figure(document, document.name, tops)]
    return [*head, *(line for branch in tops for line in [*_figure(document, branch.label, branch.children or (branch,)), ""])]


def _lines(branch: Branch) -> int:
    """About how many lines of a figure a branch takes."""
    leaf = 1 + (len(branch.papers) * 22) // 40 if branch.papers else 0
    return max(2, leaf + sum(_lines(child) for child in branch.children))


def _figure(document: Document, title: str, tops: Sequence[Branch]) -> list[str]:
    depth = max((branch.depth for branch in tops), default=1)
    label = max(0.08, (1 - ROOT - LEAF - (depth + 1) * GAP) / depth)
    label = min(label, 0.2)
    leaf = 1 - ROOT - depth * label - (depth + 1) * GAP
    lines = [
        "\\begin{figure*}[htbp]",
        "\\centering",
        "\\begin{forest}",
        *FOREST_STYLE,
        f"  where n children=0{{}}{{text width={label:.3f}\\linewidth}},",
        f"  leaf/.append style={{text width={leaf:.3f}\\linewidth}}, bare/.style={{text width={label:.3f}\\linewidth}},",
        f"  [{{{printed(plain(title))}}}, root side, text width=12em",
    ]
    for branch in tops:
        lines += _branch(document, branch, 2)
    return [*lines, "  ]", "\\end{forest}", f"\\caption{{{printed(plain(title))}.}}", "\\end{figure*}"]


def _branch(document: Document, branch: Branch, depth: int) -> list[str]:
    """A node in the syntax of forest; braces keep commas and brackets of a label from being read as syntax."""
    indent = "  " * depth
    keys = [one.key for one in branch.papers if one.rank == 1]
    bare = "" if keys or branch.children else ", bare"
    lines = [f"{indent}[{{{breakable(plain(branch.label))}}}{bare}"]
    for child in branch.children:
        lines += _branch(document, child, depth + 1)
    if keys:
        lines.append(f"{indent}  [{{{_leaf(document, keys)}}}, leaf]")
    return [*lines, f"{indent}]"]


def _leaf(document: Document, keys: Sequence[str]) -> str:
    """The papers of a leaf by name and citation, as surveys print them; many by citation alone."""
    if len(keys) > NAMED_IN_A_LEAF:
        return f"\\cite{{{','.join(keys)}}}"
    named = (f"{breakable(names.short(document.sources[key]))}~" if key in document.sources else "" for key in keys)
    return ", ".join(f"{name}\\cite{{{key}}}" for name, key in zip(named, keys, strict=True))
