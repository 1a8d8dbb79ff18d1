"""The wire between a virtual board's UART and the host: its speed, and what can go wrong on it."""

from __future__ import annotations

import time
from collections.abc import Callable

from harness.targets.board.virtual.cycles import CycleCounter
from harness.targets.board.virtual.misbehaviour import Misbehaviour

#: Start bit, eight data bits, stop bit.
_BITS = 10
#: Seconds without a byte after which lines that wait are sent.
_SILENCE = 0.1


class Line:
    """Delays bytes to ``baud``, and mangles them as a misbehaviour says."""

    def __init__(self, baud: int, *, now: Callable[[], float] = time.monotonic) -> None:
        self.baud = baud
        self._now = now
        self._waiting = bytearray()
        self._sent_until = 0.0  # when the last byte has left the wire
        self._counted = 0
        self._wrong = Misbehaviour()
        self._cycles: CycleCounter | None = None
        self._heard = 0.0  # when the chip last said something

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
        """Drop what was not sent yet: the chip was reset."""
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
        # The next start bit is a falling edge: skip what is still low.
        while int(position) < len(wire) and not wire[int(position)]:
            position = int(position) + 1.0
    return bytes(heard)
