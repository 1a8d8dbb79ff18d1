"""Figures of one run: sizes from the ELF, ticks, arena and stack from the records."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from statistics import median

from harness import targets
from harness.case.result import OperatorTicks, Size
from harness.elf import Firmware
from harness.errors import HilError
from harness.footprint import regions
from harness.uart import Console


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
    operators: tuple[OperatorTicks, ...] = ()  # most ticks first


def size_of(firmware: Firmware) -> Size | None:
    """FLASH and RAM as the linker reports them; None where the ELF does not tell."""
    try:
        found = {region.name: region for region in regions(firmware)}
    except HilError:
        return None
    if not {"FLASH", "RAM"} <= found.keys():
        return None
    flash, ram = found["FLASH"], found["RAM"]
    return Size(flash.used, ram.used, flash.size, ram.size)


def measure(firmware: Firmware, console: Console, target: str) -> Measures:
    """Collect the figures of a run on ``target``."""
    known = [ticks for ticks in console.records.numbers("inference", "ticks") if ticks]
    typical = int(median(known)) if known else None
    sources = set(map(str, console.records.texts("inference", "source")))
    stacks = console.records.numbers("stack", "used")
    arena = console.of_kind("arena")[-1:]
    counts = targets.target(target).instructions
    return Measures(
        size_of(firmware),
        arena[0].integer("declared") if arena else None,
        arena[0].integer("used") if arena else None,
        max(stacks, default=None),
        typical if counts else None,
        None if counts else typical,
        ",".join(sorted(sources)),
        operator_ticks(console),
    )


def operator_ticks(console: Console) -> tuple[OperatorTicks, ...]:
    """The ticks of each operator in one inference, by the ``op`` records; most first.

    Nodes of one operator are added up; of several inferences the median counts.
    """
    inferences: defaultdict[int, Counter[str]] = defaultdict(Counter)
    records = console.records
    rows = zip(
        records.numbers("op", "inference"), records.texts("op", "operator"),
        records.numbers("op", "ticks"), strict=True,
    )  # fmt: skip
    for inference, operator, ticks in rows:
        inferences[inference][str(operator)] += ticks
    names = {name for one in inferences.values() for name in one}
    found = [
        OperatorTicks(name, int(median(one[name] for one in inferences.values() if name in one)))
        for name in names
    ]
    return tuple(sorted(found, key=lambda one: (-one.ticks, one.operator)))
