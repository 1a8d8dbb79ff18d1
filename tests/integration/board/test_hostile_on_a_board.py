"""The command of docs/lab.md that runs the hostile images on a board."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs
import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("target", "code", "said"),
    [("virtual-board", 0, "2 passed"), ("board", 1, "no board 'bench-1' is attached")],
)
def test_images_run_on_the_target_that_is_named(target, code, said, tmp_path):
    needs.require("pyocd")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/hostile", "--hil-target", target,
         "-k", "sdiv_by_zero", "-p", "no:cacheprovider"],
        env={**os.environ, "TFLM_HIL_BOARD": "bench-1", "TFLM_HIL_LAB_STATE": str(tmp_path)},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip
    assert done.returncode == code, done.stdout
    assert said in done.stdout
