"""SPU: which flash, RAM, peripherals, DPPI channels and pins are secure (nRF9160 PS, "SPU").

The processor's side of it is :class:`harness.simulator.security.attribution.Attribution`.
"""

from __future__ import annotations

from typing import ClassVar

from harness.simulator.memorymap import Block
from harness.simulator.peripherals.base import Nordic, Register, State

REGIONS = 32
_DPPI_PERM, _DPPI_LOCK, _GPIO_PERM, _GPIO_LOCK = 0x480, 0x484, 0x4C0, 0x4C4
_NSC = {"flash": 0x500, "ram": 0x540}
_PERM = {"flash": 0x600, "ram": 0x700}
_PERIPHID = 0x800
SECATTR, DMASEC, LOCK, PRESENT = 1 << 4, 1 << 5, 1 << 8, 1 << 31
# PERIPHID.PERM: SECUREMAPPING, DMA.
NON_SECURE, SECURE, SELECTABLE, SPLIT = 0, 1, 2, 3
_SEPARATE_DMA = 2 << 2
_WITH_DMA = frozenset(("UARTE0", "UARTE1", "UARTE2", "UARTE3", "SAADC", "PWM0", "PWM1", "PWM2",
                       "PWM3", "PDM", "I2S", "CRYPTOCELL"))  # fmt: skip
_DIVIDED = frozenset(("DPPIC", "NVMC", "P0"))


def _first_permission(block: Block) -> int:
    """PERIPHID[n].PERM after a reset: what can be secure is, and so is its DMA."""
    mapping = SPLIT if block.name in _DIVIDED else SELECTABLE
    if len(block.bases) == 1:
        mapping = SECURE if block.addresses[0] >= 0x5000_0000 else NON_SECURE
    dma = _SEPARATE_DMA | DMASEC if block.name in _WITH_DMA else 0
    return PRESENT | mapping | dma | (0 if mapping == NON_SECURE else SECATTR)


class Spu(Nordic):
    """Permissions, which can be locked, and the events of accesses that they refuse."""

    EVENTS: ClassVar[dict[str, int]] = {
        "RAMACCERR": 0x100,
        "FLASHACCERR": 0x104,
        "PERIPHACCERR": 0x108,
    }
    REGISTERS: ClassVar[tuple[Register, ...]] = (
        Register(0x400, "CAP", 1, access="r"),
        Register(0x440, "EXTDOMAIN_PERM", 2),
        Register(_DPPI_PERM, "DPPI_PERM", 0xFFFF),
        Register(_DPPI_LOCK, "DPPI_LOCK"),
        Register(_GPIO_PERM, "GPIOPORT_PERM", 0xFFFF_FFFF),
        Register(_GPIO_LOCK, "GPIOPORT_LOCK"),
        Register(_NSC["flash"], "FLASHNSC", count=4),
        Register(_NSC["ram"], "RAMNSC", count=4),
        Register(_PERM["flash"], "FLASHREGION_PERM", 0x17, count=REGIONS),
        Register(_PERM["ram"], "RAMREGION_PERM", 0x17, count=REGIONS),
        Register(_PERIPHID, "PERIPHID_PERM", 0x12, count=67),
    )

    def reset(self) -> None:
        super().reset()
        for block in self.chip.memory_map.blocks:
            self.regs[_PERIPHID + 4 * block.number] = _first_permission(block)

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

    def write_flashnsc(self, index: int, value: int) -> None:
        self._lockable(_NSC["flash"] + 4 * index, value, 0x10F if index & 1 else 0x11F)

    def write_ramnsc(self, index: int, value: int) -> None:
        self._lockable(_NSC["ram"] + 4 * index, value, 0x10F if index & 1 else 0x11F)

    def write_extdomain_perm(self, value: int) -> None:
        self._lockable(0x440, value, 0x110)

    def write_periphid_perm(self, index: int, value: int) -> None:
        offset = _PERIPHID + 4 * index
        now = self.regs[offset]
        selectable = now & 3 in (SELECTABLE, SPLIT)
        separate = now & 0xC == _SEPARATE_DMA
        self._lockable(offset, value, selectable * SECATTR | separate * DMASEC | LOCK)

    def write_dppi_perm(self, value: int) -> None:
        if not self.regs[_DPPI_LOCK]:
            self.regs[_DPPI_PERM] = value & 0xFFFF

    def write_dppi_lock(self, value: int) -> None:
        self.regs[_DPPI_LOCK] |= value & 1

    def write_gpioport_perm(self, value: int) -> None:
        if not self.regs[_GPIO_LOCK]:
            self.regs[_GPIO_PERM] = value & 0xFFFF_FFFF

    def write_gpioport_lock(self, value: int) -> None:
        self.regs[_GPIO_LOCK] |= value & 1

    # what Attribution asks

    def regions(self, memory: str) -> list[int]:
        """PERM of each region of ``flash`` or ``ram``, without LOCK."""
        return [self.regs[_PERM[memory] + 4 * n] & 0x17 for n in range(REGIONS)]

    def gateways(self, memory: str) -> list[range]:
        """The addresses that are non-secure callable: the last bytes of a region."""
        area = self.chip.memory_map.area(memory)
        step = area.size // REGIONS
        found = []
        for n in range(2):
            region, size = (self.regs[_NSC[memory] + 8 * n + at] for at in (0, 4))
            if 1 <= size & 0xF <= 8:
                end = area.origin + ((region & 0x1F) + 1) * step
                found.append(range(end - (16 << (size & 0xF)), end))
        return found

    def is_secure(self, peripheral: int) -> bool:
        """SECATTR of a peripheral, by its id."""
        return bool(self.regs[_PERIPHID + 4 * peripheral] & SECATTR)

    def is_split(self, peripheral: int) -> bool:
        """True for a peripheral whose registers are divided between the states."""
        return self.regs[_PERIPHID + 4 * peripheral] & 3 == SPLIT

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
        return ~self.regs[_DPPI_PERM] & 0xFFFF

    def violation(self, kind: str) -> None:
        """An access was refused."""
        self.event(kind)
