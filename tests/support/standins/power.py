"""``virtual-power SERIAL``: power-cycles a virtual board."""

from __future__ import annotations

from pathlib import Path

from standins.common import ToolError, ToolProbe


def run(bench: Path, arguments: list[str]) -> None:
    """Power-cycles the board with the given serial number."""
    if len(arguments) != 1:
        raise ToolError("virtual-power SERIAL", 2)
    ToolProbe(bench, arguments[0]).power()
