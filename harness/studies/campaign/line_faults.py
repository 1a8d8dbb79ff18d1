"""Faults on the line to the image: noise and lost bytes while the host sends inputs.

The host's side is that of every run (:mod:`harness.case.feed`): it waits for answers and repeats
lost records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.base.clock import Deadline
from harness.base.errors import FirmwareFailed
from harness.case.feed import Feeder
from harness.case.tap import Tap
from harness.simulator import Machine
from harness.studies.campaign.faults import LOST, InjectedFault
from harness.targets.base import Stop, Until
from harness.targets.simulator import SimulatorSession
from harness.uart import Console

#: Wall-clock seconds for an exchange, which is normally limited by its virtual time.
_GUARD = 600.0


class FaultyLine(SimulatorSession):
    """A session with a fault (None: no fault) on its line.

    ``may_go_on`` is called whenever the machine stops; if it returns False,
    :class:`ExchangeAborted` is raised.
    """

    def __init__(
        self,
        machine: Machine,
        fault: InjectedFault | None,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        super().__init__(machine)
        self._fault, self._may_go_on, self._sent = fault, may_go_on, 0

    def write(self, data: bytes) -> None:
        """Send ``data``, damaged by the fault."""
        start = self._sent
        self._sent += len(data)
        super().write(damaged(data, start, self._fault) if self._fault else data)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run as every session does; raise :class:`ExchangeAborted` if the image gave up."""
        stop = super().run(until, deadline)
        if not self._may_go_on():
            raise ExchangeAborted("the image gave up")
        return stop


class ExchangeAborted(FirmwareFailed):
    """The image gave up during the exchange."""


def damaged(data: bytes, start: int, fault: InjectedFault) -> bytes:
    """Apply ``fault`` to ``data``, whose first byte is byte ``start`` on the line."""
    index = fault.address - start
    if fault.model == LOST:
        return data[: max(0, index)] + data[max(0, index + fault.mask) :]
    mask = fault.mask << 8 * index if index >= 0 else fault.mask >> -8 * index
    flipped = (int.from_bytes(data, "little") ^ mask) & ((1 << 8 * len(data)) - 1)
    return flipped.to_bytes(len(data), "little")


@dataclass(frozen=True)
class Exchange:
    """The course of an exchange, on the host's side."""

    complaint: str  # why it failed; "" if it did not
    timed_out: bool
    repeated: int  # records that were sent more than once


def exchange(
    session: SimulatorSession, number: int, inputs: Sequence[bytes], sequence: int, seconds: float
) -> Exchange:
    """Send the inputs of inference ``number`` and wait until the image requests more."""
    deadline = session.deadline(seconds, guard=_GUARD)
    feeder = Feeder(Tap(session, Console(())), deadline, sequence)
    complaint = ""
    try:
        feeder.wait_ready()
        feeder.infer(number, inputs)
    except FirmwareFailed as failed:
        complaint = failed.message
    return Exchange(complaint, deadline.expired, sum(times > 1 for times in feeder.sent))
