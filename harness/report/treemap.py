"""A treemap of an image's flash, with areas proportional to bytes.

The layout is squarified (Bruls, Huizing and van Wijk, "Squarified treemaps", 2000): rectangles are
added to a row as long as its worst aspect ratio improves.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from harness.base.errors import HilError
from harness.elf import Image
from harness.footprint.analysis import ram_regions
from harness.footprint.operators import Group, groups

#: Width divided by height of the map on the page.
ASPECT = 16 / 9
#: Members below this share of the map are combined in one box.
_MIN_SHARE = 0.0025

_QUALIFIED = re.compile(r"\b(?:[a-z]\w*::)+")


@dataclass(frozen=True)
class Box:
    """A rectangle, in per cent of the enclosing one, for an object of ``bytes`` bytes."""

    left: float
    top: float
    width: float
    height: float
    name: str
    bytes: int
    kind: str = ""  # of a group: operator or rest
    boxes: tuple[Box, ...] = ()

    @property
    def label(self) -> str:
        """The name without namespaces and parameters."""
        name = self.name.replace("(anonymous namespace)::", "")
        return _QUALIFIED.sub("", name).partition("(")[0]

    @property
    def style(self) -> str:
        """The position as CSS."""
        return (
            f"left:{self.left:.2f}%;top:{self.top:.2f}%;"
            f"width:{self.width:.2f}%;height:{self.height:.2f}%"
        )


@cache
def of_image(path: Path, sha256: str) -> tuple[Box, ...]:
    """The treemap of an image's flash; empty if the file is missing or has changed."""
    try:
        image = Image.from_elf(path)
        if image.sha256 != sha256:
            return ()
        return tree(groups(image, ram_regions(image)))
    except HilError:
        return ()


def tree(parts: Sequence[Group]) -> tuple[Box, ...]:
    """A box for each group, with boxes of its members; largest first."""
    total = sum(group.bytes for group in parts)
    if not total:
        return ()
    outer = squarify([group.bytes for group in parts], ASPECT)
    boxes = []
    for group, (left, top, width, height) in zip(parts, outer, strict=True):
        members = _members(group, total)
        inner = squarify([size for _, size in members], ASPECT * width / height)
        boxes.append(
            Box(left, top, width, height, group.name, group.bytes,
                "operator" if group.operator else "rest",
                tuple(Box(*position, name, size)
                      for (name, size), position in zip(members, inner, strict=True)))
        )  # fmt: skip
    return tuple(boxes)


def _members(group: Group, total: int) -> list[tuple[str, int]]:
    """Names and sizes of a group's members, small ones combined; largest first."""
    rows = [(part.name, part.bytes) for part in group.members if part.bytes >= _MIN_SHARE * total]
    small = [part.bytes for part in group.members if 0 < part.bytes < _MIN_SHARE * total]
    if small:
        rows.append((f"{len(small)} smaller ones", sum(small)))
    return sorted(rows, key=lambda row: -row[1])


Position = tuple[float, float, float, float]


def squarify(sizes: Sequence[int], aspect: float) -> list[Position]:
    """``(left, top, width, height)`` in per cent for each of ``sizes``.

    The sizes are above 0, largest first. ``aspect`` is width divided by height of the whole.
    """
    width, height = aspect, 1.0
    scale = width * height / sum(sizes) if sizes else 0.0
    areas = [size * scale for size in sizes]
    positions: list[Position] = []
    x = y = 0.0
    start = 0
    while start < len(areas):
        side = min(width, height)
        stop = start + 1
        while stop < len(areas) and _worst(areas[start : stop + 1], side) <= _worst(
            areas[start:stop], side
        ):
            stop += 1
        row = areas[start:stop]
        depth = sum(row) / side
        along = 0.0
        for area in row:
            length = area / depth
            if width >= height:
                positions.append((x, y + along, depth, length))
            else:
                positions.append((x + along, y, length, depth))
            along += length
        if width >= height:
            x, width = x + depth, width - depth
        else:
            y, height = y + depth, height - depth
        start = stop
    across, down = 100 / aspect, 100.0
    return [(left * across, top * down, w * across, h * down) for left, top, w, h in positions]


def _worst(row: Sequence[float], side: float) -> float:
    """The worst aspect ratio in a row of rectangles along ``side``."""
    depth = sum(row) / side
    return max(max(area / depth / depth, depth * depth / area) for area in row)
