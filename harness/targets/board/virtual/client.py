"""The host's side of a virtual board: starts its process, and uses its control socket."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.base import platforms, process
from harness.base.closing import Closing
from harness.base.errors import EnvironmentMissing, TargetLost
from harness.base.platforms import BoardTable
from harness.base.process import RunningProgram
from harness.targets.board.discovery import BenchBoard, on_bench
from harness.targets.board.lab import checked_name
from harness.targets.board.virtual import bench as benches

_SECONDS = 30.0
_START_SECONDS, _END_SECONDS = 120.0, 3.0  # wall-clock limits of the process


class ControlError(Exception):
    """A virtual board refused a request, or does not answer."""


def call(folder: Path, operation: str, **arguments: Any) -> dict[str, Any]:
    """The reply to a request, sent to the board whose state is in ``folder``.

    Raises :class:`ControlError` if it refuses or does not answer.
    """
    published = benches.read(folder)
    if published is None:
        raise ControlError(f"no virtual board in {folder}")
    request = json.dumps({"do": operation, **arguments}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.settimeout(_SECONDS)
            channel.connect(published.control)
            channel.sendall(request)
            channel.shutdown(socket.SHUT_WR)
            answer = bytearray()
            while chunk := channel.recv(65536):
                answer += chunk
    except OSError as error:
        raise ControlError(
            f"the virtual board {published.serial} does not answer: {error}"
        ) from error
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise ControlError(f"the virtual board {published.serial} closed the connection") from None
    if "error" in reply:
        raise ControlError(str(reply["error"]))
    return reply


class VirtualPins:
    """The pins of a virtual board, accessed through its control socket."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _do(self, operation: str, **arguments: Any) -> dict[str, Any]:
        try:
            return call(self._folder, operation, **arguments)
        except ControlError as error:
            raise TargetLost(f"could not reach P0.{arguments['pin']}: {error}") from error

    def read(self, pin: int) -> bool:
        """The level of ``pin``. Raises :class:`TargetLost` if the board is lost."""
        return bool(self._do("pin", pin=pin)["level"])

    def drive(self, pin: int, level: bool | None) -> None:
        """Drives ``pin``; None releases it. Raises :class:`TargetLost` if the board is lost."""
        self._do("drive", pin=pin, level=level)


class VirtualDk(Closing):
    """A virtual board in a separate process, which ends with this object or with its parent.

    ``kit`` is its table (default: the nRF9160 DK's), ``baud`` 0 its usual rate, ``console`` the
    wiring of the console with its baud rate, as text, ``port`` the TCP port of its debug port (0:
    any). With ``registers`` the debug port offers no block transfers of memory. Raises
    :class:`UsageError` for an invalid name or console, :class:`EnvironmentMissing` if the process
    does not start.
    """

    #: The arguments of Python for the board's process.
    program: Sequence[str] = ("-P", "-m", "harness.targets.board.virtual.server")

    def __init__(
        self,
        bench: Path,
        serial: str,
        *,
        name: str = "",
        baud: int = 0,
        console: str = "",
        kit: BoardTable | None = None,
        port: int = 0,
        registers: bool = False,
    ) -> None:
        self.bench = bench
        self.folder = bench / checked_name(serial, "the serial number")
        name = checked_name(name, "the name") if name else ""
        kit = kit or platforms.board_table()
        rate = platforms.console_wiring(console, kit).baud if console else baud
        arguments = ["--bench", str(bench), "--serial", serial, "--kit", kit.key]
        arguments += ["--baud", str(rate)] if rate else []
        arguments += ["--console", console] if console else []
        arguments += ["--name", name] if name else []
        arguments += ["--port", str(port)] if port else []
        arguments += ["--registers"] if registers else []
        self._process = RunningProgram(
            [sys.executable, *self.program, *arguments],
            environment={"PYTHONUNBUFFERED": "1"}, open_input=True, grace=_END_SECONDS,
        )  # fmt: skip
        if not self._process.wait_for("ready", _START_SECONDS):
            self._process.close()
            last = process.last_line(self._process.output, "it printed nothing")
            raise EnvironmentMissing(f"the virtual board did not start: {last}")

    def find(self) -> BenchBoard:
        """The board with its current ports. Raises :class:`TargetLost` if it is not on the bus."""
        for board in on_bench(self.bench):
            if board.control == self.folder:
                return board
        raise TargetLost(f"the virtual board {self.folder.name} is not on the bus")

    @property
    def alive(self) -> bool:
        """True while the board's process runs."""
        return self._process.alive

    def close(self) -> None:
        """Ends the process; safe to call twice."""
        self._process.close()
