"""Stand-ins for the programs that flash a board: they take the same arguments, and refuse others.

What each takes is written down from the real tools' documentation (docs/lab.md names versions);
what they print is only as close as the harness's reading of it needs.
"""

#: Program -> module of this package whose ``run`` stands in for it.
STANDINS = {
    "nrfutil": "nrfutil",
    "nrfjprog": "nrfjprog",
    "pyocd": "pyocd",
    "JLinkExe": "jlink",
    "west": "west",
    "virtual-power": "power",
}
