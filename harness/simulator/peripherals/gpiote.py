"""GPIOTE0 and GPIOTE1: tasks and events on pins (nRF9160 PS, "GPIOTE")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import INTEN, Chip, Device, Nordic, Register, numbered
from harness.simulator.peripherals.gpio import OUT, Gpio

CHANNELS = 8
_CONFIG = 0x510
MODE_EVENT, MODE_TASK = 1, 3
RISING, FALLING, TOGGLE = 1, 2, 3


class Gpiote(Nordic):
    """Eight channels: each raises an event on an edge of a pin, or drives a pin by tasks."""

    TASKS: ClassVar[dict[str, int]] = (
        numbered("OUT", 0x000, CHANNELS)
        | numbered("SET", 0x030, CHANNELS)
        | numbered("CLR", 0x060, CHANNELS)
    )
    EVENTS: ClassVar[dict[str, int]] = numbered("IN", 0x100, CHANNELS) | {"PORT": 0x17C}
    REGISTERS: ClassVar[tuple[Register, ...]] = (Register(_CONFIG, "CONFIG", count=CHANNELS),)
    STATE: ClassVar[tuple[str, ...]] = ("port",)

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.port = False  # the level of DETECT
        super().__init__(chip, block)

    def connect(self, devices: Mapping[str, Device]) -> None:
        """Listens to changes of P0's pins."""
        port = devices["P0"]
        assert isinstance(port, Gpio)
        self.gpio = port
        port.listeners.append(self.pins_changed)

    def reset(self) -> None:
        super().reset()
        self.port = False

    def listens(self) -> bool:
        return bool(self.regs[INTEN]) and not self.missing()

    def missing(self) -> str:
        """An enabled IN whose channel CONFIG does not make an event of a pin."""
        for index in range(CHANNELS):
            if self.regs[INTEN] >> index & 1 and self._pin(index, MODE_EVENT) is None:
                what = f"has INTENSET for IN[{index}], and CONFIG[{index}].MODE is not Event"
                return f"{self.name} {what}"
        return ""

    def _pin(self, index: int, mode: int) -> int | None:
        config = self.regs[_CONFIG + 4 * index]
        return config >> 8 & 0x1F if config & 3 == mode else None

    def _drive(self, index: int, action: int) -> None:
        pin = self._pin(index, MODE_TASK)
        if pin is None:
            return
        mask, out = 1 << pin, self.gpio.regs[OUT]
        value = {RISING: out | mask, FALLING: out & ~mask, TOGGLE: out ^ mask}.get(action, out)
        self.gpio.write_out(value)

    def task_out(self, index: int) -> None:
        self._drive(index, self.regs[_CONFIG + 4 * index] >> 16 & 3)

    def task_set(self, index: int) -> None:
        self._drive(index, RISING)

    def task_clr(self, index: int) -> None:
        self._drive(index, FALLING)

    def write_config(self, index: int, value: int) -> None:
        self.regs[_CONFIG + 4 * index] = value
        if value & 3 == MODE_TASK:
            self.gpio.write_dirset(1 << (value >> 8 & 0x1F))
            self._drive(index, RISING if value >> 20 & 1 else FALLING)

    def pins_changed(self, before: int, after: int) -> None:
        """Raises IN for each edge between two sets of levels, and PORT if DETECT has risen."""
        for index in range(CHANNELS):
            pin = self._pin(index, MODE_EVENT)
            if pin is None or not (before ^ after) >> pin & 1:
                continue
            polarity = self.regs[_CONFIG + 4 * index] >> 16 & 3
            if polarity & (RISING if after >> pin & 1 else FALLING):
                self.event(f"IN[{index}]")
        port = self.gpio.detect
        if port and not self.port:
            self.event("PORT")
        self.port = port
