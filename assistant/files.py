"""The files that a person owns: a table's columns, a tree, a draft's plan. Written whole or not at all; old ones kept."""

import os
import time
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from assistant.document import Column, Node
from assistant.errors import OutputError, SettingsError
from store.keys import slug

KEPT = 20
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


def write_kept(path: Path, content: str) -> None:
    """As `write_whole`, after keeping the version that stood there: the last twenty are in `.versions`."""
    if path.exists() and path.read_text("utf-8") != content:
        versions = path.parent / ".versions"
        versions.mkdir(exist_ok=True)
        path.replace(versions / f"{path.name}.{time.time_ns()}")
        for old in sorted(versions.glob(f"{path.name}.[0-9]*"))[:-KEPT]:
            old.unlink()
    write_whole(path, content)


def undone(path: Path) -> bool:
    """Brings back the version of a file that stood before this one; False where none is kept. What stood there is `.undone` beside it."""
    versions = sorted((path.parent / ".versions").glob(f"{path.name}.[0-9]*"))
    if not versions:
        return False
    if path.exists():
        write_whole(path.parent / ".versions" / f"{path.name}.undone", path.read_bytes())
    write_whole(path, versions[-1].read_bytes())
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
        columns.append(Column(str(fields.get("id") or slug(name)), name, question, kind, str(fields.get("unit", "")), vocabulary, definitions))
    if len({column.id for column in columns}) < len(columns):
        raise SettingsError(f"{path}: two columns have the same id; give each its own")
    if not columns:
        raise SettingsError(f"{path}: no [[column]] in it; each needs a name and a question")
    return tuple(columns)


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


def read_tree(path: Path) -> tuple[str, tuple[Node, ...], dict[str, str]]:
    """A tree file: its facet, its nodes, and the papers filed by hand (key → node id)."""
    tables = _toml(path)
    facet = str(tables.get("facet", ""))
    nodes = []
    for number, fields in enumerate(_tables(path, "node"), 1):
        where = f"{path}: node {number}"
        label = _text(fields, "label", where)
        nodes.append(
            Node(
                id=str(fields.get("id") or slug(label)),
                label=label,
                definition=str(fields.get("definition", "")),
                parent=str(fields.get("parent", "")),
                facet=str(fields.get("facet", facet)),
                locked=bool(fields.get("locked", False)),
            )
        )
    _hold_together(path, nodes)
    filed = {_text(fields, "key", str(path)): _text(fields, "node", str(path)) for fields in _tables(path, "filed")}
    unknown = sorted(set(filed.values()) - {node.id for node in nodes})
    if unknown:
        raise SettingsError(f"{path}: a paper is filed under {unknown[0]!r}, which is no node's id")
    return facet, tuple(nodes), filed


def tree_toml(facet: str, nodes: Sequence[Node], filed: dict[str, str] | None = None) -> str:
    """A tree as the file that a person edits."""
    import tomlkit

    document = tomlkit.document()
    document.add(tomlkit.comment("This tree is yours to edit; a model only files papers under it. [[filed]] key, node: filed by hand."))
    document.add("facet", tomlkit.item(facet))
    array = tomlkit.aot()
    for node in nodes:
        table = tomlkit.table()
        table.update({"id": node.id, "label": node.label, "definition": node.definition})
        if node.parent:
            table["parent"] = node.parent
        if node.locked:
            table["locked"] = True
        array.append(table)
    document.add("node", array)
    if filed:
        papers = tomlkit.aot()
        for key, place in filed.items():
            table = tomlkit.table()
            table.update({"key": key, "node": place})
            papers.append(table)
        document.add("filed", papers)
    return tomlkit.dumps(document)


def with_filed(text: str, filed: Mapping[str, str]) -> str:
    """The text of a tree's file with these papers filed by hand (key → node id), each once; comments are kept."""
    import tomlkit
    from tomlkit.items import AoT

    document = tomlkit.parse(text)
    array = document.get("filed")
    if not isinstance(array, AoT):
        array = tomlkit.aot()
        document["filed"] = array
    for key, place in filed.items():
        old = [table for table in array if table.get("key") == key]
        if old:
            old[0]["node"] = place
        else:
            table = tomlkit.table()
            table.update({"key": key, "node": place})
            array.append(table)
    return tomlkit.dumps(document)


def _hold_together(path: Path, nodes: Sequence[Node]) -> None:
    """A tree has one node an id, and every parent exists and is no descendant of its child."""
    parents = {node.id: node.parent for node in nodes}
    if len(parents) < len(nodes):
        raise SettingsError(f"{path}: two nodes have the same id; give each its own")
    for node in nodes:
        seen, at = {node.id}, node.parent
        while at:
            if at not in parents:
                raise SettingsError(f"{path}: node {node.id!r} has the parent {at!r}, which is no node's id")
            if at in seen:
                raise SettingsError(f"{path}: node {node.id!r} is its own ancestor")
            seen.add(at)
            at = parents[at]


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
