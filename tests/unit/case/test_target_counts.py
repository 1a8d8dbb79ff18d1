"""What the target counts of stack and arena, without painting anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.power_on import DEFAULT_SEED, pattern
from harness.case.evidence import Measured
from harness.case.target_counts import INVOKE, TargetCounter
from harness.elf import Image
from harness.targets.calls import Call
from harness.uart import Console

STACK, SIZE = 0x2000_1000, 1024
ARENA, ARENA_SIZE = 0x2000_4000, 2048


class Target:
    """A session with memory only."""

    def __init__(self, seed: int | None = DEFAULT_SEED) -> None:
        self.power_on = seed
        self.stops_exactly = True
        self.memory = self
        self.content = {STACK: bytes(SIZE), ARENA: bytes(ARENA_SIZE)}
        self.calls: list[Call] = []

    def read(self, address: int, size: int) -> bytes:
        start = max(one for one in self.content if one <= address)
        return self.content[start][address - start :][:size]


@pytest.fixture
def image(tmp_path: Path) -> Image:
    sections = [
        MadeSection(".text", 0, bytes(64), load=0),
        MadeSection(".noinit", STACK, size=ARENA + ARENA_SIZE - STACK),
    ]
    symbols = [
        MadeSymbol("z_main_stack", STACK, SIZE, section=1),
        MadeSymbol("tensor_arena", ARENA, ARENA_SIZE, section=1),
    ]
    (tmp_path / "image.elf").write_bytes(write_elf(sections, symbols))
    return Image.from_elf(tmp_path / "image.elf")


@pytest.fixture
def counted(image: Image) -> Callable[[Target], Measured]:
    return lambda target: TargetCounter(target, image, Console()).measured({0x100: INVOKE})


def test_a_stack_that_nobody_painted_shows_its_power_on_values(counted) -> None:
    target = Target()
    target.content[STACK] = pattern(DEFAULT_SEED, STACK, SIZE - 300) + bytes(300)
    assert counted(target).stack_used == 300


def test_a_painted_stack_shows_its_paint(counted) -> None:
    target = Target()
    target.content[STACK] = b"\xaa" * (SIZE - 300) + bytes(300)
    assert counted(target).stack_used == 300


@pytest.mark.parametrize("seed", [None, 2])
def test_other_values_show_nothing(counted, seed: int | None) -> None:
    target = Target(seed)
    target.content[STACK] = pattern(DEFAULT_SEED, STACK, SIZE)
    assert counted(target).stack_used is None


def test_a_stack_that_is_used_up_shows_nothing(counted) -> None:
    target = Target()
    target.content[STACK] = bytes(range(1, 256)) * 4 + bytes(4)
    assert counted(target).stack_used is None


def test_an_image_that_never_calls_invoke_has_no_arena_in_use(counted) -> None:
    assert counted(Target()) == Measured((), 0)
