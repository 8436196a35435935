"""A draft, its papers and what was judged of it, as the benchmark of drafts reads them."""

import json
import re
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from assistant.document import Cite
from assistant.tasks.verify import RULE
from store.library import Library

SUPPORT = ("full", "partly", "not")
NEED = ("needs no source", "needs a source")
GAPS = ("papers", "cited", "field")
OF_THE_READER = {"supported": "full", "partly": "partly", "not": "not"}
PAPERS = "papers.jsonl"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a draft: `cites` are keys with the numbers cited (0 is the title), `verdict` is the second reader's."""

    heading: str
    text: str
    cites: tuple[tuple[str, tuple[int, ...]], ...] = ()
    quotes: tuple[Cite, ...] = ()
    marks: tuple[str, ...] = ()
    verdict: str = ""
    is_counted: bool = False

    @property
    def keys(self) -> frozenset[str]:
        """The papers it cites."""
        return frozenset(key for key, _ in self.cites)

    @property
    def places(self) -> frozenset[tuple[str, int]]:
        """Each sentence of an abstract that it cites."""
        return frozenset((key, number) for key, numbers in self.cites for number in numbers if number)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the draft's plan and what became of it."""

    job: str
    words: int
    asked: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A draft as `--json` prints it; `plan` is None where it holds none."""

    name: str
    sentences: tuple[Sentence, ...]
    scope: tuple[str, ...]
    plan: tuple[Line, ...] | None


@dataclass(frozen=True, slots=True)
class Judgment:
    """What readers said of a sentence; `idle` are cited papers that contribute nothing, None where nobody said; `by` names the second reader where it was that one."""

    verdict: str
    why: str = ""
    idle: frozenset[str] | None = None
    gap: str = ""
    by: str = ""


class Subject(NamedTuple):
    """What was judged: the words, and what they cite, `key 2,3` or `key`."""

    text: str
    cites: frozenset[str]


Judgments = Mapping[Subject, Judgment]


def read_draft(path: Path) -> Draft:
    """A draft from its JSON; leaves with clear words when it is none."""
    shape = read_json(path, "a draft as `carrel draft NAME --json` prints it")
    if not isinstance(shape, dict) or not isinstance(shape.get("paragraphs"), list):
        sys.exit(f"{path}: no draft (it has no paragraphs); print one with `carrel draft NAME --json`")
    try:
        found = tuple(_sentence(part["heading"], one) for part in shape["paragraphs"] for one in part["statements"])
        plan = tuple(
            Line(one["job"], int(one["words"]), frozenset(one["asked"]), plain(one["text"] or "")) for one in shape["plan"]
        ) if "plan" in shape else None  # fmt: skip
        scope = tuple(one["key"] for one in shape.get("coverage", ()))
    except (KeyError, TypeError, AttributeError) as error:
        sys.exit(f"{path}: a paragraph or a line of the plan is not as `carrel draft NAME --json` prints it ({type(error).__name__}: {error})")
    return Draft(str(shape.get("name", path.stem)), _with_verdicts(found, shape.get("report") or {}), scope, plan)


def _sentence(heading: str, one: dict[str, object]) -> Sentence:
    cites: dict[str, list[int]] = {}
    quotes = []
    for cite in one["cites"]:  # type: ignore[attr-defined]  # the shape of --json
        numbers = tuple(0 if cite.get("text", "abstract").startswith("title") else number for number in cite["sentences"])
        if cite["key"]:  # without a key it is of no paper: the author's own abstract, or what code found in all of them
            cites.setdefault(cite["key"], []).extend(numbers)
        quotes.append(Cite(cite["key"], cite.get("text", "abstract"), tuple(cite["sentences"]), cite["quote"]))
    places = tuple((key, tuple(sorted(set(numbers)))) for key, numbers in cites.items())
    marks: list[str] = one.get("marks", [])  # type: ignore[assignment]
    return Sentence(heading, plain(str(one["text"])), places, tuple(quotes), tuple(marks), str(one.get("verdict") or ""), one.get("by") == "code")


def _with_verdicts(found: tuple[Sentence, ...], report: dict[str, object]) -> tuple[Sentence, ...]:
    """The sentences with the second reader's verdicts, where it read all of them: its report names only those that it flagged."""
    cited = [one for one in found if one.cites and not one.is_counted]
    if any(one.verdict for one in cited) or not cited or report.get("checked_by_model", 0) < len(cited):  # type: ignore[operator]
        return found
    flagged = {plain(one["text"]): one["reason"] for one in report["marked"] if one["rule"] == RULE}  # type: ignore[attr-defined]

    def verdict(text: str) -> str:
        return "supported" if text not in flagged else "not" if "does not say it" in flagged[text] else "partly"

    return tuple(replace(one, verdict=verdict(one.text)) if one in cited else one for one in found)


def read_judged(path: Path) -> dict[Subject, Judgment]:
    """The judgments of a file; leaves with the line at fault."""
    if not path.exists():
        sys.exit(f"{path} is not there: it is a file of judgments, see `judged` at the head of this file")
    found: dict[Subject, Judgment] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip():
            continue
        try:
            one = json.loads(line)
            cites, verdict = frozenset(_place(cite) for cite in one["cites"]), one["verdict"]
            idle = frozenset(map(str, one["idle"])) if one.get("idle") is not None else None
            said = Judgment(verdict, str(one.get("why") or ""), idle, str(one.get("gap") or ""), str(one.get("by") or ""))
            subject = Subject(plain(one["sentence"]), cites)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f'{path}:{number}: no judgment ({type(error).__name__}: {error}); it should be {{"sentence", "cites", "verdict", "why"}}')
        if verdict not in (SUPPORT if cites else (*NEED, *SUPPORT)):  # what code found is cited without a key
            what, words = ("something", SUPPORT) if cites else ("nothing", NEED)
            sys.exit(f"{path}:{number}: {verdict!r} is no verdict on a sentence that cites {what}; write {', '.join(words)}")
        found[subject] = said
    return found


def by_the_reader(draft: Draft) -> dict[Subject, Judgment]:
    """The second reader's verdicts that a draft holds, as judgments."""
    return {subject_of(one): Judgment(OF_THE_READER[one.verdict], by=RULE) for one in draft.sentences if one.verdict in OF_THE_READER and one.quotes}


def judgment_of(one: Sentence, judgments: Judgments) -> Judgment | None:
    """What was said of a sentence with all it cites: with these sentences of its papers, else with these papers."""
    return judgments.get(subject_of(one)) or judgments.get(Subject(one.text, one.keys))


def subject_of(one: Sentence) -> Subject:
    """What a sentence says and cites, as judgments name it."""
    return Subject(one.text, frozenset(_place({"key": key, "sentences": numbers}) for key, numbers in one.cites))


def _place(cite: object) -> str:
    """A citation as `key 2,3`, from that, from `@key`, or from its JSON."""
    if isinstance(cite, dict):
        numbers = [0] if cite.get("text") == "title" else cite.get("sentences") or []
        return f"{cite['key']} {','.join(map(str, numbers))}".strip()
    key, _, places = str(cite).strip().removeprefix("@").partition(" ")
    return f"{key} {','.join(sorted(re.findall(r'[0-9]+', places), key=int))}".strip()


@contextmanager
def opened(papers: Path) -> Iterator[Library]:
    """The papers of a library's folder, of a folder that `library` made, or of a file, as a library."""
    if (papers / "library.sqlite").exists():
        library = Library(papers, None)
        yield library
        library.close()
        return
    file = papers / PAPERS if papers.is_dir() else papers
    if not file.is_file():
        sys.exit(f"{papers}: no papers there; name a library's folder, a folder made by `library`, or a file that `carrel add` takes")
    with tempfile.TemporaryDirectory() as place:
        library = Library(Path(place), None, create=True)
        library.add(file)
        yield library
        library.close()


def read_json(path: Path, what: str) -> object:
    """What a file of JSON holds; leaves with clear words when it does not."""
    if not path.is_file():
        sys.exit(f"{path} is not there: it should be {what}")
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        sys.exit(f"{path}: not JSON ({error}); it should be {what}")


def write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    """A file of JSON Lines."""
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def plain(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


def share(part: int, whole: int) -> float | None:
    """A share to three places; None of nothing."""
    return round(part / whole, 3) if whole else None


def percent(part: object) -> str:
    """A share as it is printed."""
    return f"{part:.0%}" if isinstance(part, float) else "–"
