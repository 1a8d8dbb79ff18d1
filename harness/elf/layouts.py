"""Structures that have another layout in some files of an image than in others.

The compiler reads one declaration twice, and its result depends on what stands before it: a
``#pragma pack`` without its end, a macro that only some files define. Code of one file then reads
what code of another has written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from harness.elf.dwarf.entries import Dwarf, Entry
from harness.elf.dwarf.format import At
from harness.elf.dwarf.leb import GARBLED
from harness.elf.image import Image


@dataclass(frozen=True)
class TwoLayouts:
    """A structure of one declaration with two sizes, in bytes, and a file in which each holds."""

    name: str
    declared: str  # "settings.h:4"
    sizes: tuple[tuple[int, str], tuple[int, str]]

    def __str__(self) -> str:
        (small, here), (large, there) = self.sizes
        return (
            f"struct {self.name} ({self.declared}) has {small:,} bytes in {here} and {large:,} in"
            f" {there}"
        )


@lru_cache(maxsize=4)  # a failed case asks in each of its further runs
def two_layouts(image: Image) -> tuple[TwoLayouts, ...]:
    """The structures of ``image`` with several layouts, by name; none without DWARF."""
    return tuple(_two_layouts(image))


def _two_layouts(image: Image) -> Iterator[TwoLayouts]:
    variables = image.variables
    for name in sorted(variables.structures):
        if len(variables.sizes_of(name)) > 1:
            yield from _of_one_declaration(name, variables.structures[name], variables.dwarf)


def _of_one_declaration(name: str, entries: list[Entry], dwarf: Dwarf) -> Iterator[TwoLayouts]:
    sizes: dict[tuple[str, int], dict[int, str]] = defaultdict(dict)
    for entry in entries:
        try:
            path, unit = dwarf.declared_in(entry), dwarf.entry(entry.unit.first, entry.unit)
            file, compiled = PurePosixPath(path).name, str(unit.value(At.NAME) or "")
        except GARBLED:
            continue
        at = path, entry.number(At.DECL_LINE) or 0
        if file and all(at):
            by_size = sizes[at]
            by_size.setdefault(entry.number(At.BYTE_SIZE) or 0, PurePosixPath(compiled).name)
    for (path, line), by_size in sizes.items():
        if len(by_size) > 1:
            declared = f"{PurePosixPath(path).name}:{line}"
            first, *_, last = sorted(by_size.items())
            yield TwoLayouts(name, declared, (first, last))
