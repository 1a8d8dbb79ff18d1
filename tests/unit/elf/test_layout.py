from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from hypothesis import given, settings
from hypothesis import strategies as st
from little_tflm import compile_with_map

from harness import footprint
from harness.elf import Image

Make = Callable[[list[MadeSection], list[MadeSymbol]], Image]

_SYMBOL = st.builds(
    MadeSymbol,
    st.sampled_from(["a", "b", "c", "d", "e"]),
    st.integers(0, 0x300),
    st.integers(0, 0x200),
    st.sampled_from(["func", "object", "notype"]),
    st.sampled_from([0, 1, 2]),
    st.sampled_from(["local", "global", "weak"]),
)


@settings(max_examples=200, deadline=None)
@given(symbols=st.lists(_SYMBOL, max_size=25), gap=st.integers(0, 40), raw=st.binary(max_size=96))
def test_the_parts_of_a_region_sum_to_it_whatever_the_symbols_claim(
    tmp_path_factory: pytest.TempPathFactory, symbols: list[MadeSymbol], gap: int, raw: bytes
) -> None:
    text = bytes(0x100)
    path = tmp_path_factory.mktemp("made") / "made.elf"
    path.write_bytes(write_elf(
        [MadeSection(".text", 0, text, load=0, executable=True),
         MadeSection(".rodata", 0x100 + gap, raw or b"x", load=0x100 + gap),
         MadeSection(".bss", 0x2000_0000 + gap, size=77)],
        symbols,
    ))  # fmt: skip
    firmware = Image.from_elf(path)
    layout = firmware.layout
    flash = 0x100 + gap + len(raw or b"x")
    assert sum(part.size for part in layout.of("FLASH")) == flash
    assert sum(part.size for part in layout.of("RAM")) == gap + 77
    for region in ("FLASH", "RAM"):
        parts = layout.of(region)
        assert all(a.place + a.size == b.place for a, b in pairwise(parts))
        assert all(part.size > 0 for part in parts)


def test_flash_is_the_size_of_the_binary_and_equals_the_linkers_figure(
    little: Image, tmp_path: Path
) -> None:
    binary = tmp_path / "little.bin"
    subprocess.run(["arm-none-eabi-objcopy", "-O", "binary", str(little.path), str(binary)],
                   check=True)  # fmt: skip
    flash, ram = footprint.regions(little)
    assert flash.used == binary.stat().st_size
    printed = compile_with_map(tmp_path / "again", "-Wl,--print-memory-usage")
    table = {name: int(used) for name, used in re.findall(r"(\w+):\s+(\d+) B", printed)}
    assert {"FLASH": flash.used, "RAM": ram.used} == table


def test_initial_values_count_in_flash_and_in_ram(make: Make) -> None:
    firmware = make(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True),
         MadeSection(".data", 0x2000_0000, b"\1" * 8, load=16)],
        [MadeSymbol("value", 0x2000_0000, 8, section=1)],
    )  # fmt: skip
    layout = firmware.layout
    copies = [(part.region, part.copy) for part in layout.parts if part.name == "value"]
    assert copies == [("FLASH", True), ("RAM", False)]
    assert [region.used for region in footprint.regions(firmware)] == [24, 8]


def test_aliases_are_one_part_with_all_names(make: Make) -> None:
    firmware = make(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True)],
        [MadeSymbol("weak_name", 1, 16, "func", binding="weak"), MadeSymbol("name", 1, 16, "func")],
    )
    (part,) = firmware.layout.of("FLASH")
    assert (part.name, part.aliases) == ("name", ("weak_name",))


def test_padding_literals_and_gaps_are_distinct(make: Make) -> None:
    firmware = make(
        [MadeSection(".text", 0, bytes(10) + b"\x00\xbf" + bytes(4), load=0, executable=True),
         MadeSection(".rodata", 0x20, b"hello world\0more text\0", load=0x20)],
        [MadeSymbol("f", 1, 10, "func"), MadeSymbol("g", 13, 4, "func")],
    )  # fmt: skip
    kinds = [(p.kind, p.size) for p in firmware.layout.of("FLASH")]
    assert kinds == [
        ("function", 10), ("padding", 2), ("function", 4), ("gap", 16), ("strings", 22)
    ]  # fmt: skip


def test_a_stripped_image_is_shown_by_section(make: Make) -> None:
    firmware = make([MadeSection(".text", 0, b"\x12\x34" * 8, load=0, executable=True)], [])
    layout = firmware.layout
    assert [(p.name, p.section, p.size) for p in layout.parts] == [("(no symbol)", ".text", 16)]


def test_symbols_that_reach_outside_are_cut_and_noted(make: Make) -> None:
    firmware = make(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True)],
        [MadeSymbol("liar", 9, 0x7FFF_FFFF, "func")],
    )
    layout = firmware.layout
    assert [(p.name, p.size) for p in layout.parts] == [("(padding)", 8), ("liar", 8)]
    assert any("reach outside" in note for note in layout.notes)


def test_a_section_outside_the_memory_map_is_noted(make: Make) -> None:
    firmware = make(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True),
         MadeSection(".odd", 0x6000_0000, bytes(8), load=0x6000_0000)],
        [],
    )  # fmt: skip
    assert any(".odd" in note for note in firmware.layout.notes)


def made(tmp_path: Path, *sections: MadeSection) -> Image:
    text = MadeSection(".text", 0, bytes(0x100), load=0, executable=True)
    (tmp_path / "made.elf").write_bytes(write_elf([text, *sections], []))
    return Image.from_elf(tmp_path / "made.elf")


def test_thread_local_variables_without_initial_values_take_no_memory(tmp_path: Path) -> None:
    image = made(tmp_path, MadeSection(".tbss", 0x100, size=4, tls=True))
    assert sum(part.size for part in image.layout.of("FLASH")) == 0x100


def test_a_thread_local_variable_lies_at_its_offset_in_their_section(make: Make) -> None:
    image = make(
        [MadeSection(".text", 0, bytes(16), load=0, executable=True),
         MadeSection(".tdata", 16, b"\1" * 8, load=16, tls=True)],
        [MadeSymbol("f", 1, 16, "func"), MadeSymbol("own", 4, 4, "tls", section=1)],
    )  # fmt: skip
    (own,) = (part for part in image.layout.parts if part.name == "own")
    assert (own.place, own.size, image.layout.notes) == (20, 4, ())


def test_a_section_after_them_has_all_of_its_bytes(tmp_path: Path) -> None:
    tbss = MadeSection(".tbss", 0x100, size=4, tls=True)
    image = made(tmp_path, tbss, MadeSection(".rodata", 0x100, b"textual!", load=0x100))
    sizes = {part.section: part.size for part in image.layout.of("FLASH")}
    assert sizes == {".text": 0x100, ".rodata": 8}


def test_a_load_address_without_content_behind_all_else_takes_no_flash(tmp_path: Path) -> None:
    stacks = MadeSection("priv_stacks", 0x2000_0000, size=0x40, reserved=0x100)
    layout = made(tmp_path, stacks).layout
    assert sum(part.size for part in layout.of("FLASH")) == 0x100
    assert sum(part.size for part in layout.of("RAM")) == 0x40
    assert not any("priv_stacks" in note for note in layout.notes)


def test_a_load_address_without_content_before_data_is_a_gap(tmp_path: Path) -> None:
    stacks = MadeSection("priv_stacks", 0x2000_0000, size=0x40, reserved=0x100)
    data = MadeSection("datas", 0x2000_0040, b"1234", load=0x140)
    layout = made(tmp_path, stacks, data).layout
    assert sum(part.size for part in layout.of("FLASH")) == 0x144
    assert layout.notes[0] == (
        "priv_stacks: 64 B of FLASH at 0x00000100 are a gap in the binary:"
        " a load address (AT>), and no bytes to store"
    )


def test_functions_without_a_size_reach_to_the_next(make: Make) -> None:
    image = make(
        [MadeSection(".text", 0, bytes(range(1, 33)), load=0, executable=True)],
        [MadeSymbol("a", 1, 0, "func"), MadeSymbol("b", 9, 0, "func")],
    )
    assert [(p.name, p.size) for p in image.layout.parts] == [("a", 8), ("b", 24)]
