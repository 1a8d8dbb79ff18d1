"""What an image of two worlds did in one of its scenarios (tests/firmware/worlds)."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from harness.elf import Image
from harness.simulator.machine import Machine

SOURCES = Path(__file__).resolve().parents[1] / "firmware" / "worlds"
SCENARIO = 0x2000_3FF0
FTYPE = 0x10  # of EXC_RETURN: no floating-point frame. What the compiler cleared makes it one.


@dataclass
class Played:
    """A scenario that ran, and the variables of both images after it."""

    machine: Machine

    def words(self, name: str, count: int = 1) -> list[int]:
        symbol = self.machine.firmware.symbol(name)
        assert symbol is not None, name
        return list(
            struct.unpack(f"<{count}I", self.machine.read_memory(symbol.address, 4 * count))
        )

    def word(self, name: str) -> int:
        return self.words(name)[0]

    @property
    def results(self) -> list[int]:
        return self.words("results", 16)

    @property
    def done(self) -> bool:
        return bool(self.word("done"))

    @property
    def secure_fault(self) -> tuple[int, int, int, int]:
        """SFSR, SFAR, EXC_RETURN and exception number as the secure handler found them."""
        sfsr, sfar, _, _, link, number = self.words("secure:fault", 6)
        return sfsr, sfar, link | FTYPE, number


def scenario(name: str) -> int:
    """The number of a scenario, as worlds.h has it."""
    text = (SOURCES / "worlds.h").read_text()
    names = text.partition("enum Scenario {")[2].partition("}")[0].replace("= 1", "").split(",")
    return [one.strip() for one in names].index(name) + 1


def machine_for(firmware: Image, name: str, operand: int = 0) -> Machine:
    machine = Machine(firmware)
    machine.write_memory(SCENARIO, struct.pack("<2I", scenario(name), operand))
    return machine
