"""An arena in memory: what its allocator has given out, and what was written."""

from __future__ import annotations

import struct

import pytest

from harness.case.arena import Arena, ArenaLayout

AT, SIZE = 0x2000_1000, 4096
#: Planned and temporary end, then the persistent begin; and as this project's own runtime has them.
ORDERS = ["head tail temp", "head temp tail"]


def arena(order: str = ORDERS[0], *, head: int = 256, tail: int = 3072, at: int = AT) -> Arena:
    start = (at + 15) & ~15
    places = {"head": start + head, "tail": start + tail, "temp": start + head}
    pointers = [start, at + SIZE, *(places[name] for name in order.split())]
    content = bytearray(SIZE)
    content[3500 + (-at % 4) : 3520 + (-at % 4)] = struct.pack("<5I", *pointers)
    return Arena(at, bytes(content))


def with_bytes(before: Arena, offset: int, count: int) -> Arena:
    content = bytearray(before.content)
    for place in range(offset, offset + count):
        content[place] ^= 0xFF
    return Arena(before.address, bytes(content))


@pytest.mark.parametrize("order", ORDERS)
def test_the_allocator_in_the_arena_says_what_is_given_out(order: str) -> None:
    assert arena(order).layout() == ArenaLayout(AT, AT + 256, AT + 3072, AT + SIZE)
    assert arena(order).layout().used == 256 + SIZE - 3072


@pytest.mark.parametrize("at", [AT + 4, AT + 8, AT + 2, AT + 1])
def test_the_start_of_an_arena_is_aligned(at: int) -> None:
    layout = arena(at=at).layout()
    assert (layout.start, layout.end) == (AT + 16, at + SIZE)


@pytest.mark.parametrize("size", [0, 3, 16, 64])
def test_an_arena_without_an_allocator_has_no_division(size: int) -> None:
    assert Arena(AT, bytes(size)).layout() is None


def test_pointers_out_of_order_are_no_allocator() -> None:
    assert arena(head=-64).layout() is None


def test_of_two_copies_the_fuller_counts() -> None:
    stale = bytearray(arena().content)
    stale[3600:3620] = struct.pack("<5I", AT, AT + SIZE, AT, AT + SIZE, AT)
    assert Arena(AT, bytes(stale)).layout() == arena().layout()


def test_what_is_written_between_head_and_tail_strays() -> None:
    before = arena()
    assert before.strayed(with_bytes(before, 0, 256)) == 0
    assert before.strayed(with_bytes(before, 3072, 64)) == 0
    assert before.strayed(with_bytes(before, 250, 16)) == 10
    assert before.strayed(with_bytes(before, 3071, 2)) == 1


def test_an_allocation_that_came_later_is_not_astray() -> None:
    assert arena().strayed(with_bytes(arena(tail=2048), 2048, 64)) == 0


def test_the_least_that_is_used_leaves_the_longest_stretch_alone() -> None:
    empty = Arena(AT, bytes(SIZE))
    assert empty.least_used(empty) == 0
    assert empty.least_used(with_bytes(empty, 0, 100)) == 100
    assert empty.least_used(with_bytes(empty, 1000, 1)) == 1001
    assert empty.least_used(with_bytes(empty, 0, SIZE)) == SIZE
    assert (
        Arena(AT + 4, bytes(SIZE)).least_used(Arena(AT + 4, bytes(99) + b"1" + bytes(SIZE - 100)))
        == 88
    )
