"""Instructions by call stack, counted in the core."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.elf import Image
from harness.elf.call_tree import CallTree
from harness.elf.coverage import Coverage
from harness.targets import simulator


def profiled(image: Image, seconds: float = 0.05) -> tuple[Coverage, CallTree, int]:
    with simulator.open(image) as session:
        session.profile()
        session.run(None, session.deadline(seconds))
        coverage = session.coverage()
        assert coverage.calls is not None
        return coverage, coverage.calls, session.machine.core.executed


@pytest.mark.parametrize(
    "name", ["calls", "deep", "threads", "exceptions", "masks", "resets", "userspace", "ramcode",
             "pending", "tickless", "mpu", "wildbranch", "system_off"],
)  # fmt: skip
def test_the_sum_is_all_instructions(build: Callable[[str], Image], name: str) -> None:
    coverage, tree, executed = profiled(build(name))
    assert tree.total == executed == coverage.instructions == tree.inclusive[0]


@pytest.mark.parametrize("name", ["calls", "deep", "threads", "exceptions", "pending", "tickless"])
def test_a_function_has_the_instructions_of_its_blocks(
    build: Callable[[str], Image], name: str
) -> None:
    coverage, tree, _ = profiled(build(name))
    own = {name: count for name, (count, _) in tree.functions.items() if count}
    assert own == coverage.functions


def test_stacks_are_those_of_the_source(build: Callable[[str], Image]) -> None:
    _, tree, _ = profiled(build("deep"))
    stacks = {tree.stack(index) for index in range(len(tree.nodes))}
    assert ("EGU0 (IRQ27)", "Egu0", "Handle", "Divide") in stacks
    assert any(stack[-3:] == ("Thread", "Outer", "Inner") for stack in stacks)


def test_counting_changes_no_run(build: Callable[[str], Image]) -> None:
    with simulator.open(build("threads")) as plain:
        plain.run(None, plain.deadline(0.05))
        _, _, executed = profiled(build("threads"))
        assert plain.machine.core.executed == executed
