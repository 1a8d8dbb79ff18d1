"""The wall-clock guard binds within a second of its time, whatever the image does."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from harness.base.clock import Deadline
from harness.elf import Image
from harness.simulator.machine import End, Machine

HZ = 64_000_000
GUARD = 0.2


@pytest.mark.parametrize("name", ["chatter", "idle", "tickless", "calls"])
def test_the_guard_ends_a_run_within_a_second_of_its_time(
    build: Callable[[str], Image], name: str
) -> None:
    machine = Machine(build(name))
    machine.core.skip_idle = False  # what loops is run
    started, worked = time.monotonic(), time.process_time()
    end = machine.run(until_tick=10**6 * HZ, guard=Deadline(10**6, guard=GUARD))
    assert end is End.GUARD
    assert time.monotonic() - started >= GUARD
    assert time.process_time() - worked < GUARD + 1  # a busy machine takes its time besides
    machine.close()


def test_the_guard_is_checked_more_often_where_python_serves_accesses(
    build: Callable[[str], Image],
) -> None:
    executed = {}
    for name in ("chatter", "idle"):
        machine = Machine(build(name))
        machine.core.skip_idle = False
        machine.run(until_executed=10_000)
        machine.core.listen(lambda _: None, False)
        before = machine.core.executed
        machine.core.stop_at = before + 10**9
        machine.core.run(1e-9)  # its time is over when it is first looked at
        executed[name] = machine.core.executed - before
        machine.close()
    assert executed["chatter"] < 200 < executed["idle"]
