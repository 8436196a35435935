"""What a revision of a draft changed, sentence by sentence, and why; kept, so that it can be shown again."""

import difflib
import hashlib
import json
import re
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from assistant.shapes import Json
from assistant.tasks.draft import item_of
from assistant.tasks.planning import Plan
from store.keys import slug
from store.library import Library

TASK: Final = "draft changes"
LAST: Final = "last"
ALIKE = 0.4
"""Below this share of words in common, two sentences are shown one under the other and not word by word."""
PIECE = re.compile(r"\S+\s*")
Kind = Literal["rewritten", "new", "dropped", "moved", "heading", "stays"]


@dataclass(frozen=True, slots=True)
class Change:
    """One difference: the paragraph (its heading), what stood there, what stands there now, and why.

    `stays` is a sentence that was to change and did not, because a rule stopped the new one or nothing was said of it.
    """

    kind: Kind
    paragraph: str
    was: str
    now: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """A revision: what was asked for, what it changed, and what of the wish was left undone.

    `sentences` counts those before it, `same` those of them that are as and where they were.
    """

    wish: str
    sentences: int
    same: int
    changes: tuple[Change, ...] = ()
    not_done: str = ""

    def __str__(self) -> str:
        """In one line: how many of how many sentences changed, and how."""
        counts = [(kind, sum(one.kind == kind for one in self.changes)) for kind in ("rewritten", "dropped", "moved", "new")]
        parts = ", ".join(f"{count} {kind}" for kind, count in counts if count)
        return f"{self.sentences - self.same} of {self.sentences} sentences changed{f' ({parts})' if parts else ''}; {self.same} are as they were"


class Kept(NamedTuple):
    """A difference as it was kept; not `is_present` where the draft has become another since."""

    difference: Difference
    is_present: bool


def keep(library: Library, name: str, plan: Plan, difference: Difference) -> None:
    """Keeps what a revision changed, as that of the plan it led to, and as the last one."""
    data = json.dumps(difference_json(name, difference), ensure_ascii=False)
    with library.catalog.writing():
        for item in (_item(plan), LAST):
            library.catalog.keep_finding(TASK, slug(name), item, 0, data)


def kept(library: Library, name: str, plan: Plan) -> Kept | None:
    """What the revision changed that led to this plan, else what the last one did; None where there was none."""
    have = library.catalog.findings(TASK, slug(name))
    data = have.get((_item(plan), 0))
    last = data or have.get((LAST, 0))
    if last is None:
        return None
    fields = json.loads(last)
    changes = tuple(Change(one["kind"], one["paragraph"], one["was"] or "", one["now"] or "", one["why"] or "") for one in fields["changes"])
    return Kept(Difference(fields["wish"], fields["sentences"], fields["same"], changes, fields["not_done"] or ""), data is not None)


def difference_json(name: str, found: Difference) -> Json:
    """A difference with the fields that `--json` promises."""
    return {"name": name, "wish": found.wish, "sentences": found.sentences, "same": found.same, "not_done": found.not_done or None, "changes": changes_json(found)}


def changes_json(found: Difference) -> list[Json]:
    """The changes of a difference with the fields that `--json` promises."""
    return [
        {"kind": one.kind, "paragraph": one.paragraph, "was": one.was or None, "now": one.now or None, "why": one.why or None}
        for one in found.changes
    ]


class Piece(NamedTuple):
    """Some words of a sentence and its successor: in both, only in the old (`gone`) or only in the new (`come`)."""

    kind: Literal["both", "gone", "come"]
    words: str


def pieces(was: str, now: str) -> list[Piece]:
    """Two sentences as one row of words, those that went before those that came; sentences that are too unlike stand whole."""
    old, new = PIECE.findall(was), PIECE.findall(now)
    match = difflib.SequenceMatcher(None, old, new, autojunk=False)
    if match.ratio() < ALIKE:
        return [Piece("gone", was), Piece("both", " "), Piece("come", now)]
    found: list[Piece] = []
    for tag, old_from, old_to, new_from, new_to in match.get_opcodes():
        if tag == "equal":
            found.append(Piece("both", "".join(old[old_from:old_to])))
            continue
        found += [Piece("gone", gone)] if (gone := "".join(old[old_from:old_to])) else []
        found += [Piece("come", come)] if (come := "".join(new[new_from:new_to])) else []
    return found


def _item(plan: Plan) -> str:
    """Names a plan by its paragraphs; a person's notes beside them do not count."""
    return hashlib.sha256(" ".join(item_of(one, plan.guide) for one in plan.paragraphs).encode()).hexdigest()[:16]
