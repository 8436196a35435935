"""A draft's plan as the Markdown file that a person edits:

    Topic: what the section is about
    Tense: present

    ## Heading of a paragraph
    - [contrasts; 25 words] what the sentence says {@key 2,3; @other 0}
    - [states a gap; 20 words] what none of them does {@key 4; absent: haptic, tactile}

The numbers are sentences of the paper's abstract, 0 its title; the words after `absent:` stand in no abstract of the
scope, which code checks. `@own 2` is a sentence of the abstract that the person writes about; no paper is found under that
name. A line that begins with `- ` is a sentence to be written, also without [job; words]; all other lines are the person's
own notes.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from assistant.errors import SettingsError

GAP, POSITIONS = "states a gap", "positions"
JOBS = ("introduces", "compares", "contrasts", GAP, POSITIONS)
TOGETHER = ("compares", "contrasts")
"""Jobs that need two papers at least."""
WORDS = 25
SHORTEST, LONGEST = 12, 45
"""Words of a planned sentence, when a whole plan is made shorter or longer."""
OWN_KEY = "own"
ABSENT = "absent:"
LEFT_OUT = "Left out"
LINE = re.compile(r"^\s*[-*]\s*\[(?P<job>[^;\]]+)(?:;\s*(?P<words>\d+)\s*words?)?\]\s*(?P<says>.*?)\s*(?:\{(?P<refs>[^{}]*)\})?\s*$")
PLAIN = re.compile(r"^\s*-\s+(?P<says>[^\s\[].*?)\s*(?:\{(?P<refs>[^{}]*)\})?\s*$")
BROKEN = re.compile(r"^\s*[-*]\s*\[")
REFERENCE = re.compile(r"@(?P<key>[A-Za-z0-9:_.+/-]+?)(?:\s+(?P<numbers>\d+(?:\s*,\s*\d+)*))?\s*$")
HEADING = re.compile(r"^##\s+(.+?)\s*$")
GUIDE_LINE = re.compile(r"^(?P<name>Topic|Tense|Language|Style|Citations):\s*(?P<value>.*?)\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Guide:
    """How a draft is to be written; a part that is empty is left to the writer. They stand at the head of the plan."""

    topic: str = ""
    tense: str = ""
    language: str = ""
    style: str = ""
    citations: str = ""


@dataclass(frozen=True, slots=True)
class Reference:
    """A paper's key and the sentences of it that a planned sentence rests on."""

    key: str
    sentences: tuple[int, ...]

    @property
    def is_own(self) -> bool:
        """Whether it names the person's own abstract and no paper."""
        return self.key == OWN_KEY


@dataclass(frozen=True, slots=True)
class PlannedSentence:
    """One sentence to be written: its job, about how many words, what it says, and what it rests on.

    `absent` are words that no abstract of the scope holds, for a gap. `row` is the line of the file that it stands on.
    """

    job: str
    words: int
    says: str
    rests_on: tuple[Reference, ...] = ()
    absent: tuple[str, ...] = field(default=(), repr=False)
    row: int = field(default=0, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PlannedParagraph:
    """A paragraph to be written; it is not while it has `faults`, each with the line of the plan."""

    heading: str
    sentences: tuple[PlannedSentence, ...]
    row: int = field(default=0, compare=False, repr=False)
    faults: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @property
    def keys(self) -> tuple[str, ...]:
        """The papers it rests on, in order of key."""
        return tuple(sorted({reference.key for sentence in self.sentences for reference in sentence.rests_on if not reference.is_own}))

    @property
    def rests_on_own(self) -> bool:
        """Whether any of its sentences rests on the person's own abstract."""
        return any(reference.is_own for sentence in self.sentences for reference in sentence.rests_on)


def plan_markdown(
    name: str, paragraphs: Sequence[PlannedParagraph], left_out: Sequence[tuple[str, str]], guide: Guide | None = None
) -> str:
    """The plan as a file."""
    lines = [
        f"# Plan of {name}",
        "",
        "<!-- Yours to edit: `- [job; words] what the sentence says {@key 2,3; @other 0}`. Numbers are sentences of the abstract",
        "     (`carrel show KEY`), 0 is the title. `carrel draft` writes only paragraphs that changed. -->",
    ]
    if guide and (said := _guide_lines(guide)):
        lines += ["", *said]
    for paragraph in paragraphs:
        lines += ["", f"## {_heading(paragraph.heading)}", "", *map(plan_line, paragraph.sentences)]
    if left_out:
        lines += ["", f"## {LEFT_OUT}", "", *(left_out_line(key, reason) for key, reason in left_out)]
    return "\n".join(lines) + "\n"


def plan_line(sentence: PlannedSentence) -> str:
    """A planned sentence as its line."""
    rests = [f"@{one.key} {','.join(map(str, one.sentences))}".strip() for one in sentence.rests_on]
    rests += [f"{ABSENT} {', '.join(sentence.absent)}"] if sentence.absent else []
    return f"- [{sentence.job}; {sentence.words} words] {_one_line(sentence.says)}" + (f" {{{'; '.join(rests)}}}" if rests else "")


def left_out_line(key: str, reason: str) -> str:
    """A paper that the plan does without, as its line."""
    return f"* @{key}: {_one_line(reason)}"


def read_plan(text: str, file: str) -> tuple[tuple[PlannedParagraph, ...], dict[str, str], Guide]:
    """The paragraphs of a plan, why papers were left out, and how to write; raises SettingsError with the line at fault."""
    paragraphs: list[PlannedParagraph] = []
    left_out: dict[str, str] = {}
    guide = Guide()
    heading, begun = "", 0
    sentences: list[PlannedSentence] = []
    for row, line in enumerate([*_without_comments(text).splitlines(), "## end"], 1):
        if found := HEADING.match(line):
            if sentences:
                paragraphs.append(PlannedParagraph(heading, tuple(sentences), begun))
            heading, begun, sentences = found[1], row, []
        elif heading == LEFT_OUT:
            if out := re.match(r"\s*[*-] @(\S+?):\s*(.*)", line):
                left_out[out[1]] = out[2]
        elif planned := LINE.match(line) or PLAIN.match(line):
            sentences.append(_sentence(planned.groupdict(), f"{file}:{row}", row))
        elif BROKEN.match(line):
            raise SettingsError(f"{file}:{row}: {line.strip()!r} cannot be read; write `- [introduces; {WORDS} words] what it says {{@key 2}}`")
        elif not heading and (said := GUIDE_LINE.match(line)):
            guide = replace(guide, **{said["name"].lower(): said["value"]})
    if not paragraphs:
        raise SettingsError(f"{file}: no planned sentence in it; write `- [introduces; {WORDS} words] what it says {{@key 2}}` under a `## heading`")
    return tuple(paragraphs), left_out, guide


def with_guide(text: str, guide: Guide) -> str:
    """The plan with the lines of its head that say how to write set to those of `guide` that are given; all else stays."""
    lines = text.splitlines()
    end = next((at for at, line in enumerate(lines) if HEADING.match(line)), len(lines))
    for line in _guide_lines(guide):
        name = line.partition(":")[0]
        at = next((at for at in range(end) if (found := GUIDE_LINE.match(lines[at])) and found["name"].title() == name), None)
        if at is not None:
            lines[at] = line
            continue
        last = next((at for at in reversed(range(end)) if GUIDE_LINE.match(lines[at])), None)
        added = [line] if last is not None else [line, ""]
        at = last + 1 if last is not None else end
        lines[at:at] = added
        end += len(added)
    return "\n".join(lines) + "\n"


def with_words(text: str, words: int) -> str:
    """The plan with each sentence's length in proportion, so that all together are about `words`; all else stays."""
    lines = text.splitlines()
    planned = [(at, found) for at, line in enumerate(lines) if (found := LINE.match(line)) and found["words"]]
    whole = sum(int(found["words"]) for _, found in planned)
    for at, found in planned:
        length = min(max(round(int(found["words"]) * words / whole), SHORTEST), LONGEST)
        start, end = found.span("words")
        lines[at] = f"{lines[at][:start]}{length}{lines[at][end:]}"
    return "\n".join(lines) + "\n"


def with_added(text: str, after: Sequence[tuple[int, PlannedSentence]], paragraphs: Sequence[PlannedParagraph], left_out: Sequence[tuple[str, str]]) -> str:
    """The plan with sentences put in behind the given lines of the file (from 1), and paragraphs behind its last; every line that was there stays."""
    lines = text.splitlines()
    out = next((at for at, line in enumerate(lines) if (found := HEADING.match(line)) and found[1] == LEFT_OUT), None)
    tail = [line for paragraph in paragraphs for line in ("", f"## {_heading(paragraph.heading)}", "", *map(plan_line, paragraph.sentences))]
    whys = [left_out_line(key, reason) for key, reason in left_out]
    if out is None:
        lines += [*tail, *(["", f"## {LEFT_OUT}", ""] if whys else []), *whys]
    else:
        lines += whys
        at = out - 1 if out and not lines[out - 1].strip() else out
        lines[at:at] = tail
    for row, sentence in sorted(after, key=lambda one: -one[0]):
        lines.insert(row, plan_line(sentence))
    return "\n".join(lines) + "\n"


def _sentence(found: dict[str, str | None], where: str, row: int) -> PlannedSentence:
    references: list[Reference] = []
    absent: tuple[str, ...] = ()
    for part in (found["refs"] or "").split(";"):
        if part.strip().startswith(ABSENT):
            absent = tuple(word.strip() for word in part.strip().removeprefix(ABSENT).split(",") if word.strip())
            continue
        if not part.strip():
            continue
        reference = REFERENCE.fullmatch(part.strip())
        if reference is None:
            raise SettingsError(f"{where}: {part.strip()!r} is no reference; write @key 2,3")
        numbers = tuple(int(number) for number in (reference["numbers"] or "").replace(",", " ").split())
        references.append(Reference(reference["key"], numbers))
    job, words = (found.get("job") or "introduces").strip(), int(found.get("words") or WORDS)
    return PlannedSentence(job, words, found["says"] or "", tuple(references), absent, row)


def _guide_lines(guide: Guide) -> list[str]:
    return [f"{one.name.title()}: {_one_line(getattr(guide, one.name))}" for one in fields(guide) if getattr(guide, one.name)]


def _without_comments(text: str) -> str:
    """The text with comments blanked, line for line, so that nothing in them is read as a plan."""
    return re.sub(r"<!--.*?-->", lambda found: re.sub(r"[^\n]", "", found[0]), text, flags=re.DOTALL)


def _heading(text: str) -> str:
    return " ".join(text.split()) or "Untitled"


def _one_line(text: str) -> str:
    return re.sub(r"[{}]", "", " ".join(text.split()))
