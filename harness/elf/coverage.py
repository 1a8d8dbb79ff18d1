"""The code that an image executed: instructions by function, and lines.

A target that can trace gives executed instructions by address; symbols and DWARF map them to
functions and lines.
"""

from __future__ import annotations

import logging
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from harness.elf import Image
from harness.elf.call_tree import CallTree
from harness.elf.demangle import demangle
from harness.elf.thumb import instruction_length

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Block:
    """A basic block, and how often it ran."""

    address: int
    instructions: int
    executions: int


@dataclass(frozen=True)
class Coverage:
    """Instructions by function, and lines by file.

    ``functions`` maps names to instructions executed, most first. A function without a symbol is
    named by its address; functions that share a name are followed by their file. ``files`` maps a
    source file's path in DWARF to its lines with code, and each line to whether it ran.
    """

    functions: Mapping[str, int] = field(default_factory=dict)
    files: Mapping[str, Mapping[int, bool]] = field(default_factory=dict)
    #: Instructions by call stack; None from a target that sees no calls.
    calls: CallTree | None = None

    @property
    def tree(self) -> CallTree:
        """Instructions by call stack, or by function alone from a target that sees no calls."""
        return self.calls if self.calls is not None else CallTree.flat(self.functions)

    @property
    def instructions(self) -> int:
        """All instructions executed while the target counted."""
        return sum(self.functions.values())

    @property
    def lines(self) -> tuple[int, int]:
        """The number of lines that ran, and of lines with code."""
        hits = [hit for file in self.files.values() for hit in file.values()]
        return sum(hits), len(hits)

    @classmethod
    def from_counts(
        cls, image: Image, counts: Mapping[int, int], executed: Iterable[int]
    ) -> Coverage:
        """Coverage from instructions by address, and the addresses of instructions that ran."""
        counted: Counter[tuple[str, int, str]] = Counter()
        for address, count in counts.items():
            place = image.locate(address)
            name = demangle(place.function) or f"0x{address:08x}"
            name = f"{place.image}: {name}" if place.image else name
            start = address - place.offset
            counted[name, start, image.locate(start).file] += count
        return cls(_named(counted), _lines(image, sorted(executed)))

    @classmethod
    def from_blocks(cls, image: Image, blocks: Iterable[Block]) -> Coverage:
        """Coverage from the blocks that ran."""
        counts: Counter[int] = Counter()
        executed: set[int] = set()
        code = [(segment.address, segment.data) for segment in image.loaded if segment.data]
        for block in blocks:
            counts[block.address] += block.instructions * block.executions
            address = block.address
            for _ in range(block.instructions):
                executed.add(address)
                address += _length_at(address, code)
        return cls.from_counts(image, counts, executed)

    def lcov(self) -> str:
        """An LCOV tracefile (geninfo(1)): each file's lines with code, 1 for those that ran."""
        out = ["TN:"]
        for file, hits in sorted(self.files.items()):
            out += [f"SF:{file}", *(f"DA:{line},{int(hit)}" for line, hit in sorted(hits.items()))]
            out += [f"LF:{len(hits)}", f"LH:{sum(hits.values())}", "end_of_record"]
        return "\n".join(out) + "\n"


def _named(counted: Counter[tuple[str, int, str]]) -> dict[str, int]:
    """Counts by name, most first; functions that share a name are followed by their file.

    (Every kernel of tflite-micro has an ``Invoke`` in an anonymous namespace.)
    """
    places: defaultdict[str, set[tuple[int, str]]] = defaultdict(set)
    for name, start, file in counted:
        places[name].add((start, file))
    functions: Counter[str] = Counter()
    for (name, start, file), count in counted.items():
        shared = len(places[name]) > 1
        functions[f"{name} ({file or f'0x{start:08x}'})" if shared else name] += count
    return dict(functions.most_common())


def _length_at(address: int, code: list[tuple[int, bytes]]) -> int:
    """The length of the instruction at ``address``; 2 where ``code`` has none (copied to RAM)."""
    for start, data in code:
        if start <= address <= start + len(data) - 2:
            offset = address - start
            return instruction_length(int.from_bytes(data[offset : offset + 2], "little"))
    return 2


def _lines(image: Image, executed: list[int]) -> dict[str, dict[int, bool]]:
    files: dict[str, dict[int, bool]] = {}
    for each in (image, *image.beside):
        _add_lines(files, each, executed)
    if not files:
        hint = (
            f"{image.without_symbols}: {image.symbols_hint()}"
            if image.without_symbols
            else ("build with -g")
        )
        _LOG.warning("no source lines in the coverage of %s: %s", image.path.name, hint)
    return files


def _add_lines(files: dict[str, dict[int, bool]], image: Image, executed: list[int]) -> None:
    table = image.line_table
    paths: dict[tuple[int, int], str] = {}
    ranges = zip(pairwise(table.starts), table.places[:-1], strict=True)
    for (start, end), (number, index, line) in ranges:
        if number < 0 or not line:
            continue
        if (number, index) not in paths:
            paths[number, index] = table.headers[number].path(index)
        path = paths[number, index]
        if not path:
            continue
        first = bisect_left(executed, start)
        ran = first < len(executed) and executed[first] < end
        hits = files.setdefault(path, {})
        hits[line] = hits.get(line, False) or ran
