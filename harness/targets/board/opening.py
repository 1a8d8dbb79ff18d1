"""Opening a session on a board: lock, flash, console, reset; undone if a step fails.

Failures of the bench are retried while the session is opened and, with :meth:`Opening.run`, during
the action on it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from harness.base.clock import Deadline
from harness.base.errors import EnvironmentMissing, HilError, PortBusy, TargetLost, UsageError
from harness.base.platforms import BoardTable, board_with, chip_called
from harness.elf import Image
from harness.targets.board import labgrid, policy, runners
from harness.targets.board.console import SerialConsole
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.flash import Flasher
from harness.targets.board.flash_image import FlashImage, prepare
from harness.targets.board.lab import Lab, Policy, same_serial
from harness.targets.board.lock import ProbeLock
from harness.targets.board.probe import PyocdMemory
from harness.targets.board.session import BoardSession, Connection, boot_position
from harness.targets.pins import Pins

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class BoardSource(Protocol):
    """Finds the board of a session: on USB, in the lab file, on a virtual bench."""

    def find(self) -> BenchBoard:
        """The board with its current ports.

        Raises :class:`EnvironmentMissing` or :class:`TargetLost` if it is not attached.
        """
        ...


@dataclass(frozen=True)
class Opening:
    """The settings of a session on a board, not yet opened.

    ``source`` is searched before each attempt, because the name of a board's port may change with a
    power cycle; the serial number of the probe identifies the board. ``wait`` is the time in
    seconds to wait for a board in use.
    """

    image: Image
    lab: Lab
    source: BoardSource
    runner: str = ""
    baud: int = 0
    reflash: bool = False
    console_limit: int = 64 * 1024 * 1024
    wait: float = 0.0

    @property
    def kit(self) -> BoardTable:
        """The table of the board with the image's chip."""
        return board_with(self.image.chip.key)

    def open(self) -> BoardSession:
        """An open session. On an error everything acquired so far is released."""
        with ExitStack() as resources:
            reservation = resources.enter_context(self._reservation())
            session = reservation.attempt(reservation.session)
            session.add_resources(resources.pop_all())
            return session

    def run(self, action: Callable[[BoardSession], Result]) -> Result:
        """The result of ``action`` on a new session.

        After a failure of the bench, also during ``action``, it is repeated with a new session. The
        board stays locked during all attempts.
        """
        with self._reservation() as reservation:

            def once() -> Result:
                with reservation.session() as session:
                    return action(session)

            return reservation.attempt(once)

    @contextmanager
    def _reservation(self) -> Iterator[_Reservation]:
        """Acquires the labgrid place and the lock of the board; refuses one in quarantine."""
        board = self._attached_board()
        require_chip(board, self.image)
        with ExitStack() as resources:
            place = labgrid.acquired(board.labgrid, search_path=search_path())
            resources.enter_context(place)
            lock = ProbeLock(board.probe, board.name, state=self.lab.state)
            lock.acquire(self.wait)
            resources.callback(lock.release)
            if lock.stale:
                _log.info("took over the lock that %s left behind", lock.stale)
            policy.Quarantine(self.lab.state).check(board.name, board.probe)
            folder = Path(
                resources.enter_context(tempfile.TemporaryDirectory(prefix="tflm-hil-board-"))
            )
            yield _Reservation(self, board, board.present, lock, prepare(self.image, folder))

    def _attached_board(self) -> BenchBoard:
        """The board, after waiting for its probe to be attached.

        Raises :class:`UsageError` if the probe named in the lab file is not attached. This is not
        an infrastructure error, so that the board does not get into quarantine.
        """
        deadline = Deadline(max(0.001, self.lab.policy.return_seconds))
        while (board := self.source.find()).unreachable:
            if deadline.expired:
                raise UsageError(
                    f"{self.lab.path or 'the lab file'} names board {board.name} by the probe "
                    f"{board.probe}, which is not attached",
                    hint="correct `probe`, or attach it (`tflm-hil boards` lists the boards); "
                    "a remote board needs `port`, `probe_host` or `labgrid`",
                )
            time.sleep(0.05)
        return board

    def console(self, board: BenchBoard) -> SerialConsole:
        """The opened console, at the baud rate of the option or of the board."""
        baud = self.baud or board.rate
        return SerialConsole(board.port, baud, board=board.name, limit=self.console_limit)

    def flasher(self, board: BenchBoard) -> Flasher:
        """The flash tool given by option or lab file, or the first that is installed."""
        return flash_tool(board, self.runner, self.lab.policy.flash_seconds, self.kit)


@dataclass(frozen=True)
class _Reservation:
    """A locked board, and the file to flash."""

    opening: Opening
    board: BenchBoard
    present: bool  # whether its port existed when it was locked
    lock: ProbeLock
    image: FlashImage

    @property
    def policy(self) -> Policy:
        """The lab's policy."""
        return self.opening.lab.policy

    def session(self) -> BoardSession:
        """Flashes the image, opens the console, resets the board; returns the open session."""
        board = self.current_board()
        flasher = self.opening.flasher(board)
        report = flasher.ensure(self.image, always=self.opening.reflash)
        _log.info("%s: %s", board.name, report.reason)
        with ExitStack() as opened:
            console = self.opening.console(board)
            opened.callback(console.close)
            reset_at = console.end
            flasher.reset()
            start, settled = boot_position(console, reset_at, self.policy.settle_seconds)
            memory = PyocdMemory(board.uid, self.opening.image.chip)
            opened.callback(memory.close)
            resources = opened.pop_all()
            return BoardSession(
                Connection(board, console, flasher, self.lock, memory, pins_of(board), resources),
                self.opening.image,
                report,
                start=start,
                settled=settled,
            )

    def attempt(self, once: Callable[[], Result]) -> Result:
        """The result of ``once``, repeated as the policy allows.

        After the last failure, a board that fails its health check is put into quarantine.
        """
        try:
            return policy.attempt(once, self.policy, recover=self.recover)
        except policy.FINAL:
            raise
        except policy.INFRASTRUCTURE as error:
            checked = self.policy.quarantine and self.lock.ours
            if checked and (problem := self.health_problem()):
                first = error.message.splitlines()[0]
                reason = problem if first == problem else f"{problem}; before that: {first}"
                quarantine = policy.Quarantine(self.opening.lab.state)
                quarantine.add(self.board.name, self.board.probe, reason)
                note = f"the board failed its health check ({problem}) and is now in quarantine"
                error.hint = f"{error.hint}; {note}" if error.hint else note
            raise

    def recover(self) -> None:
        """Power-cycles the board, if its lock is still valid and the lab file has a hook."""
        self.lock.check()
        values = {"probe": self.board.probe, "name": self.board.name}
        policy.power_cycle(self.board.power_cycle, self.policy, **values)

    def current_board(self) -> BenchBoard:
        """The reserved board with its current ports.

        Waits up to ``return_seconds`` for a board that is no longer found, or whose port existed
        and has disappeared. Raises :class:`TargetLost` if it does not return.
        """
        deadline = Deadline(max(0.001, self.policy.return_seconds))
        while True:
            try:
                seen = self.opening.source.find()
            except (EnvironmentMissing, TargetLost):
                seen = None
            same = seen is not None and same_serial(seen.probe, self.board.probe)
            awaited = seen is not None and self.present and not seen.present
            if seen is not None and same and (not awaited or deadline.expired):
                return seen
            if deadline.expired:
                instead = f"; found {seen} instead" if seen else ""
                raise TargetLost(
                    f"board {self.board} left the bus and did not return within "
                    f"{self.policy.return_seconds:g} s{instead}",
                    hint="check its cable and its power switch",
                )
            time.sleep(0.05)

    def health_problem(self) -> str:
        """The first problem found by the health check, or an empty string.

        The board must be on the bus, its port must open, and a reset must succeed. A port that is
        open in another program is not a problem of the board.
        """
        try:
            seen = self.current_board()
            with contextlib.suppress(PortBusy):
                self.opening.console(seen).close()
            self.opening.flasher(seen).reset()
        except HilError as error:
            return error.message.splitlines()[0]
        return ""


def require_chip(board: BenchBoard, image: Image) -> None:
    """Raises :class:`UsageError` if ``board`` is known to have another chip than the image's."""
    if board.chip and board.chip != image.chip.key:
        actual = chip_called(board.chip)
        raise UsageError(
            f"{image.path} is for the {image.chip.name}, but board {board.name} has the "
            f"{actual.name}",
            hint=f"build it for that chip (--chip {actual.key}), or choose another board: "
            "`tflm-hil boards` lists them",
        )


def flash_tool(board: BenchBoard, name: str, seconds: float, kit: BoardTable) -> Flasher:
    """The flash tool called ``name``; if empty, that of the lab file or the first installed one.

    ``seconds`` is the time limit of a programming call, ``kit`` the table of the board.
    """
    path = search_path()
    kind = runners.choose(name or board.runner, kit, path)
    host = board.remote_probe if kind is runners.Pyocd else ""
    return Flasher(kind(board.probe, host or board.probe_host, seconds, kit), path)


def pins_of(board: BenchBoard) -> Pins | None:
    """The pins of a virtual board; None for a real one."""
    if board.control is None:
        return None
    from harness.targets.board.virtual.client import VirtualPins  # noqa: PLC0415

    return VirtualPins(board.control)


def search_path() -> str:
    """The search path for flash tools: PATH, then the folder of this Python, where pyOCD may be."""
    return os.pathsep.join((os.environ.get("PATH", os.defpath), str(Path(sys.executable).parent)))
