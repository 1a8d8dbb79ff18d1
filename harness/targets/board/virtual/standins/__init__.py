"""Stand-ins for the programs that flash a board: they take the same arguments, and refuse others.

They are thin clients of the board's debug port. pyOCD needs none: it reaches that port itself.

Their arguments follow the real tools' documentation (docs/lab.md names versions); their output is
as close to the real one as the harness needs to read it.
"""

#: Program -> module of this package whose ``run`` stands in for it.
STANDINS = {
    "nrfutil": "nrfutil",
    "nrfjprog": "nrfjprog",
    "JLinkExe": "jlink",
    "west": "west",
    "virtual-power": "power",
}
