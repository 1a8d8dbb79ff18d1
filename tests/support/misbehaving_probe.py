"""The debug probe of a misbehaving board, whose misbehaviours occur when flash is written."""

from __future__ import annotations

from typing import Any, Protocol

from misbehaviour import Misbehaviour

from harness.base.debug_access import READ
from harness.simulator import Machine
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.remote_probe import PROBE_ERROR, ProbeFailure, RemoteProbe
from harness.simulator.peripherals.nvmc import Nvmc
from harness.targets.board.virtual.chip import VirtualChip

#: Writes and erases after which the supply fails.
_BROWN_OUT_AFTER = 16
_BROWN_OUT_SECONDS = 0.4
_LOST = "the connection to the target was lost while programming"
_SILENT = "the operation attempted is unavailable: target did not respond"


class Board(Protocol):
    """The board of a probe."""

    serial: str
    chip: VirtualChip
    wrong: Misbehaviour
    failing: float | None

    def debug_port(self) -> DebugPort: ...


class MisbehavingProbe(RemoteProbe):
    """The probe of ``board``; ``fast``: it offers pyOCD block transfers of memory.

    Misbehaviours occur at writes and erases of flash, both by a client through the port and by a
    flash algorithm in RAM.
    """

    def __init__(self, board: Board, *, fast: bool = True) -> None:
        super().__init__(self._reached, board.serial, fast=fast)
        self.shown: dict[str, bytes] = {}  # faked contents of memories, by their name
        self._board = board
        self._operations = 0  # writes and erases of flash by this client
        self._lost = ""  # the reason why the client's requests fail
        self._hangs = False
        self._real: dict[str, bytes] = {}  # the unchanged contents while writes are faked

    def _reached(self) -> Any:
        if self._lost:
            raise ProbeFailure(self._lost)
        port = self._board.debug_port()
        return LyingPort(port, self.shown) if self.shown else port

    def watch(self, machine: Machine) -> None:
        """Prevents changes of flash while :meth:`powered` is false."""
        nvmc = machine.chip.device("NVMC", Nvmc)
        store = nvmc.store

        def watched(area: Any, address: int, size: int, value: int, old: int, mode: int) -> bool:
            if mode == READ or self.powered():
                return store(area, address, size, value, old, mode)
            nvmc.pending_stores.append((address, old.to_bytes(4, "little")))
            nvmc.chip.stop()
            return True

        nvmc.store = watched  # type: ignore[method-assign]

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
            self.shown = {}
        return not (self._lost or self._hangs)

    def _spend(self, name: str) -> None:
        self._board.wrong = self._board.wrong.counted_down(name)

    def _lose(self, seconds: float) -> None:
        self._lost = _LOST
        self._board.failing = seconds

    def answer(self, line: bytes) -> dict[str, Any] | None:
        """The answer to a request, or None if the probe hangs."""
        answer = None if self._hangs else super().answer(line)
        if self._hangs or answer is None:
            return None
        if self._lost:
            return {"id": answer["id"], "status": PROBE_ERROR, "error": self._lost}
        return answer

    def left(self) -> None:
        super().left()
        self._operations, self._lost, self._hangs = 0, "", False
        self.restore_flash()

    def restore_flash(self) -> None:
        """Ends faked writes: restores the real contents of flash and UICR."""
        port = self._board.chip.port
        if self._real and port is not None:
            claimed = contents(port.machine)
            store(port.machine, self._real)
            self.shown = claimed if self._board.wrong.tool_lies else {}
            self._spend("flash_lies")
        self._real = {}


class LyingPort:
    """A debug port that shows other contents of memories than there are."""

    def __init__(self, port: DebugPort, shown: dict[str, bytes]) -> None:
        self._port, self._shown = port, shown

    def __getattr__(self, name: str) -> Any:
        return getattr(self._port, name)

    def read_memory(self, address: int, size: int, port: int | None = None) -> int:
        real = self._port.read_memory(address, size, port)
        claimed = self._claimed(address, size)
        return real if claimed is None else int.from_bytes(claimed, "little")

    def read_block(self, address: int, count: int, unit: int, port: int | None = None) -> list[int]:
        real = self._port.read_block(address, count, unit, port)
        claimed = self._claimed(address, count * unit)
        if claimed is None:
            return real
        each = range(0, len(claimed), unit)
        return [int.from_bytes(claimed[at : at + unit], "little") for at in each]

    def _claimed(self, address: int, size: int) -> bytes | None:
        for name, content in self._shown.items():
            area = self._port.machine.memory_map.area(name)
            if area.holds(address, size):
                return content[address - area.origin :][:size]
        return None


def contents(machine: Machine) -> dict[str, bytes]:
    """The contents of flash and UICR, by name."""
    areas = {name: machine.memory_map.area(name) for name in ("flash", "uicr")}
    return {name: machine.read_memory(area.origin, area.size) for name, area in areas.items()}


def store(machine: Machine, kept: dict[str, bytes]) -> None:
    """Writes the contents of memories, by name."""
    for name, content in kept.items():
        machine.write_memory(machine.memory_map.area(name).origin, content)
