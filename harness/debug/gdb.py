"""gdb on a debug port, through pyOCD: its server, and a gdb with the image's symbols."""

from __future__ import annotations

import importlib.util
import selectors
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

from harness.base.errors import EnvironmentMissing
from harness.debug.replay import Rerun
from harness.simulator import End
from harness.simulator.debug_port import DebugPort
from harness.simulator.debug_port.remote_probe import LOOPBACK, ProbeServer, RemoteProbe

#: Tried in this order.
GDBS = ("arm-none-eabi-gdb", "arm-zephyr-eabi-gdb", "gdb-multiarch")
#: Virtual ticks between two looks at the sockets: some milliseconds of wall time.
_SLICE = 200_000
_PATIENCE = 30.0
_OVER = (End.IDLE, End.LOCKUP, End.SYSTEM_OFF, End.RESET_LOOP)


@dataclass(frozen=True)
class GdbCall:
    """How gdb is started: its program (None: only the server), commands from a file (``batch``),
    the TCP port of the server (0: any)."""

    program: str | None
    batch: Path | None = None
    port: int = 0


def find_gdb(path: str | None) -> str:
    """The program. Raises :class:`EnvironmentMissing` if there is none."""
    for name in (path,) if path else GDBS:
        found = shutil.which(name)
        if found:
            return found
    raise EnvironmentMissing(
        f"there is no {path or 'gdb for Arm'}",
        hint=f"install one of {', '.join(GDBS)}, name it with --gdb, or start no gdb: --port 0",
    )


def check_pyocd() -> None:
    """Raises :class:`EnvironmentMissing` without pyOCD."""
    if importlib.util.find_spec("pyocd") is None:
        raise EnvironmentMissing(
            "debugging needs pyOCD, which is not installed",
            hint="install it with: pip install 'tflm-hil[pyocd]'",
        )


def free_port() -> int:
    """A TCP port of the loopback interface that nobody uses now."""
    with socket.create_server((LOOPBACK, 0)) as made:
        number: int = made.getsockname()[1]
        return number


@contextmanager
def gdb_server(
    probe: str, port: int, folder: Path, target: str
) -> Iterator[subprocess.Popen[bytes]]:
    """pyOCD's gdb server for the probe of this id, on 127.0.0.1; its log is in ``folder``.

    ``target`` is pyOCD's name of the chip.
    """
    command = [
        sys.executable, "-m", "pyocd", "gdbserver", "--no-config", "--no-wait", "--uid", probe,
        "--target", target, "--connect", "attach", "--persist", "--port", str(port),
        "--telnet-port", "0", "-O", "auto_unlock=false", "-O", "resume_on_disconnect=false",
    ]  # fmt: skip
    with (folder / "pyocd.log").open("wb") as log:
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


def gdb_command(call: GdbCall, port: int, elf: Path, place: int | None) -> list[str]:
    """The command line of gdb: symbols of ``elf``, connected to ``port``, run up to ``place``."""
    assert call.program is not None
    words = [call.program, "-q", "-ex", "set confirm off", "-ex", "set pagination off"]
    if call.batch is not None:
        words[1:1] = ["-nx", "-batch"]
    words += ["-ex", f"target remote {LOOPBACK}:{port}"]
    if place is not None:  # pyOCD shows threads once the core has run
        words += ["-ex", f"tbreak *0x{place:x}", "-ex", "continue"]
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


class DebugSession:
    """The simulator behind its debug port; ``shown`` gets the console's bytes as they come."""

    def __init__(self, replay: Rerun, shown: Callable[[bytes], None]) -> None:
        self._replay, self._shown = replay, shown
        self.port = DebugPort(replay.machine)
        self.port.core.hold()
        self._selector = selectors.DefaultSelector()
        self.server = ProbeServer(RemoteProbe(lambda: self.port, "simulator"), self._selector, 0)
        self._end: End | None = None
        self._told = 0
        self._tell()

    def turn(self) -> None:
        """Answer pyOCD, and let the core run for a moment if it is not halted."""
        core = self.port.core
        rests = core.halted or self._end in _OVER
        for key, _ in self._selector.select(0.02 if rests else 0):
            key.data()
            self._end = None
        if core.halted or self._end in _OVER:
            return
        asks = self._replay.waits_for
        self._end = core.run(_SLICE, pattern=asks)
        if self._end is End.CONDITION and asks is not None:
            self._replay.answer()
        self._tell()

    def _tell(self) -> None:
        console = self.port.machine.console
        if console.size > self._told:
            self._shown(console.since(self._told))
        self._told = console.size

    def close(self) -> None:
        """Hang up."""
        self.server.close()
        self._selector.close()


def debug(
    session: DebugSession,
    call: GdbCall,
    elf: Path,
    say: Callable[[str], None],
    place: int | None = None,
) -> int:
    """Serve until gdb ends (its exit code), or, without a gdb, until Ctrl-C (0).

    The core is halted, one instruction before the address ``place`` if gdb is to run it.

    Raises :class:`EnvironmentMissing` if pyOCD does not start.
    """
    with tempfile.TemporaryDirectory(prefix="tflm-debug-") as name:
        folder = Path(name)
        port = call.port or free_port()
        probe = f"remote:{LOOPBACK}:{session.server.number}"
        target = session.port.machine.memory_map.tools.pyocd_target
        with gdb_server(probe, port, folder, target) as server:
            _wait(session, server, port, folder)
            if call.program is None:
                say(f"gdb: target remote {LOOPBACK}:{port}    pyOCD: --uid {probe}")
                while server.poll() is None:
                    session.turn()
                return 0
            return _run_gdb(session, gdb_command(call, port, elf, place))


def _wait(session: DebugSession, server: subprocess.Popen[bytes], port: int, folder: Path) -> None:
    limit = time.monotonic() + _PATIENCE
    while not listening(port):
        session.turn()
        if server.poll() is not None or time.monotonic() > limit:
            lines = (folder / "pyocd.log").read_text("utf-8", "backslashreplace").splitlines()
            raise EnvironmentMissing(f"pyOCD's gdb server did not start: {(lines or [''])[-1]}")


def _run_gdb(session: DebugSession, command: Sequence[str]) -> int:
    gdb = subprocess.Popen(command)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # gdb's Ctrl-C halts the firmware
    try:
        while gdb.poll() is None:
            session.turn()
        return gdb.returncode
    finally:
        signal.signal(signal.SIGINT, before)
