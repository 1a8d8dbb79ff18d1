"""Figures of one run: sizes from the ELF; ticks, arena and stack from records and target."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from harness import targets
from harness.base.errors import HilError
from harness.base.platforms import ChipTable
from harness.build.builders import RUNTIME
from harness.case.case import Case
from harness.case.evidence import Measured
from harness.case.evidence.closing import stack_fits
from harness.case.evidence.inferences import ticks_fit
from harness.case.observation import Observation
from harness.case.result import ImageSize, Measures, OperatorTicks, Profiled, Size
from harness.elf import Image
from harness.elf.trustzone import side
from harness.footprint import regions
from harness.model import Model
from harness.uart import Console

if TYPE_CHECKING:
    from harness.elf.coverage import Coverage

#: Factor on the ticks that fit into a run's time: a board's crystal is not exact, and a
#: simulator's clock advances in steps.
_CLOCK_TOLERANCE = 1.01
#: A function of CMSIS-NN: its name has the type that it computes.
_CMSIS_NN = re.compile(r"arm_\w+_s(?:4|8|16)(?:_\w+)?$")


def size_of(firmware: Image) -> Size | None:
    """FLASH and RAM as the linker reports them; None for an image without regions (HEX)."""
    try:
        by_name = {region.name: region for region in regions(firmware)}
    except HilError:
        return None
    if not {"FLASH", "RAM"} <= by_name.keys():
        return None
    flash, ram = by_name["FLASH"], by_name["RAM"]
    return Size(flash.used, ram.used, flash.size, ram.size)


def image_sizes(firmware: Image) -> tuple[ImageSize, ...]:
    """The size of each of several images, ``firmware`` first; () for a single one."""
    if not firmware.beside:
        return ()
    sizes = ((image, size_of(image)) for image in (firmware, *firmware.beside))
    return tuple(
        ImageSize(image.name, side(image), size.flash, size.ram) for image, size in sizes if size
    )


#: Name of the group of instructions that run outside operators.
NO_OPERATOR = "the rest of the image"


def measure(case: Case, firmware: Image, model: Model | None, seen: Observation) -> Measures:
    """Collect the figures of a run.

    The target's measurement replaces the image's figure where that contradicts it or is missing.
    """
    console, counted, target = seen.console, seen.measured, case.target
    ticks = [count for count in _ticks(console, counted.invoked) if count]
    sources = set(map(str, console.records.texts("inference", "source")))
    if not console.of_kind("inference") and counted.invoked:
        ticks, sources = list(counted.invoked), {target}
    typical = int(np.median(ticks)) if ticks else None
    stack = max(console.records.numbers("stack", "used"), default=None)
    if stack is None or (counted.stack_used and not stack_fits(stack, counted.stack_used)):
        stack = counted.stack_used
    arenas = console.of_kind("arena")
    counts = targets.target(target).instructions
    instructions, cycles = (typical, None) if counts else (None, typical)
    return Measures(
        size=size_of(firmware),
        images=image_sizes(firmware),
        arena_declared=arenas[-1].integer("declared") if arenas else counted.arena_declared,
        arena_used=_arena_used(console, counted),
        stack_used=stack,
        instructions=instructions,
        cycles=cycles,
        ticks_source=",".join(sorted(sources)),
        operators=operator_ticks(console, library_of(firmware, case.builder), model),
        interpreter_ticks=interpreter_ticks(console),
        time=time_of(instructions, cycles, firmware.chip),
        total_instructions=seen.counters.instructions,
        virtual_seconds=seen.counters.virtual_seconds,
    )


def _arena_used(console: Console, counted: Measured) -> int | None:
    """The used bytes: the allocator's, else the larger of the image's and the target's."""
    arenas = console.of_kind("arena")
    if counted.arena_given is not None or not arenas:
        return counted.arena_given
    return max(arenas[-1].integer("used"), counted.arena_least or 0)


def _ticks(console: Console, counted: Sequence[int] | None) -> Sequence[int]:
    """The ticks of each inference: the image's, or the counted ones if they contradict."""
    claimed = console.records.numbers("inference", "ticks")
    if counted is None or len(counted) != len(claimed):
        return claimed
    pairs = zip(claimed, counted, strict=True)
    return [image if ticks_fit(image, target) else target for image, target in pairs]


def profiled(firmware: Image, coverage: Coverage | None) -> tuple[Profiled, ...]:
    """The instructions of each operator: of its functions and of all that they call.

    () for an image that was not traced or registers no operators, and on a target that records no
    calls.

    The calls of a function that several operators register count for all of them where the operator
    of a call is not known.
    """
    if coverage is None or coverage.calls is None or not firmware.registrations:
        return ()
    owned = firmware.operator_functions.items()
    names = {address: ", ".join(operators) for address, operators in owned}
    groups = coverage.calls.groups(names, NO_OPERATOR)
    return tuple(Profiled(name, count) for name, count in groups.items())


def time_of(instructions: int | None, cycles: int | None, chip: ChipTable) -> str:
    """Describe the time of one inference on ``chip``; "" if neither count is known."""
    ticks = instructions if cycles is None else cycles
    if ticks is None:
        return ""
    hz = chip.cpu_hz
    time, clock = f"{ticks / hz * 1000:,.4g} ms", f"at {hz / 1e6:g} MHz"
    if cycles is not None:
        return f"{time} (DWT cycles {clock})"
    return f"at least {time} (one cycle an instruction {clock})"


def library_of(firmware: Image, builder: str) -> str:
    """The library of an image's kernels: "standalone", "cmsis-nn" or "reference"."""
    if RUNTIME.get(builder) == "standalone":
        return "standalone"
    names = (symbol.name for symbol in firmware.symbols if symbol.kind == "func")
    return "cmsis-nn" if any(map(_CMSIS_NN.match, names)) else "reference"


def operator_ticks(
    console: Console, library: str = "", model: Model | None = None
) -> tuple[OperatorTicks, ...]:
    """The ticks of each operator in one inference, from the ``op`` records; most first.

    Ticks are summed over the nodes of one operator and type; the median over inferences is taken of
    the sums. A node's type is that of its first output in ``model``.
    """
    inferences: defaultdict[int, Counter[tuple[str, str]]] = defaultdict(Counter)
    records = console.records
    rows = zip(
        records.numbers("op", "inference"), records.numbers("op", "node"),
        records.texts("op", "operator"), records.numbers("op", "ticks"), strict=True,
    )  # fmt: skip
    for inference, node, operator, ticks in rows:
        kernel = f"{library} {_type(model, node)}".strip()
        inferences[inference][str(operator), kernel] += ticks
    profile = []
    for key in {key for counts in inferences.values() for key in counts}:
        median = np.median([counts[key] for counts in inferences.values() if key in counts])
        operator, kernel = key
        profile.append(OperatorTicks(operator, int(median), kernel))
    return tuple(sorted(profile, key=lambda row: (-row.ticks, row.operator, row.kernel)))


def interpreter_ticks(console: Console) -> int | None:
    """The ticks of an inference outside its operators; None for an image without ``op`` records.

    The median over inferences of the differences. A difference of medians would have the noise of
    all operators, which is larger than these few ticks.
    """
    records = console.records
    operators: Counter[int] = Counter()
    for inference, ticks in zip(
        records.numbers("op", "inference"), records.numbers("op", "ticks"), strict=True
    ):
        operators[inference] += ticks
    inferences = zip(
        records.numbers("inference", "index"), records.numbers("inference", "ticks"), strict=True
    )
    rests = [ticks - operators[index] for index, ticks in inferences if index in operators]
    return int(np.median(rests)) if rests else None


def _type(model: Model | None, node: int) -> str:
    if model is None or node >= len(model.operators) or not model.operators[node].outputs:
        return ""
    return str(model.tensors[model.operators[node].outputs[0]].dtype)


def with_bounds(seen: Observation, hertz: int) -> Measured:
    """The measurements of a run, with what its time allows; ``hertz`` is the core's clock.

    The run's ticks are at most its instructions, or its time at the core's clock.
    """
    counters, measured = seen.counters, replace(seen.measured, sent=seen.sent)
    if counters.source == "simulator":
        # Without virtual time (the virtual board) records have the wall clock's times, which the
        # simulated core may outrun.
        bound = None if counters.virtual_seconds is None else hertz
        return replace(measured, ticks=counters.instructions, hertz=bound)
    seconds = (
        counters.wall_seconds if counters.virtual_seconds is None else counters.virtual_seconds
    )
    return replace(measured, ticks=int(seconds * hertz * _CLOCK_TOLERANCE))
