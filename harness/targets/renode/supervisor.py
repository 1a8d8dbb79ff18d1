"""Runs one Renode and ends it together with the harness; a script.

``python supervisor.py FOLDER FILES COMMAND...`` runs COMMAND in FOLDER as the leader of a new
process group. COMMAND inherits the file descriptors FILES (``5,6``), which this process closes.
Standard input is a pipe whose other end only the harness has: when it closes, however the harness
ended, the whole group is killed and FOLDER removed. If the supervisor itself is killed,
PR_SET_PDEATHSIG kills Renode. It imports the standard library only, to start in milliseconds.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_POLL = 0.2  # seconds between checks that the command runs


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main(arguments: list[str]) -> int:
    """Run the command until it ends or standard input closes; return the exit code."""
    folder, command = Path(arguments[0]), arguments[2:]
    inherited = [int(number) for number in arguments[1].split(",") if number]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with (folder / "output").open("wb") as output:
        child = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.PIPE,  # never written; if closed, Renode's shell polls it all the time
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, "TMPDIR": str(folder)},
            start_new_session=True,
            pass_fds=inherited,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - this process has one thread
        )
    for descriptor in inherited:  # so that the harness sees the end of Renode
        os.close(descriptor)
    closed = False
    try:
        while child.poll() is None and not closed:
            ready, _, _ = select.select([sys.stdin.buffer], [], [], _POLL)
            closed = bool(ready) and not os.read(sys.stdin.fileno(), 1)
    finally:
        with contextlib.suppress(ProcessLookupError):  # the group may be gone already
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    if closed:
        shutil.rmtree(folder, ignore_errors=True)
    return child.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
