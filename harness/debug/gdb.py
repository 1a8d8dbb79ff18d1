"""gdb on a debug port: a gdb server (pyOCD's or J-Link's), and a gdb with the image's symbols."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.base.debug_access import LOOPBACK
from harness.base.errors import EnvironmentMissing, Unsupported
from harness.debug.replay import Place

#: Tried in this order.
GDBS = ("arm-none-eabi-gdb", "arm-zephyr-eabi-gdb", "gdb-multiarch")
_PATIENCE = 30.0
_GDB_HINT = f"install one of {', '.join(GDBS)}, name it with --gdb, or start no gdb: --port 0"
_LOG = "server.log"


class Debuggee(Protocol):
    """What is debugged, beside the gdb server that reaches it."""

    @property
    def note(self) -> str:
        """What to tell somebody who starts a gdb by hand, behind the server's address."""

    def begin(self) -> None:
        """The gdb server stands, and the core is halted."""

    def turn(self) -> None:
        """Let it go on for a moment, and show what its console said."""


@dataclass(frozen=True)
class GdbCall:
    """How gdb is started: its program (None: only the server), commands from a file (``batch``),
    the TCP port of the server (0: any)."""

    program: str | None
    batch: Path | None = None
    port: int = 0


def find_gdb(path: str | None) -> str:
    """The program. Raises :class:`EnvironmentMissing` if there is none that knows Arm."""
    found = next(filter(None, map(shutil.which, (path,) if path else GDBS)), None)
    if found is None:
        raise EnvironmentMissing(f"there is no {path or 'gdb for Arm'}", hint=_GDB_HINT)
    if path and not _knows_arm(found):
        raise EnvironmentMissing(f"{path} is not a gdb for Arm", hint=_GDB_HINT)
    return found


def _knows_arm(program: str) -> bool:
    command = [program, "-nx", "-batch", "-ex", "set architecture arm", "-ex", "show architecture"]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return b'"arm"' in done.stdout


def listen(number: int) -> socket.socket:
    """A socket on this TCP port of 127.0.0.1, 0 for any free one.

    Raises :class:`EnvironmentMissing` if somebody else has it.
    """
    try:
        return socket.create_server((LOOPBACK, number))
    except OSError as error:
        raise EnvironmentMissing(
            f"no gdb server can listen on {LOOPBACK}:{number}: {os.strerror(error.errno or 0)}",
            hint="choose another --port, or --port 0 for any free one",
        ) from None


def has_pyocd() -> bool:
    """Whether pyOCD is installed."""
    return importlib.util.find_spec("pyocd") is not None


def pyocd_missing(others: str = "") -> EnvironmentMissing:
    """The error without it; ``others`` says what is not there either."""
    return EnvironmentMissing(
        f"debugging needs pyOCD, which is not installed{others}",
        hint="install it with: pip install 'tflm-hil[pyocd]'",
    )


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now."""
    with listen(0) as made:
        number: int = made.getsockname()[1]
        return number


def pyocd_server(probe: str, target: str, *, board: bool = False, catch: str = "h") -> list[str]:
    """pyOCD's gdb server for the probe of this id, but for the port.

    ``target`` is pyOCD's name of the chip. A ``board`` is halted when it starts, and runs on when
    it ends; ``catch`` says which faults halt (pyOCD's option "vector_catch").
    """
    connect, resumes = ("halt", "true") if board else ("attach", "false")
    return [
        sys.executable, "-m", "pyocd", "gdbserver", "--no-config", "--no-wait", "--uid", probe,
        "--target", target, "--connect", connect, "--persist", "--telnet-port", "0",
        "-O", "auto_unlock=false", "-O", f"resume_on_disconnect={resumes}",
        "-O", f"vector_catch={catch}", "--port",
    ]  # fmt: skip


@contextmanager
def gdb_server(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A gdb server on 127.0.0.1; its log is in ``folder``."""
    with (folder / _LOG).open("wb") as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=folder,
            start_new_session=True,  # Ctrl-C is gdb's
        )  # fmt: skip
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(5.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def run_up_to(address: int) -> list[str]:
    """The gdb commands that run up to an address. pyOCD shows threads once the core has run."""
    return [f"tbreak *0x{address:x}", "continue"]


def commands_to(place: Place, target: str, faults: Sequence[str]) -> list[str]:
    """The gdb commands that run the image from its reset on up to ``place``.

    ``faults`` are those that halt at one. Raises :class:`Unsupported` for places that only a run
    that can be repeated has.
    """
    if place.count or place.where == "hang":
        raise Unsupported(
            target, f"stop at {place.text}",
            hint="time goes backwards on the simulator alone; without -COUNT, or Ctrl-C in gdb",
        )  # fmt: skip
    if place.where == "fault":
        return [*faults, "continue"]
    assert isinstance(place.where, int)
    stop, run = run_up_to(place.where)
    return [stop, f"ignore $bpnum {place.times - 1}", run]


def gdb_command(
    call: GdbCall, port: int, elf: Path, first: Sequence[str], before: Sequence[str] = ()
) -> list[str]:
    """The command line of gdb: symbols of ``elf``, commands ``before`` it is connected to ``port``,
    and those to do ``first`` behind that."""
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
    """True if somebody listens there."""
    # A connection would count as gdb's: the kernel's table tells without one.
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
    say: Callable[[str], None],
    first: Sequence[str] = (),
) -> int:
    """Serve until gdb ends (its exit code), or, without a gdb, until Ctrl-C.

    ``server_command`` starts the gdb server; the port goes behind it. ``first`` are the commands
    that gdb begins with.

    Raises :class:`EnvironmentMissing` if the server does not start, or ends by itself.
    """
    with tempfile.TemporaryDirectory(prefix="tflm-debug-") as name:
        folder = Path(name)
        port = call.port or free_port()
        with gdb_server([*server_command, str(port)], folder) as server:
            _wait(debuggee, server, port, folder)
            debuggee.begin()
            if call.program is None:
                serve(debuggee, port, say, lambda: server.poll() is None)
                raise EnvironmentMissing(f"the gdb server ended: {_last_line(folder)}")
            return run_gdb(debuggee, gdb_command(call, port, elf, first))


def serve(
    debuggee: Debuggee, port: int, say: Callable[[str], None], alive: Callable[[], bool]
) -> None:
    """Serve whoever connects to ``port`` until the server is not ``alive``, or Ctrl-C."""
    say(f"gdb: target remote {LOOPBACK}:{port}    {debuggee.note}".rstrip())
    while alive():
        debuggee.turn()


def _wait(debuggee: Debuggee, server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    limit = time.monotonic() + _PATIENCE
    while not listening(port):
        debuggee.turn()
        if server.poll() is not None or time.monotonic() > limit:
            raise EnvironmentMissing(f"the gdb server did not start: {_last_line(folder)}")


def _last_line(folder: Path) -> str:
    lines = (folder / _LOG).read_text("utf-8", "backslashreplace").splitlines()
    return lines[-1] if lines else "it said nothing"


def run_gdb(debuggee: Debuggee, command: Sequence[str]) -> int:
    """Serve until gdb ends; its exit code."""
    gdb = subprocess.Popen(command)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # gdb's Ctrl-C halts the firmware
    try:
        while gdb.poll() is None:
            debuggee.turn()
        return gdb.returncode
    finally:
        if gdb.poll() is None:  # the debuggee was lost: nobody answers gdb any more
            gdb.terminate()
            gdb.wait()
        signal.signal(signal.SIGINT, before)
