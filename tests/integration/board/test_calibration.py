"""A lab's calibration by the ordinary path: a board whose ratios nobody was told."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from cycle_counter import BETWEEN, IMAGE_DEVIATION, ratio

from harness.base.platforms import chip_table
from harness.history.calibration import Calibration, kernels

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
SEED = 7
CPU_HZ = chip_table().cpu_hz
MODELS = {"sine": "hello_world", "digits": "digits", "plain": "digits_cnn"}
CASES = "".join(
    f'[[case]]\nname = "{name}"\nsample = "{sample}"\n' for name, sample in MODELS.items()
)


@pytest.fixture
def tflm_hil(tmp_path, bench):
    """Runs the command as a lab does."""
    (tmp_path / "hil.toml").write_text(CASES)
    (tmp_path / "lab.toml").write_text('state = "state"\n')
    environment = os.environ | {"TFLM_HIL_VIRTUAL_BENCH": str(bench)}

    def run(*words: str) -> str:
        command = [sys.executable, "-m", "harness", *words]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.mark.slow
def test_hidden_ratios_of_a_board_are_recovered(dk, tflm_hil, tmp_path):
    dk(play=False, misbehave=[f"cycles={SEED}"])
    tflm_hil("run", "hil.toml", "--target", "simulator,board", "--runner", "nrfutil",
             "--json", "both.json")  # fmt: skip
    tflm_hil("calibrate", "both.json", "--output", "calibration.toml")
    learnt = Calibration.from_file(tmp_path / "calibration.toml")
    assert len(learnt.ratios) >= 8
    for kernel, found in learnt.ratios.items():
        operator = kernel.split()[0]
        hidden = ratio(SEED, BETWEEN if operator == "(interpreter)" else operator)
        # Each build of an image draws its deviations: five of them, so that no build fails.
        assert found.cycles == pytest.approx(hidden, rel=5 * IMAGE_DEVIATION), kernel
        assert found.spread < 0.25 * found.cycles, kernel

    rows = json.loads((tmp_path / "both.json").read_text())["cases"]
    by_name = {(row["name"], row["target"]): row for row in rows}
    for name in MODELS:
        foretold = learnt.time(kernels(by_name[name, "simulator"]), CPU_HZ)
        measured = 1000 * by_name[name, "board"]["cycles"] / CPU_HZ
        assert abs(foretold.milliseconds - measured) < 2 * foretold.spread

    told = tflm_hil("run", "hil.toml", "--case", "sine", "--calibration", "calibration.toml",
                    "--json", "-")  # fmt: skip
    [case] = json.loads(told)["cases"]
    assert case["milliseconds"] == pytest.approx(
        1000 * by_name["sine", "board"]["cycles"] / CPU_HZ, abs=2 * case["milliseconds_spread"]
    )
