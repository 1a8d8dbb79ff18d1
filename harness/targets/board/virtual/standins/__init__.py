"""Stand-ins for flash tools, which use the debug port of a virtual board.

They accept the arguments of the real tools, by their documentation (docs/lab.md names versions),
and refuse others; their output contains the parts that the harness evaluates. pyOCD needs no
stand-in: it connects to the debug port itself.
"""

#: Program -> module of this package with its ``run`` function.
STANDINS = {
    "nrfutil": "nrfutil",
    "nrfjprog": "nrfjprog",
    "JLinkExe": "jlink",
    "west": "west",
    "virtual-power": "power",
}
