"""A resolver known by its shape alone: what is one, and what is none for one wrong word."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.elf import Image
from harness.footprint.resolver_layout import ResolverLayout, known_layouts
from harness.model.schema import OPERATOR_NAMES
from harness.model.structures import WORD
from harness.resolver.scan import CUSTOM, FoundTable, Ranges, is_registration, tables

CODE, CODE_BYTES = 0x1000, 0x100
STORED, STORED_BYTES = 0x2000, 0x42
KERNEL = CODE + 1
VTABLE, NAME = STORED + 8, STORED + 16
RAM = 0x2000_0000
LAYOUTS = list(known_layouts())

#: What a registration holds, by field, and what its builtin code is.
Fields = dict[str, int]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """256 bytes of code, 66 of constants with a vtable of one function, data that is copied."""
    constants = bytes(8) + struct.pack("<I", KERNEL) + bytes(4) + b"Atan\0"
    last = struct.pack("<H", KERNEL)
    return made(
        tmp_path_factory.mktemp("made"),
        MadeSection(".text", CODE, bytes(CODE_BYTES), load=CODE, executable=True),
        MadeSection(".rodata", STORED, constants.ljust(STORED_BYTES - 2, b"\0") + last,
                    load=STORED),
        MadeSection(".data", RAM, struct.pack("<I", KERNEL), load=STORED + 0x100),
    )  # fmt: skip


def made(folder: Path, *sections: MadeSection) -> Image:
    path = folder / "made.elf"
    path.write_bytes(write_elf(list(sections), [MadeSymbol("main", CODE, 4, "func")]))
    return Image.from_elf(path)


def test_code_is_an_odd_address_in_an_executable_section(image: Image) -> None:
    ranges = Ranges(image)
    inside = [CODE + 1, CODE + CODE_BYTES - 1]
    outside = [CODE - 1, CODE + CODE_BYTES + 1, CODE, STORED + 1, RAM + 1, 0]
    assert all(map(ranges.is_code, inside))
    assert not any(map(ranges.is_code, outside))


def test_stored_is_what_lies_in_flash_and_no_data_that_is_copied_to_ram(image: Image) -> None:
    ranges = Ranges(image)
    assert all(map(ranges.is_stored, [CODE, STORED, STORED + STORED_BYTES - 1]))
    assert not any(map(ranges.is_stored, [CODE - 1, CODE + CODE_BYTES, RAM, RAM + 3]))


def test_without_sections_all_that_is_stored_may_be_code(image: Image, tmp_path: Path) -> None:
    plain = made(tmp_path, MadeSection(".bytes", CODE, bytes(8), load=CODE))
    assert Ranges(plain).is_code(CODE + 7) and not Ranges(plain).is_code(CODE + 9)


def row(layout: ResolverLayout, fields: Fields) -> bytes:
    words = {name: fields.get(name, 0) for name in layout.fields}
    packed = bytearray(layout.registration_bytes)
    for name, at in layout.fields.items():
        struct.pack_into("<I", packed, at, words[name])
    return bytes(packed)


def resolver(layout: ResolverLayout, slots: int, rows: Sequence[Fields]) -> bytes:
    """A resolver object as tflite-micro's compiler lays it out, its unused slots zero."""
    builtins = [one["builtin_code"] for one in rows if one["builtin_code"] != CUSTOM]
    codes = b"".join(code.to_bytes(layout.code_bytes, "little") for code in builtins)
    aligned = (slots * layout.code_bytes + WORD - 1) // WORD * WORD
    return (
        struct.pack("<I", VTABLE)
        + b"".join(row(layout, one) for one in rows).ljust(slots * layout.registration_bytes, b"\0")
        + struct.pack("<I", len(rows))
        + codes.ljust(aligned, b"\0")
        + struct.pack(f"<{len(builtins)}I", *[KERNEL] * len(builtins)).ljust(slots * WORD, b"\0")
        + struct.pack("<I", len(builtins))
    )


CONV: Fields = {"init": KERNEL, "prepare": KERNEL, "invoke": KERNEL, "builtin_code": 3}
SOFTMAX: Fields = {"invoke": KERNEL, "builtin_code": 25}
ATAN: Fields = {"prepare": KERNEL, "invoke": KERNEL, "builtin_code": CUSTOM, "custom_name": NAME}


def found_in(image: Image, memory: bytes) -> list[FoundTable]:
    return list(tables(image, Ranges(image), RAM, memory))


@settings(max_examples=50)
@given(
    layout=st.sampled_from(LAYOUTS),
    rows=st.lists(st.sampled_from([CONV, SOFTMAX, ATAN]), max_size=5).map(
        lambda more: [CONV, *more]
    ),
    spare=st.integers(0, 9),
    before=st.integers(0, 40),
    after=st.integers(0, 40),
)
def test_every_table_that_tflite_micro_could_have_filled_is_found(
    image: Image, layout: ResolverLayout, rows: list[Fields], spare: int, before: int, after: int
) -> None:
    """A builtin among them, whose code tells the layout."""
    whole = resolver(layout, len(rows) + spare, rows)
    (found,) = found_in(image, bytes(WORD * before) + whole + bytes(after))
    assert (found.address, found.slots) == (RAM + WORD * before, len(rows) + spare)
    assert found.layout.registration_bytes == layout.registration_bytes
    assert list(found.rows) == [row(layout, one) for one in rows]


def test_the_layout_is_told_by_the_builtin_codes(image: Image) -> None:
    for layout in LAYOUTS:
        (found,) = found_in(image, resolver(layout, 5, [CONV, SOFTMAX]))
        assert found.layout == layout


def test_of_several_tables_each_is_found(image: Image) -> None:
    newest, *_ = LAYOUTS
    one, other = resolver(newest, 2, [CONV]), resolver(newest, 3, [SOFTMAX, ATAN])
    places = [found.address - RAM for found in found_in(image, one + other)]
    assert places == [0, len(one)]


NEWEST = LAYOUTS[0]
TABLE = resolver(NEWEST, 3, [CONV, ATAN])


@pytest.mark.parametrize("word", range(len(TABLE) // WORD))
def test_one_wrong_word_makes_it_none(image: Image, word: int) -> None:
    memory = bytearray(TABLE)
    struct.pack_into("<I", memory, WORD * word, RAM + 1)
    assert not found_in(image, memory)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_byte_in_what_is_unused_makes_it_none(image: Image, layout: ResolverLayout) -> None:
    slots, rows = 4, [CONV, SOFTMAX]
    length = WORD + slots * layout.registration_bytes
    codes = length + WORD
    parsers = codes + slots * layout.code_bytes
    unused = [
        *range(WORD + len(rows) * layout.registration_bytes, length),
        *range(codes + len(rows) * layout.code_bytes, parsers),
        *range(parsers + len(rows) * WORD, parsers + slots * WORD),
    ]
    for at in unused:
        memory = bytearray(resolver(layout, slots, rows))
        memory[at] = 0x80
        assert not found_in(image, memory), at


def test_a_table_that_the_end_of_ram_cuts_off_is_none(image: Image) -> None:
    assert found_in(image, TABLE)
    assert not any(found_in(image, TABLE[:end]) for end in range(len(TABLE)))


def test_a_table_stands_at_a_multiple_of_four(image: Image) -> None:
    assert not any(found_in(image, bytes(shift) + TABLE) for shift in (1, 2, 3))


@pytest.mark.parametrize(
    "pointer",
    [VTABLE + 1, VTABLE + 2, NAME, CODE, RAM, STORED + STORED_BYTES - 2, 0],
    ids=["odd", "unaligned", "no function", "code", "RAM", "cut off", "null"],
)
def test_a_table_begins_with_the_address_of_stored_functions(image: Image, pointer: int) -> None:
    assert not found_in(image, struct.pack("<I", pointer) + TABLE[WORD:])


def test_a_table_of_1024_slots_is_the_largest_that_is_looked_for(image: Image) -> None:
    for filled in (1, 1024):
        (found,) = found_in(image, resolver(NEWEST, 1024, [SOFTMAX] * filled))
        assert found.slots == 1024
    assert not found_in(image, resolver(NEWEST, 1025, [SOFTMAX]))
    assert not found_in(image, resolver(NEWEST, 1025, [SOFTMAX] * 1025))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    ("fields", "valid"),
    [({}, True),
     ({"init": KERNEL, "free": KERNEL, "prepare": KERNEL}, True),
     ({"invoke": 0}, False),
     ({"invoke": CODE}, False),
     ({"init": STORED}, False),
     ({"free": STORED}, False),
     ({"prepare": STORED}, False),
     ({"custom_name": NAME}, True),
     ({"custom_name": RAM}, False),
     ({"builtin_code": CUSTOM, "custom_name": NAME}, True),
     ({"builtin_code": CUSTOM}, False),
     ({"builtin_code": 0}, True),
     ({"builtin_code": 0xFFFF}, False)],
)  # fmt: skip
def test_a_registration_has_an_invoke_and_nothing_that_is_no_function(
    image: Image, layout: ResolverLayout, fields: Fields, valid: bool
) -> None:
    whole = row(layout, {"invoke": KERNEL, "builtin_code": 3} | fields)
    assert is_registration(layout, Ranges(image), whole) is valid
    assert not is_registration(layout, Ranges(image), whole[:-1])


def test_the_newest_registrations_have_a_reset_that_is_a_function(image: Image) -> None:
    for reset, valid in ((0, True), (KERNEL, True), (STORED, False)):
        whole = row(NEWEST, {"invoke": KERNEL, "builtin_code": 3, "reset": reset})
        assert is_registration(NEWEST, Ranges(image), whole) is valid


def test_the_last_builtin_is_known_and_the_next_number_is_not(image: Image) -> None:
    for code, valid in ((len(OPERATOR_NAMES) - 1, True), (len(OPERATOR_NAMES), False)):
        whole = row(NEWEST, {"invoke": KERNEL, "builtin_code": code})
        assert is_registration(NEWEST, Ranges(image), whole) is valid
