"""Calls of watched functions, as a target that can look inside sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

#: Called with a call; returns whether further ones are needed.
SeesCall = Callable[["Call"], bool]
#: Calls that are kept; later ones are not seen.
MOST_CALLS = 100_000


@dataclass(frozen=True)
class Call:
    """One call of a watched function.

    ``ticks`` are of the clock that DWT_CYCCNT counts, at its first instruction and after its
    return; ``returned`` is None for a call that has not come back. ``begun`` and ``ended`` are
    seconds on the target's clock.
    """

    address: int
    argument: int  # r0
    caller: int  # lr: where it returns to
    sp: int
    exception: int  # the exception whose handler made it, 0 in thread mode
    ticks: int
    begun: float
    returned: int | None = None
    result: int | None = None  # r0 after the return
    ended: float | None = None
    #: The resets before it, since the session was opened; 0 if the target does not tell.
    boot: int = field(default=0, kw_only=True)
    #: r1 to r3 and the word at sp: the arguments behind the first; () if the target does not tell.
    others: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def taken(self) -> int | None:
        """Ticks from the first instruction to the return; the counter has 32 bits."""
        return None if self.returned is None else self.returned - self.ticks & 0xFFFF_FFFF


class CallLog:
    """The calls of one boot after the other, each with its return.

    A call returns where it came from with the stack pointer that it had.
    """

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self._open: dict[tuple[int, int], int] = {}  # address, sp -> position in `calls`

    def enter(self, call: Call) -> bool:
        """Take a call. False for a loop back to the beginning of one that is running."""
        frame = call.address, call.sp
        running = self._open.get(frame)
        if running is not None and self.calls[running].caller == call.caller:
            return False
        if len(self.calls) < MOST_CALLS:
            self._open[frame] = len(self.calls)
            self.calls.append(call)
        return True

    def leave(self, caller: int, sp: int, ticks: int, result: int, time: float) -> list[Call]:
        """The instruction at ``caller`` is next; the calls that have returned.

        ``time`` is in seconds on the target's clock.
        """
        frames = [
            frame
            for frame, at in self._open.items()
            if frame[1] == sp and self.calls[at].caller & ~1 == caller & ~1
        ]
        returned = []
        for frame in frames:
            at = self._open.pop(frame)
            self.calls[at] = replace(self.calls[at], returned=ticks, result=result, ended=time)
            returned.append(self.calls[at])
        return returned

    def restart(self) -> None:
        """A reset: no call of before it returns any more."""
        for at in sorted(self._open.values(), reverse=True):
            del self.calls[at]
        self._open.clear()
