"""A session on a machine in Renode, which it controls through an agent inside Renode."""

from __future__ import annotations

import contextlib
import re
import shutil
import struct
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from harness.base.clock import Deadline
from harness.base.core_state import CoreState
from harness.base.errors import BadElf, TargetLost, Unsupported, UsageError
from harness.base.findings import Finding, Kind
from harness.base.power_on import DEFAULT_SEED
from harness.elf import Image, trustzone, vectors
from harness.elf.coverage import Block, Coverage
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
from harness.targets.registry import Ability
from harness.targets.renode import faults
from harness.targets.renode.link import AgentLink
from harness.targets.renode.server import RenodeServer
from harness.targets.session import Session

_NS = 1_000_000_000
_SLICE_MS = 250  # wall milliseconds per call; Ctrl-C and the guard act between calls
_MARGIN = 0.5  # wall seconds after the guard at which Renode is killed
_PERIPHERALS = 0x4000_0000  # lowest address of peripherals: Armv8-M ARM, B3.1
_PIECE = 0x8000  # bytes of memory per request
_STOPS = {
    "match": Stop.CONDITION,
    "symbol": Stop.CONDITION,
    "count": Stop.CONDITION,
    "idle": Stop.IDLE,
    "resets": Stop.RESET_LOOP,
    "lockup": Stop.LOCKUP,
    "abort": Stop.LOCKUP,
}
_NO_SPU = (
    "Renode has no SPU: its flash and RAM regions are modelled as regions of the SAU, and"
    " peripherals have no security attribution"
)
#: Renode's register numbers of a Cortex-M.
REGISTERS = {f"r{number}": number for number in range(13)} | {
    "sp": 13, "lr": 14, "pc": 15, "xpsr": 25,
}  # fmt: skip

#: Renode's warnings about unmodelled accesses: at an address, and at a register of a peripheral.
_BUS_WARNING = re.compile(
    r"sysbus: (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?(?:\(tag: '(?P<tag>\w+)'\) )?"
    r"(?P<access>Read|Write)\w* (?:from|to) non existing peripheral at 0x(?P<address>[0-9A-Fa-f]+)"
)
_REGISTER_WARNING = re.compile(
    r"\[WARNING\] (?P<block>\w+): (?:\[cpu: 0x(?P<pc>[0-9A-Fa-f]+)\] )?"
    r"Unhandled (?P<access>read|write) (?:from|to) offset 0x(?P<offset>[0-9A-Fa-f]+)"
)
#: When the warning was, in ns.
_STAMP = re.compile(r"\d+")
#: Renode's warning about clearing HFSR (Zephyr does so at boot), which it carries out correctly.
_STATUS_CLEARED = re.compile(r"\[WARNING\] nvic: .*Unhandled write to offset 0xD2C\b")


class AgentClient:
    """Calls methods of the agent inside Renode; permanently unusable once Renode is lost."""

    def __init__(self, link: AgentLink, server: RenodeServer) -> None:
        self._link, self._server = link, server
        self.gone = ""  # the reason for the loss of Renode

    def call(
        self, *calls: str, timeout: float = 0.0, take: Callable[[str], None] | None = None
    ) -> list[str]:
        """Runs methods of the agent in one round trip; returns the lines that they sent.

        With ``take``, each line is passed to it on arrival instead. Raises :class:`TargetLost` if
        Renode has ended or does not answer within ``timeout`` seconds.
        """
        if self.gone:
            raise TargetLost(self.gone, hint="open a new session")
        try:
            text = "; ".join(f"hil['agent'].{call}" for call in calls)
            return self._link.call(text, timeout=timeout, take=take)
        except TargetLost as lost:
            self.gone = lost.message
            self._server.lost()
            raise


class RenodeMemory:
    """The memory of the machine; peripherals (from 0x4000_0000) are accessed in 32-bit words."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``; peripherals are read in aligned words."""
        if address >= _PERIPHERALS:
            first, end = address & ~3, (address + size + 3) & ~3
            (text,) = self._agent.call(f"read_words({first}, {(end - first) // 4})")
            words = [int(text[i : i + 8], 16) for i in range(0, len(text), 8)]
            data = b"".join(word.to_bytes(4, "little") for word in words)
            return data[address - first : address - first + size]
        pieces = []
        for start in range(address, address + size, _PIECE):
            count = min(_PIECE, address + size - start)
            (text,) = self._agent.call(f"read_bytes({start}, {count})")
            pieces.append(bytes.fromhex(text))
        return b"".join(pieces)

    def word(self, address: int) -> int:
        """The 32-bit word at ``address``."""
        return int.from_bytes(self.read(address, 4), "little")

    def write(self, address: int, data: bytes) -> None:
        """Writes ``data``. Raises ValueError if it is not of aligned words for peripherals."""
        if address >= _PERIPHERALS:
            if address % 4 or len(data) % 4:
                raise ValueError(
                    f"peripherals need aligned words, not {len(data)} B at {address:#x}"
                )
            for offset in range(0, len(data), 4):
                value = int.from_bytes(data[offset : offset + 4], "little")
                self._agent.call(f"write_word({address + offset}, {value})")
            return
        for offset in range(0, len(data), _PIECE):
            piece = data[offset : offset + _PIECE]
            self._agent.call(f"write_bytes({address + offset}, '{piece.hex()}')")


class RenodePins:
    """Port 0 of Renode's model; see :class:`harness.targets.pins.Pins`."""

    def __init__(self, agent: AgentClient) -> None:
        self._agent = agent

    def read(self, pin: int) -> bool:
        """The level of ``pin``."""
        return self._agent.call(f"pin({pin})") == ["pin 1"]

    def drive(self, pin: int, level: bool | None) -> None:
        """Drives ``pin``; None releases it to its pull resistor."""
        self._agent.call(f"drive({pin}, {level})")


class RenodeSession(Session):
    """An image in a machine of Renode; see :class:`harness.targets.session.Session`.

    ``owns_server``: Renode ends with the session. ``power_on`` is the seed of the RAM's content.
    ``anywhere``: the vector table need not be where the chip looks.
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
    ) -> None:
        self._image = image
        self._server = server
        self._owns = owns_server
        self._power_on = power_on
        self._started = time.monotonic()
        # The client starts Renode, which creates the folder for the files of cases.
        self.agent = AgentClient(server.client, server)
        self._folder = Path(tempfile.mkdtemp(prefix="tflm-hil-case-", dir=server.folder))
        self._time = 0.0
        self._event = -1  # when the last fault, call or return was, in ns
        self._executed = self._resets = self._unread = 0
        self._console: list[ConsoleChunk] = []
        self._faults: list[Fault] = []
        self._calls = CallLog()
        self._notes = [Finding(Kind.APPROXIMATION, text, "renode") for text in server.warnings]
        self._notes += image.chip.approximations
        self._warnings = self._reason = ""
        self._closed = False
        self._state: CoreState | None = None  # belongs to the next reported fault
        self._not_reusable = False  # whether a reset may not restore the machine's first state
        self._opened = False
        non_secure = trustzone.is_non_secure(image)
        self._both_worlds = trustzone.first_gateway(image) is not None
        if self._both_worlds:
            texts = (_NO_SPU, *server.warnings_of_worlds)
            self._notes += [Finding(Kind.APPROXIMATION, text, "renode") for text in texts]
        try:
            start = vectors.find(image, anywhere=anywhere)
            self._notes += start.notes(non_secure=non_secure)
            link = server.machine(
                image,
                self._folder,
                start.address,
                non_secure=non_secure,
                both_worlds=self._both_worlds,
                power_on=power_on,
            )
            self._opened = True
            self.agent = AgentClient(link, server)
            self._memory = RenodeMemory(self.agent)
            self.agent.call(f"hook_faults({fault_handlers(image)}, {not self._both_worlds})")
            svc = image.symbol("z_arm_svc")
            if svc is not None:
                self.agent.call(f"hook_svc({svc.address & ~1})")
        except BaseException:
            self.close()
            raise

    @property
    def memory(self) -> RenodeMemory:
        """The machine's memory."""
        return self._memory

    @property
    def power_on(self) -> int:
        """The seed of the RAM's content at power-on."""
        return self._power_on

    @property
    def counters(self) -> Counters:
        """Instructions and virtual time over all resets, as counted by Renode."""
        wall = time.monotonic() - self._started
        return Counters("renode", self._executed, None, self._time, wall, self._resets)

    @property
    def faults(self) -> Sequence[Fault]:
        """Faults taken, in order."""
        return tuple(self._faults)

    @property
    def findings(self) -> Sequence[Finding]:
        """Approximations, and unmodelled accesses by the firmware, from Renode's warnings."""
        if not self.agent.gone and not self._closed:
            lines = self.agent.call("warnings()")
            self._warnings = "\n".join(bytes.fromhex(line).decode() for line in lines)
        return (*self._notes, *findings_in(self._warnings, self._image))

    @property
    def console(self) -> Sequence[ConsoleChunk]:
        """The output so far with its virtual times."""
        return tuple(self._console)

    @property
    def registers(self) -> dict[str, int]:
        """The core's registers r0..r12, sp, lr, pc, xpsr."""
        (line,) = self.agent.call(f"registers({list(REGISTERS.values())})")
        return dict(zip(REGISTERS, (int(value, 16) for value in line.split()), strict=True))

    @property
    def core_state(self) -> CoreState:
        """Registers, stack pointers and RAM.

        Raises :class:`Unsupported` for images of both worlds, and after the loss of Renode.
        """
        if self._both_worlds or self.agent.gone:
            why = self.agent.gone or "the stack pointers of the other world cannot be read"
            raise Unsupported(self.target, Ability.STACKS.value, hint=why)
        self.agent.call("state()", take=self._take)
        state, self._state = self._state, None
        assert state is not None
        return state

    def watch_calls(self, addresses: Iterable[int], seen: SeesCall | None = None) -> None:
        """Records calls of the functions at ``addresses`` from now on."""
        self.agent.call(f"calls.watch({[address & ~1 for address in addresses]})")

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
        target = self._executed + until.instructions if isinstance(until, Executed) else 0
        end = self._time + until.seconds if isinstance(until, Elapsed) else float("inf")
        address = until.address(self._image) if isinstance(until, SymbolReached) else None
        if isinstance(until, ConsoleMatch):
            condition = f"until('{until.pattern.hex()}')"
        else:
            condition = "until()" if address is None else f"until('', {address})"
        return self._run(condition, deadline, end, target)

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Runs until the instruction at ``address`` is next."""
        return self._run(f"until('', {address})", deadline)

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
        if name == "console":
            time_stamp, _, data = value.partition(" ")
            self._print(self._after_last(int(time_stamp)) / _NS, bytes.fromhex(data))
        elif name == "state":
            self._state = faults.core_state(value, self._image.chip.area("ram").origin)
        elif name in faults.DECODERS:
            self._take_fault(name, _words(value))
        elif name == "at":
            self._event = self._after_last(int(value))
        elif name == "call":
            address, argument, caller, sp, exception, ticks = _words(value)
            call = Call(address, argument, caller, sp, exception, ticks, begun=self._event / _NS)
            self._calls.enter(call)
        elif name == "return":
            caller, sp, ticks, result = _words(value)
            self._calls.leave(caller, sp, ticks, result, time=self._event / _NS)
        elif name == "restart":
            self._calls.restart()
        elif name == "stop":
            self._reason = value
        elif name == "time":
            self._time = int(value) / _NS
        elif name == "executed":
            self._executed = int(value)
        elif name == "resets":
            self._resets = int(value)

    def _after_last(self, time: int) -> int:
        """``time`` (ns), after the last event: several may be in one quantum of Renode's clock."""
        return max(time, self._event + 1)

    def _take_fault(self, name: str, words: list[int]) -> None:
        """Adds a fault, with the core's state if the previous line contained it."""
        state, self._state = self._state, None
        if state is not None and name == "fault":
            state = faults.interrupted(state, cfsr=words[2])
        fault = faults.DECODERS[name](words, self._image)
        self._faults.append(replace(fault, state=state, time=self._event / _NS))

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
        self.agent.call(f"write('{data.hex()}')")

    @property
    def pins(self) -> RenodePins:
        """Port 0 of Renode's model."""
        return RenodePins(self.agent)

    def reset(self) -> None:
        """Pulses the reset pin; memories keep their content."""
        self.agent.call("reset()", "answer('reset')", take=self._take)

    def profile(self) -> None:
        """Counts executed blocks from now on, for :meth:`coverage` (about ten times slower)."""
        self._not_reusable = True
        self.agent.call("profile()")

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
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._opened:
            failed = self.agent.gone or self._faults or self._resets
            self._server.release(reusable=not (failed or self._not_reusable))
        if self._owns:
            self._server.close()


def _words(text: str) -> list[int]:
    return [int(word, 16) for word in text.split()]


def fault_handlers(image: Image) -> list[int]:
    """Addresses of the handlers of HardFault to SecureFault in all vector tables of the image.

    Images loaded together (a bootloader and an application, a secure and a non-secure image) have
    separate tables. Raises :class:`UsageError` if the table used at boot has no fault handlers.
    """
    start = vectors.find(image, anywhere=True).address
    found = _handlers(image, start)
    if not found:
        raise UsageError(
            f"{image.path} has no vector table with fault handlers at {start:#x}",
            hint="Renode detects faults by their handlers; use --target simulator instead",
        )
    for part in (image.alone, *image.beside):
        with contextlib.suppress(BadElf):  # an image without a vector table, such as data
            found |= _handlers(image, vectors.find(part, anywhere=True).address)
    return sorted(found)


def _handlers(image: Image, table_at: int) -> set[int]:
    """The handlers in the vector table at an address; empty if nothing is loaded there."""
    for segment in image.loaded:
        table = segment.data[table_at - segment.load_address :] if segment.data else b""
        if table_at >= segment.load_address and len(table) >= 32:
            return {word & ~1 for word in struct.unpack_from("<5I", table, 12)} - {0}
    return set()


def findings_in(warnings: str, image: Image) -> list[Finding]:
    """A finding for each address and direction of unmodelled accesses in Renode's warnings.

    They are in the order of their first occurrence, which has its virtual time in ns before it.
    """
    findings: dict[tuple[str, str], Finding] = {}
    for line in warnings.splitlines():
        match = _BUS_WARNING.search(line) or _REGISTER_WARNING.search(line)
        if match is None or _STATUS_CLEARED.search(line):
            continue
        fields = match.groupdict()
        if "address" in fields:
            address = int(fields["address"], 16)
            subject = fields["tag"] or f"0x{address:08x}"
            location = f"0x{address:08x}"
        else:
            subject = f"{fields['block'].upper()}+0x{int(fields['offset'], 16):x}"
            location = subject
        direction = fields["access"].lower()
        where = f" from {image.locate(int(fields['pc'], 16))}" if fields["pc"] else ""
        message = f"unmodelled access: {direction} at {location}{where}"
        time = int(stamped[0]) / _NS if (stamped := _STAMP.match(line)) else None
        finding = Finding(Kind.UNMODELLED_ACCESS, message, subject, time=time)
        findings.setdefault((location, direction), finding)
    return list(findings.values())
