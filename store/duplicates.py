"""Which records are one work, and on what evidence.

Records are linked in pairs: by an equal identifier, or by an equal (or near-equal) title and abstract. What is linked is
one work, unless works that contradict each other (two DOIs) hang together by a record that fits both: then that record
joins neither and is *undecided*. What a person decided (`merge`, `split`) comes before all evidence. The outcome depends
on the set of records and decisions alone, never on the order in which they came.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import combinations
from typing import NamedTuple, TypeVar

from store.normalize import folded, identifier
from store.paper import Record

IDENTIFYING = ("doi", "arxiv", "pmid")
PREPRINT_DOIS = ("10.1101/", "10.2139/ssrn", "10.21203/", "10.20944/", "10.31234/", "10.31219/", "10.26434/", "10.36227/", "10.22541/", "10.48550/")
"""Servers whose DOI names a preprint: it does not contradict the DOI of the published paper."""
SHORTEST_TITLE = 12
"""A shorter title (`Preface`) names no work by itself."""
EDGE = 80
"""Letters at either end of an abstract by which near-equal ones are found: an edit in one end leaves the other."""
NEAR_TITLE, NEAR_ABSTRACT = 95.0, 90.0
COMMONEST = 300
"""Sources that share a title or an end of the abstract; above that it is a heading or a licence, and links nothing."""
MANY = 60

Thing = TypeVar("Thing", bound=Hashable)


class Verdict(NamedTuple):
    """Groups of sources that are one work each, why each source joined its group, and who was left undecided.

    `reasons` has nothing for the first source of a group; `undecided` are (source, source of a work it fits, reason).
    """

    groups: list[list[int]]
    reasons: dict[int, str]
    undecided: list[tuple[int, int, str]]


@dataclass(frozen=True, slots=True)
class Decisions:
    """What a person decided of sources: pairs that are one work, and pairs that are not."""

    same: frozenset[frozenset[int]] = frozenset()
    different: frozenset[frozenset[int]] = frozenset()


def fingerprints(record: Record) -> list[int]:
    """What a record can be found by, each as a 63-bit number: identifiers, title, the abstract's two ends."""
    found = [f"{kind}:{value}" for kind, value in identified(record).items()]
    title, abstract = folded(record.title), folded(record.abstract[: 2 * EDGE])
    if len(title) >= SHORTEST_TITLE:
        found.append(f"title:{title}")
    if len(abstract) >= EDGE:
        found += [f"start:{abstract[:EDGE]}", f"end:{folded(record.abstract[-2 * EDGE :])[-EDGE:]}"]
    return [_number(word) for word in found]


def _number(word: str) -> int:
    return int.from_bytes(blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()) >> 1


def identified(record: Record) -> dict[str, str]:
    """The identifiers that name a work, in comparable form; a preprint server's DOI is one of its own kind."""
    found: dict[str, str] = {}
    for kind in IDENTIFYING:
        value = identifier(kind, record.identifiers.get(kind, ""))
        if kind == "doi" and value.startswith("10.48550/arxiv."):
            found["arxiv"] = identifier("arxiv", value.removeprefix("10.48550/arxiv."))
        elif kind == "doi" and value.startswith(PREPRINT_DOIS):
            found["preprint doi"] = value
        elif value:
            found[kind] = value
    return found


def same_work(a: Record, b: Record) -> str:
    """Why two records alone are one work, or nothing. An equal identifier decides before one that differs."""
    return _same_identifier(a, b) or ("" if contradict(a, b) else _same_text(a, b))


def contradict(a: Record, b: Record) -> bool:
    """Whether two records name different identifiers of one kind, and none that is equal."""
    return _contradict(_values([a]), _values([b]))


def _values(records: Iterable[Record]) -> dict[str, set[str]]:
    values: dict[str, set[str]] = defaultdict(set)
    for record in records:
        for kind, value in identified(record).items():
            values[kind].add(value)
    return values


def _contradict(one: Mapping[str, set[str]], other: Mapping[str, set[str]]) -> bool:
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[kind].isdisjoint(other[kind]) for kind in shared)


def _same_identifier(a: Record, b: Record) -> str:
    one, other = identified(a), identified(b)
    return next((f"same {kind}" for kind, value in one.items() if other.get(kind) == value), "")


def _same_text(a: Record, b: Record) -> str:
    if a.title and b.title:
        one, other = folded(a.title), folded(b.title)
        if one == other and len(one) >= SHORTEST_TITLE:
            return "same title"
        near = _ratio(one, other) >= NEAR_TITLE and a.abstract and _ratio(folded(a.abstract), folded(b.abstract)) >= NEAR_ABSTRACT
        return "near-equal title and abstract" if near else ""
    return "same abstract" if a.abstract and _ratio(folded(a.abstract), folded(b.abstract)) >= NEAR_TITLE else ""


def _ratio(one: str, other: str) -> float:
    from rapidfuzz import fuzz

    return float(fuzz.ratio(one, other)) if one and other else 0.0


def linked(a: Record, b: Record) -> bool:
    """Whether anything in two records says that they may be one work."""
    return bool(_same_identifier(a, b) or _same_text(a, b))


def judged(records: Mapping[int, Record], decisions: Decisions | None = None) -> Verdict:
    """The works that linked sources make up; `records` must hold every source that a fingerprint or decision links."""
    decided = decisions or Decisions()
    links = _Links(records)
    ordered = sorted(records)
    whole, _ = _resolved(ordered, [tuple(pair) for pair in decided.same], lambda _a, _b: False)

    def split(one: Collection[int], other: Collection[int]) -> bool:
        return any(frozenset((a, b)) in decided.different for a in one for b in other) if decided.different else False

    named, unsure = _levelled(whole, links.by_identifier, split)
    values = {group: _values(records[source] for source in group) for group in named}

    def apart(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        return split(one, other) or _contradict(values[one], values[other])

    works, unsure_texts = _levelled(named, links.by_text, apart, apart)
    groups = sorted(sorted(work) for work in works)
    return Verdict(groups, {source: links.reason(source, group, decided.same) for group in groups for source in group}, unsure + unsure_texts)


Apart = Callable[[tuple[int, ...], tuple[int, ...]], bool]


def _levelled(
    groups: Sequence[tuple[int, ...]], pairs: Mapping[tuple[int, int], str], apart: Apart, unlinked: Apart | None = None
) -> tuple[list[tuple[int, ...]], list[tuple[int, int, str]]]:
    """Groups united by links between their sources; `unlinked` says of two groups that no link between them counts."""
    home = {source: group for group in groups for source in group}
    linked: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, int, str]] = {}
    for (a, b), reason in sorted(pairs.items(), key=lambda pair: (pair[1], pair[0])):
        one, other = sorted((home[a], home[b]))
        if one != other and not (unlinked and unlinked(one, other)):
            linked.setdefault((one, other), (a, b, reason))
    united, doubts = _resolved(groups, list(linked), apart)
    undecided = []
    for doubtful, work in doubts:
        a, b, reason = linked[min((doubtful, work), (work, doubtful))]
        undecided.append((a, b, reason) if a in doubtful else (b, a, reason))
    return [tuple(sorted(source for group in parts for source in group)) for parts in united], undecided


def _resolved(
    things: Sequence[Thing], links: Iterable[tuple[Thing, ...]], apart: Callable[[Thing, Thing], bool]
) -> tuple[list[tuple[Thing, ...]], list[tuple[Thing, Thing]]]:
    """The connected things united, and the doubtful ones: (thing, thing it fits but did not join).

    Where a connected part holds things that are apart from each other, those stand alone; the others are united among
    themselves and join the one of them that they are linked to, or none when they are linked to several.
    """
    near: dict[Thing, set[Thing]] = {thing: set() for thing in things}
    for one, other in links:
        near[one].add(other)
        near[other].add(one)
    united: list[tuple[Thing, ...]] = []
    doubts: list[tuple[Thing, Thing]] = []
    for part in _connected(things, near):
        rivals = {thing for pair in combinations(part, 2) if apart(*pair) for thing in pair}
        if not rivals:
            united.append(tuple(part))
            continue
        joined: dict[Thing, list[Thing]] = {rival: [rival] for rival in part if rival in rivals}
        for rest in _connected([thing for thing in part if thing not in rivals], near):
            fits = {rival for thing in rest for rival in near[thing] & rivals}
            if len(fits) == 1:
                joined[fits.pop()] += rest
            else:
                united.append(tuple(rest))
                doubts += [(thing, rival) for thing in rest for rival in part if rival in near[thing] & rivals]
        united += [tuple(members) for members in joined.values()]
    return united, doubts


def _connected(things: Sequence[Thing], near: Mapping[Thing, set[Thing]]) -> list[list[Thing]]:
    """The connected parts, each in the order of `things`."""
    place = {thing: at for at, thing in enumerate(things)}
    left, parts = set(things), []
    for start in things:
        if start not in left:
            continue
        left.discard(start)
        found, waiting = {start}, [start]
        while waiting:
            beside = near[waiting.pop()] & left
            left -= beside
            found |= beside
            waiting += beside
        parts.append(sorted(found, key=place.__getitem__))
    return parts


class _Links:
    """The pairs of sources that are linked, with the reason: by identifier, and by title and abstract."""

    def __init__(self, records: Mapping[int, Record]) -> None:
        self.by_identifier: dict[tuple[int, int], str] = {}
        self.by_text: dict[tuple[int, int], str] = {}
        named: dict[tuple[str, str], list[int]] = defaultdict(list)
        for source in sorted(records):
            for kind, value in identified(records[source]).items():
                named[kind, value].append(source)
        for (kind, _), sources in named.items():
            # Of a paper that was imported very often a chain links as well as all pairs do.
            pairs = combinations(sources, 2) if len(sources) <= MANY else zip(sources, sources[1:], strict=False)
            for a, b in pairs:
                self.by_identifier.setdefault((a, b), f"same {kind}")
        self._by_text(records)

    def _by_text(self, records: Mapping[int, Record]) -> None:
        alike: dict[int, list[int]] = defaultdict(list)
        for source in sorted(records):
            for mark in fingerprints(records[source]):
                alike[mark].append(source)
        seen: set[tuple[int, int]] = set()
        for sources in alike.values():
            if 1 < len(sources) <= COMMONEST:
                seen.update(combinations(sources, 2))
        for a, b in sorted(seen):
            if reason := _same_text(records[a], records[b]):
                self.by_text[a, b] = reason

    def reason(self, source: int, group: Sequence[int], same: frozenset[frozenset[int]]) -> str:
        """Why a source stands in its group: a decision, an identifier, a text; nothing for the first."""
        if source == group[0]:
            return ""
        pairs = [(min(source, other), max(source, other)) for other in group if other != source]
        if any(frozenset(pair) in same for pair in pairs):
            return "merged by hand"
        for links in (self.by_identifier, self.by_text):
            for pair in pairs:
                if pair in links:
                    return links[pair]
        return "same work as another of its sources"
