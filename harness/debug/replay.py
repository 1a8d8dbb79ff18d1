"""Repeatable runs of the simulator: the same image, options, and records from the host.

Runs are deterministic, so a place in a run is a number of executed instructions. Stopping before it
takes a second run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.base.clock import Deadline
from harness.base.errors import CheckFailed, UsageError
from harness.base.hints import Hint, HintText
from harness.base.text import short
from harness.elf import Image
from harness.elf.demangle import qualified
from harness.simulator import End, Machine, snapshot
from harness.simulator.event_queue import NEVER
from harness.uart.records import pattern

#: Records that the host answers.
_REQUEST = pattern("ready", "ack")
_READY = b" ready "
#: Bytes at the end of the console that contain the last record.
_LONGEST_LINE = 400
_INVOKE = "tflite::MicroInterpreter::Invoke"
_PLACE = re.compile(r"(?P<where>.+?)(?:-(?P<count>\d{1,15}))?")
_INFERENCE = re.compile(r"inference[ =]?(?P<number>\d{1,9})")
#: Ends of a run that hangs.
_HANGS = (End.IDLE, End.LOCKUP, End.RESET_LOOP, End.DEADLINE, End.GUARD)


@dataclass(frozen=True)
class Breakpoint:
    """A place in a run: ``count`` instructions before ``where`` is reached for the ``hit``-th time.

    ``where`` is "fault", "hang", or an address; ``text`` is its form on the command line.
    """

    text: str
    where: str | int
    count: int = 0
    hit: int = 1

    @classmethod
    def parse(cls, text: str, image: Image) -> Breakpoint:
        """The place ``fault``, ``hang``, ``main``, ``inference 2``, a function or an address.

        A suffix ``-COUNT`` is a number of instructions before it. Raises :class:`UsageError`.
        """
        if len(addresses := _functions(image, text)) == 1:  # names may also end in "-1"
            return cls(text, addresses[0])
        match = _PLACE.fullmatch(text)
        if match is None:
            raise UsageError("--at needs a place", hint=_PLACES)
        where, count = match["where"].strip(), int(match["count"] or 0)
        if where in ("fault", "hang"):
            return cls(text, where, count)
        if number := _INFERENCE.fullmatch(where):
            invoke = _function(image, _INVOKE, "name a function instead")
            return cls(text, invoke, count, max(1, int(number["number"])))
        if re.fullmatch("0x[0-9a-fA-F]{1,8}", where):
            return cls(text, int(where, 16) & ~1, count)
        return cls(text, _function(image, where, _PLACES), count)


_PLACES = "fault, hang, main, inference N, a function or 0xADDRESS; with -COUNT instructions before"


def _functions(image: Image, name: str) -> list[int]:
    """The addresses of all functions with this symbol, or else with this qualified name."""
    functions = [one for one in image.symbols if one.kind == "func"]
    exact = [one for one in functions if one.name == name]
    found = exact or [one for one in functions if qualified(one.name) == name]
    return sorted({one.address & ~1 for one in found})


def _function(image: Image, name: str, hint: str) -> int:
    """The address of the only function of this name. Raises :class:`UsageError`."""
    addresses = _functions(image, name)
    if not addresses:
        raise UsageError(
            f"{image.path} has no function {short(name)}", hint=image.symbols_hint() or hint
        )
    if len(addresses) > 1:
        raise UsageError(
            f"{image.path} has {len(addresses)} functions {short(name)}",
            hint="name one by its address: " + ", ".join(f"0x{each:x}" for each in addresses[:8]),
        )
    return addresses[0]


class Rerun:
    """One run: a machine, and the records that the host has yet to send.

    ``sends`` holds the records of each inference. The first record is sent when the image is ready,
    each further one when the image has acknowledged its predecessor.
    """

    def __init__(self, machine: Machine, sends: Sequence[Sequence[bytes]] = ()) -> None:
        self.machine = machine
        self._sends = [list(one) for one in sends]
        self._pending: list[bytes] = []

    @property
    def waits_for(self) -> bytes | None:
        """The pattern of console output that the host answers; None if it has nothing to send."""
        return _REQUEST if self._sends or self._pending else None

    def answer(self) -> None:
        """Sends the next record."""
        if _READY in self._tail().splitlines()[-1]:
            self._pending = self._sends.pop(0) if self._sends else []
        if self._pending:
            self.machine.feed(self._pending.pop(0))

    def run(
        self, until_tick: int, until_executed: int = NEVER, guard: Deadline | None = None
    ) -> End:
        """Runs the machine, and answers the image's requests; returns how the run ended."""
        machine = self.machine
        while True:
            request = self.waits_for
            end = machine.run(
                until_tick=until_tick, until_executed=until_executed, pattern=request, guard=guard,
                stop_when_idle=until_executed == NEVER,
            )  # fmt: skip
            if end is not End.CONDITION or machine.core.executed >= until_executed:
                return end
            if request is None or re.search(request + rb"\Z", self._tail()) is None:
                return end
            self.answer()

    def _tail(self) -> bytes:
        console = self.machine.console
        return console.since(max(0, console.size - _LONGEST_LINE))


def stop_at(
    make: Callable[[], Rerun], place: Breakpoint, seconds: float, guard: float, *, lead: int = 0
) -> Rerun:
    """A run that has stopped ``lead`` instructions before ``place``; ``make`` makes runs.

    ``seconds`` limits the virtual time, ``guard`` the wall time. Raises :class:`CheckFailed` if the
    image does not reach the place.
    """
    run = make()
    try:
        executed = _run_to(run, place, seconds, guard)
    except BaseException:
        run.machine.close()
        raise
    target = max(0, executed - place.count - lead)
    if place.where != "fault" and run.machine.core.executed == target:
        return run
    run.machine.close()
    run = make()
    limit = Deadline(seconds, now=lambda: run.machine.seconds, guard=guard)
    run.run(NEVER, target, limit)
    return run


def lead_of(place: Breakpoint) -> int:
    """The number of instructions before ``place`` at which gdb connects.

    gdb then runs one instruction. For a hang this must not be the last one before the core sleeps,
    because the core would not reach the next.
    """
    return 2 if place.where == "hang" else 1


def next_address(machine: Machine) -> int:
    """The pc after one more instruction; the machine is left unchanged."""
    before = snapshot.take(machine)
    machine.run(until_executed=machine.core.executed + 1)
    address = machine.pc
    snapshot.restore(machine, before)
    return address


def _run_to(run: Rerun, place: Breakpoint, seconds: float, guard: float) -> int:
    """Runs to ``place``; returns the number of instructions executed before it."""
    machine = run.machine
    limit = Deadline(seconds, now=lambda: machine.seconds, guard=guard)
    last = round(seconds * machine.memory_map.cpu_hz)
    if place.where == "hang":
        end = run.run(last, guard=limit)
        if end not in _HANGS:
            raise CheckFailed(f"the image does not hang: it ended with {end}")
        return machine.core.executed
    if place.where == "fault":
        end = run.run(last, guard=limit)
        if not machine.faults:
            raise CheckFailed(f"no fault within {seconds:g} s of the image's time", hint=_try(end))
        return machine.faults[0].instructions
    assert isinstance(place.where, int)
    hits = 0

    def reached(_: Machine) -> bool:
        nonlocal hits
        hits += 1
        return hits >= place.hit

    machine.hook(place.where, reached)
    end = run.run(last, guard=limit)
    machine.unhook(place.where, reached)
    if hits < place.hit:
        raise CheckFailed(
            f"the image does not reach {place.text} within {seconds:g} s of its time",
            hint=_try(end),
        )
    return machine.core.executed


def _try(end: End) -> HintText:
    """The hint of an image that ended so before it came to the place."""
    return (Hint.DEBUG_LONGER if end in (End.DEADLINE, End.GUARD) else Hint.WHERE_IT_HANGS).told()
