"""gdb on the simulator: its debug port, served to pyOCD, and its console beside it."""

from __future__ import annotations

import selectors
from collections.abc import Callable

from harness.base.debug_access import LOOPBACK
from harness.debug.replay import Rerun
from harness.simulator import End
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.remote_probe import ProbeServer, RemoteProbe

#: Virtual ticks of one poll: some milliseconds of wall time.
_SLICE = 200_000
#: Ends after which the core executes nothing more until pyOCD changes its state.
_OVER = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF, End.RESET_LOOP)


class DebuggedSimulator:
    """A run behind its debug port; ``show`` is called with the console output."""

    def __init__(self, run: Rerun, show: Callable[[bytes], None]) -> None:
        self._run, self._show = run, show
        self.port = DebugPort(run.machine)
        self.port.core.hold()
        self._selector = selectors.DefaultSelector()
        self.server = ProbeServer(RemoteProbe(lambda: self.port, "simulator"), self._selector, 0)
        self._end: End | None = None
        self._shown = 0  # bytes of the console
        self.probe = f"remote:{LOOPBACK}:{self.server.number}"
        self._show_console()

    @property
    def note(self) -> str:
        """The option with which pyOCD finds the probe."""
        return f"pyOCD: --uid {self.probe}"

    def begin(self) -> None:
        """Does nothing: the core is halted from the start."""

    def poll(self) -> None:
        """Answers pyOCD, and runs the core for a slice unless it is halted."""
        core = self.port.core
        idle = core.halted or self._end in _OVER
        for key, _ in self._selector.select(0.02 if idle else 0):
            key.data()
            self._end = None
        if core.halted or self._end in _OVER:
            return
        request = self._run.waits_for
        self._end = core.run(_SLICE, pattern=request)
        if self._end is End.CONDITION and request is not None:
            self._run.answer()
        self._show_console()

    def _show_console(self) -> None:
        console = self.port.machine.console
        if console.size > self._shown:
            self._show(console.since(self._shown))
        self._shown = console.size

    def close(self) -> None:
        """Closes the sockets."""
        self.server.close()
        self._selector.close()
