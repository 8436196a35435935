"""Tables and trees that a person edited in a spreadsheet: what `--from FILE` does."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import click

from assistant.cli.base import note
from assistant.document import Document
from assistant.export.reading import changed_cells, moved_papers
from assistant.files import read_columns, read_tree, write_kept
from assistant.tables import ByHand, read_decisions, with_cell
from assistant.tasks.desk import with_sources
from assistant.tree import Tree
from assistant.treefiles import edited
from store.library import Library
from store.paper import Paper

from_option = click.option(
    "--from", "edited_file", type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Read back a CSV or XLSX export that you edited; what you changed is yours. Asks no model.",
)  # fmt: skip


def edited_table(library: Library, name: str, path: Path, papers: Sequence[Paper], file: Path) -> Document:
    """The table with the cells that the file changes, which its own file says from now on; what could not be taken is reported as failed."""
    from assistant.tasks import table

    columns = read_columns(path)

    def now() -> Document:
        return with_sources(library, table.document(library, name, columns, papers, decisions=read_decisions(library.folder, name)))

    found = changed_cells(file, now(), _present(papers))
    text = path.read_text("utf-8")
    for (key, column), cell in found.cells.items():
        text = with_cell(text, ByHand(key, column, cell.value, cell.status))
    if found.cells:
        write_kept(path, text)
    note(f"{len(found.cells)} cells are yours now, as {file} has them; {path} says so")
    if found.newer:
        note(f"{found.newer} cells changed since the export and stay as they are now: the file has them as they were")
    return _with_odd(now(), found.odd)


def edited_tree(library: Library, name: str, path: Path, papers: Sequence[Paper], file: Path) -> Document:
    """The tree with the papers filed as the file has them, which its own file says from now on."""
    from assistant.tasks import taxonomy

    found = moved_papers(file, with_sources(library, taxonomy.document(library, name, Tree(*read_tree(path)), papers)), _present(papers))
    keys = {paper.key: (paper.key, *paper.aliases) for paper in papers}
    if found.nodes:
        edited(path, lambda edit: [edit.file(keys[key], [node]) for key, node in found.nodes])
    note(f"{len(found.nodes)} papers are filed by hand now, as {file} has them; {path} says so")
    if found.newer:
        note(f"{found.newer} papers moved since the export and stay where they are now: the file has them where they were")
    return _with_odd(with_sources(library, taxonomy.document(library, name, Tree(*read_tree(path)), papers)), found.odd)


def _present(papers: Sequence[Paper]) -> Mapping[str, str]:
    return {alias: paper.key for paper in papers for alias in paper.aliases}


def _with_odd(document: Document, odd: Sequence[str]) -> Document:
    return replace(document, report=replace(document.report, failed=(*document.report.failed, *odd)))
