"""Which records are one work, on what evidence, and the record that they make together."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from store.normalize import folded, identifier
from store.paper import Kind, Record, Translation

IDENTIFYING = ("doi", "arxiv", "pmid")
SHORTEST_TITLE = 12
"""A shorter title (`Introduction`) names no work by itself."""
HEAD = 80
NEAR_TITLE, NEAR_ABSTRACT = 95.0, 90.0


def fingerprints(record: Record) -> list[tuple[str, str]]:
    """What a record can be found by: identifiers, whole title, and the heads of title and abstract (for near ones)."""
    found = [(kind, identifier(kind, record.identifiers[kind])) for kind in IDENTIFYING if record.identifiers.get(kind)]
    title, abstract = folded(record.title), folded(record.abstract)
    if len(title) >= SHORTEST_TITLE:
        found.append(("title", title))
        found.append(("title head", " ".join(title.split()[:3])))
    if len(abstract) >= HEAD:
        found.append(("abstract head", abstract[:HEAD]))
    return found


def same_work(a: Record, b: Record) -> str:
    """Why two records are one work, or nothing. An equal identifier decides before one that differs."""
    for kind in IDENTIFYING:
        if _identified(a, kind) and _identified(a, kind) == _identified(b, kind):
            return f"same {kind}"
    if contradict(a, b):
        return ""
    if a.title and b.title:
        return _same_by_title(a, b)
    return "same abstract" if a.abstract and _ratio(a.abstract, b.abstract) >= NEAR_TITLE else ""


def contradict(a: Record, b: Record) -> bool:
    """Whether two records name different identifiers of one kind, and none that is equal."""
    pairs = [(_identified(a, kind), _identified(b, kind)) for kind in IDENTIFYING]
    named = [(one, other) for one, other in pairs if one and other]
    return bool(named) and all(one != other for one, other in named)


def _identified(record: Record, kind: str) -> str:
    return identifier(kind, record.identifiers.get(kind, ""))


def _same_by_title(a: Record, b: Record) -> str:
    one, other = folded(a.title), folded(b.title)
    if one == other and len(one) >= SHORTEST_TITLE:
        return "same title"
    near = _ratio(a.title, b.title) >= NEAR_TITLE and a.abstract and _ratio(a.abstract, b.abstract) >= NEAR_ABSTRACT
    return "near-equal title and abstract" if near else ""


def _ratio(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    first, second = folded(one), folded(other)
    return float(fuzz.ratio(first, second)) if first and second else 0.0


def merged(records: Sequence[tuple[Record, Kind]]) -> tuple[Record, Kind]:
    """One record of a work from all that sources say of it, the same in whatever order they came.

    Each field is the richest that a source gave: the authors' abstract before a note, the longer text, the more
    precise and printed date; lists that can only add up (categories, keywords, identifiers) are joined.
    """
    ordered = [record for record, _ in sorted(records, key=lambda pair: (pair[1] == "note", _canonical(pair[0])))]
    own = [record for record, kind in records if kind == "abstract" and record.abstract]
    with_text = sorted(own, key=_canonical) or ordered
    abstract = max((record.abstract for record in with_text), key=lambda text: (len(text), text))
    authors = max((record.authors for record in ordered), key=lambda names: (len(names), names))
    date, inferred = max(((record.date, record.date_inferred) for record in ordered), key=_date_worth)
    whole = replace(
        ordered[0],
        title=max((record.title for record in ordered), key=lambda text: (len(text), text)),
        abstract=abstract,
        key=next((record.key for record in ordered if record.key), ""),
        entry_type=_first(record.entry_type for record in ordered),
        authors=authors,
        author_count=max((record.author_count or 0 for record in ordered), default=0) or None,
        organization=_first(record.organization for record in ordered),
        date=date,
        date_inferred=inferred,
        venue=_first(record.venue for record in ordered),
        language=next((record.language for record in ordered if record.abstract == abstract), ordered[0].language),
        translations=_translations(ordered),
        identifiers={kind: value for record in reversed(ordered) for kind, value in sorted(record.identifiers.items())},
        categories=_joined(record.categories for record in ordered),
        keywords=_joined(record.keywords for record in ordered),
    )
    return whole, "abstract" if own or all(kind == "abstract" for _, kind in records) else "note"


def _canonical(record: Record) -> tuple[bool, str, str, str]:
    return (not record.authors, record.title, record.abstract, repr(record))


def _date_worth(date: tuple[str, bool]) -> tuple[bool, int, str]:
    return (not date[1] and bool(date[0]), len(date[0]), date[0])


def _first(values: Iterable[str]) -> str:
    return next((value for value in values if value), "")


def _joined(lists: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(value for values in lists for value in values))


def _translations(records: Sequence[Record]) -> dict[str, Translation]:
    codes = sorted({code for record in records for code in record.translations})
    return {
        code: Translation(
            max((record.translations[code].title for record in records if code in record.translations), key=len),
            max((record.translations[code].abstract for record in records if code in record.translations), key=len),
        )
        for code in codes
    }
