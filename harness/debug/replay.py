"""A run of the simulator that can be had again: the same image, options, and answers of the host.

Runs are deterministic, so a place in one is a number of executed instructions, and to stop before
it costs one more run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.base.clock import Deadline
from harness.base.errors import CheckFailed, UsageError
from harness.base.text import short
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.simulator import End, Machine, snapshot
from harness.simulator.event_queue import NEVER
from harness.uart.records import pattern

_ASKS = pattern("ready", "ack")
_READY = b" ready "
_LONGEST_LINE = 400
_INVOKE = "tflite::MicroInterpreter::Invoke"
_PLACE = re.compile(r"(?P<where>.+?)(?:-(?P<count>\d{1,15}))?")
_INFERENCE = re.compile(r"inference[ =]?(?P<number>\d{1,9})")
#: How a run ends that hangs.
_HANGS = (End.IDLE, End.LOCKUP, End.RESET_LOOP, End.DEADLINE, End.GUARD)


@dataclass(frozen=True)
class Place:
    """Where to stop: ``where`` is fault, hang, or a function's address; ``count`` is instructions
    before it; ``times`` is which of the calls."""

    text: str
    where: str | int
    count: int = 0
    times: int = 1

    @classmethod
    def parse(cls, text: str, image: Image) -> Place:
        """From ``fault``, ``hang``, ``main``, ``inference 2``, a function or an address.

        ``-COUNT`` behind it: so many instructions earlier. Raises :class:`UsageError`.
        """
        if (symbol := _function(image, text)) is not None:  # a name may end in a number, too
            return cls(text, symbol)
        match = _PLACE.fullmatch(text)
        if match is None:
            raise UsageError("--at names no place", hint=_PLACES)
        where, count = match["where"].strip(), int(match["count"] or 0)
        if where in ("fault", "hang"):
            return cls(text, where, count)
        if number := _INFERENCE.fullmatch(where):
            return cls(text, _invoke(image), count, max(1, int(number["number"])))
        if re.fullmatch("0x[0-9a-fA-F]{1,8}", where):
            return cls(text, int(where, 16) & ~1, count)
        address = _function(image, where)
        if address is None:
            raise UsageError(f"{image.path} has no function {short(where)}", hint=_PLACES)
        return cls(text, address, count)


_PLACES = "fault, hang, main, inference N, a function or 0xADDRESS; with -COUNT instructions before"


def _function(image: Image, name: str) -> int | None:
    functions = [one for one in image.symbols if one.kind == "func"]
    exact = [one for one in functions if one.name == name]
    found = {
        s.address & ~1 for s in exact or functions if s.name == name or qualified(s.name) == name
    }
    return found.pop() if len(found) == 1 else None


def _invoke(image: Image) -> int:
    address = _function(image, _INVOKE)
    if address is None:
        raise UsageError(f"{image.path} has no {_INVOKE}", hint="name a function instead")
    return address


class Rerun:
    """One run: a machine, and the records that the host has not sent yet.

    ``sends`` holds the records of each inference; the first goes out when the image is ready, each
    further one when it has acknowledged the one before.
    """

    def __init__(self, machine: Machine, sends: Sequence[Sequence[bytes]] = ()) -> None:
        self.machine = machine
        self._sends = [list(one) for one in sends]
        self._pending: list[bytes] = []

    @property
    def waits_for(self) -> bytes | None:
        """The pattern at which the host has to answer; None if it never will."""
        return _ASKS if self._sends or self._pending else None

    def answer(self) -> None:
        """The image has asked: send the next record."""
        if _READY in self._tail().splitlines()[-1]:
            self._pending = self._sends.pop(0) if self._sends else []
        if self._pending:
            self.machine.feed(self._pending.pop(0))

    def run(
        self, until_tick: int, until_executed: int = NEVER, guard: Deadline | None = None
    ) -> End:
        """Run on, and answer what the image asks."""
        machine = self.machine
        while True:
            asks = self.waits_for
            end = machine.run(
                until_tick=until_tick, until_executed=until_executed, pattern=asks, guard=guard,
                stand=until_executed == NEVER,
            )  # fmt: skip
            if end is not End.CONDITION or machine.core.executed >= until_executed:
                return end
            if asks is None or not self._asked(asks):
                return end
            self.answer()

    def _asked(self, asks: bytes) -> bool:
        return re.search(asks + rb"\Z", self._tail()) is not None

    def _tail(self) -> bytes:
        console = self.machine.console
        return console.since(max(0, console.size - _LONGEST_LINE))


def stop_at(
    make: Callable[[], Rerun], place: Place, seconds: float, guard: float, *, lead: int = 0
) -> Rerun:
    """A run that stands ``lead`` instructions before ``place``.

    ``seconds`` limit the virtual time, ``guard`` the wall clock. Raises :class:`CheckFailed` if the
    image does not get there.
    """
    replay = make()
    try:
        executed = _find(replay, place, seconds, guard)
    except BaseException:
        replay.machine.close()
        raise
    target = max(0, executed - place.count - lead)
    if place.where != "fault" and replay.machine.core.executed == target:
        return replay
    replay.machine.close()
    replay = make()
    limit = Deadline(seconds, now=lambda: replay.machine.seconds, guard=guard)
    replay.run(NEVER, target, limit)
    return replay


def lead_of(place: Place) -> int:
    """How many instructions before ``place`` gdb begins, so that it can run up to it.

    It runs one instruction. Where an image hangs that must not be the last one, after which a core
    that sleeps never gets to the next.
    """
    return 2 if place.where == "hang" else 1


def next_address(machine: Machine) -> int:
    """Where the core will stand after one more instruction."""
    before = snapshot.take(machine)
    machine.run(until_executed=machine.core.executed + 1)
    address = machine.pc
    snapshot.restore(machine, before)
    return address


def _find(replay: Rerun, place: Place, seconds: float, guard: float) -> int:
    """Run to ``place``; how many instructions were executed there."""
    machine = replay.machine
    limit = Deadline(seconds, now=lambda: machine.seconds, guard=guard)
    last = round(seconds * machine.memory_map.cpu_hz)
    if place.where == "hang":
        end = replay.run(last, guard=limit)
        if end not in _HANGS:
            raise CheckFailed(f"the image does not hang: it ended with {end}")
        return machine.core.executed
    left = [place.times]

    def reached(_: Machine) -> bool:
        left[0] -= 1
        return left[0] <= 0

    if isinstance(place.where, int):
        machine.hook(place.where, reached)
        replay.run(last, guard=limit)
        machine.unhook(place.where, reached)
        if left[0] > 0:
            raise CheckFailed(
                f"the image does not get to {place.text} within {seconds:g} s of its time",
                hint="--at hang shows where it is instead; --timeout gives it more time",
            )
        return machine.core.executed
    replay.run(last, guard=limit)
    if not machine.faults:
        raise CheckFailed(
            f"no fault within {seconds:g} s of the image's time",
            hint="--at hang shows where it is then; --timeout gives it more time",
        )
    return machine.faults[0].instructions
