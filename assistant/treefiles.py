"""Trees that people bring and edits of trees: an indented list or Markdown headings in, and a tree file changed in place.

Every edit is text → text by tomlkit, so that comments and order stay; what cannot be done is a UsageError that names the
node, and nothing is written.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from assistant.document import Node
from assistant.errors import EditedMeanwhile, SettingsError, UsageError
from assistant.files import filed_table, free_id, node_table, read_tree, tree_toml, write_kept
from assistant.tree import NOWHERE, Filing, Tree

if TYPE_CHECKING:
    from tomlkit import TOMLDocument
    from tomlkit.items import AoT, Table

HEADING = re.compile(r"(#{1,6})\s+(.+?)\s*#*\s*")
BULLET = re.compile(r"(?:[-*+•]|\d+(?:\.\d+)*[.)]?)\s+(?=\S)")
FENCE = re.compile(r"\s*(?:```|~~~)")
PARTED = re.compile(r"\s+[—–]\s+|:\s+")
EMPHASIS = re.compile(r"(\*\*|__|\*|_)(?P<inner>.+?)\1")
TABLE = re.compile(r"\s*\[(?:\[\s*(?P<name>\w+)\s*\]\])?")
"""The head of a table; that of a list of tables is named."""
TAB = 4
MOST_NAMED = 20
"""Nodes that an error names."""


class Entry(NamedTuple):
    """A line of somebody's tree: where it stands, how deep, and what it says."""

    line: int
    depth: int
    label: str
    definition: str = ""


def given_tree(path: Path) -> str:
    """The text of a tree file made of somebody's own tree: TOML as ours, Markdown headings, or an indented list.

    Raises SettingsError that names the line or node at fault: a circle, a parent that is not there, twins, nothing at all.
    """
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as text ({error})") from error
    if path.suffix.lower() == ".toml":
        import tomlkit

        tree = Tree(*read_tree(path))
        if not tree.nodes:
            raise SettingsError(f"{path}: no [[node]] in it; each needs a label")
        document = tomlkit.parse(text)
        document["given"] = True
        return with_ids(tomlkit.dumps(document), tree)
    lines = list(_unfenced(text))
    is_markdown = any(HEADING.fullmatch(line) for _, line in lines)
    entries = list(_headings(lines) if is_markdown else _indented(path, lines))
    if not entries:
        raise SettingsError(f"{path}: no node in it; write an indented list, Markdown headings, or TOML with [[node]]")
    return tree_toml("", _nodes(path, entries), given=True)


def _unfenced(text: str) -> Iterator[tuple[int, str]]:
    """The numbered lines that say something, without what stands between fences of code."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif line.strip() and not inside:
            yield number, line.rstrip()


def _headings(lines: Sequence[tuple[int, str]]) -> Iterator[Entry]:
    """Each heading with the first lines below it as its definition; a single heading above all others is the tree's title."""
    entries: list[Entry] = []
    open_: list[int] = []
    for number, line in lines:
        if found := HEADING.fullmatch(line):
            level = len(found[1])
            while open_ and open_[-1] >= level:
                open_.pop()
            open_.append(level)
            entries.append(Entry(number, len(open_), *_said(found[2])))
        elif entries and not entries[-1].definition and not BULLET.match(line.strip()):
            entries[-1] = entries[-1]._replace(definition=line.strip())
    is_titled = len(entries) > 1 and sum(entry.depth == 1 for entry in entries) == 1
    return iter([entry._replace(depth=entry.depth - 1) for entry in entries[1:]] if is_titled else entries)


def _indented(path: Path, lines: Sequence[tuple[int, str]]) -> Iterator[Entry]:
    open_: list[int] = []
    for number, line in lines:
        bare = line.expandtabs(TAB)
        indent, words = len(bare) - len(bare.lstrip()), bare.strip()
        if not open_ and indent:
            raise SettingsError(f"{path}: line {number}, {words!r}, is indented, but there is no line above that it could belong to")
        came_back = bool(open_) and open_[-1] > indent
        while open_ and open_[-1] > indent:
            open_.pop()
        if came_back and indent not in open_:
            raise SettingsError(f"{path}: line {number}, {words!r}, is indented by {indent}; it stands between two levels and has no parent")
        if indent not in open_:
            open_.append(indent)
        yield Entry(number, len(open_), *_said(BULLET.sub("", words, count=1)))


def _said(words: str) -> tuple[str, str]:
    """The label and the definition that a line holds, if it has one: `Label: what belongs here`."""
    plain = EMPHASIS.sub(lambda found: found["inner"], words)
    label, *rest = PARTED.split(plain, maxsplit=1)
    return label.strip().rstrip(":").strip() or plain.strip(), rest[0].strip() if rest else ""


def _nodes(path: Path, entries: Sequence[Entry]) -> list[Node]:
    nodes: list[Node] = []
    above: list[Node] = []
    for entry in entries:
        del above[entry.depth - 1 :]
        parent = above[-1] if above else None
        twin = next((node for node in nodes if node.parent == (parent.id if parent else "") and node.label == entry.label), None)
        if twin:
            raise SettingsError(f"{path}: line {entry.line}: {entry.label!r} stands twice under {parent.label if parent else 'the top'}; make it one node")
        taken = {node.id for node in nodes}
        name = free_id(entry.label, taken)
        if parent and name != free_id(entry.label, ()):  # a label that another branch has too is told apart by its own
            name = free_id(f"{parent.label} {entry.label}", taken)
        node = Node(name, entry.label, entry.definition, parent.id if parent else "")
        nodes.append(node)
        above.append(node)
    return nodes


def with_ids(text: str, tree: Tree) -> str:
    """The text of a tree file with an id at each node that had none, so that its label can be changed."""
    import tomlkit

    document = tomlkit.parse(text)
    for table, node in zip(_array(document, "node"), tree.nodes, strict=True):
        if not table.get("id"):
            table["id"] = node.id
    return tomlkit.dumps(document)


def with_nodes(text: str, nodes: Sequence[Node], merged: Mapping[str, str]) -> str:
    """The text of a tree file with nodes added, of another facet than those there."""
    import tomlkit

    document = tomlkit.parse(text)
    array = _array(document, "node")
    for node in nodes:
        array.append(node_table(node, str(document.get("facet", "")), [old for old, now in merged.items() if now == node.id]))
    return tomlkit.dumps(document)


def proposed_file(path: Path) -> Path:
    """Where nodes are proposed that a tree file does not have."""
    return path.with_name(f"{path.stem}.proposed.toml")


def with_proposed(text: str, found: Sequence[tuple[Node, Sequence[str]]]) -> str:
    """The text of a file of proposed nodes with more of them, each with the keys of the papers that it would hold."""
    import tomlkit

    document = tomlkit.parse(text or "# Proposed by a model, not in the tree. Edit or delete what you do not want; --accept takes the rest.\n")
    array = document.get("node") or tomlkit.aot()
    for node, keys in found:
        table = tomlkit.table()
        table.update({"label": node.label, "definition": node.definition})
        table.update({name: value for name, value in {"parent": node.parent, "facet": node.facet, "papers": list(keys)}.items() if value})
        array.append(table)
    document["node"] = array
    return tomlkit.dumps(document)


def read_proposed(path: Path) -> tuple[Node, ...]:
    """The nodes of a file of proposals; their parents are nodes of the tree beside it, or labels of others in it."""
    import tomlkit

    try:
        tables = _array(tomlkit.parse(path.read_text("utf-8")), "node")
        return tuple(
            Node("", str(table["label"]), str(table.get("definition", "")), str(table.get("parent", "")), str(table.get("facet", ""))) for table in tables
        )
    except (tomlkit.exceptions.ParseError, KeyError) as error:
        raise SettingsError(f"{path}: cannot be read ({error}); each [[node]] needs a label") from error


def edited(path: Path, change: Callable[["Edit"], object]) -> None:
    """Changes a tree file in place; raises UsageError or SettingsError, and then nothing was written.

    What another editor wrote in the meantime is not overwritten: EditedMeanwhile.
    """
    import tomlkit

    before = path.read_text("utf-8")
    edit = Edit.of(path)
    change(edit)
    after = _without(tomlkit.dumps(edit.document), edit.gone)
    _still_a_tree(path, after)
    if path.read_text("utf-8") != before:
        raise EditedMeanwhile(f"{path} was edited meanwhile; nothing was written, run the command again")
    write_kept(path, after)


def _still_a_tree(path: Path, text: str) -> None:
    part = path.with_name(f".{path.name}.check")
    part.write_text(text, "utf-8")
    try:
        read_tree(part)
    except SettingsError as error:
        raise UsageError(str(error).replace(str(part), "that cannot be done")) from error
    finally:
        part.unlink()


class Edit:
    """One change of a tree file: the tree as it is, and the document that is changed."""

    def __init__(self, tree: Tree, document: "TOMLDocument") -> None:
        self.tree = tree
        self.document = document
        self.added: list[Node] = []
        self.gone: set[tuple[str, int]] = set()
        """What is taken out when all is done: (`node` or `filed`, position)."""

    @classmethod
    def of(cls, path: Path) -> "Edit":
        """The tree of a file, to be changed."""
        import tomlkit

        return cls(Tree(*read_tree(path)), tomlkit.parse(path.read_text("utf-8")))

    def node(self, said: str) -> Node:
        """The node of an id or a label that only one has; raises UsageError."""
        nodes = (*self.tree.nodes, *self.added)
        found = [node for node in nodes if node.id == said] or [node for node in nodes if node.label == said]
        heir = self.tree.node(said)
        if not found and heir:
            raise UsageError(f"there is no node {said!r} any more: it is part of {heir.id!r} now")
        if not found:
            raise UsageError(f"there is no node {said!r}{self._others(said)}")
        if len(found) > 1:
            raise UsageError(f"{len(found)} nodes are called {said!r}; give the id, one of {', '.join(node.id for node in found)}")
        return found[0]

    def _others(self, said: str) -> str:
        """What there is instead of a node: the nearest, or the first of them."""
        from difflib import get_close_matches

        known = {name.lower(): name for node in self.tree.nodes for name in (node.label, node.id)}
        near = get_close_matches(said.lower(), known, n=1, cutoff=0.6)
        ids = [node.id for node in self.tree.nodes]
        more = f" and {len(ids) - MOST_NAMED} more" if len(ids) > MOST_NAMED else ""
        return f"; did you mean {known[near[0]]!r}?" if near else f"; the nodes are {', '.join(ids[:MOST_NAMED])}{more}"

    def free(self, said: str) -> Node:
        """As `node`, where it is not locked; a locked one is never changed."""
        node = self.node(said)
        if node.locked:
            raise UsageError(f"{node.id!r} is locked; `unlock` it first")
        return node

    def rename(self, said: str, label: str = "", definition: str = "") -> Node:
        """Another label or definition; papers stay with a new label, and are filed anew under a new definition."""
        node = self.free(said)
        table = self._table(node)
        table.setdefault("id", node.id)
        if label.strip():
            self._no_twin(label, node.parent, node.facet, besides=node.id)
            table["label"] = label.strip()
        if definition.strip():
            table["definition"] = definition.strip()
        return node

    def merge(self, into: str, others: Sequence[str]) -> Node:
        """Makes nodes part of one: their papers and children are that one's."""
        heir = self.free(into)
        gone = [self.free(other) for other in others]
        for node in gone:
            if node.id == heir.id or heir.id in self.tree.below([node.id]):
                raise UsageError(f"{heir.id!r} cannot take in {node.id!r}, which is {'itself' if node.id == heir.id else 'above it'}")
            if node.facet != heir.facet:
                raise UsageError(f"{node.id!r} is of the facet {node.facet!r}, {heir.id!r} of {heir.facet!r}; a facet is a tree of its own")
        ids = [node.id for node in gone]
        for node in self.tree.nodes:
            if node.parent in ids and node.id not in ids:
                self._table(node)["parent"] = heir.id
        earlier = [old for old, now in self.tree.merged.items() if now in {heir.id, *ids}]
        self._table(heir)["merged"] = list(dict.fromkeys([*earlier, *ids]))
        for table in self._filed():
            if str(table["node"]) in {*ids, *(node.label for node in gone)}:
                table["node"] = heir.id
        self._drop(ids)
        return heir

    def split(self, said: str, parts: Sequence[str]) -> Node:
        """Gives a node children, each `Label` or `Label: definition`; its papers are filed among them at the next run."""
        node = self.free(said)
        if len(parts) < 2:
            raise UsageError(f"split {node.id!r} into at least two: 'Label: definition' for each")
        for words in parts:
            label, definition = _said(words)
            self.add(label, definition, node.id)
        return node

    def move(self, said: str, under: str) -> Node:
        """Another parent, or the top; what is below it moves along, and papers stay where they are."""
        node = self.free(said)
        table = self._table(node)
        if not under:
            table.pop("parent", None)
            self._no_twin(node.label, "", node.facet, besides=node.id)
            return node
        parent = self.free(under)
        if parent.id in self.tree.below([node.id]):
            raise UsageError(f"{node.id!r} cannot stand under {parent.id!r}, which is {'itself' if parent.id == node.id else 'below it'}")
        self._no_twin(node.label, parent.id, node.facet, besides=node.id)
        table["parent"] = parent.id
        return node

    def add(self, label: str, definition: str = "", under: str = "", facet: str = "") -> Node:
        """A new node, last among its siblings."""
        if not label.strip():
            raise UsageError("a node needs a label")
        parent = self.free(under) if under else None
        facet = parent.facet if parent else facet or self.tree.facet
        self._no_twin(label, parent.id if parent else "", facet)
        array = _array(self.document, "node")
        taken = {node.id for node in self.tree.nodes} | {str(table.get("id", "")) for table in array} | set(self.tree.merged)
        node = Node(free_id(label, taken), label.strip(), definition.strip(), parent.id if parent else "", facet)
        array.append(node_table(node, str(self.document.get("facet", ""))))
        self.added.append(node)
        return node

    def remove(self, said: str, *, below: bool = False) -> Node:
        """Takes a node out; its papers become unassigned. With what is below it only where that is said."""
        node = self.free(said)
        inside = self.tree.below([node.id])
        locked = [one.id for one in self.tree.nodes if one.id in inside and one.locked]
        if len(inside) > 1 and not below:
            raise UsageError(f"{node.id!r} has {len(inside) - 1} nodes below it; move them, or take them out too with --below")
        if locked:
            raise UsageError(f"{locked[0]!r}, below {node.id!r}, is locked; `unlock` it first")
        labels = {one.label for one in self.tree.nodes if one.id in inside}
        self.gone |= {("filed", at) for at, table in enumerate(self._filed()) if str(table["node"]) in inside | labels}
        self._drop(inside)
        return node

    def lock(self, said: str, *, locked: bool = True) -> Node:
        """Keeps a node as it is, or lets it be changed again."""
        node = self.node(said)
        table = self._table(node)
        if locked:
            table["locked"] = True
        else:
            table.pop("locked", None)
        return node

    def file(self, keys: Sequence[str], places: Sequence[str], sentences: Sequence[int] = (), reason: str = "") -> list[str]:
        """Files a paper by hand, under its key and whatever keys it had; no place gives it back, `none` leaves it out."""
        nodes = [NOWHERE if place == NOWHERE else self.node(place).id for place in places]
        facets = {node.facet for node in self.tree.nodes if node.id in nodes} if NOWHERE not in nodes else set(self.tree.facets)
        mine = {node.id: node.facet for node in self.tree.nodes}
        for at, table in enumerate(self._filed()):
            stands = str(table["node"])
            if str(table["key"]) in keys and (not nodes or stands == NOWHERE or mine.get(stands) in facets):
                self.gone.add(("filed", at))
        if nodes and "filed" not in self.document:
            import tomlkit

            self.document.append("filed", tomlkit.aot())
        for node in dict.fromkeys(nodes):
            self._filed().append(filed_table(keys[0], Filing(node, tuple(sentences), reason)))
        return nodes

    def _filed(self) -> "list[Table] | AoT":
        return _array(self.document, "filed") if "filed" in self.document else []

    def _no_twin(self, label: str, parent: str, facet: str, besides: str = "") -> None:
        twin = [node for node in (*self.tree.nodes, *self.added) if (node.label, node.parent, node.facet) == (label.strip(), parent, facet) and node.id != besides]
        if twin:
            raise UsageError(f"{twin[0].id!r} is called {label!r} and stands at the same place; two siblings need two labels")

    def _table(self, node: Node) -> "Table":
        return _array(self.document, "node")[self.tree.nodes.index(node)]

    def _drop(self, ids: "Sequence[str] | frozenset[str]") -> None:
        self.gone |= {("node", at) for at, node in enumerate(self.tree.nodes) if node.id in ids}


def _without(text: str, gone: set[tuple[str, int]]) -> str:
    """The text without these tables; comments that stand above the next one stay, which tomlkit would take out too."""
    kept: list[str] = []
    held: list[str] = []
    seen: Counter[str] = Counter()
    is_gone = in_text = False
    for line in text.splitlines(keepends=True):
        if not in_text and (found := TABLE.match(line)):
            is_gone = bool(found["name"]) and (found["name"], seen[found["name"]]) in gone
            seen[found["name"] or ""] += 1
            kept += held
            held = []
        if is_gone:
            is_remark = not in_text and (not line.strip() or line.lstrip().startswith("#"))
            held = [*held, line] if is_remark else []
        else:
            kept.append(line)
        in_text ^= (line.count('"""') + line.count("'''")) % 2 == 1
    return "".join([*kept, *(line for line in held if line.strip())])


def _array(document: "TOMLDocument", name: str) -> "AoT":
    from tomlkit.items import AoT

    array = document.get(name)
    if not isinstance(array, AoT):
        raise SettingsError(f"write each {name} as [[{name}]], one after the other")
    return array
