"""Brown-outs: a warning of power failure, some instructions more, a reset, RAM partly lost."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Self

from harness.simulator import Machine, supply

#: Instructions from the warning to the reset, at most: a millisecond.
_LONGEST_WARNING = 64_000
#: A half of RAM's bits is lost, or a half of that half ..., or all of them.
_HALVINGS = 5


@dataclass(frozen=True)
class BrownOut:
    """One failure of the supply; all of it follows from its seed.

    1 / 2 ** ``halvings`` of RAM's bits are lost: each then holds what chance put there.
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
        """What is lost, in words."""
        return f"1/{2**self.halvings} of RAM" if self.halvings else "all of RAM"

    def what_is_left(self, ram: bytes) -> bytes:
        """The content of RAM after it."""
        random = Random(f"RAM {self.seed}")
        bits = 8 * len(ram)
        lost = (1 << bits) - 1
        for _ in range(self.halvings):
            lost &= random.getrandbits(bits)
        before = int.from_bytes(ram, "little")
        return (before & ~lost | random.getrandbits(bits) & lost).to_bytes(len(ram), "little")


def brown_out(machine: Machine, seed: int) -> None:
    """Warn, run on for as long as the supply lasts, reset."""
    what = BrownOut.of(seed)
    supply.warn(machine)
    machine.run(
        until_executed=machine.core.executed + what.warning, until_tick=machine.now + what.warning
    )
    ram = machine.memory_map.area("ram")
    supply.brown_out(machine, what.what_is_left(machine.read_memory(ram.origin, ram.size)))
