"""BibTeX as it is exported: names, mathematics, dates and identifiers, and what is reported where an entry is broken."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.errors import UnreadableFile
from store.formats import read_bytes
from store.formats.reading import Reading
from store.paper import Record


def read(text: str) -> Reading:
    """What the text of a .bib file holds."""
    return read_bytes(text.encode(), "refs.bib")


def entry(**fields: str) -> Record:
    """The record of an entry with these fields."""
    body = ",\n".join(f"  {name} = {{{value}}}" for name, value in ({"title": "A Title"} | fields).items())
    (record,) = read(f"@article{{key,\n{body}\n}}\n").records
    return record


@pytest.mark.parametrize(
    ("field", "names"),
    [
        ("Ada Lovelace", ["Ada Lovelace"]),
        ("Lovelace, Ada and Turing, Alan", ["Ada Lovelace", "Alan Turing"]),
        ("Lovelace, Ada\n  and\n  Alan Turing", ["Ada Lovelace", "Alan Turing"]),
        ("King, Jr., Martin Luther", ["Martin Luther King Jr."]),
        ("van Beethoven, Ludwig", ["Ludwig van Beethoven"]),
        ("{Barnes and Noble, Inc.}", ["Barnes and Noble, Inc."]),
        ("{OpenAI} and Ada Lovelace", ["OpenAI", "Ada Lovelace"]),
        ("Ada Lovelace and others", ["Ada Lovelace"]),
        (r"H{\"u}botter, Jonas", ["Jonas Hübotter"]),
        (r"{\c{C}}a{\u{g}}atan, {\"O}mer", ["Ömer Çağatan"]),
        (r"Erd\H{o}s, Paul and {\L}ukasiewicz, Jan and {\AA}ngstr{\"o}m, A. and Garc{\'\i}a, F.",
         ["Paul Erdős", "Jan Łukasiewicz", "A. Ångström", "F. García"]),
        ("Müller, Jörg and 张, 三", ["Jörg Müller", "三 张"]),
        (r"{\'A}lvarez, Jos{\'e}", ["José Álvarez"]),
    ],
)  # fmt: skip
def test_names_are_printed_names(field: str, names: list[str]) -> None:
    """Given name first, accents as letters, corporate names whole, `others` left out."""
    assert list(entry(author=field).authors) == names


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("{SDPO} in $SE(3)$", "SDPO in $SE(3)$"),
        (r"On $\alpha_{1}$-{F}lows and \(x^2\)", r"On $\alpha_{1}$-Flows and \(x^2\)"),
        (r"Caf{\'e} na\"{\i}ve {\ss} \O", "Café naïve ß Ø"),
        (r"Gains of 5\% \& more", "Gains of 5% & more"),
        ("Two\n   lines", "Two lines"),
        ("{{Wholly Protected}}", "Wholly Protected"),
        ("Über 50% of A_b", "Über 50% of A_b"),
        (r"It costs \$5 and \$6", "It costs $5 and $6"),
        (r"A gain of 5% in {\"o}kologie", "A gain of 5% in ökologie"),
    ],
)  # fmt: skip
def test_titles_and_abstracts_are_letters_with_mathematics_kept(field: str, text: str) -> None:
    """Accents and signs are decoded, protecting braces go, formulas stay as they stood."""
    record = entry(title=field, abstract=field)
    assert (record.title, record.abstract) == (text, text)


@pytest.mark.parametrize(
    ("fields", "date"),
    [
        ({"year": "2026"}, "2026"),
        ({"year": "2026", "month": "3"}, "2026-03"),
        ({"year": "2026", "month": "March"}, "2026-03"),
        ({"year": "2026", "month": "13"}, "2026"),
        ({"date": "2026-03-25"}, "2026-03-25"),
        ({"date": "2026-03"}, "2026-03"),
        ({"year": "in press"}, ""),
        ({"year": "c. 1998"}, "1998"),
        ({}, ""),
    ],
)
def test_dates_are_as_precise_as_they_are_given(fields: dict[str, str], date: str) -> None:
    """`date`, or year and month; a month nobody knows is left out, and no year is made up."""
    record = entry(**fields)
    assert (record.date, record.date_inferred) == (date, False)


@pytest.mark.parametrize(
    ("fields", "identifiers"),
    [
        ({"doi": "10.1234/AB.5"}, {"doi": "10.1234/ab.5"}),
        ({"doi": "https://doi.org/10.1234/AB.5"}, {"doi": "10.1234/ab.5"}),
        ({"eprint": "2603.00001v2", "archivePrefix": "arXiv"}, {"arxiv": "2603.00001"}),
        ({"eprint": "2603.00001", "eprinttype": "arxiv"}, {"arxiv": "2603.00001"}),
        ({"eprint": "hep-th/9901001", "archivePrefix": "arXiv"}, {"arxiv": "hep-th/9901001"}),
        ({"eprint": "123456", "eprinttype": "jstor"}, {}),
        ({"url": "https://example.org/a"}, {"url": "https://example.org/a"}),
        ({"url": "https://arxiv.org/abs/2603.00001v3"}, {"arxiv": "2603.00001", "url": "https://arxiv.org/abs/2603.00001v3"}),
        ({"doi": r"10.1234/ab\_5"}, {"doi": "10.1234/ab_5"}),
        ({"eprint": "arXiv:2603.00001", "archivePrefix": "arXiv"}, {"arxiv": "2603.00001"}),
        ({"eprint": "PMC12345"}, {}),
    ],
)  # fmt: skip
def test_identifiers_are_bare(fields: dict[str, str], identifiers: dict[str, str]) -> None:
    """A DOI in lower case without its address, an arXiv id without its version, and only where it is one."""
    assert dict(entry(**fields).identifiers) == identifiers


def test_the_other_fields() -> None:
    """Type, venue, subject and keywords; the venue is the journal or the book, whichever there is."""
    record = entry(booktitle="Proc. of {ICML}", keywords="reward hacking, RL; safety", primaryClass="cs.LG")
    assert (record.entry_type, record.venue) == ("article", "Proc. of ICML")
    assert (record.keywords, record.categories) == (("reward hacking", "RL", "safety"), ("cs.LG",))
    assert entry(journal="J. Bridges", booktitle="A Book").venue == "J. Bridges"


def test_lines_and_raw_records_are_those_of_the_file() -> None:
    """Each record knows where it stood, comments and strings between them."""
    text = '@string{icml = "ICML"}\n\n% a remark\n@misc{a,\n title = {One}\n}\n@comment{left out}\n@misc{b, title = {Two}, booktitle = icml}\n'
    one, two = read(text).records
    assert (one.line, two.line) == (4, 8)
    assert one.raw == "@misc{a,\n title = {One}\n}"


@pytest.mark.parametrize(
    ("text", "keys", "lines"),
    [
        ("@misc{a, title={One}}\n@misc{b, title={Two\n\n@misc{c, title={Three}}\n", ["a", "c"], [2]),
        ("@misc{a, title={One}}\n@misc{b, title={Two}\n", ["a"], [2]),
        ("@misc{a, title={One}}\n@misc{a, title={Two}}\n@misc{b, title={Three}}", ["a", "a", "b"], []),
        ('@misc{a, title={One}}\n@misc{b, title="Two}\n@misc{c, title={Three}}\n', ["a", "c"], [2]),
    ],
    ids=["open brace", "cut off", "key used twice", "open quote"],
)
def test_a_broken_entry_is_reported_and_the_others_kept(text: str, keys: list[str], lines: list[int]) -> None:
    """With the line at which it starts."""
    reading = read(text)
    assert [record.key for record in reading.records] == keys
    assert [refused.line for refused in reading.refused] == lines
    assert all(refused.reason for refused in reading.refused)


def test_only_comments_are_no_bibliography() -> None:
    """A file of strings and comments holds no paper and says so."""
    with pytest.raises(UnreadableFile, match=r"refs\.bib"):
        read('@string{icml = "ICML"}\n@comment{nothing}\n')


@given(st.text(alphabet='ab {}\\"$%,=@\n~-éö中', max_size=80))
def test_no_field_stops_a_file(value: str) -> None:
    """Whatever stands in an entry, the file is read or refused by name, and the entry before it is kept."""
    reading = read(f"@misc{{first, title={{One}}}}\n@misc{{second, title={{{value}}}}}\n")
    assert reading.records[0].key == "first"
    assert reading.records[0].title == "One"
