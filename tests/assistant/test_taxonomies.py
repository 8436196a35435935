"""Trees grown, given, edited and kept alive: what is asked of a model, what stays, what is said."""

import importlib.util
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from assistant.cli import model
from assistant.document import Assignment, Node
from assistant.errors import SettingsError
from assistant.files import read_tree
from assistant.gateway import Gateway, Request
from assistant.settings import Settings
from assistant.tasks import growing, taxonomy
from assistant.tasks.desk import Desk
from assistant.tree import Bounds, Tree, tree_problems
from assistant.treefiles import given_tree
from store.library import Library
from store.paper import Record
from tests.assistant.test_tasks import Answer, ByHand, nobody
from tests.conftest import ROOT, Carrel

OWN = """# My tree. It took a year.
given = true

# Where rewards come from.
[[node]]
id = "rewards"
label = "Rewards"
definition = "Where rewards come from."

[[node]]
id = "checked"
label = "Checked by code"
definition = "A program says what is right."
parent = "rewards"

# Everything about speed.
[[node]]
id = "systems"
label = "Systems"  # the engineers' corner
definition = "Making training fast."

# Robots last.
[[node]]
id = "robots"
label = "Robots"
definition = "Machines with bodies."
"""


def shown_heads(request: Request) -> list[str]:
    """The titles, or first sentences, of the papers of a prompt, in their order."""
    return re.findall(r"<<<paper \d+ .*\n\[\d+\.\d+\] (.*)", request.messages[1].content)


def offered(request: Request) -> list[str]:
    """The ids of the nodes that a prompt offers."""
    return re.findall(r'- id "([^"]+)"', request.messages[1].content)


def filed_by(choose: Callable[[str, list[str]], str]) -> Callable[[Request], Answer]:
    """Replies that file each paper where `choose` says by its title, and propose one node for what fits nowhere."""

    def replies(request: Request) -> Answer:
        heads = shown_heads(request)
        if "/beside" in request.label:
            new = {"label": "Odd ones", "definition": "Papers that are like no other here.", "papers": list(range(1, len(heads) + 1))}
            return json.dumps({"nodes": [new]})
        labels = re.findall(r"<<<paper (\d+) .*\n\[(\d+\.\d+)\]", request.messages[1].content)
        places = [choose(head, offered(request)) for head in heads]
        return json.dumps(
            {
                "papers": [
                    {"paper": int(number), "node": place, "sentences": [label], "reason": "like nothing here" if place == "none" else ""}
                    for (number, label), place in zip(labels, places, strict=True)
                ]
            }
        )

    return replies


def by_length(title: str, ids: list[str]) -> str:
    """The last of the nodes for short titles, the first but one for others, none for a few."""
    return "none" if "obot" in title else ids[-1] if len(title) < 70 else ids[1]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByHand]:
    """A model that files by rule, in the place of the one of the settings."""
    by_hand = ByHand(filed_by(by_length))
    monkeypatch.setattr(model, "gateway_for", lambda library, settings, wanted: Gateway(by_hand))
    monkeypatch.setenv("CARREL_MODEL", "test/by-hand")
    yield by_hand


class Own:
    """A library with the tree `own` in it, filed once; `again` says which papers a run asked about, `tree` what there is."""

    def __init__(self, carrel: Carrel, folder: Path, asked: ByHand) -> None:
        self.carrel, self.folder, self.asked = carrel, folder, asked
        self.path = folder / "taxonomies" / "own.toml"
        (folder / "given.toml").write_text(OWN, "utf-8")
        self.first = carrel("taxonomy", "own", "--tree", folder / "given.toml", "--yes", at=folder)
        assert self.first.code == 0, self.first.err

    def edit(self, *words: str, code: int = 0) -> str:
        ran = self.carrel("taxonomy", "own", *words)
        assert ran.code == code, ran.err
        return ran.err

    def tree(self) -> dict[str, list[str]]:
        """Node id, or `unassigned`, → the keys there."""
        shown = json.loads(self.carrel("taxonomy", "own", "--json").out)
        found: dict[str, list[str]] = {"unassigned": [one["key"] for one in shown["unassigned"]]}
        for one in shown["assignments"]:
            found.setdefault(one["node"], []).append(one["key"])
        return found

    def again(self, *words: str) -> int:
        """How many papers a run asked about."""
        before = len(self.asked.asked)
        ran = self.carrel("taxonomy", "own", "--yes", *words)
        assert ran.code == 0, ran.err
        return sum(len(shown_heads(request)) for request in self.asked.asked[before:] if "/assign" in request.label)


@pytest.fixture
def own(carrel: Carrel, folder: Path, asked: ByHand) -> Own:
    return Own(carrel, folder, asked)


LIST = "- Rewards: Where rewards come from.\n  - Checked by code — A program says so.\n  - Learned\n- Systems\n"
HEADINGS = "# A survey\n\n## Rewards\n\nWhere rewards come from.\n\n### Checked by code\nA program says so.\n\n### Learned\n- not a node\n\n## Systems\n```\n# nor this\n```\n"
TREE_TOML = """[[node]]
label = "Rewards"
definition = "Where rewards come from."
[[node]]
label = "Checked by code"
definition = "A program says so."
parent = "Rewards"
[[node]]
label = "Learned"
parent = "rewards"
[[node]]
label = "Systems"
"""


@pytest.mark.parametrize(("name", "text"), [("a.txt", LIST), ("a.md", HEADINGS), ("a.toml", TREE_TOML), ("b.txt", LIST.replace("  ", "\t").replace("- ", ""))])
def test_a_tree_is_taken_as_toml_as_a_list_and_as_headings(tmp_path: Path, name: str, text: str) -> None:
    """The same tree in three forms is the same tree, somebody's own."""
    (tmp_path / name).write_text(text, "utf-8")
    (tmp_path / "tree.toml").write_text(given_tree(tmp_path / name), "utf-8")
    tree = Tree(*read_tree(tmp_path / "tree.toml"))
    assert tree.given
    assert [(node.id, node.label, node.definition, node.parent) for node in tree.nodes] == [
        ("rewards", "Rewards", "Where rewards come from.", ""),
        ("checked-by-code", "Checked by code", "A program says so.", "rewards"),
        ("learned", "Learned", "", "rewards"),
        ("systems", "Systems", "", ""),
    ]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.txt", "  - A\n- B\n", "line 1, '- A', is indented"),
        ("a.txt", "- A\n    - B\n  - C\n", "line 3, '- C', is indented by 2"),
        ("a.txt", "- A\n  - B\n  - B\n", "line 3: 'B' stands twice under A"),
        ("a.txt", "\n\n", "no node in it"),
        ("a.toml", "facet = 'x'\n", "no .*node"),
        ("a.toml", "[[node]]\nid='a'\nlabel='A'\nparent='b'\n[[node]]\nid='b'\nlabel='B'\nparent='a'\n", "'a' is its own ancestor"),
        ("a.toml", "[[node]]\nid='a'\nlabel='A'\nparent='gone'\n", "'a' has the parent 'gone'"),
        ("a.toml", "[[node]]\nid='a'\nlabel='A'\nfacet='x'\n[[node]]\nid='b'\nlabel='B'\nparent='a'\nfacet='y'\n", "of another facet"),
        ("a.toml", "depth = 'two'\n[[node]]\nlabel='A'\n", "depth = 'two' should be a whole number"),
    ],
)
def test_a_tree_that_cannot_be_says_which_line_or_node(tmp_path: Path, name: str, text: str, said: str) -> None:
    """A circle, a lost parent, a line between two levels, twins, nothing at all."""
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(SettingsError, match=said):
        given_tree(tmp_path / name)


def test_labels_that_stand_in_two_branches_get_ids_of_their_own(tmp_path: Path) -> None:
    """A human tree repeats itself; Chinese labels have ids too."""
    (tmp_path / "a.txt").write_text("A\n  Benchmarks\nB\n  Benchmarks\n奖励\n  奖励 模型\n", "utf-8")
    tree = tomllib.loads(given_tree(tmp_path / "a.txt"))
    assert [node["id"] for node in tree["node"]] == ["a", "benchmarks", "b", "b-benchmarks", "奖励", "奖励-模型"]


def test_papers_are_filed_under_a_given_tree_and_what_fits_nowhere_is_proposed_beside_it(own: Own) -> None:
    """Every paper is accounted for, each place has its sentence; the tree is as it was, comments and all."""
    shown = json.loads(own.carrel("taxonomy", "own", "--json").out)
    held = [one["key"] for one in shown["assignments"]]
    out = [one["key"] for one in shown["unassigned"]]
    assert len(held) == len(set(held))
    assert len(held) + len(out) == 36
    assert all(one["cites"] for one in shown["assignments"])
    assert all(one["reason"] == "like nothing here" for one in shown["unassigned"])
    assert out
    assert own.path.read_text("utf-8") == OWN
    proposed = tomllib.loads((own.folder / "taxonomies" / "own.proposed.toml").read_text("utf-8"))
    assert [(node["label"], sorted(node["papers"])) for node in proposed["node"]] == [("Odd ones", sorted(out))]
    assert "is proposed in" in own.first.err or "are proposed in" in own.first.err


def test_what_was_proposed_is_taken_when_that_is_said(own: Own) -> None:
    """--accept puts the nodes into the tree, comments kept; the next run asks about the unassigned papers alone."""
    out = len(own.tree()["unassigned"])
    assert own.again() == 0
    assert f"{out} of 36 papers wait" in own.edit("--accept")
    text = own.path.read_text("utf-8")
    assert text.startswith(OWN.rstrip())
    assert 'label = "Odd ones"' in text
    assert not (own.folder / "taxonomies" / "own.proposed.toml").exists()
    assert own.again() == out
    assert "nothing is proposed" in own.edit("--accept", code=2)


def test_a_tree_of_that_name_is_not_overwritten(own: Own) -> None:
    """The same once more is no change, another --tree for the same name is refused, and so is growing into one's own tree."""
    own.edit("--tree", str(own.folder / "given.toml"))
    (own.folder / "given.toml").write_text(OWN.replace("Robots", "Machines"), "utf-8")
    assert "there is a tree 'own' already" in own.edit("--tree", str(own.folder / "given.toml"), code=2)
    assert "is your own tree" in own.edit("--facet", "subject", "--yes", code=2)
    assert own.path.read_text("utf-8") == OWN


@pytest.mark.parametrize(
    ("words", "asked_about"),
    [
        (("rename", "systems", "Systems and speed"), ()),
        (("move", "systems", "rewards"), ("rewards",)),
        (("add", "Games", "--definition", "Play of all kinds."), ("unassigned",)),
        (("rename", "robots", "--definition", "Machines with bodies, and their drivers."), ("robots", "unassigned")),
        (("remove", "robots"), ("robots",)),
        (("merge", "systems", "robots"), ()),
        (("split", "robots", "Arms: those that grip", "Legs: those that walk"), ("robots", "unassigned")),
        (("lock", "systems", "robots"), ()),
    ],
)
def test_an_edit_files_anew_only_what_it_concerns(own: Own, words: tuple[str, ...], asked_about: tuple[str, ...]) -> None:
    """A label, a lock cost nothing; a definition, a removal or parts only their papers, and those that had no place."""
    before = own.tree()
    own.edit(*words)
    assert own.again() == sum(len(before.get(node, ())) for node in asked_about)
    after = own.tree()
    assert sum(map(len, after.values())) == 36
    for comment in ("# My tree. It took a year.", "# Where rewards come from.", "# Everything about speed.", "# the engineers' corner", "# Robots last."):
        assert comment in own.path.read_text("utf-8") or "engineers" in comment


def test_merged_papers_stand_with_the_heir_and_come_back_with_undo(own: Own) -> None:
    """No model is asked; the file alone says where they are."""
    before = own.tree()
    own.edit("merge", "systems", "robots")
    merged = own.tree()
    assert sorted(merged["systems"]) == sorted(before.get("systems", []) + before["robots"])
    assert "robots" not in merged
    assert "it is part of 'systems' now" in own.edit("rename", "robots", "X", code=2)
    own.edit("undo")
    assert own.tree() == before
    assert own.path.read_text("utf-8") == OWN


def test_removed_papers_are_unassigned_and_say_why(own: Own) -> None:
    """Until the next run; a node with others below it goes only with them."""
    before = own.tree()
    own.edit("remove", "robots")
    shown = json.loads(own.carrel("taxonomy", "own", "--json").out)
    why = {one["key"]: one["reason"] for one in shown["unassigned"]}
    assert all("was taken out of the tree" in why[key] for key in before["robots"])
    assert "has 1 nodes below it" in own.edit("remove", "rewards", code=2)
    own.edit("remove", "rewards", "--below")
    assert [node.id for node in Tree(*read_tree(own.path)).nodes] == ["systems"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rename", "gone", "X"), "there is no node 'gone'; the nodes are rewards, checked, systems, robots"),
        (("rename", "robot", "X"), "there is no node 'robot'; did you mean 'robots'|'Robots'"),
        (("merge", "checked", "rewards"), "cannot take in 'rewards', which is above it"),
        (("move", "rewards", "checked"), "'rewards' cannot stand under 'checked', which is below it"),
        (("move", "rewards", "gone"), "there is no node 'gone'"),
        (("add", "Systems"), "'systems' is called 'Systems'"),
        (("split", "robots", "Arms", "Arms"), "two siblings|same id|called 'Arms'"),
        (("paint", "robots"), "there is no edit 'paint'; there are rename, merge"),
        (("move", "robots"), "write move NODE PARENT"),
        (("file", "nobody2020x", "robots"), "nobody2020x"),
        (("undo",), "there is no earlier version"),
        (("rename", "robots", "X", "--facet", "y"), "two commands"),
    ],
)
def test_an_edit_that_cannot_be_done_says_so_and_changes_nothing(own: Own, words: tuple[str, ...], said: str) -> None:
    """One line that names the node; the file is as it was."""
    assert re.search(said, own.edit(*words, code=2))
    assert own.path.read_text("utf-8") == OWN


def test_a_locked_node_is_never_changed(own: Own) -> None:
    """No edit touches it until it is unlocked."""
    own.edit("lock", "robots")
    locked = own.path.read_text("utf-8")
    for words in (("rename", "robots", "X"), ("remove", "robots"), ("merge", "systems", "robots"), ("split", "robots", "A", "B"), ("move", "robots", "systems")):
        assert "is locked; `unlock` it first" in own.edit(*words, code=2)
    assert own.path.read_text("utf-8") == locked
    own.edit("unlock", "robots")
    own.edit("rename", "robots", "Machines")
    assert Tree(*read_tree(own.path)).nodes[-1].label == "Machines"


def test_a_paper_filed_by_hand_stays_there_with_its_sentence(own: Own) -> None:
    """Under any key it has; `none` leaves it out with a reason; without a node it is the model's again."""
    key = own.tree()["robots"][0]
    own.edit("file", key, "systems", "checked", "--sentence", "2")
    shown = json.loads(own.carrel("taxonomy", "own", "--json").out)
    mine = [one for one in shown["assignments"] if one["key"] == key]
    assert [(one["node"], one["rank"], one["by"]) for one in mine] == [("systems", 1, "person"), ("checked", 2, "person")]
    assert mine[0]["cites"][0]["sentences"] == [2]
    own.edit("file", key, "none", "--reason", "a poster")
    shown = json.loads(own.carrel("taxonomy", "own", "--json").out)
    assert {"key": key, "reason": "a poster"} in shown["unassigned"]
    own.edit("file", key)
    assert key in own.tree()["robots"]
    assert own.again() == 0


def test_a_paper_filed_by_hand_that_is_not_in_the_library_is_reported(own: Own) -> None:
    """A typing error in a key does not go unseen, and stops nothing."""
    own.path.write_text(f'{OWN}\n[[filed]]\nkey = "nobody2020x"\nnode = "robots"\n', "utf-8")
    assert "tree: nobody2020x: filed by hand, but" in own.edit("--show")
    assert own.again() == 0


def test_a_tree_is_not_grown_from_nothing(carrel: Carrel, empty: Library, asked: ByHand) -> None:
    """An empty scope is said to be one, and no model is asked."""
    ran = carrel("taxonomy", "t", "--facet", "subject", at=empty.folder)
    assert (ran.code, asked.asked) == (2, [])
    assert "no paper in the scope" in ran.err


def test_the_same_edits_by_hand(own: Own) -> None:
    """A line without an id is new and gets one; an id that is gone leaves its papers unassigned; nothing else is asked."""
    before = own.tree()
    text = OWN[: OWN.index("# Robots last.")] + '[[node]]\nlabel = "Games"\ndefinition = "Play of all kinds."\n'
    own.path.write_text(text, "utf-8")
    assert own.again() == len(before["robots"]) + len(before["unassigned"])
    assert tomllib.loads(own.path.read_text("utf-8"))["node"][-1]["id"] == "games"
    after = own.tree()
    assert after["checked"] == before["checked"]
    assert len(after["games"]) == len(before["robots"])


def test_a_diff_says_what_changed_and_why(own: Own) -> None:
    """Nodes and papers, each with its reason; and as a file where a format is asked for."""
    before = own.tree()
    own.edit("remove", "robots")
    own.edit("rename", "systems", "Speed")
    shown = own.edit("--diff", "--show")
    assert "node Robots (taken out)" in shown
    assert "'Systems' is called 'Speed' now" in shown
    assert f"paper {before['robots'][0]}: Robots → nowhere ('Robots' was taken out)" in shown
    ran = own.edit("--diff", "--yes", "--to", "md", "--output", str(own.folder / "out"))
    assert f"paper {before['robots'][0]}: Robots → Speed ('Robots' was taken out)" in ran
    written = (own.folder / "out" / "own.diff.md").read_text("utf-8")
    assert "→ Speed" in written
    assert "Robots → Speed" in own.edit("--diff", "--show")
    assert "nothing changed" in own.edit("--diff", "--yes")


def test_new_papers_are_all_that_a_run_asks_about(own: Own) -> None:
    """Ten new papers, one call; the diff says that they are new."""
    library = Library(own.folder)
    library.add_records([Record(title=f"Walking machine number {number}", abstract="We let it walk. It fell.") for number in range(10)], "new", "test")
    library.close()
    before = len(own.asked.asked)
    said = own.edit("--diff", "--yes")
    assert len(own.asked.asked) - before == 1
    assert said.count("(new in the library or the scope)") == 10


def test_parts_of_a_node_are_proposed_by_a_model_where_none_are_named(own: Own, monkeypatch: pytest.MonkeyPatch) -> None:
    """They stand beside the tree until they are accepted."""
    parts = [{"label": "Arms", "definition": "Those that grip things."}, {"label": "Legs", "definition": "Those that walk about."}]
    own.asked.answers = lambda _: json.dumps({"nodes": parts})
    (own.folder / "taxonomies" / "own.proposed.toml").unlink()
    own.edit("split", "robots")
    assert own.path.read_text("utf-8") == OWN
    own.edit("--accept")
    assert [(node.label, node.parent) for node in Tree(*read_tree(own.path)).nodes[-2:]] == [("Arms", "robots"), ("Legs", "robots")]


KINDS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm")


def by_rule(request: Request) -> Answer:
    """Five nodes; a paper goes by a word of its title; parts are two; nothing is proposed beside."""
    step = request.label.split("/")[1]
    if step.startswith(("grow", "propose")):
        return json.dumps({"nodes": [{"label": f"{kind} woods", "definition": f"Papers about {kind} trees.", "children": []} for kind in KINDS]})
    if step.startswith("part"):
        return json.dumps({"nodes": [{"label": f"{side} side", "definition": f"Growing on the {side} side."} for side in ("Sunny", "Shady")]})
    if "beside" in step or step.startswith("more"):
        return json.dumps({"nodes": [{"label": "Heather", "definition": "Papers about heather alone.", "papers": [1, 2, 3]}]})

    def choose(title: str, ids: list[str]) -> str:
        wanted = title.split(maxsplit=1)[0].lower()
        here = [one for one in ids if one.startswith(wanted)]
        return here[0] if here else "none" if wanted == "heather" and len(ids) > 2 else ids[len(title) % len(ids)]

    return filed_by(choose)(request)


def woods(count: int) -> Iterator[Record]:
    """Papers about trees: half of them birches, three of every hundred about heather, a single elm."""
    for number in range(count):
        kind = "Elm" if number == 7 else "Heather" if number % 14 == 3 else "Birch" if number % 2 else KINDS[number % 4]
        yield Record(title=f"{kind} study {'x' * (number % 3)} number {number}", abstract=f"Trees matter. We study {kind} number {number}. It grows. It grew.")


@pytest.fixture
def grove(empty: Library) -> Library:
    empty.add_records(woods(300), "woods", "test")
    return empty


def grown(library: Library, by_hand: ByHand, bounds: Bounds | None = None) -> Tree:
    have = Tree("kind of tree", (), bounds=bounds or Bounds())
    return growing.grown(Desk(library, Gateway(by_hand), Settings()), "woods", "kind of tree", library.papers(), have, nobody)


def test_three_hundred_papers_take_at_most_sixty_calls(grove: Library) -> None:
    """Proposals by batches that revise the last, packs, nodes for what fits nowhere, parts of what is full, thin leaves given up."""
    by_hand = ByHand(by_rule)
    tree = grown(grove, by_hand)
    steps = Counter(request.label.split("/")[1].split("--")[0] for request in by_hand.asked)
    assert len(by_hand.asked) <= 60
    assert [name for name in steps if name.startswith("grow")] == [f"grow-0{number}" for number in range(1, 6)]
    assert "The tree so far" in by_hand.asked[1].messages[1].content
    labels = {node.label for node in tree.nodes}
    assert "Heather" in labels
    assert {"Sunny side", "Shady side"} <= labels
    assert "Elm woods" not in labels
    made = taxonomy.document(grove, "woods", tree, grove.papers())
    assert len({one.key for one in made.assignments} | {one.key for one in made.unassigned}) == 300
    assert not made.unassigned
    assert made.report.marked == ()
    assert all(node.example for node in tree.leaves)


def test_ten_new_papers_take_at_most_five_calls(grove: Library) -> None:
    """And touch nothing else: every other placement is as it was."""
    by_hand = ByHand(by_rule)
    tree = grown(grove, by_hand)
    before, calls = taxonomy.document(grove, "woods", tree, grove.papers()).assignments, len(by_hand.asked)
    grove.add_records((Record(title=f"Cedar study new {number}", abstract="We study one more. It grows.") for number in range(10)), "more", "test")
    made = taxonomy.file_papers(Desk(grove, Gateway(by_hand), Settings()), "woods", tree, grove.papers(), nobody)
    assert len(by_hand.asked) - calls <= 5
    assert len(made.assignments) == 310
    assert set(before) <= set(made.assignments)


def test_a_batch_that_brings_no_usable_tree_leaves_the_last_one(grove: Library) -> None:
    """One bad reply does not end a growth that others carry."""
    by_hand = ByHand(lambda request: '{"nodes": []}' if "grow-03" in request.label else by_rule(request))
    assert {node.label for node in grown(grove, by_hand).nodes} >= {"Alder woods", "Birch woods"}


def test_proposals_take_what_summaries_say(library: Library) -> None:
    """A stored summary comes before the abstract's own sentences; the title stands first."""
    brief = growing.briefs_of(library, library.papers()[:1])[0]
    assert brief.lines[0].text
    assert 2 <= len(brief.lines) <= 3


@pytest.mark.parametrize(
    ("bounds", "reply", "said"),
    [
        (Bounds(depth=1), [("A one", 2), ("B two", 0)], "is at level 1 of at most 1 and has children"),
        (Bounds(width=2), [("A one", 0), ("B two", 0), ("C three", 0)], "3 nodes at the first level; there should be 2 to 2"),
        (Bounds(depth=3), [("A one", 1), ("B two", 0)], "has a single child"),
        (Bounds(depth=3), [("Rewards", 0), ("reward", 0)], "are called alike"),
    ],
)
def test_the_bounds_of_a_tree_are_asked_for_and_checked(library: Library, bounds: Bounds, reply: list[tuple[str, int]], said: str) -> None:
    """Depth and width stand in the prompt; a reply beyond them is asked for again with the reason."""
    nodes = [
        {"label": label, "definition": "Papers of that kind.", "children": [{"label": f"{label} {at}x", "definition": "A part of them."} for at in range(count)]}
        for label, count in reply
    ]
    by_hand = ByHand(lambda request: json.dumps({"nodes": nodes}) if "grow" in request.label else by_rule(request))
    with pytest.raises(Exception, match="still has faults"):
        grown(library, by_hand, bounds)
    assert said in by_hand.asked[1].messages[-1].content
    assert f"at most {bounds.depth} level" in by_hand.asked[0].messages[0].content


def test_several_facets_are_trees_side_by_side(carrel: Carrel, folder: Path, asked: ByHand) -> None:
    """One file, each node with its facet; a paper has a place in each; a third facet is grown beside them."""
    asked.answers = by_rule
    ran = carrel("taxonomy", "woods", "--facet", "kind of tree", "--facet", "soil", "--yes", at=folder)
    assert ran.code == 0, ran.err
    shown = json.loads(carrel("taxonomy", "woods", "--json").out)
    assert Counter(node["facet"] for node in shown["nodes"]) == {"kind of tree": len(shown["nodes"]) / 2, "soil": len(shown["nodes"]) / 2}
    assert len({node["id"] for node in shown["nodes"]}) == len(shown["nodes"])
    facets = {node["id"]: node["facet"] for node in shown["nodes"]}
    assert Counter(facets[one["node"]] for one in shown["assignments"]) == {"kind of tree": 36, "soil": 36}
    calls = len(asked.asked)
    assert carrel("taxonomy", "woods", "--facet", "soil", "--yes").code == 0
    assert len(asked.asked) == calls
    assert carrel("taxonomy", "woods", "--facet", "height", "--yes").code == 0
    assert {node.facet for node in Tree(*read_tree(folder / "taxonomies" / "woods.toml")).nodes} == {"kind of tree", "soil", "height"}


def test_what_is_wrong_with_a_tree_is_reported() -> None:
    """Missing definitions, siblings alike, empty nodes, too deep, too wide."""
    nodes = (Node("a", "Rewards", "Where they come from."), Node("b", "reward", ""), Node("c", "C", "x y z", "a"), Node("d", "D", "x y z", "c"))
    found = [f"{one.text}: {one.reason}" for one in tree_problems(Tree("", nodes, bounds=Bounds(2, 1, 2)), [Assignment("k", "d")])]
    assert found == [
        "D: it stands at level 3, below the 2 asked for",
        "reward: its label is much like that of 'a' beside it",
        "reward: no paper is filed there",
        "reward: no definition, so papers are filed by the label alone",
        "the first level: 2 nodes, more than 1",
    ]


@pytest.fixture
def bench() -> ModuleType:
    """The benchmark, as it is run."""
    spec = importlib.util.spec_from_file_location("benchmarks_taxonomy", ROOT / "benchmarks" / "taxonomy.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """Six papers in two branches; the last stands in both."""
    paths = {number: [["A", "a1" if number < 2 else "a2"]] if number < 3 else [["B"]] for number in range(5)} | {5: [["B"], ["A", "a2"]]}
    (tmp_path / "papers.jsonl").write_text("".join(json.dumps({"id": f"25{n:02}.0000{n}", "title": f"Paper {n} of six", "abstract": "We do it."}) + "\n" for n in paths))
    (tmp_path / "gold_paths.jsonl").write_text("".join(json.dumps({"id": f"25{n:02}.0000{n}", "paths": some}) + "\n" for n, some in paths.items()))
    (tmp_path / "gold_tree.json").write_text(json.dumps({"A": {"a1": {"_papers": []}, "a2": {"_papers": []}}, "B": {"_papers": []}}))
    return tmp_path


def result(bench: ModuleType, places: dict[int, str]) -> dict[str, object]:
    """A result that files six papers under a tree as people made it."""
    nodes = [{"id": one, "label": one, "parent": "A" if one.startswith("a") else None} for one in ("A", "a1", "a2", "B")]
    assignments = [{"key": bench.key_for(f"25{n:02}.0000{n}"), "node": node, "rank": 1} for n, node in places.items()]
    return {"nodes": nodes, "assignments": assignments, "unassigned": []}


def test_the_benchmark_scores_a_perfect_and_a_poor_result(bench: ModuleType, gold: Path) -> None:
    """One is one; a lump has full recall and an adjusted Rand index of nought; any gold path counts for F1."""
    known = bench.known_keys(gold, None)
    perfect = bench.score(gold, result(bench, {0: "a1", 1: "a1", 2: "a2", 3: "B", 4: "B", 5: "B"}), known)
    assert (perfect["leaf"]["ari"], perfect["leaf"]["nmi"], perfect["first level"]["ari"]) == (1.0, 1.0, 1.0)
    assert perfect["places at the leaf"]["precision"] == 1.0
    assert perfect["places at the leaf"]["first place right"] == 1.0
    lump = bench.score(gold, result(bench, dict.fromkeys(range(6), "B")), known)
    assert (lump["leaf"]["ari"], lump["leaf"]["b3_recall"]) == (0.0, 1.0)
    assert lump["places at the leaf"]["precision"] == 0.5


def test_a_first_level_that_is_one_lump_is_left_out(bench: ModuleType, gold: Path) -> None:
    """Where over 60 % of the papers stand in one branch, agreeing about it says nothing."""
    lines = (gold / "gold_paths.jsonl").read_text().replace('["B"]', '["A", "b"]')
    (gold / "gold_paths.jsonl").write_text(lines)
    assert "first level" not in bench.score(gold, result(bench, {0: "a1"}), bench.known_keys(gold, None))


def test_the_benchmark_prepares_a_list_that_tells_nothing_of_its_order(bench: ModuleType, gold: Path, carrel: Carrel, empty: Library) -> None:
    """Keys are made up, the human tree is a list that --tree takes, and the keys are known again when the result is scored."""
    bench.prepare(gold, gold / "out")
    assert (gold / "out" / "tree.txt").read_text() == "- A\n  - a1\n  - a2\n- B\n"
    assert carrel("add", gold / "out" / "papers.jsonl", at=empty.folder).code == 0
    keys = {paper.key for paper in empty.papers()}
    assert keys <= set(bench.known_keys(gold, None))
    assert all(re.fullmatch(r"p[0-9a-f]{8}", key) for key in keys)


def test_filing_is_measured_at_any_size(bench: ModuleType) -> None:
    """With a scripted model: every paper is accounted for, and the calls stay under one for five papers."""
    found = bench.scale(150, None)
    assert found["accounted for"] == found["papers"] == 160
    assert found["calls"] <= 30
    assert found["ten more"]["calls"] == 1


def test_the_benchmark_says_what_is_missing(bench: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder without a gold standard is named."""
    monkeypatch.setattr(sys, "argv", ["taxonomy.py", str(tmp_path), "r.json"])
    with pytest.raises(SystemExit, match=r"no gold_paths\.jsonl there"):
        bench.main()
