r"""A document as LaTeX to paste into a paper: booktabs tables, a forest tree, text with \\cite."""

from collections.abc import Iterable, Sequence

from assistant.document import NOTE_WARNING, SUMMARY_FIELDS, Document, Node, Statement
from assistant.export import names
from assistant.export.escape import latex, plain
from assistant.export.markdown import shown

ABSENT = {"–": "--"}
WIDTHS = (1, 1.2, 0.7, 0.8, 0.8, 1.5)
"""How wide the columns of summaries are to one another: a category is a word, results are several lines."""


def write(document: Document) -> str:
    """The part of a paper that this document is, after a comment that says what it needs."""
    body = {"ask": _text, "draft": _text, "table": _table, "taxonomy": _tree, "summarize": _summaries}[document.task](document)
    warning = [f"% {NOTE_WARNING}"] if document.rests_on_notes() else []
    return "\n".join([*warning, *body]) + "\n"


def sentence(statement: Statement) -> str:
    r"""A statement with \\cite before its full stop."""
    keys = list(dict.fromkeys(cite.key for cite in statement.cites))
    text, end = (statement.text[:-1], statement.text[-1]) if statement.text[-1:] in ".!?。" else (statement.text, "")
    cited = f"~\\cite{{{','.join(keys)}}}" if keys else ""
    return f"{latex(text)}{cited}{end}"


def _text(document: Document) -> list[str]:
    lines = []
    for section in document.sections:
        lines += [f"\\paragraph{{{latex(section.heading)}}}"] if section.heading else []
        lines += [*(sentence(statement) for statement in section.statements), ""]
    return lines


def _table(document: Document) -> list[str]:
    rows = [(row.key, [_silent(shown(row.cells.get(column.id))) for column in document.columns]) for row in document.rows]
    return _longtable(document, [column.name for column in document.columns], rows)


def _summaries(document: Document) -> list[str]:
    """A row a paper, wide enough for a page turned sideways."""
    rows = []
    for summary in document.summaries:
        said = [*map(str, summary.results), *(["see paper"] if summary.blocked else [])]
        results = r" \newline ".join(f"\\textbullet~{latex(plain(result))}" for result in said) or "--"
        rows.append((summary.key, [*(_silent(shown(summary.cells[field])) for field in SUMMARY_FIELDS), results]))
    return ["% best within \\begin{landscape} of \\usepackage{pdflscape}", *_longtable(document, [*SUMMARY_FIELDS.values(), "Results"], rows, WIDTHS)]


def _silent(text: str) -> str:
    return latex(ABSENT.get(text, text))


def _longtable(document: Document, names_of_columns: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]], widths: Sequence[float] = ()) -> list[str]:
    """A long table of papers by columns, equally wide or in these proportions; the cells are LaTeX already."""
    shares = widths or [1] * len(names_of_columns)
    room = 0.88 - 0.025 * len(names_of_columns)  # what the gaps between columns leave
    columns = "".join(f">{{\\raggedright\\arraybackslash}}p{{{room * share / sum(shares):.3f}\\linewidth}}" for share in shares)
    head = " & ".join(["Paper", *(latex(name) for name in names_of_columns)])
    lines = [
        "% needs \\usepackage{booktabs,longtable,array}",
        "{\\footnotesize",
        f"\\begin{{longtable}}{{p{{0.10\\linewidth}}{columns}}}",
        f"\\caption{{{latex(document.name)}. -- is not stated in the abstract.}}\\\\",
        "\\toprule",
        f"{head} \\\\",
        "\\midrule",
        "\\endhead",
        "\\bottomrule",
        "\\endfoot",
    ]
    for key, cells in rows:
        source = document.sources.get(key)
        lines.append(" & ".join([f"{latex(names.byline(source)) if source else ''}~\\cite{{{key}}}", *cells]) + " \\\\")
    return [*lines, "\\end{longtable}", "}"]


def _tree(document: Document) -> list[str]:
    lines = [
        "% needs \\usepackage[edges]{forest}",
        "\\begin{forest}",
        "  for tree={grow'=east, draw, rounded corners, node options={align=left}, font=\\footnotesize, anchor=west, parent anchor=east,",
        "    child anchor=west, text width=11em, edge+={semithick}, l sep=6mm, s sep=1.5mm}, forked edges",
        f"  [{{{latex(document.name)}}}",
    ]
    for node in document.nodes:
        if not node.parent:
            lines += _branch(document, node, 2)
    return [*lines, "  ]", "\\end{forest}"]


def _branch(document: Document, node: Node, depth: int) -> list[str]:
    """A node in the syntax of forest; braces keep commas and brackets of a label from being read as syntax."""
    indent = "  " * depth
    keys = [one.key for one in document.assignments if one.node == node.id and one.rank == 1]
    lines = [f"{indent}[{{{latex(plain(node.label))}}}"]
    for child in document.nodes:
        if child.parent == node.id:
            lines += _branch(document, child, depth + 1)
    if keys:
        lines.append(f"{indent}  [{{\\cite{{{','.join(keys)}}}}}, text width=10em]")
    return [*lines, f"{indent}]"]
