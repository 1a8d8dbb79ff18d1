"""The memory protection unit (Armv8-M ARM, B9 and D1.2, MPU_*), as the processor's microcode asks.

The registers and what they allow are the counting core's (:class:`harness.simulator._native.Mpu`);
loads, stores and fetches of instructions are checked by Unicorn's MPU, which the core is told of by
``Core.synchronize``: a region that covers whole pages costs nothing, the pages in which one ends
some 0.1 us an access. This module answers for exception frames that are out of the ordinary, and
for TT.

Changes of MPU_CTRL come into force with the instruction, those of regions with the next block of
code: before the next ISB, where the architecture promises it, and after no more than a few
instructions, as on the chip. Zephyr 3.1 uses a stack before any barrier.

Each security state has an MPU of its own; the one of the state that runs is in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.simulator._native import Core
    from harness.simulator._native import Mpu as Registers

ENABLE, HFNMIENA = 1, 2
#: Bits of TT's answer: readable, writable.
TT_READ, TT_WRITE = 1 << 18, 1 << 19
#: Bytes of the smallest region.
GRANULE = 32


class Mpu:
    """The MPU of one security state."""

    def __init__(self, registers: Registers, core: Core) -> None:
        self._core = core
        self.registers = registers

    @property
    def enabled(self) -> bool:
        """MPU_CTRL.ENABLE."""
        return bool(self.registers.ctrl & ENABLE)

    @property
    def checks(self) -> bool:
        """True where accesses are checked: enabled, and not off because of the priority."""
        exempt = self._core.mpu_negative and not self.registers.ctrl & HFNMIENA
        return self.enabled and not exempt

    def allows_all(self, address: int, size: int, *, write: bool, privileged: bool) -> bool:
        """True where each of ``size`` bytes passes, the MPU being enabled and in force."""
        places = [address, *range((address & -GRANULE) + GRANULE, address + size, GRANULE)]
        return all(self.registers.allows(place, write, privileged) for place in places)

    def test_target(self, address: int, *, privileged: bool) -> int:
        """This MPU's part of what TT answers: MREGION, MRVALID, R, RW (Armv8-M ARM, TT)."""
        if not self.enabled:
            return TT_READ | TT_WRITE
        answer = TT_READ if self.registers.allows(address, False, privileged) else 0
        answer |= TT_WRITE if self.registers.allows(address, True, privileged) else 0
        number = self.registers.region_at(address)
        return answer | 1 << 16 | number if number >= 0 else answer

    def state(self) -> bytes:
        """What a snapshot keeps."""
        return self.registers.save()

    def restore(self, state: bytes) -> None:
        """Take back what :meth:`state` gave; ``Core.synchronize`` must follow."""
        self.registers.load(state)
