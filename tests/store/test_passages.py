"""Passages: every sentence once, in order, as few and as even as whole sentences allow; and how they are stored."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from store.embedding import HashEmbedder
from store.library import Library
from store.paper import Record, Translation
from store.passages import LARGEST, passages
from store.sentences import Sentence, cut

lengths = st.lists(st.integers(min_value=1, max_value=60), min_size=1, max_size=9)


def sentences_of(sizes: list[int]) -> list[Sentence]:
    """Sentences of these lengths with a space between them."""
    starts = itertools.accumulate([0, *(size + 1 for size in sizes[:-1])])
    return [Sentence(number, start, start + size) for number, (start, size) in enumerate(zip(starts, sizes, strict=True), 1)]


def fewest(sizes: list[int], largest: int) -> int:
    """How many runs one needs at least, by filling each as far as it goes."""
    count, room = 0, -1
    for size in sizes:
        if room >= size + 1:
            room -= size + 1
        else:
            count, room = count + 1, largest - size
    return count


def test_no_sentences_no_passages() -> None:
    """An empty abstract has none."""
    assert passages([]) == []


def test_a_short_text_is_one_passage() -> None:
    """Up to the largest size nothing is parted, and one character more is."""
    half = (LARGEST - 1) // 2
    exact = sentences_of([half, LARGEST - 1 - half])
    assert exact[-1].end == LARGEST
    assert passages(exact) == [(1, 2)]
    assert passages(sentences_of([half + 1, LARGEST - 1 - half])) == [(1, 1), (2, 2)]


def test_the_parts_are_even() -> None:
    """Twelve equal sentences that need two passages make two of six, and not one of ten and a rest."""
    assert passages(sentences_of([99] * 12), 1000) == [(1, 6), (7, 12)]


@given(lengths, st.integers(min_value=20, max_value=200))
def test_every_sentence_stands_in_one_passage(sizes: list[int], largest: int) -> None:
    """Whatever the lengths: all sentences, in order, once, and none too long but a single sentence."""
    sentences = sentences_of(sizes)
    runs = passages(sentences, largest)
    assert [number for first, last in runs for number in range(first, last + 1)] == [one.number for one in sentences]
    for first, last in runs:
        assert first == last or sentences[last - 1].end - sentences[first - 1].start <= largest


@given(lengths, st.integers(min_value=60, max_value=200))
def test_hardly_more_passages_than_needed(sizes: list[int], largest: int) -> None:
    """Evenness may cost parts where sentences are long, but never twice as many as full ones would make, and one."""
    assert fewest(sizes, largest) <= len(passages(sentences_of(sizes), largest)) <= 2 * fewest(sizes, largest)


def test_passages_of_the_example_are_cut_from_the_stored_texts(library: Library) -> None:
    """Each is exactly the characters from its first to its last sentence, and every abstract is covered."""
    stored = library.catalog.passages()
    assert len(stored) >= 36
    for passage in stored:
        text = library.catalog.text(passage.text)
        said = library.catalog.passage_text(passage)
        assert said in text.characters
        assert said.startswith(text.sentence(passage.first))
        assert said.endswith(text.sentence(passage.last))
    covered = {(one.text, number) for one in stored for number in range(one.first, one.last + 1)}
    texts = [text for paper in library.papers() for text in library.texts(paper) if text.role.startswith("abstract")]
    assert covered == {(text.id, sentence.number) for text in texts for sentence in text.sentences}


def take(library: Library, record: Record) -> None:
    """Puts the record into the library."""
    with library.catalog.writing():
        library.catalog.take(record, file="f", format="test", kind="abstract")


def test_a_passage_that_is_as_it_was_keeps_its_number(empty: Library) -> None:
    """A keyword more changes no passage; another title changes what is embedded, so the passage is a new one."""
    one = Record(title="Learning to Walk", abstract="A robot walks. It falls.", identifiers={"arxiv": "2603.00001"})
    take(empty, one)
    empty.embedder = HashEmbedder()
    assert empty.embed() == 1
    before = empty.catalog.passages()
    take(empty, Record(title="Learning to Walk", keywords=("robots",)))
    assert (empty.embed(), empty.catalog.passages()) == (0, before)
    take(empty, Record(title="Learning to Walk on Bridges", identifiers={"arxiv": "2603.00001"}))
    assert (empty.embed(), empty.embed()) == (1, 0)
    (after,) = empty.catalog.passages()
    assert after.id != before[0].id


def test_both_languages_have_passages_with_their_own_title(empty: Library) -> None:
    """What is embedded is the title in the passage's language above its sentences."""
    zh = Translation("学习行走", "机器人会走路。它不会摔倒。")
    take(empty, Record(title="Learning to Walk", abstract="A robot walks. It falls.", translations={"zh": zh}))
    waiting = {one.embedded for _, one in empty.catalog.without_vector(frozenset({"en", "zh"}))}
    assert waiting == {"Learning to Walk\nA robot walks. It falls.", "学习行走\n机器人会走路。它不会摔倒。"}
    assert [one.embedded for _, one in empty.catalog.without_vector(frozenset({"en"}))] == ["Learning to Walk\nA robot walks. It falls."]


def test_the_cutter_and_the_passages_agree_on_a_real_abstract(library: Library) -> None:
    """The stored sentences of an example are those that the cutter finds in its characters."""
    for paper in library.papers():
        for text in library.texts(paper):
            if text.role == "abstract":
                assert list(text.sentences) == cut(text.characters)
