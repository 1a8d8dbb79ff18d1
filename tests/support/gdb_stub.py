"""gdb's own backtrace of a machine that stands still: gdb reads it over its remote protocol."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
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
_FRAME = re.compile(r"^#\d+ +(?:0x[0-9a-f]+ in )?(<signal handler called>|\S+)", re.MULTILINE)


def backtrace(gdb: str, image: Image, state: CoreState) -> list[str]:
    """The functions of gdb's backtrace, innermost first; inlined ones are left out."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        thread = threading.Thread(target=_serve, args=(server, image, state), daemon=True)
        thread.start()
        commands = ["set pagination off", "set backtrace past-main on", "set architecture arm"]
        commands += [f"target remote 127.0.0.1:{port}", "backtrace -frame-info location 40"]
        command = [gdb, "-nx", "-batch", *(word for one in commands for word in ("-ex", one))]
        done = subprocess.run(
            [*command, str(Path(image.path))], capture_output=True, text=True, timeout=30,
            check=False,
        )  # fmt: skip
    return _FRAME.findall(done.stdout)


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
        read = state.read(address, size) or image.read(address, size)
        return read.hex() if read else "E01"
    return ""
