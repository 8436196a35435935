"""A draft's plan as the Markdown file that a person edits:

    ## Heading of a paragraph
    - [contrast; 25 words] what the sentence says {@key 2,3; @other 0}

The numbers are sentences of the paper's abstract, 0 its title. Lines that are neither are the person's own notes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from assistant.errors import SettingsError

LEFT_OUT = "Left out"
JOBS = ("introduces", "compares", "contrasts", "states a gap", "positions")
LINE = re.compile(r"^\s*[-*]\s*\[(?P<job>[^;\]]+)(?:;\s*(?P<words>\d+)\s*words?)?\]\s*(?P<says>.*?)\s*(?:\{(?P<refs>[^{}]*)\})?\s*$")
REFERENCE = re.compile(r"@(?P<key>[A-Za-z0-9:_.+/-]+?)(?:\s+(?P<numbers>\d+(?:\s*,\s*\d+)*))?\s*$")
HEADING = re.compile(r"^##\s+(.+?)\s*$")


@dataclass(frozen=True, slots=True)
class Reference:
    """A paper's key and the sentences of it that a planned sentence rests on."""

    key: str
    sentences: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PlannedSentence:
    """One sentence to be written: its job, about how many words, what it says, and what it rests on; `row` is its line of the file."""

    job: str
    words: int
    says: str
    rests_on: tuple[Reference, ...]
    row: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PlannedParagraph:
    """A paragraph to be written; `row` is its heading's line of the file."""

    heading: str
    sentences: tuple[PlannedSentence, ...]
    row: int = field(default=0, compare=False, repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The papers it rests on, in order of key."""
        return tuple(sorted({reference.key for sentence in self.sentences for reference in sentence.rests_on}))


def plan_markdown(name: str, paragraphs: Sequence[PlannedParagraph], left_out: Sequence[tuple[str, str]]) -> str:
    """The plan as a file."""
    lines = [
        f"# Plan of {name}",
        "",
        "<!-- Yours to edit: `- [job; words] what the sentence says {@key 2,3; @other 0}`. Numbers are sentences of the abstract",
        "     (`carrel show KEY`), 0 is the title. `carrel draft` writes only paragraphs that changed. -->",
    ]
    for paragraph in paragraphs:
        lines += ["", f"## {paragraph.heading}", "", *map(plan_line, paragraph.sentences)]
    if left_out:
        lines += ["", f"## {LEFT_OUT}", "", *(left_out_line(key, reason) for key, reason in left_out)]
    return "\n".join(lines) + "\n"


def plan_line(sentence: PlannedSentence) -> str:
    """A planned sentence as its line."""
    rests = "; ".join(f"@{one.key} {','.join(map(str, one.sentences))}".strip() for one in sentence.rests_on)
    return f"- [{sentence.job}; {sentence.words} words] {_one_line(sentence.says)}" + (f" {{{rests}}}" if rests else "")


def left_out_line(key: str, reason: str) -> str:
    """A paper that the plan does without, as its line."""
    return f"* @{key}: {_one_line(reason)}"


def with_style(text: str, said: str) -> str:
    """The plan with the line of its head that says how to write; all else stays."""
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if HEADING.match(line)), len(lines))
    head = [line for line in lines[:end] if not line.startswith("Style:")]
    while head and not head[-1].strip():
        head.pop()
    return "\n".join([*head, "", f"Style: {_one_line(said)}", "", *lines[end:]]) + "\n"


def read_plan(text: str, file: str) -> tuple[tuple[PlannedParagraph, ...], dict[str, str]]:
    """The paragraphs of a plan, and why papers were left out; raises SettingsError with the line at fault."""
    paragraphs: list[PlannedParagraph] = []
    left_out: dict[str, str] = {}
    heading, begun = "", 0
    sentences: list[PlannedSentence] = []
    for number, line in enumerate([*text.splitlines(), "## end"], 1):
        if found := HEADING.match(line):
            if sentences:
                paragraphs.append(PlannedParagraph(heading, tuple(sentences), begun))
            heading, begun, sentences = found[1], number, []
        elif heading == LEFT_OUT and (out := re.match(r"\s*\* @(\S+?):\s*(.*)", line)):
            left_out[out[1]] = out[2]
        elif planned := LINE.match(line):
            sentences.append(_sentence(planned, f"{file}:{number}", number))
    if not paragraphs:
        raise SettingsError(f"{file}: no planned sentence in it; write `- [introduces; 25 words] what it says {{@key 2}}` under a `## heading`")
    return tuple(paragraphs), left_out


def _sentence(found: re.Match[str], where: str, row: int) -> PlannedSentence:
    references = []
    for part in (found["refs"] or "").split(";"):
        if not part.strip():
            continue
        reference = REFERENCE.fullmatch(part.strip())
        if reference is None:
            raise SettingsError(f"{where}: {part.strip()!r} is no reference; write @key 2,3")
        numbers = tuple(int(number) for number in (reference["numbers"] or "").replace(",", " ").split())
        references.append(Reference(reference["key"], numbers))
    return PlannedSentence(found["job"].strip(), int(found["words"] or 25), found["says"], tuple(references), row)


def _one_line(text: str) -> str:
    return re.sub(r"[{}]", "", " ".join(text.split()))
