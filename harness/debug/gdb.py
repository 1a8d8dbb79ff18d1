"""Debug sessions: a gdb server (pyOCD's or J-Link's), and a gdb with the symbols of the image."""

from __future__ import annotations

import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.base import process
from harness.base.debug_access import LOOPBACK
from harness.base.errors import EnvironmentMissing, ProgramMissing, ProgramTimedOut, Unsupported
from harness.base.process import RunningProgram
from harness.debug.replay import Breakpoint

#: Names of a gdb for Arm, in order of preference.
GDBS = ("arm-none-eabi-gdb", "arm-zephyr-eabi-gdb", "gdb-multiarch")
#: Seconds for the start of a gdb or a gdb server.
_START_TIMEOUT = 30.0
#: Seconds for the end of a gdb server: a board is resumed.
_END_TIMEOUT = 5.0
_GDB_HINT = f"install one of {', '.join(GDBS)}, name it with --gdb, or start no gdb: --port 0"


class Debuggee(Protocol):
    """The target of a debug session, beside its gdb server."""

    @property
    def note(self) -> str:
        """A note for users who start a gdb themselves, printed after the server's address."""

    def begin(self) -> None:
        """Called once, when the gdb server listens and the core is halted."""

    def poll(self) -> None:
        """Called repeatedly: waits or runs for some milliseconds, and shows console output."""


@dataclass(frozen=True)
class GdbCall:
    """The gdb of a debug session, and the port of its server.

    ``program`` None: only the server is started. ``batch``: a file of gdb commands. ``port``: a TCP
    port, 0 for any free one.
    """

    program: str | None
    batch: Path | None = None
    port: int = 0


def find_gdb(path: str | None) -> str:
    """The gdb at ``path``, or (None) the first of GDBS on the search path.

    Raises :class:`EnvironmentMissing` if there is none, or ``path`` is not a gdb for Arm.
    """
    found = next(filter(None, map(shutil.which, (path,) if path else GDBS)), None)
    if found is None:
        raise EnvironmentMissing(f"there is no {path or 'gdb for Arm'}", hint=_GDB_HINT)
    if path and not _supports_arm(found):
        raise EnvironmentMissing(f"{path} is not a gdb for Arm", hint=_GDB_HINT)
    return found


def _supports_arm(program: str) -> bool:
    command = [program, "-nx", "-batch", "-ex", "set architecture arm", "-ex", "show architecture"]
    try:
        done = process.run(command, seconds=_START_TIMEOUT, check=False, split=True)
    except (ProgramMissing, ProgramTimedOut):
        return False
    return '"arm"' in done.output


def listen(port: int) -> socket.socket:
    """A socket that listens on this TCP port of 127.0.0.1 (0: any free one).

    Raises :class:`EnvironmentMissing` if the port is in use.
    """
    try:
        return socket.create_server((LOOPBACK, port))
    except OSError as error:
        raise EnvironmentMissing(
            f"no gdb server can listen on {LOOPBACK}:{port}: {os.strerror(error.errno or 0)}",
            hint="choose another --port, or --port 0 for any free one",
        ) from None


def free_port() -> int:
    """A TCP port of 127.0.0.1 that is free now."""
    with listen(0) as listener:
        port: int = listener.getsockname()[1]
        return port


def pyocd_server(probe: str, target: str, *, board: bool = False, catch: str = "h") -> list[str]:
    """The command of pyOCD's gdb server, without the port number at its end.

    ``probe`` is the probe's unique id, ``target`` pyOCD's name of the chip. A ``board`` is halted
    when the server starts, and resumed when it ends. ``catch`` selects the faults that halt
    (pyOCD's option "vector_catch").
    """
    connect, resumes = ("halt", "true") if board else ("attach", "false")
    return [
        sys.executable, "-m", "pyocd", "gdbserver", "--no-config", "--no-wait", "--uid", probe,
        "--target", target, "--connect", connect, "--persist", "--telnet-port", "0",
        "-O", "auto_unlock=false", "-O", f"resume_on_disconnect={resumes}",
        "-O", f"vector_catch={catch}", "--port",
    ]  # fmt: skip


def run_up_to(address: int) -> list[str]:
    """The gdb commands that run up to an address. pyOCD shows threads once the core has run."""
    return [f"tbreak *0x{address:x}", "continue"]


def commands_to(place: Breakpoint, target: str, faults: Sequence[str]) -> list[str]:
    """The gdb commands that run the image from its reset up to ``place``.

    ``faults`` are the commands that make faults halt. Raises :class:`Unsupported` for places that
    need a repeatable run: a hang, and a number of instructions before a place.
    """
    if place.count or place.where == "hang":
        raise Unsupported(
            target, f"stop at {place.text}",
            hint="only runs of the simulator are repeatable; leave out -COUNT, or press Ctrl-C in"
            " gdb",
        )  # fmt: skip
    if place.where == "fault":
        return [*faults, "continue"]
    assert isinstance(place.where, int)
    stop, run = run_up_to(place.where)
    return [stop, f"ignore $bpnum {place.hit - 1}", run]


def gdb_command(
    call: GdbCall, port: int, elf: Path, first: Sequence[str], before: Sequence[str] = ()
) -> list[str]:
    """The command line of gdb, with the symbols of ``elf``.

    gdb runs the commands ``before``, connects to ``port``, then runs the commands ``first`` and
    those of the batch file.
    """
    assert call.program is not None
    words = [call.program, "-q", "-ex", "set confirm off", "-ex", "set pagination off"]
    if call.batch is not None:
        words[1:1] = ["-nx", "-batch"]
    commands = [*before, f"target remote {LOOPBACK}:{port}", *first]
    words += [word for command in commands for word in ("-ex", command)]
    if call.batch is not None:
        words += ["-x", str(call.batch.absolute())]
    return [*words, str(elf)]


def listening(port: int) -> bool:
    """True if a socket listens on this TCP port of 127.0.0.1."""
    # Read from the kernel's table: the server would take a connection for gdb's.
    table = Path("/proc/net/tcp")
    if not table.exists():
        return False
    wanted = f"0100007F:{port:04X}"
    rows = (line.split() for line in table.read_text(encoding="ascii").splitlines()[1:])
    return any(row[1] == wanted and row[3] == "0A" for row in rows)


def debug(
    debuggee: Debuggee,
    server_command: Sequence[str],
    call: GdbCall,
    elf: Path,
    echo: Callable[[str], None],
    first: Sequence[str] = (),
) -> int:
    """Runs a debug session until gdb ends, and returns its exit code; without a gdb until Ctrl-C.

    The port number is appended to ``server_command``. ``first`` are gdb's first commands. ``echo``
    prints a line for users who start a gdb themselves.

    Raises :class:`EnvironmentMissing` if the server does not start, or ends.
    """
    with tempfile.TemporaryDirectory(prefix="tflm-debug-") as name:
        port = call.port or free_port()
        command = [*server_command, str(port)]
        with RunningProgram(command, folder=Path(name), grace=_END_TIMEOUT) as server:
            _wait(debuggee, server, port)
            debuggee.begin()
            if call.program is None:
                serve(debuggee, port, echo, lambda: server.alive)
                raise EnvironmentMissing(f"the gdb server ended: {_last_line(server)}")
            return process.interactive(gdb_command(call, port, elf, first), debuggee.poll)


def serve(
    debuggee: Debuggee, port: int, echo: Callable[[str], None], alive: Callable[[], bool]
) -> None:
    """Polls ``debuggee`` until its gdb server on ``port`` is not ``alive``, or Ctrl-C."""
    echo(f"gdb: target remote {LOOPBACK}:{port}    {debuggee.note}".rstrip())
    while alive():
        debuggee.poll()


def _wait(debuggee: Debuggee, server: RunningProgram, port: int) -> None:
    """Waits until the gdb server listens. Raises :class:`EnvironmentMissing`."""
    limit = time.monotonic() + _START_TIMEOUT
    while not listening(port):
        debuggee.poll()
        if not server.alive or time.monotonic() > limit:
            raise EnvironmentMissing(f"the gdb server did not start: {_last_line(server)}")


def _last_line(server: RunningProgram) -> str:
    return process.last_line(server.output, "no output")
