from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import footprint
from harness.base.errors import BadElf, HilError
from harness.elf import Image


def _image() -> bytes:
    return write_elf(
        [
            MadeSection(".text", 0x100, bytes(range(64)), load=0x100, executable=True),
            MadeSection(".data", 0x2000_0000, b"\1\2\3\4", load=0x140),
            MadeSection(".bss", 0x2000_0004, size=12),
        ],
        [
            MadeSymbol("main", 0x101, 32, "func"),
            MadeSymbol("counter", 0x2000_0000, 4, section=1),
            MadeSymbol("CONFIG_FLASH_SIZE", 1024, section=None, kind="notype"),
        ],
    )


def _write(folder: Path, data: bytes) -> Path:
    path = folder / "image.elf"
    path.write_bytes(data)
    return path


def test_sections_have_the_addresses_where_they_run_and_are_stored(tmp_path: Path) -> None:
    sections = Image.from_elf(_write(tmp_path, _image())).sections
    assert [(s.name, s.address, s.load_address, s.size) for s in sections] == [
        (".text", 0x100, 0x100, 64),
        (".data", 0x2000_0000, 0x140, 4),
        (".bss", 0x2000_0004, None, 12),
    ]


def test_functions_lose_their_thumb_bit_and_absolute_symbols_are_kept(tmp_path: Path) -> None:
    firmware = Image.from_elf(_write(tmp_path, _image()))
    main = firmware.symbol("main")
    assert main is not None and main.address == 0x100
    assert firmware.symbol("CONFIG_FLASH_SIZE") is None
    assert firmware.absolutes["CONFIG_FLASH_SIZE"] == 1024


def test_read_gives_stored_bytes_and_none_elsewhere(tmp_path: Path) -> None:
    firmware = Image.from_elf(_write(tmp_path, _image()))
    assert firmware.read(0x110, 4) == bytes(range(16, 20))
    assert firmware.read(0x2000_0004, 4) is None
    assert firmware.read(0x13E, 8) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "not an ELF file"),
        (b"\x7fELF\1\1\1", "truncated"),
        (b"MZ" + bytes(100), "not an ELF file"),
        (b"\x7fELF\2\1\1" + bytes(9) + b"\2\0\x3e\0" + bytes(60), "x86-64 (64-bit)"),
        (b"\x7fELF\1\2\1" + bytes(9) + b"\0\2\0\x28" + bytes(60), "big-endian"),
    ],
)
def test_a_file_that_is_not_for_a_cortex_m_is_refused_by_name(
    tmp_path: Path, data: bytes, words: str
) -> None:
    with pytest.raises(BadElf, match=words.replace("(", r"\(").replace(")", r"\)")):
        Image.from_elf(_write(tmp_path, data))


def test_an_object_file_is_refused_with_a_hint(tmp_path: Path) -> None:
    data = bytearray(_image())
    data[16] = 1  # ET_REL
    with pytest.raises(BadElf, match="not an executable image") as caught:
        Image.from_elf(_write(tmp_path, bytes(data)))
    assert "linked image" in caught.value.hint


def test_every_truncation_is_a_bad_elf(tmp_path: Path) -> None:
    data = _image()
    for size in range(len(data)):
        with pytest.raises(BadElf):
            Image.from_elf(_write(tmp_path, data[:size]))


def _use_everything(path: Path) -> None:
    firmware = Image.from_elf(path)
    footprint.analyse(firmware)
    firmware.locate(0x110)
    _ = firmware.absolutes, firmware.mapping, firmware.lines


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=12))
def test_garbled_bytes_give_a_bad_elf_or_an_answer(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(_image())
    for place, value in changes:
        data[place % len(data)] = value
    with suppress(HilError):  # a one-line message is the other allowed outcome
        _use_everything(_write(tmp_path_factory.mktemp("garbled"), bytes(data)))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    changes=st.lists(
        st.tuples(st.integers(0, 1 << 24), st.integers(0, 255)), min_size=1, max_size=40
    )
)
def test_a_real_image_with_garbled_bytes_gives_a_bad_elf_or_an_answer(
    little: Image, tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]]
) -> None:
    data = bytearray(little.data)
    for place, value in changes:
        data[place % len(data)] = value
    with suppress(HilError):
        _use_everything(_write(tmp_path_factory.mktemp("garbled"), bytes(data)))


@pytest.mark.parametrize("section", ["info", "abbrev", "line", "str"])
def test_garbled_debug_sections_lose_files_and_nothing_else(
    little: Image, tmp_path: Path, section: str
) -> None:
    raw = next(s for s in little._raw_sections if s.name == f".debug_{section}")
    data = bytearray(little.data)
    start, size = raw["sh_offset"], raw["sh_size"]
    data[start : start + size] = bytes((i * 37 + 11) % 256 for i in range(size))
    found = footprint.analyse(Image.from_elf(_write(tmp_path, bytes(data))))
    assert found.regions == footprint.analyse(little).regions
    assert sum(file.sizes.get("FLASH", 0) for file in found.files) == found.regions[0].used


@pytest.mark.parametrize(
    ("banner", "release"),
    [
        ("3.7.1", "Zephyr 3.7.1"),
        ("v4.3.0-12-g0123456789ab", "Zephyr 4.3.0"),
        ("zephyr-v3.1.0-4194-g4d3e9d9", "Zephyr 3.1.0"),
        ("of my own", ""),
    ],
)
def test_the_release_of_zephyr_stands_beside_the_compiler(tmp_path, banner, release) -> None:
    text = f"*** Booting Zephyr OS build {banner} ***\n\0".encode()
    path = tmp_path / "a.elf"
    path.write_bytes(write_elf([MadeSection(".rodata", 0, bytes(64) + text, load=0)], []))
    assert Image.from_elf(path).compiler == release
