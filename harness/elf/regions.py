"""Memory regions: names, origins and sizes, from the best source available.

In this order: a map file's "Memory Configuration", the Kconfig values in the absolute symbols of a
Zephyr image, the chip's memory map.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.base.errors import UsageError
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
    image: ElfFile, chip: ChipTable, *, map_file: Path | None = None
) -> tuple[MemoryRegion, ...]:
    """The regions of ``image``, which is for ``chip``, sorted by origin.

    Raises UsageError for a map file that cannot be read or describes no memory.
    """
    if map_file is not None:
        regions = from_map(files.read(map_file).decode("utf-8", "replace"))
        if not regions:
            raise UsageError(
                f"{map_file} has no memory configuration",
                hint="pass a map file of GNU ld (-Wl,-Map=...), or leave it out",
            )
    else:
        regions = from_kconfig(image) or from_chip(image, chip)
    return tuple(sorted(regions, key=lambda memory: memory.origin))


def from_map(text: str) -> tuple[MemoryRegion, ...]:
    """The "Memory Configuration" table of a GNU ld map file, () if it has none."""
    start = text.find("Memory Configuration")
    end = text.find("Linker script and memory map", start)
    if start < 0:
        return ()
    regions = []
    for line in text[start : end if end >= 0 else len(text)].splitlines():
        fields = line.split()
        if len(fields) >= 3 and fields[1].startswith("0x") and fields[0] != "*default*":
            try:
                regions.append(
                    MemoryRegion(fields[0], int(fields[1], 16), int(fields[2], 16), "map")
                )
            except ValueError:
                continue  # a line of prose that contains a number
    return tuple(regions)


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


def from_chip(image: ElfFile, chip: ChipTable) -> tuple[MemoryRegion, ...]:
    """Flash and RAM of the chip.

    For an image that starts a partition or more after the origin of a memory (a non-secure one at
    0x50000, after TF-M), the region begins at the image.
    """
    regions = []
    for area, partition in (
        (chip.area("flash"), chip.flash.region),
        (chip.area("ram"), chip.ram.region),
    ):
        origin, end = area.origin, area.end
        addresses = (
            address
            for segment in image.segments
            for address, size in (
                (segment.load_address, len(segment.data)),
                (segment.address, segment.size),
            )
            if size and origin <= address < end
        )
        lowest = min(addresses, default=origin)
        if lowest - origin >= partition:
            origin = lowest
        regions.append(MemoryRegion(area.name.upper(), origin, end - origin, chip.name))
    return tuple(regions)
