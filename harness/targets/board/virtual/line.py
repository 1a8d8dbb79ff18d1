"""The serial line between a virtual board's UART and the host: its timing, its pseudo-terminal."""

from __future__ import annotations

import os
import time
import tty
from collections.abc import Callable
from pathlib import Path

#: Start bit, eight data bits, stop bit.
BITS = 10
#: Seconds of idle time of the line that count as time to send.
_SAVED_SECONDS = 0.02


class SerialLine:
    """Delays the output of the UART according to ``baud``."""

    def __init__(self, baud: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self.baud = baud
        self._now = now
        self._waiting = bytearray()
        self._sent_until = 0.0  # end of the last byte's transmission

    @property
    def waiting(self) -> int:
        """The number of unsent bytes."""
        return len(self._waiting)

    def push(self, data: bytes) -> None:
        """Queues output of the UART."""
        self._waiting += data

    def clear(self) -> None:
        """Drops the unsent bytes, after a reset of the chip."""
        self._waiting.clear()

    def due(self) -> bytes:
        """The bytes whose transmission has ended; they are removed from the queue."""
        if not self._waiting:
            return b""
        now = self._now()
        begin = max(self._sent_until, now - _SAVED_SECONDS)
        count = min(len(self._waiting), int((now - begin) * self.baud / BITS))
        self._sent_until = begin + count * BITS / self.baud
        data = bytes(self._waiting[:count])
        del self._waiting[:count]
        return data


class Terminal:
    """A pseudo-terminal with a symbolic link named like a serial port."""

    def __init__(self, link: Path, interface: int) -> None:
        self.interface = interface
        self.link = link
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(self._slave))

    def close(self) -> None:
        """Closes the terminal: readers of the port get an end of file."""
        self.link.unlink(missing_ok=True)
        os.close(self.master)
        os.close(self._slave)
