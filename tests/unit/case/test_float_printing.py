"""Consoles of images whose printf prints no floats."""

from __future__ import annotations

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.case.float_printing import missing_floats
from harness.elf import Image
from harness.uart import Console

NANO, COMPLETE = ("_printf_i",), ("_printf_i", "_printf_float")


FORMATS = (
    "x=%.3f y=%.3f\n", "x_value: %f, y_value: %f\n", "\r\n%s scored %d: %6.2f\r\n", "mean %g",
    "%f\n", "%s: %f\n", "%f s\n", "count: %d\n",
)  # fmt: skip


def told(
    text: str, functions: tuple[str, ...], tmp_path, formats: tuple[str, ...] = FORMATS
) -> str:
    symbols = [MadeSymbol(name, 0x101, 2, kind="func") for name in functions]
    strings = b"\0".join(one.encode() for one in ("", *formats, ""))
    sections = [
        MadeSection(".text", 0x100, bytes(8), load=0x100),
        MadeSection(".rodata", 0x200, strings, load=0x200),
    ]
    path = tmp_path / "made.elf"
    path.write_bytes(write_elf(sections, symbols))
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
        ("five scored 12: \n", NANO, f"{NANO_TEXT} (line 1: 'five scored 12:')"),
        ("mean \n", NANO, f"{NANO_TEXT} (line 1: 'mean')"),
        ("mean spread: 1\n", NANO, f"{NANO_TEXT} (line 1: 'mean spread: 1')"),
        ("mean value\n", NANO, ""),
        ("x=1 y=2\nlabel: idle\nprogress 50%\n", NANO, ""),
        ("Results:\n<err> os:  xpsr:  0x69080000\napp: count: 5\ntook 5 s\n\n", NANO, ""),
    ],
)
def test_a_float_that_was_not_printed_is_told_with_its_line(text, functions, message, tmp_path):
    assert told(text, functions, tmp_path) == message


def test_a_line_that_no_format_of_a_float_prints_is_no_float(tmp_path):
    assert told("x= y=\n", NANO, tmp_path, formats=("x=%s y=%s\n",)) == ""
