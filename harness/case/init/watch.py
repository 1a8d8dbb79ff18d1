"""An image is run until it stops printing, or has printed enough to see what repeats."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from harness.base import files
from harness.base.findings import NOTES
from harness.elf import Image
from harness.targets import Stop, open_target
from harness.targets.registry import DEFAULT
from harness.uart import Console
from harness.uart.lines import Line, LineSplitter

#: Seconds on the target's clock: one step, all of a run, the shortest silence that is an end.
_STEP, _LONGEST, _SILENCE = 0.5, 60.0, 2.0
#: A silence is an end if it is so many times as long as the longest pause before it.
_PAUSES = 3
#: Seconds on the wall clock, and lines, after which an image has printed enough.
_GUARD, _ENOUGH_LINES = 15.0, 1500
#: Lines that are enough after so many seconds on the target's clock.
_ENOUGH = ((20.0, 100), (5.0, 400))
#: Seconds on the target's clock from which on an image that repeats itself has printed enough.
_LEAST = 3.0
#: Rounds of the same lines that are enough, and how many of the last lines may be theirs.
_ROUNDS, _MOST_REPEATED = 6, 600
#: Timing of the second run: what differs from the first one depends on time.
OTHER_TIMING = "branches"


@dataclass(frozen=True)
class Watched:
    """What an image printed, and how its run ended.

    ``over``: it prints no more. ``failure`` is a fault or a finding that shows a failure; "" for
    none.
    """

    lines: Sequence[Line]
    data: bytes
    stop: Stop
    over: bool
    failure: str

    @property
    def failed(self) -> bool:
        """Whether the image failed, by itself or by what it printed."""
        return bool(self.failure) or self.stop in (Stop.LOCKUP, Stop.RESET_LOOP)


def watch(elf: Path, timing: str = "instructions", image: Image | None = None) -> Watched:
    """Run ``elf``, or ``image``, on the simulator until it has printed all, or enough."""
    lines: list[Line] = []
    data, splitter = b"", LineSplitter()
    with open_target(DEFAULT, image or Image.from_elf(elf), timing=timing) as session:
        whole = session.deadline(_LONGEST, guard=_GUARD)
        stop, over, seen = Stop.DEADLINE, False, 0
        while stop is Stop.DEADLINE and not over and not whole.expired:
            stop = session.run(None, session.deadline(_STEP, guard=max(whole.guard_remaining, 0.1)))
            for chunk in session.console[seen:]:
                data += chunk.data
                lines += splitter.feed(chunk.data, chunk.time)
            seen = len(session.console)
            now = session.counters.seconds
            over = _is_over(lines, now)
            if _is_enough(len(lines), now) or (now >= _LEAST and _repeats(lines, now)):
                break
        lines += splitter.flush(session.counters.seconds)
        faults = [str(fault) for fault in session.faults]
    over = over or stop in (Stop.IDLE, Stop.SYSTEM_OFF)
    return Watched(lines, data, stop, over, _failure(data, faults))


def _repeats(lines: Sequence[Line], now: float) -> bool:
    """Whether the same lines, with their numbers, have come again and again for half the time."""
    last = lines[-_MOST_REPEATED:]
    texts = [line.text for line in last]
    return any(
        texts[-_ROUNDS * length :] == texts[-length:] * _ROUNDS
        and last[-_ROUNDS * length].time <= now / 2
        for length in range(1, len(texts) // _ROUNDS + 1)
    )


def captured(console: Path) -> Watched:
    """What a console capture holds; whether the image went on is unknown."""
    data, splitter = files.read(console), LineSplitter()
    lines = [*splitter.feed(data), *splitter.flush()]
    return Watched(lines, data, Stop.DEADLINE, over=True, failure=_failure(data, ()))


def _is_over(lines: Sequence[Line], now: float) -> bool:
    """Whether the silence since the last line is much longer than any before."""
    if not lines:
        return False
    pauses = [b.time - a.time for a, b in pairwise(lines)]
    return now - lines[-1].time > max(_SILENCE, _PAUSES * max([lines[0].time, *pauses]))


def _is_enough(lines: int, now: float) -> bool:
    return lines >= _ENOUGH_LINES or any(now >= least and lines >= n for least, n in _ENOUGH)


def _failure(data: bytes, faults: Sequence[str]) -> str:
    """The first fault or finding that shows a failure; "" for none."""
    console = Console()
    console.feed(data)
    console.finish()
    found = (one.message for one in console.findings if one.kind not in NOTES)
    return next(iter((*faults, *found)), "")
