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


def run(processes: Processes, folder: Path, program: str, seconds: float = 60.0) -> str:
    command = [sys.executable, "-c", program]
    return processes.run(
        command, folder=folder, environment=dict(os.environ), seconds=seconds
    ).output


def child_of(folder: Path) -> int:
    limit = time.monotonic() + 60
    while not (folder / "ready").exists():
        assert time.monotonic() < limit, "the child never started"
        time.sleep(0.01)
    return int((folder / "ready").read_text())


def runs(process: int) -> bool:
    """False for a process that has ended, also if nobody has asked for its exit code yet."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def test_a_command_gives_what_it_printed(tmp_path: Path) -> None:
    program = "import os, sys; print(os.getcwd()); sys.exit(3)"
    done = Processes().run(
        [sys.executable, "-c", program], folder=tmp_path, environment={}, seconds=60.0
    )
    assert (done.code, done.output.strip(), done.errors) == (3, str(tmp_path), "")


def test_at_its_time_limit_a_command_ends_with_all_its_descendants(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        run(Processes(), tmp_path, WITH_A_CHILD, seconds=3.0)
    assert not runs(child_of(tmp_path))


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
    assert not runs(child)


def test_after_stop_nothing_is_started(tmp_path: Path) -> None:
    processes = Processes()
    processes.stop()
    with pytest.raises(CancelledError):
        run(processes, tmp_path, "open('started', 'w')")
    assert not (tmp_path / "started").exists()


def test_a_command_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Processes().run(["/nowhere"], folder=tmp_path, environment={}, seconds=1.0)
