"""A document → files. A new format is a module here and a line in WRITERS."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from assistant.document import Document
from assistant.errors import UsageError
from assistant.export import bibtex, checks, coverage, docx, drawing, latex, markdown, page, sheets, workbook
from assistant.files import write_whole
from assistant.shapes import document_json
from store.keys import slug

Writer = Callable[[Document], str | bytes]
WRITERS: dict[str, Writer] = {
    "md": markdown.write,
    "json": lambda document: json.dumps(document_json(document), ensure_ascii=False, indent=1) + "\n",
    "csv": sheets.write,
    "xlsx": workbook.write,
    "html": page.write,
    "tex": latex.write,
    "svg": drawing.write,
    "bib": bibtex.write,
}
CONVERTED: dict[str, Writer] = {"docx": docx.write}
"""The formats that another program makes: they are written last, and only where they are asked for."""
FORMATS = (*WRITERS, *CONVERTED)
ONLY = {"svg": ("taxonomy",), "tex": ("ask", "draft", "table", "taxonomy", "summarize")}
"""The formats that not every document has, and those that have them."""
BESIDE: dict[str, tuple[tuple[str, tuple[str, ...], Writer], ...]] = {
    "csv": (("checks.csv", (), checks.write), ("coverage.csv", ("draft",), coverage.write)),
    "tex": (("table.tex", ("taxonomy",), latex.plain_tree),),
}
"""What is written beside a file of a format: how it ends, for which tasks alone, and who writes it."""


def formats_of(task: str) -> tuple[str, ...]:
    """The formats that a document of this task can have without another program."""
    return tuple(name for name in WRITERS if task in ONLY.get(name, (task,)))


def written(document: Document, folder: Path, formats: Sequence[str]) -> list[Path]:
    """The files that a document was written to, one a format and what belongs beside it; raises UsageError and OutputError."""
    for name in formats:
        if name not in (*formats_of(document.task), *CONVERTED):
            raise UsageError(f"--to {name}: only {' or '.join(ONLY[name])} can be written so; choose of {', '.join(formats_of(document.task))}")
    paths = []
    for name in sorted(formats, key=lambda name: name in CONVERTED):
        beside = [(end, writer) for end, tasks, writer in BESIDE.get(name, ()) if not tasks or document.task in tasks]
        for end, writer in [(name, (WRITERS | CONVERTED)[name]), *beside]:
            path = folder / f"{slug(document.name)[:60]}.{end}"
            write_whole(path, writer(document))
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
