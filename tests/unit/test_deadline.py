"""A time limit on a clock of the test's own, and its guard."""

from __future__ import annotations

import pytest

from harness.base.clock import INSTANT, Deadline


class Clock:
    """Stands where the test puts it."""

    time = 5.0

    def __call__(self) -> float:
        return self.time


def test_the_rest_is_counted_from_its_making_and_never_below_zero():
    clock = Clock()
    deadline = Deadline(2.0, now=clock)
    clock.time = 6.5
    assert (deadline.remaining, deadline.expired) == (0.5, False)
    clock.time = 7.0
    assert (deadline.remaining, deadline.expired) == (0.0, True)
    clock.time = 9.0
    assert deadline.remaining == 0.0


@pytest.mark.parametrize(("seconds", "guard"), [(0, 1), (-1, 1), (1, 0), (1, -1)])
def test_no_time_at_all_is_a_mistake(seconds, guard):
    with pytest.raises(ValueError, match="needs positive seconds and guard"):
        Deadline(seconds, guard=guard)


def test_the_guard_runs_on_the_wall_clock(monkeypatch):
    wall = Clock()
    monkeypatch.setattr("time.monotonic", wall)
    deadline = Deadline(100.0, now=Clock(), guard=3.0)
    wall.time = 7.0
    assert (deadline.guard_remaining, deadline.guard_expired) == (1.0, False)
    wall.time = 8.0
    assert (deadline.guard_remaining, deadline.guard_expired) == (0.0, True)


def test_a_part_begins_now_on_the_same_clock_with_the_rest_of_the_guard(monkeypatch):
    wall, clock = Clock(), Clock()
    monkeypatch.setattr("time.monotonic", wall)
    whole = Deadline(10.0, now=clock, guard=3.0)
    clock.time, wall.time = 9.0, 6.0
    part = whole.part(4.0)
    assert (part.remaining, part.guard_remaining) == (4.0, 2.0)
    clock.time = 10.0
    assert part.remaining == 3.0


def test_a_part_of_a_used_up_deadline_is_an_instant(monkeypatch):
    wall = Clock()
    monkeypatch.setattr("time.monotonic", wall)
    whole = Deadline(10.0, now=Clock(), guard=3.0)
    wall.time = 20.0
    part = whole.part(0.0)
    assert (part.seconds, part.guard) == (INSTANT, INSTANT)
