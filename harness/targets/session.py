"""A session: an image on one target, whichever it is.

``open_target(name, image)`` returns one. What not every target can do raises :class:`Unsupported`
here; the sessions of a target override what its row in the registry lists.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import NoReturn

from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.core_state import CoreState
from harness.base.errors import Unsupported
from harness.base.findings import Finding
from harness.elf.coverage import Coverage
from harness.targets.base import ConsoleChunk, Counters, Fault, MemoryAccess, Stop, Until
from harness.targets.calls import Call, SeesCall
from harness.targets.pins import Pins
from harness.targets.registry import Ability, who_can


class Session(Closing):
    """A firmware image loaded on one target; a context manager that cleans up after itself."""

    @property
    @abstractmethod
    def target(self) -> str:
        """The target's name: ``simulator``, ``renode``, ``board``."""

    @property
    def power_on(self) -> int | None:
        """The seed of what memory held at power-on; None if that is not known."""
        return None

    @property
    def stops_exactly(self) -> bool:
        """Whether a run ends at the very instruction that sends the pattern it waits for."""
        return False

    @property
    @abstractmethod
    def memory(self) -> MemoryAccess:
        """The address space."""

    @property
    @abstractmethod
    def counters(self) -> Counters:
        """Figures since the session was opened, over all resets."""

    @property
    @abstractmethod
    def faults(self) -> Sequence[Fault]:
        """Processor faults so far, in order."""

    @property
    @abstractmethod
    def findings(self) -> Sequence[Finding]:
        """Findings of the target itself (accesses that it does not model, approximations)."""

    @property
    @abstractmethod
    def console(self) -> Sequence[ConsoleChunk]:
        """Everything the console printed since the session was opened, with time stamps."""

    @property
    def byte_seconds(self) -> float:
        """Seconds that a byte of the console takes on the wire; 0 where time stamps are rougher."""
        return 0.0

    @abstractmethod
    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        """A deadline on this target's clock."""

    @abstractmethod
    def run(self, until: Until | None, deadline: Deadline) -> Stop:
        """Run until the condition, the deadline, or the end of the firmware's life."""

    @abstractmethod
    def read(self) -> bytes:
        """Console bytes that came since the last read(); does not run the target."""

    @abstractmethod
    def write(self, data: bytes) -> None:
        """Send ``data`` to the console's receiver."""

    @abstractmethod
    def reset(self) -> None:
        """A pin reset: the image starts again. RAM and flash keep their content."""

    @abstractmethod
    def where(self) -> str:
        """Where the core is now, as "function at file:line"; "" if it is not known."""

    def profile(self) -> None:
        """Count instructions from here on. Raises :class:`Unsupported` if nothing is counted."""
        self._cannot(Ability.TRACE)

    def coverage(self) -> Coverage:
        """Coverage since :meth:`profile`: instructions by function, lines. Raises Unsupported."""
        self._cannot(Ability.TRACE)

    @property
    def registers(self) -> Mapping[str, int]:
        """r0 to r12, sp, lr, pc, xpsr. Raises :class:`Unsupported` if they cannot be read."""
        self._cannot(Ability.STEP)

    @property
    def handler_seconds(self) -> float | None:
        """Seconds in a handler without entry to, or return from, another; 0 in thread mode.

        None on a target that does not see exceptions.
        """
        return None

    @property
    def wait_cause(self) -> str:
        """Why what the core waits for does not come, in one line; "" if that is not known."""
        return ""

    @property
    def core_state(self) -> CoreState:
        """Registers, stack pointers and RAM, for call stacks. Raises :class:`Unsupported`.

        A board's core is halted for as long as that takes.
        """
        self._cannot(Ability.STACKS)

    def watch_calls(self, addresses: Iterable[int], seen: SeesCall | None = None) -> None:
        """Note calls of the functions at ``addresses`` from here on. Raises Unsupported.

        ``seen`` is called where a call begins and after its return, if the target stops exactly; a
        function for which it returns False is not watched any more.
        """
        self._cannot(Ability.STEP)

    @property
    def calls(self) -> Sequence[Call]:
        """Calls of watched functions, in order."""
        return ()

    def run_to_address(self, address: int, deadline: Deadline) -> Stop:
        """Run until the instruction at ``address`` is next. Raises :class:`Unsupported`."""
        self._cannot(Ability.STEP)

    def call(self, address: int, arguments: Sequence[int | bytes], deadline: Deadline) -> int:
        """Call a function of the stopped image; return its r0. The core is then as it was.

        There are at most four ``arguments``: words, and bytes whose address is passed. Raises
        :class:`Unsupported`, and :class:`TargetLost` if the function does not return.
        """
        self._cannot(Ability.CALL)

    @property
    def pins(self) -> Pins:
        """Port 0 from outside. Raises :class:`Unsupported` if it cannot be reached."""
        self._cannot(Ability.PINS)

    def _cannot(self, ability: Ability) -> NoReturn:
        raise Unsupported(
            self.target, ability.value, hint=f"--target {' or '.join(who_can(ability))} can"
        )
