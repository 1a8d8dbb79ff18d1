"""A flame graph as boxes: each function above what it called, as wide as its instructions."""

from __future__ import annotations

from dataclasses import dataclass

from harness.elf.call_tree import CallTree

#: The narrowest box, as a share of all instructions, and the deepest row.
_NARROWEST, _DEEPEST = 1 / 2000, 60
_HUES = 7
#: Pixels of a row; the page makes room for as many.
_ROW = 18


@dataclass(frozen=True)
class FlameBox:
    """A function in a flame graph; ``left`` and ``width`` are percent, ``row`` counts from 0."""

    function: str
    inclusive: int
    exclusive: int
    part: float  # of all instructions, 0 to 1
    left: float
    width: float
    row: int

    @property
    def style(self) -> str:
        """Where the box is, as CSS."""
        place = f"left:{self.left:.3f}%;width:{self.width:.3f}%;top:{self.row * _ROW}px"
        return f"{place};--h:{sum(self.function.encode()) % _HUES}"


def flame_graph(tree: CallTree) -> tuple[FlameBox, ...]:
    """The boxes, row by row; code that takes less than a two-thousandth is left out."""
    total = tree.total
    boxes: list[FlameBox] = []
    level = [(0, 0.0)] if total else []
    for row in range(_DEEPEST):
        following = []
        for parent, start in level:
            left = start
            for index in tree.children.get(parent, ()):
                part = tree.inclusive[index] / total
                if part >= _NARROWEST:
                    node = tree.nodes[index]
                    boxes.append(FlameBox(
                        node.function, tree.inclusive[index], node.instructions, part,
                        100 * left, 100 * part, row,
                    ))  # fmt: skip
                    following.append((index, left))
                left += part
        level = following
    return tuple(boxes)
