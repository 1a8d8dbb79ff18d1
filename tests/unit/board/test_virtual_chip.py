"""The chip of a virtual board: power, resets, time, what is around it."""

from __future__ import annotations

import struct

import pytest

from harness.base.debug_access import C_DEBUGEN, C_HALT, DHCSR, DHCSR_KEY
from harness.base.errors import TargetLost
from harness.base.platforms import board_table
from harness.simulator import End
from harness.simulator.debug_port.port import erase_all
from harness.targets.board.virtual.chip import SPEED, VirtualChip

RAM, COUNT = 0x2000_0000, 0x2000_0100
#: ldr r1, =COUNT; ldr r0, [r1]; adds r0, #1; str r0, [r1]; b to the second; nop.
COUNTS = struct.pack(
    "<II6HI", 0x2004_0000, 9, 0x4902, 0x6808, 0x3001, 0x6008, 0xE7FB, 0xBF00, COUNT
)
#: wfi; b.
SLEEPS = struct.pack("<II2H", 0x2004_0000, 9, 0xBF30, 0xE7FD)


class WallClock:
    """Goes on only while somebody sleeps."""

    def __init__(self):
        self.time = 1000.0

    def sleep(self, seconds):
        self.time += seconds


class Board:
    """What is around the chip: nothing else."""

    def __init__(self, chip):
        self.chip = chip

    def pin_reset(self):
        self.chip.pin_reset()

    def erase_all(self):
        erase_all(self.chip.port.machine)


def powered(chip, image=b""):
    """The chip with power, and an image that starts with the reset pin."""
    chip.power_on(Board(chip))
    if image:
        chip.port.machine.write_memory(0, image)
        chip.pin_reset()
    return chip


@pytest.fixture
def clock():
    return WallClock()


@pytest.fixture
def chip(clock):
    chip = VirtualChip(board_table(), now=lambda: clock.time, sleep=clock.sleep)
    yield chip
    chip.power_off()


def count(chip):
    return int.from_bytes(chip.port.machine.read_memory(COUNT, 4), "little")


def test_an_erased_chip_is_silent(chip):
    powered(chip)
    assert chip.step(0.01) == b""
    assert (chip.idle, chip.halted) == (True, "")
    assert chip.port.core.read(DHCSR) >> 19 & 1  # S_LOCKUP


def test_an_image_runs_from_the_reset_on(chip):
    powered(chip, COUNTS)
    before = count(chip)
    chip.step(0.01)
    assert not chip.idle
    assert (count(chip) - before) & 0xFFFF_FFFF > 10_000


def test_a_chip_without_power_takes_and_gives_nothing(chip):
    chip.feed(b"hello")
    assert (chip.idle, chip.step(0.01)) == (True, b"")
    for use in (lambda: chip.read_pin(6), lambda: chip.drive_pin(6, True), chip.pin_reset):
        with pytest.raises(ValueError, match="the chip has no power"):
            use()


def test_virtual_time_does_not_run_away_from_the_wall_clock(chip, clock):
    powered(chip, COUNTS)
    for _ in range(1000):
        chip.step(0.004)
        clock.sleep(0.0001)
    passed = clock.time - 1000.0
    assert chip.port.machine.seconds == pytest.approx(passed * SPEED, abs=2 * 0.004 * SPEED)


def test_virtual_time_does_not_catch_up_after_idling(chip, clock):
    powered(chip, SLEEPS)
    chip.step(0.004)
    assert chip.idle
    clock.sleep(3600.0)
    chip.port.machine.write_memory(0, COUNTS)
    chip.pin_reset()
    before = chip.port.machine.seconds
    chip.step(0.004)
    chip.step(0.004)
    assert chip.port.machine.seconds - before == pytest.approx(0.004 * SPEED)


def test_a_slice_runs_four_times_as_long_on_the_machines_clock(chip):
    powered(chip, COUNTS)
    chip.step(0.01)
    assert chip.port.machine.seconds == pytest.approx(0.04)


def test_a_halted_core_is_left_alone_until_a_debugger_lets_it_go(chip):
    powered(chip, COUNTS)
    chip.port.write_memory(DHCSR, 4, DHCSR_KEY << 16 | C_DEBUGEN | C_HALT)
    before = count(chip)
    assert chip.step(0.01) == b"" and chip.idle
    assert count(chip) == before
    chip.port.write_memory(DHCSR, 4, DHCSR_KEY << 16)
    chip.wake()
    chip.step(0.01)
    assert count(chip) != before


def test_a_driven_pin_and_input_wake_a_sleeping_core(chip):
    powered(chip, SLEEPS)
    for use in (lambda: chip.drive_pin(6, True), lambda: chip.feed(b"hello")):
        chip.step(0.01)
        assert chip.idle
        use()
        assert not chip.idle
    assert chip.read_pin(6) is True
    chip.drive_pin(6, None)


def broken(*_, **__):
    raise TargetLost("the simulator cannot go on")


def test_a_machine_that_fails_leaves_a_silent_chip_and_the_reason(chip):
    powered(chip, COUNTS)
    chip.port.core.run = broken
    assert chip.step(0.01) == b""
    assert (chip.idle, chip.halted) == (True, "the simulator cannot go on")
    with pytest.raises(ValueError, match="does not run"):
        chip.read_pin(6)
    chip.feed(b"hello")
    assert chip.idle
    chip.pin_reset()
    assert (chip.idle, chip.halted) == (False, "")


def test_a_receiver_that_fails_stops_the_chip(chip):
    powered(chip, COUNTS)
    chip.port.machine.feed = broken
    chip.feed(b"hello")
    assert (chip.idle, chip.halted) == (True, "the simulator cannot go on")


def test_a_slice_that_does_not_end_stops_the_chip(chip):
    powered(chip, COUNTS)
    guards = []

    def stuck(ticks, guard, **_):
        guards.append(guard.guard)
        return End.GUARD

    chip.port.core.run = stuck
    chip.step(0.01)
    assert guards == [10.0]
    assert (chip.idle, chip.halted) == (True, "0.04 s of virtual time took more than 10.0 s")


@pytest.mark.parametrize(
    ("end", "idle"),
    [(End.IDLE, True), (End.LOCKUP, True), (End.SYSTEM_OFF, True), (End.DEADLINE, False),
     (End.RESET_LOOP, False), (None, False)],
)  # fmt: skip
def test_a_core_that_never_wakes_by_itself_is_left_alone(chip, end, idle):
    powered(chip, COUNTS)
    chip.port.core.run = lambda *_, **__: end
    chip.step(0.01)
    assert (chip.idle, chip.halted) == (idle, "")


def test_a_sibling_has_its_own_memories_and_debug_port():
    kit = board_table("nrf5340dk")
    chip = VirtualChip(kit)
    chip.power_on(Board(chip))
    try:
        machine = chip.port.machine
        assert machine.memory_map is kit.chip
        end = kit.chip.area("ram").end
        machine.write_memory(end - 4, b"last")
        assert machine.read_memory(end - 4, 4) == b"last"
    finally:
        chip.power_off()
