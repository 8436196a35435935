"""The surface style of an earlier section, measured by code: lengths, tense, voice, hedges, spelling, how papers are named.

Only these measures go on, in words of ours. No sentence of the section is shown to a model, so it can neither leak nor instruct.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from assistant.errors import UsageError
from store import sentences

FEWEST_SENTENCES, FEWEST_WORDS = 5, 60
LARGEST = 2**20
"""Bytes; a thesis has about one million characters."""
LONGEST_PARAGRAPH = 10_000
"""Characters of a paragraph that are measured."""
CLEAR = 0.65
"""A share from which one of two ways counts as the section's own."""
WE = 0.12
"""Share of sentences with "we" from which a section speaks so."""
HEDGED, PLAIN = 0.25, 0.08
"""Share of sentences with a hedge above which it hedges often, and below which it hardly does."""
WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
FIRST_PERSON = re.compile(r"\b(?:we|our|ours|us)\b", re.IGNORECASE)
HEDGE = re.compile(
    r"\b(?:may|might|could|suggest\w*|appear\w*|seem\w*|likely|possibl[ey]|perhaps|generally|often|typically|usually|tend\w*|largely|mostly|partly|"
    r"indicat\w*|potential(?:ly)?|arguabl[ey]|to some extent|in part)\b",
    re.IGNORECASE,
)
PRESENT = frozenset(
    "is are has have does do shows uses proposes propose introduces introduce presents learns learn finds extends extend trains relies rely combines combine "
    "achieves achieve reports considers consider focuses requires require provides provide aims argues argue demonstrates demonstrate addresses applies apply improves "
    "improve compares compare investigates investigate remains remain differs differ builds treats treat optimizes optimize optimises optimise generates generate "
    "evaluates evaluate".split()
)
"""Without words that are as often nouns: studies of, the use, a report."""
PAST = frozenset(
    "was were had did showed found studied began became made led gave took came went saw built proposed introduced presented used learned learnt extended trained relied combined "
    "achieved reported considered focused required provided aimed argued demonstrated addressed applied improved compared investigated remained differed treated optimized "
    "optimised generated evaluated explored developed examined observed employed adopted obtained".split()
)
NO_MAIN_VERB_AFTER = frozenset("is are was were be been being has have had as by that to and or the a an of in on with for not".split())
"""After one of these a word in -ed is a participle and says nothing of the tense; "is" and "has" do so themselves."""
BRITISH = re.compile(r"\b(?:\w+is(?:e[sd]?|ing|ations?)|\w*(?:behaviour|colour|favour|labour|neighbour|honour)\w*|modell(?:ed|ing)|labell(?:ed|ing)|travell(?:ed|ing)|centre[sd]?|whilst|programmes?|analys(?:e[sd]?|ing)|defence|artefacts?|catalogues?)\b", re.IGNORECASE)
AMERICAN = re.compile(r"\b(?:\w+iz(?:e[sd]?|ing|ations?)|\w*(?:behavior|color|favor|labor|neighbor|honor)\w*|model(?:ed|ing)|label(?:ed|ing)|travel(?:ed|ing)|centers?|centered|analyz(?:e[sd]?|ing)|defense|artifacts?|catalogs?)\b", re.IGNORECASE)
EITHER = re.compile(
    r"^(?:(?:other|like|clock)?wise|rais\w+|promis\w+|exercis\w+|compris\w+|surpris\w+|advis\w+|revis\w+|supervis\w+|unsupervis\w+|improvis\w+|televis\w+|devis\w+|precis\w+|concis\w+|"
    r"compromis\w+|enterprises?|expertise|franchis\w+|nois\w*|denois\w+|pois\w+|prais\w+|rise[sn]?|aris\w+|size[sd]?|sizing|resiz\w+|prize[sd]?|seiz\w+|paradise|premises?|disguis\w+|excis\w+|incis\w+|demis\w+|merchandis\w+|treatises?|"
    r"cruis\w+|bruis\w+|poise[sd]?|vise[sd]?|wise|crises|bases|analyses|hypothesi[sz]\w*|modeling|labeling|elaborat\w*|collaborat\w*|laborator\w*|visitors?|apprais\w+|rais\w*)$",
    re.IGNORECASE,
)
"""Words that are spelled so on both sides, or that are other words."""
COMMENT = re.compile(r"(?<!\\)%.*")
LATEX_OUT = re.compile(
    r"\\begin\{(figure|table|tabular|longtable|equation|align|gather|multline|verbatim|lstlisting|algorithm|algorithmic|thebibliography|comment|tikzpicture)\*?\}.*?\\end\{\1\*?\}|\$\$.*?\$\$|\\\[.*?\\\]",
    re.DOTALL,
)
BREAK = re.compile(r"\\(?:part|chapter|(?:sub)*section|paragraph|label|caption|title|author|date|bibliography\w*|usepackage|documentclass|input|include)\*?\s*(?:\[[^\]]*\])?\{[^{}]*\}|\\(?:begin|end)\{[^}]*\}(?:\[[^\]]*\])?|\\(?:item|par|maketitle|noindent)\b")
TEXTUAL = re.compile(r"\\(?:citet|textcite|citeauthor|Citet|Textcite)\*?\s*(?:\[[^\[\]]{0,200}\]\s*){0,2}\{[^{}]{0,400}\}|(?<![\[\w;-]\s)(?<![\[\w;-])@[\w:.+/-]*\w(?![^\[\]]*\])|\b[A-Z][\w’'-]+(?: and [A-Z][\w’'-]+| et al\.)?,? \((?:19|20)\d\d[a-z]?\)")
PARENTHETICAL = re.compile(r"\\(?:citep|parencite|autocite|cite|footcite|supercite|Citep|Parencite|Autocite)\*?\s*(?:\[[^\[\]]{0,200}\]\s*){0,2}\{[^{}]{0,400}\}|\[[^\[\]]*@[^\[\]]*\]|\([^()]*\b(?:19|20)\d\d[a-z]?\)|\[\d{1,3}(?:\s*[,–-]\s*\d{1,3})*\]")
MACRO = re.compile(r"\\[A-Za-z]+\*?(?:\[[^\[\]]{0,200}\])?")
MARKDOWN_BLOCK = re.compile(r"\A---\n.*?\n---\s*$|^```.*?^```\s*$|^~~~.*?^~~~\s*$|<!--.*?-->", re.DOTALL | re.MULTILINE)
MARKDOWN_LINE = re.compile(r"^\s*(?:#|\||>|!\[).*$", re.MULTILINE)
PLACE = "CITED"


@dataclass(frozen=True, slots=True)
class SurfaceStyle:
    """How a section is written, without what it says; a part that is empty could not be told.

    `tense` is present, past or mixed, `voice` we or impersonal, `naming` textual (papers are named in the sentence),
    parenthetical or both, `hedging` often, sometimes or hardly, `spelling` British or American.
    """

    words: int
    sentences: int
    tense: str = ""
    voice: str = ""
    naming: str = ""
    hedging: str = ""
    spelling: str = ""

    def described(self) -> str:
        """The style in one line of plain words: sentences of about 24 words; present tense; impersonal; British spelling."""
        voices = {"we": 'speaks of itself as "we"', "impersonal": "impersonal"}
        names = {
            "textual": "names papers in its sentences",
            "parenthetical": "cites in passing, without naming papers in its sentences",
            "both": "names some papers in its sentences and cites others in passing",
        }
        hedges = {"often": "hedges often", "sometimes": "hedges now and then", "hardly": "hardly hedges"}
        tenses = {"present": "present tense", "past": "past tense", "mixed": "past and present tense"}
        parts = [
            f"sentences of about {self.words} words",
            f"paragraphs of about {self.sentences} sentence{'s' if self.sentences > 1 else ''}",
            tenses.get(self.tense, ""),
            voices.get(self.voice, ""),
            names.get(self.naming, ""),
            hedges.get(self.hedging, ""),
            f"{self.spelling} spelling" if self.spelling else "",
        ]
        return "; ".join(part for part in parts if part)


def style_of_file(path: Path) -> SurfaceStyle:
    """The style of a .tex, .md or .txt file; raises UsageError where it cannot be read or holds too little."""
    try:
        if path.stat().st_size > LARGEST:
            raise UsageError(f"{path}: larger than {LARGEST >> 20} MB; give one section of yours")
        text = path.read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: no text in UTF-8 ({error.reason}); give a .tex, .md or .txt file") from error
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    try:
        return style_of(text)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from error


def style_of(text: str) -> SurfaceStyle:
    """The style of a section in LaTeX, Markdown or plain text; raises UsageError where there is too little to tell."""
    paragraphs = [cut for paragraph in _paragraphs(text) if (cut := _sentences(paragraph))]
    every = [sentence for paragraph in paragraphs for sentence in paragraph]
    lengths = [len(_words(sentence)) for sentence in every]
    if len(every) < FEWEST_SENTENCES or sum(lengths) < FEWEST_WORDS:
        raise UsageError(f"too little text to tell a style from: {len(every)} sentences, {sum(lengths)} words; give at least {FEWEST_SENTENCES} sentences and {FEWEST_WORDS} words of yours")
    bare = " ".join(every)
    return SurfaceStyle(
        words=round(median(lengths)),
        sentences=max(1, round(median([len(paragraph) for paragraph in paragraphs if len(paragraph) > 1] or [1]))),
        tense=_tense(every),
        voice="we" if _share(every, FIRST_PERSON) >= WE else "impersonal",
        naming=_either(len(TEXTUAL.findall(text)), len(PARENTHETICAL.findall(text)), "textual", "parenthetical", "both"),
        hedging=_hedging(_share(every, HEDGE)),
        spelling=_spelling(bare),
    )


def _paragraphs(text: str) -> list[str]:
    """The running text, paragraph by paragraph, without mark-up; a citation is one word where it is part of its sentence."""
    if re.search(r"\\(?:section|begin|documentclass|[A-Za-z]*cite[A-Za-z]*)\b", text):
        body = re.search(r"\\begin\{document\}(.*?)(?:\\end\{document\}|\Z)", text, re.DOTALL)
        text = BREAK.sub("\n\n", LATEX_OUT.sub(" ", COMMENT.sub("", body[1] if body else text)))
    else:
        text = MARKDOWN_LINE.sub("\n", MARKDOWN_BLOCK.sub("\n", text))
    named = PARENTHETICAL.sub("", TEXTUAL.sub(PLACE, text))
    plain = re.sub(r"[{}~]", " ", MACRO.sub(" ", named)).replace("\\", " ")
    plain = re.sub(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s+", "\n", plain, flags=re.MULTILINE)
    return [" ".join(part.split())[:LONGEST_PARAGRAPH] for part in re.split(r"\n\s*\n", plain)]


def _sentences(paragraph: str) -> list[str]:
    """The sentences of a paragraph; what has no three words, or no end, is a heading or a remnant."""
    found = [re.sub(r"\s+([.,;:!?)])", r"\1", paragraph[start:end]) for _, start, end in sentences.cut(paragraph)]
    return [one for one in found if len(_words(one)) > 2 and one.rstrip("\"'”’)]")[-1:] in ".!?…:"]


def _words(sentence: str) -> list[str]:
    return WORD.findall(sentence)


def _tense(every: Sequence[str]) -> str:
    """The tense of the verbs that are surely verbs and surely of one tense."""
    present = past = 0
    for sentence in every:
        words = [word.lower() for word in _words(sentence)]
        for before, word in zip(["", *words], words, strict=False):
            present += word in PRESENT
            past += word in PAST and before not in NO_MAIN_VERB_AFTER
    return _either(past, present, "past", "present", "mixed")


def _spelling(text: str) -> str:
    british, american = (sum(not EITHER.match(hit[0]) for hit in pattern.finditer(text)) for pattern in (BRITISH, AMERICAN))
    return _either(british, american, "British", "American", "", least=1)


def _hedging(share: float) -> str:
    return "often" if share > HEDGED else "hardly" if share < PLAIN else "sometimes"


def _share(every: Sequence[str], pattern: re.Pattern[str]) -> float:
    return sum(bool(pattern.search(sentence)) for sentence in every) / len(every)


def _either(first: int, second: int, one: str, other: str, both: str, least: int = 2) -> str:
    """Which of two ways a section has: one where it is clearly the more frequent; nothing where there is too little of both."""
    whole = first + second
    if whole < least:
        return ""
    return one if first / whole >= CLEAR else other if second / whole >= CLEAR else both

