"""The source file of each byte, from DWARF; its object file and library, from a map file.

The file of a function is that of its first line (a template's header, not the file that used it),
the file of a variable that of its declaration. A vtable has the file of its class's functions, the
guard of a static variable that of its function.
"""

from __future__ import annotations

import posixpath
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.elf import Image
from harness.elf.demangle import qualified
from harness.elf.dwarf.leb import GARBLED
from harness.elf.layout import LayoutPart
from harness.elf.map_file import InputSection, LinkerMap

#: Rows of bytes without a source file.
NO_DEBUG = "(no debug information)"
LITERALS = "(string literals)"
PADDING = "(padding)"


class Sources:
    """The source files of an image's parts."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._folders = self._unit_folders()
        self._paths: dict[tuple[int, int], str] = {}

    def _unit_folders(self) -> dict[int, str]:
        """The compilation folders, by the offset of the unit's line program."""
        from harness.elf.dwarf.format import At  # noqa: PLC0415 - only where DWARF is read

        folders: dict[int, str] = {}
        dwarf = self._image.variables.dwarf
        for unit in dwarf.units:
            try:
                entry = dwarf.entry(unit.first, unit)
                offset, folder = entry.number(At.STMT_LIST), entry.value(At.COMP_DIR)
            except GARBLED:
                continue
            if offset is not None and isinstance(folder, str):
                folders[offset] = folder
        return folders

    def of_address(self, address: int) -> str:
        """The file of the source line at ``address``, "" if no line program covers it."""
        table = self._image.line_table
        place = table.find(address)
        if place is None:
            return ""
        number, file, _ = place
        path = self._paths.get((number, file))
        if path is None:
            folder = self._folders.get(table.offsets[number], "")
            path = self._paths[number, file] = table.headers[number].path(file, folder)
        return path

    def of_parts(self, parts: Iterable[LayoutPart]) -> dict[int, str]:
        """The files of parts, by run-time address; parts without a file are left out."""
        paths: dict[int, str] = {}
        unlocated: list[LayoutPart] = []
        for part in parts:
            if not part.named or part.address in paths:
                continue
            code = part.kind in ("function", "label")
            path = self.of_address(part.address) if code else ""
            path = path or self._image.variables.declared_in(part.address)
            if path:
                paths[part.address] = path
            else:
                unlocated.append(part)
        named = {part.name: paths[part.address] for part in parts if part.address in paths}
        paths.update(_compiler_generated(unlocated, named))
        return paths


def _compiler_generated(
    unlocated: Iterable[LayoutPart], named: Mapping[str, str]
) -> dict[int, str]:
    """The files of vtables, type information and guards, from the functions in ``named``."""
    classes: dict[str, Counter[str]] = defaultdict(Counter)
    functions: dict[str, str] = {}
    for name, path in named.items():
        plain = qualified(name)
        functions[plain] = path
        classes[plain.rpartition("::")[0]][path] += 1
    paths: dict[int, str] = {}
    for part in unlocated:
        plain = qualified(part.name)
        for prefix in ("vtable for ", "typeinfo for ", "typeinfo name for ", "VTT for "):
            if plain.startswith(prefix) and plain.removeprefix(prefix) in classes:
                most = classes[plain.removeprefix(prefix)].most_common(1)
                paths[part.address] = most[0][0]
        if plain.startswith("guard variable for "):
            owner = plain.removeprefix("guard variable for ").rpartition("::")[0]
            owner = owner.partition("(")[0]
            if owner in functions:
                paths[part.address] = functions[owner]
    return paths


@dataclass(frozen=True)
class FileCost:
    """The bytes of one file, or of one library, by region."""

    path: str
    sizes: Mapping[str, int]

    def to_json(self) -> dict[str, object]:
        """One row of the ``files`` list."""
        return {"path": self.path, **self.sizes}


def by_file(parts: Sequence[LayoutPart], files: Mapping[int, str]) -> tuple[FileCost, ...]:
    """Sum parts by source file; every byte of every region is in one row."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for part in parts:
        if part.kind in ("padding", "gap"):
            path = PADDING
        elif part.kind == "strings":
            path = LITERALS
        else:
            path = files.get(part.address, NO_DEBUG)
        sums[path][part.region] += part.size
    return _largest_first(sums)


def objects(parts: Iterable[LayoutPart], linker_map: LinkerMap) -> dict[int, InputSection]:
    """The input sections of parts, by run-time address; parts outside of all are left out."""
    inputs = linker_map.inputs
    starts = [each.address for each in inputs]
    found = {}
    for part in parts:
        index = bisect_right(starts, part.address) - 1
        if index >= 0 and part.address < inputs[index].address + inputs[index].size:
            found[part.address] = inputs[index]
    return found


def by_library(
    parts: Sequence[LayoutPart], inputs: Mapping[int, InputSection]
) -> tuple[FileCost, ...]:
    """Sum parts by archive, or by object file outside of one; ``inputs`` are their sections."""
    sums: dict[str, Counter[str]] = defaultdict(Counter)
    for part in parts:
        source = inputs.get(part.address)
        if part.kind == "gap" or (part.kind == "padding" and source is None):
            name = PADDING
        elif source is None:
            name = "(not in the map file)"
        else:
            name = posixpath.basename(source.archive or source.file)
        sums[name][part.region] += part.size
    return _largest_first(sums)


def _largest_first(sums: Mapping[str, Counter[str]]) -> tuple[FileCost, ...]:
    costs = (FileCost(path, dict(sizes)) for path, sizes in sums.items())
    return tuple(sorted(costs, key=lambda cost: (-sum(cost.sizes.values()), cost.path)))
