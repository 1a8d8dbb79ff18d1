"""Figures of one run: sizes from the ELF, ticks, arena and stack from the records."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from statistics import median

from harness import targets
from harness.build.builders import RUNTIME
from harness.case.evidence.known import HZ
from harness.case.result import ImageSize, Measures, OperatorTicks, Profiled, Size
from harness.elf import Firmware
from harness.elf.coverage import Coverage
from harness.elf.trustzone import side
from harness.errors import HilError
from harness.footprint import operators, regions
from harness.model import Model
from harness.uart import Console

#: Functions of CMSIS-NN end in the type that they compute.
_CMSIS_NN = re.compile(r"arm_\w+_s(?:4|8|16)(?:_\w+)?$")


def size_of(firmware: Firmware) -> Size | None:
    """FLASH and RAM as the linker reports them; None where the image does not tell.

    A HEX file knows nothing of RAM.
    """
    try:
        found = {region.name: region for region in regions(firmware)}
    except HilError:
        return None
    if not {"FLASH", "RAM"} <= found.keys():
        return None
    flash, ram = found["FLASH"], found["RAM"]
    return Size(flash.used, ram.used, flash.size, ram.size)


def image_sizes(firmware: Firmware) -> tuple[ImageSize, ...]:
    """What each of several images takes, the one that is looked at first; () where it is alone."""
    if not firmware.beside:
        return ()
    sizes = ((image, size_of(image)) for image in (firmware, *firmware.beside))
    return tuple(
        ImageSize(image.name, side(image), size.flash, size.ram) for image, size in sizes if size
    )


def measure(
    firmware: Firmware,
    console: Console,
    target: str,
    model: Model | None = None,
    builder: str = "prebuilt",
) -> Measures:
    """Collect the figures of a run on ``target``."""
    known = [ticks for ticks in console.records.numbers("inference", "ticks") if ticks]
    typical = int(median(known)) if known else None
    sources = set(map(str, console.records.texts("inference", "source")))
    stacks = console.records.numbers("stack", "used")
    arenas = console.of_kind("arena")
    counts = targets.target(target).instructions
    instructions, cycles = (typical, None) if counts else (None, typical)
    return Measures(
        size=size_of(firmware),
        images=image_sizes(firmware),
        arena_declared=arenas[-1].integer("declared") if arenas else None,
        arena_used=arenas[-1].integer("used") if arenas else None,
        stack_used=max(stacks, default=None),
        instructions=instructions,
        cycles=cycles,
        ticks_source=",".join(sorted(sources)),
        operators=operator_ticks(console, library_of(firmware, builder), model),
        time=time_of(instructions, cycles),
    )


def profiled(firmware: Firmware, coverage: Coverage | None) -> tuple[Profiled, ...]:
    """Instructions by operator, of an image that was traced and registers operators."""
    if coverage is None or not firmware.registrations:
        return ()
    found = operators.instructions(firmware, coverage.starts)
    return tuple(Profiled(name, count) for name, count in found.items())


def time_of(instructions: int | None, cycles: int | None) -> str:
    """What ticks of one inference say of its time; "" where there are none."""
    if cycles is not None:
        return f"{cycles / HZ * 1000:,.4g} ms (DWT cycles at 64 MHz)"
    if instructions is not None:
        least = f"{instructions / HZ * 1000:,.4g} ms"
        return f"at least {least} (one cycle an instruction at 64 MHz)"
    return ""


def library_of(firmware: Firmware, builder: str) -> str:
    """Whose kernels an image has: this project's own, CMSIS-NN's, or TFLM's reference."""
    if RUNTIME.get(builder) == "standalone":
        return "standalone"
    names = (symbol.name for symbol in firmware.symbols if symbol.kind == "func")
    return "cmsis-nn" if any(map(_CMSIS_NN.match, names)) else "reference"


def operator_ticks(
    console: Console, library: str = "", model: Model | None = None
) -> tuple[OperatorTicks, ...]:
    """The ticks of each operator in one inference, by the ``op`` records; most first.

    Nodes of one operator and type are added up; of several inferences the median counts. Types
    are those of the first outputs in ``model``.
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
    names = {name for one in inferences.values() for name in one}
    found = [
        OperatorTicks(
            key[0], int(median(one[key] for one in inferences.values() if key in one)), key[1]
        )
        for key in names
    ]
    return tuple(sorted(found, key=lambda one: (-one.ticks, one.operator, one.kernel)))


def _type(model: Model | None, node: int) -> str:
    if model is None or node >= len(model.operators) or not model.operators[node].outputs:
        return ""
    return str(model.tensors[model.operators[node].outputs[0]].dtype)
