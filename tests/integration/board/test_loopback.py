"""The servers that stand in for a lab's network answer, and end with their block."""

from __future__ import annotations

import os
import pty
import subprocess
import tty
from pathlib import Path

import needs
import pytest
import serial
from loopback import labgrid, ser2net


@pytest.mark.needs("ser2net")
def test_ser2net_carries_bytes_of_a_terminal(tmp_path):
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with ser2net(os.ttyname(theirs), tmp_path) as address:
        # A terminal has no modem lines, and ser2net does not answer who sets one.
        port = serial.serial_for_url(address, timeout=10, rtscts=True, dsrdtr=True)
        port.write(b"ping")
        assert os.read(ours, 4) == b"ping"
        os.write(ours, b"pong")
        assert port.read(4) == b"pong"
        port.close()
    with pytest.raises(OSError):
        serial.serial_for_url(address, timeout=1)
    os.close(ours)
    os.close(theirs)


@pytest.mark.slow
def test_labgrid_lends_a_place_with_a_serial_port(tmp_path):
    exports = "shelf:\n  RawSerialPort:\n    port: /dev/null\n    speed: 115200\n"
    programs = Path(needs.require("labgrid")).parent
    with labgrid(programs, tmp_path, exports) as environment:

        def client(*words: str) -> str:
            done = subprocess.run(
                ["labgrid-client", *words], env={**os.environ, **environment}, text=True,
                capture_output=True, check=True,
            )  # fmt: skip
            return done.stdout

        client("-p", "dk", "create")
        client("-p", "dk", "add-match", "bench/shelf/*")
        client("-p", "dk", "acquire")
        assert "/dev/null" in client("-p", "dk", "show")
        client("-p", "dk", "release")
