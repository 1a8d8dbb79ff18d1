"""Misbehaviours of a board, each modelled on a fault of real benches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from harness.base import numbers
from harness.base.errors import UsageError
from harness.base.text import short


@dataclass(frozen=True)
class Misbehaviour:
    """Misbehaviours; 0 switches one off. Those that are "times" count down to zero.

    ============== ==========================================================================
    unplug_after   console bytes after boot until the board leaves the bus (once)
    gone           duration of its absence in milliseconds
    rename         1: it returns with other port names
    baud           the UART sends at this rate, independent of the host's setting
    flip           one bit of every n-th console byte is inverted
    drop           every n-th console byte is lost
    repeat         every n-th console byte is sent twice
    silent         1: the UART sends nothing
    reset_loop     console bytes after which the chip resets, every time
    brown_out      times that the supply fails while flash is written
    unplug_flash   writes and erases of flash until the board leaves the bus (once)
    locked         1: the debug port is locked (UICR.APPROTECT) until the chip is erased
    busy           1: another process has the console port open
    flash_fails    times that the flash tool fails
    flash_hangs    times that the flash tool hangs
    flash_lies     times that nothing is written, but the tool reads back the expected data
    tool_lies      1: nothing is ever written, but all tools read back the expected data
    cycles         seed of the operators' cycles per instruction (default: one cycle each)
    ============== ==========================================================================
    """

    unplug_after: int = 0
    gone: int = 500
    rename: int = 0
    baud: int = 0
    flip: int = 0
    drop: int = 0
    repeat: int = 0
    silent: int = 0
    reset_loop: int = 0
    brown_out: int = 0
    unplug_flash: int = 0
    locked: int = 0
    busy: int = 0
    flash_fails: int = 0
    flash_hangs: int = 0
    flash_lies: int = 0
    tool_lies: int = 0
    cycles: int = 0

    def counted_down(self, name: str) -> Misbehaviour:
        """A copy with ``name`` reduced by one, at least 0."""
        return replace(self, **{name: max(0, getattr(self, name) - 1)})

    def without(self, name: str) -> Misbehaviour:
        """A copy with ``name`` set to 0."""
        return replace(self, **{name: 0})


NAMES = tuple(field.name for field in fields(Misbehaviour))


def parse(texts: Iterable[str]) -> Misbehaviour:
    """The misbehaviours in ``name=number`` (``unplug-after=300``) or ``name`` (1).

    Raises :class:`UsageError` for an unknown name, and for a value that is not a number.
    """
    values: dict[str, int] = {}
    for text in texts:
        name, has_number, number = text.partition("=")
        key = name.strip().replace("-", "_")
        if key not in NAMES:
            names = ", ".join(n.replace("_", "-") for n in NAMES)
            raise UsageError(f"no misbehaviour {name!r}", hint=f"one of {names}")
        try:
            values[key] = numbers.count_or_zero(int(number)) if has_number else 1
        except ValueError:
            raise UsageError(f"{name} takes a number, not {short(number)}") from None
    return Misbehaviour(**values)
