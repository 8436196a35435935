"""A tree of the papers by one facet, two levels deep, and each paper filed in it with its sentence, or unassigned.

Grown in two steps, as in TnT-LLM (Wan et al. 2024): a model proposes nodes over all papers, then files the papers pack
by pack; every paper is accounted for by code. The file of the tree is its owner's: a rerun only files what is not filed.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import BaseModel, Field

from assistant import stored
from assistant.document import Assignment, Coverage, Document, Node, Problem, Report, Unassigned
from assistant.errors import ReplyUnusable
from assistant.evidence import Evidence, gathered, label_list
from assistant.gateway import Check, Parsed, Request
from assistant.grounding import cites_of, free_form, label_problems
from assistant.tasks.desk import Desk, label_for
from store.keys import slug
from store.library import Library
from store.normalize import folded
from store.paper import Paper

TASK: Final = "taxonomy"
NOWHERE = "none"
WIDEST = 7


class Leaf(BaseModel):
    """A node of the second level as a model proposes it."""

    label: str
    definition: str


class Branch(Leaf):
    """A node of the first level with its children."""

    children: list[Leaf] = Field(default_factory=list)


class TreeReply(BaseModel):
    """A proposed tree."""

    nodes: list[Branch]


class PlaceReply(BaseModel):
    """Where one paper goes: a node's id or `none`, and why."""

    paper: int
    node: str
    also: list[str] = Field(default_factory=list)
    sentences: list[str] = Field(default_factory=list)
    confidence: str = "medium"
    reason: str = ""


class PlacesReply(BaseModel):
    """Where the papers of a pack go."""

    papers: list[PlaceReply]


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree as its file has it: the facet, the nodes, and papers filed by hand (key → node id)."""

    facet: str
    nodes: tuple[Node, ...]
    filed: dict[str, str]

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that have no children; papers are filed there."""
        parents = {node.parent for node in self.nodes}
        return tuple(node for node in self.nodes if node.id not in parents)

    @property
    def digest(self) -> str:
        """Changes when the nodes that papers can be filed under change."""
        said = "\n".join(f"{node.id}|{node.label}|{node.definition}|{node.parent}" for node in self.nodes)
        return hashlib.sha256(said.encode()).hexdigest()[:12]


def grow(desk: Desk, name: str, facet: str, papers: Sequence[Paper]) -> Tree:
    """A tree proposed from the papers; raises ReplyUnusable when no usable one came."""
    evidence = gathered(desk.library, papers)
    request = desk.request(
        "taxonomy/propose", label_for(TASK, "propose", slug(name)), TreeReply, papers=evidence.papers, facet=facet, widest=WIDEST
    )
    parsed = desk.structured(request, TreeReply, _tree_faults)
    if parsed.problems:
        raise ReplyUnusable(f"{name}: the proposed tree still has faults: {'; '.join(parsed.problems[:3])}; run it with --again")
    return Tree(facet, _nodes(parsed.value, facet), {})


def file_papers(desk: Desk, name: str, tree: Tree, papers: Sequence[Paper], on_done: Callable[[int, int], None]) -> Document:
    """Every paper of the scope filed or unassigned; only those that have no place in this tree yet are asked about."""
    have = desk.library.catalog.findings(TASK, slug(name))
    failed = desk.read_packs(
        [paper for paper in papers if paper.key not in tree.filed and (tree.digest, paper.number) not in have],
        lambda evidence: _asked(desk, name, tree, evidence),
        lambda evidence, reply: _kept(desk, name, tree, evidence, reply),
        on_done,
    )
    return desk.finished(document(desk.library, name, tree, papers, failed))


def without_empty(tree: Tree, made: Document) -> Tree:
    """A grown tree without the nodes that no paper went to; whoever grows a tree by hand keeps theirs."""
    kept = {assignment.node for assignment in made.assignments}
    parents = {node.id: node.parent for node in tree.nodes}
    kept |= {parents[node] for node in kept}
    return Tree(tree.facet, tuple(node for node in tree.nodes if node.id in kept), tree.filed)


def move_findings(library: Library, name: str, old: Tree, new: Tree) -> None:
    """Placements found under a tree hold under the same tree without its empty nodes."""
    have = library.catalog.findings(TASK, slug(name))
    with library.catalog.writing():
        for (item, paper), data in have.items():
            if item == old.digest:
                library.catalog.keep_finding(TASK, slug(name), new.digest, paper, data)
        if old.digest != new.digest:
            library.catalog.drop_findings(TASK, slug(name), old.digest)


def filed_at(library: Library, name: str, tree: Tree, node: str) -> tuple[int, ...]:
    """The numbers of the papers filed at a node (by id or label), or below it."""
    inside = {one.id for one in tree.nodes if node in {one.id, one.label}}
    while below := {one.id for one in tree.nodes if one.parent in inside} - inside:
        inside |= below
    made = document(library, name, tree, library.papers())
    return tuple(sorted({library.catalog.number(one.key) for one in made.assignments if one.node in inside}))


def document(library: Library, name: str, tree: Tree, papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The tree and its papers as stored; calls no model."""
    have = library.catalog.findings(TASK, slug(name))
    assignments: list[Assignment] = []
    unassigned: list[Unassigned] = []
    blocked: list[Problem] = []
    for paper in sorted(papers, key=lambda paper: paper.key):
        if paper.key in tree.filed:
            assignments.append(Assignment(paper.key, tree.filed[paper.key], by="person", confidence="high"))
            continue
        data = have.get((tree.digest, paper.number))
        placed = stored.assignments(data) if data else [Assignment(paper.key, NOWHERE, confidence="no usable reply yet")]
        blocked += [Problem(f"{paper.key}: {one.node}", *one.confidence.split(": ", 1)) for one in placed if one.confidence.startswith("R")]
        good = [one for one in placed if one.node != NOWHERE and not one.confidence.startswith("R")]
        assignments += good
        if not good:
            unassigned.append(Unassigned(paper.key, placed[0].confidence))
    places = {node.id: node.label for node in tree.nodes}
    used = {key: tuple(places[one.node] for one in assignments if one.key == key) for key in {one.key for one in assignments}}
    why = {one.key: one.reason for one in unassigned}
    coverage = tuple(Coverage(paper.key, used.get(paper.key, ()), why.get(paper.key, "")) for paper in sorted(papers, key=lambda p: p.key))
    report = Report(
        statements=len(assignments),
        checked_by_code=sum(bool(one.cites) for one in assignments),
        not_checked=sum(not one.cites for one in assignments),
        blocked=tuple(blocked),
        failed=tuple(failed),
    )
    return Document(
        TASK, name, nodes=tree.nodes, assignments=tuple(assignments), unassigned=tuple(unassigned), coverage=coverage, report=report
    )


def _tree_faults(reply: TreeReply) -> list[str]:
    """What must be mended in a proposed tree: twins, missing definitions, a first level of one, a lone child."""
    said = []
    if not 2 <= len(reply.nodes) <= WIDEST:
        said.append(f"{len(reply.nodes)} nodes at the first level; there should be 2 to {WIDEST}")
    every = [node for branch in reply.nodes for node in (branch, *branch.children)]
    labels = [folded(node.label) for node in every]
    said += [f"two nodes are called {node.label!r}" for at, node in enumerate(every) if labels.index(labels[at]) != at]
    said += [f"{node.label!r} has no definition" for node in every if len(node.definition.split()) < 3]
    said += [f"{branch.label!r} has a single child; give it more or none" for branch in reply.nodes if len(branch.children) == 1]
    said += [f"{branch.label!r} has {len(branch.children)} children, more than {WIDEST}" for branch in reply.nodes if len(branch.children) > WIDEST]
    return said + [problem.reason for node in every for problem in free_form(f"{node.label} {node.definition}")]


def _nodes(reply: TreeReply, facet: str) -> tuple[Node, ...]:
    nodes: list[Node] = []
    taken: set[str] = set()

    def added(leaf: Leaf, parent: str) -> str:
        name, number = slug(leaf.label), 2
        while name in taken or name == NOWHERE:
            name, number = f"{slug(leaf.label)}-{number}", number + 1
        taken.add(name)
        nodes.append(Node(name, leaf.label.strip(), leaf.definition.strip(), parent, facet))
        return name

    for branch in reply.nodes:
        top = added(branch, "")
        for child in branch.children:
            added(child, top)
    return tuple(nodes)


def _asked(desk: Desk, name: str, tree: Tree, evidence: Evidence) -> tuple[Request, type[PlacesReply], Check[PlacesReply]]:
    subject = f"{slug(name)}-{slug(evidence.keys[0])}"
    labels = {node.id: node.label for node in tree.nodes}
    request = desk.request(
        "taxonomy/assign",
        label_for(TASK, "assign", subject),
        PlacesReply,
        papers=evidence.papers,
        facet=tree.facet,
        leaves=[(node, labels.get(node.parent, "")) for node in tree.leaves],
    )
    return request, PlacesReply, lambda reply: _place_faults(reply, tree, evidence)


def _place_faults(reply: PlacesReply, tree: Tree, evidence: Evidence) -> list[str]:
    given = {place.paper: place for place in reply.papers}
    said = [f"paper {number} was not shown" for number in given if not 1 <= number <= len(evidence.papers)]
    for shown in evidence.papers:
        place = given.get(shown.number)
        said += [f"paper {shown.number}: {fault}" for fault in (_faults(place, tree, evidence) if place else ["no place"])]
    return said


def _faults(place: PlaceReply, tree: Tree, evidence: Evidence) -> list[str]:
    leaves = {node.id for node in tree.leaves}
    said = [f"{node!r} is no id of a node papers can go to" for node in (place.node, *place.also) if node not in leaves | {NOWHERE}]
    found = label_list(place.sentences)
    said += label_problems(found, evidence, place.paper)
    if place.node != NOWHERE and not found:
        said.append("a place needs the label of the sentence that shows it")
    if place.node == NOWHERE and not place.reason.strip():
        said.append("'none' needs a reason")
    return said


def _kept(desk: Desk, name: str, tree: Tree, evidence: Evidence, outcome: Parsed[PlacesReply]) -> list[str]:
    """Stores each paper's places; one whose place cannot stand is kept as unassigned with the rule. Returns failures."""
    given = {place.paper: place for place in outcome.value.papers}
    catalog, exchange = desk.library.catalog, desk.gateway.exchange(outcome.request)
    with catalog.writing():
        for shown in evidence.papers:
            if place := given.get(shown.number):
                places = stored.dump([replace(one, exchange=exchange) for one in _assignments(shown.paper.key, place, tree, evidence)])
                catalog.keep_finding(TASK, slug(name), tree.digest, shown.paper.number, places)
    return [f"{shown.paper.key}: no place in the reply" for shown in evidence.papers if shown.number not in given]


def _assignments(key: str, place: PlaceReply, tree: Tree, evidence: Evidence) -> list[Assignment]:
    faults = _faults(place, tree, evidence)
    if faults:
        return [Assignment(key, NOWHERE, confidence=f"R2: {faults[0]}")]
    if place.node == NOWHERE:
        return [Assignment(key, NOWHERE, confidence=place.reason.strip())]
    cites = cites_of(label_list(place.sentences), evidence)
    nodes = list(dict.fromkeys(node for node in (place.node, *place.also) if node != NOWHERE))
    return [Assignment(key, node, rank, "model", place.confidence, cites) for rank, node in enumerate(nodes, 1)]
