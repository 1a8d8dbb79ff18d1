"""``python -m harness`` and the console script ``tflm-hil``."""

from __future__ import annotations

import sys

from harness.cli import main


def run() -> None:
    """Run the command line and leave the process with its exit code."""
    sys.exit(main())


if __name__ == "__main__":
    run()
