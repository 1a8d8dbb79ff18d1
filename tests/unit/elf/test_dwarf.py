"""The DWARF readers against pyelftools, for versions 2 to 5 and both compilers."""

from __future__ import annotations

from pathlib import Path

from harness.elf import Image
from harness.elf.dwarf.entries import Dwarf
from harness.elf.dwarf.format import At, Tag
from harness.elf.variables import Variables

_EVERYWHERE = frozenset(range(0x10000))


def test_the_scan_finds_the_entries_that_pyelftools_finds(debuggable: Path) -> None:
    firmware = Image.from_elf(debuggable)
    dwarf = Dwarf(firmware)
    wanted = frozenset((Tag.VARIABLE, Tag.SUBPROGRAM, Tag.MEMBER))
    mine = [at for unit in dwarf.units for at in dwarf.scan(unit, wanted, _EVERYWHERE)]
    names = {"DW_TAG_variable", "DW_TAG_subprogram", "DW_TAG_member"}
    theirs = [
        die.offset
        for unit in firmware.elf.get_dwarf_info().iter_CUs()
        for die in unit.iter_DIEs()
        if die.tag in names
    ]
    assert mine == theirs
    assert len(mine) > 30
    assert dwarf.broken_units == 0


def test_names_and_references_are_decoded_as_pyelftools_does(debuggable: Path) -> None:
    firmware = Image.from_elf(debuggable)
    dwarf = Dwarf(firmware)
    compared = 0
    for unit in firmware.elf.get_dwarf_info().iter_CUs():
        for die in unit.iter_DIEs():
            if die.tag not in ("DW_TAG_variable", "DW_TAG_subprogram", "DW_TAG_structure_type"):
                continue
            entry = dwarf.entry(die.offset)
            name = die.attributes.get("DW_AT_name")
            assert entry.value(At.NAME) == (name.value.decode() if name else None)
            kind = die.attributes.get("DW_AT_type")
            if kind is not None:
                assert entry.number(At.TYPE) == unit.cu_offset + kind.value
            compared += 1
    assert compared > 20


def test_static_variables_are_found_with_file_and_type(debuggable: Path) -> None:
    firmware = Image.from_elf(debuggable)
    variables = Variables(firmware)
    for name, file, pointers in (
        ("tensor_arena", "main.cc", False),
        ("g_model", "model.cc", False),
        ("_ZL8resolver", "main.cc", True),
    ):
        symbol = firmware.symbol(name)
        assert symbol is not None
        assert Path(variables.declared_in(symbol.address)).name == file
        assert variables.may_hold_pointers(symbol.address) is pointers


def test_lines_are_those_that_pyelftools_computes(debuggable: Path) -> None:
    firmware = Image.from_elf(debuggable)
    theirs: dict[int, tuple[str, int]] = {}
    dwarf = firmware.elf.get_dwarf_info()
    for unit in dwarf.iter_CUs():
        program = dwarf.line_program_for_CU(unit)
        base = 0 if program.header.version >= 5 else 1
        names = [entry.name.decode() for entry in program.header.file_entry]
        sequence: list[tuple[int, tuple[str, int]]] = []
        for row in program.get_entries():
            if row.state is None:
                continue
            if row.state.end_sequence:
                if sequence[0][0]:  # at 0 lie functions that the linker dropped
                    end = row.state.address  # a row that begins there has no instruction
                    theirs.update(one for one in sequence if one[0] < end)
                sequence = []
            else:
                file = names[row.state.file - base]
                sequence.append((row.state.address, (file, row.state.line)))
    starts, places = firmware.lines
    mine = {start: place for start, place in zip(starts, places, strict=True) if place[0]}
    assert mine == theirs
    assert len(mine) > 40


def test_locate_names_function_file_and_line(debuggable: Path) -> None:
    firmware = Image.from_elf(debuggable)
    setup = firmware.symbol("setup")
    assert setup is not None
    place = firmware.locate(setup.address | 1)
    assert (place.function, Path(place.file).name) == ("setup", "main.cc")
    assert place.line > 0
