"""NVMC: writing and erasing flash and UICR (nRF9160 PS, "NVMC"); KMU shares the block.

Sources: nRF5340 PS, "NVMC", whose controller has the same registers; for access sizes "nRF91 Series
Production Programming", "Programming the application core".
"""

from __future__ import annotations

from typing import ClassVar

from harness.base.debug_access import (
    ERASE,
    NVMC_CONFIG,
    NVMC_ERASEALL,
    PARTIAL_ERASE,
)  # fmt: skip
from harness.base.debug_access import WRITE as WRITE_MODE
from harness.base.findings import Kind
from harness.base.platforms import Area, Peripheral
from harness.simulator.peripherals.base import Chip, Device, Register

_READY, _READYNEXT, _CONFIGNS, _DURATION = 0x400, 0x408, 0x584, 0x51C
_ONES = 0xFFFF_FFFF


class Nvmc(Device):
    """Writes words and erases pages, with the durations of the chip's table.

    During an operation, code in flash is stalled; code in RAM continues until its next store to
    flash. READYNEXT equals READY: no write is buffered.
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
        #: Number of writes since the last erase, by address of the word. Kept over a reset.
        self.writes: dict[int, int] = {}
        #: Duration of the partial erases so far in microseconds, by address of the page.
        self.partial: dict[int, int] = {}
        #: Address and content of memory to store after the current instruction.
        self.pending_stores: list[tuple[int, bytes]] = []
        super().__init__(chip, block)

    def reset(self) -> None:
        super().reset()
        #: Ticks at which the current operation and the core's stall end.
        self.busy_until = self.stalled_until = 0

    def mode_of(self, *, nonsecure: bool) -> int:
        """The mode in CONFIG or CONFIGNS: READ, WRITE, ERASE, PARTIAL_ERASE or a reserved value."""
        return self.regs[_CONFIGNS] & 3 if nonsecure else self.regs[NVMC_CONFIG] & 7

    def store(self, area: Area, address: int, size: int, value: int, old: int, mode: int) -> bool:
        """Carries out a store of the processor to flash or UICR; False if it is a bus fault.

        ``size`` is in bytes, ``old`` the current value of the word, ``mode`` as :meth:`mode_of`.
        """
        if mode not in (WRITE_MODE, ERASE, PARTIAL_ERASE) or (
            mode != WRITE_MODE and area.name != "flash"
        ):
            return False
        if size != 4 or address & 3:
            self._misused(address, f"a store of {8 * size} bits; only aligned words can be written")
            return False
        if mode == WRITE_MODE:
            self._write_word(address, value, old)
        elif value != _ONES or address % self._page:
            self._misused(
                address,
                f"a store of 0x{value:x} erases nothing; a page is erased by 0xffffffff to its"
                " first word",
            )
            self._store_later(address, old.to_bytes(4, "little"))
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

    def _write_word(self, address: int, value: int, old: int) -> None:
        flash = self.chip.memory_map.flash
        result = old & value
        if any(value >> n & 0xFF not in (0xFF, result >> n & 0xFF) for n in range(0, 32, 8)):
            self.chip.report(
                Kind.FLASH_OVERWRITTEN,
                f"0x{address:08x}",
                f"flash at 0x{address:08x} held 0x{old:x}, 0x{value:x} was written, and it holds"
                f" 0x{result:x}: a write only clears bits, an erase sets them",
            )
        if value != _ONES:  # ones program no bits, and do not count as a write
            count = self.writes.get(address, int(old != _ONES)) + 1
            self.writes[address] = count
            if count > flash.writes_per_word:
                self._misused(
                    address,
                    f"written {count} times without an erase: a word takes {flash.writes_per_word}"
                    " writes (nWRITE)",
                )
        self._store_later(address, result.to_bytes(4, "little"))
        self._start_operation(flash.write_us)

    def _erase_page(self, page: int, microseconds: int) -> None:
        """Erases a page once the durations of its partial erases add up to a whole erase."""
        flash = self.chip.memory_map.flash
        done = self.partial.pop(page, 0) + microseconds
        self._start_operation(microseconds)
        if done // 1000 < flash.erase_page_us // 1000:
            self.partial[page] = done
            first = self.chip.flash_word(page)
            self._store_later(page, first.to_bytes(4, "little"))
            return
        for address in range(page, page + flash.page, 4):
            self.writes.pop(address, None)
        self._store_later(page, b"\xff" * flash.page)

    def write_eraseall(self, value: int) -> None:
        """Erases flash and UICR (nRF5340 PS, "Erase all")."""
        if not value & 1:
            return
        if self.mode_of(nonsecure=False) != ERASE:
            self.chip.report(
                Kind.FLASH_MISUSE,
                "NVMC.ERASEALL",
                "NVMC.ERASEALL erases nothing: CONFIG does not enable it",
            )
            return
        self.writes.clear()
        self.partial.clear()
        for name in ("flash", "uicr"):
            area = self.chip.memory_map.area(name)
            self._store_later(area.origin, b"\xff" * area.size)
        self._start_operation(self.chip.memory_map.flash.erase_all_us)

    def _store_later(self, address: int, data: bytes) -> None:
        self.pending_stores.append((address, data))
        self.chip.stop()

    def _start_operation(self, microseconds: int) -> None:
        """Sets the controller busy; an operation starts when the one before it has ended."""
        begin = max(self.chip.now, self.busy_until)
        self.busy_until = begin + microseconds * self.chip.memory_map.cpu_hz // 1_000_000
        in_flash = self.chip.memory_map.area("flash").holds(self.chip.pc)
        self.stalled_until = self.busy_until if in_flash else begin
        self.regs[_READY] = self.regs[_READYNEXT] = 0
        self.chip.schedule(self.name, "ready", self.busy_until)

    def fire(self, tag: str) -> None:
        self.regs[_READY] = self.regs[_READYNEXT] = 1


class ProtectedNvmc(Nvmc):
    """NVMC with the APPROTECT registers of the nRF9120, as storage (nrf9120.svd, Nordic's MDK)."""

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *Nvmc.REGISTERS,
        Register(0xE00, "SECUREAPPROTECT_DISABLE", 1),
        Register(0xE10, "APPROTECT_DISABLE", 1),
    )
