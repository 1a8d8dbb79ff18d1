"""A session on a machine in Renode, which it controls through an agent inside Renode."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from functools import cached_property

from harness.base.clock import Deadline
from harness.base.core_state import CoreState
from harness.base.errors import TargetLost, Unsupported
from harness.base.findings import KINDS, Finding, Kind
from harness.base.platforms import ConsoleWiring, board_with
from harness.base.power_on import DEFAULT_SEED
from harness.elf import Image
from harness.elf.coverage import Block, Coverage
from harness.simulator import loader
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
from harness.targets.registry import Ability
from harness.targets.renode import scan
from harness.targets.renode.client import AgentClient, RenodeMemory, RenodePins
from harness.targets.renode.faults import SeenFault, SeenState, record_of
from harness.targets.renode.resting import Rest
from harness.targets.renode.server import RenodeServer
from harness.targets.renode.unmodelled import findings_in
from harness.targets.session import Session

_NS = 1_000_000_000
#: What the agent sends after each run: ns of virtual time; instructions, and those of them that
#: were skipped; resets; instructions since the last exception began or ended, in a handler.
_COUNTS = ("time", "executed", "skipped", "resets", "handler")
_SLICE_MS = 250  # wall milliseconds per call; Ctrl-C and the guard act between calls
_MARGIN = 0.5  # wall seconds after the guard at which Renode is killed
_STOPS = {
    "match": Stop.CONDITION,
    "symbol": Stop.CONDITION,
    "count": Stop.CONDITION,
    "idle": Stop.IDLE,
    "off": Stop.SYSTEM_OFF,
    "resets": Stop.RESET_LOOP,
    "lockup": Stop.LOCKUP,
    "abort": Stop.LOCKUP,
}
#: The registers in the order in which the agent sends them.
REGISTERS = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc", "xpsr")


class RenodeSession(Session):
    """An image in a machine of Renode; see :class:`harness.targets.session.Session`.

    ``owns_server``: Renode ends with the session. ``power_on`` is the seed of the RAM's content.
    ``anywhere``: the vector table need not be where the chip looks. ``console`` is the wiring of
    the UARTE that is heard, by default that of the chip's kit.
    """

    target = "renode"

    def __init__(
        self,
        image: Image,
        server: RenodeServer,
        *,
        owns_server: bool,
        power_on: int = DEFAULT_SEED,
        anywhere: bool = False,
        console: ConsoleWiring | None = None,
    ) -> None:
        self._image = image
        self._server = server
        self._owns = owns_server
        self._power_on = power_on
        self._wiring = console or board_with(image.chip.key).console
        self._started = time.monotonic()
        self.agent = AgentClient(server.client, server)
        self._unread = 0
        self._inputs: list[tuple[float, str]] = []  # what came from outside, by virtual time
        self._pages: set[int] = set()  # pages of flash that hold data and are stored to
        self._clear()
        self._notes = [Finding(Kind.APPROXIMATION, text, "renode") for text in server.warnings]
        self._notes += image.chip.approximations
        self._closed = False
        self._not_reusable = False  # whether a reset may not restore the machine's first state
        self._opened = False
        try:
            self._loaded = loader.load(image, image.chip, anywhere=anywhere)
            self._notes += self._loaded.start.notes(non_secure=self._loaded.non_secure)
            self._start()
        except BaseException:
            self.close()
            raise

    def _clear(self) -> None:
        """Forgets what has been seen."""
        self._counts = dict.fromkeys(_COUNTS, 0)
        self._event = -1  # when the last fault, call or return was, in ns
        self._console: list[ConsoleChunk] = []
        self._faults: list[Fault] = []
        self._calls = CallLog()
        self._warnings = self._reason = ""
        self._seen: list[Finding] = []
        self._rest: Rest | None = None  # of the core, once the run has ended as idle
        self._state: SeenState | None = None  # belongs to the next reported fault
        self._divided = False  # something is non-secure

    def _start(self) -> None:
        """Puts the image into a clean machine."""
        link = self._server.machine(
            self._image,
            self._loaded.vectors,
            self._wiring,
            non_secure=self._loaded.non_secure,
            power_on=self._power_on,
        )
        self._opened = True
        self.agent = AgentClient(link, self._server)
        if self._pages:
            self.agent.call(f"guard({sorted(self._pages)})")
        svc = self._image.symbol("z_arm_svc")
        if svc is not None:
            self.agent.call(f"hook_svc({svc.address & ~1})")

    @property
    def memory(self) -> RenodeMemory:
        """The machine's memory."""
        return RenodeMemory(self.agent, self._change)

    @property
    def power_on(self) -> int:
        """The seed of the RAM's content at power-on."""
        return self._power_on

    @property
    def counters(self) -> Counters:
        """Instructions and virtual time over all resets, as counted by Renode."""
        wall = time.monotonic() - self._started
        return Counters(
            "renode", self._counts["executed"], None, self._time, wall, self._counts["resets"]
        )

    @property
    def faults(self) -> Sequence[Fault]:
        """Faults taken, in order."""
        return tuple(self._faults)

    @property
    def findings(self) -> Sequence[Finding]:
        """Approximations, what the models saw, and unmodelled accesses from Renode's warnings."""
        if not self.agent.gone and not self._closed:
            lines = self.agent.call("send_warnings()")
            self._warnings = "\n".join(bytes.fromhex(line).decode() for line in lines)
            self._seen = [self._finding(line) for line in self.agent.call("send_findings()")]
            self._divided |= bool(self.agent.call("send_attribution()"))
        notes = [*self._notes, *self._computed_wrongly]
        if self._counts["skipped"]:
            notes.append(Finding(Kind.APPROXIMATION, self._not_executed, "renode"))
        if self._divided:
            texts = self._server.warnings_of_worlds
            notes += [Finding(Kind.APPROXIMATION, text, "renode") for text in texts]
        seen = (*self._seen, *findings_in(self._warnings, self._image))
        return (*notes, *seen, *self._masked_interrupts())

    def _masked_interrupts(self) -> list[Finding]:
        """The interrupt that a core at rest masks."""
        if self._rest is None or not (masked := self._rest.ignored(self._image.chip)):
            return []
        text = f"{masked} (by {self._image.locate(self._rest.pc)})"
        return [Finding(Kind.INTERRUPT_MASKED, text, "", time=self._rest.time)]

    @property
    def wait_cause(self) -> str:
        """The interrupt that a core at rest masks, in one line; "" without one."""
        if self._rest is None or self._reason != "idle":
            return ""
        return self._rest.cause(self._image.chip)

    @property
    def _not_executed(self) -> str:
        counted, skipped = (self._counts[name] for name in ("executed", "skipped"))
        return (
            f"Renode executed {counted - skipped:,} of the {counted:,} instructions: turns of loops"
            " that poll a register are counted, and their time passes"
        )

    def _finding(self, line: str) -> Finding:
        """What a model saw: its time in ticks, pc, kind, and subject and message in hex."""
        ticks, pc, kind, subject, message = line.split(" ")
        text = f"{_text(message)} (by {self._image.locate(int(pc, 16))})"
        time = int(ticks) / self._image.chip.cpu_hz
        return Finding(KINDS[kind], text, _text(subject), time=time)

    @cached_property
    def _computed_wrongly(self) -> Sequence[Finding]:
        return scan.notes(self._image)

    @property
    def console(self) -> Sequence[ConsoleChunk]:
        """The output so far with its virtual times."""
        return tuple(self._console)

    @property
    def registers(self) -> dict[str, int]:
        """The core's registers r0..r12, sp, lr, pc, xpsr."""
        (line,) = self.agent.call("send_registers()")
        return dict(zip(REGISTERS, (int(value, 16) for value in line.split()), strict=True))

    @property
    def handler_seconds(self) -> float:
        """Seconds that a handler has executed without entry to, or return from, another."""
        return self._counts["handler"] / self._image.chip.cpu_hz

    @property
    def core_state(self) -> CoreState:
        """Registers, stack pointers of the current security state, and RAM.

        Raises :class:`Unsupported` after the loss of Renode.
        """
        if self.agent.gone:
            raise Unsupported(self.target, Ability.STACKS.value, hint=self.agent.gone)
        self.agent.call("send_state()", take=self._take)
        state, self._state = self._state, None
        assert state is not None
        return state.core

    def watch_calls(self, addresses: Iterable[int], seen: SeesCall | None = None) -> None:
        """Records calls of the functions at ``addresses`` from now on."""
        self._change(f"calls.watch({[address & ~1 for address in addresses]})")

    @property
    def calls(self) -> Sequence[Call]:
        """The recorded calls, in order."""
        return tuple(self._calls.calls)

    def where(self) -> str:
        """The function and line of the next instruction; "" after the loss of Renode."""
        if self.agent.gone:
            return ""
        return str(self._image.frames(self.registers["pc"])[0])

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline on virtual time with a wall-clock guard."""
        return Deadline(seconds, now=lambda: self._time, guard=guard)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Runs until the condition or the deadline; deterministic in virtual time.

        If Renode does not answer before the guard, it is killed and the result is
        :attr:`Stop.GUARD`; the next call raises :class:`TargetLost`. Output and faults until then
        are kept.
        """
        target = self._counts["executed"] + until.instructions if isinstance(until, Executed) else 0
        end = self._time + until.seconds if isinstance(until, Elapsed) else float("inf")
        address = until.address(self._image) if isinstance(until, SymbolReached) else None
        if isinstance(until, ConsoleMatch):
            condition = f"until('{until.pattern.hex()}')"
        else:
            condition = "until()" if address is None else f"until('', {address})"
        return self._run_strictly(condition, deadline, end, target)

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Runs until the instruction at ``address`` is next."""
        return self._run_strictly(f"until('', {address})", deadline)

    def _run_strictly(
        self, condition: str, deadline: Deadline, end: float = float("inf"), target: int = 0
    ) -> Stop:
        """Runs; if firmware has stored unseen to flash that holds data, again from the start.

        Then each store to these pages is seen, as those to erased ones always are. Seeing them
        makes reading the page slow.
        """
        while True:
            before, known = self._time, len(self._pages)
            stop = self._run(condition, deadline, end, target)
            if len(self._pages) == known:
                return stop
            self._repeat(before, deadline)

    def _repeat(self, until: float, deadline: Deadline) -> None:
        """Runs the image again up to a virtual time, with the same inputs."""
        inputs, self._inputs = self._inputs, []
        self._server.release(reusable=False)
        self._clear()
        self._start()
        for seconds, call in inputs:
            self._run("until()", deadline, seconds)
            self._change(call)
        self._run("until()", deadline, until)

    def _change(self, call: str) -> None:
        """Lets the agent change something from outside."""
        self._inputs.append((self._time, call))
        self.agent.call(call)

    def _run(
        self, condition: str, deadline: Deadline, end: float = float("inf"), target: int = 0
    ) -> Stop:
        preparation: tuple[str, ...] = (condition,)
        while not deadline.guard_expired:
            budget = round(min(deadline.remaining, end - self._time) * _NS)
            if budget <= 0:
                return Stop.CONDITION if self._time + 1e-9 >= end else Stop.DEADLINE
            limit = deadline.guard_remaining
            wall = max(1, min(_SLICE_MS, round(limit * 1000)))
            run = f"run({budget}, {wall}, {target})"
            self._reason = ""
            try:
                self.agent.call(*preparation, run, timeout=limit + _MARGIN, take=self._take)
            except TargetLost:
                if not deadline.guard_expired:
                    raise
                return Stop.GUARD
            preparation = ()
            if self._reason in _STOPS:
                return _STOPS[self._reason]
        self._not_reusable = True
        return Stop.GUARD

    def _take(self, line: str) -> None:
        """Processes a line of the agent's answer to a run."""
        name, _, value = line.partition(" ")
        match name:
            case "console":
                time_stamp, _, data = value.partition(" ")
                self._print(self._after_last(int(time_stamp)) / _NS, bytes.fromhex(data))
            case "state":
                self._state = SeenState.from_text(value, self._image.chip)
            case "fault":
                self._take_fault(value)
            case "call":
                address, argument, caller, sp, exception, ticks = self._timed(value)
                at = self._event / _NS
                self._calls.enter(Call(address, argument, caller, sp, exception, ticks, begun=at))
            case "return":
                caller, sp, ticks, result = self._timed(value)
                self._calls.leave(caller, sp, ticks, result, time=self._event / _NS)
            case "restart":
                self._calls.restart()
            case "stop":
                self._reason = value
            case "rest":
                self._rest = Rest.from_text(value, self._time)
            case "unseen":
                self._pages.add(int(value))
            case _ if name in self._counts:
                self._counts[name] = int(value)

    @property
    def _time(self) -> float:
        """Seconds of virtual time."""
        return self._counts["time"] / _NS

    def _timed(self, text: str) -> list[int]:
        """The words behind a time stamp (ns), which is that of the event from now on."""
        time_stamp, *words = text.split(" ")
        self._event = self._after_last(int(time_stamp))
        return [int(word, 16) for word in words]

    def _after_last(self, time: int) -> int:
        """``time`` (ns), after the last event: several may be in one quantum of Renode's clock."""
        return max(time, self._event + 1)

    def _take_fault(self, text: str) -> None:
        """Adds a fault, with the core's state if the previous line contained it."""
        executed, *words = self._timed(text)
        state, self._state = self._state, None
        self._divided |= state is not None and state.core.divided
        record = record_of(
            SeenFault.from_words(words), state, self._image,
            executed=executed, seconds=self._event / _NS, divided=self._divided,
        )  # fmt: skip
        self._faults.append(fault_of(record, self._image))

    def _print(self, time_stamp: float, data: bytes) -> None:
        if len(self._console) > self._unread and self._console[-1].time == time_stamp:
            data = self._console.pop().data + data
        self._console.append(ConsoleChunk(time_stamp, data))

    def read(self) -> bytes:
        """The console bytes since the previous call."""
        data = b"".join(chunk.data for chunk in self._console[self._unread :])
        self._unread = len(self._console)
        return data

    def write(self, data: bytes) -> None:
        """Sends ``data`` to the console's receiver."""
        self._change(f"write('{data.hex()}')")

    @property
    def pins(self) -> RenodePins:
        """Port 0 of Renode's model."""
        return RenodePins(self.agent, self._change)

    def reset(self) -> None:
        """Pulses the reset pin; memories keep their content."""
        self._change("reset()")
        self.agent.call("answer('reset')", take=self._take)

    def profile(self) -> None:
        """Counts executed blocks from now on, for :meth:`coverage` (about ten times slower)."""
        self._not_reusable = True
        self._change("profile()")

    def blocks(self) -> list[Block]:
        """The blocks translated and executed by Renode since :meth:`profile`."""
        rows = (line.split() for line in self.agent.call("counts()", timeout=120))
        return [Block(int(row[0], 16), int(row[1]), int(row[2])) for row in rows if len(row) == 3]

    def coverage(self) -> Coverage:
        """Coverage since :meth:`profile`: instructions by function, and lines."""
        return Coverage.from_blocks(self._image, self.blocks())

    def serve_gdb(self, port: int) -> None:
        """Starts Renode's gdb server on TCP port ``port``, which controls the machine from now on.

        It listens on all interfaces, so Renode must run in a separate network namespace.
        """
        self._not_reusable = True
        self.agent.call("debugged()")
        self._server.client.command(f"machine StartGdbServer {port}")

    def debug_console(self) -> bytes:
        """The console bytes since the previous call, while gdb controls the machine."""
        return bytes.fromhex("".join(self.agent.call("send_debug_console()")))

    def close(self) -> None:
        """Releases the machine; ends Renode if the session owns it. Safe to call twice."""
        if self._closed:
            return
        self._closed = True
        if self._opened:
            failed = self.agent.gone or self._faults or self._counts["resets"]
            self._server.release(reusable=not (failed or self._not_reusable))
        if self._owns:
            self._server.close()


def _text(in_hex: str) -> str:
    return bytes.fromhex(in_hex).decode("utf-8", "backslashreplace")
