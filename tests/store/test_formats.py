"""Files as people paste and save them → records: nothing invented, nothing lost, and what is broken is named."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import UnreadableFile
from store.formats import read_bytes, read_file
from store.formats.reading import Reading

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "rl-post-training"
EXPECTED = ROOT / "tests" / "data" / "formats"
FILES = ("digest.txt", "daily-papers.txt", "abstracts.txt", "reading-list.bib")
PAGE = (EXAMPLE / "daily-papers.txt").read_text("utf-8")
DIGEST = (EXAMPLE / "digest.txt").read_text("utf-8")
LIST = (EXAMPLE / "abstracts.txt").read_text("utf-8")


def read(text: str, year: int | None = None) -> Reading:
    return read_bytes(text.encode(), "pasted", year)


@pytest.mark.parametrize("name", FILES)
def test_each_layout_is_read_field_by_field(name: str) -> None:
    """Every field of every record of an example file is as written down in the file beside it; empty ones are left out."""
    records = [{field: value for field, value in asdict(record).items() if value and field != "raw"} for record in read_file(EXAMPLE / name).records]
    assert json.loads(json.dumps(records)) == json.loads((EXPECTED / f"{name}.json").read_text("utf-8"))


@pytest.mark.parametrize("name", FILES)
def test_the_examples_say_that_they_are_notes(name: str) -> None:
    """The first line of an example file makes its texts notes, and is no part of any record."""
    reading = read_file(EXAMPLE / name)
    assert reading.kind == "note"
    assert not any("carrel:" in record.raw for record in reading.records)


@pytest.mark.parametrize("text", [PAGE, DIGEST, LIST], ids=["page", "digest", "list"])
@pytest.mark.parametrize(
    "coding", [("utf-8-sig", "\n"), ("utf-8", "\r\n"), ("utf-16", "\n"), ("gb18030", "\n")], ids=["BOM", "CRLF", "UTF-16", "GBK"]
)
def test_the_encoding_makes_no_difference(text: str, coding: tuple[str, str]) -> None:
    """BOM, CRLF, UTF-16 and GBK give the records that UTF-8 gives; GBK only where the text has Chinese to tell it by."""
    encoding, end = coding
    if encoding == "gb18030" and text is not DIGEST:
        text = text.encode("ascii", "ignore").decode()
    expected = read(text).records
    assert read_bytes(text.replace("\n", end).encode(encoding), "pasted").records == expected


@given(st.integers(min_value=400, max_value=len(PAGE) - 1))
def test_a_page_cut_anywhere_keeps_its_whole_records(at: int) -> None:
    """Of a page that was cut off, each record is one of the whole page's, and no abstract is a shorter one."""
    _whole_or_refused(PAGE, at)


@given(st.integers(min_value=700, max_value=len(DIGEST) - 1))
def test_a_digest_cut_anywhere_keeps_its_whole_records(at: int) -> None:
    """The same for a digest."""
    _whole_or_refused(DIGEST, at)


@given(st.integers(min_value=1200, max_value=len(LIST) - 1))
def test_a_list_cut_anywhere_keeps_its_whole_records(at: int) -> None:
    """The same for a list of abstracts with links."""
    _whole_or_refused(LIST, at)


def _whole_or_refused(text: str, at: int) -> None:
    """A cut just behind a sentence's end cannot be seen; every other one is refused with its line, or leaves no trace."""
    whole = {record.title or record.abstract: record.abstract for record in read(text).records}
    cut = text[:at]
    reading = read(cut)
    for record in reading.records:
        abstract = whole.get(record.title or record.abstract)
        assert abstract is not None
        if not cut.rstrip().endswith((".", "。", "”", '"', ")", "?", "!")):
            assert record.abstract == abstract
    assert len(reading.refused) <= 1
    assert all(0 < refused.line <= cut.count("\n") + 1 for refused in reading.refused)


def test_a_cut_page_names_the_line_of_the_broken_record() -> None:
    """The reader is told which record is missing and where it began."""
    start = PAGE.index("MoDoMoDo:")
    reading = read(PAGE[: start + 400])
    assert [refused.line for refused in reading.refused] == [PAGE[:start].count("\n") + 1]
    assert "cut off" in reading.refused[0].reason
    assert len(reading.records) == 2


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "empty"),
        (b" \n\n ", "empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "binary"),
        (b"PK\x03\x04 a zip", "archive"),
        (b"\x7fELF\x01\x00\x03 program", "binary"),
        (b"# Shopping\n\n- milk\n- bread\n", "no known layout"),
        (b"Daily Papers\n", "holds no paper"),
    ],
)
def test_what_is_no_list_of_papers_is_refused_by_name(data: bytes, said: str) -> None:
    """An empty, binary or unknown file says its name, what it is, and what was expected."""
    with pytest.raises(UnreadableFile, match=said) as error:
        read_bytes(data, "thing.txt")
    assert "thing.txt" in str(error.value)
    assert "expected" in str(error.value)


def page(*papers: str) -> str:
    return "Daily Papers\n\nbyAK and the research community\n\nMay 15\n\n" + "\n\n".join(papers)


ABSTRACT = "We study a thing. It works well on three benchmarks."


def test_the_year_of_the_page_is_one_more_than_the_latest_printed() -> None:
    """A date without a year gets the inferred year and says so; printed ones stay."""
    text = page(f"One\n\n{ABSTRACT}\n\n  • 5 authors\n·\nMay 13 2", f"Two\n\n{ABSTRACT}\n\n  • 1 author\n·\nOct 30, 2023")
    one, two = read(text).records
    assert (one.date, one.date_inferred, one.author_count) == ("2024-05-13", True, 5)
    assert (two.date, two.date_inferred, two.author_count) == ("2023-10-30", False, 1)


def test_the_year_may_be_told() -> None:
    """`year` dates the page's own year, and is not inferred."""
    (record,) = read(page(f"One\n\n{ABSTRACT}\n\n  • 5 authors\n·\nMay 13"), year=2026).records
    assert (record.date, record.date_inferred) == ("2026-05-13", False)


def test_without_any_year_there_is_none() -> None:
    """Nothing is invented where a page prints no year at all."""
    (record,) = read(page(f"One\n\n{ABSTRACT}\n\n  • 5 authors\n·\nMay 13")).records
    assert record.date == ""


def test_an_organization_stands_in_the_place_of_authors() -> None:
    """A handle and a name: the handle is an identifier, the name the organization."""
    (record,) = read(page(f"One\n\n{ABSTRACT}\n\nfacebook AI at Meta\n·\nNov 11, 2025 2")).records
    assert (record.organization, dict(record.identifiers), record.author_count) == ("AI at Meta", {"huggingface": "facebook"}, None)


def test_an_abstract_may_have_paragraphs() -> None:
    """A further paragraph of prose belongs to the abstract, not to a new paper."""
    more = "In a second paragraph the authors explain at some length " + "what they did and why it matters to everybody " * 4 + "today."
    text = page(f"One\n\n{ABSTRACT}\n\n{more}\n\n  • 5 authors\n·\nMay 13, 2024", f"Two\n\n{ABSTRACT}")
    one, two = read(text).records
    assert one.abstract == f"{ABSTRACT}\n{more}"
    assert two.title == "Two"


def entry(title: str, keyword: str = "", zh: str = "一个题目") -> str:
    head = f"Keyword: {keyword}\n" if keyword else ""
    return (
        f"{head}{title}\n{zh}\n- Authors: Ada Lovelace, Alan Turing\n- Subjects: Subjects:\nMachine Learning (cs.LG)\n"
        f"- Arxiv link: https://arxiv.org/abs/2603.00001\n- Pdf link: https://arxiv.org/pdf/2603.00001\n- Abstract\n{ABSTRACT}\n- 中文摘要\n我们研究一件事。\n"
    )


def test_a_section_without_result_is_no_paper() -> None:
    """Digests print a line for keywords that found nothing."""
    text = "Keyword: SLAM\nThere is no result\n" + entry("A Title", "robots") + "Keyword: odometry\nThere is no result\n"
    assert [(record.title, record.keywords) for record in read(text).records] == [("A Title", ("robots",))]


def test_a_title_that_is_the_same_in_both_languages() -> None:
    """An untranslated title is not taken for the end of the abstract above it."""
    text = entry("First", "x") + entry("WorldNet", zh="WorldNet")
    records = read(text).records
    assert [(one.title, one.translations["zh"].title) for one in records] == [("First", "一个题目"), ("WorldNet", "WorldNet")]
    assert records[0].translations["zh"].abstract == "我们研究一件事。"


def test_bibtex_decodes_accents_and_keeps_mathematics() -> None:
    """Names and titles are letters, `$SE(3)$` stays as it stood, and the key is the researcher's own."""
    text = (
        '@article{Huebotter2026,\n author = {H{\\"u}botter, Jonas and {The ATLAS Collaboration}},\n title = {{SDPO} in $SE(3)$: caf\\\'e},\n'
        " year = 2026, month = mar, journal = {J. Robots}, doi = {https://doi.org/10.1234/AB.5}\n}\n"
    )
    (record,) = read(text).records
    assert record.authors == ("Jonas Hübotter", "The ATLAS Collaboration")
    assert record.title == "SDPO in $SE(3)$: café"
    assert (record.key, record.date, record.venue, record.identifiers["doi"]) == ("Huebotter2026", "2026-03", "J. Robots", "10.1234/ab.5")


def test_a_broken_entry_does_not_stop_the_others() -> None:
    """An entry that is not closed is reported with its line; the rest is read, also where a key is used twice."""
    text = "@misc{a, title={One}}\n@misc{b, title={Two}\n@misc{c, title={Three}}\n@misc{a, title={Four}}\n"
    reading = read(text)
    assert [record.key for record in reading.records] == ["a", "c", "a"]
    assert [refused.line for refused in reading.refused] == [2]
