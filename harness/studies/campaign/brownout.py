"""Brown-outs: a power-fail warning, some more instructions, a reset, and RAM partly lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Self

from harness.simulator import Machine

#: Instructions from the warning to the reset, at most: a millisecond.
_LONGEST_WARNING = 64_000
#: The lost share of RAM's bits is 1, 1/2, 1/4, ... with fewer than so many halvings.
_HALVINGS = 5


@dataclass(frozen=True)
class BrownOut:
    """One failure of the supply; everything about it follows from its seed.

    1 / 2 ** ``halvings`` of RAM's bits are lost: each then has a random value.
    """

    seed: int
    warning: int  # instructions that still run
    halvings: int

    @classmethod
    def of(cls, seed: int) -> Self:
        """The brown-out of a seed."""
        random = Random(f"brown-out {seed}")
        return cls(seed, random.randrange(_LONGEST_WARNING), random.randrange(_HALVINGS))

    @property
    def name(self) -> str:
        """The part of RAM that is lost, in words."""
        return f"1/{2**self.halvings} of RAM" if self.halvings else "all of RAM"

    def left_of(self, ram: bytes) -> bytes:
        """The content of RAM afterwards."""
        random = Random(f"RAM {self.seed}")
        bits = 8 * len(ram)
        lost = (1 << bits) - 1
        for _ in range(self.halvings):
            lost &= random.getrandbits(bits)
        before = int.from_bytes(ram, "little")
        return (before & ~lost | random.getrandbits(bits) & lost).to_bytes(len(ram), "little")


def brown_out(machine: Machine, seed: int) -> None:
    """Warn the image, run on for as long as the supply lasts, reset."""
    failure = BrownOut.of(seed)
    machine.warn_of_power_failure()
    machine.run(
        until_executed=machine.core.executed + failure.warning,
        until_tick=machine.now + failure.warning,
    )
    ram = machine.memory_map.area("ram")
    machine.brown_out(failure.left_of(machine.read_memory(ram.origin, ram.size)))
