"""A sample on each sibling: the nRF9160's outputs, console and counts, to the bit."""

from __future__ import annotations

from pathlib import Path

import pytest
from equal_runs import compare

from harness.base.platforms import DEFAULT_CHIP, chip_names
from harness.cli import main

pytestmark = pytest.mark.needs("arm-none-eabi-gcc", "flatc")


def run(folder: Path, chip: str) -> Path:
    """The folder of results of hello_world."""
    assert main(["run", "hello_world", "--chip", chip, "--output", str(folder / chip)]) == 0
    return folder / chip


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run(tmp_path_factory.mktemp("runs"), DEFAULT_CHIP)


@pytest.mark.parametrize("chip", sorted({*chip_names()} - {DEFAULT_CHIP}))
def test_a_sibling_does_what_the_default_chip_does(default, tmp_path, chip):
    count, found = compare(default, run(tmp_path, chip))
    assert not found
    assert (count["cases"], count["values of outputs"]) == (1, 20)
