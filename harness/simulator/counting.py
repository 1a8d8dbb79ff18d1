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

#: The priority of code that any exception can interrupt.
NO_PRIORITY = 256
XPSR_IT, XPSR_THUMB = 0x0600_FC00, 1 << 24

#: (is a write, address, size, value) -> the value read, anything for an accepted write, None to
#: refuse the access.
AccessHandler = Callable[[int, int, int, int], int | None]


class Reason(IntEnum):
    """Why run() returned."""

    NONE = 0
    BUDGET = 1  # `stop_at` instructions are executed, or the wall time is used up
    EXCEPTION = 2  # Unicorn raised exception number `exception`
    SPECIAL = 3  # stands before an instruction that the machine carries out
    UNMASKED = 4  # a pending exception can be taken now
    MEMORY = 5  # an access was refused: `fault_type`, `fault_address`
    DEVICE = 6  # stands after the instruction whose access asked to stop
    ERROR = 7  # Unicorn error `error` that none of the above explains
