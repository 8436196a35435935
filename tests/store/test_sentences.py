"""The sentence cutter, measured on ends that were marked by hand, and what must hold for any text."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from store.passages import passages
from store.sentences import cut

MARKED = sorted((Path(__file__).parents[1] / "data" / "sentences").glob("*.txt"))
MARK = "⏹"


def ends(line: str) -> tuple[str, set[int]]:
    """A line without its marks, and where they stood."""
    parts = line.split(MARK)
    text = "".join(parts)
    marks, at = set(), 0
    for part in parts[:-1]:
        at += len(part)
        marks.add(at)
    return text, marks


def test_the_cutter_finds_the_ends_that_a_person_marked() -> None:
    """At least 99 % of 383 marked ends are found, and at least 99 % of those found are marked."""
    said, marked, found, right = [], 0, 0, 0
    for path in MARKED:
        before = (marked, found, right)
        for line in path.read_text("utf-8").splitlines():
            text, expected = ends(line)
            got = {sentence.end for sentence in cut(text)}
            marked, found, right = marked + len(expected), found + len(got), right + len(expected & got)
            said += [f"{path.name}: missed after {text[max(0, at - 30) : at]!r}" for at in sorted(expected - got)]
            said += [f"{path.name}: cut after {text[max(0, at - 30) : at]!r}" for at in sorted(got - expected)]
        counts = [now - then for now, then in zip((marked, found, right), before, strict=True)]
        said.append("{}: {} marked, {} found, {} of them right".format(path.name, *counts))
    assert marked >= 200
    assert right / marked >= 0.99, said
    assert right / found >= 0.99, said


@given(st.text() | st.text(alphabet='aA1 .?!。？“”()（）$\n"e.g.'))
def test_sentences_hold_every_character_but_white_space(text: str) -> None:
    """For any text: numbered from 1, in order, none empty, and nothing but white space between them."""
    at = 0
    for number, sentence in enumerate(cut(text), 1):
        assert sentence.number == number
        assert not text[at : sentence.start].strip()
        assert sentence.end > sentence.start
        assert text[sentence.start : sentence.end].strip() == text[sentence.start : sentence.end]
        at = sentence.end
    assert not text[at:].strip()


@given(st.lists(st.integers(min_value=1, max_value=900), max_size=40), st.integers(min_value=50, max_value=1500))
def test_passages_hold_every_sentence_once(lengths: list[int], largest: int) -> None:
    """Runs of whole sentences, in order, none too long but one that is a single long sentence."""
    sentences = cut(" ".join("A" + "b" * length + "." for length in lengths))
    runs = passages(sentences, largest)
    assert [number for run in runs for number in range(run.first, run.last + 1)] == [sentence.number for sentence in sentences]
    for run in runs:
        length = sentences[run.last - 1].end - sentences[run.first - 1].start
        assert length <= largest or run.first == run.last


def test_german_abbreviations_with_a_space_end_no_sentence() -> None:
    """`z. B.` and `d. h.` are set with a space in German."""
    text = "Wir zeigen, dass z. B. die Belohnung das Lernen steuert, d. h. sie hilft. Das Ergebnis ist klar."
    assert [text[start:end] for _, start, end in cut(text)] == [
        "Wir zeigen, dass z. B. die Belohnung das Lernen steuert, d. h. sie hilft.", "Das Ergebnis ist klar.",
    ]  # fmt: skip
