"""DPPI: an event on a channel triggers the tasks that are subscribed to it, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from bare_chip import BareChip

from harness.base.findings import Kind
from harness.elf import Image
from harness.simulator.machine import Machine

EN = 1 << 31
TRIGGER, TRIGGERED, SUBSCRIBE, PUBLISH = 0x000, 0x100, 0x080, 0x180
CHENSET, CHENCLR = 0x504, 0x508


@pytest.fixture
def machine(build: Callable[[str], Image]) -> Iterator[Machine]:
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


def test_a_disabled_channel_forwards_no_event(machine: Machine) -> None:
    machine.devices["DPPIC"].write(CHENCLR, 1 << 3)
    assert not triggered(machine, EN | 3)


def test_an_event_that_is_not_published_triggers_nothing(machine: Machine) -> None:
    machine.devices["EGU0"].write(PUBLISH, 3)
    assert not triggered(machine, EN | 3)


# channels and groups (nRF9160 PS, "DPPI")

DPPIC = 0x5001_7000
CHEN, CHG = 0x500, 0x800


def channels(chip: BareChip) -> list[int]:
    """CHEN, and what CHENSET and CHENCLR read as."""
    return [chip.read(DPPIC + offset) for offset in (CHEN, CHENSET, CHENCLR)]


def test_channels_are_turned_on_and_off_one_by_one(chip: BareChip) -> None:
    chip.write(DPPIC + CHENSET, 0x00F0)
    chip.write(DPPIC + CHENSET, 0xF_0F80)
    chip.write(DPPIC + CHENCLR, 0x1810)
    assert channels(chip) == [0x07E0] * 3
    chip.write(DPPIC + CHEN, 0x0003)
    assert channels(chip) == [0x0003] * 3


@pytest.mark.parametrize("group", range(6))
def test_a_groups_tasks_turn_its_channels_on_and_off(chip: BareChip, group: int) -> None:
    for other in range(6):
        chip.write(DPPIC + CHG + 4 * other, 1 << other)
    chip.write(DPPIC + CHG + 4 * group, 0x0F00)
    chip.write(DPPIC + CHENSET, 0x8100)
    chip.write(DPPIC + 8 * group, 1)  # CHG[group].EN
    assert channels(chip) == [0x8F00] * 3
    chip.write(DPPIC + 8 * group + 4, 1)  # CHG[group].DIS
    assert channels(chip) == [0x8000] * 3


def test_one_event_triggers_every_task_on_its_channel(machine: Machine) -> None:
    for name, task in (("EGU1", 0), ("EGU1", 5), ("EGU2", 7)):
        machine.devices[name].write(SUBSCRIBE + 4 * task, EN | 3)
    machine.devices["EGU0"].write(TRIGGER, 1)
    raised = {name: machine.devices[name].regs for name in ("EGU1", "EGU2")}
    assert [n for n in range(16) if raised["EGU1"][TRIGGERED + 4 * n]] == [0, 5]
    assert [n for n in range(16) if raised["EGU2"][TRIGGERED + 4 * n]] == [7]


def test_a_task_that_moves_to_another_channel_leaves_the_first(machine: Machine) -> None:
    machine.devices["EGU1"].write(SUBSCRIBE, EN | 3)
    machine.devices["EGU0"].write(TRIGGER, 1)
    machine.devices["EGU1"].write(TRIGGERED, 0)
    assert not triggered(machine, EN | 5)
    machine.devices["DPPIC"].write(CHENSET, 1 << 5)
    machine.devices["EGU0"].write(PUBLISH, EN | 5)
    machine.devices["EGU0"].write(TRIGGER, 1)
    assert machine.devices["EGU1"].read(TRIGGERED)


def test_events_may_go_on_from_channel_to_channel(machine: Machine) -> None:
    machine.devices["DPPIC"].write(CHENSET, 1 << 4)
    machine.devices["EGU1"].write(SUBSCRIBE, EN | 3)
    machine.devices["EGU1"].write(PUBLISH, EN | 4)
    machine.devices["EGU2"].write(SUBSCRIBE, EN | 4)
    machine.devices["EGU0"].write(TRIGGER, 1)
    assert machine.devices["EGU2"].read(TRIGGERED)


def test_an_event_that_triggers_itself_is_a_finding_and_ends(machine: Machine) -> None:
    machine.devices["EGU0"].write(SUBSCRIBE, EN | 3)
    machine.devices["EGU0"].write(TRIGGER, 1)
    (found,) = machine.findings
    assert (found.kind, found.subject) == (Kind.UNMODELLED_TASK, "EGU0 DPPI")
    assert "events and tasks of EGU0 trigger one another without end" in found.message


def test_a_group_is_turned_on_by_an_event(machine: Machine) -> None:
    machine.devices["DPPIC"].write(CHG, 1 << 9)
    machine.devices["DPPIC"].write(SUBSCRIBE, EN | 3)
    machine.devices["EGU0"].write(TRIGGER, 1)
    assert machine.devices["DPPIC"].read(CHEN) == 1 << 3 | 1 << 9


def test_a_reset_turns_all_channels_off_and_drops_subscriptions(chip: BareChip) -> None:
    chip.write(DPPIC + CHENSET, 1 << 3)
    chip.write(0x5001_C000 + SUBSCRIBE, EN | 3)
    chip.machine.reset()
    assert channels(chip) == [0] * 3
    chip.write(DPPIC + CHENSET, 1 << 3)
    chip.write(0x5001_B000 + PUBLISH, EN | 3)
    chip.write(0x5001_B000 + TRIGGER, 1)
    assert chip.read(0x5001_C000 + TRIGGERED) == 0


# who may use a channel, once non-secure peripherals are there


@pytest.mark.parametrize(
    ("publisher_secure", "subscriber_secure", "channel_secure", "arrives"),
    [
        (True, True, True, True),
        (True, True, False, True),
        (False, True, True, False),
        (True, False, True, False),
        (True, False, False, True),
        (False, False, False, True),
    ],
)
def test_secure_channels_are_for_secure_peripherals(
    chip: BareChip,
    publisher_secure: bool,
    subscriber_secure: bool,
    channel_secure: bool,
    arrives: bool,
) -> None:
    spu, secattr = 0x5000_3000, 1 << 4
    chip.write(spu + 0x700, 7)  # a region of RAM is non-secure
    chip.write(0xE000_EDD0, 2)  # SAU_CTRL.ALLNS
    chip.write(DPPIC + CHENSET, 1 << 3)
    chip.write(0x5001_B000 + PUBLISH, EN | 3)
    chip.write(0x5001_C000 + SUBSCRIBE, EN | 3)
    chip.write(spu + 0x480, 0xFFFF & ~((not channel_secure) << 3))
    chip.write(spu + 0x800 + 4 * 0x1C, secattr * subscriber_secure)
    chip.write(spu + 0x800 + 4 * 0x1B, secattr * publisher_secure)
    chip.write(0x5001_B000 - 0x1000_0000 * (not publisher_secure) + TRIGGER, 1)
    raised = chip.read(0x5001_C000 - 0x1000_0000 * (not subscriber_secure) + TRIGGERED)
    assert bool(raised) is arrives
