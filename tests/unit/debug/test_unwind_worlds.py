"""Call stacks across both security states, compared with the source of both images."""

from __future__ import annotations

import re

import pytest
from two_worlds import machine_for

from harness.debug.report import StateReporter
from harness.debug.unwind import Unwinder
from harness.elf import Image
from harness.simulator import End, Machine
from harness.targets.simulator import SimulatorSession

LONG_ENOUGH = 64_000_000 // 20
SECURE_RAM = 0x2000_0100
#: What starts the non-secure image; its own Reset branches to Main.
START = ["secure:__gnu_cmse_nonsecure_call", "secure:Reset"]
BOTTOM = ["nonsecure:Main", *START]
CALLED_BACK = ["secure:__gnu_cmse_nonsecure_call", "secure:CallBack", *BOTTOM]
#: Below Pend, whose assembly pushes registers that no table knows of.
REST = "..."
HANDLER = ["nonsecure:Note", "nonsecure:NonSecureIrq", "nonsecure:Interrupt"]


def stack(image: Image, machine: Machine, *, fault: bool = False) -> list[str]:
    """``IMAGE:FUNCTION``, innermost first; ``!`` before those that an exception interrupted."""
    state = machine.faults[0].state if fault else machine.core_state()
    assert state is not None
    shown = []
    for frame in Unwinder(image).walk(state):
        name = frame.location.function.removeprefix("__acle_se_")
        mark = "!" if frame.exception else ""
        shown.append(f"{mark}{frame.location.image or image.name}:{name}")
    return shown


def stopped(image: Image, scenario: str, where: str) -> Machine:
    """The machine at the first call of a function."""
    machine = machine_for(image, scenario)
    machine.hook(where, lambda _: True)
    assert machine.run(until_tick=LONG_ENOUGH) is End.CONDITION
    return machine


@pytest.mark.parametrize(
    ("scenario", "where", "wanted"),
    [
        ("CALLS", "secure:Add", ["secure:Add", "nonsecure:Calls", *BOTTOM]),
        ("CALLBACK", "Twice", ["nonsecure:Twice", *CALLED_BACK]),
        ("CALLBACK", "secure:Count", ["secure:Count", "nonsecure:Twice", *CALLED_BACK]),
        ("FLOATS_IN", "LooksAtFloats", [
            "nonsecure:LooksAtFloats", "secure:__gnu_cmse_nonsecure_call",
            "secure:CallBackWithFloats", *BOTTOM,
        ]),
        ("FLOATS_PREEMPTED", "NonSecureIrq", [*HANDLER, "!secure:PendWithFloats", *BOTTOM]),
        ("NESTED", "secure:SecureIrq", [
            "secure:Note", "secure:SecureIrq", "secure:SecureInterrupt", "!secure:Pend",
            *HANDLER[1:], REST,
        ]),
    ],
)  # fmt: skip
def test_a_stack_goes_through_both_worlds(
    two_worlds: Image,
    scenario: str,
    where: str,
    wanted: list[str],
) -> None:
    machine = stopped(two_worlds, scenario, where)
    found = stack(two_worlds, machine)
    assert (found if wanted[-1] != REST else [*found[: len(wanted) - 1], REST]) == wanted


def test_a_fault_below_a_call_back_names_its_caller_in_the_other_world(two_worlds: Image) -> None:
    machine = machine_for(two_worlds, "FAULT_BELOW_CALLBACK", SECURE_RAM)
    machine.run(until_tick=LONG_ENOUGH)
    assert stack(two_worlds, machine, fault=True) == ["nonsecure:Reads", *CALLED_BACK]
    session = SimulatorSession(machine)
    told = str(StateReporter(two_worlds, session.power_on).fault(session.faults[0]))
    assert re.search(
        r"SecureFault \(AUVIOL, SFARVALID\) in the non-secure image nonsecure, "
        r"Reads at nonsecure\.c:\d+, called from __acle_se_CallBack at secure\.c:\d+ in secure: "
        r"read of secure RAM", told,
    ), told  # fmt: skip
