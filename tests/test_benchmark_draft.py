"""What the benchmark of drafts counts, on drafts made up for it and on the example's own sentences."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from assistant.document import SECOND_READER, Cite, Document, Report, Section, Statement
from assistant.gateway import Gateway, Reply, Request, Usage
from assistant.settings import Settings
from assistant.shapes import document_json
from assistant.tasks.desk import Desk
from assistant.tasks.verify import VerdictReply, with_verdicts
from benchmarks import draft as command
from benchmarks.drafts.cases import beside, chosen_cases, joined_cases, reference, topic_of
from benchmarks.drafts.figures import Score, by_code, is_comparison, scored, together
from benchmarks.drafts.judging import gathered_replies, parted, second_reading, write_prompts
from benchmarks.drafts.shape import Draft, Judgment, Sentence, Subject, by_the_reader, read_draft, read_judged, subject_of
from store.library import Library
from store.texts import Text

Line = dict[str, object]
ONE = "Alder raises accuracy by 4% on MATH."
TWO = "Birch learns a critic from old trajectories, unlike Alder, which keeps none."
GAP = "Of these works, none reports results beyond mathematics."


def statement(text: str, *cites: tuple[str, list[int]], **more: object) -> Line:
    return {"text": text, "cites": [{"key": key, "sentences": numbers, "quote": f"{key} says so."} for key, numbers in cites], "marks": []} | more


def made(tmp_path: Path, *statements: Line, **more: object) -> Draft:
    """A draft of one paragraph, through its JSON."""
    path = tmp_path / "draft.json"
    path.write_text(json.dumps({"name": "d", "paragraphs": [{"heading": "H", "statements": list(statements)}], "coverage": [], "report": {}} | more))
    return read_draft(path)


def on(draft: Draft, *verdicts: Judgment | None) -> dict[Subject, Judgment]:
    return {subject_of(one): said for one, said in zip(draft.sentences, verdicts, strict=True) if said}


def figures(draft: Draft, judgments: dict[Subject, Judgment] | None = None, given: Sequence[str] = ()) -> Score:
    return scored(draft, given, judgments or {}, "somebody", [one.marks for one in draft.sentences])


def test_support_counts_every_sentence(tmp_path: Path) -> None:
    """Two of three cited sentences hold, one uncited one needs a source, and one that leads over needs none."""
    draft = made(tmp_path, statement(ONE, ("a", [2])), statement(TWO, ("a", [1]), ("b", [1, 2])), statement("Elms help.", ("e", [1])), statement("Trees matter."), statement("We turn to trees."))
    shape = figures(
        draft, on(draft, Judgment("full"), Judgment("full", idle=frozenset({"a"})), Judgment("partly", "only oaks"), Judgment("needs a source"), Judgment("needs no source"))
    ).shape()
    assert (shape["full"], shape["partly"], shape["not_supported"], shape["uncited"], shape["need_a_source"]) == (2, 1, 0, 2, 1)
    assert shape["strict_support"] == 0.5
    assert shape["recall"] == 0.4
    assert (shape["citations"], shape["citations_judged"], shape["precise"], shape["precision"]) == (4, 4, 2, 0.5)
    assert shape["contributing"] == 0.75
    assert shape["faults"] == (("partly", "Elms help.", "only oaks"), ("needs a source", "Trees matter.", ""))


@pytest.mark.parametrize(
    ("alone", "rest", "precise"),
    [("full", "full", True), ("full", "not", True), ("partly", "partly", True), ("not", "full", False), ("partly", "full", False), (None, "full", None)],
)
def test_a_citation_is_precise_if_it_supports_alone_or_is_needed(tmp_path: Path, alone: str | None, rest: str, precise: bool | None) -> None:
    """As ALCE: of two citations of a fully supported sentence, by itself and without it."""
    draft = made(tmp_path, statement(TWO, ("a", [1]), ("b", [1])))
    one = draft.sentences[0]
    parts = {Subject(TWO, frozenset({"b 1"})): Judgment(rest)} | ({Subject(TWO, frozenset({"a 1"})): Judgment(alone)} if alone else {})
    score = figures(draft, on(draft, Judgment("full")) | parts)
    assert len(parted(one)) == 2
    assert score.citations_judged == (2 if alone else 0)
    if alone:
        assert score.precise == bool(precise) + (rest == "full" or alone != "full")
    short = figures(draft, on(draft, Judgment("partly")) | parts)
    assert (short.citations_judged, short.precise) == (2, 0)


def test_what_nobody_judged_is_no_figure(tmp_path: Path) -> None:
    """Without judgments there is no support, neither 0 nor 100 %; with some, the others are counted as not judged."""
    draft = made(tmp_path, statement(ONE, ("a", [2])), statement(TWO, ("b", [1])))
    none, some = figures(draft).shape(), figures(draft, on(draft, Judgment("full"), None)).shape()
    assert (none["strict_support"], none["recall"], none["precision"], none["unjudged"]) == (None, None, None, 2)
    assert (some["strict_support"], some["recall"], some["unjudged"]) == (1.0, 1.0, 1)


def test_a_draft_without_sentences_and_one_without_citations(tmp_path: Path) -> None:
    """Nothing has no figures; what cites nothing is supported in nothing, questions and words that lead over apart."""
    nothing = figures(made(tmp_path)).shape()
    assert {nothing[name] for name in ("strict_support", "recall", "precision", "coverage", "comparison_share", "sentences_per_paper")} == {None}
    uncited = figures(made(tmp_path, statement("Trees matter."), statement("What of elms?"), statement("Elms help. [no source]"))).shape()
    assert (uncited["strict_support"], uncited["recall"], uncited["need_a_source"]) == (0.0, 0.0, 2)


def test_figures_of_several_drafts_add_up(tmp_path: Path) -> None:
    """Two drafts of one sentence each, half of them supported; only one of them holds its plan."""
    line = {"heading": "H", "line": 1, "job": "compares", "says": "", "words": 8, "asked": ["b"], "text": TWO, "notes": []}
    one, two = made(tmp_path, statement(ONE, ("a", [2]))), made(tmp_path, statement(TWO, ("b", [1])), plan=[line])
    shape = together([figures(one, on(one, Judgment("full")), ["a", "c"]), figures(two, on(two, Judgment("not")), ["b"])]).shape()
    assert (shape["name"], shape["sentences"], shape["strict_support"], shape["coverage"]) == ("2 drafts", 2, 0.5, 0.667)
    assert (shape["lines"], shape["plan_cites_as_asked"], shape["left_out"]) == (1, 1.0, ("d: c",))


def test_gap_sentences_stand_apart(tmp_path: Path) -> None:
    """By the plan's job or by the reader; by their words only where there is no plan; uncited ones hold if they need no source. A gap between two things is none."""
    statements = (statement(GAP, ("a", [1])), statement("Elms remain hard.", ("e", [1])), statement("It widens the gap between reward and aim.", ("a", [2])))
    draft = made(tmp_path, *statements)
    assert figures(draft).gaps == 1
    judged = figures(draft, on(draft, Judgment("full", gap="papers"), Judgment("not", gap="field"), Judgment("full"))).shape()
    assert (judged["gaps"], judged["gaps_full"], judged["gaps_of_the_field"], judged["strict_support_of_gaps"]) == (2, 1, 1, 0.5)
    uncited = made(tmp_path, statement(GAP))
    assert [figures(uncited, on(uncited, Judgment(said))).gaps_full for said in ("needs no source", "needs a source")] == [1, 0]
    line = {"heading": "H", "line": 1, "job": "states a gap", "says": "", "words": 4, "asked": ["e"], "text": "Elms remain hard.", "notes": []}
    assert figures(made(tmp_path, *statements, plan=[line])).gaps == 1


def test_coverage_comparisons_and_lengths(tmp_path: Path) -> None:
    """A paper of the scope that is left out, a foreign one, and a comparison, which holds two papers together by words."""
    draft = made(tmp_path, statement(ONE, ("a", [2])), statement(TWO, ("a", [1]), ("b", [1])), statement("Elms and oaks grow.", ("b", [3]), ("x", [1])))
    shape = figures(draft, given=["a", "b", "c", "d"]).shape()
    assert (shape["coverage"], shape["left_out"], shape["foreign"]) == (0.5, ("c", "d"), ("x",))
    assert (shape["comparisons"], shape["words"], shape["papers"], shape["sentences_per_paper"]) == (1, 23, 3, 1.0)
    assert not is_comparison(Sentence("", TWO, (("b", (1,)),)))


def test_repeated_statements(tmp_path: Path) -> None:
    """The same words twice, and the same sentence of a paper for the same claim; another claim from it is no repetition."""
    again = "Unlike Alder, which keeps none, Birch learns its critic from old trajectories."
    shorter = "Alder raises accuracy on MATH, at no cost in speed, by 4%."
    other = "Alder trains on a single problem, its authors argue, and measures transfer."
    draft = made(tmp_path, *(statement(text, ("a", [2])) for text in (ONE, TWO, shorter, other)), statement(again, ("b", [7])))
    assert figures(draft).repeated == ((shorter, ONE), (again, TWO))


def test_the_plan_is_held_against_the_text(tmp_path: Path) -> None:
    """Of three lines two are written, one cites a paper too few, one is too long; a sentence more stands in no line."""

    def line(text: str | None, words: int, *keys: str) -> Line:
        return {"heading": "H", "line": 1, "job": "compares", "says": "", "words": words, "asked": list(keys), "text": text, "notes": []}

    plan = [line(ONE, 5, "a", "b"), line(TWO, 8, "a", "b"), line(None, 20, "c")]
    statements = (statement(ONE, ("a", [2])), statement(TWO, ("a", [1]), ("b", [1])), statement(GAP, ("a", [1])))
    shape = figures(made(tmp_path, *statements, plan=plan)).shape()
    assert (shape["lines"], shape["written"], shape["as_asked"], shape["in_length"], shape["unplanned"]) == (3, 2, 1, 1, 1)
    assert figures(made(tmp_path, *statements)).shape()["plan_written"] is None


def sentences_of(library: Library) -> list[tuple[str, Text, int]]:
    """The second sentence of each English abstract of the example."""
    papers = {text.paper: (paper.key, text) for paper in library.papers() for text in library.texts(paper) if text.role == "abstract" and text.language == "en"}
    return [(key, text, 2) for key, text in papers.values() if len(text.sentences) > 1]


def copied(library: Library, places: Sequence[tuple[str, Text, int]], words: Sequence[str]) -> Draft:
    """A draft of these words that cites these sentences."""
    statements = tuple(
        Statement(said, (Cite(key, "abstract", (number,), text.sentence(number), text.id),)) for said, (key, text, number) in zip(words, places, strict=True)
    )
    shape = json.loads(json.dumps(document_json(Document("draft", "copied", sections=(Section("All", statements),)))))
    path = library.folder / "draft.json"
    path.write_text(json.dumps(shape), "utf-8")
    return read_draft(path)


def test_copied_sentences_are_true_and_shuffled_citations_are_not(library: Library) -> None:
    """Verbatim with the right citations: all full before a perfect judge and clean by code; with shuffled ones nothing, and code marks nearly all."""
    places = sentences_of(library)
    words = [text.sentence(number) for _, text, number in places]
    for cited, is_right in ((places, True), (places[1:] + places[:1], False)):
        draft = copied(library, cited, words)
        perfect = on(draft, *(Judgment("full" if one.text in one.quotes[0].quote else "not") for one in draft.sentences))
        shape = scored(draft, [key for key, _, _ in cited], perfect, "perfect", by_code(draft, library)).shape()
        assert shape["unjudged"] == 0
        if is_right:
            assert (shape["strict_support"], shape["recall"], shape["precision"], shape["clean_by_code"], shape["coverage"]) == (1.0, 1.0, 1.0, 1.0, 1.0)
        else:
            assert (shape["strict_support"], shape["recall"], shape["precision"]) == (0.0, 0.0, 0.0)
            assert isinstance(shape["clean_by_code"], float)
            assert shape["clean_by_code"] <= 0.1


def test_the_second_readers_verdicts_are_taken_from_the_report(library: Library, tmp_path: Path) -> None:
    """As `--verify` leaves them: what it flagged, and full for the rest once it read everything; else it judged nothing."""
    (key, text, number), (other, second, _) = sentences_of(library)[:2]
    cites = (Cite(key, "abstract", (number,), text.sentence(number), text.id), Cite(other, "abstract", (1,), second.sentence(1), second.id))
    one, two = Statement(ONE, (cites[0],)), Statement(TWO, (cites[1],))
    from assistant.tasks.verify import TASK, claims

    document = Document("draft", "d", sections=(Section("H", (one, two)),), report=Report(statements=2))
    flagged = VerdictReply.model_validate({"verdict": "partly", "overreach": [{"words": "Birch", "kind": "other"}], "reason": "another tree"})
    for claim, verdict in zip(claims(document), (VerdictReply(verdict="supported"), flagged), strict=True):
        with library.catalog.writing():
            library.catalog.keep_finding(TASK, "", claim.item, 0, verdict.model_dump_json())
    shape = document_json(with_verdicts(library, document))
    path = tmp_path / "verified.json"
    path.write_text(json.dumps(shape), "utf-8")
    judgments = by_the_reader(read_draft(path))
    assert sorted(said.verdict for said in judgments.values()) == ["full", "partly"]
    for statement in shape["paragraphs"][0]["statements"]:  # type: ignore[index]
        del statement["verdict"]
    shape["report"]["checked_by_model"] = 1  # type: ignore[index]
    path.write_text(json.dumps(shape), "utf-8")
    assert by_the_reader(read_draft(path)) == {}


def test_the_second_reader_is_held_against_the_judges(tmp_path: Path) -> None:
    """It flags one sentence rightly, one wrongly, and misses one."""
    verdicts = ("partly", "not", "supported")
    draft = made(tmp_path, *(statement(text, ("a", [1]), verdict=verdict) for text, verdict in zip((ONE, TWO, GAP), verdicts, strict=True)))
    shape = figures(draft, on(draft, Judgment("not"), Judgment("full"), Judgment("partly"))).shape()
    assert shape["reader"] == {"right": 1, "wrong": 1, "missed": 1}
    assert (shape["reader_precision"], shape["reader_recall"]) == (0.5, 0.5)
    by_itself = scored(draft, [], by_the_reader(draft), "second reader", [()] * 3).shape()
    assert (by_itself["judge_trust"], by_itself["reader"]) == (SECOND_READER, {})


def prompts(draft: Draft, library: Library, folder: Path) -> Path:
    write_prompts(draft, library, folder)
    return folder


def test_prompts_show_whole_abstracts_and_no_keys(library: Library, tmp_path: Path) -> None:
    """A dozen sentences a prompt, each with the sentences it cites; the reader learns neither keys nor marks."""
    places = sentences_of(library)[:14]
    draft = copied(library, places, [f"Statement {number} of a draft." for number in range(14)])
    folder = prompts(draft, library, tmp_path / "judge")
    assert sorted(path.name for path in folder.iterdir()) == ["01.md", "02.md", "sentences.jsonl"]
    first = (folder / "01.md").read_text("utf-8")
    assert "12. Statement 11 of a draft." in first
    assert "13. Statement 12 of a draft." in (folder / "02.md").read_text("utf-8")
    for key, text, number in places[:12]:
        assert first.count(text.sentence(number)) == 2
        assert text.sentence(1) in first
        assert key not in first


def test_replies_are_gathered_and_bad_ones_listed(library: Library, tmp_path: Path) -> None:
    """Of two readers the stricter stands; what is none of the verdicts, of no sentence, twice or missing is listed and not guessed."""
    places = sentences_of(library)[:4]
    draft = copied(library, places, [ONE, TWO, GAP, "Elms help."])
    folder = prompts(replace(draft, sentences=(*draft.sentences, Sentence("All", "We go on."))), library, tmp_path / "judge")

    def reply(n: int, verdict: str, **more: object) -> Line:
        return {"n": n, "verdict": verdict, "idle": [], "gap": None, "why": f"w{n}"} | more

    own = json.loads((folder / "sentences.jsonl").read_text("utf-8").splitlines()[0])["papers"]
    wrong = [reply(4, "supported"), reply(9, "full"), reply(1, "full"), reply(2, "full", idle=[99]), reply(5, "full"), "text"]
    first = [reply(1, "full", idle=[int(next(iter(own)))]), reply(3, "full", gap="papers"), *wrong]
    (folder / "01.one.json").write_text("```json\n" + json.dumps({"judgments": first}) + "\n```", "utf-8")
    (folder / "01.two.json").write_text(json.dumps({"judgments": [reply(1, "full"), reply(3, "partly", gap="field"), reply(5, "needs no source")]}), "utf-8")
    (folder / "01.three.json").write_text("I think they are all fine.", "utf-8")
    found = gathered_replies(folder)
    assert [(row["sentence"], row["verdict"], row["readers"], row["gap"]) for row in found.rows] == [
        (ONE, "full", 2, None), (GAP, "partly", 2, "field"), ("We go on.", "needs no source", 1, None),
    ]  # fmt: skip
    assert found.rows[0]["idle"] == [places[0][0]]
    assert (found.twice, found.agreed) == (2, 1)
    listed = ("01.three.json", "'supported' is none of", "9 is no sentence", "judged twice", "idle is [99]", "'full' is none of needs", "'text' is no judgment", f"nobody judged sentence 2 (in 01.md): {TWO}")
    assert all(any(part in said for said in found.bad) for part in listed)
    assert len(found.bad) == len(listed) + 1  # sentence 4 was not judged either
    path = tmp_path / "judged.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in found.rows), "utf-8")
    assert figures(draft, read_judged(path)).judged == 2


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('{"sentence": "A.", "cites": ["@a 2, 3"], "verdict": "maybe"}', "'maybe' is no verdict"),
        ('{"sentence": "A.", "cites": [], "verdict": "fine"}', "needs no source"),
        ('{"sentence": "A."}', "KeyError"),
        ("full", "no judgment"),
    ],
)
def test_a_bad_line_of_judgments_is_named(tmp_path: Path, line: str, says: str) -> None:
    """With its number and what it should be."""
    path = tmp_path / "judged.jsonl"
    path.write_text(f'{{"sentence": "A.", "cites": ["a"], "verdict": "full"}}\n{line}\n', "utf-8")
    with pytest.raises(SystemExit, match=r"judged\.jsonl:2: ") as left:
        read_judged(path)
    assert says in str(left.value)


def test_judgments_fit_by_place_or_by_paper(tmp_path: Path) -> None:
    """`@a 3, 2` is what the sentence cites, `a` the paper alone; with another sentence of that paper it was another case."""
    draft = made(tmp_path, statement(ONE, ("a", [2, 3])))
    path = tmp_path / "judged.jsonl"
    for cite, judged in (("@a 3, 2", 1), ({"key": "a", "text": "title", "sentences": [1]}, 0), ("a", 1), ({"key": "a", "sentences": [2, 3]}, 1), ("a 4", 0)):
        path.write_text(json.dumps({"sentence": ONE, "cites": [cite], "verdict": "full"}), "utf-8")
        assert figures(draft, read_judged(path)).judged == judged


class Reader:
    """A second reader by hand: a statement is supported when Birch's sentence is among those shown."""

    name = "test/reader"

    async def complete(self, request: Request) -> Reply:
        shown, said = request.messages[1].content.split("<<<statement")
        verdict: Line = {"verdict": "supported"} if "b says so." in shown else {"verdict": "not", "overreach": [{"words": said.split()[0], "kind": "other"}]}
        return Reply(json.dumps(verdict), Usage(10, 5), 0.0, "by hand", "stop")

    async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
        yield await self.complete(request)


def test_the_second_reader_judges_citations_by_themselves(tmp_path: Path, empty: Library) -> None:
    """Of two papers only one bears the sentence out, so one citation in two is precise; one that nothing bears out is not read again."""
    draft = made(tmp_path, statement(TWO, ("a", [1]), ("b", [1])), statement(ONE, ("a", [2]), ("c", [1])))
    with Gateway(Reader()) as gateway:
        found = second_reading(Desk(empty, gateway, Settings()), draft)
    assert len(found) == 4
    score = figures(draft, {subject: Judgment(verdict) for subject, verdict in found.items()})
    assert (score.full, score.not_supported, score.citations_judged, score.precise) == (1, 1, 4, 1)


CASES: list[dict[str, object]] = [
    {"id": "k0", "query_abstract": "Trees are tall. We measure oaks.", "cited": [{"id": "0", "abstract": "Oaks grow."}, {"id": "1", "abstract": ""}], "reference_text": "Oaks grow [0]. So do elms [1]."},
    {"id": "k1", "query_abstract": "Trees are tall. We measure oaks.", "cited": [{"id": "7", "abstract": "Elms grow.", "title": "Elms"}, {"id": "8", "abstract": "Oaks  grow."}], "reference_text": "Elms and oaks are alike [7] [8]."},
    {"id": "k2", "query_abstract": "Other.", "cited": [], "reference_text": "Nothing."},
]  # fmt: skip


def test_cases_become_papers_under_keys() -> None:
    """Joined cases share their papers; one without a text is left out, and said so where it is cited."""
    chosen = chosen_cases(CASES, "0", several=True)
    records, case = joined_cases(chosen)
    assert records == [{"key": "c0", "abstract": "Oaks grow."}, {"key": "c1", "title": "Elms", "abstract": "Elms grow."}]
    assert case["texts"] == ["Oaks grow [c0]. So do elms [missing].", "Elms and oaks are alike [c1] [c0]."]
    assert topic_of(str(chosen[0]["query_abstract"])) == "We measure oaks."
    assert [one["id"] for one in chosen_cases(CASES, "2,0", several=False)] == ["k2", "k0"]
    with pytest.raises(SystemExit, match="0 to 2"):
        chosen_cases(CASES, "3", several=False)


def test_a_draft_beside_what_people_wrote(tmp_path: Path) -> None:
    """They hold two papers together in one sentence, and so does the draft, which leaves out none of theirs."""
    theirs = reference(["Oaks grow [c0]. So do elms [missing].", "Elms and oaks are alike [c1] [c0]."])
    assert [one.text for one in theirs] == ["Oaks grow.", "So do elms.", "Elms and oaks are alike."]
    shape = beside(made(tmp_path, statement("Both grow.", ("c0", [1]), ("c1", [1])), statement("So do ashes.", ("c2", [1]))), theirs, ["c0", "c1", "c2"]).shape()
    assert (shape["both"], shape["only_theirs"], shape["only_ours"], shape["coverage_of_theirs"]) == (["c0", "c1"], [], ["c2"], 1.0)
    assert (shape["pairs"], shape["pairs_found"]) == (1, 1)


Run = Callable[..., str]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The benchmark's command, and what it prints."""

    def ran(*words: str | Path) -> str:
        monkeypatch.setattr("sys.argv", ["draft.py", *map(str, words)])
        command.main()
        return capsys.readouterr().out

    return ran


def test_the_whole_way(run: Run, tmp_path: Path) -> None:
    """A case becomes papers, a draft from them is judged and scored as text and as JSON, and stands beside the authors' words."""
    cases, folder = tmp_path / "cases.jsonl", tmp_path / "it is 'k0'"
    cases.write_text("".join(f"{json.dumps(case)}\n" for case in CASES), "utf-8")
    assert "carrel init" in run("library", cases, "0", folder, "--several")
    made(tmp_path, {"text": "Oaks grow.", "cites": [{"key": "c0", "sentences": [1], "quote": "Oaks grow."}], "marks": []})
    draft = tmp_path / "draft.json"
    run("judge", draft, tmp_path / "judge", "--given", folder)
    (tmp_path / "judge" / "01.me.json").write_text(json.dumps({"judgments": [{"n": 1, "verdict": "full", "idle": [], "gap": None, "why": ""}]}), "utf-8")
    run("judged", tmp_path / "judge", tmp_path / "judged.jsonl")
    shape = json.loads(run("score", draft, "--judged", tmp_path / "judged.jsonl", "--given", folder, "--json"))
    assert (shape["strict_support"], shape["coverage"], shape["left_out"], shape["clean_by_code"]) == (1.0, 0.5, ["c1"], 1.0)
    assert "strict support 100%" in run("score", draft, "--judged", tmp_path / "judged.jsonl", "--given", "c0,c9")
    assert "only the authors: c1" in run("compare", draft, folder)
    (tmp_path / "read.jsonl").write_text('{"sentence": "Oaks grow.", "cites": ["c0"], "verdict": "full", "by": "second reader"}', "utf-8")
    assert SECOND_READER in run("score", draft, "--judged", tmp_path / "read.jsonl")


def test_what_is_missing_is_said(run: Run, tmp_path: Path) -> None:
    """No draft, no draft in it, no papers, prompts that are there already, and a folder inside the project."""
    draft = tmp_path / "draft.json"
    made(tmp_path, statement(ONE, ("nobody", [2])))
    (tmp_path / "other.json").write_text("{}", "utf-8")
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASES[0]), "utf-8")
    papers = tmp_path / "papers.jsonl"
    papers.write_text('{"key": "c0", "title": "Oaks", "abstract": "Oaks grow."}\n', "utf-8")
    for words, says in (
        (("score", tmp_path / "none.json"), "none.json is not there"),
        (("score", tmp_path / "other.json"), "no paragraphs"),
        (("score", draft, "--judged", tmp_path / "none.jsonl"), "file of judgments"),
        (("judge", draft, tmp_path / "j", "--given", tmp_path / "none"), "whole abstracts"),
        (("judge", draft, tmp_path / "j", "--given", papers), "no paper has the key 'nobody'"),
        (("judged", tmp_path, tmp_path / "out"), "holds no prompts"),
        (("library", tmp_path / "none.jsonl", "0", tmp_path / "c"), "file of cases"),
        (("library", tmp_path / "cases.jsonl", "0", Path(command.__file__).parent / "c"), "lies in the project"),
        (("compare", draft, tmp_path), "case.json is not there"),
    ):
        with pytest.raises(SystemExit, match=says):
            run(*words)
