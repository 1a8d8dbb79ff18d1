"""A board under a debugger: which gdb server reaches it, and its console beside it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from harness.base.platforms import BoardTable
from harness.debug.gdb import commands_to, has_pyocd, pyocd_missing, pyocd_server
from harness.debug.replay import Place
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import unpadded
from harness.targets.board.session import BoardSession

#: Programs of J-Link's gdb server (SEGGER, UM08001, "J-Link GDB Server").
JLINK_SERVERS = ("JLinkGDBServerCLExe", "JLinkGDBServer", "JLinkGDBServerCL")
#: Faults that halt (pyOCD's option "vector_catch"): all kinds, but not the reset.
_FAULTS = "hbmiscp"
_GLANCE = 0.02


def server_command(board: BenchBoard, kit: BoardTable, place: Place | None) -> list[str]:
    """The gdb server for a board of ``kit``, but for its port; the core halts when it starts.

    pyOCD, or J-Link's server without it. Raises :class:`EnvironmentMissing` if there is neither.
    """
    serial = unpadded(board.probe)
    if has_pyocd():
        probe = f"remote:{board.remote_probe}" if board.remote_probe else serial
        faults = place is not None and place.where == "fault"
        target = kit.chip.tools.pyocd_target
        return pyocd_server(probe, target, board=True, catch=_FAULTS if faults else "h")
    jlink = next(filter(None, map(shutil.which, JLINK_SERVERS)), None)
    if jlink is None or board.virtual:
        raise pyocd_missing(
            "" if board.virtual else ", and J-Link's gdb server is not there either"
        )
    names = kit.chip.tools
    return [
        jlink, "-nogui", "-localhostonly", "-select", f"USB={serial}",
        "-device", names.jlink_device, "-if", names.debug_interface,
        "-speed", str(kit.probe.speed_khz), "-port",
    ]  # fmt: skip


def first_commands(place: Place | None, target: str) -> list[str]:
    """The gdb commands that run the image from its reset up to ``place`` (None: the reset).

    Raises :class:`Unsupported` for places that only a run that can be repeated has.
    """
    reset = ["monitor reset halt"]
    return reset if place is None else [*reset, *commands_to(place, target, ())]


class DebuggedBoard:
    """A session on a board; ``shown`` gets the console's bytes as they come.

    Raises :class:`TargetLost` in each method if the board has gone.
    """

    def __init__(self, session: BoardSession, shown: Callable[[bytes], None]) -> None:
        self._session, self._shown = session, shown
        self._begun = False

    @property
    def note(self) -> str:
        """Its console's port."""
        return f"console: {self._session.board.port}"

    def begin(self) -> None:
        """What it said before the debugger came is not shown."""
        self._session.read()
        self._begun = True

    def turn(self) -> None:
        """Show what came; the board runs by itself."""
        data = self._session.read() if self._begun else b""
        if data:
            self._shown(data)
        time.sleep(_GLANCE)
