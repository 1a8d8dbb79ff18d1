"""An ELF file as firmware: segments, sections, symbols, where an address lies in the source.

Nothing is executed and no external tool is called. Everything beyond the headers (symbols, line
tables) is read when first asked for, so that opening an image is cheap.
"""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.elf import format as elf_format
from harness.elf.demangle import demangle
from harness.errors import BadElf

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

    from harness.elf.dwarf.lines import LineTable

#: Mapping symbols of the Arm ELF ABI (AAELF32, section 5.5.5): what the bytes after them are.
_MAPPING = {"$t": "thumb", "$d": "data", "$a": "arm"}
#: Bytes at most that a function without a size is taken to reach.
_UNSIZED_REACH = 1024


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD segment: ``data`` goes to ``load_address`` (LMA), ``size`` bytes to ``address``."""

    address: int
    load_address: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Section:
    """A section that occupies memory; ``load_address`` (LMA) is None where nothing is loaded."""

    name: str
    address: int
    load_address: int | None
    size: int
    writable: bool
    executable: bool
    data: bytes = field(repr=False)

    @property
    def loaded(self) -> bool:
        """True where the section's bytes are stored in the image (not .bss, not .noinit)."""
        return self.load_address is not None

    @property
    def end(self) -> int:
        """The first address behind the section."""
        return self.address + self.size


@dataclass(frozen=True)
class Symbol:
    """A symbol; ``address`` has the Thumb bit cleared for functions."""

    name: str
    address: int
    size: int
    kind: str  # "func", "object", "notype", "section", "file"
    binding: str  # "local", "global", "weak"
    section: str


def _by_place(symbol: Symbol) -> tuple[int, int]:
    """By address; of several at one, the one that tells its size comes last and is found."""
    return symbol.address, symbol.size


@dataclass(frozen=True)
class Location:
    """Where an address lies: function, and file and line where DWARF tells (else "" and 0)."""

    address: int
    function: str
    offset: int
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        name = demangle(self.function) or f"0x{self.address:08x}"
        return f"{name} at {self.file}:{self.line}" if self.file else name


@dataclass(frozen=True)
class Firmware:
    """One image: the ELF's bytes and what can be read from them."""

    path: Path
    data: bytes = field(repr=False)

    @classmethod
    def from_elf(cls, path: str | Path) -> Firmware:
        """Read and check an ELF for a Cortex-M.

        Raises :class:`BadElf` for a file that is no ELF, is truncated, is not 32-bit
        little-endian Arm, is not executable, or has nothing to load.
        """
        path = Path(path)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BadElf(f"cannot read {path}: {error.strerror}") from error
        firmware = cls(path, data)
        firmware._check()
        return firmware

    def _check(self) -> None:
        if self._header.type != elf_format.ET_EXEC:
            raise BadElf(
                f"{self.path} is not an executable image (ELF type {self._header.type})",
                hint="pass the linked image, e.g. build/zephyr/zephyr.elf",
            )
        if not self.segments:
            raise BadElf(f"{self.path} has no segment to load")
        _ = self._raw_sections  # a file cut off behind its segments is told now, not later

    @cached_property
    def _header(self) -> elf_format.Header:
        return elf_format.header(self.data, str(self.path))

    @cached_property
    def _raw_sections(self) -> tuple[elf_format.RawSection, ...]:
        return elf_format.sections(self.data, self._header, str(self.path))

    @cached_property
    def elf(self) -> ELFFile:
        """The pyelftools view, for what this package does not read itself. Raises BadElf."""
        from elftools.common.exceptions import ELFError  # noqa: PLC0415 - heavy, seldom needed
        from elftools.elf.elffile import ELFFile  # noqa: PLC0415

        try:
            return ELFFile(io.BytesIO(self.data))
        except (ELFError, ValueError, KeyError, OverflowError) as error:
            raise BadElf(f"{self.path} is a broken ELF file: {error}") from error

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """PT_LOAD segments that occupy memory, in file order."""
        return tuple(
            Segment(
                raw.address,
                raw.load_address,
                raw.memory_size,
                self.data[raw.offset : raw.offset + raw.file_size],
            )
            for raw in elf_format.segments(self.data, self._header, str(self.path))
            if raw.type == elf_format.PT_LOAD and raw.memory_size
        )

    @property
    def entry(self) -> int:
        """The ELF's entry point, Thumb bit as it stands."""
        return self._header.entry

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections that occupy memory, sorted by address; () where there is no section table."""
        found = []
        for raw in self._raw_sections:
            if not raw.flags & elf_format.SHF_ALLOC or not raw.size:
                continue
            stored = raw.type != elf_format.SHT_NOBITS
            found.append(
                Section(
                    raw.name,
                    raw.address,
                    self._load_address(raw.address, raw.size) if stored else None,
                    raw.size,
                    bool(raw.flags & elf_format.SHF_WRITE),
                    bool(raw.flags & elf_format.SHF_EXECINSTR),
                    self.data[raw.offset : raw.offset + raw.size] if stored else b"",
                )
            )
        return tuple(sorted(found, key=lambda s: (s.address, s.size)))

    def _load_address(self, address: int, size: int) -> int:
        for segment in self.segments:
            if segment.address <= address and address + size <= segment.address + segment.size:
                return segment.load_address + address - segment.address
        return address

    @cached_property
    def _all_symbols(self) -> tuple[tuple[Symbol, ...], tuple[tuple[int, str], ...]]:
        """The named symbols, and the mapping symbols ($t, $d) as (address, kind)."""
        sections = self._raw_sections
        table = next((s for s in sections if s.type == elf_format.SHT_SYMTAB), None)
        if table is None or table.link >= len(sections):
            return (), ()
        special = {
            elf_format.SHN_UNDEF: "SHN_UNDEF",
            elf_format.SHN_ABS: "SHN_ABS",
            elf_format.SHN_COMMON: "SHN_COMMON",
        }
        names = {number: section.name for number, section in enumerate(sections)} | special
        found: list[Symbol] = []
        mapping: list[tuple[int, str]] = []
        for raw in elf_format.symbols(self.data, table, sections[table.link]):
            if raw.name[0] == "$" and raw.name[:2] in _MAPPING and raw.name[2:3] in ("", "."):
                mapping.append((raw.value, _MAPPING[raw.name[:2]]))
                continue
            address = raw.value & ~1 if raw.kind == "func" else raw.value
            section = names.get(raw.index, str(raw.index))
            found.append(Symbol(raw.name, address, raw.size, raw.kind, raw.binding, section))
        return tuple(found), tuple(sorted(mapping))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """All named symbols of the symbol table, empty for a stripped image."""
        return self._all_symbols[0]

    @property
    def mapping(self) -> tuple[tuple[int, str], ...]:
        """Arm mapping symbols, sorted: (address, "thumb", "data" or "arm") of the bytes behind."""
        return self._all_symbols[1]

    @cached_property
    def _by_name(self) -> dict[str, Symbol]:
        return {s.name: s for s in self.symbols if s.section not in ("SHN_UNDEF", "SHN_ABS")}

    def symbol(self, name: str) -> Symbol | None:
        """The symbol called ``name`` (mangled for C++), or None."""
        return self._by_name.get(name)

    @cached_property
    def absolutes(self) -> Mapping[str, int]:
        """Absolute symbols by name; a Zephyr image has its whole Kconfig (CONFIG_*) among them."""
        return {s.name: s.address for s in self.symbols if s.section == "SHN_ABS"}

    def read(self, address: int, size: int) -> bytes | None:
        """``size`` bytes of the image at run-time ``address``; None where nothing is stored."""
        for segment in self.segments:
            start = address - segment.address
            if start >= 0 and start + size <= len(segment.data):
                return segment.data[start : start + size]
        return None

    def debug_section(self, name: str) -> bytes:
        """The bytes of ``.debug_<name>``, decompressed; b"" where the image has none."""
        wanted = (f".debug_{name}", f".zdebug_{name}")
        for raw in self._raw_sections:
            if raw.name in wanted:
                return elf_format.contents(self.data, raw, str(self.path))
        return b""

    @cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        functions = sorted((s for s in self.symbols if s.kind == "func"), key=_by_place)
        return [s.address for s in functions], functions

    def locate(self, address: int) -> Location:
        """Function (and file and line, from DWARF) of an address; Thumb bit ignored."""
        address &= ~1
        starts, functions = self._functions
        index = bisect_right(starts, address) - 1
        name, offset = "", 0
        if index >= 0:
            function = functions[index]
            # Assembly often tells no size: such a function reaches to the next one.
            after = starts[index + 1] if index + 1 < len(starts) else address + 1
            unsized = min(after - function.address, _UNSIZED_REACH)
            if address < function.address + (function.size or unsized):
                name, offset = function.name, address - function.address
        file, line = self._line(address)
        return Location(address, name, offset, file, line)

    @cached_property
    def lines(self) -> tuple[list[int], list[tuple[str, int]]]:
        """DWARF line rows sorted by address: start addresses, and (file, line); ("", 0) ends a run.

        A garbled line program ends at the point where it makes no sense; what came before it
        stands. Raises :class:`BadElf` only where the section itself cannot be read.
        """
        return self.line_table.named()

    @cached_property
    def line_table(self) -> LineTable:
        """The decoded line programs, with the paths that :attr:`lines` leaves out."""
        from harness.elf.dwarf.lines import LineTable  # noqa: PLC0415 - only when a line is asked

        return LineTable(self)

    def _line(self, address: int) -> tuple[str, int]:
        starts, places = self.lines
        index = bisect_right(starts, address) - 1
        return places[index] if index >= 0 else ("", 0)
