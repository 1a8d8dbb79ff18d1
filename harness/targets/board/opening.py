"""Opening a session on a board: lock, flash, console, reset; undone if a step fails.

A failure of the bench is tried again: while a session is opened, and, with :meth:`Opening.run`,
until the action on it is done.
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
from harness.base.platforms import BoardTable, ChipTable, board_with, chip_called
from harness.elf import Image
from harness.targets.board import labgrid, policy, runners
from harness.targets.board.console import SerialConsole
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.flash import Flasher
from harness.targets.board.flash_image import FlashImage, prepare
from harness.targets.board.lab import Lab, Policy, same_serial
from harness.targets.board.lock import ProbeLock
from harness.targets.board.probe import ProbeMemory, PyocdMemory
from harness.targets.board.session import BoardSession, Connection, boot_position
from harness.targets.pins import Pins

Result = TypeVar("Result")
_log = logging.getLogger(__name__)


class BoardSource(Protocol):
    """Finds the board of a session: on USB, in the lab file, on a bench."""

    def find(self) -> BenchBoard:
        """The board as it is now.

        Raises :class:`EnvironmentMissing` or :class:`TargetLost` if it is not attached.
        """
        ...


@dataclass(frozen=True)
class Opening:
    """Everything that one session on a board needs.

    ``source`` is searched before each attempt: a board that was power-cycled may have another port
    name, and is recognised by its probe's serial number. ``wait`` is the time in seconds for which
    a board in use is waited for.
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
        """The board with the image's chip."""
        return board_with(self.image.chip.key)

    def open(self) -> BoardSession:
        """An open session; on any error everything acquired so far is released."""
        with ExitStack() as held:
            reservation = held.enter_context(self._reservation())
            session = reservation.attempt(reservation.session)
            session.keep(held.pop_all())
            return session

    def run(self, action: Callable[[BoardSession], Result]) -> Result:
        """The result of ``action`` on a session of its own.

        A failure of the bench, during ``action`` too, is tried again with a new session. The board
        stays locked from the first attempt to the last.
        """
        with self._reservation() as reservation:

            def once() -> Result:
                with reservation.session() as session:
                    return action(session)

            return reservation.attempt(once)

    @contextmanager
    def _reservation(self) -> Iterator[_Reservation]:
        """Acquire place and lock of the board; refuse one in quarantine."""
        board = self._seen()
        require_chip(board, self.image)
        with ExitStack() as resources:
            place = labgrid.acquired(board.labgrid, search_path=search_path(board))
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

    def _seen(self) -> BenchBoard:
        """The board, once its probe is attached.

        Raises :class:`UsageError` for a probe that the lab file names and nobody ever sees: that
        is not a failure of the board, and does not set it aside.
        """
        deadline = Deadline(max(0.001, self.lab.policy.return_seconds))
        while (board := self.source.find()).unseen:
            if deadline.expired:
                raise UsageError(
                    f"{self.lab.path or 'the lab file'} names board {board.name} by the probe "
                    f"{board.probe}, which is not attached",
                    hint="correct `probe`, or plug it in: `tflm-hil boards` lists what there is; "
                    "a board elsewhere needs `port`, `probe_host` or `labgrid`",
                )
            time.sleep(0.05)
        return board

    def console(self, board: BenchBoard) -> SerialConsole:
        """The board's console, at the option's baud rate or the board's."""
        baud = self.baud or board.rate
        return SerialConsole(board.port, baud, board=board.name, limit=self.console_limit)

    def flasher(self, board: BenchBoard) -> Flasher:
        """The board's flash tool: the option's, the lab file's, or the first that is installed."""
        return flash_tool(board, self.runner, self.lab.policy.flash_seconds, self.kit)


@dataclass(frozen=True)
class _Reservation:
    """A board that is locked for one opening, and the file to flash."""

    opening: Opening
    board: BenchBoard
    present: bool  # its port was there when it was locked
    lock: ProbeLock
    image: FlashImage

    @property
    def policy(self) -> Policy:
        """The lab's policy."""
        return self.opening.lab.policy

    def session(self) -> BoardSession:
        """Flash, open the console, reset."""
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
            memory, pins = probe_of(board, self.opening.image.chip)
            opened.callback(memory.close)
            resources = opened.pop_all()
            return BoardSession(
                Connection(board, console, flasher, self.lock, memory, pins, resources),
                self.opening.image,
                report,
                start=start,
                settled=settled,
            )

    def attempt(self, once: Callable[[], Result]) -> Result:
        """The result of ``once``, repeated as the policy allows; quarantine for a sick board."""
        try:
            return policy.attempt(once, self.policy, recover=self.recover)
        except policy.FINAL:
            raise
        except policy.INFRASTRUCTURE as error:
            examined = self.policy.quarantine and self.lock.ours
            if examined and (ill := self.illness()):
                first = error.message.splitlines()[0]
                reason = ill if first == ill else f"{ill}; before that: {first}"
                quarantine = policy.Quarantine(self.opening.lab.state)
                quarantine.add(self.board.name, self.board.probe, reason)
                note = f"the board failed its health check ({ill}) and is now in quarantine"
                error.hint = f"{error.hint}; {note}" if error.hint else note
            raise

    def recover(self) -> None:
        """Power-cycle the board, if it is still ours and the lab has a hook for it."""
        self.lock.check()
        values = {"probe": self.board.probe, "name": self.board.name}
        policy.power_cycle(self.board.power_cycle, self.policy, **values)

    def current_board(self) -> BenchBoard:
        """The same board as it is now, perhaps with another port name.

        A board that left the bus gets some time to come back: one that is not found any more, and
        one that the lab file names and whose port is gone, if it was there before. Raises
        :class:`TargetLost`.
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
                instead = f"; {seen} is there instead" if seen else ""
                raise TargetLost(
                    f"board {self.board} left the bus and did not come back within "
                    f"{self.policy.return_seconds:g} s{instead}",
                    hint="check its cable and its power switch",
                )
            time.sleep(0.05)

    def illness(self) -> str:
        """The result of the health check: the first problem, or an empty string.

        The check covers the needs of every run: the board is on the bus, its port opens, a reset
        works. A port that another program has open is not the board's fault.
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
    """Raises :class:`UsageError` if ``board`` is known to carry another chip than the image's."""
    if board.chip and board.chip != image.chip.key:
        carried = chip_called(board.chip)
        raise UsageError(
            f"{image.path} is for the {image.chip.name}, and board {board.name} carries the "
            f"{carried.name}",
            hint=f"build it for that chip (--chip {carried.key}), or choose another board: "
            "`tflm-hil boards` lists them",
        )


def flash_tool(board: BenchBoard, name: str, seconds: float, kit: BoardTable) -> Flasher:
    """The flash tool of a name; without one the lab file's, or the first that is installed.

    ``seconds`` limit a call that programs; ``kit`` is the board with the image's chip.
    """
    path = search_path(board)
    kind = runners.choose(name or board.runner, kit, path)
    host = board.remote_probe if kind is runners.Pyocd else ""
    return Flasher(kind(board.probe, host or board.probe_host, seconds, kit), path)


def probe_of(board: BenchBoard, chip: ChipTable) -> tuple[ProbeMemory, Pins | None]:
    """Memory and pins of a board through its probe; a virtual board's through its control socket.

    A real board has no pins.
    """
    if board.control is None:
        return PyocdMemory(board.probe, chip), None
    from harness.targets.board.virtual.client import VirtualMemory, VirtualPins  # noqa: PLC0415

    return VirtualMemory(board.control), VirtualPins(board.control)


def search_path(board: BenchBoard) -> str | None:
    """Where flash tools are looked up: a virtual board's stand-ins come first.

    pyOCD may be installed beside this Python, whose folder need not be on PATH.
    """
    if not board.tools:
        return None
    beside = str(Path(sys.executable).parent)
    return os.pathsep.join((board.tools, os.environ.get("PATH", os.defpath), beside))
