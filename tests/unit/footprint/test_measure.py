"""What of its RAM an image uses: the marks of its stacks, and the least of its arena."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from harness.base.errors import FirmwareFailed
from harness.footprint import measure as measuring
from harness.footprint.arena import ArenaMinimum
from harness.footprint.measure import PAINT, measure
from harness.footprint.ram import RamObject

MAIN = RamObject("stack", "main", 0x2000_0000, 64)
POOL = RamObject("stack", "pool", 0x2000_0100, 96)
ARENA = RamObject("arena", "tensor_arena", 0x2000_1000, 2048)
OTHER = RamObject("arena", "other_arena", 0x2000_2000, 512)


class Board:
    """An image that writes so many bytes at the deep end of what lies at these addresses."""

    def __init__(self, **written: tuple[int, int, int]) -> None:
        self.bytes: dict[int, bytearray] = {}
        self.written = written.values()
        self.memory = self
        self.ran: list[tuple[float, float]] = []

    def __call__(self, firmware):
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def write(self, address, data):
        self.bytes[address] = bytearray(data)

    def read(self, address, size):
        return bytes(self.bytes[address][:size])

    def deadline(self, seconds, *, guard):
        return seconds, guard

    def run(self, until, deadline):
        self.ran.append(deadline)
        assert all(set(data) == {PAINT} for data in self.bytes.values())
        for address, end, count in self.written:
            self.bytes[address][end - count : end] = bytes(range(1, count + 1))


def image(**dimensions):
    at = {MAIN.address: (), POOL.address: dimensions.get("pool", ())}
    return SimpleNamespace(variables=SimpleNamespace(dimensions=at.__getitem__))


def test_a_stack_is_used_to_its_deepest_byte():
    board = Board(main=(MAIN.address, 64, 20))
    (main,) = measure(image(), (MAIN,), board)
    assert (main.used, main.wasted, main.note) == (20, 44, "")
    assert board.ran == [(5.0, 60.0)]


def test_a_run_has_the_time_that_it_is_given():
    board = Board(main=(MAIN.address, 64, 1))
    measure(image(), (MAIN,), board, seconds=2.0, guard=7.0)
    assert board.ran == [(2.0, 7.0)]


def test_a_stack_that_was_used_to_its_end_may_have_overflowed():
    (main,) = measure(image(), (MAIN,), Board(main=(MAIN.address, 64, 64)))
    assert (main.used, main.wasted) == (64, 0)
    assert main.note == "used to its end: it may have overflowed"


def test_each_stack_of_an_array_has_a_mark_of_its_own():
    board = Board(first=(POOL.address, 32, 3), third=(POOL.address, 96, 16))
    (pool,) = measure(image(pool=(3, 32)), (POOL,), board)
    assert (pool.used, pool.wasted) == (19, 77)
    assert pool.note == "3 of 32 B: 3, 0, 16"


def test_of_an_array_one_full_stack_is_reported():
    (pool,) = measure(image(pool=(3, 32)), (POOL,), Board(last=(POOL.address, 96, 32)))
    assert pool.note == "3 of 32 B: 0, 0, 32; used to its end: it may have overflowed"


@pytest.mark.parametrize("dimensions", [(), (96,), (0, 32), (5, 19), (None, 96)])
def test_an_object_that_is_not_an_array_of_equal_stacks_is_one_stack(dimensions):
    (pool,) = measure(image(pool=dimensions), (POOL,), Board(all=(POOL.address, 96, 40)))
    assert (pool.used, pool.note) == (40, "")


def least_of(monkeypatch, result):
    asked = []

    def minimum(firmware, open_session, *, seconds, guard):
        asked.append((seconds, guard))
        if isinstance(result, Exception):
            raise result
        return result

    monkeypatch.setattr(measuring, "minimum", minimum)
    return asked


def test_the_arena_that_was_handed_over_has_its_used_and_least_bytes(monkeypatch):
    asked = least_of(monkeypatch, ArenaMinimum(2040, 900, 850, "site", (), 1))
    other, arena = measure(image(), (OTHER, ARENA), Board(), seconds=3.0, guard=9.0)
    assert other == OTHER
    assert (arena.used, arena.least, arena.wasted, arena.note) == (850, 900, 1148, "")
    assert asked == [(3.0, 9.0)]


def test_why_an_arena_cannot_be_measured_is_its_note(monkeypatch):
    least_of(monkeypatch, FirmwareFailed("it hung"))
    board = Board(main=(MAIN.address, 64, 8))
    main, arena = measure(image(), (MAIN, ARENA), board)
    assert (arena.note, arena.used) == ("it hung", None)
    assert (main.used, main.note) == (8, "")


def test_without_an_arena_none_is_searched_for(monkeypatch):
    asked = least_of(monkeypatch, FirmwareFailed("never"))
    copy = RamObject("model copy", "g_model", 0x2000_3000, 64)
    assert measure(image(), (copy,), Board()) == (copy,)
    assert asked == []
