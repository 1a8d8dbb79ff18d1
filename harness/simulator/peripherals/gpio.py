"""GPIO port P0 with 32 pins (nRF9160 PS, "GPIO"). The host can drive inputs and watch outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Chip, Device, Register

PINS = 32
OUT, DIR, LATCH, DETECTMODE, PIN_CNF = 0x004, 0x014, 0x020, 0x024, 0x200
_MASK = 0xFFFF_FFFF
#: PIN_CNF.INPUT: the input buffer is disconnected (the reset value).
_DISCONNECT = 1 << 1
_PULL_UP = 3
_SENSE_HIGH, _SENSE_LOW = 2, 3

#: Called with the levels of all pins before and after a change, one bit each.
Listener = Callable[[int, int], None]


class Gpio(Device):
    """Outputs, directions, inputs, SENSE with LATCH, and the DETECT signal."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(OUT, "OUT"),
        Register(0x008, "OUTSET"),
        Register(0x00C, "OUTCLR"),
        Register(0x010, "IN", access="r"),
        Register(DIR, "DIR"),
        Register(0x018, "DIRSET"),
        Register(0x01C, "DIRCLR"),
        Register(LATCH, "LATCH"),
        Register(DETECTMODE, "DETECTMODE"),
        Register(0x028, "DETECTMODE_SEC"),
        Register(PIN_CNF, "PIN_CNF", _DISCONNECT, count=PINS),
    )
    STATE: ClassVar[tuple[str, ...]] = ("driven", "levels")

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        self.driven = 0  # pins that the host drives, one bit each
        self.levels = 0  # levels of the driven pins, one bit each
        self.listeners: list[Listener] = []
        super().__init__(chip, block)

    @property
    def pads(self) -> int:
        """Levels of all pins, driven by the host, by OUT or by a pull resistor; one bit each."""
        pulled = sum(1 << n for n in range(PINS) if self._config(n) >> 2 & 3 == _PULL_UP)
        outputs = self.regs[DIR]
        level = pulled & ~outputs | self.regs[OUT] & outputs
        return (level & ~self.driven | self.levels & self.driven) & _MASK

    def read_in(self) -> int:
        """Levels of the pins whose input buffer is connected; 0 for the others."""
        connected = sum(1 << n for n in range(PINS) if not self._config(n) & _DISCONNECT)
        return self.pads & connected

    @property
    def detect(self) -> bool:
        """The DETECT signal to GPIOTE: a pin is at its SENSE level; with DETECTMODE = 1, a bit of
        LATCH is set."""
        return bool(self.regs[LATCH] if self.regs[DETECTMODE] & 1 else self._sensed())

    def _config(self, pin: int) -> int:
        return self.regs[PIN_CNF + 4 * pin]

    def _sensed(self) -> int:
        """The pins at their SENSE level, one bit each."""
        level, found = self.read_in(), 0
        for pin in range(PINS):
            sense = self._config(pin) >> 16 & 3
            high = level >> pin & 1
            if (sense == _SENSE_HIGH and high) or (sense == _SENSE_LOW and not high):
                found |= 1 << pin
        return found

    def drive(self, pin: int, level: bool | None) -> None:
        """Drives ``pin`` from the host; None releases it."""
        before = self.pads
        self.driven = self.driven & ~(1 << pin) | (level is not None) << pin
        self.levels = self.levels & ~(1 << pin) | bool(level) << pin
        self._changed(before)

    def _changed(self, before: int) -> None:
        self.regs[LATCH] |= self._sensed()
        after = self.pads
        for listener in self.listeners:
            listener(before, after)
        self.chip.pins_sensed()

    def _set(self, offset: int, value: int) -> None:
        before = self.pads
        self.regs[offset] = value & _MASK
        self._changed(before)

    def write_out(self, value: int) -> None:
        self._set(OUT, value)

    def write_outset(self, value: int) -> None:
        self._set(OUT, self.regs[OUT] | value)

    def write_outclr(self, value: int) -> None:
        self._set(OUT, self.regs[OUT] & ~value)

    def write_dir(self, value: int) -> None:
        for pin in range(PINS):
            offset = PIN_CNF + 4 * pin
            self.regs[offset] = self.regs[offset] & ~1 | value >> pin & 1
        self._set(DIR, value)

    def write_dirset(self, value: int) -> None:
        self.write_dir(self.regs[DIR] | value)

    def write_dirclr(self, value: int) -> None:
        self.write_dir(self.regs[DIR] & ~value)

    def write_pin_cnf(self, index: int, value: int) -> None:
        before = self.pads
        self.regs[PIN_CNF + 4 * index] = value
        self.regs[DIR] = self.regs[DIR] & ~(1 << index) | (value & 1) << index
        self._changed(before)

    def write_detectmode(self, value: int) -> None:
        self.regs[DETECTMODE] = value & 1
        self._changed(self.pads)

    def read_outset(self) -> int:
        return self.regs[OUT]

    read_outclr = read_outset

    def read_dirset(self) -> int:
        return self.regs[DIR]

    read_dirclr = read_dirset

    def write_latch(self, value: int) -> None:
        """Clears the bits that are written as ones; a pin still at its SENSE level latches anew."""
        self.regs[LATCH] &= ~value
        for listener in self.listeners:  # a falling edge of DETECT before it may rise again
            listener(self.pads, self.pads)
        self._changed(self.pads)
