"""The serial line of a misbehaving board: transmission errors, a wrong baud rate, a lost board."""

from __future__ import annotations

import termios
import time
from collections.abc import Callable
from typing import Protocol

from cycle_counter import CycleCounter
from misbehaviour import Misbehaviour

from harness.targets.board.virtual.line import BITS, SerialLine, Terminal

#: Seconds without output after which lines held by the cycle counter are sent.
_SILENCE = 0.1
#: Baud rates by their termios constants.
_RATES = {
    getattr(termios, name): int(name[1:])
    for name in dir(termios)
    if name[0] == "B" and name[1:].isdigit() and name != "B0"
}


class Board(Protocol):
    """The board of a line."""

    baud: int
    wrong: Misbehaviour
    terminals: list[Terminal]

    def reset(self) -> None: ...

    def unplug(self, seconds: float) -> None: ...


class MisbehavingLine(SerialLine):
    """A line with the misbehaviours of ``board``."""

    def __init__(self, board: Board, *, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__(board.baud, now=now)
        self.sent = 0  # bytes since the last boot
        self._board = board
        self._queued = 0  # bytes since the last boot
        self._cycles: CycleCounter | None = None
        self._last_output = 0.0  # time of the chip's last output

    def push(self, data: bytes) -> None:
        wrong = self._board.wrong
        if wrong.silent:
            return
        if wrong.cycles:
            self._cycles = self._cycles or CycleCounter(wrong.cycles)
            self._last_output = self._now()
            data = self._cycles.feed(data)
        super().push(self._with_errors(data))

    def _with_errors(self, data: bytes) -> bytes:
        wrong, result = self._board.wrong, bytearray()
        for byte in data:
            self._queued += 1
            if wrong.drop and self._queued % wrong.drop == 0:
                continue
            flipped = wrong.flip and self._queued % wrong.flip == 0
            result.append(byte ^ 1 << (self._queued // wrong.flip % 8) if flipped else byte)
            if wrong.repeat and self._queued % wrong.repeat == 0:
                result.append(result[-1])
        return bytes(result)

    def clear(self) -> None:
        super().clear()
        self.sent = self._queued = 0
        self._cycles = None

    def due(self) -> bytes:
        """The bytes as the host receives them, at its own baud rate."""
        if self._cycles is not None and self._now() - self._last_output > _SILENCE:
            super().push(self._with_errors(self._cycles.flush()))
        due, wrong = super().due(), self._board.wrong
        limit = wrong.unplug_after or wrong.reset_loop  # occur after exactly so many bytes
        if limit:
            due = due[: max(1, limit - self.sent)]
        if not due:
            return b""
        self.sent += len(due)
        if wrong.unplug_after and self.sent >= wrong.unplug_after:
            self._board.wrong = wrong.without("unplug_after")
            self._board.unplug(wrong.gone / 1000)
            return b""
        rate = wrong.baud or self.baud
        received = resample(due, rate, host_rate(self._board.terminals[0]) or rate)
        if wrong.reset_loop and self.sent >= wrong.reset_loop:
            self._board.reset()
        return received


def host_rate(terminal: Terminal) -> int:
    """The baud rate set by the host; 0 if it is not a standard one."""
    return _RATES.get(termios.tcgetattr(terminal.master)[5], 0)


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
    wire.extend(b"\x01" * BITS)
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
        position = begin + (BITS - 0.5) * ratio
        # The next start bit begins with a falling edge: skip low bits.
        while int(position) < len(wire) and not wire[int(position)]:
            position = int(position) + 1.0
    return bytes(received)
