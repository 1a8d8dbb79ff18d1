"""The map file of a link: GNU ld's and lld's (``-Wl,-Map=FILE``).

GNU ld writes it also for a link that fails because a region overflows. A map names output sections,
the input sections in them with their object files, and symbols without sizes: every symbol of lld,
the global ones of GNU ld. It does not say which sections are stored in the image; that follows from
their names and load addresses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Self

from harness.base import files
from harness.base.errors import UsageError
from harness.elf.file import Section, Symbol
from harness.elf.regions import MemoryRegion

#: Limits of a map file; a large firmware has some 10 MB, 50,000 input sections, 10 regions.
MOST_BYTES = 64 << 20
MOST_ROWS = 300_000
MOST_SECTIONS = 20_000
MOST_REGIONS = 100
MOST_CHARACTERS = 10_000  # in a line

_MEMORY = "Memory Configuration"
_SECTIONS = "Linker script and memory map"
_LLD_HEADING = re.compile(r" *VMA +LMA +Size +Align +Out +In +Symbol *")
_PLACED = re.compile(r"0x([0-9a-f]{1,16}) +0x([0-9a-f]{1,16})(?: +(\S.*))?")
_GNU_SYMBOL = re.compile(r" {16}0x([0-9a-f]{1,16}) {16}(\S.*)")
_LOAD = re.compile(r"load address 0x([0-9a-f]{1,16})")
_DATA = re.compile(r"(?:BYTE|SHORT|LONG|QUAD|SQUAD)\b")
_LLD_ROW = re.compile(r" *([0-9a-f]{1,16}) +([0-9a-f]{1,16}) +([0-9a-f]{1,16}) +\d+ ( *)(\S.*)")
#: Sections that are only for tools, and lie at address 0.
_FOR_TOOLS = re.compile(
    r"\.(?:z?debug|comment|ARM\.attributes|stab|gnu\.|note|symtab|shstrtab|strtab|llvm)"
)
#: Names of sections without stored bytes, of the compiler and of usual linker scripts.
_ZEROED = re.compile(
    r"(?!\.(?:text|rodata|data)\.)(?:.*[._])?(?:s?bss|tbss|noinit|COMMON|stack|heap)(?:[._0-9]|$)"
)
_CODE = re.compile(r"\.(?:text|init|fini|glue)(?:[._0-9]|$)")
_STRINGS = re.compile(r"\.rodata\.(?:.*\.)?str\d+\.\d+")
#: A section of one function or variable (-ffunction-sections, -fdata-sections).
_OWN = re.compile(
    r"\.(?:text(?:\.(?:unlikely|hot|startup|exit))?|rodata|data(?:\.rel\.ro)?(?:\.local)?"
    r"|s?bss|tbss|tdata|noinit)\.(.+)"
)


@dataclass(frozen=True)
class InputSection:
    """An input section; ``file`` is an object file, or a member of an archive: ``lib.a(a.o)``.

    ``symbols`` are the addresses and names that the map lists in it.
    """

    name: str
    address: int
    size: int
    file: str
    symbols: list[tuple[int, str]] = field(default_factory=list)

    @property
    def archive(self) -> str:
        """The path of the archive; "" for an object file outside of one."""
        return self.file.rpartition("(")[0] if self.file.endswith(")") else ""

    @property
    def path(self) -> str:
        """The path of the object file, the archive as its folder."""
        member = self.file.rpartition("(")[2].removesuffix(")")
        return f"{self.archive}/{member}" if self.archive else self.file

    def named(self, section: str) -> Iterator[Symbol]:
        """What the bytes are, each once: symbols of the output section ``section``."""
        kind = "func" if _CODE.match(self.name) else "object"
        own = _OWN.fullmatch(self.name)
        starts: dict[int, list[str]] = {}
        for address, name in self.symbols:
            if self.address <= address < self.address + self.size:
                starts.setdefault(address, []).append(name)
        if _STRINGS.fullmatch(self.name):
            starts = {self.address: ["(string literals)"]}
            kind = "strings"
        elif own and starts.keys() <= {self.address}:
            starts = {self.address: [own[1]]}
        elif self.address not in starts:
            starts[self.address] = [f"{self.name} of {self.path.rpartition('/')[2]}"]
        for start, end in pairwise([*sorted(starts), self.address + self.size]):
            for name in starts[start]:
                yield Symbol(name, start, end - start, kind, "global", section)


@dataclass(frozen=True)
class OutputSection:
    """An output section and its content; ``data`` if the linker script itself puts bytes in it."""

    name: str
    address: int
    load_address: int
    size: int
    inputs: list[InputSection] = field(default_factory=list)
    data: list[str] = field(default_factory=list)

    @property
    def in_memory(self) -> bool:
        """False for an empty section, and for one that only tools read (debug information).

        Thread-local variables without initial values (.tbss) lie on each thread's stack.
        """
        if not self.size or self.address + self.size > 1 << 32 or self.name == ".tbss":
            return False
        return self.address > 0 or not _FOR_TOOLS.match(self.name)

    @property
    def zeroed(self) -> bool:
        """True if nothing in it has a value, by its name or by those of its content."""
        if self.data:
            return False
        names = [each.name for each in self.inputs]
        return bool(_ZEROED.match(self.name)) or all(map(_ZEROED.match, names))


@dataclass(frozen=True)
class LinkerMap:
    """A map file: memory regions (none in lld's), and output sections in memory, in file order."""

    path: Path
    linker: str  # "GNU ld" or "lld"
    regions: tuple[MemoryRegion, ...]
    outputs: tuple[OutputSection, ...]

    @classmethod
    def read(cls, path: Path) -> Self:
        """Raises :class:`UsageError` for a file that is not a map, or larger than any map."""
        text = files.read(path, most=MOST_BYTES).decode("utf-8", "replace").replace("\r\n", "\n")
        heading, _, below = text.partition("\n")
        rows = _Rows(path)
        if _LLD_HEADING.fullmatch(heading):
            _read_lld(below, rows)
            return cls(path, "lld", (), tuple(rows.outputs))
        before, found, below = text.partition(f"\n{_SECTIONS}\n")
        if not found:
            raise UsageError(
                f"{path} is not a map file of GNU ld or lld",
                hint="link with -Wl,-Map=FILE, in the environment LC_ALL=C",
            )
        _read_gnu(below, rows)
        regions = tuple(_regions(before.rpartition(f"\n{_MEMORY}\n")[2], rows))
        return cls(path, "GNU ld", regions, tuple(rows.outputs))

    @cached_property
    def contents(self) -> tuple[tuple[Section, Sequence[Symbol]], ...]:
        """The sections in memory, sorted by address, with the names of their bytes."""
        unstored = _unstored(self.outputs)
        return tuple(
            (
                Section(
                    output.name,
                    output.address,
                    None if id(output) in unstored else output.load_address,
                    output.size,
                    False,
                    bool(_CODE.match(output.name)),
                    b"",
                ),
                [symbol for each in output.inputs for symbol in each.named(output.name)],
            )
            for output in sorted(self.outputs, key=lambda output: (output.address, output.size))
        )

    @cached_property
    def inputs(self) -> tuple[InputSection, ...]:
        """All input sections in memory, sorted by address."""
        every = (each for output in self.outputs for each in output.inputs)
        return tuple(sorted(every, key=lambda each: (each.address, each.size)))


def is_map(path: Path) -> bool:
    """True for a file called ``*.map``, and for another with a map's heading."""
    if not files.is_file(path):
        return False
    if path.suffix == ".map":
        return True
    data = files.read(path)
    heading = data[:MOST_CHARACTERS].partition(b"\n")[0].decode("latin-1")
    return f"\n{_SECTIONS}".encode() in data or bool(_LLD_HEADING.fullmatch(heading.strip("\r")))


class _Rows:
    """The output sections as they are read, each with what follows it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.outputs: list[OutputSection] = []
        self._output: OutputSection | None = None
        self._input: InputSection | None = None
        self._at_0 = False
        self._count = 0

    def output(self, name: str, address: int, load_address: int, size: int) -> None:
        section = OutputSection(name, address, load_address, size)
        self.end()
        if section.in_memory and (address or not self._at_0):
            self._at_0 |= not address  # whatever else lies at 0 is only for tools
            self._output = section
            self.outputs.append(section)
            self.check("sections", len(self.outputs), MOST_SECTIONS)

    def input(self, name: str, address: int, size: int, file: str) -> None:
        self._input = None
        if self._output is not None and self._holds(address) and size:
            self._input = InputSection(name, address, size, file.replace("\\", "/"))
            self._output.inputs.append(self._input)
            self._add()

    def symbol(self, address: int, name: str) -> None:
        if self._input is not None:
            self._input.symbols.append((address, name))
            self._add()

    def data(self, address: int, statement: str) -> None:
        """Bytes that the linker script itself writes."""
        if self._output is not None and self._holds(address):
            self._output.data.append(statement)
            self._add()

    def end(self) -> None:
        """What follows belongs to no output section."""
        self._output = self._input = None

    def check(self, what: str, count: int, most: int) -> None:
        if count > most:
            raise UsageError(f"{self.path} has more than {most:,} {what}")

    def _holds(self, address: int) -> bool:
        output = self._output
        return output is not None and 0 <= address - output.address < output.size

    def _add(self) -> None:
        self._count += 1
        self.check("input sections and symbols", self._count, MOST_ROWS)


def _regions(table: str, rows: _Rows) -> Iterator[MemoryRegion]:
    """The rows of GNU ld's "Memory Configuration"."""
    count = 0
    for line in table.split("\n"):
        name, _, rest = line.partition(" ")
        placed = _PLACED.match(rest.strip())
        if placed and name != "*default*":
            count += 1
            rows.check("memory regions", count, MOST_REGIONS)
            yield MemoryRegion(name, int(placed[1], 16), int(placed[2], 16), "map")


def _lines(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if len(line) <= MOST_CHARACTERS)


def _read_gnu(text: str, rows: _Rows) -> None:
    """Read GNU ld's sections.

    Output sections begin a line, input sections have one space before them; addresses follow a long
    name on the next line.
    """
    waiting: tuple[int, str] | None = None  # indentation and name of a line without addresses
    for line in _lines(text):
        if line == "Cross Reference Table":
            return
        words = line.lstrip(" ")
        indent = len(line) - len(words)
        if indent > 1:
            _read_gnu_row(line, waiting, rows)
            waiting = None
            continue
        name, _, rest = words.partition(" ")
        placed = _PLACED.match(rest.lstrip(" "))
        pattern = name.endswith(")")  # of the linker script
        waiting = (indent, name) if name and not rest.strip() and not pattern else None
        if placed:
            _place_gnu(indent, name, placed, rows)
        elif not indent and name:
            rows.end()


def _read_gnu_row(line: str, waiting: tuple[int, str] | None, rows: _Rows) -> None:
    symbol = _GNU_SYMBOL.fullmatch(line)
    placed = _PLACED.match(line.lstrip(" "))
    if placed and waiting:
        _place_gnu(*waiting, placed, rows)
    elif placed and _DATA.match(placed[3] or ""):
        rows.data(int(placed[1], 16), placed[3])
    elif symbol and " = " not in symbol[2]:
        rows.symbol(int(symbol[1], 16), symbol[2])


def _place_gnu(indent: int, name: str, placed: re.Match[str], rows: _Rows) -> None:
    address, size, rest = int(placed[1], 16), int(placed[2], 16), placed[3] or ""
    if indent:
        if not name.startswith("*"):  # *fill*
            rows.input(name, address, size, rest)
        return
    load = _LOAD.match(rest)
    rows.output(name, address, int(load[1], 16) if load else address, size)


def _read_lld(text: str, rows: _Rows) -> None:
    """Read lld's sections: output sections, inputs and symbols have 0, 8, 16 spaces before them."""
    thumb = 0  # the lowest bit of a function's address, after the mapping symbol $t
    for line in _lines(text):
        row = _LLD_ROW.fullmatch(line)
        if row is None:
            continue
        address, load_address, size = (int(row[number], 16) for number in (1, 2, 3))
        depth, name = len(row[4]) // 8, row[5]
        file, placed, section = name.removesuffix(")").rpartition(":(")
        if depth == 1 and _DATA.match(name):
            rows.data(address, name)
        elif depth == 2 and name.startswith("$"):
            thumb = int(name.startswith("$t"))
        elif " = " in name:  # an assignment
            continue
        elif depth == 0:
            rows.output(name, address, load_address, size)
        elif depth == 1 and placed:
            rows.input(section, address, size, file)
        elif depth == 2:
            rows.symbol(address & ~thumb, name)


def _unstored(outputs: Iterable[OutputSection]) -> frozenset[int]:
    """The sections without bytes in the image, by id.

    Their content has such names, or GNU ld gave the next section a load address within theirs.
    """
    ordered = sorted(outputs, key=lambda output: output.load_address)
    overlapped = (
        id(output)
        for output, following in pairwise(ordered)
        if output.load_address != output.address
        and following.load_address < output.load_address + output.size
    )
    return frozenset(overlapped) | {id(output) for output in ordered if output.zeroed}
