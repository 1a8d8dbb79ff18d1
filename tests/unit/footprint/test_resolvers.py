"""Resolvers that an image declares, by its symbols alone."""

from __future__ import annotations

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.elf import Image
from harness.footprint.resolver_layout import ClassLayout, ResolverLayout, known_layouts
from harness.footprint.resolvers import Declared, find, slots_in_symbols


@pytest.fixture
def image(tmp_path):
    def make(*symbols: MadeSymbol) -> Image:
        path = tmp_path / "own.elf"
        text = MadeSection(".text", 0, bytes(256), load=0, executable=True)
        path.write_bytes(write_elf([text], list(symbols), entry=9))
        return Image.from_elf(path)

    return make


def added(slots: int, address: int = 0x21) -> MadeSymbol:
    name = f"_ZN6tflite22MicroMutableOpResolverILj{slots}EE10AddBuiltinEv"
    return MadeSymbol(name, address, 8, "func")


def test_a_resolver_without_an_object_is_known_by_its_slots(image):
    found = find(image(added(5), added(12, 0x31), added(5, 0x41)))
    assert found == (
        Declared("MicroMutableOpResolver<5>", 5, 0, 12 + 5 * 36, 36),
        Declared("MicroMutableOpResolver<12>", 12, 0, 12 + 12 * 36, 36),
    )


def test_an_image_without_a_resolver_declares_none(image):
    made = image(MadeSymbol("main", 0x21, 8, "func"))
    assert find(made) == ()
    assert slots_in_symbols(made) == set()


def test_a_resolver_is_a_row_of_the_document():
    assert Declared("r", 5, 16, 192, 36).to_json() == {
        "name": "r", "slots": 5, "address": 16, "bytes": 192, "slot_bytes": 36,
    }  # fmt: skip


def test_without_dwarf_a_resolver_lies_as_it_does_today():
    layout = ResolverLayout()
    assert (layout.source, layout.registration_bytes, layout.code_bytes) == ("assumed", 28, 4)
    assert dict(layout.fields) == {
        "init": 0, "free": 4, "prepare": 8, "invoke": 12, "reset": 16, "builtin_code": 20,
        "custom_name": 24,
    }  # fmt: skip
    assert (layout.slot_bytes, layout.bytes_of(5), layout.registrations_at) == (36, 192, 4)
    assert layout.of(5) == ClassLayout(4, 4 + 5 * 28)


def test_the_dwarf_layout_of_a_class_holds_for_it_alone():
    layout = ResolverLayout(classes={5: ClassLayout(8, 200)})
    assert layout.of(5) == ClassLayout(8, 200)
    assert layout.of(6) == ClassLayout(4, 4 + 6 * 28)
    assert layout.registrations_at == 8


def test_layouts_of_older_revisions_have_eight_to_ten_words_and_codes_of_one_byte():
    found = list(known_layouts())
    assert [(one.registration_bytes, one.code_bytes) for one in found] == [
        (28, 4), (32, 4), (36, 4), (40, 4), (28, 1), (32, 1), (36, 1), (40, 1),
    ]  # fmt: skip
    older = dict(found[1].fields)
    assert older == {
        "init": 0, "free": 4, "prepare": 8, "invoke": 12, "profiling_string": 16,
        "builtin_code": 20, "custom_name": 24, "version": 28,
    }  # fmt: skip
    assert found[1].source == "assumed"
