"""The comparison of two footprints: regions, files, operators and symbols that changed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from harness.base import files
from harness.base.errors import UsageError
from harness.elf import Image
from harness.elf.map_file import LinkerMap, is_map
from harness.elf.regions import RAM
from harness.footprint.analysis import analyse, of_map

Document = Mapping[str, Any]

#: The bound on the difference of reachability and measurement, in bytes an operator: the call that
#: registers it, inlined into the application (120 to 130 B at -Os), and alignment.
_BOUND_BYTES = 160
#: The same as a share of the measured bytes, for changes of inlining.
_BOUND_SHARE = 0.03


@dataclass(frozen=True)
class Change:
    """A name whose bytes differ; ``before`` or ``after`` is 0 if it appeared or vanished."""

    name: str
    region: str
    before: int
    after: int

    @property
    def difference(self) -> int:
        """The change in bytes."""
        return self.after - self.before

    @property
    def verb(self) -> str:
        """The kind of the change: ``appeared``, ``vanished``, ``grew`` or ``shrank``."""
        if not self.before:
            return "appeared"
        if not self.after:
            return "vanished"
        return "grew" if self.difference > 0 else "shrank"

    def to_json(self) -> dict[str, Any]:
        """One row of a comparison."""
        return {**asdict(self), "difference": self.difference, "verb": self.verb}


@dataclass(frozen=True)
class MovedSymbol:
    """A symbol of the same size that is now in another region, section or source file."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class Swap:
    """Operators that one of two images has in addition to all of the other's.

    ``reached`` is their cost by reachability in the image that has them, ``measured`` the
    difference of the images' flash.
    """

    operators: tuple[str, ...]
    verb: str  # "appeared" or "vanished"
    reached: int
    measured: int

    @property
    def agrees(self) -> bool:
        """True if both figures agree within the bound."""
        bound = _BOUND_BYTES * len(self.operators) + _BOUND_SHARE * abs(self.measured)
        return abs(self.measured - self.reached) <= bound

    def to_json(self) -> dict[str, Any]:
        """The ``swap`` part of a comparison."""
        return {**asdict(self), "agrees": self.agrees}


@dataclass(frozen=True)
class SizeComparison:
    """Changes from ``baseline`` to this image, the largest first."""

    baseline: str
    regions: tuple[Change, ...]
    files: tuple[Change, ...]
    operators: tuple[Change, ...]
    symbols: tuple[Change, ...]
    moves: tuple[MovedSymbol, ...]
    swap: Swap | None = None

    @property
    def same(self) -> bool:
        """True if no size changed and nothing moved."""
        changed = any(change.difference for change in self.regions)
        return not (changed or self.files or self.operators or self.symbols or self.moves)

    def to_json(self) -> dict[str, Any]:
        """The ``comparison`` part of ``footprint --baseline --json``."""
        return {
            "baseline": self.baseline,
            "regions": [change.to_json() for change in self.regions],
            "files": [change.to_json() for change in self.files],
            "operators": [change.to_json() for change in self.operators],
            "symbols": [change.to_json() for change in self.symbols],
            "moves": [asdict(move) for move in self.moves],
            "swap": self.swap.to_json() if self.swap else None,
        }


def load_baseline(path: Path) -> Document:
    """A footprint document: of an ELF or a map file, or from a file of ``footprint --json``.

    Raises UsageError if the file is none of these.
    """
    if is_map(path):
        return of_map(LinkerMap.read(path)).to_json()
    data = files.read(path)
    if data[:4] == b"\x7fELF":
        return analyse(Image.from_elf(path)).to_json()
    hint = "pass an ELF, or a file of `tflm-hil footprint ELF --json FILE`"
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is neither an ELF nor JSON: {error}", hint=hint) from error
    if not isinstance(content, dict) or not isinstance(content.get("regions"), list):
        raise UsageError(f"{path} is not a footprint document: it has no regions", hint=hint)
    document: Document = content
    try:
        compare(document, document)  # raises if a field is missing or of another type
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise UsageError(f"{path} is not a footprint document: {error!r}", hint=hint) from error
    return document


def compare(baseline: Document, current: Document) -> SizeComparison:
    """The changes from one footprint document to another.

    Files are matched by their name and last folders, so that checkouts may be in different places.
    Raises UsageError for a map file's and an ELF's, whose files and symbols differ in kind.
    """
    if baseline.get("source") != current.get("source"):
        raise UsageError(
            "the footprint of a map file cannot be compared with that of an ELF",
            hint="compare two ELFs, or two map files",
        )
    baseline = _with_paths_of(baseline, current)
    ambiguous = _in_several_files(baseline, current)
    return SizeComparison(
        str(baseline.get("elf", "")),
        tuple(_all_regions(baseline, current)),
        _changes(_files(baseline), _files(current)),
        _changes(_operators(baseline), _operators(current)),
        _changes(_symbols(baseline, ambiguous), _symbols(current, ambiguous)),
        tuple(_moves(baseline, current)),
        _swap(baseline, current),
    )


def _with_paths_of(baseline: Document, current: Document) -> Document:
    """``baseline`` with the paths of the same files in ``current``."""
    before, after = (
        {row["path"] for row in document.get("files", ())} for document in (baseline, current)
    )
    moved: dict[str, str] = {}
    for parts in (3, 2, 1):  # two folders and the name, ..., the name alone
        old = _by_ending(before - after - moved.keys(), parts)
        new = _by_ending(after - before - set(moved.values()), parts)
        moved |= {old[ending]: new[ending] for ending in old.keys() & new.keys()}
    if not moved:
        return baseline
    return {
        **baseline,
        "files": [
            {**row, "path": moved.get(row["path"], row["path"])} for row in baseline["files"]
        ],
        "symbols": [
            {**row, "file": moved.get(row["file"], row["file"])}
            for row in baseline.get("symbols", ())
        ],
    }


def _by_ending(files: Iterable[str], parts: int) -> dict[tuple[str, ...], str]:
    """Paths by their last ``parts``, without those that several paths share."""
    by_ending: dict[tuple[str, ...], list[str]] = {}
    for path in files:
        by_ending.setdefault(PurePosixPath(path).parts[-parts:], []).append(path)
    return {ending: same[0] for ending, same in by_ending.items() if len(same) == 1}


def _swap(baseline: Document, current: Document) -> Swap | None:
    before, after = (
        {row["operator"] for row in document.get("operators", ())}
        for document in (baseline, current)
    )
    if before == after or not (before <= after or after <= before):
        return None
    larger, smaller = (current, baseline) if before < after else (baseline, current)
    names = after ^ before
    return Swap(
        tuple(sorted(names)), "appeared" if before < after else "vanished",
        _reached(larger, names), _flash(larger) - _flash(smaller),
    )  # fmt: skip


def _reached(document: Document, names: set[str]) -> int:
    """Bytes that only the operators ``names`` reach, each shared byte once."""
    rows = [row for row in document["operators"] if row["operator"] in names]
    groups = {
        tuple(share["operators"]): int(share["bytes"])
        for row in rows
        for share in row.get("shared_with", ())
    }
    shared = sum(size for operators, size in groups.items() if names.issuperset(operators))
    return sum(int(row["exclusive"]) for row in rows) + shared


def _flash(document: Document) -> int:
    return sum(int(row["used"]) for row in document["regions"] if row.get("origin", 0) not in RAM)


def _all_regions(baseline: Document, current: Document) -> Iterable[Change]:
    before = {row["name"]: row["used"] for row in baseline["regions"]}
    after = {row["name"]: row["used"] for row in current["regions"]}
    for name in {**after, **before}:
        yield Change(name, name, int(before.get(name, 0)), int(after.get(name, 0)))


def _files(document: Document) -> dict[tuple[str, str], int]:
    return {
        (row["path"], region): int(size)
        for row in document.get("files", ())
        for region, size in row.items()
        if region != "path"
    }


def _operators(document: Document) -> dict[tuple[str, str], int]:
    return {(row["operator"], "exclusive"): int(row["exclusive"])
            for row in document.get("operators", ())}  # fmt: skip


def _symbols(document: Document, ambiguous: frozenset[str]) -> dict[tuple[str, str], int]:
    """Bytes by symbol and region; ``ambiguous`` names are followed by their file."""
    sizes: dict[tuple[str, str], int] = {}
    for row in document.get("symbols", ()):
        name = row["name"]
        if name in ambiguous and row["file"]:
            name = f"{name} ({PurePosixPath(row['file']).name})"
        key = name, row["region"]
        sizes[key] = sizes.get(key, 0) + int(row["size"])
    return sizes


def _in_several_files(*documents: Document) -> frozenset[str]:
    """Symbols' names that several files use: each kernel of TFLM may have a ``Prepare``."""
    files: dict[str, set[str]] = {}
    for document in documents:
        for row in document.get("symbols", ()):
            if row["file"]:
                files.setdefault(row["name"], set()).add(PurePosixPath(row["file"]).name)
    return frozenset(name for name, paths in files.items() if len(paths) > 1)


def _changes(
    before: Mapping[tuple[str, str], int], after: Mapping[tuple[str, str], int]
) -> tuple[Change, ...]:
    changes = [
        Change(*key, before.get(key, 0), after.get(key, 0))
        for key in {**before, **after}
        if before.get(key, 0) != after.get(key, 0)
    ]
    return tuple(sorted(changes, key=lambda c: (-abs(c.difference), c.name, c.region)))


def _moves(baseline: Document, current: Document) -> Iterable[MovedSymbol]:
    """Symbols of unchanged size whose region, section or file changed."""
    before, after = _places(baseline), _places(current)
    for name in sorted(before.keys() & after.keys()):
        (old_size, old), (new_size, new) = before[name], after[name]
        if old_size == new_size and old != new:
            yield MovedSymbol(name, old, new)


def _places(document: Document) -> dict[str, tuple[int, str]]:
    """Size and place (region, section, file) of functions and objects with a unique name."""
    places: dict[str, tuple[int, str]] = {}
    ambiguous: set[str] = set()
    for row in document.get("symbols", ()):
        if row.get("copy") or row["kind"] not in ("function", "object"):
            continue
        name = row["name"]
        if name in places:
            ambiguous.add(name)
        places[name] = int(row["size"]), f"{row['region']} {row['section']} {row['file']}".rstrip()
    return {name: place for name, place in places.items() if name not in ambiguous}
