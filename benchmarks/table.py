"""How near is a table to one that people made? Columns found, precision of filled cells, abstention where the abstract is silent.

    python benchmarks/table.py CASES.jsonl RESULTS [--json] [--case ID …]
    python benchmarks/table.py CASES.jsonl RESULTS --model openai/gpt-5-mini [--propose | --words] [--pack N]   # fills what RESULTS lacks

A line of CASES.jsonl is a table: id, table_title, papers (id, title, abstract), gold_columns, gold_cells (paper → column → text)
and value_in_abstract or score_in_abstract (paper → column → whether the words stand in the abstract). RESULTS holds a file
ID.json a case, in the shape of `carrel table --json`, a row's key being the paper's id. With --model the benchmark makes them:
of the human columns by name alone; with --words, those of few values with these as vocabulary (without definitions: there are
none); with --propose, of columns proposed for the table's title.

- **Column recall**: human columns that a column of the result stands for, each column used once. By name: half or more of the
  content words of the human name stand in the column's name or question (stems). By cells: over the papers where both have a value, the
  words agree (mean token F1 of .5 or more, two papers or more). Year and date are left out: a library knows them.
- **Precision of filled cells**: of the stated cells of those columns where people wrote something, the share that agrees: both
  yes or both no, the same number, half of the words (token F1), one within the other, or its initials (RL). Strict: normalized text is equal.
- **Abstention**: of the cells where people's words do not stand in the abstract, the share that states nothing; and of those
  where they do, the share that is filled. People wrote from full texts, so a filled cell may be right though its words stand nowhere.
"""

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from assistant.document import Column
from assistant.gateway import open_gateway
from assistant.numbers import numbers
from assistant.settings import Settings
from assistant.shapes import document_json
from assistant.tasks import columns as columns_task
from assistant.tasks import desk as desk_module
from assistant.tasks import table as task
from assistant.tasks.desk import Desk
from store.keys import slug
from store.keywords import stems
from store.library import Library
from store.normalize import folded
from store.paper import Record

SILENT = frozenset({"", "-", "–", "—", "n/a", "na", "none", "?", "/", "x"})
KNOWN_ANYWAY = frozenset({"year", "date"})
YES, NO = frozenset({"yes", "true", "✓", "✔", "✅"}), frozenset({"no", "false", "✗", "✘", "❌"})
AGREES = 0.5
SHORT = re.compile(r"[A-Z]{2,5}")
MOST_WORDS = 10


@dataclass(frozen=True, slots=True)
class Case:
    """A table that people made."""

    id: str
    title: str
    papers: tuple[tuple[str, str, str], ...]
    columns: tuple[str, ...]
    cells: dict[str, dict[str, str]]
    in_abstract: dict[str, dict[str, bool]]


@dataclass(frozen=True, slots=True)
class Score:
    """One case's figures, as counts, so that they can be added up."""

    id: str
    columns: int = 0
    by_name: int = 0
    by_cells: int = 0
    proposed: int = 0
    filled: int = 0
    right: int = 0
    equal: int = 0
    absent: int = 0
    abstained: int = 0
    present: int = 0
    found: int = 0

    def shape(self) -> dict[str, object]:
        """The counts and what they come to."""
        return asdict(self) | {
            "column_recall": _share(self.by_name + self.by_cells, self.columns),
            "precision": _share(self.right, self.filled),
            "precision_strict": _share(self.equal, self.filled),
            "abstention": _share(self.abstained, self.absent),
            "filled_where_stated": _share(self.found, self.present),
        }


def cases(path: Path, wanted: Iterable[str]) -> Iterator[Case]:
    """The cases of a file, or those named."""
    names = set(wanted)
    for line in path.read_text("utf-8").splitlines():
        one = json.loads(line)
        if names and one["id"] not in names:
            continue
        papers = tuple((paper["id"], paper["title"], paper["abstract"]) for paper in one["papers"])
        columns = tuple(name for name in one["gold_columns"] if folded(name) not in KNOWN_ANYWAY)
        stands = _mapping(one.get("value_in_abstract") or one.get("score_in_abstract") or {})
        yield Case(one["id"], one["table_title"], papers, columns, _mapping(one["gold_cells"]), stands)


def scored(case: Case, table: dict[str, object]) -> Score:
    """The figures of a result against a case."""
    columns: list[dict[str, str]] = table["columns"]  # type: ignore[assignment]  # the shape of --json
    rows: dict[str, dict[str, dict[str, object]]] = {row["key"]: row["cells"] for row in table["rows"]}  # type: ignore[attr-defined]
    keys = {identifier: _key(identifier) for identifier, _, _ in case.papers}
    said = {column["id"]: {one: _text(rows.get(keys[one], {}).get(column["id"])) for one in keys} for column in columns}
    pairs = _aligned(case, columns, said)
    counts: Counter[str] = Counter(columns=len(case.columns), proposed=len(columns))
    for gold, (column, how) in pairs.items():
        counts[how] += 1
        for one in keys:
            wanted, given = case.cells.get(one, {}).get(gold, ""), said[column][one]
            if _is_silent(wanted):
                continue
            stands = case.in_abstract.get(one, {}).get(gold)
            if stands is not None:
                counts["present" if stands else "absent"] += 1
                counts["found" if stands else "abstained"] += bool(given) == stands
            if given:
                counts["filled"] += 1
                counts["right"] += agrees(given, wanted)
                counts["equal"] += folded(given) == folded(wanted)
    return Score(case.id, **counts)


def agrees(given: str, wanted: str) -> bool:
    """Whether two cells say the same, as far as their words tell."""
    one, other = folded(given), folded(wanted)
    polar = [next((sense for sense, words in (("yes", YES), ("no", NO)) if text.strip().lower().split(" ")[0].strip(",.;:") in words), "") for text in (given, wanted)]
    if all(polar):
        return polar[0] == polar[1]
    if SHORT.fullmatch(wanted.strip()) and wanted.strip().lower() in "".join(word[0] for word in one.split()):
        return True  # RL, for reinforcement learning
    figures = [{number.bare for number in numbers(text)} for text in (given, wanted)]
    if wanted.strip().replace(".", "").isdigit():
        return bool(figures[0] & figures[1])
    if one and other and (f" {one} " in f" {other} " or f" {other} " in f" {one} "):
        return True
    return token_f1(given, wanted) >= AGREES


def _is_silent(wanted: str) -> bool:
    """Whether people wrote nothing there, or a sign that only their legend explains."""
    return wanted.lower() not in YES | NO and (folded(wanted) in SILENT or not any(char.isalpha() or char.isdecimal() for char in wanted))


def token_f1(given: str, wanted: str) -> float:
    """How many content words two cells share: the harmonic mean of both shares."""
    one, other = stems(given), stems(wanted)
    shared = len(one & other)
    return 2 * shared / (len(one) + len(other)) if shared else 0.0


def _aligned(case: Case, columns: list[dict[str, str]], said: dict[str, dict[str, str]]) -> dict[str, tuple[str, str]]:
    """Each human column with the result's column that stands for it, best pair first, and whether by name or by cells."""
    pairs = []
    for gold in case.columns:
        words = stems(gold.replace("/", " ")) or frozenset({folded(gold)})
        for column in columns:
            title, asked = stems(column["name"]) | {folded(column["name"])}, stems(column["question"])
            by_name = len(words & title) / len(words) + 0.5 * len(words & asked - title) / len(words)
            both = [(said[column["id"]][one], case.cells.get(one, {}).get(gold, "")) for one, _, _ in case.papers]
            values = [max(token_f1(given, wanted), float(agrees(given, wanted))) for given, wanted in both if given and not _is_silent(wanted)]
            by_cells = sum(values) / len(values) if len(values) > 1 else 0.0
            if by_name >= AGREES or by_cells >= AGREES:
                pairs.append((by_name >= AGREES, by_name + by_cells, gold, column["id"]))
    found: dict[str, tuple[str, str]] = {}
    for is_named, _, gold, column_id in sorted(pairs, reverse=True):
        if gold not in found and column_id not in {taken for taken, _ in found.values()}:
            found[gold] = (column_id, "by_name" if is_named else "by_cells")
    return found


def filled(case: Case, options: argparse.Namespace, folder: Path) -> dict[str, object]:
    """The table that the model makes of a case."""
    library = Library(folder, None, create=True)
    library.add_records([Record(title=title, abstract=abstract, key=_key(one)) for one, title, abstract in case.papers], f"{case.id}.jsonl", "json-lines")
    gateway = open_gateway(
        model=options.model, api_base=options.api_base, api_key=None, deadline_s=options.deadline, ledger=options.results / "ledger.sqlite", budget_usd=None, record=None, replay=None
    )
    with gateway:
        at = Desk(library, gateway, Settings())
        papers = library.papers()
        if options.propose:
            wanted = columns_task.propose(at, case.id, case.title, papers)
        else:
            wanted = tuple(_given(case, name, with_words=options.words) for name in case.columns)
        document = task.fill(at, case.id, wanted, papers, lambda done, total: None)
    library.close()
    return document_json(document)


def _given(case: Case, name: str, *, with_words: bool) -> Column:
    """A human column by its name alone, or with the words that stand in it."""
    cells = [row.get(name, "") for row in case.cells.values() if not _is_silent(row.get(name, ""))]
    words = sorted({part.strip() for cell in cells for part in cell.split(",")})
    question = f"What does a survey's table “{case.title}” say of the paper under “{name}”?"
    if not with_words or not 2 <= len(words) <= MOST_WORDS:
        return Column(slug(name), name, question)
    return Column(slug(name), name, question, "list" if any("," in cell for cell in cells) else "category", "", tuple(words))


def main() -> None:
    """Makes what is missing where a model is named, and prints the figures of each case and of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--case", action="append", default=[])
    parser.add_argument("--json", action="store_true", dest="as_json")
    parser.add_argument("--model")
    parser.add_argument("--api-base")
    parser.add_argument("--deadline", type=float, default=120.0)
    parser.add_argument("--propose", action="store_true")
    parser.add_argument("--words", action="store_true")
    parser.add_argument("--pack", type=int, default=desk_module.PACK, help="papers a call, to compare sizes")
    options = parser.parse_args()
    if not options.cases.exists():
        sys.exit(f"{options.cases} is not there: it is a file of cases, see the head of this file")
    options.results.mkdir(parents=True, exist_ok=True)
    desk_module.packs.__defaults__ = (options.pack,)
    scores, missing = [], []
    for case in cases(options.cases, options.case):
        path = options.results / f"{case.id}.json"
        if not path.exists() and options.model:
            with tempfile.TemporaryDirectory() as place:
                path.write_text(json.dumps(filled(case, options, Path(place)), ensure_ascii=False, indent=1), "utf-8")
        if path.exists():
            scores.append(scored(case, json.loads(path.read_text("utf-8"))))
        else:
            missing.append(case.id)
    _print(scores, missing, as_json=options.as_json)


def _print(scores: list[Score], missing: list[str], *, as_json: bool) -> None:
    names = [name for name in Score.__dataclass_fields__ if name != "id"]
    whole = Score("all", **{name: sum(getattr(score, name) for score in scores) for name in names})
    if as_json:
        print(json.dumps({"cases": [score.shape() for score in scores], "all": whole.shape(), "missing": missing}, indent=1))
        return
    for score in (*scores, whole):
        shape = score.shape()
        print(
            f"{score.id:18} columns {score.by_name} by name + {score.by_cells} by cells of {score.columns} (of {score.proposed} in the result);"
            f" precision {_shown(shape['precision'])} ({score.right} of {score.filled} filled; strict {_shown(shape['precision_strict'])});"
            f" abstention {_shown(shape['abstention'])} of {score.absent}; filled where stated {_shown(shape['filled_where_stated'])} of {score.present}"
        )
    if missing:
        print(f"no result for {', '.join(missing)}", file=sys.stderr)


def _key(identifier: str) -> str:
    return re.sub(r"[^A-Za-z0-9:_.+/-]", "", identifier)


def _text(cell: object) -> str:
    """A cell of the result in words; nothing where it states nothing."""
    if not isinstance(cell, dict) or cell["status"] not in {"stated", "absent"}:
        return ""
    value = cell["value"]
    if cell["status"] == "absent":
        return "no"
    return "; ".join(value) if isinstance(value, list) else ("yes" if value else "no") if isinstance(value, bool) else str(value)


def _mapping(value: Any) -> Any:
    """A table of tables, which some sets keep as a text of JSON."""
    return json.loads(value) if isinstance(value, str) else value


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _shown(share: object) -> str:
    return "–" if share is None else f"{share:.2f}"


if __name__ == "__main__":
    main()
