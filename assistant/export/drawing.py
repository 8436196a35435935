"""A taxonomy as an SVG drawing: labels wrapped, counts, the papers at the leaves; boxes are placed one below the other, so none overlap."""

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from assistant.document import Document
from assistant.export import names
from assistant.export.escape import CONTROL, plain
from assistant.export.tree import Branch, branches
from assistant.visible import HIDDEN

LETTER, LINE, PAD, GAP, STEP = 7.2, 17, 8, 10, 36
"""Widths and heights in pixels: a letter at 12 pixels, a line, inside a box, between two boxes, between two levels."""
LABEL, LEAF, MARGIN, BOLD = 26, 46, 16, 23
"""How many letters wide a node and a leaf are; pixels around the drawing; letters of a line in a node, since they are bold."""
SVG = "http://www.w3.org/2000/svg"
FILLS = ("#e8eef7", "#eaf4ea", "#fbf3e0", "#f6eaf3", "#e6f4f4", "#f3eee8", "#eeebf8")
STYLE = (
    "text{font:12px system-ui,'Noto Sans','Noto Sans CJK SC',sans-serif;fill:#1d1d1f}.b{font-weight:600}.n{fill:#5c5c66}"
    "rect{stroke:#8a8a94}path{fill:none;stroke:#8a8a94}.leaf{fill:#fff;stroke:#d4d4da}"
)


@dataclass(frozen=True, slots=True)
class Box:
    """A box of lines at a place; `below` are those that it is joined to."""

    lines: tuple[str, ...]
    x: float
    y: float
    width: float
    height: float
    kind: str
    fill: str
    below: tuple["Box", ...] = ()

    @property
    def all(self) -> Iterator["Box"]:
        """It and every box below it."""
        yield self
        for box in self.below:
            yield from box.all


def write(document: Document) -> str:
    """The drawing, from the name on the left to the papers on the right; those filed nowhere stand as a branch of their own."""
    tops = branches(document)
    boxes, y = [], float(MARGIN)
    at = MARGIN + _wide(LABEL) + STEP
    for number, branch in enumerate(tops):
        box = _placed(document, branch, at, y, FILLS[number % len(FILLS)])
        boxes.append(box)
        y = max(one.y + one.height for one in box.all) + GAP
    if document.unassigned:
        label = f"unassigned ({len(document.unassigned)})"
        leaf = _leaf(document, [one.key for one in document.unassigned], at + _wide(LABEL) + STEP, y)
        boxes.append(_beside([label], at, y, "b", "#eeeeee", (leaf,)))
    root = _beside(_wrapped(plain(document.name), BOLD), MARGIN, MARGIN, "b", "#dddde3", tuple(boxes))
    return _svg(document, list(root.all))


def _placed(document: Document, branch: Branch, x: float, y: float, fill: str) -> Box:
    """A branch with everything below it, from `y` downwards."""
    lines = [*_wrapped(plain(branch.label), BOLD), f"({len(branch.keys)})"]
    below: list[Box] = []
    at = y
    keys = [one.key for one in branch.papers if one.rank == 1]
    if keys:
        below.append(_leaf(document, keys, x + _wide(LABEL) + STEP, at))
        at += below[-1].height + GAP
    for child in branch.children:
        below.append(_placed(document, child, x + _wide(LABEL) + STEP, at, fill))
        at = max(one.y + one.height for one in below[-1].all) + GAP
    return _beside(lines, x, y, "b", fill, tuple(below))


def _beside(lines: Sequence[str], x: float, y: float, kind: str, fill: str, below: tuple[Box, ...]) -> Box:
    """A box in the middle of those it is joined to, and never above the room that is its own."""
    height = len(lines) * LINE + PAD
    if len(below) == 1 and not below[0].below and below[0].height < height:
        below = (replace(below[0], y=y + (height - below[0].height) / 2),)
    middle = (below[0].y + below[-1].y + below[-1].height - height) / 2 if below else y
    return Box(tuple(lines), x, max(y, middle), _wide(LABEL), height, kind, fill, below)


def _leaf(document: Document, keys: Sequence[str], x: float, y: float) -> Box:
    """The papers, each with its name and key on lines of its own."""
    lines = []
    for key in keys:
        name = names.short(document.sources[key]) if key in document.sources else ""
        lines += _wrapped(f"{name} [{key}]" if name and name != key else key, LEAF)
    return Box(tuple(lines), x, y, _wide(LEAF), len(lines) * LINE + PAD, "leaf", "#ffffff")


def _wide(letters: int) -> float:
    return letters * LETTER + 2 * PAD


def _wrapped(text: str, letters: int) -> list[str]:
    """The text in lines of at most so many letters; Chinese letters are two wide, and a long word is parted."""
    lines, line, room = [], "", letters
    for word in HIDDEN.sub("", CONTROL.sub("", text)).split():
        for piece in _pieces(word, letters):
            wide = sum(map(_letter, piece))
            if line and wide + 1 > room:
                lines.append(line)
                line, room = "", letters
            line, room = (f"{line} {piece}", room - wide - 1) if line else (piece, room - wide)
    return [*lines, line] if line or not lines else lines


def _pieces(word: str, letters: int) -> list[str]:
    pieces, piece, wide = [], "", 0
    for char in word:
        if wide + _letter(char) > letters:
            pieces.append(piece)
            piece, wide = "", 0
        piece, wide = piece + char, wide + _letter(char)
    return [*pieces, piece]


def _letter(char: str) -> int:
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _svg(document: Document, boxes: Sequence[Box]) -> str:
    width = max(box.x + box.width for box in boxes) + MARGIN
    height = max(box.y + box.height for box in boxes) + MARGIN
    top = ET.Element("svg", {"xmlns": SVG, "viewBox": f"0 0 {width:g} {height:g}", "width": f"{width:g}", "height": f"{height:g}", "role": "img"})
    ET.SubElement(top, "title").text = CONTROL.sub("", plain(document.name))
    ET.SubElement(top, "desc").text = f"A tree of {len(document.nodes)} nodes; {len({one.key for one in document.assignments})} papers are filed in it."
    ET.SubElement(top, "style").text = STYLE
    ET.SubElement(top, "rect", {"width": "100%", "height": "100%", "style": "fill:#fff;stroke:none"})
    for box in boxes:
        for child in box.below:
            start, end = (box.x + box.width, box.y + box.height / 2), (child.x, child.y + child.height / 2)
            between = child.x - STEP / 2
            ET.SubElement(top, "path", {"d": f"M{start[0]:g} {start[1]:g}H{between:g}V{end[1]:g}H{end[0]:g}"})
    for box in boxes:
        _drawn(top, box)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(top, encoding="unicode")}\n'


def _drawn(top: ET.Element, box: Box) -> None:
    group = ET.SubElement(top, "g")
    place = {"x": f"{box.x:g}", "y": f"{box.y:g}", "width": f"{box.width:g}", "height": f"{box.height:g}", "rx": "4", "fill": box.fill, "class": box.kind}
    ET.SubElement(group, "rect", place)
    text = ET.SubElement(group, "text", {"class": box.kind if box.kind != "leaf" else "n"})
    for number, line in enumerate(box.lines):
        ET.SubElement(text, "tspan", {"x": f"{box.x + PAD:g}", "y": f"{box.y + PAD / 2 + LINE * (number + 0.75):g}"}).text = line
