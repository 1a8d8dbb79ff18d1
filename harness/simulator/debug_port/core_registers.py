"""Core registers by DCRSR.REGSEL (Armv8-M ARM, D1.2, "DCRSR"), those of both security states."""

from __future__ import annotations

from typing import TYPE_CHECKING

from harness.simulator.unicorn import Reg

if TYPE_CHECKING:
    from harness.simulator.machine import Machine

_SP, _PC, _XPSR, _MSP, _PSP, _SPECIAL = 13, 15, 16, 17, 18, 20
_FPSCR, _S0 = 33, 64
_THUMB, _IT = 1 << 24, 0x0600_FC00
#: REGSEL of MSP_NS, PSP_NS, MSP_S, PSP_S, MSPLIM_S, PSPLIM_S, MSPLIM_NS, PSPLIM_NS: the state is
#: non-secure, and which of (MSP, PSP, MSPLIM, PSPLIM).
_POINTERS = {
    24: (True, 0), 25: (True, 1), 26: (False, 0), 27: (False, 1),
    28: (False, 2), 29: (False, 3), 30: (True, 2), 31: (True, 3),
}  # fmt: skip
#: CONTROL, FAULTMASK, BASEPRI, PRIMASK of the secure, of the non-secure state.
_SPECIALS = {34: False, 35: True}
_SPECIAL_REGISTERS = (Reg.CONTROL, Reg.FAULTMASK, Reg.BASEPRI, Reg.PRIMASK)  # from bit 24 down


class CoreRegisters:
    """Reads and writes them while the core is halted."""

    def __init__(self, machine: Machine) -> None:
        self._machine, self._core = machine, machine.core

    def read(self, number: int) -> int:
        """The register that REGSEL names; 0 for a number without one."""
        if number <= _XPSR:
            return self._core.read(_NUMBERS[number]) & ~(number == _PC)
        if number in (_MSP, _PSP):
            return self._core.read(Reg.MSP if number == _MSP else Reg.PSP)
        if number == _SPECIAL:
            return self._specials(nonsecure=self._core.nonsecure)
        if number in _POINTERS:
            nonsecure, index = _POINTERS[number]
            return self._pointers(nonsecure=nonsecure)[index]
        if number in _SPECIALS:
            return self._specials(nonsecure=_SPECIALS[number])
        if number == _FPSCR:
            return self._core.read(Reg.FPSCR)
        return self._core.read(Reg.S0 + number - _S0) if 0 <= number - _S0 < 32 else 0

    def write(self, number: int, value: int) -> None:
        """Set the register that REGSEL names; a number without one is ignored."""
        core = self._core
        if number == _PC:
            core.write(Reg.PC, value | 1)
            core.sleeping, core.locked_up = 0, False
        elif number == _XPSR:
            core.write(Reg.XPSR_NZCVQG, value & ~(_THUMB | _IT))
            core.write(Reg.EPSR, value & (_THUMB | _IT))
        elif number < _XPSR:
            core.write(_NUMBERS[number], value & ~3 if number == _SP else value)
        elif number in (_MSP, _PSP):
            core.write(Reg.MSP if number == _MSP else Reg.PSP, value & ~3)
        elif number in _POINTERS:
            nonsecure, index = _POINTERS[number]
            self._set_pointer(index, value, nonsecure=nonsecure)
        elif number == _SPECIAL or number in _SPECIALS:
            nonsecure = _SPECIALS.get(number, core.nonsecure)
            self._set_specials(value, nonsecure=nonsecure)
        elif number == _FPSCR:
            core.write(Reg.FPSCR, value)
        elif 0 <= number - _S0 < 32:
            core.write(Reg.S0 + number - _S0, value)

    def _pointers(self, *, nonsecure: bool) -> tuple[int, int, int, int]:
        with _Bank(self._machine, nonsecure=nonsecure):
            psplim, msplim = self._core.limits()
            return self._core.read(Reg.MSP), self._core.read(Reg.PSP), msplim, psplim

    def _set_pointer(self, index: int, value: int, *, nonsecure: bool) -> None:
        core = self._core
        with _Bank(self._machine, nonsecure=nonsecure, keep=True):
            if index < 2:
                core.write((Reg.MSP, Reg.PSP)[index], value & ~3)
            else:
                psplim, msplim = core.limits()
                psplim, msplim = (psplim, value) if index == 2 else (value, msplim)
                core.set_limits(psplim & ~7, msplim & ~7)

    def _specials(self, *, nonsecure: bool) -> int:
        with _Bank(self._machine, nonsecure=nonsecure):
            values = [self._core.read(one) & 0xFF for one in _SPECIAL_REGISTERS]
        return int.from_bytes(values, "big")

    def _set_specials(self, value: int, *, nonsecure: bool) -> None:
        core = self._core
        with _Bank(self._machine, nonsecure=nonsecure, keep=True):
            for register, byte in zip(_SPECIAL_REGISTERS, value.to_bytes(4, "big"), strict=True):
                core.write(register, byte)
        core.write(Reg.XPSR_NZCVQG, core.read(Reg.XPSR))  # Unicorn derives its mode anew
        core.update_masks()
        core.synchronize()


_NUMBERS = (*range(Reg.R0, Reg.R12 + 1), int(Reg.SP), int(Reg.LR), int(Reg.PC), int(Reg.XPSR))


class _Bank:
    """Within it, the core's registers are those of a security state.

    Without ``keep`` everything is as before afterwards, down to the exclusive monitor.
    """

    def __init__(self, machine: Machine, *, nonsecure: bool, keep: bool = False) -> None:
        self._core = machine.core
        self._other = nonsecure != machine.core.nonsecure
        self._keep = keep
        self._state, self._sequential = b"", 0

    def __enter__(self) -> None:
        if self._other:
            self._sequential = self._core.sequential
            self._state = b"" if self._keep else self._core.save_state()
            self._core.exchange_banks()

    def __exit__(self, *_: object) -> None:
        if not self._other:
            return
        if self._keep:
            self._core.exchange_banks()
        else:
            self._core.load_state(self._state)
        self._core.sequential = self._sequential
