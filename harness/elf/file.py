"""An ELF file: segments, sections, symbols, stored bytes.

Everything beyond the headers is read at first use, so that opening a file is cheap.
:mod:`harness.elf.image` has the views that are built on it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section as RawSection
from elftools.elf.sections import SymbolTableSection

from harness.base import files
from harness.base.errors import BadElf
from harness.elf import reader

#: Special section numbers (System V ABI, chapter 4).
_SPECIAL = {0: "SHN_UNDEF", 0xFFF1: "SHN_ABS", 0xFFF2: "SHN_COMMON"}
#: Mapping symbols of the Arm ELF ABI (AAELF32, section 5.5.5): the kind of the bytes after them.
_MAPPING = {"$t": "thumb", "$d": "data", "$a": "arm"}
#: Zephyr's boot banner (kernel/banner.c): the release, or a tag of a git repository.
_BANNER = re.compile(rb"\*\*\* Booting Zephyr OS build [a-z-]{0,8}(\d+\.\d+\.\d+)")


@dataclass(frozen=True)
class Segment:
    """A PT_LOAD segment: ``data`` goes to ``load_address`` (LMA), ``size`` bytes to ``address``."""

    address: int
    load_address: int
    size: int
    data: bytes


@dataclass(frozen=True)
class Section:
    """A section that occupies memory; ``load_address`` (LMA) is None if nothing is loaded."""

    name: str
    address: int
    load_address: int | None
    size: int
    writable: bool
    executable: bool
    data: bytes = field(repr=False)

    @property
    def loaded(self) -> bool:
        """True if the section's bytes are stored in the image (not .bss, not .noinit)."""
        return self.load_address is not None

    @property
    def end(self) -> int:
        """The first address after the section."""
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


@dataclass(frozen=True)
class ElfFile:
    """The ELF's bytes and the tables in them."""

    path: Path
    data: bytes = field(repr=False)

    @classmethod
    def from_elf(cls, path: str | Path) -> Self:
        """Read and check an ELF for a Cortex-M.

        Raises :class:`BadElf` for a file that is not an ELF, is truncated, is not 32-bit
        little-endian Arm, is not executable, or has nothing to load.
        """
        path = Path(path)
        file = cls(path, files.read(path, error=BadElf))
        file._check()
        return file

    def _check(self) -> None:
        kind = self.elf["e_type"]
        if kind != "ET_EXEC":
            raise BadElf(
                f"{self.path} is not an executable image (ELF type {kind})",
                hint=reader.LINKED_IMAGE_HINT,
            )
        if not self.segments:
            raise BadElf(f"{self.path} has no segment to load")
        _ = self._raw_sections  # raises for a file that is truncated after its segments

    @cached_property
    def elf(self) -> ELFFile:
        """The pyelftools view, its tables checked. Raises :class:`BadElf`."""
        return reader.read(self.data, str(self.path))

    @cached_property
    def _raw_sections(self) -> tuple[RawSection, ...]:
        return reader.sections(self.elf, self.data, str(self.path))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file, hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @cached_property
    def compiler(self) -> str:
        """The compilers named in ``.comment`` and the release of Zephyr, separated by commas.

        "" if the image names none of them.
        """
        names: list[str] = []
        for raw in self._raw_sections:
            if raw.name == ".comment":
                texts = reader.contents(raw, str(self.path)).split(b"\0")
                names += [text.decode("utf-8", "backslashreplace") for text in texts]
        banners = (_BANNER.search(segment.data) for segment in self.segments)
        names += [f"Zephyr {found[1].decode()}" for found in banners if found]
        return ", ".join(dict.fromkeys(filter(None, names)))

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """PT_LOAD segments that occupy memory, in file order."""
        segments = []
        for raw in self.elf.iter_segments("PT_LOAD"):
            header = raw.header
            skipped = self._headers_in(header["p_offset"], header["p_filesz"])
            if header["p_memsz"] > skipped:
                start, end = header["p_offset"] + skipped, header["p_offset"] + header["p_filesz"]
                segments.append(
                    Segment(
                        header["p_vaddr"] + skipped,
                        header["p_paddr"] + skipped,
                        header["p_memsz"] - skipped,
                        self.data[start:end],
                    )
                )
        return tuple(segments)

    def _headers_in(self, offset: int, size: int) -> int:
        """Bytes at the start of a segment that are the file's headers, not the image's.

        GNU ld maps a page with them if the linker script leaves no room for them (TF-M's). The
        bytes between them and the first section are filler.
        """
        headers, table = int(self.elf["e_ehsize"]), int(self.elf["e_phoff"])
        if table <= headers:
            headers = max(headers, table + self.elf["e_phentsize"] * self.elf.num_segments())
        if offset >= headers or not size:
            return 0
        stored = [
            raw["sh_offset"] - offset
            for raw in self._raw_sections
            if raw["sh_flags"] & reader.SHF_ALLOC
            and raw["sh_type"] != "SHT_NOBITS"
            and raw["sh_size"]
            and offset <= raw["sh_offset"] < offset + size
        ]
        return min(stored, default=min(size, headers - offset))

    @property
    def entry(self) -> int:
        """The ELF's entry point, with its Thumb bit."""
        return int(self.elf["e_entry"])

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """Sections that occupy memory, sorted by address; () if there is no section table.

        Thread-local variables without initial values (.tbss) are left out: each thread has them on
        its own stack, and the next section has the same address.
        """
        sections = []
        for raw in self._raw_sections:
            flags, address, size = raw["sh_flags"], raw["sh_addr"], raw["sh_size"]
            if not flags & reader.SHF_ALLOC or not size:
                continue
            stored = raw["sh_type"] != "SHT_NOBITS"
            if flags & reader.SHF_TLS and not stored:
                continue
            sections.append(
                Section(
                    raw.name,
                    address,
                    self._load_address(address, size) if stored else None,
                    size,
                    bool(flags & reader.SHF_WRITE),
                    bool(flags & reader.SHF_EXECINSTR),
                    self.data[raw["sh_offset"] : raw["sh_offset"] + size] if stored else b"",
                )
            )
        return tuple(sorted(sections, key=lambda s: (s.address, s.size)))

    def _load_address(self, address: int, size: int) -> int:
        for segment in self.segments:
            if segment.address <= address and address + size <= segment.address + segment.size:
                return segment.load_address + address - segment.address
        return address

    @cached_property
    def _all_symbols(self) -> tuple[tuple[Symbol, ...], tuple[tuple[int, str], ...]]:
        """The named symbols, and the mapping symbols ($t, $d) as (address, kind)."""
        sections = self._raw_sections
        table = next((s for s in sections if s["sh_type"] == "SHT_SYMTAB"), None)
        if not isinstance(table, SymbolTableSection):
            return (), ()
        names = {number: section.name for number, section in enumerate(sections)} | _SPECIAL
        thread_local = min(
            (each["sh_addr"] for each in sections if each["sh_flags"] & reader.SHF_TLS), default=0
        )
        symbols: list[Symbol] = []
        mapping: list[tuple[int, str]] = []
        for raw in reader.symbols(table, str(self.path)):
            if raw.name[0] == "$" and raw.name[:2] in _MAPPING and raw.name[2:3] in ("", "."):
                mapping.append((raw.value, _MAPPING[raw.name[:2]]))
                continue
            address = raw.value & ~1 if raw.kind == "func" else raw.value
            if raw.kind == "tls":
                address += thread_local  # the symbol has the offset in it
            section = names.get(raw.index, str(raw.index))
            symbols.append(Symbol(raw.name, address, raw.size, raw.kind, raw.binding, section))
        return tuple(symbols), tuple(sorted(mapping))

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        """All named symbols of the symbol table, empty for a stripped image."""
        return self._all_symbols[0]

    @property
    def mapping(self) -> tuple[tuple[int, str], ...]:
        """Arm mapping symbols, sorted: address, and "thumb", "data" or "arm" from there on."""
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
        """``size`` bytes of the image at run-time ``address``; None if they are not stored."""
        for segment in self.segments:
            start = address - segment.address
            if start >= 0 and start + size <= len(segment.data):
                return segment.data[start : start + size]
        return None

    def debug_section(self, name: str) -> bytes:
        """The bytes of ``.debug_<name>``, decompressed; b"" if the image has none."""
        names = (f".debug_{name}", f".zdebug_{name}")
        for raw in self._raw_sections:
            if raw.name in names:
                return reader.contents(raw, str(self.path))
        return b""
