from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from types import MappingProxyType

import needs
import pytest
from little_runs import BOTH, NEEDED
from little_tflm import INTERPRET, compile_little

from harness.elf import Image

Compile = Callable[..., Image]
DEFAULT_MODELS = MappingProxyType({"g_model": NEEDED.data})


@pytest.fixture(scope="session")
def compile_image(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """The little firmware with another registration, compiled and analysed once for each.

    ``above`` is C++ code before its setup(), and ``strip`` an option of strip.
    """
    needs.require("arm-none-eabi-gcc")
    known: dict[str, Image] = {}

    def compiled(
        register: str = BOTH, slots: int = 2, *, interpret: str = INTERPRET, above: str = "",
        strip: str = "", models: Mapping[str, bytes] = DEFAULT_MODELS, **options: object,
    ) -> Image:  # fmt: skip
        options |= {"slots": slots, "interpret": interpret, "models": models}
        if above:
            options["files"] = {"above.h": f'#include "interpreter.h"\n{above}'}
            options["extra"] = ("-include", "above.h", *options.get("extra", ()))
        key = repr((register, strip, sorted(options.items())))
        if key not in known:
            elf = compile_little(tmp_path_factory.mktemp("image"), register=register, **options)
            if strip:
                subprocess.run(["arm-none-eabi-strip", strip, str(elf)], check=True)
            known[key] = Image.from_elf(elf)
        return known[key]

    return compiled
