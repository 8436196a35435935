"""Pages that were cut off while they were copied: whole records are kept as they are, the broken one is named, none is shortened."""

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from store.errors import UnreadableFile
from store.formats import read_bytes
from store.formats.reading import Reading
from store.paper import Record

EXAMPLE = Path(__file__).parents[2] / "examples" / "rl-post-training"
LAYOUTS = ("daily-papers.txt", "digest.txt", "abstracts.txt", "reading-list.bib")
STEP = {"daily-papers.txt": 11, "digest.txt": 19, "abstracts.txt": 11, "reading-list.bib": 41}
SENTENCE_END = re.compile(r"""[.!?。！？…][)\]"'”’»}$*]*\s*$|[）)]\s*$""")
LABEL = "- 中文摘要"
DAY = re.compile(r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d+\s*$|, \d{4}\s*\d*\s*$")


def text_of(name: str) -> str:
    """An example file as text."""
    return (EXAMPLE / name).read_text("utf-8")


def read(text: str) -> Reading:
    """What was pasted, with a file that holds nothing as a reading without records."""
    try:
        return read_bytes(text.encode(), "pasted")
    except UnreadableFile:
        return Reading("", ())


@cache
def cut(name: str, at: int) -> Reading:
    """What an example file holds up to a character."""
    return read(text_of(name)[:at])


def spans(text: str, records: tuple[Record, ...]) -> list[tuple[int, int]]:
    """Where each record of a file starts and ends, found by the lines it starts at."""
    lines = text.splitlines(keepends=True)
    starts = [sum(map(len, lines[: record.line - 1])) for record in records]
    ends = [len(text[:stop].rstrip()) for stop in [*starts[1:], len(text)]]
    return list(zip(starts, ends, strict=True))


def undated(record: Record) -> Record:
    """A record without an inferred year, which rests on the other papers of the page, and without its place in the file."""
    date = record.date[4:] if record.date_inferred else record.date
    return replace(record, date=date, date_inferred=False, line=0, raw="")


@pytest.mark.parametrize("name", LAYOUTS)
def test_whole_records_are_kept_exactly(name: str) -> None:
    """Wherever the file is cut, each record that ended before the cut is as in the whole file, and stands first and in order."""
    text = text_of(name)
    whole = read(text).records
    assert len(whole) >= 5
    places = spans(text, whole)
    for at in range(0, len(text), STEP[name]):
        expected = [undated(record) for record, (_, end) in zip(whole, places, strict=True) if end <= at]
        found = [undated(record) for record in cut(name, at).records]
        assert found[: len(expected)] == expected, f"cut at {at}: {text[max(0, at - 40) : at]!r}"
        assert len(found) <= len(expected) + 1, f"cut at {at}: {text[max(0, at - 40) : at]!r}"


@pytest.mark.parametrize("name", LAYOUTS)
def test_no_shortened_abstract_is_kept(name: str) -> None:
    """The record in which the file was cut is kept only with its whole abstracts; a cut behind a sentence cannot be seen.

    A digest's first translation, and a cut in the label above one, have tests of their own below.
    """
    text = text_of(name)
    whole = read(text).records
    places = spans(text, whole)
    seen = 0
    for at in range(0, len(text), STEP[name]):
        ended = sum(end <= at for _, end in places)
        broken = cut(name, at).records[ended:]
        if broken and not SENTENCE_END.search(text[:at]):
            seen += 1
            (record,) = broken
            assert record.abstract == whole[ended].abstract, f"cut at {at}: {text[max(0, at - 40) : at]!r}"
            if ended > 0 and not LABEL.startswith(text[:at].splitlines()[-1].strip()):
                assert record.translations == whole[ended].translations, f"cut at {at}: {text[max(0, at - 40) : at]!r}"
    assert seen > 0 or name != "daily-papers.txt"


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_broken_record_is_reported_with_its_line(name: str) -> None:
    """At most one refusal, at a line of the record in which the file was cut; and one that is not kept is refused."""
    text = text_of(name)
    whole = read(text).records
    places = spans(text, whole)
    for at in range(places[1][0], len(text), STEP[name]):
        reading = cut(name, at)
        ended = sum(end <= at for _, end in places)
        where = f"cut at {at}: {text[max(0, at - 40) : at]!r}"
        assert len(reading.refused) <= 1, where
        start = places[ended][0] if ended < len(places) else len(text)
        begun = at - start
        if reading.refused:
            assert text[:start].count("\n") + 1 <= reading.refused[0].line <= text[:at].count("\n") + 1, where
            assert begun > 0, where
        elif text[:start].splitlines()[-1].startswith("Keyword: ") and "- Authors" not in text[start:at]:
            continue  # a test of its own, below
        elif begun > 20 and not SENTENCE_END.search(text[:at]) and not DAY.search(text[:at]):
            assert len(reading.records) == ended + 1, f"lost without a word; {where}"


@pytest.mark.parametrize("link", ["http", "https://ar", "https://arxiv.org", "https://arxiv.org/ab", "https://arxiv.org/abs/", "https://arxiv.org/abs/2603.1322"])
def test_a_link_that_is_cut_off_is_no_identifier(link: str) -> None:
    """An address that stops in the middle is not stored as the paper's; the record is named instead."""
    text = text_of("abstracts.txt")
    start = text.rindex("https://")
    reading = read(text[:start] + link)
    assert len(reading.records) == 4
    assert [refused.line for refused in reading.refused] == [read(text).records[-1].line]


@pytest.mark.parametrize("name", ["digest.txt", "abstracts.txt", "reading-list.bib"])
def test_a_page_whose_beginning_is_missing_keeps_its_other_papers(name: str) -> None:
    """Every record after the first is one of the whole page's."""
    text = text_of(name)
    whole = [(record.title, record.abstract) for record in read(text).records]
    for at in range(0, len(text) // 2, 211):
        found = [(record.title, record.abstract) for record in read(text[at:]).records]
        assert found[1:] == whole[len(whole) - len(found) + 1 :], f"begun at {at}: {text[at : at + 40]!r}"


def test_a_title_that_was_cut_under_a_new_keyword_is_reported() -> None:
    """As it is where no keyword stands above it."""
    text = text_of("digest.txt")
    start = text.rindex("\n", 0, text.rindex("Keyword: ")) + 1
    head = text.index("\n", start) + 1
    reading = read(text[: text.index("\n", head)])
    assert [refused.line for refused in reading.refused] == [text[:head].count("\n") + 1]


def test_a_first_record_that_was_cut_in_its_translation_is_refused() -> None:
    """A digest of one paper that stops within the Chinese abstract does not keep half of it."""
    text = text_of("digest.txt")
    start = text.index("- 中文摘要\n") + len("- 中文摘要\n")
    reading = read(text[: start + 25])
    assert not reading.records
    assert [refused.line for refused in reading.refused] == [5]


@pytest.mark.parametrize("label", ["-", "- "])
def test_a_record_that_was_cut_in_the_label_of_its_translation_is_refused(label: str) -> None:
    """In a digest with translations a paper without one was cut off, and it is that paper which is named."""
    text = text_of("digest.txt")
    second = text.index("- 中文摘要", text.index("- 中文摘要") + 1)
    reading = read(text[:second] + label)
    assert len(reading.records) == 1
    assert [refused.line for refused in reading.refused] == [read(text).records[1].line]
