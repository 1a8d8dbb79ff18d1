"""gdb on a board: the choice of gdb server, and the board's console beside it."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable

from harness.base.platforms import BoardTable
from harness.debug.gdb import commands_to, pyocd_server
from harness.debug.replay import Breakpoint
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import unpadded
from harness.targets.board.probe import has_pyocd, pyocd_missing
from harness.targets.board.session import BoardSession

#: Names of J-Link's gdb server (SEGGER, UM08001, "J-Link GDB Server").
JLINK_SERVERS = ("JLinkGDBServerCLExe", "JLinkGDBServer", "JLinkGDBServerCL")
#: pyOCD's option "vector_catch": halt at every kind of fault, but not at the reset.
_ALL_FAULTS = "hbmiscp"
_POLL_SECONDS = 0.02


def server_command(board: BenchBoard, kit: BoardTable, place: Breakpoint | None) -> list[str]:
    """The command of the gdb server for a board of ``kit``, without the port number at its end.

    pyOCD if it is installed, else J-Link's server; both halt the core when they start. With
    ``place`` "fault" all faults halt. Raises :class:`EnvironmentMissing` if neither is installed.
    """
    if has_pyocd():
        faults = place is not None and place.where == "fault"
        target = kit.chip.tools.pyocd_target
        return pyocd_server(board.uid, target, board=True, catch=_ALL_FAULTS if faults else "h")
    jlink = next(filter(None, map(shutil.which, JLINK_SERVERS)), None)
    if jlink is None or board.virtual:
        others = "" if board.virtual else ", nor is J-Link's gdb server"
        raise pyocd_missing("debugging", others)
    names = kit.chip.tools
    return [
        jlink, "-nogui", "-localhostonly", "-select", f"USB={unpadded(board.probe)}",
        "-device", names.jlink_device, "-if", names.debug_interface,
        "-speed", str(kit.probe.speed_khz), "-port",
    ]  # fmt: skip


def first_commands(place: Breakpoint | None, target: str) -> list[str]:
    """The gdb commands that run the image from its reset to ``place`` (None: the reset).

    Raises :class:`Unsupported` for places that need a repeatable run.
    """
    reset = ["monitor reset halt"]
    return reset if place is None else [*reset, *commands_to(place, target, ())]


class DebuggedBoard:
    """A board in a debug session; ``show`` is called with its console output.

    Each method raises :class:`TargetLost` if the board is disconnected.
    """

    def __init__(self, session: BoardSession, show: Callable[[bytes], None]) -> None:
        self._session, self._show = session, show
        self._begun = False

    @property
    def note(self) -> str:
        """The console's port."""
        return f"console: {self._session.board.port}"

    def begin(self) -> None:
        """Discards earlier console output."""
        self._session.read()
        self._begun = True

    def poll(self) -> None:
        """Shows new console output."""
        data = self._session.read() if self._begun else b""
        if data:
            self._show(data)
        time.sleep(_POLL_SECONDS)
