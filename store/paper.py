"""The record everything else passes on: what one source says of a work, and the work as the library shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["abstract", "note"]
"""Whose words a source's texts are: the authors' abstract, or a note that somebody wrote about the paper."""


@dataclass(frozen=True, slots=True)
class Translation:
    """Title and abstract of a work in another language, as one source gave them."""

    title: str = ""
    abstract: str = ""


@dataclass(frozen=True, slots=True)
class Record:
    """What one place in one file says of one work; empty where it says nothing.

    `authors` are names as printed; `author_count` is known even where a page prints only a number. `date` is ISO, as
    precise as known. `language` is that of title and abstract where the source says it. `identifiers` are by kind
    (`doi`, `arxiv`, `pmid`, `pmcid`, `openalex`, `semanticscholar`, `url`, `pdf`, …); `details` are what else a
    bibliography prints, under BibTeX's names (`volume`, `number`, `pages`, `publisher`, `editor`, `issn`, `isbn`, …).
    `references` are the works it cites, as `doi:…`, `arxiv:…` or `openalex:…`; `notices` say that it is retracted or
    superseded. `line` counts from 1; `raw` is the record as it stood in the file.
    """

    title: str = ""
    abstract: str = ""
    key: str = ""
    entry_type: str = ""
    authors: tuple[str, ...] = ()
    author_count: int | None = None
    organization: str = ""
    date: str = ""
    date_inferred: bool = False
    venue: str = ""
    language: str = ""
    translations: Mapping[str, Translation] = field(default_factory=dict)
    identifiers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, str] = field(default_factory=dict)
    categories: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    line: int = 0
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A record that could not be read, with its line and the reason."""

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record came from, kept with the paper for good."""

    file: str
    format: str
    line: int
    time: str
    kind: Kind
    raw: str


@dataclass(frozen=True, slots=True)
class Paper:
    """A work as the library shows it, merged from all its sources.

    `number` is internal: it never changes and is never shown. `language` is the abstract's; `translations` maps a
    language code to title and abstract. `kind` is "note" while no source gave an abstract of the authors; `notes`
    are a person's own.
    """

    number: int
    key: str
    aliases: tuple[str, ...]
    title: str
    abstract: str
    authors: tuple[str, ...]
    author_count: int | None
    organization: str
    date: str
    date_inferred: bool
    venue: str
    entry_type: str
    language: str
    translations: Mapping[str, Translation]
    identifiers: Mapping[str, str]
    details: Mapping[str, str]
    categories: tuple[str, ...]
    keywords: tuple[str, ...]
    references: tuple[str, ...]
    notices: tuple[str, ...]
    tags: tuple[str, ...]
    status: str
    kind: Kind
    sources: tuple[Source, ...]
    status_reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def year(self) -> str:
        """The four digits of the date, or nothing."""
        return self.date[:4]

    @property
    def name(self) -> str:
        """What a person would call it in a list: the title, or the start of the abstract."""
        return self.title or (self.abstract[:77].rsplit(" ", 1)[0] + " …" if self.abstract else self.key)
