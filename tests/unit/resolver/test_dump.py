"""The live table, from a memory that really holds one: laid out as the image's own code would."""

from __future__ import annotations

import random
import struct
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import needs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from little_tflm import compile_little

from harness.base.errors import CheckFailed
from harness.elf import Image
from harness.footprint.resolver_layout import find_layout
from harness.model.schema import OPERATOR_NAMES
from harness.resolver import dump
from harness.resolver.explain import explain
from harness.resolver.text import explanation_lines

Compile = Callable[..., Image]
BOTH = "resolver.AddConv2D(); resolver.AddSoftmax();"
RAM = 0x2000_0000


class FakeMemory:
    """1 MiB of flash with what the image stores, else erased; 256 KiB of RAM; nothing else."""

    def __init__(self, firmware: Image) -> None:
        self.firmware = firmware
        self.ram = bytearray(0x4_0000)

    def read(self, address: int, size: int) -> bytes:
        if address >= RAM:
            assert address + size <= RAM + len(self.ram)
            return bytes(self.ram[address - RAM :][:size])
        assert address + size <= 0x10_0000
        flash = bytearray(b"\xff" * size)
        for part in self.firmware.segments:
            overlap = range(
                max(address, part.address), min(address + size, part.address + part.size)
            )
            for at in overlap:
                flash[at - address] = part.data[at - part.address]
        return bytes(flash)

    def write(self, address: int, data: bytes) -> None:
        assert RAM <= address <= RAM + len(self.ram) - len(data)
        self.ram[address - RAM : address - RAM + len(data)] = data


class FakeSession:
    target = "fake"

    def __init__(self, firmware: Image) -> None:
        self.memory = FakeMemory(firmware)


def function(image: Image, name: str) -> int:
    """The pointer to a function."""
    return next(s.address for s in image.symbols if name in s.name and s.kind == "func") | 1


def table(image: Image) -> int:
    """The address of the image's own resolver."""
    place = image.symbol("_ZL8resolver")
    assert place is not None
    return place.address


def fill(session: FakeSession, image: Image, rows: list[tuple[str, str, int]], slots: int,
         address: int | None = None) -> None:  # fmt: skip
    """Write a resolver object with rows of (prepare, invoke, builtin code)."""
    vtable = next(s.address for s in image.symbols
                  if s.name.startswith("_ZTV") and f"Lj{slots}E" in s.name)  # fmt: skip
    at = table(image) if address is None else address
    body = struct.pack("<I", vtable + 8)
    for prepare, invoke, number in rows:
        body += struct.pack(
            "<7I", 0, 0, function(image, prepare), function(image, invoke), 0, number, 0
        )
    body += bytes(28 * (slots - len(rows))) + struct.pack("<I", len(rows))
    spare = bytes(4 * (slots - len(rows)))
    body += b"".join(struct.pack("<I", number) for _, _, number in rows) + spare
    body += b"".join(struct.pack("<I", function(image, "ParseConv2D")) for _ in rows) + spare
    session.memory.write(at, body + struct.pack("<I", len(rows)))


CONV = ("ConvPrepare", "ConvEval", 3)
SOFTMAX = ("SoftmaxPrepare", "SoftmaxEval", 25)
ADD = ("ConvPrepare", "ConvEval", 0)


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


def test_as_many_operators_as_slots_is_the_most_that_is_believed(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV, SOFTMAX, ADD], 3)
    assert dump(session, image)[0].operators == ("CONV_2D", "SOFTMAX", "ADD")
    session.memory.write(table(image) + find_layout(image).of(3).length, struct.pack("<I", 4))
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, image)


def ending_with(image: Image, data: bytes) -> FakeSession:
    """A memory whose last bytes are ``data``."""
    session = FakeSession(image)
    session.memory.write(RAM + len(session.memory.ram) - len(data), data)
    return session


def test_an_object_at_the_very_end_of_ram_is_found_and_one_that_is_cut_off_is_not(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV], 3, address=RAM)
    whole = session.memory.read(RAM, find_layout(image).of(3).length + 4)  # what is read of it
    (found,) = dump(ending_with(image, whole), image)
    assert found.address == RAM + len(session.memory.ram) - len(whole)
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(ending_with(image, whole[:-4]), image)


def test_of_ram_nothing_is_read_beyond_its_end(compile_image: Compile, tmp_path: Path) -> None:
    small = tmp_path / "small.map"
    small.write_text(
        "\nMemory Configuration\nFLASH 0x0 0x100000 xr\nRAM 0x20000000 0x2f64 xrw\n"
        "\nLinker script and memory map\n"
    )
    image = replace(compile_image(BOTH, 3), map_file=small)
    session = FakeSession(image)
    del session.memory.ram[0x2F64:]
    size = find_layout(image).bytes_of(3)
    fill(session, image, [CONV], 3, address=RAM + 0x2F64 - size)
    assert [found.address for found in dump(session, image)] == [RAM + 0x2F64 - size]


def test_several_resolvers_are_told_by_address(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    places = [RAM + 0x3_F000, RAM + 0x2_0000, RAM + 0x2_0200]
    for at in places:
        fill(session, image, [CONV], 3, address=at)
    assert [found.address for found in dump(session, image)] == sorted(places)


def test_a_vtable_pointer_at_an_odd_address_is_chance(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV], 3, address=RAM + 0x2_0002)
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(session, image)


def test_a_table_in_an_object_is_named_after_it_with_its_place_inside(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 3)
    arena = image.symbol("tensor_arena")
    assert arena is not None
    for offset, name in ((0, "tensor_arena"), (8, "tensor_arena+8")):
        session = FakeSession(image)
        fill(session, image, [CONV], 3, address=arena.address + offset)
        assert dump(session, image)[0].name == name


def test_a_table_behind_an_object_does_not_have_its_name(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    objects = [s for s in image.symbols if s.kind == "object" and s.address >= RAM]
    end = max(s.address + s.size for s in objects) + 3 & ~3
    session = FakeSession(image)
    fill(session, image, [CONV], 3, address=end)
    assert dump(session, image)[0].name == f"(at 0x{end:08x})"


def test_a_static_object_is_shown_as_it_stands_and_elsewhere_all_rows_are_registrations(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 3)
    static, stack = FakeSession(image), FakeSession(image)
    fill(static, image, [CONV, SOFTMAX], 3)
    static.memory.write(table(image) + 4 + 28 + 12, struct.pack("<I", RAM))  # of the second row
    (found,) = dump(static, image)
    assert [one.invoke for one in found.registrations][1] == f"0x{RAM:08x}"
    fill(stack, image, [CONV, SOFTMAX], 3, address=RAM + 0x2_0000)
    stack.memory.write(RAM + 0x2_0000 + 4 + 28 + 12, struct.pack("<I", RAM))
    with pytest.raises(CheckFailed, match="no operator resolver"):
        dump(stack, image)


def test_a_registration_is_told_by_the_names_of_its_functions_and_its_file(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV, ("ConvPrepare", "ConvEval", 0xFFFF)], 3)
    session.memory.write(table(image) + 4, struct.pack("<I", function(image, "loop")))  # init
    first, unknown = dump(session, image)[0].registrations
    kernel = "tflite::(anonymous namespace)::Conv"
    assert (first.init, first.prepare, first.invoke, first.file) == (
        "loop", f"{kernel}Prepare", f"{kernel}Eval", "kernels.cc")  # fmt: skip
    assert (first.operator, first.builtin_code, first.custom) == ("CONV_2D", 3, False)
    assert (unknown.operator, unknown.builtin_code) == ("builtin 65535", 0xFFFF)


def test_a_function_without_a_symbol_is_told_by_its_address(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV], 3)
    session.memory.write(table(image) + 4, struct.pack("<I", function(image, "loop") + 2))
    assert dump(session, image)[0].registrations[0].init == f"0x{function(image, 'loop') + 1:08x}"


CUSTOM = OPERATOR_NAMES.index("CUSTOM")


@pytest.mark.parametrize(
    ("stored", "operator"),
    [("Atan", "Atan"), ("Ata\xf6", "Ata\xf6"), ("x" * 63, "x" * 63), ("x" * 80, "x" * 64)],
)
def test_a_custom_operator_is_told_by_the_first_64_bytes_of_its_name(
    compile_image: Compile, stored: str, operator: str
) -> None:
    image = compile_image(f'{BOTH} Log("{stored}");', 3)
    at = image.data.find(stored.encode() + b"\0")
    (flash,) = [s for s in image.sections if s.name == ".rodata"]
    session = FakeSession(image)
    fill(session, image, [("ConvPrepare", "ConvEval", CUSTOM)], 3)
    name = flash.address + at - image.data.find(flash.data)
    session.memory.write(table(image) + 4 + 24, struct.pack("<I", name))
    (found,) = dump(session, image)[0].registrations
    assert (found.operator, found.custom_name, found.custom) == (operator, operator, True)


def test_a_custom_operator_whose_name_lies_nowhere_is_told_as_custom(
    compile_image: Compile,
) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [("ConvPrepare", "ConvEval", CUSTOM)], 3)
    session.memory.write(table(image) + 4 + 24, struct.pack("<I", 0x5000_0000))
    (found,) = dump(session, image)[0].registrations
    assert (found.operator, found.custom_name, found.custom) == ("CUSTOM", "", True)


def test_the_document_of_a_resolver_says_how_many_are_registered(compile_image: Compile) -> None:
    image = compile_image(BOTH, 3)
    session = FakeSession(image)
    fill(session, image, [CONV, SOFTMAX], 3)
    document = dump(session, image)[0].to_json()
    assert (document["registered"], document["slots"], document["slot_bytes"]) == (2, 3, 36)
    assert [one["operator"] for one in document["registrations"]] == ["CONV_2D", "SOFTMAX"]


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


def strip(image: Image, folder: Path) -> Image:
    path = folder / "stripped.elf"
    subprocess.run(["arm-none-eabi-strip", "-o", str(path), str(image.path)], check=True)
    return Image.from_elf(path)


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
    needs.require("arm-none-eabi-gcc")
    other = "struct TfLiteRegistration { void *init, *free, *prepare, *invoke; int profiling, " \
            "builtin_code; void *custom_name; int more[5]; } other;"  # fmt: skip
    elf = compile_little(tmp_path, register=BOTH, extra=("-include", "other.h"),
                         files={"other.h": f"#pragma once\nstatic {other}\n"
                                           "static void* volatile used = &other;\n"})  # fmt: skip
    layout = find_layout(Image.from_elf(elf))
    assert (layout.source, layout.registration_bytes, layout.slot_bytes) == ("dwarf", 28, 36)


def test_an_empty_memory_has_no_resolver(compile_image: Compile) -> None:
    image = compile_image(BOTH, 2)
    with pytest.raises(CheckFailed, match="no operator resolver in the memory"):
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
