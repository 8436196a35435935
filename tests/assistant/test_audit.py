r"""`carrel audit`: a manuscript of several files and its bibliography, each \cite held against the library."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assistant import bibliographies, manuscript
from assistant.errors import UsageError
from assistant.gateway import Gateway
from assistant.settings import Settings, read_settings
from assistant.tasks.audit import audit, concluded, holds
from assistant.tasks.desk import Desk
from store.formats import bibtex
from store.formats.file import SourceFile
from store.formats.reading import Options
from store.library import Library
from store.paper import Record
from tests.assistant.test_check import Reader
from tests.conftest import ROOT, Carrel

PAPER = ROOT / "tests" / "data" / "audit" / "paper"


def cited(path: Path, *macros: str, root: Path | None = None) -> list[tuple[str, str, list[str]]]:
    read = manuscript.read(path, macros, root)
    return [(str(one.place), one.text, [cite.key for cite in one.cites]) for part in read.paragraphs for one in part.sentences]


def written(folder: Path, text: str, name: str = "paper.tex") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("suffix", ["md", "csv", "json"])
def test_a_whole_manuscript_is_audited(carrel: Carrel, folder: Path, tmp_path: Path, suffix: str) -> None:
    """Verdicts with their sentences, loose claims, a paper that would fit, the bibliography field by field; nothing of it is changed."""
    before = {path: path.read_bytes() for path in PAPER.rglob("*") if path.is_file()}
    ran = carrel("audit", PAPER / "paper.tex", PAPER / "refs.bib", "--to", suffix, "--output", tmp_path / "out", at=folder)
    assert ran.code == 1
    assert ran.out.rstrip().splitlines()[-1].startswith("13 citations in 2 files: 3 supported,")
    assert (tmp_path / "out" / f"audit-of-paper.tex.{suffix}").read_text("utf-8") == (PAPER.parent / f"expected.{suffix}").read_text("utf-8")
    assert {path: path.read_bytes() for path in PAPER.rglob("*") if path.is_file()} == before


def test_the_bibliography_is_found_and_json_has_the_shape(carrel: Carrel, folder: Path) -> None:
    r"""Without BIB the file of \bibliography counts; --json prints what the JSON file holds."""
    ran = carrel("audit", PAPER / "paper.tex", "--json", at=folder)
    assert json.loads(ran.out) == json.loads((PAPER.parent / "expected.json").read_text("utf-8"))
    shape = json.loads(ran.out)
    by_key = {(one["key"], one["place"]): one for one in shape["citations"]}
    assert by_key["XieTIPS", "paper.tex:18"]["support"] == "supported"
    assert by_key["ZhaoWeather", "paper.tex:18"]["support"] == "too little to tell"
    assert by_key["GhostKey", "sections/related.tex:14"]["support"] == "not"
    assert shape["never_cited"] == ["Unread"]
    assert shape["missing"] == [{"key": "GhostKey", "place": "sections/related.tex:14", "near": None}]


@pytest.mark.parametrize("suffix", ["html", "xlsx"])
def test_it_is_written_for_people_too(carrel: Carrel, folder: Path, tmp_path: Path, suffix: str) -> None:
    """A page and a workbook."""
    assert carrel("audit", PAPER / "paper.tex", "--to", suffix, "--output", tmp_path, at=folder).code == 1
    assert (tmp_path / f"audit-of-paper.tex.{suffix}").stat().st_size > 1_000


@pytest.mark.parametrize(
    ("text", "code", "strict"),
    [
        (r"TIPS pays each segment of reasoning plus tool call a reward of its own \cite{xie2026tips}.", 0, 0),
        (r"With Qwen-2.5 7B Instruct, average Exact Match gains 18.1\% over PPO \cite{xie2026tips}.", 0, 1),
        (r"Average Exact Match gains a lot over PPO here \cite{xie2026tip}.", 1, 1),
        (r"It is called ``a bonus that changes which policy is best'' \cite{xie2026tips}.", 1, 1),
        (r"It is called ``a bonus that changes which policy is best'' \cite[p.~4]{xie2026tips}.", 0, 0),
    ],
)
def test_the_exit_code_serves_a_papers_ci(carrel: Carrel, folder: Path, tmp_path: Path, text: str, code: int, strict: int) -> None:
    """1 where something is not supported; --strict lets nothing doubtful pass; words quoted from a page of the full text cannot be told."""
    path = written(tmp_path, text)
    assert carrel("audit", path, at=folder).code == code
    assert carrel("audit", path, "--strict", at=folder).code == strict


def test_of_two_keys_one_may_be_wrong(library: Library, tmp_path: Path) -> None:
    r"""\cite{a,b} is judged key by key, and citations in two places by the words before each."""
    path = written(
        tmp_path,
        "The final answer says little about which reasoning step or tool call helped \\cite{xie2026tips,stasica2025bridge}.\n"
        "Exact Match gains 11.8\\% over PPO with Qwen-2.5 7B Instruct \\cite{xie2026tips}, while accuracy on GenEval climbs from 63\\% to 95\\% with SD3.5 \\cite{liu2025flowgrpo}.\n",
    )
    document = concluded(library, audit(library, manuscript.read(path), bibliographies.Bibliography(), lambda done, total: None))
    assert document.audit
    assert [(one.key, one.support) for one in document.audit.citations] == [
        ("xie2026tips", "supported"), ("stasica2025bridge", "doubtful"), ("xie2026tips", "supported"), ("liu2025flowgrpo", "supported"),
    ]  # fmt: skip
    assert document.audit.citations[0].cite
    assert document.audit.citations[0].cite.sentences == (1,)
    assert holds(document)
    assert not holds(document, strict=True)


def test_the_second_reader_decides_what_code_cannot(library: Library, tmp_path: Path) -> None:
    """Its verdict stands, with its words; what names no work stays as it is."""
    path = written(tmp_path, "TIPS beats all methods, PPO and GRPO among them \\cite{xie2026tips}. It pays each segment of reasoning well \\cite{xie2026tips,none}.\n")
    reader = Reader()
    with Gateway(reader) as gateway:  # type: ignore[arg-type]  # it never streams
        desk = Desk(library, gateway, Settings(), second_reader=True)
        raw = audit(library, manuscript.read(path), bibliographies.Bibliography(), lambda done, total: None)
        document = concluded(library, desk.finished(raw))
    assert len(reader.asked) == 2
    assert document.audit
    assert [(one.support, one.by) for one in document.audit.citations] == [("partly", "second reader"), ("supported", "second reader"), ("not", "code")]
    assert "“all” (population)" in document.audit.citations[0].reasons[-1].reason


def test_files_are_read_where_they_are_read_in(tmp_path: Path) -> None:
    """Places are those of the file; what is missing, in a circle or outside the folder is said, and the rest is read."""
    written(tmp_path, "secret \\cite{z}.", "outside.tex")
    home = tmp_path / "paper"
    path = written(home, "One goes on\n\\input{parts/a}\nand ends here \\cite{x}.\n\\input{gone}\\input{../outside}\n")
    written(home, "in a file of its own \\cite{y}\n\\input{paper}\n", "parts/a.tex")
    written(home, "\\documentclass{article}\\begin{document}Standing alone \\cite{w}.\\end{document}", "sub/b.tex")
    read = manuscript.read(path)
    assert [(str(place), key) for key, place in read.cited.items()] == [("paper.tex:1", "y"), ("paper.tex:1", "x")]
    assert [one.place for one in read.remarks] == ["parts/a.tex:2", "paper.tex:4", "paper.tex:4"]
    assert ["circle" in one.text or "not there" in one.text or "lies outside" in one.text for one in read.remarks] == [True] * 3
    assert "z" in manuscript.read(path, (), tmp_path).cited
    assert cited(written(home, "\\subfile{sub/b}\n", "main.tex")) == [("sub/b.tex:1", "Standing alone.", ["w"])]


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        (r"It works \citep[see][p. 3]{a,b} and \citealp{c}, \parencite{d}, \Textcite[12]{e}, \footcite{f}.", "abcdef"),
        (r"It works \autocites(see)(p. 3)[pre][post]{a}[9]{b}.", "ab"),
        (r"It works \volcite{2}[p. 3]{a} \citetext{see \citealp{b}} \citeyear{c}.", "abc"),
        (r"It works \cite{a" + "\n" + r", b}. \verb|\cite{no}| % \cite{no}" + "\n", "ab"),
        (r"\begin{verbatim}\cite{no}\end{verbatim}\iffalse \cite{no}\fi\begin{comment}\cite{no}\end{comment}It works \cite{a}.", "a"),
        (r"\newcommand{\cf}[2][see]{\citep[#1][p.~3]{#2}}It works \cf{a} and \cf[also]{b}.", "ab"),
        (r"\def\who#1{\citet{#1}}\let\old\cite \who{a} works \old{b}.", "ab"),
        (r"\NewDocumentCommand{\xc}{s O{} m}{\IfBooleanTF{#1}{\citet[#2]{#3}}{\citep[#2]{#3}}}It works \xc*[p. 2]{a}.", "a"),
        (r"It works \mycite[p. 1]{a}.", "a"),
        (r"It works.\nocite{no} A note\footnote{It holds \cite{a}.} stands here \cite{b}.", "ab"),
        (r"\begin{figure}\caption[x]{It works \cite{a}.}\end{figure}It ends.", "a"),
        (r"Unclosed \cite{no" + "\n\n" + r"it works \cite{a}.", "a"),
    ],
)
def test_each_way_to_cite_is_read(tmp_path: Path, text: str, keys: str) -> None:
    r"""natbib, biblatex, macros defined or told; comments, code and \nocite state nothing."""
    read = manuscript.read(written(tmp_path, text), ["mycite"])
    assert sorted(cite.key for part in read.paragraphs for one in part.sentences for cite in one.cites) == list(keys)
    assert read.elsewhere == ()


def test_other_encodings_and_markdown_are_read(tmp_path: Path) -> None:
    """Latin-1 is no fault; Markdown names its bibliography in its header."""
    (tmp_path / "old.tex").write_bytes("Die Größe wächst \\cite{a}.".encode("latin-1"))
    assert cited(tmp_path / "old.tex") == [("old.tex:1", "Die Größe wächst.", ["a"])]
    written(tmp_path, "@misc{a, title={A Title of Some Length}}", "refs.bib")
    path = written(tmp_path, "---\nbibliography: [refs.bib, gone.bib]\n---\n\n# One\n\nIt works [see @a, p. 3].\n", "p.md")
    read = manuscript.read(path)
    assert [one.name for one in read.bibliographies] == ["refs.bib"]
    assert (cited(path), read.paragraphs[0].sentences[0].cites[0].page) == ([("p.md:7", "It works.", ["a"])], "p. 3")
    assert "gone.bib" in read.remarks[0].text


@pytest.mark.parametrize(("name", "text", "says"), [("a.sty", "x", "style file"), ("refs.bib", "@misc{a}", "bibliography"), ("b.tex", "", "is empty"), ("c.tex", "{" * 5000, "too deep")])
def test_what_is_no_manuscript_is_said(tmp_path: Path, name: str, text: str, says: str) -> None:
    """With what to give instead."""
    with pytest.raises(UsageError, match=says):
        manuscript.read(written(tmp_path, text, name))


def test_a_manuscript_that_does_not_parse_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """Unclosed braces, no \\begin{document} and macros without end are remarks, not the end."""
    path = written(tmp_path, "\\documentclass{a}\n\\newcommand{\\a}{\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a\\a}\nIt works \\cite{x}. \\textbf{open\n\n\\a\\a\\a\n")
    said = " ".join(f"{one.place} {one.text}" for one in manuscript.read(path).remarks)
    assert "paper.tex:3 a brace that opens here is not closed" in said
    assert "no \\begin{document}" in said
    assert "macros write out to more text" in said
    assert "x" in manuscript.read(path).cited


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet=st.sampled_from("ab .\n[]{}()\\%$*&,~^\ue002中"), max_size=60), st.sampled_from(["\\cite{", "\\begin{figure}", "\\footnote{", "\\newcommand{\\x}[1]{", "\\[", "\\verb|"]))
def test_any_manuscript_is_read(tmp_path_factory: pytest.TempPathFactory, text: str, command: str) -> None:
    """Never an error, and every place is a line of the file."""
    path = tmp_path_factory.mktemp("any") / "m.tex"
    path.write_text(f"a {text}{command}{text}", "utf-8")
    lines = path.read_text("utf-8").count("\n") + 1
    assert all(1 <= one.place.line <= lines for part in manuscript.read(path).paragraphs for one in part.sentences)


ENTRY = {"author": "Hieu Tran and Zonghai Yao and Hong Yu", "title": "Exploiting Tree Structure for Credit Assignment in {RL} Training of {LLMs}", "year": "2025", "eprint": "2509.18314", "archiveprefix": "arXiv"}  # fmt: skip


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        ({}, []),
        ({"title": "exploiting tree structure for credit assignment in rl training of llms", "author": "Tran, H. and Yao, Zonghai and others"}, []),
        ({"author": "Tran, Hi{\\'e}u and Z. Yao and Yu Hong", "eprint": "2509.18314v3"}, []),
        ({"title": "Exploiting Tree Structures for Credit Assignment in RL Training of LLMs"}, ["title"]),
        ({"author": "Zonghai Yao and Hieu Tran and Hong Yu"}, ["authors"]),
        ({"author": "Hieu Tran and Zonghai Yao"}, ["authors"]),
        ({"year": "2024"}, ["year"]),
        ({"eprint": "2509.99999"}, ["arxiv"]),
    ],
)
def test_an_entry_differs_where_it_says_something_else(library: Library, tmp_path: Path, change: dict[str, str], fields: list[str]) -> None:
    """Case, braces, accents, initials, versions and `and others` are no difference; a slip in an identifier hides no paper."""
    fields_of = ENTRY | change
    path = written(tmp_path, "@misc{k,\n" + "".join(f"  {name} = {{{value}}},\n" for name, value in fields_of.items()) + "}\n", "r.bib")
    entry = bibliographies.read(library, [path]).entries["k"]
    assert entry.paper
    assert entry.paper.key == "tran2025tempo"
    assert [one.field for one in bibliographies.differences(entry)] == fields


def record(text: str) -> Record:
    (found,) = bibtex.read(SourceFile("x.bib", data=text.encode()), Options())
    assert isinstance(found, Record)
    return found


@pytest.mark.parametrize(
    ("mine", "fields"),
    [
        ("booktitle={Proc. of NeurIPS}, pages={1123--45}", []),
        ("booktitle={Advances in Neural Information Processing Systems 38}, pages={1123\u20131145}", []),
        ("booktitle={ICML}", ["venue"]),
        ("journal={arXiv preprint arXiv:2301.00001}", ["published"]),
        ("booktitle={NeurIPS}, doi={10.1000/other}, pages={1--2}", ["doi", "pages"]),
    ],
)
def test_venues_pages_and_preprints_are_compared(empty: Library, mine: str, fields: list[str]) -> None:
    """Usual abbreviations are the same venue; a preprint is told where the library knows the published version."""
    head = "title={A Study of Studies in the Field}, author={Ann Lee}, year={2024}"
    empty.add_records(
        [record(f"@inproceedings{{lee, {head}, booktitle={{Advances in Neural Information Processing Systems}}, pages={{1123--1145}}, doi={{10.1000/xyz}}, eprint={{2301.00001}}, archiveprefix={{arXiv}}}}")],
        "x.bib", "bibtex",
    )  # fmt: skip
    theirs = record(f"@{'article' if 'journal' in mine else 'inproceedings'}{{k, {head}, {mine}}}")
    found = bibliographies.differences(bibliographies.Entry(theirs, "r.bib:1", empty.papers()[0]))
    assert [one.field for one in found if one.given or one.field not in {"doi", "arxiv"}] == fields


def test_two_entries_under_one_key_are_told(library: Library, tmp_path: Path) -> None:
    """The first one counts, within a file and over files; one work under two keys is told too."""
    one = written(tmp_path, "@misc{a, title={First Title of Its Kind}}\n@misc{a, title={Second Title of Its Kind}}\n", "one.bib")
    two = written(tmp_path, "@misc{a, title={Third}}\n@misc{b, eprint={2509.18314}, archiveprefix={arXiv}}\n@misc{c, eprint={2509.18314}, archiveprefix={arXiv}}", "two.bib")
    read = bibliographies.read(library, [one, two])
    assert read.entries["a"].record.title == "First Title of Its Kind"
    assert [place for place, _ in read.remarks] == ["one.bib:2", "two.bib:1", "two.bib:3"]


def test_macros_are_told_in_the_settings(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """[audit] cite_macros is a list of texts; anything else is refused with the reason."""
    (folder / "carrel.toml").write_text('[audit]\ncite_macros = ["mycite"]\n', "utf-8")
    assert read_settings(folder).audit_cite_macros == ("mycite",)
    path = written(tmp_path, "TIPS pays each segment of reasoning plus tool call a reward of its own \\mycite{xie2026tips}.")
    assert "1 citation in 1 file: 1 supported" in carrel("audit", path, at=folder).out
    (folder / "carrel.toml").write_text("[audit]\ncite_macros = 3\n", "utf-8")
    assert carrel("audit", path, at=folder).code == 78


def test_a_hostile_manuscript_gets_nothing_through(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """Shell pipes and devices are not read, formulas of spreadsheets are text, markup is escaped."""
    text = '=HYPERLINK("http://x") <script>alert(1)</script> pays agents for reasoning \\cite{xie2026tips}.\n\\input{|"ls /"}\n\\input{/dev/zero}\n'
    path = written(tmp_path, text)
    shutil.rmtree(tmp_path / "out", ignore_errors=True)
    carrel("audit", path, "--to", "csv", "--to", "html", "--output", tmp_path / "out", at=folder)
    assert "<script>" not in (tmp_path / "out" / "audit-of-paper.tex.html").read_text("utf-8")
    assert ",=HYPERLINK" not in (tmp_path / "out" / "audit-of-paper.tex.csv").read_text("utf-8").replace('"', "")
    assert [one.place for one in manuscript.read(path).remarks] == ["paper.tex:2", "paper.tex:3"]
