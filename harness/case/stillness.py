"""Why an image that did not end is still: read from the core once it has stopped.

A handler that the exception lacks, what the core waits for, text that was never written, a main()
that has returned. A target without access to core and memory tells nothing.
"""

from __future__ import annotations

from dataclasses import replace

from harness.base.core_state import CoreState
from harness.case.last_resorts import EXITS
from harness.case.observation import Observation
from harness.elf import Image
from harness.targets.session import Session

MAIN = "main"
_PC = 15


def with_causes(seen: Observation, session: Session, image: Image, state: CoreState) -> Observation:
    """``seen`` with why the core of ``session``, in ``state``, does not go on."""
    from harness.debug.endless_loop import endless_loop  # noqa: PLC0415 - not for a passing run
    from harness.debug.handlers import without_own_handler  # noqa: PLC0415
    from harness.debug.stdout_buffer import unwritten  # noqa: PLC0415

    def read(address: int, size: int) -> bytes | None:
        return state.read(address, size) or image.read(address, size)

    returned = _main_returned(session, image, state)
    cause = without_own_handler(state, image) or endless_loop(state, image)
    if not cause and not returned and not _halts(seen):
        cause = session.wait_cause
    text = unwritten(image, read).decode("latin-1")
    return replace(seen, cause=cause, unwritten=text, main_returned=returned)


def _halts(seen: Observation) -> bool:
    """Whether the core is before a branch to itself, which ends a program and waits for nothing."""
    return seen.at_rest is not None and seen.at_rest.branches


def _main_returned(session: Session, image: Image, state: CoreState) -> bool:
    """Whether main() has returned, and the core is in its caller or in exit()."""
    main = image.symbol(MAIN)
    callers = {
        image.locate(one.caller).function
        for one in session.calls
        if main is not None and one.address == main.address and one.returned is not None
    }
    pc = state.registers[_PC]
    return bool(callers) and image.locate(pc).function in callers.union(EXITS)
