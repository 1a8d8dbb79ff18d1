"""DPPI: an event on a channel triggers the tasks that are subscribed to it, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from harness.elf import Firmware
from harness.simulator.machine import Machine

EN = 1 << 31
TRIGGER, TRIGGERED, SUBSCRIBE, PUBLISH = 0x000, 0x100, 0x080, 0x180
CHENSET, CHENCLR = 0x504, 0x508


@pytest.fixture
def machine(build: Callable[[str], Firmware]) -> Iterator[Machine]:
    """EGU0's first event is published on channel 3, which is on."""
    opened = Machine(build("exceptions"))
    opened.devices["DPPIC"].write(CHENSET, 1 << 3)
    opened.devices["EGU0"].write(PUBLISH, EN | 3)
    yield opened
    opened.close()


def triggered(machine: Machine, subscription: int) -> bool:
    """Whether EGU1's first task runs when EGU0's first event happens."""
    machine.devices["EGU1"].write(SUBSCRIBE, subscription)
    machine.devices["EGU0"].write(TRIGGER, 1)
    return bool(machine.devices["EGU1"].read(TRIGGERED))


def test_a_subscribed_task_runs_with_the_event(machine: Machine) -> None:
    assert triggered(machine, EN | 3)


@pytest.mark.parametrize("subscription", [3, EN | 4, 0])
def test_a_task_that_is_not_subscribed_to_the_channel_does_not(
    machine: Machine, subscription: int
) -> None:
    assert not triggered(machine, subscription)


def test_a_subscription_that_is_taken_back_ends(machine: Machine) -> None:
    machine.devices["EGU1"].write(SUBSCRIBE, EN | 3)
    assert not triggered(machine, 0)


def test_a_channel_that_is_off_carries_nothing(machine: Machine) -> None:
    machine.devices["DPPIC"].write(CHENCLR, 1 << 3)
    assert not triggered(machine, EN | 3)


def test_an_event_that_is_not_published_triggers_nothing(machine: Machine) -> None:
    machine.devices["EGU0"].write(PUBLISH, 3)
    assert not triggered(machine, EN | 3)
