"""The command about comparison tables: columns given or proposed, cells filled, tidied, set by hand, looked at in many ways."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from assistant.cli.base import Context, note, print_json, print_table, progress
from assistant.cli.edited import edited_table, from_option
from assistant.cli.library import scope_of, scope_options
from assistant.cli.looks import apart_said, changes_grid, counts_grid, disagreements_grid, gaps_said
from assistant.cli.model import (
    HOW_TO_SET,
    LONG_REPLY,
    WORDING,
    Asking,
    asking,
    confirm_price,
    desk,
    ended,
    finish,
    formats_option,
    model_options,
    output_option,
    quoted,
    show_options,
)
from assistant.document import Cell, Column, Document, Group
from assistant.errors import UsageError
from assistant.export.grids import GAP, Grid
from assistant.export.grids import written as grid_written
from assistant.export.markdown import shown
from assistant.files import check_columns, last_change, read_columns, table_file, undone, with_columns, write_kept
from assistant.tables import (
    ByHand,
    Decisions,
    checked_name,
    column_of,
    given_value,
    mapping_file,
    nearest,
    proposed,
    read_decisions,
    read_mapping,
    with_cell,
    with_cells_of,
    with_mapping,
    without_cell,
)
from assistant.tasks.desk import PACK, with_sources
from assistant.tree import Tree
from store.keys import slug
from store.library import Library
from store.scope import Scope

if TYPE_CHECKING:
    from assistant.tasks.changes import Changes
    from assistant.tasks.tidy import Proposal
    from assistant.tasks.views import Counts, Disagreement

COLUMN = re.compile(r"(?P<name>[^:=?]+?)\s*(?:\((?P<type>[a-z/]+)(?:\s+in\s+(?P<unit>[^);]+))?(?:;\s*(?P<words>[^)]*))?\))?\s*[:=]\s*(?P<question>.+)")
HOW_TO_COLUMN = "write 'Name: question', or 'Name (type): question' with a type, a unit or words: (number in %), (category; word, word)"
TOKENS_EACH = 40
"""Tokens out a cell, about what it took in the trial."""


class Given(NamedTuple):
    """What the options of the command say of columns, of cells, and of what comes next."""

    columns_from: Path | None
    like: str | None
    columns: tuple[str, ...]
    intent: str | None
    columns_only: bool
    accept: bool
    undo: bool
    tidy: bool
    set_cells: tuple[tuple[str, str], ...]
    unset_cells: tuple[tuple[str, str], ...]


class Look(NamedTuple):
    """What the options say of how the stored table is looked at."""

    sort: str | None
    group: str | None
    where: tuple[str, ...]
    transpose: bool
    counted: str | None
    by: str | None
    disagreements: bool
    diff: bool


class At(NamedTuple):
    """A table that a command is about: its name, its folder, and the papers looked at."""

    context: Context
    name: str
    scope: Scope | None

    @property
    def path(self) -> Path:
        """The file of its columns."""
        return table_file(self.context.folder, self.name)

    @property
    def mapping(self) -> Path:
        """The file of its mapping."""
        return mapping_file(self.context.folder, self.name)

    def columns(self) -> tuple[Column, ...]:
        """Its columns; raises UsageError where it has none yet."""
        if not self.path.exists():
            raise UsageError(
                f"the table {self.name!r} has no columns yet: give --column 'Name: question' for each, --columns FILE, --like TABLE,"
                " or --intent 'what it is for' to have some proposed"
            )
        return read_columns(self.path)

    def decisions(self) -> Decisions:
        """What a person decided of it."""
        return read_decisions(self.context.folder, self.name)

    def stored(self, library: Library) -> Document:
        """The table as it is stored, with its sources."""
        from assistant.tasks import table

        return with_sources(library, table.document(library, self.name, self.columns(), library.considered(self.scope), decisions=self.decisions()))


@click.command()
@click.argument("name")
@click.option("--columns", "columns_from", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Take the columns of this TOML file.")
@click.option("--like", metavar="TABLE", help="Take the columns of another table of this library.")
@click.option("--column", "columns", multiple=True, help="A column: 'Name: question', or 'Name (number in %): question'.")
@click.option("--intent", help="What the table is for: have columns proposed from the papers.")
@click.option("--columns-only", is_flag=True, help="Stop after the columns, to look at them and edit them.")
@click.option("--accept", is_flag=True, help="Take what was proposed beside the table's files, as it stands there now.")
@click.option("--undo", is_flag=True, help="Take back the last change of the table's file or of its mapping.")
@click.option("--tidy", is_flag=True, help="Propose one wording for one value, and one unit a column; the wording that was read stays.")
@click.option("--set", "set_cells", nargs=2, multiple=True, metavar="KEY COLUMN=VALUE", help="Set a cell by hand; it is kept over every rerun.")
@click.option("--unset", "unset_cells", nargs=2, multiple=True, metavar="KEY COLUMN", help="Give the cell that was read back.")
@click.option("--sort", metavar="COLUMN[:desc]", help="Rows in the order of a column, of year, title or key.")
@click.option("--group", metavar="COLUMN|node:TREE", help="Rows in groups, by a column or by the nodes of a taxonomy.")
@click.option("--where", multiple=True, metavar="'COLUMN=value'", help="Only such rows; also != < <= > >= and ~ (holds these words).")
@click.option("--transpose", is_flag=True, help="A column a paper, a row a question.")
@click.option("--count", "counted", metavar="COLUMN", help="How many papers have which value; values that none has are named as gaps.")
@click.option("--by", metavar="COLUMN", help="With --count: against the values of another column, or node:TREE.")
@click.option("--disagreements", is_flag=True, help="Papers that state opposite things in one column, with both sentences.")
@from_option
@click.option("--diff", is_flag=True, help="What is different since before the last run, cell by cell.")
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def table(
    context: Context,
    /,
    name: str,
    edited_file: Path | None,
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    """Makes the table NAME, or brings it up to date: papers by columns, each cell with the sentence it rests on.

    Columns stand in tables/NAME.toml, yours to edit; an edited question refills that column alone.
    """
    wanted, given = asking(options), Given(*(options.pop(field) for field in Given._fields))  # type: ignore[arg-type]  # click made the types
    look = Look(*(options.pop(field) for field in Look._fields))  # type: ignore[arg-type]  # click made the types
    if look.by and not look.counted:
        raise UsageError("--by goes with --count: --count COLUMN --by COLUMN")
    at = At(context, checked_name(name), scope_of(context, options))
    _decided(at, given)
    if given.intent and _proposed_columns(at, given, wanted):
        return
    decided = given.accept or given.undo or given.set_cells or given.unset_cells
    if given.columns_only or (decided and not (run or show or as_json or given.tidy or any(look))):
        if given.columns_only or given.accept or (given.undo and at.path.exists()):
            _say_columns(at.columns())
        return
    if given.tidy:
        _tidied(at, wanted)
        show = True
    document = _made(at, wanted, edited_file, stored_only=show or (not run and (as_json or any(look))))
    if look.counted or look.disagreements or look.diff:
        grid = _print_look(at, document, look, as_json=as_json)
        for path in grid_written(grid, output or context.folder / "exports", formats) if formats else ():
            note(f"wrote {path}")
        ended(document)
        return
    document = _arranged(at, document, look)
    finish(context, document, _print_rows, as_json=as_json, formats=formats, output=output)


def _made(at: At, wanted: Asking, edited_file: Path | None, *, stored_only: bool) -> Document:
    """The table after an edited file was read back, as it is stored, or brought up to date."""
    if edited_file:
        at.columns()  # there has to be a table
        library = at.context.library(keywords_only=True)
        return edited_table(library, at.name, at.path, library.considered(at.scope), edited_file)
    return at.stored(at.context.library(keywords_only=True)) if stored_only else _filled(at, wanted)


def _filled(at: At, wanted: Asking) -> Document:
    from assistant.tasks import table as task

    columns, decisions = at.columns(), at.decisions()
    with desk(at.context, wanted, keywords_only=True) as open_desk, progress("reading papers") as bar:
        papers = open_desk.library.considered(at.scope)
        waiting = task.batches(open_desk.library, at.name, columns, papers, again=wanted.again)
        calls = sum(-(-len(batch.papers) // PACK) for batch in waiting)
        characters = sum(len(paper.abstract) for batch in waiting for paper in batch.papers) + WORDING * calls
        cells = sum(len(batch.papers) * len(batch.columns) for batch in waiting)
        confirm_price(open_desk.gateway, wanted, calls, characters, TOKENS_EACH * cells)
        return task.fill(open_desk, at.name, columns, papers, bar, decisions, again=wanted.again)


def _decided(at: At, given: Given) -> None:
    """Writes what a person decided into the table's files: columns, accepted proposals, cells."""
    if given.undo:
        _undo(at)
    if given.columns_from or given.like or given.columns:
        _take_columns(at, given)
    if given.accept:
        _accept(at)
    for key, words in given.set_cells:
        _set(at, key, words)
    for key, words in given.unset_cells:
        _unset(at, key, words)


def _undo(at: At) -> None:
    """Takes back the last change of the table's file or of its mapping, whichever was later."""
    path = max(at.path, at.mapping, key=last_change)
    if not undone(path):
        note(f"no earlier version of {at.path} is kept")
    else:
        note(f"{path} is as it was before" if path.exists() else f"{path} is gone, as it was before")


def _take_columns(at: At, given: Given) -> None:
    if given.like and given.columns_from:
        raise UsageError("--like and --columns both give a set of columns; take one of them")
    source = given.columns_from or (table_file(at.context.folder, given.like) if given.like else None)
    if source and not source.exists():
        raise UsageError(f"there is no table {given.like!r} to take columns from ({source} is missing)")
    if at.path.exists():
        read_columns(at.path)  # a broken file is named, and left as it is
    text = old = at.path.read_text("utf-8") if at.path.exists() else ""
    if source and source.resolve() != at.path.resolve():
        read_columns(source)
        text = with_cells_of(source.read_text("utf-8"), old)
    if given.columns:
        text = with_columns(text, [_column(words) for words in given.columns])
        check_columns(at.path, text)
    write_kept(at.path, text)


def _column(words: str) -> Column:
    found = COLUMN.fullmatch(words.strip())
    if found is None:
        raise UsageError(f"--column {words!r}: {HOW_TO_COLUMN}")
    vocabulary = tuple(word.strip() for word in (found["words"] or "").split(",") if word.strip())
    return Column(slug(found["name"]), found["name"].strip(), found["question"].strip(), found["type"] or "text", (found["unit"] or "").strip(), vocabulary)


def _proposed_columns(at: At, given: Given, wanted: Asking) -> bool:
    """Has columns proposed; whether the command ends there, since the person's file is there and only they change it."""
    from assistant.tasks import columns as task

    have = read_columns(at.path) if at.path.exists() else ()
    with desk(at.context, wanted, keywords_only=True) as open_desk:
        papers = open_desk.library.considered(at.scope)
        found = task.propose(open_desk, at.name, given.intent or "", papers, have)
    is_beside = at.path.exists()  # it may have been written while the model was asked
    place = proposed(at.path) if is_beside else at.path
    write_kept(place, with_columns(f"# Columns proposed for: {' '.join((given.intent or '').split())}\n# Yours to edit; an edited question refills its column alone.\n", found))
    _say_columns(found)
    if is_beside:
        note(f"proposed in {place}; edit it, take columns away, then take it with `carrel table {at.name} --accept`")
    else:
        note(f"the columns are in {place}, yours to edit")
    return is_beside


def _accept(at: At) -> None:
    """Takes the proposals that stand beside the table's files; what a person wrote there is kept."""
    columns, mapping = proposed(at.path), proposed(at.mapping)
    if not columns.exists() and not mapping.exists():
        raise UsageError(f"nothing is proposed for the table {at.name!r}; --intent proposes columns, --tidy wordings")
    have = read_columns(at.path) if at.path.exists() else ()
    taken = read_columns(columns) if columns.exists() else ()
    wordings, units = read_mapping(mapping) if mapping.exists() else ({}, {})
    if mapping.exists() and at.mapping.exists():
        read_mapping(at.mapping)  # all four are read before any is written
    if taken:
        write_kept(at.path, with_columns(at.path.read_text("utf-8") if have else "", taken))
        columns.unlink()
        note(f"{at.path}: {', '.join(column.name for column in taken)} taken")
    if mapping.exists():
        values = {name: one.values for name, one in wordings.items()}
        write_kept(at.mapping, with_mapping(at.mapping.read_text("utf-8") if at.mapping.exists() else "", values, units), from_nothing=True)
        mapping.unlink()
        note(f"{at.mapping}: {sum(map(len, values.values()))} wordings and {len(units)} units taken")


def _cell_named(at: At, key: str, column: str) -> tuple[str, Column]:
    """The paper and column that a person names; raises UnknownPaper or UsageError with the nearest."""
    return at.context.library(keywords_only=True).paper(key).key, column_of(at.columns(), column)


def _set(at: At, key: str, words: str) -> None:
    name, equals, said = words.partition("=")
    if not equals:
        raise UsageError(f"--set {key} {words!r}: write KEY COLUMN=VALUE")
    known, column = _cell_named(at, key, name)
    value, status = given_value(column, said)
    write_kept(at.path, with_cell(at.path.read_text("utf-8"), ByHand(known, column.id, value, status)))
    note(f"{known}, {column.name}: {said.strip()}, set by hand")


def _unset(at: At, key: str, words: str) -> None:
    known, column = _cell_named(at, key, words)
    text, was_set = without_cell(at.path.read_text("utf-8"), known, column.id)
    if not was_set:
        raise UsageError(f"{known}, {column.name}: this cell was not set by hand")
    write_kept(at.path, text)
    note(f"{known}, {column.name}: shows again what was read")


def _tidied(at: At, wanted: Asking) -> None:
    """Has one wording proposed for one value; the first proposal is the mapping, later ones stand beside it."""
    from assistant.tasks import table, tidy

    library = at.context.library(keywords_only=True)
    columns, decisions = at.columns(), at.decisions()
    plain = Decisions(decisions.by_hand)
    read = table.document(library, at.name, columns, library.considered(at.scope), decisions=plain)
    library.close()
    coded = tidy.by_code(read, decisions)
    asked = tidy.waiting(read, decisions, coded)
    if asked and not _has_model(at, wanted):
        note(f"{', '.join(job.column.name for job in asked)}: many values, which code alone cannot put together; {HOW_TO_SET}")
    elif asked:
        with desk(at.context, wanted, keywords_only=True) as open_desk:
            characters = sum(len(one.text) for job in asked for one in job.wordings) + WORDING * len(asked)
            confirm_price(open_desk.gateway, wanted, len(asked), characters, LONG_REPLY * len(asked))
            coded = tidy.tidied(open_desk, read, decisions)
    _keep_proposal(at, coded)


def _has_model(at: At, wanted: Asking) -> bool:
    return bool(wanted.replay or wanted.model or at.context.settings().model_name)


def _keep_proposal(at: At, made: "Proposal") -> None:
    for name, why in made.left:
        note(f"{name}: left as it is, {why}")
    for item in made.failed:
        note(f"failed: {item}")
    if not made.values and not made.units:
        note("every value has one wording already")
        return
    place = proposed(at.mapping) if at.mapping.exists() else at.mapping
    write_kept(place, with_mapping("", made.values, made.units), from_nothing=place == at.mapping)
    for name, pairs in made.values.items():
        note(f"{name}: {len(pairs)} wordings become {len(set(pairs.values()))} values")
    for name, unit in made.units.items():
        note(f"{name}: sorts as a number{f' in {unit}' if unit else ''}")
    if place == at.mapping:
        note(f"the mapping is in {place}, yours to edit")
    else:
        note(f"proposed in {place}; edit it, then take it with `carrel table {at.name} --accept`")


def _say_columns(columns: Sequence[Column]) -> None:
    for column in columns:
        kind = f"{column.type}{f' in {column.unit}' if column.unit else ''}"
        click.echo(f"{column.name} ({kind}): {column.question}")
        for word, definition in column.words:
            click.echo(f"    {word}{f': {definition}' if definition else ''}")


def _arranged(at: At, document: Document, look: Look) -> Document:
    """The table as the options want to look at it; a name that is no column ends the command before anything is printed."""
    from assistant.tasks import views

    def field(said: str) -> views.Field:
        return views.field_of(document, said, _places(at, said))

    if look.where:
        document = views.where(document, look.where, field)
        note(f"{len(document.rows)} of {len(document.coverage)} papers fit")
    if look.sort:
        name, _, way = look.sort.rpartition(":") if look.sort.endswith((":desc", ":asc")) else (look.sort, "", "")
        document = views.sorted_by(document, field(name), downwards=way == "desc")
    if look.group:
        document = views.grouped(document, field(look.group))
    return replace(document, transposed=look.transpose)


def _places(at: At, said: str) -> dict[str, dict[str, tuple[str, ...]]]:
    """The nodes of each paper in the tree that a person names: `node:TREE`; nothing where they name a column."""
    from assistant.files import read_tree, taxonomy_file
    from assistant.tasks import taxonomy

    name = said.removeprefix("node:")
    if name == said:
        return {}
    path = taxonomy_file(at.context.folder, name)
    if not path.exists():
        trees = sorted(one.stem for one in path.parent.glob("*.toml") if not one.stem.endswith(".proposed"))
        raise UsageError(f"there is no tree {name!r}{nearest(name, trees) if trees else '; `carrel taxonomy` makes one'}")
    library = at.context.library(keywords_only=True)
    made = taxonomy.document(library, name, Tree(*read_tree(path)), library.considered(at.scope))
    labels = {node.id: node for node in made.nodes}
    paths = {node.id: f"{labels[node.parent].label} / {node.label}" if node.parent in labels else node.label for node in made.nodes}
    placed: dict[str, tuple[str, ...]] = {}
    order = list(paths)
    for one in sorted(made.assignments, key=lambda one: (order.index(one.node), one.rank)):
        placed[one.key] = (*placed.get(one.key, ()), paths[one.node])
    return {name: placed}


def _print_look(at: At, document: Document, look: Look, *, as_json: bool) -> Grid:
    """Counts, disagreements or changes: each a page of its own, as JSON one document; given back as a grid to write."""
    from assistant.tasks import changes, views

    if look.diff:
        found = changes.changes(at.context.library(keywords_only=True), document)
        grid = changes_grid(document.name, document.columns, found)
        print_json(grid.shape) if as_json else _print_changes(document, found)
        return grid
    document = _arranged(at, document, look._replace(sort=None, group=None))
    if look.disagreements:
        against = views.disagreements(document)
        grid = disagreements_grid(document.name, against)
        print_json(grid.shape) if as_json else _print_disagreements(against)
        return grid
    first = views.field_of(document, look.counted or "", _places(at, look.counted or ""))
    second = views.field_of(document, look.by, _places(at, look.by)) if look.by else None
    counts = views.counted(document, first, second)
    grid = counts_grid(document.name, counts, len(document.rows))
    print_json(grid.shape) if as_json else _print_counts(counts, len(document.rows))
    return grid


def _print_counts(counts: "Counts", papers: int) -> None:
    """Counts as a list or a grid, then the gaps by name, then the papers that are not counted."""
    by_pair = {(tally.value, tally.by): len(tally.keys) for tally in counts.tallies}
    if counts.by:
        rows = [[value, *(str(by_pair.get((value, by), GAP)) for by in counts.by_values)] for value in counts.values]
        print_table({f"{counts.field} \\ {counts.by}": ""} | dict.fromkeys(counts.by_values, ""), rows)
    else:
        keys = {tally.value: ", ".join(tally.keys) for tally in counts.tallies}
        print_table({counts.field: "", "papers": "whole", "keys": ""}, [[value, str(by_pair.get((value, ""), GAP)), keys.get(value, "")] for value in counts.values])
    for said in gaps_said(counts, papers):
        click.echo(f"\n{said}")
    apart = apart_said(counts, papers)
    if apart:
        click.echo("\n" + "\n".join(apart))


def _print_disagreements(found: "Sequence[Disagreement]") -> None:
    for one in found:
        click.secho(f"{one.column}, {one.kind}: {one.about}", bold=True)
        for side in one.sides:
            click.echo(f"  {side.key}: {side.said}")
            for cite in side.cites:
                click.echo(f"      {quoted(cite)}")
            if not side.cites:
                click.echo("      (set by hand: no sentence stands behind it)")
    if not found:
        click.echo("Code finds no two papers that state opposite things in one column.")


def _print_changes(document: Document, found: "Changes") -> None:
    if not found.is_known:
        click.echo(f"The table {document.name} has not been filled yet, so there is nothing to compare with.")
        return
    for what, keys in (("new", found.new_papers), ("gone", found.gone_papers)):
        if keys:
            click.echo(f"{what} papers: {', '.join(keys)}")
    for column in found.columns:
        click.echo(f"column {column.column}: {column.old or '(none)'} → {column.new or '(taken away)'}")
    names = {column.id: column.name for column in document.columns}
    if found.cells and len(found.new_papers) == len(document.rows):
        click.echo(f"the table was empty before: all its {len(found.cells)} cells are new")
    elif found.cells:
        print_table({"key": "whole", "column": "", "before": "", "now": ""}, [[one.key, names[one.column], one.old or "–", one.new or "–"] for one in found.cells])
    if not (found.new_papers or found.gone_papers or found.columns or found.cells):
        click.echo("Nothing is different.")


def _print_rows(document: Document) -> None:
    by_key = {row.key: [_shown(row.cells.get(column.id)) for column in document.columns] for row in document.rows}
    names = [column.name for column in document.columns]
    for group in document.groups or (Group("", tuple(by_key)),):
        if group.heading:
            click.secho(f"\n{group.heading} ({len(group.keys)})", bold=True)
        if document.transposed:
            print_table({"": ""} | dict.fromkeys(group.keys, ""), [[name, *(by_key[key][at] for key in group.keys)] for at, name in enumerate(names)])
        else:
            print_table({"key": "whole"} | dict.fromkeys(names, ""), [[key, *by_key[key]] for key in group.keys])


def _shown(cell: Cell | None) -> str:
    return shown(cell) + (" (by hand)" if cell and cell.by == "person" else "")
