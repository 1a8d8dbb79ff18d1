"""Concurrent and killed writers leave whole runs only."""

import random
import resource
import signal
import time

import pytest
import replay_nights as lab
from history_writers import CASES, whole, writer

from harness.base.errors import CannotWrite
from harness.history.store import History


@pytest.mark.slow
def test_two_processes_that_write_at_once_lose_nothing(file):
    writers = [writer(file, first, 2, 15) for first in range(2)]
    for one in writers:
        _, said = one.communicate(timeout=120)
        assert one.returncode == 0, said
    assert whole(str(file)) == list(range(30))


@pytest.mark.parametrize("seed", range(4))
def test_a_writer_that_is_killed_leaves_whole_runs_only(file, seed):
    one = writer(file, 0, 1, 10_000)
    first = one.stdout.readline()
    time.sleep(random.Random(seed).uniform(0, 0.3))
    one.send_signal(signal.SIGKILL)
    told = [first, *one.stdout.readlines()]
    one.communicate()
    nights = whole(str(file))
    assert nights == list(range(len(nights)))
    assert len(nights) in (len(told), len(told) + 1)  # what was said to be kept is


def test_a_full_disk_is_named_and_keeps_the_history(file, run):
    with History.open(str(file)) as history:
        history.record(run(lab.document(*lab.cases(CASES))))
    room = file.stat().st_size + 8192

    def little_room() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    one = writer(file, 1, 1, 50, preexec_fn=little_room)
    _, said = one.communicate(timeout=120)
    assert one.returncode != 0
    assert f"CannotWrite: cannot write {file}" in said
    assert whole(str(file)) == [0]


@pytest.mark.needs("user")
def test_a_read_only_history_is_an_error(file, run):
    with History.open(str(file)) as history:
        history.record(run(lab.document()))
    file.chmod(0o400)
    with pytest.raises(CannotWrite):
        History.open(str(file))
