"""NVMC: writing and erasing flash and UICR (nRF9160 PS, "NVMC"); KMU shares the block."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Device, Register

WRITE, ERASE = 1, 2  # CONFIG; all else is read only
PAGE = 0x1000


class Nvmc(Device):
    """Always ready; what CONFIG allows, the chip's flash stores ask :attr:`mode`."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x400, "READY", 1, access="r"),
        Register(0x408, "READYNEXT", 1, access="r"),
        Register(0x500, "KMU_SELECTKEYSLOT"),
        Register(0x504, "CONFIG"),
        Register(0x50C, "ERASEALL", access="w"),
        Register(0x51C, "ERASEPAGEPARTIALCFG", 0xA),
        Register(0x540, "ICACHECNF"),
        Register(0x548, "IHIT"),
        Register(0x54C, "IMISS"),
        Register(0x584, "CONFIGNS"),
        Register(0x588, "WRITEUICRNS", access="w"),
    )

    def mode_of(self, *, nonsecure: bool) -> int:
        """WRITE, ERASE or another value, for the code that runs.

        Secure code goes by both settings: a non-secure image that runs alone has only its own.
        """
        of_nonsecure = self.regs[0x584] & 3
        return of_nonsecure if nonsecure else self.regs[0x504] & 7 or of_nonsecure

    def write_eraseall(self, value: int) -> None:
        """Erases everything while CONFIG allows it."""
        if value & 1 and self.mode_of(nonsecure=False) == ERASE:
            self.chip.unmodelled("NVMC.ERASEALL", "triggered (the running image would be gone)")
