"""Peripherals whose registers are divided between the security states: P0, DPPIC, NVMC.

Once such a peripheral is non-secure, each pin, channel or register belongs to one state. Those of
the secure state read as zero to non-secure code and ignore its writes (nRF9160 PS,
"Peripherals with split security", "GPIO", "DPPI", "NVMC").
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from harness.simulator.peripherals.base import Device


@dataclass(frozen=True)
class SplitRegisters:
    """How the registers of a peripheral are divided, by their offsets."""

    words: frozenset[int] = frozenset()  # one bit per pin or channel; a write replaces it
    actions: frozenset[int] = frozenset()  # the same, but only written ones have an effect
    items: range = range(0)  # one register per pin or channel
    secure: frozenset[int] = frozenset()  # for secure code alone


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
#: CONFIG and ERASEALL; non-secure code has CONFIGNS.
NVMC = SplitRegisters(secure=frozenset((0x500, 0x504, 0x50C, 0x51C, 0x540)))


class NonSecureView:
    """A split peripheral as non-secure code sees it; ``owned`` gives the bits that are its own."""

    def __init__(self, device: Device, sharing: SplitRegisters, owned: Callable[[], int]) -> None:
        self._device, self._sharing, self._owned = device, sharing, owned

    def _hides(self, offset: int) -> bool:
        sharing = self._sharing
        if offset in sharing.items:
            return not self._owned() >> sharing.items.index(offset) & 1
        return offset in sharing.secure

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        if self._hides(offset):
            return 0
        value = self._device.read(offset)
        bitwise = offset in self._sharing.words or offset in self._sharing.actions
        return value & self._owned() if bitwise else value

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        if self._hides(offset):
            return
        if offset in self._sharing.words:
            owned = self._owned()
            value = self._device.read(offset) & ~owned | value & owned
        elif offset in self._sharing.actions:
            value &= self._owned()
        self._device.write(offset, value)
