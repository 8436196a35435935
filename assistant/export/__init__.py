"""A document → files. A new format is a module here and a line in WRITERS."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.document import Document
from assistant.export import bibtex, latex, markdown, sheets
from assistant.files import write_whole
from assistant.shapes import document_json
from store.keys import slug

WRITERS: dict[str, Callable[[Document], str]] = {
    "md": markdown.write,
    "json": lambda document: json.dumps(document_json(document), ensure_ascii=False, indent=1) + "\n",
    "csv": sheets.write,
    "tex": latex.write,
    "bib": bibtex.write,
}


def written(document: Document, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The files that a document was written to, one a format; raises OutputError."""
    paths = []
    for name in formats:
        path = folder / f"{slug(document.name)[:60]}.{name}"
        write_whole(path, WRITERS[name](document))
        paths.append(path)
    return paths


def written_conversation(name: str, answers: Sequence[Document], folder: Path) -> list[tuple[Path, bool]]:
    """A conversation as Markdown and as JSON; each file with whether another one stood in its place. Raises OutputError."""
    shape = {"name": name, "turns": [document_json(answer) for answer in answers]}
    texts = {"md": markdown.conversation(name, answers), "json": json.dumps(shape, ensure_ascii=False, indent=1) + "\n"}
    files = []
    for suffix, text in texts.items():
        path = folder / f"{slug(name)[:60]}.{suffix}"
        stood = path.exists() and path.read_bytes() != text.encode()
        write_whole(path, text)
        files.append((path, stood))
    return files
