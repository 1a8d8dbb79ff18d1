"""Which line an address has: the ends of sequences, overlaps, and what addr2line says."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import needs
import pytest
from elf_writer import MadeSection, write_elf

from harness.elf import Image

TEXT = MadeSection(".text", 0x100, bytes(256), load=0x100, executable=True)
_HEAD = bytes((2, 1, 0xFB, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)) + b"\0a.c\0\0\0\0\0"


def line_image(folder: Path, *sequences: tuple[list[tuple[int, int]], int]) -> Image:
    """An image with one line program: for each sequence its rows (address, line), and its end."""
    program = bytearray()
    for rows, end in sequences:
        line = 1
        for address, wanted in rows:
            program += b"\0\5\2" + address.to_bytes(4, "little")
            program += b"\3" + _sleb(wanted - line) + b"\1"
            line = wanted
        program += b"\0\5\2" + end.to_bytes(4, "little") + b"\0\1\1"
    body = b"\2\0" + len(_HEAD).to_bytes(4, "little") + _HEAD + program
    section = MadeSection(".debug_line", 0x10000, len(body).to_bytes(4, "little") + body, load=0)
    path = folder / "lines.elf"
    path.write_bytes(write_elf([TEXT, section], []))
    return Image.from_elf(path)


def _sleb(value: int) -> bytes:
    assert -64 <= value < 64
    return bytes((value & 0x7F,))


def lines(image: Image, *addresses: int) -> list[int]:
    return [image.locate(address).line for address in addresses]


def test_a_sequence_ends_though_its_last_row_lies_at_its_end(tmp_path: Path) -> None:
    image = line_image(tmp_path, ([(0x100, 5), (0x110, 6), (0x120, 7)], 0x120))
    assert lines(image, 0x10E, 0x11E, 0x120, 0x30000000) == [5, 6, 0, 0]


def test_nothing_above_the_last_sequence_has_a_line(tmp_path: Path) -> None:
    image = line_image(tmp_path, ([(0x100, 5)], 0x110), ([(0x140, 9)], 0x150))
    assert lines(image, 0x10E, 0x120, 0x14E, 0x150, 0xFFFFFFFE) == [5, 0, 9, 0, 0]


def test_a_sequence_may_begin_where_another_ends_whichever_comes_first(tmp_path: Path) -> None:
    first, second = ([(0x100, 5), (0x110, 6)], 0x110), ([(0x110, 9)], 0x120)
    for order in ((first, second), (second, first)):
        assert lines(line_image(tmp_path, *order), 0x10E, 0x110, 0x120) == [5, 9, 0]


def test_of_two_rows_at_one_address_the_last_holds(tmp_path: Path) -> None:
    assert lines(line_image(tmp_path, ([(0x100, 5), (0x100, 6)], 0x110)), 0x100) == [6]


def test_a_sequence_that_overlaps_an_earlier_one_begins_at_its_end(tmp_path: Path) -> None:
    image = line_image(tmp_path, ([(0x100, 5)], 0x120), ([(0x110, 8), (0x130, 9)], 0x140))
    assert lines(image, 0x11E, 0x120, 0x130, 0x140) == [5, 8, 9, 0]


def test_a_sequence_inside_another_is_left_out(tmp_path: Path) -> None:
    image = line_image(tmp_path, ([(0x100, 5)], 0x140), ([(0x110, 8)], 0x120))
    assert lines(image, 0x110, 0x120, 0x13E, 0x140) == [5, 5, 5, 0]


def test_functions_that_the_linker_dropped_have_no_lines(tmp_path: Path) -> None:
    image = line_image(tmp_path, ([(0, 5)], 0x200), ([(0x100, 9)], 0x110))
    assert lines(image, 0x10, 0x100, 0x120) == [0, 9, 0]


#: Below it llvm-addr2line finds functions that lld dropped: it leaves them at 0.
_DROPPED = 0x40


@pytest.fixture
def addr2line(request: pytest.FixtureRequest) -> str:
    """The tool of the image's compiler: GNU's takes the wrong file from clang's DWARF 5."""
    compiler, _ = request.node.callspec.params["debuggable"]
    if compiler == "clang":
        return str(needs.require("llvm"))
    needs.require("arm-none-eabi-gcc")
    return "arm-none-eabi-addr2line"


def test_every_line_is_that_of_addr2line(debuggable: Path, addr2line: str) -> None:
    image = Image.from_elf(debuggable)
    chance = random.Random(1)
    code = [section for section in image.sections if section.executable]
    addresses = [symbol.address for symbol in image.symbols if symbol.kind == "func"]
    addresses += [chance.randrange(s.address, s.end) & ~1 for s in code for _ in range(500)]
    addresses += [section.end for section in code]
    addresses += [chance.randrange(0x2000_0000, 1 << 32) & ~1 for _ in range(500)]
    addresses = [address for address in addresses if address >= _DROPPED]
    command, text = [addr2line, "-e", str(debuggable)], "\n".join(map(hex, addresses))
    said = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    theirs = [_place(line) for line in said.stdout.splitlines()]
    found = [image.locate(address) for address in addresses]
    mine = [(Path(place.file).name, place.line) if place.line else ("", 0) for place in found]
    assert mine == theirs
    assert sum(line > 0 for _, line in mine) > 100


def _place(said: str) -> tuple[str, int]:
    file, _, line = said.partition(" (discriminator")[0].rpartition(":")
    return (Path(file).name, int(line)) if line.isdigit() and int(line) else ("", 0)
