"""Found by words and by meaning: each fast ranking against a slow one from the formula, and what holds for any query."""

import math
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from store import keywords, search, vectors
from store.errors import LibraryBusy
from store.library import Library
from store.scope import Scope
from store.texts import stored_record
from store.vectors import Near


def keys(library: Library, query: str, **more: object) -> list[str]:
    names = {paper.number: paper.key for paper in library.papers()}
    return [names[hit.paper] for hit in library.search(query, **more)]  # type: ignore[arg-type]


def test_the_keyword_ranking_is_bm25(library: Library) -> None:
    """FTS5's scores are those of the formula (k1 = 1.2, b = 0.75), with the title counted three times, for unstemmed words."""
    db = library.catalog._db
    rows = {row[0]: keywords.indexed_words(stored_record(db, row[0])) for row in db.execute("SELECT number FROM paper")}  # type: ignore[arg-type]

    def tokens(text: str) -> list[str]:
        return re.findall(r"[^\W_]+", text.lower())

    documents = {number: [tokens(column) for column in columns] for number, columns in rows.items()}
    lengths = {number: sum(map(len, columns)) for number, columns in documents.items()}
    mean = sum(lengths.values()) / len(lengths)
    word = "grpo"
    holding = [number for number, columns in documents.items() if any(word in column for column in columns)]
    idf = max(math.log((len(rows) - len(holding) + 0.5) / (len(holding) + 0.5)), 1e-6)
    expected = {}
    for number in holding:
        frequency = sum(weight * column.count(word) for weight, column in zip(keywords.WEIGHTS, documents[number], strict=True))
        expected[number] = idf * frequency * 2.2 / (frequency + 1.2 * (1 - 0.75 + 0.75 * lengths[number] / mean))
    assert len(holding) > 1
    assert dict(keywords.ranking(library.catalog, word)) == pytest.approx(expected, rel=1e-6)


def test_the_scan_is_exact(library: Library) -> None:
    """Every passage's cosine as computed one by one."""
    embedder = library.embedder
    assert embedder is not None
    query = embedder.embed(["robots that walk"])[0]
    near = vectors.scan(library.catalog, embedder, "robots that walk")
    held = library.catalog.vectors(embedder.fingerprint)
    stored = dict(zip(held.passages.tolist(), held.rows, strict=True))
    assert len(near) == len(stored)
    for one in near:
        assert one.cosine == pytest.approx(float(stored[one.passage] @ query), abs=1e-6)


def test_the_fused_score_is_a_weighted_sum() -> None:
    """Half of the keyword score, half of the cosine over .8; ranks alone are the yardstick."""
    near = {1: Near(10, 1, 0.4), 2: Near(20, 2, 0.8)}
    assert search.fused({1: 1.0, 3: 0.5}, near) == pytest.approx({1: 0.5 + 0.25, 2: 0.5, 3: 0.25})
    assert search.fused({1: 1.0}, {}) == {1: 1.0}
    assert search.reciprocal_ranks({1: 1.0, 3: 0.5}, near) == pytest.approx({1: 1 / 61 + 1 / 62, 3: 1 / 62, 2: 1 / 61})


def test_a_method_is_found_by_its_name(library: Library) -> None:
    """`What does SortedRL do?` finds SortedRL first, by both rankings named."""
    assert keys(library, "What does SortedRL do?")[0].endswith("sortedrl")
    hit = library.search("SortedRL online length-aware scheduling", count=1)[0]
    assert "keywords" in hit.found_by
    assert hit.passage is not None


def test_equal_scores_go_by_key(library: Library) -> None:
    """The order never depends on when papers came in."""
    hits = library.search("notes", count=36, by_keywords=True)
    names = {paper.number: paper.key for paper in library.papers()}
    pairs = [(-hit.score, names[hit.paper]) for hit in hits]
    assert pairs == sorted(pairs)


def test_chinese_is_found_by_pairs_of_characters(library: Library) -> None:
    """A Chinese query finds the translation, and an embedder that knows no Chinese is left out."""
    hit = library.search("离线强化学习", count=1, by_keywords=True)[0]
    assert hit.passage is not None
    assert library.catalog.text(hit.passage.text).role == "abstract:zh"
    assert keywords.paired("强化学习RL") == " 强化 化学 学习 RL"


def test_filters_hold_and_an_empty_scope_finds_nothing(library: Library) -> None:
    """Dates, subject codes, keys and files restrict; what fits no paper is no results and never no filter."""
    assert all(paper.date >= "2026" for paper in library.papers(Scope(since="2026")))
    assert {paper.key for paper in library.papers(Scope(categories=("cs.RO",)))} < {paper.key for paper in library.papers()}
    assert keys(library, "reward", scope=Scope(keys=("qian2025toolrl",))) == ["qian2025toolrl"]
    assert len(library.papers(Scope(sources=("abstracts.txt",)))) == 5
    assert keys(library, "reward", scope=Scope(since="2099")) == []
    assert keys(library, "reward", scope=Scope(tags=("nobody gave this",))) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=st.text() | st.sampled_from(['"', "C++", "-x", "col:x", "NEAR(", "*", "a AND", "\x00", "(" * 50]))
def test_no_query_is_an_error(library: Library, query: str) -> None:
    """Whatever is typed is words to look for, never syntax."""
    library.search(query, count=3)


def test_rare_words_weigh_more() -> None:
    """The share of a question that a paper holds counts rare words for more."""

    class Catalog:
        def count(self) -> int:
            return 100

        def holding(self, query: str) -> frozenset[int]:
            return {'"common"': frozenset(range(90)), '"rare"': frozenset({1}), '"nowhere"': frozenset()}[query]

    shares = keywords.shares(Catalog(), "common rare nowhere", [1, 2])  # type: ignore[arg-type]
    assert 0 < shares[2] < 0.1 < 0.45 < shares[1] < 0.6


def test_the_index_finds_what_the_scan_finds_and_knows_when_it_does_not_fit(library: Library) -> None:
    """Rebuilt it is good and complete; a new paper, a damaged file or a missing manifest make it unusable, never wrong."""
    index = library.index
    assert not index.is_good()
    assert index.rebuild() == library.catalog.passage_count()
    assert index.is_good()
    assert library.recall(["reward hacking", "robots", "scheduling rollouts"]) >= 0.96  # hashed vectors have ties, which the two break differently
    part = next((library.folder / "index").rglob("*.bin"))
    whole = part.read_bytes()
    part.write_bytes(whole[: len(whole) // 2])
    assert not index.is_good()
    part.write_bytes(whole)
    assert index.is_good()
    library.add_text(b"@misc{new, title={A New One}, abstract={It is new. It is good.}}", "new.bib")
    library.embed()
    assert not index.is_good()


def test_one_process_builds_the_index(library: Library) -> None:
    """A second one is told who does."""
    with library.index._owned(), pytest.raises(LibraryBusy, match=r"process \d+ is building"):
        library.index.rebuild()
