"""System control block, SAU and FP extension registers (Armv8-M ARM, D1.2), one per security state.

What both states share is in :class:`Shared`. The non-secure state sees the part of it that
AIRCR.BFHFNMINS gives it, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from harness.simulator.dwt import Dwt
from harness.simulator.identification import ID
from harness.simulator.nvic import (
    BANKED,
    BUS_FAULT,
    DEBUG_MONITOR,
    FIRST_IRQ,
    NMI,
    NONSECURE,
    SECURE_FAULT,
)
from harness.simulator.status import BFARVALID, MMARVALID

if TYPE_CHECKING:
    from harness.simulator._native import Mpu, Nvic

_SHPR = (0x18, 0x1C, 0x20)
SLEEPONEXIT, SLEEPDEEP, SEVONPEND = 1 << 1, 1 << 2, 1 << 4
USERSETMPEND = 1 << 1  # CCR
_SLEEPDEEPS = 1 << 3
_VECTKEY = 0x05FA
_AIRCR_SYSRESETREQ, _AIRCR_SYSRESETREQS = 1 << 2, 1 << 3
_AIRCR_BFHFNMINS, _AIRCR_PRIS = 1 << 13, 1 << 14
_CCR_RESET = 0x201  # STKALIGN, which v8-M fixes at one
_FPCCR_RESET = 0xC000_0000  # ASPEN, LSPEN
_FPCCR_SECURE = 0x3C00_0000  # LSPENS, CLRONRET(S), TS: the non-secure state cannot set them
FPCCR_TS = 1 << 26
_BUS_STATUS = 0xFF00  # BFSR in CFSR

#: SHCSR enable bits of the configurable faults: exception number -> bit.
FAULT_ENABLES = {4: 1 << 16, 5: 1 << 17, 6: 1 << 18, 7: 1 << 19}
_SHARED_ENABLES = 1 << 17 | 1 << 19
_ACTIVE_BITS = {4: 0, 5: 1, 3: 2, 6: 3, 7: 4, 2: 5, 11: 7, 12: 8, 14: 10, 15: 11}
_PENDING_BITS = {6: 12, 4: 13, 5: 14, 11: 15, 7: 20, 3: 21}


def _kept_by_the_core(name: str) -> Any:
    """A banked register, which the counting core needs to take exceptions."""

    def place(scb: Scb) -> str:
        return f"{name}_ns" if scb._nonsecure else name

    return property(
        lambda scb: getattr(scb._nvic, place(scb)),
        lambda scb, value: setattr(scb._nvic, place(scb), value),
    )


class Host(Protocol):
    """What the SCB needs of the processor."""

    @property
    def exception_number(self) -> int: ...
    def request_reset(self) -> None:
        """SYSRESETREQ was written."""

    def fp_access_changed(self) -> None:
        """CPACR or NSACR was written."""

    def security_changed(self) -> None:
        """A register of the SAU was written."""


class Shared:
    """What both security states share."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Values after a reset."""
        self.hfsr = self.bfsr = self.bfar = self.sfsr = self.sfar = 0
        self.enables = 0  # in SHCSR, of BusFault and SecureFault
        self.nsacr = 0
        self.sau_ctrl = 0
        self.reset_secure_only = False  # AIRCR.SYSRESETREQS

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return dict(vars(self))

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        self.__dict__.update(state)


class Scb:
    """Registers by offset from 0xE000_ED00, as one security state sees them."""

    def __init__(
        self,
        host: Host,
        nvic: Nvic,
        mpu: Mpu,
        dwt: Dwt,
        shared: Shared,
        *,
        nonsecure: bool,
    ) -> None:
        self._host, self._nvic, self._mpu, self._dwt = host, nvic, mpu, dwt
        self.shared, self._nonsecure = shared, nonsecure
        self._readers: dict[int, Callable[[], int]] = {
            0x04: lambda: nvic.read_control(host.exception_number, nonsecure),
            0x0C: self._read_aircr,
            0x24: self._read_shcsr,
            0x8C: lambda: self.shared.nsacr,
            0xFC: lambda: self._dwt.trace << 24,
        }
        self._writers: dict[int, Callable[[int], None]] = {
            0x04: lambda value: nvic.write_control(value, nonsecure),
            0x0C: self._write_aircr,
            0x10: self._write_scr,
            0x24: self._write_shcsr,
            0x28: self._clear_cfsr,
            0x2C: self._clear_hfsr,
            0x38: self._write_bfar,
            0x88: self._write_cpacr,
            0x8C: lambda _: None,
            0xFC: lambda value: self._dwt.set_trace(bool(value >> 24 & 1)),
            0x200: self._write_stir,
            0x234: self._write_fpccr,
        }
        if not nonsecure:
            self._readers |= {
                0xD0: lambda: self.shared.sau_ctrl,
                0xE4: lambda: self.shared.sfsr,
                0xE8: lambda: self.shared.sfar,
            }
            self._writers |= {
                0x8C: self._write_nsacr,
                0xD0: self._write_sau_ctrl,
                0xE4: self._clear_sfsr,
                0xE8: self._write_sfar,
            }
        self.reset()

    def reset(self) -> None:
        """Values after a reset; :class:`Shared` is reset by its owner."""
        self.status = self.mmfar = 0
        self.ccr = _CCR_RESET
        self.enables = 0
        self.storage: dict[int, int] = {0x234: _FPCCR_RESET}
        self.cpacr = 0

    vtor = _kept_by_the_core("vtor")
    scr = _kept_by_the_core("scr")

    # faults: banked ones, and those that both states share

    @property
    def sees_shared(self) -> bool:
        """True if BusFault and HardFault belong to this state."""
        return not self._nonsecure or self._nvic.faults_nonsecure

    @property
    def cfsr(self) -> int:
        """CFSR as this state reads it."""
        return self.status | (self.shared.bfsr if self.sees_shared else 0)

    @property
    def hfsr(self) -> int:
        """HFSR as this state reads it."""
        return self.shared.hfsr if self.sees_shared else 0

    @property
    def bfar(self) -> int:
        """BFAR as this state reads it."""
        return self.shared.bfar if self.sees_shared else 0

    def note(self, status: int, address: int | None = None) -> None:
        """Set bits of CFSR; ``address`` goes to MMFAR with MMARVALID, to BFAR with BFARVALID."""
        self.status |= status & ~_BUS_STATUS
        self.shared.bfsr |= status & _BUS_STATUS
        if address is not None and status & MMARVALID:
            self.mmfar = address
        if address is not None and status & BFARVALID:
            self.shared.bfar = address

    @property
    def fault_enables(self) -> int:
        """SHCSR's enable bits of this state's faults and of those that are shared."""
        return self.enables | self.shared.enables

    def number(self, exception: int) -> int:
        """This state's exception of a number, with NONSECURE if it is banked and not secure."""
        return exception | NONSECURE if self._nonsecure and exception in BANKED else exception

    @property
    def clears_fp(self) -> bool:
        """FPCCR.TS: all FP registers belong to the secure state."""
        return bool(self.storage.get(0x234, 0) & FPCCR_TS)

    def read(self, offset: int) -> int:
        """The word at ``offset``."""
        if offset in self._readers:
            return self._readers[offset]()
        if offset in _PLAIN:
            value: int = getattr(self, _PLAIN[offset])
            return value
        if offset in _SHPR:
            priorities = bytes(self._priority(offset - 0x14 + i) for i in range(4))
            return int.from_bytes(priorities, "little")
        if 0x90 <= offset < 0xC8:
            return self._mpu.read(offset)
        if 0xD0 <= offset <= 0xE8:
            return 0  # the SAU has no regions, and the non-secure state sees none of it
        return ID.get(offset, self.storage.get(offset, 0))

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
        elif offset in _SHPR:
            for i in range(4):
                self._set_priority(offset - 0x14 + i, value >> 8 * i & 0xFF)
        elif 0x90 <= offset < 0xC8:
            self._mpu.write(offset, value)
        elif offset not in ID and not 0xD0 <= offset <= 0xE8:
            self.storage[offset] = value

    def _owns(self, exception: int) -> bool:
        """True for a system exception whose registers this state may access."""
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
        return value | (_AIRCR_SYSRESETREQS if self.shared.reset_secure_only else 0)

    def _write_aircr(self, value: int) -> None:
        if value >> 16 != _VECTKEY:
            return
        nvic = self._nvic
        nvic.set_group(value >> 8 & 7, self._nonsecure)
        if not self._nonsecure:
            self.shared.reset_secure_only = bool(value & _AIRCR_SYSRESETREQS)
            nvic.squashed = bool(value & _AIRCR_PRIS)
            nvic.faults_nonsecure = bool(value & _AIRCR_BFHFNMINS)
            self._host.security_changed()
        if value & _AIRCR_SYSRESETREQ and not (self._nonsecure and self.shared.reset_secure_only):
            self._host.request_reset()

    def _write_scr(self, value: int) -> None:
        kept = SLEEPONEXIT | SLEEPDEEP | SEVONPEND | (0 if self._nonsecure else _SLEEPDEEPS)
        self.scr = value & kept

    def _shown(self, exceptions: dict[int, int], *, active: bool) -> int:
        """Bits of SHCSR for the system exceptions of this state that are active, or pending."""
        holds = self._nvic.is_active if active else self._nvic.is_pending
        mine = (n for n in exceptions if self._owns(n))
        return sum(1 << exceptions[n] for n in mine if holds(self.number(n)))

    def _read_shcsr(self) -> int:
        value = self.enables
        if not self._nonsecure:
            value |= self.shared.enables
        elif self.sees_shared:
            value |= self.shared.enables & FAULT_ENABLES[BUS_FAULT]
        value |= self._shown(_ACTIVE_BITS, active=True)
        return value | self._shown(_PENDING_BITS, active=False)

    def _write_shcsr(self, value: int) -> None:
        self.enables = value & 0x5_0000
        if self.sees_shared:
            mine = FAULT_ENABLES[BUS_FAULT] if self._nonsecure else _SHARED_ENABLES
            self.shared.enables = self.shared.enables & ~mine | value & mine
        nvic = self._nvic
        for exception, bit in _PENDING_BITS.items():
            if exception in (4, 5, 6, 7, 11) and self._owns(exception):
                change = nvic.pend if value >> bit & 1 else nvic.unpend
                change(self.number(exception))
        for exception, bit in _ACTIVE_BITS.items():
            if exception not in (2, 3, DEBUG_MONITOR) and self._owns(exception):
                nvic.set_active(self.number(exception), value >> bit & 1)

    def _clear_cfsr(self, value: int) -> None:
        self.status &= ~value
        if self.sees_shared:
            self.shared.bfsr &= ~value

    def _clear_hfsr(self, value: int) -> None:
        if self.sees_shared:
            self.shared.hfsr &= ~value

    def _clear_sfsr(self, value: int) -> None:
        self.shared.sfsr &= ~value

    def _write_bfar(self, value: int) -> None:
        if self.sees_shared:
            self.shared.bfar = value

    def _write_sfar(self, value: int) -> None:
        self.shared.sfar = value

    def _write_sau_ctrl(self, value: int) -> None:
        self.shared.sau_ctrl = value & 3
        self._host.security_changed()

    def _write_fpccr(self, value: int) -> None:
        self.storage[0x234] = value & ~(_FPCCR_SECURE if self._nonsecure else 0)
        self._host.fp_access_changed()

    def _write_cpacr(self, value: int) -> None:
        self.cpacr = value & 0xF0_FFFF
        self._host.fp_access_changed()

    def _write_nsacr(self, value: int) -> None:
        self.shared.nsacr = value & 0xCFF
        self._host.fp_access_changed()

    @property
    def fp_allowed(self) -> bool:
        """True if FP instructions may run in this state."""
        allowed = self.cpacr >> 20 & 3 != 0
        return allowed and (not self._nonsecure or bool(self.shared.nsacr >> 10 & 1))

    _STATE = ("status", "mmfar", "ccr", "enables", "cpacr")

    def state(self) -> dict[str, Any]:
        """What a snapshot keeps."""
        return {name: getattr(self, name) for name in self._STATE} | {"storage": dict(self.storage)}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what :meth:`state` gave."""
        for name in self._STATE:
            setattr(self, name, state[name])
        self.storage = dict(state["storage"])


_PLAIN = {
    0x08: "vtor", 0x10: "scr", 0x14: "ccr", 0x28: "cfsr", 0x2C: "hfsr", 0x34: "mmfar", 0x38: "bfar",
    0x88: "cpacr",
}  # fmt: skip
