"""System control block and FP extension registers (Armv8-M ARM, D1.2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from harness.simulator.dwt import Dwt
from harness.simulator.mpu import Mpu
from harness.simulator.nvic import DEBUG_MONITOR, NMI, PENDSV, SYSTICK, Nvic, bits

# CFSR: MemManage in bits 7..0, BusFault in 15..8, UsageFault in 31..16.
IACCVIOL, DACCVIOL, MUNSTKERR, MSTKERR, MMARVALID = 1 << 0, 1 << 1, 1 << 3, 1 << 4, 1 << 7
IBUSERR, PRECISERR, UNSTKERR, STKERR, BFARVALID = 1 << 8, 1 << 9, 1 << 11, 1 << 12, 1 << 15
UNDEFINSTR, INVSTATE, INVPC, NOCP, STKOF = 1 << 16, 1 << 17, 1 << 18, 1 << 19, 1 << 20
UNALIGNED, DIVBYZERO = 1 << 24, 1 << 25
CFSR_NAMES = {
    IACCVIOL: "IACCVIOL",
    DACCVIOL: "DACCVIOL",
    MUNSTKERR: "MUNSTKERR",
    MSTKERR: "MSTKERR",
    MMARVALID: "MMARVALID",
    IBUSERR: "IBUSERR",
    PRECISERR: "PRECISERR",
    UNSTKERR: "UNSTKERR",
    STKERR: "STKERR",
    BFARVALID: "BFARVALID",
    UNDEFINSTR: "UNDEFINSTR",
    INVSTATE: "INVSTATE",
    INVPC: "INVPC",
    NOCP: "NOCP",
    STKOF: "STKOF",
    UNALIGNED: "UNALIGNED",
    DIVBYZERO: "DIVBYZERO",
}
HFSR_VECTTBL, HFSR_FORCED, HFSR_DEBUGEVT = 1 << 1, 1 << 30, 1 << 31
HFSR_NAMES = {HFSR_VECTTBL: "VECTTBL", HFSR_FORCED: "FORCED", HFSR_DEBUGEVT: "DEBUGEVT"}

SLEEPONEXIT, SLEEPDEEP, SEVONPEND = 1 << 1, 1 << 2, 1 << 4
USERSETMPEND, UNALIGN_TRP, DIV_0_TRP, BFHFNMIGN = 1 << 1, 1 << 3, 1 << 4, 1 << 8
_VECTKEY = 0x05FA
_CPUID = 0x410F_D213  # Cortex-M33 r0p3
_CCR_RESET = 0x201  # STKALIGN, which v8-M fixes at one
_FPCCR_RESET = 0xC000_0000  # ASPEN, LSPEN

#: SHCSR enable bits of the three configurable faults: exception number -> bit.
FAULT_ENABLES = {4: 1 << 16, 5: 1 << 17, 6: 1 << 18}
_ACTIVE_BITS = {4: 0, 5: 1, 3: 2, 6: 3, 7: 4, 2: 5, 11: 7, 12: 8, 14: 10, 15: 11}
_PENDING_BITS = {6: 12, 4: 13, 5: 14, 11: 15, 7: 20, 3: 21}

#: Identification registers from 0x40 (ID_PFR0) on: Cortex-M33 TRM, B2.
_ID = {
    0x40: 0x0000_0030, 0x44: 0x0000_0210, 0x48: 0x0020_0000, 0x50: 0x0010_1F40,
    0x58: 0x0100_0000, 0x60: 0x0110_1110, 0x64: 0x0221_2000, 0x68: 0x2023_2232,
    0x6C: 0x0111_1131, 0x70: 0x0131_0132, 0x78: 0x0000_0000, 0x7C: 0x8000_0000,
    0x240: 0x1011_0021, 0x244: 0x1100_0011, 0x248: 0x0000_0040,
}  # fmt: skip


class Host(Protocol):
    """What the SCB asks of the processor."""

    @property
    def exception_number(self) -> int: ...
    def request_reset(self) -> None: ...
    def set_fp_access(self, allowed: bool) -> None: ...


class Scb:
    """Registers by offset from 0xE000_ED00."""

    def __init__(self, host: Host, nvic: Nvic, mpu: Mpu, dwt: Dwt) -> None:
        self._host, self._nvic, self._mpu, self._dwt = host, nvic, mpu, dwt
        self._readers: dict[int, Callable[[], int]] = {
            0x04: self._read_icsr,
            0x0C: lambda: 0xFA05_0000 | self._nvic.group << 8,
            0x24: self._read_shcsr,
            0xFC: lambda: self._dwt.trace << 24,
        }
        self._writers: dict[int, Callable[[int], None]] = {
            0x04: self._write_icsr,
            0x0C: self._write_aircr,
            0x10: self._write_scr,
            0x24: self._write_shcsr,
            0x28: self._clear_cfsr,
            0x2C: self._clear_hfsr,
            0x88: self._write_cpacr,
            0xFC: lambda value: self._dwt.set_trace(bool(value >> 24 & 1)),
            0x200: lambda value: self._nvic.pend(16 + (value & 0x1FF)),
        }
        self.reset()

    def reset(self) -> None:
        """Values after a reset."""
        self.vtor = self.scr = self.cfsr = self.hfsr = 0
        self.mmfar = self.bfar = 0
        self.ccr = _CCR_RESET
        self.fault_enables = 0
        self.storage: dict[int, int] = {0x234: _FPCCR_RESET}
        self.cpacr = 0
        self._host.set_fp_access(False)

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        if offset in self._readers:
            return self._readers[offset]()
        if offset in _PLAIN:
            value: int = getattr(self, _PLAIN[offset])
            return value
        if 0x18 <= offset < 0x24:
            first = offset - 0x14
            return int.from_bytes(bytes(self._nvic.priorities[first : first + 4]), "little")
        if 0x90 <= offset < 0xC8:
            return self._mpu.read(offset)
        return _CPUID if offset == 0 else _ID.get(offset, self.storage.get(offset, 0))

    def write(self, offset: int, value: int) -> None:
        """Write the word at ``offset``."""
        if offset in self._writers:
            self._writers[offset](value)
        elif offset == 0x08:
            self.vtor = value & ~0x7F
        elif offset == 0x14:
            self.ccr = value | _CCR_RESET
        elif offset in _PLAIN:
            setattr(self, _PLAIN[offset], value)
        elif 0x18 <= offset < 0x24:
            for i in range(4):
                self._nvic.set_priority(offset - 0x14 + i, value >> 8 * i & 0xFF)
        elif 0x90 <= offset < 0xC8:
            self._mpu.write(offset, value)
        elif offset not in _ID and offset != 0:
            self.storage[offset] = value

    def _read_icsr(self) -> int:
        nvic = self._nvic
        active = self._host.exception_number
        value = active | nvic.best() << 12
        value |= (nvic.active & ~(1 << active if active else 0) == 0) << 11  # RETTOBASE
        value |= (nvic.pending >> 16 != 0) << 22
        value |= (nvic.pending >> SYSTICK & 1) << 26 | (nvic.pending >> PENDSV & 1) << 28
        return value | (nvic.pending >> NMI & 1) << 31

    def _write_icsr(self, value: int) -> None:
        for bit, number in ((31, NMI), (28, PENDSV), (26, SYSTICK)):
            if value >> bit & 1:
                self._nvic.pend(number)
        for bit, number in ((27, PENDSV), (25, SYSTICK), (30, NMI)):
            if value >> bit & 1 and not value >> bit + 1 & 1:
                self._nvic.unpend(number)

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != _VECTKEY:
            return
        self._nvic.set_group(value >> 8 & 7)
        if value & 4:
            self._host.request_reset()

    def _write_scr(self, value: int) -> None:
        self.scr = value & (SLEEPONEXIT | SLEEPDEEP | SEVONPEND)
        self._nvic.send_on_pend = bool(value & SEVONPEND)

    def _read_shcsr(self) -> int:
        value = self.fault_enables
        for number in bits(self._nvic.active):
            value |= 1 << _ACTIVE_BITS[number] if number in _ACTIVE_BITS else 0
        for number in bits(self._nvic.pending):
            value |= 1 << _PENDING_BITS[number] if number in _PENDING_BITS else 0
        return value

    def _write_shcsr(self, value: int) -> None:
        self.fault_enables = value & 0xF_0000
        for number, bit in _PENDING_BITS.items():
            if number in (4, 5, 6, 11):
                (self._nvic.pend if value >> bit & 1 else self._nvic.unpend)(number)
        for number, bit in _ACTIVE_BITS.items():
            if number not in (2, 3, DEBUG_MONITOR):
                mask = 1 << number
                self._nvic.active = self._nvic.active & ~mask | (value >> bit & 1) << number
        self._nvic.update()

    def _clear_cfsr(self, value: int) -> None:
        self.cfsr &= ~value

    def _clear_hfsr(self, value: int) -> None:
        self.hfsr &= ~value

    def _write_cpacr(self, value: int) -> None:
        self.cpacr = value & 0xF0_FFFF
        self._host.set_fp_access(self.cpacr >> 20 & 3 != 0)

    _STATE = ("vtor", "scr", "cfsr", "hfsr", "mmfar", "bfar", "ccr", "fault_enables", "cpacr")

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {name: getattr(self, name) for name in self._STATE} | {"storage": dict(self.storage)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        for name in self._STATE:
            setattr(self, name, state[name])
        self.storage = dict(state["storage"])
        self._host.set_fp_access(self.cpacr >> 20 & 3 != 0)


_PLAIN = {
    0x08: "vtor",
    0x10: "scr",
    0x14: "ccr",
    0x28: "cfsr",
    0x2C: "hfsr",
    0x34: "mmfar",
    0x38: "bfar",
    0x88: "cpacr",
}
