"""The functions of an image by number, halfword by halfword, as the counting core gets them."""

from __future__ import annotations

import struct

import pytest
from elf_writer import MadeSection, MadeSymbol

from harness.elf.call_tree import ENTRY, FunctionMap

SIZE = 0x1000
TEXT = MadeSection(".text", 0, bytes(SIZE), load=0, executable=True)


@pytest.fixture
def numbers(make):
    def of(*symbols: MadeSymbol) -> tuple[int, ...]:
        functions = FunctionMap(make([TEXT], list(symbols)))
        return struct.unpack(f"<{SIZE // 2}I", functions.numbers(0, SIZE))

    return of


def test_a_function_begins_with_its_entry_and_has_its_size(numbers):
    words = numbers(MadeSymbol("run", 0x101, 6, "func"))
    assert words[0x80:0x84] == (1 | ENTRY, 1, 1, 0)


def test_a_function_without_a_size_reaches_to_the_next_one(numbers):
    words = numbers(MadeSymbol("idle", 0x101, 0, "func"), MadeSymbol("run", 0x109, 4, "func"))
    assert words[0x80:0x87] == (1 | ENTRY, 1, 1, 1, 2 | ENTRY, 2, 0)


def test_the_last_function_without_a_size_has_1_kib(numbers):
    words = numbers(MadeSymbol("idle", 0x101, 0, "func"))
    assert words[0x80:] == (1 | ENTRY, *[1] * 511, *[0] * (SIZE // 2 - 0x80 - 512))
