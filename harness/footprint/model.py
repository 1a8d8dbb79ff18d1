"""The results of a footprint analysis, as they stand in JSON. Sizes are in bytes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Region:
    """A memory region as the linker's memory table shows it."""

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
