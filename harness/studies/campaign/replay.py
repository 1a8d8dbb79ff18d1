"""The replay of one fault: its effect layer by layer, and the console of the image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import ne
from typing import Any

from harness.elf.functions import address_of
from harness.model import Model
from harness.simulator import Machine
from harness.studies.campaign.baseline import GET_TENSOR, FaultSite
from harness.studies.campaign.faults import RESET, InjectedFault
from harness.studies.campaign.inject import Injector, Result

#: Virtual seconds after the inference for further output, such as a fault dump or a new boot.
_AFTERMATH = 1.0
#: Places in a trace.
_MOST_PLACES = 16


@dataclass(frozen=True)
class Replay:
    """A result, with the image's console and the code that ran last."""

    result: Result
    console: bytes
    diverges: str  # the first operator whose output differs; "" if none does
    differing: int  # number of differing bytes in that output
    trace: tuple[str, ...]  # the last blocks of code before the outcome, oldest first
    report: str  # of the processor's fault, if there was one

    def to_json(self) -> dict[str, Any]:
        """The document of ``campaign --replay --json``."""
        return {
            **self.result.to_json(),
            "console": self.console.decode("utf-8", "backslashreplace"),
            "diverges": self.diverges,
            "differing_bytes": self.differing,
            "trace": list(self.trace),
            "report": self.report,
        }


def replay(injector: Injector, model: Model, fault: InjectedFault) -> Replay:
    """Inject ``fault`` again and record its effect."""
    diverges, differing = "", 0
    if fault.model != RESET:  # a boot computes all layers again
        healthy = _layers(injector, model, None)
        diverges, differing = _first_difference(healthy, _layers(injector, model, fault))
    machine = injector.machine
    replays: list[Replay] = []

    def record(result: Result) -> None:
        trace = _trace(machine)
        report = machine.fault_report(machine.faults[0]) if machine.faults else ""
        injector.run_on(_AFTERMATH)
        console = b"".join(chunk.data for chunk in machine.console)
        replays.append(Replay(result, console, diverges, differing, trace, report))

    injector.run(fault, record)
    return replays[0]


def _trace(machine: Machine) -> tuple[str, ...]:
    places = (str(machine.firmware.locate(block)) for block in machine.core.recent_blocks())
    return tuple([place for place, _ in groupby(places)][-_MOST_PLACES:])


def _first_difference(healthy: Mapping[str, bytes], faulty: Mapping[str, bytes]) -> tuple[str, int]:
    for name, data in healthy.items():
        got = faulty.get(name)
        if got is None:
            return f"{name} (not reached)", 0
        if got != data:
            return name, sum(map(ne, data, got))
    return "", 0


def _layers(injector: Injector, model: Model, fault: InjectedFault | None) -> dict[str, bytes]:
    """The outputs of each operator, read when the next operator requests its own."""
    machine, baseline = injector.machine, injector.baseline
    sites: dict[int, FaultSite] = {site.tensor: site for site in baseline.activations}
    layers: dict[str, bytes] = {}

    def keep(operator: int) -> None:
        parts = [
            machine.read_memory(sites[index].address, sites[index].size)
            for index in model.operators[operator].outputs
            if index in sites
        ]
        if parts:
            layers[baseline.operators[operator]] = b"".join(parts)

    current = 0

    def requested(machine: Machine) -> None:
        nonlocal current
        if current >= len(model.operators):
            return
        if machine.registers["r1"] in model.operators[current].outputs:
            if current:
                keep(current - 1)
            current += 1

    address = address_of(machine.firmware, GET_TENSOR)
    machine.hook(address, requested)
    try:
        ended = injector.watch(fault)
    finally:
        machine.unhook(address)
    if ended and current == len(model.operators):
        outputs = (machine.read_memory(out.address, out.size) for out in baseline.outputs)
        layers[baseline.operators[-1]] = b"".join(outputs)
    return layers
