"""How near is a tree, or the filing under one, to what people made? And what does filing thousands cost?

    python benchmarks/taxonomy.py GOLD_FOLDER RESULT.json [--papers PAPERS.json] [--json]   # scores `carrel taxonomy NAME --json`
    python benchmarks/taxonomy.py GOLD_FOLDER --prepare FOLDER     # papers to add, shuffled, and the human tree for --tree
    python benchmarks/taxonomy.py --scale 10000 [--from PAPERS.jsonl]   # time, memory and calls with a scripted model

GOLD_FOLDER holds papers.jsonl (id, title, abstract), gold_paths.jsonl (id, paths) and gold_tree.json. RESULT's papers are
known by their id, by the key that --prepare gave them, by the key that `carrel add papers.jsonl` gives them, or by what
`carrel papers --json` says of them (--papers). The result is compared as a grouping of the papers: at the leaf by its
nodes, at the first level by its branches; a paper without a place is a group of its own. B-cubed counts a pair of papers
as belonging together when any of their gold paths agree; ARI and NMI take the first path. A first level whose largest
group holds over 60 % of the papers is left out. Where labels of the result are those of the gold tree (as with --tree),
precision, recall and F1 of the places themselves are given too, counted over all papers.
"""

import argparse
import hashlib
import json
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from math import comb, log
from pathlib import Path

LARGEST = 0.6
Groups = Mapping[str, frozenset[Hashable]]


def key_for(paper: str) -> str:
    """A key that says nothing of where its paper stood, so that prompts, which go by key, show papers shuffled."""
    return f"p{hashlib.sha256(f'shuffled {paper}'.encode()).hexdigest()[:8]}"


def lines(path: Path) -> list[dict[str, object]]:
    """The records of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def prepare(gold: Path, folder: Path) -> None:
    """Writes `papers.jsonl` (shuffled, under keys that tell nothing) and `tree.txt`, the human tree as a list."""
    folder.mkdir(parents=True, exist_ok=True)
    papers = sorted(lines(gold / "papers.jsonl"), key=lambda one: key_for(str(one["id"])))
    records = [{"key": key_for(str(one["id"])), "title": one["title"], "abstract": one["abstract"]} for one in papers]
    (folder / "papers.jsonl").write_text("".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in records), "utf-8")
    (folder / "tree.txt").write_text("\n".join(_outline(json.loads((gold / "gold_tree.json").read_text("utf-8")), 0)) + "\n", "utf-8")


def _outline(tree: dict[str, object], depth: int) -> list[str]:
    found = []
    for label, below in tree.items():
        if label != "_papers":
            found.append(f"{'  ' * depth}- {label.replace(':', ',')}")
            found += _outline(below, depth + 1)  # type: ignore[arg-type]  # a tree all the way down
    return found


def score(gold: Path, result: dict[str, object], known: Mapping[str, str]) -> dict[str, object]:
    """Every figure for one result; `known` says which gold paper a key is."""
    paths = {str(one["id"]): [tuple(path) for path in one["paths"]] for one in lines(gold / "gold_paths.jsonl")}  # type: ignore[attr-defined]
    nodes = {node["id"]: node for node in result["nodes"]}  # type: ignore[attr-defined]
    places: dict[str, list[tuple[str, ...]]] = {paper: [] for paper in paths}
    for one in sorted(result["assignments"], key=lambda one: one["rank"]):  # type: ignore[call-overload]
        if known.get(one["key"]) in places:
            places[known[one["key"]]].append(_path(nodes, one["node"]))
    first = Counter(some[0][0] for some in paths.values())
    found: dict[str, object] = {
        "papers": len(paths),
        "filed": sum(bool(some) for some in places.values()),
        "nodes": len(nodes),
        "leaf": _level(paths, places, lambda path: path),
    }
    if first.most_common(1)[0][1] <= LARGEST * len(paths):
        found["first level"] = _level(paths, places, lambda path: path[:1])
    same = {tuple(_plain(part) for part in path) for some in paths.values() for path in some}
    ours = {tuple(_plain(part) for part in path) for some in places.values() for path in some}
    if ours and len(ours & same) >= len(ours) / 2:
        for name, cut in (("places at the leaf", 99), ("places at the first level", 1)):
            found[name] = _micro(paths, places, cut)
    return found


def _path(nodes: Mapping[str, dict[str, str]], node: str) -> tuple[str, ...]:
    found: list[str] = []
    at: str | None = node
    while at:
        found.append(nodes[at]["label"])
        at = nodes[at]["parent"]
    return tuple(reversed(found))


def _plain(label: str) -> str:
    return "".join(sign for sign in label.casefold() if sign.isalnum())


def _level(
    paths: Mapping[str, Sequence[tuple[str, ...]]], places: Mapping[str, Sequence[tuple[str, ...]]], cut: Callable[[tuple[str, ...]], tuple[str, ...]]
) -> dict[str, object]:
    gold = {paper: frozenset(cut(path) for path in some) for paper, some in paths.items()}
    mine = {paper: frozenset(cut(path) for path in some) or frozenset({("alone", paper)}) for paper, some in places.items()}
    one_gold = {paper: cut(some[0]) for paper, some in paths.items()}
    one_mine = {paper: cut(some[0]) if some else ("alone", paper) for paper, some in places.items()}
    precision, recall, f1 = b_cubed(gold, {paper: frozenset({group}) for paper, group in one_mine.items()})
    return {
        "groups": len({group for some in mine.values() for group in some}), "gold groups": len({group for some in gold.values() for group in some}),
        "b3_precision": precision, "b3_recall": recall, "b3_f1": f1, "ari": ari(one_gold, one_mine), "nmi": nmi(one_gold, one_mine),
    }  # fmt: skip


def b_cubed(gold: Groups, mine: Groups) -> tuple[float, float, float]:
    """Precision, recall and F1 over papers; two papers belong together when they share any group."""
    precision = recall = 0.0
    for one in gold:
        near = [other for other in gold if mine[one] & mine[other]]
        true = [other for other in gold if gold[one] & gold[other]]
        both = len(set(near) & set(true))
        precision += both / len(near)
        recall += both / len(true)
    precision, recall = precision / len(gold), recall / len(gold)
    return round(precision, 3), round(recall, 3), round(2 * precision * recall / (precision + recall), 3)


def ari(gold: Mapping[str, Hashable], mine: Mapping[str, Hashable]) -> float:
    """The adjusted Rand index."""
    cells = Counter((gold[paper], mine[paper]) for paper in gold)
    pairs = sum(comb(count, 2) for count in cells.values())
    rows, columns = (sum(comb(count, 2) for count in Counter(groups[paper] for paper in gold).values()) for groups in (gold, mine))
    expected = rows * columns / comb(len(gold), 2)
    most = (rows + columns) / 2
    return round((pairs - expected) / (most - expected), 3) if most != expected else 1.0


def nmi(gold: Mapping[str, Hashable], mine: Mapping[str, Hashable]) -> float:
    """Mutual information over the mean of both entropies."""
    total = len(gold)
    left, right, both = Counter(gold.values()), Counter(mine[paper] for paper in gold), Counter((gold[paper], mine[paper]) for paper in gold)
    shared = sum(count / total * log(count * total / (left[one] * right[other])) for (one, other), count in both.items())
    entropies = sum(-sum(count / total * log(count / total) for count in some.values()) for some in (left, right))
    return round(2 * shared / entropies, 3) if entropies else 1.0


def _micro(paths: Mapping[str, Sequence[tuple[str, ...]]], places: Mapping[str, Sequence[tuple[str, ...]]], cut: int) -> dict[str, float]:
    hit = ours = wanted = first_hit = 0
    for paper, some in paths.items():
        gold = {tuple(_plain(part) for part in path[:cut]) for path in some}
        mine = [tuple(_plain(part) for part in path[:cut]) for path in places[paper]]
        hit += len(gold & set(mine))
        ours += len(set(mine))
        wanted += len(gold)
        first_hit += bool(mine) and mine[0] in gold
    precision, recall = hit / ours if ours else 0.0, hit / wanted
    f1 = 2 * precision * recall / (precision + recall) if hit else 0.0
    return {"precision": round(precision, 3), "recall": round(recall, 3), "f1": round(f1, 3), "first place right": round(first_hit / len(paths), 3)}


def known_keys(gold: Path, listed: Path | None) -> dict[str, str]:
    """Which gold paper a key of a result is: its id, the key of --prepare, what `carrel add papers.jsonl` gives it, or what --papers says."""
    from store.embedding import HashEmbedder
    from store.library import Library
    from store.normalize import folded

    papers = lines(gold / "papers.jsonl")
    titles = {folded(str(one["title"])): str(one["id"]) for one in papers}
    known = {str(one["id"]): str(one["id"]) for one in papers} | {key_for(str(one["id"])): str(one["id"]) for one in papers}
    with tempfile.TemporaryDirectory() as place:
        library = Library(Path(place), HashEmbedder(), create=True)
        library.add(gold / "papers.jsonl")
        for paper in library.papers():
            if told := titles.get(folded(paper.title)):
                known |= dict.fromkeys([paper.key, *paper.aliases], told)
        library.close()
    for one in json.loads(listed.read_text("utf-8")) if listed else ():
        told = titles.get(folded(one["title"])) or next((value for value in one["identifiers"].values() if value in known), "")
        if told:
            known |= dict.fromkeys([one["key"], *one["aliases"]], known.get(told, told))
    return known


def scale(count: int, source: Path | None) -> dict[str, object]:
    """Time, peak memory and calls of growing a tree from so many papers, of filing ten more, and of filing under it as a given one."""
    from assistant.gateway import Gateway, Reply, Request, Usage
    from assistant.settings import Settings
    from assistant.tasks import growing, taxonomy
    from assistant.tasks.desk import Desk
    from assistant.tree import Tree
    from store.embedding import HashEmbedder
    from store.library import Library
    from store.paper import Record

    class Scripted:
        """A model that answers by rule: eleven nodes, and each paper under one of them by a hash of its title."""

        name = "test/scripted"

        async def complete(self, request: Request) -> Reply:
            step = request.label.split("/")[1].split("--")[0]
            return Reply(_by_rule(step, request.messages[1].content), Usage(len(request.messages[1].content) // 4, 500), 0.0, "scripted", "stop")

        async def stream(self, request: Request) -> AsyncIterator[str | Reply]:
            yield await self.complete(request)

    records = [Record(title=str(one["title"]), abstract=str(one["abstract"])) for one in lines(source)] if source else []
    records += [_made_up(number) for number in range(max(0, count + 10 - len(records)))]
    with tempfile.TemporaryDirectory() as place:
        library = Library(Path(place), HashEmbedder(), create=True)
        library.add_records(records[:count], "papers", "made up")
        gateway = Gateway(Scripted())
        desk = Desk(library, gateway, Settings())
        began = time.perf_counter()
        tree = growing.grown(desk, "scale", "subject", library.papers(), Tree("subject", ()), lambda done, total: None)
        took, calls = time.perf_counter() - began, gateway.spent()[0]
        library.add_records(records[count : count + 10], "more", "made up")
        began = time.perf_counter()
        made = taxonomy.file_papers(desk, "scale", tree, library.papers(), lambda done, total: None)
        more = {"seconds": round(time.perf_counter() - began, 1), "calls": gateway.spent()[0] - calls}
        held = len({one.key for one in made.assignments} | {one.key for one in made.unassigned})
        found = {
            "papers": len(library.papers()), "accounted for": held, "nodes": len(tree.nodes), "seconds": round(took, 1), "calls": calls,
            "ten more": more, "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }  # fmt: skip
        gateway.close()
        library.close()
    return found


def _by_rule(step: str, prompt: str) -> str:
    words = [f"{sign} kind of subject" for sign in ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gum")]
    if step.startswith("grow") or step == "propose":
        nodes = [{"label": word, "definition": f"Papers that fall to {word} by rule.", "children": []} for word in words]
        return json.dumps({"nodes": nodes})
    if step.startswith("part"):
        node = next(line for line in prompt.splitlines() if line.startswith("Node: ")).split()[1]
        return json.dumps({"nodes": [{"label": f"{node} {part} side", "definition": "A half of it, by rule."} for part in ("northern", "southern")]})
    if step.startswith(("beside", "more")):
        return json.dumps({"nodes": []})
    ids = [line.split('"')[1] for line in prompt.splitlines() if line.lstrip().startswith('- id "')]
    papers = [line for line in prompt.splitlines() if line.startswith("<<<paper ")]
    heads = [line.split(" ", 1)[1] for line in prompt.splitlines() if ".0] " in line[:12]]
    places = [
        {"paper": number, "node": ids[int(hashlib.sha256(head.encode()).hexdigest(), 16) % len(ids)], "sentences": [f"{number}.0"], "confidence": "high"}
        for number, head in enumerate(heads, 1)
    ]
    assert len(papers) == len(places), "every paper has a title"
    return json.dumps({"papers": places})


def _made_up(number: int) -> "Record":  # noqa: F821  store is loaded where it is used
    from store.paper import Record

    name = hashlib.sha256(str(number).encode()).hexdigest()[:10]
    return Record(title=f"{name} number {number} studies one more subject", abstract=f"We study {name}. It is one subject of many. Results follow in part {number}.")


def main() -> None:
    """Scores a result, prepares a list, or measures scale."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gold", type=Path, nargs="?")
    parser.add_argument("result", type=Path, nargs="?")
    parser.add_argument("--papers", type=Path)
    parser.add_argument("--prepare", type=Path)
    parser.add_argument("--scale", type=int)
    parser.add_argument("--from", dest="source", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.scale:
        found = scale(options.scale, options.source)
    elif not options.gold or not (options.gold / "gold_paths.jsonl").exists():
        sys.exit(f"{options.gold or 'GOLD_FOLDER'}: no gold_paths.jsonl there; name a folder with papers.jsonl, gold_paths.jsonl and gold_tree.json")
    elif options.prepare:
        prepare(options.gold, options.prepare)
        return
    elif not options.result:
        sys.exit("name a RESULT.json, as `carrel taxonomy NAME --json` prints it")
    else:
        result = json.loads(options.result.read_text("utf-8"))
        known = known_keys(options.gold, options.papers)
        strangers = {one["key"] for one in (*result["assignments"], *result["unassigned"])} - set(known)
        if strangers:
            print(f"{len(strangers)} keys of the result are of no gold paper, such as {min(strangers)}; give --papers", file=sys.stderr)
        found = score(options.gold, result, known)
    if options.json:
        print(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        print(f"{name}: {', '.join(f'{part} {said}' for part, said in value.items()) if isinstance(value, dict) else value}")


if __name__ == "__main__":
    main()
