"""System OFF (nRF9160 PS, "System OFF mode"): nothing runs until a pin or a reset."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.base.expected import Expected
from harness.case import Case, run_case
from harness.case.result import Verdict
from harness.elf import Image
from harness.simulator import End, Machine
from harness.simulator.peripherals.gpio import Gpio

BUTTON = 6
OFF = 1 << 2  # RESETREAS


@pytest.fixture
def machine(build: Callable[[str], Image]) -> Machine:
    return Machine(build("system_off"))


def test_a_chip_that_is_off_stays_off(machine: Machine) -> None:
    assert machine.run(until_tick=10_000_000) is End.SYSTEM_OFF
    executed = machine.core.executed
    assert machine.run(until_tick=20_000_000) is End.SYSTEM_OFF
    assert machine.core.executed == executed
    assert machine.console.since(0) == b"up\n"


def test_a_pin_at_its_sense_level_resets_a_chip_that_is_off(machine: Machine) -> None:
    machine.run(until_tick=10_000_000)
    port = machine.devices["P0"]
    assert isinstance(port, Gpio)
    port.drive(BUTTON, False)
    assert machine.run(pattern=b"woken\n", until_tick=10_000_000) is End.CONDITION
    assert machine.read_memory(machine.firmware.symbol("results").address, 4)[0] == OFF
    port.drive(BUTTON, None)


def test_a_reset_ends_it(machine: Machine) -> None:
    machine.run(until_tick=10_000_000)
    machine.reset()
    assert machine.run(until_tick=10_000_000) is End.SYSTEM_OFF
    assert machine.console.since(0) == b"up\nup\n"


@pytest.fixture
def case(build: Callable[[str], Image]) -> Case:
    return Case("off", build("system_off").path, scraper="/^(?P<said>up|woken)$/",
                expect=Expected(values=({"said": "up"},)), reference="none")  # fmt: skip


def test_it_ends_a_run_as_sleep_does(case: Case, tmp_path: Path) -> None:
    assert run_case(case, tmp_path).verdict is Verdict.PASS
    more = replace(case, expect=Expected(values=({"said": "up"}, {"said": "woken"})))
    result = run_case(more, tmp_path)
    assert result.verdict is Verdict.FIRMWARE
    assert "it switched the chip off (System OFF)" in result.reason


def test_a_press_wakes_the_image_of_a_case(case: Case, tmp_path: Path) -> None:
    both = ({"said": "up"}, {"said": "woken"})
    expect = Expected(True, (("rebooted", ""),), both)  # that is how a pin wakes it
    woken = replace(case, press=("button1@0.5",), expect=expect, end="system_off")
    result = run_case(woken, tmp_path)
    assert result.verdict is Verdict.PASS, result.reason


def test_a_case_may_demand_it(case: Case, tmp_path: Path, build: Callable[[str], Image]) -> None:
    assert run_case(replace(case, end="system_off"), tmp_path).verdict is Verdict.PASS
    awake = Case("awake", build("supply").path, scraper="/^(?P<said>ready)$/",
                 expect=Expected(values=({"said": "ready"},)), reference="none",
                 end="system_off")  # fmt: skip
    result = run_case(awake, tmp_path)
    assert result.verdict is Verdict.FAIL
    assert "the image should switch the chip off, but it sleeps" in result.reason
