from __future__ import annotations

import pytest
from little_tflm import compile_little, has_gcc

from harness.elf import Image


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The little firmware with both operators; its map file lies beside it."""
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    return Image.from_elf(compile_little(tmp_path_factory.mktemp("little")))


@pytest.fixture(scope="session")
def only_conv(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """The same with CONV_2D alone."""
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    folder = tmp_path_factory.mktemp("conv")
    return Image.from_elf(compile_little(folder, register="resolver.AddConv2D();", slots=1))
