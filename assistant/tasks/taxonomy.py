"""A tree of the papers by one or more facets, and each paper filed in it with its sentence, or unassigned with a reason.

Papers are filed pack by pack, and every one is accounted for by code. The file of the tree is its owner's: a run asks only
about papers that have no place in it, or whose place is no longer what they were filed under. How a tree is grown from
many papers stands in `growing`; the method in docs/taxonomies.md.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pydantic import BaseModel, Field

from assistant import stored
from assistant.document import Assignment, Cite, Coverage, Document, Node, Problem, Report, Unassigned
from assistant.errors import ReplyUnusable
from assistant.evidence import Evidence, gathered, joined_cites, label_list
from assistant.files import free_id
from assistant.gateway import Check, Parsed, Request
from assistant.grounding import cites_of, free_form, label_problems
from assistant.tasks.desk import Desk, label_for
from assistant.tree import NOWHERE, TREE_RULE, Filing, Tree, tree_problems
from store.errors import UnknownPaper
from store.keys import slug
from store.library import Library
from store.normalize import folded
from store.paper import Paper

TASK: Final = "taxonomy"
WIDEST = 7
UNREAD = "not filed yet, or its reply could not be used"


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
class Standing:
    """Where a paper stands in the tree of one facet: its places, or why it has none, and whether a run should ask about it."""

    places: tuple[Assignment, ...] = ()
    reason: str = ""
    is_waiting: bool = False
    blocked: tuple[Problem, ...] = ()


class Marks(dict[str, str]):
    """What each node of a tree is judged by, worked out once."""

    def __init__(self, tree: Tree) -> None:
        super().__init__((node.id, tree.mark(node.id)) for node in tree.nodes)


def grow(desk: Desk, name: str, facet: str, papers: Sequence[Paper], taken: Collection[str] = (), step: str = "") -> Tree:
    """A tree proposed from the papers, all shown at once; raises ReplyUnusable when no usable one came. `taken` are ids of others."""
    evidence = gathered(desk.library, papers)
    request = desk.request(
        "taxonomy/propose", label_for(TASK, "propose", f"{slug(name)}{step and '-'}{step}"), TreeReply, papers=evidence.papers, facet=facet, widest=WIDEST
    )
    parsed = desk.structured(request, TreeReply, _tree_faults)
    if parsed.problems:
        raise ReplyUnusable(f"{name}: the proposed tree still has faults: {'; '.join(parsed.problems[:3])}; run it with --again")
    return Tree(facet, _nodes(parsed.value, facet, taken))


def file_papers(desk: Desk, name: str, tree: Tree, papers: Sequence[Paper], on_done: Callable[[int, int], None]) -> Document:
    """Every paper of the scope filed or unassigned, by each facet; only those that wait are asked about."""
    return desk.finished(document(desk.library, name, tree, papers, file_waiting(desk, name, tree, papers, on_done)))


def file_waiting(
    desk: Desk, name: str, tree: Tree, papers: Sequence[Paper], on_done: Callable[[int, int], None], among: Tree | None = None, step: str = ""
) -> list[str]:
    """Files the papers that wait; what failed, by key.

    `among` offers only the places of a part of the tree, `step` tells such calls apart in the recordings.
    """
    failed: list[str] = []
    for facet in tree.facets:
        part, offered = tree.of(facet), (among or tree).of(facet)
        subject = "-".join(filter(None, [slug(name), slug(facet) if len(tree.facets) > 1 else "", step]))
        if offered.places:
            failed += desk.read_packs(
                waiting(desk.library, name, part, papers),
                lambda evidence, offered=offered, subject=subject: _asked(desk, subject, offered, evidence),  # type: ignore[misc]  # bound now
                lambda evidence, reply, offered=offered: _kept(desk, name, offered, evidence, reply),  # type: ignore[misc]
                on_done,
            )
    return failed


def waiting(library: Library, name: str, tree: Tree, papers: Sequence[Paper]) -> list[Paper]:
    """The papers that a run would ask about, in the tree of one facet."""
    have, marks, offer = _stored(library, name, tree), Marks(tree), frozenset(tree.offer.split())
    return [paper for paper in papers if not by_hand(tree, paper) and standing(tree, marks, offer, have.get(paper.number), paper.key).is_waiting]


def by_hand(tree: Tree, paper: Paper) -> tuple[Filing, ...]:
    """The places that a person gave a paper, under any key that it ever had."""
    return next((tree.filed[key] for key in (paper.key, *paper.aliases) if key in tree.filed), ())


def standing(tree: Tree, marks: Marks, offer: frozenset[str], data: str | None, key: str) -> Standing:
    """Where a paper stands by what is stored of it.

    A place holds while its node is there with the same definition and children; a merged node's papers are its heir's. A
    place that is gone leaves the paper unassigned, and it waits to be filed anew; so does one that fitted nowhere when
    there are other nodes now.
    """
    if data is None:
        return Standing(reason=UNREAD, is_waiting=True)
    placed = stored.assignments(data)
    blocked = tuple(Problem(f"{key}: {one.node}", *one.confidence.split(": ", 1)) for one in placed if one.confidence.startswith("R"))
    if placed[0].node == NOWHERE:
        return Standing(reason=placed[0].confidence, is_waiting=not offer <= set(placed[0].under.split()), blocked=blocked)
    found: dict[str, Assignment] = {}
    is_stale = False
    for one in placed:
        node = tree.node(one.node)
        if node:
            is_stale |= node.id == one.node and one.under != marks[node.id]
            found.setdefault(node.id, replace(one, key=key, node=node.id, rank=len(found) + 1))
    lost = f"{placed[0].node!r}, where it was filed, was taken out of the tree"
    return Standing(tuple(found.values()), "" if found else lost, is_stale or not found)


def without_empty(tree: Tree, made: Document) -> Tree:
    """A grown tree without the nodes that no paper went to; locked ones stay, and whoever makes a tree by hand keeps theirs."""
    parents = {node.id: node.parent for node in tree.nodes}
    kept = {assignment.node for assignment in made.assignments} | {node.id for node in tree.nodes if node.locked}
    for node in list(kept):
        while node := parents.get(node, ""):
            kept.add(node)
    return replace(tree, nodes=tuple(node for node in tree.nodes if node.id in kept))


def move_findings(library: Library, name: str, old: Tree, new: Tree) -> None:
    """What was found under a tree holds under another that only lacks its empty nodes."""
    marks = Marks(new)
    with library.catalog.writing():
        for number, data in _stored(library, name, old).items():
            placed = [replace(one, under=new.offer if one.node == NOWHERE else marks.get(one.node, one.under)) for one in stored.assignments(data)]
            library.catalog.keep_finding(TASK, slug(name), _item(old), number, stored.dump(placed))


def filed_at(library: Library, name: str, tree: Tree, node: str) -> tuple[int, ...]:
    """The numbers of the papers filed at a node (by id or label), or below it."""
    inside = tree.below(one.id for one in tree.nodes if node in {one.id, one.label})
    made = document(library, name, tree, library.papers())
    return tuple(sorted({library.catalog.number(one.key) for one in made.assignments if one.node in inside}))


def document(library: Library, name: str, tree: Tree, papers: Sequence[Paper], failed: Sequence[str] = ()) -> Document:
    """The tree and its papers as stored; calls no model."""
    ordered = sorted(papers, key=lambda paper: paper.key)
    assignments: list[Assignment] = []
    reasons: dict[str, list[str]] = defaultdict(list)
    blocked: list[Problem] = []
    facets = tree.facets
    for facet in facets:
        part = tree.of(facet)
        have, marks, offer = _stored(library, name, part), Marks(part), frozenset(part.offer.split())
        for paper in ordered:
            hand = by_hand(part, paper)
            stands = _by_person(library, paper, hand) if hand else standing(part, marks, offer, have.get(paper.number), paper.key)
            assignments += stands.places
            blocked += stands.blocked
            if not stands.places:
                reasons[paper.key].append(f"by {facet}: {stands.reason}" if len(facets) > 1 else stands.reason)
    if len(facets) > 1:
        assignments.sort(key=lambda one: one.key)
    labels = {node.id: node.label for node in tree.nodes}
    used: dict[str, list[str]] = defaultdict(list)
    for one in assignments:
        used[one.key].append(labels[one.node])
    report = Report(
        statements=len(assignments),
        checked_by_code=sum(bool(one.cites) for one in assignments),
        not_checked=sum(not one.cites for one in assignments),
        blocked=tuple(blocked),
        marked=(*tree_problems(tree, assignments), *_unknown(library, tree)),
        failed=tuple(failed),
    )
    return Document(
        TASK,
        name,
        nodes=with_examples(tree.nodes, assignments),
        assignments=tuple(assignments),
        unassigned=tuple(Unassigned(key, "; ".join(said)) for key, said in reasons.items()),
        coverage=tuple(Coverage(paper.key, tuple(used[paper.key]), "; ".join(reasons.get(paper.key, ()))) for paper in ordered),
        report=report,
    )


def with_examples(nodes: Sequence[Node], assignments: Iterable[Assignment]) -> tuple[Node, ...]:
    """The nodes, each with a paper that shows what it is: the one that its file names, else the surest of those filed there."""
    surest: dict[str, Assignment] = {}
    there: dict[str, set[str]] = defaultdict(set)
    sure = {"high": 0, "medium": 1}
    for one in assignments:
        there[one.node].add(one.key)
        other = surest.get(one.node)
        if other is None or (one.rank, sure.get(one.confidence, 2)) < (other.rank, sure.get(other.confidence, 2)):
            surest[one.node] = one
    return tuple(
        node if node.example in there[node.id] else replace(node, example=surest[node.id].key if node.id in surest else "") for node in nodes
    )


def _by_person(library: Library, paper: Paper, filed: Sequence[Filing]) -> Standing:
    """The places that a person gave, with the sentences that they named."""
    places = [one for one in filed if one.node != NOWHERE]
    if not places:
        return Standing(reason=filed[0].reason or "left out by hand")
    text = next((one for one in library.texts(paper) if one.role == "abstract"), None)
    found = []
    for rank, one in enumerate(places, 1):
        shown = {sentence.number for sentence in text.sentences} if text else set()
        cites = [Cite(paper.key, text.role, (at,), text.sentence(at), text.id) for at in one.sentences if text and at in shown]
        found.append(Assignment(paper.key, one.node, rank, "person", "high", joined_cites(cites)))
    return Standing(tuple(found))


def _unknown(library: Library, tree: Tree) -> list[Problem]:
    """Papers filed by hand that the library does not have, under no key that it ever gave."""
    found = []
    for key in tree.filed:
        try:
            library.catalog.number(key)
        except UnknownPaper as error:
            found.append(Problem(key, TREE_RULE, f"filed by hand, but {error}"))
    return found


def _item(tree: Tree) -> str:
    return f"by:{tree.facet}"


def _stored(library: Library, name: str, tree: Tree) -> dict[int, str]:
    """What is stored of each paper by its number, in the tree of one facet."""
    return {paper: data for (item, paper), data in library.catalog.findings(TASK, slug(name)).items() if item == _item(tree)}


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


def _nodes(reply: TreeReply, facet: str, taken: Collection[str]) -> tuple[Node, ...]:
    nodes: list[Node] = []

    def added(leaf: Leaf, parent: str) -> str:
        name = free_id(leaf.label, {*taken, *(node.id for node in nodes)})
        nodes.append(Node(name, leaf.label.strip(), leaf.definition.strip(), parent, facet))
        return name

    for branch in reply.nodes:
        top = added(branch, "")
        for child in branch.children:
            added(child, top)
    return tuple(nodes)


def _asked(desk: Desk, subject: str, tree: Tree, evidence: Evidence) -> tuple[Request, type[PlacesReply], Check[PlacesReply]]:
    label = label_for(TASK, "assign", f"{subject}-{slug(evidence.keys[0])}")
    if tree.given:
        request = desk.request("taxonomy/file", label, PlacesReply, papers=evidence.papers, facet=tree.facet, nodes=tree.ordered)
    else:
        labels = {node.id: node.label for node in tree.nodes}
        leaves = [(node, labels.get(node.parent, "")) for node in tree.leaves]
        request = desk.request("taxonomy/assign", label, PlacesReply, papers=evidence.papers, facet=tree.facet, leaves=leaves)
    return request, PlacesReply, lambda reply: _place_faults(reply, tree, evidence)


def _place_faults(reply: PlacesReply, tree: Tree, evidence: Evidence) -> list[str]:
    given = {place.paper: place for place in reply.papers}
    said = [f"paper {number} was not shown" for number in given if not 1 <= number <= len(evidence.papers)]
    for shown in evidence.papers:
        place = given.get(shown.number)
        said += [f"paper {shown.number}: {fault}" for fault in (_faults(place, tree, evidence) if place else ["no place"])]
    return said


def _faults(place: PlaceReply, tree: Tree, evidence: Evidence) -> list[str]:
    ids = {node.id for node in tree.places}
    said = [f"{node!r} is no id of a node papers can go to" for node in (place.node, *place.also) if node not in ids | {NOWHERE}]
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
                catalog.keep_finding(TASK, slug(name), _item(tree), shown.paper.number, places)
    return [f"{shown.paper.key}: no place in the reply" for shown in evidence.papers if shown.number not in given]


def _assignments(key: str, place: PlaceReply, tree: Tree, evidence: Evidence) -> list[Assignment]:
    faults = _faults(place, tree, evidence)
    if faults or place.node == NOWHERE:
        return [Assignment(key, NOWHERE, confidence=f"R2: {faults[0]}" if faults else place.reason.strip(), under=tree.offer)]
    cites = cites_of(label_list(place.sentences), evidence)
    nodes = list(dict.fromkeys(node for node in (place.node, *place.also) if node != NOWHERE))
    return [Assignment(key, node, rank, "model", place.confidence, cites, under=tree.mark(node)) for rank, node in enumerate(nodes, 1)]
