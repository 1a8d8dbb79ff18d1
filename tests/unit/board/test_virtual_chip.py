"""The simulator as a virtual board's chip, against a session with real state behind it."""

from __future__ import annotations

import pytest

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed, TargetLost
from harness.targets.base import Stop
from harness.targets.board.virtual.chip import SPEED, FlashStore, SimulatorChip, TranscriptChip


class Machine:
    """Says how often it booted, echoes, and sleeps for ever after."""

    def __init__(self, firmware):
        self.firmware = firmware
        self.boots = 0
        self.ran = 0.0
        self.closed = False
        self.out = b""
        self.memory = self
        self.sleeps = True
        self.reset()

    def reset(self):
        self.boots += 1
        self.out += b"boot %d\n" % self.boots

    def deadline(self, seconds, *, guard=60.0):
        return Deadline(seconds, now=lambda: self.ran, guard=guard)

    def run(self, until, deadline):
        self.ran += until.seconds
        return Stop.IDLE if self.sleeps else Stop.CONDITION

    def read(self, *arguments):
        if arguments:
            address, size = arguments
            if address < 0x2000_0000:
                raise TargetLost("no memory there")
            return bytes(size)
        said, self.out = self.out, b""
        return said

    def write(self, data):
        self.out += data

    def close(self):
        self.closed = True


class WallClock:
    """Goes on only while somebody sleeps."""

    def __init__(self):
        self.time = 1000.0

    def sleep(self, seconds):
        self.time += seconds


@pytest.fixture
def machines():
    return []


@pytest.fixture
def clock():
    return WallClock()


@pytest.fixture
def chip(machines, clock):
    def opened(firmware):
        machines.append(Machine(firmware))
        return machines[-1]

    return SimulatorChip(opened, now=lambda: clock.time, sleep=clock.sleep)


def flashed(data=b"\x00\x00\x04\x20\x09\x00\x00\x00code"):
    store = FlashStore()
    store.program(0, data)
    return store


def test_an_erased_chip_is_silent(chip, machines):
    chip.reset(FlashStore())
    assert chip.idle
    assert chip.step(0.01) == b""
    assert machines == []


def test_machine_gets_the_image_in_flash(chip, machines):
    store = flashed()
    store.program(0xFF801C, b"\xfe")
    chip.reset(store)
    segments = machines[0].firmware.segments
    assert [s.address for s in segments] == [0, 0xFF8000]
    assert segments[0].data == bytes(store.flash[:12])
    assert segments[1].data[0x1C] == 0xFE
    assert machines[0].firmware.entry == 9


def test_a_reset_keeps_the_machine_and_new_flash_makes_a_new_one(chip, machines):
    store = flashed()
    chip.reset(store)
    assert chip.step(0.01) == b"boot 1\n"
    chip.reset(store)
    assert chip.step(0.01) == b"boot 2\n"
    store.erase([(0, b"x")])
    store.program(0, b"\x00\x00\x04\x20\x0d\x00\x00\x00other")
    chip.reset(store)
    assert chip.step(0.01) == b"boot 1\n"
    assert machines[0].closed


def test_a_sleeping_core_is_woken_by_the_console(chip):
    chip.reset(flashed())
    chip.step(0.01)
    assert chip.idle
    chip.feed(b"hello")
    assert not chip.idle
    assert chip.step(0.01) == b"hello"


def test_virtual_time_does_not_run_away_from_the_wall_clock(chip, clock, machines):
    chip.reset(flashed())
    machines[0].sleeps = False
    for _ in range(1000):
        chip.step(0.004)
        clock.sleep(0.0001)
    passed = clock.time - 1000.0
    assert machines[0].ran == pytest.approx(passed * SPEED, abs=2 * 0.004 * SPEED)


def test_virtual_time_does_not_catch_up_after_idling(chip, clock, machines):
    chip.reset(flashed())
    chip.step(0.004)
    assert chip.idle
    clock.sleep(3600.0)
    machines[0].sleeps = False
    chip.feed(b"hello")
    chip.step(0.004)
    chip.step(0.004)
    assert machines[0].ran == 2 * 0.004 * SPEED


def test_a_machine_that_fails_leaves_a_silent_chip_and_the_reason(chip, machines):
    chip.reset(flashed())

    def broken(until, deadline):
        raise FirmwareFailed("the simulator cannot go on")

    machines[0].run = broken
    assert chip.step(0.01) == b""
    assert chip.idle
    assert chip.halted == "the simulator cannot go on"


def test_memory_that_is_not_there_is_a_value_error(chip):
    with pytest.raises(ValueError, match="does not run"):
        chip.read(0x2000_0000, 4)
    chip.reset(flashed())
    assert chip.read(0x2000_0000, 4) == bytes(4)
    with pytest.raises(ValueError, match="no memory"):
        chip.read(0x1000_0000, 4)


def test_flash_is_erased_by_pages_and_programmed_from_ones_to_zeros():
    store = FlashStore()
    store.program(0x1000, b"\xf0")
    store.program(0x1000, b"\x0f")
    assert store.flash[0x1000] == 0
    store.erase([(0x1FFF, b"ab")])
    assert store.flash[0x1000:0x3000] == b"\xff" * 0x2000
    with pytest.raises(ValueError, match="not in flash"):
        store.program(0x2000_0000, b"x")


def test_a_slice_runs_four_times_as_long_on_the_machines_clock(chip, machines):
    chip.reset(flashed())
    chip.step(0.01)
    assert machines[0].ran == pytest.approx(0.04)


def test_unread_output_is_lost_with_a_reset(chip, machines):
    store = flashed()
    chip.reset(store)
    machines[0].write(b"last words\n")
    chip.reset(store)
    assert chip.step(0.01) == b"boot 2\n"


def test_image_that_cannot_be_loaded_leaves_a_silent_chip_and_the_reason(clock):
    def refuses(firmware):
        raise FirmwareFailed("no vector table")

    chip = SimulatorChip(refuses, now=lambda: clock.time, sleep=clock.sleep)
    chip.reset(flashed())
    assert (chip.idle, chip.halted) == (True, "no vector table")
    assert chip.step(0.01) == b""
    chip.reset(FlashStore())
    assert (chip.idle, chip.halted) == (True, "")


@pytest.mark.parametrize(
    ("stop", "idle"),
    [(Stop.IDLE, True), (Stop.LOCKUP, True), (Stop.CONDITION, False), (Stop.DEADLINE, False)],
)
def test_a_core_that_never_wakes_by_itself_is_left_alone(chip, machines, stop, idle):
    chip.reset(flashed())
    machines[0].run = lambda until, deadline: stop
    chip.step(0.01)
    assert (chip.idle, chip.halted) == (idle, "")


def test_a_slice_that_does_not_end_stops_the_chip(chip, machines):
    chip.reset(flashed())
    guards = []

    def stuck(until, deadline):
        guards.append(deadline.guard)
        return Stop.GUARD

    machines[0].run = stuck
    chip.step(0.01)
    assert guards == [10.0]
    assert chip.idle
    assert chip.halted == "0.04 s of virtual time took more than 10.0 s"
    chip.feed(b"hello")
    assert chip.idle and machines[0].out == b""


def test_a_receiver_that_fails_stops_the_chip(chip, machines):
    chip.reset(flashed())

    def full(data):
        raise TargetLost("the receiver is full")

    machines[0].write = full
    chip.feed(b"hello")
    assert (chip.idle, chip.halted) == (True, "the receiver is full")


def test_a_chip_without_an_image_takes_and_gives_nothing(chip):
    chip.feed(b"hello")
    assert chip.idle
    uses = (lambda: chip.write(0x2000_0000, b"x"), lambda: chip.read(0x2000_0000, 1),
            lambda: chip.read_pin(6), lambda: chip.drive_pin(6, True))  # fmt: skip
    for use in uses:
        with pytest.raises(ValueError, match="the chip does not run"):
            use()


class Pins:
    def __init__(self):
        self.levels = {}

    def read(self, pin):
        return self.levels[pin]

    def drive(self, pin, level):
        self.levels[pin] = level


def test_a_driven_pin_wakes_a_sleeping_core_whose_time_begins_anew(chip, machines, clock):
    chip.reset(flashed())
    machines[0].pins = Pins()
    chip.step(0.01)
    assert chip.idle
    clock.time += 100
    chip.drive_pin(6, False)
    assert not chip.idle and chip.read_pin(6) is False
    ran = machines[0].ran
    chip.step(0.01)
    chip.drive_pin(6, None)
    chip.step(0.01)
    assert machines[0].ran == pytest.approx(ran + 0.08)
    chip.halted = "a lockup"
    with pytest.raises(ValueError, match="does not run"):
        chip.read_pin(6)


def test_written_bytes_are_in_the_machines_memory(chip, machines):
    chip.reset(flashed())
    written = []

    class Memory:
        def write(self, address, data):
            if address < 0x2000_0000:
                raise TargetLost("no memory there")
            written.append((address, data))

    machines[0].memory = Memory()
    chip.write(0x2000_0000, b"x")
    assert written == [(0x2000_0000, b"x")]
    with pytest.raises(ValueError, match="no memory there"):
        chip.write(0x1000_0000, b"x")


def test_flash_and_user_registers_end_where_the_chips_do():
    store = FlashStore()
    for last in (0x10_0000 - 1, 0xFF_8000, 0xFF_9000 - 1):
        store.program(last, b"\0")
    for start, size in ((0x10_0000 - 1, 2), (0x10_0000, 1), (0xFF_9000 - 1, 2), (0xFF_7FFF, 1)):
        with pytest.raises(ValueError, match=f"0x{start:08x} is not in flash"):
            store.area(start, size)
    assert store.used() == 0x10_0000


def test_a_transcript_is_read_from_flash_and_cannot_be_written():
    chip, store = TranscriptChip(), FlashStore()
    store.program(0x10, b"hello")
    chip.reset(store)
    assert chip.read(0x11, 3) == b"ell"
    with pytest.raises(ValueError, match="0x20000000 is not in flash"):
        chip.read(0x2000_0000, 1)
    with pytest.raises(ValueError, match="0x20000000 cannot be written"):
        chip.write(0x2000_0000, b"x")
