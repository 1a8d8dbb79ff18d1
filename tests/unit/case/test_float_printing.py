"""Consoles of images whose printf prints no floats."""

from __future__ import annotations

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.case.float_printing import missing_floats
from harness.elf import Image
from harness.uart import Console

NANO, COMPLETE = ("_printf_i",), ("_printf_i", "_printf_float")


def told(text: str, functions: tuple[str, ...], tmp_path) -> str:
    symbols = [MadeSymbol(name, 0x101, 2, kind="func") for name in functions]
    path = tmp_path / "made.elf"
    path.write_bytes(write_elf([MadeSection(".text", 0x100, bytes(8), load=0x100)], symbols))
    console = Console()
    console.feed(text.encode())
    console.finish()
    found = missing_floats(console, Image.from_elf(path))
    return found.message if found is not None else ""


NANO_TEXT = "printf has no floats: link with -u _printf_float"
OTHER_TEXT = "printf has no floats: CONFIG_CBPRINTF_FP_SUPPORT=y, or the library's option"


@pytest.mark.parametrize(
    ("text", "functions", "message"),
    [
        ("boot\nx= y=\n", NANO, f"{NANO_TEXT} (line 2: 'x= y=')"),
        ("x_value: , y_value: \n", NANO, f"{NANO_TEXT} (line 1: 'x_value: , y_value:')"),
        ("score: *float*\n", (), f"{OTHER_TEXT} (line 1: 'score: *float*')"),
        ("score: %f\n", (), f"{OTHER_TEXT} (line 1: 'score: %f')"),
        ("x= y=\n", COMPLETE, ""),
        ("x= y=\n", (), ""),
        ("x=1 y=2\nlabel: idle\nprogress 50%\n", NANO, ""),
    ],
)
def test_a_float_that_was_not_printed_is_told_with_its_line(text, functions, message, tmp_path):
    assert told(text, functions, tmp_path) == message
