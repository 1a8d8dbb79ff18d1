"""The processes of a build, none of which outlives it."""

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
    """A process that ended by itself: its exit code and its output."""

    code: int
    output: str
    errors: str


class Processes:
    """Runs commands, in any number of threads; :meth:`stop` ends them all from another one.

    A command has a process group of its own, with the compilers that a driver starts, or a session
    of its own if its descendants make groups, as ninja's do. (The kernel shares its time among
    sessions first: compilers in sessions would ignore that the build is nice.)
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
        """Run ``command`` in ``folder``; one with a ``session`` prints errors among its output.

        Raises OSError if it cannot be started, :class:`subprocess.TimeoutExpired` after
        ``seconds``, :class:`CancelledError` if :meth:`stop` ended it or came before it. However
        this call ends, the command and its descendants have ended.
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
                child.communicate()  # ends when no process holds the other end
            with self._lock:
                self._running.discard(child.pid)
                stopped = self._stopped
        if stopped and child.returncode < 0:
            raise CancelledError
        return Done(child.returncode, output, errors or "")

    def stop(self) -> None:
        """Kill all running commands; later calls of :meth:`run` start none."""
        with self._lock:
            self._stopped = True
            _kill(self._running)


def _kill(leaders: Collection[int]) -> None:
    """Kill the process groups of ``leaders``, and the other processes in sessions of theirs."""
    for leader in leaders:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(leader, signal.SIGKILL)
    killed: set[int] = set(leaders)
    # A process may have forked before it was killed: look until there is no new one.
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
