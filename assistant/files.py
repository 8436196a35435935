"""The files that a person owns: a table's columns, a tree, a draft's plan and abstract. Written whole or not at all; old ones kept."""

import os
import time
import tomllib
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assistant.document import Column, Node
from assistant.errors import OutputError, SettingsError
from assistant.tree import NOWHERE, Bounds, Filing
from store.keys import slug
from store.normalize import folded

if TYPE_CHECKING:
    from tomlkit.items import Table

KEPT = 20
WORDLESS = {"number": "a number", "yes/no": "yes or no"}
"""The types of column that have no words, and what they have."""
TYPES = ("text", "category", "number", "yes/no", "list")


def table_file(folder: Path, name: str) -> Path:
    """Where a table's columns stand."""
    return folder / "tables" / f"{slug(name)}.toml"


def taxonomy_file(folder: Path, name: str) -> Path:
    """Where a tree stands."""
    return folder / "taxonomies" / f"{slug(name)}.toml"


def plan_file(folder: Path, name: str) -> Path:
    """Where a draft's plan stands."""
    return folder / "drafts" / f"{slug(name)}.plan.md"


def about_file(folder: Path, name: str) -> Path:
    """Where the abstract stands that a draft is about."""
    return folder / "drafts" / f"{slug(name)}.about.txt"


def write_whole(path: Path, content: str | bytes) -> None:
    """Replaces a file at once, so that a reader sees the old one or the new one; raises OutputError."""
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # there may be no folder to unlink it from
            part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error.strerror}); choose another place with --output") from error


def write_kept(path: Path, content: str, *, from_nothing: bool = False) -> None:
    """As `write_whole`, after keeping the version that stood there: the last twenty are in `.versions`.

    `from_nothing` keeps that there was no file too, so that undoing takes it away again.
    """
    versions = path.parent / ".versions"
    if path.exists() and path.read_text("utf-8") != content:
        versions.mkdir(exist_ok=True)
        path.replace(versions / f"{path.name}.{time.time_ns()}")
        for old in _kept(path)[:-KEPT]:
            old.unlink()
    elif from_nothing and not path.exists():
        write_whole(versions / f"{path.name}.{time.time_ns()}", "")
    write_whole(path, content)


def _kept(path: Path) -> list[Path]:
    """The earlier versions of a file, the newest last."""
    return sorted((path.parent / ".versions").glob(f"{path.name}.[0-9]*"))


def last_change(path: Path) -> int:
    """When the newest version of a file was kept; 0 where none is."""
    return max((int(version.name.rpartition(".")[2]) for version in _kept(path)), default=0)


def undone(path: Path) -> bool:
    """Brings back the version of a file that stood before this one; False where none is kept. What stood there is `.undone` beside it."""
    versions = _kept(path)
    if not versions:
        return False
    if path.exists():
        write_whole(path.parent / ".versions" / f"{path.name}.undone", path.read_bytes())
    before = versions[-1].read_bytes()
    if before:
        write_whole(path, before)
    else:
        path.unlink(missing_ok=True)  # there was none
    versions[-1].unlink()
    return True


def read_columns(path: Path) -> tuple[Column, ...]:
    """The columns of a file; raises SettingsError naming the column at fault."""
    columns = []
    for number, fields in enumerate(_tables(path, "column"), 1):
        where = f"{path}: column {number}"
        name = _text(fields, "name", where)
        kind = str(fields.get("type", "text"))
        if kind not in TYPES:
            raise SettingsError(f"{where} ({name}): type {kind!r} is none of {', '.join(TYPES)}")
        question = _text(fields, "question", where)
        if not any(char.isalpha() for char in question):
            raise SettingsError(f"{where} ({name}): {question!r} asks nothing; write what the column asks of each paper")
        vocabulary, definitions = _vocabulary(fields, f"{where} ({name})")
        if vocabulary and kind in WORDLESS:
            raise SettingsError(f"{where} ({name}): a column of type {kind!r} has no vocabulary, since no word is {WORDLESS[kind]}; take out the words or the type")
        columns.append(Column(str(fields.get("id") or slug(name)), name, question, kind, str(fields.get("unit", "")), vocabulary, definitions))
    if len({column.id for column in columns}) < len(columns):
        raise SettingsError(f"{path}: two columns have the same id; give each its own")
    if not columns:
        raise SettingsError(f"{path}: no [[column]] in it; each needs a name and a question")
    return tuple(columns)


def check_columns(path: Path, text: str) -> None:
    """Raises SettingsError where a text that is to become a file of columns cannot be one; nothing is written there."""
    part = path.with_name(f".{path.name}.{os.getpid()}.check")
    write_whole(part, text)
    try:
        read_columns(part)
    except SettingsError as error:
        raise SettingsError(f"{str(error).replace(str(part), f'as {path.name} would be')}; nothing was written") from error
    finally:
        part.unlink()


def _vocabulary(fields: dict[str, object], where: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a column and their definitions: `vocabulary = ["a", "b"]`, `[[column.word]]` with name and definition, or both."""
    words = [str(word).strip() for word in _list(fields, "vocabulary", where)]
    defined: dict[str, str] = {}
    for entry in _list(fields, "word", where):
        if not isinstance(entry, dict):
            raise SettingsError(f"{where}: write each word as [[column.word]] with a name and a definition")
        defined[_text(entry, "name", f"{where}, word").strip()] = str(entry.get("definition", "")).strip()
    every = tuple(dict.fromkeys([*words, *defined]))
    twins = sorted({word for word in every if [one.casefold() for one in every].count(word.casefold()) > 1} | {word for word in words if words.count(word) > 1})
    if twins or "" in every:
        raise SettingsError(f"{where}: the vocabulary has {', '.join(map(repr, twins)) + ' twice' if twins else 'an empty word'}")
    return every, tuple(defined.get(word, "") for word in every) if any(defined.values()) else ()


def with_columns(text: str, columns: Sequence[Column]) -> str:
    """The text of a file of columns with these put in, each in the place of one of its id; comments are kept."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError
    from tomlkit.items import AoT

    try:
        document = tomlkit.parse(text or "# Columns of this table. Change a question and only that column is filled anew.\n")
    except TOMLKitError as error:
        raise SettingsError(f"the columns are not valid TOML ({error}); mend that line") from error
    array = document.get("column")
    if not isinstance(array, AoT):
        array = tomlkit.aot()
        document["column"] = array
    for column in columns:
        table = tomlkit.table()
        table.update({"id": column.id, "name": column.name, "question": column.question, "type": column.type})
        table.update({"unit": column.unit} if column.unit else {})
        if column.vocabulary and not column.definitions:
            table["vocabulary"] = list(column.vocabulary)
        elif column.vocabulary:
            words = tomlkit.aot()
            for word, definition in column.words:
                entry = tomlkit.table()
                entry.update({"name": word, "definition": definition})
                words.append(entry)
            table["word"] = words
        places = [at for at, old in enumerate(array) if str(old.get("id") or slug(str(old.get("name", "")))) == column.id]
        if places:
            array[places[0]] = table
        else:
            array.append(table)
    return tomlkit.dumps(document)


def read_tree(path: Path) -> tuple[str, tuple[Node, ...], dict[str, tuple[Filing, ...]], bool, dict[str, str], Bounds]:
    """A tree file: its facet, nodes, papers filed by hand, and the rest of a Tree, in its order; raises SettingsError naming the node at fault.

    A node without an id gets one from its label; a parent may be named by its label where only one node has it.
    """
    tables = _toml(path)
    facet = str(tables.get("facet", ""))
    fields_of = _tables(path, "node")
    taken = {str(fields["id"]) for fields in fields_of if fields.get("id")}
    nodes: list[Node] = []
    for number, fields in enumerate(fields_of, 1):
        label = _text(fields, "label", f"{path}: node {number}")
        name = str(fields.get("id") or free_id(label, taken))
        taken.add(name)
        words = {part: str(fields.get(part, "")) for part in ("definition", "parent", "example")}
        nodes.append(Node(name, label, words["definition"], words["parent"], str(fields.get("facet", facet)), bool(fields.get("locked", False)), words["example"]))
    named = _named(nodes)
    nodes = [replace(node, parent=named.get(node.parent, node.parent)) for node in nodes]
    _hold_together(path, nodes)
    filed: dict[str, tuple[Filing, ...]] = {}
    for fields in _tables(path, "filed"):
        key, place = _text(fields, "key", f"{path}: [[filed]]"), _text(fields, "node", f"{path}: [[filed]]")
        sentences = tuple(int(str(one)) for one in _list(fields, "sentences", f"{path}: filed {key}") if str(one).isdigit())
        filed[key] = (*filed.get(key, ()), Filing(named.get(place, place), sentences, str(fields.get("reason", ""))))
    unknown = sorted({one.node for places in filed.values() for one in places} - {node.id for node in nodes} - {NOWHERE})
    if unknown:
        raise SettingsError(f"{path}: a paper is filed under {unknown[0]!r}, which is no node's id")
    merged = {str(old): node.id for node, fields in zip(nodes, fields_of, strict=True) for old in _list(fields, "merged", f"{path}: {node.label}")}
    return facet, tuple(nodes), filed, bool(tables.get("given", False)), merged, _bounds(path, tables)


def free_id(label: str, taken: Container[str]) -> str:
    """An id made of a label that no other node has."""
    wanted = slug(label) if any(sign.isascii() and sign.isalnum() for sign in label) else "-".join(folded(label).split()) or "node"
    name, number = wanted, 2
    while name in taken or name == NOWHERE:
        name, number = f"{wanted}-{number}", number + 1
    return name


def tree_toml(
    facet: str,
    nodes: Sequence[Node],
    filed: Mapping[str, Sequence[Filing]] | None = None,
    given: bool = False,
    merged: Mapping[str, str] | None = None,
    bounds: Bounds | None = None,
) -> str:
    """A tree as the file that a person edits; takes the parts of a Tree in its order."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("This tree is yours to edit; a model only files papers under it. [[filed]] key, node: filed by hand."))
    document.add("facet", tomlkit.item(facet))
    if given:
        document.add("given", tomlkit.item(value=True))
    for name, value in zip(Bounds._fields, bounds or (), strict=False):
        if value != Bounds._field_defaults[name]:
            document.add(name, tomlkit.item(value))
    array = tomlkit.aot()
    for node in nodes:
        array.append(node_table(node, facet, [old for old, now in (merged or {}).items() if now == node.id]))
    document.add("node", array)
    if filed:
        papers = tomlkit.aot()
        for key, places in filed.items():
            for place in places:
                papers.append(filed_table(key, place))
        document.add("filed", papers)
    return tomlkit.dumps(document)


def node_table(node: Node, facet: str, merged: Sequence[str] = ()) -> "Table":
    """A node as a table of a tree's file; parts that say nothing are left out."""
    import tomlkit

    table = tomlkit.table()
    table.update({"id": node.id, "label": node.label, "definition": node.definition})
    more: dict[str, object] = {"parent": node.parent, "facet": node.facet if node.facet != facet else "", "locked": node.locked}
    more |= {"example": node.example, "merged": list(merged)}
    table.update({name: value for name, value in more.items() if value})
    return table


def filed_table(key: str, place: Filing) -> "Table":
    """A paper filed by hand as a table of a tree's file."""
    import tomlkit

    table = tomlkit.table()
    table.update({"key": key, "node": place.node})
    table.update({name: value for name, value in {"sentences": list(place.sentences), "reason": place.reason}.items() if value})
    return table


def _named(nodes: Sequence[Node]) -> dict[str, str]:
    """The ids of the nodes by label, where only one has that label and no id is spelled so."""
    labels = Counter(node.label for node in nodes)
    ids = {node.id for node in nodes}
    return {node.label: node.id for node in nodes if labels[node.label] == 1 and node.label not in ids}


def _bounds(path: Path, tables: dict[str, object]) -> Bounds:
    given = {name: tables[name] for name in Bounds._fields if name in tables}
    for name, value in given.items():
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise SettingsError(f"{path}: {name} = {value!r} should be a whole number, at least 1")
    return Bounds(**given)  # type: ignore[arg-type]  # whole numbers, as was checked


def _hold_together(path: Path, nodes: Sequence[Node]) -> None:
    """A tree has one node an id, and every parent exists, is of the same facet, and is no descendant of its child."""
    by_id = {node.id: node for node in nodes}
    if len(by_id) < len(nodes):
        twin = Counter(node.id for node in nodes).most_common(1)[0][0]
        raise SettingsError(f"{path}: two nodes have the same id, {twin!r}; give each its own")
    for node in nodes:
        seen, at = {node.id}, node.parent
        if at in by_id and by_id[at].facet != node.facet:
            raise SettingsError(f"{path}: node {node.id!r} is of another facet than its parent {at!r}; a facet is a tree of its own")
        while at:
            if at not in by_id:
                raise SettingsError(f"{path}: node {node.id!r} has the parent {at!r}, which is no node's id")
            if at in seen:
                raise SettingsError(f"{path}: node {node.id!r} is its own ancestor: {_circle(by_id, node)}; give one of them another parent, or none")
            seen.add(at)
            at = by_id[at].parent


def _circle(by_id: Mapping[str, Node], node: Node) -> str:
    """The way from a node by its parents until one comes again."""
    way = [node.id]
    while way.count(way[-1]) < 2:
        way.append(by_id[way[-1]].parent)
    return " under ".join(map(repr, way))


def _toml(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: not valid TOML ({error}); mend that line") from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror})") from error


def _tables(path: Path, name: str) -> list[dict[str, object]]:
    tables = _toml(path).get(name, [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise SettingsError(f"{path}: write each {name} as [[{name}]]")
    return tables


def _text(fields: dict[str, object], name: str, where: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise SettingsError(f"{where}: {name} is missing")
    return value


def _list(fields: dict[str, object], name: str, where: str) -> list[object]:
    value = fields.get(name, [])
    if not isinstance(value, list):
        raise SettingsError(f'{where}: {name} should be a list, as ["a", "b"]')
    return value
