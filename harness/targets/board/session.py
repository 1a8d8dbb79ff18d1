"""A session on a board: wall clock, console, and DWT cycles from the image's records."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from harness.base.clock import Deadline
from harness.base.core_state import CoreState
from harness.base.errors import EnvironmentMissing, FlashFailed, TargetLost, Unsupported
from harness.base.findings import Finding, Kind
from harness.base.secrets import redacted
from harness.elf import Image
from harness.targets.base import (
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Fault,
    MemoryAccess,
    Stop,
    Until,
)
from harness.targets.board.console import ConsoleOverflow, SerialConsole
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.flash import Flasher, FlashReport
from harness.targets.board.lock import ProbeLock
from harness.targets.board.probe import PyocdMemory
from harness.targets.pins import Pins
from harness.targets.registry import Ability
from harness.targets.session import Session
from harness.uart import records
from harness.uart.lines import LineSplitter

#: Seconds between two checks for a lost board and for a reset loop.
_POLL_SECONDS = 0.25
_LOCK_CHECK_SECONDS = 1.0
#: Number of boots without an `end` record that makes a reset loop.
_RESET_LOOP = 5
_BANNER = "*** Booting "
#: Start of an image's output: Zephyr's banner, or the boot record.
BOOT = re.compile(re.escape(_BANNER.encode()) + b"|" + re.escape(records.BOOT))
#: Bytes of a text console: printable ASCII, tab, CR, LF, escape.
_TEXT = bytes((*range(0x20, 0x7F), 0x09, 0x0A, 0x0D, 0x1B))
#: A wrong baud rate is assumed from this many bytes on, if this share of them is not text.
_GARBAGE_BYTES = 32
_GARBAGE_SHARE = 0.2


def not_text(data: bytes) -> int:
    """The number of bytes of ``data`` that are not text."""
    return len(data.translate(None, _TEXT))


@dataclass(frozen=True)
class Boots:
    """Counts of boot banners and boot records; an image may print either or both."""

    banners: int = 0
    records: int = 0

    @property
    def number(self) -> int:
        """The number of boots: the larger of both counts."""
        return max(self.banners, self.records)

    def plus(self, *, banners: int = 0, records: int = 0) -> Boots:
        """The sum of these counts and others."""
        return Boots(self.banners + banners, self.records + records)


class ConsoleMonitor:
    """Collects figures from the console while the board runs.

    ``cycles`` is the sum of the ticks of all inference records with source ``dwt``, ``hz`` their
    clock (0: no such record yet), ``build`` the identifier in the boot record, ``unended`` the
    boots since the last ``end`` record, ``size`` the number of bytes, ``garbage`` the number of
    bytes that are not text.
    """

    def __init__(self) -> None:
        self.boots = Boots()
        self.unended = Boots()
        self.cycles = self.hz = 0
        self.build = ""
        self.size = self.garbage = 0
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> None:
        """Processes the next bytes of the console, in pieces of any size."""
        self.size += len(data)
        self.garbage += not_text(data)
        for line in self._lines.feed(data):
            if _BANNER in line.text:
                self._count(banners=1)
            for record in records.each_in(line.raw):
                self._read(record)

    def _count(self, **seen: int) -> None:
        self.boots, self.unended = self.boots.plus(**seen), self.unended.plus(**seen)

    def _read(self, record: records.Record) -> None:
        if record.kind == "boot":
            self.build = record.text("build")
            self._count(records=1)
        elif record.kind == "end":
            self.unended = Boots()
        elif record.kind == "inference" and record.text("source") == "dwt":
            self.cycles += record.integer("ticks")
            self.hz = record.integer("hz")


@dataclass(frozen=True)
class Connection:
    """The open connections to one board; ``resources`` closes all of them."""

    board: BenchBoard
    console: SerialConsole
    flasher: Flasher
    lock: ProbeLock
    memory: PyocdMemory
    pins: Pins | None
    resources: ExitStack


class BoardSession(Session):
    """An image that runs on a board; created by :func:`harness.targets.board.open`.

    The board also runs between two calls of :meth:`run`. Matching starts at the end of the previous
    match, or at the image's boot, so that output in between is not missed.
    """

    def __init__(
        self,
        connection: Connection,
        image: Image,
        flashed: FlashReport,
        *,
        start: int,
        settled: bool = True,
    ) -> None:
        self.board = connection.board
        self.image = image
        self.flashed = flashed
        self._connection = connection
        self._port = connection.console
        self._start = start
        self._cursor = start
        self._read_to = start
        self._followed_to = start
        self._chunks: list[ConsoleChunk] = []
        self._chunked_to = start
        self._monitor = ConsoleMonitor()
        self._virtual = self.board.virtual
        self._settled = settled
        self._opened = time.monotonic()
        self._checked = self._opened
        self._closed = False

    @property
    def target(self) -> str:
        """``board``, or ``virtual-board`` for a simulated one."""
        return "virtual-board" if self._virtual else "board"

    @property
    def memory(self) -> MemoryAccess:
        """The memory of the running board, accessed through its debug probe."""
        return self._connection.memory

    @property
    def core_state(self) -> CoreState:
        """The state of the core, which is halted briefly through the debug probe.

        Raises :class:`Unsupported` if the core cannot be accessed: pyOCD is not installed, or the
        chip is locked.
        """
        try:
            return self._connection.memory.core_state()
        except (EnvironmentMissing, TargetLost) as error:
            raise Unsupported(self.target, Ability.STACKS.value, hint=error.message) from error

    @property
    def pins(self) -> Pins:
        """A virtual board's pins. Raises :class:`Unsupported` for a real board."""
        pins = self._connection.pins
        return super().pins if pins is None else pins

    @property
    def counters(self) -> Counters:
        """Counters, of which ``cycles`` is the sum of the DWT ticks of all reported inferences.

        The DWT of a virtual board counts the simulator's instructions: these are ``instructions``.
        """
        self._follow()
        ticks = self._monitor.cycles if self._monitor.hz else None
        return Counters(
            source="simulator" if self._virtual else "dwt" if self._monitor.hz else "uart",
            instructions=ticks if self._virtual else None,
            cycles=None if self._virtual else ticks,
            virtual_seconds=None,
            wall_seconds=time.monotonic() - self._opened,
            resets=max(0, self._monitor.boots.number - 1),
        )

    @property
    def faults(self) -> Sequence[Fault]:
        """Empty: a board reports faults on its console only."""
        return ()

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings about a wrong baud rate, and an image without boot banner or boot record."""
        self._follow()
        findings = []
        if (
            self._monitor.size >= _GARBAGE_BYTES
            and self._monitor.garbage / self._monitor.size >= _GARBAGE_SHARE
        ):
            share = 100 * self._monitor.garbage / self._monitor.size
            findings.append(
                Finding(
                    Kind.CONSOLE_GARBAGE,
                    f"{share:.0f} % of {self._monitor.size} console bytes are not text: is "
                    f"{self._port.baud} the image's baud rate?",
                    subject=redacted(self._port.url),
                    values=(("baud", self._port.baud), ("bytes", self._monitor.size)),
                )
            )
        if not self._settled and not self._monitor.boots.number:
            findings.append(
                Finding(
                    Kind.APPROXIMATION,
                    "no boot banner or record was seen after the reset: the first console bytes "
                    "may come from the image before",
                )
            )
        return tuple(findings)

    @property
    def console(self) -> Sequence[ConsoleChunk]:
        """The output since the image's boot, without earlier bytes."""
        fresh = self._port.chunks(self._chunked_to)
        self._chunks.extend(fresh)
        self._chunked_to += sum(len(chunk.data) for chunk in fresh)
        return self._chunks

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline on the wall clock."""
        return Deadline(seconds, guard=guard)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Waits until the condition or the deadline; returns which of them ended the run.

        Raises :class:`TargetLost` if the board is unplugged,
        :class:`~harness.targets.board.lock.BoardTaken` if another user took it over,
        :class:`FlashFailed` if the boot record belongs to another image, and :class:`Unsupported`
        for conditions that need a debugger.
        """
        self._check()
        pattern = None
        limit = float("inf")
        if isinstance(until, ConsoleMatch):
            pattern = re.compile(until.pattern)
        elif isinstance(until, Elapsed):
            limit = time.monotonic() + until.seconds
        elif until is not None:
            raise Unsupported(self.target, f"stop at {type(until).__name__}")
        return self._run(pattern, limit, deadline)

    def _run(self, pattern: re.Pattern[bytes] | None, limit: float, deadline: Deadline) -> Stop:
        while True:
            now = time.monotonic()
            slice_seconds = max(
                0.0, min(_POLL_SECONDS, deadline.remaining, deadline.guard_remaining, limit - now)
            )
            if pattern is not None:
                end = self._port.search(pattern, self._cursor, slice_seconds)
                if end is not None:
                    self._cursor = end
                    self._check()
                    return Stop.CONDITION
            else:
                self._port.wait(slice_seconds)
                self._cursor = self._port.end
            self._check()
            if self._looping:
                return Stop.RESET_LOOP
            if time.monotonic() >= limit:
                return Stop.CONDITION
            if deadline.expired:
                return Stop.DEADLINE
            if deadline.guard_expired:
                return Stop.GUARD

    def read(self) -> bytes:
        """The console bytes since the previous call."""
        self._check()
        data = self._port.since(self._read_to)
        self._read_to += len(data)
        return data

    def write(self, data: bytes) -> None:
        """Sends ``data`` to the board."""
        self._check()
        self._port.write(data)

    def reset(self) -> None:
        """Pulses the reset pin with the board's flash tool."""
        self._check()
        self._follow()
        self._connection.flasher.reset()
        self._monitor.unended = Boots(-1, -1)  # the requested reset is not part of a loop

    def where(self) -> str:
        """Empty: the location is unknown, because a board is not halted."""
        return ""

    def close(self) -> None:
        """Closes the port, releases probe and lock; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._connection.resources.close()

    def add_resources(self, resources: ExitStack) -> None:
        """Closes ``resources`` with the session, after its port and probe."""
        resources.push(self._connection.resources.pop_all())
        self._connection.resources.push(resources)

    @property
    def _looping(self) -> bool:
        return self._monitor.unended.number >= _RESET_LOOP

    def _follow(self) -> None:
        data = self._port.since(self._followed_to)
        self._followed_to += len(data)
        self._monitor.feed(data)

    def _check(self) -> None:
        """Checks session, lock, completeness of the console, and the identity of the image.

        Raises as :meth:`run`.
        """
        if self._closed:
            raise TargetLost(f"the session on board {self.board.name} is closed")
        now = time.monotonic()
        if now - self._checked >= _LOCK_CHECK_SECONDS:
            self._checked = now
            self._connection.lock.check()
        self._follow()
        if self._port.dropped > self._start:
            raise ConsoleOverflow(
                f"board {self.board.name} printed more than the console buffer holds",
                hint="run it for a shorter time, or raise console_limit",
            )
        build = self._monitor.build
        if build and build.encode() not in self.image.data:
            raise FlashFailed(
                f"board {self.board.name} runs build {build!r} instead of the flashed image "
                f"({self.image.path.name})",
                hint="the flash tool reported success; power-cycle the board or try another runner",
            )


def boot_position(console: SerialConsole, reset_at: int, seconds: float) -> tuple[int, bool]:
    """The position at which the new image's output starts, and whether a boot banner was found.

    ``reset_at`` is the position at the start of the reset. The previous image may print until the
    reset pin falls, and the new one before the reset tool returns. So the output starts at the last
    banner received so far, or at the first one within ``seconds``, or else at ``reset_at``.
    """
    banners = list(BOOT.finditer(console.since(reset_at)))
    if banners:
        return reset_at + banners[-1].start(), True
    end = console.search(BOOT, reset_at, seconds)
    if end is None:
        return reset_at, False
    match = BOOT.search(console.since(reset_at))
    return (reset_at + match.start() if match else reset_at), True
