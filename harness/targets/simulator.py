"""The target ``simulator``: a session over :class:`harness.simulator.Machine`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from harness.base.clock import Deadline
from harness.base.core_state import CoreState
from harness.base.errors import TargetLost, UsageError
from harness.base.exceptions import exception_name
from harness.base.findings import Finding
from harness.base.platforms import ConsoleWiring, board_with, console_wiring
from harness.base.power_on import DEFAULT_SEED, seed_of
from harness.elf import Image
from harness.elf.call_tree import FunctionMap
from harness.elf.coverage import Coverage
from harness.elf.demangle import short_name
from harness.simulator import End, Machine
from harness.simulator.event_queue import NEVER
from harness.simulator.machine import BRANCHES, INSTRUCTIONS
from harness.simulator.peripherals.gpio import Gpio
from harness.simulator.unicorn import Reg
from harness.targets.base import (
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Executed,
    Fault,
    Stop,
    SymbolReached,
    Until,
)
from harness.targets.calls import Call, CallLog, SeesCall
from harness.targets.faults import fault_of
from harness.targets.operator_calls import OperatorCalls
from harness.targets.registry import CHIP, ELF
from harness.targets.session import Session

#: From here on a branch is a return from an exception or from another security state.
EXC_RETURN = 0xF000_0000
#: Bytes below the stack pointer that a call leaves as they are.
_RED_ZONE = 64
#: Registers that a function may change, and sp; the flags are separate.
_CHANGED_BY_CALLS = (*range(Reg.R0, Reg.R12 + 1), *range(Reg.S0, Reg.S0 + 32), Reg.SP, Reg.LR)


class SimulatorMemory:
    """The machine's memory, with errors that a user can read."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``. Raises :class:`UsageError` if there is no memory."""
        try:
            return self._machine.read_memory(address, size)
        except ValueError as error:
            raise UsageError(f"simulator: {error}") from error

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` at ``address``. Raises :class:`UsageError` if there is no memory."""
        try:
            self._machine.write_memory(address, data)
        except ValueError as error:
            raise UsageError(f"simulator: {error}") from error


class SimulatorPins:
    """The machine's port 0."""

    def __init__(self, machine: Machine) -> None:
        port = machine.devices["P0"]
        assert isinstance(port, Gpio)
        self._port = port

    def read(self, pin: int) -> bool:
        """The level at ``pin``."""
        return bool(self._port.pads >> pin & 1)

    def drive(self, pin: int, level: bool | None) -> None:
        """Drive ``pin``; None lets it go."""
        self._port.drive(pin, level)


class SimulatorSession(Session):
    """A session; :attr:`machine` also has hooks and snapshots."""

    target = "simulator"

    def __init__(self, machine: Machine, another: Callable[[], Machine] | None = None) -> None:
        self.machine = machine
        self._another = another
        self._memory = SimulatorMemory(machine)
        self._pins = SimulatorPins(machine)
        self._opened = time.monotonic()
        self._read = 0
        self._chunks: list[ConsoleChunk] = []
        self._calls = CallLog()
        self._seen: SeesCall | None = None
        self._resets = 0  # of the boot that the calls are of
        self._callers: set[int] = set()  # where watched calls return to, hooked
        self._functions: FunctionMap | None = None
        self._operators: OperatorCalls | None = None
        self._loops: set[int] = set()  # watched functions that are not hooked while they run

    @property
    def memory(self) -> SimulatorMemory:
        """The machine's memory."""
        return self._memory

    @property
    def power_on(self) -> int:
        """The seed of what memory held at power-on."""
        return self.machine.power_on

    @property
    def stops_exactly(self) -> bool:
        """Whether a run ends at the very instruction that sends the pattern it waits for."""
        return True

    @property
    def counters(self) -> Counters:
        """Instructions and virtual time since power-on."""
        machine = self.machine
        wall = time.monotonic() - self._opened
        return Counters(
            "simulator", machine.core.executed, None, machine.seconds, wall, machine.resets
        )

    @property
    def faults(self) -> Sequence[Fault]:
        """Faults, decoded."""
        return [fault_of(record, self.machine.firmware) for record in self.machine.faults]

    @property
    def findings(self) -> Sequence[Finding]:
        """Accesses without a model, approximations."""
        return list(self.machine.findings)

    @property
    def console(self) -> Sequence[ConsoleChunk]:
        """Everything printed, with virtual time stamps."""
        fresh = self.machine.console[len(self._chunks) :]
        self._chunks += [ConsoleChunk(chunk.time, chunk.data) for chunk in fresh]
        return self._chunks

    @property
    def byte_seconds(self) -> float:
        """Seconds that a byte takes at the baud rate to which the firmware has set its console."""
        return self.machine.uart.ticks_per_byte / self.machine.memory_map.cpu_hz

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline in virtual time."""
        return Deadline(seconds, now=lambda: self.machine.seconds, guard=guard)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run until the condition, the deadline or the end."""
        machine = self.machine
        hertz = machine.memory_map.cpu_hz
        last_tick = machine.now + round(deadline.remaining * hertz)
        if last_tick <= machine.now:
            return Stop.DEADLINE
        pattern: bytes | None = None
        lines = False
        executed, condition = NEVER, NEVER
        hooked: int | None = None
        match until:
            case ConsoleMatch():
                pattern, lines = until.pattern, until.lines
            case Executed(instructions=count):
                executed = machine.core.executed + count
            case Elapsed(seconds=seconds):
                condition = machine.now + round(seconds * hertz)
            case SymbolReached():
                hooked = until.address(machine.firmware)
                machine.hook(hooked, _stop)
        try:
            end = machine.run(
                until_tick=min(last_tick, condition),
                until_executed=executed,
                pattern=pattern,
                lines=lines,
                guard=deadline,
                stop_when_idle=not isinstance(until, Executed),  # a branch to itself executes
                peripherals_too=isinstance(until, Elapsed),
            )
        finally:
            if hooked is not None:
                machine.unhook(hooked, _stop)
        if end is End.DEADLINE and condition <= last_tick:
            return Stop.CONDITION
        return Stop(end.value)

    @property
    def pins(self) -> SimulatorPins:
        """The machine's port 0."""
        return self._pins

    @property
    def registers(self) -> dict[str, int]:
        """r0 to r12, sp, lr, pc, xpsr."""
        return self.machine.registers

    @property
    def handler_seconds(self) -> float:
        """Seconds in a handler without entry to, or return from, another; 0 in thread mode."""
        return self.machine.handler_seconds

    @property
    def wait_cause(self) -> str:
        """Why what the core waits for does not come; "" without evidence."""
        return self.machine.wait_cause

    @property
    def core_state(self) -> CoreState:
        """Registers, stack pointers and RAM."""
        return self.machine.core_state()

    def watch_calls(self, addresses: Iterable[int], seen: SeesCall | None = None) -> None:
        """Note calls of the functions at ``addresses`` from here on; costs nothing elsewhere."""
        self._seen = seen
        for address in addresses:
            self.machine.hook(address, self._called)

    @property
    def calls(self) -> Sequence[Call]:
        """Calls of watched functions, in order."""
        self._calls_of_this_boot()
        return tuple(self._calls.calls)

    def _calls_of_this_boot(self) -> None:
        if self._resets != self.machine.resets:
            self._resets = self.machine.resets
            self._calls.restart()

    def _called(self, machine: Machine) -> None:
        self._calls_of_this_boot()
        values = machine.registers
        address, caller = values["pc"] & ~1, values["lr"]
        ticks = machine.core.executed + machine.core.slept
        word = int.from_bytes(self._peek(values["sp"], 4) or b"", "little")
        call = Call(
            address, values["r0"], caller, values["sp"], machine.exception_number, ticks,
            machine.seconds, boot=machine.resets,
            others=(values["r1"], values["r2"], values["r3"], word),
        )  # fmt: skip
        if not self._calls.enter(call):
            self._loops.add(address)
            machine.unhook(address, self._called)
        elif caller < EXC_RETURN and caller not in self._callers:
            self._callers.add(caller)
            machine.hook(caller, self._returned)
        self._show(call)

    def _returned(self, machine: Machine) -> None:
        values = machine.registers
        ticks = machine.core.executed + machine.core.slept
        now = machine.seconds
        returned = self._calls.leave(values["pc"], values["sp"], ticks, values["r0"], now)
        for address in self._loops.intersection(call.address for call in returned):
            self._loops.remove(address)
            machine.hook(address, self._called)
        for call in returned:
            self._show(call)

    def _show(self, call: Call) -> None:
        if self._seen is not None and not self._seen(call):
            self.machine.unhook(call.address, self._called)

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Run until the instruction at ``address`` is next."""
        self.machine.hook(address, _stop)
        try:
            return self.run(None, deadline)
        finally:
            self.machine.unhook(address, _stop)

    def call(self, address: int, arguments: Sequence[int | bytes], deadline: Deadline) -> int:
        """Call a function of the stopped image; return its r0. Memory that it writes stays so."""
        machine, at = self.machine, self.machine.pc
        saved = machine.core.read_many(_CHANGED_BY_CALLS)
        flags = machine.core.read(Reg.XPSR)
        free = machine.registers["sp"] - _RED_ZONE
        for number, argument in enumerate(arguments):
            if isinstance(argument, bytes):
                free = free - len(argument) & ~7
                self.memory.write(free, argument)
            machine.write_register(f"r{number}", free if isinstance(argument, bytes) else argument)
        back = self._reset_handler()  # where nothing goes while a function runs
        machine.write_register("sp", free & ~7)
        machine.write_register("lr", back | 1)
        machine.write_register("pc", address)
        stop = self.run_to_address(back, deadline)
        result = machine.registers["r0"]
        for number, value in zip(_CHANGED_BY_CALLS, saved, strict=True):
            machine.core.write(number, value)
        machine.core.write(Reg.XPSR_NZCVQG, flags)
        machine.write_register("pc", at)
        machine.core.ignore_breakpoint(at)  # the run stopped there already
        if stop is not Stop.CONDITION:
            name = machine.firmware.locate(address).function or f"0x{address:08x}"
            raise TargetLost(f"{short_name(name)}() does not return: {stop}")
        return result

    def _reset_handler(self) -> int:
        table = self.machine.engine.scb[self.machine.core.nonsecure].vtor
        return int.from_bytes(self.machine.read_memory(table + 4, 4), "little") & ~1

    def read(self) -> bytes:
        """Console bytes since the last read()."""
        chunks = self.machine.console[self._read :]
        self._read += len(chunks)
        return b"".join(chunk.data for chunk in chunks)

    def write(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver."""
        self.machine.feed(data)

    def reset(self) -> None:
        """A pin reset."""
        self.machine.reset()

    def profile(self) -> None:
        """Count instructions from here on, also by call stack, for :meth:`coverage`.

        Runs are slower by about a half.
        """
        machine = self.machine
        machine.core.clear_profile()
        areas = (machine.memory_map.area(name) for name in ("flash", "ram"))
        self._functions = FunctionMap(machine.firmware)
        tables = [self._functions.numbers(area.origin, area.size) for area in areas]
        machine.core.profile_calls(*tables)
        self._operators = OperatorCalls(machine.firmware)
        for address in self._operators.shared:
            machine.hook(address, self._operator_called)

    def _operator_called(self, machine: Machine) -> None:
        """Count the call that begins as one of its operator."""
        assert self._operators is not None
        assert self._functions is not None
        address, registers = machine.pc, tuple(machine.registers.values())
        operator = self._operators.operator(address, registers, self._peek)
        machine.core.rename_calls(address, self._functions.called_by(address, operator))

    def _peek(self, address: int, size: int) -> bytes | None:
        try:
            return self.machine.read_memory(address, size)
        except ValueError:
            return None

    def coverage(self) -> Coverage:
        """Coverage since the session was opened or :meth:`profile` was called."""
        machine = self.machine
        counts = machine.core.profile()
        seen = Coverage.from_counts(machine.firmware, counts, machine.executed_addresses())
        if self._functions is None:
            return seen
        tree = self._functions.tree(
            machine.core.call_tree(), lambda number: exception_name(number, machine.memory_map)
        )
        return replace(seen, calls=tree)

    def another(self) -> Machine | None:
        """A machine as this session's was before it ran; to be closed."""
        return self._another() if self._another is not None else None

    def where(self) -> str:
        """Function, file and line of the program counter."""
        return self.machine.where()

    def close(self) -> None:
        """Free the machine."""
        self.machine.close()


def _stop(_: Machine) -> bool:
    """A hook that ends the run."""
    return True


def open(  # noqa: A001
    image: Image,
    *,
    booted: bool = True,
    console: ConsoleWiring | str | None = None,
    timing: str = INSTRUCTIONS,
    power_on: str | int = DEFAULT_SEED,
    peripherals: str | Mapping[str, object] = "",
    start: str = CHIP,
) -> SimulatorSession:
    """A session with ``image`` loaded and not yet started; options as in :class:`Machine`.

    ``console`` may be text, too, for :func:`harness.base.platforms.console_wiring`. Raises
    :class:`UsageError` for an unknown ``timing`` or seed, a wiring that makes no sense, or
    a model that does not load.
    """
    if timing not in (INSTRUCTIONS, BRANCHES):
        raise UsageError(
            f"the simulator has no timing {timing!r}", hint=f"{INSTRUCTIONS} or {BRANCHES}"
        )
    seed = seed_of(str(power_on))
    kit = board_with(image.chip.key)
    wiring = console_wiring(console, kit) if isinstance(console, str) else console

    def machine() -> Machine:
        return Machine(
            image, booted=booted, console=wiring, timing=timing, power_on=seed,
            peripherals=peripherals, anywhere=start == ELF,
        )  # fmt: skip

    return SimulatorSession(machine(), machine)
