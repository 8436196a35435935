"""The bibliography of exactly the cited papers, every field from the library."""

from assistant.document import Document, Source
from assistant.export.escape import bibtex, latex


def write(document: Document) -> str:
    """One entry a cited paper, in order of key."""
    keys = document.cited() if document.task in {"ask", "draft"} else tuple(document.sources)
    return "\n".join(entry(document.sources[key]) for key in keys if key in document.sources)


def entry(source: Source) -> str:
    """A paper as a BibTeX entry; what the library does not know is not there."""
    arxiv = source.identifiers.get("arxiv", "")
    fields = {
        "title": bibtex(source.title),
        "author": _authors(source),
        "year": source.year,
        _venue_field(source): bibtex(source.venue),
        "doi": source.identifiers.get("doi", ""),
        "eprint": arxiv,
        "archiveprefix": "arXiv" if arxiv else "",
        "url": source.identifiers.get("url", ""),
    }
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@{_type(source)}{{{source.key},", *lines, "}", ""])


def _type(source: Source) -> str:
    return source.entry_type if source.entry_type.isalpha() else "misc"


def _venue_field(source: Source) -> str:
    return {"article": "journal", "inproceedings": "booktitle", "incollection": "booktitle"}.get(source.entry_type, "howpublished")


def _authors(source: Source) -> str:
    if source.authors:
        return " and ".join(f"{{{latex(name)}}}" if " " not in name else latex(name) for name in source.authors)
    return f"{{{latex(source.organization)}}}" if source.organization else ""
