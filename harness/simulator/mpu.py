"""The memory protection unit (Armv8-M ARM, B9 and D1.2, MPU_*): exception frames, and TT.

The counting core holds the registers and their rules (:class:`harness.simulator._native.Mpu`).
Loads, stores and fetches are checked by Unicorn's own MPU, which ``Core.synchronize`` sets: a
region of whole pages costs nothing; in a page in which a region ends, each access takes about
0.1 us more. This module answers for TT, and for exception frames that the core leaves to Python.

Changes of MPU_CTRL take effect with the instruction, those of regions with the next block of code:
before the next ISB, as the architecture promises, and after a few instructions at most, as on the
chip. Zephyr 3.1 uses a stack before any barrier.

Each security state has its own MPU; the one of the running state is in force.
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
        """True if accesses are checked: the MPU is on, and the priority does not switch it off."""
        exempt = self._core.mpu_negative and not self.registers.ctrl & HFNMIENA
        return self.enabled and not exempt

    def allows_all(self, address: int, size: int, *, write: bool, privileged: bool) -> bool:
        """True if each of ``size`` bytes may be accessed while the MPU is in force."""
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
