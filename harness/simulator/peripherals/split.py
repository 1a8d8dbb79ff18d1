"""Peripherals with split security: P0, DPPIC, NVMC.

Each pin, channel or register of such a peripheral is secure or non-secure. To non-secure code the
secure ones read as zero and ignore writes (nRF9160 PS, "Peripherals with split security", "GPIO",
"DPPI", "NVMC").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.simulator.peripherals.base import Device


@dataclass(frozen=True)
class SplitRegisters:
    """Offsets of the registers of a split peripheral, by how they are divided."""

    words: frozenset[int] = frozenset()  # one bit per pin or channel
    actions: frozenset[int] = frozenset()  # one bit per pin or channel; zeros have no effect
    items: range = range(0)  # one register per pin or channel
    secure: frozenset[int] = frozenset()  # accessible to secure code only


GPIO = SplitRegisters(
    words=frozenset((0x004, 0x010, 0x014)),  # OUT, IN, DIR
    actions=frozenset((0x008, 0x00C, 0x018, 0x01C, 0x020)),  # OUTSET ... DIRCLR, LATCH
    items=range(0x200, 0x280, 4),  # PIN_CNF
    secure=frozenset((0x028,)),  # DETECTMODE_SEC
)
DPPI = SplitRegisters(
    words=frozenset((0x500, *range(0x800, 0x818, 4))),  # CHEN, CHG
    actions=frozenset((0x504, 0x508)),
)
#: Non-secure code uses CONFIGNS instead of CONFIG, and has no ERASEALL.
NVMC = SplitRegisters(secure=frozenset((0x500, 0x504, 0x50C, 0x51C, 0x540)))


class NonSecureView:
    """A split peripheral as non-secure code accesses it.

    ``nonsecure`` returns the non-secure pins or channels, one bit each.
    """

    def __init__(self, device: Device, split: SplitRegisters, nonsecure: Callable[[], int]) -> None:
        self._device, self._split, self._nonsecure = device, split, nonsecure

    def _hides(self, offset: int) -> bool:
        split = self._split
        if offset in split.items:
            return not self._nonsecure() >> split.items.index(offset) & 1
        return offset in split.secure

    def read(self, offset: int) -> int:
        """The word at ``offset``, with zeros for secure bits."""
        if self._hides(offset):
            return 0
        value = self._device.read(offset)
        bitwise = offset in self._split.words or offset in self._split.actions
        return value & self._nonsecure() if bitwise else value

    def write(self, offset: int, value: int) -> None:
        """Writes the word at ``offset``, except its secure bits."""
        if self._hides(offset):
            return
        if offset in self._split.words:
            mask = self._nonsecure()
            value = self._device.read(offset) & ~mask | value & mask
        elif offset in self._split.actions:
            value &= self._nonsecure()
        self._device.write(offset, value)
