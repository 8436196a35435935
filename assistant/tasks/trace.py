"""Where a sentence comes from: its anchors in the library, its checks, and the exchange with a model that it was read from."""

import difflib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from assistant import stored
from assistant.document import Cite
from assistant.evidence import carried, labels
from assistant.gateway.ledger import Exchange, Ledger
from assistant.gateway.recording import recorded
from assistant.quotes import folded
from store.library import Library

SHORTEST: Final = 12
"""Characters of a text that may be found inside a longer sentence; a shorter one must be the whole of it."""
CITATION = re.compile(r"\s*(?:\[-?@[^\]]*\]|~?\\[A-Za-z]*cite[A-Za-z]*\*?(?:\[[^\]]*\])*\{[^}]*\})")
ESCAPED = re.compile(r"\\([%&$#_{}\[\]*`<>|~^\\])")
LIKE = 0.6


@dataclass(frozen=True, slots=True)
class Kept:
    """A statement, cell, result or placement as the library keeps it."""

    task: str
    name: str
    said: str
    cites: tuple[Cite, ...]
    marks: tuple[str, ...]
    exchange: str


class Place(NamedTuple):
    """A sentence where it stands: the citation as the library shows it now, characters of its text, and the file it was read from."""

    cite: Cite
    spans: tuple[tuple[int, int], ...]
    source: str


class Trace(NamedTuple):
    """A kept sentence with its places and its exchange, where that is still known."""

    kept: Kept
    places: tuple[Place, ...]
    exchange: Exchange | None


def traces(library: Library, text: str, ledger: Ledger | None, recordings: Path | None) -> list[Trace]:
    """Everything the library keeps that says this text, or is part of it (a pasted paragraph), exact matches first."""
    wanted = _plain(text)
    found = [one for one in kept(library) if _matches(_plain(one.said), wanted)]
    found.sort(key=lambda one: (_plain(one.said) != wanted, wanted.find(_plain(one.said)), one.task, one.name))
    return [Trace(one, tuple(_placed(library, cite) for cite in one.cites), _exchange(one, ledger, recordings)) for one in found]


def nearest(library: Library, text: str) -> str:
    """The kept sentence that is most like a text; nothing where none is."""
    said = {_plain(one.said): one.said for one in kept(library)}
    found = difflib.get_close_matches(_plain(text), list(said), 1, LIKE)
    return said[found[0]] if found else ""


def kept(library: Library) -> Iterator[Kept]:
    """Every statement, cell, result and placement of the library."""
    for task, name, _, _, data in library.catalog.all_findings():
        if task != "verify" and data:
            for fields in _records(json.loads(data)):
                exchange = str(fields.get("exchange", ""))
                yield Kept(task, name, _said(fields), stored.cites(fields["cites"]), _marks(fields), exchange)


def _records(value: Any) -> Iterator[dict[str, Any]]:
    """What has citations, at any depth."""
    if isinstance(value, dict):
        if isinstance(value.get("cites"), list) and _said(value):
            yield value
        for part in value.values():
            yield from _records(part) if isinstance(part, dict | list) else ()
    elif isinstance(value, list):
        for part in value:
            yield from _records(part) if isinstance(part, dict | list) else ()


def _said(fields: dict[str, Any]) -> str:
    """The words of a kept record: a statement's text, a cell's value, a result's figure, the node of a placement."""
    if "metric" in fields:
        return ": ".join(part for part in (fields["metric"], fields["value"]) if part)
    return str(fields.get("text") or fields.get("raw") or fields.get("node") or "")


def _marks(fields: dict[str, Any]) -> tuple[str, ...]:
    if "problems" in fields:
        return tuple(f"{one['rule']}: {one['reason']}" for one in fields["problems"])
    return tuple(fields.get("marks", ()))


def _plain(text: str) -> str:
    """A sentence without citations, escapes and a last stop, as it can be compared."""
    bare = ESCAPED.sub(r"\1", CITATION.sub("", text)).replace("{}", "")
    return folded(bare).strip(" .")


def _matches(said: str, wanted: str) -> bool:
    return said == wanted or (len(wanted) >= SHORTEST and wanted in said) or (len(said) >= SHORTEST and said in wanted)


def _placed(library: Library, cite: Cite) -> Place:
    if cite.is_own:
        return Place(cite, (), "the abstract that the draft is about")
    if not cite.key:
        return Place(cite, (), "what code found when it looked through every paper of the scope")
    now = carried(library, cite) or cite
    text = library.catalog.text(now.anchor) if now.anchor else None
    spans = tuple((text.sentences[number - 1].start, text.sentences[number - 1].end) for number in now.sentences) if text else ()
    sources = library.paper(now.key).sources
    return Place(now, spans, f"{sources[0].file}:{sources[0].line}" if sources else "")


def _exchange(one: Kept, ledger: Ledger | None, recordings: Path | None) -> Exchange | None:
    """The exchange from the ledger, where it is there the reply that holds the words; else from a folder of recordings."""
    label, _, question = one.exchange.partition(" ")
    if not label:
        return None
    if ledger is not None and (some := ledger.exchanges(question)):
        return next((exchange for exchange in some if _holds(exchange.reply, one.said)), some[0])
    recording = recorded(recordings, label) if recordings else None
    if recording is None:
        return None
    return Exchange(label, recording.model, recording.recorded, recording.request.messages, recording.reply.text)


def _holds(reply: str, said: str) -> bool:
    return any(folded(said) in folded(labels(line)[0]) for line in reply.splitlines())
