"""A taxonomy as its file has it: nodes by facet, papers filed by hand, and what plain code finds wrong with it."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from assistant.document import Assignment, Node, Problem
from store.keywords import stems

NOWHERE = "none"
"""Where a paper is filed that fits no node."""
TREE_RULE = "tree"
"""The rule under which the report lists what is wrong with a tree."""
NAMED = 3
"""Nodes that one line of the report names."""


class Filing(NamedTuple):
    """A place that a person gave a paper, with the sentences of its abstract that show it; `none` is no place, with a reason."""

    node: str
    sentences: tuple[int, ...] = ()
    reason: str = ""


class Bounds(NamedTuple):
    """How deep and how wide a grown tree may be, and how many papers a leaf holds at least."""

    depth: int = 2
    width: int = 7
    smallest: int = 2


@dataclass(frozen=True, slots=True)
class Tree:
    """The facet, the nodes, the papers filed by hand (key → places), and how the tree came about.

    A `given` tree is somebody's own: papers may stand at any of its nodes, and none is ever taken out for being empty.
    `merged` says which node an earlier one is part of now. A tree of several facets has its facet at each node.
    """

    facet: str
    nodes: tuple[Node, ...]
    filed: Mapping[str, tuple[Filing, ...]] = field(default_factory=dict)
    given: bool = False
    merged: Mapping[str, str] = field(default_factory=dict)
    bounds: Bounds = field(default_factory=Bounds)

    @property
    def facets(self) -> tuple[str, ...]:
        """The facets, each a tree of its own, in the order of their first node."""
        return tuple(dict.fromkeys(node.facet for node in self.nodes)) or (self.facet,)

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes that have no children."""
        parents = {node.parent for node in self.nodes}
        return tuple(node for node in self.nodes if node.id not in parents)

    @property
    def places(self) -> tuple[Node, ...]:
        """The nodes that papers can be filed at: the leaves, and in somebody's own tree every node."""
        return self.nodes if self.given else self.leaves

    @property
    def offer(self) -> str:
        """The places that a paper can be offered, in short: what fitted none of them is asked about when there is another."""
        return " ".join(sorted(_digest([node.id, node.definition])[:8] for node in self.places))

    @property
    def ordered(self) -> tuple[tuple[int, Node], ...]:
        """Every node with its depth (1 at the top), each followed by what is below it."""
        below: dict[str, list[Node]] = {}
        for node in self.nodes:
            below.setdefault(node.parent, []).append(node)
        found: list[tuple[int, Node]] = []
        waiting = [(1, node) for node in reversed(below.get("", []))]
        while waiting:
            depth, node = waiting.pop()
            found.append((depth, node))
            waiting += [(depth + 1, child) for child in reversed(below.get(node.id, []))]
        return tuple(found)

    def node(self, id_: str) -> Node | None:
        """The node of that id, or the one that it is part of now."""
        by_id = {node.id: node for node in self.nodes}
        seen: set[str] = set()
        while id_ not in by_id and id_ in self.merged and id_ not in seen:
            seen.add(id_)
            id_ = self.merged[id_]
        return by_id.get(id_)

    def mark(self, id_: str) -> str:
        """What a place was judged by, in short: its definition and its children. A paper is filed anew when it changes."""
        node = next((node for node in self.nodes if node.id == id_), None)
        return _digest([node.definition, *sorted(child.id for child in self.nodes if child.parent == id_)]) if node else ""

    def of(self, facet: str) -> "Tree":
        """The tree of one facet."""
        nodes = tuple(node for node in self.nodes if node.facet == facet)
        inside = {node.id for node in nodes} | {NOWHERE}
        filed = {key: some for key, places in self.filed.items() if (some := tuple(one for one in places if one.node in inside))}
        return replace(self, facet=facet, nodes=nodes, filed=filed)

    def below(self, ids: Iterable[str]) -> frozenset[str]:
        """These nodes and everything below them."""
        inside = set(ids)
        while more := {node.id for node in self.nodes if node.parent in inside} - inside:
            inside |= more
        return frozenset(inside)


def tree_problems(tree: Tree, assignments: Iterable[Assignment]) -> list[Problem]:
    """What a reader of the tree should know: missing definitions, siblings alike, and in a grown one empty or thin nodes and bounds."""
    held = Counter(one.node for one in assignments)
    found: list[Problem] = []
    siblings: dict[tuple[str, str], list[Node]] = {}
    for depth, node in tree.ordered:
        others = siblings.setdefault((node.facet, node.parent), [])
        twin = next((other for other in others if is_alike(other.label, node.label)), None)
        others.append(node)
        said = [f"its label is much like that of {twin.id!r} beside it"] if twin else []
        if not tree.given:
            count = sum(held[one] for one in tree.below([node.id]))
            said += ["no paper is filed there"] if not count else []
            said += [f"it stands at level {depth}, below the {tree.bounds.depth} asked for"] if depth > tree.bounds.depth else []
        found += [Problem(node.label, TREE_RULE, reason) for reason in said]
    bare = [node.label for _, node in tree.ordered if not node.definition.strip()]
    named = ", ".join(bare[:NAMED]) + (f" and {len(bare) - NAMED} more nodes" if len(bare) > NAMED else "")
    found += [Problem(named, TREE_RULE, "no definition, so papers are filed by the label alone")] if bare else []
    if not tree.given:
        wide = [(parent, len(some)) for (_, parent), some in siblings.items() if len(some) > tree.bounds.width]
        found += [Problem(parent or "the first level", TREE_RULE, f"{count} nodes, more than {tree.bounds.width}") for parent, count in wide]
    return found


def is_alike(one: str, other: str) -> bool:
    """Whether two labels say the same in other letters or endings."""
    left, right = stems(one), stems(other)
    return one.casefold().strip() == other.casefold().strip() or bool(left and left == right)


def _digest(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
