from __future__ import annotations

import needs
import pytest
from little_tflm import compile_little

from harness.elf import Image


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The little firmware with both operators; its map file lies beside it."""
    needs.require("arm-none-eabi-gcc")
    return Image.from_elf(compile_little(tmp_path_factory.mktemp("little")))


@pytest.fixture(scope="session")
def only_conv(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The same with CONV_2D alone."""
    needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("conv")
    return Image.from_elf(compile_little(folder, register="resolver.AddConv2D();", slots=1))
