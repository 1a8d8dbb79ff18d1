"""DWT: the cycle counter (Armv8-M ARM, D1.2, DWT_*). One instruction is one cycle.

``timing = "branches"`` does not change that, so that an image's figures stay comparable.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_CTRL, _CYCCNT = 0x000, 0x004
#: No comparators, no trace packets, no profiling counters (NOTRCPKT, NOEXTTRIG, NOPRFCNT).
_FIXED = 0x0D00_0000


class Dwt:
    """CYCCNT follows virtual time while DWT_CTRL.CYCCNTENA and DEMCR.TRCENA are set."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self.reset()

    def reset(self) -> None:
        """Disable the counter and set it to zero."""
        self.enabled = self.trace = False
        self.count = self.since = 0

    def _current(self) -> int:
        elapsed = self._now() - self.since if self.enabled and self.trace else 0
        return self.count + elapsed & 0xFFFF_FFFF

    def set_trace(self, on: bool) -> None:
        """Set DEMCR.TRCENA."""
        self.count, self.since, self.trace = self._current(), self._now(), on

    def read(self, offset: int) -> int:
        """Read a register, by offset from 0xE000_1000."""
        if offset == _CTRL:
            return _FIXED | self.enabled
        return self._current() if offset == _CYCCNT else 0

    def write(self, offset: int, value: int) -> None:
        """Write a register, by offset from 0xE000_1000; the counter runs only with TRCENA."""
        if offset == _CTRL:
            self.count, self.since, self.enabled = self._current(), self._now(), bool(value & 1)
        elif offset == _CYCCNT:
            self.count, self.since = value, self._now()

    def state(self) -> dict[str, Any]:
        """The state for a snapshot."""
        return {name: getattr(self, name) for name in ("enabled", "trace", "count", "since")}

    def restore(self, state: dict[str, Any]) -> None:
        """Restore a :meth:`state`."""
        self.__dict__.update(state)
