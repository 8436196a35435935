"""What restricts a search, and what ranks it: filters that hold, ties by key, and rankings beside slow ones from the formulas."""

import math
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import keywords, search, vectors
from store.embedding import HashEmbedder
from store.errors import UnknownPaper
from store.library import Library
from store.paper import Record
from store.scope import Scope
from store.texts import stored_record
from store.vectors import Near

WORDS = ("walk", "swim", "robot", "bridge", "river", "cold", "fish", "moon")


def take(library: Library, *given_records: Record, file: str = "f") -> None:
    """Puts the records into the library, with their vectors."""
    with library.catalog.writing():
        for record in given_records:
            library.catalog.take(record, file=file, format="test", kind="abstract")
    library.embed()


def keys(library: Library, scope: Scope | None = None) -> list[str]:
    """The keys of the papers in scope."""
    return [paper.key for paper in library.papers(scope)]


def found(library: Library, query: str, **more: object) -> list[str]:
    """The keys that a search finds, best first."""
    names = {paper.number: paper.key for paper in library.papers()}
    return [names[hit.paper] for hit in library.search(query, **more)]  # type: ignore[arg-type]


@pytest.fixture
def small(empty: Library) -> Library:
    """Five papers that differ in what filters ask for."""
    empty.embedder = HashEmbedder()
    take(empty, Record(key="a", title="Robots That Walk", date="2024", categories=("cs.RO",)), file="/x/reading-list.bib")
    take(empty, Record(key="b", title="Robots That Swim", date="2025-03", categories=("cs.LG", "cs.RO")), file="/x/page.txt")
    take(empty, Record(key="c", title="Robots That Fly", date="2025-03-25", categories=("stat.ML",)), file="page.txt")
    take(empty, Record(key="d", title="Robots That Wait", date="2026-01-02"), file="/x/other-page.txt")
    take(empty, Record(key="e", title="Robots That Hide"))
    with empty.catalog.writing():
        for key, tag in (("a", "core"), ("b", "core"), ("b", "later")):
            empty.catalog._db.execute("INSERT INTO tag VALUES (?, ?)", (empty.catalog.number(key), tag))
        empty.catalog._db.execute("UPDATE paper SET status = 'included' WHERE key = 'c'")
    return empty


@pytest.mark.parametrize(
    ("scope", "expected"),
    [
        (Scope(), "abcde"),
        (Scope(since="2025"), "bcd"),
        (Scope(since="2025-03"), "bcd"),
        (Scope(since="2025-03-26"), "d"),
        (Scope(until="2025"), "abc"),
        (Scope(until="2025-03-24"), "ab"),
        (Scope(since="2025", until="2025"), "bc"),
        (Scope(categories=("cs.RO",)), "ab"),
        (Scope(categories=("cs",)), "ab"),
        (Scope(categories=("cs.R",)), ""),
        (Scope(categories=("stat.ML", "cs.LG")), "bc"),
        (Scope(tags=("core",)), "ab"),
        (Scope(tags=("core", "later"), since="2025"), "b"),
        (Scope(statuses=("included",)), "c"),
        (Scope(statuses=("candidate",)), "abde"),
        (Scope(sources=("page.txt",)), "bc"),
        (Scope(sources=("/x/page.txt",)), "b"),
        (Scope(sources=("f",)), "e"),
        (Scope(keys=("e", "a")), "ae"),
        (Scope(keys=("a", "b"), categories=("cs.LG",)), "b"),
        (Scope(keys=()), ""),
        (Scope(since="2099"), ""),
        (Scope(tags=("never given",)), ""),
        (Scope(sources=("reading_list.bib",)), ""),
    ],
)  # fmt: skip
def test_filters_hold_for_lists_and_searches(small: Library, scope: Scope, expected: str) -> None:
    """Each alone and together; a paper without a date is in no span, and a scope that fits nothing is nothing."""
    assert keys(small, scope) == list(expected)
    for more in ({}, {"by_keywords": True}, {"exact": True}):
        assert sorted(found(small, "robots that walk", scope=scope, **more)) == list(expected)


def test_an_unknown_key_in_a_filter_is_an_error_and_an_alias_is_not(small: Library) -> None:
    """A misspelt key is never an empty result."""
    take(small, Record(key="z", title="Robots That Walk"))
    assert keys(small, Scope(keys=("z",))) == ["a"]
    with pytest.raises(UnknownPaper, match="'y'"):
        small.papers(Scope(keys=("a", "y")))


def test_a_filtered_search_sees_papers_that_rank_low_among_all(small: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many papers outside the scope fit better."""
    monkeypatch.setattr(keywords, "DEEPEST", 2)
    assert found(small, "robots", scope=Scope(keys=("b",)), by_keywords=True) == ["b"]


def test_equal_scores_go_by_key_whatever_came_first(empty: Library) -> None:
    """Papers that say the same are listed in order of key."""
    given_records = [Record(key=key, title=f"Robots That Walk {number}", identifiers={"doi": f"10.1234/{key}"}) for number, key in enumerate("dbac")]
    take(empty, *given_records)
    hits = empty.search("robots walk", by_keywords=True)
    assert len({hit.score for hit in hits}) == 1
    assert found(empty, "robots walk", by_keywords=True) == ["a", "b", "c", "d"]
    assert found(empty, "robots walk", by_keywords=True, count=2) == ["a", "b"]


def slow_bm25(library: Library, query: list[str]) -> dict[int, float]:
    """BM25 by the formula over title (thrice), body and keywords, for words that stemming leaves alone."""
    db = library.catalog._db
    rows = {row[0]: stored_record(db, row[0]) for row in db.execute("SELECT number FROM paper").fetchall()}
    documents = {number: [re.findall(r"[^\W_]+", column.lower()) for column in keywords.indexed_words(record)] for number, record in rows.items() if record}
    mean = sum(sum(map(len, columns)) for columns in documents.values()) / len(documents)
    scores: Counter[int] = Counter()
    for word in query:
        holding = {number for number, columns in documents.items() if any(word in column for column in columns)}
        idf = max(math.log((len(documents) - len(holding) + 0.5) / (len(holding) + 0.5)), 1e-6)
        for number in holding:
            length = sum(map(len, documents[number]))
            frequency = sum(weight * column.count(word) for weight, column in zip(keywords.WEIGHTS, documents[number], strict=True))
            scores[number] += idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length / mean))
    return dict(scores)


texts = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(
    papers=st.lists(st.tuples(texts, texts, st.sampled_from(WORDS)), min_size=1, max_size=7),
    query=st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
)
def test_the_keyword_ranking_is_bm25_for_any_library(tmp_path_factory: pytest.TempPathFactory, papers: list[tuple[str, str, str]], query: list[str]) -> None:
    """For any papers and words, a repeated word counted as often as it is asked, FTS5 scores as the formula does."""
    library = Library(tmp_path_factory.mktemp("bm25"), create=True)
    take(library, *(Record(title=t, abstract=a, keywords=(k,), identifiers={"doi": f"10.1234/{at}"}) for at, (t, a, k) in enumerate(papers)))
    assert library.catalog.count() == len(papers)
    assert dict(keywords.ranking(library.catalog, " ".join(query))) == pytest.approx(slow_bm25(library, query), rel=1e-6, abs=1e-12)
    library.close()


@pytest.mark.parametrize("query", ["reward hacking in code generation", "What does SortedRL do?", "robots that walk", "面向搜索的强化学习"])
def test_scores_are_the_formula_of_both_rankings(library: Library, query: str) -> None:
    """.6 of BM25 over the best, .4 of the best passage's cosine over .8, rounded, best first, with who found it."""
    embedder = library.embedder
    assert embedder is not None
    ranked = dict(keywords.ranking(library.catalog, query))
    by_words = {paper: score / max(ranked.values()) for paper, score in ranked.items()}
    cosines: dict[int, float] = {}
    for one in vectors.scan(library.catalog, embedder, query):
        cosines[one.paper] = max(cosines.get(one.paper, -1.0), one.cosine)
    hits = library.search(query, count=36)
    assert hits
    for hit in hits:
        assert hit.score == pytest.approx(0.5 * by_words.get(hit.paper, 0) + 0.5 * max(cosines[hit.paper], 0) / 0.8, abs=2e-4)
        assert hit.found_by == (("keywords",) if hit.paper in by_words else ()) + (("vectors",) if cosines[hit.paper] >= search.CLOSE else ())
        assert hit.found_by
        assert hit.cosine == pytest.approx(cosines[hit.paper], abs=2e-4)
        assert hit.passage is None or hit.passage.paper == hit.paper
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert {hit.paper for hit in hits} >= set(by_words)


def test_keywords_alone_ask_no_embedder(library: Library) -> None:
    """`--keywords` gives the scaled BM25 itself, its best 1, and no cosine."""
    hits = library.search("reward hacking", by_keywords=True)
    assert hits[0].score == 1.0
    assert {(hit.found_by, hit.cosine) for hit in hits} == {(("keywords",), None)}
    bare = Library(library.folder)
    assert bare.search("reward hacking") == hits


@given(st.dictionaries(st.integers(1, 9), st.floats(0, 1)), st.dictionaries(st.integers(1, 9), st.floats(-1, 1)))
def test_fusing_is_a_sum_for_any_scores(by_words: dict[int, float], cosines: dict[int, float]) -> None:
    """Every paper of either ranking has a score; a negative cosine takes nothing away; alone the words decide."""
    near = {paper: Near(paper * 10, paper, cosine) for paper, cosine in cosines.items()}
    scores = search.fused(by_words, near)
    assert set(scores) == set(by_words) | set(cosines)
    for paper, score in scores.items():
        expected = 0.5 * by_words.get(paper, 0) + 0.5 * max(cosines.get(paper, 0), 0) / 0.8 if near else by_words[paper]
        assert score == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("强化学习", " 强化 化学 学习 "),
        ("强", " 强 "),
        ("用RL训练", " 用 RL 训练 "),
        ("ロボット", " ロボ ボッ ット "),
        ("plain words", "plain words"),
        ("", ""),
    ],
)
def test_chinese_and_japanese_are_pairs_of_characters(text: str, pairs: str) -> None:
    """Overlapping, within a run; what stands alone stays alone; other scripts are as they were."""
    assert keywords.paired(text) == pairs


def test_a_chinese_word_is_found_within_a_longer_one(empty: Library) -> None:
    """As is a Latin one beside it, and nothing else is."""
    take(empty, Record(key="a", title="搜索增强的大语言模型"), Record(key="b", title="用RL训练机器人"), Record(key="c", title="语法模型"))
    assert found(empty, "语言") == ["a"]
    assert found(empty, "rl") == ["b"]
    assert found(empty, "训练") == ["b"]
    assert found(empty, "模型") in (["a", "c"], ["c", "a"])
    assert found(empty, "飞机") == []


def test_words_are_found_in_other_forms_and_without_their_accents(empty: Library) -> None:
    """Walking finds walks, café finds cafe, case does not matter."""
    take(empty, Record(key="a", title="Walking Robots"), Record(key="b", title="A Café on Mars"))
    assert found(empty, "he WALKS") == ["a"]
    assert found(empty, "cafe") == ["b"]


def test_a_query_of_stop_words_asks_for_them(empty: Library) -> None:
    """`The Who` is asked as it stands, and beside other words it is left out."""
    take(empty, Record(key="a", title="On the Who"), Record(key="b", title="Robots"))
    assert found(empty, "the who") == ["a"]
    assert keywords.query_words("What is the robot's gait?") == ["robot", "s", "gait"]
    assert keywords.query_words("gait, gait") == ["gait", "gait"]


def test_the_best_passage_holds_the_words_asked_for(empty: Library) -> None:
    """Of an abstract in two passages the one that says it is shown."""
    filler = " ".join(f"The robot goes on in the usual way, step {number} of many." for number in range(40))
    take(empty, Record(key="a", title="Robots", abstract=f"{filler} At the very end it meets an aardvark."))
    (hit,) = empty.search("aardvark")
    assert hit.passage is not None
    assert "aardvark" in empty.catalog.passage_text(hit.passage)
    assert hit.passage.first > 1


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text(max_size=40) | st.text(alphabet='"*^():+-&|{}[]\\/\x00\ud800AND ORNEAR中', max_size=20))
def test_no_text_is_a_wrong_query(library: Library, query: str) -> None:
    """Whatever is asked, the answer is hits of papers in scope, by keywords and by both."""
    scope = Scope(since="2026")
    inside = {paper.number for paper in library.papers(scope)}
    for more in ({}, {"by_keywords": True}):
        assert {hit.paper for hit in library.search(query, scope=scope, count=50, **more)} <= inside  # type: ignore[arg-type]


def test_a_whole_abstract_is_a_query(library: Library) -> None:
    """Thousands of words are as good a question as three, and find the paper that they are from."""
    paper = library.paper("qian2025toolrl")
    assert found(library, paper.abstract, count=1) == ["qian2025toolrl"]
    assert found(library, " ".join([paper.abstract] * 40), count=1, by_keywords=True) == ["qian2025toolrl"]


def test_a_paper_without_an_abstract_is_found_by_its_title(empty: Library) -> None:
    """Which is its passage then, also for the embedder."""
    take(empty, replace(Record(), key="a", title="Robots That Walk"))
    (hit,) = empty.search("robots")
    assert hit.passage is not None
    assert (empty.catalog.text(hit.passage.text).role, hit.found_by) == ("title", ("keywords", "vectors"))
