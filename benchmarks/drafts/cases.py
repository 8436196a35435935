"""Cases of related work that people wrote: their papers to draft from, and a draft beside their text."""

import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

from benchmarks.drafts.figures import is_comparison
from benchmarks.drafts.shape import Draft, Sentence, plain, share
from store import sentences as cutter

MISSING = "missing"


def chosen_cases(every: Sequence[dict[str, object]], wanted: str, *, several: bool) -> list[dict[str, object]]:
    """The cases of these numbers, and with `several` all of the same papers; leaves where there is none."""
    parts = wanted.split(",")
    if not all(part.isdecimal() and int(part) < len(every) for part in parts):
        sys.exit(f"{wanted!r} names no cases; give numbers from 0 to {len(every) - 1}, parted by commas")
    some = [every[int(part)] for part in parts]
    return [case for case in every if case["query_abstract"] in {one["query_abstract"] for one in some}] if several else some


def joined_cases(chosen: Sequence[dict[str, object]]) -> tuple[list[dict[str, str]], dict[str, object]]:
    """The papers of several cases, each once under a key, and what the authors wrote with these keys in the place of numbers."""
    keys: dict[str, str] = {}
    records: list[dict[str, str]] = []
    texts: list[str] = []
    for case in chosen:
        names: dict[str, str] = {}
        for paper in case["cited"]:  # type: ignore[attr-defined]  # the shape of a case
            abstract, title = plain(paper.get("abstract") or ""), plain(paper.get("title") or "")
            if not abstract and not title:
                continue
            if (words := abstract or title) not in keys:
                keys[words] = f"c{len(keys)}"
                records.append({"key": keys[words], **({"title": title} if title else {}), "abstract": abstract})
            names[str(paper["id"])] = keys[words]
        texts.append(re.sub(r"\[(\d+)\]", lambda hit: f"[{names.get(hit[1], MISSING)}]", str(case["reference_text"])))  # noqa: B023 - used at once
    return records, {"cases": [case["id"] for case in chosen], "given": [one["key"] for one in records], "texts": texts}


def topic_of(abstract: str) -> str:
    """The sentence of an abstract that says what the work does, else its first."""
    parts = [abstract[start:end] for _, start, end in cutter.cut(abstract)]
    return next((part for part in parts if re.search(r"\b(?:[Ww]e|[Tt]his (?:paper|work|article|study))\b", part)), parts[0] if parts else abstract)


@dataclass(frozen=True, slots=True)
class Beside:
    """A draft beside what the authors wrote: papers and pairs of papers held together in one sentence."""

    given: int
    theirs: tuple[str, ...]
    ours: tuple[str, ...]
    pairs: int
    pairs_found: int
    their_figures: dict[str, float | None]
    our_figures: dict[str, float | None]

    def shape(self) -> dict[str, object]:
        """Who cites what."""
        both, theirs, ours = (sorted(some) for some in (set(self.theirs) & set(self.ours), set(self.theirs) - set(self.ours), set(self.ours) - set(self.theirs)))
        return asdict(self) | {"both": both, "only_theirs": theirs, "only_ours": ours, "coverage_of_theirs": share(len(both), len(self.theirs))}


def reference(texts: Iterable[str]) -> list[Sentence]:
    """What the authors wrote, as sentences with the papers they cite."""
    found = []
    for at, text in enumerate(texts, 1):
        for _, start, end in cutter.cut(text):
            words = text[start:end]
            cites = tuple((key, ()) for key in dict.fromkeys(re.findall(r"\[(c\d+)\]", words)))
            found.append(Sentence(f"case {at}", plain(re.sub(r"\s*\[(?:c\d+|missing)\]", "", words)), cites))
    return found


def beside(draft: Draft, theirs: Sequence[Sentence], given: Sequence[str]) -> Beside:
    """How a draft's coverage stands to that of a text that people wrote."""

    def cited(some: Sequence[Sentence]) -> tuple[str, ...]:
        return tuple(sorted(frozenset[str]().union(*(one.keys for one in some))))

    def pairs(some: Sequence[Sentence]) -> set[tuple[str, str]]:
        return {(a, b) for one in some for a, b in combinations(sorted(one.keys), 2)}

    def figures(some: Sequence[Sentence]) -> dict[str, float | None]:
        return {
            "words": sum(len(one.text.split()) for one in some),
            "sentences": len(some),
            "cited_share": share(sum(bool(one.cites) for one in some), len(some)),
            "comparison_share": share(sum(map(is_comparison, some)), len(some)),
        }

    mine = draft.sentences
    return Beside(len(given), cited(theirs), cited(mine), len(pairs(theirs)), len(pairs(theirs) & pairs(mine)), figures(theirs), figures(mine))
