"""Whatever ends a writer, and however many there are: a run is there whole or not at all."""

import os
import random
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import replay_nights as lab

from harness.errors import CannotWrite
from harness.history.store import History

SUPPORT = Path(lab.__file__).parent
CASES = 40

#: Records nights FROM, FROM + STEP, ... and says so after each.
WRITER = f"""
import sys
import replay_nights as lab
from harness.history.keep import keep
from harness.history.run import Occasion
url, first, step, count = sys.argv[1], *map(int, sys.argv[2:5])
rows = lab.cases({CASES})
for night in range(first, first + step * count, step):
    keep(url, lab.document(*rows, night=night), Occasion(0.0).told_by(lab.document(night=night)))
    print(night, flush=True)
"""


def writer(url: object, first: int, step: int, count: int, **more) -> subprocess.Popen:
    path = os.pathsep.join([str(SUPPORT), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(url), *map(str, (first, step, count))],
        env=os.environ | {"PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True, **more,
    )  # fmt: skip


def whole(url: str) -> list[int]:
    """The nights of a history in which every run has all its cases and figures."""
    with History.open(url) as history:
        runs = history.runs()
        cases = history.cases(runs)
    assert all(len(points) == len(runs) for points in cases.values())
    assert len(cases) == (CASES if runs else 0)
    assert all(len(point.seen.figures) == 8 for points in cases.values() for point in points)
    return [round((run.occasion.started - lab.FIRST) / lab.DAY) for run in runs]


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


def test_a_full_disk_is_named_and_leaves_what_was_there(file, run):
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_history_that_may_not_be_written_says_so(file, run):
    with History.open(str(file)) as history:
        history.record(run(lab.document()))
    file.chmod(0o400)
    with pytest.raises(CannotWrite):
        History.open(str(file))
