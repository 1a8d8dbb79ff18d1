"""The other side of a virtual board: starting one, and talking to its control socket."""

from __future__ import annotations

import base64
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from harness.base import platforms
from harness.base.closing import Closing
from harness.base.errors import EnvironmentMissing, TargetLost
from harness.targets.board.discovery import BenchBoard, on_bench
from harness.targets.board.lab import BAUD, checked_name
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual import misbehaviour

_SECONDS = 30.0


class ControlError(Exception):
    """The virtual board refused; the message is its own."""


def call(folder: Path, operation: str, **arguments: Any) -> dict[str, Any]:
    """One request to the board whose state is in ``folder``.

    Raises :class:`ControlError` if it refuses or is not there.
    """
    presence = benches.read(folder)
    if presence is None:
        raise ControlError(f"no virtual board in {folder}")
    request = json.dumps({"do": operation, **arguments}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
            channel.settimeout(_SECONDS)
            channel.connect(presence.control)
            channel.sendall(request)
            channel.shutdown(socket.SHUT_WR)
            answer = bytearray()
            while chunk := channel.recv(65536):
                answer += chunk
    except OSError as error:
        raise ControlError(
            f"the virtual board {presence.serial} does not answer: {error}"
        ) from error
    try:
        reply: dict[str, Any] = json.loads(answer)
    except ValueError:
        raise ControlError(f"the virtual board {presence.serial} hung up") from None
    if "error" in reply:
        raise ControlError(str(reply["error"]))
    return reply


class _ControlSocket:
    """The control socket of the board whose state is in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _do(self, action: str, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request. Raises :class:`TargetLost`, which names ``action``, if it is refused."""
        try:
            return call(self._folder, operation, **arguments)
        except ControlError as error:
            raise TargetLost(f"could not {action}: {error}") from error


class VirtualMemory(_ControlSocket):
    """A virtual board's memory through its control socket, in place of a debug probe."""

    def read(self, address: int, size: int) -> bytes:
        """``size`` bytes from ``address``. Raises :class:`TargetLost` if there is none."""
        action = f"read {size} bytes at 0x{address:08x}"
        return base64.b64decode(self._do(action, "read", address=address, size=size)["data"])

    def write(self, address: int, data: bytes) -> None:
        """Write ``data`` to RAM. Raises :class:`TargetLost` if there is none."""
        text = base64.b64encode(data).decode()
        self._do(f"write at 0x{address:08x}", "write", address=address, data=text)

    def close(self) -> None:
        """Nothing is held."""


class VirtualPins(_ControlSocket):
    """A virtual board's pins through its control socket."""

    def read(self, pin: int) -> bool:
        """The level at ``pin``. Raises :class:`TargetLost` if there is none."""
        return bool(self._do(f"reach P0.{pin}", "pin", pin=pin)["level"])

    def drive(self, pin: int, level: bool | None) -> None:
        """Drive ``pin``; None releases it. Raises :class:`TargetLost` if there is none."""
        self._do(f"reach P0.{pin}", "drive", pin=pin, level=level)


class VirtualDk(Closing):
    """A virtual board in a process of its own, which ends with this object or with its parent.

    ``console``: how it hears the chip, at which baud rate, as text. Raises :class:`UsageError` for
    a name, a misbehaviour or a console that is none,
    :class:`EnvironmentMissing` if the process does not start.
    """

    def __init__(
        self,
        bench: Path,
        serial: str,
        *,
        name: str = "",
        misbehave: Iterable[str] = (),
        play: bool = False,
        baud: int = BAUD,
        console: str = "",
    ) -> None:
        self.bench = bench
        self.folder = bench / checked_name(serial, "the serial number")
        name = checked_name(name, "the name") if name else ""
        wrong = tuple(misbehave)
        misbehaviour.parse(wrong)
        rate = platforms.console_wiring(console).baud if console else baud
        arguments = ["--bench", str(bench), "--serial", serial, "--baud", str(rate)]
        arguments += ["--console", console] if console else []
        arguments += ["--name", name] if name else []
        arguments += ["--play"] if play else []
        for text in wrong:
            arguments += ["--misbehave", text]
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "harness.targets.board.virtual.server", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            _, words = self._process.communicate(timeout=_SECONDS)
            last = (words.decode("utf-8", "backslashreplace").splitlines() or [""])[-1]
            raise EnvironmentMissing(f"the virtual board did not start: {last}")

    def find(self) -> BenchBoard:
        """The board as discovery sees it. Raises :class:`TargetLost` while it is unplugged."""
        for board in on_bench(self.bench):
            if board.control == self.folder:
                return board
        raise TargetLost(f"the virtual board {self.folder.name} is unplugged")

    @property
    def alive(self) -> bool:
        """Whether the board's process runs."""
        return self._process.poll() is None

    def do(self, operation: str, **arguments: Any) -> dict[str, Any]:
        """One request to the board; see the server for the operations."""
        return call(self.folder, operation, **arguments)

    def close(self) -> None:
        """End the process; safe to call twice."""
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=3.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=3.0)
