"""The built-in nRF9160: the public face of the simulator.

A :class:`Machine` holds one image. ``run`` executes it in virtual time; what can be asked
of the chip (memory, console, faults, profile, coverage, snapshots) is asked of it. Results
depend on the image and its input alone, never on the host's clock.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import StrEnum

from harness.deadline import Deadline
from harness.elf import Firmware
from harness.simulator.counting import XPSR_THUMB, Reason
from harness.simulator.events import NEVER
from harness.simulator.faults import FaultRecord, image_of, report, what, where
from harness.simulator.library import ERR_EXCEPTION, FETCHES, Reg
from harness.simulator.nrf9160 import INSTRUCTIONS, Nrf9160
from harness.simulator.nvic import BUS_FAULT, MEM_MANAGE, SQUASHED, USAGE_FAULT
from harness.simulator.security.gateway import FNC_RETURN
from harness.simulator.status import (
    DACCVIOL,
    IACCVIOL,
    IBUSERR,
    INVSTATE,
    MMARVALID,
    NOCP,
    STKOF,
    UNALIGNED,
    UNDEFINSTR,
)

#: So many resets without console output between them are a loop; a first boot takes one or two.
RESETS_IN_A_LOOP = 16
#: How many of the last console bytes are searched for a pattern: after the end of a line, and
#: within one.
_WINDOW, _LINE = 4096, 256

# Plain numbers: looking up a member of an enumeration takes longer than comparing numbers.
_EXCEPTION, _UNMASKED, _SPECIAL = int(Reason.EXCEPTION), int(Reason.UNMASKED), int(Reason.SPECIAL)
_MEMORY, _DEVICE, _ERROR = int(Reason.MEMORY), int(Reason.DEVICE), int(Reason.ERROR)
_XPSR = int(Reg.XPSR)

# Unicorn's exception numbers (Core.exception).
_SVC, _FETCH, _DATA, _BKPT, _EXIT = 2, 3, 4, 7, 8
#: Unicorn's fault status (short descriptor format) of an access that is not aligned.
_ALIGNMENT = 1
_USAGE = {1: UNDEFINSTR, 17: NOCP, 18: INVSTATE, 19: STKOF, 22: UNALIGNED}


class End(StrEnum):
    """Why :meth:`Machine.run` returned."""

    CONDITION = "condition"
    DEADLINE = "deadline"
    GUARD = "guard"
    IDLE = "idle"
    LOCKUP = "lockup"
    RESET_LOOP = "reset_loop"


class Machine(Nrf9160):
    """A chip that runs, and what tests and tools ask of it."""

    def __init__(
        self,
        firmware: Firmware,
        *,
        booted: bool = True,
        console: str = "UARTE0",
        paced: bool = False,
        timing: str = INSTRUCTIONS,
    ) -> None:
        self._hooks: dict[int, list[Callable[[Machine], bool | None]]] = {}
        self._pattern: re.Pattern[bytes] | None = None
        self._lines = False
        self._searched = 0  # console bytes that have been searched for the pattern
        self._hit = False
        super().__init__(firmware, booted=booted, console=console, paced=paced, timing=timing)

    def printed(self, data: bytes) -> None:
        """The console sent bytes."""
        self._collect()
        super().printed(data)
        self._listen(data)

    def _listen(self, data: bytes) -> None:
        """End a run that waits for a pattern, if it was sent; ``data`` was sent last."""
        line = data.rfind(b"\n") + 1
        if self._pattern is None or self._hit or (self._lines and not line):
            return
        self._collect()
        size = self.console.size
        reach = _WINDOW if line else _LINE
        if self._pattern.search(self.console.since(max(self._searched, size - reach))):
            self._hit = True
            self.core.stop_after = True
            self.core.stop_at = min(self.core.stop_at, self.core.executed)
        elif self._lines:
            self._searched = size - (len(data) - line)

    def _collect(self) -> None:
        """Take over what the counting core has sent to the console."""
        if self.core.has_sent:
            self.console.extend(self.core.collect(self.memory_map.cpu_hz, self.console.size))
            self.silent_resets = 0

    # running

    def run(
        self,
        *,
        until_tick: int = NEVER,
        until_executed: int = NEVER,
        pattern: bytes | None = None,
        lines: bool = False,
        guard: Deadline | None = None,
    ) -> End:
        """Run until the console shows ``pattern``, a count is reached, or the image cannot go on.

        ``until_tick`` is a deadline, in ticks of :attr:`now`; ``until_executed`` is a condition, in
        executed instructions. ``lines`` says that a match of ``pattern`` ends with its line: the
        pattern is then searched only where a line ends, and in that line, which is faster.
        """
        self._pattern = re.compile(pattern) if pattern is not None else None
        self._lines, self._searched = lines, self.console.size
        self._hit = False
        self.core.listen(self._listen if pattern is not None else None, lines)
        try:
            while True:
                end = self._settled(until_tick, until_executed, guard)
                if end is not None:
                    return end
                if self.sleeping and not self._awake(until_tick, guard):
                    if self.now >= until_tick:
                        return End.DEADLINE
                    if guard is not None and guard.guard_expired:
                        return End.GUARD
                    return End.IDLE
                seconds = max(guard.guard_remaining, 1e-6) if guard is not None else 0.0
                self._execute(until_tick, until_executed, seconds)
        finally:
            self._pattern = None
            self.core.listen(None, False)

    def _settled(self, until_tick: int, until_executed: int, guard: Deadline | None) -> End | None:
        """Carry out what is due between two stretches of execution; an End stops the run."""
        if self.bus.mends:
            self.bus.mend()
        if self.reset_reason is not None:
            self._reset(self.reset_reason)
            if self.silent_resets >= RESETS_IN_A_LOOP:
                return End.RESET_LOOP
        self.events.run_due(self.now)
        if self.reset_reason is not None:  # the watchdog
            return self._settled(until_tick, until_executed, guard)
        if self._hit:
            return End.CONDITION
        if self.exceptions.locked_up:
            return End.LOCKUP
        if self.core.executed >= until_executed:
            return End.CONDITION
        if self.now >= until_tick:
            return End.DEADLINE
        if guard is not None and guard.guard_expired:
            return End.GUARD
        return None

    def _awake(self, until_tick: int, guard: Deadline | None) -> bool:
        """Sleep until an event wakes the core.

        False if none does before ``until_tick``, or before the guard's wall time is over.
        """
        while not self._wakes():
            if guard is not None and guard.guard_expired:
                return False
            time = self.events.next_time
            if time >= until_tick:
                if (until_tick < NEVER and time < NEVER) or (
                    until_tick < NEVER and self.uart.incoming
                ):
                    self.core.slept += until_tick - self.now
                return False
            self.core.slept += max(0, time - self.now)
            self.events.run_due(self.now)
            if self.reset_reason is not None or self._hit:
                return True
        self.sleeping = ""
        return True

    def _wakes(self) -> bool:
        if self.sleeping == "wfe" and self.nvic.event:
            self.nvic.event = False
            return True
        number = self.nvic.best()
        if not number:
            return False
        # WFI wakes for what would be taken if PRIMASK were clear; WFE only for what is taken.
        if self.sleeping == "wfe":
            return self.core.deliverable()
        nonsecure = self.core.nonsecure
        base = self.core.read(Reg.BASEPRI) & self.nvic.group_mask(nonsecure)
        if base and nonsecure and self.nvic.squashed:
            base = (base >> 1) + SQUASHED
        now = min(self.nvic.active_priority, base) if base else self.nvic.active_priority
        return self.nvic.group_priority(number) < now

    def _execute(self, until_tick: int, until_executed: int, seconds: float) -> None:
        core = self.core
        if self.sleeping:  # what ended the sleep was a reset, or what the run waits for
            return
        if core.deliverable():
            self.exceptions.enter(self.nvic.best(), self.bus.pc())
            if self.exceptions.locked_up:
                return
        ahead = min(self.events.next_time, until_tick) - self.now
        core.stop_at = min(core.executed + max(ahead, 1), until_executed)
        reason = core.run(seconds)
        self._collect()
        pc = self.bus.pc()
        if reason == _EXCEPTION:
            self._exception(core.exception, pc)
        elif reason == _UNMASKED:
            self.exceptions.enter(self.nvic.best(), pc)
        elif reason == _SPECIAL:
            self._stands_before(pc)
        elif reason == _MEMORY:
            self._refused(pc)
        elif reason == _ERROR:
            self._error(core.error, pc)
        elif reason == _DEVICE and core.stale:
            core.synchronize()
        if self.exceptions.sleep_on_exit:
            self.exceptions.sleep_on_exit = False
            if not core.deliverable():
                self.sleeping = "wfi"

    def _exception(self, number: int, pc: int) -> None:
        if number == _SVC:
            self.exceptions.supervisor_call(pc)
        elif number == _EXIT:
            self._magic_branch(pc)
        elif number == _BKPT:
            self.exceptions.breakpoint(pc)
        elif number == _FETCH and self.gateway.is_outside(pc):
            self._stands_before(pc)
        elif number == _FETCH:
            self.exceptions.fault(MEM_MANAGE, IACCVIOL, pc)
        elif number == _DATA and self.core.fault_status & 0xF == _ALIGNMENT:
            self.exceptions.fault(USAGE_FAULT, UNALIGNED, pc)
        elif number == _DATA:
            self.exceptions.fault(MEM_MANAGE, DACCVIOL | MMARVALID, pc, self.core.fault_address)
        elif number in _USAGE:
            self.exceptions.fault(USAGE_FAULT, _USAGE[number], pc)
        else:
            raise RuntimeError(f"Unicorn raised exception {number} at 0x{pc:08x}")

    def _magic_branch(self, pc: int) -> None:
        """A branch to EXC_RETURN or FNC_RETURN, whose bit 0 Unicorn took for the Thumb bit."""
        target = pc | 1
        if not self.core.read(_XPSR) & XPSR_THUMB:
            target = pc
            self.core.write(Reg.EPSR, XPSR_THUMB)
        if pc == FNC_RETURN - 1 and self.worlds.divided:
            self.gateway.function_return()
        else:
            self.exceptions.leave(target)

    def _stands_before(self, pc: int) -> None:
        store = self.engine.store_of(pc, 2)
        code = bytes(store.slice(pc, 4)) if store else b""  # shorter at the end of memory
        first, second = int.from_bytes(code[:2], "little"), int.from_bytes(code[2:], "little")
        if self.gateway.refuses(pc, (first, second)):
            return
        hooks = self._hooks.get(pc)
        if hooks is not None:
            for hook in tuple(hooks):
                if hook(self):
                    self._hit = True
            self.core.ignore_breakpoint(pc)
            if self._hit or self.bus.pc() != pc:
                return
        self.special.carry_out(pc, first, second)

    def _refused(self, pc: int) -> None:
        core = self.core
        if core.fault_type in FETCHES:
            if self.attribution.restricted and self._holds(pc, 2):
                self._stands_before(pc)
                return
            self.exceptions.fault(BUS_FAULT, IBUSERR, core.fault_address & ~1)
            return
        refusal = self.bus.refusal
        self.exceptions.fault(refusal.cause, refusal.status, pc, core.fault_address)

    def _error(self, error: int, pc: int) -> None:
        if not self._holds(pc, 2):
            self.exceptions.fault(BUS_FAULT, IBUSERR, pc)
        elif error == ERR_EXCEPTION or not self.core.read(Reg.XPSR) & XPSR_THUMB:
            self.exceptions.fault(USAGE_FAULT, INVSTATE, pc)
        else:
            self.exceptions.fault(USAGE_FAULT, UNDEFINSTR, pc)

    # what tests and tools ask

    def hook(self, where: str | int, called: Callable[[Machine], bool | None]) -> None:
        """Call ``called(machine)`` before the instruction at a symbol or address; True stops."""
        if isinstance(where, str):
            symbol = self.firmware.symbol(where)
            if symbol is None:
                raise ValueError(f"the image has no symbol {where!r}")
            address = symbol.address & ~1
        else:
            address = where & ~1
        self._hooks.setdefault(address, []).append(called)
        self.core.set_breakpoints(sorted(self._hooks))

    def unhook(self, where: int) -> None:
        """Drop the hooks at an address."""
        self._hooks.pop(where & ~1, None)
        self.core.set_breakpoints(sorted(self._hooks))

    def where(self) -> str:
        """Function, file and line of the program counter."""
        return str(self.firmware.locate(self.bus.pc()))

    def fault_report(self, record: FaultRecord) -> str:
        """The decoded report of one fault."""
        return report(record, self.firmware)

    def fault_image(self, record: FaultRecord) -> str:
        """With images of two worlds, the one to blame; "" with one world."""
        return image_of(record, self.firmware)

    def fault_deed(self, record: FaultRecord) -> str:
        """With images of two worlds, what was refused; "" with one world."""
        return what(record) if record.world else ""

    def fault_place(self, record: FaultRecord) -> str:
        """The function to blame."""
        return where(record, self.firmware)

    def executed_addresses(self) -> list[int]:
        """Addresses of the halfwords of instructions that ran, ascending (flash, then RAM)."""
        addresses = []
        for region, store in enumerate((self.engine.stores["flash"], self.engine.stores["ram"])):
            for at, byte in enumerate(self.core.coverage(region)):
                if byte:
                    origin = store.area.origin + 16 * at
                    addresses += [origin + 2 * bit for bit in range(8) if byte >> bit & 1]
        return addresses
