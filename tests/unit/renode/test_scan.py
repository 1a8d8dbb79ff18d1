"""Which instructions of an image the scan names, and which bytes it takes for code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import needs
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_little

from harness.base.findings import Kind
from harness.elf import Image
from harness.targets.renode import scan

START = 0x100
NOP, TBB = 0xBF00, 0xE8D0_F001
SMLAD, UHADD8, LDR_LITERAL = 0xFB20_3201, 0xFA80_F361, 0x4800
CODE, DATA = MadeSymbol("$t", START, kind="notype"), MadeSymbol("$d", START, kind="notype")
FUNCTION = MadeSymbol("conv", START | 1, 0x40, "func")
ROWS = [
    (one.key, mask, value, *bits)
    for one in scan.table()
    for mask, value in one.encodings
    for bits in ((0,), (0xFFFFFFFF if mask > 0xFFFF else 0xFFFF,))
]

Make = Callable[..., Image]


@pytest.fixture
def make(tmp_path) -> Make:
    def made(*instructions: int, symbols: tuple[MadeSymbol, ...] = (CODE,), name="made") -> Image:
        code = b"".join(map(stored, instructions)).ljust(0x40, b"\0")
        section = MadeSection(".text", START, code, load=START, executable=True)
        path = tmp_path / f"{name}.elf"
        path.write_bytes(write_elf([section], list(symbols)))
        return Image.from_elf(path)

    return made


def stored(instruction: int) -> bytes:
    halves = [instruction >> 16, instruction & 0xFFFF] if instruction > 0xFFFF else [instruction]
    return b"".join(half.to_bytes(2, "little") for half in halves)


def keys(image: Image) -> list[str]:
    return [one.wrong.key for one in scan.found(image)]


@pytest.mark.parametrize(("key", "mask", "value", "others"), ROWS)
def test_encoding_of_a_row_is_found_whatever_its_other_bits(key, mask, value, others, make):
    assert key in keys(make(NOP, value | others & ~mask))


def test_values_lie_within_their_masks():
    assert all(value & ~mask == 0 for one in scan.table() for mask, value in one.encodings)


def test_note_tells_the_instruction_the_error_the_count_and_the_first_place(make):
    (note,) = scan.notes(make(NOP, SMLAD, NOP, SMLAD, symbols=(CODE, FUNCTION)))
    assert note.kind is Kind.APPROXIMATION
    assert note.subject == "renode"
    assert note.message == (
        "Renode 1.17 computes SMLAD, SMLADX wrongly: Q is set if the sum of the two products "
        "alone does not fit in 32 bits; 2 in the image, first in conv"
    )


def test_first_place_is_the_lowest_address(make):
    assert [one.first for one in scan.found(make(NOP, SMLAD, SMLAD))] == [START + 2]


def test_rows_are_told_in_the_order_of_the_table(make):
    assert keys(make(UHADD8, SMLAD)) == ["smlad", "uh8"]


def test_smuad_is_no_smlad(make):
    assert keys(make(0xFB20_F201)) == []


def test_data_in_code_is_not_searched(make):
    assert keys(make(SMLAD, symbols=(DATA,))) == []


def test_code_behind_data_is_searched(make):
    symbols = (CODE, replace(DATA, value=START + 4), replace(CODE, value=START + 8))
    assert keys(make(UHADD8, SMLAD, UHADD8, symbols=symbols)) == ["uh8"]


def test_halves_of_two_instructions_are_no_instruction(make):
    assert keys(make(0xF8D0_FB20, 0x3201)) == []


def test_half_of_a_long_instruction_is_no_short_one(make):
    assert keys(make(0xF3B9_B6B5)) == []


def test_without_mapping_symbols_functions_are_searched(make):
    assert keys(make(NOP, SMLAD, symbols=(FUNCTION,))) == ["smlad"]


def test_without_mapping_symbols_literals_are_not_searched(make):
    """LDR r0, [pc, #0] loads the word behind the next instruction."""
    assert keys(make(LDR_LITERAL, NOP, SMLAD, UHADD8, symbols=(FUNCTION,))) == ["uh8"]


def test_without_mapping_symbols_a_table_of_branches_ends_the_search(make):
    assert keys(make(UHADD8, TBB, SMLAD, symbols=(FUNCTION,))) == ["uh8"]


def test_image_without_symbols_is_not_searched(make):
    assert keys(make(SMLAD, symbols=())) == []


def test_images_beside_are_searched(make):
    beside = make(SMLAD, symbols=(replace(CODE, value=START),), name="beside")
    image = replace(make(UHADD8), beside=(beside,))
    assert keys(image) == ["smlad", "uh8"]


def test_little_image_of_tflm_has_none(tmp_path):
    needs.require("arm-none-eabi-gcc")
    assert scan.notes(Image.from_elf(compile_little(tmp_path))) == []
