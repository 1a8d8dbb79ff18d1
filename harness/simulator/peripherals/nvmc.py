"""NVMC: writing and erasing flash and UICR (nRF9160 PS, "NVMC"); KMU shares the block."""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.peripherals.base import Device, Register

WRITE, ERASE = 1, 2  # CONFIG; all else is read only
PAGE = 0x1000


class Nvmc(Device):
    """Always ready; the bus calls :meth:`mode_of` for each store to flash."""

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
        """The running code's access to flash: WRITE, ERASE, or another value for neither.

        For secure code CONFIGNS counts if CONFIG is zero: a non-secure image that runs alone sets
        only CONFIGNS.
        """
        of_nonsecure = self.regs[0x584] & 3
        return of_nonsecure if nonsecure else self.regs[0x504] & 7 or of_nonsecure

    def write_eraseall(self, value: int) -> None:
        """Erasing everything, if CONFIG allows it, is not modelled."""
        if value & 1 and self.mode_of(nonsecure=False) == ERASE:
            self.chip.unmodelled("NVMC.ERASEALL", "triggered (the running image would be gone)")
