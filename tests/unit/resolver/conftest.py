from __future__ import annotations

from collections.abc import Callable

import needs
import pytest
from little_tflm import INTERPRET, compile_little

from harness.elf import Image

Compile = Callable[..., Image]


@pytest.fixture(scope="session")
def compile_image(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """The little firmware with another registration, compiled and analysed once for each."""
    needs.require("arm-none-eabi-gcc")
    known: dict[str, Image] = {}

    def compiled(
        register: str = "", slots: int = 2, interpret: str = INTERPRET, **options: object
    ) -> Image:
        options["interpret"] = interpret
        key = repr((register, slots, sorted(options.items())))
        if key not in known:
            folder = tmp_path_factory.mktemp("image")
            elf = compile_little(folder, register=register, slots=slots, **options)
            known[key] = Image.from_elf(elf)
        return known[key]

    return compiled
