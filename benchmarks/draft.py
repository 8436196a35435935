"""Is a draft of related work true, whole and to its plan? Support by sentence, coverage, repetitions, comparisons, the plan.

    python benchmarks/draft.py score DRAFT.json … [--judged JUDGED.jsonl] [--given KEYS|PAPERS] [--json]   # DRAFT: `carrel draft NAME --json`
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
from collections.abc import Callable
from pathlib import Path

from assistant.document import SECOND_READER
from assistant.gateway import open_gateway
from assistant.settings import Settings
from assistant.tasks.desk import Desk
from assistant.tasks.verify import RULE
from benchmarks.drafts.cases import beside, chosen_cases, joined_cases, reference, topic_of
from benchmarks.drafts.figures import Score, by_code, scored, together
from benchmarks.drafts.judging import MANIFEST, gathered_replies, second_reading, write_prompts
from benchmarks.drafts.shape import (
    PAPERS,
    Draft,
    Judgments,
    by_the_reader,
    opened,
    percent,
    read_draft,
    read_json,
    read_judged,
    write_lines,
)
from store.library import Library

HERE = Path(__file__).parent
CASE = "case.json"


def score(options: argparse.Namespace) -> None:
    """Prints the figures of a draft, or of several together, and what to read."""
    if options.given and len(options.drafts) > 1:
        sys.exit("--given is of one draft; of several the papers are those of their coverage sheets")
    drafts = [read_draft(path) for path in options.drafts]
    told = read_judged(options.judged) if options.judged else None
    strangers = {subject.text for subject in told or {}} - {one.text for draft in drafts for one in draft.sentences}
    if strangers:
        print(f"{len(strangers)} judged sentences do not stand in the draft, such as: {min(strangers)}", file=sys.stderr)
    found = together([_figures(draft, told, options.judged, options.given) for draft in drafts])
    if options.as_json:
        print(json.dumps(found.shape(), ensure_ascii=False, indent=1))
    else:
        _print(found)


def _figures(draft: Draft, told: Judgments | None, file: Path | None, papers: str) -> Score:
    """A draft's figures, by what a file judged, else by the second reader; `papers` are keys or where they are."""
    judgments = by_the_reader(draft) if told is None else told
    judge = RULE if judgments and all(one.by == RULE for one in judgments.values()) else file.stem if file else ""
    given, rules = list(draft.scope), [tuple(mark for mark in one.marks if re.fullmatch(r"R\d+", mark)) for one in draft.sentences]
    if papers and Path(papers).exists():
        with opened(Path(papers)) as library:
            given, rules = [paper.key for paper in library.papers()], by_code(draft, library)
    elif papers:
        given = [key for key in re.split(r"[,\s]+", papers) if key]
    return scored(draft, given, judgments, judge, rules)


def _print(found: Score) -> None:
    of = found.shape()
    part = {name: percent(value) for name, value in of.items()}
    rules = ", ".join(f"{rule} {count}" for rule, count in found.rules.items())
    print(f"{found.name}: {found.sentences} sentences, {found.words} words, {found.papers} papers cited ({of['sentences_per_paper'] or '–'} sentences a paper)")
    print(f"judged by {found.judge or 'nobody'}" + (f" ({of['judge_trust']})" if of["judge_trust"] else ""))
    if found.reader:
        print(f"  the second reader flags {part['reader_recall']} of what they find short of full support, and rightly {part['reader_precision']} of what it flags")
    print(
        f"  strict support {part['strict_support']}: {found.full} full, {found.partly} partly, {found.not_supported} not;"
        f" {found.uncited} cite nothing, of which {found.need_a_source} need a source; {of['unjudged']} cited ones not judged"
    )
    print(f"  recall {part['recall']} of all sentences; precision {part['precision']} of {found.citations_judged} of {found.citations} citations")
    print(f"  citations that contribute {part['contributing']} of {found.known_idle}")
    print(f"  gap sentences {found.gaps}: strict support {part['strict_support_of_gaps']} of {found.gaps_judged} judged; claimed of the field {found.gaps_of_the_field}")
    print(f"by code: {part['clean_by_code']} of {found.cited} cited sentences without a mark" + (f" ({rules})" if rules else ""))
    print(f"given papers cited {part['coverage']} ({found.given_cited} of {found.given})" + (f"; foreign: {', '.join(found.foreign)}" if found.foreign else ""))
    print(f"comparisons {part['comparison_share']} ({found.comparisons}); repeated {len(found.repeated)}")
    if found.lines is None:
        print("no plan in the draft")
    else:
        print(
            f"plan: {part['plan_written']} of {found.lines} lines written; of these {part['plan_cites_as_asked']} cite all that was asked,"
            f" {part['plan_length']} in length; {found.unplanned} sentences without a line"
        )
    for kind, text, why in found.faults:
        print(f"  {kind}: {text}" + (f" [{why}]" if why else ""))
    for later, earlier in found.repeated:
        print(f"  repeated: {later}\n      before: {earlier}")


def judge(options: argparse.Namespace) -> None:
    """Writes prompts for strict readers."""
    draft = read_draft(options.draft)
    if not draft.sentences:
        sys.exit(f"{options.draft}: no sentence in it, so nothing to judge")
    if (options.folder / MANIFEST).exists():
        sys.exit(f"{options.folder} holds prompts already; name another folder, so that no reply is taken for another sentence's")
    if not Path(options.given).exists():
        sys.exit(f"{options.given} is not there; a judge reads whole abstracts: name the papers, a library's folder or a file that `carrel add` takes")
    with opened(Path(options.given)) as papers:
        count = write_prompts(draft, papers, options.folder)
    print(f"{len(draft.sentences)} sentences in {count} prompts in {options.folder}; a reader's reply to 01.md goes into 01.READER.json beside it")


def judged(options: argparse.Namespace) -> None:
    """Gathers the readers' replies; exits with 1 where one cannot be read or a sentence was not judged."""
    if not (options.folder / MANIFEST).exists():
        sys.exit(f"{options.folder} holds no prompts; write them with `judge`")
    found = gathered_replies(options.folder)
    write_lines(options.out, found.rows)
    print(f"{len(found.rows)} sentences judged, {found.twice} by several readers, who agree on {found.agreed}; where they do not, the stricter verdict stands")
    if found.bad:
        sys.exit("\n".join(found.bad))


def read(options: argparse.Namespace) -> None:
    """Has the second reader judge each sentence, and each of several citations by itself."""
    draft = read_draft(options.draft)
    gateway = open_gateway(
        model=options.model, api_base=options.api_base, api_key=None, deadline_s=options.deadline, ledger=options.ledger, budget_usd=None, record=None, replay=None
    )
    with tempfile.TemporaryDirectory() as place, gateway:
        library = Library(Path(place), None, create=True)
        found = second_reading(Desk(library, gateway, Settings()), draft)
        library.close()
    write_lines(options.out, [{"sentence": subject.text, "cites": sorted(subject.cites), "verdict": verdict, "why": "", "by": RULE} for subject, verdict in found.items()])
    print(f"{len(found)} judgments in {options.out}; the second reader: {SECOND_READER}")


def cases(options: argparse.Namespace) -> None:
    """Writes the papers of a case as `carrel add` takes them, its topic, and what its authors wrote; prints the commands."""
    if HERE.parent in (options.folder.resolve(), *options.folder.resolve().parents):
        sys.exit(f"{options.folder} lies in the project, and no text of a case may; name a folder outside")
    if not options.cases.is_file():
        sys.exit(f"{options.cases} is not there: it is a file of cases, see the head of this file")
    chosen = chosen_cases([json.loads(line) for line in options.cases.read_text("utf-8").splitlines()], options.case, several=options.several)
    records, shape = joined_cases(chosen)
    options.folder.mkdir(parents=True, exist_ok=True)
    write_lines(options.folder / PAPERS, records)
    (options.folder / CASE).write_text(json.dumps(shape, ensure_ascii=False, indent=1), "utf-8")
    about, topic = str(chosen[0]["query_abstract"]), topic_of(str(chosen[0]["query_abstract"]))
    (options.folder / "about.txt").write_text(f"{about}\n", "utf-8")
    (options.folder / "topic.txt").write_text(f"{topic}\n", "utf-8")
    print(f"# {len(records)} papers of {', '.join(str(case['id']) for case in chosen)}; about.txt is the abstract of the paper that the section is for")
    place = shlex.quote(str(options.folder))
    print(f"carrel init {place}/library && carrel --library {place}/library add {place}/{PAPERS}")
    print(f'carrel --library {place}/library draft related --topic "$(cat {place}/topic.txt)" --model MODEL')
    print(f"carrel --library {place}/library draft related --json > {place}/draft.json")


def compare(options: argparse.Namespace) -> None:
    """Prints a draft's coverage against the authors' own, and both texts to read."""
    case = read_json(options.case / CASE, "the case that `library` wrote into that folder")
    assert isinstance(case, dict)  # `library` wrote it
    draft, theirs = read_draft(options.draft), reference(case["texts"])
    found = beside(draft, theirs, case["given"])
    if not set(found.ours) & set(case["given"]):
        print(f"{options.draft} cites none of the papers of {options.case}: is it a draft from them?", file=sys.stderr)
    of = found.shape()
    if options.as_json:
        print(json.dumps(of, ensure_ascii=False, indent=1))
        return
    shared = percent(of["coverage_of_theirs"])
    print(f"{found.given} papers given; the authors cite {len(found.theirs)}, the draft {len(found.ours)}; of the authors' the draft cites {shared}")
    only = {name: ", ".join(sorted(set(mine) - set(other))) or "–" for name, mine, other in (("authors", found.theirs, found.ours), ("draft", found.ours, found.theirs))}
    print(f"  only the authors: {only['authors']}; only the draft: {only['draft']}")
    print(f"  pairs of papers in one sentence: {found.pairs} of the authors', of which the draft has {found.pairs_found}")
    for name, some, figures in (("authors", theirs, found.their_figures), ("draft", draft.sentences, found.our_figures)):
        shares = f"{percent(figures['cited_share'])} of them cite, {percent(figures['comparison_share'])} compare"
        print(f"\n{name}: {figures['words']} words, {figures['sentences']} sentences, {shares}")
        for one in some:
            print(f"  {one.text}" + "".join(f" [{key}]" for key, _ in one.cites))


def main() -> None:
    """One action a word: see the head of this file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    actions = parser.add_subparsers(required=True, metavar="ACTION")

    def action(name: str, does: Callable[[argparse.Namespace], None], *files: str) -> argparse.ArgumentParser:
        one = actions.add_parser(name, help=does.__doc__)
        one.set_defaults(does=does)
        for file in files:
            one.add_argument(file, type=Path)
        return one

    scoring = action("score", score)
    scoring.add_argument("drafts", type=Path, nargs="+")
    scoring.add_argument("--judged", type=Path)
    scoring.add_argument("--given", default="", help="keys, or where the papers are")
    scoring.add_argument("--json", action="store_true", dest="as_json")
    action("judge", judge, "draft", "folder").add_argument("--given", required=True, help="where the papers are")
    action("judged", judged, "folder", "out")
    reading = action("read", read, "draft", "out")
    reading.add_argument("--model", required=True)
    reading.add_argument("--api-base")
    reading.add_argument("--deadline", type=float, default=120.0)
    reading.add_argument("--ledger", type=Path, help="keep the replies in this file, so that a run that was cut off goes on")
    making = action("library", cases, "cases")
    making.add_argument("case", help="numbers from 0, parted by commas")
    making.add_argument("folder", type=Path)
    making.add_argument("--several", action="store_true", help="all cases of the same paper together")
    action("compare", compare, "draft", "case").add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    options.does(options)


if __name__ == "__main__":
    main()
