"""The debug probe of a virtual board, and what goes wrong while it writes flash."""

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
    """What a probe needs of its board."""

    serial: str
    chip: VirtualChip
    wrong: Misbehaviour

    def fail(self, seconds: float) -> None:
        """Leave the bus for ``seconds`` as soon as the present request has ended."""

    @property
    def plugged(self) -> bool:
        """Whether the board is on the bus."""


class BoardProbe(RemoteProbe):
    """Reaches the board's chip; ``fast``: it offers pyOCD whole blocks of memory.

    What goes wrong does so at a write or an erase of flash, whoever carries it out: a client
    through the port, or a flash algorithm that it has loaded into RAM.
    """

    def __init__(self, board: ProbedBoard, *, fast: bool = True) -> None:
        super().__init__(self._reached, board.serial, fast=fast)
        self._board = board
        self._operations = 0  # of this client, on flash
        self._lost = ""  # why the client's requests fail
        self._hangs = False
        self._truth: dict[str, bytes] = {}  # what flash holds while a lie is told about it

    def _reached(self) -> DebugPort:
        if self._lost:
            raise ProbeFailure(self._lost)
        port = self._board.chip.port
        if port is None or not self._board.plugged:
            raise ProbeFailure(f"the board {self._board.serial} is not on the bus")
        self._board.chip.touched()
        return port

    def powered(self) -> bool:
        """Flash is about to be changed: False if that does not happen."""
        port, wrong = self._board.chip.port, self._board.wrong
        if port is None or not port.core.enabled:
            return True  # the firmware's own
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
        elif (wrong.flash_lies or wrong.tool_lies) and not self._truth:
            self._truth = contents(port.machine)
            port.shown = {}
        return not (self._lost or self._hangs)

    def _spend(self, name: str) -> None:
        self._board.wrong = self._board.wrong.once_less(name)

    def _lose(self, seconds: float) -> None:
        self._lost = _LOST
        self._board.fail(seconds)

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """The answer to one request, unless the probe hangs."""
        answer = None if self._hangs else super().answer(line)
        if self._hangs or answer is None:
            return None
        if self._lost:
            return {"id": answer["id"], "status": PROBE_ERROR, "error": self._lost}
        return answer

    def left(self) -> None:
        """The last client has gone: what it believed to be in flash is not."""
        self._operations, self._lost, self._hangs = 0, "", False
        self.held = False
        self.undo()

    def undo(self) -> None:
        """The end of a lie: flash has what it really has."""
        port = self._board.chip.port
        if self._truth and port is not None:
            claimed, machine = contents(port.machine), port.machine
            for name, content in self._truth.items():
                machine.write_memory(machine.memory_map.area(name).origin, content)
            port.shown = claimed if self._board.wrong.tool_lies else {}
            self._spend("flash_lies")
        self._truth = {}
