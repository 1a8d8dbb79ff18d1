"""The debug probe of a virtual board, with its misbehaviours when flash is written."""

from __future__ import annotations

from typing import Any, Protocol

from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.remote_probe import PROBE_ERROR, ProbeFailure, RemoteProbe
from harness.targets.board.virtual.chip import VirtualChip, contents
from harness.targets.board.virtual.misbehaviour import Misbehaviour

#: Writes and erases after which the supply fails.
_BROWN_OUT_AFTER = 16
_BROWN_OUT_SECONDS = 0.4
_LOST = "the connection to the target was lost while programming"
_SILENT = "the operation attempted is unavailable: target did not respond"


class ProbedBoard(Protocol):
    """The interface of a board to its probe."""

    serial: str
    chip: VirtualChip
    wrong: Misbehaviour

    def fail(self, seconds: float) -> None:
        """Schedules that the board leaves the bus for ``seconds`` after the current request."""

    @property
    def plugged(self) -> bool:
        """True if the board is on the bus."""


class BoardProbe(RemoteProbe):
    """The probe of a virtual board; ``fast``: it offers pyOCD block transfers of memory.

    Misbehaviours occur at writes and erases of flash, both by a client through the port and by a
    flash algorithm in RAM.
    """

    def __init__(self, board: ProbedBoard, *, fast: bool = True) -> None:
        super().__init__(self._reached, board.serial, fast=fast)
        self._board = board
        self._operations = 0  # writes and erases of flash by this client
        self._lost = ""  # the reason why the client's requests fail
        self._hangs = False
        self._real: dict[str, bytes] = {}  # the unchanged contents while writes are faked

    def _reached(self) -> DebugPort:
        if self._lost:
            raise ProbeFailure(self._lost)
        port = self._board.chip.port
        if port is None or not self._board.plugged:
            raise ProbeFailure(f"the board {self._board.serial} is not on the bus")
        self._board.chip.wake()
        return port

    def powered(self) -> bool:
        """Called before each change of flash; returns False to prevent it."""
        port, wrong = self._board.chip.port, self._board.wrong
        if port is None or not port.core.enabled:
            return True  # a change by the firmware
        self._operations += 1
        if wrong.flash_hangs:
            self._spend("flash_hangs")
            self._hangs = True
        elif wrong.flash_fails:
            self._spend("flash_fails")
            self._lost = _SILENT
        elif wrong.brown_out and self._operations > _BROWN_OUT_AFTER:
            self._spend("brown_out")
            self._lose(_BROWN_OUT_SECONDS)
        elif wrong.unplug_flash and self._operations > wrong.unplug_flash:
            self._board.wrong = wrong.without("unplug_flash")
            self._lose(wrong.gone / 1000)
        elif (wrong.flash_lies or wrong.tool_lies) and not self._real:
            self._real = contents(port.machine)
            port.shown = {}
        return not (self._lost or self._hangs)

    def _spend(self, name: str) -> None:
        self._board.wrong = self._board.wrong.counted_down(name)

    def _lose(self, seconds: float) -> None:
        self._lost = _LOST
        self._board.fail(seconds)

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """The answer to a request, or None if the probe hangs."""
        answer = None if self._hangs else super().answer(line)
        if self._hangs or answer is None:
            return None
        if self._lost:
            return {"id": answer["id"], "status": PROBE_ERROR, "error": self._lost}
        return answer

    def left(self) -> None:
        """Called when the last client has disconnected."""
        self._operations, self._lost, self._hangs = 0, "", False
        self.held = False
        self.restore_flash()

    def restore_flash(self) -> None:
        """Ends faked writes: restores the real contents of flash and UICR."""
        port = self._board.chip.port
        if self._real and port is not None:
            claimed, machine = contents(port.machine), port.machine
            for name, content in self._real.items():
                machine.write_memory(machine.memory_map.area(name).origin, content)
            port.shown = claimed if self._board.wrong.tool_lies else {}
            self._spend("flash_lies")
        self._real = {}
