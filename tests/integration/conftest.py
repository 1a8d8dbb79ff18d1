from __future__ import annotations

from collections.abc import Iterator

import needs
import pytest

from harness.targets.renode import RenodeServer

#: Tests of Renode that were written without one, and fail on 1.17: the end of each test's id.
RENODE_DIFFERS = (
    "test_a_changed_agent_is_noticed[agent_link.py-words.HasError or-False or]",
    "test_clocks_are_the_specifications[renode]",
    "test_a_machine_that_was_used_is_as_a_new_one",
    "test_unmodelled_accesses_name_the_function_and_a_debuggers_are_none",
    *(
        f"test_what_ran_is_what_ran_on_the_simulator[{sample}]"
        for sample in ("hello_world", "hello_world_float", "digits", "digits_cnn", "residual",
                       "chime", "atan", "benchmark")
    ),
    *(
        f"test_outcome_on_renode[{image}]"
        for image in ("device_region_unaligned", "clocks", "system_off", "resets", "masks",
                      "exceptions", "secure_registers")
    ),
    *(
        f"test_a_fault_ends_the_run_with_its_place_and_the_console[{fault}]"
        for fault in ("undefined", "null_call", "overflow")
    ),
    "test_renode_gives_the_same_answers[worlds]",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests of a running Renode; expect those of the table to fail."""
    for item in items:
        if "server" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.renode)
        if item.name in RENODE_DIFFERS:
            reason = "the issue Renode makes faults, ends and figures those of the simulator"
            item.add_marker(pytest.mark.xfail(strict=True, reason=reason))


@pytest.fixture(scope="module")
def server() -> Iterator[RenodeServer]:
    """A real Renode."""
    needs.require("renode")
    with RenodeServer() as one:
        yield one
