"""How often the second reader is right: claims with evidence that people judged, shuffled, both classes.

    python benchmarks/second_reader.py FOLDER --count 72 --model openai/gpt-5-mini

FOLDER holds attribution.jsonl (claim, references, gold_answer), scifact_claims.jsonl (question, abstracts with sentences,
gold_answer) and healthver.jsonl (claim, evidence, gold_answer). A third of the cases comes from each, half of them claims
that their evidence supports. A claim is *flagged* when the verdict is `partly` or `not` (or, counted apart, `not` alone);
precision and recall are of flagging a claim that its evidence does not support. With --api-base and --deadline as for `carrel`.
"""

import argparse
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assistant.document import Cite, Document
from assistant.errors import GatewayError
from assistant.gateway import open_gateway
from assistant.settings import Settings
from assistant.tasks.desk import Desk
from assistant.tasks.verify import Claim, asked
from store.library import Library

SUPPORTED = frozenset({"attributable", "SUPPORT", "Supports"})
LONGEST = 6_000
"""Characters of evidence; whole web pages are left out."""


class Case(NamedTuple):
    """A claim, what it cites, and what people said."""

    source: str
    claim: Claim
    gold: str


def cases(folder: Path) -> Iterator[Case]:
    """Every case of the three files."""
    for line in (folder / "attribution.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        yield Case("attribution", _claim(one["claim"], one["references"]), one["gold_answer"])
    for line in (folder / "scifact_claims.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        yield Case("scifact", _claim(one["question"], [" … ".join(paper["sentences"]) for paper in one["abstracts"]]), one["gold_answer"])
    for line in (folder / "healthver.jsonl").read_text("utf-8").splitlines():
        one = json.loads(line)
        yield Case("healthver", _claim(one["claim"], [one["evidence"]]), one["gold_answer"])


def drawn(folder: Path, count: int, seed: int) -> list[Case]:
    """So many cases, a third a set, half of each supported, shuffled."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    every = [case for case in cases(folder) if sum(len(cite.quote) for cite in case.claim.cites) <= LONGEST]
    some: list[Case] = []
    for source in ("attribution", "scifact", "healthver"):
        for supported in (True, False):
            group = sorted((case for case in every if case.source == source and (case.gold in SUPPORTED) == supported), key=lambda case: case.claim.item)
            some += draw.sample(group, count // 6)
    draw.shuffle(some)
    return some


def _claim(text: str, evidence: list[str]) -> Claim:
    return Claim(text.strip(), tuple(Cite(f"p{number}", "abstract", (1,), " ".join(words.split())) for number, words in enumerate(evidence, 1)))


def main() -> None:
    """Prints the figures, and a line for each case that was judged otherwise than by people."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=72)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--model", required=True)
    parser.add_argument("--api-base")
    parser.add_argument("--deadline", type=float, default=120.0)
    parser.add_argument("--replies", type=Path, help="keep the verdicts in this file, so that a run that was cut off goes on")
    asked_for = parser.parse_args()
    if not (asked_for.folder / "attribution.jsonl").exists():
        sys.exit(f"{asked_for.folder} does not hold the sets; see the head of this file")
    some = drawn(asked_for.folder, asked_for.count, asked_for.seed)
    with tempfile.TemporaryDirectory() as place:
        verdicts = _judged(some, asked_for, Path(place))
    _print(some, verdicts)


def _judged(some: list[Case], asked_for: argparse.Namespace, place: Path) -> dict[str, str]:
    gateway = open_gateway(
        model=asked_for.model, api_base=asked_for.api_base, api_key=None, deadline_s=asked_for.deadline,
        ledger=asked_for.replies, budget_usd=None, record=None, replay=None, concurrency=len(some),
    )  # fmt: skip
    library = Library(place, None, create=True)
    verdicts: dict[str, str] = {}
    with gateway:
        desk = Desk(library, gateway, Settings())
        for case, outcome in desk.structured_all(some, lambda case: asked(desk, case.claim, Document("check", ""))):
            if isinstance(outcome, GatewayError):
                print(f"failed: {case.claim.text}: {outcome}", file=sys.stderr)
            else:
                verdicts[case.claim.item] = outcome.value.verdict
    library.close()
    return verdicts


def _print(some: list[Case], verdicts: dict[str, str]) -> None:
    for flags in ({"partly", "not"}, {"not"}):
        print(f"flagged: {' or '.join(sorted(flags, reverse=True))}")
        for source in ("attribution", "scifact", "healthver", "all"):
            counts: Counter[tuple[bool, bool]] = Counter()
            for case in some:
                if source in {case.source, "all"} and case.claim.item in verdicts:
                    counts[case.gold not in SUPPORTED, verdicts[case.claim.item] in flags] += 1
            hit, missed, alarm, passed = counts[True, True], counts[True, False], counts[False, True], counts[False, False]
            precision, recall = hit / max(hit + alarm, 1), hit / max(hit + missed, 1)
            f1 = [2 * a / max(2 * a + b + c, 1) for a, b, c in ((hit, alarm, missed), (passed, missed, alarm))]
            print(
                f"  {source:12} {sum(counts.values()):3} cases: flagged rightly {hit}, missed {missed}, flagged wrongly {alarm}, passed rightly"
                f" {passed}; precision {precision:.2f}, recall {recall:.2f}, macro-F1 {sum(f1) / 2:.2f}"
            )
    for case in some:
        verdict = verdicts.get(case.claim.item, "no verdict")
        if (case.gold in SUPPORTED) != (verdict == "supported"):
            print(f"  {case.source}, people said {case.gold}, the reader {verdict}: {case.claim.text[:150]}")


if __name__ == "__main__":
    main()
