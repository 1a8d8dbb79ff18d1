"""The figures of the two worlds, which stand in C++, in linker scripts, and follow the chip."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from harness.base import paths, platforms
from harness.base.platforms import ChipTable
from harness.build import standalone

RUNTIME = paths.platforms() / "standalone"


def constant(file: str, name: str) -> list[int]:
    found = re.findall(rf"\b{name} = (0x[0-9a-fA-F]+|\d+)", (RUNTIME / file).read_text())
    return [int(one, 0) for one in found]


def regions(script: str) -> dict[str, tuple[int, int]]:
    """Origin and length of each region of a MEMORY command."""
    found = re.findall(r"(\w+) +\(\w+\) +: ORIGIN = (\w+), LENGTH = (.+)", script)
    return {name: (number(origin), number(length)) for name, origin, length in found}


def number(text: str) -> int:
    """The value of ``0x8000``, ``32K`` or ``32K - 256``."""
    terms = text.split(" - ")
    first, *less = (int(term.rstrip("K"), 0) * (1024 if "K" in term else 1) for term in terms)
    return first - sum(less)


def generated_script(chip: ChipTable, taken: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    return regions(standalone.memory_script(chip, taken))


def test_the_secure_script_agrees_with_its_header():
    (flash,), (ram,) = (
        constant("secure/layout.h", "kFlashSize"),
        constant("secure/layout.h", "kRamSize"),
    )
    (callable_size,) = constant("secure/layout.h", "kCallableSize")
    assert regions((RUNTIME / "secure/secure.ld").read_text()) == {
        "FLASH": (0, flash - callable_size),
        "CALLABLE": (flash - callable_size, callable_size),
        "RAM": (0x2000_0000, ram),
    }


@pytest.mark.parametrize("name", platforms.chip_names())
def test_the_non_secure_image_has_all_the_rest_of_the_chip(name):
    (flash,), (ram,) = (
        constant("secure/layout.h", "kFlashSize"),
        constant("secure/layout.h", "kRamSize"),
    )
    assert {"flash": flash, "ram": ram} == standalone.TAKEN
    chip = platforms.chip_table(name)
    assert generated_script(chip, standalone.TAKEN) == {
        "FLASH": (flash, chip.area("flash").size - flash),
        "RAM": (0x2000_0000 + ram, chip.area("ram").size - ram),
    }
    assert flash in constant("soc/registers.h", "kImage")


@pytest.mark.parametrize("name", platforms.chip_names())
def test_the_worlds_meet_at_a_border_of_the_spu(name):
    chip = platforms.chip_table(name)
    for own, region in (("kFlashSize", chip.flash.region), ("kRamSize", chip.ram.region)):
        (size,) = constant("secure/layout.h", own)
        assert size % region == 0


@pytest.mark.parametrize("name", platforms.chip_names())
def test_the_secure_runtime_has_the_whole_chip(name):
    chip = platforms.chip_table(name)
    assert generated_script(chip, {}) == {
        one.name.upper(): (one.origin, one.size) for one in map(chip.area, ("flash", "ram"))
    }
