"""The simulator under a debugger: its debug port, served to pyOCD, and its console beside it."""

from __future__ import annotations

import selectors
from collections.abc import Callable

from harness.base.debug_access import LOOPBACK
from harness.debug.replay import Rerun
from harness.simulator import End
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.remote_probe import ProbeServer, RemoteProbe

#: Virtual ticks between two looks at the sockets: some milliseconds of wall time.
_SLICE = 200_000
_OVER = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF, End.RESET_LOOP)


class DebuggedSimulator:
    """A run behind its debug port; ``shown`` gets the console's bytes as they come."""

    def __init__(self, replay: Rerun, shown: Callable[[bytes], None]) -> None:
        self._replay, self._shown = replay, shown
        self.port = DebugPort(replay.machine)
        self.port.core.hold()
        self._selector = selectors.DefaultSelector()
        self.server = ProbeServer(RemoteProbe(lambda: self.port, "simulator"), self._selector, 0)
        self._end: End | None = None
        self._told = 0
        self.probe = f"remote:{LOOPBACK}:{self.server.number}"
        self._tell()

    @property
    def note(self) -> str:
        """How pyOCD itself finds the probe."""
        return f"pyOCD: --uid {self.probe}"

    def begin(self) -> None:
        """It was halted before."""

    def turn(self) -> None:
        """Answer pyOCD, and let the core run for a moment if it is not halted."""
        core = self.port.core
        rests = core.halted or self._end in _OVER
        for key, _ in self._selector.select(0.02 if rests else 0):
            key.data()
            self._end = None
        if core.halted or self._end in _OVER:
            return
        asks = self._replay.waits_for
        self._end = core.run(_SLICE, pattern=asks)
        if self._end is End.CONDITION and asks is not None:
            self._replay.answer()
        self._tell()

    def _tell(self) -> None:
        console = self.port.machine.console
        if console.size > self._told:
            self._shown(console.since(self._told))
        self._told = console.size

    def close(self) -> None:
        """Hang up."""
        self.server.close()
        self._selector.close()
