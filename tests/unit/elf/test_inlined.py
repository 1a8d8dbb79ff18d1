"""Inlined functions and where they are called from: what addr2line says."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable
from pathlib import Path

import needs
import pytest
from firmwares import build, compiled  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st

from harness.elf import Image
from harness.elf.dwarf.leb import GARBLED
from harness.elf.dwarf.ranges import ranges_4, ranges_5

Frames = list[tuple[str, str]]


def ours(image: Image, address: int) -> Frames:
    frames = image.frames(address)
    return [(one.function.partition(".")[0], f"{Path(one.file).name}:{one.line}") for one in frames]


def binutils(tool: str, image: Image, addresses: list[int]) -> dict[int, Frames]:
    """Functions and lines by address, innermost first."""
    done = subprocess.run(
        [tool, "-aifse", str(image.path)], input="\n".join(map(hex, addresses)),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[int, Frames] = {}
    lines = iter(done.stdout.splitlines())
    for line in lines:
        if line.startswith("0x"):
            frames = found[int(line, 16)] = []
        else:
            frames.append((line, next(lines).partition(" ")[0]))
    return found


@pytest.mark.parametrize("flags", ["-gdwarf-5", "-gdwarf-4 -Os", "-gdwarf-5 -O1 -fno-tree-sra"])
@pytest.mark.parametrize("name", ["mpu", "deep", "userspace"])
def test_inlined_functions_are_those_of_addr2line(tmp_path: Path, name: str, flags: str) -> None:
    compiler, tool = needs.require("arm-none-eabi-gcc"), "arm-none-eabi-addr2line"
    elf = tmp_path / f"{name}.elf"
    image = Image.from_elf(compiled(compiler, name, elf, *flags.split()))
    addresses = [
        address
        for one in image.symbols
        if one.kind == "func"
        for address in range(one.address & ~1, (one.address & ~1) + one.size, 2)
    ]
    wanted = binutils(tool, image, addresses)
    assert any(len(frames) > 1 for frames in wanted.values())
    assert {one: ours(image, one) for one in addresses} == wanted


def test_an_image_without_debug_information_has_no_inlined_functions(
    build: Callable[[str], Image],  # noqa: F811
) -> None:
    image = build("deep")
    bare = image.path.with_name("bare.elf")
    subprocess.run(["arm-none-eabi-strip", "-g", str(image.path), "-o", str(bare)], check=True)
    address = image.symbol("Divide").address  # type: ignore[union-attr]
    assert [one.function for one in Image.from_elf(bare).frames(address)] == ["Divide"]


RANGES_4 = b"".join(
    number.to_bytes(4, "little") for number in (2, 4, 0xFFFF_FFFF, 0x100, 6, 8, 0, 0)
)


def test_ranges_before_dwarf_5_count_from_a_base() -> None:
    assert list(ranges_4(RANGES_4, 0, 0x10)) == [(0x12, 0x14), (0x106, 0x108)]


def test_ranges_of_dwarf_5() -> None:
    data = bytes.fromhex("04 02 04  05 00010000  04 06 08  06 10000000 20000000  07 30000000 04"
                         "01 01  04 00 02  02 00 01  03 01 08  00")  # fmt: skip
    found = list(ranges_5(data, 0, 0x10, lambda index: 0x1000 * (index + 1)))
    assert found == [
        (0x12, 0x14), (0x106, 0x108), (0x10, 0x20), (0x30, 0x34), (0x2000, 0x2002),
        (0x1000, 0x2000), (0x2000, 0x2008),
    ]  # fmt: skip


@given(st.binary(max_size=64), st.integers(0, 70))
def test_any_range_list_ends(data: bytes, at: int) -> None:
    for read in (lambda: ranges_4(data, at, 0), lambda: ranges_5(data, at, 0, lambda one: one)):
        with contextlib.suppress(*GARBLED):
            assert len(list(read())) <= len(data)
