"""A snapshot of the core, from which its stacks are unwound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MSP, PSP = "MSP", "PSP"
#: CONTROL.SPSEL: thread mode uses PSP.
SPSEL = 1 << 1
#: Bytes of an exception's stack frame, and of one with S0 to S15; the bit of the stacked xPSR for a
#: word of padding above the frame.
FRAME, EXTENDED_FRAME, _PADDED = 0x20, 0x68, 1 << 9


def above_frame(frame: int, xpsr: int, size: int) -> int:
    """The stack pointer before an exception stacked the frame, whose ``xpsr`` is given."""
    return (frame + size + (4 if xpsr & _PADDED else 0)) & 0xFFFF_FFFF


@dataclass(frozen=True)
class MpuRegion:
    """An enabled region of the MPU, from ``first`` to ``last``, both inclusive."""

    number: int
    first: int
    last: int
    read_only: bool
    privileged: bool  # no other code has access
    never_executed: bool


@dataclass(frozen=True)
class CoreState:
    """Registers and memory; without TrustZone-M everything is of the secure state.

    ``registers``: r0 to r12, sp, lr, pc, xpsr. ``stacks``: the stack pointers by (state is
    non-secure, MSP or PSP). ``threads``: the stack pointer of thread mode by state. ``memory``:
    blocks of RAM as (address, bytes).
    """

    registers: tuple[int, ...]
    stacks: Mapping[tuple[bool, str], int] = field(default_factory=dict)
    threads: Mapping[bool, str] = field(default_factory=dict)
    nonsecure: bool = False
    divided: bool = False  # the core has two security states
    memory: tuple[tuple[int, bytes], ...] = field(default=(), repr=False)
    secure_floats: bool = False  # FPCCR.TS: frames of secure code include S16 to S31
    vectors: int | None = None  # VTOR of the state; None if it is not known
    mpu: tuple[MpuRegion, ...] = ()  # of the state; () if it is off, or not known

    def read(self, address: int, size: int) -> bytes | None:
        """``size`` bytes of RAM at ``address``; None if the snapshot does not have them."""
        for start, data in self.memory:
            if start <= address and address + size <= start + len(data):
                return data[address - start : address - start + size]
        return None

    def word(self, address: int) -> int | None:
        """The word at ``address``; None if the snapshot does not have it."""
        data = self.read(address, 4)
        return None if data is None else int.from_bytes(data, "little")
