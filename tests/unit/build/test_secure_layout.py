"""The figures of the two worlds, which stand in C++, in linker scripts, and follow the chip."""

from __future__ import annotations

import re

from harness.base import paths, platforms
from harness.build import generated
from harness.elf.regions import from_linker_script

RUNTIME = paths.platforms() / "standalone"


def constant(file: str, name: str) -> list[int]:
    found = re.findall(rf"\b{name} = (0x[0-9a-fA-F]+|\d+)", (RUNTIME / file).read_text())
    return [int(one, 0) for one in found]


def script(name: str) -> dict[str, tuple[int, int]]:
    text = (RUNTIME / name).read_text()
    return {one.name: (one.origin, one.size) for one in from_linker_script(text)}


def chip(memory: str) -> int:
    return platforms.chip_table().area(memory).size


def test_the_secure_script_agrees_with_its_header():
    (flash,), (ram,) = (
        constant("secure/layout.h", "kFlashSize"),
        constant("secure/layout.h", "kRamSize"),
    )
    (callable_size,) = constant("secure/layout.h", "kCallableSize")
    assert script("secure/secure.ld") == {
        "FLASH": (0, flash - callable_size),
        "CALLABLE": (flash - callable_size, callable_size),
        "RAM": (0x2000_0000, ram),
    }


def test_the_non_secure_image_has_all_the_rest_of_the_chip():
    (flash,), (ram,) = (
        constant("secure/layout.h", "kFlashSize"),
        constant("secure/layout.h", "kRamSize"),
    )
    assert script("nonsecure.ld") == {
        "FLASH": (flash, chip("flash") - flash),
        "RAM": (0x2000_0000 + ram, chip("ram") - ram),
    }
    assert flash in constant("soc/registers.h", "kImage")


def test_the_worlds_meet_at_a_border_of_the_spu():
    for memory, own, step in (
        ("flash", "kFlashSize", "kFlashRegion"),
        ("ram", "kRamSize", "kRamRegion"),
    ):
        (size,), (region,) = (constant("secure/layout.h", name) for name in (own, step))
        assert chip(memory) == 32 * region
        assert size % region == 0


def test_the_secure_runtime_has_the_whole_chip():
    text = generated.memory_script(platforms.chip_table())
    found = {one.name: (one.origin, one.size) for one in from_linker_script(text)}
    assert found == {"FLASH": (0, chip("flash")), "RAM": (0x2000_0000, chip("ram"))}
