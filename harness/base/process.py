"""Runs programs; the only module of the package that starts any.

A program leads a group of processes, which is killed when the program has ended, at its time limit,
and after an error or an interrupt. A harness that is killed cannot do that. So a shell beside each
program reads from a pipe, which closes when the harness dies, and then kills the group.
(PR_SET_PDEATHSIG would reach the program without its descendants, and would kill it already when
the thread ends that started it.)

The middle of a long output is left out, so that a flood fills no memory.
"""

from __future__ import annotations

import logging
import os
import shlex
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from harness.base import signals
from harness.base.clock import Deadline
from harness.base.closing import Closing
from harness.base.errors import ProgramFailed, ProgramMissing, ProgramTimedOut
from harness.base.secrets import redacted, redacted_command

#: Bytes that are kept of a longer output: half of them from its start, half from its end.
LIMIT = 1 << 24
_CHUNK = 1 << 16  # bytes of one read
_POLL = 0.05  # seconds between two looks at a running program
#: Seconds to wait for the rest of the output, and for the end of a process that was killed.
_DRAIN = 0.4
_PROCESSES = Path("/proc")
#: Reads the number of the program's process, then "ended"; without that the harness has died.
_WATCH = """
read -r leader && [ "$leader" != ended ] || exit
read -r word && exit
kill -TERM "$leader"; sleep "$1"; kill -KILL "-$leader"; rm -rf -- "$2"
"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """A program that has ended, by a signal if ``code`` is negative.

    ``output`` includes standard error, unless the output was split. ``cut`` bytes of it are left
    out, where it says so.
    """

    code: int
    output: str = field(repr=False)
    errors: str = field(repr=False)
    cut: int
    seconds: float


class _Printed:
    """What a program printed so far: at most :data:`LIMIT` bytes of its start and its end."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._first, self._last = bytearray(), bytearray()
        self._lock = threading.Lock()
        self.cut = 0
        self.ended = threading.Event()
        # A process that left the session may keep the pipe open, and with it this thread.
        threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[bytes]) -> None:
        with stream:
            while chunk := stream.read(_CHUNK):
                with self._lock:
                    self._keep(chunk)
        self.ended.set()

    def _keep(self, chunk: bytes) -> None:
        room = LIMIT // 2 - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:]
        excess = max(0, len(self._last) - LIMIT // 2)
        del self._last[:excess]
        self.cut += excess

    @property
    def text(self) -> str:
        with self._lock:
            gap = f"\n... {self.cut:,} bytes of output left out ...\n" if self.cut else ""
            data = bytes(self._first) + gap.encode() + bytes(self._last)
        return data.decode("utf-8", "backslashreplace")


class RunningProgram(Closing):
    """A program that runs until it ends by itself, or until :meth:`close`.

    ``environment`` has the variables that differ from the harness's own; the program is searched on
    the PATH that results. ``split`` keeps standard error apart. Standard input is empty; with
    ``open_input`` it stays open, without any bytes. The program inherits ``descriptors``.
    :meth:`close` sends SIGTERM, kills after ``grace`` seconds, and removes the folder ``scratch``.

    The program gets a session of its own: it cannot ask questions on the terminal, and its
    descendants are found if they make groups, as ninja's do.

    Raises :class:`ProgramMissing` if it is not on PATH, or cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        split: bool = False,
        open_input: bool = False,
        descriptors: Sequence[int] = (),
        grace: float = 0.0,
        scratch: Path | None = None,
    ) -> None:
        self.name = Path(command[0]).name
        self._grace, self._started = grace, time.monotonic()
        self._outputs: list[_Printed] = []
        self._ending = ExitStack()
        if _log.isEnabledFor(logging.DEBUG):
            _log.debug("%s", shell_line(command, folder, environment))
        try:
            with signals.held_back():
                if scratch is not None:
                    self._ending.callback(shutil.rmtree, scratch, ignore_errors=True)
                watcher = self._ending.enter_context(_watcher(grace, scratch))
                self._child = _start(
                    command, environment or {}, cwd=folder, bufsize=0,
                    stdin=subprocess.PIPE if open_input else subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE if split else subprocess.STDOUT,
                    start_new_session=True, pass_fds=descriptors,
                )  # fmt: skip
                self._ending.callback(self._end)
                # A harness that is killed in this instant leaves the program.
                watcher.write(b"%d\n" % self._child.pid)
                streams = self._child.stdout, self._child.stderr
                self._outputs += [_Printed(stream) for stream in streams if stream is not None]
        except BaseException:
            self.close()
            raise

    @property
    def alive(self) -> bool:
        """True while it runs."""
        return self._child.poll() is None

    @property
    def output(self) -> str:
        """What it has printed so far; all of it, once it has ended."""
        if not self.alive:
            self._drain()
        return "".join(output.text for output in self._outputs)

    def wait(self, seconds: float, progress: Callable[[str], None] | None = None) -> Finished:
        """The result, once it has ended. Raises :class:`ProgramTimedOut` after ``seconds``.

        ``progress`` is called with each line of the output soon after it is printed.
        """
        deadline = Deadline(seconds)
        told = 0
        while (code := self._child.poll()) is None:
            if deadline.expired:
                reason = f"{self.name} did not end within {seconds:g} s and was stopped"
                raise ProgramTimedOut(reason, self.output)
            self._pause(min(_POLL, deadline.remaining))
            if progress is not None:
                told = _tell(self.output, told, progress)
        self._drain()
        if progress is not None:
            _tell(f"{self.output}\n", told, progress)
        output, *errors = (output.text for output in self._outputs)
        cut = sum(output.cut for output in self._outputs)
        return Finished(code, output, "".join(errors), cut, time.monotonic() - self._started)

    def wait_for(self, line: str, seconds: float) -> bool:
        """True once it has printed ``line``; False after ``seconds``, or if it ends before."""
        deadline = Deadline(seconds)
        while self.alive and not deadline.expired and line not in self.output.splitlines():
            self._pause(_POLL)
        return line in self.output.splitlines()

    def _pause(self, seconds: float) -> None:
        """Waits until the program closes its output; if it has, until it ends."""
        for output in self._outputs:
            if not output.ended.is_set():
                output.ended.wait(seconds)
                return
        with suppress(subprocess.TimeoutExpired):
            self._child.wait(seconds)

    def _drain(self) -> None:
        """Waits until the rest of the output is read; a descendant may have it open."""
        deadline = Deadline(_DRAIN)
        for output in self._outputs:
            output.ended.wait(deadline.remaining)

    def close(self) -> None:
        """End the program with all that is left of its group; safe to call twice."""
        with signals.held_back():
            self._ending.close()

    def _end(self) -> None:
        if self._child.stdin is not None:
            self._child.stdin.close()
        if self._grace:
            _terminate(self._child, self._grace)
        _kill(self._child.pid)
        with suppress(subprocess.TimeoutExpired):  # another user's, such as sudo
            self._child.wait(_DRAIN)
        self._drain()


def _tell(output: str, told: int, progress: Callable[[str], None]) -> int:
    """Passes the complete lines from character ``told`` on; returns where the next one begins."""
    end = output.rfind("\n", told) + 1
    for line in output[told:end].splitlines():
        progress(line)
    return max(told, end)


def run(
    command: Sequence[str],
    *,
    seconds: float,
    check: bool = True,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    split: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Finished:
    """Runs a :class:`RunningProgram` to its end, and ends what it left behind.

    Raises :class:`ProgramMissing`, :class:`ProgramTimedOut` after ``seconds``, and with ``check``
    :class:`ProgramFailed` for an exit code other than 0.
    """
    with RunningProgram(command, folder=folder, environment=environment, split=split) as program:
        done = program.wait(seconds, progress)
    if done.code < 0:
        ending = f"was ended by signal {-done.code} ({signal.strsignal(-done.code)})"
    else:
        ending = f"ended with exit code {done.code}"
    text = done.output + done.errors
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s %s after %.1f s\n%s", program.name, ending, done.seconds, redacted(text))
    if check and done.code != 0:
        raise ProgramFailed(f"{program.name} {ending}", text)
    return done


def interactive(
    command: Sequence[str], poll: Callable[[], None] = lambda: time.sleep(_POLL)
) -> int:
    """The exit code of a program on this terminal, which has its streams and handles Ctrl-C.

    ``poll`` is called repeatedly while it runs; the program is terminated if ``poll`` raises.
    Raises :class:`ProgramMissing`, and KeyboardInterrupt if Ctrl-C ended the program.
    """
    _log.debug("%s", shell_line(command))
    previous = signal.signal(signal.SIGINT, lambda *_: None)  # SIG_IGN would be inherited
    try:
        child = _start(command, {})
        try:
            while (code := child.poll()) is None:
                poll()
        finally:
            _terminate(child, grace=5.0)
    finally:
        signal.signal(signal.SIGINT, previous)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    return code


def last_line(output: str, otherwise: str) -> str:
    """The last line that is not empty, or ``otherwise``."""
    lines = reversed(output[-_CHUNK:].splitlines())
    return next((line.strip() for line in lines if line.strip()), otherwise)


def shell_line(
    command: Sequence[str],
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> str:
    """The command as a user would type it in a shell, but for passwords and tokens."""
    where = f"cd {shlex.quote(str(folder))} && " if folder is not None else ""
    changed = (environment or {}).items()
    variables = (redacted(f"{name}={shlex.quote(value)} ") for name, value in changed)
    return f"{where}{''.join(variables)}{redacted_command(command)}"


def _start(
    command: Sequence[str], environment: Mapping[str, str], **how: Any
) -> subprocess.Popen[bytes]:
    changed = {**os.environ, **environment}
    # execvp() says "permission denied" if it finds nothing and may not enter a folder on PATH.
    found = shutil.which(command[0], path=changed.get("PATH", os.defpath))
    if found is None and os.sep in command[0]:
        raise ProgramMissing(f"{command[0]} is not a program")
    if found is None:
        raise ProgramMissing(
            f"the program {command[0]!r} is not on PATH",
            hint="install it, or add its folder to PATH",
        )
    path = str(Path(found).absolute())
    try:
        return subprocess.Popen([path, *command[1:]], env=changed, **how)
    except OSError as error:
        folder = "" if error.filename == path else f": {error.filename}"
        message = f"{command[0]} cannot be started: {error.strerror}{folder}"
        raise ProgramMissing(message) from error


@contextmanager
def _watcher(grace: float, scratch: Path | None) -> Iterator[IO[bytes]]:
    """The input of a shell that ends a program and its group if this process dies in the block."""
    with subprocess.Popen(
        ["/bin/sh", "-c", _WATCH, "watch", str(grace), str(scratch or "")],
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, bufsize=0,
        start_new_session=True, env={"PATH": os.defpath},
    ) as shell:  # fmt: skip
        assert shell.stdin is not None
        try:
            yield shell.stdin
        finally:
            with suppress(BrokenPipeError):
                shell.stdin.write(b"ended\n")


def _terminate(child: subprocess.Popen[bytes], grace: float) -> None:
    child.terminate()
    try:
        child.wait(grace)
    except subprocess.TimeoutExpired:
        child.kill()


def _kill(leader: int) -> None:
    """Kills the group of ``leader`` and, if it leads one, its session."""
    killed: set[int] = set()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)
    while True:  # a process may have forked before it was killed
        before = len(killed)
        with os.scandir(_PROCESSES) as found:
            numbers = {int(one.name) for one in found if one.name.isdigit()}
        for process in numbers - killed:
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(process) == leader:
                    os.kill(process, signal.SIGKILL)
                    killed.add(process)
        if len(killed) == before:
            return
