"""GPIOTE, register by register (nRF9160 PS, "GPIOTE")."""

from __future__ import annotations

import pytest
from gpio_port import DIR, DIRSET, GPIOTE, INPUT, PULL_UP, SENSE_HIGH, SENSE_LOW, Port

from harness.simulator.peripherals.gpio import DETECTMODE, LATCH

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
def test_task_out_follows_polarity(p0: Port, polarity: int, after: list[int], first: int) -> None:
    channel = Channel(p0, 2)
    channel.configure(config(TASK, 6, polarity, first))
    assert p0.gpio.pads >> 6 == first
    channel.trigger(TASK_OUT)
    assert p0.gpio.pads >> 6 == after[first]


def test_a_channel_not_in_task_mode_leaves_its_pin_alone(p0: Port) -> None:
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
def test_an_event_is_raised_at_the_edges_of_its_polarity(
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


def test_with_detectmode_clearing_a_latch_of_a_sensed_pin_raises_port_again(
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


def test_both_gpiotes_receive_the_port_event(p0: Port) -> None:
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
