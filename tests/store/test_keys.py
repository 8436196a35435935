"""The citation key of a work: made from what is known, safe in BibTeX and file names, and never given twice."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.keys import SAFE, free_key, imported_key, made_up_key, slug
from store.library import Library
from store.paper import Record

TITLE = "Learning to Walk on Moving Bridges"


def key_of(title: str = "", author: str = "", date: str = "", **identifiers: str) -> str:
    """The made-up key of a record with these fields."""
    return made_up_key(Record(title=title, authors=(author,) if author else (), date=date, identifiers=identifiers))


@pytest.mark.parametrize(
    ("author", "family"),
    [
        ("Ada Lovelace", "lovelace"),
        ("Ludwig van Beethoven", "beethoven"),
        ("Martin Luther King Jr.", "king"),
        ("Robert Smith III", "smith"),
        ("Dilek Hakkani-Tür", "tur"),
        ("Ömer Veysel Çağatan", "cagatan"),
        ("Plato", "plato"),
    ],
)
def test_the_family_name_leads(author: str, family: str) -> None:
    """Without particles, suffixes and accents."""
    assert key_of(TITLE, author, "2026") == f"{family}2026learning"


@pytest.mark.parametrize(
    ("title", "word"),
    [
        ("The Art of Bridges", "art"),
        ("How Do We Walk?", "walk"),
        ("A* Search, Revisited", "search"),
        ("VLA-RL: Towards Masterful Manipulation", "vlarl"),
        ("GPT-4 Plays", "gpt4"),
        ("“Attention” Is Not All", "attention"),
        ("$SE(3)$ Poses", "se"),
    ],
)
def test_the_first_telling_word_follows(title: str, word: str) -> None:
    """No articles and prepositions, hyphens closed up."""
    assert key_of(title) == word


@pytest.mark.parametrize(
    ("record", "key"),
    [
        (Record(title=TITLE, date="2026-03-25"), "learning2026"),
        (Record(title=TITLE, authors=("Ada Lovelace",)), "learning"),
        (Record(title=TITLE, authors=("艾达",), date="2026"), "learning2026"),
        (Record(title="On the", identifiers={"arxiv": "2603.00001"}), "arxiv-2603.00001"),
        (Record(title="移动桥上的行走", identifiers={"arxiv": "2603.00001"}), "arxiv-2603.00001"),
        (Record(identifiers={"arxiv": "hep-th/9901001"}), "arxiv-hep-th-9901001"),
        (Record(identifiers={"url": "https://example.org/A b", "doi": "10.1234/X(1)"}), "doi-10.1234-x-1"),
        (Record(), "untitled"),
    ],
)
def test_what_is_not_known_is_left_out(record: Record, key: str) -> None:
    """Name and year go together; without a title in Latin letters the identifier serves."""
    assert made_up_key(record) == key


@given(st.builds(Record, title=st.text(), authors=st.lists(st.text(), max_size=2).map(tuple), identifiers=st.dictionaries(st.sampled_from(["arxiv", "doi", "url"]), st.text())))
def test_a_made_up_key_is_always_safe(record: Record) -> None:
    """For any title, name and identifier: not empty, and nothing that BibTeX or a file name cannot hold."""
    assert re.fullmatch(r"[a-z0-9.-]+", made_up_key(record))


@given(st.text())
def test_an_imported_key_loses_only_what_cannot_stand(key: str) -> None:
    """What is left is safe, in order, and a safe key is kept as it is."""
    kept = imported_key(Record(key=key))
    assert not SAFE.search(kept)
    assert kept == "".join(letter for letter in key if not SAFE.match(letter))


@given(st.text())
def test_a_slug_is_a_file_name(text: str) -> None:
    """Short, and without any sign that a file system minds."""
    assert re.fullmatch(r"[a-z0-9.-]{1,80}", slug(text))
    assert slug(text)[0] not in ".-"


@given(st.lists(st.sampled_from(["a", "b", "ab"]), max_size=90))
def test_no_key_is_given_twice(wanted: list[str]) -> None:
    """Each clash gets the next letter, and after z come two."""
    given_keys: list[str] = []
    for key in wanted:
        given_keys.append(free_key(key, given_keys.__contains__))
        assert given_keys[-1].startswith(key)
    assert len(set(given_keys)) == len(given_keys)


def test_clashes_count_through_the_alphabet() -> None:
    """`a` to `z`, then `aa`."""
    taken: list[str] = []
    for _ in range(29):
        taken.append(free_key("x", taken.__contains__))
    assert taken[:3] == ["x", "xa", "xb"]
    assert taken[26:] == ["xz", "xaa", "xab"]


def take(library: Library, *given_records: Record, kept: frozenset[str] = frozenset()) -> None:
    """Puts the records into the library."""
    with library.catalog.writing():
        for record in given_records:
            library.catalog.take(record, file="f", format="test", kind="abstract", kept_keys=kept)


def test_every_key_that_was_ever_given_goes_on_working(empty: Library) -> None:
    """From an identifier to a title, to a name, to the imported key: four keys, one paper."""
    same = {"arxiv": "2603.00001"}
    steps = [
        (Record(abstract="A robot walks.", identifiers=same), "arxiv-2603.00001"),
        (Record(title=TITLE, identifiers=same), "learning"),
        (Record(title=TITLE, authors=("Ada Lovelace",), date="2026", identifiers=same), "lovelace2026learning"),
        (Record(title=TITLE, key="Lovelace:26", identifiers=same), "Lovelace:26"),
    ]
    given_so_far = []
    for record, key in steps:
        take(empty, record)
        given_so_far.append(key)
        assert [empty.paper(old).key for old in given_so_far] == [key] * len(given_so_far)
    (paper,) = empty.papers()
    assert set(paper.aliases) == {key for _, key in steps[:-1]}


def test_an_imported_key_is_not_replaced(empty: Library) -> None:
    """A second import under another key adds an alias; a made-up one never displaces the imported."""
    take(empty, Record(key="Mine", title=TITLE), Record(key="Yours", title=TITLE), Record(title=TITLE, authors=("A B",), date="2026"))
    (paper,) = empty.papers()
    assert paper.key == "Mine"
    assert empty.paper("Yours").number == empty.paper("b2026learning").number == paper.number


def test_one_imported_key_for_two_works_gets_a_letter(empty: Library) -> None:
    """The first keeps it, so that what cites it goes on meaning the same paper."""
    take(empty, Record(key="Mine", title=TITLE), Record(key="Mine", title="Swimming in Cold Rivers"))
    assert [(paper.key, paper.title) for paper in empty.papers()] == [("Mine", TITLE), ("Minea", "Swimming in Cold Rivers")]


def test_a_kept_key_stays_until_nothing_uses_it(empty: Library) -> None:
    """While a draft uses the made-up key the imported one is an alias; both always work."""
    take(empty, Record(title=TITLE))
    take(empty, Record(key="Mine", title=TITLE), kept=frozenset({"learning"}))
    assert (empty.paper("Mine").key, empty.paper("learning").key) == ("learning", "learning")
    take(empty, Record(key="Mine", title=TITLE, venue="J. Bridges"))
    assert (empty.paper("Mine").key, empty.paper("learning").key) == ("Mine", "Mine")


@pytest.mark.parametrize("name", ["a.plan.md", "b.plan.md"])
def test_the_keys_in_all_plans_are_used(empty: Library, name: str) -> None:
    """Whichever plan cites it, and with whatever sentences."""
    (empty.folder / "drafts").mkdir()
    (empty.folder / "drafts" / name).write_text("- [contrast; 25 words] one {@x2026y 2,3; @Smith:2020+a 5}\n", "utf-8")
    Path(empty.folder / "drafts" / "notes.md").write_text("{@other 1}", "utf-8")
    assert empty.used_keys() == {"x2026y", "Smith:2020+a"}
