"""A serial port that a thread reads all the time.

The thread starts when the port is opened (before the board is reset), so that nothing is lost while
the caller does something else. Memory is bounded: beyond the limit the oldest bytes are dropped and
counted.
"""

from __future__ import annotations

import os
import re
import threading
import time
from bisect import bisect_right
from pathlib import Path
from typing import Any

from harness.base.errors import BoardUnavailable, PortBusy, TargetLost
from harness.targets.base import ConsoleChunk

#: Longest match that :meth:`SerialConsole.search` finds across reads.
_OVERLAP = 64 * 1024
#: How long one read of the port waits; the thread notices close() within this time.
_POLL_SECONDS = 0.1
_PROC = Path("/proc")


class ConsoleOverflow(TargetLost):
    """The image printed more than is kept; it would again, so nothing is tried again."""


class SerialConsole:
    """One open port. ``url`` is a device or anything else that pyserial opens.

    ``limit`` bounds the bytes kept. Positions are counted in bytes since the port was opened and
    never go back.
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
        self._held = bytearray()
        self._base = 0  # position of the first byte held
        self._times: list[tuple[int, float]] = []  # (position of a chunk's first byte, its time)
        self._news = threading.Condition()
        self._lost: BaseException | None = None
        self._closing = False
        self._port = _open(url, baud, board)
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._listen, name=f"console {url}", daemon=True)
        self._thread.start()

    @property
    def end(self) -> int:
        """Position after the last byte that arrived."""
        with self._news:
            return self._base + len(self._held)

    @property
    def dropped(self) -> int:
        """Bytes that were discarded because more than the limit had arrived."""
        return self._base

    @property
    def lost(self) -> BaseException | None:
        """The error that ended listening, or None while the port is alive."""
        return self._lost

    def since(self, position: int) -> bytes:
        """The bytes from ``position`` on that are still held."""
        with self._news:
            return bytes(self._held[max(0, position - self._base) :])

    def chunks(self, position: int = 0) -> list[ConsoleChunk]:
        """The bytes from ``position`` on with arrival times, in seconds since the opening."""
        with self._news:
            arrived: list[ConsoleChunk] = []
            if not self._times:
                return arrived
            first = max(0, bisect_right(self._times, (position, float("inf"))) - 1)
            ends = [start for start, _ in self._times[first + 1 :]] + [self._base + len(self._held)]
            for (start, when), end in zip(self._times[first:], ends, strict=True):
                begin = max(start, position, self._base)
                if begin < end:
                    data = bytes(self._held[begin - self._base : end - self._base])
                    arrived.append(ConsoleChunk(when, data))
            return arrived

    def search(self, pattern: re.Pattern[bytes], position: int, seconds: float) -> int | None:
        """Wait for ``pattern`` in the bytes from ``position`` on; the position after the match.

        None after ``seconds``. Raises :class:`TargetLost` if the port goes away first.
        """
        limit = time.monotonic() + seconds
        seen = position
        while True:
            with self._news:
                begin = max(position, seen - _OVERLAP) - self._base
                match = pattern.search(self._held, max(0, begin))
                if match:
                    return self._base + match.end()
                seen = self._base + len(self._held)
                if self._lost is not None:
                    raise self._gone()
                remaining = limit - time.monotonic()
                if remaining <= 0:
                    return None
                self._arrival(seen, remaining)

    def wait(self, seconds: float) -> None:
        """Let ``seconds`` pass. Raises :class:`TargetLost` as soon as the port goes away."""
        with self._news:
            if self._news.wait_for(lambda: self._lost is not None, timeout=seconds):
                raise self._gone()

    def _arrival(self, position: int, seconds: float) -> None:
        """Wait (holding the lock) for bytes after ``position``, or for the port to go away."""

        def happened() -> bool:
            return self._base + len(self._held) > position or self._lost is not None

        self._news.wait_for(happened, timeout=seconds)

    def write(self, data: bytes) -> None:
        """Send ``data``. Raises :class:`TargetLost` if the port is gone or takes nothing."""
        if self._lost is not None:
            raise self._gone()
        try:
            self._port.write(data)
            self._port.flush()
        except Exception as error:
            raise TargetLost(f"{self._board}: cannot write to {self.url}: {error}") from error

    def close(self) -> None:
        """Stop listening and close the port; safe to call twice."""
        self._closing = True
        if self._thread is not threading.current_thread():
            self._thread.join(timeout=5.0)
        self._port.close()

    def _listen(self) -> None:
        try:
            while not self._closing:
                # One byte ends the wait; the bytes that came with it are read next.
                if first := self._port.read(1):
                    self._take(first + self._rest(first))
        # pyserial and its URL handlers raise SerialException, OSError, TypeError (a descriptor
        # that vanished) and others when a port goes away; all of them mean the same here.
        except Exception as error:
            with self._news:
                if not self._closing:
                    self._lost = error
                self._news.notify_all()

    def _rest(self, first: bytes) -> bytes:
        try:
            waiting = self._port.in_waiting
            return bytes(self._port.read(waiting)) if waiting else b""
        except Exception:
            self._take(first)  # it arrived before the port went away
            raise

    def _take(self, data: bytes) -> None:
        now = time.monotonic() - self._started
        with self._news:
            self._times.append((self._base + len(self._held), now))
            self._held += data
            excess = len(self._held) - self._limit
            if excess > 0:
                # Drop in large steps: deleting from the front moves the rest.
                cut = min(len(self._held), excess + self._limit // 4)
                del self._held[:cut]
                self._base += cut
                keep = max(0, bisect_right(self._times, (self._base, float("inf"))) - 1)
                del self._times[:keep]
            self._news.notify_all()

    def _gone(self) -> TargetLost:
        note = "" if "://" in self.url or Path(self.url).exists() else " (it no longer exists)"
        return TargetLost(
            f"{self._board}: the port {self.url} went away in the middle of the run{note}: "
            f"{self._lost}",
            hint="check cable and power; the board may come back under another port name",
        )


def _open(url: str, baud: int, board: str) -> Any:
    import serial  # noqa: PLC0415 - start-up of other targets stays light

    if not url:
        raise BoardUnavailable(
            f"{board}: its serial port is unknown", hint="name it in lab.toml: port = ..."
        )
    try:
        port = serial.serial_for_url(url, do_not_open=True)
        port.baudrate = baud
        port.timeout = _POLL_SECONDS
        port.write_timeout = 5.0
        if "://" not in url:
            port.exclusive = True
        port.open()
    # Every URL handler of pyserial has exceptions of its own.
    except Exception as error:
        raise _not_open(url, board, error) from error
    return port


def _not_open(url: str, board: str, error: Exception) -> BoardUnavailable:
    if "://" in url:
        hint = "is the port server running, and reachable from here?"
        return BoardUnavailable(f"{board}: cannot open {url}: {error}", hint=hint)
    others = holders(url)
    if others:
        return PortBusy(
            f"{board}: the port {url} is open in {', '.join(others)}",
            hint="close that program; two readers of one port each get half of the bytes",
        )
    if not Path(url).exists():
        return BoardUnavailable(
            f"{board}: the port {url} does not exist",
            hint="`tflm-hil boards` lists the ports; has the board been unplugged?",
        )
    return BoardUnavailable(
        f"{board}: cannot open {url}: {error}",
        hint="may you use the port (group dialout on Linux)? Is another program using it?",
    )


def holders(device: str) -> list[str]:
    """Other processes that have ``device`` open: ``minicom (process 1234)``; on Linux alone.

    The process behind a pseudo-terminal is its other end and not a holder. Processes of other
    users are seen by root alone.
    """
    real = os.path.realpath(device)
    programs = []
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
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
