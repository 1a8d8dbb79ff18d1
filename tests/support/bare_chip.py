"""A whole nRF9160 that runs an endless loop: tests set registers and let time pass."""

from __future__ import annotations

import struct
from pathlib import Path

from elf_writer import MadeSection, write_elf

from harness.base.power_on import ZERO
from harness.elf import Image
from harness.simulator.machine import End, Machine
from harness.simulator.unicorn import Reg

HERE = 0xE7FE  # b .
STACK, CODE = 0x2001_0000, 0x2002_0000
#: A tick in which an edge of LFCLK lies: the 64th.
LFCLK_EDGE = 125_000
#: Where the vector table ends: every vector leads here, where the program waits.
LOOP = 4 * (16 + 65)


def endless_loop(path: Path, at: int = 0) -> Image:
    """An image whose reset and every exception end in ``b .``, written to ``path``."""
    loop = at + LOOP | 1
    vectors = struct.pack(f"<{16 + 65}I", STACK, *[loop] * (15 + 65))
    text = MadeSection(".text", at, vectors + struct.pack("<2H", HERE, HERE), load=at)
    path.write_bytes(write_elf([text], [], entry=loop))
    return Image.from_elf(path)


class BareChip:
    """The chip as secure privileged code sees it, unless a test changes that."""

    def __init__(self, firmware: Image, timing: str = "instructions") -> None:
        # Tests set what matters to them.
        self.machine = Machine(firmware, power_on=ZERO, timing=timing)
        self.machine.run(until_executed=1)

    def read(self, address: int, size: int = 4) -> int:
        """The value of a load; AssertionError if the chip refuses it."""
        value = self.machine.bus.access(0, address, size, 0)
        assert value is not None, f"0x{address:08x} cannot be read"
        return value & (1 << 8 * size) - 1

    def write(self, address: int, value: int, size: int = 4) -> None:
        """Store a value; AssertionError if the chip refuses it."""
        done = self.machine.bus.access(1, address, size, value)
        assert done is not None, f"0x{address:08x} cannot be written"

    def refuses(self, address: int, *, write: bool = False) -> bool:
        """Whether a load of a word, or a store, is refused."""
        return self.machine.bus.access(int(write), address, 4, 0) is None

    def divide(self) -> None:
        """The upper half of RAM is non-secure."""
        for region in range(16, 32):
            self.write(0x5000_3700 + 4 * region, 7)  # SPU.RAMREGION[n].PERM
        self.write(0xE000_EDD0, 2)  # SAU_CTRL.ALLNS

    def enter_nonsecure(self) -> None:
        """Read and write as non-secure code from now on."""
        self.machine.core.change_state()

    def start_lfclk(self) -> None:
        """LFCLK runs, and an edge of it lies in this very tick."""
        self.write(0x5000_5008, 1)  # CLOCK.TASKS_LFCLKSTART
        self.wait(LFCLK_EDGE - self.now)

    @property
    def now(self) -> int:
        """Ticks since power-on."""
        return self.machine.now

    def wait(self, ticks: int) -> None:
        """Let ``ticks`` pass."""
        self.machine.run(until_tick=self.machine.now + ticks)

    @property
    def running(self) -> int:
        """The number of the exception that runs, 0 in thread mode."""
        return self.machine.exception_number

    def words(self, address: int, count: int) -> list[int]:
        """Words of memory, as a debugger sees them."""
        return list(struct.unpack(f"<{count}I", self.machine.read_memory(address, 4 * count)))

    def play(self, *code: int, steps: int, at: int = CODE, **registers: int) -> End:
        """Run ``steps`` instructions of ``code`` (halfwords) in RAM, with these core registers."""
        machine = self.machine
        machine.write_memory(at, struct.pack(f"<{len(code) + 1}H", *code, HERE))
        for name, value in registers.items():
            machine.write_register(name, value)
        machine.core.write(Reg.PC, at | 1)
        return machine.run(until_executed=machine.core.executed + steps)


class Peripheral:
    """The registers of one peripheral by their offsets: ``timer[0x540] = 7``."""

    def __init__(self, chip: BareChip, base: int) -> None:
        self.chip, self.base = chip, base

    def __setitem__(self, offset: int, value: int) -> None:
        self.chip.write(self.base + offset, value)

    def __getitem__(self, offset: int) -> int:
        return self.chip.read(self.base + offset)
