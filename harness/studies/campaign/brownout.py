"""Brown-outs: a power-fail warning, some more instructions, a reset, and RAM partly lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Self

from harness.simulator import Machine

#: Largest number of instructions from warning to reset: one millisecond at 64 MHz.
_LONGEST_WARNING = 64_000
#: Number of possible shares of lost bits: 1, 1/2, 1/4, 1/8, 1/16.
_SHARES = 5


@dataclass(frozen=True)
class BrownOut:
    """A failure of the supply, derived from its seed.

    A share of 1 / 2 ** ``halvings`` of RAM's bits is lost: they get random values.
    """

    seed: int
    warning: int  # instructions from the warning to the reset
    halvings: int

    @classmethod
    def of(cls, seed: int) -> Self:
        """The brown-out of a seed."""
        random = Random(f"brown-out {seed}")
        return cls(seed, random.randrange(_LONGEST_WARNING), random.randrange(_SHARES))

    @property
    def name(self) -> str:
        """The lost share of RAM, in words."""
        return f"1/{2**self.halvings} of RAM" if self.halvings else "all of RAM"

    def corrupt(self, ram: bytes) -> bytes:
        """The contents of RAM after the brown-out."""
        random = Random(f"RAM {self.seed}")
        bits = 8 * len(ram)
        lost = (1 << bits) - 1
        for _ in range(self.halvings):
            lost &= random.getrandbits(bits)
        before = int.from_bytes(ram, "little")
        return (before & ~lost | random.getrandbits(bits) & lost).to_bytes(len(ram), "little")


def brown_out(machine: Machine, seed: int) -> None:
    """Warn the image, run on until the supply fails, lose a share of RAM's bits, reset."""
    failure = BrownOut.of(seed)
    machine.warn_of_power_failure()
    machine.run(
        until_executed=machine.core.executed + failure.warning,
        until_tick=machine.now + failure.warning,
    )
    ram = machine.memory_map.area("ram")
    machine.brown_out(failure.corrupt(machine.read_memory(ram.origin, ram.size)))
