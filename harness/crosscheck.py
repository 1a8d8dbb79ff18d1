"""One image on two targets: is what it printed, computed and left in RAM the same?

The measured ticks of ``inference`` and ``op`` records are reported beside each other and not held
equal; everything else that the console printed is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import UsageError
from harness.firmware.elf import Firmware
from harness.targets.base import Session, Stop, Until

_TICKS = re.compile(rb"(~HIL \d+ (?:inference|op) [^*\r\n]*?ticks=)(\d+)([^*\r\n]*?) \*[0-9a-f]{8}")
_OUTPUT = re.compile(rb"~HIL \d+ output ([^*\r\n]*?) \*[0-9a-f]{8}")
_INFERENCE = re.compile(rb"~HIL \d+ inference [^*\r\n]*?ticks=(\d+)")


@dataclass(frozen=True)
class Seen:
    """What one target showed: its console, its output records, ticks and symbols' bytes."""

    target: str
    stop: Stop
    console: bytes
    outputs: tuple[bytes, ...]
    ticks: tuple[int, ...]
    symbols: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class CrossCheck:
    """Two runs beside each other; ``difference`` names the first one and is empty where equal."""

    first: Seen
    second: Seen
    difference: str

    @property
    def equal(self) -> bool:
        """True where nothing differs but measured ticks."""
        return not self.difference

    def __str__(self) -> str:
        names = f"{self.first.target} and {self.second.target}"
        lines = [f"{names}: {self.difference or 'equal'}"]
        pairs = list(zip(self.first.ticks, self.second.ticks, strict=False))
        same = sum(one == other for one, other in pairs)
        if pairs:
            lines.append(f"  ticks per inference: {same} of {len(pairs)} equal, first {pairs[0]}")
        return "\n".join(lines)


def run(
    session: Session,
    firmware: Firmware,
    until: Until | None,
    seconds: float,
    *,
    symbols: Sequence[str] = (),
    guard: float = 60.0,
) -> Seen:
    """Run ``session`` to ``until`` or ``seconds`` of its own time and collect what is compared."""
    stop = session.run(until, session.deadline(seconds, guard=guard))
    console = b"".join(chunk.data for chunk in session.console)
    return Seen(
        session.target,
        stop,
        console,
        tuple(_OUTPUT.findall(console)),
        tuple(int(ticks) for ticks in _INFERENCE.findall(console)),
        tuple((name, _bytes_of(session, firmware, name)) for name in symbols),
    )


def _bytes_of(session: Session, firmware: Firmware, name: str) -> bytes:
    symbol = firmware.symbol(name)
    if symbol is None or not symbol.size:
        raise UsageError(f"{firmware.path} has no object {name!r} to compare")
    return session.memory.read(symbol.address, symbol.size)


def compare(first: Seen, second: Seen) -> CrossCheck:
    """Hold two runs against each other. Two runs that printed nothing are no evidence: unequal."""
    return CrossCheck(first, second, _difference(first, second))


def _difference(first: Seen, second: Seen) -> str:
    if not first.console and not second.console:
        return "neither printed anything, so there is nothing to compare"
    if first.stop is not second.stop:
        return f"stopped differently: {first.stop.value} against {second.stop.value}"
    if len(first.outputs) != len(second.outputs):
        return f"{len(first.outputs)} output records against {len(second.outputs)}"
    for index, (one, other) in enumerate(zip(first.outputs, second.outputs, strict=True)):
        if one != other:
            return f"output record {index} differs: {_text(one)} against {_text(other)}"
    return _console_difference(first, second) or _symbol_difference(first, second)


def _console_difference(first: Seen, second: Seen) -> str:
    one, other = (_TICKS.sub(rb"\1-\3", seen.console) for seen in (first, second))
    if one == other:
        return ""
    lines, others = one.splitlines(), other.splitlines()
    for number, (left, right) in enumerate(zip(lines, others, strict=False), 1):
        if left != right:
            return f"console line {number} differs: {_text(left)} against {_text(right)}"
    return f"{len(lines)} console lines ({len(one)} B) against {len(others)} ({len(other)} B)"


def _symbol_difference(first: Seen, second: Seen) -> str:
    for (name, one), (_, other) in zip(first.symbols, second.symbols, strict=True):
        for offset, (left, right) in enumerate(zip(one, other, strict=True)):
            if left != right:
                return f"{name}+{offset:#x} differs: 0x{left:02x} against 0x{right:02x}"
    return ""


def _text(data: bytes) -> str:
    return ascii(data.decode("latin-1"))
