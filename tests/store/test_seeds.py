"""The files that people really pasted and saved, read field by field; run where CARREL_SEEDS names their folder.

Each layout is read a second time here, by the simplest means that fit that one file, and the two must agree.
"""

import itertools
import re
from pathlib import Path

from store.embedding import HashEmbedder
from store.formats import read_bytes, read_file
from store.library import Library
from store.paper import Paper

PAPERS = 222
COUNTS = {"000": 20, "001": 65, "002": 107, "004": 33}


def of(seeds: list[Path], number: str) -> Path:
    return next(path for path in seeds if path.name.startswith(number))


def library_of(folder: Path, files: list[Path]) -> Library:
    folder.mkdir()
    library = Library(folder, HashEmbedder(), create=True)
    for path in files:
        library.add(path)
    return library


def dump(library: Library) -> list[tuple[object, ...]]:
    db = library.catalog._db
    return [tuple(row) for table in ("paper", "alias", "source", "text", "passage") for row in db.execute(f"SELECT * FROM {table}")]


def test_every_record_of_every_file_is_read(seeds: list[Path]) -> None:
    """20, 65, 107 and 33 records, none refused."""
    readings = {path.name[:3]: read_file(path) for path in seeds}
    assert {name: len(reading.records) for name, reading in readings.items()} == COUNTS
    assert not any(reading.refused for reading in readings.values())


def test_a_list_of_abstracts_is_pairs_of_lines(seeds: list[Path]) -> None:
    """Each abstract exactly as its line, each identifier that of the line under it, and no title made up."""
    lines = of(seeds, "000").read_text("utf-8").split("\n")
    expected = [(abstract.strip(), link.rsplit("/", 1)[1], link) for abstract, link in zip(lines[::2], lines[1::2], strict=False)]
    records = read_file(of(seeds, "000")).records
    assert [(one.abstract, one.identifiers["arxiv"], one.identifiers["url"]) for one in records] == expected
    assert not any(one.title or one.authors or one.date for one in records)


def test_a_page_with_meta_lines_is_read_as_printed(seeds: list[Path]) -> None:
    """Titles, abstracts, counts, organizations and dates of the page, and nothing of its furniture."""
    months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    body = of(seeds, "001").read_text("utf-8").split("May 15\n", 1)[1]
    body = re.sub(r"\n(  • \d+ authors|[^\n]+)\n·\n([^\n]+)", r"\n@@\1@@\2", body)
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", body) if block.strip()]
    expected: list[tuple[str, str, str, str]] = []
    for block in blocks:
        if block.startswith("@@"):
            _, who, date = block.split("@@")
            expected[-1] = (*expected[-1][:2], who.strip(), date)
        elif expected and not expected[-1][1]:
            expected[-1] = (expected[-1][0], block, "", "")
        else:
            expected.append((block, "", "", ""))
    for record, (title, abstract, who, date) in zip(read_file(of(seeds, "001")).records, expected, strict=True):
        assert (record.title, record.abstract) == (title, abstract)
        count = re.fullmatch(r"• (\d+) authors", who)
        assert record.author_count == (int(count[1]) if count else None)
        handle, _, name = ("", "", "") if count else who.partition(" ")
        assert (record.identifiers.get("huggingface", ""), record.organization) == (handle, name)
        day = re.match(r"(\w{3}) (\d+)(?:, (\d{4}))?", date)
        printed = f"{day[3] or 2026}-{months.index(day[1]) + 1:02}-{int(day[2]):02}" if day else ""
        assert (record.date, record.date_inferred) == (printed, bool(day and not day[3]))


def test_a_page_without_meta_lines_is_titles_and_abstracts(seeds: list[Path]) -> None:
    """107 pairs of blocks, no date and no author invented."""
    body = of(seeds, "002").read_text("utf-8").split("Sep 1\n", 1)[1]
    blocks = [block.strip() for block in re.split(r"\n\s*\n", body) if block.strip()]
    records = read_file(of(seeds, "002")).records
    assert [(one.title, one.abstract) for one in records] == list(zip(blocks[::2], blocks[1::2], strict=True))
    assert not any(one.date or one.authors or one.author_count for one in records)


def test_a_digest_is_read_in_both_languages(seeds: list[Path]) -> None:
    """Titles, authors, subjects, links, keyword and both abstracts of each of 33 papers."""
    text = of(seeds, "004").read_text("utf-8")
    pattern = re.compile(
        r"(?P<title>[^\n]+)\n(?P<zh>[^\n]+)\n- Authors: (?P<authors>[^\n]+)\n- Subjects: Subjects:\n(?P<subjects>[^\n]+)\n"
        r"- Arxiv link: \S+/(?P<arxiv>[\d.]+)\n- Pdf link: (?P<pdf>\S+)\n- Abstract\n(?P<abstract>[^\n]+)\n- 中文摘要\n(?P<zh_abstract>[^\n]+)"
    )
    sections = list(re.finditer(r"Keyword: ([^\n]+)", text))
    found = list(pattern.finditer(text))
    records = read_file(of(seeds, "004")).records
    for one, record in zip(found, records, strict=True):
        keyword = [section[1] for section in sections if section.start() < one.start()][-1]
        assert (record.title, record.abstract, record.keywords) == (one["title"], one["abstract"].strip(), (keyword,))
        assert (record.translations["zh"].title, record.translations["zh"].abstract) == (one["zh"], one["zh_abstract"].strip())
        assert list(record.authors) == one["authors"].split(", ")
        assert list(record.categories) == re.findall(r"\(([a-z-]+\.[A-Z]+)\)", one["subjects"])
        assert (record.identifiers["arxiv"], record.identifiers["pdf"]) == (one["arxiv"], one["pdf"])
        assert (record.date, record.date_inferred) == ("2026-03-25", False)


def test_all_files_make_222_papers_and_again_nothing(seeds: list[Path], tmp_path: Path) -> None:
    """Three works stand in two files; adding everything again changes no row."""
    library = library_of(tmp_path / "one", seeds)
    assert library.catalog.count() == PAPERS
    before = dump(library)
    reports = [library.add(path) for path in seeds]
    assert sum(report.unchanged for report in reports) == sum(COUNTS.values())
    assert dump(library) == before


def test_the_order_of_files_changes_no_paper(seeds: list[Path], tmp_path: Path) -> None:
    """Papers and their fields are the same in every order, and so are the keys, but for who of two namesakes gets the `a`."""

    def fields(paper: Paper) -> tuple[object, ...]:
        return (paper.title, paper.abstract, paper.author_count, paper.date, paper.organization)

    orders = list(itertools.permutations(seeds))[::7]
    libraries = [library_of(tmp_path / str(at), list(order)) for at, order in enumerate(orders)]
    first, *others = [{fields(paper) for paper in library.papers()} for library in libraries]
    for other in others:
        assert other == first
    keys = [sorted(key for paper in library.papers() for key in (paper.key, *paper.aliases)) for library in libraries]
    assert all(other == keys[0] for other in keys)


def test_chinese_finds_chinese(seeds: list[Path], tmp_path: Path) -> None:
    """A query in Chinese finds the paper whose translation says it."""
    library = library_of(tmp_path / "zh", seeds)
    hits = library.search("搜索增强大型语言模型 奖励塑造")
    assert library.catalog.papers([hits[0].paper])[0].key == "xie2026tips"
    assert hits[0].passage is not None
    assert library.catalog.text(hits[0].passage.text).role == "abstract:zh"


def test_nothing_of_a_page_becomes_a_paper(seeds: list[Path], tmp_path: Path) -> None:
    """No title is furniture, a date or a count, and every abstract is prose."""
    for paper in library_of(tmp_path / "all", seeds).papers():
        assert paper.title not in {"new", "Subscribe", "Daily Papers"}
        assert "trending papers" not in paper.title.lower()
        assert len(paper.abstract) > 800


def test_every_field_and_nearly_every_key_is_the_same_in_every_order(seeds: list[Path], tmp_path: Path) -> None:
    """All that a paper says; of its keys only the letter that parts namesakes may fall to the other one."""

    def said(paper: Paper) -> tuple[object, ...]:
        identifiers, translations = sorted(paper.identifiers.items()), sorted(paper.translations.items())
        known = (paper.title, paper.abstract, paper.authors, paper.author_count, paper.organization, paper.date, paper.date_inferred)
        return (*known, tuple(identifiers), tuple(translations), paper.categories, paper.keywords, paper.language, paper.kind)

    orders = [seeds, seeds[::-1], [seeds[2], seeds[0], seeds[3], seeds[1]]]
    libraries = [library_of(tmp_path / str(at), order) for at, order in enumerate(orders)]
    first, *others = [{said(paper): (paper.key, *paper.aliases) for paper in library.papers()} for library in libraries]
    for other in others:
        assert set(other) == set(first)
        for paper, keys in first.items():
            assert keys == other[paper] or [key.rstrip("ab") for key in keys] == [key.rstrip("ab") for key in other[paper]]
        assert sum(keys != other[paper] for paper, keys in first.items()) <= 4


def test_the_links_of_every_file_are_those_printed(seeds: list[Path]) -> None:
    """Addresses as the page has them; a page without links gives no identifier but a handle."""
    for record in read_file(of(seeds, "004")).records:
        number = record.identifiers["arxiv"]
        assert record.identifiers["url"] == f"https://arxiv.org/abs/{number}"
        assert set(record.identifiers) == {"arxiv", "url", "pdf"}
    assert {kind for record in read_file(of(seeds, "001")).records for kind in record.identifiers} == {"huggingface"}
    assert not any(record.identifiers for record in read_file(of(seeds, "002")).records)


def test_every_record_stands_at_its_line(seeds: list[Path]) -> None:
    """The line of each record is that of its title, or of its abstract where there is none, and nothing else is in its raw text."""
    for path in seeds:
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for record in read_file(path).records:
            assert lines[record.line - 1].strip() == (record.title or record.abstract)
            assert all(line in text for line in record.raw.splitlines())


def test_a_seed_that_is_cut_off_keeps_its_whole_records(seeds: list[Path]) -> None:
    """At forty places in each file: no record of another abstract than the whole file's, but for a cut behind a sentence or in a link."""
    for path in seeds:
        text = path.read_text("utf-8")
        records = read_file(path).records
        whole = {record.title or record.abstract: record.abstract for record in records}
        for at in range(len(text) // 10, len(text), len(text) // 40):
            reading = read_bytes(text[:at].encode(), path.name)
            assert len(reading.refused) <= 1
            for record in reading.records:
                if not re.search(r"""https?://\S*$|[.!?。！？…)）][)\]"'”’»}$*]*\s*$""", text[:at]):
                    assert whole.get(record.title or record.abstract) == record.abstract, f"{path.name} cut at {at}"
