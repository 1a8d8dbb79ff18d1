"""An ELF file as firmware: segments, symbols, where an address lies in the source.

Read with pyelftools; nothing is executed and no external tool is called. Everything beyond the
headers (symbols, line tables) is read when first asked for, so that opening an image is cheap.
"""

from __future__ import annotations

import hashlib
import io
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from harness.errors import BadElf


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD segment: ``data`` goes to ``load_address`` (LMA); ``size`` bytes run at ``address``."""

    address: int
    load_address: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Symbol:
    """A symbol; ``address`` has the Thumb bit cleared for functions."""

    name: str
    address: int
    size: int
    kind: str  # "func", "object", "notype", "section", "file"
    binding: str  # "local", "global", "weak"
    section: str


@dataclass(frozen=True)
class Location:
    """Where an address lies: function, and file and line where DWARF tells (else "" and 0)."""

    address: int
    function: str
    offset: int
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        name = self.function or f"0x{self.address:08x}"
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
        elf = self._elf
        if elf.elfclass != 32 or not elf.little_endian or elf["e_machine"] != "EM_ARM":
            machine = str(elf["e_machine"]).removeprefix("EM_")
            raise BadElf(
                f"{self.path} is for {machine} ({elf.elfclass}-bit), not for a 32-bit Arm Cortex-M",
                hint="pass the image that was built for nrf9160dk, e.g. build/zephyr/zephyr.elf",
            )
        if elf["e_type"] != "ET_EXEC":
            raise BadElf(f"{self.path} is not an executable image (type {elf['e_type']})")
        if not self.segments:
            raise BadElf(f"{self.path} has no segment to load")

    @cached_property
    def _elf(self) -> ELFFile:
        if self.data[:4] != b"\x7fELF":
            raise BadElf(f"{self.path} is not an ELF file")
        try:
            return ELFFile(io.BytesIO(self.data))
        except (ELFError, ValueError, KeyError, OverflowError) as error:
            raise BadElf(f"{self.path} is a broken ELF file: {error}") from error

    @property
    def elf(self) -> ELFFile:
        """The pyelftools view, for analyses that need sections or DWARF."""
        return self._elf

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """PT_LOAD segments that occupy memory, in file order."""
        found = []
        for segment in self._elf.iter_segments("PT_LOAD"):
            start, size = segment["p_offset"], segment["p_filesz"]
            if start + size > len(self.data):
                raise BadElf(
                    f"{self.path} is truncated: a segment needs {start + size} bytes, "
                    f"the file has {len(self.data)}"
                )
            if segment["p_memsz"]:
                found.append(
                    Segment(
                        segment["p_vaddr"],
                        segment["p_paddr"],
                        segment["p_memsz"],
                        self.data[start : start + size],
                    )
                )
        return tuple(found)

    @property
    def entry(self) -> int:
        """The ELF's entry point, Thumb bit as it stands."""
        return int(self._elf["e_entry"])

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        """All named symbols of the symbol table, empty for a stripped image."""
        table = self._elf.get_section_by_name(".symtab")
        if not isinstance(table, SymbolTableSection):
            return ()
        names = [section.name for section in self._elf.iter_sections()]
        found = []
        for symbol in table.iter_symbols():
            if not symbol.name or symbol.name.startswith(("$t", "$d", "$a")):
                continue
            kind = symbol["st_info"]["type"].removeprefix("STT_").lower()
            index = symbol["st_shndx"]
            section = names[index] if isinstance(index, int) and index < len(names) else str(index)
            address = symbol["st_value"] & ~1 if kind == "func" else symbol["st_value"]
            binding = symbol["st_info"]["bind"].removeprefix("STB_").lower()
            found.append(Symbol(symbol.name, address, symbol["st_size"], kind, binding, section))
        return tuple(found)

    @cached_property
    def _by_name(self) -> dict[str, Symbol]:
        return {s.name: s for s in self.symbols if s.section not in ("SHN_UNDEF", "SHN_ABS")}

    def symbol(self, name: str) -> Symbol | None:
        """The symbol called ``name`` (mangled for C++), or None."""
        return self._by_name.get(name)

    @cached_property
    def _functions(self) -> tuple[list[int], list[Symbol]]:
        functions = sorted((s for s in self.symbols if s.kind == "func"), key=lambda s: s.address)
        return [s.address for s in functions], functions

    def locate(self, address: int) -> Location:
        """Function (and file and line, from DWARF) of an address; Thumb bit ignored."""
        address &= ~1
        starts, functions = self._functions
        index = bisect_right(starts, address) - 1
        name, offset = "", 0
        if index >= 0:
            function = functions[index]
            if address < function.address + max(function.size, 2):
                name, offset = function.name, address - function.address
        file, line = self._line(address)
        return Location(address, name, offset, file, line)

    @cached_property
    def lines(self) -> tuple[list[int], list[tuple[str, int]]]:
        """DWARF line rows sorted by address: start addresses, and (file, line); ("", 0) ends a run."""
        if not self._elf.has_dwarf_info():
            return [], []
        rows: dict[int, tuple[str, int]] = {}
        dwarf = self._elf.get_dwarf_info()
        for unit in dwarf.iter_CUs():
            program = dwarf.line_program_for_CU(unit)
            if program is None:
                continue
            version = program.header.version
            names = [_text(entry.name) for entry in program.header.file_entry]
            for entry in program.get_entries():
                state = entry.state
                if state is None:
                    continue
                index = state.file - (0 if version >= 5 else 1)
                name = names[index] if 0 <= index < len(names) else ""
                if state.end_sequence:
                    rows.setdefault(state.address, ("", 0))
                else:
                    rows[state.address] = (name, state.line)
        starts = sorted(rows)
        return starts, [rows[start] for start in starts]

    def _line(self, address: int) -> tuple[str, int]:
        starts, places = self.lines
        index = bisect_right(starts, address) - 1
        return places[index] if index >= 0 else ("", 0)


def _text(value: bytes | str) -> str:
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else value
