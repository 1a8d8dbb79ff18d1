"""SPU: security of flash, RAM, peripherals, DPPI channels and pins (nRF9160 PS, "SPU").

The counting core applies it to the processor's accesses (``native/attribution.c``).
"""

from __future__ import annotations

from typing import ClassVar

from harness.base.platforms import Peripheral
from harness.simulator.peripherals.base import Nordic, Register, State

_EXTDOMAIN_PERM = 0x440
_DPPI_PERM, _DPPI_LOCK, _GPIO_PERM, _GPIO_LOCK = 0x480, 0x484, 0x4C0, 0x4C4
_NSC = {"flash": 0x500, "ram": 0x540}
_PERM = {"flash": 0x600, "ram": 0x700}
_PERIPHID = 0x800
SECATTR, DMASEC, LOCK, PRESENT = 1 << 4, 1 << 5, 1 << 8, 1 << 31
#: SECUREMAPPING and DMA of PERIPHID.PERM.
NON_SECURE, SECURE, SELECTABLE, SPLIT = 0, 1, 2, 3
_SEPARATE_DMA = 2 << 2


def _first_permission(block: Peripheral, secure_window: int) -> int:
    """The reset value of PERIPHID[n].PERM: peripherals and their DMA are secure if they can be."""
    mapping = SPLIT if block.split else SELECTABLE
    if len(block.bases) == 1:
        mapping = SECURE if block.addresses[0] >= secure_window else NON_SECURE
    dma = _SEPARATE_DMA | DMASEC if block.dma else 0
    return PRESENT | mapping | dma | (0 if mapping == NON_SECURE else SECATTR)


def _registers(*, regions: int, peripherals: int) -> tuple[Register, ...]:
    """The registers of an SPU with ``regions`` of each memory and ``peripherals`` ids."""
    return (
        Register(0x400, "CAP", 1, access="r"),
        Register(_EXTDOMAIN_PERM, "EXTDOMAIN_PERM", 2),
        Register(_DPPI_PERM, "DPPI_PERM"),
        Register(_DPPI_LOCK, "DPPI_LOCK"),
        Register(_GPIO_PERM, "GPIOPORT_PERM", 0xFFFF_FFFF),
        Register(_GPIO_LOCK, "GPIOPORT_LOCK"),
        Register(_NSC["flash"], "FLASHNSC", count=4),
        Register(_NSC["ram"], "RAMNSC", count=4),
        Register(_PERM["flash"], "FLASHREGION_PERM", 0x17, count=regions),
        Register(_PERM["ram"], "RAMREGION_PERM", 0x17, count=regions),
        Register(_PERIPHID, "PERIPHID_PERM", 0x12, count=peripherals),
    )


class Spu(Nordic):
    """Permissions with their locks, and an event for each kind of refused access."""

    EVENTS: ClassVar[dict[str, int]] = {
        "RAMACCERR": 0x100,
        "FLASHACCERR": 0x104,
        "PERIPHACCERR": 0x108,
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = _registers(regions=32, peripherals=67)

    @property
    def _every_channel(self) -> int:
        """The chip's DPPI channels, one bit each."""
        return (1 << self.chip.memory_map.dppi_channels) - 1

    def reset(self) -> None:
        super().reset()
        self.regs[_DPPI_PERM] = self._every_channel
        for block in self.chip.memory_map.blocks:
            self.regs[_PERIPHID + 4 * block.number] = _first_permission(
                block, self.chip.memory_map.secure_window
            )

    def restore(self, state: State) -> None:
        super().restore(state)
        self.chip.security_changed()

    def _lockable(self, offset: int, value: int, writable: int) -> None:
        now = self.regs[offset]
        if not now & LOCK:
            self.regs[offset] = now & ~writable | value & writable
            self.chip.security_changed()

    def write_flashregion_perm(self, index: int, value: int) -> None:
        self._lockable(_PERM["flash"] + 4 * index, value, 0x117)

    def write_ramregion_perm(self, index: int, value: int) -> None:
        self._lockable(_PERM["ram"] + 4 * index, value, 0x117)

    @property
    def _region_mask(self) -> int:
        """Writable bits of FLASHNSC.REGION and RAMNSC.REGION: LOCK and the number of a region."""
        return 0x100 | (self.chip.memory_map.spu_regions("flash") - 1)

    def write_flashnsc(self, index: int, value: int) -> None:
        self._lockable(_NSC["flash"] + 4 * index, value, 0x10F if index & 1 else self._region_mask)

    def write_ramnsc(self, index: int, value: int) -> None:
        self._lockable(_NSC["ram"] + 4 * index, value, 0x10F if index & 1 else self._region_mask)

    def write_extdomain_perm(self, value: int) -> None:
        self._lockable(_EXTDOMAIN_PERM, value, 0x110)

    def write_periphid_perm(self, index: int, value: int) -> None:
        offset = _PERIPHID + 4 * index
        now = self.regs[offset]
        selectable = now & 3 in (SELECTABLE, SPLIT)
        separate = now & 0xC == _SEPARATE_DMA
        self._lockable(offset, value, selectable * SECATTR | separate * DMASEC | LOCK)

    def write_dppi_perm(self, value: int) -> None:
        if not self.regs[_DPPI_LOCK]:
            self.regs[_DPPI_PERM] = value & self._every_channel

    def write_dppi_lock(self, value: int) -> None:
        self.regs[_DPPI_LOCK] |= value & 1

    def write_gpioport_perm(self, value: int) -> None:
        if not self.regs[_GPIO_LOCK]:
            self.regs[_GPIO_PERM] = value & 0xFFFF_FFFF

    def write_gpioport_lock(self, value: int) -> None:
        self.regs[_GPIO_LOCK] |= value & 1

    @property
    def permissions(self) -> bytes:
        """PERM without LOCK of each region of flash, then of RAM; one byte each."""
        found = bytearray()
        for name, offset in _PERM.items():
            for n in range(self.chip.memory_map.spu_regions(name)):
                found.append(self.regs[offset + 4 * n] & 0x17)
        return bytes(found)

    @property
    def gateways(self) -> list[tuple[int, int]]:
        """Non-secure callable address ranges (begin, end), each at the end of a region."""
        found: list[tuple[int, int]] = []
        for name, offset in _NSC.items():
            area, count = self.chip.memory_map.area(name), self.chip.memory_map.spu_regions(name)
            for n in range(2):
                region, size = self.regs[offset + 8 * n], self.regs[offset + 8 * n + 4]
                if 1 <= size & 0xF <= 8:
                    end = area.origin + (region % count + 1) * (area.size // count)
                    found.append((end - (16 << (size & 0xF)), end))
        return found

    def refuses(self, block: Peripheral, address: int) -> bool:
        """True, after raising PERIPHACCERR, if a peripheral is not accessible at this alias.

        A secure peripheral is at 0x5..., a non-secure one at 0x4..., a non-secure split one at both
        (nRF9160 PS, "Peripheral address mapping").
        """
        if len(block.bases) < 2:
            return False
        alias_secure = address >= self.chip.memory_map.secure_window
        secure = self.is_secure(block.number)
        split = self.regs[_PERIPHID + 4 * block.number] & 3 == SPLIT
        if alias_secure == secure or (alias_secure and split):
            return False
        self.event("PERIPHACCERR")
        return True

    @property
    def has_nonsecure_peripherals(self) -> bool:
        """True if any peripheral that can be secure is non-secure."""
        words = (self.regs[_PERIPHID + 4 * one.number] for one in self.chip.memory_map.blocks)
        return any(word & 3 in (SELECTABLE, SPLIT) and not word & SECATTR for word in words)

    def is_secure(self, peripheral: int) -> bool:
        """SECATTR of a peripheral, by its id."""
        return bool(self.regs[_PERIPHID + 4 * peripheral] & SECATTR)

    def allows_channel(self, peripheral: int, channel: int) -> bool:
        """True unless the peripheral is non-secure and the DPPI channel is secure."""
        return self.is_secure(peripheral) or bool(self.nonsecure_channels >> channel & 1)

    def has_secure_dma(self, peripheral: int) -> bool:
        """DMASEC of a peripheral, by its id."""
        return bool(self.regs[_PERIPHID + 4 * peripheral] & DMASEC)

    @property
    def nonsecure_pins(self) -> int:
        """The pins of P0 that are non-secure, one bit each."""
        return ~self.regs[_GPIO_PERM] & 0xFFFF_FFFF

    @property
    def nonsecure_channels(self) -> int:
        """The DPPI channels that are non-secure, one bit each."""
        return ~self.regs[_DPPI_PERM] & self._every_channel

    def violation(self, area: int) -> None:
        """Raises the event of a refused access to flash (``area`` = 0) or RAM."""
        self.event("RAMACCERR" if area else "FLASHACCERR")


class LargeSpu(Spu):
    """The SPU of the nRF5340, with more regions and ids, and two ports.

    Source: nrf5340_application.svd of Nordic's MDK.
    """

    REGISTERS: ClassVar[tuple[Register, ...]] = (
        *_registers(regions=64, peripherals=256),
        Register(_GPIO_PERM + 8, "GPIOPORT1_PERM", 0xFFFF),
        Register(_GPIO_LOCK + 8, "GPIOPORT1_LOCK"),
    )

    def write_gpioport1_perm(self, value: int) -> None:
        if not self.regs[_GPIO_LOCK + 8]:
            self.regs[_GPIO_PERM + 8] = value & 0xFFFF
