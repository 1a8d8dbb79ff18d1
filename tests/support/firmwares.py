"""The firmwares of tests/firmware, as a fixture: import it into a conftest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from kept_images import kept

from harness.elf import Image

SOURCES = Path(__file__).resolve().parents[1] / "firmware"
FLAGS = "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16 -O2 -g -ffreestanding"
FLAGS += " -fno-tree-loop-distribute-patterns -nostdlib -Wall -Wextra -Werror"


def compiled(compiler: str, name: str, elf: Path, *flags: str) -> Path:
    """``elf``, the firmware ``NAME.c`` with further flags."""
    source, script = SOURCES / f"{name}.c", SOURCES / "machine.ld"
    command = [compiler, *FLAGS.split(), *flags, "-T", str(script), str(source)]
    return kept(elf, command, read=(source, script, SOURCES / "machine.h"))


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Image]:
    compiler = needs.require("arm-none-eabi-gcc")
    built: dict[str, Image] = {}
    folder = tmp_path_factory.mktemp("firmwares")

    def make(name: str) -> Image:
        if name not in built:
            built[name] = Image.from_elf(compiled(compiler, name, folder / f"{name}.elf"))
        return built[name]

    return make
