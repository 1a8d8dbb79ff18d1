"""Where an image starts, and which side of TrustZone it is for."""

from __future__ import annotations

import struct

import pytest
from elf_writer import MadeSection, MadeSymbol
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import BadElf
from harness.elf import Image, trustzone, vectors
from harness.elf.wrapped import wrap

FLASH, RAM = range(0x10_0000), range(0x2000_0000, 0x2004_0000)
SG_VENEER = bytes.fromhex("7fe97fe9 00f002b8")  # sg; b.w


def table(entry: int, stack: int = 0x2000_1000) -> bytes:
    return struct.pack("<2I", stack, entry) + bytes(0x78) + b"\x00\xbf" * 8


def find(image: Image) -> tuple[int, str]:
    found = vectors.find(image)
    return found.address, found.reason


def plain(tmp_path, *blocks: tuple[int, bytes]) -> Image:
    return Image(tmp_path / "app.hex", wrap(blocks))


def test_the_core_boots_the_table_at_the_start_of_flash(make):
    rom = MadeSection("rom", 0, table(0x81) + bytes(0x100), load=0, executable=True)
    elsewhere = MadeSymbol("_vector_table", 0x100, 0x40)
    assert find(make([rom], [elsewhere])) == (0, "the start of flash")


@pytest.mark.parametrize("name", ["_vector_start", "__Vectors", "_vector_table"])
def test_behind_room_for_a_header_a_symbol_names_the_table(make, name):
    rom = MadeSection("rom", 0x10000, bytes(0x200) + table(0x10281), load=0x10000)
    assert find(make([rom], [MadeSymbol(name, 0x10200, 0x40)])) == (0x10200, f"symbol {name}")


def test_tf_m_names_its_table_by_a_section(make):
    rom = MadeSection(".TFM_VECTORS", 0x10400, table(0x10481), load=0x10400)
    assert find(make([rom], [])) == (0x10400, "section .TFM_VECTORS")


def test_the_table_behind_an_mcuboot_header_is_found_by_the_headers_size(tmp_path):
    header = struct.pack("<IIH", 0x96F3B83D, 0, 0x200).ljust(0x200, b"\0")
    decoy = table(0x10301)  # a table that would boot inside the header's room is not looked at
    header = header[:0x100] + decoy + header[0x100 + len(decoy) :]
    image = plain(tmp_path, (0x10000, header + table(0x10281)))
    assert find(image) == (0x10200, "MCUboot's header at 0x10000")


def test_without_symbols_and_header_the_first_table_that_boots_is_taken(tmp_path):
    no_stack = struct.pack("<2I", 0x1000, 0x50481).ljust(0x80, b"\0")
    no_thumb = struct.pack("<2I", 0x20001000, 0x50480).ljust(0x80, b"\0")
    odd_stack = struct.pack("<2I", 0x20001002, 0x50481).ljust(0x80, b"\0")
    no_code = struct.pack("<2I", 0x20001000, 0x70001).ljust(0x80, b"\0")
    decoys = no_stack + no_thumb + odd_stack + no_code
    image = plain(tmp_path, (0x50000, decoys + table(0x50281)))
    assert find(image) == (0x50200, "the first table that the core would boot")


def test_a_named_table_that_does_not_boot_is_refused_not_passed_over(make):
    rom = MadeSection("rom", 0x10000, table(0) + table(0x10101), load=0x10000)
    with pytest.raises(BadElf, match="0x00010000 has the reset vector 0x00000000"):
        find(make([rom], [MadeSymbol("_vector_start", 0x10000, 0x40)]))


@pytest.mark.parametrize(("load", "stored"), [(0x1000, ""), (0x2000_0000, ".data")])
def test_initial_values_in_ram_are_refused_unless_they_are_asked_for(make, load, stored):
    rom = MadeSection("rom", 0, table(0x81) + bytes(0x100), load=0, executable=True)
    image = make([rom, MadeSection(".data", 0x2000_0000, bytes(24), load=load)], [])
    if not stored:
        assert not vectors.find(image).notes(non_secure=False)
        return
    with pytest.raises(BadElf, match=r"stores 24 bytes of \.data at 0x20000000, in RAM") as told:
        vectors.find(image)
    assert "AT > FLASH" in str(told.value)
    (note,) = vectors.find(image, anywhere=True).notes(non_secure=False)
    assert "24 bytes of .data at 0x20000000 are loaded, as a debugger does" in note.message
    assert vectors.is_start_note(note)


KCONFIG = {"CONFIG_FLASH_LOAD_OFFSET": 0x10000, "CONFIG_ROM_START_OFFSET": 0x80}


@pytest.mark.parametrize("at", [0x100, 0x8000, 0x10080])
def test_a_table_where_no_chip_looks_is_refused_unless_it_is_asked_for(make, at):
    image = make([MadeSection("rom", at, table(at + 0x81), load=at)], [MadeSymbol("__Vectors", at)])
    with pytest.raises(BadElf, match=f"no vector table at 0x00000000.*has one at {at:#x}") as told:
        vectors.find(image)
    assert "--start elf" in told.value.hint
    found = vectors.find(image, anywhere=True)
    assert found.address == at
    (note,) = found.notes(non_secure=False)
    assert vectors.is_start_note(note)


@pytest.mark.parametrize(("offset", "known"), [(0x10000, True), (0x18000, False), (0, False)])
def test_the_partition_that_kconfig_names_is_known(make, offset, known):
    values = {**KCONFIG, "CONFIG_FLASH_LOAD_OFFSET": offset}
    kconfig = [MadeSymbol(name, value, 0, "object", None) for name, value in values.items()]
    rom = MadeSection("rom", 0x10080, table(0x10101), load=0x10080)
    image = make([rom], [MadeSymbol("_vector_start", 0x10080, 0x40), *kconfig])
    if known:
        assert vectors.find(image).address == 0x10080
        return
    with pytest.raises(BadElf):
        vectors.find(image)


@given(data=st.binary(max_size=0x400), at=st.sampled_from([0, 0x8000, 0x10010]))
def test_of_any_bytes_only_a_bootable_table_is_taken(tmp_path_factory, data, at):
    image = Image(tmp_path_factory.getbasetemp() / "any", wrap([(at, data)]))
    try:
        found = vectors.find(image)
    except BadElf:
        return
    assert found.stack in range(RAM.start + 1, RAM.stop + 1)
    assert found.entry & 1
    assert at <= found.entry - 1 < at + len(data)


def test_a_start_other_than_the_chips_is_noted_with_its_reason():
    start = vectors.Vectors(0x10200, 0x20001000, 0x10281, "symbol _vector_start")
    (note,) = start.notes(non_secure=False)
    assert "0x10200 (symbol _vector_start), without what boots it" in note.message
    (note,) = start.notes(non_secure=True)
    assert note.subject == "non-secure image"
    assert vectors.Vectors(0, 0x20001000, 0x81, "").notes(non_secure=False) == []


@pytest.mark.parametrize(
    ("symbols", "non_secure"),
    [
        ([("CONFIG_FLASH_SIZE", "object"), ("CONFIG_TRUSTED_EXECUTION_NONSECURE", "object")], True),
        ([("CONFIG_TRUSTED_EXECUTION_SECURE", "object")], False),
        ([("CONFIG_FLASH_SIZE", "object")], False),
        ([("tfm_psa_call_veneer", "func")], True),
        ([("a_constant", "object")], False),
    ],
)
def test_the_side_follows_from_kconfig_or_from_imported_gateways(make, symbols, non_secure):
    rom = MadeSection("rom", 0x10000, table(0x10081), load=0x10000)
    made = [MadeSymbol(name, 1, 0, kind, None) for name, kind in symbols]
    assert trustzone.is_non_secure(make([rom], made)) is non_secure


@pytest.mark.parametrize(("at", "non_secure"), [(0x48000, False), (0x50000, True)])
def test_an_image_without_other_signs_is_judged_by_its_partition(tmp_path, at, non_secure):
    assert trustzone.is_non_secure(plain(tmp_path, (at, table(at + 0x81)))) is non_secure


def test_an_image_that_the_core_boots_is_secure(make):
    rom = MadeSection("rom", 0, table(0x81), load=0)
    said = MadeSymbol("CONFIG_TRUSTED_EXECUTION_NONSECURE", 1, 0, "object", None)
    assert not trustzone.is_non_secure(make([rom], [said]))


def test_an_image_with_gateways_is_secure_wherever_it_lies(tmp_path):
    image = plain(tmp_path, (0x60000, table(0x60081)), (0x68000, SG_VENEER))
    assert trustzone.first_gateway(image) == 0x68000
    assert not trustzone.is_non_secure(image)


@pytest.mark.parametrize("data", [SG_VENEER[:4] + bytes(4), b"\0\0" + SG_VENEER])
def test_bytes_that_only_look_like_a_gateway_are_none(tmp_path, data):
    assert trustzone.first_gateway(plain(tmp_path, (0x8000, data))) is None
