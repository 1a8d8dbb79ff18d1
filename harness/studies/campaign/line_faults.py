"""Faults on the line to the image: noise and lost bytes while the host sends inputs.

The host's side is that of every run (:mod:`harness.case.feed`): it waits for answers and sends lost
records again.
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

#: Wall seconds of the guard. An exchange normally ends by its limit in virtual time.
_GUARD = 600.0


class FaultyLine(SimulatorSession):
    """A session with a fault on its line (None: without one).

    ``may_go_on`` is called whenever the machine stops; False raises :class:`ExchangeAborted`.
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
        """Send ``data``, or the rest of it after the fault."""
        start = self._sent
        self._sent += len(data)
        super().write(damaged(data, start, self._fault) if self._fault else data)

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run as every session; may raise :class:`ExchangeAborted`."""
        stop = super().run(until, deadline)
        if not self._may_go_on():
            raise ExchangeAborted("the image gave up")
        return stop


class ExchangeAborted(FirmwareFailed):
    """The exchange cannot go on."""


def damaged(data: bytes, start: int, fault: InjectedFault) -> bytes:
    """``data`` as it arrives; its first byte is byte ``start`` on the line."""
    index = fault.address - start
    if fault.model == LOST:
        return data[: max(0, index)] + data[max(0, index + fault.mask) :]
    mask = fault.mask << 8 * index if index >= 0 else fault.mask >> -8 * index
    flipped = (int.from_bytes(data, "little") ^ mask) & ((1 << 8 * len(data)) - 1)
    return flipped.to_bytes(len(data), "little")


@dataclass(frozen=True)
class Exchange:
    """How the exchange went for the host; ``again`` counts records that it sent more than once."""

    complaint: str  # why it broke off; "" if it did not
    late: bool  # time was up
    again: int


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
