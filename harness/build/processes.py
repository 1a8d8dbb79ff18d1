"""Runs the processes of a build, and kills those that are left at its end."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Done:
    """Exit code and output of a process."""

    code: int
    output: str
    errors: str


class Processes:
    """Runs commands in any number of threads; :meth:`stop` ends all of them.

    A command has its own process group or, if its descendants create groups, as ninja's do, its own
    session. (Sessions are avoided for compilers, because the kernel's scheduler divides time
    between sessions first, so that the nice value of the build would have no effect.)
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[int] = set()
        self._stopped = False

    def run(
        self,
        command: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        seconds: float,
        session: bool = False,
    ) -> Done:
        """Runs ``command`` in ``folder``. With ``session``, ``output`` includes standard error.

        Raises OSError if it cannot be started, :class:`subprocess.TimeoutExpired` after
        ``seconds``, :class:`CancelledError` if :meth:`stop` was called before or during the run. In
        each case the command and its descendants have ended.
        """
        with self._lock:
            if self._stopped:
                raise CancelledError
            child = subprocess.Popen(
                command, cwd=folder, env=environment, text=True, errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if session else subprocess.PIPE,
                start_new_session=session, process_group=None if session else 0,
            )  # fmt: skip
            self._running.add(child.pid)
        try:
            output, errors = child.communicate(timeout=seconds)
        finally:
            if child.returncode is None:
                _kill({child.pid})
                child.communicate()  # returns when no process has the pipes open
            with self._lock:
                self._running.discard(child.pid)
                stopped = self._stopped
        if stopped and child.returncode < 0:
            raise CancelledError
        return Done(child.returncode, output, errors or "")

    def stop(self) -> None:
        """Kills all running commands, and makes later calls of :meth:`run` fail."""
        with self._lock:
            self._stopped = True
            _kill(self._running)


def _kill(leaders: Collection[int]) -> None:
    """Kills the process groups of ``leaders``, and all processes in their sessions."""
    for leader in leaders:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
    killed: set[int] = set(leaders)
    # A process may have forked before it was killed: repeat until there is no new one.
    while new := _members(leaders) - killed:
        for process in new:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        killed |= new


def _members(leaders: Collection[int]) -> set[int]:
    """The processes in the sessions of ``leaders``; empty on a system without /proc."""
    if not leaders or not _PROCESSES.is_dir():
        return set()
    found = set()
    for name in (path.name for path in _PROCESSES.iterdir()):
        if name.isdecimal():
            with suppress(ProcessLookupError, PermissionError):
                if os.getsid(int(name)) in leaders:
                    found.add(int(name))
    return found
