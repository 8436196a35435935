"""What changed in a tree since the last run, and why: papers that came, moved or lost their place, nodes that came or went."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from assistant.document import Document
from assistant.tasks.taxonomy import TASK, UNREAD
from assistant.tree import Tree
from store.keys import slug
from store.library import Library
from store.paper import Paper

LAST, BEFORE = "@last", "@before"
"""What the state after the last run, and the one before it, are stored as."""


class State(NamedTuple):
    """A tree at one time: per node its label, definition and parent, per paper's number its places or why it has none."""

    nodes: dict[str, tuple[str, str, str]]
    places: dict[int, tuple[str, ...]]
    reasons: dict[int, str]


class Change(NamedTuple):
    """One difference: of what (a paper's key, a node's label), from where to where, and why."""

    kind: str
    name: str
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        where = f"{self.before or 'nowhere'} → {self.after or 'nowhere'}" if self.kind == "paper" else f"{self.before} → {self.after}".strip(" →")
        return f"{self.kind} {self.name}{': ' if where else ''}{where}{f' ({self.why})' if self.why else ''}"


def state_of(library: Library, made: Document) -> State:
    """The state of a tree as it is."""
    numbers = {one.key: library.catalog.number(one.key) for one in made.coverage}
    places: dict[int, tuple[str, ...]] = {}
    for one in made.assignments:
        places[numbers[one.key]] = (*places.get(numbers[one.key], ()), one.node)
    nodes = {node.id: (node.label, node.definition, node.parent) for node in made.nodes}
    return State(nodes, places, {numbers[one.key]: one.reason for one in made.unassigned})


def keep_state(library: Library, name: str, state: State) -> None:
    """Keeps the state after a run; the one before it is kept too, where it was another."""
    data = json.dumps(state._asdict(), ensure_ascii=False, sort_keys=True)
    have = library.catalog.findings(TASK, slug(name)).get((LAST, 0))
    if data == have:
        return
    with library.catalog.writing():
        if have:
            library.catalog.keep_finding(TASK, slug(name), BEFORE, 0, have)
        library.catalog.keep_finding(TASK, slug(name), LAST, 0, data)


def kept_states(library: Library, name: str) -> tuple[State | None, State | None]:
    """The states after the last run and before it, where there were such."""
    have = library.catalog.findings(TASK, slug(name))
    last, before = (have.get((item, 0)) for item in (LAST, BEFORE))
    return _state(last) if last else None, _state(before) if before else None


def changes(library: Library, tree: Tree, old: State, new: State, papers: Sequence[Paper]) -> list[Change]:
    """What is different between two states: nodes in the order of the tree, then papers in order of key."""
    labels = {id_: label for state in (old, new) for id_, (label, _, _) in state.nodes.items()}
    found = [_node_change(tree, labels, id_, old.nodes.get(id_), new.nodes.get(id_)) for id_ in dict.fromkeys([*new.nodes, *old.nodes])]
    in_scope = {paper.number: paper.key for paper in papers}
    for number, key in sorted(in_scope.items(), key=lambda item: item[1]):
        before, after = old.places.get(number, ()), new.places.get(number, ())
        was_known = number in old.places or number in old.reasons
        if before != after or not was_known:
            was_filed = was_known and old.reasons.get(number) != UNREAD
            said = _why(tree, old, new, before, after, was_filed=was_filed) or new.reasons.get(number, "")
            found.append(Change("paper", key, " + ".join(labels[one] for one in before), " + ".join(labels[one] for one in after), said))
    return [change for change in found if change]


def _node_change(
    tree: Tree, labels: dict[str, str], id_: str, old: tuple[str, str, str] | None, new: tuple[str, str, str] | None
) -> Change | None:
    if old == new:
        return None
    if new is None:
        heir = tree.node(id_)
        return Change("node", labels[id_], "", "", f"part of {heir.label!r} now" if heir else "taken out")
    if old is None:
        return Change("node", labels[id_], "", "", "new")
    said = [f"{old[0]!r} is called {new[0]!r} now"] if old[0] != new[0] else []
    said += ["its definition changed"] if old[1] != new[1] else []
    said += [f"moved from {labels.get(old[2], 'the top')} to {labels.get(new[2], 'the top')}"] if old[2] != new[2] else []
    return Change("node", labels[id_], "", "", "; ".join(said))


def _why(tree: Tree, old: State, new: State, before: tuple[str, ...], after: tuple[str, ...], *, was_filed: bool) -> str:
    """Why a paper stands elsewhere: the paper is new, or its node, or what there is to choose from, is another."""
    if not was_filed:
        return "new in the library or the scope"
    gone = [one for one in before if one not in new.nodes]
    if gone:
        heir = tree.node(gone[0])
        return f"{old.nodes[gone[0]][0]!r} is part of {heir.label!r} now" if heir else f"{old.nodes[gone[0]][0]!r} was taken out"
    redefined = [one for one in before if old.nodes[one][1] != new.nodes[one][1]]
    if redefined:
        return f"the definition of {new.nodes[redefined[0]][0]!r} changed"
    parted = [one for one in before if any(parent == one and id_ not in old.nodes for id_, (_, _, parent) in new.nodes.items())]
    if parted:
        return f"{new.nodes[parted[0]][0]!r} was parted"
    if not before and any(one not in old.nodes for one in after):
        return "there is a node for it now"
    return "" if not after else "filed anew"


def _state(data: str) -> State:
    fields = json.loads(data)
    return State(
        {id_: (one[0], one[1], one[2]) for id_, one in fields["nodes"].items()},
        {int(number): tuple(nodes) for number, nodes in fields["places"].items()},
        {int(number): reason for number, reason in fields["reasons"].items()},
    )
