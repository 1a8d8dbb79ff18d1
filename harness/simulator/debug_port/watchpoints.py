"""Data watchpoints of the DWT (Armv8-M ARM, D1.2, "DWT_COMPn", "DWT_FUNCTIONn").

Unicorn tells of an access to watched memory when its block of code has ended. So a run with
watchpoints starts from a snapshot: the block with the access is run once more, one instruction at a
time, and ends behind the access. Runs are deterministic, so nothing else differs.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.simulator import snapshot

if TYPE_CHECKING:
    from harness.simulator.machine import End, Machine

COMPARATORS = 4
_MATCHES = {0b0100: (True, True), 0b0101: (False, True), 0b0110: (True, False)}
_ACTION = 0b01 << 4  # a debug event
_MATCHED = 1 << 24
_ID = 0b01011 << 27  # instruction and data address, with limits and values
#: No block of code has more instructions.
_LONGEST_BLOCK = 2048


@dataclass
class Comparator:
    """One comparator: address, FUNCTION, and whether it has matched since that was read."""

    address: int = 0
    function: int = 0
    matched: bool = False

    @property
    def enabled(self) -> bool:
        """True if an access of data halts the core."""
        return self.function & 0xF in _MATCHES and bool(self.function & _ACTION)

    @property
    def size(self) -> int:
        """Bytes that are watched."""
        return 1 << (self.function >> 10 & 3)

    @property
    def watches(self) -> tuple[bool, bool]:
        """Loads, stores."""
        return _MATCHES[self.function & 0xF]


class Watchpoints:
    """The comparators, and runs that end behind an access to what they watch."""

    def __init__(self) -> None:
        self.comparators = [Comparator() for _ in range(COMPARATORS)]

    @property
    def active(self) -> list[Comparator]:
        """The comparators that watch something."""
        return [one for one in self.comparators if one.enabled]

    def read(self, offset: int) -> int:
        """DWT_COMPn or DWT_FUNCTIONn, by offset from DWT_COMP0; reading clears MATCHED."""
        comparator = self.comparators[offset >> 4]
        if offset & 0xF == 0:
            return comparator.address
        if offset & 0xF != 8:
            return 0
        value = _ID | comparator.function | (_MATCHED if comparator.matched else 0)
        comparator.matched = False
        return value

    def write(self, offset: int, value: int) -> None:
        """Set DWT_COMPn or DWT_FUNCTIONn."""
        comparator = self.comparators[offset >> 4]
        if offset & 0xF == 0:
            comparator.address = value
        elif offset & 0xF == 8:
            comparator.function = value & 0xC3F
            comparator.matched = False

    def run(self, machine: Machine, run: Callable[[int | None], End]) -> tuple[End, bool]:
        """``run(until_executed)`` once, and whether it ended behind a watched access."""
        before = snapshot.take(machine)
        evidence = list(machine.faults), {name: len(sent) for name, sent in machine.sent.items()}
        with _WatchHooks(machine, self.active) as hooks:
            end = run(None)
            if not hooks.hits:
                return end, False
            last = machine.core.executed
            snapshot.restore(machine, before)
            machine.faults[:] = evidence[0]
            for name, size in evidence[1].items():
                del machine.sent[name][size:]
            hooks.hits.clear()
            first = last - _LONGEST_BLOCK
            if first > machine.core.executed:
                end = run(first)
            while not hooks.hits and machine.core.executed < last:
                end = run(machine.core.executed + 1)
            return end, bool(hooks.hits)


class _WatchHooks:
    """Unicorn's hooks on watched memory, as long as they are needed."""

    def __init__(self, machine: Machine, watched: list[Comparator]) -> None:
        self._machine, self._watched = machine, watched
        self._resources = ExitStack()
        self.hits: list[Comparator] = []

    def __enter__(self) -> _WatchHooks:
        for comparator in self._watched:
            self._resources.callback(
                self._machine.engine.watch(comparator.address, comparator.size,
                                           self._called(comparator), *comparator.watches)
            )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def _called(self, comparator: Comparator) -> Callable[[], None]:
        def called() -> None:
            comparator.matched = True
            self.hits.append(comparator)
            self._machine.halt()

        return called
