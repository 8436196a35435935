"""The one record that all sources of a work make together, the same in whatever order they came."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from store.paper import Kind, Record, Translation


def merged(records: Sequence[tuple[Record, Kind]]) -> tuple[Record, Kind]:
    """One record of a work from all that sources say of it, the same in whatever order they came.

    Each field is the richest that a source gave: the authors' abstract before a note, the longer text, the more
    precise and printed date; lists that can only add up (categories, keywords, identifiers) are joined.
    """
    if len(records) == 1:
        return _without_repeats(records[0][0]), records[0][1]
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
        details={name: value for record in reversed(ordered) for name, value in sorted(record.details.items())},
        categories=_joined(record.categories for record in ordered),
        keywords=_joined(record.keywords for record in ordered),
        references=_joined(record.references for record in ordered),
        notices=_joined(record.notices for record in ordered),
    )
    return whole, "abstract" if own or all(kind == "abstract" for _, kind in records) else "note"


def _without_repeats(record: Record) -> Record:
    lists = {name: _joined([getattr(record, name)]) for name in ("categories", "keywords", "references", "notices")}
    return replace(record, **lists) if any(lists[name] != getattr(record, name) for name in lists) else record  # type: ignore[arg-type]  # all are lists of words


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
