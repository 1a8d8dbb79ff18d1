"""The host's side of the record protocol: sends inputs record by record.

Without flow control on the line, the host sends a record when the image has acknowledged the
previous one (docs/records.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed
from harness.case.hang import HOW_IT_ENDED
from harness.case.tap import Tap, out_of_time
from harness.targets.base import ConsoleMatch, Stop
from harness.uart import Record, encode
from harness.uart.records import BLOCK, encode_tensor, fill_blocks, pattern

_ANSWER = ConsoleMatch(pattern("ack", "nak", "failed", "end"), lines=True)
_READY = ConsoleMatch(pattern("ready", "failed", "end"), lines=True)
#: Transmissions of one record: a board's receiver may lose bytes, a simulator's never does.
_TRIES = 3
#: Seconds on the target's clock to wait for an answer to a record.
_PATIENCE = 2.0
#: Seconds on the target's clock to wait for an answer to a padding byte, which is immediate.
_PATIENCE_AFTER_PADDING = 0.05
#: The device receives in blocks. If bytes get lost, the end of a record waits in an incomplete
#: block. Padding bytes fill it, one by one: a surplus one would precede the next record.
_PADDING = b"\n"


def hand_over(
    sequence: int, number: int, inputs: Sequence[bytes]
) -> Iterator[tuple[int, bytes, str]]:
    """Yield number, line and name of each record that makes the image run inference ``number``."""
    for index, data in enumerate(inputs):
        for record, line in encode_tensor(sequence, "input", index, data):
            yield record, line, f"input {index} of inference {number}"
            sequence = record + 1
    yield sequence, encode(sequence, "run", {"inference": number}), "run"


class Feeder:
    """Speaks the host's side of the record protocol over one session."""

    def __init__(self, tap: Tap, deadline: Deadline) -> None:
        self._tap = tap
        self._records = tap.console.records
        self._deadline = deadline
        self._sequence = 0  # of the next record
        self._ready = max(0, len(tap.console.of_kind("ready")) - 1)
        #: Number of transmissions of each record.
        self.sent: list[int] = []

    def wait_ready(self) -> None:
        """Run until the image is ready for input; raise :class:`FirmwareFailed` if it ends."""
        while len(self._tap.console.of_kind("ready")) <= self._ready:
            self._raise_if_ended("getting ready for input")
            stop = self._tap.run(_READY, self._deadline)
            if stop is not Stop.CONDITION:
                self._raise_if_ended("getting ready for input")
                if out_of_time(self._deadline):
                    raise FirmwareFailed("before it was ready for input")
                raise FirmwareFailed(f"the image was not ready for input: {HOW_IT_ENDED[stop]}")
        self._ready += 1

    def infer(self, number: int, inputs: Sequence[bytes]) -> None:
        """Send the input tensors of inference ``number``; run until the image is ready again."""
        for sequence, line, what in hand_over(self._sequence, number, inputs):
            self._send(sequence, line, what)
        self.wait_ready()

    def done(self) -> None:
        """Send the record that ends the inputs."""
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
                    self._tap.session.write(_PADDING)
                    answer = self._answer(sequence, seen, _PATIENCE_AFTER_PADDING)
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
        """The ack of ``sequence`` or a nak, whichever is first; None after ``seconds``."""
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
        """Raise FirmwareFailed if the image has failed or ended instead of doing ``what``."""
        console = self._tap.console
        for record in console.of_kind("failed"):
            raise FirmwareFailed(f"the image failed at {record.text('stage')!r} instead of {what}")
        if console.ended:
            raise FirmwareFailed(f"the image ended instead of {what}")
