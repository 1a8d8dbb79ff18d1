"""RAM by what it is for, told by the names and contents of objects."""

from __future__ import annotations

import zlib
from types import SimpleNamespace

import pytest

from harness.elf.layout import LayoutPart
from harness.footprint import ram
from harness.footprint.ram import RamObject, purposes
from harness.footprint.resolvers import Declared

MODEL = b"\x1c\0\0\0TFL3" + bytes(8)


def part(name: str, size: int = 64, *, kind: str = "object", copy: bool = False) -> LayoutPart:
    return LayoutPart(name, kind, "RAM", ".bss", 0x2000_0000, 0x2000_0000, size, copy)


def told(
    *parts: LayoutPart, data: bytes | None = None, registered: int = 0, resolvers=()
) -> list[RamObject]:
    firmware = SimpleNamespace(read=lambda address, size: data and data[:size])
    return list(purposes(firmware, parts, registered))


@pytest.fixture(autouse=True)
def resolvers(monkeypatch):
    """The resolvers that the image declares: none, unless a test says others."""
    declared: list[Declared] = []
    monkeypatch.setattr(ram.resolvers, "find", lambda firmware: tuple(declared))
    return declared


@pytest.mark.parametrize(
    "name",
    ["tensor_arena", "arena", "g_arena", "tensorArena", "TensorArenaBuffer", "arena_0", "my_arena2",
     "_ZN12_GLOBAL__N_112tensor_arenaE"],
)  # fmt: skip
def test_an_object_called_so_is_an_arena(name):
    assert [one.purpose for one in told(part(name))] == ["arena"]


@pytest.mark.parametrize("name", ["z_main_stack", "stacks", "IdleStack", "_ZN3app11workerStackE"])
def test_an_object_called_so_is_a_stack(name):
    assert [one.purpose for one in told(part(name))] == ["stack"]


@pytest.mark.parametrize(
    "name",
    ["arenas", "barena", "stack_size", "stack_info", "main_stack_guard", "stackFrame",
     "stack_frame", "stack_top", "counter", "_ZN5arena5otherE"],
)  # fmt: skip
def test_an_object_of_another_name_is_neither(name):
    assert told(part(name)) == []


@pytest.mark.parametrize("name", ["arena", "stack"])
def test_small_stored_and_other_symbols_are_neither(name):
    assert told(part(name, 63)) == []
    assert told(part(name, kind="function")) == []
    assert told(part(name, copy=True)) == []
    (found,) = told(part(name, 64))
    assert found == RamObject(name, name, 0x2000_0000, 64)


def test_a_model_in_ram_could_be_given_back_whole():
    (found,) = told(part("g_model", 16), data=MODEL)
    note = f"a .tflite model (CRC-32 {zlib.crc32(MODEL):08x}) in RAM; "
    assert found == RamObject(
        "model copy", "g_model", 0x2000_0000, 16, wasted=16,
        note=f"{note}declare it const and it stays in flash alone",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "data"),
    [(part("m", 16), None), (part("m", 16), bytes(16)), (part("m", 15), MODEL),
     (part("m", 16, copy=True), MODEL), (part("m", 16, kind="unnamed"), MODEL),
     (part("m", 16), b"\0" + MODEL[:15]), (part("m", 16), MODEL[4:] + bytes(4))],
)  # fmt: skip
def test_data_without_a_model_is_not_a_copy_of_one(found, data):
    assert told(found, data=data) == []


def declared(name: str, slots: int, address: int = 0x2000_0100) -> Declared:
    return Declared(name, slots, address, 12 + 36 * slots, 36)


@pytest.mark.parametrize(
    ("registered", "used", "wasted", "note"),
    [(2, 84, 108, "5 slots of 36 B, 2 filled"), (5, 192, 0, "5 slots of 36 B, 5 filled"),
     (7, 192, 0, "5 slots of 36 B, 5 filled")],
)  # fmt: skip
def test_slots_that_no_operator_fills_are_wasted(resolvers, registered, used, wasted, note):
    resolvers.append(declared("r", 5))
    (found,) = told(registered=registered)
    assert found == RamObject("resolver", "r", 0x2000_0100, 192, used, used, wasted, note)


def test_operators_are_not_charged_to_one_of_several_resolvers(resolvers):
    resolvers.extend([declared("a", 5), declared("b", 3)])
    found = told(registered=2)
    assert [(one.name, one.used, one.note) for one in found] == [
        ("a", None, "5 slots of 36 B"), ("b", None, "3 slots of 36 B"),
    ]  # fmt: skip


def test_without_operators_the_slots_alone_are_listed(resolvers):
    resolvers.append(declared("a", 5))
    assert [(one.wasted, one.note) for one in told(registered=0)] == [(None, "5 slots of 36 B")]


def test_a_resolver_without_an_address_takes_no_ram(resolvers):
    resolvers.extend([declared("nowhere", 5, address=0), declared("here", 3)])
    (found,) = told(registered=3)
    assert (found.name, found.wasted) == ("here", 0)


def test_a_piece_of_ram_is_a_row_of_the_document():
    assert RamObject("stack", "main", 16, 64, 5).to_json() == {
        "purpose": "stack", "name": "main", "address": 16, "bytes": 64, "used": 5, "least": None,
        "wasted": None, "note": "",
    }  # fmt: skip
