from __future__ import annotations

from dataclasses import replace

import needs
import pytest
from little_tflm import compile_little, compile_with_map

from harness.elf import Image


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The little firmware with both operators."""
    needs.require("arm-none-eabi-gcc")
    return Image.from_elf(compile_little(tmp_path_factory.mktemp("little")))


@pytest.fixture(scope="session")
def mapped(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The same with its map file."""
    needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("mapped")
    compile_with_map(folder)
    return replace(Image.from_elf(folder / "little.elf"), map_file=folder / "little.map")


@pytest.fixture(scope="session")
def only_conv(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The same with CONV_2D alone."""
    needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("conv")
    return Image.from_elf(compile_little(folder, register="resolver.AddConv2D();", slots=1))
