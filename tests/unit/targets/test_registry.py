"""The registry: targets, their abilities, and the errors of missing ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from harness.base.clock import Deadline
from harness.base.errors import Unsupported, UsageError
from harness.targets import TARGETS, Ability, Fault, open_target, target, who_can
from harness.targets.opening import Targets
from harness.targets.registry import DEFAULT, all_options
from harness.targets.renode import RenodePool
from harness.targets.session import Session

#: Other tests in this process may have added targets of their own behind these.
SHIPPED = ["simulator", "renode", "board", "virtual-board"]


def test_the_simulator_is_the_default_of_four_targets() -> None:
    assert list(TARGETS)[:4] == SHIPPED
    assert DEFAULT == "simulator"
    assert all(name == row.name for name, row in TARGETS.items())


def test_an_unknown_target_is_refused_with_those_that_are() -> None:
    for ask in (target, lambda name: open_target(name, None)):
        with pytest.raises(UsageError, match="no target 'moon'") as refused:
            ask("moon")
        assert refused.value.hint == f"one of {', '.join(TARGETS)}"


def test_row_of_the_registry_lists_a_targets_abilities() -> None:
    assert who_can(Ability.TRACE) == who_can(Ability.STEP) == ["simulator", "renode"]
    assert who_can(Ability.PINS) == ["simulator", "renode", "virtual-board"]
    assert [row.name for row in TARGETS.values() if row.can(Ability.PINS)] == who_can(Ability.PINS)


def test_only_the_chip_itself_counts_cycles_and_only_the_simulator_runs_beside_itself() -> None:
    assert [row.name for row in TARGETS.values() if not row.instructions] == ["board"]
    assert [row.name for row in TARGETS.values() if row.parallel] == ["simulator"]


def test_each_option_has_the_targets_that_take_it() -> None:
    takers = {name: rows for name, (_, rows) in all_options().items()}
    assert takers == {
        "timing": ["simulator"], "power_on": ["simulator", "renode"], "renode": ["renode"],
        "console": ["simulator", "renode", "virtual-board"],
        "start": ["simulator", "renode"], "peripherals": ["simulator", "renode"],
        "board": ["board"], "lab": ["board"], "wait": ["board"],
        "runner": ["board"],
    }  # fmt: skip
    wait = target("board").option("wait")
    assert wait is not None and (wait.spelled, wait.kind) == ("--wait", "seconds")
    assert target("board").option("timing") is None


def test_sessions_of_renode_share_their_process_and_others_share_nothing() -> None:
    with Targets() as shared:
        given = {"renode": "here"}
        first, second = shared.with_pool("renode", given), shared.with_pool("renode", {})
        assert isinstance(first["pool"], RenodePool) and first["pool"] is second["pool"]
        assert first["renode"] == "here" and given == {"renode": "here"}
        assert shared.with_pool("simulator", {"timing": "branches"}) == {"timing": "branches"}


class Plain(Session):
    """A session with no ability."""

    target = "board"


Plain.__abstractmethods__ = frozenset()  # none of those is asked here


@pytest.mark.parametrize(
    ("use", "what"),
    [(lambda session: session.profile(), "count what runs"),
     (lambda session: session.coverage(), "count what runs"),
     (lambda session: session.registers, "stop at an address"),
     (lambda session: session.run_to_address(0, Deadline(1)), "stop at an address"),
     (lambda session: session.pins, "drive pins")],
)  # fmt: skip
def test_missing_ability_raises_unsupported_with_the_targets_that_have_it(
    use: Callable[[Plain], object], what: str
) -> None:
    with pytest.raises(Unsupported, match=f"target 'board' cannot {what}") as refused:
        use(Plain())
    able = " or ".join(who_can(Ability(what)))
    assert refused.value.hint == f"--target {able} can"


def test_fault_as_text_is_one_line() -> None:
    plain = Fault("BusFault", "PRECISERR", 0x1234, 0, None, "", "")
    assert str(plain) == "BusFault (PRECISERR) at 0x1234"
    named = Fault("BusFault", "PRECISERR", 0x1234, 0, None, "main at main.c:3", "")
    assert str(named) == "BusFault (PRECISERR) at main at main.c:3"
    refused = Fault("SecureFault", "AUVIOL", 0x1234, 0, 0, "f at a.c:1", "", "non-secure", "app",
                    "read of secure RAM")  # fmt: skip
    assert str(refused) == (
        "SecureFault (AUVIOL) in the non-secure image app, f at a.c:1: read of secure RAM"
    )
