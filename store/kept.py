"""A record as the library keeps it: its fields as JSON, its texts apart, its raw form deflated; and back."""

import json
import zlib
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from store.paper import Kind, Record, Translation

LISTS = ("authors", "categories", "keywords", "references", "notices")
PLAIN = ("key", "entry_type", "author_count", "organization", "date", "date_inferred", "venue", "language")
MAPS = ("identifiers", "details")


class RoleText(NamedTuple):
    """One text of a record. `role`: `title`, `abstract`, `title:zh`, `abstract:zh`."""

    role: str
    language: str
    characters: str


def fields_json(record: Record) -> str:
    """What a record says beside its texts, as JSON; what is empty is left out."""
    fields: dict[str, object] = {name: value for name in PLAIN if (value := getattr(record, name))}
    fields |= {name: value if name == "authors" else tuple(dict.fromkeys(value)) for name in LISTS if (value := getattr(record, name))}
    fields |= {name: dict(sorted(value.items())) for name in MAPS if (value := getattr(record, name))}
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def texts(record: Record) -> Iterator[RoleText]:
    """The texts of a record that are not empty."""
    language = record.language or "en"
    if record.title:
        yield RoleText("title", language, record.title)
    if record.abstract:
        yield RoleText("abstract", language, record.abstract)
    for code, translation in sorted(record.translations.items()):
        if translation.title:
            yield RoleText(f"title:{code}", code, translation.title)
        if translation.abstract:
            yield RoleText(f"abstract:{code}", code, translation.abstract)


def record(fields: str, kept: Iterable[tuple[str, str]], line: int = 0) -> Record:
    """The record again, without its raw form, from its fields and its (role, characters)."""
    said = json.loads(fields)
    for name in LISTS:
        if name in said:
            said[name] = tuple(said[name])
    translations: dict[str, dict[str, str]] = {}
    for role, characters in kept:
        part, _, code = role.partition(":")
        if code:
            translations.setdefault(code, {})[part] = characters
        else:
            said[part] = characters
    if translations:
        said["translations"] = {code: Translation(**parts) for code, parts in translations.items()}
    return Record(**said, line=line)


def digest(fields: str, kept: Iterable[RoleText], kind: Kind) -> bytes:
    """What makes two records the same one: all they say, wherever they stood in whatever file."""
    said = blake2b(f"{kind}\n{fields}".encode("utf-8", "replace"), digest_size=16)
    for text in kept:
        said.update(f"\n{text.role}\n{text.characters}".encode("utf-8", "replace"))
    return said.digest()


def deflated(raw: str, fields: str, kept: Iterable[str]) -> bytes:
    """A raw record as it is stored: what its fields and texts say already takes next to no room."""
    if not raw:
        return b""
    packer = zlib.compressobj(5, zdict=_said(fields, kept))
    return packer.compress(raw.encode("utf-8", "replace")) + packer.flush()


def inflated(data: bytes, fields: str, kept: Iterable[str]) -> str:
    """A raw record as it stood in the file, with the fields and texts that it was stored beside."""
    return zlib.decompressobj(zdict=_said(fields, kept)).decompress(data).decode() if data else ""


def _said(fields: str, kept: Iterable[str]) -> bytes:
    """The last 32 kB of what a record says; deflate looks no farther back."""
    return "\n".join([*kept, fields]).encode("utf-8", "replace")[-32_768:]
