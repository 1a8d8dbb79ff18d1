"""The counting core: runs Unicorn and knows, at every moment, how many instructions ran.

It is written in C (the folder ``native``, :class:`harness.simulator._native.Core`).

How a run stops at an exact instruction: Unicorn calls back before each translated block. A block
that would run past ``stop_at``, or holds an instruction that the machine carries out itself (WFI,
TT, a breakpoint), is not entered; its first part is run alone by asking Unicorn to stop "until"
the address in its middle, which cuts the translated block there. A refused store, which Unicorn
notices only at the end of the block, is undone by going back to the state before it.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

#: (is a write, address, size, value) -> the value read, anything for an accepted write, None to
#: refuse the access.
AccessHandler = Callable[[int, int, int, int], int | None]
#: Gets each fault as it is taken: exception number of the fault, of the exception that is taken for
#: it (0: lockup), status bits, pc, the address of the access, whether exception entry failed.
FaultHandler = Callable[[int, int, int, int, int | None, bool], None]


class Reason(IntEnum):
    """Why run() returned."""

    NONE = 0
    BUDGET = 1  # `stop_at` instructions are executed, or the wall time is used up
    EXCEPTION = 2  # Unicorn raised exception number `exception`, which this processor has not
    DEVICE = 6  # stands after the instruction whose access asked to stop
    BREAKPOINT = 8  # stands before an instruction with a breakpoint
    HALTED = 9  # sleeps, or is locked up
