"""What real pages and files hold besides papers, and papers that are printed in odd ways."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.embedding import HashEmbedder
from store.errors import UnreadableFile
from store.formats import read_bytes, read_file
from store.formats.daily_papers import FURNITURE
from store.formats.reading import Reading
from store.library import Library
from store.paper import Record

EXAMPLE = Path(__file__).parents[2] / "examples" / "rl-post-training"
NAMES = ("digest.txt", "daily-papers.txt", "abstracts.txt", "reading-list.bib")
ABSTRACT = "We study bridges that move. A robot walked over twelve of them, and it fell from one."
ZH = "我们研究会移动的桥。机器人走过了十二座。"
HEAD = "new\n\nGet trending papers in your email inbox!\n\nSubscribe\n\nDaily Papers\n\nbyAK and the research community\n\nMay 15\n\n"


def read(text: str, year: int | None = None) -> Reading:
    """What the text holds."""
    return read_bytes(text.encode(), "pasted", year)


def meta(date: str, who: str = "  • 5 authors") -> str:
    """What stands under an abstract on a page."""
    return f"{who}\n·\n{date}"


def paper(title: str, date: str = "", who: str = "  • 5 authors") -> str:
    """A paper of a page."""
    return f"{title}\n\n{ABSTRACT}\n\n" + (f"{meta(date, who)}\n\n" if date else "")


def entry(title: str, number: str = "2603.00001", abstract: str = ABSTRACT) -> str:
    """A paper of a digest."""
    return (
        f"{title}\n会移动的桥\n- Authors: Ada Lovelace, Alan Turing\n- Subjects: Subjects:\nMachine Learning (cs.LG); Robotics (cs.RO)\n"
        f"- Arxiv link: https://arxiv.org/abs/{number}\n- Pdf link: https://arxiv.org/pdf/{number}\n- Abstract\n{abstract}\n- 中文摘要\n{ZH}\n"
    )


# Pages


def test_nothing_around_the_papers_becomes_one() -> None:
    """Buttons above, between and below the papers, each alone or together, leave the two papers as they are."""
    two = [paper("Robots on Bridges", "May 13, 2025"), paper("Fish in Rivers", "May 12, 2025")]
    expected = [(record.title, record.abstract) for record in read(HEAD + "".join(two)).records]
    assert expected == [("Robots on Bridges", ABSTRACT), ("Fish in Rivers", ABSTRACT)]
    for words in [*sorted(FURNITURE), "\n\n".join(sorted(FURNITURE)), "Previous\nNext"]:
        reading = read(HEAD + two[0] + f"{words}\n\n" + two[1] + f"{words}\n")
        assert [(record.title, record.abstract) for record in reading.records] == expected
        assert not reading.refused


@pytest.mark.parametrize(
    ("dates", "year", "expected"),
    [
        (["May 13 2", "Oct 30, 2024 7"], None, [("2025-05-13", True), ("2024-10-30", False)]),
        (["May 13", "Oct 30, 2024", "Jan 1, 2022"], None, [("2025-05-13", True), ("2024-10-30", False), ("2022-01-01", False)]),
        (["May 13", "Oct 30, 2024"], 2026, [("2026-05-13", False), ("2024-10-30", False)]),
        (["May 13", "May 12"], None, [("", False), ("", False)]),
        (["May 13", "May 12"], 2026, [("2026-05-13", False), ("2026-05-12", False)]),
        (["December 3, 2024"], None, [("2024-12-03", False)]),
    ],
)
def test_years_that_are_printed_told_inferred_or_not_known(dates: list[str], year: int | None, expected: list[tuple[str, bool]]) -> None:
    """One more than the latest printed, or what is told, or none at all; the comments' count is no year and no day."""
    records = read(HEAD + "".join(paper(f"Paper on Bridges {at}", date) for at, date in enumerate(dates)), year).records
    assert [(record.date, record.date_inferred) for record in records] == expected


@pytest.mark.parametrize(
    ("who", "count", "organization", "handle"),
    [
        ("  • 1 author", 1, "", ""),
        ("• 1234 authors", 1234, "", ""),
        ("facebook AI at Meta", None, "AI at Meta", "facebook"),
        ("nvidia NVIDIA", None, "NVIDIA", "nvidia"),
        ("some-lab_2 The Lab of 5 authors", None, "The Lab of 5 authors", "some-lab_2"),
        ("OpenAI", None, "OpenAI", ""),
    ],
)
def test_who_stands_under_an_abstract(who: str, count: int | None, organization: str, handle: str) -> None:
    """A number of authors, or a handle and the organization's name, or the name alone."""
    (record,) = read(HEAD + paper("Robots on Bridges", "May 13, 2025", who)).records
    assert (record.author_count, record.organization, record.identifiers.get("huggingface", "")) == (count, organization, handle)
    assert (record.abstract, record.authors) == (ABSTRACT, ())


def test_an_abstract_may_have_three_paragraphs_and_the_next_paper_begins_after_them() -> None:
    """Paragraphs are kept apart by a line break, and none becomes a title."""
    more = [" ".join([f"In paragraph {number} the authors say at length what they built"] + ["and how it went"] * 9) + "." for number in (2, 3)]
    text = HEAD + f"Robots on Bridges\n\n{ABSTRACT}\n\n{more[0]}\n\n{more[1]}\n\n{meta('May 13, 2025')}\n\n" + paper("Fish in Rivers", "May 12, 2025")
    one, two = read(text).records
    assert one.abstract == "\n".join([ABSTRACT, *more])
    assert (two.title, two.abstract) == ("Fish in Rivers", ABSTRACT)


def test_a_paper_without_its_abstract_is_named_and_the_next_one_kept() -> None:
    """A title straight above its authors is refused with its line."""
    reading = read(HEAD + f"Robots on Bridges\n\n{meta('May 13, 2025')}\n\n" + paper("Fish in Rivers", "May 12, 2025"))
    assert [record.title for record in reading.records] == ["Fish in Rivers"]
    (refused,) = reading.refused
    assert refused.line == HEAD.count("\n") + 1
    assert "Robots on Bridges" in refused.reason


# Digests


def test_a_digest_with_sections_that_found_nothing() -> None:
    """Keywords without a result, first, between and last, are no papers, and each paper has the keyword above it."""
    text = (
        "Keyword: SLAM\nThere is no result \nKeyword: bridges\n" + entry("Robots on Bridges") + "Keyword: odometry\nThere is no result\n"
        "Keyword: fish\n" + entry("Fish in Rivers", "2603.00002") + "Keyword: livox\nThere is no result\n"
    )  # fmt: skip
    reading = read(text)
    assert [(one.title, one.keywords, one.abstract) for one in reading.records] == [
        ("Robots on Bridges", ("bridges",), ABSTRACT),
        ("Fish in Rivers", ("fish",), ABSTRACT),
    ]
    assert not reading.refused
    assert all(one.translations["zh"].abstract == ZH for one in reading.records)


def test_one_paper_under_two_keywords_is_one_paper(empty: Library) -> None:
    """With both keywords."""
    report = empty.add_text(("Keyword: bridges\n" + entry("Robots on Bridges") + "Keyword: fish\n" + entry("Robots on Bridges")).encode(), "d.txt")
    assert (report.new, report.merged) == (1, 1)
    (paper,) = empty.papers()
    assert set(paper.keywords) == {"bridges", "fish"}
    assert len(paper.sources) == 2


def test_a_digest_without_keywords_or_a_date() -> None:
    """What its head does not print stays empty."""
    (record,) = read(entry("Robots on Bridges")).records
    assert (record.keywords, record.date, record.date_inferred) == ((), "", False)
    assert record.authors == ("Ada Lovelace", "Alan Turing")
    assert record.categories == ("cs.LG", "cs.RO")


def test_the_raw_record_of_a_digest_is_what_stood_in_the_file() -> None:
    """Line for line, nothing twice and nothing left out."""
    (record,) = read(entry("Robots on Bridges")).records
    assert record.raw == entry("Robots on Bridges").strip()


# Lists


def test_a_list_with_other_links() -> None:
    """A DOI and a plain address identify as well; spaces and blank lines between make no difference."""
    links = ["https://doi.org/10.1234/AB.5", "https://arxiv.org/pdf/2603.00001v2", "https://example.org/paper?id=7"]
    records = read("".join(f"\n  {ABSTRACT} It is number {at}.  \n\n{link} \n" for at, link in enumerate(links))).records
    assert [dict(record.identifiers) for record in records] == [
        {"doi": "10.1234/ab.5", "url": links[0]},
        {"arxiv": "2603.00001", "url": links[1]},
        {"url": links[2]},
    ]
    assert [record.abstract for record in records] == [f"{ABSTRACT} It is number {at}." for at in range(3)]
    assert [record.line for record in records] == [2, 6, 10]


def test_links_and_abstracts_that_stand_alone_are_named() -> None:
    """Each with its line, and the whole records are kept."""
    text = f"https://arxiv.org/abs/2603.00009\n{ABSTRACT}\nhttps://arxiv.org/abs/2603.00001\n{ABSTRACT} More.\nhttps://arxiv.org/abs/2603.00002\n{ABSTRACT}\n"
    reading = read(text)
    assert [record.identifiers["arxiv"] for record in reading.records] == ["2603.00001", "2603.00002"]
    assert [refused.line for refused in reading.refused] == [1, 6]


# Bytes


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_line_endings_change_nothing(name: str, ending: str) -> None:
    """Files of other systems have the same records at the same lines."""
    data = (EXAMPLE / name).read_bytes()
    expected = read_bytes(data, name)
    found = read_bytes(data.decode().replace("\n", ending).encode(), name)
    assert found == expected


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "gb18030", "gbk"])
@pytest.mark.parametrize("text", [entry("Robots on Bridges"), HEAD + paper("机器人与桥", "May 13, 2025")], ids=["digest", "page"])
def test_encodings_change_nothing(encoding: str, text: str) -> None:
    """Chinese saved by an older program is read as it was written."""
    if encoding == "gbk":
        text = text.replace("•", "·") if "•" in text and not text.isascii() else text
    try:
        data = text.encode(encoding)
    except UnicodeEncodeError:
        data = text.encode("gb18030")
    assert read_bytes(data, "old.txt").records == read(text).records


def test_latin_text_that_is_not_utf8_keeps_its_accents() -> None:
    """Names saved by an old program on Windows are no Chinese characters."""
    text = "@misc{a, author={José Müller and Zoë Ångström}, title={Größe und Maß}}\n"
    (record,) = read_bytes(text.encode("cp1252"), "old.bib").records
    assert (record.authors, record.title) == (("José Müller", "Zoë Ångström"), "Größe und Maß")


def test_only_what_is_broken_in_a_text_is_mended() -> None:
    """Doubly decoded letters are mended, accents composed, control characters dropped; quotes, dashes and LaTeX stay."""
    broken = "A na\u00c3\u00afve robot\x08 – it “walks” over e\u0301tudes, $SE(3)$ and \\textbf{WIST}… at last."
    (record,) = read(f"{broken} {ABSTRACT}\nhttps://arxiv.org/abs/2603.00001\n").records
    assert record.abstract == f"A naïve robot – it “walks” over études, $SE(3)$ and \\textbf{{WIST}}… at last. {ABSTRACT}"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\r\n\t ",
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\n",
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
        b"PK\x03\x04" + bytes(100),
        b"%PDF-1.7\n@misc{a, title={No}}",
        b"\x1f\x8b\x08\x00 text",
        b"SQLite format 3\x00",
        bytes(1000),
        b"Dear all,\n\nthe meeting is on Monday.\n",
        b'{"papers": []}',
        b"https://example.org\n",
        b"@comment{no paper}\n",
        b"\xff\xfe\x00",
    ],
)
def test_what_holds_no_paper_is_refused_by_name(data: bytes, tmp_path: Path) -> None:
    """Empty, binary, of no known layout: the file is named and what was expected is said, read from disk or pasted."""
    (tmp_path / "thing.dat").write_bytes(data)
    for attempt in (lambda: read_file(tmp_path / "thing.dat"), lambda: read_bytes(data, "thing.dat")):
        with pytest.raises(UnreadableFile, match="thing.dat"):
            attempt()


def test_a_file_that_is_missing_or_a_folder_is_refused_by_name(tmp_path: Path) -> None:
    """As an unreadable file, not as a crash."""
    for path in (tmp_path / "none.txt", tmp_path):
        with pytest.raises(UnreadableFile, match=str(path)):
            read_file(path)


@given(st.binary(max_size=300) | st.text(alphabet="aé中 \n-•·@{}=,.:/https202603May", max_size=300).map(str.encode))
def test_no_bytes_are_a_crash(data: bytes) -> None:
    """Whatever a file holds, it is read or refused."""
    try:
        reading = read_bytes(data, "any")
    except UnreadableFile as error:
        assert "any" in str(error)
    else:
        assert reading.records or reading.refused


@given(st.lists(st.sampled_from(["Robots on Bridges", ABSTRACT, "  • 5 authors", "·", "May 13", "May 12, 2025", "new", "Subscribe", "", ""]), max_size=30))
def test_no_page_gives_furniture_for_a_paper(lines: list[str]) -> None:
    """However the lines of a page are mixed, a record has an abstract that is prose, and no title is a button or a date."""
    try:
        reading = read(HEAD + "\n".join(lines))
    except UnreadableFile:
        return
    for record in reading.records:
        assert record.abstract
        assert record.title not in FURNITURE
        assert not record.title.startswith(("•", "·"))
    assert all(refused.line > 0 for refused in reading.refused)


def test_the_example_is_36_papers(tmp_path: Path) -> None:
    """12, 12, 5 and 7, none of them twice, none refused."""
    library = Library(tmp_path, HashEmbedder(), create=True)
    reports = [library.add(EXAMPLE / name) for name in NAMES]
    assert [(report.new, report.merged, report.refused) for report in reports] == [(12, 0, ()), (12, 0, ()), (5, 0, ()), (7, 0, ())]
    assert library.catalog.count() == 36
    assert all(isinstance(record, Record) for name in NAMES for record in read_file(EXAMPLE / name).records)
