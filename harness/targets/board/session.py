"""A running board as a session: wall clock, console, DWT cycles from its own records."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from harness.deadline import Deadline
from harness.elf import Firmware
from harness.errors import FlashFailed, TargetLost, Unsupported
from harness.findings import Finding, Kind
from harness.targets.base import (
    ConsoleChunk,
    ConsoleMatch,
    Counters,
    Elapsed,
    Fault,
    Memory,
    Stop,
    Until,
)
from harness.targets.board.console import Console
from harness.targets.board.flash import FlashReport
from harness.targets.board.identity import Board
from harness.targets.board.marks import BOOT, Marks
from harness.targets.ordinary import OrdinarySession
from harness.targets.pins import Pins

#: How often a run looks whether the board is still ours and whether it keeps rebooting.
_GLANCE_SECONDS = 0.25
_LOCK_CHECK_SECONDS = 1.0
#: Boots without an `end` record between them after which an image is in a reset loop.
_RESET_LOOP = 5
#: A console with so many bytes and so large a share of them not text has the wrong baud rate.
_GARBAGE_BYTES = 32
_GARBAGE_SHARE = 0.2


class BoardSession(OrdinarySession):
    """One image running on one board. Made by :func:`harness.targets.board.open`.

    The board runs all the time, also between two calls of :meth:`run`: matching starts where the
    last match ended (or at the image's boot), so nothing printed in between is missed.
    """

    def __init__(
        self,
        board: Board,
        firmware: Firmware,
        console: Console,
        *,
        start: int,
        reset: Callable[[], None],
        memory: Memory,
        check: Callable[[], None],
        close: Callable[[], None],
        flashed: FlashReport,
        settled: bool = True,
        virtual: bool = False,
        pins: Pins | None = None,
    ) -> None:
        self.board = board
        self.firmware = firmware
        self.flashed = flashed
        self._port = console
        self._start = start
        self._cursor = start
        self._read_to = start
        self._marked_to = start
        self._chunks: list[ConsoleChunk] = []
        self._chunked_to = start
        self._marks = Marks()
        self._do_reset = reset
        self._memory = memory
        self._check = check
        self._close = close
        self._resets = 0
        self._loop = 0
        self._virtual = virtual
        self._pins = pins
        self._settled = settled
        self._opened = time.monotonic()
        self._checked = self._opened
        self._closed = False

    @property
    def target(self) -> str:
        """``board``, or ``virtual-board`` where a simulator is behind the port."""
        return "virtual-board" if self._virtual else "board"

    @property
    def memory(self) -> Memory:
        """The board's memory through its debug probe, while it runs."""
        return self._memory

    @property
    def pins(self) -> Pins:
        """A virtual board's pins. Raises :class:`Unsupported` for a real board."""
        return super().pins if self._pins is None else self._pins

    @property
    def counters(self) -> Counters:
        """Cycles are the sum of the DWT ticks of all inferences that the image reported.

        A virtual board's DWT counts the simulator's instructions: they are reported as such.
        """
        self._mark()
        ticks = self._marks.cycles if self._marks.hz else None
        return Counters(
            source="simulator" if self._virtual else "dwt" if self._marks.hz else "uart",
            instructions=ticks if self._virtual else None,
            cycles=None if self._virtual else ticks,
            virtual_seconds=None,
            wall_seconds=time.monotonic() - self._opened,
            resets=max(0, self._marks.boots - 1),
        )

    @property
    def clock_hz(self) -> int:
        """The clock that the cycles were counted at, as the image stated it; 0: not stated."""
        self._mark()
        return self._marks.hz

    @property
    def faults(self) -> Sequence[Fault]:
        """None: what a board's image says about its faults is on the console."""
        return ()

    @property
    def findings(self) -> Sequence[Finding]:
        """A console at the wrong baud rate, and an image that never announced itself."""
        self._mark()
        found = []
        if (
            self._marks.total >= _GARBAGE_BYTES
            and self._marks.odd / self._marks.total >= _GARBAGE_SHARE
        ):
            share = 100 * self._marks.odd / self._marks.total
            found.append(
                Finding(
                    Kind.CONSOLE_GARBAGE,
                    f"{share:.0f} % of {self._marks.total} console bytes are not text: is "
                    f"{self._port.baud} the image's baud rate?",
                    subject=self._port.url,
                    values=(("baud", self._port.baud), ("bytes", self._marks.total)),
                )
            )
        if not self._settled and not self._marks.boots:
            found.append(
                Finding(
                    Kind.APPROXIMATION,
                    "no boot banner or record was seen after the reset: the first console bytes "
                    "may come from the image before",
                )
            )
        return tuple(found)

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

        Raises :class:`TargetLost` if the board is unplugged or taken away,
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
        """Console bytes since the last read()."""
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
        self._mark()
        self._do_reset()
        self._resets += 1
        self._loop = self._marks.boots + 1

    def where(self) -> str:
        """Unknown: a board is not halted to be asked."""
        return ""

    def close(self) -> None:
        """Close the port, let probe and lock go; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._close()

    def also_close(self, action: Callable[[], None]) -> None:
        """Have ``action`` done when the session is closed, after everything else."""
        before = self._close

        def both() -> None:
            try:
                before()
            finally:
                action()

        self._close = both

    @property
    def _looping(self) -> bool:
        return not self._marks.ended and self._marks.boots - self._loop >= _RESET_LOOP

    def _mark(self) -> None:
        data = self._port.since(self._marked_to)
        self._marked_to += len(data)
        before = self._marks.ended
        self._marks.feed(data)
        if self._marks.ended and not before:
            self._loop = self._marks.boots

    def _alive(self) -> None:
        """What must hold before and after everything that is done with the board."""
        if self._closed:
            raise TargetLost(f"the session on board {self.board.name} is closed")
        now = time.monotonic()
        if now - self._checked >= _LOCK_CHECK_SECONDS:
            self._checked = now
            self._check()
        self._mark()
        if self._port.dropped > self._start:
            raise TargetLost(
                f"board {self.board.name} printed more than is kept of a console",
                hint="run it for a shorter time, or raise console_limit",
            )
        build = self._marks.build
        if build and build.encode() not in self.firmware.data:
            raise FlashFailed(
                f"board {self.board.name} runs the build {build!r}, which is not the one that was "
                f"flashed ({self.firmware.path.name})",
                hint="the flash tool reported success; power-cycle the board, try another runner",
            )


def boot_position(console: Console, before: int, seconds: float) -> tuple[int, bool]:
    """Where the image's own output starts, after a reset that was begun at ``before``.

    Bytes of the image that ran before may arrive until the reset pin falls, and the new image may
    have printed before the reset tool returns. The last boot banner that is there by now starts
    the new image's output; else the first one within ``seconds``. Without one (False) all bytes
    since ``before`` are taken.
    """
    arrived = console.since(before)
    last = None
    for last in BOOT.finditer(arrived):  # noqa: B007 - the last one is wanted
        pass
    if last is not None:
        return before + last.start(), True
    end = console.search(BOOT, before, seconds)
    if end is None:
        return before, False
    found = BOOT.search(console.since(before))
    return (before + found.start() if found else before), True
