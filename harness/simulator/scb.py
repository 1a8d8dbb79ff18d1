"""System control block, SAU and FP extension registers (Armv8-M ARM, D1.2), one per security state.

Registers that exceptions need are in the counting core (``native/scb.h``). Of the shared registers
the non-secure state sees only the part that AIRCR.BFHFNMINS gives it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from harness.base.exceptions import BUS_FAULT, DEBUG_MONITOR, FIRST_IRQ, NMI, SECURE_FAULT
from harness.simulator.dwt import Dwt
from harness.simulator.engine import Engine
from harness.simulator.nvic import BANKED, NONSECURE

_SHPR = (0x18, 0x1C, 0x20)
SLEEPONEXIT, SLEEPDEEP, SEVONPEND = 1 << 1, 1 << 2, 1 << 4
USERSETMPEND = 1 << 1  # CCR
_SLEEPDEEPS = 1 << 3
_VECTKEY = 0x05FA
_AIRCR_SYSRESETREQ, _AIRCR_SYSRESETREQS = 1 << 2, 1 << 3
_AIRCR_BFHFNMINS, _AIRCR_PRIS = 1 << 13, 1 << 14
_CCR_FIXED = 0x201  # STKALIGN and bit 0, which v8-M fixes at one
# FPCCR: bits of each state, and shared bits, which are kept in the secure bank.
_FPCCR_BANKED = 1 << 31 | 1 << 10 | 1 << 9 | 1 << 5 | 1 << 3 | 1 << 1 | 1 << 0
_LSPEN, _LSPENS, _CLRONRET, _CLRONRETS, _TS = (1 << n for n in (30, 29, 28, 27, 26))
_MONRDY, _SFRDY, _BFRDY, _HFRDY, _FPCCR_S = (1 << n for n in (8, 7, 6, 4, 2))
_FPCCR_SHARED = (
    _LSPEN | _LSPENS | _CLRONRET | _CLRONRETS | _TS | _MONRDY | _SFRDY | _BFRDY | _HFRDY | _FPCCR_S
)
_FPDSCR = 0x07C0_0000  # AHP, DN, FZ, RMode

#: Exception number of a configurable fault -> its enable bit in SHCSR.
FAULT_ENABLES = {4: 1 << 16, 5: 1 << 17, 6: 1 << 18, 7: 1 << 19}
_SHARED_ENABLES = 1 << 17 | 1 << 19
_ACTIVE_BITS = {4: 0, 5: 1, 3: 2, 6: 3, 7: 4, 2: 5, 11: 7, 12: 8, 14: 10, 15: 11}
_PENDING_BITS = {6: 12, 4: 13, 5: 14, 11: 15, 7: 20, 3: 21}

#: Offset -> value of identification registers (Cortex-M33 TRM, B2): CPUID (r0p3), ID_PFR0 and on.
ID = {
    0x00: 0x410F_D213,
    0x40: 0x0000_0030, 0x44: 0x0000_0210, 0x48: 0x0020_0000, 0x4C: 0x0000_0000,
    0x50: 0x0010_1F40, 0x54: 0x0000_0000, 0x58: 0x0100_0000, 0x5C: 0x0000_0000,
    0x60: 0x0110_1110, 0x64: 0x0221_2000, 0x68: 0x2023_2232, 0x6C: 0x0111_1131,
    0x70: 0x0131_0132, 0x74: 0x0000_0000, 0x78: 0x0000_0000, 0x7C: 0x8000_0000,
    0x240: 0x1011_0021, 0x244: 0x1100_0011, 0x248: 0x0000_0040,
}  # fmt: skip


class ScbHost(Protocol):
    """The chip around the processor."""

    @property
    def exception_number(self) -> int: ...
    def request_reset(self) -> None:
        """Handle a write of SYSRESETREQ."""

    def security_changed(self) -> None:
        """Handle a write of AIRCR or of a register of the SAU."""


class Scb:
    """Registers by offset from 0xE000_ED00, as one security state sees them."""

    def __init__(self, host: ScbHost, engine: Engine, dwt: Dwt, *, nonsecure: bool) -> None:
        nvic, bank = engine.nvic, engine.scb[nonsecure]
        self._host, self._core, self._nvic, self._dwt = host, engine.core, nvic, dwt
        self._mpu, self._bank, self._secure = engine.mpus[nonsecure], bank, engine.scb[False]
        self._shared, self._nonsecure = engine.shared, nonsecure
        self._readers: dict[int, Callable[[], int]] = {
            0x04: lambda: nvic.read_control(host.exception_number, nonsecure),
            0x08: lambda: bank.vtor,
            0x0C: self._read_aircr,
            0x10: lambda: nvic.scr(nonsecure),
            0x14: lambda: bank.ccr,
            0x24: self._read_shcsr,
            0x28: lambda: self.cfsr,
            0x2C: lambda: self.hfsr,
            0x34: lambda: bank.mmfar,
            0x38: lambda: self.bfar,
            0x88: lambda: bank.cpacr,
            0x8C: lambda: 0 if nonsecure else self._shared.nsacr,
            0xFC: lambda: self._dwt.trace << 24,
            0x234: self._read_fpccr,
            0x238: lambda: bank.fpcar,
            0x23C: lambda: bank.fpdscr,
        }
        self._writers: dict[int, Callable[[int], None]] = {
            0x04: lambda value: nvic.write_control(value, nonsecure),
            0x08: self._write_vtor,
            0x0C: self._write_aircr,
            0x10: self._write_scr,
            0x14: self._write_ccr,
            0x24: self._write_shcsr,
            0x28: self._clear_cfsr,
            0x2C: self._clear_hfsr,
            0x34: self._write_mmfar,
            0x38: self._write_bfar,
            0x88: self._write_cpacr,
            0x8C: lambda _: None,
            0xFC: lambda value: self._dwt.set_trace(bool(value >> 24 & 1)),
            0x200: self._write_stir,
            0x234: self._write_fpccr,
            0x238: self._write_fpcar,
            0x23C: self._write_fpdscr,
        }
        if not nonsecure:
            self._readers |= {
                0xD0: lambda: self._shared.sau_ctrl,
                0xE4: lambda: self._shared.sfsr,
                0xE8: lambda: self._shared.sfar,
            }
            self._writers |= {
                0x8C: self._write_nsacr,
                0xD0: self._write_sau_ctrl,
                0xE4: self._clear_sfsr,
                0xE8: self._write_sfar,
            }
        self.reset()

    def reset(self) -> None:
        """Set the registers to their values after a reset, except the shared ones."""
        self._bank.reset()
        self._bank.fpccr |= 0 if self._nonsecure else _LSPEN | _FPCCR_S
        self._storage: dict[int, int] = {}

    # faults: banked ones, and those that both states share

    @property
    def sees_shared(self) -> bool:
        """Whether BusFault and HardFault belong to this state."""
        return not self._nonsecure or self._nvic.faults_nonsecure

    @property
    def cfsr(self) -> int:
        """CFSR as this state reads it."""
        return self._bank.cfsr | (self._shared.bfsr if self.sees_shared else 0)

    @property
    def hfsr(self) -> int:
        """HFSR as this state reads it."""
        return self._shared.hfsr if self.sees_shared else 0

    @property
    def bfar(self) -> int:
        """BFAR as this state reads it."""
        return self._shared.bfar if self.sees_shared else 0

    def number(self, exception: int) -> int:
        """This state's exception of a number: with NONSECURE if banked and non-secure."""
        return exception | NONSECURE if self._nonsecure and exception in BANKED else exception

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        if offset in self._readers:
            return self._readers[offset]()
        if offset in _SHPR:
            priorities = bytes(self._priority(offset - 0x14 + i) for i in range(4))
            return int.from_bytes(priorities, "little")
        if 0x90 <= offset < 0xC8:
            return self._mpu.read(offset)
        if 0xD0 <= offset <= 0xE8:
            return 0  # the SAU has no regions, and is hidden from the non-secure state
        return ID.get(offset, self._storage.get(offset, 0))

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        if offset in self._writers:
            self._writers[offset](value)
        elif offset in _SHPR:
            for i in range(4):
                self._set_priority(offset - 0x14 + i, value >> 8 * i & 0xFF)
        elif 0x90 <= offset < 0xC8:
            self._mpu.write(offset, value)
        elif offset not in ID and not 0xD0 <= offset <= 0xE8:
            self._storage[offset] = value

    def _owns(self, exception: int) -> bool:
        """Whether this state may access the registers of a system exception."""
        if exception == SECURE_FAULT:
            return not self._nonsecure
        if exception in (NMI, BUS_FAULT):
            return self.sees_shared
        return exception in BANKED or exception == DEBUG_MONITOR

    def _priority(self, exception: int) -> int:
        return self._nvic.priority(self.number(exception)) if self._owns(exception) else 0

    def _set_priority(self, exception: int, value: int) -> None:
        if self._owns(exception):
            self._nvic.set_priority(self.number(exception), value)

    def _write_stir(self, value: int) -> None:
        number = FIRST_IRQ + (value & 0x1FF)
        mine = not self._nonsecure or self._nvic.is_nonsecure(number)
        if mine and number < FIRST_IRQ + self._nvic.irqs:
            self._nvic.pend(number)

    def _read_aircr(self) -> int:
        nvic = self._nvic
        value = 0xFA05_0000 | nvic.group(self._nonsecure) << 8
        value |= _AIRCR_BFHFNMINS if nvic.faults_nonsecure else 0
        if self._nonsecure:
            return value
        value |= _AIRCR_PRIS if nvic.squashed else 0
        return value | (_AIRCR_SYSRESETREQS if self._shared.reset_secure_only else 0)

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != _VECTKEY:
            return
        nvic = self._nvic
        nvic.set_group(value >> 8 & 7, self._nonsecure)
        if not self._nonsecure:
            self._shared.reset_secure_only = bool(value & _AIRCR_SYSRESETREQS)
            nvic.squashed = bool(value & _AIRCR_PRIS)
            nvic.faults_nonsecure = bool(value & _AIRCR_BFHFNMINS)
            self._host.security_changed()
        if value & _AIRCR_SYSRESETREQ and not (self._nonsecure and self._shared.reset_secure_only):
            self._host.request_reset()

    def _state_bits(self, exceptions: dict[int, int], *, active: bool) -> int:
        """The bits of SHCSR for this state's active, or pending, system exceptions."""
        is_set = self._nvic.is_active if active else self._nvic.is_pending
        mine = (n for n in exceptions if self._owns(n))
        return sum(1 << exceptions[n] for n in mine if is_set(self.number(n)))

    def _read_shcsr(self) -> int:
        value = self._bank.enables
        if not self._nonsecure:
            value |= self._shared.enables
        elif self.sees_shared:
            value |= self._shared.enables & FAULT_ENABLES[BUS_FAULT]
        value |= self._state_bits(_ACTIVE_BITS, active=True)
        return value | self._state_bits(_PENDING_BITS, active=False)

    def _write_shcsr(self, value: int) -> None:
        self._bank.enables = value & 0x5_0000
        if self.sees_shared:
            mine = FAULT_ENABLES[BUS_FAULT] if self._nonsecure else _SHARED_ENABLES
            self._shared.enables = self._shared.enables & ~mine | value & mine
        nvic = self._nvic
        for exception, bit in _PENDING_BITS.items():
            if exception in (4, 5, 6, 7, 11) and self._owns(exception):
                change = nvic.pend if value >> bit & 1 else nvic.unpend
                change(self.number(exception))
        for exception, bit in _ACTIVE_BITS.items():
            if exception not in (2, 3, DEBUG_MONITOR) and self._owns(exception):
                nvic.set_active(self.number(exception), value >> bit & 1)

    def _clear_cfsr(self, value: int) -> None:
        self._bank.cfsr &= ~value
        if self.sees_shared:
            self._shared.bfsr &= ~value

    def _clear_hfsr(self, value: int) -> None:
        if self.sees_shared:
            self._shared.hfsr &= ~value

    def _clear_sfsr(self, value: int) -> None:
        self._shared.sfsr &= ~value

    def _write_bfar(self, value: int) -> None:
        if self.sees_shared:
            self._shared.bfar = value

    def _write_sfar(self, value: int) -> None:
        self._shared.sfar = value

    def _write_sau_ctrl(self, value: int) -> None:
        self._shared.sau_ctrl = value & 3
        self._host.security_changed()

    def _write_vtor(self, value: int) -> None:
        self._bank.vtor = value & ~0x7F

    def _write_scr(self, value: int) -> None:
        kept = SLEEPONEXIT | SLEEPDEEP | SEVONPEND | (0 if self._nonsecure else _SLEEPDEEPS)
        self._nvic.set_scr(value & kept, self._nonsecure)

    def _write_ccr(self, value: int) -> None:
        self._bank.ccr = value | _CCR_FIXED
        self._core.update_traps()

    def _write_mmfar(self, value: int) -> None:
        self._bank.mmfar = value

    def _shared_fpccr(self) -> int:
        """The mask of the shared bits of FPCCR that this state may read."""
        if not self._nonsecure:
            return _FPCCR_SHARED
        faults = _BFRDY | _HFRDY if self._nvic.faults_nonsecure else 0
        return _LSPEN | _CLRONRET | _MONRDY | faults

    def _read_fpccr(self) -> int:
        return self._bank.fpccr & _FPCCR_BANKED | self._secure.fpccr & self._shared_fpccr()

    def _write_fpccr(self, value: int) -> None:
        secure, mine = self._secure, self._shared_fpccr()
        if self._nonsecure:  # LSPENS and CLRONRETS reserve their bits for the secure state
            mine &= ~((secure.fpccr & _LSPENS) << 1 | (secure.fpccr & _CLRONRETS) << 1)
        self._bank.fpccr = self._bank.fpccr & ~_FPCCR_BANKED | value & _FPCCR_BANKED
        secure.fpccr = secure.fpccr & ~mine | value & mine
        self._core.update_fp_access()

    def _write_fpcar(self, value: int) -> None:
        self._bank.fpcar = value & ~7

    def _write_fpdscr(self, value: int) -> None:
        self._bank.fpdscr = value & _FPDSCR
        self._core.update_fp_access()

    def _write_cpacr(self, value: int) -> None:
        self._bank.cpacr = value & 0xF0_FFFF
        self._core.update_fp_access()

    def _write_nsacr(self, value: int) -> None:
        self._shared.nsacr = value & 0xCFF
        self._core.update_fp_access()

    def state(self) -> tuple[bytes, dict[int, int]]:
        """The state for a snapshot."""
        return self._bank.state(), dict(self._storage)

    def restore(self, state: tuple[bytes, dict[int, int]]) -> None:
        """Restore a :meth:`state`."""
        bank, storage = state
        self._bank.restore(bank)
        self._storage = dict(storage)
