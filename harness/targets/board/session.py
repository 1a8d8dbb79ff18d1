"""A session on a board: wall clock, console, DWT cycles from the image's own records."""

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
from harness.targets.board.probe import ProbeMemory
from harness.targets.pins import Pins
from harness.targets.registry import Ability, SessionDefaults
from harness.uart import records
from harness.uart.lines import LineSplitter

#: How often a run checks that the board is still ours and does not keep rebooting.
_GLANCE_SECONDS = 0.25
_LOCK_CHECK_SECONDS = 1.0
#: Boots without an `end` record between them after which an image is in a reset loop.
_RESET_LOOP = 5
_BANNER = "*** Booting "
#: How an image announces itself: Zephyr's banner, or the first record after a boot.
BOOT = re.compile(re.escape(_BANNER.encode()) + b"|" + re.escape(records.BOOT))
#: Bytes that text consoles send: printable ASCII, tab, CR, LF, escape.
_TEXT = bytes((*range(0x20, 0x7F), 0x09, 0x0A, 0x0D, 0x1B))
#: With this many bytes, and this share of them not text, the baud rate is wrong.
_GARBAGE_BYTES = 32
_GARBAGE_SHARE = 0.2


def not_text(data: bytes) -> int:
    """The number of bytes of ``data`` that are not text."""
    return len(data.translate(None, _TEXT))


@dataclass(frozen=True)
class Boots:
    """Boots of an image, seen by its banners and its boot records.

    An image may print either or both, so the larger number counts.
    """

    banners: int = 0
    records: int = 0

    @property
    def number(self) -> int:
        """How many there were."""
        return max(self.banners, self.records)

    def more(self, *, banners: int = 0, records: int = 0) -> Boots:
        """The same with so many more."""
        return Boots(self.banners + banners, self.records + records)


class ConsoleMonitor:
    """Figures that a session takes from its console while the board runs.

    ``cycles`` sums the ticks of all inference records with source ``dwt``, ``hz`` is their clock
    (0: no such record yet), ``build`` the boot record's identifier, ``unended`` the boots since
    the last ``end`` record.
    """

    def __init__(self) -> None:
        self.boots = Boots()
        self.unended = Boots()
        self.cycles = self.hz = 0
        self.build = ""
        self.size = self.garbage = 0  # bytes; those that are not text
        self._lines = LineSplitter()

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the console, in pieces of any size."""
        self.size += len(data)
        self.garbage += not_text(data)
        for line in self._lines.feed(data):
            if _BANNER in line.text:
                self._count(banners=1)
            for record in records.each_in(line.raw):
                self._read(record)

    def _count(self, **seen: int) -> None:
        self.boots, self.unended = self.boots.more(**seen), self.unended.more(**seen)

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
    """The open ends of one board. ``resources`` closes everything opened for it."""

    board: BenchBoard
    console: SerialConsole
    flasher: Flasher
    lock: ProbeLock
    memory: ProbeMemory
    pins: Pins | None
    resources: ExitStack


class BoardSession(SessionDefaults):
    """One image running on one board. Made by :func:`harness.targets.board.open`.

    The board runs all the time, also between two calls of :meth:`run`: matching starts where the
    last match ended (or at the image's boot), so nothing printed in between is missed.
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
        """``board``, or ``virtual-board`` if a simulator is behind the port."""
        return "virtual-board" if self._virtual else "board"

    @property
    def memory(self) -> MemoryAccess:
        """The board's memory through its debug probe, while it runs."""
        return self._connection.memory

    @property
    def core_state(self) -> CoreState:
        """Its core, halted for a moment through its debug probe.

        Raises :class:`Unsupported` if the probe does not reach it: without pyOCD, a locked chip.
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
        """Cycles are the sum of the DWT ticks of all inferences that the image reported.

        A virtual board's DWT counts the simulator's instructions: they are reported as such.
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
        """None: a board's faults are on its console only."""
        return ()

    @property
    def findings(self) -> Sequence[Finding]:
        """A console at the wrong baud rate, an image without a boot banner or record."""
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
                    subject=self._port.url,
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
        """Everything since the image's boot; bytes from before it are dropped."""
        fresh = self._port.chunks(self._chunked_to)
        self._chunks.extend(fresh)
        self._chunked_to += sum(len(chunk.data) for chunk in fresh)
        return self._chunks

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline on the wall clock, which is a board's own."""
        return Deadline(seconds, guard=guard)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Let the board run until the condition or the deadline.

        Raises :class:`TargetLost` if the board is unplugged,
        :class:`~harness.targets.board.lock.BoardTaken` if another user took it,
        :class:`FlashFailed` if its boot record is another image's, and :class:`Unsupported` for
        conditions that need a debugger.
        """
        self._alive()
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
                0.0, min(_GLANCE_SECONDS, deadline.remaining, deadline.guard_remaining, limit - now)
            )
            if pattern is not None:
                end = self._port.search(pattern, self._cursor, slice_seconds)
                if end is not None:
                    self._cursor = end
                    self._alive()
                    return Stop.CONDITION
            else:
                self._port.wait(slice_seconds)
                self._cursor = self._port.end
            self._alive()
            if self._looping:
                return Stop.RESET_LOOP
            if time.monotonic() >= limit:
                return Stop.CONDITION
            if deadline.expired:
                return Stop.DEADLINE
            if deadline.guard_expired:
                return Stop.GUARD

    def read(self) -> bytes:
        """SerialConsole bytes since the last read()."""
        self._alive()
        data = self._port.since(self._read_to)
        self._read_to += len(data)
        return data

    def write(self, data: bytes) -> None:
        """Send ``data`` to the board."""
        self._alive()
        self._port.write(data)

    def reset(self) -> None:
        """Pulse the reset pin through the board's flash tool."""
        self._alive()
        self._follow()
        self._connection.flasher.reset()
        self._monitor.unended = Boots(-1, -1)  # the boot of this reset does not count

    def where(self) -> str:
        """Unknown: a board is not halted."""
        return ""

    def close(self) -> None:
        """Close the port, release probe and lock; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._connection.resources.close()

    def keep(self, resources: ExitStack) -> None:
        """Own ``resources`` as well: closed with the session, after its port and probe."""
        resources.push(self._connection.resources.pop_all())
        self._connection.resources.push(resources)

    @property
    def _looping(self) -> bool:
        return self._monitor.unended.number >= _RESET_LOOP

    def _follow(self) -> None:
        data = self._port.since(self._followed_to)
        self._followed_to += len(data)
        self._monitor.feed(data)

    def _alive(self) -> None:
        """Check that the session is open, the board ours, and its console complete."""
        if self._closed:
            raise TargetLost(f"the session on board {self.board.name} is closed")
        now = time.monotonic()
        if now - self._checked >= _LOCK_CHECK_SECONDS:
            self._checked = now
            self._connection.lock.check()
        self._follow()
        if self._port.dropped > self._start:
            raise ConsoleOverflow(
                f"board {self.board.name} printed more than the console keeps",
                hint="run it for a shorter time, or raise console_limit",
            )
        build = self._monitor.build
        if build and build.encode() not in self.image.data:
            raise FlashFailed(
                f"board {self.board.name} runs the build {build!r}, which is not the one that was "
                f"flashed ({self.image.path.name})",
                hint="the flash tool reported success; power-cycle the board, try another runner",
            )


def boot_position(console: SerialConsole, reset_at: int, seconds: float) -> tuple[int, bool]:
    """Where the new image's output starts, if the reset began at position ``reset_at``.

    The image before may print until the reset pin falls, and the new image may print before the
    reset tool returns. The new output starts at the last boot banner that has arrived; else at the
    first one within ``seconds``. Without a banner it starts at ``reset_at``, and the second part
    of the result is False.
    """
    arrived = console.since(reset_at)
    banner = None
    for banner in BOOT.finditer(arrived):  # noqa: B007 - the last one counts
        pass
    if banner is not None:
        return reset_at + banner.start(), True
    end = console.search(BOOT, reset_at, seconds)
    if end is None:
        return reset_at, False
    match = BOOT.search(console.since(reset_at))
    return (reset_at + match.start() if match else reset_at), True
