"""Memory regions and their use, as in the linker's memory table. Sizes are in bytes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from harness.elf import Image


@dataclass(frozen=True)
class Region:
    """A memory region and its use."""

    name: str
    origin: int
    size: int
    used: int

    @property
    def percent(self) -> float:
        """Share of the region that is used, 0 to 100."""
        return 100.0 * self.used / self.size if self.size else 0.0

    def to_json(self) -> dict[str, Any]:
        """The record of the ``footprint`` contract."""
        return asdict(self)


def regions(image: Image) -> tuple[Region, ...]:
    """Memory regions and their use, equal to the linker's table to the byte.

    An image without sections (HEX, plain bytes) has only the regions in which it has bytes, so no
    RAM.
    """
    used: Counter[str] = Counter()
    for part in image.layout.parts:
        used[part.region] += part.size
    shown = (m for m in image.regions if image.sections or used[m.name])
    return tuple(Region(m.name, m.origin, m.size, used[m.name]) for m in shown)
