"""GPIO and GPIOTE: the host presses buttons and watches LEDs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest

from harness.case.presses import Presses
from harness.elf import Firmware
from harness.errors import UsageError
from harness.simulator.machine import Machine
from harness.simulator.peripherals.gpio import DETECTMODE, LATCH, PIN_CNF, Gpio
from harness.targets import ConsoleMatch, Stop
from harness.targets.pins import Press, parse_press, pin_number
from harness.targets.simulator import SimulatorSession

LED1, BUTTON1, BUTTON2 = 2, 6, 7
IN, OUTSET, DIRSET = 0x010, 0x008, 0x018
PULL_UP, SENSE_HIGH, DISCONNECT = 3 << 2, 2 << 16, 2


@pytest.fixture
def session(build: Callable[[str], Firmware]) -> Iterator[SimulatorSession]:
    """The buttons are set up, the core sleeps."""
    with SimulatorSession(Machine(build("pins"))) as opened:
        assert opened.run(ConsoleMatch(b"ready"), opened.deadline(1.0)) is Stop.CONDITION
        run(opened)
        yield opened


def run(session: SimulatorSession) -> None:
    session.run(None, session.deadline(0.01))


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


def test_a_pin_let_go_goes_to_its_pull_resistor(session: SimulatorSession) -> None:
    session.pins.drive(BUTTON1, False)
    assert not session.pins.read(BUTTON1)
    session.pins.drive(BUTTON1, None)
    assert session.pins.read(BUTTON1)


@pytest.fixture
def port(session: SimulatorSession) -> Gpio:
    """Port 0 alone."""
    found = session.machine.devices["P0"]
    assert isinstance(found, Gpio)
    return found


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


def test_latch_keeps_what_was_sensed_until_it_is_cleared(port: Gpio) -> None:
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


def test_buttons_are_pressed_and_let_go_in_turn(session: SimulatorSession) -> None:
    presses = Presses(session, [Press(BUTTON1, 0.5, 0.1), Press(BUTTON2, 0.2, 0.1)])
    assert presses.run(None, session.deadline(1.0)) is Stop.IDLE
    assert results(session) == (1, 1, 1 << BUTTON2)
    assert session.pins.read(BUTTON1) and session.pins.read(BUTTON2)


def test_a_press_comes_at_its_time_where_the_clock_runs(build: Callable[[str], Firmware]) -> None:
    with SimulatorSession(Machine(build("tickless"))) as running:  # a counter's events go on
        presses = Presses(running, [Press(BUTTON1, 0.5, 0.1)])
        for seconds, level in ((0.4, False), (0.15, False), (0.1, False)):
            before = running.machine.devices["P0"]
            assert isinstance(before, Gpio)
            presses.run(None, running.deadline(seconds))
            pressed = bool(before.driven >> BUTTON1 & 1)
            assert pressed is (0.5 <= running.machine.seconds < 0.6)
            assert running.pins.read(BUTTON1) is level


@pytest.mark.parametrize(
    ("text", "press"),
    [
        ("button1", Press(BUTTON1)),
        ("P0.31@2", Press(31, 2.0)),
        ("led4@0.5+0.25", Press(5, 0.5, 0.25)),
    ],
)
def test_a_press_is_read_from_its_text(text: str, press: Press) -> None:
    assert parse_press(text) == press


@pytest.mark.parametrize(
    "text", ["", "button3", "P0.32", "32", "button1@x", "6@-1", "6@1+0", "6@1+nan"]
)
def test_what_is_no_press_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_press(text)


def test_a_pin_goes_by_its_name_or_number() -> None:
    assert [pin_number(name) for name in ("BUTTON2", "p0.07", "7")] == [7, 7, 7]
