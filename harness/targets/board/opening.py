"""Opening a session on a board: lock, flash, console, reset; undone if a step fails."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from harness.deadline import Deadline
from harness.elf import Firmware
from harness.errors import EnvironmentMissing, HilError, PortBusy, TargetLost
from harness.targets.board import image, labgrid, policy, runners
from harness.targets.board.console import Console
from harness.targets.board.flash import Flasher
from harness.targets.board.identity import Board
from harness.targets.board.lab import Lab, same_serial
from harness.targets.board.lock import ProbeLock
from harness.targets.board.probe import ProbeMemory, PyocdMemory
from harness.targets.board.session import BoardSession, boot_position
from harness.targets.pins import Pins

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Opening:
    """Everything that one call of ``open()`` needs.

    ``find`` is called before each attempt: a board that was power-cycled may have another port
    name, and is recognised by its probe's serial number.
    """

    firmware: Firmware
    lab: Lab
    find: Callable[[], Board]
    runner: str = ""
    baud: int = 0
    reflash: bool = False
    console_limit: int = 64 * 1024 * 1024

    def run(self, wait: float) -> BoardSession:
        """The session; on any error everything acquired so far is released."""
        board = self.find()
        quarantine = policy.Quarantine(self.lab.state)
        with ExitStack() as resources:
            resources.callback(
                labgrid.acquire(board.labgrid, search_path=search_path(board)).release
            )
            lock = ProbeLock(board.probe.lstrip("0"), board.name, state=self.lab.state)
            lock.acquire(wait)
            resources.callback(lock.release)
            if lock.stale:
                _log.info("took over the lock that %s left behind", lock.stale)
            quarantine.check(board.name, board.probe)
            folder = Path(
                resources.enter_context(tempfile.TemporaryDirectory(prefix="tflm-hil-board-"))
            )
            prepared = image.prepare(self.firmware, folder)
            return self._attempts(board, prepared, lock, resources, quarantine)

    def _attempts(
        self,
        board: Board,
        prepared: image.Image,
        lock: ProbeLock,
        resources: ExitStack,
        quarantine: policy.Quarantine,
    ) -> BoardSession:
        def recover() -> None:
            values = {"probe": board.probe, "name": board.name}
            policy.power_cycle(board.power_cycle, self.lab.policy, **values)

        def once() -> BoardSession:
            return self._once(self._again(board), prepared, lock, resources)

        try:
            return policy.attempt(once, self.lab.policy, recover=recover)
        except policy.INFRASTRUCTURE as error:
            if self.lab.policy.quarantine and (ill := self.illness(board)):
                first = error.message.splitlines()[0]
                reason = ill if first == ill else f"{ill}; before that: {first}"
                quarantine.add(board.name, board.probe, reason)
                note = f"the board failed its health check ({ill}) and is now in quarantine"
                error.hint = f"{error.hint}; {note}" if error.hint else note
            raise

    def _again(self, board: Board) -> Board:
        """The same board as it is now, perhaps with another port name.

        A board that left the bus gets some time to come back. Raises :class:`TargetLost`.
        """
        deadline = Deadline(max(0.001, self.lab.policy.return_seconds))
        while True:
            try:
                seen = self.find()
            except EnvironmentMissing:
                seen = None
            if seen is not None and same_serial(seen.probe, board.probe):
                return seen
            if deadline.expired:
                instead = f"; {seen} is there instead" if seen else ""
                raise TargetLost(
                    f"board {board} left the bus and did not come back within "
                    f"{self.lab.policy.return_seconds:g} s{instead}",
                    hint="check its cable and its power switch",
                )
            time.sleep(0.05)

    def _once(
        self, board: Board, prepared: image.Image, lock: ProbeLock, resources: ExitStack
    ) -> BoardSession:
        baud = self.baud or board.baud
        flasher = self.flasher(board)
        report = flasher.ensure(prepared, always=self.reflash)
        _log.info("%s: %s", board.name, report.reason)
        with ExitStack() as opened:
            console = Console(board.port, baud, board=board.name, limit=self.console_limit)
            opened.callback(console.close)
            reset_at = console.end
            flasher.reset()
            start, settled = boot_position(console, reset_at, self.lab.policy.settle_seconds)
            memory = memory_of(board)
            opened.callback(memory.close)
            # From here on the session owns all of it; the lock is released after port and probe.
            owned = resources.pop_all()
            owned.push(opened.pop_all())
            return BoardSession(
                board,
                self.firmware,
                console,
                start=start,
                reset=flasher.reset,
                memory=memory,
                check=lock.check,
                close=owned.close,
                flashed=report,
                settled=settled,
                virtual=board.control is not None,
                pins=pins_of(board),
            )

    def flasher(self, board: Board) -> Flasher:
        """The board's flash tool: the one asked for, the lab file's, or the first installed."""
        path = search_path(board)
        kind = runners.choose(self.runner or board.runner, path)
        runner = kind(board.probe, board.probe_host, self.lab.policy.flash_seconds)
        return Flasher(runner, path)

    def illness(self, board: Board) -> str:
        """What the health check finds wrong, or an empty string.

        It checks what every run needs: the board is on the bus, its port opens, a reset works. A
        port that somebody else has open is not the board's fault.
        """
        try:
            seen = self._again(board)
            with contextlib.suppress(PortBusy):
                Console(seen.port, self.baud or seen.baud, board=seen.name).close()
            self.flasher(seen).reset()
        except HilError as error:
            return error.message.splitlines()[0]
        return ""


def pins_of(board: Board) -> Pins | None:
    """The pins of a virtual board; None for a real one."""
    if board.control is None:
        return None
    from harness.targets.board.virtual.client import VirtualPins  # noqa: PLC0415

    return VirtualPins(board.control)


def memory_of(board: Board) -> ProbeMemory:
    """The memory of a board through its probe; a virtual board's through its control socket."""
    if board.control is not None:
        from harness.targets.board.virtual.client import VirtualMemory  # noqa: PLC0415

        return VirtualMemory(board.control)
    return PyocdMemory(board.probe)


def search_path(board: Board) -> str | None:
    """Where flash tools are looked up: a virtual board's stand-ins come first."""
    if not board.tools:
        return None
    return os.pathsep.join((board.tools, os.environ.get("PATH", os.defpath)))
