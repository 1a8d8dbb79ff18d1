"""The processor's registers: one set per security state, and a shared one.

The counting core takes exceptions, and has the registers that exceptions need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from harness.base import power_on
from harness.base.exceptions import HARD_FAULT, IPSR, SECURE_FAULT, exception_name
from harness.base.fault_status import status_names
from harness.simulator.dwt import Dwt
from harness.simulator.engine import Engine
from harness.simulator.faults import BLOCKS_KEPT, FaultRecord
from harness.simulator.nvic import NUMBER, STATES, NvicRegisters
from harness.simulator.scb import Scb, ScbHost
from harness.simulator.systick import SysTick, Timekeeper
from harness.simulator.unicorn import CORE_REGISTERS, Reg

_SPSEL = 2  # CONTROL
_DEBUGEVT, _VECTTBL = 1 << 31, 1 << 1  # HFSR
_FP_REGISTERS = 32  # s0 to s31


class ProcessorHost(ScbHost, Timekeeper, Protocol):
    """The chip around the processor."""


@dataclass(frozen=True)
class Bank:
    """The registers of one security state."""

    scb: Scb
    systick: SysTick
    nvic: NvicRegisters


class Processor:
    """The registers, as bus and snapshots see them; index False is the secure state.

    After each reset undefined registers have the pattern of ``seed``.
    """

    def __init__(self, engine: Engine, chip: ProcessorHost, seed: int) -> None:
        self._engine, self._core, self._nvic = engine, engine.core, engine.nvic
        self.dwt = Dwt(lambda: self._core.executed + self._core.slept)
        self.shared = engine.shared
        self._banks = self._bank(chip, nonsecure=False), self._bank(chip, nonsecure=True)
        self._fill(seed)
        self._power_on = self._core.save_state()

    def _fill(self, seed: int) -> None:
        """Fill the registers that are undefined after a reset (Armv8-M ARM, "TakeReset")."""
        core = self._core
        numbers = [*range(Reg.R0, Reg.R12 + 1), *range(Reg.S0, Reg.S0 + _FP_REGISTERS)]
        core.write_many(
            numbers, [*power_on.words(seed, power_on.R0, 13),
                      *power_on.words(seed, power_on.S0, _FP_REGISTERS)],
        )  # fmt: skip
        (flags,) = power_on.words(seed, power_on.APSR, 1)
        (stack,) = power_on.words(seed, power_on.PSP, 1)
        (fp_status,) = power_on.words(seed, power_on.FPSCR, 1)
        core.write(Reg.XPSR_NZCVQG, flags & power_on.FLAGS)
        core.write(Reg.PSP, stack & ~3)
        core.write(Reg.FPSCR, fp_status & power_on.FP_STATUS)

    def _bank(self, chip: ProcessorHost, *, nonsecure: bool) -> Bank:
        return Bank(
            Scb(chip, self._engine, self.dwt, nonsecure=nonsecure),
            SysTick(chip, nonsecure=nonsecure),
            NvicRegisters(self._nvic, nonsecure=nonsecure),
        )

    def __getitem__(self, nonsecure: bool) -> Bank:
        return self._banks[nonsecure]

    @property
    def timers(self) -> dict[str, SysTick]:
        """Name -> SysTick, of both states."""
        return {bank.systick.name: bank.systick for bank in self._banks}

    def reset(self) -> None:
        """Set all registers to their values after a reset."""
        self._nvic.reset()
        self.dwt.reset()
        self.shared.reset()
        self._core.load_state(self._power_on)
        for mpu in self._engine.mpus:
            mpu.reset()
        for bank in self._banks:
            bank.systick.reset()
            bank.scb.reset()
        self._core.reset()

    def start(self, vectors: int) -> None:
        """Carry out the reset sequence (Armv8-M ARM, B3.8)."""
        self._core.load_state(self._power_on)
        self._engine.scb[False].vtor = vectors
        # Read from memory: the firmware may have programmed other vectors before this reset.
        store = self._engine.store_of(vectors, 8)
        assert store is not None
        table = bytes(store.slice(vectors, 8))
        stack, entry = int.from_bytes(table[:4], "little"), int.from_bytes(table[4:], "little")
        self._core.write_many(
            (int(Reg.SP), int(Reg.LR), int(Reg.PC)), (stack & ~3, 0xFFFF_FFFF, entry | 1)
        )

    def fault_record(
        self, cause: int, taken: int, status: int, pc: int, address: int | None, stacking: bool
    ) -> FaultRecord:
        """The record of a fault that is being taken; ``stacking``: on exception entry."""
        core = self._core
        registers = list(core.read_many(CORE_REGISTERS))
        registers[15] = pc
        exception = registers[16] & IPSR
        process = not exception and bool(core.read(Reg.CONTROL) & _SPSEL)
        if stacking and not self._nvic.active_beside(0):
            exception = 0
        secure_fault = cause == SECURE_FAULT
        names = status_names(
            0 if secure_fault else status,
            self.shared.hfsr & (_DEBUGEVT | (_VECTTBL if cause == HARD_FAULT else 0)),
            status if secure_fault else 0,
        )
        return FaultRecord(
            exception_name(taken & NUMBER) if taken else "Lockup",
            exception_name(cause & NUMBER),
            ", ".join(names),
            pc,
            registers[14],
            registers[13],
            "PSP" if process else "MSP",
            address,
            tuple(registers),
            self[self._nvic.is_nonsecure(cause)].scb.cfsr,
            self.shared.hfsr,
            exception,
            core.executed,
            tuple(core.recent_blocks()[-BLOCKS_KEPT:]),
            STATES[core.nonsecure] if core.divided else "",
            self.shared.sfsr,
        )

    def state(self) -> dict[str, Any]:
        """The state for a snapshot, without that of the counting core."""
        return {
            "nvic": self._nvic.state(),
            "dwt": self.dwt.state(),
            "shared": self.shared.state(),
            "mpu": tuple(mpu.save() for mpu in self._engine.mpus),
            "systick": tuple(bank.systick.state() for bank in self._banks),
            "scb": tuple(bank.scb.state() for bank in self._banks),
            "nonsecure": self._core.nonsecure,
            "divided": self._core.divided,
        }

    def restore(self, state: dict[str, Any]) -> bool:
        """Restore a :meth:`state`; return whether the security of addresses has changed."""
        core = self._core
        before = core.nonsecure, core.divided, self.shared.sau_ctrl
        self._nvic.restore(state["nvic"])
        self.dwt.restore(state["dwt"])
        self.shared.restore(state["shared"])
        for mpu, saved in zip(self._engine.mpus, state["mpu"], strict=True):
            mpu.load(saved)
        for bank, systick, scb in zip(self._banks, state["systick"], state["scb"], strict=True):
            bank.systick.restore(systick)
            bank.scb.restore(scb)
        core.locked_up = False
        core.nonsecure, core.divided = state["nonsecure"], state["divided"]
        core.update_traps()
        core.update_fp_access()
        return before != (core.nonsecure, core.divided, self.shared.sau_ctrl)
