"""Trees grown from many papers, and nodes proposed beside a tree that is there.

A tree is proposed from short descriptions, batch by batch, each batch revising what the last one left; then every paper is
filed; what fits nowhere gets nodes, what is too full is parted, what is too thin is given up. Batches, packs and parts are
counted: growing asks at most one call for five papers, however many there are. docs/taxonomies.md says where this is from.
"""

import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import BaseModel, Field

from assistant.document import Document, Node, Summary
from assistant.errors import ReplyUnusable
from assistant.evidence import Line, Shown, gathered
from assistant.files import free_id
from assistant.grounding import free_form
from assistant.tasks import summarize
from assistant.tasks.desk import PACK, Desk, label_for
from assistant.tasks.taxonomy import TASK, Leaf, document, file_waiting, grow, move_findings, without_empty
from assistant.tree import Bounds, Tree, is_alike
from assistant.visible import visible
from store.keys import slug
from store.library import Library
from store.paper import Paper

WHOLE = 60
"""Up to so many papers are shown at once, with their whole abstracts, when a tree is grown."""
BATCH = 60
"""Short descriptions in one proposal."""
SAMPLE = 300
"""From more papers than these a tree is proposed from so many of them, chosen by a hash of their keys; all are filed."""
FULL = 40
"""A leaf with more papers is parted, where depth or width leave room."""
FEWEST_CALLS = 12
"""What growing may always ask, however few the papers."""
MOST_LEAVES, PAPERS_A_LEAF = 16, 20
"""Leaves that a tree is asked to have at most, whatever it holds, and for large ones the papers of a leaf: trees of people had
8 to 17 leaves for 43 to 235 papers, and one grown without a limit had 26."""
UNPLACED = 0.05
"""Where more of the papers fit nowhere, nodes are proposed for them."""
OWN_WORK = re.compile(r"\b(?:we|our|this (?:paper|work|study|survey|article|report))\b", re.IGNORECASE)
TOLD = ("approach", "problem", "contribution_type", "data")


class Branch(BaseModel):
    """A node of a proposed tree with its children."""

    label: str
    definition: str
    children: "list[Branch]" = Field(default_factory=list)


class BranchesReply(BaseModel):
    """A proposed tree of any depth."""

    nodes: list[Branch]


class NewNode(BaseModel):
    """A node proposed beside a tree: under which node's id (nothing is the top), and which of the papers shown it would hold."""

    label: str
    definition: str
    parent: str = ""
    papers: list[int] = Field(default_factory=list)


class NewNodesReply(BaseModel):
    """Nodes for papers that fit nowhere; none where they have nothing in common."""

    nodes: list[NewNode]


class PartsReply(BaseModel):
    """The parts of a node that holds too much; none where it is of one kind."""

    nodes: list[Leaf]


@dataclass(frozen=True, slots=True)
class Brief:
    """A paper in a few lines, in the form in which prompts show papers."""

    number: int
    about: str
    lines: tuple[Line, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Proposed:
    """A node that a model would add, and the keys of the papers that it would hold."""

    node: Node
    keys: tuple[str, ...]


def grown(desk: Desk, name: str, facet: str, papers: Sequence[Paper], have: Tree, on_done: Callable[[int, int], None], step: str = "") -> Tree:
    """A tree grown by a facet beside the one there is, and the papers filed in it; raises ReplyUnusable where none was proposed.

    `step` tells the calls for a second facet apart in the recordings.
    """
    taken = frozenset(node.id for node in have.nodes) | frozenset(have.merged)
    if len(papers) <= WHOLE and have.bounds == Bounds():
        tree = grow(desk, name, facet, papers, taken, step)
        made = _filed(desk, name, tree, papers, on_done, step=step)
    else:
        tree = _proposed(desk, name, facet, papers, have.bounds, taken)
        tree, made = _adjusted(desk, name, tree, papers, on_done, taken, step)
    kept = without_empty(tree, made)
    move_findings(desk.library, name, tree, kept)
    return replace(kept, nodes=document(desk.library, name, kept, papers).nodes)


def calls_for(papers: int, bounds: Bounds) -> int:
    """About how many calls growing from so many papers takes, beyond those that file them once."""
    if papers <= WHOLE and bounds == Bounds():
        return 1
    proposals = -(-min(papers, SAMPLE) // BATCH)
    return proposals + max(0, min(papers // FULL, _allowed(papers) - proposals - -(-papers // PACK)))


def beside(desk: Desk, name: str, tree: Tree, made: Document, papers: Sequence[Paper], ids: Iterable[str] = (), step: str = "beside") -> list[Proposed]:
    """Nodes that a model would add for the papers that fit nowhere; one call, and none where every paper has a place."""
    why = {one.key: one.reason for one in made.unassigned}
    some = _drawn(desk.library, [paper for paper in papers if paper.key in why], BATCH)
    if not some:
        return []
    briefs = [replace(brief, note=visible(why[paper.key])) for brief, paper in zip(briefs_of(desk.library, some), some, strict=True)]
    request = desk.request(
        "taxonomy/beside", label_for(TASK, step, slug(name)), NewNodesReply, papers=briefs, facet=tree.facet, nodes=tree.ordered, bounds=tree.bounds
    )
    parsed = desk.structured(request, NewNodesReply, lambda reply: _new_faults(reply, tree, len(some)))
    found: list[Proposed] = []
    taken = {node.id for node in tree.nodes} | set(tree.merged) | set(ids)
    for new in parsed.value.nodes:
        if _new_faults(NewNodesReply(nodes=[new]), tree, len(some)):
            continue  # it still has faults after they were named
        node = Node(free_id(new.label, taken), new.label.strip(), new.definition.strip(), new.parent, tree.facet)
        taken.add(node.id)
        found.append(Proposed(node, tuple(some[at - 1].key for at in new.papers)))
    return found


def is_news(library: Library, name: str, tree: Tree, made: Document) -> bool:
    """Whether papers fit nowhere for which no node was asked yet; from now on none is asked for these."""
    item, out = f"@beside:{tree.facet}", sorted(library.catalog.number(one.key) for one in made.unassigned)
    have = library.catalog.findings(TASK, slug(name)).get((item, 0))
    if not set(out) - set(json.loads(have) if have else ()):
        return False
    with library.catalog.writing():
        library.catalog.keep_finding(TASK, slug(name), item, 0, json.dumps(out))
    return True


def parts(desk: Desk, name: str, tree: Tree, node: Node, papers: Sequence[Paper], ids: Iterable[str] = ()) -> list[Node]:
    """What a model would part a node into, by the papers that stand there; none where they are of one kind."""
    some = _drawn(desk.library, papers, BATCH)
    siblings = [one for one in tree.nodes if one.parent == node.parent and one.facet == node.facet and one.id != node.id]
    request = desk.request(
        "taxonomy/part",
        label_for(TASK, "part", f"{slug(name)}-{slug(node.id)}"),
        PartsReply,
        papers=briefs_of(desk.library, some),
        facet=tree.facet,
        node=node,
        siblings=siblings,
        bounds=tree.bounds,
    )

    def faults(reply: PartsReply) -> list[str]:
        return [*_parts_faults(reply, tree.bounds), *_label_faults([*siblings, node, *reply.nodes])]

    parsed = desk.structured(request, PartsReply, faults)
    if parsed.problems:
        return []
    taken = {one.id for one in tree.nodes} | set(tree.merged) | set(ids)
    found: list[Node] = []
    for part in parsed.value.nodes:
        found.append(Node(free_id(part.label, taken), part.label.strip(), part.definition.strip(), node.id, node.facet))
        taken.add(found[-1].id)
    return found


def briefs_of(library: Library, papers: Sequence[Paper]) -> list[Brief]:
    """The papers in a few lines each: what a stored summary says, else what their authors say they do."""
    documents = {one.key: one for one in summarize.document(library, papers).summaries}
    shown = {one.paper.key: one for one in gathered(library, papers).papers}
    return [_brief(number, shown[paper.key], documents.get(paper.key)) for number, paper in enumerate(papers, 1)]


def _brief(number: int, shown: Shown, summary: Summary | None) -> Brief:
    title = [Line(f"[{number}.0]", visible(shown.title.characters))] if shown.title else []
    said = [visible(summary.cells[name].raw) for name in TOLD if summary.cells[name].status == "stated"] if summary else []
    if not said and shown.text:
        every = [visible(shown.text.sentence(sentence.number)) for sentence in shown.text.sentences]
        own = next((at for at, sentence in enumerate(every) if OWN_WORK.search(sentence)), 0)
        said = every[own : own + 2]
    return Brief(number, shown.about, (*title, *(Line(f"[{number}.{at}]", words) for at, words in enumerate(said, 1))))


def _drawn(library: Library, papers: Sequence[Paper], most: int) -> list[Paper]:
    """At most so many of the papers, the same ones each time and none sooner for its name; a flagged one is left to be read alone."""
    drawn = sorted(papers, key=lambda paper: hashlib.sha256(paper.key.encode()).digest())
    plain: list[Paper] = []
    for paper in drawn:
        if len(plain) == most:
            break
        if not gathered(library, [paper]).papers[0].is_suspicious:
            plain.append(paper)
    return plain


def _proposed(desk: Desk, name: str, facet: str, papers: Sequence[Paper], bounds: Bounds, ids: Collection[str]) -> Tree:
    """A tree proposed from batches of short descriptions; a batch whose reply cannot be used leaves the tree as it was."""
    drawn = _drawn(desk.library, papers, SAMPLE)
    count = -(-len(drawn) // BATCH)
    batches = [sorted(drawn[at::count], key=lambda paper: paper.key) for at in range(count)]
    tree = Tree(facet, (), bounds=bounds)
    failed = ""
    for number, batch in enumerate(batches, 1):
        request = desk.request(
            "taxonomy/grow",
            label_for(TASK, f"grow-{number:02}", slug(f"{name}-{facet}")),
            BranchesReply,
            papers=briefs_of(desk.library, batch),
            facet=facet,
            bounds=bounds,
            leaves=max(MOST_LEAVES, math.ceil(len(papers) / PAPERS_A_LEAF)),
            nodes=tree.ordered,
            number=number,
            batches=count,
            total=len(papers),
        )
        try:
            parsed = desk.structured(request, BranchesReply, lambda reply: _branch_faults(reply, bounds))
        except ReplyUnusable as error:
            failed = str(error)
            continue
        if parsed.problems:
            failed = "; ".join(parsed.problems[:3])
        else:
            tree = replace(tree, nodes=tuple(_nodes(parsed.value.nodes, facet, ids)))
    if not tree.nodes:
        raise ReplyUnusable(f"{name}: the proposed tree still has faults: {failed}; run it with --again")
    return tree


def _nodes(branches: Sequence[Branch], facet: str, ids: Collection[str]) -> list[Node]:
    nodes: list[Node] = []

    def added(branch: Branch, parent: str) -> None:
        name = free_id(branch.label, {*ids, *(node.id for node in nodes)})
        nodes.append(Node(name, branch.label.strip(), branch.definition.strip(), parent, facet))
        for child in branch.children:
            added(child, name)

    for branch in branches:
        added(branch, "")
    return nodes


def _adjusted(
    desk: Desk, name: str, tree: Tree, papers: Sequence[Paper], on_done: Callable[[int, int], None], ids: Collection[str], step: str
) -> tuple[Tree, Document]:
    """The papers filed, and the tree mended once by where they went.

    What fits nowhere gets nodes, what is too full is parted, and leaves that hold too few are given up: their papers are
    filed among the rest.
    """
    left = _allowed(len(papers)) - -(-min(len(papers), SAMPLE) // BATCH) - -(-len(papers) // PACK)
    made = _filed(desk, name, tree, papers, on_done, step=step)
    out = len(made.unassigned) - len(made.report.failed)
    if out >= max(tree.bounds.smallest, UNPLACED * len(papers)) and 1 + -(-out // PACK) <= left:
        left -= 1 + -(-out // PACK)
        if more := [one.node for one in beside(desk, name, tree, made, papers, ids, f"more{step and '-'}{step}") if not _too_wide(tree, one.node)]:
            tree = replace(tree, nodes=(*tree.nodes, *more))
            made = _filed(desk, name, tree, papers, on_done, step=f"more{step and '-'}{step}")
    by_key = {paper.key: paper for paper in papers}
    for node, count in _counts(tree, made).most_common():
        cost = 1 + -(-count // PACK)
        if count <= FULL or cost > left:
            continue
        held = [by_key[one.key] for one in made.assignments if one.node == node and one.rank == 1]
        parted = _parted(desk, name, tree, next(one for one in tree.nodes if one.id == node), held, ids)
        left -= 1
        if parted:
            tree, among = parted
            left -= cost - 1
            made = _filed(desk, name, tree, papers, on_done, among, f"in-{node}")
    thin = {node for node, count in _counts(tree, made).items() if count < tree.bounds.smallest}
    lost = sum(count for node, count in _counts(tree, made).items() if node in thin)
    if lost and len(tree.leaves) - len(thin) >= 2 and -(-lost // PACK) <= left:
        tree = without_lone(without_empty(replace(tree, nodes=tuple(node for node in tree.nodes if node.id not in thin)), made))
        made = _filed(desk, name, tree, papers, on_done, step=f"rest{step and '-'}{step}")
    return tree, made


def _filed(
    desk: Desk, name: str, tree: Tree, papers: Sequence[Paper], on_done: Callable[[int, int], None], among: Tree | None = None, step: str = ""
) -> Document:
    return document(desk.library, name, tree, papers, file_waiting(desk, name, tree, papers, on_done, among, step))


def without_lone(tree: Tree) -> Tree:
    """The tree without nodes that are the only child of another: the child's papers are its parent's."""
    merged = dict(tree.merged)
    nodes = list(tree.nodes)
    while lone := next((node for node in nodes if node.parent and sum(one.parent == node.parent for one in nodes) == 1 and not node.locked), None):
        merged[lone.id] = lone.parent
        nodes = [replace(node, parent=lone.parent) if node.parent == lone.id else node for node in nodes if node.id != lone.id]
    return replace(tree, nodes=tuple(nodes), merged=merged)


def _parted(desk: Desk, name: str, tree: Tree, node: Node, held: Sequence[Paper], ids: Collection[str]) -> tuple[Tree, Tree] | None:
    """The tree with a leaf parted, below it or beside it as the bounds allow, and the part of it that its papers are filed among."""
    depth = next(depth for depth, one in tree.ordered if one.id == node.id)
    siblings = [one for one in tree.nodes if one.parent == node.parent]
    room = tree.bounds.width - len(siblings) + 1
    if node.locked or (depth >= tree.bounds.depth and room < 2):
        return None
    found = parts(desk, name, tree, node, held, ids)
    if not found or (depth >= tree.bounds.depth and len(found) > room):
        return None
    if depth < tree.bounds.depth:
        return replace(tree, nodes=(*tree.nodes, *found)), replace(tree, nodes=(node, *found))
    found = [replace(one, parent=node.parent) for one in found]
    nodes = tuple(one for one in tree.nodes if one.id != node.id)
    return replace(tree, nodes=(*nodes, *found)), replace(tree, nodes=tuple(found))


def _counts(tree: Tree, made: Document) -> Counter[str]:
    leaves = {node.id for node in tree.leaves}
    return Counter(one.node for one in made.assignments if one.rank == 1 and one.node in leaves)


def _allowed(papers: int) -> int:
    return max(FEWEST_CALLS, papers // 5)


def _too_wide(tree: Tree, node: Node) -> bool:
    return sum(one.parent == node.parent for one in tree.nodes) >= tree.bounds.width


def _branch_faults(reply: BranchesReply, bounds: Bounds) -> list[str]:
    """What must be mended in a proposed tree: too wide, too deep, twins, missing definitions, a lone child."""
    said = [] if 2 <= len(reply.nodes) <= bounds.width else [f"{len(reply.nodes)} nodes at the first level; there should be 2 to {bounds.width}"]
    every = list(_levels(reply.nodes, 1))
    for depth, branch in every:
        count = len(branch.children)
        if count == 1:
            said.append(f"{branch.label!r} has a single child; give it more or none")
        if count > bounds.width:
            said.append(f"{branch.label!r} has {count} children, more than {bounds.width}")
        if count and depth >= bounds.depth:
            said.append(f"{branch.label!r} is at level {depth} of at most {bounds.depth} and has children")
    return said + _label_faults([branch for _, branch in every])


def _levels(branches: Sequence[Branch], depth: int) -> Iterator[tuple[int, Branch]]:
    for branch in branches:
        yield depth, branch
        yield from _levels(branch.children, depth + 1)


def _label_faults(nodes: Sequence[Branch | Leaf | Node | NewNode]) -> list[str]:
    """Twins, labels and definitions that say nothing, references in free form; nodes of the tree itself are taken as they are."""
    said = []
    for at, node in enumerate(nodes):
        if isinstance(node, Node):
            continue
        twin = next((other for other in nodes[:at] if is_alike(other.label, node.label)), None)
        said += [f"{node.label!r} and {twin.label!r} are called alike"] if twin else []
        said += [f"{node.label!r} has no definition"] if len(node.definition.split()) < 3 else []
        said += [] if node.label.strip() else ["a node has no label"]
        said += [problem.reason for problem in free_form(f"{node.label} {node.definition}")]
    return said


def _parts_faults(reply: PartsReply, bounds: Bounds) -> list[str]:
    return [] if not reply.nodes or 2 <= len(reply.nodes) <= bounds.width else [f"{len(reply.nodes)} parts; there should be none, or 2 to {bounds.width}"]


def _new_faults(reply: NewNodesReply, tree: Tree, shown: int) -> list[str]:
    ids = {node.id for node in tree.nodes}
    said = [f"{node.parent!r} is no node's id" for node in reply.nodes if node.parent and node.parent not in ids]
    said += [f"{node.id!r} is locked and takes no children" for node in tree.nodes if node.locked and node.id in {one.parent for one in reply.nodes}]
    said += [f"paper {number} was not shown" for node in reply.nodes for number in node.papers if not 1 <= number <= shown]
    said += [f"{node.label!r} would hold no paper" for node in reply.nodes if not node.papers]
    return said + _label_faults([*tree.nodes, *reply.nodes])
