"""Map files of GNU ld and lld, line by line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.base.errors import UsageError
from harness.elf import map_file
from harness.elf.map_file import MOST_SECTIONS, LinkerMap, is_map

HEAD = """Archive member included to satisfy reference by file (symbol)

/x/libtflite.a(conv.cc.obj)   main.o (tflite::Register_CONV_2D())

Discarded input sections

 .text.gone     0x00000000       0x10 dropped.o

Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x00000000         0x00100000         xr
SRAM             0x20000000         0x00016000         xw
*default*        0x00000000         0xffffffff

Linker script and memory map

LOAD main.o
"""
GNU = (
    HEAD
    + """                0x20001000                        _estack = 0x20001000

.text           0x00000000       0x90
 *(.text*)
 .text._ZN6tflite4MainEv
                0x00000000       0x20 main.o
                0x00000000                tflite::Main()
 .text          0x00000020       0x30 /x/libc.a(memcpy.o)
                0x00000030                memcpy
                0x00000030                __aeabi_memcpy
 *fill*         0x00000050        0x4 ff
 .rodata.main.str1.1
                0x00000054       0x1c main.o
                                 0x40 (size before relaxing)
                0x00000070        0x4 LONG 0x12
 .rodata.table  0x00000080       0x10 My Documents\\table.o

.data           0x20000000        0x8 load address 0x00000090
 .data.counted  0x20000000        0x8 main.o

a_section_of_long_name_for_ram
                0x20000008       0x20 load address 0x00000098
 .bss.counter   0x20000008        0x4 main.o
 COMMON         0x2000000c       0x1c main.o
                0x2000000c                buffer
                0x20000010                other

.tbss           0x00000098        0x4
 .tbss.own      0x00000098        0x4 main.o

/DISCARD/
 .ARM.exidx     0x00000000        0x8 main.o
OUTPUT(fw.elf elf32-littlearm)

.debug_info     0x00000000      0x304
 .debug_info    0x00000000      0x284 main.o

.mystery        0x00000000       0x10
 .mystery       0x00000000       0x10 main.o
"""
)
LLD = """     VMA      LMA     Size Align Out     In      Symbol
       0        0        0     1 _estack = 0x20001000
       0        0       48     4 .text
       0        0       20     4         main.o:(.text.main)
       0        0        0     1                 $t
       1        1       10     1                 main
      11       11       10     1                 helper
      10       10        0     1                 $d
      20       20       28     4         libc.a(memcpy.o):(.rodata.odd)
      21       21        3     1                 odd
20000000 20000000       10     4 .bss
20000000 20000000       10     4         <internal>:(COMMON)
20000000 20000000       10     1                 buffer
20000010 20000010        0     1         . = ALIGN ( 4 )
       0        0       40     1 .debug_info
       0        0       40     1         main.o:(.debug_info)
"""


def read(folder: Path, text: str) -> LinkerMap:
    path = folder / "fw.map"
    path.write_text(text)
    return LinkerMap.read(path)


def names(linker_map: LinkerMap) -> list[tuple[str, int, int, str]]:
    return [
        (symbol.name, symbol.address, symbol.size, symbol.kind)
        for _, symbols in linker_map.contents
        for symbol in symbols
    ]


def test_gnu_lds_regions_are_those_of_the_script(tmp_path: Path) -> None:
    found = read(tmp_path, GNU).regions
    assert [(r.name, r.origin, r.size) for r in found] == [
        ("FLASH", 0, 0x10_0000), ("SRAM", 0x2000_0000, 0x1_6000),
    ]  # fmt: skip


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_gnu_lds_sections_have_their_load_addresses_if_they_are_stored(
    end: str, tmp_path: Path
) -> None:
    found = read(tmp_path, GNU.replace("\n", end)).contents
    assert [(s.name, s.address, s.load_address, s.size) for s, _ in found] == [
        (".text", 0, 0, 0x90),
        (".data", 0x2000_0000, 0x90, 8),
        ("a_section_of_long_name_for_ram", 0x2000_0008, None, 0x20),
    ]


def test_gnu_lds_bytes_are_named_by_section_symbol_or_object(tmp_path: Path) -> None:
    assert names(read(tmp_path, GNU)) == [
        ("_ZN6tflite4MainEv", 0, 0x20, "func"),
        (".text of memcpy.o", 0x20, 0x10, "func"),
        ("memcpy", 0x30, 0x20, "func"),
        ("__aeabi_memcpy", 0x30, 0x20, "func"),
        ("(string literals)", 0x54, 0x1C, "strings"),
        ("table", 0x80, 0x10, "object"),
        ("counted", 0x2000_0000, 8, "object"),
        ("counter", 0x2000_0008, 4, "object"),
        ("buffer", 0x2000_000C, 4, "object"),
        ("other", 0x2000_0010, 0x18, "object"),
    ]


def test_objects_and_archives_are_those_of_the_map(tmp_path: Path) -> None:
    found = {(each.archive, each.path) for each in read(tmp_path, GNU).inputs}
    assert found == {
        ("", "main.o"), ("/x/libc.a", "/x/libc.a/memcpy.o"), ("", "My Documents/table.o"),
    }  # fmt: skip


def test_llds_map_has_sizes_of_sections_and_the_names_in_them(tmp_path: Path) -> None:
    found = read(tmp_path, LLD)
    assert (found.linker, found.regions) == ("lld", ())
    assert names(found) == [
        ("main", 0, 0x10, "func"),
        ("helper", 0x10, 0x10, "func"),
        (".rodata.odd of memcpy.o", 0x20, 1, "object"),
        ("odd", 0x21, 0x27, "object"),
        ("buffer", 0x2000_0000, 0x10, "object"),
    ]
    assert [(s.name, s.load_address) for s, _ in found.contents] == [(".text", 0), (".bss", None)]


@pytest.mark.parametrize("load", [0x98, 0x9C])
def test_a_section_whose_load_addresses_the_next_one_has_is_not_stored(
    load: int, tmp_path: Path
) -> None:
    """GNU ld counts no load addresses for a section with NOLOAD, whatever its content."""
    text = (
        HEAD
        + f"""
.stacks         0x20000008       0x10 load address 0x00000098
 .stk           0x20000008       0x10 main.o
.data           0x20000018        0x8 load address 0x{load:08x}
 .data          0x20000018        0x8 main.o
"""
    )
    stored = {s.name: s.load_address for s, _ in read(tmp_path, text).contents}
    assert stored == {".stacks": None, ".data": load}


@pytest.mark.parametrize(
    ("output", "content", "stored"),
    [(".bss", ".anything", False), ("noinit", ".x", False), ("priv_stacks_noinit", ".x", False),
     (".dma", ".bss.buffer", False), (".dma", "COMMON", False), (".dma", ".bss_dma", False),
     (".dma", ".dma", True), (".fast", ".text.stack_init", True), (".fast", ".data.heap", True)],
)  # fmt: skip
def test_what_is_stored_is_told_by_names(
    output: str, content: str, stored: bool, tmp_path: Path
) -> None:
    text = HEAD + (
        f"{output:<15} 0x20000008       0x10 load address 0x00000098\n"
        f" {content:<14} 0x20000008       0x10 main.o\n"
    )
    ((section, _),) = read(tmp_path, text).contents
    assert section.load_address == (0x98 if stored else None)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [("fw.map", "anything", True), ("fw.txt", GNU, True), ("fw.txt", LLD, True),
     ("fw.elf", "\x7fELF", False), ("fw.hex", ":00000001FF", False)],
)  # fmt: skip
def test_a_map_is_known_by_its_name_or_headings(
    name: str, content: str, expected: bool, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(content)
    assert is_map(tmp_path / name) is expected
    assert not is_map(tmp_path / "none.map") and not is_map(tmp_path)


def _many(count: int, line: str) -> str:
    return "".join(line.format(number) for number in range(count))


@pytest.mark.parametrize("limit", ["MOST_REGIONS", "MOST_SECTIONS", "MOST_ROWS"])
def test_a_map_of_absurd_size_is_refused(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(tmp_path, GNU).outputs
    monkeypatch.setattr(map_file, limit, 1)
    with pytest.raises(UsageError, match="has more than 1 "):
        read(tmp_path, GNU)


#: Texts of megabytes, made when they are needed.
HOSTILE: list[Callable[[], str]] = [
    lambda: HEAD + " .a\n" + "\n" * 500_000,
    lambda: HEAD + " " * 2_000_000,
    lambda: HEAD + " .a" * 700_000,
    lambda: HEAD + ".text 0x0 0x90\n" + " .a\n" * 500_000,
    lambda: "\nMemory Configuration\n" * 100_000 + HEAD,
    lambda: HEAD + _many(MOST_SECTIONS, ".s 0x1 0xffff\n"),
    lambda: HEAD + _many(100_000, ".s 0x0 0x1\n"),
    lambda: LLD + "0 " * 1_000_000,
    lambda: LLD + _many(200_000, "0 0 1 1 .t\n"),
]


@pytest.mark.parametrize("row", range(len(HOSTILE)))
def test_hostile_maps_take_linear_time(row: int, tmp_path: Path) -> None:
    hostile = HOSTILE[row]()
    begun = time.process_time()
    _ = read(tmp_path, hostile).contents
    assert time.process_time() - begun < 2
