"""Forked Python programs end as programs of their own do."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from forked_python import SERVER, run_python

SLEEPS = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


@pytest.fixture
def sleeper(tmp_path):
    """A program that prints its process id and waits."""
    (tmp_path / "sleeper.py").write_text(SLEEPS)
    with subprocess.Popen(
        SERVER.program("sleeper"), cwd=tmp_path, stdout=subprocess.PIPE
    ) as client:
        yield client, int(client.stdout.readline())
        client.kill()


def gone(pid: int) -> bool:
    limit = time.monotonic() + 20
    while time.monotonic() < limit:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


def test_a_fork_ends_when_its_client_is_killed(sleeper):
    client, pid = sleeper
    client.kill()
    assert gone(pid)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_client_ends_the_fork_and_is_in_the_exit_code(sleeper, number):
    client, pid = sleeper
    client.send_signal(number)
    assert client.wait(20) == 128 + number
    assert gone(pid)


@pytest.mark.parametrize(
    ("body", "code"),
    [("pass", 0), ("raise SystemExit(3)", 3), ("import os; os.kill(os.getpid(), 9)", -9)],
)
def test_the_exit_code_is_the_programs(tmp_path, body, code):
    (tmp_path / "it.py").write_text(body)
    assert run_python("it", cwd=tmp_path, env=os.environ).returncode == code
