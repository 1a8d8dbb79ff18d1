"""``python -m harness`` and the console script ``tflm-hil``."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import suppress

from harness.cli import main

_INTERRUPTED = {128 + number for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}


def run() -> None:
    """Run the command line and leave the process with its exit code."""
    code = main()
    if code in _INTERRUPTED:
        # All has been released by now. Taking the interpreter down costs seconds on a busy machine.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):
                if stream is not None:
                    stream.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    run()
