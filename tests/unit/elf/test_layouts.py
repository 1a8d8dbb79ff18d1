"""Structures that one declaration lays out in two ways."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from harness.elf import Image
from harness.elf.layouts import two_layouts

pytestmark = pytest.mark.needs("arm-none-eabi-gcc")

FILES = {
    "settings.h": "struct settings { char zero; int gain; };\nextern struct settings settings;\n",
    "plain.c": '#include "settings.h"\nstruct settings settings;\nstruct own { int a; } mine;\n',
    "packed.c": '#pragma pack(1)\n#include "settings.h"\n'
    "int read(void) { return settings.gain; }\n",
    "main.c": '#include "settings.h"\nint read(void);\nstruct own { int a, b; } theirs;\n'
    "int main(void) { return read() + settings.zero; }\n",
    "unpacked.c": '#include "settings.h"\nint read(void) { return settings.gain; }\n',
}


def linked(folder: Path, *sources: str) -> Image:
    for name, text in FILES.items():
        (folder / name).write_text(text)
    options = ["-mcpu=cortex-m33", "-g", "-nostdlib", "-Wl,-e,main", "-o", "image.elf"]
    subprocess.run(["arm-none-eabi-gcc", *options, *sources], cwd=folder, check=True)
    return Image.from_elf(folder / "image.elf")


def test_a_structure_of_a_header_has_two_layouts(tmp_path: Path) -> None:
    image = linked(tmp_path, "main.c", "plain.c", "packed.c")
    assert [str(one) for one in two_layouts(image)] == [
        "struct settings (settings.h:1) has 5 bytes in packed.c and 8 in main.c"
    ]


def test_structures_of_two_declarations_may_have_one_name(tmp_path: Path) -> None:
    assert not list(two_layouts(linked(tmp_path, "main.c", "plain.c", "unpacked.c")))
