"""How resolvers lie in memory, as the DWARF of an image tells it."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import needs
import pytest
from little_tflm import HEADER, compile_little

from harness.elf import Image
from harness.elf.dwarf.format import At, Tag
from harness.elf.dwarf.leb import GARBLED
from harness.footprint.resolver_layout import ClassLayout, ResolverLayout, _element, find_layout
from harness.footprint.resolvers import find, slots_in_symbols

FIELDS = {
    "init": 0, "free": 4, "prepare": 8, "invoke": 12, "reset": 16, "builtin_code": 20,
    "custom_name": 24,
}  # fmt: skip


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Image]:
    """The little firmware with another header, for two operators in so many slots."""
    needs.require("arm-none-eabi-gcc")

    def build(was: str = "", now: str = "", **options) -> Image:
        assert was in HEADER
        folder = tmp_path_factory.mktemp("layout")
        files = {"little.h": HEADER.replace(was, now) if was else HEADER}
        return Image.from_elf(compile_little(folder, files=files, **options))

    return build


def test_layout_and_object_are_those_of_the_class(little: Image):
    layout = find_layout(little)
    assert layout == ResolverLayout("dwarf", 28, FIELDS, 4, {2: ClassLayout(4, 60)})
    (resolver,) = find(little)
    assert (resolver.name, resolver.slots, resolver.slot_bytes) == ("resolver", 2, 36)
    assert resolver.bytes == layout.bytes_of(2) == 84
    symbol = next(one for one in little.symbols if one.name == "_ZL8resolver")
    assert resolver.address == symbol.address
    assert slots_in_symbols(little) == {2}


@pytest.mark.parametrize("dwarf", ["-gdwarf-3", "-gdwarf-4", "-gdwarf-5"])
def test_every_version_of_dwarf_gives_the_same_layout(built, dwarf):
    image = built(dwarf=dwarf, slots=5, extra=("-gstrict-dwarf",))
    expected = ResolverLayout("dwarf", 28, FIELDS, 4, {5: ClassLayout(4, 144)})
    assert find_layout(image) == expected
    assert [one.bytes for one in find(image)] == [192]


def test_dwarf_2_has_offsets_as_expressions_and_no_classes_of_a_namespace(built):
    image = built(dwarf="-gdwarf-2", extra=("-gstrict-dwarf",))
    assert find_layout(image) == ResolverLayout("dwarf", 28, FIELDS, 4)


def test_builtin_codes_of_one_byte_make_a_slot_smaller(built):
    image = built("BuiltinOperator builtin_codes_[N]", "unsigned char builtin_codes_[N]")
    assert (find_layout(image).code_bytes, find_layout(image).slot_bytes) == (1, 33)


def test_a_member_before_the_registrations_moves_them(built):
    image = built(
        "  TFLMRegistration registrations_[N];", "  int more_; TFLMRegistration registrations_[N];"
    )
    layout = find_layout(image)
    assert layout.classes == {2: ClassLayout(8, 64)}
    assert layout.registrations_at == 8


#: gcc clears a record of eight words with a call.
MEMSET = """
extern "C" __attribute__((used)) inline void* memset(void* to, int value, unsigned size) {
  for (unsigned at = 0; at < size; ++at) static_cast<volatile char*>(to)[at] = value;
  return to;
}
"""


def test_a_longer_registration_makes_a_slot_larger(built):
    now = f"const char* custom_name; int version; }};\n{MEMSET}"
    image = built("const char* custom_name;\n};", now)
    layout = find_layout(image)
    assert (layout.registration_bytes, layout.fields["version"]) == (32, 28)
    assert [one.slot_bytes for one in find(image)] == [40]


def test_the_record_that_resolvers_hold_is_the_one_that_counts(built):
    other = "struct TfLiteRegistration { int init, prepare, invoke, builtin_code, a, b, c, d, e; };"
    now = f"{other} inline TfLiteRegistration other_record; struct TFLMRegistration {{"
    image = built("struct TFLMRegistration {", now)
    assert find_layout(image).registration_bytes == 28


def test_without_dwarf_the_layout_is_todays_and_the_slots_come_from_symbols(built):
    image = built(dwarf="", slots=5)
    assert find_layout(image) == ResolverLayout()
    assert [(one.slots, one.address, one.bytes) for one in find(image)] == [(5, 0, 192)]


def element(*entries: tuple[str | None, int, int | None, int]) -> tuple[str, int]:
    """Name and size of an element by these entries (name, tag, size, type), by their offsets."""

    def entry(offset: int) -> SimpleNamespace:
        if offset >= len(entries):
            raise GARBLED[0]
        name, tag, size, kind = entries[offset]
        numbers = {At.BYTE_SIZE: size, At.TYPE: kind}
        return SimpleNamespace(tag=tag, value=lambda key: name, number=numbers.get)

    return _element(SimpleNamespace(entry=entry), 0)


ARRAY, RECORD, ALIAS = Tag.ARRAY_TYPE, Tag.STRUCTURE_TYPE, Tag.TYPEDEF


@pytest.mark.parametrize(
    ("entries", "found"),
    [
        ([], ("", 0)),
        ([(None, ARRAY, 64, 1), ("int", RECORD, 4, None)], ("int", 4)),
        ([(None, ARRAY, 64, 1), ("code", ALIAS, None, 2), ("char", RECORD, 1, None)], ("char", 1)),
        ([("TFLMRegistration", ALIAS, None, 1), ("other", RECORD, 28, None)],
         ("TFLMRegistration", 28)),
        ([("named", ALIAS, None, 9)], ("named", 0)),
        ([(None, ARRAY, 64, 0)], ("", 0)),
    ],
)  # fmt: skip
def test_an_element_is_looked_for_behind_arrays_and_aliases(entries, found):
    assert element(*entries) == found
