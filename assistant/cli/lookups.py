"""Commands that ask services: find, enrich, and `add` for identifiers. What was asked and found is kept for the protocol."""

import os
import re
import sys
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from assistant.cli.base import Context, note, print_json, progress
from assistant.settings import FILE, is_loopback
from store.errors import LookupFailed
from store.formats.id_list import identifiers_in
from store.library import FileReport
from store.lookups import SERVICES, open_service
from store.paper import Record

if TYPE_CHECKING:
    from store.library import Library
    from store.lookups import Found, Service
    from store.paper import Paper

KEYS = {"openalex": "OPENALEX_API_KEY", "semanticscholar": "SEMANTIC_SCHOLAR_API_KEY"}
"""Where each service's key is taken from; never from a file that may be shared."""
MOST_AT_ONCE = 200
CHOICE = re.compile(r"(\d+)(?:-(\d+))?")


def service(context: Context, name: str) -> "Service":
    """The service of that name, as the settings say."""
    from platformdirs import user_cache_path

    settings = context.settings()
    base = str(getattr(settings, f"lookups_{name}"))
    # An address that a shared library names could be anybody's, and gets no key.
    is_trusted = not base or is_loopback(base) or settings.origins.get(f"lookups_{name}") != FILE
    key = os.environ.get(KEYS.get(name, ""), "") if is_trusted else ""
    return open_service(name, base=base, key=key, contact=settings.lookups_contact, cache=user_cache_path("carrel") / "lookups")


def add_identifiers(context: Context, library: "Library", words: Sequence[str]) -> list[FileReport]:
    """Papers named by identifiers: what a service knows of them; one that none knows becomes a paper of its identifier alone."""
    wanted = {word: identifiers_in(word) for word in words}
    reports = []
    for name, some in (
        ("arxiv", [word for word, ids in wanted.items() if "arxiv" in ids]),
        ("openalex", [word for word, ids in wanted.items() if "arxiv" not in ids]),
    ):
        if not some:
            continue
        try:
            records = service(context, name).by_ids([wanted[word] for word in some])
            failed = ""
        except LookupFailed as error:
            records, failed = [], str(error)
        known = {value for record in records for value in record.identifiers.values()}
        bare = [Record(identifiers=wanted[word], raw=word) for word in some if known.isdisjoint(wanted[word].values())]
        report = library.add_records([*records, *bare], name, name)
        with library.catalog.writing():
            library.catalog.note_lookup(name, " ".join(some), len(records), len(records), len(records))
        if failed:
            note(f"{failed}; {len(bare)} papers were added by their identifiers alone, `carrel enrich` completes them later")
        elif bare:
            note(f"{name} does not know {', '.join(record.raw for record in bare)}; added by identifier alone")
        reports.append(report)
    return reports


@click.command()
@click.argument("query", required=False, default="")
@click.option("--from", "name", type=click.Choice(list(SERVICES)), help="The service to ask; arxiv for a query, openalex for citations, unless told.")
@click.option("--cites", metavar="KEY", help="Papers that cite the paper KEY.")
@click.option("--cited-by", metavar="KEY", help="Papers that the paper KEY cites.")
@click.option("--cited-by-at-least", type=click.IntRange(2, 100), metavar="N", help="Papers that N or more of yours cite and that are not here.")
@click.option("--count", "-n", default=20, show_default=True, type=click.IntRange(1, MOST_AT_ONCE), help="How many papers.")
@click.option("--take", default=None, metavar="1,3-5|all|none", help="Which to add; without it, at a terminal, you are asked.")
@click.option("--json", "as_json", is_flag=True, help="What was found, as JSON.")
@click.pass_obj
def find(
    context: Context,
    /,
    query: str,
    name: str | None,
    cites: str | None,
    cited_by: str | None,
    cited_by_at_least: int | None,
    count: int,
    take: str | None,
    as_json: bool,
) -> None:
    """Looks for papers by QUERY, or by who cites whom, and adds those you choose. What was asked and found is kept."""
    if sum(bool(way) for way in (query, cites, cited_by, cited_by_at_least)) != 1:
        raise click.UsageError("give one of QUERY, --cites KEY, --cited-by KEY, --cited-by-at-least N")
    library = context.library(keywords_only=True)
    name = name or ("arxiv" if query else "openalex")
    asked = service(context, name)
    with progress(f"asking {name}"):
        said, found = _asked(library, asked, query, cites, cited_by, cited_by_at_least, count)
    here = _here(library, found.records)
    if as_json:
        print_json({"service": name, "query": said, "found": found.total, "papers": [_json(record, here[at]) for at, record in enumerate(found.records)]})
    else:
        _list(found, here)
    chosen = _chosen(take, len(found.records), as_json=as_json)
    report = library.add_records([found.records[at] for at in chosen], f"{name}: {said}", name) if chosen else None
    with library.catalog.writing():
        library.catalog.note_lookup(name, said, found.total, len(found.records), len(chosen))
    if report:
        note(f"{report.new} new, {report.merged} merged, {report.unchanged} unchanged; `carrel index` or the next `add` embeds them")
    elif not as_json and found.records:
        note("none added; --take 1,3-5 or --take all adds them")


def _asked(
    library: "Library", asked: "Service", query: str, cites: str | None, cited_by: str | None, at_least: int | None, count: int
) -> "tuple[str, Found]":
    """What was asked, in words, and what was found."""
    if query:
        return query, asked.find(query, count)
    if cites:
        return f"cites {cites}", asked.citing(library.paper(cites).identifiers, count)
    if cited_by:
        return f"cited by {cited_by}", asked.cited_by(library.paper(cited_by).identifiers, count)
    assert at_least is not None  # one of the four was given
    return f"cited by at least {at_least} of ours", _missing(library, asked, at_least, count)


def _missing(library: "Library", asked: "Service", at_least: int, count: int) -> "Found":
    """The works that several papers of the library cite and that are not in it, the most cited first."""
    from store.lookups import Found

    papers = library.considered()
    have = {f"{kind}:{value}".lower() for paper in papers for kind, value in paper.identifiers.items()}
    cited = Counter(name for paper in papers for name in set(paper.references) if name.lower() not in have)
    if not cited:
        raise LookupFailed("no paper of the library says what it cites; `carrel enrich --references` asks for that")
    best = [name for name, number in cited.most_common() if number >= at_least]
    wanted = [{kind: value} for kind, _, value in (name.partition(":") for name in best[:count])]
    return Found(asked.by_ids(wanted) if wanted else [], len(best))


def _here(library: "Library", records: "Sequence[Record]") -> list[str]:
    """The key under which each record is in the library already, or nothing."""
    return [library.known(record) for record in records]


def _list(found: "Found", here: Sequence[str]) -> None:
    for number, (record, key) in enumerate(zip(found.records, here, strict=True), 1):
        click.secho(f"{number:>3}. {record.title or next(iter(record.identifiers.values()))}", bold=True)
        authors = record.authors[0] + (f" and {len(record.authors) - 1} more" if len(record.authors) > 1 else "") if record.authors else ""
        ids = " ".join(f"{kind}:{record.identifiers[kind]}" for kind in ("arxiv", "doi") if kind in record.identifiers)
        marks = [f"here as {key}"] if key else []
        click.echo("     " + "  ".join(part for part in (authors, record.date, record.venue, ids, *record.notices, *marks) if part))
    total = "" if found.total is None else f" of {found.total}"
    click.echo(f"{len(found.records)}{total} found")


def _json(record: Record, key: str) -> dict[str, object]:
    return {
        "title": record.title, "authors": list(record.authors), "date": record.date, "venue": record.venue, "abstract": record.abstract,
        "identifiers": dict(record.identifiers), "notices": list(record.notices), "here": key or None,
    }  # fmt: skip


def _chosen(take: str | None, count: int, *, as_json: bool) -> list[int]:
    """The places of the papers to add, from 0."""
    if take is None and sys.stdin.isatty() and not as_json and count:
        take = click.prompt("which to add (1,3-5, all, none)", default="none", err=True)
    said = (take or "none").strip().lower()
    if said in {"none", "all"}:
        return list(range(count)) if said == "all" else []
    chosen: list[int] = []
    for part in said.split(","):
        found = CHOICE.fullmatch(part.strip())
        if not found or not 1 <= int(found[1]) <= int(found[2] or found[1]) <= count:
            raise click.UsageError(f"--take {take}: numbers from 1 to {count}, such as 1,3-5, or all, or none")
        chosen += range(int(found[1]) - 1, int(found[2] or found[1]))
    return list(dict.fromkeys(chosen))


@click.command()
@click.argument("keys", nargs=-1)
@click.option("--from", "name", type=click.Choice(list(SERVICES)), default="openalex", show_default=True, help="The service to ask.")
@click.option("--references", "with_references", is_flag=True, help="Also ask for papers that lack nothing but what they cite.")
@click.option("--all", "everything", is_flag=True, help="Ask for every paper: retractions and published versions too.")
@click.option("--json", "as_json", is_flag=True, help="What was filled in, as JSON.")
@click.pass_obj
def enrich(context: Context, /, keys: tuple[str, ...], name: str, with_references: bool, everything: bool, as_json: bool) -> None:
    """Fills in missing titles, authors, dates and abstracts of the papers KEYS (or of all that lack some), by their identifiers.

    It also notes retractions and withdrawals, and the published version of a preprint. What you edited stays.
    """
    library = context.library()
    papers = [library.paper(key) for key in keys] or [
        paper for paper in library.considered() if everything or _lacks(paper) or (with_references and not paper.references)
    ]
    asked = [paper for paper in papers if any(paper.identifiers.get(kind) for kind in ("doi", "arxiv", "pmid", "openalex", "semanticscholar"))]
    with progress(f"asking {name}"):
        records = service(context, name).by_ids([paper.identifiers for paper in asked]) if asked else []
    records = [record for record in records if library.known(record)]
    library.add_records(records, f"enriched from {name}", name)
    with library.catalog.writing():
        library.catalog.note_lookup(name, f"{len(asked)} papers by identifier", len(records), len(records), len(records))
    with progress("embedding") as show:
        library.embed(show)
    changes = [change for paper in asked if (change := _change(paper, library.catalog.papers([library.catalog.number(paper.key)])[0]))]
    if as_json:
        print_json({"asked": len(asked), "known": len(records), "papers": changes})
        return
    for change in changes:
        click.echo(f"{change['key']}: {', '.join(change['filled'])}")  # type: ignore[arg-type]  # a list of words
    note(f"{len(asked)} papers asked for, {len(records)} known to {name}, {len(changes)} filled in; {len(papers) - len(asked)} have no identifier")


def _lacks(paper: "Paper") -> bool:
    return not (paper.title and paper.authors and paper.date and paper.abstract)


def _change(before: "Paper", after: "Paper") -> dict[str, object]:
    """The fields that are filled now and were not, and what is new to know."""
    filled = [field for field in ("title", "authors", "date", "abstract", "venue") if getattr(after, field) and not getattr(before, field)]
    filled += [f"{kind} {value}" for kind, value in after.identifiers.items() if kind == "doi" and kind not in before.identifiers]
    filled += [f"{len(after.references)} references"] if after.references and not before.references else []
    filled += [notice.upper() for notice in after.notices if notice not in before.notices]
    return {"key": after.key, "filled": filled} if filled else {}
