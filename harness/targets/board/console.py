"""A serial port that a thread reads continuously.

The thread starts when the port is opened, before the board is reset, so that no output is lost.
Memory is bounded: beyond the limit the oldest bytes are dropped and counted.
"""

from __future__ import annotations

import os
import re
import threading
import time
from bisect import bisect_right
from pathlib import Path
from typing import Any

from harness.base import files
from harness.base.errors import BoardUnavailable, PortBusy, TargetLost
from harness.targets.base import ConsoleChunk

#: Bytes; longest match of :meth:`SerialConsole.search` across two reads.
_OVERLAP = 64 * 1024
#: Timeout of one read of the port, and so of close().
_POLL_SECONDS = 0.1
_PROC = Path("/proc")


class ConsoleOverflow(TargetLost):
    """The image printed more than the buffer holds; never retried, since it would do so again."""


class SerialConsole:
    """An open port. ``url`` is a device or a URL for pyserial, ``limit`` the size of the buffer.

    Positions are byte counts since the port was opened.
    """

    def __init__(
        self,
        url: str,
        baud: int,
        *,
        board: str = "board",
        limit: int = 16 * 1024 * 1024,
    ) -> None:
        self.url = url
        self.baud = baud
        self._board = board
        self._limit = limit
        self._buffer = bytearray()
        self._base = 0  # position of the first byte in the buffer
        self._times: list[tuple[int, float]] = []  # (position of a chunk's first byte, its time)
        self._changed = threading.Condition()
        self._lost: BaseException | None = None
        self._closing = False
        self._port = _open(url, baud, board)
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._listen, name=f"console {url}", daemon=True)
        self._thread.start()

    @property
    def end(self) -> int:
        """The position after the last received byte."""
        with self._changed:
            return self._base + len(self._buffer)

    @property
    def dropped(self) -> int:
        """The number of bytes discarded because of the limit."""
        return self._base

    def since(self, position: int) -> bytes:
        """The bytes from ``position`` on that are still in the buffer."""
        with self._changed:
            return bytes(self._buffer[max(0, position - self._base) :])

    def chunks(self, position: int = 0) -> list[ConsoleChunk]:
        """The bytes from ``position`` on with their arrival times, in seconds since the opening."""
        with self._changed:
            arrived: list[ConsoleChunk] = []
            if not self._times:
                return arrived
            first = max(0, bisect_right(self._times, (position, float("inf"))) - 1)
            ends = [start for start, _ in self._times[first + 1 :]] + [
                self._base + len(self._buffer)
            ]
            for (start, when), end in zip(self._times[first:], ends, strict=True):
                begin = max(start, position, self._base)
                if begin < end:
                    data = bytes(self._buffer[begin - self._base : end - self._base])
                    arrived.append(ConsoleChunk(when, data))
            return arrived

    def search(self, pattern: re.Pattern[bytes], position: int, seconds: float) -> int | None:
        """Waits for ``pattern`` in the bytes from ``position`` on; returns the end of the match.

        Returns None after ``seconds``. Raises :class:`TargetLost` if the port disappears.
        """
        limit = time.monotonic() + seconds
        seen = position
        while True:
            with self._changed:
                begin = max(position, seen - _OVERLAP) - self._base
                match = pattern.search(self._buffer, max(0, begin))
                if match:
                    return self._base + match.end()
                seen = self._base + len(self._buffer)
                if self._lost is not None:
                    raise self._lost_error()
                remaining = limit - time.monotonic()
                if remaining <= 0:
                    return None
                self._wait_for_bytes(seen, remaining)

    def wait(self, seconds: float) -> None:
        """Waits for ``seconds``. Raises :class:`TargetLost` if the port disappears."""
        with self._changed:
            if self._changed.wait_for(lambda: self._lost is not None, timeout=seconds):
                raise self._lost_error()

    def _wait_for_bytes(self, position: int, seconds: float) -> None:
        """Waits, with the lock held, for bytes after ``position`` or the loss of the port."""

        def happened() -> bool:
            return self._base + len(self._buffer) > position or self._lost is not None

        self._changed.wait_for(happened, timeout=seconds)

    def write(self, data: bytes) -> None:
        """Sends ``data``. Raises :class:`TargetLost` if the port is lost or the write times out."""
        if self._lost is not None:
            raise self._lost_error()
        try:
            self._port.write(data)
            self._port.flush()
        except Exception as error:
            raise TargetLost(f"{self._board}: cannot write to {self.url}: {error}") from error

    def close(self) -> None:
        """Stops reading and closes the port; safe to call twice."""
        self._closing = True
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._port.close()

    def _listen(self) -> None:
        try:
            while not self._closing:
                # A blocking read of one byte, followed by all bytes that are available.
                if first := self._port.read(1):
                    self._take(first + self._rest(first))
        # pyserial and its URL handlers raise SerialException, OSError, TypeError (a descriptor
        # that was closed) and others when a port disappears.
        except Exception as error:
            with self._changed:
                if not self._closing:
                    self._lost = error
                self._changed.notify_all()

    def _rest(self, first: bytes) -> bytes:
        try:
            waiting = self._port.in_waiting
            return bytes(self._port.read(waiting)) if waiting else b""
        except Exception:
            self._take(first)  # received before the port disappeared
            raise

    def _take(self, data: bytes) -> None:
        now = time.monotonic() - self._started
        with self._changed:
            self._times.append((self._base + len(self._buffer), now))
            self._buffer += data
            excess = len(self._buffer) - self._limit
            if excess > 0:
                # Drop in large steps, because deleting from the front moves the rest.
                cut = min(len(self._buffer), excess + self._limit // 4)
                del self._buffer[:cut]
                self._base += cut
                keep = max(0, bisect_right(self._times, (self._base, float("inf"))) - 1)
                del self._times[:keep]
            self._changed.notify_all()

    def _lost_error(self) -> TargetLost:
        note = "" if "://" in self.url or files.exists(Path(self.url)) else " (it no longer exists)"
        return TargetLost(
            f"{self._board}: the port {self.url} disappeared during the run{note}: {self._lost}",
            hint="check cable and power; the board may return under another port name",
        )


def _open(url: str, baud: int, board: str) -> Any:
    import serial  # noqa: PLC0415 - start-up of other targets stays light

    if not url:
        raise BoardUnavailable(
            f"{board}: its serial port is unknown", hint="set it in lab.toml: port = ..."
        )
    try:
        port = serial.serial_for_url(url, do_not_open=True)
        port.baudrate = baud
        port.timeout = _POLL_SECONDS
        port.write_timeout = 5.0
        if "://" not in url:
            port.exclusive = True
        port.open()
    except Exception as error:  # URL handlers of pyserial have their own exceptions
        raise _open_error(url, board, error) from error
    return port


def _open_error(url: str, board: str, error: Exception) -> BoardUnavailable:
    if "://" in url:
        hint = "is the port server running, and reachable from here?"
        return BoardUnavailable(f"{board}: cannot open {url}: {error}", hint=hint)
    others = holders(url)
    if others:
        return PortBusy(
            f"{board}: the port {url} is open in {', '.join(others)}",
            hint="close that program; two readers of one port each get half of the bytes",
        )
    if not files.exists(Path(url)):
        return BoardUnavailable(
            f"{board}: the port {url} does not exist",
            hint="`tflm-hil boards` lists the ports; has the board been unplugged?",
        )
    return BoardUnavailable(
        f"{board}: cannot open {url}: {error}",
        hint="check your access to the port (group dialout on Linux) and that no other program "
        "uses it",
    )


def holders(device: str) -> list[str]:
    """Other processes that have ``device`` open, as ``minicom (process 1234)``; Linux only.

    The process at the other end of a pseudo-terminal is not listed. Processes of other users are
    visible to root only.
    """
    real = os.path.realpath(device)
    programs = []
    for entry in _PROC.iterdir() if files.is_folder(_PROC) else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        targets = _open_files(entry)
        if real in targets.values() and not _is_other_end(entry, targets, real):
            programs.append(f"{_name(entry)} (process {entry.name})")
    return sorted(programs)


def _open_files(process: Path) -> dict[str, str]:
    targets = {}
    try:
        for link in (process / "fd").iterdir():
            targets[link.name] = str(link.readlink())
    except OSError:
        return targets  # it ended, or is another user's
    return targets


def _is_other_end(process: Path, targets: dict[str, str], device: str) -> bool:
    index = device.removeprefix("/dev/pts/")
    if not index.isdigit():
        return False
    for number, target in targets.items():
        if not target.startswith(("/dev/ptmx", "/dev/pts/ptmx")):
            continue
        try:
            lines = (process / "fdinfo" / number).read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        if any(line.split() == ["tty-index:", index] for line in lines):
            return True
    return False


def _name(process: Path) -> str:
    try:
        return (process / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return "a program"
