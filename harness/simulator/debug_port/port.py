"""The debug port: DP, access ports of memory, CTRL-AP.

Sources: Arm ADIv5; nRF9160 PS, "CTRL-AP"; what identifies it is in the chip's table.

Reads and writes are those of SWD: a register of the DP, or of the access port that DP.SELECT names.
"""

from __future__ import annotations

import struct
from typing import Protocol

from harness.base.debug_access import (
    ERASEALL,
    ERASEPROTECT,
    PROTECTION,
    RESET,
)  # fmt: skip
from harness.simulator.debug_port.core_debug import CoreDebug
from harness.simulator.machine import Machine

_POWER_REQUESTS, _STICKYERR = 0x5400_0000, 1 << 5
_BANKED = 0x10  # of the registers BD0 to BD3
_DEVICE_ENABLED, _SECURE_ENABLED, _CSW_DEFAULT = 1 << 6, 1 << 23, 0x2300_0002


class TransferError(Exception):
    """The access port answered FAULT."""


class Surroundings(Protocol):
    """What is around the port: it resets the chip, and erases it."""

    def pin_reset(self) -> None:
        """Pulse the reset pin; the port is attached to the machine that runs then."""

    def erase_all(self) -> None:
        """Erase flash, UICR and RAM."""


class MachineBoard:
    """A bare machine: nothing is around its pins."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def pin_reset(self) -> None:
        """Reset the machine."""
        self._machine.reset()

    def erase_all(self) -> None:
        """Flash and UICR are all ones afterwards, RAM is all zero."""
        erase_all(self._machine)


def erase_all(machine: Machine) -> None:
    """CTRL-AP's ERASEALL: flash and UICR are all ones afterwards, RAM is all zero."""
    for name, value in (("flash", b"\xff"), ("uicr", b"\xff"), ("ram", b"\0")):
        area = machine.memory_map.area(name)
        machine.write_memory(area.origin, value * area.size)


class DebugPort:
    """A chip's debug port; ``board`` is what is around the chip."""

    def __init__(self, machine: Machine, board: Surroundings | None = None) -> None:
        self.core = CoreDebug(machine)
        self._board = board or MachineBoard(machine)
        self._select = self._power = self._sticky = self._value = 0
        self._ids = machine.memory_map.debug
        self._csw = dict.fromkeys((self._ids.core, self._ids.other), _CSW_DEFAULT)
        self._tar = dict.fromkeys((self._ids.core, self._ids.other), 0)
        self._reset_held = False
        self.protected = self._uicr_protects()

    @property
    def machine(self) -> Machine:
        """The machine that the port belongs to now."""
        return self.core.machine

    def attach(self, machine: Machine) -> None:
        """Another machine has taken the place of the chip; the debug registers stay."""
        self.core.attach(machine)
        self.protected = self._uicr_protects()

    def _uicr_protects(self) -> bool:
        uicr = self.machine.engine.stores["uicr"].view
        offsets = (self._ids.approtect, self._ids.secureapprotect)
        return any(uicr[offset : offset + 4] != b"\xff" * 4 for offset in offsets)

    def pin_reset(self) -> None:
        """Pulse the reset pin."""
        self._board.pin_reset()
        self.protected = self._uicr_protects()

    # DP

    def read_dp(self, address: int) -> int:
        """A register of the DP, by address."""
        match address & 0xC:
            case 0x0:
                return self._ids.dpidr
            case 0x4:
                if self._select & 0xF == 2 or address >> 4 == 2:
                    return self._ids.targetid
                return 0 if self._select & 0xF else self._power | self._power << 1 | self._sticky
            case 0x8:
                return self._value
            case _:
                return self._value

    def write_dp(self, address: int, value: int) -> None:
        """Set a register of the DP: ABORT, CTRL/STAT, SELECT."""
        match address & 0xC:
            case 0x0 if value & 4:
                self._sticky = 0
            case 0x4 if not self._select & 0xF:
                self._power = value & _POWER_REQUESTS
            case 0x8:
                self._select = value

    # access ports

    def _register(self, address: int) -> tuple[int, int]:
        return self._select >> 24, self._select & 0xF0 | address & 0xC

    def read_ap(self, address: int) -> int:
        """A register of the selected access port. Raises :class:`TransferError`."""
        port, register = self._register(address)
        if register == 0xFC:
            self._value = self._ids.idr.get(port, 0)
        elif port == self._ids.control:
            self._value = self._read_control(register)
        elif port in self._csw:
            self._value = self._read_memory_port(port, register)
        else:
            self._value = 0
        return self._value

    def write_ap(self, address: int, value: int) -> None:
        """Set a register of the selected access port. Raises :class:`TransferError`."""
        port, register = self._register(address)
        if port == self._ids.control:
            self._write_control(register, value)
        elif port in self._csw:
            self._write_memory_port(port, register, value)

    def _read_memory_port(self, port: int, register: int) -> int:
        match register:
            case 0x00:  # CSW
                enabled = 0 if self.protected else _DEVICE_ENABLED | _SECURE_ENABLED
                return self._csw[port] & ~(_DEVICE_ENABLED | _SECURE_ENABLED) | enabled
            case 0x04:  # TAR
                return self._tar[port]
            case 0x0C:  # DRW
                return self._transfer(port, None)
            case 0xF8:  # BASE
                return self._ids.rom_table if port == self._ids.core else 2
            case _ if register & 0xF0 == _BANKED:
                return self.read_memory((self._tar[port] & ~0xF) + (register & 0xC), 4, port)
        return 0

    def _write_memory_port(self, port: int, register: int, value: int) -> None:
        match register:
            case 0x00:
                self._csw[port] = value
            case 0x04:
                self._tar[port] = value
            case 0x0C:
                self._transfer(port, value)
            case _ if register & 0xF0 == _BANKED:
                address = (self._tar[port] & ~0xF) + (register & 0xC)
                self.write_memory(address, 4, value, port)

    def _transfer(self, port: int, value: int | None) -> int:
        """DRW: one access at TAR, in the byte lanes of its address, and the increment."""
        address, size = self._tar[port], 1 << min(self._csw[port] & 7, 2)
        lane = 8 * (address & 3)
        result = 0
        if value is None:
            result = self.read_memory(address, size, port) << lane
        else:
            self.write_memory(address, size, value >> lane & (1 << 8 * size) - 1, port)
        if self._csw[port] & 0x30:  # ADIv5, "MEM-AP": the increment stays within 1 KB
            self._tar[port] = address & ~0x3FF | address + size & 0x3FF
        return result

    def _read_control(self, register: int) -> int:
        if register == PROTECTION:
            return 0 if self.protected else 3
        return {RESET: int(self._reset_held), ERASEPROTECT: 1}.get(register, 0)

    def _write_control(self, register: int, value: int) -> None:
        if register == ERASEALL and value & 1:
            self._board.erase_all()
            self.protected = False  # until the next reset, and behind it as UICR says
        elif register == RESET:
            if self._reset_held and not value & 1:
                self.pin_reset()
            self._reset_held = bool(value & 1)

    # memory

    def _fault(self, what: str) -> TransferError:
        self._sticky = _STICKYERR
        return TransferError(what)

    def _allow(self, address: int, size: int, port: int | None) -> None:
        if port not in (None, self._ids.core):
            raise self._fault(f"nothing answers at 0x{address:08x} of access port {port}")
        if self.protected:
            raise self._fault("the access port is locked (UICR.APPROTECT)")
        if address % size:
            raise self._fault(f"0x{address:08x} is not aligned to {size} bytes")

    def read_memory(self, address: int, size: int, port: int | None = None) -> int:
        """1, 2 or 4 bytes of the core's address space. Raises :class:`TransferError`."""
        self._allow(address, size, port)
        machine = self.machine
        if machine.engine.store_of(address, size) is not None:
            return int.from_bytes(machine.read_memory(address, size), "little")
        word = self.core.read(address & ~3)
        if word is not None:
            return word >> 8 * (address & 3) & (1 << 8 * size) - 1
        value = machine.bus.debug_access(0, address, size, 0)
        if value is None:
            raise self._fault(f"nothing answers at 0x{address:08x}")
        return value & (1 << 8 * size) - 1

    def write_memory(self, address: int, size: int, value: int, port: int | None = None) -> None:
        """1, 2 or 4 bytes; flash takes what NVMC allows. Raises :class:`TransferError`."""
        self._allow(address, size, port)
        machine = self.machine
        store = machine.engine.store_of(address, size)
        if store is not None and store.area.name == "ram":
            machine.write_memory(address, value.to_bytes(size, "little"))
        elif size == 4 and self.core.write(address, value):
            return
        elif machine.bus.debug_access(1, address, size, value) is None:
            raise self._fault(f"0x{address:08x} cannot be written")
        else:
            machine.let_debugger_act()

    def read_block(self, address: int, count: int, unit: int, port: int | None = None) -> list[int]:
        """``count`` numbers of ``unit`` bytes (1 or 4). Raises :class:`TransferError`."""
        self._allow(address, unit, port)
        if self.machine.engine.store_of(address, count * unit) is None:
            return [self.read_memory(address + unit * i, unit, port) for i in range(count)]
        data = self.machine.read_memory(address, count * unit)
        return list(data) if unit == 1 else list(struct.unpack(f"<{count}I", data))

    def write_block(
        self, address: int, values: list[int], unit: int, port: int | None = None
    ) -> None:
        """Numbers of ``unit`` bytes (1 or 4). Raises :class:`TransferError`."""
        self._allow(address, unit, port)
        machine = self.machine
        store = machine.engine.store_of(address, len(values) * unit)
        kind = store.area.name if store is not None else ""
        if kind == "ram":
            data = b"".join(value.to_bytes(unit, "little") for value in values)
            machine.write_memory(address, data)
        elif kind and unit == 4:
            for at, word in enumerate(values):
                if machine.bus.debug_access(1, address + 4 * at, 4, word) is None:
                    raise self._fault(f"0x{address + 4 * at:08x} cannot be written")
            machine.let_debugger_act()
        else:
            for at, value in enumerate(values):
                self.write_memory(address + unit * at, unit, value, port)
