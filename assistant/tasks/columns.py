"""The columns of a table, proposed from the papers and from what the table is for; a person's file is never touched here."""

from collections.abc import Sequence
from typing import Final, Literal

from pydantic import BaseModel, Field

from assistant.document import Column
from assistant.errors import ReplyUnusable, UsageError
from assistant.evidence import gathered
from assistant.grounding import free_form
from assistant.tasks.desk import Desk, label_for
from store.keys import slug
from store.normalize import folded
from store.paper import Paper

SAMPLE: Final = 24
"""Papers that are shown where there are more; they are drawn evenly over the keys."""
MOST: Final = 8


class WordReply(BaseModel):
    """A word of a vocabulary as a model gives it."""

    name: str
    definition: str


class ColumnReply(BaseModel):
    """A column as a model proposes it."""

    name: str
    question: str
    type: Literal["text", "category", "number", "yes/no", "list"]
    unit: str = ""
    vocabulary: list[WordReply] = Field(default_factory=list)


class ColumnsReply(BaseModel):
    """The proposed columns, the most telling first."""

    columns: list[ColumnReply]


def propose(desk: Desk, name: str, intent: str, papers: Sequence[Paper], have: Sequence[Column] = ()) -> tuple[Column, ...]:
    """Columns for what the table is for, beside those that it has; raises ReplyUnusable when no usable ones came."""
    if not papers:
        raise UsageError(f"{name}: there is no paper in scope to propose columns from")
    evidence = gathered(desk.library, sample(papers))
    request = desk.request(
        "table/columns",
        label_for("table", "columns", slug(name)),
        ColumnsReply,
        papers=evidence.papers,
        total=len(papers),
        intent=intent,
        columns=have,
        most=MOST,
    )
    parsed = desk.structured(request, ColumnsReply, lambda reply: _faults(reply, have))
    if parsed.problems:
        raise ReplyUnusable(f"{name}: the proposed columns still have faults: {'; '.join(parsed.problems[:3])}; run it with --again")
    return tuple(_column(one) for one in parsed.value.columns)


def sample(papers: Sequence[Paper], count: int = SAMPLE) -> list[Paper]:
    """So many of the papers, drawn evenly over the order of their keys; all of them where there are no more."""
    ordered = sorted(papers, key=lambda paper: paper.key)
    if len(ordered) <= count:
        return ordered
    return [ordered[at * len(ordered) // count] for at in range(count)]


def _column(reply: ColumnReply) -> Column:
    takes_words = reply.type in {"category", "list"}
    words = {" ".join(one.name.split()): " ".join(one.definition.split()) for one in reply.vocabulary if takes_words and folded(one.name) != "other"}
    return Column(
        slug(reply.name),
        " ".join(reply.name.split()),
        " ".join(reply.question.split()),
        reply.type,
        reply.unit.strip() if reply.type == "number" else "",
        tuple(words),
        tuple(words.values()),
    )


def _faults(reply: ColumnsReply, have: Sequence[Column]) -> list[str]:
    """What must be mended: no columns, twins, questions that ask nothing, categories without words, words without definitions."""
    if not reply.columns:
        return ["no column is proposed"]
    found = [f"{len(reply.columns)} columns are more than {MOST}"] if len(reply.columns) > MOST else []
    taken = {column.id: "the table has" for column in have}
    for one in reply.columns:
        where = f"column {one.name!r}"
        if not folded(one.name):
            found.append("a column has no name")
        if slug(one.name) in taken:
            found.append(f"{where}: {taken[slug(one.name)]} a column of that name")
        taken[slug(one.name)] = "the reply has"
        if len(one.question.split()) < 3:  # fewer words ask nothing that a reader could answer
            found.append(f"{where}: its question {one.question!r} asks nothing")
        words = [folded(word.name) for word in one.vocabulary if folded(word.name) != "other"]
        if one.type == "category" and len(words) < 2:
            found.append(f"{where}: a category needs a vocabulary of two words or more")
        if len(set(words)) < len(words) or "" in words:
            found.append(f"{where}: two words of its vocabulary are the same, or one is empty")
        found += [f"{where}: the word {word.name!r} has no definition" for word in one.vocabulary if not word.definition.strip()]
        said = " ".join([one.name, one.question, *(f"{word.name} {word.definition}" for word in one.vocabulary)])
        found += [f"{where}: {problem.reason}" for problem in free_form(said)]
    return found
