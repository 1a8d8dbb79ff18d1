"""The live table, from a memory that really holds one: laid out as the image's own code would."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from little_tflm import compile_little, has_gcc

from harness.elf import Firmware
from harness.errors import CheckFailed
from harness.footprint.resolver_layout import find_layout
from harness.resolver import dump
from harness.resolver.dump import registered
from harness.resolver.explain import explain
from harness.resolver.text import explanation_lines

Compile = Callable[..., Firmware]
BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
RAM = 0x2000_0000


class FakeMemory:
    """Flash as the image stores it and 256 KiB of RAM."""

    def __init__(self, firmware: Firmware) -> None:
        self.firmware = firmware
        self.ram = bytearray(0x4_0000)

    def read(self, address: int, size: int) -> bytes:
        if address >= RAM:
            return bytes(self.ram[address - RAM :][:size])
        stored = next(s for s in self.firmware.segments
                      if s.address <= address < s.address + s.size)  # fmt: skip
        return stored.data[address - stored.address :][:size].ljust(size, b"\xff")

    def write(self, address: int, data: bytes) -> None:
        self.ram[address - RAM : address - RAM + len(data)] = data


class FakeSession:
    target = "fake"

    def __init__(self, firmware: Firmware) -> None:
        self.memory = FakeMemory(firmware)


def fill(session: FakeSession, image: Firmware, rows: list[tuple[str, str, int]], slots: int,
         address: int | None = None) -> None:  # fmt: skip
    """Write a resolver object with rows of (prepare, invoke, builtin code)."""

    def code(name: str) -> int:
        return next(s.address for s in image.symbols if name in s.name and s.kind == "func") | 1

    vtable = next(s.address for s in image.symbols
                  if s.name.startswith("_ZTV") and f"Lj{slots}E" in s.name)  # fmt: skip
    place = image.symbol("_ZL8resolver")
    assert place is not None
    at = place.address if address is None else address
    body = struct.pack("<I", vtable + 8)
    for prepare, invoke, number in rows:
        body += struct.pack("<7I", 0, 0, code(prepare), code(invoke), 0, number, 0)
    body += bytes(28 * (slots - len(rows))) + struct.pack("<I", len(rows))
    spare = bytes(4 * (slots - len(rows)))
    body += b"".join(struct.pack("<I", number) for _, _, number in rows) + spare
    body += b"".join(struct.pack("<I", code("ParseConv2D")) for _ in rows) + spare
    session.memory.write(at, body + struct.pack("<I", len(rows)))


CONV = ("ConvPrepare", "ConvEval", 3)
SOFTMAX = ("SoftmaxPrepare", "SoftmaxEval", 25)


@pytest.mark.parametrize("dwarf", ["-gdwarf-5", "-gdwarf-2", ""])
def test_the_table_is_read_in_the_order_of_registration(compile_image: Compile, dwarf: str) -> None:
    image = compile_image(BOTH, 3, dwarf=dwarf)
    session = FakeSession(image)
    fill(session, image, [SOFTMAX, CONV], 3)
    (found,) = dump(session, image)
    assert found.operators == ("SOFTMAX", "CONV_2D")
    assert (found.name, found.slots) == ("resolver", 3)
    assert found.source == ("dwarf" if dwarf else "pattern")
    first = found.registrations[0]
    assert "SoftmaxPrepare" in first.prepare and "SoftmaxEval" in first.invoke and not first.init
    assert registered([found]) == found.operators


def test_a_chain_that_stopped_early_shows_what_is_there(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV], 3)
    assert dump(session, image)[0].operators == ("CONV_2D",)


def test_a_resolver_on_a_stack_is_found_by_its_vtable(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV], 3, address=RAM + 0x3_F000)
    (found,) = dump(session, image)
    assert found.name == f"(at 0x{RAM + 0x3_F000:08x})"


def test_a_dead_frame_with_a_senseless_count_is_passed_over(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV, SOFTMAX], 3, address=RAM + 0x100)
    session.memory.write(RAM + 0x100 + find_layout(image).of(3).length, b"\x4d\0\0\0")
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, image)


def test_in_a_stripped_image_the_table_is_known_by_its_shape(
    compile_image: Compile, tmp_path: Path
) -> None:
    image = compile_image(BOTH, 5)
    stripped = strip(image, tmp_path)
    session = FakeSession(stripped)
    fill(session, image, [SOFTMAX, CONV], 5)
    (found,) = dump(session, stripped)
    assert (found.operators, found.slots, found.source) == (("SOFTMAX", "CONV_2D"), 5, "pattern")
    assert found.registrations[0].invoke.startswith("0x")


def strip(image: Firmware, folder: Path) -> Firmware:
    path = folder / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(path), str(image.path)], check=True)
    return Firmware.from_elf(path)


@pytest.mark.parametrize("damage", ["count", "code", "parser", "builtins", "invoke", "prepare"])
def test_what_only_resembles_a_table_is_none(
    compile_image: Compile, tmp_path: Path, damage: str
) -> None:
    """Each word by which a resolver is known is needed: with one wrong there is none."""
    image = compile_image(BOTH, 3)
    stripped = strip(image, tmp_path)
    session = FakeSession(stripped)
    fill(session, image, [SOFTMAX, CONV], 3, address=RAM + 64)
    at = {"invoke": 4 + 12, "prepare": 4 + 8, "count": 4 + 84, "code": 4 + 88, "parser": 4 + 100,
          "builtins": 4 + 112}[damage]  # fmt: skip
    session.memory.write(RAM + 64 + at, struct.pack("<I", 0x2000_0001))
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, stripped)


@settings(deadline=None, max_examples=50)
@given(st.binary(min_size=64, max_size=2000), st.integers(0, 400))
def test_random_memory_holds_no_resolver(compile_image: Compile, data: bytes, place: int) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    session.memory.write(RAM + 4 * place, data)
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, image)


def test_memory_full_of_function_pointers_holds_no_resolver(
    compile_image: Compile, tmp_path: Path
) -> None:
    """Zephyr's device structures: code addresses, zeroes and small numbers in any order."""
    image = compile_image(BOTH, 3)
    stripped = strip(image, tmp_path)
    session = FakeSession(stripped)
    functions = [s.address | 1 for s in image.symbols if s.kind == "func"]
    vtables = [s.address + 8 for s in image.symbols if s.name.startswith("_ZTV")]
    chosen = random.Random(7)
    words = [chosen.choice([*functions, *vtables, 0, 0, 1, 2, 3, 25]) for _ in range(0x8000)]
    session.memory.write(RAM, struct.pack(f"<{len(words)}I", *words))
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, stripped)


def test_a_record_of_another_name_beside_tflms_does_not_mislead(tmp_path: Path) -> None:
    """TFLM of 2026 has TensorFlow Lite's registration (48 bytes) in its DWARF as well."""
    if not has_gcc():
        pytest.skip("no arm-none-eabi-g++")
    other = "struct TfLiteRegistration { void *init, *free, *prepare, *invoke; int profiling, " \
            "builtin_code; void *custom_name; int more[5]; } other;"  # fmt: skip
    elf = compile_little(tmp_path, register=BOTH, extra=("-include", "other.h"),
                         files={"other.h": f"#pragma once\nstatic {other}\n"
                                           "static void* volatile used = &other;\n"})  # fmt: skip
    layout = find_layout(Firmware.from_elf(elf))
    assert (layout.source, layout.registration_bytes, layout.slot_bytes) == ("dwarf", 28, 36)


def test_an_empty_memory_has_no_resolver(compile_image: Compile) -> None:
    image = compile_image(BOTH, 2)
    with pytest.raises(CheckFailed, match="run the image past its registration"):
        dump(FakeSession(image), image)


def test_the_layout_is_that_of_the_debug_information(compile_image: Compile) -> None:
    layout = find_layout(compile_image(BOTH, 2))
    assert (layout.source, layout.registration_bytes, layout.slot_bytes) == ("dwarf", 28, 36)
    assert layout.fields["prepare"] == 8 and layout.fields["custom_name"] == 24
    assert layout.of(2).length == 4 + 2 * 28


def test_an_operator_is_explained_from_its_call_to_its_kernels(compile_image: Compile) -> None:
    found = explain(compile_image(BOTH, 2), "conv_2d")
    (step,) = found.steps
    roles = {target.role: target.name for target in step.targets}
    assert "ConvPrepare" in roles["prepare"] and "ConvEval" in roles["invoke"]
    assert found.cost is not None and found.cost.operator == "CONV_2D"
    assert found.callers
    text = "\n".join(explanation_lines(found))
    assert "bx     lr" in text or "pop" in text
    assert "B of flash for this operator alone" in text
