"""Stand-ins for flash tools, which use the debug port of a virtual board.

They accept the arguments of the real tools that the runners use, by the tools' documentation
(docs/lab.md names versions), and refuse others; their output contains the parts that the harness
evaluates. pyOCD needs no stand-in: it connects to the debug port itself.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from forked_python import SERVER

#: Program -> module of this package with its ``run`` function.
STANDINS = {
    "nrfutil": "nrfutil",
    "nrfjprog": "nrfjprog",
    "JLinkExe": "jlink",
    "west": "west",
    "virtual-power": "power",
}


def install(bench: Path) -> Path:
    """Writes the stand-ins for the boards of ``bench`` into its folder ``bin``; returns that."""
    folder = bench / "bin"
    folder.mkdir(parents=True)
    support = shlex.quote(f"PYTHONPATH={Path(__file__).parents[1]}")
    for tool in STANDINS:
        words = shlex.join(SERVER.program("standins", str(bench.resolve()), tool))
        (folder / tool).write_text(f'#!/bin/sh\nexec env {support} {words} "$@"\n')
        (folder / tool).chmod(0o755)
    return folder
