"""The firmwares of tests/firmware, as a fixture: import it into a conftest."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from shared import made_once

from harness.elf import Image

SOURCES = Path(__file__).resolve().parents[1] / "firmware"
FLAGS = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding"
FLAGS += " -fno-tree-loop-distribute-patterns -nostdlib -Wall -Wextra -Werror"


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Image]:
    compiler = needs.require("arm-none-eabi-gcc")
    built: dict[str, Image] = {}

    def compile_to(elf: Path, name: str) -> None:
        command = [compiler, *FLAGS.split(), "-T", str(SOURCES / "machine.ld")]
        command += [str(SOURCES / f"{name}.c"), "-o", str(elf)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def make(name: str) -> Image:
        if name not in built:
            elf = made_once(tmp_path_factory, f"{name}.elf", lambda path: compile_to(path, name))
            built[name] = Image.from_elf(elf)
        return built[name]

    return make
