"""A tap on a running session: reads its console as it runs, and presses its buttons."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.base.clock import INSTANT, Deadline
from harness.targets.base import ConsoleChunk, ConsoleMatch, Stop, Until
from harness.targets.pins import Press
from harness.targets.session import Session
from harness.uart import Console

#: Seconds on the target's clock between two readings of the console.
_INTERVAL = 1.0
#: The same for a console that is echoed to a user.
_ECHO_INTERVAL = 0.1
#: Bytes without a line end that are joined. A line that is cut for its length gets a time stamp
#: that is late by at most the time of these bytes.
_JOINED = 256
#: Seconds: longer than any run, so that what remains of this deadline gives the time.
_LONG = 1e9


def out_of_time(deadline: Deadline) -> Stop | None:
    """The limit that has expired, if any: the image is not to blame for what is missing."""
    if deadline.guard_expired:
        return Stop.GUARD
    return Stop.DEADLINE if deadline.expired else None


class Tap:
    """Passes a session's console output to a :class:`Console`, with the time of each part.

    ``look`` is called after each reading, while the target is stopped there.
    """

    def __init__(
        self,
        session: Session,
        console: Console,
        presses: Sequence[Press] = (),
        look: Callable[[], None] | None = None,
    ) -> None:
        self.session = session
        self.console = console
        self._presses = Presses(session, presses)
        self._taken = 0
        self._look = look
        self._interval = _ECHO_INTERVAL if console.echoed else _INTERVAL
        self.read()  # output from before the tap

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run the session, then read its output."""
        stop = self._presses.run(until, deadline)
        self.read()
        return stop

    @property
    def not_pressed(self) -> tuple[int, ...]:
        """The presses, by their number from 0, that have not begun."""
        return self._presses.not_begun

    def read(self) -> None:
        """Pass on what the session has printed."""
        chunks = self.session.console
        for part in _joined(chunks[self._taken :], self.session.byte_seconds):
            self.console.feed(*part)
        self._taken = len(chunks)
        if self._look is not None:
            self._look()

    def until(self, done: Callable[[], bool], words: ConsoleMatch, deadline: Deadline) -> Stop:
        """Run until ``done()``, which is called after each match of ``words``, or every second.

        Returns CONDITION then, and otherwise why the run stopped. ``done()`` has been called on all
        output in both cases.
        """
        while not done():
            stop = self.run(words, deadline.part(min(self._interval, deadline.remaining)))
            again = stop is Stop.DEADLINE and deadline.remaining > INSTANT
            if stop is not Stop.CONDITION and not again:
                done()
                return stop
        return Stop.CONDITION


def _joined(
    chunks: Sequence[ConsoleChunk], byte_seconds: float
) -> Iterator[tuple[bytes, float, float]]:
    """Join chunks up to a line end; yield each part, when it had arrived, and when it began.

    A device may send byte by byte, and each part of a growing line costs a search. The firmware
    goes on while a chunk is on the wire: what it does then comes after the chunk's beginning.
    """
    parts: list[bytes] = []
    size, begun = 0, 0.0
    for chunk in chunks:
        begun = begun if parts else max(0.0, chunk.time - len(chunk.data) * byte_seconds)
        parts.append(chunk.data)
        size += len(chunk.data)
        if size >= _JOINED or b"\n" in chunk.data:
            yield b"".join(parts), chunk.time, begun
            parts, size = [], 0
    if parts:
        yield b"".join(parts), chunks[-1].time, begun


class Presses:
    """Runs a session from one press or release to the next.

    The clock stops in an image that sleeps for good: the next press then follows immediately.
    """

    def __init__(self, session: Session, presses: Sequence[Press]) -> None:
        self._session = session
        self._clock = session.deadline(_LONG)
        edges: list[tuple[float, int, int, bool | None]] = []  # time, number, pin, level
        for number, press in enumerate(presses):
            edges.append((press.at, number, press.pin, False))
            edges.append((press.at + press.seconds, number, press.pin, None))  # released
        self._edges = sorted(edges, key=lambda edge: edge[0])
        self._slept = 0.0  # seconds that the clock would have run while the image slept

    @property
    def not_begun(self) -> tuple[int, ...]:
        """The presses, by their number, that have not begun."""
        return tuple(number for _, number, _, level in self._edges if level is False)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run as :meth:`Session.run` does, with the presses that are due meanwhile."""
        while self._edges:
            wait = self._edges[0][0] - (_LONG - self._clock.remaining) - self._slept
            if wait > 0:
                if wait >= deadline.remaining:
                    break
                stop = self._session.run(until, deadline.part(wait))
                if stop in (Stop.IDLE, Stop.SYSTEM_OFF):
                    self._slept += wait
                elif stop is not Stop.DEADLINE:
                    return stop
            _, _, pin, level = self._edges.pop(0)
            self._session.pins.drive(pin, level)
        return self._session.run(until, deadline)
