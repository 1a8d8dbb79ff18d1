"""A serial port of which a test holds the other end."""

from __future__ import annotations

import os
import tty


class SerialPty:
    """The device's end of a serial port."""

    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)

    def send(self, data: bytes) -> None:
        while data:
            data = data[os.write(self.master, data) :]

    def unplug(self) -> None:
        master, slave = self.master, self.slave
        self.master = self.slave = -1
        os.close(slave)
        os.close(master)

    def close(self) -> None:
        if self.master >= 0:
            self.unplug()
