"""``python -m harness.targets.board.virtual.standins BENCH TOOL ARGUMENTS...``."""

from __future__ import annotations

import sys
from pathlib import Path

from harness.targets.board.virtual.standins import jlink, nrfjprog, nrfutil, pyocd, west
from harness.targets.board.virtual.standins.common import Refused, Target, finish


def _power(bench: Path, arguments: list[str]) -> None:
    if len(arguments) != 1:
        raise Refused("virtual-power SERIAL", 2)
    Target(bench, arguments[0]).power()


def main() -> None:
    """Find the tool and run it."""
    bench, tool, *arguments = sys.argv[1:]
    tools = {
        "nrfutil": nrfutil.run,
        "nrfjprog": nrfjprog.run,
        "pyocd": pyocd.run,
        "JLinkExe": jlink.run,
        "west": west.run,
        "virtual-power": _power,
    }
    finish(lambda: tools[tool](Path(bench), arguments))


if __name__ == "__main__":
    main()
