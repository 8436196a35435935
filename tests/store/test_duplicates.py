"""Which records are one work, what contradicts that, and the one record they make, whatever their order."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import kept
from store.duplicates import fingerprints, same_work
from store.library import Library
from store.merging import merged
from store.paper import Kind, Paper, Record, Translation

TITLE = "Learning to Walk on Moving Bridges"
ABSTRACT = "A robot walks over a bridge that moves. It was tried on twelve bridges, and the robot fell from one of them only."
ONE = Record(title=TITLE, abstract=ABSTRACT, authors=("Ada Lovelace",), date="2026")
short = st.just("") | st.text(alphabet="ab .", max_size=5).map("a".__add__)
dates = st.sampled_from([("", False), ("2024", False), ("2024-05", True), ("2024-06", False), ("2025-01-02", True), ("2025-01-03", False)])
records = st.builds(
    lambda date, **fields: Record(date=date[0], date_inferred=date[1], **fields),
    date=dates,
    title=short,
    abstract=short,
    key=st.sampled_from(["", "k1", "k2"]),
    authors=st.lists(st.sampled_from(["Ada Lovelace", "Alan Turing", "Grace Hopper"]), max_size=3).map(tuple),
    author_count=st.sampled_from([None, 1, 5]),
    organization=st.sampled_from(["", "A Lab", "B Lab"]),
    venue=st.sampled_from(["", "A Venue", "B Venue"]),
    language=st.sampled_from(["en", "zh"]),
    translations=st.dictionaries(st.sampled_from(["zh", "de"]), st.builds(Translation, short, short), max_size=2),
    identifiers=st.dictionaries(st.sampled_from(["arxiv", "doi", "url"]), st.sampled_from(["1", "2"]), max_size=3),
    categories=st.lists(st.sampled_from(["cs.CL", "cs.LG"]), max_size=2).map(tuple),
    keywords=st.lists(st.sampled_from(["x", "y"]), max_size=2).map(tuple),
    line=st.integers(0, 9),
)
sourced = st.tuples(records, st.sampled_from(["abstract", "note"]))


def take(library: Library, *given_records: Record) -> list[tuple[str, str]]:
    """What became of each record, and why."""
    with library.catalog.writing():
        taken = [library.catalog.take(record, file="f", format="test", kind="abstract") for record in given_records]
    return [(outcome.became, outcome.reason) for outcome in taken]


def groups(library: Library, *given_records: Record) -> list[int]:
    """How many sources each paper has once these records are in, the most first."""
    take(library, *given_records)
    return sorted((len(paper.sources) for paper in library.papers()), reverse=True)


@pytest.mark.parametrize(
    ("one", "other", "reason"),
    [
        ({"doi": "10.1234/AB"}, {"doi": "https://doi.org/10.1234/ab"}, "same doi"),
        ({"doi": "10.1234/ab"}, {"doi": "doi: 10.1234/ab"}, "same doi"),
        ({"arxiv": "2603.00001"}, {"arxiv": "2603.00001v3"}, "same arxiv"),
        ({"arxiv": "arXiv:2603.00001v1"}, {"arxiv": "2603.00001"}, "same arxiv"),
        ({"arxiv": "2603.00001"}, {"arxiv": "2603.00010"}, ""),
        ({"doi": "10.1234/ab"}, {"doi": "10.1234/abc"}, ""),
        ({"doi": "10.1234/ab"}, {"arxiv": "2603.00001"}, ""),
    ],
)
def test_identifiers_decide_however_they_are_written(one: dict[str, str], other: dict[str, str], reason: str) -> None:
    """A DOI's case and address and an arXiv version do not matter; titles that share nothing decide nothing."""
    first, second = Record(title="Walking on Bridges", identifiers=one), Record(title="Swimming in Rivers", identifiers=other)
    assert same_work(first, second) == reason
    assert same_work(second, first) == reason


@pytest.mark.parametrize(
    "title",
    [
        "learning to walk on moving bridges",
        "Learning to Walk on Moving Bridges.",
        "Learning  to Walk on \\emph{Moving} Bridges",

            "Learning to {W}alk on Moving Bridges",
        "Léarning to Walk on Moving Bridges",
        "Learning-to-Walk on “Moving” Bridges",
    ],
)
def test_a_title_is_the_same_however_it_is_printed(title: str) -> None:
    """Case, accents, punctuation and LaTeX do not make another work."""
    assert same_work(ONE, Record(title=title)) == "same title"


@pytest.mark.parametrize(
    "other",
    [
        replace(ONE, title="Learning to Walk on Moving Ridges and Bridges", abstract=ABSTRACT),
        replace(ONE, title="Learning to Walk on Moving Bridge", abstract="Fish swim in rivers, and nobody knows how they find their way."),
        replace(ONE, title="Learning to Walk on Moving Bridge", abstract=""),
        Record(abstract="Fish swim in rivers."),
        Record(),
    ],
)
def test_what_is_only_similar_is_another_work(other: Record) -> None:
    """A near title needs a near abstract, and a record that says nothing is nobody's duplicate."""
    assert same_work(ONE, other) == ""


def test_near_titles_with_one_abstract_are_one_work() -> None:
    """A misprint in the title of an equal abstract, and an abstract without a title."""
    assert same_work(ONE, replace(ONE, title="Learning to Walk on Moving Bridge")) == "near-equal title and abstract"
    assert same_work(ONE, Record(abstract=ABSTRACT.upper())) == "same abstract"


@pytest.mark.parametrize("title", ["Introduction", "Preface.", "A note"])
def test_a_short_title_names_no_work(title: str) -> None:
    """Two papers that are called `Preface` are two papers; from twelve letters on a title counts."""
    assert same_work(Record(title=title), Record(title=title)) == ("same title" if title == "Introduction" else "")
    assert bool(fingerprints(Record(title=title))) == (title == "Introduction")


@pytest.mark.parametrize("kind", ["doi", "arxiv", "pmid"])
def test_equal_titles_under_two_identifiers_are_two_works(kind: str) -> None:
    """An identifier that contradicts outweighs title and abstract."""
    assert same_work(replace(ONE, identifiers={kind: "1234.00001"}), replace(ONE, identifiers={kind: "1234.00002"})) == ""


def test_one_equal_identifier_is_enough() -> None:
    """A preprint's own DOI beside the journal's, under one arXiv id, is the same work."""
    preprint = replace(ONE, identifiers={"doi": "10.48550/arxiv.2603.00001", "arxiv": "2603.00001"})
    assert same_work(preprint, replace(ONE, identifiers={"doi": "10.1234/ab", "arxiv": "2603.00001"})) == "same arxiv"


def test_every_same_work_is_found_in_the_library(empty: Library) -> None:
    """What the rules call one work becomes one paper, with the reason for each source after the first."""
    given_records = [
        replace(ONE, identifiers={"arxiv": "2603.00001"}),
        Record(title="Renamed Since", identifiers={"arxiv": "2603.00001v2"}),
        Record(abstract=ABSTRACT),
        Record(title=TITLE.upper()),
        replace(ONE, title="Learning to Walk on Moving Bridge"),
    ]
    became = take(empty, *given_records)
    assert became == [
        ("new", ""),
        ("merged", "same arxiv"),
        ("merged", "same abstract"),
        ("merged", "same title"),
        ("merged", "near-equal title and abstract"),
    ]
    (paper,) = empty.papers()
    assert empty.catalog.reasons(paper.number) == [reason for _, reason in became]


def test_a_record_between_two_contradicting_works_joins_neither(empty: Library) -> None:
    """It is a paper of its own and is listed with both."""
    doi = [replace(ONE, identifiers={"doi": f"10.1234/{letter}"}) for letter in "ab"]
    assert groups(empty, *doi, Record(title=TITLE)) == [1, 1, 1]
    assert {reason for _, _, reason in empty.catalog.undecided()} == {"same title"}
    assert len({one for one, _, _ in empty.catalog.undecided()}) == 1
    assert len({other for _, other, _ in empty.catalog.undecided()}) == 2


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_undecided_whatever_the_order(empty: Library, order: tuple[int, ...]) -> None:
    """The record that fits two contradicting works joins neither, also where it came before the second of them."""
    three = [replace(ONE, identifiers={"doi": "10.1234/a"}), replace(ONE, identifiers={"doi": "10.1234/b"}), Record(title=TITLE)]
    assert groups(empty, *(three[at] for at in order)) == [1, 1, 1]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_record_with_both_identifiers_joins_two_papers(empty: Library, order: tuple[int, ...]) -> None:
    """Preprint and journal version under two titles are one work as soon as a record names both identifiers."""
    three = [
        Record(title="A Preprint on Walking Robots", identifiers={"arxiv": "2603.00001"}),
        Record(title="Bridges, Crossed by Machines", identifiers={"doi": "10.1234/b"}),
        Record(title="A Preprint on Walking Robots", identifiers={"arxiv": "2603.00001", "doi": "10.1234/b"}),
    ]
    assert groups(empty, *(three[at] for at in order)) == [3]


def shown(paper: Paper) -> tuple[object, ...]:
    """All that a paper says, but for its key and the time it came in."""
    return (
        paper.title, paper.abstract, paper.authors, paper.author_count, paper.organization, paper.date, paper.date_inferred, paper.venue,
        dict(paper.translations), dict(paper.identifiers), paper.categories, paper.keywords, sorted([paper.key, *paper.aliases]),
    )  # fmt: skip


def test_four_sources_make_one_paper_in_every_order(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Fields and the set of keys are the same in all 24 orders."""
    four = [
        replace(ONE, identifiers={"arxiv": "2603.00001"}, keywords=("walking",)),
        Record(key="Lovelace26", title=TITLE, venue="J. Bridges", date="2026-03", identifiers={"arxiv": "2603.00001v2", "doi": "10.1234/x"}),
        Record(title=TITLE, abstract=ABSTRACT + " Not hurt.", identifiers={"arxiv": "2603.00001", "url": "https://arxiv.org/abs/2603.00001"}),
        Record(title=TITLE, author_count=4, organization="A Lab", date="2027-01-01", date_inferred=True, keywords=("bridges",)),
    ]
    seen = []
    for order in itertools.permutations(four):
        library = Library(tmp_path_factory.mktemp("order"), create=True)
        take(library, *order)
        (paper,) = library.papers()
        seen.append(shown(paper))
        library.close()
    assert seen[0][0] == TITLE
    assert seen[0][5:8] == ("2026-03", False, "J. Bridges")
    assert all(other == seen[0] for other in seen)


@given(given_records=st.lists(sourced, min_size=1, max_size=5), data=st.data())
def test_merging_is_the_same_in_any_order(given_records: list[tuple[Record, Kind]], data: st.DataObject) -> None:
    """For any records the one they make does not depend on their order, nor on one of them given twice."""
    whole = merged(given_records)
    assert merged(data.draw(st.permutations(given_records))) == whole
    assert merged([*given_records, given_records[0]]) == whole


@given(given_records=st.lists(sourced, min_size=1, max_size=5))
def test_merging_invents_and_loses_nothing(given_records: list[tuple[Record, Kind]]) -> None:
    """Each field is one that a source gave, lists are complete, and what any source gave is not empty."""
    whole, kind = merged(given_records)
    sources = [record for record, _ in given_records]
    for name in ("title", "abstract", "key", "authors", "author_count", "organization", "venue", "date"):
        values = [getattr(record, name) for record in sources]
        assert getattr(whole, name) in values
        if name != "abstract":
            assert bool(getattr(whole, name)) == any(values)
    assert (whole.date, whole.date_inferred) in {(record.date, record.date_inferred) for record in sources}
    assert set(whole.keywords) == {word for record in sources for word in record.keywords}
    assert set(whole.identifiers) == {kind for record in sources for kind in record.identifiers}
    assert kind in {kind for _, kind in given_records}
    own = [record.abstract for record, whose in given_records if whose == "abstract" and record.abstract]
    assert (whole.abstract in own) if own else True


@given(one=records, other=records)
def test_being_the_same_work_goes_both_ways(one: Record, other: Record) -> None:
    """Whatever the two records, the verdict does not depend on which is asked first."""
    assert same_work(one, other) == same_work(other, one)


def test_an_abstract_without_a_letter_is_nobodys_duplicate() -> None:
    """A dash in the place of the abstract says nothing about the work."""
    assert same_work(Record(abstract="–"), Record(identifiers={"url": "https://example.org"})) == ""


TITLES = ("Learning to Walk on Moving Bridges", "Swimming in Cold Rivers by Night", "")
works = st.builds(
    lambda title, abstract, ids, key, **fields: Record(title=title, abstract=abstract, identifiers=ids, key=key if title else "", **fields),
    title=st.sampled_from(TITLES),
    abstract=st.sampled_from(["", ABSTRACT, ABSTRACT.replace("twelve", "eleven"), "Fish swim in rivers. " * 8]),
    ids=st.dictionaries(st.sampled_from(["doi", "arxiv"]), st.sampled_from(["10.1234/a", "10.1234/b", "2603.00001", "2603.00002"]), max_size=2),
    key=st.sampled_from(["", "Mine", "Yours"]),
    authors=st.sampled_from([(), ("Ada Lovelace",)]),
    date=st.sampled_from(["", "2026", "2026-03"]),
    venue=st.sampled_from(["", "J. Bridges"]),
)


def parted(library: Library) -> set[tuple[object, ...]]:
    """The papers by what they say and by the records they are made of, and the keys there are, clashes' letters aside."""
    return {
        (
            frozenset((source.raw, source.line) for source in paper.sources), paper.title, paper.abstract, paper.authors, paper.date, paper.venue,
            frozenset(paper.identifiers.items()),
        )
        for paper in library.papers()
    }  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(given_records=st.lists(works, min_size=1, max_size=7, unique_by=lambda one: (kept.fields_json(one), tuple(kept.texts(one)))), data=st.data())
def test_the_works_are_the_same_in_any_order_and_in_any_parts(
    tmp_path_factory: pytest.TempPathFactory, given_records: list[Record], data: st.DataObject
) -> None:
    """Whatever the records: in one file or one by one, in any order, they make the same papers, undecided ones too; and all keys work."""
    numbered = [replace(record, raw=str(number), line=number) for number, record in enumerate(given_records)]
    shuffled = data.draw(st.permutations(numbered))
    whole, single = (Library(tmp_path_factory.mktemp("order"), create=True) for _ in range(2))
    whole.add_records(numbered, "f", "test")
    for record in shuffled:
        single.add_records([record], "f", "test")
    assert parted(whole) == parted(single)
    assert len(whole.catalog.undecided()) == len(single.catalog.undecided())
    keys = {key for paper in whole.papers() for key in (paper.key, *paper.aliases)}
    assert keys <= {key for paper in single.papers() for key in (paper.key, *paper.aliases)} | {f"{key}{letter}" for key in keys for letter in "abcdefg"}
    for library in (whole, single):
        assert all(library.paper(alias).number == paper.number for paper in library.papers() for alias in paper.aliases)
        assert sum(len(paper.sources) for paper in library.papers()) == len(given_records)
        library.close()
