"""The counting core: runs Unicorn and knows, at every moment, how many instructions ran.

Two implementations of one contract: ``_native.Core`` in C (made by the ordinary ``pip install``)
and :class:`~harness.simulator.python_core.PythonCore`, slower and with the same counts.

How a run stops at an exact instruction: Unicorn calls back before each translated block. A block
that would run past ``stop_at``, or holds an instruction that the machine carries out itself (WFI,
TT, a breakpoint), is not entered; its first part is run alone by asking Unicorn to stop "until"
the address in its middle, which cuts the translated block there. A refused store, which Unicorn
notices only at the end of the block, is undone by going back to the state before it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

NO_PRIORITY = 256

#: (is a write, address, size, value) -> the value read, anything for an accepted write, None to
#: refuse the access.
AccessHandler = Callable[[int, int, int, int], int | None]


class Reason(IntEnum):
    """Why run() returned."""

    NONE = 0
    BUDGET = 1  # `stop_at` instructions are executed
    EXCEPTION = 2  # Unicorn raised exception number `exception`
    SPECIAL = 3  # stands before an instruction that the machine carries out
    UNMASKED = 4  # a pending exception can be taken now
    MEMORY = 5  # an access was refused: `fault_type`, `fault_address`
    DEVICE = 6  # stands after the instruction whose access asked to stop
    ERROR = 7  # Unicorn error `error` that none of the above explains


@dataclass(frozen=True)
class CodeRegion:
    """Memory that can hold code. ``stable``: changes only where :meth:`Core.invalidate` says so."""

    base: int
    size: int
    host: int
    view: memoryview = field(repr=False, compare=False)
    stable: bool


class Core(Protocol):
    """What both implementations offer; see the module's docstring."""

    executed: int
    stop_at: int
    best_pending: int
    active_priority: int
    group_mask: int
    stop_after: bool
    fp_disabled: bool
    extras: int

    @property
    def exception(self) -> int: ...
    @property
    def error(self) -> int: ...
    @property
    def fault_type(self) -> int: ...
    @property
    def fault_size(self) -> int: ...
    @property
    def fault_address(self) -> int: ...
    def run(self) -> int: ...
    def step(self) -> int: ...
    def call(self, address: int) -> int: ...
    def retire(self, address: int) -> None: ...
    def read(self, register: int) -> int: ...
    def write(self, register: int, value: int) -> None: ...
    def read_many(self, registers: Sequence[int]) -> tuple[int, ...]: ...
    def write_many(self, registers: tuple[int, ...], values: tuple[int, ...]) -> None: ...
    def deliverable(self) -> bool: ...
    def invalidate(self) -> None: ...
    def forget(self, begin: int, end: int) -> None: ...
    def set_breakpoints(self, addresses: Sequence[int]) -> None: ...
    def ignore_breakpoint(self, address: int) -> None: ...
    def recent_blocks(self) -> list[int]: ...
    def profile(self) -> dict[int, int]: ...
    def coverage(self, region: int) -> bytes: ...
    def clear_profile(self) -> None: ...
