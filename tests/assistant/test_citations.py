"""Citation styles: papers as words of their sentences, in every format; bibliographies that compile, read back the same, and go through pandoc."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assistant import stored
from assistant.authors import called
from assistant.document import Citations, Cite, Coverage, Document, Named, Report, Section, Source, Statement
from assistant.errors import OutputError
from assistant.evidence import Evidence, gathered, written_again
from assistant.export import WRITERS, bibtex, docx, latex, markdown, written
from assistant.grounding import checked
from assistant.plan import Guide
from assistant.shapes import statement_json
from assistant.wording import render
from store.formats import read_bytes, read_file
from store.library import Library
from store.paper import Record
from tests.assistant.test_export import HOSTILE, documents, source
from tests.assistant.test_latex import faults
from tests.assistant.test_trace import MADE, REPLAY
from tests.conftest import EXAMPLE, ROOT, Carrel

NEEDS_LATEX = pytest.mark.skipif(shutil.which("pdflatex") is None or shutil.which("bibtex") is None, reason="LaTeX is not installed")
NEEDS_PANDOC = pytest.mark.skipif(shutil.which("pandoc") is None, reason="pandoc is not installed")
THREE = ("Ada Lovelace", "Bo Xie", "Chi Wu")


def quoted(key: str) -> Cite:
    return Cite(key, "abstract", (1,), f"We train {key}.", 1)


def draft(citations: Citations = "", **more: Source) -> Document:
    """A draft that names papers as subject, as object, at its end, as a possessive, and not at all."""
    sources = {
        "a": source("a", "Learning RLHF in $SE(3)$", authors=THREE),
        "b": source("b", "Étude: 深度强化学习 🚀", authors=("Étienne Ørsted", "王小明"), venue="Journal of Robots", entry_type="article"),
        "c": source("c", "Whole Families", authors=("Ludwig van Beethoven",), author_count=1),
        **more,
    }
    statements = (
        Statement("Lovelace et al. train robots, unlike Ørsted and 王小明.", (quoted("a"), quoted("b")), named=(Named("Lovelace et al.", "a", 0), Named("Ørsted and 王小明", "b", 37))),
        Statement("Others filter more than Lovelace et al.", (quoted("a"), quoted("c")), named=(Named("Lovelace et al.", "a", 24),)),
        Statement("Van Beethoven's method needs 5% of it.", (quoted("c"),), named=(Named("van Beethoven", "c", 0),)),
        Statement("Both are open.", (quoted("c"), quoted("a"))),
        *(Statement(f"It cites {key}.", (quoted(key),)) for key in more),
    )
    coverage = (Coverage("a", ("One",)), Coverage("z", (), "not in the plan"))
    return Document("draft", "D", (Section("One", statements),), coverage=coverage, sources=sources, report=Report(4, 4), citations=citations)


@pytest.mark.parametrize(
    ("style", "lines"),
    [
        ("", [r"\citet{a} train robots, unlike \citet{b}.", r"Others filter more than \citet{a}~\citep{c}.", r"\Citeauthor{c}'s method needs 5\% of it~\citep{c}.", r"Both are open~\citep{c,a}."]),
        ("autocite", [r"\textcite{a} train robots, unlike \textcite{b}.", r"Others filter more than \textcite{a}~\autocite{c}.", r"\Citeauthor{c}'s method needs 5\% of it~\autocite{c}.", r"Both are open~\autocite{c,a}."]),
        ("cite", [r"Lovelace et al.~\cite{a} train robots, unlike Ørsted and \otherscript{王小明}{738B 5C0F 660E}~\cite{b}.", r"Others filter more than Lovelace et al.~\cite{c,a}.", r"Van Beethoven's method needs 5\% of it~\cite{c}.", r"Both are open~\cite{c,a}."]),
    ],
)  # fmt: skip
def test_latex_cites_in_each_style(style: Citations, lines: list[str]) -> None:
    """A paper that is a word of its sentence is its citation there, and is not cited again in the bracket; a possessive cannot be one."""
    assert [line for line in latex.write(draft(style)).splitlines() if line.endswith(".") and not line.startswith("%")] == lines


def test_markdown_names_papers_for_pandoc() -> None:
    """`@key` stands for a name, and never right before a bracket, which pandoc would take for a part of it."""
    text = markdown.write(draft()).split("\n\n")[2]
    assert text == "@a train robots, unlike @b. Others filter more than Lovelace et al. [@c; @a]. Van Beethoven's method needs 5% of it [@c]. Both are open [@c; @a]."


def test_numbers_follow_the_text_and_its_list(tmp_path: Path) -> None:
    """Papers are numbered as they are cited first, the list has exactly these, and the page links to it."""
    made = markdown.write(draft("numbered"))
    assert "Lovelace et al. [1] train robots, unlike Ørsted and 王小明 [2]. Others filter more than Lovelace et al. [1, 3]." in made
    assert re.findall(r"^(\d)\. (.*?)\.", made[made.index("## Sources") :], re.MULTILINE) == [("1", "Ada Lovelace, Bo Xie, Chi Wu"), ("2", "Étienne Ørsted, 王小明"), ("3", "Ludwig van Beethoven")]
    assert "@" not in made
    page = str(WRITERS["html"](draft("numbered")))
    assert 'unlike Ørsted and 王小明.</span> [<a href="#p1">1</a>, <a href="#p2">2</a>]' in page
    assert '<li id="p3">' in page


def test_a_terminal_and_json_show_words() -> None:
    """Where nobody follows a citation the names stand, and JSON says where and of which papers."""
    first, second, *_ = draft().statements
    assert markdown.sentence(first) == "Lovelace et al. train robots, unlike Ørsted and 王小明 [@a; @b]."
    assert markdown.sentence(second) == "Others filter more than Lovelace et al. [@a; @c]."
    assert statement_json(first)["named"] == [{"name": "Lovelace et al.", "key": "a", "at": 0}, {"name": "Ørsted and 王小明", "key": "b", "at": 37}]


def test_names_are_kept_and_renamed_with_their_papers() -> None:
    """What is stored comes back the same; where a paper got another key the name follows it."""
    statements = draft().statements
    fields = json.loads(json.dumps(stored.paragraph_fields(statements, ())))
    assert stored.paragraph(fields)[0] == statements
    assert [one.key for one in draft().renamed({"a": "new"}).statements[0].named] == ["new", "b"]


@pytest.mark.parametrize(
    ("authors", "count", "name"),
    [
        (("Ada Lovelace",), 1, "Lovelace"),
        (("Ada Lovelace",), 5, "Lovelace et al."),
        (("Ada Lovelace", "Ludwig van Beethoven"), None, "Lovelace and van Beethoven"),
        (THREE, 3, "Lovelace et al."),
        (("Martin Luther King Jr.",), 1, "King"),
        (("The ATLAS Collaboration",), 1, "The ATLAS Collaboration"),
        (("王小明", "Jie Li"), 2, "王小明 and Li"),
        ((), 7, "AI at Meta"),
    ],
)
def test_a_paper_is_called_by_its_authors(authors: tuple[str, ...], count: int | None, name: str) -> None:
    """One, two, more, more than are known, with particles and suffixes, in Chinese, and none at all."""
    assert called(authors, count, "AI at Meta" if not authors else "") == name


@pytest.fixture
def evidence(library: Library) -> Evidence:
    """Two papers of the example with authors, in a prompt whose reply may name them."""
    papers = [library.paper(key) for key in ("cagatan2026reward", "qian2025toolrl")]
    return replace(gathered(library, papers), textual=True)


def test_code_puts_the_names_in(evidence: Evidence) -> None:
    """The names are the library's, the statement is what the rules make of it without them, and it can be asked for again."""
    line = "{2} study rewards for tool learning, unlike {1}. [2.2][1.1]"
    statement, problems = checked(line, evidence)
    assert problems == []
    assert statement.text == "Qian et al. study rewards for tool learning, unlike Çağatan and Zhao."
    assert [(one.name, one.key, one.at) for one in statement.named] == [("Qian et al.", "qian2025toolrl", 0), ("Çağatan and Zhao", "cagatan2026reward", 52)]
    bare, _ = checked(line.replace("{2}", "they").replace("{1}", "they"), evidence)
    assert [problem.rule for problem in statement.problems] == [problem.rule for problem in bare.problems]
    assert "R3" not in statement.marks
    assert written_again(statement, evidence) == "{2} study rewards for tool learning, unlike {1}."


def test_the_full_stop_of_et_al_ends_a_sentence(evidence: Evidence) -> None:
    """A sentence that ends with a name has one full stop, not two."""
    statement, _ = checked("Rewards for tool learning are studied by {2}. [2.2]", evidence)
    assert statement.text == "Rewards for tool learning are studied by Qian et al."
    assert latex.sentence(statement) == r"Rewards for tool learning are studied by \citet{qian2025toolrl}."


@pytest.mark.parametrize(
    ("line", "rule", "reason"),
    [
        ("{9} study rewards. [2.2]", "R2", "{9} names a paper that was not shown"),
        ("{1} study rewards. [2.2]", "R2", "{1} is named, but no sentence of cagatan2026reward is cited"),
        ("Qian et al. study rewards. [2.2]", "R3", "a reference in free form (et al.): 'Qian et al.'"),
        ("{2}, like Qian et al., study rewards. [2.2]", "R3", "a reference in free form (et al.): 'Qian et al.'"),
    ],
)
def test_a_name_that_cannot_stand_is_blocked(evidence: Evidence, line: str, rule: str, reason: str) -> None:
    """A paper that was not shown or is not cited by the sentence, and names that the model wrote itself."""
    _, problems = checked(line, evidence)
    assert (rule, reason) in [(problem.rule, problem.reason) for problem in problems]


def test_a_paper_without_authors_cannot_be_named(evidence: Evidence) -> None:
    """Nothing is made up for a name."""
    first, *others = evidence.papers
    unknown = replace(evidence, papers=(replace(first, paper=replace(first.paper, authors=(), author_count=2, organization="")), *others))
    _, (problem,) = checked("{1} study agents. [1.1]", unknown)
    assert (problem.rule, problem.reason) == ("R9", "the library knows no author of cagatan2026reward, so {1} cannot be named")


def test_other_braces_are_no_names(evidence: Evidence) -> None:
    """Mathematics and sets keep theirs, and so does everything where names were not asked for."""
    for text in ("It has a reward in {0, 1}.", "It grows with $x^{2}$.", r"It takes \frac{1}{2} of it."):
        statement, _ = checked(f"{text} [2.2]", evidence)
        assert (statement.text, statement.named) == (text, ())
    statement, _ = checked("{2} study rewards. [2.2]", replace(evidence, textual=False))
    assert (statement.text, statement.named) == ("{2} study rewards.", ())
    both, _ = checked("{1, 2} study rewards. [2.2][1.1]", evidence)
    assert both.text == "Çağatan and Zhao and Qian et al. study rewards."


def test_the_prompt_asks_for_braces_only_where_names_are_wanted(evidence: Evidence) -> None:
    """The rest of the prompt is the same to the letter."""
    plain, textual = (
        render(
            "draft/paragraph", None, language="English", papers=evidence.papers, searched=[], looked_at=0, about=None, guide=Guide(), heading="H", lines=[], textual=wanted
        )[0].content
        for wanted in (False, True)
    )
    assert "{3} becomes the name" in textual
    assert "{3}" not in plain
    assert [line for line in textual.splitlines() if line in plain.splitlines()] == plain.splitlines()


# -- bibliographies

FIELDS = ("key", "title", "authors", "date", "venue", "entry_type", "identifiers", "details", "keywords")


def again(record: Record) -> Record:
    """What is read back of a paper's entry."""
    paper = Source(
        record.key, record.title, record.authors, record.author_count, record.organization, record.date[:4], record.venue, record.entry_type,
        dict(record.identifiers), False, dict(record.details), record.date, record.categories, record.keywords,
    )  # fmt: skip
    reading = read_bytes(bibtex.write(Document("table", "T", sources={record.key: paper})).encode(), "out.bib")
    assert not reading.refused
    (back,) = reading.records
    return back


@pytest.mark.parametrize("path", [EXAMPLE / "reading-list.bib", *sorted((ROOT / "tests/data/bibtex").glob("*.bib"))], ids=lambda path: path.name)
def test_a_bibliography_is_read_back_the_same(path: Path) -> None:
    """Every field of every entry of the example and of the odd ones, field by field, subjects of arXiv too."""
    for record in read_file(path).records:
        back = again(record)
        assert [getattr(back, name) for name in FIELDS] == [getattr(record, name) for name in FIELDS]
        assert back.categories == record.categories


WORDS = st.text(alphabet=st.sampled_from("abcXYZ éöÖçñŁßşİıÅ中文学🚀αβΓ≤×→–“”’'-.:,;!?()[]{}#%&_^~<>|*+=/@\"0123"), min_size=1, max_size=40)


@given(title=WORDS, author=WORDS, venue=WORDS, word=WORDS)
def test_no_letter_or_sign_is_lost_on_the_way_back(title: str, author: str, venue: str, word: str) -> None:
    """Whatever stands in a field of the library, the reader finds it in the file that the writer made."""
    fields = f"title = {{{bibtex.field(title)}}}, author = {{{{{bibtex.field(author)}}}}}, journal = {{{bibtex.field(venue)}}}, volume = {{{bibtex.field(word)}}}"
    (record,) = read_bytes(f"@article{{k, {fields}}}".encode(), "in.bib").records
    back = again(record)
    assert [getattr(back, name) for name in FIELDS] == [getattr(record, name) for name in FIELDS]


@pytest.mark.parametrize(
    ("more", "entry"),
    [
        ({"venue": "Advances in NeurIPS 2025"}, "@inproceedings{k|booktitle = {Advances in {NeurIPS} 2025}|eprint = {2603.00001}|primaryclass = {cs.LG}"),
        ({"venue": "Nature Machine Intelligence", "entry_type": "misc"}, "@article{k|journal = {Nature Machine Intelligence}|archiveprefix = {arXiv}"),
        ({"venue": "arXiv preprint"}, "@misc{k|journal = {{arXiv} preprint}"),
        ({"venue": "MIT", "entry_type": "phdthesis"}, "@phdthesis{k|school = {{MIT}}"),
        ({"authors": ("Martin Luther King Jr.", "The ATLAS Collaboration"), "author_count": 9}, "@misc{k|author = {King, Jr., Martin Luther and {The ATLAS Collaboration} and others}"),
        ({"title": "RLHF in $SE(3)$ for iPhones and Łódź"}, r"@misc{k|title = {{RLHF} in $SE(3)$ for {iPhones} and {\L}{\'o}d{\'z}}"),
    ],
)  # fmt: skip
def test_entries_are_of_the_right_type_and_protected(more: dict[str, object], entry: str) -> None:
    """A preprint that was published is of the type of its publication, with both; names, suffixes, capitals and accents are as BibTeX wants them."""
    made = bibtex.entry(source("k", **{"title": "T", "categories": ("cs.LG",), **more}))  # type: ignore[arg-type]
    for part in entry.split("|"):
        assert part in made


# -- what others make of it

def ran(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=200)
    return (done.stdout + done.stderr).decode("utf-8", "replace")


HARD = {
    f"h{number}": source(f"h{number}", text, authors=(f"{text} Turing", "B C"), venue=text, entry_type=("article", "inproceedings", "misc", "phdthesis", "book", "techreport")[number % 6])
    for number, text in enumerate((*HOSTILE, "α ≤ β: Ünïcödé — “quoted” ² ½ ﬁ", "हिन्दी 한국어 ไทย", "Ű ŀ ŋ Ŧ"))
}  # fmt: skip


def compiled(folder: Path, document: Document, preamble: str, end: str, engine: str) -> str:
    """The log of a paper that holds a draft; skips where the machine lacks something."""
    for suffix in ("tex", "bib"):
        written(document, folder, [suffix])
    body = r"\begin{document}\input{d}" + end + r"\end{document}"
    (folder / "paper.tex").write_text(r"\documentclass{article}\usepackage[T1]{fontenc}" + preamble + body, "utf-8")
    tex = ["pdflatex", "-interaction=nonstopmode", "-no-shell-escape", "paper"]
    said = ""
    for command in (tex, [engine, "paper"], tex, tex):
        said = said + ran(folder, *command) if command[0] == engine else said
        if command[0] != engine:
            ran(folder, *command)
    log = (folder / "paper.log").read_text("utf-8", errors="replace")
    if missing := re.search(r"File `([^']+\.sty)' not found", log):
        pytest.skip(f"{missing[1]} is not installed")
    assert not re.search(r"^(?:ERROR|I couldn't|.*error message)", said, re.MULTILINE), said
    return log


@NEEDS_LATEX
@pytest.mark.parametrize("style", ["plainnat", "unsrtnat", "abbrvnat"])
def test_a_draft_compiles_with_natbib(tmp_path: Path, style: str) -> None:
    """No error and no undefined citation with every hostile title, name and venue in the bibliography; no line too wide with common ones."""
    end = rf"\bibliographystyle{{{style}}}\bibliography{{d}}"
    assert faults(compiled(tmp_path, draft("", **HARD), r"\usepackage{natbib}", end, "bibtex"), worst=1000) == []
    assert faults(compiled(tmp_path, draft(), r"\usepackage{natbib}", end, "bibtex")) == []


@NEEDS_LATEX
@pytest.mark.skipif(shutil.which("biber") is None, reason="biber is not installed")
def test_a_draft_compiles_with_biblatex(tmp_path: Path) -> None:
    """The same with \\autocite, \\textcite and biber."""
    preamble = r"\usepackage[style=authoryear]{biblatex}\addbibresource{d.bib}"
    assert faults(compiled(tmp_path, draft("autocite", **HARD), preamble, r"\printbibliography", "biber"), worst=1000) == []
    assert faults(compiled(tmp_path, draft("autocite", b=source("b", "Étude", authors=("Étienne Ørsted", "Mina Okabe"))), preamble, r"\printbibliography", "biber")) == []


@NEEDS_PANDOC
def test_markdown_goes_through_citeproc(tmp_path: Path) -> None:
    """With the exact bibliography every citation is found, papers that were left out are none, and the names are words."""
    written(draft(), tmp_path, ["md", "bib"])
    said = ran(tmp_path, "pandoc", "--citeproc", "--bibliography=d.bib", "d.md", "--to=plain", "--wrap=none")
    assert "not found" not in said
    assert "Lovelace, Xie, and Wu (2026) train robots, unlike Ørsted and 王小明 (2026)." in said


@NEEDS_PANDOC
@pytest.mark.parametrize("citations", ["", "numbered"])
def test_a_word_file_has_bibliography_and_checks(tmp_path: Path, citations: Citations) -> None:
    """Text, bibliography, sentences, coverage and checks, in this order."""
    (path,) = written(draft(citations), tmp_path, ["docx"])
    text = ran(tmp_path, "pandoc", path.name, "--to=plain", "--wrap=none")
    places = [text.index(words) for words in ("train robots", "Étude: 深度强化学习", "Sentences behind it", "Coverage", "4 checked by code")]
    assert places == sorted(places)
    assert ("Ørsted and 王小明 [2]" if citations else "Ørsted and 王小明 (2026)") in text


@NEEDS_PANDOC
def test_hostile_texts_make_word_files(tmp_path: Path) -> None:
    """Each stays text: pandoc is given no image to fetch, nothing raw, and no citation that is none."""
    for text in HOSTILE:
        for document in documents(text)[1:3]:
            assert docx.write(document).startswith(b"PK")


def test_without_pandoc_nothing_else_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other files are written first, and the error says where pandoc is to be had."""
    monkeypatch.setattr(docx, "which", lambda name: None)
    with pytest.raises(OutputError, match=r"https://pandoc\.org"):
        written(draft(), tmp_path, ["docx", "md", "bib"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.bib", "d.md"]


@NEEDS_PANDOC
def test_a_stored_draft_is_printed_in_another_style(carrel: Carrel, folder: Path, tmp_path: Path) -> None:
    """`export --cite` asks no model; each citation of the text is of the style, and the Word file is whole."""
    for task in ("taxonomy", "draft"):
        assert carrel(*MADE[task], *REPLAY, at=folder).code == 0
    done = carrel("export", "draft", "related-work", "--to", "tex", "--to", "docx", "--cite", "autocite", "--output", tmp_path, at=folder)
    assert done.code == 0, done.err
    commands = re.findall(r"\\([a-z]*cite[a-z]*)\{", (tmp_path / "related-work.tex").read_text("utf-8"))
    assert set(commands) == {"autocite"}
    assert (tmp_path / "related-work.docx").read_bytes().startswith(b"PK")
