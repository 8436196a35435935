"""Is a draft of related work true, whole and to its plan? Support by sentence, coverage, repetitions, comparisons, the plan.

    python benchmarks/draft.py score DRAFT.json [--judged JUDGED.jsonl] [--given KEYS|PAPERS] [--json]   # DRAFT: `carrel draft NAME --json`
    python benchmarks/draft.py judge DRAFT.json FOLDER --given PAPERS     # prompts for strict readers, 01.md, 02.md, …
    python benchmarks/draft.py judged FOLDER JUDGED.jsonl                 # gathers their replies, 01.READER.json, …
    python benchmarks/draft.py read DRAFT.json JUDGED.jsonl --model openai/gpt-5-mini    # the second reader, each citation by itself too
    python benchmarks/draft.py library CASES.jsonl N[,N…] FOLDER [--several]     # the papers of a case, to draft from
    python benchmarks/draft.py compare DRAFT.json FOLDER [--json]                # beside what the case's authors wrote

PAPERS is a library's folder, a folder that `library` made, or any file that `carrel add` takes; KEYS are parted by commas; without
--given the papers are those of the draft's coverage sheet. A line of CASES.jsonl is a case: id, query_abstract, cited (id, abstract,
title if known) and reference_text with [0], [1]; N counts from 0; --several joins all cases of one paper.

- **Support** is judged (full, partly, not) by the readers of JUDGED, else by the second reader where the draft holds its
  verdicts (`--verify`), never by both. *Recall*: of all sentences, those fully supported by all they cite together. *Precision*, as
  in ALCE: of all citations (a paper in a sentence), those in a fully supported sentence that support it alone or are needed.
  *Strict*: of the sentences that need support, cited ones and uncited ones that need a source, those fully supported. What nobody
  judged is left out and counted; whether an uncited sentence claims something is then for rule R7 to say. Gap sentences stand apart
  too; they are those the plan, the reader or their words name so.
- **By code**: of the cited sentences, those that no rule blocks or marks; checked anew where PAPERS are given, else from the draft.
- **Coverage**: of the given papers, those cited. **Repeated**: sentences that say what an earlier one says (.7 of the content
  words of both), or that use the same sentence of a paper for the same claim (.6 of the shorter one's).
- **Comparisons**: sentences that cite two papers or more and hold them together by words (unlike, whereas, both, …).
- **Plan**: of its lines those written; of these, those that cite all papers asked for, and those within 40 % of the length.
"""

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from assistant.citing import Asked, Given
from assistant.document import SECOND_READER, Cite, Document
from assistant.errors import GatewayError
from assistant.evidence import Evidence, Label, gathered
from assistant.gateway import open_gateway
from assistant.grounding import NO_CLAIM
from assistant.settings import Settings
from assistant.tasks.check import check
from assistant.tasks.desk import Desk
from assistant.tasks.verify import RULE, Claim, asked
from assistant.wording import render
from store import sentences as cutter
from store.errors import UnknownPaper
from store.keywords import stems
from store.library import Library

HERE = Path(__file__).parent
SUPPORT = ("full", "partly", "not")
NEED = ("needs no source", "needs a source")
GAPS = ("papers", "cited", "field")
OF_THE_READER = {"supported": "full", "partly": "partly", "not": "not"}
SAME_WORDS, SAME_CLAIM = 0.7, 0.6
LEAST_WORDS = 4
LENGTH = 0.4
DOZEN = 12
PAPERS, CASE, MANIFEST = "papers.jsonl", "case.json", "sentences.jsonl"
MISSING = "missing"
GAP_JOB = "states a gap"
GAP = re.compile(
    r"\b(?:none (?:of|reports?|states?|addresse?s?|gives?|tests?|stud(?:y|ies))|no (?:paper|work|study|method|approach|one)\b|remains? (?:open|unclear|unknown|unexplored|to be)"
    r"|(?:has|have) (?:not|yet|rarely) (?:yet )?(?:been|to be)|under-?(?:explored|studied)|unexplored|open (?:question|problem|issue)s?|gaps?|little is known|leaves? open|left open|yet to)\b",
    re.IGNORECASE,
)
COMPARES = re.compile(
    r"\b(?:unlike|whereas|while|whilst|in contrast|by contrast|contrary to|as opposed to|rather than|instead(?: of)?|both|neither|similar(?:ly)?|likewise|differs?|different(?:ly)? from"
    r"|compared (?:with|to)|in comparison|the same|shares?|but|however|on the other hand|agrees? (?:with|that)|too)\b",
    re.IGNORECASE,
)


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
    """What readers said of a sentence; `idle` are cited papers that contribute nothing, None where nobody said."""

    verdict: str
    why: str = ""
    idle: frozenset[str] | None = None
    gap: str = ""


class Subject(NamedTuple):
    """What was judged: the words, and what they cite, `key 2,3` or `key`."""

    text: str
    cites: frozenset[str]


Judgments = Mapping[Subject, Judgment]


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
    faults: tuple[tuple[str, str, str], ...] = ()

    def shape(self) -> dict[str, object]:
        """The counts and what they come to; null where there is nothing to count."""
        needing = self.judged + self.need_a_source
        some = self.judged > 0 or not self.cited
        return asdict(self) | {
            "judge_trust": SECOND_READER if self.judge.startswith(RULE) else None,
            "recall": _share(self.full, self.judged + self.uncited) if some else None,
            "precision": _share(self.precise, self.citations_judged),
            "contributing": _share(self.known_idle - self.idle, self.known_idle),
            "strict_support": _share(self.full, needing) if some else None,
            "strict_support_of_gaps": _share(self.gaps_full, self.gaps_judged),
            "unjudged": self.cited - self.judged,
            "clean_by_code": _share(self.by_code, self.cited),
            "coverage": _share(self.given_cited, self.given),
            "comparison_share": _share(self.comparisons, self.sentences),
            "plan_written": _share(self.written, self.lines or 0),
            "plan_cites_as_asked": _share(self.as_asked, self.written),
            "plan_length": _share(self.in_length, self.written),
            "sentences_per_paper": _share(self.sentences, self.papers),
        }


def read_draft(path: Path) -> Draft:
    """A draft from its JSON; leaves with clear words when it is none."""
    shape = _json(path, "a draft as `carrel draft NAME --json` prints it")
    if not isinstance(shape, dict) or not isinstance(shape.get("paragraphs"), list):
        sys.exit(f"{path}: no draft (it has no paragraphs); print one with `carrel draft NAME --json`")
    try:
        found = tuple(_sentence(part["heading"], one) for part in shape["paragraphs"] for one in part["statements"])
        plan = tuple(
            Line(one["job"], int(one["words"]), frozenset(one["asked"]), _plain(one["text"] or "")) for one in shape["plan"]
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
        cites.setdefault(cite["key"], []).extend(numbers)
        quotes.append(Cite(cite["key"], cite.get("text", "abstract"), tuple(cite["sentences"]), cite["quote"]))
    places = tuple((key, tuple(sorted(set(numbers)))) for key, numbers in cites.items())
    marks: list[str] = one.get("marks", [])  # type: ignore[assignment]
    return Sentence(heading, _plain(str(one["text"])), places, tuple(quotes), tuple(marks), str(one.get("verdict") or ""), one.get("by") == "code")


def _with_verdicts(found: tuple[Sentence, ...], report: dict[str, object]) -> tuple[Sentence, ...]:
    """The sentences with the second reader's verdicts, where it read all of them: its report names only those that it flagged."""
    cited = [one for one in found if one.cites and not one.is_counted]
    if any(one.verdict for one in cited) or not cited or report.get("checked_by_model", 0) < len(cited):  # type: ignore[operator]
        return found
    flagged = {_plain(one["text"]): one["reason"] for one in report["marked"] if one["rule"] == RULE}  # type: ignore[attr-defined]

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
            said = Judgment(verdict, str(one.get("why") or ""), idle, str(one.get("gap") or ""))
            subject = Subject(_plain(one["sentence"]), cites)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            sys.exit(f'{path}:{number}: no judgment ({type(error).__name__}: {error}); it should be {{"sentence", "cites", "verdict", "why"}}')
        if verdict not in (SUPPORT if cites else NEED):
            sys.exit(f"{path}:{number}: {verdict!r} is no verdict on a sentence that cites {'something' if cites else 'nothing'}; write {', '.join(SUPPORT if cites else NEED)}")
        found[subject] = said
    return found


def by_the_reader(draft: Draft) -> dict[Subject, Judgment]:
    """The second reader's verdicts that a draft holds, as judgments."""
    return {_subject(one): Judgment(OF_THE_READER.get(one.verdict, one.verdict)) for one in draft.sentences if one.verdict and one.cites}


def judgment_of(one: Sentence, judgments: Judgments) -> Judgment | None:
    """What was said of a sentence with all it cites: with these sentences of its papers, else with these papers."""
    return judgments.get(_subject(one)) or judgments.get(Subject(one.text, one.keys))


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
            counts["gaps_judged"] += supported is not None
            counts["gaps_full"] += bool(supported)
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
        repeated=tuple(repeated(draft.sentences)), faults=tuple(faults), **_plan_figures(draft), **counts,
    )  # fmt: skip


def _count_support(one: Sentence, said: Judgment | None, counts: Counter[str], faults: list[tuple[str, str, str]]) -> bool | None:
    """Counts a sentence; whether it is fully supported, None where that is not judged or not needed."""
    if not one.cites:
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


def _subject(one: Sentence) -> Subject:
    return Subject(one.text, frozenset(_place({"key": key, "sentences": numbers}) for key, numbers in one.cites))


def _place(cite: object) -> str:
    """A citation as `key 2,3`, from that, from `@key`, or from its JSON."""
    if isinstance(cite, dict):
        return f"{cite['key']} {','.join(map(str, cite.get('sentences') or ()))}".strip()
    key, _, numbers = str(cite).strip().removeprefix("@").partition(" ")
    return f"{key} {','.join(sorted(re.findall(r'[0-9]+', numbers), key=int))}".strip()


def _plain(text: str) -> str:
    return " ".join(text.split())


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def _shown(share: object) -> str:
    return f"{share:.0%}" if isinstance(share, float) else "–"


def _json(path: Path, what: str) -> object:
    if not path.is_file():
        sys.exit(f"{path} is not there: it should be {what}")
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        sys.exit(f"{path}: not JSON ({error}); it should be {what}")


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


def by_code(draft: Draft, library: Library) -> list[tuple[str, ...]]:
    """The rules that block or mark each sentence, checked anew against the papers."""
    given = [Given(one.text, tuple(Asked(cite.key, cite.sentences, cite.quote, cite.text) for cite in one.quotes), 1) for one in draft.sentences]
    statements = check(library, draft.name, given, lambda done, total: None).statements
    return [tuple(dict.fromkeys((*(problem.rule for problem in one.blocked), *one.marks))) for one in statements]


def score(options: argparse.Namespace) -> None:
    """Prints the figures of a draft, and what to read."""
    draft = read_draft(options.draft)
    judgments = read_judged(options.judged) if options.judged else by_the_reader(draft)
    judge = options.judged.stem if options.judged else RULE if judgments else ""
    given, rules = list(draft.scope), [tuple(mark for mark in one.marks if re.fullmatch(r"R\d+", mark)) for one in draft.sentences]
    if options.given and Path(options.given).exists():
        with opened(Path(options.given)) as library:
            given, rules = [paper.key for paper in library.papers()], by_code(draft, library)
    elif options.given:
        given = [key for key in re.split(r"[,\s]+", options.given) if key]
    found = scored(draft, given, judgments, judge, rules)
    if options.as_json:
        print(json.dumps(found.shape(), ensure_ascii=False, indent=1))
    else:
        _print(found)


def _print(found: Score) -> None:
    of = found.shape()
    rules = ", ".join(f"{rule} {count}" for rule, count in found.rules.items())
    print(f"{found.name}: {found.sentences} sentences, {found.words} words, {found.papers} papers cited ({of['sentences_per_paper'] or '–'} sentences a paper)")
    print(f"judged by {found.judge or 'nobody'}" + (f" ({of['judge_trust']})" if of["judge_trust"] else ""))
    print(f"  strict support {_shown(of['strict_support'])}: {found.full} full, {found.partly} partly, {found.not_supported} not; {found.uncited} cite nothing, of which {found.need_a_source} need a source; {of['unjudged']} cited ones not judged")
    print(f"  recall {_shown(of['recall'])} of all sentences; precision {_shown(of['precision'])} of {found.citations_judged} of {found.citations} citations; {_shown(of['contributing'])} of {found.known_idle} contribute")
    print(f"  gap sentences {found.gaps}: strict support {_shown(of['strict_support_of_gaps'])} of {found.gaps_judged} judged; claimed of the field {found.gaps_of_the_field}")
    print(f"by code: {_shown(of['clean_by_code'])} of {found.cited} cited sentences without a mark{f' ({rules})' if rules else ''}")
    print(f"given papers cited {_shown(of['coverage'])} ({found.given_cited} of {found.given})" + (f"; foreign: {', '.join(found.foreign)}" if found.foreign else ""))
    print(f"comparisons {_shown(of['comparison_share'])} ({found.comparisons}); repeated {len(found.repeated)}")
    if found.lines is None:
        print("no plan in the draft")
    else:
        print(f"plan: {_shown(of['plan_written'])} of {found.lines} lines written; of these {_shown(of['plan_cites_as_asked'])} cite all that was asked, {_shown(of['plan_length'])} in length; {found.unplanned} sentences without a line")
    for kind, text, why in found.faults:
        print(f"  {kind}: {text}" + (f" [{why}]" if why else ""))
    for later, earlier in found.repeated:
        print(f"  repeated: {later}\n      before: {earlier}")


def judge(options: argparse.Namespace) -> None:
    """Writes prompts for strict readers, a file for up to a dozen sentences of a paragraph, and which sentence is which."""
    draft = read_draft(options.draft)
    if not draft.sentences:
        sys.exit(f"{options.draft}: no sentence in it, so nothing to judge")
    if not options.given or not Path(options.given).exists():
        sys.exit("a judge reads whole abstracts: name the papers with --given (a library's folder, or a file that `carrel add` takes)")
    options.folder.mkdir(parents=True, exist_ok=True)
    if (options.folder / MANIFEST).exists():
        sys.exit(f"{options.folder} holds prompts already; name another folder, so that no reply is taken for another sentence's")
    rows, n = [], 0
    with opened(Path(options.given)) as library:
        for number, group in enumerate(_groups(draft), 1):
            is_gap = any(GAP.search(one.text) for one in group)
            evidence = _evidence(library, draft.sentences if is_gap else group)
            numbers = {alias: shown.number for shown in evidence.papers for alias in (shown.paper.key, *shown.paper.aliases)}
            items = []
            for one in group:
                n += 1
                items.append({"n": n, "text": one.text, "quotes": [{"label": _labels(cite, numbers[cite.key]), "words": cite.quote} for cite in one.quotes]})
                papers = {str(numbers[key]): key for key in sorted(one.keys)}
                rows.append({"n": n, "file": f"{number:02}", "sentence": one.text, "cites": sorted(_subject(one).cites), "papers": papers})
            messages = render("judge", HERE / "draft", papers=evidence.papers, heading=group[0].heading, sentences=items)
            (options.folder / f"{number:02}.md").write_text("\n".join(message.content for message in messages), "utf-8")
    _write_lines(options.folder / MANIFEST, rows)
    print(f"{len(rows)} sentences in {number} prompts in {options.folder}; a reader's reply to 01.md goes into 01.READER.json beside it")


def _groups(draft: Draft) -> Iterator[list[Sentence]]:
    """The sentences of one paragraph after the other, at most a dozen together."""
    group: list[Sentence] = []
    for one in draft.sentences:
        if group and (one.heading != group[0].heading or len(group) == DOZEN):
            yield group
            group = []
        group.append(one)
    yield group


def _evidence(library: Library, some: Iterable[Sentence]) -> Evidence:
    keys = sorted(frozenset[str]().union(*(one.keys for one in some)))
    try:
        papers = {paper.key: paper for paper in map(library.paper, keys)}
    except UnknownPaper as error:
        sys.exit(f"the draft cites a paper that is not among those given: {error}")
    return gathered(library, list(papers.values()))


def _labels(cite: Cite, number: int) -> str:
    return "".join(str(Label(number, 0 if cite.text.startswith("title") else sentence)) for sentence in cite.sentences)


def judged(options: argparse.Namespace) -> None:
    """Gathers the replies; those that cannot be read, and sentences that nobody judged, are listed, and the exit code is 1."""
    if not (options.folder / MANIFEST).exists():
        sys.exit(f"{options.folder} holds no prompts; write them with `judge`")
    rows = {row["n"]: row for row in map(json.loads, (options.folder / MANIFEST).read_text("utf-8").splitlines())}
    said: dict[int, list[Judgment]] = {}
    bad: list[str] = []
    for file in sorted({row["file"] for row in rows.values()}):
        for path in sorted(options.folder.glob(f"{file}.*.json")):
            for n, judgment in _reply(path, {n: row for n, row in rows.items() if row["file"] == file}, bad):
                said.setdefault(n, []).append(judgment)
    _write_lines(options.out, [_judged_row(rows[n], strictest(some)) | {"readers": len(some)} for n, some in sorted(said.items())])
    bad += [f"nobody judged sentence {n} (in {row['file']}.md): {row['sentence']}" for n, row in rows.items() if n not in said]
    twice = [some for some in said.values() if len(some) > 1]
    agreed = sum(len({one.verdict for one in some}) == 1 for some in twice)
    print(f"{len(said)} of {len(rows)} sentences judged, {len(twice)} by several readers, who agree on {agreed}; where they do not, the stricter verdict stands")
    if bad:
        sys.exit("\n".join(bad))


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
    allowed = SUPPORT if rows[n]["cites"] else NEED
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


def _write_lines(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), "utf-8")


def read(options: argparse.Namespace) -> None:
    """Has the second reader judge each cited sentence, and then each of several citations with and without the others."""
    draft = read_draft(options.draft)
    gateway = open_gateway(
        model=options.model, api_base=options.api_base, api_key=None, deadline_s=options.deadline, ledger=options.ledger, budget_usd=None, record=None, replay=None
    )
    cited = [one for one in draft.sentences if one.cites]
    with tempfile.TemporaryDirectory() as place, gateway:
        library = Library(Path(place), None, create=True)
        desk = Desk(library, gateway, Settings())
        whole = _verdicts(desk, cited)
        parts = [part for one in cited if whole.get(_subject(one)) == "full" for part in parted(one)]
        found = whole | _verdicts(desk, parts)
        library.close()
    _write_lines(options.out, [{"sentence": subject.text, "cites": sorted(subject.cites), "verdict": verdict, "why": ""} for subject, verdict in found.items()])
    print(f"{len(found)} judgments in {options.out}; the second reader: {SECOND_READER}")


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
            found[_subject(one)] = OF_THE_READER[outcome.value.verdict]
    return found


def library(options: argparse.Namespace) -> None:
    """Writes the papers of a case as `carrel add` takes them, its topic, and what its authors wrote; prints the commands."""
    if HERE.parent in (options.folder.resolve(), *options.folder.resolve().parents):
        sys.exit(f"{options.folder} lies in the project, and no text of a case may; name a folder outside")
    if not options.cases.is_file():
        sys.exit(f"{options.cases} is not there: it is a file of cases, see the head of this file")
    chosen = chosen_cases([json.loads(line) for line in options.cases.read_text("utf-8").splitlines()], options.case, several=options.several)
    records, shape = joined_cases(chosen)
    options.folder.mkdir(parents=True, exist_ok=True)
    _write_lines(options.folder / PAPERS, records)
    (options.folder / CASE).write_text(json.dumps(shape, ensure_ascii=False, indent=1), "utf-8")
    about, topic = str(chosen[0]["query_abstract"]), topic_of(str(chosen[0]["query_abstract"]))
    (options.folder / "about.txt").write_text(f"{about}\n", "utf-8")
    (options.folder / "topic.txt").write_text(f"{topic}\n", "utf-8")
    print(f"# {len(records)} papers of {', '.join(str(case['id']) for case in chosen)}; about.txt is the abstract of the paper that the section is for")
    place = shlex.quote(str(options.folder))
    print(f"carrel init {place}/library && carrel --library {place}/library add {place}/{PAPERS}")
    print(f'carrel --library {place}/library draft related --topic "$(cat {place}/topic.txt)" --model MODEL')
    print(f"carrel --library {place}/library draft related --json > {place}/draft.json")


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
            abstract, title = _plain(paper.get("abstract") or ""), _plain(paper.get("title") or "")
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
        return asdict(self) | {"both": both, "only_theirs": theirs, "only_ours": ours, "coverage_of_theirs": _share(len(both), len(self.theirs))}


def reference(texts: Iterable[str]) -> list[Sentence]:
    """What the authors wrote, as sentences with the papers they cite."""
    found = []
    for at, text in enumerate(texts, 1):
        for _, start, end in cutter.cut(text):
            words = text[start:end]
            cites = tuple((key, ()) for key in dict.fromkeys(re.findall(r"\[(c\d+)\]", words)))
            found.append(Sentence(f"case {at}", _plain(re.sub(r"\s*\[(?:c\d+|missing)\]", "", words)), cites))
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
            "cited_share": _share(sum(bool(one.cites) for one in some), len(some)),
            "comparison_share": _share(sum(map(is_comparison, some)), len(some)),
        }

    mine = draft.sentences
    return Beside(len(given), cited(theirs), cited(mine), len(pairs(theirs)), len(pairs(theirs) & pairs(mine)), figures(theirs), figures(mine))


def compare(options: argparse.Namespace) -> None:
    """Prints a draft's coverage against the authors' own, and both texts to read."""
    case = _json(options.case / CASE, "the case that `library` wrote into that folder")
    assert isinstance(case, dict)  # `library` wrote it
    draft, theirs = read_draft(options.draft), reference(case["texts"])
    found = beside(draft, theirs, case["given"])
    of = found.shape()
    if options.as_json:
        print(json.dumps(of, ensure_ascii=False, indent=1))
        return
    print(f"{found.given} papers given; the authors cite {len(found.theirs)}, the draft {len(found.ours)}; of the authors' the draft cites {_shown(of['coverage_of_theirs'])}")
    print(f"  only the authors: {', '.join(of['only_theirs']) or '–'}; only the draft: {', '.join(of['only_ours']) or '–'}")  # type: ignore[arg-type]  # lists of keys
    print(f"  pairs of papers in one sentence: {found.pairs} of the authors', of which the draft has {found.pairs_found}")
    for name, some, figures in (("authors", theirs, found.their_figures), ("draft", draft.sentences, found.our_figures)):
        shares = f"{_shown(figures['cited_share'])} of them cite, {_shown(figures['comparison_share'])} compare"
        print(f"\n{name}: {figures['words']} words, {figures['sentences']} sentences, {shares}")
        for one in some:
            print(f"  {one.text}" + "".join(f" [{key}]" for key, _ in one.cites))


def main() -> None:
    """One action a word: see the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True)
    for action, places in ((score, "draft"), (judge, "draft folder"), (judged, "folder out"), (read, "draft out"), (library, "cases case folder"), (compare, "draft case")):
        one = actions.add_parser(action.__name__, help=(action.__doc__ or "").splitlines()[0])
        one.set_defaults(action=action)
        for place in places.split():
            one.add_argument(place, type=str if (action, place) == (library, "case") else Path)
        if action in {score, judge}:
            one.add_argument("--given", default="", help="keys, or where the papers are")
        if action is score:
            one.add_argument("--judged", type=Path)
        if action in {score, compare}:
            one.add_argument("--json", action="store_true", dest="as_json")
        if action is library:
            one.add_argument("--several", action="store_true", help="all cases of the same paper together")
        if action is read:
            one.add_argument("--model", required=True)
            one.add_argument("--api-base")
            one.add_argument("--deadline", type=float, default=120.0)
            one.add_argument("--ledger", type=Path, help="keep the replies in this file, so that a run that was cut off goes on")
    options = parser.parse_args()
    options.action(options)


if __name__ == "__main__":
    main()
