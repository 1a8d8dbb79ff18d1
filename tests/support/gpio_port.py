"""Port P0 of a chip, register by register (nRF9160 PS, "GPIO")."""

from __future__ import annotations

import pytest
from bare_chip import BareChip, Peripheral

from harness.simulator.peripherals.gpio import PIN_CNF, Gpio

IN, OUTSET, DIRSET = 0x010, 0x008, 0x018
PULL_UP, SENSE_HIGH = 3 << 2, 2 << 16


P0, GPIOTE = 0x5084_2500, 0x5000_D000
OUT, OUTCLR, DIR, DIRCLR = 0x004, 0x00C, 0x014, 0x01C
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
