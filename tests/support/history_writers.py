"""Processes that record nights in a history, and a check that it is whole."""

import os
import subprocess
import sys
from pathlib import Path

import replay_nights as lab

from harness.history.store import History

SUPPORT = Path(lab.__file__).parent
CASES = 40

#: Records nights FROM, FROM + STEP, ... and prints the number of each.
WRITER = f"""
import sys
import replay_nights as lab
from harness.history.keep import keep
from harness.history.run import Occasion
url, first, step, count = sys.argv[1], *map(int, sys.argv[2:5])
rows = lab.cases({CASES})
for night in range(first, first + step * count, step):
    occasion = Occasion(0.0).updated_from(lab.document(night=night))
    keep(url, lab.document(*rows, night=night), occasion)
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
    assert all(len(point.outcome.figures) == 8 for points in cases.values() for point in points)
    return [round((run.occasion.started - lab.FIRST) / lab.DAY) for run in runs]
