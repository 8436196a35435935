"""Tables with a header: CSV, TSV and XLSX, as Scopus, Embase, Zotero, IEEE, PubMed and people themselves make them."""

import csv
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from store.errors import UnreadableFile
from store.formats.file import SourceFile
from store.formats.names import author_list
from store.formats.reading import Options, arxiv_id, doi_in, entry_type, iso_date
from store.formats.tagged import given, keyword_list, numbers, pages
from store.formats.text import clean, one_line
from store.language import language_code
from store.paper import Record, Refused

if TYPE_CHECKING:
    from openpyxl import Workbook
    from openpyxl.worksheet.worksheet import Worksheet

NAME = "table"
COLUMNS = {
    "title": ("title", "articletitle", "primarytitle", "documenttitle", "papertitle", "titre", "titel", "título", "标题", "题名", "タイトル", "ti", "t1", "名称"),
    "abstract": ("abstract", "abstractnote", "notesabstract", "summary", "résumé", "resume", "zusammenfassung", "摘要", "要旨", "ab", "abstracttext"),
    "authors": (
        "authorfullnames", "authors", "author", "authornames", "authorsfullnames", "firstauthors", "author(s)", "auteurs", "autoren", "作者", "著者", "au",
    ),
    "date": (
        "date", "publicationdate", "coverdate", "publicationyear", "year", "datepublished", "pubyear", "année", "jahr", "年份", "发表时间", "py", "published", "createdate",
    ),
    "doi": ("doi", "doilink", "doiurl", "articledoi"),
    "arxiv": ("arxiv", "arxivid", "eprint"),
    "pmid": ("pmid", "pubmedid", "medlinepmid"),
    "pmcid": ("pmcid", "pmc"),
    "venue": (
        "venue", "journal", "sourcetitle", "publicationtitle", "journalbook", "journaltitle", "booktitle", "source", "conference", "secondarytitle", "zeitschrift", "revue", "期刊", "so",
    ),
    "keywords": ("keywords", "authorkeywords", "manualtags", "tags", "indexkeywords", "ieeeterms", "meshterms", "关键词", "de"),
    "url": ("url", "link", "pdflink", "links", "articleurl"),
    "key": ("key", "citationkey", "citekey", "bibtexkey"),
    "language": ("language", "languageoforiginaldocument", "sprache", "langue", "articlelanguage"),
    "type": ("itemtype", "documenttype", "publicationtype", "typeofreference", "type", "entrytype"),
    "volume": ("volume", "vol"),
    "number": ("issue", "number", "issuenumber"),
    "pages": ("pages", "pagerange", "artno"),
    "first page": ("pagestart", "startpage", "firstpage"),
    "last page": ("pageend", "endpage", "lastpage"),
    "publisher": ("publisher", "éditeur", "verlag"),
    "issn": ("issn", "isbn", "issnisbn"),
}  # fmt: skip
TELLING = ("title", "abstract", "doi", "pmid", "arxiv")
MARKS = ",;\t|"
LONGEST_FIELD = 1_000_000
MOST_UNPACKED, MOST_MEMBERS, MOST_RATIO = 500 * 2**20, 1_000, 100
PREAMBLE = 30
"""Rows before the header at most: some services print a search strategy there."""
PLAIN = re.compile(r"[\s_./-]+")


def matches(file: SourceFile) -> bool:
    """Whether it is a workbook, or its lines have a header that names a title, an abstract or an identifier."""
    if file.is_zip:
        return file.suffix in {".xlsx", ".xlsm"} or b"xl/" in file.start[:20_000] or b"[Content_Types].xml" in file.start[:200]
    if file.head.lstrip()[:1] in {"{", "[", "<", "@", "%"}:
        return False
    mark = _mark(file.head)
    return bool(mark) and _header(islice(_rows(iter(file.head.split("\n")), mark), PREAMBLE), Options()) is not None


def read(file: SourceFile, options: Options) -> Iterator[Record | Refused]:
    """Every row under the header; `options.columns` names the columns that are called otherwise."""
    rows = _workbook(file, options) if file.is_zip else _rows(file.lines(), _mark(file.head))
    found = _header(islice(rows, PREAMBLE), options)
    if found is None:
        raise UnreadableFile(f"{file.name}: no row names a column `title`, `abstract` or `doi`; say which it is with --column title=NAME")
    names, _ = found
    missing = sorted(set(options.columns.values()) - set(names))
    if missing:
        raise UnreadableFile(f"{file.name}: there is no column {missing[0]!r}; the columns are {', '.join(name for name in names if name)}")
    places = _places(names, options.columns)
    for line, cells in rows:
        if any(cell.strip() for cell in cells):
            yield _record(line, cells, places, len(names))


Row = tuple[int, list[str]]


def _rows(lines: Iterator[str], mark: str) -> Iterator[Row]:
    """Each row with the line where it starts."""
    csv.field_size_limit(LONGEST_FIELD)
    counted = _Counted(lines)
    reader = csv.reader(counted, delimiter=mark or ",")
    while True:
        start = counted.number + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            cells = [f"\0{error}"]
        yield start, cells


class _Counted:
    """Lines, and how many have been taken."""

    def __init__(self, lines: Iterator[str]) -> None:
        self._lines, self.number = lines, 0

    def __iter__(self) -> "_Counted":
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        return line.replace("\0", "") + "\n"


def _mark(head: str) -> str:
    """What parts the cells: the sign that the first rows have most and evenly; a comma where nothing tells."""
    lines = [line for line in head.split("\n")[:PREAMBLE] if line.strip()]
    best = max(MARKS, key=lambda mark: max((line.count(mark) for line in lines), default=0))
    for line in lines:
        for mark in sorted(MARKS, key=lambda one: -line.count(one)):
            cells = {_plain(cell) for cell in line.split(mark)}
            if mark in line and any(cells & set(COLUMNS[field]) for field in TELLING):
                return mark
    if lines and _plain(lines[0]) in {name for field in TELLING for name in COLUMNS[field]}:
        return ","
    return best if lines else ""


def _plain(name: str) -> str:
    return PLAIN.sub("", name.strip().strip('"').strip().lower().lstrip("\ufeff"))


def _header(rows: Iterable[Row], options: Options) -> tuple[list[str], int] | None:
    """The names of the columns, and the line they stand in; the rows up to it are taken."""
    for line, cells in rows:
        names = [one_line(cell) for cell in cells]
        plain = {_plain(name) for name in names}
        asked = set(options.columns.values()) & set(names)
        if asked or any(plain & set(COLUMNS[field]) for field in TELLING):
            return names, line
    return None


def _places(names: Sequence[str], columns: Mapping[str, str]) -> dict[str, list[int]]:
    """Which cells may hold which field: the one that the person says, else all whose names fit, the most telling first."""
    plain = [_plain(name) for name in names]
    places = {field: [plain.index(name) for name in known if name in plain] for field, known in COLUMNS.items()}
    return places | {field: [list(names).index(name)] for field, name in columns.items() if name in names}


def _record(line: int, cells: list[str], places: Mapping[str, list[int]], width: int) -> Record | Refused:
    if cells and cells[0].startswith("\0"):
        return Refused(line, f"the row cannot be read ({cells[0][1:]}): is a quote not closed?")

    def cell(field: str) -> str:
        return next((cells[at] for at in places[field] if at < len(cells) and cells[at].strip()), "")

    title, abstract = one_line(cell("title")), clean(cell("abstract"))
    if len(cells) < width / 2 and not title:
        return Refused(line, f"{len(cells)} cells where the header has {width}, and no title: the row is broken")
    link, key = one_line(cell("url")), one_line(cell("key"))
    return Record(
        title=title,
        abstract=re.sub(r"\s*\n\s*", "\n", abstract),
        key=key if re.fullmatch(r"[A-Za-z][A-Za-z0-9:_.+/-]*\d[A-Za-z0-9:_.+/-]*", key) and not re.fullmatch(r"[A-Z0-9]{8}", key) else "",
        entry_type=entry_type(cell("type")),
        authors=author_list(re.sub(r"\s*\(\d{6,}\)", "", cell("authors"))),
        date=iso_date(_number(cell("date"))),
        venue=one_line(cell("venue")),
        language=language_code(cell("language")),
        identifiers=given(
            doi=doi_in(cell("doi")) or (doi_in(link) if "doi.org/" in link else ""),
            arxiv=arxiv_id(cell("arxiv")) or arxiv_id(link),
            pmid=_number(cell("pmid")),
            pmcid=one_line(cell("pmcid")),
            url=link if link.startswith("http") else "",
        ),
        details=given(
            volume=_number(cell("volume")),
            number=_number(cell("number")),
            pages=one_line(cell("pages")) or pages(_number(cell("first page")), _number(cell("last page"))),
            publisher=one_line(cell("publisher")),
        )
        | numbers([cell("issn")]),
        keywords=keyword_list([cell("keywords") if ";" in cell("keywords") else cell("keywords").replace(",", ";")]),
        line=line,
        raw=_as_line(cells),
    )


def _number(cell: str) -> str:
    """A cell's text; `2020.0` and `12.0` are numbers that a spreadsheet made."""
    return re.sub(r"^(\d+)\.0+$", r"\1", one_line(cell))


def _as_line(cells: list[str]) -> str:
    import io

    out = io.StringIO()
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()[:100_000]


# -- workbooks


def _workbook(file: SourceFile, options: Options) -> Iterator[Row]:
    """The rows of the first sheet that has a header; raises UnreadableFile for what is no workbook or means harm."""
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    _safe(file)
    try:
        with file.open() as stream:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            for sheet in book.worksheets:
                if _header(islice(_cells(sheet.iter_rows(values_only=True)), PREAMBLE), options):
                    yield from _cells(sheet.iter_rows(values_only=True))
                    return
    except (InvalidFileException, zipfile.BadZipFile, KeyError, ValueError, OSError, SyntaxError) as error:
        raise UnreadableFile(f"{file.name}: not a workbook that can be read ({type(error).__name__}); save it as CSV and add that") from error


def sheet_rows(path: Path, sheet: str) -> list[list[str]]:
    """The cells of a CSV file, or of a workbook's sheet of that name (the first, where it has none); raises UnreadableFile.

    A formula is what it came to when the workbook was saved, or its own words where that is not in it.
    """
    file = SourceFile(path.name, path)
    if not file.is_zip:
        return [cells for _, cells in _rows(file.lines(), _mark(file.head))]
    import openpyxl
    from openpyxl.utils.exceptions import InvalidFileException

    _safe(file)
    try:
        with file.open() as stream:
            books = [openpyxl.load_workbook(stream, read_only=True, data_only=is_shown, keep_links=False) for is_shown in (True, False)]
            shown, typed = ([cells for _, cells in _cells(_sheet(book, sheet).iter_rows(values_only=True))] for book in books)
            return [[(one or other).replace("_x005F_", "_") for one, other in zip(*rows, strict=True)] for rows in zip(shown, typed, strict=True)]
    except (InvalidFileException, zipfile.BadZipFile, KeyError, IndexError, ValueError, OSError, SyntaxError) as error:
        raise UnreadableFile(f"{file.name}: not a workbook that can be read ({type(error).__name__}); save it as CSV and give that") from error


def _sheet(book: "Workbook", name: str) -> "Worksheet":
    found: Worksheet = book[name] if name in book.sheetnames else book.worksheets[0]
    return found


def _cells(rows: Iterable[Sequence[object]]) -> Iterator[Row]:
    for number, row in enumerate(rows, 1):
        yield number, ["" if value is None else str(value)[:LONGEST_FIELD] for value in row]


def _safe(file: SourceFile) -> None:
    """Refuses a zip bomb by what its members really unpack to, since their headers may lie."""
    try:
        with file.open() as stream, zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            if len(members) > MOST_MEMBERS:
                raise UnreadableFile(f"{file.name}: an archive of {len(members)} files; no workbook is")
            total = 0
            for member in members:
                with archive.open(member) as part:
                    size = 0
                    while block := part.read(2**20):
                        size += len(block)
                        total += len(block)
                        if total > MOST_UNPACKED or (size > 10 * 2**20 and size > MOST_RATIO * max(member.compress_size, 1)):
                            raise UnreadableFile(f"{file.name}: unpacks to far more than it is (a zip bomb); it was not read")
    except (zipfile.BadZipFile, OSError, NotImplementedError, RuntimeError) as error:
        raise UnreadableFile(f"{file.name}: not a workbook that can be read ({error}); save it as CSV and add that") from error
