"""Coverage in one form for every target, on an image compiled for the test."""

from __future__ import annotations

import subprocess
from pathlib import Path

import needs
import pytest

from harness.elf import Image
from harness.elf.coverage import Block, Coverage

SOURCE = """\
int Twice(int x) {
  if (x > 5)
    return x * 3 + 1;
  return x + x;
}
void Reset(void) {
  for (volatile int i = 0; i < 3; i = Twice(i)) {
  }
}
__attribute__((section(".vectors"), used)) void *vectors[2] = {(void *)0x20001000, (void *)Reset};
"""


@pytest.fixture(scope="module")
def firmware(tmp_path_factory: pytest.TempPathFactory) -> Image:
    compiler = needs.require("arm-none-eabi-gcc")
    folder = tmp_path_factory.mktemp("coverage")
    (folder / "twice.c").write_text(SOURCE)
    flags = "-mcpu=cortex-m33 -mthumb -O1 -g -nostdlib -ffreestanding -Wl,-Ttext=0x100"
    flags += " -Wl,--section-start=.vectors=0 -Wl,-e,Reset -fno-inline"
    command = [compiler, *flags.split(), "twice.c", "-o", "twice.elf"]
    subprocess.run(command, cwd=folder, check=True)
    return Image.from_elf(folder / "twice.elf")


def address(firmware: Image, name: str) -> int:
    symbol = firmware.symbol(name)
    assert symbol is not None
    return symbol.address & ~1


def lines(coverage: Coverage) -> dict[int, bool]:
    (path,) = coverage.files
    assert Path(path).name == "twice.c"
    return dict(coverage.files[path])


def test_instructions_go_to_the_function_that_holds_the_block(firmware: Image) -> None:
    twice, reset = address(firmware, "Twice"), address(firmware, "Reset")
    blocks = [Block(twice, 2, 10), Block(twice + 4, 1, 3), Block(reset, 4, 1)]
    coverage = Coverage.from_blocks(firmware, blocks)
    assert dict(coverage.functions) == {"Twice": 23, "Reset": 4}
    assert list(coverage.functions) == ["Twice", "Reset"]
    assert coverage.instructions == 27


def test_code_without_a_symbol_goes_by_its_address(firmware: Image) -> None:
    coverage = Coverage.from_blocks(firmware, [Block(0x20000100, 5, 2)])
    assert dict(coverage.functions) == {"0x20000100": 10}


def test_a_line_ran_when_one_of_its_instructions_did(firmware: Image) -> None:
    nothing = lines(Coverage.from_blocks(firmware, []))
    assert set(nothing) >= {2, 3, 4, 7}
    assert not any(nothing.values())
    entered = lines(Coverage.from_blocks(firmware, [Block(address(firmware, "Twice"), 1, 1)]))
    assert entered[2] and not entered[3] and not entered[7]


def test_lcov_lists_each_line_with_code_and_sums_them_up(firmware: Image) -> None:
    coverage = Coverage.from_blocks(firmware, [Block(address(firmware, "Twice"), 1, 1)])
    trace = coverage.lcov().splitlines()
    hits, found = coverage.lines
    assert trace[0] == "TN:" and trace[1].startswith("SF:") and trace[-1] == "end_of_record"
    assert sum(line.startswith("DA:") for line in trace) == found
    assert sum(line.endswith(",1") for line in trace if line.startswith("DA:")) == hits
    assert (f"LF:{found}" in trace) and (f"LH:{hits}" in trace)


def test_an_image_without_line_tables_has_functions_and_no_lines(
    firmware: Image, tmp_path: Path
) -> None:
    stripped = tmp_path / "nolines.elf"
    command = ["arm-none-eabi-objcopy", "--strip-debug", str(firmware.path), str(stripped)]
    subprocess.run(command, check=True)
    bare = Image.from_elf(stripped)
    coverage = Coverage.from_blocks(bare, [Block(address(bare, "Twice"), 1, 1)])
    assert dict(coverage.functions) == {"Twice": 1}
    assert coverage.lcov() == "TN:\n"


def test_functions_of_one_name_go_with_their_files(tmp_path: Path) -> None:
    compiler = needs.require("arm-none-eabi-gcc")
    for name in "ab":
        source = f"static int Invoke(int x) {{ return x + 1; }}\nint (*{name})(int) = Invoke;\n"
        (tmp_path / f"{name}.c").write_text(source)
    flags = "-mcpu=cortex-m33 -mthumb -O1 -g -nostdlib -ffreestanding -Wl,-Ttext=0x100 -Wl,-e,0x101"
    command = [compiler, *flags.split(), "a.c", "b.c", "-o", "ab.elf"]
    subprocess.run(command, cwd=tmp_path, check=True)
    firmware = Image.from_elf(tmp_path / "ab.elf")
    first, second = sorted(s.address for s in firmware.symbols if s.name == "Invoke")
    coverage = Coverage.from_blocks(firmware, [Block(first, 1, 5), Block(second, 1, 7)])
    assert dict(coverage.functions) == {"Invoke (b.c)": 7, "Invoke (a.c)": 5}
