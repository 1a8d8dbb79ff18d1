"""The command line with the streams that shells give it: a reader that leaves, none at all."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOOL = [sys.executable, "-m", "harness"]


def test_a_reader_that_leaves_is_not_taken_for_a_failed_check() -> None:
    process = subprocess.Popen(
        [*TOOL, "list", "samples"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    said = process.stderr.read()
    assert process.wait(60) == 141
    assert said == b""


@pytest.mark.parametrize("closed", ["1", "2"])
def test_a_closed_stream_stops_nothing(closed: str) -> None:
    command = f'exec "$@" {closed}>&-'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *TOOL, "list", "samples"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stdout + done.stderr


def test_a_full_disk_is_reported_in_one_line() -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        done = subprocess.run(
            [*TOOL, "list", "samples"], stdout=full, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert done.returncode == 3
    assert done.stderr.decode().splitlines() == ["tflm-hil: No space left on device"]
