from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_little

from harness.elf import Image

Make = Callable[[list[MadeSection], list[MadeSymbol]], Image]

GCC = [("gcc", f"-gdwarf-{version}") for version in (2, 3, 4, 5)]
CLANG = [("clang", f"-gdwarf-{version}") for version in (2, 4, 5)]


@pytest.fixture(scope="session", params=[*GCC, *CLANG], ids="".join)
def debuggable(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The little firmware with every version of DWARF, from GCC and from LLVM."""
    compiler, dwarf = request.param
    needs.require("arm-none-eabi-gcc" if compiler == "gcc" else compiler)
    return compile_little(tmp_path_factory.mktemp("little"), compiler=compiler, dwarf=dwarf)


@pytest.fixture(scope="session")
def little(tmp_path_factory: pytest.TempPathFactory) -> Image:
    needs.require("arm-none-eabi-gcc")
    return Image.from_elf(compile_little(tmp_path_factory.mktemp("gcc")))


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """An image of the test's own sections and symbols."""

    def made(sections: list[MadeSection], symbols: list[MadeSymbol]) -> Image:
        path = tmp_path / "made.elf"
        path.write_bytes(write_elf(sections, symbols))
        return Image.from_elf(path)

    return made
