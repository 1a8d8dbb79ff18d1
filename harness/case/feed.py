"""The host's side of the console: read what comes, send inputs record by record.

There is no flow control: the image acknowledges each record before the host sends the next
(docs/records.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from harness.base.clock import INSTANT, Deadline
from harness.base.errors import FirmwareFailed
from harness.case.endings import HOW_IT_ENDED
from harness.case.presses import Presses
from harness.targets.base import ConsoleChunk, ConsoleMatch, Session, Stop
from harness.targets.pins import Press
from harness.uart import Console, Record, encode
from harness.uart.records import BLOCK, encode_tensor, fill_blocks, pattern

_ANSWER = ConsoleMatch(pattern("ack", "nak", "failed", "end"), lines=True)
_READY = ConsoleMatch(pattern("ready", "failed", "end"), lines=True)
#: Tries for one record. A board's receiver may lose bytes; a simulator's never does.
_TRIES = 3
#: Seconds on the target's clock to wait for one answer.
_PATIENCE = 2.0
#: The same for the answer to a push, which comes at once if at all.
_PATIENCE_AFTER_PUSH = 0.05
#: The device receives in blocks. If bytes got lost, the record's end waits in an unfinished block,
#: and this byte helps to fill it. It is sent one at a time: too many would go into the next block,
#: before the next record.
_PUSH = b"\n"
#: Seconds on the target's clock after which a run looks at what came in any case.
_SLICE = 1.0
#: Bytes without a line end that are joined. A line that is cut for its length gets a time that is
#: at most so many bytes late.
_JOINED = 256


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
        """Run until ``done()``, which is called whenever ``words`` came and once a second.

        Gives CONDITION then, and otherwise why the run stopped. The output up to there has been
        read in that case too: call ``done()`` once more.
        """
        while not done():
            stop = self.run(words, deadline.part(min(_SLICE, deadline.remaining)))
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


def hand_over(
    sequence: int, number: int, inputs: Sequence[bytes]
) -> Iterator[tuple[int, bytes, str]]:
    """Number, line and name of each record that makes the image run inference ``number``."""
    for index, data in enumerate(inputs):
        for record, line in encode_tensor(sequence, "input", index, data):
            yield record, line, f"input {index} of inference {number}"
            sequence = record + 1
    yield sequence, encode(sequence, "run", {"inference": number}), "run"


class Feeder:
    """Speaks the host's side of the record protocol over one session.

    ``sequence`` is the number of the next record, above 0 for a session that was fed before.
    """

    def __init__(self, tap: Tap, deadline: Deadline, sequence: int = 0) -> None:
        self._tap = tap
        self._records = tap.console.records
        self._deadline = deadline
        self._sequence = sequence
        self._asked = max(0, len(tap.console.of_kind("ready")) - 1)
        #: How often each record was sent, by its number.
        self.sent: list[int] = []

    def wait_ready(self) -> None:
        """Run until the image asks for input. Raises :class:`FirmwareFailed` if it never does."""
        while len(self._tap.console.of_kind("ready")) <= self._asked:
            self._raise_if_ended("asking for input")
            stop = self._tap.run(_READY, self._deadline)
            if stop is not Stop.CONDITION:
                self._raise_if_ended("asking for input")
                if out_of_time(self._deadline):
                    raise FirmwareFailed("before it asked for input")
                raise FirmwareFailed(f"the image did not ask for input: {HOW_IT_ENDED[stop]}")
        self._asked += 1

    def infer(self, number: int, inputs: Sequence[bytes]) -> None:
        """Send the input tensors of inference ``number`` and run until the image asks for more."""
        for sequence, line, what in hand_over(self._sequence, number, inputs):
            self._send(sequence, line, what)
        self.wait_ready()

    def done(self) -> None:
        """Tell the image that nothing more comes."""
        self._send(self._sequence, encode(self._sequence, "done", {}), "done")

    def _send(self, sequence: int, line: bytes, what: str) -> None:
        reason = "no answer"
        self.sent.append(0)
        for _ in range(_TRIES):
            seen = len(self._records)
            self.sent[-1] += 1
            self._tap.session.write(fill_blocks(line))
            answer = self._answer(sequence, seen, _PATIENCE)
            for _ in range(BLOCK - 1):
                if answer is None:
                    self._tap.session.write(_PUSH)
                    answer = self._answer(sequence, seen, _PATIENCE_AFTER_PUSH)
            if answer is not None and answer.kind == "ack":
                self._sequence = sequence + 1
                return
            if answer is not None:
                reason = f"nak: {answer.text('reason')}"
            if out_of_time(self._deadline):
                raise FirmwareFailed(f"while it was sent {what}")
        self._raise_if_ended(f"taking {what}")
        raise FirmwareFailed(f"the image did not take {what} in {_TRIES} tries ({reason})")

    def _answer(self, sequence: int, seen: int, seconds: float) -> Record | None:
        """The ack of ``sequence`` or any nak that comes in time; None if neither does."""
        patience = self._deadline.part(min(seconds, self._deadline.remaining))
        stop = Stop.CONDITION
        while True:
            for record in self._records[seen:]:
                if record.kind == "nak" or (
                    record.kind == "ack" and record.integer("of") == sequence
                ):
                    return record
            if stop is not Stop.CONDITION:
                return None
            seen = len(self._records)
            stop = self._tap.run(_ANSWER, patience)

    def _raise_if_ended(self, what: str) -> None:
        """Raise FirmwareFailed if the image failed or ended instead of doing ``what``."""
        console = self._tap.console
        for record in console.of_kind("failed"):
            raise FirmwareFailed(f"the image failed at {record.text('stage')!r} instead of {what}")
        if console.ended:
            raise FirmwareFailed(f"the image ended instead of {what}")
