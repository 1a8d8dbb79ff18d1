"""The serial line between a virtual board's UART and the host: speed, faults, pseudo-terminal."""

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
#: Seconds without a byte after which lines that wait are sent.
_SILENCE = 0.1
#: Baud rates by termios' numbers for them.
_RATES = {
    getattr(termios, name): int(name[1:])
    for name in dir(termios)
    if name[0] == "B" and name[1:].isdigit() and name != "B0"
}


class SerialLine:
    """Delays bytes to ``baud``, and mangles them as a misbehaviour sets."""

    def __init__(self, baud: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self.baud = baud
        self._now = now
        self._waiting = bytearray()
        self._sent_until = 0.0  # when the last byte has left the wire
        self._counted = 0
        self._wrong = Misbehaviour()
        self._cycles: CycleCounter | None = None
        self._heard = 0.0  # when the chip last sent something

    @property
    def waiting(self) -> int:
        """Bytes that have not gone out yet."""
        return len(self._waiting)

    def push(self, data: bytes, wrong: Misbehaviour) -> None:
        """Queue the UART's output, with the errors of ``wrong`` in it."""
        if wrong.silent:
            return
        if wrong.cycles:
            self._cycles = self._cycles or CycleCounter(wrong.cycles)
            self._heard = self._now()
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
        """Drop the bytes that were not sent yet: the chip was reset."""
        self._waiting.clear()
        self._counted = 0
        self._cycles = None

    def due(self) -> bytes:
        """The bytes that have left the wire by now."""
        now = self._now()
        if self._cycles is not None and now - self._heard > _SILENCE:
            self._put(self._cycles.flush(), self._wrong)
        if not self._waiting:
            return b""
        # Time while the line was idle does not count.
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
    """``data`` sent at ``sent`` baud, as a UART receives it that reads at ``read`` baud.

    The receiver waits for a falling edge and samples the middle of each of its own bits; a stop
    bit that is low is not checked, as on the DK's interface MCU.
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
    heard = bytearray()
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
        heard.append(byte)
        position = begin + (_BITS - 0.5) * ratio
        # The next start bit is a falling edge: skip the bits that are still low.
        while int(position) < len(wire) and not wire[int(position)]:
            position = int(position) + 1.0
    return bytes(heard)


class Terminal:
    """One pseudo-terminal, linked under a name as a serial port would have."""

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
        """The baud rate that the host has set; 0 if it is none of the usual ones."""
        return _RATES.get(termios.tcgetattr(self.master)[5], 0)

    def close(self) -> None:
        """Hang up: readers of the port get an end of file."""
        self.link.unlink(missing_ok=True)
        os.close(self.master)
        os.close(self._slave)
