"""The nRF9160 as data: ``platforms/nrf9160.toml`` read into frozen classes."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from harness import paths


@dataclass(frozen=True)
class Area:
    """A stretch of memory: ``size`` bytes from ``origin``."""

    name: str
    origin: int
    size: int

    @property
    def end(self) -> int:
        """The first address behind the area."""
        return self.origin + self.size

    def holds(self, address: int, size: int = 1) -> bool:
        """True if all ``size`` bytes from ``address`` lie in the area."""
        return self.origin <= address and address + size <= self.end


@dataclass(frozen=True)
class Block:
    """One peripheral: where it answers, its interrupt and the model that stands for it."""

    name: str
    offset: int
    size: int
    irq: int | None
    bases: tuple[int, ...]
    model: str

    @property
    def number(self) -> int:
        """The peripheral's id, bits 19..12 of its address (nRF9160 PS, "Peripheral ID")."""
        return self.offset >> 12 & 0xFF

    @property
    def addresses(self) -> tuple[int, ...]:
        """Absolute base addresses, one per window."""
        return tuple(base + self.offset for base in self.bases)


@dataclass(frozen=True)
class MemoryMap:
    """The whole chip."""

    name: str
    cpu_hz: int
    lfclk_hz: int
    timer_hz: int
    priority_bits: int
    irqs: int
    mpu_regions: int
    areas: tuple[Area, ...]
    windows: tuple[int, ...]
    blocks: tuple[Block, ...]

    def area(self, name: str) -> Area:
        """The memory called ``name`` (``flash``, ``ram``, ``ficr``, ``uicr``)."""
        return next(area for area in self.areas if area.name == name)

    def block_at(self, address: int) -> Block | None:
        """The peripheral that answers at an address."""
        for block in self.blocks:
            if any(base <= address < base + block.size for base in block.addresses):
                return block
        return None


def from_table(table: dict[str, Any]) -> MemoryMap:
    """A map from the parsed TOML; raises KeyError if an entry is missing."""
    soc, windows = table["soc"], table["windows"]
    areas = tuple(Area(name, row["origin"], row["size"]) for name, row in table["memory"].items())
    blocks = tuple(
        Block(
            name,
            row["offset"],
            row.get("size", 0x1000),
            row.get("irq"),
            tuple(windows[base] for base in row["bases"]),
            row["model"],
        )
        for name, row in table["peripherals"].items()
    )
    return MemoryMap(
        soc["name"],
        soc["cpu_hz"],
        soc["lfclk_hz"],
        soc["timer_hz"],
        soc["nvic_priority_bits"],
        soc["irqs"],
        soc["mpu_regions"],
        areas,
        tuple(windows.values()),
        blocks,
    )


@cache
def load(path: Path | None = None) -> MemoryMap:
    """The map in ``path``, by default the project's own ``platforms/nrf9160.toml``."""
    source = path or paths.platforms() / "nrf9160.toml"
    return from_table(tomllib.loads(source.read_text(encoding="utf-8")))
