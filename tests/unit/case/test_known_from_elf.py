"""Sizes from an ELF's symbol table, and the host's own counts."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.platforms import chip_table
from harness.case.case import Case
from harness.case.evidence import Fact, known_of
from harness.case.measure import with_bounds
from harness.case.observation import Observation
from harness.case.samples import sample_case
from harness.elf import Image
from harness.targets import Counters, Stop
from harness.uart import Console

ARENA = "_ZN12_GLOBAL__N_112tensor_arenaE"
RESOLVER = "_ZN6tflite22MicroMutableOpResolverILj5EE12AddBuiltinEv"


@pytest.fixture
def facts(tmp_path):
    def of(*symbols: MadeSymbol) -> tuple[Sequence[Fact], int | None]:
        path = tmp_path / "a.elf"
        text = MadeSection(".text", 0x100, bytes(64), load=0x100, executable=True)
        path.write_bytes(write_elf([text], list(symbols)))
        known = known_of(Case("c"), Image.from_elf(path), None, ())
        return [fact for fact in known.facts if fact.kind != "inference"], known.stack_bytes

    return of


def test_an_image_without_such_symbols_has_no_facts(facts):
    assert facts(MadeSymbol("main", 0x101, 16, "func")) == ([], None)


def test_the_arena_is_the_object_of_this_name_in_ram(facts):
    found, _ = facts(MadeSymbol(ARENA, 0x2000_0000, 3072, "object"))
    assert found == [Fact("arena", "declared", (3072,), "the ELF's tensor_arena")]
    assert facts(MadeSymbol(ARENA, 0x200, 3072, "object"))[0] == []
    assert facts(MadeSymbol("malloc_arena", 0x2000_0000, 3072, "object"))[0] == []
    assert facts(MadeSymbol(ARENA, 0x2000_0000, 0, "object"))[0] == []


@pytest.mark.parametrize(
    ("address", "counts"),
    [(0x1FFF_FFFF, False), (0x2000_0000, True), (0x3FFF_FFFF, True), (0x4000_0000, False)],
)
def test_ram_is_the_sram_part_of_the_address_map(facts, address, counts):
    assert bool(facts(MadeSymbol(ARENA, address, 1, "object"))[0]) is counts


def test_the_slots_of_a_resolver_stand_in_its_symbols(facts):
    found, _ = facts(MadeSymbol(RESOLVER, 0x101, 16, "func"))
    source = "the ELF's MicroMutableOpResolver"
    assert found == [Fact("resolver", "declared", (5,), source)]


def test_the_main_stack_is_an_object_too(facts):
    assert facts(MadeSymbol("z_main_stack", 0x2000_0000, 4096, "object"))[1] == 4096
    assert facts(MadeSymbol("z_main_stack_2", 0x2000_0000, 4096, "object"))[1] is None
    assert facts(MadeSymbol("z_main_stack", 0x2000_0000, 0, "object"))[1] is None


@pytest.mark.parametrize(
    ("text", "boards"),
    [
        (b"nrf9160dk/nrf9160\0", {"nrf9160dk/nrf9160"}),
        (b"nrf9160dk/nrf9160/ns\0", {"nrf9160dk/nrf9160/ns"}),
        (b"nrf9160dk_nrf9160_ns\0", {"nrf9160dk_nrf9160_ns"}),
        (b"", {"nrf9160dk/nrf9160", "nrf9160dk_nrf9160"}),
    ],
)
def test_the_board_of_a_sample_is_the_one_whose_name_stands_in_the_image(tmp_path, text, boards):
    path = tmp_path / "a.elf"
    code = MadeSection(".text", 0x100, bytes(64) + text, load=0x100, executable=True)
    path.write_bytes(write_elf([code], []))
    case = sample_case("hello_world", "exact")
    known = known_of(case, Image.from_elf(path), None, ())
    (fact,) = (one for one in known.facts if (one.kind, one.field) == ("boot", "board"))
    assert boards <= set(fact.values)
    assert (fact.values == tuple(boards)) is bool(text)


def observation(counters: Counters, sent: tuple[int, ...] | None = None) -> Observation:
    return Observation(Console(), Stop.IDLE, True, "", "", counters, (), (), sent)


@pytest.mark.parametrize(
    ("counters", "ticks"),
    [
        (Counters("simulator", 1000, None, 5.0, 9.0), 1000),
        (Counters("renode", 1000, None, 2.0, 9.0), int(2.0 * 64e6 * 1.01)),
        (Counters("dwt", None, 77, None, 3.0), int(3.0 * 64e6 * 1.01)),
        (Counters("uart", None, None, None, 3.0), int(3.0 * 64e6 * 1.01)),
    ],
)
def test_the_most_ticks_are_instructions_or_time_at_the_clock(counters, ticks):
    assert with_bounds(observation(counters), chip_table().cpu_hz).ticks == ticks


def test_sent_records_are_those_of_the_feeder():
    counters = Counters("simulator", 1, None, 1.0, 1.0)
    assert with_bounds(observation(counters, (1, 2)), chip_table().cpu_hz).sent == (1, 2)
    assert with_bounds(observation(counters), chip_table().cpu_hz).sent is None
