"""Names of places: C++ names as people write them, assembly that tells no size, aliases."""

from __future__ import annotations

from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.elf import Image

TEXT = MadeSection(".text", 0x100, bytes(128), load=0x100, executable=True)


@pytest.fixture
def locate(tmp_path: Path):
    def at(address: int, *symbols: MadeSymbol) -> str:
        path = tmp_path / "image.elf"
        path.write_bytes(write_elf([TEXT], list(symbols)))
        return str(Image.from_elf(path).locate(address))

    return at


def test_a_mangled_name_is_shown_as_it_is_written(locate):
    send = MadeSymbol("_ZN3soc4SendEPKhj", 0x101, 16, "func")
    assert locate(0x104, send) == "soc::Send"


def test_assembly_without_a_size_reaches_to_the_next_function(locate):
    idle = MadeSymbol("arch_cpu_idle", 0x101, 0, "func")
    after = MadeSymbol("after", 0x121, 4, "func")
    assert locate(0x11E, idle, after) == "arch_cpu_idle"
    assert locate(0x122, idle, after) == "after"
    assert locate(0x130, idle, after) == "0x00000130"


def test_of_two_names_at_one_place_the_one_with_a_size_is_shown(locate):
    real = MadeSymbol("real", 0x101, 8, "func")
    alias = MadeSymbol("alias", 0x101, 0, "func")
    assert locate(0x102, real, alias) == locate(0x102, alias, real) == "real"
