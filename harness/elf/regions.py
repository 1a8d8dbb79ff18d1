"""Memory regions: names, origins and sizes, from the best source available.

In this order: a map file's "Memory Configuration", the Kconfig values in the absolute symbols of a
Zephyr image, the chip's memory map.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.base.platforms import ChipTable
from harness.elf.file import ElfFile

#: The SRAM part of the address map (Armv8-M Architecture Reference Manual, section B3.1): the same
#: on all chips, and larger than the RAM of any.
RAM = range(0x2000_0000, 0x4000_0000)


@dataclass(frozen=True)
class MemoryRegion:
    """A memory region of the link; ``source`` is the source of origin and size."""

    name: str
    origin: int
    size: int
    source: str  # "map", "kconfig", or the chip's name

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.origin + self.size


def memories(
    image: ElfFile, chip: ChipTable, in_map: Sequence[MemoryRegion] = ()
) -> tuple[MemoryRegion, ...]:
    """The regions of ``image``, which is for ``chip``, sorted by origin.

    ``in_map`` are those of its map file, none if there is no file or it names none.
    """
    occupied = [
        each
        for segment in image.segments
        for each in (
            (segment.load_address, len(segment.data)),
            (segment.address, segment.size),
        )
    ]
    regions = in_map or from_kconfig(image) or from_chip(occupied, chip)
    return tuple(sorted(regions, key=lambda memory: memory.origin))


def from_kconfig(image: ElfFile) -> tuple[MemoryRegion, ...]:
    """The regions of a Zephyr image from its CONFIG_* symbols, () for other images."""
    config = image.absolutes
    if "CONFIG_FLASH_SIZE" not in config or "CONFIG_SRAM_SIZE" not in config:
        return ()
    offset = config.get("CONFIG_FLASH_LOAD_OFFSET", 0)
    flash_size = (
        config.get("CONFIG_FLASH_LOAD_SIZE", 0) or config["CONFIG_FLASH_SIZE"] * 1024 - offset
    )
    flash = config.get("CONFIG_FLASH_BASE_ADDRESS", 0) + offset
    ram = config.get("CONFIG_SRAM_BASE_ADDRESS", RAM.start)
    return (
        MemoryRegion("FLASH", flash, flash_size, "kconfig"),
        MemoryRegion("RAM", ram, config["CONFIG_SRAM_SIZE"] * 1024, "kconfig"),
    )


def from_chip(occupied: Sequence[tuple[int, int]], chip: ChipTable) -> tuple[MemoryRegion, ...]:
    """Flash and RAM of the chip; ``occupied`` are the addresses and sizes of an image's parts.

    For an image that starts a partition or more after the origin of a memory (a non-secure one at
    0x50000, after TF-M), the region begins at the image.
    """
    regions = []
    for area, partition in (
        (chip.area("flash"), chip.flash.region),
        (chip.area("ram"), chip.ram.region),
    ):
        origin, end = area.origin, area.end
        addresses = (address for address, size in occupied if size and origin <= address < end)
        lowest = min(addresses, default=origin)
        if lowest - origin >= partition:
            origin = lowest
        regions.append(MemoryRegion(area.name.upper(), origin, end - origin, chip.name))
    return tuple(regions)
