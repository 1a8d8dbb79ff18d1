"""Port 0 of a machine in Renode."""

from __future__ import annotations

from collections.abc import Callable


class RenodePins:
    """Asks the agent inside Renode; see :class:`harness.targets.pins.Pins`."""

    def __init__(self, call: Callable[[str], str]) -> None:
        self._call = call

    def read(self, pin: int) -> bool:
        """The level at ``pin``."""
        return self._call(f"pin({pin})").split()[-1] == "1"

    def drive(self, pin: int, level: bool | None) -> None:
        """Drive ``pin``; None lets it go, to its pull resistor."""
        self._call(f"drive({pin}, {level})")
