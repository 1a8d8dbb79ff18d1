"""The public interface of the simulator.

A :class:`Machine` has one image. ``run`` executes it in virtual time; memory, console, faults,
profile and coverage are its attributes. Results depend on the image and its input alone, never on
the host's clock.
"""

from __future__ import annotations

import re
import struct
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Protocol

from harness.base.clock import RESETS_IN_A_LOOP, Deadline
from harness.base.core_state import MSP, PSP, CoreState
from harness.base.errors import UsageError
from harness.base.findings import Finding, Kind
from harness.base.platforms import ConsoleWiring, board_with
from harness.base.power_on import DEFAULT_SEED
from harness.elf import Image
from harness.elf.demangle import short_name
from harness.simulator import loader
from harness.simulator.chip import SimulatedChip
from harness.simulator.engine import Reason
from harness.simulator.event_queue import NEVER
from harness.simulator.faults import FaultRecord, report, where
from harness.simulator.mpu_regions import enabled_regions
from harness.simulator.peripherals.nvmc import Nvmc
from harness.simulator.peripherals.texts import unmodelled
from harness.simulator.peripherals.uarte import Uarte
from harness.simulator.peripherals.user_models import user_models
from harness.simulator.transcript import Transcript
from harness.simulator.unicorn import CORE_REGISTERS, Reg

#: Last bytes of the console that are searched for a pattern: after the end of a line, within one.
_WINDOW, _LINE = 4096, 256
#: Checks per second of the chip's clock whether a branch to itself has become the end (no timer
#: is left).
_CHECKS_PER_SECOND = 100
#: Faults, and findings, of a run that are kept.
_FINDINGS_KEPT = 200
#: Frames of one function that show a recursion, and frequent words of a stack that are looked at.
_RECURSION, _FREQUENT = 16, 16
#: Bytes of RAM contents that are kept for the call stacks of a run's faults.
_STATE_BYTES = 16 << 20
_TS = 1 << 26  # of FPCCR
_STACK_POINTERS, _SPSEL = (int(Reg.MSP), int(Reg.PSP)), 2
#: Values of ``timing``.
INSTRUCTIONS, BRANCHES = "instructions", "branches"
#: Names of CORE_REGISTERS.
REGISTER_NAMES = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc", "xpsr")
#: Core.sleeping -> Machine.sleeping.
_SLEEPS = ("", "wfi", "wfe")


class End(StrEnum):
    """Why :meth:`Machine.run` returned."""

    CONDITION = "condition"
    DEADLINE = "deadline"
    GUARD = "guard"
    IDLE = "idle"
    LOCKUP = "lockup"
    RESET_LOOP = "reset_loop"
    SYSTEM_OFF = "system_off"


class Debugger(Protocol):
    """Callbacks of a debug port, which may call :meth:`Machine.halt`."""

    def fault_taken(self, record: FaultRecord) -> None:
        """Called before a fault is taken."""

    def was_reset(self) -> None:
        """Called after a reset, before the first instruction."""

    def met_bkpt(self) -> None:
        """Called before a BKPT instruction."""


class Machine:
    """A chip that runs one image; :meth:`close` frees it.

    ``booted`` is False for a device fresh from the factory, whose UICR is erased. ``console`` is
    the wiring of the UARTE whose output is the console (default: that of the chip's kit). An
    instruction takes one tick; with ``timing`` "branches" a taken branch takes one more, so that
    busy loops calibrated on the chip take about the right time. ``power_on`` is the seed of RAM and
    registers (:mod:`harness.base.power_on`). ``peripherals`` names models for peripherals that have
    none (:mod:`harness.simulator.peripherals.user_models`). ``anywhere``: the vector table need not
    be where the chip looks.
    """

    def __init__(
        self,
        firmware: Image,
        *,
        booted: bool = True,
        console: ConsoleWiring | None = None,
        timing: str = INSTRUCTIONS,
        power_on: int = DEFAULT_SEED,
        peripherals: str | Mapping[str, object] = "",
        anywhere: bool = False,
    ) -> None:
        self.firmware = firmware
        self.memory_map = firmware.chip
        self.power_on = power_on
        self.image = loader.load(firmware, self.memory_map, anywhere=anywhere)
        self.console = Transcript()
        self.faults: list[FaultRecord] = []
        self.findings: list[Finding] = [
            *self.memory_map.approximations,
            *self.image.start.notes(non_secure=self.image.non_secure),
        ]
        self.resets = self.firmware_resets = 0  # all resets, and those by firmware
        self._noted: set[tuple[Kind, str]] = set()
        self._lowest = 0  # of the stack that ran below its end
        self._recursion = ("", 0)  # function, frames
        self._hooks: dict[int, list[Callable[[Machine], bool | None]]] = {}
        self._pattern: re.Pattern[bytes] | None = None
        self._lines = False
        self._searched = 0  # number of console bytes that have been searched for the pattern
        self._hit = False  # the condition of the run is met
        self._peripherals_too = False  # the run waits until they rest, too
        self._ends_at_fault = False  # the run ends when one is taken
        #: A debug port (harness.simulator.debug_port), or None.
        self.debugger: Debugger | None = None
        self.chip = SimulatedChip(
            self.memory_map,
            self.image,
            booted=booted,
            power_on=power_on,
            models=user_models(peripherals, self.memory_map),
            taken=self._note_fault,
            unmodelled=self._note_unmodelled,
            report=self._report,
        )
        self._nvmc = self.chip.device("NVMC", Nvmc)
        self.engine, self.core, self.nvic = self.chip.engine, self.chip.core, self.chip.nvic
        self.bus, self.events, self.devices = self.chip.bus, self.chip.events, self.chip.devices
        self.core.branch_ticks = timing == BRANCHES
        wiring = console or board_with(self.memory_map.key).console
        if wiring.uarte not in self.chip.devices:
            raise UsageError(
                f"{wiring.uarte} is the console, and another model takes its place",
                hint="choose another number, or name the console's UARTE (--wiring)",
            )
        self.uart = self.chip.device(wiring.uarte, Uarte)
        #: The output of each UARTE except the console, by name.
        self.sent: dict[str, bytearray] = {}
        for name, device in self.devices.items():
            if isinstance(device, Uarte) and device is not self.uart:
                device.connect_sink(self.sent.setdefault(name, bytearray()).extend)
        self.uart.connect_sink(self.printed, wiring)

    # time and sleep

    @property
    def now(self) -> int:
        """Virtual time in ticks since power-on."""
        return self.chip.now

    @property
    def seconds(self) -> float:
        """Virtual time in seconds since power-on."""
        return self.chip.now / self.memory_map.cpu_hz

    @property
    def sleeping(self) -> str:
        """``wfi`` or ``wfe`` while the core sleeps, else ""."""
        return _SLEEPS[self.core.sleeping]

    @sleeping.setter
    def sleeping(self, instruction: str) -> None:
        self.core.sleeping = _SLEEPS.index(instruction)

    # evidence

    def _note_fault(self, record: FaultRecord) -> None:
        record = replace(record, seconds=self.seconds)
        if len(self.faults) * self.engine.stores["ram"].area.size < _STATE_BYTES:
            record = replace(record, state=self.core_state(record.registers))
        if len(self.faults) < _FINDINGS_KEPT:
            self.faults.append(record)
        if self._ends_at_fault:
            self.halt()
        if self.debugger is not None:
            self.debugger.fault_taken(record)

    def _note_recursion(self) -> None:
        """A stack is about to run below its end: note the most frequent return address in it."""
        begin, top, *_ = self.core.overflow()
        sp = self.registers["sp"] & ~3
        if not begin <= sp <= top:
            return
        stack = self.read_memory(sp, (top - sp) & ~3)
        words = Counter(struct.unpack(f"<{len(stack) // 4}I", stack))
        for word, count in words.most_common(_FREQUENT):
            function = self.firmware.locate(word - 2).function
            if function and word & 1 and self._follows_call(word & ~1):
                self._recursion = function, count
                return

    def _follows_call(self, address: int) -> bool:
        """Whether BL, or BLX of a register, stands before ``address`` (Armv8-M ARM, C2.4)."""
        before = self.firmware.read(address - 4, 4) or bytes(4)
        first, second = struct.unpack("<2H", before)
        bl = first & 0xF800 == 0xF000 and second & 0xD000 == 0xD000
        return bool(bl) or second & 0xFF87 == 0x4780

    def _note_overflow(self) -> None:
        """Report the stack that ran below its memory; how deep may grow from run to run."""
        begin, top, lowest, pc, at = self.core.overflow()
        if not lowest or lowest == self._lowest:
            return
        self._lowest = lowest
        symbol = self.firmware.object_at(begin)
        name = "the main stack" if symbol is None else short_name(symbol.name)
        into = self._overwritten(range(lowest, begin))
        place = self.firmware.locate(pc)
        how = f"{name} ran {begin - lowest:,} bytes below its end{into}"
        function, frames = self._recursion
        if function and frames >= _RECURSION:
            depth = f"{short_name(function)} calls itself, {frames:,} frames deep"
            how = f"{depth}: it fills {name} ({top - begin:,} bytes)"
        time = at / self.memory_map.cpu_hz
        text = f"{how} (by {place})"
        subject = "main" if symbol is None else name
        finding = Finding(Kind.STACK_OVERFLOW, text, subject, time=time)
        others = [one for one in self.findings if one.kind is not finding.kind]
        self.findings[:] = [*others, finding]

    def _overwritten(self, memory: range) -> str:
        """``, into NAME``: the variable of which a stack covers most; "" for none."""
        covered = {
            symbol.name: min(symbol.address + symbol.size, memory.stop)
            - max(symbol.address, memory.start)
            for symbol in self.firmware.symbols
            if symbol.kind == "object"
        }
        most = max(covered, key=lambda name: covered[name], default="")
        return f", into {short_name(most)}" if most and covered[most] > 0 else ""

    def _note_unmodelled(self, subject: str, use: str) -> None:
        """Report the first access to something without a model."""
        self._report(Kind.UNMODELLED_ACCESS, subject, unmodelled(subject, use))

    def _report(self, kind: Kind, subject: str, message: str, pc: int | None = None) -> None:
        """Add the first finding of its kind and subject; ``pc`` None: by the current code."""
        if (kind, subject) in self._noted or len(self._noted) >= _FINDINGS_KEPT:
            return
        self._noted.add((kind, subject))
        place = self.firmware.locate(self.pc if pc is None else pc)
        text = f"{message} (by {place})"
        self.findings.append(Finding(kind, text, subject, time=self.seconds))

    def clear_evidence(self) -> None:
        """Delete faults and findings, so that the next run is judged alone."""
        self.faults.clear()
        self.findings.clear()
        self._noted.clear()
        self.core.clear_overflow()
        self._lowest, self._recursion = 0, ("", 0)

    # the console

    def feed(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver; it arrives at the baud rate."""
        self.uart.feed(data)

    def printed(self, data: bytes) -> None:
        """Add bytes that the console has sent."""
        self._collect()
        self.console.append(self.seconds, data)
        self._listen(data)

    def _listen(self, data: bytes) -> None:
        """End a run that waits for a pattern if it has been sent; ``data`` are the last bytes."""
        line = data.rfind(b"\n") + 1
        if self._pattern is None or self._hit or (self._lines and not line):
            return
        self._collect()
        size = self.console.size
        reach = _WINDOW if line else _LINE
        if self._pattern.search(self.console.since(max(self._searched, size - reach))):
            self._hit = True
            self.chip.stop()
        elif self._lines:
            self._searched = size - (len(data) - line)

    def _collect(self) -> None:
        """Append the bytes that the counting core has sent to the console."""
        if self.core.has_sent:
            self.console.extend(self.core.collect(self.memory_map.cpu_hz, self.console.size))

    # running

    def run(
        self,
        *,
        until_tick: int = NEVER,
        until_executed: int = NEVER,
        pattern: bytes | None = None,
        lines: bool = False,
        guard: Deadline | None = None,
        stop_when_idle: bool = False,
        peripherals_too: bool = False,
        steps: list[tuple[int, ...]] | None = None,
    ) -> End:
        """Run until the console has ``pattern``, a count is reached, or the image cannot go on.

        ``until_tick`` is a deadline, in ticks of :attr:`now`; ``until_executed`` is a condition, in
        executed instructions. With ``lines`` a match of ``pattern`` must end with its line, which
        is faster: only complete lines are searched. With ``stop_when_idle`` the run ends once the
        core sleeps, or branches to itself, and nothing can wake or interrupt it; with
        ``peripherals_too`` not before every peripheral rests. Without it time passes. With
        ``steps``, to which the values of ``CORE_REGISTERS`` before each instruction are appended,
        it ends at the first fault, too; an instruction then takes about 20 microseconds.
        """
        self._pattern = re.compile(pattern) if pattern is not None else None
        self._lines, self._searched = lines, self.console.size
        self._hit, self._peripherals_too = False, peripherals_too or not stop_when_idle
        self._ends_at_fault = steps is not None
        self.core.listen(self._listen if pattern is not None else None, lines)
        try:
            while True:
                end = self._settled(until_tick, until_executed, guard)
                if end is not None:
                    return end
                if self._nvmc.stalled_until > self.now:
                    self._stall(min(self._nvmc.stalled_until, until_tick), guard)
                    continue
                if self.core.sleeping and not self.core.wakes():
                    if self.core.next_byte >= NEVER and self._at_rest(until_tick):
                        return self._idle()
                    self.core.slept += max(0, min(self.chip.next_time, until_tick) - self.now)
                    continue
                self.core.sleeping = 0
                seconds = max(guard.guard_remaining, 1e-6) if guard is not None else 0.0
                self.core.may_stand = stop_when_idle and self._at_rest()
                until = until_tick
                if stop_when_idle and not self.core.may_stand:  # firmware may stop the last timer
                    until = min(until, self.now + self.memory_map.cpu_hz // _CHECKS_PER_SECOND)
                self._execute(until, until_executed, seconds, steps)
                if self.core.stands and self._at_rest():  # firmware may have set a timer
                    return self._idle()
        finally:
            self._collect()  # bytes sent while the core slept
            self._note_overflow()
            self._pattern = None
            self.core.listen(None, False)

    def _settled(self, until_tick: int, until_executed: int, guard: Deadline | None) -> End | None:
        """Process resets and due events between two executions; return an End to stop the run."""
        if self.bus.pending_stores:
            self.bus.mend()
        if self.chip.reset_reason is not None:
            self._reset(self.chip.reset_reason)
            self.firmware_resets += 1
            if self.firmware_resets >= RESETS_IN_A_LOOP:
                return End.RESET_LOOP
        self.chip.run_due()
        if self.chip.reset_reason is not None:  # the watchdog
            return self._settled(until_tick, until_executed, guard)
        if self._hit:
            return End.CONDITION
        if self.chip.off:
            return End.SYSTEM_OFF
        if self.core.locked_up:
            while not self._hit and self._sends_on(until_tick):
                self.chip.run_due()
            return End.CONDITION if self._hit else End.LOCKUP
        if self.core.executed >= until_executed:
            return End.CONDITION
        if self.now >= until_tick:
            return End.DEADLINE
        if guard is not None and guard.guard_expired:
            return End.GUARD
        return None

    def _sends_on(self, until_tick: int) -> bool:
        """Advance to the next byte of EasyDMA, which a locked-up core does not stop.

        Returns False if there is none before ``until_tick``.
        """
        time = self.core.next_byte
        if time >= until_tick:
            return False
        self.core.slept += max(0, time - self.now)
        return True

    def _at_rest(self, until_tick: int = 0) -> bool:
        """Whether a core that sleeps or branches to itself would do so for good.

        Bytes that are being sent are waited for elsewhere. Input that no receiver is ready for
        counts until the deadline, if there is one.
        """
        if self.chip.reset_reason is not None or self.chip.wakeup.possible():
            return False
        if not self._peripherals_too:
            return True
        scheduled = min(self.events.next_time, self.core.next_rtc) < NEVER
        return not scheduled and (until_tick >= NEVER or not self.uart.incoming)

    def _idle(self) -> End:
        """The end of a core at rest; a note says which pending interrupt it masks."""
        if masked := self.chip.wait_cause.masked():
            self._report(Kind.INTERRUPT_MASKED, "", masked)
        return End.IDLE

    def _stall(self, until: int, guard: Deadline | None) -> None:
        """Stall the core until a tick or a reset, and process events meanwhile."""
        while self.now < until and self.chip.reset_reason is None and not self._hit:
            if guard is not None and guard.guard_expired:
                return
            self.core.slept += max(0, min(self.chip.next_time, until) - self.now)
            self.chip.run_due()

    def _execute(
        self,
        until_tick: int,
        until_executed: int,
        seconds: float,
        steps: list[tuple[int, ...]] | None,
    ) -> None:
        core = self.core
        ahead = min(self.events.next_time, until_tick) - self.now
        core.stop_at = min(core.executed + max(ahead, 1), until_executed)
        reason = core.run(seconds) if steps is None else core.record(seconds, CORE_REGISTERS, steps)
        self._collect()
        if reason == Reason.BREAKPOINT:
            self._call_hooks(self.pc)
        elif reason == Reason.STACK:
            self._note_recursion()
        elif reason == Reason.BKPT and self.debugger is not None:
            self.debugger.met_bkpt()
        elif reason == Reason.EXCEPTION:
            raise RuntimeError(f"Unicorn raised exception {core.exception} at 0x{self.pc:08x}")

    def _call_hooks(self, pc: int) -> None:
        for hook in tuple(self._hooks[pc]):
            if hook(self):
                self._hit = True
        self.core.ignore_breakpoint(pc)
        if not self._hit and self.pc == pc:
            self.core.carry_out(pc)

    def _reset(self, reason: int) -> None:
        self._collect()  # bytes sent before the reset
        self.resets += 1
        incoming = bytes(self.uart.incoming)
        self.core.ignore_breakpoint(None)
        self.chip.reset(reason)
        self.uart.incoming[:] = incoming
        if self.debugger is not None:
            self.debugger.was_reset()

    def let_debugger_act(self) -> None:
        """Complete a debugger's write to a register or flash, though no instruction runs.

        The time of operations of NVMC passes.
        """
        if self.bus.pending_stores:
            self.bus.mend()
        while self._nvmc.busy_until > self.now:
            self.core.slept += max(0, min(self.chip.next_time, self._nvmc.busy_until) - self.now)
            self.chip.run_due()
        if self.chip.reset_reason is not None:
            self._reset(self.chip.reset_reason)

    def halt(self) -> None:
        """End the run after the current instruction, as if its condition were met."""
        self._hit = True
        self.chip.stop()

    def reset(self) -> None:
        """Reset by the pin; RAM, flash and UICR are kept."""
        self._reset(self.memory_map.resetreas.pin)

    # memory and registers, as a debugger sees them

    def read_memory(self, address: int, size: int) -> bytes:
        """Read memory as a debugger does; raise ValueError outside flash, RAM, FICR and UICR."""
        store = self.engine.store_of(address, size)
        if store is None:
            raise ValueError(f"no memory at 0x{address:08x} ({size} bytes)")
        return bytes(store.slice(address, size))

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory as a debugger does; raise ValueError if there is none."""
        self.chip.write_memory(address, data)

    @property
    def pc(self) -> int:
        """The address of the next instruction."""
        return self.core.read(Reg.PC) & ~1

    @property
    def exception_number(self) -> int:
        """IPSR."""
        return self.chip.exception_number

    @property
    def handler_seconds(self) -> float:
        """How long the core has been in a handler without entry or return; 0 in thread mode."""
        if not self.exception_number:
            return 0.0
        return max(0, self.now - self.core.exception_at) / self.memory_map.cpu_hz

    @property
    def registers(self) -> dict[str, int]:
        """Name -> value of r0 to r12, sp, lr, pc, xpsr."""
        return dict(zip(REGISTER_NAMES, self.core.read_many(CORE_REGISTERS), strict=True))

    def core_state(self, registers: tuple[int, ...] | None = None) -> CoreState:
        """The current state of core and RAM; ``registers`` replace the core's."""
        core = self.core
        stacks: dict[tuple[bool, str], int] = {}
        threads: dict[bool, str] = {}

        def note(nonsecure: bool) -> None:
            stacks[nonsecure, MSP], stacks[nonsecure, PSP] = core.read_many(_STACK_POINTERS)
            threads[nonsecure] = PSP if core.read(Reg.CONTROL) & _SPSEL else MSP

        own = registers or tuple(core.read_many(CORE_REGISTERS))
        note(core.nonsecure)
        if core.divided:
            before, sequential = core.save_state(), core.sequential
            core.exchange_banks()
            note(not core.nonsecure)
            core.load_state(before)
            core.sequential = sequential
        ram = self.engine.stores["ram"]
        memory = ((ram.area.origin, bytes(ram.slice(ram.area.origin, ram.area.size))),)
        secure_floats = bool(self.engine.scb[False].fpccr & _TS)
        return CoreState(
            own, stacks, threads, core.nonsecure, core.divided, memory, secure_floats,
            self.engine.scb[core.nonsecure].vtor, enabled_regions(self.engine.mpus[core.nonsecure]),
        )  # fmt: skip

    def write_register(self, name: str, value: int) -> None:
        """Set r0 to r12, sp, lr or pc."""
        number = CORE_REGISTERS[REGISTER_NAMES.index(name)]
        self.core.write(number, value | 1 if name == "pc" else value)
        if name == "pc":
            self.core.ignore_breakpoint(None)  # the core leaves the one where it stopped

    def hook(self, where: str | int, called: Callable[[Machine], bool | None]) -> None:
        """Call ``called(machine)`` before the instruction at a symbol or address.

        The run ends if it returns True.
        """
        if isinstance(where, str):
            symbol = self.firmware.symbol(where)
            if symbol is None:
                raise ValueError(f"the image has no symbol {where!r}")
            address = symbol.address & ~1
        else:
            address = where & ~1
        self._hooks.setdefault(address, []).append(called)
        self.core.set_breakpoints(sorted(self._hooks))

    def unhook(self, where: int, called: Callable[[Machine], bool | None] | None = None) -> None:
        """Remove the hook ``called`` at an address, or all hooks there."""
        address = where & ~1
        kept = [one for one in self._hooks.pop(address, ()) if called not in (None, one)]
        if kept:
            self._hooks[address] = kept
        self.core.set_breakpoints(sorted(self._hooks))

    @property
    def wait_cause(self) -> str:
        """Why what the core waits for does not come, in one line; "" without evidence."""
        return self.chip.wait_cause.text(self.firmware)

    def where(self) -> str:
        """Function, file and line of the program counter."""
        return str(self.firmware.frames(self.pc)[0])

    def fault_report(self, record: FaultRecord) -> str:
        """The decoded report of one fault."""
        return report(record, self.firmware)

    def fault_place(self, record: FaultRecord) -> str:
        """Function, file and line of the faulty code."""
        return where(record, self.firmware)

    def executed_addresses(self) -> list[int]:
        """The addresses of executed halfwords, ascending (flash, then RAM)."""
        addresses = []
        for region, store in enumerate((self.engine.stores["flash"], self.engine.stores["ram"])):
            for at, byte in enumerate(self.core.coverage(region)):
                if byte:
                    origin = store.area.origin + 16 * at
                    addresses += [origin + 2 * bit for bit in range(8) if byte >> bit & 1]
        return addresses

    def close(self) -> None:
        """Free Unicorn and the memory; safe to call twice."""
        self.chip.close()
