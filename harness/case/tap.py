"""A tap on a running session: its console is read as it runs, its buttons are pressed in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.base.clock import INSTANT, Deadline
from harness.targets.base import ConsoleChunk, ConsoleMatch, Session, Stop, Until
from harness.targets.pins import Press
from harness.uart import Console

#: Seconds on the target's clock after which a run looks at what came in any case.
_SLICE = 1.0
#: The same if someone watches the console.
_WATCHED = 0.1
#: Bytes without a line end that are joined. A line that is cut for its length gets a time that is
#: at most so many bytes late.
_JOINED = 256
#: Seconds, longer than any run: a deadline so far away serves as a clock.
_LONG = 1e9


def out_of_time(deadline: Deadline) -> Stop | None:
    """The limit that is used up, if one is: then the image is not to blame for what is missing."""
    if deadline.guard_expired:
        return Stop.GUARD
    return Stop.DEADLINE if deadline.expired else None


class Tap:
    """Passes a session's console output on to a :class:`Console`, with the time of each part.

    ``look`` is called after each part, while the target stands where it printed it.
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
        self._run = Presses(session, presses).run if presses else session.run
        self._taken = 0
        self._look = look
        self._slice = _WATCHED if console.echoed else _SLICE
        self._read()  # what the session printed before

    def run(self, words: ConsoleMatch | None, deadline: Deadline) -> Stop:
        """Run the session, then read all that it printed."""
        stop = self._run(words, deadline)
        self._read()
        return stop

    def _read(self) -> None:
        chunks = self.session.console
        for data, time in _joined(chunks[self._taken :]):
            self.console.feed(data, time)
        self._taken = len(chunks)
        if self._look is not None:
            self._look()

    def until(self, done: Callable[[], bool], words: ConsoleMatch, deadline: Deadline) -> Stop:
        """Run until ``done()``, which is called whenever ``words`` came and once a second at least.

        Gives CONDITION then, and otherwise why the run stopped. The output up to there has been
        read in that case too: call ``done()`` once more.
        """
        while not done():
            stop = self.run(words, deadline.part(min(self._slice, deadline.remaining)))
            again = stop is Stop.DEADLINE and deadline.remaining > INSTANT
            if stop is not Stop.CONDITION and not again:
                done()
                return stop
        return Stop.CONDITION


def _joined(chunks: Sequence[ConsoleChunk]) -> Iterator[tuple[bytes, float]]:
    """Chunks joined up to a line end, with the time of the last one.

    A device may send byte by byte, and each part of a growing line costs a search.
    """
    parts: list[bytes] = []
    size = 0
    for chunk in chunks:
        parts.append(chunk.data)
        size += len(chunk.data)
        if size >= _JOINED or b"\n" in chunk.data:
            yield b"".join(parts), chunk.time
            parts, size = [], 0
    if parts:
        yield b"".join(parts), chunks[-1].time


class Presses:
    """Runs a session from one press or release to the next.

    The clock of an image that sleeps for good stands still: the next press wakes it at once.
    """

    def __init__(self, session: Session, presses: Sequence[Press]) -> None:
        self._session = session
        self._clock = session.deadline(_LONG)
        edges: list[tuple[float, int, bool | None]] = []  # time, pin, level; None: released
        for press in presses:
            edges.append((press.at, press.pin, False))
            edges.append((press.at + press.seconds, press.pin, None))
        self._edges = sorted(edges, key=lambda edge: edge[0])
        self._slept = 0.0  # seconds that the clock of a sleeping image would have run

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """As :meth:`Session.run`, with the presses that are due meanwhile."""
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
            _, pin, level = self._edges.pop(0)
            self._session.pins.drive(pin, level)
        return self._session.run(until, deadline)
