"""JSON from citation managers, OpenAlex, Semantic Scholar, Crossref and anybody else."""

import json
import time
import tracemalloc
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import UnreadableFile
from store.formats import crossref, csl_json, json_items, json_lines, openalex, semantic_scholar
from store.formats.file import SourceFile
from store.formats.reading import Options
from store.paper import Record, Refused

DATA = Path(__file__).parents[1] / "data"
READERS: tuple[ModuleType, ...] = (crossref, openalex, semantic_scholar, csl_json, json_lines)
FILES = {
    path: reader
    for reader in READERS
    for path in sorted((DATA / reader.__name__.rpartition(".")[2]).iterdir())
    if path.with_name(f"{path.name}.json").exists()
}
HEADS = ("", "[", "[\n", '{"results": [', '{"message": {"items": [', '{"title": "x"}\n', '[{"id": "a", "title": "b"},', '{"title": ', "{")
NAMED = [pytest.param(path, reader, id=f"{path.parent.name}/{path.name}") for path, reader in FILES.items()]


def pasted(text: str) -> SourceFile:
    """The text as a file."""
    return SourceFile("pasted", data=text.encode("utf-8", "surrogatepass"))


def read(text: str, reader: ModuleType = json_lines, options: Options | None = None) -> list[Record | Refused]:
    """What the text holds."""
    return list(reader.read(pasted(text), options or Options()))


def shown(item: Record | Refused) -> dict[str, object]:
    """A record with its fields that say something, as the expectations have it."""
    if isinstance(item, Refused):
        return {"refused": item.reason, "line": item.line}
    fields = {name: value for name, value in asdict(item).items() if value and name != "raw"}
    plain: dict[str, object] = json.loads(json.dumps(fields))
    return plain


def titles(found: list[Record | Refused]) -> list[str]:
    """The titles of the records, and the lines of those refused."""
    return [item.title if isinstance(item, Record) else f"refused on {item.line}" for item in found]


# Whole files


@pytest.mark.parametrize(("path", "reader"), NAMED)
def test_every_record_is_read_as_it_stands(path: Path, reader: ModuleType) -> None:
    """Each file gives exactly the records written down beside it."""
    expected = json.loads(path.with_name(f"{path.name}.json").read_text(encoding="utf-8"))
    assert [shown(item) for item in reader.read(SourceFile(path.name, path), Options())] == expected


@pytest.mark.parametrize(("path", "reader"), NAMED)
def test_the_first_reader_that_knows_a_file_is_its_own(path: Path, reader: ModuleType) -> None:
    """Asked in order, the readers tell the five layouts apart."""
    assert next(other for other in READERS if other.matches(SourceFile(path.name, path))) is reader


@pytest.mark.parametrize(("path", "reader"), NAMED)
def test_a_file_is_known_by_its_first_characters(path: Path, reader: ModuleType) -> None:
    """Cut inside its first record, a file is not taken for another service's."""
    text = path.read_text(encoding="utf-8")[:1200]
    assert next(other for other in READERS if other.matches(pasted(text))) in {reader, json_lines}


@pytest.mark.parametrize(("path", "reader"), NAMED)
def test_raw_is_the_text_of_the_record(path: Path, reader: ModuleType) -> None:
    """What is kept of a record stands in the file, on the line that is said, and is whole JSON."""
    text = path.read_text(encoding="utf-8")
    for item in reader.read(SourceFile(path.name, path), Options()):
        if isinstance(item, Record):
            assert item.raw in text
            assert text.split("\n")[item.line - 1].find(item.raw.split("\n")[0]) >= 0
            assert isinstance(json.loads(item.raw), dict)


@pytest.mark.parametrize("text", ["[1] A list of references, as prose.", "@article{a, title={B}}", "TY  - JOUR", "<html>", "title,abstract\na,b", "{a: 1}"])
def test_other_layouts_are_left_alone(text: str) -> None:
    """Prose, BibTeX, RIS, pages and tables are no JSON."""
    assert not any(reader.matches(pasted(text)) for reader in READERS)


# What holds the records


@pytest.mark.parametrize("name", sorted(json_items.LISTS))
def test_the_list_stands_under_a_known_name(name: str) -> None:
    """Whatever a service calls its list, on one line or many, the papers in it are found."""
    holder = {"total": 2, "next": None, name: [{"title": "A"}, {"title": "B"}], "after": {"x": [1]}}
    for indent in (None, 0, 1, 4):
        assert titles(read(json.dumps(holder, indent=indent))) == ["A", "B"]


def test_a_list_of_a_paper_is_not_the_list_of_papers() -> None:
    """A paper alone keeps its references as its own."""
    text = json.dumps({"paperId": "1" * 40, "title": "A", "references": [{"paperId": "2" * 40, "title": "B"}]})
    for found in (read(text, semantic_scholar), read(f"{text}\n{text}", semantic_scholar)):
        assert {item.references for item in found if isinstance(item, Record)} == {(f"semanticscholar:{'2' * 40}",)}


def test_pages_of_replies_behind_one_another() -> None:
    """Replies that were appended to one file are read one after the other, with their lines."""
    page = {"meta": {"page": 1}, "results": [{"title": "A"}, {"title": "B"}], "group_by": []}
    flat, pretty = json.dumps(page), json.dumps(page, indent=1)
    assert titles(read(f"{flat}\n{flat}\n")) == ["A", "B", "A", "B"]
    assert titles(read(f"{pretty}\n{pretty}\n")) == ["A", "B", "A", "B"]
    assert [item.line for item in read(f"{flat}\n{flat}\n")] == [1, 1, 2, 2]
    assert titles(read('[{"title": "A"}]\n[{"title": "B"}]')) == ["A", "B"]


def test_lines_with_commas_blank_lines_and_record_marks() -> None:
    """Lines that were torn out of a list, and those of JSON text sequences, are read as they are."""
    assert titles(read('{"title": "A"},\n\n{"title": "B"},\n')) == ["A", "B"]
    assert titles(read(f'\x1e{{"title": "A"{" " * 80}}}\n\x1e{{"title": "B"{" " * 80}}}\n')) == ["A", "B"]
    assert titles(read('\ufeff{"title": "A"}\r\n{"title": "B"}\r\n')) == ["A", "B"]


def test_a_first_line_that_is_broken_leaves_the_others() -> None:
    """A list that holds lines is still known by its second line."""
    assert titles(read('{"title": "A, \n{"title": "B"}\n{"title": "C"}')) == ["refused on 1", "B", "C"]


# Broken items


@pytest.mark.parametrize("indent", [None, 0, 2])
@pytest.mark.parametrize("fault", ['"title" "B"', '"title": "B', '"title": B"', '"title": ["B"', '"title": "\\q"', '"title": ' + "[" * 100_000 + "]" * 100_000])
def test_a_broken_item_leaves_those_before_and_after_it(fault: str, indent: int | None) -> None:
    """One fault costs one record, however the list is printed."""
    good = [json.dumps({"id": at, "title": title}, indent=indent) for at, title in enumerate("ABC")]
    bad = json.dumps({"id": 1, "title": "B"}, indent=indent).replace('"title": "B"', fault)
    between = ",\n" if indent is not None else ", "
    found = read("[\n" + between.join([good[0], bad, good[2]]) + "\n]") if indent is not None else read("[" + between.join([good[0], bad, good[2]]) + "]")
    assert [title for title in titles(found) if "refused" not in title] == ["A", "C"]
    assert sum(isinstance(item, Refused) for item in found) == 1


def test_refusals_name_the_line_and_what_to_do() -> None:
    """A person who reads why a record was left out finds the place and knows what to do."""
    found = read('[\n {"title": "A"},\n {"title": "B",\n  "year": 20 20},\n {"title": "C"}\n')
    assert [item.line for item in found] == [2, 3, 5, 6]
    assert "on line 4" in found[1].reason  # type: ignore[union-attr]
    assert found[3].reason.startswith("the list ends here without its closing bracket")  # type: ignore[union-attr]


def test_what_is_no_object_is_refused_in_its_place() -> None:
    """A number, a text, null, true and a list among the items are named for what they are."""
    found = read('[1, "x", null, true, [2], {"title": "A"}, 1.5, nonsense, {"title": "B"}, }, {"title": "C"}] rest')
    assert [item.title for item in found if isinstance(item, Record)] == ["A", "B", "C"]
    reasons = [item.reason for item in found if isinstance(item, Refused)]
    assert [reason.split(" stands")[0] for reason in reasons[:6]] == [
        f"no record but {kind}" for kind in ("a number", "a text", "null", "true or false", "a list", "a number")
    ]
    assert "no JSON" in reasons[-1]


def test_a_faulty_list_is_read_in_time_that_grows_with_it() -> None:
    """Thousands of broken items, on one line or each on its own, do not start the file over at each of them."""
    for broken in ('{"title": "B" "year": 1}', '{"title": ["B"', '{"title": "B'):
        for between in (",", ",\n"):
            started = time.process_time()
            assert len(read("[" + between.join([broken] * 5_000) + "]")) > 2_400
            assert time.process_time() - started < 10


@pytest.mark.parametrize("name", ["title", "abstract", "authors", "doi", "url", "arxiv", "pmid", "date", "language", "key", "keywords", "note", "id", "venue", "type"])
def test_a_field_of_two_hundred_kilobytes_is_read_at_once(name: str) -> None:
    """No pattern goes over a long field again and again."""
    unit = ("a", "1", " ", "a ", "\n", "_a", "-a", "((", "10.1234/", "<b ", "<p>", "&#", "http://", "arxiv:", "v1", "a, ", " and ", "PMID:", "1.")
    for text in unit:
        value = "en" + text * (100_000 // len(text)) + "!"
        started = time.process_time()
        for reader in READERS:
            reader.record({name: value, name.upper(): value, "externalIds": {name: value}, "ids": {name: value}})
        assert time.process_time() - started < 2, text


def test_a_list_of_lines_is_never_held_whole() -> None:
    """Only the line that is read is in memory, and the library's caller holds what it wants."""
    line = json.dumps({"title": "A" * 100, "abstract": "b" * 2_000}) + "\n"
    file = pasted(line * 5_000)
    tracemalloc.start()
    assert sum(1 for _ in json_lines.read(file, Options())) == 5_000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * 2**20


# Fields


def test_places_far_apart_cost_no_memory() -> None:
    """An abstract whose words claim places up to a thousand million is as long as its words."""
    index = {f"w{at}": [at * 10**7] for at in range(100)}
    work = openalex.record({"id": "https://openalex.org/W1234", "abstract_inverted_index": index})
    assert isinstance(work, Record)
    assert work.abstract == " ".join(index)


def test_columns_come_before_guesses() -> None:
    """What the person says a field is called is taken, and where it is empty the guess."""
    text = '{"title": "wrong", "name_of_it": "Right", "who": ["A B"]}\n{"title": "guessed", "name_of_it": ""}\n'
    found = read(text, options=Options(columns={"title": "name_of_it", "authors": "who"}))
    assert titles(found) == ["Right", "guessed"]
    assert isinstance(found[0], Record)
    assert found[0].authors == ("A B",)


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        ("Ada Lovelace", ("Ada Lovelace",)),
        ("Lovelace, Ada", ("Ada Lovelace",)),
        ("A. B. Cee, D. Eff and G. Aitch", ("A. B. Cee", "D. Eff", "G. Aitch")),
        ("Cee, A. B.; Eff, D.", ("A. B. Cee", "D. Eff")),
        ("Cee, A. and Eff, D. and others", ("A. Cee", "D. Eff")),
        ("Cee, A., Eff, D., Aitch, G.-H.", ("A. Cee", "D. Eff", "G.-H. Aitch")),
        ("Ann Lee & Bob Ray", ("Ann Lee", "Bob Ray")),
        ("Sandy Anderson", ("Sandy Anderson",)),
        ("", ()),
    ],
)
def test_authors_in_one_text(printed: str, names: tuple[str, ...]) -> None:
    """Lists of names are taken apart as they were meant."""
    assert json_lines.authors_of(printed) == names


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ("smith2020deep", "smith2020deep"),
        ("@smith:2020", "smith:2020"),
        ("Müller_2019", "Müller_2019"),
        ("http://zotero.org/users/1/items/AB", ""),
        ("12345", ""),
        ("1234567/ABCD2345", ""),
        ("ABCD2345", ""),
        ("ITEM-1", ""),
        ("10.1000/182", ""),
        ("6f1c2b7e-0000-4000-8000-123456789abc", ""),
        ("two words", ""),
    ],
)
def test_an_id_is_a_key_only_if_it_looks_like_one(value: str, key: str) -> None:
    """Addresses, numbers and the ids that programs give are no citation keys."""
    assert csl_json.citation_key(value) == key


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("<jats:p>a <jats:italic>b</jats:italic> c</jats:p>", "a b c"),
        ("<p>a</p><p>b</p>", "a\nb"),
        ("<jats:title>Aims</jats:title><jats:p>a</jats:p><jats:title>Results</jats:title><jats:p>b</jats:p>", "Aims: a\nResults: b"),
        ("if a <b and c> d, p<0.05", "if a <b and c> d, p<0.05"),
        ("AT&T &amp; R&D &lt;x&gt; &nosuch;", "AT&T & R&D <x> &nosuch;"),
        ("BACKGROUND: a\nb\nMETHODS: c", "BACKGROUND: a b\nMETHODS: c"),
        ("one\nline\n\ntwo", "one line\ntwo"),
    ],
)
def test_markup_goes_and_the_words_stay(marked: str, expected: str) -> None:
    """Tags and entities are taken out of an abstract, comparisons and unknown words are not."""
    assert json_items.unmarked(marked) == expected


# Anything whatever


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.sampled_from(["10.1000/x", "2005.01234", "2020-01-02", "<p>", "W12"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "family", "given", "date-parts", "raw", "DOI", "url", "a"]), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "id title display_name abstract abstract_inverted_index author authors authorships issued year publication_date container-title DOI doi PMID ids"
    " biblio primary_location locations keywords keyword referenced_works references reference externalIds openAccessPdf journal publicationVenue"
    " venue citedPaper page volume ISSN ISBN type language update-to updated-by categories url versions note subtitle editor resource link"
).split()


@given(st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6))
def test_no_type_anywhere_stops_a_reader(item: dict[str, object]) -> None:
    """A list, number or object where a text is expected is an empty field, in every reader, and texts can be stored."""
    for reader in READERS:
        found = reader.record(item, 3, "raw")
        assert found.line == 3
        if isinstance(found, Record):
            json.dumps(asdict(found), ensure_ascii=False).encode()
            assert all(isinstance(one, str) for one in (found.title, found.abstract, found.key, *found.authors, *found.identifiers.values()))


@given(st.sampled_from(HEADS), st.text(alphabet=st.characters(codec="utf-8"), max_size=200) | st.text(alphabet='{}[]",:\\ \nab1', max_size=60))
def test_any_text_gives_records_and_refusals(head: str, rest: str) -> None:
    """Whatever stands behind a beginning, a reader hands out records and refusals and comes to an end."""
    for reader in (json_lines, csl_json):
        try:
            found = list(_bounded(reader.read(pasted(head + rest), Options())))
        except UnreadableFile:
            continue
        assert all(isinstance(item, Record | Refused) for item in found)


def _bounded(found: Iterator[Record | Refused]) -> Iterator[Record | Refused]:
    for number, item in enumerate(found):
        assert number < 2_000
        yield item


@given(st.sampled_from(sorted(FILES)), st.floats(0, 1))
def test_a_file_cut_anywhere_keeps_its_whole_records(path: Path, share: float) -> None:
    """Every record that ends before the cut is read as from the whole file."""
    text = path.read_text(encoding="utf-8")
    cut = text[: int(len(text) * share)]
    if not cut.strip():
        return
    whole = [item for item in FILES[path].read(SourceFile(path.name, path), Options()) if isinstance(item, Record)]
    found = read(cut, FILES[path])
    at, kept = 0, []
    for item in whole:
        at = text.index(item.raw, at) + len(item.raw)
        kept += [item] if at <= len(cut) else []
    assert [item for item in found if isinstance(item, Record)][: len(kept)] == kept
