"""GPIO and GPIOTE: the host presses buttons and watches LEDs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest
from gpio_port import (
    DIR,
    DIRCLR,
    DIRSET,
    IN,
    INPUT,
    OUT,
    OUTCLR,
    OUTSET,
    PULL_UP,
    SENSE_HIGH,
    Port,
)

from harness.case.tap import Presses
from harness.elf import Image
from harness.simulator.machine import Machine
from harness.simulator.peripherals.gpio import DETECTMODE, LATCH, PIN_CNF, Gpio
from harness.targets import ConsoleMatch, Stop
from harness.targets.pins import Press
from harness.targets.simulator import SimulatorSession

LED1, BUTTON1, BUTTON2 = 2, 6, 7


@pytest.fixture
def session(build: Callable[[str], Image]) -> Iterator[SimulatorSession]:
    """The buttons are set up, the core sleeps."""
    with SimulatorSession(Machine(build("pins"))) as opened:
        assert opened.run(ConsoleMatch(b"ready"), opened.deadline(1.0)) is Stop.CONDITION
        run(opened)
        yield opened


def run(session: SimulatorSession) -> None:
    session.run(None, session.deadline(0.01))


@pytest.fixture
def port(session: SimulatorSession) -> Gpio:
    """Port 0 alone."""
    found = session.machine.devices["P0"]
    assert isinstance(found, Gpio)
    return found


def results(session: SimulatorSession) -> tuple[int, ...]:
    symbol = session.machine.firmware.symbol("results")
    assert symbol is not None
    return struct.unpack("<3I", session.memory.read(symbol.address, 12))


def test_a_pressed_button_raises_its_event_once(session: SimulatorSession) -> None:
    for _ in range(2):
        session.pins.drive(BUTTON1, False)
        run(session)
        session.pins.drive(BUTTON1, None)
        run(session)
    assert results(session)[0] == 2


def test_an_event_reaches_a_task_through_dppi_without_the_core(session: SimulatorSession) -> None:
    assert not session.pins.read(LED1)
    session.pins.drive(BUTTON1, False)
    assert session.pins.read(LED1)  # nothing ran in between
    session.pins.drive(BUTTON1, None)
    session.pins.drive(BUTTON1, False)
    assert not session.pins.read(LED1)


def test_a_sensed_pin_raises_port_and_stays_in_latch(session: SimulatorSession) -> None:
    session.pins.drive(BUTTON2, False)
    run(session)
    assert results(session)[1:] == (1, 1 << BUTTON2)


def test_a_released_pin_follows_its_pull_resistor(session: SimulatorSession) -> None:
    session.pins.drive(BUTTON1, False)
    assert not session.pins.read(BUTTON1)
    session.pins.drive(BUTTON1, None)
    assert session.pins.read(BUTTON1)


def test_an_input_whose_buffer_is_not_connected_reads_as_low(port: Gpio) -> None:
    port.drive(20, True)
    assert not port.read(IN) >> 20 & 1
    port.write(PIN_CNF + 4 * 20, 0)
    assert port.read(IN) >> 20 & 1


def test_an_output_drives_its_pin_and_the_host_overrules_it(port: Gpio) -> None:
    port.write(DIRSET, 1 << 21)
    port.write(OUTSET, 1 << 21)
    assert port.pads >> 21 & 1
    port.drive(21, False)
    assert not port.pads >> 21 & 1


def test_latch_keeps_sensed_pins_until_cleared(port: Gpio) -> None:
    port.write(PIN_CNF + 4 * 22, SENSE_HIGH)
    port.drive(22, True)
    port.drive(22, False)
    assert port.read(LATCH) >> 22 & 1
    port.write(LATCH, 1 << 22)
    assert not port.read(LATCH) >> 22 & 1


def test_a_pin_that_is_still_sensed_is_latched_again_at_once(port: Gpio) -> None:
    port.write(PIN_CNF + 4 * 22, SENSE_HIGH)
    port.drive(22, True)
    port.write(LATCH, 1 << 22)
    assert port.read(LATCH) >> 22 & 1


@pytest.mark.parametrize(("latched", "detect"), [(0, False), (1, True)])
def test_detect_follows_the_pins_or_with_detectmode_the_latch(
    port: Gpio, latched: int, detect: bool
) -> None:
    port.write(PIN_CNF + 4 * 22, SENSE_HIGH)
    port.write(DETECTMODE, latched)
    port.drive(22, True)
    port.drive(22, False)
    assert port.detect is detect


def test_buttons_are_pressed_and_released_in_order(session: SimulatorSession) -> None:
    presses = Presses(session, [Press(BUTTON1, 0.5, 0.1), Press(BUTTON2, 0.2, 0.1)])
    assert presses.run(None, session.deadline(1.0)) is Stop.IDLE
    assert results(session) == (1, 1, 1 << BUTTON2)
    assert session.pins.read(BUTTON1) and session.pins.read(BUTTON2)


def test_a_press_comes_at_its_time_on_the_targets_clock(build: Callable[[str], Image]) -> None:
    with SimulatorSession(Machine(build("tickless"))) as running:  # a counter's events go on
        presses = Presses(running, [Press(BUTTON1, 0.5, 0.1)])
        for seconds, level in ((0.4, False), (0.15, False), (0.1, False)):
            before = running.machine.devices["P0"]
            assert isinstance(before, Gpio)
            presses.run(None, running.deadline(seconds))
            pressed = bool(before.driven >> BUTTON1 & 1)
            assert pressed is (0.5 <= running.machine.seconds < 0.6)
            assert running.pins.read(BUTTON1) is level


ONES = 0xFFFF_FFFF


@pytest.mark.parametrize(
    ("word", "setting", "clearing"), [(OUT, OUTSET, OUTCLR), (DIR, DIRSET, DIRCLR)]
)
def test_out_and_dir_are_set_and_cleared_pin_by_pin(
    p0: Port, word: int, setting: int, clearing: int
) -> None:
    p0[setting] = 0xF000_000F
    p0[setting] = 0x8000_00F0
    p0[clearing] = 0x1000_0101
    assert [p0[at] for at in (word, setting, clearing)] == [0xE000_00FE] * 3
    p0[word] = 0x1234_5678
    assert [p0[at] for at in (word, setting, clearing)] == [0x1234_5678] * 3


@pytest.mark.parametrize("pin", [0, 9, 31])
def test_dir_and_a_pins_configuration_are_one_bit(p0: Port, pin: int) -> None:
    p0.configure(pin, PULL_UP | 1)
    assert p0[DIR] == 1 << pin
    p0[DIRCLR] = 1 << pin
    assert p0[PIN_CNF + 4 * pin] == PULL_UP
    p0[DIRSET] = 1 << pin
    assert p0[PIN_CNF + 4 * pin] == PULL_UP | 1
    p0.configure(pin, 0)
    assert p0[DIR] == 0


@pytest.mark.parametrize("pin", [0, 9, 31])
def test_an_input_reads_its_driver_or_its_pull(p0: Port, pin: int) -> None:
    p0.configure(pin, PULL_UP)
    assert p0[IN] == 1 << pin
    p0.gpio.drive(pin, False)
    assert p0[IN] == 0
    p0.gpio.drive(pin, True)
    assert p0[IN] == 1 << pin
    p0.gpio.drive(pin, False)
    p0.gpio.drive(pin, None)
    assert p0[IN] == 1 << pin
    p0.configure(pin, 1 << 2)  # a pull-down
    assert p0[IN] == 0


def test_in_is_read_only(p0: Port) -> None:
    p0.configure(3, PULL_UP)
    p0[IN] = 0
    assert p0[IN] == 1 << 3


def test_an_output_pin_shows_out_and_not_its_pull(p0: Port) -> None:
    p0.configure(3, PULL_UP | 1)
    assert p0.gpio.pads == p0[IN] == 0
    p0[OUTSET] = 1 << 3 | 1 << 4  # pin 4 is an input
    assert p0.gpio.pads == p0[IN] == 1 << 3


@pytest.mark.parametrize(
    ("sense", "level", "latched"),
    [(2, True, True), (2, False, False), (3, False, True), (3, True, False), (0, True, False),
     (0, False, False)],
)  # fmt: skip
def test_latch_follows_sense(p0: Port, sense: int, level: bool, latched: bool) -> None:
    p0.gpio.drive(31, level)
    p0.configure(31, sense << 16)
    assert p0[LATCH] == latched << 31
    assert p0.gpio.detect is latched


def test_latch_is_cleared_pin_by_pin(p0: Port) -> None:
    for pin in (1, 2):
        p0.configure(pin, SENSE_HIGH)
        p0.gpio.drive(pin, True)
        p0.gpio.drive(pin, False)
    p0[LATCH] = 1 << 1
    assert p0[LATCH] == 1 << 2


def test_detectmode_is_one_bit(p0: Port) -> None:
    p0[DETECTMODE] = ONES
    assert p0[DETECTMODE] == 1
    p0[DETECTMODE] = ONES - 1
    assert p0[DETECTMODE] == 0


def test_a_reset_releases_outputs_and_keeps_the_hosts_levels(p0: Port) -> None:
    p0[DIRSET] = p0[OUTSET] = 1 << 3
    p0.gpio.drive(4, True)
    p0.chip.machine.reset()
    assert p0.gpio.pads == 1 << 4
    assert (p0[DIR], p0[OUT], p0[IN]) == (0, 0, 0)
    p0.configure(4, INPUT)
    assert p0[IN] == 1 << 4
