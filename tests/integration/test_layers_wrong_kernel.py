"""An application's own kernel that computes something wrong is the operator that is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from harness.base import paths

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")
#: The application's own AVERAGE_POOL_2D rounds its means; the wrong one lets the fraction fall.
RIGHT = "return sum > 0 ? (sum + cells / 2) / cells : (sum - cells / 2) / cells;"
WRONG = "return sum / cells;"


def _command(
    project: Path, cache: Path, command: str, resolver: str
) -> tuple[int, str, dict[str, Any]]:
    """A command of ``tflm-hil`` in a copy of the project, as somebody who changed it would."""
    file = project / f"{command}-{resolver}.json"
    done = subprocess.run(
        [sys.executable, "-m", "harness", command, "digits", "--resolver", resolver,
         "--json", str(file)],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project), "TFLM_HIL_CACHE": str(cache)},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )  # fmt: skip
    assert file.is_file(), done.stderr
    return done.returncode, done.stdout + done.stderr, json.loads(file.read_text())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the parts that build and run an image."""
    for folder in (paths.PACKAGE, paths.samples(), paths.platforms()):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(folder, tmp_path / folder.name, ignore=ignored)
    return tmp_path


@pytest.mark.slow
def test_the_wrong_kernel_of_an_application_is_named_and_no_other(
    project: Path, tmp_path: Path
) -> None:
    source = project / "zephyr_samples" / "common" / "src" / "own_kernels.cc"
    text = source.read_text()
    assert text.count(RIGHT) == 1

    code, said, table = _command(project, tmp_path / "cache", "layers", "override")
    assert (code, table["equal"]) == (0, True), said

    source.write_text(text.replace(RIGHT, WRONG))
    code, said, table = _command(project, tmp_path / "cache", "layers", "override")
    assert code == 1, said
    layers = table["layers"]
    assert isinstance(layers, list)
    first = layers[table["first"]]
    assert first["operator"] == "AVERAGE_POOL_2D"
    assert first["own_fault"] is True
    assert first["comparison"]["largest"] == 1
    later = layers[table["first"] + 1 :]
    assert later and not any(layer["own_fault"] for layer in later)
    assert f"first diverging layer: operator {first['node']} (AVERAGE_POOL_2D" in said
    assert "<- its own fault" in said

    code, said, document = _command(project, tmp_path / "cache", "run", "override")
    assert code == 1, said
    assert (
        f": operator {first['node']} (AVERAGE_POOL_2D, version 2) computes something else"
        in (document["cases"][0]["reason"])
    )


#: Where the samples store an input that the host sends; the wrong one flips signs.
STORES = "std::memcpy(static_cast<uint8_t*>(tensor->data.data) + offset, bytes, size);"
FLIPS = """for (size_t i = 0; i < size; ++i)
    static_cast<uint8_t*>(tensor->data.data)[offset + i] = bytes[i] ^ 0x80;"""


@pytest.mark.slow
def test_an_input_that_the_application_stores_wrongly_is_told_while_it_is_fed(
    project: Path, tmp_path: Path
) -> None:
    source = project / "zephyr_samples" / "common" / "src" / "runner.cc"
    text = source.read_text()
    assert text.count(STORES) == 1
    source.write_text(text.replace(STORES, FLIPS))
    code, said, document = _command(project, tmp_path / "cache", "run", "console")
    assert code == 1, said
    assert (
        ": the application's input is off by 128: the zero point of -128 is not applied; "
        in (document["cases"][0]["reason"])
    )
