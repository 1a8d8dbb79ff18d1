"""The protocol of everything that can run an image: simulator, Renode, board.

``open_target(name, image)`` returns a :class:`Session`, a context manager. An ability that
a target lacks raises :class:`Unsupported`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Protocol, Self

from harness.base.clock import Deadline
from harness.base.core_state import CoreState
from harness.base.errors import UsageError
from harness.base.findings import Finding
from harness.elf import Image
from harness.elf.coverage import Coverage
from harness.targets.calls import Call
from harness.targets.pins import Pins


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
            raise UsageError(f"{image.path} has no symbol {self.symbol!r}")
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
    #: The core at that moment, for :mod:`harness.debug.report`, which adds the last two.
    state: CoreState | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        fault = f"{self.kind} ({self.reason})"
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


class Session(Protocol):
    """A firmware image loaded on one target; a context manager that cleans up after itself."""

    @property
    def target(self) -> str:
        """The target's name: ``simulator``, ``renode``, ``board``."""
        ...

    @property
    def power_on(self) -> int | None:
        """The seed of what memory held at power-on; None if that is not known."""
        ...

    @property
    def stops_exactly(self) -> bool:
        """Whether a run ends at the very instruction that sends the pattern it waits for."""
        ...

    @property
    def memory(self) -> MemoryAccess:
        """The address space."""
        ...

    @property
    def counters(self) -> Counters:
        """Figures since the session was opened, over all resets."""
        ...

    @property
    def faults(self) -> Sequence[Fault]:
        """Processor faults so far, in order."""
        ...

    @property
    def findings(self) -> Sequence[Finding]:
        """Findings of the target itself (accesses that it does not model, approximations)."""
        ...

    @property
    def console(self) -> Sequence[ConsoleChunk]:
        """Everything the console printed since the session was opened, with time stamps."""
        ...

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline on this target's clock."""
        ...

    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run until the condition, the deadline, or the end of the firmware's life."""
        ...

    def read(self) -> bytes:
        """Console bytes that came since the last read(); does not run the target."""
        ...

    def write(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver."""
        ...

    def reset(self) -> None:
        """A pin reset: the image starts again. RAM and flash keep their content."""
        ...

    def where(self) -> str:
        """Where the core is now, as "function at file:line"; "" if it is not known."""
        ...

    def profile(self) -> None:
        """Count instructions from here on. Raises Unsupported if the target cannot."""
        ...

    def coverage(self) -> Coverage:
        """Coverage since :meth:`profile`: instructions by function, lines. Raises Unsupported."""
        ...

    @property
    def registers(self) -> Mapping[str, int]:
        """r0 to r12, sp, lr, pc, xpsr, by name. Raises Unsupported if they cannot be read."""
        ...

    @property
    def core_state(self) -> CoreState:
        """Registers, stack pointers and RAM, for call stacks. Raises Unsupported.

        A board's core is halted for as long as that takes.
        """
        ...

    def watch_calls(self, addresses: Iterable[int]) -> None:
        """Note calls of the functions at ``addresses`` from here on. Raises Unsupported."""
        ...

    @property
    def calls(self) -> Sequence[Call]:
        """Calls of watched functions, in order."""
        ...

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Run until the instruction at ``address`` is next. Raises Unsupported."""
        ...

    @property
    def pins(self) -> Pins:
        """Port 0 from outside. Raises Unsupported if it cannot be reached."""
        ...

    def close(self) -> None:
        """Release everything; safe to call twice."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
