"""gdb's own backtrace of a machine that stands still: gdb reads it over its remote protocol."""

from __future__ import annotations

import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.base.core_state import CoreState
from harness.elf import Image

_REGISTERS = [f'<reg name="r{n}" bitsize="32"/>' for n in range(13)]
_REGISTERS += [f'<reg name="{n}" bitsize="32"/>' for n in ("sp", "lr", "pc")]
_REGISTERS.append('<reg name="xpsr" bitsize="32"/>')
_SYSTEM = [f'<reg name="{n}" bitsize="32"/>' for n in ("msp", "psp")]
_TARGET = (
    '<?xml version="1.0"?><target><architecture>arm</architecture>'
    f'<feature name="org.gnu.gdb.arm.m-profile">{"".join(_REGISTERS)}</feature>'
    f'<feature name="org.gnu.gdb.arm.m-system">{"".join(_SYSTEM)}</feature></target>'
)
_SCRIPT = """
import gdb
for command in ("set pagination off", "set backtrace past-main on", "set architecture arm"):
    gdb.execute(command)
for _ in range({count}):
    gdb.execute("target remote 127.0.0.1:{port}", to_string=True)
    print("STACK")
    frame = gdb.newest_frame()
    while frame is not None:
        sal, function = frame.find_sal(), frame.function()
        name = (function.linkage_name if function else frame.name()) or ""
        file = sal.symtab.filename if sal.symtab else ""
        if frame.type() == gdb.SIGTRAMP_FRAME:
            name, file = "{signal}", ""
        if frame.type() != gdb.TAILCALL_FRAME:
            print("FRAME", name, file.rpartition("/")[2], sal.line if file else 0, sep="\\t")
        frame = frame.older()
    gdb.execute("disconnect", to_string=True)
"""
SIGNAL = "<signal handler called>"


@dataclass(frozen=True)
class GdbFrame:
    """A frame of gdb's backtrace; ``file`` without its folders, "" and 0 if there is none."""

    function: str  # C++: mangled
    file: str = ""
    line: int = 0
    address: int = field(default=0, compare=False)


def backtraces(gdb: str, image: Image, states: Sequence[CoreState]) -> list[list[GdbFrame]]:
    """gdb's backtrace of each state, innermost frames first.

    Frames that gdb makes up for tail calls are left out: they left nothing on the stack.
    """
    with socket.create_server(("127.0.0.1", 0)) as server, tempfile.TemporaryDirectory() as folder:
        port = server.getsockname()[1]
        script = Path(folder) / "walk.py"
        script.write_text(_SCRIPT.format(count=len(states), port=port, signal=SIGNAL))
        threading.Thread(target=_serve_all, args=(server, image, states), daemon=True).start()
        done = subprocess.run(
            [gdb, "-nx", "-batch", str(Path(image.path)), "-x", str(script)],
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    stacks: list[list[GdbFrame]] = []
    for line in done.stdout.splitlines():
        kind, *fields = line.split("\t")
        if kind == "STACK":
            stacks.append([])
        elif kind == "FRAME":
            stacks[-1].append(GdbFrame(fields[0], fields[1], int(fields[2])))
    return stacks


def _serve_all(server: socket.socket, image: Image, states: Sequence[CoreState]) -> None:
    for state in states:
        _serve(server, image, state)


def _serve(server: socket.socket, image: Image, state: CoreState) -> None:
    connection, _ = server.accept()
    with connection:
        buffer = b""
        while data := connection.recv(4096):
            buffer += data
            while (start := buffer.find(b"$")) >= 0 and len(buffer) >= (
                end := buffer.find(b"#", start) + 3
            ) > start + 3:
                request, buffer = buffer[start + 1 : end - 3], buffer[end:]
                answer = _answer(request.decode(), image, state).encode()
                connection.sendall(b"+$%s#%02x" % (answer, sum(answer) & 0xFF))


def _answer(request: str, image: Image, state: CoreState) -> str:
    key = state.nonsecure
    registers = [*state.registers, *(state.stacks[key, name] for name in ("MSP", "PSP"))]
    if request.startswith("qSupported"):
        return "PacketSize=1000;qXfer:features:read+"
    if request.startswith("qXfer:features:read:target.xml:"):
        at, size = (int(number, 16) for number in request.rpartition(":")[2].split(","))
        return ("l" if at + size >= len(_TARGET) else "m") + _TARGET[at : at + size]
    if request == "?":
        return "S05"
    if request == "g":
        return b"".join(value.to_bytes(4, "little") for value in registers).hex()
    if request.startswith("m"):
        address, size = (int(number, 16) for number in request[1:].split(","))
        system = bytes(size) if address >> 24 == 0xE0 else b""  # gdb looks into FPCCR
        read = state.read(address, size) or image.read(address, size) or system
        return read.hex() if read else "E01"
    return ""
