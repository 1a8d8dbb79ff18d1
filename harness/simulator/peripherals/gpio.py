"""P0: the 32 pins (nRF9160 PS, "GPIO"). The host drives inputs; outputs can be watched."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.simulator.memorymap import Block
from harness.simulator.peripherals.base import Chip, Device, Register

PINS = 32
_MASK = 0xFFFF_FFFF


class Gpio(Device):
    """Output latch, direction, inputs and LATCH by SENSE."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x004, "OUT"),
        Register(0x008, "OUTSET"),
        Register(0x00C, "OUTCLR"),
        Register(0x010, "IN", access="r"),
        Register(0x014, "DIR"),
        Register(0x018, "DIRSET"),
        Register(0x01C, "DIRCLR"),
        Register(0x020, "LATCH"),
        Register(0x024, "DETECTMODE"),
        Register(0x028, "DETECTMODE_SEC"),
        Register(0x200, "PIN_CNF", 2, count=PINS),
    )
    STATE: ClassVar[tuple[str, ...]] = ("driven", "levels")

    def __init__(self, chip: Chip, block: Block) -> None:
        self.driven = 0  # pins that the host drives
        self.levels = 0  # and how
        self.on_change: Callable[[int, int], None] = _nobody  # (levels before, levels after)
        super().__init__(chip, block)

    def read_in(self) -> int:
        """Levels at all pins: driven by the host, by OUT, or by the pull resistor."""
        pulled = sum(1 << n for n in range(PINS) if self.regs[0x200 + 4 * n] >> 2 & 3 == 3)
        outputs = self.regs[0x014]
        level = pulled & ~outputs | self.regs[0x004] & outputs
        return (level & ~self.driven | self.levels & self.driven) & _MASK

    def drive(self, pin: int, level: bool | None) -> None:
        """The host drives ``pin``; None lets it go."""
        before = self.read_in()
        self.driven = self.driven & ~(1 << pin) | (level is not None) << pin
        self.levels = self.levels & ~(1 << pin) | bool(level) << pin
        self._changed(before)

    def _changed(self, before: int) -> None:
        after = self.read_in()
        for n in range(PINS):
            sense = self.regs[0x200 + 4 * n] >> 16 & 3
            level = after >> n & 1
            if (sense == 2 and level) or (sense == 3 and not level):
                self.regs[0x020] |= 1 << n
        if before != after:
            self.on_change(before, after)

    def _set(self, offset: int, value: int) -> None:
        before = self.read_in()
        self.regs[offset] = value & _MASK
        self._changed(before)

    def write_out(self, value: int) -> None:
        self._set(0x004, value)

    def write_outset(self, value: int) -> None:
        self._set(0x004, self.regs[0x004] | value)

    def write_outclr(self, value: int) -> None:
        self._set(0x004, self.regs[0x004] & ~value)

    def write_dir(self, value: int) -> None:
        self._set(0x014, value)
        for n in range(PINS):
            offset = 0x200 + 4 * n
            self.regs[offset] = self.regs[offset] & ~1 | value >> n & 1

    def write_dirset(self, value: int) -> None:
        self.write_dir(self.regs[0x014] | value)

    def write_dirclr(self, value: int) -> None:
        self.write_dir(self.regs[0x014] & ~value)

    def write_pin_cnf(self, index: int, value: int) -> None:
        before = self.read_in()
        self.regs[0x200 + 4 * index] = value
        self.regs[0x014] = self.regs[0x014] & ~(1 << index) | (value & 1) << index
        self._changed(before)

    def read_outset(self) -> int:
        return self.regs[0x004]

    read_outclr = read_outset

    def read_dirset(self) -> int:
        return self.regs[0x014]

    read_dirclr = read_dirset

    def write_latch(self, value: int) -> None:
        """Writing ones clears."""
        self.regs[0x020] &= ~value


def _nobody(_before: int, _after: int) -> None:
    """No GPIOTE listens."""
