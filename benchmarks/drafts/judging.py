"""Prompts for strict readers, their replies, and the second reader: what a draft is judged by."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from assistant.document import Cite, Document
from assistant.errors import GatewayError
from assistant.evidence import Evidence, Label, gathered
from assistant.tasks.desk import Desk
from assistant.tasks.verify import Claim, asked
from assistant.wording import render
from benchmarks.drafts.figures import GAP
from benchmarks.drafts.shape import GAPS, NEED, OF_THE_READER, SUPPORT, Draft, Judgment, Sentence, Subject, subject_of, write_lines
from store.errors import UnknownPaper
from store.library import Library

HERE = Path(__file__).parent
DOZEN = 12
MOST = 60
"""Papers that are shown whole for a sentence about all of them; of a larger scope those that the draft cites."""
MANIFEST = "sentences.jsonl"


def write_prompts(draft: Draft, library: Library, folder: Path) -> int:
    """Writes a prompt for up to a dozen sentences of a paragraph, and which sentence is which; how many prompts there are."""
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    groups = list(_groups(draft))
    for number, group in enumerate(groups, 1):
        evidence = _evidence(library, draft, group)
        numbers = {alias: shown.number for shown in evidence.papers for alias in (shown.paper.key, *shown.paper.aliases)}
        first = len(rows) + 1
        items = [
            {"n": n, "text": one.text, "quotes": [{"label": _labels(cite, numbers[cite.key]) if cite.key else cite.place, "words": cite.quote} for cite in one.quotes]}
            for n, one in enumerate(group, first)
        ]
        messages = render("judge", HERE, papers=evidence.papers, heading=group[0].heading, sentences=items)
        (folder / f"{number:02}.md").write_text("\n".join(message.content for message in messages), "utf-8")
        for n, one in enumerate(group, first):
            papers = {str(numbers[key]): key for key in sorted(one.keys)}
            rows.append({"n": n, "file": f"{number:02}", "sentence": one.text, "cites": sorted(subject_of(one).cites), "papers": papers, "cited": bool(one.quotes)})
    write_lines(folder / MANIFEST, rows)
    return len(groups)


def _groups(draft: Draft) -> Iterator[list[Sentence]]:
    """The sentences of one paragraph after the other, at most a dozen together."""
    group: list[Sentence] = []
    for one in draft.sentences:
        if group and (one.heading != group[0].heading or len(group) == DOZEN):
            yield group
            group = []
        group.append(one)
    yield group


def _evidence(library: Library, draft: Draft, group: Sequence[Sentence]) -> Evidence:
    """The papers that the sentences cite; where one states a gap all of the draft's, for what no paper reports must be held against each."""
    keys = _cited(group)
    if any(GAP.search(one.text) for one in group):
        keys |= _cited(draft.sentences) | (set(draft.scope) if len(draft.scope) <= MOST else set())
    try:
        papers = {paper.key: paper for paper in map(library.paper, sorted(keys))}
    except UnknownPaper as error:
        sys.exit(f"the draft cites a paper that is not among those given: {error}")
    return gathered(library, list(papers.values()))


def _cited(some: Iterable[Sentence]) -> set[str]:
    return {key for one in some for key in one.keys}


def _labels(cite: Cite, number: int) -> str:
    return "".join(str(Label(number, 0 if cite.text.startswith("title") else sentence)) for sentence in cite.sentences)


class Gathered(NamedTuple):
    """The judgments of a folder as lines for a file, how many have several readers and on how many these agree, and what cannot be taken."""

    rows: list[dict[str, object]]
    twice: int
    agreed: int
    bad: list[str]


def gathered_replies(folder: Path) -> Gathered:
    """What the readers replied; of several readers of a sentence the stricter verdict stands. What cannot be read is not guessed at."""
    rows = {row["n"]: row for row in map(json.loads, (folder / MANIFEST).read_text("utf-8").splitlines())}
    said: dict[int, list[Judgment]] = {}
    bad: list[str] = []
    for file in sorted({row["file"] for row in rows.values()}):
        for path in sorted(folder.glob(f"{file}.*.json")):
            for n, judgment in _reply(path, {n: row for n, row in rows.items() if row["file"] == file}, bad):
                said.setdefault(n, []).append(judgment)
    bad += [f"nobody judged sentence {n} (in {row['file']}.md): {row['sentence']}" for n, row in rows.items() if n not in said]
    twice = [some for some in said.values() if len(some) > 1]
    found = [_judged_row(rows[n], strictest(some)) | {"readers": len(some)} for n, some in sorted(said.items())]
    return Gathered(found, len(twice), sum(len({one.verdict for one in some}) == 1 for some in twice), bad)


def _reply(path: Path, rows: Mapping[int, dict[str, dict[str, str]]], bad: list[str]) -> Iterator[tuple[int, Judgment]]:
    """The judgments of a reply that can be read; what cannot goes to `bad`, and is not guessed at."""
    text = path.read_text("utf-8").strip()
    try:
        items = json.loads(text.removeprefix("```json").removeprefix("```").removesuffix("```"))["judgments"]
        listed = [item for item in items if isinstance(item, dict)]
    except (ValueError, KeyError, TypeError) as error:
        bad.append(f'{path}: not {{"judgments": […]}} ({type(error).__name__}: {error})')
        return
    bad += [f"{path}: {item!r} is no judgment" for item in items if not isinstance(item, dict)]
    seen: set[int] = set()
    for item in listed:
        wrong = _wrong(item, rows, seen)
        if wrong:
            bad.append(f"{path}: {wrong}")
            continue
        seen.add(item["n"])
        idle = frozenset(rows[item["n"]]["papers"][str(number)] for number in item.get("idle") or ())
        yield item["n"], Judgment(item["verdict"], str(item.get("why") or ""), idle if rows[item["n"]]["cites"] else None, item.get("gap") or "")


def _wrong(item: Mapping[str, object], rows: Mapping[int, dict[str, dict[str, str]]], seen: set[int]) -> str:
    """What is wrong with a judgment; nothing where it can be taken."""
    n, idle, gap = item.get("n"), item.get("idle") or [], item.get("gap")
    if not isinstance(n, int) or n not in rows:
        return f"{n!r} is no sentence of that prompt"
    if n in seen:
        return f"sentence {n} is judged twice"
    allowed = SUPPORT if rows[n].get("cited", rows[n]["cites"]) else NEED
    if item.get("verdict") not in allowed:
        return f"sentence {n}: {item.get('verdict')!r} is none of {', '.join(allowed)}"
    if not isinstance(idle, list) or not {str(number) for number in idle} <= rows[n]["papers"].keys():
        return f"sentence {n}: idle is {idle!r}, which are not papers that it cites"
    return "" if gap is None or gap in GAPS else f"sentence {n}: gap is {gap!r}, none of {', '.join(GAPS)}"


def strictest(some: Sequence[Judgment]) -> Judgment:
    """What stands of several readers' judgments: the strictest verdict, and idle what any of them finds idle."""
    order = (*SUPPORT, *NEED)
    worst = max(some, key=lambda one: order.index(one.verdict))
    idle = None if worst.idle is None else frozenset[str]().union(*(one.idle or () for one in some))
    return replace(worst, idle=idle, gap=next((gap for gap in reversed(GAPS) if any(one.gap == gap for one in some)), ""))


def _judged_row(row: Mapping[str, object], judgment: Judgment) -> dict[str, object]:
    idle = {"idle": sorted(judgment.idle)} if judgment.idle is not None else {}
    return {"sentence": row["sentence"], "cites": row["cites"], "verdict": judgment.verdict, "why": judgment.why, **idle, "gap": judgment.gap or None}


def second_reading(desk: Desk, draft: Draft) -> dict[Subject, str]:
    """The second reader's verdict on each cited sentence, and on each of several citations with and without the others."""
    cited = [one for one in draft.sentences if one.cites]
    whole = _verdicts(desk, cited)
    return whole | _verdicts(desk, [part for one in cited if whole.get(subject_of(one)) == "full" for part in parted(one)])


def parted(one: Sentence) -> list[Sentence]:
    """A sentence of several papers with each of them alone, and with all but each."""
    if len(one.keys) < 2:
        return []
    parts = {
        keys: replace(one, cites=tuple(cite for cite in one.cites if cite[0] in keys), quotes=tuple(cite for cite in one.quotes if cite.key in keys))
        for key in sorted(one.keys)
        for keys in (frozenset({key}), one.keys - {key})
    }
    return list(parts.values())


def _verdicts(desk: Desk, some: Sequence[Sentence]) -> dict[Subject, str]:
    found: dict[Subject, str] = {}
    claims = {Claim(one.text, one.quotes).item: one for one in some}
    for one, outcome in desk.structured_all(list(claims.values()), lambda one: asked(desk, Claim(one.text, one.quotes), Document("check", ""))):
        if isinstance(outcome, GatewayError):
            print(f"failed: {one.text}: {outcome}", file=sys.stderr)
        else:
            found[subject_of(one)] = OF_THE_READER[outcome.value.verdict]
    return found
