"""RAM by purpose, and what of it is used."""

from __future__ import annotations

import needs
import pytest
from little_tflm import compile_little

from harness import footprint
from harness.elf import Image
from harness.footprint.ram import RamObject

CONV = "resolver.AddConv2D();"
MORE = """
#pragma once
inline char thread_stacks[3][256];
inline char other_stack[128];
inline unsigned copied_model[8] = {28, 0x334c4654, 3};
inline void Use(void* p) { asm volatile("" ::"r"(p) : "memory"); }
"""
USE = "Use(thread_stacks); Use(other_stack); Use(copied_model);"


@pytest.fixture(scope="module")
def five_slots(tmp_path_factory: pytest.TempPathFactory) -> Image:
    """One operator in five slots, two stacks in one array, and a model in RAM."""
    needs.require("arm-none-eabi-gcc")
    elf = compile_little(
        tmp_path_factory.mktemp("ram"), register=CONV + USE, slots=5,
        files={"more.h": MORE}, extra=("-include", "more.h"),
    )  # fmt: skip
    return Image.from_elf(elf)


def rows(firmware: Image, purpose: str) -> list[RamObject]:
    return [one for one in footprint.analyse(firmware).ram if one.purpose == purpose]


def test_a_resolver_is_listed_with_the_bytes_of_its_unused_slots(five_slots: Image) -> None:
    (resolver,) = rows(five_slots, "resolver")
    assert (resolver.name, resolver.bytes) == ("resolver", 3 * 4 + 5 * 36)
    assert (resolver.wasted, resolver.used) == (4 * 36, 3 * 4 + 36)
    assert resolver.note == "5 slots of 36 B, 1 filled"


def test_arena_and_stacks_are_listed_by_name(five_slots: Image) -> None:
    assert [(one.name, one.bytes) for one in rows(five_slots, "arena")] == [("tensor_arena", 2048)]
    stacks = {one.name: one.bytes for one in rows(five_slots, "stack")}
    assert stacks == {"thread_stacks": 768, "other_stack": 128}


def test_a_model_in_ram_is_wasted_whole(five_slots: Image) -> None:
    (model,) = rows(five_slots, "model copy")
    assert (model.name, model.wasted) == ("copied_model", 32)
    assert "declare it const" in model.note


def test_the_extents_of_an_array_of_stacks_are_read(five_slots: Image) -> None:
    variables = five_slots.variables
    address = {s.name: s.address for s in five_slots.symbols}
    assert variables.dimensions(address["thread_stacks"]) == (3, 256)
    assert variables.dimensions(address["other_stack"]) == (128,)
    assert variables.dimensions(address["_ZL8resolver"]) == ()
