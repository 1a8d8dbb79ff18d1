"""Figures of one run: sizes from the ELF, ticks, arena and stack from the records."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from harness import targets
from harness.case.result import Size
from harness.elf import Firmware
from harness.errors import HilError
from harness.footprint import regions
from harness.uart import Console, Record


@dataclass(frozen=True)
class Measures:
    """What was measured; None where the image or the target does not tell."""

    size: Size | None = None
    arena_declared: int | None = None
    arena_used: int | None = None
    stack_used: int | None = None
    instructions: int | None = None  # median per inference
    cycles: int | None = None  # the same on a board
    ticks_source: str = ""


def size_of(firmware: Firmware) -> Size | None:
    """FLASH and RAM as the linker reports them; None where the ELF does not tell."""
    try:
        used = {region.name: region.used for region in regions(firmware)}
    except HilError:
        return None
    return Size(used["FLASH"], used["RAM"]) if {"FLASH", "RAM"} <= used.keys() else None


def measure(firmware: Firmware, console: Console, target: str) -> Measures:
    """Collect the figures of a run on ``target``."""
    ticks = [_number(record, "ticks") for record in console.of_kind("inference")]
    known = [value for value in ticks if value]
    typical = int(median(known)) if known else None
    sources = {record.fields.get("source", "") for record in console.of_kind("inference")}
    stacks = [_number(record, "used") for record in console.of_kind("stack")]
    arena = console.of_kind("arena")[-1:]
    counts = targets.target(target).instructions
    return Measures(
        size_of(firmware),
        _number(arena[0], "declared") if arena else None,
        _number(arena[0], "used") if arena else None,
        max((used for used in stacks if used is not None), default=None),
        typical if counts else None,
        None if counts else typical,
        ",".join(sorted(sources)),
    )


def _number(record: Record, name: str) -> int | None:
    try:
        return record.integer(name)
    except ValueError:
        return None
