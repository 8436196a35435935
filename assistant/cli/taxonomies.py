"""The command `taxonomy`: trees grown or given, papers filed in them, edits, and what changed."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from assistant.cli.base import Context, note, progress
from assistant.cli.edited import edited_tree, from_option
from assistant.cli.library import scope_of, scope_options
from assistant.cli.model import (
    LONG_REPLY,
    WORDING,
    Asking,
    asking,
    confirm_price,
    desk,
    finish,
    formats_option,
    model_options,
    output_option,
    show_options,
)
from assistant.document import Document, Node
from assistant.errors import UsageError
from assistant.export.escape import markdown
from assistant.files import read_tree, taxonomy_file, tree_toml, undone, write_kept, write_whole
from assistant.tasks import growing, tree_diff
from assistant.tasks import taxonomy as task
from assistant.tasks.desk import PACK, Desk, with_sources
from assistant.tree import Bounds, Tree
from assistant.treefiles import Edit, edited, given_tree, proposed_file, read_proposed, with_ids, with_nodes, with_proposed
from store.keys import slug
from store.library import Library
from store.paper import Paper

VERBS = ("rename", "merge", "split", "move", "add", "remove", "lock", "unlock", "file", "undo")
EACH = 60
"""Tokens out for a paper's place."""


@click.command()
@click.argument("name")
@click.argument("edit", nargs=-1, metavar="[EDIT]...")
@click.option("--facet", "facets", multiple=True, help="What the tree divides the papers by; give it again for another tree beside it.")
@click.option("--tree", "tree_from", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="Your own tree: TOML, Markdown headings, or a list.")
@click.option("--depth", type=click.IntRange(1, 6), help="Levels of a grown tree, at most.")
@click.option("--width", type=click.IntRange(2, 20), help="Nodes beside each other in a grown tree, at most.")
@click.option("--smallest", type=click.IntRange(1, 1000), help="Papers in a leaf of a grown tree, at least.")
@click.option("--definition", default="", help="With rename and add: what belongs to the node.")
@click.option("--under", default="", help="With add: the node's parent.")
@click.option("--below", is_flag=True, help="With remove: what is below the node too.")
@click.option("--sentence", "sentences", multiple=True, type=click.IntRange(1), help="With file: a sentence of the abstract that shows it.")
@click.option("--reason", default="", help="With file KEY none: why it belongs nowhere.")
@click.option("--propose", is_flag=True, help="Have nodes proposed, beside the tree, for papers that fit nowhere.")
@click.option("--accept", is_flag=True, help="Take the nodes of NAME.proposed.toml into the tree.")
@click.option("--diff", is_flag=True, help="Say what changed since the last run, and why; with --to also as a file.")
@from_option
@show_options
@scope_options
@model_options
@formats_option
@output_option
@click.pass_obj
def taxonomy(
    context: Context,
    /,
    name: str,
    edit: tuple[str, ...],
    facets: tuple[str, ...],
    tree_from: Path | None,
    depth: int | None,
    width: int | None,
    smallest: int | None,
    definition: str,
    under: str,
    below: bool,
    sentences: tuple[int, ...],
    reason: str,
    propose: bool,
    accept: bool,
    diff: bool,
    edited_file: Path | None,
    show: bool,
    run: bool,
    as_json: bool,
    formats: tuple[str, ...],
    output: Path | None,
    **options: object,
) -> None:
    r"""Grows the tree NAME by a facet, or takes yours, and files every paper; a tree that is there only files what is not filed.

    The tree stands in taxonomies/NAME.toml, and is yours to edit, there or by an EDIT after NAME:

    \b
    rename NODE LABEL [--definition]   merge NODE OTHER...      split NODE ['LABEL: DEFINITION'...]
    move NODE PARENT|top               add LABEL [--under]      remove NODE [--below]
    lock NODE...   unlock NODE...      file KEY NODE...|none    undo
    """
    wanted, scope = asking(options), scope_of(context, options)
    path = taxonomy_file(context.folder, name)
    if edit or accept:
        if facets or tree_from or (edit and accept):
            raise UsageError("an edit and a tree to grow or to take are two commands; give one at a time")
        _need(path, name)
        if accept:
            _accept(context, name, path)
        elif edit[0] == "split" and len(edit) == 2:
            _propose_parts(context, wanted, name, path, edit[1])
        else:
            _edit(context, name, path, edit, Extras(definition, under, below, sentences, reason))
        return
    if edited_file:
        _need(path, name)
        library = context.library(keywords_only=True)
        document = edited_tree(library, name, path, library.considered(scope), edited_file)
        finish(context, document, _print_tree, as_json=as_json, formats=formats, output=output)
        return
    if tree_from:
        _take(path, name, tree_from, facets)
    printing = show or (as_json and not run)
    if not path.exists() and (printing or not facets):
        raise UsageError(f"there is no tree {name!r} yet: give --facet 'what it divides the papers by' to grow one, or --tree FILE with yours")
    if printing:
        library = context.library(keywords_only=True)
        document = with_sources(library, task.document(library, name, Tree(*read_tree(path)), library.considered(scope)))
        changed = _changes(library, name, path, keep=False)
    else:
        bounds = _bounds(context, path, depth, width, smallest)
        with desk(context, wanted, keywords_only=True) as at, progress("filing papers") as bar:
            document = _run(at, wanted, name, path, Asked(facets, bounds, propose=propose), at.library.considered(scope), bar)
            changed = _changes(at.library, name, path, keep=True)
    if diff:
        _say_changes(context, name, changed, formats, output)
    finish(context, document, _print_tree, as_json=as_json, formats=formats, output=output)


class Asked(NamedTuple):
    """What a run was asked to grow, and whether to propose nodes for what fits nowhere."""

    facets: tuple[str, ...]
    bounds: Bounds
    propose: bool


class Extras(NamedTuple):
    """What the options say about an edit."""

    definition: str
    under: str
    below: bool
    sentences: tuple[int, ...]
    reason: str


def _need(path: Path, name: str) -> None:
    if not path.exists():
        raise UsageError(f"there is no tree {name!r} to edit; `carrel taxonomy {name} --facet …` grows one, --tree FILE takes yours")


def _bounds(context: Context, path: Path, depth: int | None, width: int | None, smallest: int | None) -> Bounds:
    """The bounds of a tree to grow: the options, else what its file says, else the settings."""
    settings = context.settings(taxonomy_depth=depth, taxonomy_width=width, taxonomy_smallest=smallest)
    set_ = Bounds(settings.taxonomy_depth, settings.taxonomy_width, settings.taxonomy_smallest)
    return Tree(*read_tree(path)).bounds if path.exists() else set_


def _take(path: Path, name: str, source: Path, facets: Sequence[str]) -> None:
    """Makes somebody's own tree the tree NAME; one that is there is not overwritten."""
    if facets:
        raise UsageError("--tree takes your own tree, --facet grows one: give them under two names")
    text = given_tree(source)
    if path.exists() and (path.resolve() == source.resolve() or path.read_text("utf-8") == text):
        return
    if path.exists():
        raise UsageError(f"there is a tree {name!r} already ({path}); give another NAME, or edit that one")
    write_kept(path, text)
    note(f"your tree is in {path}; its {len(read_tree(path)[1])} nodes stay as they are")


def _run(
    at: Desk, wanted: Asking, name: str, path: Path, asked: Asked, papers: Sequence[Paper], on_done: Callable[[int, int], None]
) -> Document:
    """The tree brought up to date: facets grown that it has not, papers filed that wait, nodes proposed where that is wanted."""
    tree = _with_ids(path) if path.exists() else None
    new = [facet for facet in dict.fromkeys(asked.facets) if tree is None or facet not in tree.facets]
    if tree and tree.given and new:
        raise UsageError(f"{name!r} is your own tree; grow one by {new[0]!r} under another NAME")
    if new and not papers:
        raise UsageError("there is no paper in the scope to grow a tree from; `carrel add` takes some")
    waiting = [one for facet in tree.facets for one in task.waiting(at.library, name, tree.of(facet), papers)] if tree else []
    _say_price(at, wanted, len(new), papers, waiting, asked.bounds)
    for facet in new:
        have = tree or Tree(facet, (), bounds=asked.bounds)
        part = growing.grown(at, name, facet, papers, have, on_done, step=slug(facet) if have.nodes else "")
        if tree is None:
            write_kept(path, tree_toml(facet, part.nodes, None, False, part.merged, part.bounds))
            note(f"the tree is in {path}, yours to edit")
        else:
            write_kept(path, with_nodes(path.read_text("utf-8"), part.nodes, part.merged))
        tree = Tree(*read_tree(path))
    assert tree is not None  # there was a file, or a facet to grow one by
    document = task.file_papers(at, name, tree, papers, on_done)
    if asked.propose or tree.given:
        document = _beside(at, name, path, tree, papers) or document
    return document


def _with_ids(path: Path) -> Tree:
    """The tree of a file, after nodes that a person wrote without an id got theirs."""
    text, tree = path.read_text("utf-8"), Tree(*read_tree(path))
    whole = with_ids(text, tree)
    if whole != text:
        write_whole(path, whole)
    return tree


def _say_price(at: Desk, wanted: Asking, facets: int, papers: Sequence[Paper], waiting: Sequence[Paper], bounds: Bounds) -> None:
    packs = -(-len(waiting) // PACK) + facets * -(-len(papers) // PACK)
    more = facets * growing.calls_for(len(papers), bounds)
    read = sum(len(paper.abstract) for paper in waiting) + 2 * facets * sum(len(paper.abstract) for paper in papers)
    confirm_price(at.gateway, wanted, packs + more, read + WORDING * (packs + more), EACH * (len(waiting) + facets * len(papers)) + LONG_REPLY * more)


def _beside(at: Desk, name: str, path: Path, tree: Tree, papers: Sequence[Paper]) -> Document | None:
    """Proposes nodes for what fits nowhere, in a file beside the tree; None where nothing was asked."""
    found = []
    asked = False
    for facet in tree.facets:
        part = tree.of(facet)
        made = task.document(at.library, name, part, papers)
        if made.unassigned and growing.is_news(at.library, name, part, made):
            asked = True
            found += growing.beside(at, name, part, made, papers)
    if found:
        _propose(path, [(one.node, one.keys) for one in found])
    return at.finished(task.document(at.library, name, tree, papers)) if asked else None


def _propose(path: Path, found: Sequence[tuple[Node, Sequence[str]]]) -> None:
    beside = proposed_file(path)
    write_kept(beside, with_proposed(beside.read_text("utf-8") if beside.exists() else "", found))
    note(f"{len(found)} nodes are proposed in {beside}; edit it as you like, then take them with --accept. The tree is as it was")


def _propose_parts(context: Context, wanted: Asking, name: str, path: Path, said: str) -> None:
    """Has a model say how to part a node; what it says is proposed beside the tree."""
    with desk(context, wanted, keywords_only=True) as at:
        tree = Tree(*read_tree(path))
        node = Edit.of(path).free(said)
        made = task.document(at.library, name, tree, at.library.considered())
        held = [at.library.paper(one.key) for one in made.assignments if one.node == node.id]
        if len(held) < 2:
            raise UsageError(f"{len(held)} papers stand at {node.id!r}: nothing to part; name the parts yourself, as 'LABEL: DEFINITION'")
        found = growing.parts(at, name, tree.of(node.facet), node, held, set(tree.merged) | {one.id for one in tree.nodes})
    if not found:
        note(f"no parts are proposed for {node.id!r}: its papers seem to be of one kind")
        return
    _propose(path, [(one, ()) for one in found])


def _accept(context: Context, name: str, path: Path) -> None:
    beside = proposed_file(path)
    if not beside.exists():
        raise UsageError(f"nothing is proposed for {name!r} ({beside} is missing)")
    nodes = read_proposed(beside)

    def change(edit: Edit) -> None:
        for node in nodes:
            edit.add(node.label, node.definition, node.parent, node.facet)

    edited(path, change)
    beside.unlink()
    note(f"taken: {', '.join(repr(node.label) for node in nodes)}; `carrel taxonomy {name} undo` takes that back")
    _say_waiting(context, name, path)


def _edit(context: Context, name: str, path: Path, edit: Sequence[str], extras: Extras) -> None:
    """One edit of the tree's file, and a line that says what it did and how many papers the next run will file anew."""
    verb, *words = edit
    if verb == "undo":
        if words:
            raise UsageError("undo takes nothing back but the last edit: write it alone")
        if not undone(path):
            raise UsageError(f"there is no earlier version of {path}")
        note(f"{path} is as it was before; what was taken back is in {path.parent / '.versions'}")
    else:
        library = context.library(keywords_only=True)
        change = _change(library, verb, words, extras)
        edited(path, change)
        note(f"{verb}: {', '.join(words)}; {path.name} is changed, `carrel taxonomy {name} undo` takes it back")
        library.close()
    _say_waiting(context, name, path)


def _change(library: Library, verb: str, words: Sequence[str], extras: Extras) -> Callable[[Edit], object]:
    """What a verb does to a tree's file; raises UsageError where the words do not fit it."""
    first, rest = words[0] if words else "", list(words[1:])
    forms: dict[str, tuple[bool, str, Callable[[Edit], object]]] = {
        "rename": (len(words) == 2 or (len(words) == 1 and bool(extras.definition)), "NODE LABEL", lambda at: at.rename(first, "".join(rest), extras.definition)),
        "merge": (len(words) >= 2, "NODE OTHER...", lambda at: at.merge(first, rest)),
        "split": (len(words) >= 3, "NODE 'LABEL: DEFINITION'...", lambda at: at.split(first, rest)),
        "move": (len(words) == 2, "NODE PARENT, or NODE top", lambda at: at.move(first, "" if rest[0] == "top" else rest[0])),
        "add": (len(words) == 1, "LABEL [--definition] [--under NODE]", lambda at: at.add(first, extras.definition, extras.under)),
        "remove": (len(words) == 1, "NODE [--below]", lambda at: at.remove(first, below=extras.below)),
        "lock": (bool(words), "NODE...", lambda at: [at.lock(word) for word in words]),
        "unlock": (bool(words), "NODE...", lambda at: [at.lock(word, locked=False) for word in words]),
        "file": (bool(words), "KEY NODE..., KEY none, or KEY alone to give it back", lambda at: at.file(_keys(library, first), rest, extras.sentences, extras.reason)),
    }
    if verb not in forms:
        raise UsageError(f"there is no edit {verb!r}; there are {', '.join(VERBS)}")
    fits, form, change = forms[verb]
    if not fits:
        raise UsageError(f"write {verb} {form}")
    return change


def _keys(library: Library, key: str) -> tuple[str, ...]:
    paper = library.paper(key)
    return paper.key, *paper.aliases


def _say_waiting(context: Context, name: str, path: Path) -> None:
    library = context.library(keywords_only=True)
    tree = Tree(*read_tree(path))
    papers = library.considered()
    keys = {one.key for facet in tree.facets for one in task.waiting(library, name, tree.of(facet), papers)}
    out = len(task.document(library, name, tree, papers).unassigned)
    note(f"{len(keys)} of {len(papers)} papers wait to be filed by the next run; {out} are unassigned now")


def _changes(library: Library, name: str, path: Path, *, keep: bool) -> list[tree_diff.Change]:
    """What changed since the last run; where nothing did since, what that run changed."""
    tree = Tree(*read_tree(path))
    papers = library.considered()
    now = tree_diff.state_of(library, task.document(library, name, tree, papers))
    last, before = tree_diff.kept_states(library, name)
    if keep:
        tree_diff.keep_state(library, name, now)
    old = before if last == now and not keep else last
    return tree_diff.changes(library, tree, old or tree_diff.State({}, {}, {}), now, papers)


def _say_changes(context: Context, name: str, changed: Sequence[tree_diff.Change], formats: Sequence[str], output: Path | None) -> None:
    lines = [str(change) for change in changed]
    for line in lines or ["nothing changed"]:
        note(line)
    if formats:
        path = (output or context.folder / "exports") / f"{slug(name)}.diff.md"
        write_whole(path, "\n".join([f"# What changed in {markdown(name)}", "", *(f"- {markdown(line)}" for line in lines or ["Nothing."]), ""]))
        note(f"wrote {path}")


def _print_tree(document: Document) -> None:
    from rich.console import Console
    from rich.tree import Tree as Branch

    from assistant.tree import Tree

    root = Branch(document.name, guide_style="dim")
    tree = Tree(document.name, document.nodes)
    facets = {facet: root.add(facet, style="bold", highlight=False) if len(tree.facets) > 1 else root for facet in tree.facets}
    branches: dict[str, Branch] = {}
    for _, node in tree.ordered:
        keys = [one.key for one in document.assignments if one.node == node.id]
        branches[node.id] = branches.get(node.parent, facets[node.facet]).add(f"{node.label} ({len(keys)})" if keys else node.label, highlight=False)
        if keys:
            branches[node.id].add(", ".join(keys), style="cyan", highlight=False)
    if document.unassigned:
        out = root.add(f"unassigned ({len(document.unassigned)})")
        for one in document.unassigned:
            out.add(f"{one.key}: {one.reason}", highlight=False)
    Console(highlight=False, markup=False).print(root)
