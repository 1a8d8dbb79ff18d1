"""Memory regions: names, origins and sizes, from the best source available.

In this order: a map file's "Memory Configuration", a linker script's ``MEMORY`` command, the
Kconfig values in the absolute symbols of a Zephyr image, the chip's memory map.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from harness.base import files
from harness.base.errors import UsageError
from harness.base.platforms import ChipTable
from harness.elf.file import ElfFile

#: The SRAM part of the address map (Armv8-M Architecture Reference Manual, section B3.1): the same
#: on all chips, and larger than the RAM of any.
RAM = range(0x2000_0000, 0x4000_0000)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
#: A number with a unit, an operator or a bracket of a linker script's expression.
_TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+)\s*([kKmMgG]?)[bB]?|\s*([-+*()])")


@dataclass(frozen=True)
class MemoryRegion:
    """A memory region of the link; ``source`` is the source of origin and size."""

    name: str
    origin: int
    size: int
    source: str  # "map", "linker script", "kconfig", or the chip's name

    @property
    def end(self) -> int:
        """The first address after the region."""
        return self.origin + self.size


def memories(
    image: ElfFile,
    chip: ChipTable,
    *,
    map_file: Path | None = None,
    linker_script: Path | None = None,
) -> tuple[MemoryRegion, ...]:
    """The regions of ``image``, which is for ``chip``, sorted by origin.

    Raises UsageError for a map file or linker script that cannot be read or describes no memory.
    """
    if map_file is not None:
        regions = from_map(_read(map_file))
        if not regions:
            raise UsageError(
                f"{map_file} has no memory configuration",
                hint="pass a map file of GNU ld (-Wl,-Map=...), or leave it out",
            )
    elif linker_script is not None:
        regions = from_linker_script(_read(linker_script))
        if not regions:
            raise UsageError(
                f"{linker_script} has no MEMORY command with plain numbers",
                hint="pass the preprocessed script, e.g. build/zephyr/linker.cmd",
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


def from_linker_script(text: str) -> tuple[MemoryRegion, ...]:
    """The regions of a MEMORY command whose origins and lengths are numbers, + - * and brackets."""
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL)
    block = re.search(r"\bMEMORY\s*\{([^}]*)\}", text)
    if block is None:
        return ()
    regions = []
    entry = re.compile(
        r"(\w+)\s*(?:\([^)]*\))?\s*:\s*(?:ORIGIN|org|o)\s*=\s*([^,]+),"
        r"\s*(?:LENGTH|len|l)\s*=\s*([^\n,]+)",
        re.IGNORECASE,
    )
    for name, origin, length in entry.findall(block[1]):
        start, size = _number(origin), _number(length)
        if start is not None and size is not None:
            regions.append(MemoryRegion(name, start, size, "linker script"))
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


def _read(path: Path) -> str:
    return files.read(path).decode("utf-8", "replace")


def _number(text: str) -> int | None:
    """The value of a linker-script expression; None if it is not constant arithmetic."""
    tokens: list[int | str] = []
    position = 0
    text = text.strip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        tokens.append(int(match[1], 0) * _UNITS[match[2].lower()] if match[1] else match[3])
        position = match.end()
    value, rest = _sum(tokens)
    return value if not rest else None


def _sum(tokens: list[int | str]) -> tuple[int | None, list[int | str]]:
    value, tokens = _product(tokens)
    while value is not None and tokens and tokens[0] in ("+", "-"):
        sign = 1 if tokens[0] == "+" else -1
        right, tokens = _product(tokens[1:])
        value = None if right is None else value + sign * right
    return value, tokens


def _product(tokens: list[int | str]) -> tuple[int | None, list[int | str]]:
    value, tokens = _term(tokens)
    while value is not None and tokens and tokens[0] == "*":
        right, tokens = _term(tokens[1:])
        value = None if right is None else value * right
    return value, tokens


def _term(tokens: list[int | str]) -> tuple[int | None, list[int | str]]:
    if tokens and isinstance(tokens[0], int):
        return tokens[0], tokens[1:]
    if tokens and tokens[0] == "(":
        value, rest = _sum(tokens[1:])
        return (value, rest[1:]) if rest and rest[0] == ")" else (None, rest)
    return None, tokens
