"""The event queue: one event a key, by time, then in scheduling order."""

from __future__ import annotations

import pytest

from harness.simulator.event_queue import NEVER, EventQueue


class Diary:
    """A device that notes what happens to it, and may plan more."""

    def __init__(self, queue: EventQueue) -> None:
        self.queue, self.seen = queue, list[str]()

    def fire(self, tag: str) -> None:
        self.seen.append(tag)
        if tag == "again":
            self.queue.schedule(("diary", "late"), 7)


@pytest.fixture
def devices() -> dict[str, Diary]:
    return {}


@pytest.fixture
def queue(devices: dict[str, Diary]) -> EventQueue:
    return EventQueue(devices)


@pytest.fixture
def diary(devices: dict[str, Diary], queue: EventQueue) -> Diary:
    made = devices["diary"] = Diary(queue)
    return made


def plan(queue: EventQueue, **times: int) -> None:
    for tag, time in times.items():
        queue.schedule(("diary", tag), time)


def test_due_events_run_by_time_then_in_scheduling_order(queue: EventQueue, diary: Diary) -> None:
    plan(queue, later=9, second=5, third=5, first=3)
    assert queue.next_time == 3
    assert queue.run_due(8)
    assert diary.seen == ["first", "second", "third"]
    assert queue.next_time == 9
    assert not queue.run_due(8)
    assert queue.run_due(9)
    assert queue.next_time == NEVER
    assert diary.seen == ["first", "second", "third", "later"]


@pytest.mark.parametrize("time", [2, 8])
def test_rescheduling_replaces_the_time(queue: EventQueue, diary: Diary, time: int) -> None:
    plan(queue, moved=5)
    plan(queue, moved=time)
    assert queue.next_time == time
    queue.run_due(10)
    assert diary.seen == ["moved"]


def test_a_cancelled_event_does_not_run(queue: EventQueue, diary: Diary) -> None:
    plan(queue, gone=5, kept=6)
    queue.cancel(("diary", "gone"))
    queue.cancel(("diary", "never planned"))
    assert queue.next_time == 6
    queue.run_due(10)
    assert diary.seen == ["kept"]


def test_an_event_scheduled_by_an_event_runs_in_the_same_pass_if_due(
    queue: EventQueue, diary: Diary
) -> None:
    plan(queue, again=5, last=9)
    queue.run_due(8)
    assert diary.seen == ["again", "late"]


def test_clear_empties_the_queue(queue: EventQueue, diary: Diary) -> None:
    plan(queue, first=3, second=5)
    queue.clear()
    assert queue.next_time == NEVER
    assert not queue.run_due(100)
    assert diary.seen == []


def test_a_restored_queue_continues_as_before(queue: EventQueue, diary: Diary) -> None:
    plan(queue, third=5, first=3, second=4)
    queue.schedule(("diary", "fourth"), 5)
    kept = queue.state()
    queue.run_due(100)
    diary.seen.clear()
    plan(queue, wrong=1)
    queue.restore(kept)
    plan(queue, fifth=5)
    queue.run_due(100)
    assert diary.seen == ["first", "second", "third", "fourth", "fifth"]


def test_an_empty_queue_is_restored(queue: EventQueue, diary: Diary) -> None:
    plan(queue, wrong=1)
    queue.restore(())
    assert queue.next_time == NEVER
    plan(queue, one=2)
    queue.run_due(2)
    assert diary.seen == ["one"]
