"""``python -m standins BENCH TOOL ARGUMENTS...``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from standins import STANDINS
from standins.common import finish


def main() -> None:
    """Runs the tool given on the command line."""
    bench, tool, *arguments = sys.argv[1:]
    run = import_module(f"standins.{STANDINS[tool]}").run
    finish(lambda: run(Path(bench), arguments))


if __name__ == "__main__":
    main()
