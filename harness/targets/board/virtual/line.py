"""The serial line between a virtual board's UART and the host: timing, errors, pseudo-terminal."""

from __future__ import annotations

import os
import termios
import time
import tty
from collections.abc import Callable
from pathlib import Path

from harness.targets.board.virtual.cycles import CycleCounter
from harness.targets.board.virtual.misbehaviour import Misbehaviour

#: Start bit, eight data bits, stop bit.
_BITS = 10
#: Seconds without output after which lines held by the cycle counter are sent.
_SILENCE = 0.1
#: Baud rates by their termios constants.
_RATES = {
    getattr(termios, name): int(name[1:])
    for name in dir(termios)
    if name[0] == "B" and name[1:].isdigit() and name != "B0"
}


class SerialLine:
    """Delays bytes according to ``baud``, and applies transmission errors."""

    def __init__(self, baud: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self.baud = baud
        self._now = now
        self._waiting = bytearray()
        self._sent_until = 0.0  # end of the last byte's transmission
        self._counted = 0
        self._wrong = Misbehaviour()
        self._cycles: CycleCounter | None = None
        self._last_output = 0.0  # time of the chip's last output

    @property
    def waiting(self) -> int:
        """The number of unsent bytes."""
        return len(self._waiting)

    def push(self, data: bytes, wrong: Misbehaviour) -> None:
        """Queues output of the UART, with the errors of ``wrong``."""
        if wrong.silent:
            return
        if wrong.cycles:
            self._cycles = self._cycles or CycleCounter(wrong.cycles)
            self._last_output = self._now()
            data = self._cycles.feed(data)
        self._put(data, wrong)

    def _put(self, data: bytes, wrong: Misbehaviour) -> None:
        self._wrong = wrong
        for byte in data:
            self._counted += 1
            if wrong.drop and self._counted % wrong.drop == 0:
                continue
            if wrong.flip and self._counted % wrong.flip == 0:
                byte ^= 1 << (self._counted // wrong.flip % 8)  # noqa: PLW2901
            self._waiting.append(byte)
            if wrong.repeat and self._counted % wrong.repeat == 0:
                self._waiting.append(byte)

    def clear(self) -> None:
        """Drops the unsent bytes, after a reset of the chip."""
        self._waiting.clear()
        self._counted = 0
        self._cycles = None

    def due(self) -> bytes:
        """The bytes whose transmission has ended; they are removed from the queue."""
        now = self._now()
        if self._cycles is not None and now - self._last_output > _SILENCE:
            self._put(self._cycles.flush(), self._wrong)
        if not self._waiting:
            return b""
        # Idle time of the line does not count.
        begin = max(self._sent_until, now - 0.02)
        count = min(len(self._waiting), int((now - begin) * self.baud / _BITS))
        if not count:
            self._sent_until = begin
            return b""
        self._sent_until = begin + count * _BITS / self.baud
        data = bytes(self._waiting[:count])
        del self._waiting[:count]
        return data


def resample(data: bytes, sent: int, read: int) -> bytes:
    """``data`` sent at ``sent`` baud, as received by a UART at ``read`` baud.

    The receiver waits for a falling edge and samples the middle of each bit. It does not check the
    stop bit, as the DK's interface MCU.
    """
    if sent == read:
        return data
    wire = bytearray()
    for byte in data:
        wire.append(0)
        wire.extend(byte >> bit & 1 for bit in range(8))
        wire.append(1)
    wire.extend(b"\x01" * _BITS)
    ratio = sent / read  # wire bits per receiver bit
    received = bytearray()
    position = 0.0
    while position < len(wire) - 1:
        start = wire.find(0, int(position))
        if start < 0:
            break
        begin = max(float(start), position)
        byte = 0
        for bit in range(8):
            sample = int(begin + (bit + 1.5) * ratio)
            byte |= (wire[sample] if sample < len(wire) else 1) << bit
        received.append(byte)
        position = begin + (_BITS - 0.5) * ratio
        # The next start bit begins with a falling edge: skip low bits.
        while int(position) < len(wire) and not wire[int(position)]:
            position = int(position) + 1.0
    return bytes(received)


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

    @property
    def rate(self) -> int:
        """The baud rate set by the host; 0 if it is not a standard one."""
        return _RATES.get(termios.tcgetattr(self.master)[5], 0)

    def close(self) -> None:
        """Closes the terminal: readers of the port get an end of file."""
        self.link.unlink(missing_ok=True)
        os.close(self.master)
        os.close(self._slave)
