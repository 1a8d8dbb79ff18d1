"""A virtual board's serial port: a pseudo-terminal with a link to it."""

from __future__ import annotations

import os
import termios
import tty
from pathlib import Path

#: Baud rates by termios' numbers for them.
_RATES = {
    getattr(termios, name): int(name[1:])
    for name in dir(termios)
    if name[0] == "B" and name[1:].isdigit() and name != "B0"
}


class Terminal:
    """One pseudo-terminal, linked under a name as a serial port would have."""

    def __init__(self, link: Path, interface: int) -> None:
        self.interface = interface
        self.link = link
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        link.unlink(missing_ok=True)
        link.symlink_to(os.ttyname(self._slave))

    @property
    def rate(self) -> int:
        """The baud rate that the host has set; 0 if it is none of the usual ones."""
        return _RATES.get(termios.tcgetattr(self.master)[5], 0)

    def close(self) -> None:
        """Hang up: readers of the port get an end of file."""
        self.link.unlink(missing_ok=True)
        os.close(self.master)
        os.close(self._slave)
