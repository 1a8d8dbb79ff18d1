"""One analysed image: an ELF and every view of it, each computed once, at first use."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.base.hints import NO_HINT, Hint, HintText
from harness.elf.demangle import demangle, short_name
from harness.elf.file import ElfFile, Segment, Symbol

# A view's module is loaded with the view: `tflm-hil run` needs few of them.
if TYPE_CHECKING:
    from harness.base.platforms import ChipTable
    from harness.elf.dwarf.lines import LineTable
    from harness.elf.graph import Graph
    from harness.elf.inlined import Inlining
    from harness.elf.layout import Layout
    from harness.elf.map_file import LinkerMap
    from harness.elf.regions import MemoryRegion
    from harness.elf.register_functions import Registration
    from harness.elf.variables import Variables

#: Most bytes of a function whose symbol has no size (assembly); the next function ends it, too.
UNSIZED_REACH = 1024
#: Functions of libraries whose symbols have no type (libgcc: calls of the non-secure state).
_UNTYPED = ("__gnu_cmse_nonsecure_call",)
_ARENA_NAME = "tensor_arena"
_ARENA = re.compile(rf"(?:^|::)\w*{_ARENA_NAME}\w*$")


def _by_place(symbol: Symbol) -> tuple[int, int, bool]:
    """Sort key: by address; of several symbols at one address, the last one wins.

    That is the longest one; of weak aliases, such as those of a default handler, their target.
    """
    return symbol.address, symbol.size, symbol.binding != "weak"


@dataclass(frozen=True)
class Location:
    """The function, file and line of an address; "" and 0 if DWARF does not have them."""

    address: int
    function: str
    offset: int
    file: str = ""
    line: int = 0
    image: str = ""  # the image beside this one that contains it; "" for this one

    def __str__(self) -> str:
        name = short_name(self.function) or f"0x{self.address:08x}"
        place = f"{name} at {self.file}:{self.line}" if self.file else name
        return f"{place} in {self.image}" if self.image else place


@dataclass(frozen=True)
class Image(ElfFile):
    """An ELF and the views of it.

    ``map_file`` names memory regions and libraries if it is given. If several images are
    flashed together, ``beside`` are the other ELFs, and ``composed`` the segments of all; see
    :mod:`harness.elf.combined`. ``chip_name``: the chip that a case or an option names. ``kind`` is
    the file's: ``ELF``, ``HEX`` or ``binary``.
    """

    map_file: Path | None = None
    beside: tuple[Image, ...] = ()
    composed: tuple[Segment, ...] = ()
    chip_name: str = ""
    kind: str = "ELF"

    @cached_property
    def chip(self) -> ChipTable:
        """The chip that the image is for; see :func:`harness.elf.chip.chip_of`."""
        from harness.elf.chip import chip_of  # noqa: PLC0415

        return chip_of(self, self.beside, self.chip_name)

    @property
    def name(self) -> str:
        """The file's name without its suffix; the build folder's name for ``zephyr.elf``."""
        folder = self.path.absolute().parent
        if self.path.stem != "zephyr":
            return self.path.stem
        return folder.parent.name if folder.name == "zephyr" else folder.name

    @property
    def without_symbols(self) -> str:
        """Why there are no symbols, "" if there are."""
        if self.symbols:
            return ""
        if self.kind == "ELF":
            return "the image is stripped"
        return f"a {self.kind} file has no symbols"

    def symbols_hint(self, *, also_load: bool = True) -> HintText:
        """What gives the image its symbols, "" if it has them.

        ``also_load``: whether the command can load an ELF beside a HEX or binary file.
        """
        if self.symbols:
            return NO_HINT
        if self.kind == "ELF":
            return Hint.WITHOUT_STRIP.told()
        return (Hint.ALSO_LOAD if also_load else Hint.PASS_ELF).told()

    @property
    def alone(self) -> Image:
        """This image without the images beside it."""
        return replace(self, beside=(), composed=()) if self.beside or self.composed else self

    @property
    def loaded(self) -> tuple[Segment, ...]:
        """The segments that are loaded before the image starts, those of images beside it, too."""
        return self.composed or self.segments

    def symbol(self, name: str) -> Symbol | None:
        """The symbol called ``name`` (mangled for C++), or None; ``IMAGE:NAME`` for one beside."""
        image, colon, rest = name.partition(":")
        if colon:
            return next((other.symbol(rest) for other in self.beside if other.name == image), None)
        return super().symbol(name)

    def holds(self, address: int) -> bool:
        """True if this image, without those beside it, stores a byte at run-time ``address``."""
        return any(0 <= address - segment.address < len(segment.data) for segment in self.segments)

    @cached_property
    def regions(self) -> tuple[MemoryRegion, ...]:
        """The memory regions of the link, sorted by origin; see :mod:`harness.elf.regions`."""
        from harness.elf.regions import memories  # noqa: PLC0415

        return memories(self, self.chip, self.linker_map.regions if self.linker_map else ())

    @cached_property
    def linker_map(self) -> LinkerMap | None:
        """The content of ``map_file``. Raises :class:`UsageError` if that is not a map."""
        from harness.elf.map_file import LinkerMap  # noqa: PLC0415

        return None if self.map_file is None else LinkerMap.read(self.map_file)

    @cached_property
    def layout(self) -> Layout:
        """The parts of every region, which have each byte once."""
        from harness.elf.layout import of_image  # noqa: PLC0415

        return of_image(self, self.regions)

    @cached_property
    def variables(self) -> Variables:
        """The static variables in DWARF."""
        from harness.elf.variables import Variables  # noqa: PLC0415

        return Variables(self)

    @cached_property
    def inlining(self) -> Inlining:
        """The calls that were inlined, by address."""
        from harness.elf.inlined import Inlining  # noqa: PLC0415 - only for call stacks

        return Inlining(self.variables.dwarf)

    @cached_property
    def tensor_arenas(self) -> tuple[Symbol, ...]:
        """The arrays in RAM with the name of a tensor arena."""
        from harness.elf.regions import RAM  # noqa: PLC0415

        # Mangled names contain the plain identifiers.
        named = (s for s in self.symbols if _ARENA_NAME in s.name and s.size and s.address in RAM)
        return tuple(symbol for symbol in named if _ARENA.search(demangle(symbol.name)))

    @cached_property
    def registrations(self) -> tuple[Registration, ...]:
        """The functions that register operators."""
        from harness.elf.register_functions import find  # noqa: PLC0415

        return tuple(find(self._references))

    @cached_property
    def operator_functions(self) -> Mapping[int, tuple[str, ...]]:
        """The operators of each function that a registration refers to, by its address."""
        from harness.elf.register_functions import entry_functions  # noqa: PLC0415

        return entry_functions(self.graph, self.registrations)

    @cached_property
    def graph(self) -> Graph:
        """The reference graph, without ambiguous edges to the data of registration functions."""
        entries = (entry for registration in self.registrations for entry in registration.entries)
        return self._references.settled(frozenset(entries))

    @cached_property
    def _references(self) -> Graph:
        from harness.elf.graph import build  # noqa: PLC0415

        return build(self, self.layout, self.variables)

    @cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        functions = sorted(
            (s for s in self.symbols if s.kind == "func" or s.name in _UNTYPED), key=_by_place
        )
        return [s.address for s in functions], functions

    def object_at(self, address: int) -> Symbol | None:
        """The variable or constant that contains ``address``."""
        for symbol in self.symbols:
            if symbol.kind == "object" and 0 <= address - symbol.address < symbol.size:
                return symbol
        return None

    def locate(self, address: int) -> Location:
        """The function of an address, with file and line from DWARF; the Thumb bit is ignored.

        An address that this image does not contain is looked up in the images beside it.
        """
        address &= ~1
        if self.beside and not self.holds(address):
            for other in self.beside:
                if other.holds(address):
                    return replace(other.locate(address), image=other.name)
        starts, functions = self._functions
        index = bisect_right(starts, address) - 1
        name, offset = "", 0
        if index >= 0:
            function = functions[index]
            following = starts[index + 1] if index + 1 < len(starts) else address + 1
            unsized = min(following - function.address, UNSIZED_REACH)
            if address < function.address + (function.size or unsized):
                name, offset = function.name, address - function.address
        file, line = self._line(address)
        return Location(address, name, offset, file, line)

    def frames(self, address: int) -> tuple[Location, ...]:
        """The functions that were inlined at ``address``, innermost first, then the containing one.

        Each has the line of the instruction, or of the inlined call in it.
        """
        location = self.locate(address)
        holder = next((other for other in self.beside if other.name == location.image), self)
        inlined = []
        for call in holder.inlining.at(address & ~1):
            inlined.append(replace(location, function=call.function))
            location = replace(location, file=call.file, line=call.line)
        return (*inlined, location)

    @cached_property
    def lines(self) -> tuple[list[int], list[tuple[str, int]]]:
        """Line rows by address: start addresses, and their (file, line); ("", 0) ends a sequence.

        The rows of a garbled line program are kept up to the garbled place. Raises :class:`BadElf`
        only if the section itself cannot be read.
        """
        return self.line_table.named()

    @cached_property
    def line_table(self) -> LineTable:
        """The decoded line programs, with full paths."""
        from harness.elf.dwarf.lines import LineTable  # noqa: PLC0415 - only for source lines

        return LineTable(self)

    def _line(self, address: int) -> tuple[str, int]:
        starts, places = self.lines
        index = bisect_right(starts, address) - 1
        return places[index] if index >= 0 else ("", 0)
