"""NVMC: writing and erasing flash and UICR (nRF9160 PS, "NVMC"); KMU shares the block.

The chapter's text is that of the nRF5340 PS, "NVMC", whose controller has the same registers; sizes
of access are from "nRF91 Series Production Programming", "Programming the application core".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from harness.base.debug_access import (
    ERASE,
    NVMC_CONFIG,
    NVMC_ERASEALL,
    PARTIAL_ERASE,
    WRITE,
)  # fmt: skip
from harness.base.findings import Kind
from harness.base.platforms import Area, Peripheral
from harness.simulator.peripherals.base import Chip, Device, Register

_READY, _READYNEXT, _CONFIGNS, _DURATION = 0x400, 0x408, 0x584, 0x51C
_ONES = 0xFFFF_FFFF


class Nvmc(Device):
    """Writes words and erases pages as the bus asks for it, and takes its time.

    While it works, the core stands if it runs from flash; from RAM it goes on, and its next store
    to flash waits. READYNEXT is READY: no write is buffered.
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(_READY, "READY", 1, access="r"),
        Register(_READYNEXT, "READYNEXT", 1, access="r"),
        Register(0x500, "KMU_SELECTKEYSLOT"),
        Register(NVMC_CONFIG, "CONFIG"),
        Register(NVMC_ERASEALL, "ERASEALL", access="w"),
        Register(_DURATION, "ERASEPAGEPARTIALCFG", 0xA),
        Register(0x540, "ICACHECNF"),
        Register(0x548, "IHIT"),
        Register(0x54C, "IMISS"),
        Register(_CONFIGNS, "CONFIGNS"),
        Register(0x588, "WRITEUICRNS", access="w"),
    )
    STATE: ClassVar[tuple[str, ...]] = ("busy_until", "stalled_until", "writes", "partial")

    def __init__(self, chip: Chip, block: Peripheral) -> None:
        #: Writes since the last erase, by address of the word; flash outlives a reset.
        self.writes: dict[int, int] = {}
        #: Microseconds of partial erases, by page.
        self.partial: dict[int, int] = {}
        #: What memory holds once the instruction is finished: address and bytes.
        self.mends: list[tuple[int, bytes]] = []
        #: Asked before each write and erase: is there power for it? If not, memory stays as it is.
        self.powered: Callable[[], bool] = lambda: True
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        #: Until these ticks it works, and the core stands.
        self.busy_until = self.stalled_until = 0

    def mode_of(self, *, nonsecure: bool) -> int:
        """What CONFIG, or CONFIGNS, allows: READ, WRITE, ERASE, PARTIAL_ERASE or nonsense."""
        return self.regs[_CONFIGNS] & 3 if nonsecure else self.regs[NVMC_CONFIG] & 7

    def store(self, area: Area, address: int, size: int, value: int, old: int, mode: int) -> bool:
        """A store of the processor to flash or UICR, of a word that holds ``old``.

        False if it is a bus fault.
        """
        if mode not in (WRITE, ERASE, PARTIAL_ERASE) or (mode != WRITE and area.name != "flash"):
            return False
        if size != 4 or address & 3:
            self._misused(address, f"{8 * size} bits were stored at once: only words can be")
            return False
        if mode == WRITE:
            self._write(address, value, old)
        elif value != _ONES or address % self._page:
            why = (
                f"0x{value:x} at 0x{address:08x} erases nothing: only 0xffffffff in the first word"
            )
            self._misused(address, why + " of a page does")
            self._mend(address, old.to_bytes(4, "little"))
        elif not self.powered():
            self._mend(address, old.to_bytes(4, "little"))
        elif mode == ERASE:
            self._erase_page(address, self.chip.memory_map.flash.erase_page_us)
        else:
            self._erase_page(address, 1000 * (self.regs[_DURATION] & 0x7F))
        return True

    @property
    def _page(self) -> int:
        return self.chip.memory_map.flash.page

    def _misused(self, address: int, message: str) -> None:
        self.chip.report(
            Kind.FLASH_MISUSE, f"0x{address:08x}", f"flash at 0x{address:08x}: {message}"
        )

    def _write(self, address: int, value: int, old: int) -> None:
        flash = self.chip.memory_map.flash
        if not self.powered():
            self._mend(address, old.to_bytes(4, "little"))
            return
        held = old & value
        wanted, got = value.to_bytes(4, "little"), held.to_bytes(4, "little")
        if any(byte not in (0xFF, got[at]) for at, byte in enumerate(wanted)):
            self.chip.report(
                Kind.FLASH_OVERWRITTEN,
                f"0x{address:08x}",
                f"flash at 0x{address:08x} held 0x{old:x}, 0x{value:x} was written, and it holds"
                f" 0x{held:x}: a write only clears bits, an erase sets them",
            )
        if value != _ONES:  # which programs nothing
            count = self.writes.get(address, int(old != _ONES)) + 1
            self.writes[address] = count
            if count > flash.writes_per_word:
                self._misused(
                    address,
                    f"written {count} times without an erase: a word takes {flash.writes_per_word}"
                    " writes (nWRITE)",
                )
        self._mend(address, held.to_bytes(4, "little"))
        self._work(flash.write_us)

    def _erase_page(self, page: int, microseconds: int) -> None:
        """Partial erases of a page add up; until they are enough, its content is kept here."""
        flash = self.chip.memory_map.flash
        done = self.partial.pop(page, 0) + microseconds
        self._work(microseconds)
        if done // 1000 < flash.erase_page_us // 1000:
            self.partial[page] = done
            first = self.chip.flash_word(page)
            self._mend(page, first.to_bytes(4, "little"))
            return
        for address in range(page, page + flash.page, 4):
            self.writes.pop(address, None)
        self._mend(page, b"\xff" * flash.page)

    def write_eraseall(self, value: int) -> None:
        """Flash and UICR (nRF5340 PS, "Erase all")."""
        if not value & 1:
            return
        if self.mode_of(nonsecure=False) != ERASE:
            self.chip.report(
                Kind.FLASH_MISUSE,
                "NVMC.ERASEALL",
                "NVMC.ERASEALL erases nothing: CONFIG does not enable it",
            )
            return
        if not self.powered():
            return
        self.writes.clear()
        self.partial.clear()
        for name in ("flash", "uicr"):
            area = self.chip.memory_map.area(name)
            self._mend(area.origin, b"\xff" * area.size)
        self._work(self.chip.memory_map.flash.erase_all_us)

    def _mend(self, address: int, data: bytes) -> None:
        self.mends.append((address, data))
        self.chip.stop()

    def _work(self, microseconds: int) -> None:
        """Be busy; an operation begins when the one before it has ended."""
        begin = max(self.chip.now, self.busy_until)
        self.busy_until = begin + microseconds * self.chip.memory_map.cpu_hz // 1_000_000
        in_flash = self.chip.memory_map.area("flash").holds(self.chip.pc)
        self.stalled_until = self.busy_until if in_flash else begin
        self.regs[_READY] = self.regs[_READYNEXT] = 0
        self.chip.schedule(self.name, "ready", self.busy_until)

    def fire(self, tag: str) -> None:
        self.regs[_READY] = self.regs[_READYNEXT] = 1


class ProtectedNvmc(Nvmc):
    """With APPROTECT of the nRF9120 in the same block (nrf9120.svd of Nordic's MDK): storage."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *Nvmc.REGISTERS,
        Register(0xE00, "SECUREAPPROTECT_DISABLE", 1),
        Register(0xE10, "APPROTECT_DISABLE", 1),
    )
