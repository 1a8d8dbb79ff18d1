"""Every access that Unicorn asks about: private peripherals, devices, flash.

The MPU has allowed it already.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from harness.simulator.dwt import Dwt
from harness.simulator.engine import PPB, Engine
from harness.simulator.exceptions import Exceptions
from harness.simulator.library import Reg
from harness.simulator.memorymap import MemoryMap
from harness.simulator.nvic import BUS_FAULT, SECURE_FAULT
from harness.simulator.peripherals.base import Device
from harness.simulator.peripherals.nvmc import ERASE, PAGE, Nvmc
from harness.simulator.peripherals.nvmc import WRITE as WRITING
from harness.simulator.scb import USERSETMPEND
from harness.simulator.security.attribution import READ, WRITE
from harness.simulator.security.worlds import Worlds
from harness.simulator.status import AUVIOL, BFARVALID, PRECISERR, SFARVALID

_SYSTICK, _NVIC, _NVIC_END, _SCB, _SCB_END = 0xE010, 0xE100, 0xE600, 0xED00, 0xF000
#: The non-secure state's registers, for the secure one.
_NONSECURE_ALIAS = 0x2_0000
_ICTR, _STIR, _DWT = 0xE004, 0xEF00, 0x1000


class WordRegisters(Protocol):
    """A block of 32-bit registers."""

    def read(self, offset: int) -> int:
        """The word at ``offset`` bytes."""

    def write(self, offset: int, value: int) -> None:
        """Store the word at ``offset`` bytes."""


@dataclass(frozen=True)
class Refusal:
    """Why an access was refused: the fault it becomes, and its status bits."""

    cause: int
    status: int


class Bus:
    """Decides about each access and carries out those to registers."""

    def __init__(
        self,
        memory_map: MemoryMap,
        worlds: Worlds,
        dwt: Dwt,
        unmodelled: Callable[[str, str], None],
    ) -> None:
        self._worlds, self._dwt = worlds, dwt
        self._attribution = worlds.attribution
        self._map = memory_map
        self._unmodelled = unmodelled
        self._blocks: dict[int, tuple[Device, int]] = {}
        self._irqs = memory_map.irqs
        self.refusal = Refusal(BUS_FAULT, PRECISERR)
        #: Writes to flash that must be corrected once the instruction is finished.
        self.mends: list[tuple[int, bytes]] = []
        #: Split peripherals as non-secure code sees them, by name.
        self.views: dict[str, WordRegisters] = {}
        self.engine: Engine
        self.exceptions: Exceptions
        self.nvmc: Nvmc

    def attach(self, device: Device, addresses: tuple[int, ...]) -> None:
        """Let ``device`` answer at each of its base addresses."""
        for base in addresses:
            for page in range(base >> 8, (base + device.size + 0xFF) >> 8):
                self._blocks[page] = (device, base)
        if isinstance(device, Nvmc):
            self.nvmc = device

    def access(self, is_write: int, address: int, size: int, value: int) -> int | None:
        """The counting core's question; see :data:`harness.simulator.counting.AccessHandler`."""
        if is_write and size == 8:
            low = self.access(1, address, 4, value & 0xFFFF_FFFF)
            return None if low is None else self.access(1, address + 4, 4, value >> 32)
        if PPB.holds(address):
            return self._private(is_write, address, size, value)
        if self._attribution.restricted and self._forbidden(is_write, address, size):
            return None
        found = self._blocks.get(address >> 8)
        if found is not None:
            device, base = found
            if base <= address < base + device.size:
                if self._attribution.refuses_peripheral(device.block, address):
                    return self._refused()
                registers: WordRegisters = device
                if self._worlds.nonsecure:
                    registers = self.views.get(device.name, device)
                return self._registers(registers, is_write, address - base, size, value)
        store = self.engine.store_of(address, size)
        if is_write and store is not None:
            if store.area.name in ("flash", "uicr") and self._program(address, size, value):
                return 0
        elif store is not None and self._attribution.restricted:
            return 0  # a load that Unicorn asks about because of its second page
        elif any(base <= address < base + 0x1000_0000 for base in self._map.windows):
            if store is None and not self._known(address):
                return self._refused()
            return 0
        return self._refused()

    def _forbidden(self, is_write: int, address: int, size: int) -> bool:
        """True if the running state may not access all of it, or if the SPU refuses the access."""
        attribution = self._attribution
        ends = (address, address + size - 1) if address & size - 1 else (address,)
        for place in ends:
            if self._worlds.nonsecure and attribution.is_secure(place):
                self.refusal = Refusal(SECURE_FAULT, AUVIOL | SFARVALID)
                return True
            if attribution.refuses_bus(place, WRITE if is_write else READ):
                self._refused()
                return True
        return False

    def _refused(self) -> int | None:
        self.refusal = Refusal(BUS_FAULT, PRECISERR | BFARVALID)
        return None

    def _known(self, address: int) -> bool:
        return address >> 8 in self._blocks

    # registers

    def _registers(
        self, block: WordRegisters, is_write: int, offset: int, size: int, value: int
    ) -> int:
        shift = 8 * (offset & 3)
        if not is_write:
            return block.read(offset & ~3) >> shift
        if size < 4:
            mask = (1 << 8 * size) - 1 << shift
            value = value << shift & mask
        block.write(offset & ~3, value)
        return 0

    def _private(self, is_write: int, address: int, size: int, value: int) -> int | None:
        offset = address - PPB.origin
        world = self._worlds.now
        stir = offset == _STIR and bool(world.scb.ccr & USERSETMPEND)
        if not stir and not self.exceptions.privileged():
            return self._refused()
        if _SYSTICK <= offset - _NONSECURE_ALIAS < _SCB_END:
            if self._worlds.nonsecure:
                return 0
            world, offset = self._worlds[True], offset - _NONSECURE_ALIAS
        if _NVIC <= offset < _NVIC_END:
            return self._bytewise(world.nvic, is_write, offset - 0xE000, size, value, 0x400)
        if _SYSTICK <= offset < _SYSTICK + 0x10:
            return self._registers(world.systick, is_write, offset - _SYSTICK, size, value)
        if _SCB <= offset < _SCB_END:
            return self._bytewise(world.scb, is_write, offset - _SCB, size, value, 0x14)
        if _DWT <= offset < _DWT + 0x1000:
            return self._registers(self._dwt, is_write, offset - _DWT, size, value)
        if offset == _ICTR:
            return self._irqs - 1 >> 5
        self._unmodelled(f"PPB+0x{offset:x}", "written" if is_write else "read")
        return 0

    def _bytewise(
        self, block: WordRegisters, is_write: int, offset: int, size: int, value: int, first: int
    ) -> int:
        """Registers of which some (the priorities) take single bytes; the rest of the word stays.

        The other words hold bits to set or to clear: a byte that is written to one leaves the
        other bytes as they are.
        """
        keeps = offset >= first and not 0x28 <= offset < 0x30
        if is_write and size < 4 and keeps:
            shift = 8 * (offset & 3)
            mask = (1 << 8 * size) - 1 << shift
            value = block.read(offset & ~3) & ~mask | value << shift & mask
            block.write(offset & ~3, value)
            return 0
        return self._registers(block, is_write, offset, size, value)

    # flash

    def _program(self, address: int, size: int, value: int) -> bool:
        """A store to flash or UICR, as far as NVMC allows it: bits go from one to zero only."""
        mode = self.nvmc.mode_of(nonsecure=self._worlds.nonsecure)
        store = self.engine.store_of(address, size)
        assert store is not None
        if mode == WRITING:
            old = bytes(store.slice(address, size))
            new = value.to_bytes(8, "little")[:size]
            self._mend(address, bytes(a & b for a, b in zip(old, new, strict=True)))
            return True
        if mode == ERASE and store.area.name == "flash":
            self._mend(address & -PAGE, b"\xff" * PAGE)
            return True
        return False

    def _mend(self, address: int, data: bytes) -> None:
        self.mends.append((address, data))
        self.engine.core.stop_after = True

    def mend(self) -> None:
        """The instruction is finished: replace what Unicorn stored by what flash would hold."""
        for address, data in self.mends:
            store = self.engine.store_of(address, len(data))
            assert store is not None
            store.slice(address, len(data))[:] = data
            self.engine.code_changed(address, address + len(data))
        self.mends.clear()

    def pc(self) -> int:
        """The address of the next instruction."""
        return self.engine.core.read(Reg.PC) & ~1
