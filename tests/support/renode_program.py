#!/usr/bin/env python3
"""A program that starts as Renode does, and serves gdb: all requests succeed, nothing is emulated.

Its gdb server listens on every interface, as Renode's does; the core stands at 0x100, its memory
is zero. Standard library only: it runs by itself.
"""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
from pathlib import Path

REGISTERS = b"".join((0x1000 + number).to_bytes(4, "little") for number in range(13))
REGISTERS += b"".join(value.to_bytes(4, "little") for value in (0x20001000, 0x41, 0x100, 0x1000000))


def answer(request: str) -> str:
    """The answer of gdb's remote protocol; an empty one means that it is not supported."""
    if request == "g":
        return REGISTERS.hex()
    if request.startswith("m"):
        return "00" * int(request.partition(",")[2], 16)
    if request[:1] in ("?", "c"):
        return "S05"
    return "OK" if request[:1] in ("H", "D", "Z", "z", "G", "P") else ""


def serve(server: socket.socket) -> None:
    """One debugger after another."""
    while True:
        connection, _ = server.accept()
        with connection:
            rest = b""
            while data := connection.recv(4096):
                rest += data
                while packet := re.search(rb"\$([^#]*)#..", rest):
                    rest = rest[packet.end() :]
                    said = answer(packet[1].decode()).encode()
                    connection.sendall(b"+$%s#%02x" % (said, sum(said) & 0xFF))


def main() -> None:
    """Answer the harness until it closes its end."""
    start = Path(sys.argv[-1]).read_text()
    folder = Path(os.environ["TMPDIR"]) / f"renode-{os.getpid()}"
    folder.mkdir()
    requests, answers = map(int, re.search(r"serve\((\d+), (\d+)\)", start).groups())
    os.write(answers, b"done\n")
    console = [b"hello\n".hex()]
    for line in os.fdopen(requests):
        if match := re.search(r"StartGdbServer (\d+)", line):
            server = socket.create_server(("0.0.0.0", int(match[1])))
            threading.Thread(target=serve, args=(server,), daemon=True).start()
        if "send_debug_console()" in line and console:
            os.write(answers, console.pop().encode() + b"\n")
        os.write(answers, b"done\n")


if __name__ == "__main__":
    if "--version" in sys.argv:
        print("Renode v1.17.0.1234")
    else:
        main()
