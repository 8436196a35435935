"""The one tree that every export of a taxonomy draws: nodes in the order of their file, each with the papers filed there."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assistant.document import Assignment, Document, Node, Unassigned

LEVELS = ("first level", "second level", "third level", "fourth level", "fifth level", "sixth level", "seventh level", "eighth level")
FACET = "facet"
UNASSIGNED = "unassigned"
"""What stands in the place of a path where a paper has none."""


@dataclass(frozen=True, slots=True)
class Branch:
    """A node, what is filed at it, and what is below it; a facet that stands beside others is a branch without a node."""

    label: str
    node: Node | None
    papers: tuple[Assignment, ...]
    children: tuple["Branch", ...]

    @property
    def keys(self) -> tuple[str, ...]:
        """The papers that have their first place here or below, each once."""
        own = [one.key for one in self.papers if one.rank == 1]
        return tuple(dict.fromkeys([*own, *(key for child in self.children for key in child.keys)]))

    @property
    def depth(self) -> int:
        """How many levels of branches there are, this one counted."""
        return 1 + max((child.depth for child in self.children), default=0)


def branches(document: Document) -> tuple[Branch, ...]:
    """The branches of the first level; where there are several facets, those stand first."""
    below: dict[str, list[Node]] = {}
    for node in document.nodes:
        below.setdefault(node.parent, []).append(node)
    filed: dict[str, list[Assignment]] = {}
    for one in document.assignments:
        filed.setdefault(one.node, []).append(one)
    tops = [(node.facet, _branch(node, below, filed)) for node in below.get("", [])]
    facets = list(dict.fromkeys(facet for facet, _ in tops))
    if len(facets) < 2:
        return tuple(branch for _, branch in tops)
    return tuple(Branch(name or document.name, None, (), tuple(one for facet, one in tops if facet == name)) for name in facets)


def paths(document: Document) -> dict[str, tuple[str, ...]]:
    """The labels from the first level down to each node, by its id; a facet that stands beside others comes first."""
    return {branch.node.id: labels for labels, branch in walked(branches(document)) if branch.node}


def walked(tops: Sequence[Branch], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Branch]]:
    """Every branch with the labels down to it, parents before children."""
    for branch in tops:
        yield (*above, branch.label), branch
        yield from walked(branch.children, (*above, branch.label))


def facets(document: Document) -> tuple[str, ...]:
    """The facets of a tree that has several, as `paths` names them; nothing where it has one."""
    tops = branches(document)
    return tuple(branch.label for branch in tops) if any(branch.node is None for branch in tops) else ()


def path_names(document: Document) -> tuple[str, ...]:
    """The names of the columns that hold a path: the facet where there are several, and two levels at least."""
    deepest = max((branch.depth for branch in branches(document)), default=0)
    first = (FACET,) if facets(document) else ()
    return first + tuple(LEVELS[at] if at < len(LEVELS) else f"level {at + 1}" for at in range(max(2, deepest - len(first))))


def nowhere(document: Document) -> Iterator[tuple[Unassigned, tuple[str, ...]]]:
    """Each paper that is filed nowhere, with what stands in the place of its path; once for each facet where there are several."""
    several = facets(document)
    facet_of = {node.id: (node.facet or document.name) if several else "" for node in document.nodes}
    filed = {(one.key, facet_of[one.node]) for one in document.assignments}
    for one in document.unassigned:
        for facet in several or ("",):
            if (one.key, facet) not in filed:
                yield one, (facet, UNASSIGNED) if facet else (UNASSIGNED,)


def _branch(node: Node, below: Mapping[str, Sequence[Node]], filed: Mapping[str, Sequence[Assignment]]) -> Branch:
    return Branch(node.label, node, tuple(filed.get(node.id, ())), tuple(_branch(child, below, filed) for child in below.get(node.id, ())))
