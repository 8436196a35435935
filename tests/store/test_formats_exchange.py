"""The formats that reference managers and databases exchange: each file's papers, field by field, and what may go wrong."""

import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from store import formats
from store.errors import UnreadableFile
from store.formats import READERS
from store.formats.file import SourceFile
from store.formats.names import author_list
from store.formats.reading import Options, arxiv_id, doi_in, iso_date, printed_name
from store.paper import Record, Refused

DATA = Path(__file__).parents[1] / "data"
FOLDERS = ("ris", "nbib", "wos", "refer", "pubmed_xml", "endnote_xml", "arxiv_atom", "bibtex", "tables", "identifiers")
FILES = sorted(path for folder in FOLDERS for path in (DATA / folder).iterdir() if path.suffix != ".json")
FORMATS = {
    "ris": "ris", "nbib": "pubmed-nbib", "wos": "web-of-science", "refer": "endnote-refer", "pubmed_xml": "pubmed-xml", "endnote_xml": "endnote-xml",
    "arxiv_atom": "arxiv-atom", "bibtex": "bibtex", "tables": "table", "identifiers": "identifiers",
}  # fmt: skip


def read(data: bytes, name: str = "pasted", options: Options | None = None) -> list[Record | Refused]:
    """Everything a file holds."""
    return list(formats.opened(SourceFile(name, data=data), options).items)


def shown(item: Record | Refused) -> dict[str, object]:
    """An item as the files of expectations have it: what is not empty, without the raw record."""
    if isinstance(item, Refused):
        return {"refused": item.reason, "line": item.line}
    fields = {name: value for name, value in asdict(item).items() if value and name != "raw"}
    return dict(json.loads(json.dumps(fields)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_file_is_read_field_by_field(path: Path) -> None:
    """Every paper and every refusal of a file is as written down beside it, and its format is found by content."""
    expected = json.loads(path.with_name(f"{path.name}.json").read_text("utf-8"))
    assert [shown(item) for item in read(path.read_bytes())] == expected
    assert formats.opened(SourceFile("pasted", data=path.read_bytes())).format == FORMATS[path.parent.name]


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_record_keeps_where_it_stood(path: Path) -> None:
    """The line where it begins, and its text as it stood there."""
    data = path.read_bytes()
    text = SourceFile("x", data=data).whole
    lines = text.split("\n")
    for item in read(data):
        if isinstance(item, Record) and path.parent.name not in {"tables", "identifiers"}:
            assert item.raw.split("\n")[0].strip() in lines[item.line - 1]
            assert item.raw.split("\n")[-1] in text


@settings(max_examples=60, deadline=None)
@given(path=st.sampled_from(FILES), data=st.data())
def test_a_file_cut_anywhere_never_fails_and_keeps_what_stands_before(path: Path, data: st.DataObject) -> None:
    """Records that end well before the cut are those of the whole file."""
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    try:
        items = read(whole[:at])
    except UnreadableFile:
        return
    full = [shown(item) for item in read(whole) if isinstance(item, Record)]
    found = [shown(item) for item in items if isinstance(item, Record)]
    if path.parent.name not in {"bibtex", "tables", "identifiers"} and len(found) > 1:
        assert found[:-1] == full[: len(found) - 1]


@settings(max_examples=60, deadline=None)
@given(path=st.sampled_from(FILES), junk=st.text(max_size=200) | st.binary(max_size=200).map(lambda data: data.decode("latin-1")), data=st.data())
def test_whatever_stands_in_a_file_nothing_but_papers_and_refusals_come_out(path: Path, junk: str, data: st.DataObject) -> None:
    """Junk in the middle of any format is refused by record or by file, and never a failure."""
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    try:
        assert all(isinstance(item, Record | Refused) for item in read(whole[:at] + junk.encode("utf-8", "replace") + whole[at:]))
    except UnreadableFile as error:
        assert "pasted" in str(error)


@given(st.text(max_size=300))
def test_no_reader_fails_on_a_text_that_is_not_its_own(text: str) -> None:
    """Each is asked of each text, and says yes or no."""
    try:
        file = SourceFile("x", data=text.encode("utf-8", "replace"))
        assert all(reader.matches(file) in {True, False} for reader in READERS)
    except UnreadableFile:
        pass


# what bad input gets


BOMB = b'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><PubmedArticleSet><PubmedArticle>&b;</PubmedArticle></PubmedArticleSet>'


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BOMB, "declares entities"),
        (b'<!DOCTYPE f [<!ENTITY x SYSTEM "file:///etc/passwd">]><PubmedArticle>&x;</PubmedArticle>', "declares entities"),
        (b"<PubmedArticleSet>" + b"<a>" * 300 + b"<PubmedArticle>", "nested"),
        (b"PK\x03\x04 not a zip", "archive"),
        (b"title,abstract\n", "no paper"),
    ],
)
def test_a_file_that_means_harm_or_nothing_is_refused_by_name(data: bytes, said: str) -> None:
    """With what it does, in one line."""
    with pytest.raises(UnreadableFile, match=said) as error:
        if not read(data, "thing.txt"):
            raise formats.nothing_in(SourceFile("thing.txt", data=data), "table")
    assert "thing.txt" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_zip_bomb_is_not_unpacked() -> None:
    """What a member really unpacks to counts, not what its header says."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "x")
        archive.writestr("xl/workbook.xml", b"\0" * 30_000_000)
    with pytest.raises(UnreadableFile, match="zip bomb"):
        read(packed.getvalue(), "bomb.xlsx")


def test_a_workbook_is_read_like_a_table() -> None:
    """Numbers are numbers no more, and the sheet with a header counts."""
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["nothing", "here"])  # type: ignore[union-attr]  # a new workbook has a sheet
    sheet = book.create_sheet("papers")
    for row in (["Title", "Year", "Authors", "DOI"], ["Bridges that walk", 2024, "Lovelace, Ada; Hopper, Grace", "10.1234/x"], [None, None, None, None]):
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    (record,) = read(out.getvalue(), "papers.xlsx")
    assert isinstance(record, Record)
    assert (record.title, record.date, record.authors, record.line) == ("Bridges that walk", "2024", ("Ada Lovelace", "Grace Hopper"), 2)


def test_named_columns_come_before_guessed_ones() -> None:
    """And a name that no column has is an error that lists those there are."""
    table = b"Name,What,title\nBridges that walk,It walks.,wrong\n"
    (record,) = read(table, options=Options(columns={"title": "Name", "abstract": "What"}))
    assert isinstance(record, Record)
    assert (record.title, record.abstract) == ("Bridges that walk", "It walks.")
    with pytest.raises(UnreadableFile, match=r"no column 'Nam'.*Name, What"):
        read(table, options=Options(columns={"title": "Nam"}))


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (b"TY  - JOUR\nTI  - " + b"x" * 200_000 + b"\nER  - \n", "title has 200,000 characters"),
        (b"TY  - JOUR\nTI  - t\nAB  - " + b"x " * 100_000 + b"\nER  - \n", "abstract has"),
        (b"TY  - JOUR\nN1  - nothing else\nER  - \n", "names no work"),
    ],
)
def test_a_record_that_cannot_be_is_refused_and_the_next_is_read(record: bytes, said: str) -> None:
    """A field of 200 kB is what an unclosed quote swallowed."""
    refused, kept = read(record + b"TY  - JOUR\nTI  - The next one\nER  - \n")
    assert isinstance(refused, Refused)
    assert said in refused.reason
    assert isinstance(kept, Record)


def test_odd_characters_are_dropped_and_thousands_of_authors_kept() -> None:
    """NUL bytes and lone surrogates are no part of a title; a collaboration has 5,000 authors."""
    authors = "".join(f"AU  - Family{number}, Given\n" for number in range(5_000))
    (record,) = read(f"TY  - JOUR\nTI  - A\0 title\n{authors}ER  - \n".encode())
    assert isinstance(record, Record)
    assert (record.title, len(record.authors), record.authors[-1]) == ("A title", 5_000, "Given Family4999")


def test_a_file_with_lines_of_two_encodings_is_read_line_by_line() -> None:
    """A bibliography of ten years: UTF-8 here, Windows-1252 there."""
    text = "@misc{a, title={Brücken é}}\n".encode() * 5 + "@misc{b, title={Brücke}}\n".encode("cp1252")
    titles = {item.title for item in read(text, "old.bib") if isinstance(item, Record)}
    assert titles == {"Brücken é", "Brücke"}


@pytest.mark.parametrize(
    ("said", "date"),
    [
        ("2020/03/15/", "2020-03-15"), ("2020///", "2020"), ("2020 Mar 15", "2020-03-15"), ("15 March 2020", "2020-03-15"), ("Spring 2020", "2020"),
        ("2019 Nov-Dec", "2019-11"), ("2020-13-40", "2020"), ("2021-02-30", "2021-02"), ("99999", ""), ("n.d.", ""), ("MAR 15 2021", "2021-03-15"),
        ("Mon, 2 Apr 2007 19:18:42 GMT", "2007-04-02"), ("2020-03-15T10:20:30Z", "2020-03-15"), ("1611", "1611"), ("", ""),
    ],
)  # fmt: skip
def test_a_date_is_as_precise_as_it_is_certain(said: str, date: str) -> None:
    """Whatever way it is written; what cannot be is left out."""
    assert iso_date(said) == date


@given(st.text(max_size=60))
def test_any_text_gives_a_date_an_id_a_name_or_nothing(text: str) -> None:
    """And never a failure."""
    assert len(iso_date(text)) in {0, 4, 7, 10}
    assert doi_in(text) == doi_in(text).lower()
    assert isinstance(arxiv_id(text), str)
    assert "," not in printed_name(text) or text.count(",") == 0
    assert isinstance(author_list(text), tuple)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Liu R., Adler D.G.", ("R. Liu", "D.G. Adler")),
        ("Smith, J., Doe, A.-B.", ("J. Smith", "A.-B. Doe")),
        ("Ada Lovelace, Alan Turing and Grace Hopper", ("Ada Lovelace", "Alan Turing", "Grace Hopper")),
        ("Smith, John", ("John Smith",)),
        ("Smith, John and Doe, Jane", ("John Smith", "Jane Doe")),
        ("Smith, John; Doe, Jane; et al.", ("John Smith", "Jane Doe")),
        ("", ()),
    ],
)
def test_author_strings_are_parted_as_a_reader_would(text: str, names: tuple[str, ...]) -> None:
    """Commas part names or stand within one."""
    assert author_list(text) == names


def test_real_exports_are_read_as_counted(request: pytest.FixtureRequest) -> None:
    """Where CARREL_IMPORT names a folder of real files with provenance.tsv: as many records as counted there, read or refused with a reason."""
    import csv
    import os

    if not os.environ.get("CARREL_IMPORT"):
        pytest.skip("CARREL_IMPORT does not name a folder of real files")
    folder = Path(os.environ["CARREL_IMPORT"])
    with (folder / "provenance.tsv").open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            if row["approx_records"] == "None":
                continue
            try:
                items = read((folder / row["file"]).read_bytes(), row["file"])
            except UnreadableFile:
                items = []
            not_papers = sum((folder / row["file"]).read_bytes().lower().count(mark) for mark in (b"@xdata{", b"@set{"))
            lost = int(row["approx_records"]) - len(items)
            assert lost <= not_papers, row["file"]


def test_xml_with_control_characters_is_read() -> None:
    """EndNote writes characters that XML forbids, all on one line of any length: they become spaces, and nothing is lost."""
    record = "<record><titles><title>A control&#x1F; {} and a&#11;second\x0b one</title></titles></record>"
    data = f"<?xml version='1.0'?><xml><records>{''.join(record.format(number) for number in range(3000))}</records></xml>".encode()
    assert [item.title for item in read(data, "x.xml") if isinstance(item, Record)] == [
        f"A control {number} and a second one" for number in range(3000)
    ]
