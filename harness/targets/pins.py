"""The pins of a target, and the board's names for some of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from harness.base import numbers
from harness.base.errors import UsageError
from harness.base.platforms import BoardTable
from harness.base.text import short

#: Seconds that a press lasts, long enough for firmware that debounces.
PRESS_SECONDS = 0.1


class Pins(Protocol):
    """Port 0, from outside. Numbers are those of P0.n."""

    def read(self, pin: int) -> bool:
        """The level at ``pin``."""
        ...

    def drive(self, pin: int, level: bool | None) -> None:
        """Drive ``pin`` high or low; None releases it to its pull resistor or its output."""
        ...


@dataclass(frozen=True)
class Press:
    """A button held down from ``at`` on for ``seconds``, on the target's clock."""

    pin: int
    at: float = 0.0
    seconds: float = PRESS_SECONDS


def pin_number(name: str, board: BoardTable) -> int:
    """The number of a board's pin: ``button1``, ``P0.06`` or ``6``. Raises :class:`UsageError`."""
    word = name.strip().lower()
    if word in board.pins:
        return board.pins[word]
    digits, last = word.removeprefix("p0."), board.chip.gpio.pins - 1
    if digits.isdecimal() and len(digits) <= 2 and int(digits) <= last:
        return int(digits)
    raise UsageError(f"no pin {short(name)}", hint=f"P0.0 to P0.{last}, or {', '.join(board.pins)}")


def parse_press(text: str, board: BoardTable) -> Press:
    """``button1``, ``button1@0.5`` (seconds after the start) or ``button1@0.5+0.2`` (held so long).

    Raises :class:`UsageError`.
    """
    name, _, when = text.partition("@")
    start, _, duration = when.partition("+")
    pin = pin_number(name, board)
    led = next((led for led, number in board.pins.items() if number == pin and "led" in led), "")
    if led:
        raise UsageError(
            f"--press {text}: {led} is lit by the chip and cannot be pressed",
            hint="a button: " + ", ".join(one for one in board.pins if "button" in one),
        )
    try:
        return Press(
            pin,
            numbers.seconds_or_zero(start) if start else 0.0,
            numbers.seconds(duration) if duration else PRESS_SECONDS,
        )
    except ValueError as error:
        raise UsageError(f"--press {text}: {error}", hint="button1@0.5+0.2") from error
