"""Commands of a build: none of their descendants outlives them, however they end."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from harness.build.processes import Processes

#: Starts a child in a process group of its own, as ninja does, and waits for it.
WITH_A_CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], process_group=0)
open("child", "w").write(str(child.pid))
os.rename("child", "ready")
child.wait()
"""


def run(processes: Processes, folder: Path, program: str) -> str:
    command = [sys.executable, "-c", program]
    return processes.run(
        command, folder=folder, environment=dict(os.environ), seconds=60.0, session=True
    ).output


def child_of(folder: Path) -> int:
    limit = time.monotonic() + 60
    while not (folder / "ready").exists():
        assert time.monotonic() < limit, "the child never started"
        time.sleep(0.01)
    return int((folder / "ready").read_text())


def ends(process: int) -> bool:
    """True once a process has ended, also if nobody has asked for its exit code yet."""
    limit = time.monotonic() + 10
    while time.monotonic() < limit:
        try:
            status = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return True
        if status.rpartition(")")[2].split()[0] in "ZX":
            return True
        time.sleep(0.01)  # killed, it still gives back its memory
    return False


def test_a_command_gives_its_output(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd()); sys.exit(3)"
    done = Processes().run(
        [sys.executable, "-c", program], folder=tmp_path, environment={}, seconds=60.0
    )
    assert (done.code, done.output.strip(), done.errors) == (3, str(tmp_path), "")


@pytest.mark.parametrize("session", [True, False])
def test_at_its_time_limit_a_command_ends_with_all_its_descendants(
    tmp_path: Path, session: bool
) -> None:
    program = WITH_A_CHILD if session else WITH_A_CHILD.replace(", process_group=0", "")
    seconds = 1.0
    while not (tmp_path / "ready").exists():  # on a busy machine the child may start later
        seconds *= 2
        with pytest.raises(subprocess.TimeoutExpired):
            Processes().run(
                [sys.executable, "-c", program], folder=tmp_path, environment=dict(os.environ),
                seconds=seconds, session=session,
            )  # fmt: skip
    assert ends(child_of(tmp_path))


def test_stop_ends_commands_of_all_threads_with_all_their_descendants(tmp_path: Path) -> None:
    processes = Processes()
    ended: list[type[BaseException]] = []

    def work() -> None:
        try:
            run(processes, tmp_path, WITH_A_CHILD)
        except BaseException as error:
            ended.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    child = child_of(tmp_path)
    processes.stop()
    thread.join(timeout=60)
    assert ended == [CancelledError]
    assert ends(child)


def test_after_stop_nothing_is_started(tmp_path: Path) -> None:
    processes = Processes()
    processes.stop()
    with pytest.raises(CancelledError):
        run(processes, tmp_path, "open('started', 'w')")
    assert not (tmp_path / "started").exists()


def test_a_command_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Processes().run(["/nowhere"], folder=tmp_path, environment={}, seconds=1.0)
