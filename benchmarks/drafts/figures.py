"""A draft and its judgments → figures: support, coverage, repetitions, comparisons, the plan."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace

from assistant.citing import Asked, Given
from assistant.document import SECOND_READER
from assistant.grounding import NO_CLAIM
from assistant.tasks.check import check
from assistant.tasks.verify import RULE
from benchmarks.drafts.shape import NEED, SUPPORT, Draft, Judgment, Judgments, Sentence, judgment_of, share
from store.keywords import stems
from store.library import Library

SAME_WORDS, SAME_CLAIM = 0.7, 0.6
LEAST_WORDS = 4
LENGTH = 0.4
GAP_JOB = "states a gap"
GAP = re.compile(
    r"\b(?:none (?:of|reports?|states?|addresse?s?|gives?|tests?|stud(?:y|ies))"
    r"|no (?:(?:prior|other|existing|single) )?(?:papers?|works?|study|studies|methods?|approach(?:es)?|figures?|results?|evidence|comparison|evaluation)"
    r"|not (?:yet )?(?:been )?(?:covered|reported|addressed|studied|tested|examined|evaluated|compared|explored|given|considered)"
    r"|(?:has|have) (?:yet|rarely) (?:been|to be)|yet to be|remains? (?:open|unclear|unknown|unexplored|to be)|under-?(?:explored|studied)|unexplored"
    r"|open (?:question|problem|issue)s?|(?:research|open) gaps?|gaps? in|little is known|leaves? open|left open)\b",
    re.IGNORECASE,
)
"""Words of a sentence that states a gap, for drafts whose plan does not say which do."""
COMPARES = re.compile(
    r"\b(?:unlike|whereas|while|whilst|in contrast|by contrast|contrary to|as opposed to|rather than|instead(?: of)?|both|neither"
    r"|similar(?:ly)?|likewise|differs?|different(?:ly)? from|compared (?:with|to)|in comparison|the same|shares?|but|however|on the other hand"
    r"|agrees? (?:with|that)|too)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Score:
    """The figures as counts, and what to read."""

    name: str
    judge: str = ""
    sentences: int = 0
    cited: int = 0
    judged: int = 0
    full: int = 0
    partly: int = 0
    not_supported: int = 0
    uncited: int = 0
    need_a_source: int = 0
    citations: int = 0
    citations_judged: int = 0
    precise: int = 0
    known_idle: int = 0
    idle: int = 0
    gaps: int = 0
    gaps_judged: int = 0
    gaps_full: int = 0
    gaps_of_the_field: int = 0
    by_code: int = 0
    rules: dict[str, int] = field(default_factory=dict)
    given: int = 0
    given_cited: int = 0
    foreign: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    repeated: tuple[tuple[str, str], ...] = ()
    comparisons: int = 0
    lines: int | None = None
    written: int = 0
    as_asked: int = 0
    in_length: int = 0
    unplanned: int = 0
    words: int = 0
    papers: int = 0
    reader: dict[str, int] = field(default_factory=dict)
    faults: tuple[tuple[str, str, str], ...] = ()

    def shape(self) -> dict[str, object]:
        """The counts and what they come to; null where there is nothing to count."""
        needing = self.judged + self.need_a_source
        some = self.judged > 0 or not self.cited
        return asdict(self) | {
            "judge_trust": SECOND_READER if self.judge.startswith(RULE) else None,
            "reader_precision": share(self.reader.get("right", 0), self.reader.get("right", 0) + self.reader.get("wrong", 0)),
            "reader_recall": share(self.reader.get("right", 0), self.reader.get("right", 0) + self.reader.get("missed", 0)),
            "recall": share(self.full, self.judged + self.uncited) if some else None,
            "precision": share(self.precise, self.citations_judged),
            "contributing": share(self.known_idle - self.idle, self.known_idle),
            "strict_support": share(self.full, needing) if some else None,
            "strict_support_of_gaps": share(self.gaps_full, self.gaps_judged),
            "unjudged": self.cited - self.judged,
            "clean_by_code": share(self.by_code, self.cited),
            "coverage": share(self.given_cited, self.given),
            "comparison_share": share(self.comparisons, self.sentences),
            "plan_written": share(self.written, self.lines or 0),
            "plan_cites_as_asked": share(self.as_asked, self.written),
            "plan_length": share(self.in_length, self.written),
            "sentences_per_paper": share(self.sentences, self.papers),
        }


def scored(draft: Draft, given: Sequence[str], judgments: Judgments, judge: str, rules: Sequence[Sequence[str]]) -> Score:
    """Every figure of a draft; `rules` are what code found against each sentence."""
    counts: Counter[str] = Counter()
    faults: list[tuple[str, str, str]] = []
    gap_lines = {line.text for line in draft.plan or () if line.job == GAP_JOB and line.text}
    for one in draft.sentences:
        said = judgment_of(one, judgments)
        supported = _count_support(one, said, counts, faults)
        is_gap = one.text in gap_lines or bool(said and said.gap) or (not gap_lines and bool(GAP.search(one.text)))
        if is_gap:
            counts["gaps"] += 1
            counts["gaps_judged"] += supported is not None or said is not None
            counts["gaps_full"] += bool(supported) or (said is not None and said.verdict == NEED[0])
            counts["gaps_of_the_field"] += said is not None and said.gap == "field"
        for key in sorted(one.keys):
            precise, contributes = is_precise(one, key, judgments), _contributes(one, key, judgments)
            counts["citations"] += 1
            counts["citations_judged"] += precise is not None
            counts["precise"] += bool(precise)
            counts["known_idle"] += contributes is not None
            counts["idle"] += contributes is False
        counts["comparisons"] += is_comparison(one)
        counts["words"] += len(one.text.split())
    cited = frozenset[str]().union(*(one.keys for one in draft.sentences))
    against = Counter(rule for one, some in zip(draft.sentences, rules, strict=True) if one.cites for rule in dict.fromkeys(some))
    clean = sum(not some for one, some in zip(draft.sentences, rules, strict=True) if one.cites)
    return Score(
        draft.name, judge, len(draft.sentences), by_code=clean, rules=dict(sorted(against.items())), given=len(given), papers=len(cited),
        given_cited=len(cited & set(given)), left_out=tuple(sorted(set(given) - cited)), foreign=tuple(sorted(cited - set(given))) if given else (),
        repeated=tuple(repeated(draft.sentences)), reader=reader_held(draft, judgments) if judge != RULE else {},
        faults=tuple(faults), **_plan_figures(draft), **counts,
    )  # fmt: skip


def together(scores: Sequence[Score]) -> Score:
    """The figures of several drafts as one."""
    if len(scores) == 1:
        return scores[0]
    lines = [score.lines for score in scores if score.lines is not None]
    counts = {name: sum(getattr(one, name) for one in scores) for name, value in asdict(scores[0]).items() if isinstance(value, int) and name != "lines"}
    return Score(
        f"{len(scores)} drafts", next((one.judge for one in scores if one.judge), ""), lines=sum(lines) if lines else None, rules=_added(one.rules for one in scores), reader=_added(one.reader for one in scores),
        foreign=tuple(f"{one.name}: {key}" for one in scores for key in one.foreign), left_out=tuple(f"{one.name}: {key}" for one in scores for key in one.left_out),
        repeated=tuple(pair for one in scores for pair in one.repeated), faults=tuple(fault for one in scores for fault in one.faults), **counts,
    )  # fmt: skip


def _added(some: Iterable[dict[str, int]]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in some:
        found.update(one)
    return dict(sorted(found.items()))


def _count_support(one: Sentence, said: Judgment | None, counts: Counter[str], faults: list[tuple[str, str, str]]) -> bool | None:
    """Counts a sentence; whether it is fully supported, None where that is not judged or not needed."""
    if not one.quotes:
        needs = said.verdict == NEED[1] if said else not (one.is_counted or NO_CLAIM.search(one.text))
        counts["uncited"] += 1
        counts["need_a_source"] += needs
        if needs:
            faults.append((NEED[1], one.text, said.why if said else "R7"))
        return False if needs else None
    counts["cited"] += 1
    if said is None:
        return None
    counts["judged"] += 1
    counts[{"not": "not_supported"}.get(said.verdict, said.verdict)] += 1
    if said.verdict != "full":
        faults.append((said.verdict, one.text, said.why))
    return said.verdict == "full"


def is_precise(one: Sentence, key: str, judgments: Judgments) -> bool | None:
    """Whether a citation is right as ALCE counts it; None where nobody judged whether the sentence needs it."""
    whole = judgment_of(one, judgments)
    if whole is None:
        return None
    return False if whole.verdict != "full" else _contributes(one, key, judgments)


def _contributes(one: Sentence, key: str, judgments: Judgments) -> bool | None:
    """Whether a sentence is less without a citation, or stands on it alone; None where nobody judged that."""
    whole = judgment_of(one, judgments)
    if whole is None:
        return None
    if whole.idle is not None:
        return key not in whole.idle
    if len(one.keys) == 1:
        return whole.verdict != "not"
    alone, rest = (judgment_of(replace(one, cites=tuple(cite for cite in one.cites if (cite[0] == key) == is_alone)), judgments) for is_alone in (True, False))
    if alone is None or rest is None:
        return None
    return alone.verdict == "full" or SUPPORT.index(rest.verdict) > SUPPORT.index(whole.verdict)


def reader_held(draft: Draft, judgments: Judgments) -> dict[str, int]:
    """How often the second reader flags what the judges find short of full support: right, wrong, missed, passed; of what both read."""
    found: Counter[str] = Counter()
    for one in draft.sentences:
        said = judgment_of(one, judgments)
        if one.cites and one.verdict and said:
            is_short, is_flagged = said.verdict != "full", one.verdict != "supported"
            found[("right" if is_short else "wrong") if is_flagged else "missed" if is_short else "passed"] += 1
    return dict(found)


def _plan_figures(draft: Draft) -> dict[str, int]:
    """How the plan was kept; nothing where the draft holds none."""
    if draft.plan is None:
        return {}
    cited: dict[str, frozenset[str]] = {}
    for one in draft.sentences:
        cited[one.text] = cited.get(one.text, frozenset()) | one.keys
    written = [line for line in draft.plan if line.text]
    return {
        "lines": len(draft.plan),
        "written": len(written),
        "as_asked": sum(line.asked <= cited.get(line.text, frozenset()) for line in written),
        "in_length": sum(abs(len(line.text.split()) - line.words) <= LENGTH * line.words for line in written),
        "unplanned": sum(one.text not in {line.text for line in written} for one in draft.sentences),
    }


def is_comparison(one: Sentence) -> bool:
    """Whether a sentence holds two papers or more together."""
    return len(one.keys) > 1 and bool(COMPARES.search(one.text))


def repeated(some: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """(later sentence, the earlier one that it repeats), each later one once."""
    words = [stems(one.text) for one in some]
    for at, one in enumerate(some):
        for before in range(at):
            shared, least = len(words[at] & words[before]), min(len(words[at]), len(words[before]))
            if least < LEAST_WORDS:
                continue
            is_same_claim = one.places & some[before].places and shared >= SAME_CLAIM * least
            if is_same_claim or shared >= SAME_WORDS * len(words[at] | words[before]):
                yield one.text, some[before].text
                break


def by_code(draft: Draft, library: Library) -> list[tuple[str, ...]]:
    """The rules that block or mark each sentence, checked anew against the papers."""
    given = [Given(one.text, tuple(Asked(cite.key, cite.sentences, cite.quote, cite.text) for cite in one.quotes if cite.key), 1) for one in draft.sentences]
    statements = check(library, draft.name, given, lambda done, total: None).statements
    return [tuple(dict.fromkeys((*(problem.rule for problem in one.blocked), *one.marks))) for one in statements]
