"""What a session takes and gives: conditions of a stop, counters, faults, the console."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from harness.base.core_state import CoreState
from harness.base.errors import UsageError
from harness.elf import Image


@dataclass(frozen=True)
class ConsoleMatch:
    """Stop when ``pattern`` (a bytes regex) matches the console output of this run().

    With ``lines`` each match is the end of one line, its line feed included: a target may look for
    it only there.
    """

    pattern: bytes
    lines: bool = False


@dataclass(frozen=True)
class SymbolReached:
    """Stop before the first instruction of ``symbol`` executes."""

    symbol: str

    def address(self, image: Image) -> int:
        """The instruction's address. Raises :class:`UsageError` if ``image`` lacks the symbol."""
        symbol = image.symbol(self.symbol)
        if symbol is None:
            raise UsageError(
                f"{image.path} has no symbol {self.symbol!r}", hint=image.symbols_hint()
            )
        return symbol.address & ~1


@dataclass(frozen=True)
class Executed:
    """Stop after ``instructions`` more instructions."""

    instructions: int


@dataclass(frozen=True)
class Elapsed:
    """Stop after ``seconds`` more on the target's own clock."""

    seconds: float


Until = ConsoleMatch | SymbolReached | Executed | Elapsed


class Stop(StrEnum):
    """Why run() came back."""

    CONDITION = "condition"  # `until` is met
    DEADLINE = "deadline"  # the target's own time is used up
    GUARD = "guard"  # the wall clock ran out behind the deadline
    IDLE = "idle"  # the core sleeps or branches to itself, and no event can ever end that
    LOCKUP = "lockup"  # a fault inside a fault: the core stopped for good
    RESET_LOOP = "reset_loop"  # the firmware reset itself again and again
    SYSTEM_OFF = "system_off"  # the firmware switched the chip off


@dataclass(frozen=True)
class Counters:
    """The figures of a session, and their source.

    ``source`` is one of ``simulator``, ``renode``, ``dwt``, ``uart``. Instructions are never
    compared with cycles. None means that the target does not count it.
    """

    source: str
    instructions: int | None
    cycles: int | None
    virtual_seconds: float | None
    wall_seconds: float
    resets: int = 0

    @property
    def seconds(self) -> float:
        """The time on the target's clock: the wall's for a target without a clock of its own."""
        return self.wall_seconds if self.virtual_seconds is None else self.virtual_seconds


@dataclass(frozen=True)
class Fault:
    """A processor fault as the target decoded it; an address that is not known is 0."""

    kind: str  # "UsageFault", "BusFault", "MemManage", "HardFault", "Lockup"
    reason: str  # the named status bits: "INVSTATE", "PRECISERR, BFARVALID", ...
    pc: int
    lr: int
    address: int | None
    where: str  # "function at file:line" of pc, or of lr for a null call
    report: str  # the whole decoded report, several lines
    world: str = ""  # with TrustZone-M: "secure" or "non-secure"
    image: str = ""  # the image of that world, by its file's name
    access: str = ""  # the access that was refused: "read of secure RAM"
    callers: str = ""  # ", called from g at a.c:1, thread worker"
    overflow: str = ""  # that a stack overflowed, and which
    cause: str = ""  # what it hit, and what to change
    by_value: bool = False  # the cause is told by the value of a bad pointer alone
    executed: int | None = field(default=None, compare=False)  # instructions before it
    time: float | None = field(default=None, compare=False)  # seconds on the target's clock
    #: The core at that moment, for :mod:`harness.debug.report`, which adds the last three.
    state: CoreState | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        fault = f"{self.kind} ({self.reason})"
        fault += f": {self.cause};" if self.cause else ""
        location = (self.where or hex(self.pc)) + self.callers
        overflow = f"; {self.overflow}" if self.overflow else ""
        if not self.world:
            return f"{fault} at {location}{overflow}"
        world = f"in the {self.world} image {self.image}"
        return f"{fault} {world}, {location}: {self.access}{overflow}"


@dataclass(frozen=True)
class ConsoleChunk:
    """Console bytes with the time (seconds, the target's clock) at which they arrived."""

    time: float
    data: bytes


class MemoryAccess(Protocol):
    """The target's address space, as a debugger sees it."""

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``."""
        ...

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` at ``address``."""
        ...
