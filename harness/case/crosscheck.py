"""Comparison of one image on two targets: console, outputs, end, verdict, figures, objects in RAM.

Ticks of ``inference`` and ``op`` records and durations printed by test suites may differ on the
console; everything else there must be equal. The clock stops an image that never ends at another
byte on each target: then the longer console must begin with the shorter one. Two targets that
count instructions and virtual time must agree on them within the bounds below.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast

from harness.base.errors import Unsupported, UsageError
from harness.elf import Image, Symbol
from harness.elf.demangle import demangle
from harness.elf.regions import RAM
from harness.targets.base import Stop, Until
from harness.targets.session import Session
from harness.uart import Console, Record
from harness.uart.record_reader import RecordsOfKind
from harness.uart.records import without_ticks

#: The duration of a test, in both of ztest's formats.
_DURATION = re.compile(rb"( in |duration = )\d{1,9}\.\d{1,6}(?= seconds)")
#: The last line of a test suite of Zephyr or tflite-micro.
_SUITE_END = re.compile(rb"PROJECT EXECUTION |TESTS PASSED~~~")
_ARENA = re.compile("arena", re.IGNORECASE)
#: Ends of a run that has printed all that the case asks for: which of them is noticed first depends
#: on when the console is searched.
_WHOLE = {Stop.CONDITION, Stop.IDLE}
#: How far figures of two targets with virtual time may lie apart: an inference and all instructions
#: by so many instructions, or by this share; the last console byte by the time of one byte at
#: 115,200 baud, or by this share of the run. Renode knows the time to eight instructions.
_INSTRUCTIONS, _SHARE, _SECONDS = 16, 0.001, 10 / 115_200


@dataclass(frozen=True)
class TargetRun:
    """The run of one target: its console, output records, figures, and objects in RAM.

    ``seconds`` is the virtual time of the last console byte, and ``instructions`` are all; both are
    None on a target that does not count them.
    """

    target: str
    stop: Stop
    console: bytes
    symbols: tuple[tuple[str, bytes], ...]
    seconds: float | None = None
    instructions: int | None = None
    verdict: str = ""

    @cached_property
    def _read(self) -> Console:
        console = Console()
        console.feed(self.console)
        return console

    @property
    def outputs(self) -> RecordsOfKind:
        """The output records."""
        return self._read.of_kind("output")

    @property
    def ticks(self) -> Sequence[int]:
        """The ticks of each inference."""
        return self._read.records.numbers("inference", "ticks")

    @property
    def ended(self) -> bool:
        """Whether the image has ended by itself."""
        by_record = self._read.ended or bool(self._read.of_kind("failed"))
        return by_record or _SUITE_END.search(self.console) is not None


@dataclass(frozen=True)
class CrossCheck:
    """Two runs and their first difference."""

    first: TargetRun
    second: TargetRun
    difference: str  # "" if they are equal

    @property
    def equal(self) -> bool:
        """Whether the runs are equal, except for ticks and durations."""
        return not self.difference

    @property
    def compared(self) -> str:
        """The compared bytes, records and objects, in one line."""
        sizes = len(self.first.console), len(self.second.console)
        console = f"{min(sizes):,} console bytes"
        if sizes[0] != sizes[1]:
            console += f" of {sizes[0]:,} and {sizes[1]:,}, cut off by the clock"
        objects = [f"{len(data):,} B of {name}" for name, data in self.first.symbols]
        counted = self.first.seconds is not None and self.second.seconds is not None
        figures = ["instructions", "virtual time"] if counted else []
        return ", ".join([console, f"{len(self.first.outputs)} output records", *objects, *figures])

    @property
    def ticks(self) -> str:
        """The ticks of both targets, in one line; "" if the image measured none."""
        pairs = list(zip(self.first.ticks, self.second.ticks, strict=False))
        if not pairs:
            return ""
        furthest = max(pairs, key=lambda pair: abs(pair[0] - pair[1]))
        same = sum(first == second for first, second in pairs)
        furthest_apart = f"furthest apart {furthest[0]:,} and {furthest[1]:,}"
        return f"ticks of {len(pairs)} inferences: {same} equal, {furthest_apart}"

    def __str__(self) -> str:
        names = f"{self.first.target} and {self.second.target}"
        lines = [f"{names} {'are equal' if self.equal else 'differ: ' + self.difference}"]
        lines += [f"  compared: {self.compared}"] if self.equal else []
        lines += [f"  {self.ticks}"] if self.ticks else []
        return "\n".join(lines)

    def to_json(self) -> dict[str, object]:
        """The comparison as JSON types."""
        return {
            "targets": [self.first.target, self.second.target],
            "equal": self.equal,
            "difference": self.difference,
            "console_bytes": [len(self.first.console), len(self.second.console)],
            "outputs": len(self.first.outputs),
            "ticks": [list(self.first.ticks), list(self.second.ticks)],
            "symbols": [name for name, _ in self.first.symbols],
            "instructions": [self.first.instructions, self.second.instructions],
            "seconds": [self.first.seconds, self.second.seconds],
        }


def run(
    session: Session,
    firmware: Image,
    until: Until | None,
    seconds: float,
    *,
    symbols: Sequence[str] | None = None,
    guard: float = 60.0,
) -> TargetRun:
    """Run ``session`` to ``until`` or for ``seconds`` on its clock, and collect the run."""
    stop = session.run(until, session.deadline(seconds, guard=guard))
    return collect(session, firmware, stop, symbols)


def collect(
    session: Session, firmware: Image, stop: Stop, symbols: Sequence[str] | None = None
) -> TargetRun:
    """Collect the observations of a session that has run.

    ``symbols`` are objects in RAM, by default the tensor arenas; a target that cannot read memory
    gives none. Raises :class:`UsageError` for a name that the image does not have.
    """
    chosen = arenas(firmware) if symbols is None else [_named(firmware, name) for name in symbols]
    try:
        objects = tuple((demangle(s.name), session.memory.read(s.address, s.size)) for s in chosen)
    except Unsupported:
        objects = ()
    chunks, counters = session.console, session.counters
    console = b"".join(chunk.data for chunk in chunks)
    run = TargetRun(session.target, stop, console, objects)
    if counters.virtual_seconds is None or counters.instructions is None:
        return run
    last = chunks[-1].time if chunks else 0.0
    return replace(run, seconds=last, instructions=counters.instructions)


def arenas(firmware: Image) -> list[Symbol]:
    """The objects in RAM with the name of a tensor arena."""
    return [s for s in firmware.symbols if s.size and s.address in RAM and _ARENA.search(s.name)]


def _named(firmware: Image, name: str) -> Symbol:
    for symbol in firmware.symbols:
        if symbol.size and name in (symbol.name, demangle(symbol.name)):
            return symbol
    raise UsageError(
        f"{firmware.path.name} has no object {name!r} to compare",
        hint=firmware.symbols_hint()
        or f"tflm-hil footprint {firmware.path} --by symbol lists them",
    )


def compare(first: TargetRun, second: TargetRun) -> CrossCheck:
    """Compare two runs. Two that printed nothing count as different: nothing was compared."""
    return CrossCheck(first, second, _difference(first, second))


def _difference(first: TargetRun, second: TargetRun) -> str:
    if not first.console and not second.console:
        return "neither printed anything, so there is nothing to compare"
    cut_off = not first.ended and not second.ended
    for index, (left, right) in enumerate(zip(first.outputs, second.outputs, strict=False)):
        if left.fields != right.fields:
            return f"output record {index}: {_formatted(left)} against {_formatted(right)}"
    if len(first.outputs) != len(second.outputs) and not cut_off:
        return f"{len(first.outputs)} output records against {len(second.outputs)}"
    console = _console_difference(first, second, cut_off=cut_off)
    if console:
        return console
    if first.stop is not second.stop and not {first.stop, second.stop} <= _WHOLE:
        return f"the runs ended differently: {first.stop.value} against {second.stop.value}"
    if first.verdict != second.verdict:
        return f"the verdicts differ: {first.verdict} against {second.verdict}"
    figures = _figures_difference(first, second)
    if figures or len(first.console) != len(second.console):
        return figures
    return _symbol_difference(first, second)


def _figures_difference(first: TargetRun, second: TargetRun) -> str:
    """The first figure that lies too far apart; "" if one of the targets counts none."""
    if first.seconds is None or second.seconds is None:
        return ""
    for number, (left, right) in enumerate(zip(first.ticks, second.ticks, strict=False)):
        if _apart(left, right):
            return f"inference {number}: {left:,} ticks against {right:,}"
    if len(first.console) != len(second.console):
        return ""  # the clock stopped them at different points
    if abs(first.seconds - second.seconds) > max(_SECONDS, _SHARE * first.seconds):
        return f"the last console byte came at {first.seconds:.6f} s against {second.seconds:.6f}"
    if _apart(first.instructions or 0, second.instructions or 0):
        return f"{first.instructions:,} instructions in all against {second.instructions:,}"
    return ""


def _apart(left: int, right: int) -> bool:
    return abs(left - right) > max(_INSTRUCTIONS, _SHARE * max(left, right))


def _console_difference(first: TargetRun, second: TargetRun, *, cut_off: bool) -> str:
    texts = [_without_times(run.console) for run in (first, second)]
    shorter, longer = sorted(texts, key=len)
    if shorter == longer or (cut_off and shorter and longer.startswith(shorter)):
        return ""
    lines, other_lines = (text.splitlines() for text in texts)
    for number, (left, right) in enumerate(zip(lines, other_lines, strict=False), 1):
        if left != right:
            return f"console line {number}: {_text(left)} against {_text(right)}"
    sizes = [len(text) for text in texts]
    return f"{len(lines)} console lines ({sizes[0]} B) against {len(other_lines)} ({sizes[1]} B)"


def _without_times(console: bytes) -> bytes:
    """Remove the ticks and durations that each target measures itself."""
    return _DURATION.sub(rb"\1-", without_ticks(console))


def _symbol_difference(first: TargetRun, second: TargetRun) -> str:
    for (name, data), (_, other_data) in zip(first.symbols, second.symbols, strict=False):
        for offset, (left, right) in enumerate(zip(data, other_data, strict=True)):
            if left != right:
                return f"{name}+{offset:#x}: 0x{left:02x} against 0x{right:02x}"
    return ""


def _formatted(record: Record) -> str:
    """Format the bytes and the place of an output record for a message."""
    data = cast("bytes", record.fields["hex"]).hex()
    place = f"offset {record.integer('offset')} of output {record.integer('index')}"
    return f"{data} ({place}, inference {record.integer('inference')})"


def _text(data: bytes) -> str:
    return ascii(data.decode("latin-1"))
