"""The footprint of an image in several views, and its JSON document.

Every view charges each byte of a region once:

* to a section, and in it to a symbol, a literal, padding or a gap: :mod:`harness.elf.layout`;
* to an operator, or to several that share it, if it is reached from their registrations and not
  from the rest of the image: :mod:`.operators`;
* to the source file of the function's first line or of the variable's declaration: :mod:`.files`;
* in RAM to a purpose, such as arena, resolver or stack: :mod:`.ram`.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.base.errors import UsageError
from harness.base.platforms import chip_table
from harness.elf import Image
from harness.elf.demangle import demangle, qualified
from harness.elf.layout import Layout, LayoutPart, lay_out
from harness.elf.map_file import LinkerMap
from harness.elf.regions import RAM, from_chip
from harness.footprint.files import NO_DEBUG, FileCost, Sources, by_file, by_library, objects
from harness.footprint.operators import OperatorReport
from harness.footprint.operators import analyse as analyse_operators
from harness.footprint.ram import RamObject, arenas_and_stacks, purposes
from harness.footprint.regions import Region, regions, with_use

#: Kinds of symbols that an overflow names, and how many of them.
_NAMED = frozenset({"function", "object"})
_LARGEST = 3
_MOST_CHARACTERS = 40  # of a name in one line


@dataclass(frozen=True)
class SectionCost:
    """A section's bytes in one region; initialized data has bytes in two."""

    name: str
    region: str
    address: int
    size: int


@dataclass(frozen=True)
class SymbolCost:
    """A symbol's bytes in one region; ``aliases`` are other names of the same bytes."""

    name: str
    mangled: str
    kind: str
    region: str
    section: str
    address: int
    size: int
    copy: bool
    file: str
    aliases: tuple[str, ...]


def _short(symbol: SymbolCost) -> str:
    """The symbol's name without parameters; of a long one its end."""
    name = qualified(symbol.mangled)
    return name if len(name) <= _MOST_CHARACTERS else f"...{name[-_MOST_CHARACTERS:]}"


@dataclass(frozen=True)
class Footprint:
    """The sizes of an image, in bytes; the symbols of a region sum to its ``used``."""

    path: Path
    regions: tuple[Region, ...]
    sections: tuple[SectionCost, ...]
    symbols: tuple[SymbolCost, ...]
    files: tuple[FileCost, ...]
    libraries: tuple[FileCost, ...]
    operators: OperatorReport
    ram: tuple[RamObject, ...]
    notes: tuple[str, ...]
    source: str = "elf"  # or "map": without operators and source files

    @property
    def overflows(self) -> tuple[str, ...]:
        """One line for each region that is too small: by how much, and what is largest in it."""
        return tuple(self._overflow(region) for region in self.regions if region.overflow)

    def _overflow(self, region: Region) -> str:
        inside = [s for s in self.symbols if s.region == region.name and s.kind in _NAMED]
        largest = sorted(inside, key=lambda symbol: -symbol.size)[:_LARGEST]
        names = ", ".join(f"{_short(symbol)} {symbol.size:,} B" for symbol in largest)
        line = f"{region.name} ({region.size:,} B) overflows by {region.overflow:,} B"
        return f"{line}: {names}" if names else line

    def region(self, name: str) -> Region:
        """The region called ``name``. Raises UsageError for an unknown one."""
        for region in self.regions:
            if region.name == name:
                return region
        names = ", ".join(region.name for region in self.regions)
        raise UsageError(f"{self.path} has no region {name!r}", hint=f"one of {names}")

    def __repr__(self) -> str:
        used = ", ".join(f"{region.name} {region.used:,} B" for region in self.regions)
        return f"<Footprint of {self.path.name}: {used}>"

    def to_json(self) -> dict[str, Any]:
        """The document of the ``footprint --json`` contract."""
        return {
            "elf": str(self.path),
            **({"source": "map"} if self.source == "map" else {}),
            "regions": [region.to_json() for region in self.regions],
            "sections": [asdict(section) for section in self.sections],
            "symbols": [asdict(symbol) for symbol in self.symbols],
            "files": [file.to_json() for file in self.files],
            "libraries": [library.to_json() for library in self.libraries],
            "operators": [cost.to_json() for cost in self.operators.operators],
            "operator_sums": self.operators.to_json(),
            "ram": [memory.to_json() for memory in self.ram],
            "notes": [*self.overflows, *self.notes],
        }


def analyse(image: Image) -> Footprint:
    """The footprint of an image, from its ELF and, if given, its map file.

    ``notes`` name the missing information (a stripped image, no or garbled DWARF). Raises
    :class:`BadElf` and :class:`UsageError`.
    """
    parts = image.layout.parts
    files = Sources(image).of_parts(parts)
    ram = ram_regions(image)
    operators = analyse_operators(image, ram)
    found = objects(parts, image.linker_map) if image.linker_map else None
    return Footprint(
        image.path,
        regions(image),
        _sections(image.layout),
        tuple(_symbol(part, files) for part in parts),
        by_file(parts, files),
        by_library(parts, found) if found is not None else (),
        operators,
        purposes(image, [part for part in parts if part.region in ram], len(operators.operators)),
        (*image.layout.notes, *_missing(image, operators)),
    )


def of_map(linker_map: LinkerMap) -> Footprint:
    """The footprint of a link, from its map file alone: also of one that failed.

    ``files`` are object files, an archive as the folder of its members.
    """
    chip = chip_table()  # that of an image without a mark
    sections = [section for section, _ in linker_map.contents]
    places = [(s.address, s.size) for s in sections]
    places += [(s.load_address, s.size) for s in sections if s.load_address is not None]
    memories = linker_map.regions or from_chip(places, chip)
    layout = lay_out(linker_map.contents, sorted(memories, key=lambda memory: memory.origin))
    parts, found = layout.parts, objects(layout.parts, linker_map)
    files = {address: source.path for address, source in found.items()}
    notes = ["from a map file: operators, source files, use of arena and stacks need the ELF"]
    if not linker_map.regions:
        notes.append(f"the map file names no memory regions: those of the {chip.name} are assumed")
    in_ram = {memory.name for memory in memories if memory.origin in RAM}
    return Footprint(
        linker_map.path,
        with_use(memories, layout),
        _sections(layout),
        tuple(_symbol(part, files) for part in parts),
        by_file(parts, files),
        by_library(parts, found),
        OperatorReport((), 0, 0, 0),
        tuple(arenas_and_stacks(part for part in parts if part.region in in_ram)),
        (*layout.notes, *notes),
        "map",
    )


def ram_regions(image: Image) -> frozenset[str]:
    """The names of the regions in the SRAM part of the address map."""
    return frozenset(m.name for m in image.regions if m.origin in RAM)


def _sections(layout: Layout) -> tuple[SectionCost, ...]:
    sums: dict[tuple[str, str, int], int] = defaultdict(int)
    places: dict[tuple[str, str], int] = {}
    for part in layout.parts:
        name = part.section or part.name
        place = places.setdefault((part.region, name), part.place)
        sums[part.region, name, place] += part.size
    return tuple(
        SectionCost(name, region, place, size) for (region, name, place), size in sums.items()
    )


def _symbol(part: LayoutPart, files: dict[int, str]) -> SymbolCost:
    return SymbolCost(
        demangle(part.name),
        part.name,
        part.kind,
        part.region,
        part.section,
        part.address,
        part.size,
        part.copy,
        files.get(part.address, ""),
        tuple(demangle(alias) for alias in part.aliases),
    )


def _missing(image: Image, operators: OperatorReport) -> list[str]:
    notes = []
    if image.without_symbols:
        notes.append(
            f"{image.without_symbols}: bytes by section only, not by file or operator; "
            f"{image.symbols_hint()}"
        )
    elif not image.variables.dwarf.info:
        notes.append(
            f"no DWARF: bytes cannot be listed by source file (all are under {NO_DEBUG}); "
            "build with -g"
        )
    broken = image.variables.dwarf.broken_units + image.line_table.broken
    if broken:
        notes.append(f"{broken} compilation units have garbled DWARF; their files are incomplete")
    if image.symbols and not operators.operators:
        notes.append("no registration function of tflite-micro (Register_*) is linked")
    return notes
