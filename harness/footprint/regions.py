"""Memory regions and their use, as in the linker's memory table. Sizes are in bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from harness.elf import Image
from harness.elf.layout import Layout
from harness.elf.regions import MemoryRegion


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

    @property
    def overflow(self) -> int:
        """The bytes that do not fit into the region."""
        return max(self.used - self.size, 0)

    def to_json(self) -> dict[str, Any]:
        """The record of the ``footprint`` contract."""
        return asdict(self)


def regions(image: Image) -> tuple[Region, ...]:
    """Memory regions and their use, equal to the linker's table to the byte.

    An image without sections (HEX, plain bytes) has only the regions in which it has bytes, so no
    RAM.
    """
    every = with_use(image.regions, image.layout)
    return tuple(region for region in every if image.sections or region.used)


def with_use(memories: Iterable[MemoryRegion], layout: Layout) -> tuple[Region, ...]:
    """``memories`` with the bytes that ``layout`` has in each."""
    used: Counter[str] = Counter()
    for part in layout.parts:
        used[part.region] += part.size
    return tuple(Region(m.name, m.origin, m.size, used[m.name]) for m in memories)
