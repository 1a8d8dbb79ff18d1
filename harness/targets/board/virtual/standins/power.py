"""``virtual-power SERIAL``: the switch of a virtual board's supply."""

from __future__ import annotations

from pathlib import Path

from harness.targets.board.virtual.standins.common import ToolError, ToolProbe


def run(bench: Path, arguments: list[str]) -> None:
    """Off and on again."""
    if len(arguments) != 1:
        raise ToolError("virtual-power SERIAL", 2)
    ToolProbe(bench, arguments[0]).power()
