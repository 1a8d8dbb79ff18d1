from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from little_tflm import compile_little, has_gcc

from harness import paths
from harness.build.schema import text as whole_schema
from harness.elf import Firmware

Compile = Callable[..., Firmware]


@pytest.fixture(scope="session")
def compile_image(tmp_path_factory: pytest.TempPathFactory) -> Compile:
    """The little firmware with another registration, compiled once for each."""
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    known: dict[object, Path] = {}

    def compiled(register: str = "", slots: int = 2, **options: object) -> Firmware:
        key = (register, slots, tuple(sorted(options.items())))
        if key not in known:
            folder = tmp_path_factory.mktemp("image")
            known[key] = compile_little(folder, register=register, slots=slots, **options)
        return Firmware.from_elf(known[key])

    return compiled


@pytest.fixture(scope="session")
def runtime_includes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The include folders of the standalone runtime, with the schema's header that flatc makes."""
    standalone = paths.platforms() / "standalone"
    headers = Path("/usr/include/flatbuffers")
    if shutil.which("flatc") is None or not headers.is_dir() or not standalone.is_dir():
        pytest.skip("no flatbuffers compiler, or no standalone runtime")
    folder = tmp_path_factory.mktemp("schema")
    out = folder / "tensorflow" / "lite" / "schema"
    out.mkdir(parents=True)
    schema = folder / "schema.fbs"
    schema.write_text(whole_schema(standalone / "schema" / "schema.fbs"))
    subprocess.run(["flatc", "--cpp", "-o", str(out), str(schema)], check=True)
    (folder / "flatbuffers").symlink_to(headers)
    return [standalone / "tflm", folder]
