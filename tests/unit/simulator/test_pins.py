"""GPIO and GPIOTE: the host presses buttons and watches LEDs."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator

import pytest
from bare_chip import BareChip, Peripheral

from harness.case.presses import Presses
from harness.elf import Firmware
from harness.simulator.machine import Machine
from harness.simulator.peripherals.gpio import DETECTMODE, LATCH, PIN_CNF, Gpio
from harness.targets import ConsoleMatch, Stop
from harness.targets.pins import Press
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


# P0, register by register (nRF9160 PS, "GPIO")

P0, GPIOTE = 0x5084_2500, 0x5000_D000
OUT, OUTCLR, DIR, DIRCLR = 0x004, 0x00C, 0x014, 0x01C
ONES = 0xFFFF_FFFF
SENSE_LOW, INPUT = 3 << 16, 0


class Port(Peripheral):
    """P0's registers and the levels at its pins."""

    def __init__(self, chip: BareChip) -> None:
        super().__init__(chip, P0)
        found = chip.machine.devices["P0"]
        assert isinstance(found, Gpio)
        self.gpio = found

    def configure(self, pin: int, value: int) -> None:
        self[PIN_CNF + 4 * pin] = value


@pytest.fixture
def p0(chip: BareChip) -> Port:
    return Port(chip)


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


def test_a_reset_lets_the_outputs_go_and_the_host_drives_on(p0: Port) -> None:
    p0[DIRSET] = p0[OUTSET] = 1 << 3
    p0.gpio.drive(4, True)
    p0.chip.machine.reset()
    assert p0.gpio.pads == 1 << 4
    assert (p0[DIR], p0[OUT], p0[IN]) == (0, 0, 0)
    p0.configure(4, INPUT)
    assert p0[IN] == 1 << 4


# GPIOTE (nRF9160 PS, "GPIOTE")

TASK_OUT, TASK_SET, TASK_CLR = 0x000, 0x030, 0x060
EVENT_IN, EVENT_PORT, CONFIG = 0x100, 0x17C, 0x510
EVENT, TASK = 1, 3
LO_TO_HI, HI_TO_LO, TOGGLE = 1, 2, 3


def config(mode: int, pin: int, polarity: int, first: int = 0) -> int:
    return mode | pin << 8 | polarity << 16 | first << 20


class Channel:
    """One channel of GPIOTE0."""

    def __init__(self, port: Port, number: int) -> None:
        self.port, self.number = port, number

    def configure(self, value: int) -> None:
        self.port.chip.write(GPIOTE + CONFIG + 4 * self.number, value)

    def trigger(self, task: int) -> None:
        self.port.chip.write(GPIOTE + task + 4 * self.number, 1)

    def events(self) -> list[int]:
        """The channels whose event is there, which goes with this."""
        found = [n for n in range(8) if self.port.chip.read(GPIOTE + EVENT_IN + 4 * n)]
        for n in found:
            self.port.chip.write(GPIOTE + EVENT_IN + 4 * n, 0)
        return found


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize("pin", [0, 5, 31])
def test_tasks_set_clear_and_toggle_a_pin(p0: Port, number: int, pin: int) -> None:
    channel = Channel(p0, number)
    channel.configure(config(TASK, pin, TOGGLE))
    assert p0[DIR] == 1 << pin
    levels = []
    for task in (TASK_SET, TASK_SET, TASK_CLR, TASK_CLR, TASK_OUT, TASK_OUT):
        channel.trigger(task)
        levels.append(p0.gpio.pads >> pin)
    assert levels == [1, 1, 0, 0, 1, 0]


@pytest.mark.parametrize(
    ("polarity", "after"),
    [(0, [0, 1]), (LO_TO_HI, [1, 1]), (HI_TO_LO, [0, 0]), (TOGGLE, [1, 0])],
)
@pytest.mark.parametrize("first", [0, 1])
def test_out_does_what_polarity_says(p0: Port, polarity: int, after: list[int], first: int) -> None:
    channel = Channel(p0, 2)
    channel.configure(config(TASK, 6, polarity, first))
    assert p0.gpio.pads >> 6 == first
    channel.trigger(TASK_OUT)
    assert p0.gpio.pads >> 6 == after[first]


def test_a_channel_that_is_no_task_leaves_its_pin_alone(p0: Port) -> None:
    p0[DIRSET] = 1 << 6
    for mode in (0, EVENT):
        channel = Channel(p0, 2)
        channel.configure(config(mode, 6, TOGGLE, 1))
        for task in (TASK_OUT, TASK_SET):
            channel.trigger(task)
    assert p0.gpio.pads == 0


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize(
    ("polarity", "rises", "falls"),
    [(0, False, False), (LO_TO_HI, True, False), (HI_TO_LO, False, True), (TOGGLE, True, True)],
)
def test_an_event_comes_with_the_edges_of_its_polarity(
    p0: Port, number: int, polarity: int, rises: bool, falls: bool
) -> None:
    channel = Channel(p0, number)
    p0.configure(31, INPUT)
    channel.configure(config(EVENT, 31, polarity))
    p0.gpio.drive(31, True)
    assert channel.events() == [number] * rises
    p0.gpio.drive(31, True)
    assert channel.events() == []
    p0.gpio.drive(31, False)
    assert channel.events() == [number] * falls


def test_edges_of_other_pins_raise_nothing(p0: Port) -> None:
    channel = Channel(p0, 0)
    channel.configure(config(EVENT, 4, TOGGLE))
    for pin in (3, 5, 20):
        p0.gpio.drive(pin, True)
    assert channel.events() == []


def port_event(port: Port) -> bool:
    """Whether PORT was raised, which goes with this."""
    raised = bool(port.chip.read(GPIOTE + EVENT_PORT))
    port.chip.write(GPIOTE + EVENT_PORT, 0)
    return raised


def test_port_is_raised_when_detect_rises(p0: Port) -> None:
    p0.configure(1, SENSE_HIGH)
    p0.configure(2, SENSE_LOW | PULL_UP)
    p0.gpio.drive(1, True)
    assert port_event(p0)
    p0.gpio.drive(2, False)  # detect is high already
    assert not port_event(p0)
    p0.gpio.drive(1, False)
    p0.gpio.drive(2, True)
    assert not port_event(p0)
    p0.gpio.drive(2, False)
    assert port_event(p0)


def test_with_detectmode_a_cleared_latch_raises_port_again_for_what_is_still_there(
    p0: Port,
) -> None:
    p0[DETECTMODE] = 1
    p0.configure(1, SENSE_HIGH)
    p0.gpio.drive(1, True)
    assert port_event(p0)
    p0[LATCH] = 1 << 1
    assert port_event(p0)
    p0.gpio.drive(1, False)
    p0[LATCH] = 1 << 1
    assert not port_event(p0)


def test_both_gpiotes_hear_the_port(p0: Port) -> None:
    p0.chip.write(0x4003_1000 + CONFIG, config(EVENT, 7, LO_TO_HI))
    p0.gpio.drive(7, True)
    assert p0.chip.read(0x4003_1000 + EVENT_IN) == 1


def test_a_reset_forgets_channels_and_edges(p0: Port) -> None:
    channel = Channel(p0, 0)
    channel.configure(config(EVENT, 4, TOGGLE))
    p0.configure(1, SENSE_HIGH)
    p0.gpio.drive(1, True)
    p0.chip.machine.reset()
    p0.gpio.drive(4, True)
    assert channel.events() == []
    p0.configure(1, SENSE_HIGH)
    assert port_event(p0)
