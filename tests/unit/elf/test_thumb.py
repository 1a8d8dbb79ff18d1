"""The reference decoder against capstone, on random encodings and on compiled code."""

from __future__ import annotations

import re
import struct
import subprocess
from pathlib import Path

import capstone
import needs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.elf import Image
from harness.elf.thumb import ReferenceKind, instructions, references, returned_constant

_ADDRESS = 0x1000
_CONDITIONS = "eq|ne|cs|hs|cc|lo|mi|pl|vs|vc|hi|ls|ge|lt|gt|le"


def _capstone(code: bytes) -> tuple[str, str, int] | None:
    engine = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_V8
                         | capstone.CS_MODE_MCLASS)  # fmt: skip
    found = next(engine.disasm_lite(code, _ADDRESS, 1), None)
    return None if found is None else (found[2].removesuffix(".w"), found[3], found[1])


def test_instructions_are_walked_by_their_lengths_up_to_a_cut_one():
    code = bytes.fromhex("0130 40f23412 7047 00f0")  # adds; movw; bx lr; half of a bl
    found = list(instructions(code))
    assert found == [(0, 0x3001, 0), (2, 0xF240, 0x1234), (6, 0x4770, 0)]


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(st.one_of(
    st.integers(0, 0xE7FF).map(lambda n: struct.pack("<H", n)),
    st.tuples(st.integers(0xF000, 0xF7FF), st.integers(0x8000, 0xFFFF)).map(
        lambda p: struct.pack("<HH", *p)),
))  # fmt: skip
def test_branches_and_only_branches_are_listed_with_their_targets(code: bytes) -> None:
    truth = _capstone(code)
    found = [
        r
        for r in references(code, _ADDRESS)
        if r.kind in (ReferenceKind.CALL, ReferenceKind.BRANCH)
    ]
    branch = truth and re.fullmatch(rf"bl|b(?:{_CONDITIONS})?", truth[0])
    if not branch:
        if truth is not None:  # an encoding that capstone does not know proves nothing
            assert not found
        return
    assert truth is not None
    assert [f.target for f in found] == [int(truth[1].lstrip("#"), 16) & 0xFFFFFFFF]
    assert found[0].kind is (ReferenceKind.CALL if truth[0] == "bl" else ReferenceKind.BRANCH)


@given(st.integers(0, 0xFFFFFFFF), st.integers(0, 12))
def test_a_movw_and_a_movt_make_a_constant(value: int, register: int) -> None:
    def half(base: int, number: int) -> bytes:
        first = base | number >> 12 | (number >> 11 & 1) << 10
        return struct.pack("<HH", first, (number >> 8 & 7) << 12 | register << 8 | number & 0xFF)

    code = half(0xF240, value & 0xFFFF) + half(0xF2C0, value >> 16)
    assert [(r.kind, r.target) for r in references(code, _ADDRESS)] == [
        (ReferenceKind.CONSTANT, value)
    ]


def test_a_literal_is_listed_and_its_pool_is_not_decoded() -> None:
    # ldr r0, [pc, #0]; bx lr; then a word that would decode as two branches
    code = struct.pack("<HHI", 0x4800, 0x4770, 0xE7FEE7FE)
    assert [(r.kind, r.target) for r in references(code, _ADDRESS)] == [
        (ReferenceKind.LITERAL, 0xE7FEE7FE)
    ]


def test_data_ranges_are_skipped() -> None:
    code = struct.pack("<HHHH", 0xE7FE, 0xE7FE, 0xE7FE, 0xE7FE)
    found = list(references(code, _ADDRESS, [(_ADDRESS + 2, _ADDRESS + 6)]))
    assert [r.at for r in found] == [_ADDRESS, _ADDRESS + 6]


@given(st.binary(max_size=64))
def test_any_bytes_are_decoded_without_an_exception(code: bytes) -> None:
    assert all(r.at >= _ADDRESS for r in references(code, _ADDRESS))


def test_calls_of_a_compiled_function_are_those_of_the_disassembler(little: Image) -> None:
    engine = capstone.Cs(capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS)
    compared = 0
    for symbol in little.symbols:
        code = little.read(symbol.address, symbol.size) if symbol.kind == "func" else None
        if not code:
            continue
        mine = [r.target for r in references(code, symbol.address) if r.kind is ReferenceKind.CALL]
        theirs = [
            int(operands[1:], 16)
            for _, _, mnemonic, operands in engine.disasm_lite(code, symbol.address)
            if mnemonic == "bl"
        ]
        assert mine == theirs, symbol.name
        compared += len(mine)
    assert compared > 3


@pytest.mark.parametrize("flags", ["-O0", "-O1", "-Os", "-O2", "-O2 -fno-omit-frame-pointer"])
@pytest.mark.parametrize(
    ("body", "returned"),
    [
        ("return 0;", 0),
        ("return (void*)5;", 5),
        ("return argument;", None),
        ("return *(void**)argument;", None),
        ("*(int*)argument = 0; return 0;", None),
        ("return other(0);", None),
    ],
)
def test_the_return_value_of_a_function_without_branches_and_loads(
    tmp_path: Path, flags: str, body: str, returned: int | None
) -> None:
    compiler, objcopy = needs.require("arm-none-eabi-gcc"), "arm-none-eabi-objcopy"
    arguments = "void* argument" if "argument" in body else "void"
    source = f"void* other(int);\nvoid* f({arguments}) {{ {body} }}\n"
    (tmp_path / "f.c").write_text(source)
    for command in (
        [compiler, "-mcpu=cortex-m33", "-mthumb", *flags.split(), "-c", "f.c", "-o", "f.o"],
        [objcopy, "-O", "binary", "-j", ".text", "f.o", "f.bin"],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    found = returned_constant((tmp_path / "f.bin").read_bytes())
    unoptimized_store = flags == "-O0" and returned is None
    assert found is None if unoptimized_store else found == returned
