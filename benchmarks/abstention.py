"""Does `ask` decline what the library cannot answer, and answer what it can? On the example's 36 papers.

    python benchmarks/abstention.py --model openai/gpt-5-mini --replies replies.jsonl
    python benchmarks/abstention.py --replies benchmarks/abstention/replies-2026-11-21.jsonl       # prints the figures again

benchmarks/abstention/questions.jsonl holds 100 questions written by hand, from the notes alone, by somebody who did not know
how the program works: 50 that the notes answer, with the papers of a whole answer (gold), and 50 that they do not, near misses
among them. Four of these take for granted what a note contradicts (`premise`): there a correction that cites the note is
right too, so they are counted apart. A question counts as answered when a statement with a citation stands.
"""

import argparse
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from assistant.errors import GatewayError
from assistant.gateway import open_gateway
from assistant.settings import Settings
from assistant.shapes import document_json
from assistant.tasks.ask import answer, found
from assistant.tasks.desk import Desk
from store.embedding import open_embedder
from store.library import Library

HERE = Path(__file__).parent
EXAMPLE = HERE.parent / "examples" / "rl-post-training"
FILES = ("digest.txt", "daily-papers.txt", "abstracts.txt", "reading-list.bib")
QUESTIONS = HERE / "abstention" / "questions.jsonl"
PREMISE = frozenset({"u26", "u27", "u28", "u29"})
"""Questions that take for granted what a note contradicts."""
AT_ONCE = 12
"""Processes: each has a model client of its own, and opens the library itself."""


def example(folder: Path) -> None:
    """The example's library, embedded."""
    library = Library(folder, open_embedder("minilm", None), create=True)
    for name in FILES:
        library.add(EXAMPLE / name)
    library.embed()
    library.close()


def asked(folder: Path, one: dict[str, object], options: argparse.Namespace) -> dict[str, object]:
    """What came of one question."""
    library = Library(folder, open_embedder("minilm", None))
    question = str(one["question"])
    gateway = open_gateway(
        model=options.model, api_base=options.api_base, api_key=None, deadline_s=options.deadline, ledger=None, budget_usd=None, record=None, replay=None
    )
    with gateway:
        try:
            document = answer(Desk(library, gateway, Settings()), question)
        except GatewayError as error:
            return {"id": one["id"], "failed": str(error)}
        shape = document_json(document)
        by_code = not found(library, question).is_evidence
    library.close()
    return {
        "id": one["id"], "outcome": document.outcome, "calls": document.report.model_calls, "declined_by_code": by_code,
        "cited": list(document.cited()), "statements": [statement.text for statement in document.statements], "report": shape["report"],
    }  # fmt: skip


def main() -> None:
    """Asks what is not in the file of replies yet, and prints the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replies", type=Path, required=True)
    parser.add_argument("--model")
    parser.add_argument("--api-base")
    parser.add_argument("--deadline", type=float, default=120.0)
    options = parser.parse_args()
    questions = [json.loads(line) for line in QUESTIONS.read_text("utf-8").splitlines()]
    replies = {one["id"]: one for one in map(json.loads, options.replies.read_text("utf-8").splitlines())} if options.replies.exists() else {}
    waiting = [one for one in questions if one["id"] not in replies]
    if waiting and not options.model:
        sys.exit(f"{len(waiting)} questions have no reply in {options.replies}; name a --model")
    if waiting:
        with tempfile.TemporaryDirectory() as place, ProcessPoolExecutor(AT_ONCE) as pool, options.replies.open("a", encoding="utf-8") as kept:
            example(Path(place))
            for reply in pool.map(asked, [Path(place)] * len(waiting), waiting, [options] * len(waiting)):
                replies[reply["id"]] = reply
                if "failed" not in reply:
                    kept.write(json.dumps(reply, ensure_ascii=False) + "\n")
    _print(questions, replies)


def _print(questions: list[dict[str, object]], replies: dict[str, dict[str, object]]) -> None:
    right = {str(one["id"]): (replies[str(one["id"])].get("outcome") == "answered") == one["answerable"] for one in questions}
    groups = {
        "answerable: answered": [one for one in questions if one["answerable"]],
        "unanswerable: declined": [one for one in questions if not one["answerable"] and one["id"] not in PREMISE],
        "premise contradicted: declined": [one for one in questions if one["id"] in PREMISE],
    }
    for name, group in groups.items():
        good = sum(right[str(one["id"])] for one in group)
        by_code = sum(bool(replies[str(one["id"])].get("declined_by_code")) for one in group)
        print(f"{name}: {good} of {len(group)} ({good / len(group):.0%}); declined by code {by_code}")
        for kind in sorted({str(one["kind"]) for one in group}):
            some = [one for one in group if one["kind"] == kind]
            print(f"    {kind}: {sum(right[str(one['id'])] for one in some)} of {len(some)}")
    told = [one for one in questions if one["answerable"] and right[str(one["id"])]]
    hit = sum(len(set(one["gold"]) & set(replies[str(one["id"])]["cited"])) for one in told)  # type: ignore[call-overload]
    gold = sum(len(one["gold"]) for one in told)  # type: ignore[arg-type]
    cited = sum(len(replies[str(one["id"])]["cited"]) for one in told)  # type: ignore[arg-type]
    print(f"papers cited where answered: {hit} of {gold} gold papers (recall {hit / gold:.2f}), {hit} of {cited} cited are gold (precision {hit / cited:.2f})")
    for one in questions:
        if not right[str(one["id"])]:
            said = replies[str(one["id"])].get("statements") or replies[str(one["id"])].get("failed", "")
            print(f"  {one['id']} {one['kind']}: {one['question']}\n      {said}")


if __name__ == "__main__":
    main()
