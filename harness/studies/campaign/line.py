"""Faults on the line to the image: noise and lost bytes while the host sends inputs.

The host's side is the harness's own (:mod:`harness.case.feed`), which waits for answers and sends
again what got lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.case.feed import Feeder, Tap
from harness.deadline import Deadline
from harness.errors import FirmwareFailed
from harness.simulator import Machine
from harness.studies.campaign.faults import LOST, Fault
from harness.targets.base import Stop, Until
from harness.targets.simulator import SimulatorSession
from harness.uart import Console

#: Wall seconds behind a limit in virtual time, which is what ends an exchange.
_GUARD = 600.0


class FaultyLine(SimulatorSession):
    """A session on whose line one fault happens; ``None``: none does.

    ``met`` is asked whenever the machine stands still: False ends the exchange by
    :class:`BrokenOff`.
    """

    def __init__(
        self, machine: Machine, fault: Fault | None, met: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__(machine)
        self._fault, self._met, self._sent = fault, met, 0

    def write(self, data: bytes) -> None:
        """Send ``data``, or what the fault leaves of it."""
        start = self._sent
        self._sent += len(data)
        super().write(damaged(data, start, self._fault) if self._fault else data)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """As ever; raises :class:`BrokenOff`."""
        stop = super().run(until, deadline)
        if not self._met():
            raise BrokenOff("the image came to where it gives up")
        return stop


class BrokenOff(FirmwareFailed):
    """An exchange that cannot go on."""


def damaged(data: bytes, start: int, fault: Fault) -> bytes:
    """``data``, whose first byte is number ``start`` on the line, as it arrives."""
    at = fault.address - start
    if fault.model == LOST:
        return data[: max(0, at)] + data[max(0, at + fault.mask) :]
    mask = fault.mask << 8 * at if at >= 0 else fault.mask >> -8 * at
    flipped = (int.from_bytes(data, "little") ^ mask) & ((1 << 8 * len(data)) - 1)
    return flipped.to_bytes(len(data), "little")


@dataclass(frozen=True)
class Exchange:
    """How the host fared: ``again`` counts records that were sent more than once."""

    complaint: str
    late: bool  # time was up
    again: int


def exchange(
    session: SimulatorSession, number: int, inputs: Sequence[bytes], sequence: int, seconds: float
) -> Exchange:
    """Hand the inputs of inference ``number`` over and wait until the image asks for more."""
    deadline = session.deadline(seconds, guard=_GUARD)
    feeder = Feeder(Tap(session, Console(())), deadline, sequence)
    complaint = ""
    try:
        feeder.wait_ready()
        feeder.infer(number, inputs)
    except FirmwareFailed as failed:
        complaint = failed.message
    return Exchange(complaint, deadline.expired, sum(times > 1 for times in feeder.sent))
