"""RTC and TIMER, and a sleep of 1,302 s, are the same on the simulator and on a real Renode."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from clock_answers import ANSWERS, answers
from firmwares import build  # noqa: F401

from harness.elf import Image
from harness.targets import ConsoleMatch, Stop, open_target

END = ConsoleMatch(rb"end\n")
Build = Callable[[str], Image]


@pytest.mark.parametrize("target", ["simulator", pytest.param("renode", marks=pytest.mark.renode)])
def test_clocks_are_the_specifications(
    build: Build,  # noqa: F811
    request: pytest.FixtureRequest,
    target: str,
) -> None:
    given = {"server": request.getfixturevalue("server")} if target == "renode" else {}
    with open_target(target, build("clocks"), **given) as session:
        assert session.run(END, session.deadline(1400, guard=120)) is Stop.CONDITION
        assert answers(session.read()) == list(ANSWERS)
