"""Builds the simulator's test firmwares, once a session; and a chip that needs none."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from bare_chip import BareChip, endless_loop

from harness.elf import Firmware

SOURCES = Path(__file__).resolve().parents[2] / "firmware"
FLAGS = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding"
FLAGS += " -fno-tree-loop-distribute-patterns -nostdlib -Wall -Wextra -Werror"


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Firmware]:
    compiler = shutil.which("arm-none-eabi-gcc")
    if compiler is None:
        pytest.skip("needs arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("firmware")
    built: dict[str, Firmware] = {}

    def make(name: str) -> Firmware:
        if name not in built:
            elf = folder / f"{name}.elf"
            command = [compiler, *FLAGS.split(), "-T", str(SOURCES / "machine.ld")]
            command += [str(SOURCES / f"{name}.c"), "-o", str(elf)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
            built[name] = Firmware.from_elf(elf)
        return built[name]

    return make


@pytest.fixture(scope="session")
def waiting(tmp_path_factory: pytest.TempPathFactory) -> Firmware:
    """An image that does nothing."""
    return endless_loop(tmp_path_factory.mktemp("waiting") / "waiting.elf")


@pytest.fixture
def chip(waiting: Firmware) -> Iterator[BareChip]:
    """A chip fresh from reset that runs it."""
    made = BareChip(waiting)
    yield made
    made.machine.close()
