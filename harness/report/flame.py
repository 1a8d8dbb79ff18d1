"""A flame graph as boxes: callers above callees, widths proportional to instructions."""

from __future__ import annotations

from dataclasses import dataclass

from harness.elf.call_tree import CallTree

#: Smallest width of a box, as a share of all instructions, and largest number of rows.
_MIN_SHARE, _MAX_ROWS = 1 / 2000, 60
_HUES = 7
#: Height of a row in pixels, as in the page's template.
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
        """Position and hue of the box, as CSS."""
        place = f"left:{self.left:.3f}%;width:{self.width:.3f}%;top:{self.row * _ROW}px"
        return f"{place};--h:{sum(self.function.encode()) % _HUES}"


def flame_graph(tree: CallTree) -> tuple[FlameBox, ...]:
    """The boxes, row by row, without code below a 2000th of all instructions."""
    total = tree.total
    boxes: list[FlameBox] = []
    level = [(0, 0.0)] if total else []
    for row in range(_MAX_ROWS):
        following = []
        for parent, start in level:
            left = start
            for index in tree.children.get(parent, ()):
                part = tree.inclusive[index] / total
                if part >= _MIN_SHARE:
                    node = tree.nodes[index]
                    boxes.append(FlameBox(
                        node.function, tree.inclusive[index], node.instructions, part,
                        100 * left, 100 * part, row,
                    ))  # fmt: skip
                    following.append((index, left))
                left += part
        level = following
    return tuple(boxes)
