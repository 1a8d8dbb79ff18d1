"""The smallest arena, found by running an image whose interpreter says how much it needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import needs
import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf
from little_tflm import compile_little

from harness.base.errors import FirmwareFailed, UsageError
from harness.elf import Image
from harness.footprint import arena_minimum
from harness.footprint.arena import ArenaMinimum, Probe, Site, _Prober, minimum, sites
from harness.targets.base import Stop
from harness.targets.simulator import open as open_simulator

#: Allocates with 777 bytes and more; ``FAIL`` is what it does with less.
INTERPRETER = """
#pragma once
namespace tflite {
struct MicroInterpreter {
  __attribute__((noipa)) MicroInterpreter(BEFORE unsigned char* arena, unsigned int size);
  __attribute__((noipa)) int AllocateTensors();
  unsigned char* arena_;
  unsigned int size_;
};
inline MicroInterpreter::MicroInterpreter(BEFORE unsigned char* arena, unsigned int size)
    : arena_(arena), size_(size) { asm volatile("" ::: "memory"); }
inline int MicroInterpreter::AllocateTensors() {
  asm volatile("" ::: "memory");
  if (size_ < NEEDED) { FAIL; }
  arena_[size_ - 1] = 1;
  return 0;
}
}
"""
HANDED_OVER = (
    "static tflite::MicroInterpreter interpreter(GIVEN tensor_arena, sizeof tensor_arena);"
    "interpreter.AllocateTensors();"
)
SITE = "tflite::MicroInterpreter::MicroInterpreter"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Image]:
    """An image whose arena has 2048 bytes, of which it needs some."""
    needs.require("arm-none-eabi-gcc")

    def make(
        *, needed: int = 777, fail: str = "return 1", before: str = "", given: str = "",
        register: str = HANDED_OVER,
    ) -> Image:  # fmt: skip
        text = INTERPRETER.replace("BEFORE", before).replace("NEEDED", str(needed))
        elf = compile_little(
            tmp_path_factory.mktemp("arena"), register=register.replace("GIVEN", given),
            files={"arena.h": text.replace("FAIL", fail)}, extra=("-include", "arena.h"),
        )  # fmt: skip
        return Image.from_elf(elf)

    return make


@pytest.mark.parametrize(
    ("before", "given"),
    [("", ""), ("const void*, const void*, ", "nullptr, nullptr, "),
     ("int, int, int, int, ", "1, 2, 3, 4, ")],
    ids=["in a register", "first on the stack", "further down the stack"],
)  # fmt: skip
def test_the_smallest_arena_is_found_to_the_byte(image, before, given):
    found = minimum(image(before=before, given=given), open_simulator)
    assert (found.declared, found.minimum, found.used) == (2048, 777, None)
    assert found.site == SITE
    assert found.probes[0] == Probe(2048, True)
    assert Probe(777, True) in found.probes
    assert Probe(776, False, "AllocateTensors returned 1") in found.probes
    assert len(found.probes) == 1 + 11  # 2048 is bisected in eleven steps
    assert found.instructions > 0


def test_the_simulator_is_where_it_is_searched_for(image):
    assert arena_minimum(image()).minimum == 777


def test_an_image_that_needs_all_of_its_arena_has_no_margin(image):
    found = minimum(image(needed=2048), open_simulator)
    assert (found.minimum, found.margin) == (2048, 0)


def test_an_image_that_never_allocates_is_reported(image):
    with pytest.raises(FirmwareFailed) as failed:
        minimum(image(needed=2049), open_simulator)
    words = "little.elf does not allocate with its own arena of 2,048 B"
    assert failed.value.message == f"{words}: AllocateTensors returned 1"
    assert not failed.value.hint


def test_an_arena_with_which_an_image_hangs_is_too_small(image):
    found = minimum(image(fail='for (;;) asm volatile("")'), open_simulator)
    assert found.minimum == 777
    assert Probe(776, False, "AllocateTensors did not return (idle)") in found.probes


def test_an_arena_with_which_an_image_faults_is_too_small(image):
    found = minimum(image(fail='asm volatile("udf #0")'), open_simulator)
    (reason,) = {probe.reason for probe in found.probes if probe.bytes == 776}
    assert "AllocateTensors" in reason
    assert "Fault in " in reason


def test_an_image_that_hands_over_no_arena_is_reported(image):
    register = "static volatile bool yes; if (yes) {" + HANDED_OVER.replace("GIVEN", "") + "}"
    with pytest.raises(FirmwareFailed, match=r"little\.elf never hands over an arena"):
        minimum(image(register=register), open_simulator, seconds=0.01)


def found(declared: int, least: int) -> ArenaMinimum:
    return ArenaMinimum(declared, least, None, SITE, (), 5)


@pytest.mark.parametrize(("least", "aligned"), [(1, 16), (15, 16), (16, 16), (17, 32), (777, 784)])
def test_the_size_for_the_source_is_the_next_multiple_of_sixteen(least, aligned):
    assert found(2048, least).aligned == aligned
    assert found(2048, least).margin == 2048 - least


def test_the_document_has_the_figures_and_every_probe():
    told = ArenaMinimum(64, 20, 18, SITE, (Probe(64, True), Probe(19, False, "no")), 5).to_json()
    assert told == {
        "declared": 64, "minimum": 20, "used": 18, "site": SITE, "instructions": 5,
        "aligned": 32, "margin": 44,
        "probes": (
            {"bytes": 64, "allocated": True, "reason": ""},
            {"bytes": 19, "allocated": False, "reason": "no"},
        ),
    }  # fmt: skip


# --- where an image hands its arena over


ALLOCATE = MadeSymbol("_ZN6tflite16MicroInterpreter15AllocateTensorsEv", 0x41, 8, "func")
#: (const Model*, const OpResolver&, unsigned char*, unsigned int)
INTERPRETER_2 = "_ZN6tflite16MicroInterpreterC2EPKNS_5ModelERKNS_10OpResolverEPhj"
ALLOCATOR = "_ZN6tflite14MicroAllocator6CreateEPhm"  # (unsigned char*, unsigned long)


@pytest.fixture
def symbols(tmp_path: Path) -> Callable[..., Image]:
    def make(*symbols: MadeSymbol) -> Image:
        path = tmp_path / "own.elf"
        text = MadeSection(".text", 0, bytes(128), load=0, executable=True)
        path.write_bytes(write_elf([text], list(symbols), entry=9))
        return Image.from_elf(path)

    return make


def test_takers_are_listed_outermost_first_with_the_place_of_the_size(symbols):
    made = symbols(
        MadeSymbol(ALLOCATOR, 0x21, 8, "func"), MadeSymbol(INTERPRETER_2, 0x31, 8, "func"), ALLOCATE
    )
    assert sites(made) == (Site(INTERPRETER_2, 0x30, 4), Site(ALLOCATOR, 0x20, 1))


@pytest.mark.parametrize(
    ("name", "index"),
    [
        ("_ZN6tflite16MicroInterpreterC1EPKNS_5ModelEPhj", 3),
        ("_ZN6tflite25RecordingMicroInterpreterC1EPKNS_5ModelEPhj", 3),
        ("_ZN6tflite23RecordingMicroAllocator6CreateEPhj", 1),
        ("_ZN6tflite14MicroAllocator6CreateEPhj", 1),
        ("_ZN6tflite26SingleArenaBufferAllocatorC1EPhj", 2),
        ("_ZN6tflite21SimpleMemoryAllocator6CreateEPhj", 1),
        ("_ZN6tflite21SimpleMemoryAllocatorC1EPhj", 2),
    ],
)
def test_constructors_have_this_before_their_arguments(symbols, name, index):
    assert [one.index for one in sites(symbols(MadeSymbol(name, 0x21, 8, "func")))] == [index]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (ALLOCATOR, "object"),
        ("_ZN6tflite14MicroAllocator6CreateEPhf", "func"),  # a float is no size
        ("_ZN6tflite14MicroAllocator6CreateEPcj", "func"),  # text is no arena
        ("_ZN6tflite14MicroAllocator6CreateEv", "func"),
        ("_ZN6tflite14MicroAllocator7DestroyEPhj", "func"),
    ],
)
def test_other_symbols_do_not_take_an_arena(symbols, name, kind):
    assert sites(symbols(MadeSymbol(name, 0x21, 8, kind))) == ()


@pytest.mark.parametrize(
    ("made", "lacking"),
    [([ALLOCATE], "function that takes one"),
     ([MadeSymbol(ALLOCATOR, 0x21, 8, "func")], "AllocateTensors")],
)  # fmt: skip
def test_an_image_that_does_not_show_where_it_takes_its_arena_is_refused(symbols, made, lacking):
    with pytest.raises(UsageError, match=f"takes its arena: no {lacking} in its symbols"):
        minimum(symbols(*made), open_simulator)


def reason(*said: bytes, status: int | None = 1, faults: int = 0) -> str:
    """Why a probe did not allocate, of an image that had printed one chunk before it."""
    fault = SimpleNamespace(kind="BusFault", where="f at a.cc:1")
    chunks = [SimpleNamespace(data=data) for data in (b"before the arena\n", *said)]
    session = SimpleNamespace(faults=[fault] * (1 + faults), console=chunks)
    prober = SimpleNamespace(session=session, status=status, printed=1)
    return _Prober._reason(prober, Stop.DEADLINE, 1)


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (reason(b"~HIL 1 arena\n", b" \n too ", b"small\r\nmore\n"), "too small"),
        (reason(b"\xff\n"), "\\xff"),
        (reason(), "AllocateTensors returned 1"),
        (reason(b"~HIL 1 arena\n", status=7), "AllocateTensors returned 7"),
        (reason(b"words\n", status=None), "AllocateTensors did not return (deadline)"),
        (reason(b"words\n", faults=2), "BusFault in f at a.cc:1"),
    ],
)
def test_a_failed_probe_quotes_the_images_message_if_there_is_one(told, words):
    assert told == words
