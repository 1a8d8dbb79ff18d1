"""Accesses to the private peripheral bus, devices and flash, after the MPU has allowed them."""

from __future__ import annotations

from typing import Protocol

from harness.base.findings import Kind
from harness.base.platforms import ChipTable
from harness.simulator.engine import PPB, Engine, Store
from harness.simulator.peripherals.base import Chip, Device
from harness.simulator.peripherals.nvmc import Nvmc
from harness.simulator.peripherals.spu import Spu
from harness.simulator.peripherals.texts import other_alias, part_of_register
from harness.simulator.processor import Processor
from harness.simulator.scb import USERSETMPEND

_SYSTICK, _NVIC, _NVIC_END, _SCB, _SCB_END = 0xE010, 0xE100, 0xE600, 0xED00, 0xF000
#: Offset of the alias at which the secure state sees the non-secure state's registers.
_NONSECURE_ALIAS = 0x2_0000
_ICTR, _STIR, _DWT = 0xE004, 0xEF00, 0x1000


class WordRegisters(Protocol):
    """A block of 32-bit registers."""

    def read(self, offset: int) -> int:
        """The word at ``offset`` bytes."""

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset`` bytes."""


class Bus:
    """Grants or refuses each access, and carries out those to registers."""

    def __init__(
        self,
        memory_map: ChipTable,
        engine: Engine,
        processor: Processor,
        devices: dict[str, Device],
        views: dict[str, WordRegisters],
        chip: Chip,
        *,
        alone: bool,
    ) -> None:
        """``views`` are split peripherals as non-secure code sees them, by name.

        With ``alone`` a non-secure image runs without a secure one, as an approximation.
        """
        self._chip, self._alone = chip, alone
        self._map, self._engine, self._core = memory_map, engine, engine.core
        self._processor = processor
        self._views = views
        self._devices = devices
        nvmc, spu = devices["NVMC"], devices["SPU"]
        assert isinstance(nvmc, Nvmc)
        assert isinstance(spu, Spu)
        self._nvmc, self._spu = nvmc, spu

    def access(self, is_write: int, address: int, size: int, value: int) -> int | None:
        """Carry out or refuse an access; see :data:`harness.simulator.engine.AccessHandler`."""
        if is_write and size == 8:
            low = self.access(1, address, 4, value & 0xFFFF_FFFF)
            return None if low is None else self.access(1, address + 4, 4, value >> 32)
        if PPB.holds(address):
            return self._private(is_write, address, size, value)
        if self._core.restricted and self._core.forbids(is_write, address, size):
            return None
        found = self._map.answering(address)
        if found is not None:
            block, base = found
            device = self._devices[block.name]
            if self._answers_elsewhere(device, address):
                return None
            if size < 4:
                self._note_size(device, bool(is_write), address - base, size)
            registers: WordRegisters = device
            if self._core.nonsecure:
                registers = self._views.get(device.name, device)
            return self._registers(registers, is_write, address - base, size, value)
        store = self._engine.store_of(address, size)
        if is_write and store is not None:
            if store.area.name in ("flash", "uicr") and self._program(store, address, size, value):
                return 0
        elif store is not None and self._core.restricted:
            return 0  # a load that Unicorn checks because of its second page
        elif any(base <= address < base + 0x1000_0000 for base in self._map.windows):
            self._note_alias(address)
            return None if store is None and found is None else 0
        return None

    def debug_access(self, is_write: int, address: int, size: int, value: int) -> int | None:
        """Carry out a debugger's access to registers or flash: privileged, and to both states."""
        if PPB.holds(address):
            return self._registers_of_core(
                is_write, address - PPB.origin, size, value, nonsecure=False
            )
        found = self._map.answering(address)
        if found is not None:
            block, base = found
            return self._registers(self._devices[block.name], is_write, address - base, size, value)
        store = self._engine.store_of(address, size)
        programs = is_write and store is not None and store.area.name in ("flash", "uicr")
        if programs and store is not None and self._program(store, address, size, value):
            return 0
        return None

    def _answers_elsewhere(self, device: Device, address: int) -> bool:
        """Whether the peripheral answers at its other alias only.

        A non-secure image that runs alone reaches its peripherals at both, until resources are
        divided between the states. After a reset all peripherals are secure.
        """
        if self._core.divided or (not self._alone and address < self._map.secure_window):
            refused = self._spu.refuses(device.block, address)
            if refused and not self._core.nonsecure:
                self._note_alias(address)
            return refused
        return False

    def _note_alias(self, address: int) -> None:
        """Report the peripheral that answers at the other alias, if there is one."""
        other = address ^ self._map.secure_window ^ self._map.nonsecure_window
        block = self._map.peripheral_at(other)
        if block is not None:
            message = other_alias(self._map, block, address)
            self._chip.report(Kind.FORBIDDEN_ACCESS, f"0x{address:08x}", message)

    def _note_size(self, device: Device, is_write: bool, offset: int, size: int) -> None:
        """Report an access to part of a register, whose effect is not specified."""
        name = f"{device.name}.{device.register_name(offset)}"
        message = part_of_register(name, is_write=is_write, size=size)
        self._chip.report(Kind.FORBIDDEN_ACCESS, name, message)

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
        nonsecure = self._core.nonsecure
        stir = offset == _STIR and bool(self._engine.scb[nonsecure].ccr & USERSETMPEND)
        if not stir and not self._core.privileged:
            return None
        return self._registers_of_core(is_write, offset, size, value, nonsecure=nonsecure)

    def _registers_of_core(
        self, is_write: int, offset: int, size: int, value: int, *, nonsecure: bool
    ) -> int:
        if _SYSTICK <= offset - _NONSECURE_ALIAS < _SCB_END:
            if nonsecure:
                return 0
            nonsecure, offset = True, offset - _NONSECURE_ALIAS
        bank = self._processor[nonsecure]
        if _NVIC <= offset < _NVIC_END:
            return self._bytewise(bank.nvic, is_write, offset - 0xE000, size, value, 0x400)
        if _SYSTICK <= offset < _SYSTICK + 0x10:
            return self._registers(bank.systick, is_write, offset - _SYSTICK, size, value)
        if _SCB <= offset < _SCB_END:
            return self._bytewise(bank.scb, is_write, offset - _SCB, size, value, 0x14)
        if _DWT <= offset < _DWT + 0x1000:
            return self._registers(self._processor.dwt, is_write, offset - _DWT, size, value)
        if offset == _ICTR:
            return self._map.irqs - 1 >> 5
        self._chip.unmodelled(f"PPB+0x{offset:x}", "written" if is_write else "read")
        return 0

    def _bytewise(
        self, block: WordRegisters, is_write: int, offset: int, size: int, value: int, first: int
    ) -> int:
        """Access a block whose registers from ``first`` on take single bytes (priorities).

        A byte written there keeps the other bytes of the word. The remaining registers have bits
        to set or to clear by writing 1: the other bytes are written as zeros.
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

    def _program(self, store: Store, address: int, size: int, value: int) -> bool:
        """Store to flash or UICR; return whether NVMC allows it."""
        core, nvmc = self._core, self._nvmc
        nonsecure = core.nonsecure or (core.divided and not core.is_secure(address))
        mode = nvmc.mode_of(nonsecure=nonsecure)
        if self._alone and not core.divided and not mode:
            mode = nvmc.mode_of(nonsecure=True)
        word = int.from_bytes(store.slice(address & ~3, 4), "little")
        return nvmc.store(store.area, address, size, value, word, mode)

    @property
    def pending_stores(self) -> list[tuple[int, bytes]]:
        """Address and bytes of memory to correct after the instruction."""
        return self._nvmc.pending_stores

    def mend(self) -> None:
        """Replace stored bytes, after the instruction, by those that flash would contain."""
        begin = end = 0  # of a contiguous range of changes
        for address, data in self.pending_stores:
            store = self._engine.store_of(address, len(data))
            assert store is not None
            store.slice(address, len(data))[:] = data
            if address != end:
                self._code_changed(begin, end)
                begin = address
            end = address + len(data)
        self._code_changed(begin, end)
        self.pending_stores.clear()

    def _code_changed(self, begin: int, end: int) -> None:
        if begin < end:
            self._engine.code_changed(begin, end)
