"""What the rules of assistant/grounding.py catch and where they cry wolf, on any papers: sentences of abstracts, altered.

    python benchmarks/rules.py examples/rl-post-training/*.txt [--json]

Each alteration is made in a sentence of a paper that is then checked against that sentence (`sentence`) or against the
whole abstract (`paper`), as a reader would check a citation with or without a place. Nothing here is tuned by hand: the
seed is fixed, each sentence is altered once a kind.
"""

import argparse
import json
import random
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from assistant.attribution import judged, ranked
from assistant.document import Cite
from assistant.evidence import Evidence, gathered
from assistant.grounding import number_problems
from assistant.polarity import clashes
from assistant.quotes import stands_in
from assistant.references import free_references
from store.library import Library
from store.texts import Text

NUMBER = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?![\w])")
DIRECTIONS = {
    "higher": "lower", "lower": "higher", "increase": "decrease", "increases": "decreases", "increased": "decreased", "reduces": "raises",
    "reduce": "raise", "reducing": "raising", "improves": "worsens", "improve": "worsen", "improving": "worsening", "outperforms": "underperforms",
    "outperform": "underperform", "outperforming": "underperforming", "more": "less", "fewer": "more", "less": "more", "better": "worse",
    "faster": "slower", "exceeds": "falls below", "decreases": "increases", "gains": "losses", "larger": "smaller", "smaller": "larger",
}  # fmt: skip
FOREIGN = ("(Smith, 2021)", "(Smith et al., 2021; Doe & Roe 2019)", "Smith et al.", "[12]", "[3, 7]", "[5-7]", "arXiv:2403.01234", "doi:10.1000/xyz123", "https://example.org/a", "[Smi+21]", "Müller and Roe (2019)", "\\citep{smith2021}", "[@smith2021]")  # fmt: skip


class Sentence(NamedTuple):
    """A sentence of an abstract with its paper."""

    key: str
    text: Text
    number: int
    words: str


def altered_numbers(words: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """(kind, sentence with one number altered)."""
    hits = list(NUMBER.finditer(words))
    if not hits:
        return
    hit = draw.choice(hits)
    printed = hit[0]
    bare = printed.replace(",", "")

    def put(number: str) -> str:
        return words[: hit.start()] + number + words[hit.end() :]

    at = draw.choice([place for place, char in enumerate(printed) if char.isdigit()])
    yield "one digit", put(printed[:at] + draw.choice([d for d in "123456789" if d != printed[at]]) + printed[at + 1 :])
    pairs = [place for place in range(len(printed) - 1) if printed[place : place + 2].isdigit() and printed[place] != printed[place + 1]]
    if pairs:
        place = draw.choice(pairs)
        yield "transposed", put(printed[:place] + printed[place + 1] + printed[place] + printed[place + 2 :])
    yield "x10", put(f"{float(bare) * 10:g}")
    yield "x100", put(f"{float(bare) * 100:g}")
    yield "/10", put(f"{float(bare) / 10:g}")
    yield "+1", put(f"{float(bare) + 1:g}")
    behind = words[hit.end() :]
    if percent := re.match(r"\s?(?:\\?%|percent)", behind):
        yield "percent dropped", words[: hit.end()] + behind[percent.end() :]
        yield "percent to times", words[: hit.end()] + "x" + behind[percent.end() :]
        yield "fraction kept percent", words[: hit.start()] + f"{float(bare) / 100:g}" + words[hit.end() :]
    elif not behind.startswith(("-", "x", "×", "$")):
        yield "percent added", put(f"{printed}%")


def altered_names(words: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """A name with a digit in which the digit is another: GPT-4 → GPT-7."""
    hits = list(re.finditer(r"(?<=[A-Za-z-])\d(?![\d%])", words))
    if hits:
        hit = draw.choice(hits)
        yield "digit of a name", words[: hit.start()] + draw.choice([d for d in "123456789" if d != hit[0]]) + words[hit.end() :]


def altered_polarity(words: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """A negation dropped or added, a direction swapped."""
    if hit := re.search(r"\b(?:does not|do not|did not|is not|are not|cannot|not|without|never)\b", words):
        kept = {"cannot": "can", "without": "with", "is not": "is", "are not": "are"}.get(hit[0], "")
        yield "negation dropped", re.sub(r"\s{2,}", " ", words[: hit.start()] + kept + words[hit.end() :])
    if hit := re.search(r"\b(?:is|are|can|was|were)\b(?! not)", words):
        yield "negation added", words[: hit.end()] + " not" + words[hit.end() :]
    swaps = [hit for hit in re.finditer(r"\w+", words) if hit[0].lower() in DIRECTIONS]
    if swaps:
        hit = draw.choice(swaps)
        yield "direction swapped", words[: hit.start()] + DIRECTIONS[hit[0].lower()] + words[hit.end() :]


def altered_quote(words: str, draw: random.Random) -> Iterator[tuple[str, str]]:
    """One word of a quote replaced, dropped or moved."""
    parts = words.split()
    if len(parts) < 6:
        return
    at = draw.randrange(1, len(parts) - 1)
    yield "word replaced", " ".join([*parts[:at], "nevertheless" if parts[at] != "nevertheless" else "thus", *parts[at + 1 :]])
    if parts[at] != parts[at + 1]:
        yield "word dropped", " ".join([*parts[:at], *parts[at + 1 :]])
        yield "words swapped", " ".join([*parts[:at], parts[at + 1], parts[at], *parts[at + 2 :]])


def sentences_of(library: Library) -> list[Sentence]:
    """All English sentences of all abstracts."""
    keys = {paper.number: paper.key for paper in library.papers()}
    return [
        Sentence(keys[text.paper], text, number, text.sentence(number))
        for paper in library.papers()
        for text in library.texts(paper)
        if text.role == "abstract" and text.language == "en"
        for number, _, _ in text.sentences
    ]


def cite(sentence: Sentence, *, whole: bool = False) -> Cite:
    """The citation of a sentence, or of its whole abstract."""
    if not whole:
        return Cite(sentence.key, "abstract", (sentence.number,), sentence.words, sentence.text.id)
    numbers = tuple(number for number, _, _ in sentence.text.sentences)
    return Cite(sentence.key, "abstract", numbers, sentence.text.characters, sentence.text.id)


class Tally:
    """How many of how many, by kind."""

    def __init__(self) -> None:
        self.of: dict[str, list[int]] = defaultdict(lambda: [0, 0])

    def count(self, kind: str, *, hit: bool) -> None:
        """One more case."""
        self.of[kind][0] += hit
        self.of[kind][1] += 1


def measured(library: Library, seed: int) -> Tally:
    """Every figure, on every sentence of the library."""
    tally, draw = Tally(), random.Random(seed)  # noqa: S311 - repeatable, not secret
    every = sentences_of(library)
    evidences = {paper.key: gathered(library, [paper]) for paper in library.papers()}
    for sentence in every:
        _numbers(sentence, evidences[sentence.key], draw, tally)
        _words(sentence, draw, tally)
    _attribution(library, every, draw, tally)
    return tally


def _numbers(sentence: Sentence, evidence: Evidence, draw: random.Random, tally: Tally) -> None:
    for kind, whole in (("sentence", False), ("paper", True)):
        cited = (cite(sentence, whole=whole),)
        if re.search(r"\d", sentence.words):
            tally.count(f"R4 false alarm, {kind} cited", hit=bool(number_problems(sentence.words, cited, evidence)))
        for make in (altered_numbers, altered_names):
            for name, words in make(sentence.words, draw):
                if words != sentence.words:
                    hit = bool(number_problems(words, cited, evidence))
                    tally.count(f"R4 caught, {kind} cited: {name}", hit=hit)
                    tally.count(f"R4 caught, {kind} cited: all", hit=hit)


def _words(sentence: Sentence, draw: random.Random, tally: Tally) -> None:
    tally.count("R11 false alarm", hit=bool(clashes(sentence.words, (sentence.words,))))
    for name, words in altered_polarity(sentence.words, draw):
        tally.count(f"R11 caught: {name}", hit=bool(clashes(words, (sentence.words,))))
    tally.count("R5 verbatim accepted", hit=stands_in(sentence.words, sentence.text.characters))
    for name, words in altered_quote(sentence.words, draw):
        tally.count(f"R5 refused: {name}", hit=not stands_in(words, sentence.text.characters))
    tally.count("R3 false alarm", hit=bool(free_references(sentence.words)))
    reference = draw.choice(FOREIGN)
    tally.count("R3 caught", hit=bool(free_references(f"{sentence.words.rstrip('.')} {reference}.")))


def _attribution(library: Library, every: list[Sentence], draw: random.Random, tally: Tally) -> None:
    papers = list(library.papers())
    for sentence in every:
        paper = library.paper(sentence.key)
        others = draw.sample([one for one in papers if one.key != sentence.key], 9)
        evidence = gathered(library, [paper, *others])
        wrong = next(shown for shown in evidence.papers if shown.paper.key == others[0].key)
        right = judged(sentence.words, [cite(sentence)], evidence)
        if right is None:
            continue
        tally.count("R6 false alarm", hit=_marks(right.cited, right.better is not None))
        if wrong.text is None:
            continue
        number = draw.choice([number for number, _, _ in wrong.text.sentences])
        false = Cite(wrong.paper.key, "abstract", (number,), wrong.text.sentence(number), wrong.text.id)
        verdict = judged(sentence.words, [false], evidence)
        if verdict is not None:
            tally.count("R6 wrong paper marked", hit=_marks(verdict.cited, verdict.better is not None))
        order = [fit.key for fit in ranked(sentence.words, evidence)]
        tally.count("R6 right paper ranked before the wrong one", hit=order.index(sentence.key) < order.index(wrong.paper.key))
        tally.count("R6 right paper ranked first of ten", hit=order[0] == sentence.key)


def _marks(cited: float, has_better: bool) -> bool:
    from assistant.attribution import LEAST_FIT

    return cited < LEAST_FIT or has_better


def main() -> None:
    """Prints a line a figure, or one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Path(folder), None, create=True)
        for file in asked.files:
            library.add(file)
        tally = measured(library, asked.seed)
        library.close()
    if asked.json:
        print(json.dumps({kind: {"hits": hits, "of": total, "share": round(hits / total, 4)} for kind, (hits, total) in tally.of.items()}))
        return
    for kind, (hits, total) in sorted(tally.of.items()):
        print(f"{kind:55} {hits:6} of {total:6}  {hits / total:.3f}")


if __name__ == "__main__":
    main()
