"""A board that is lost while a case runs is tried again (docs/lab.md)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from board_desk import BOOT, SERIAL, Desk, Source, free

from harness.base.errors import FirmwareFailed, TargetLost
from harness.elf import Image
from harness.targets import Session, Targets
from harness.targets.base import ConsoleMatch, Stop
from harness.targets.board.console import ConsoleOverflow
from harness.targets.board.lab import BoardEntry, Lab, Policy
from harness.targets.board.lock import BoardTaken, ProbeLock
from harness.targets.board.opening import Opening
from harness.targets.board.policy import Quarantine

TEXT = BOOT + b"first half, " + b"second half\n"
HALF = len(BOOT) + len(b"first half, ")

Run = Callable[..., bytes]


def hear(session: Session) -> bytes:
    """Everything up to the end of the text."""
    assert session.run(ConsoleMatch(b"second half\n"), session.deadline(5)) is Stop.CONDITION
    return b"".join(chunk.data for chunk in session.console)


@pytest.fixture
def run(desk: Desk, lab: Lab, firmware: Image) -> Run:
    """Runs an action on the board with the lab file's default policy, without its pauses."""
    desk.says = TEXT
    policy = Policy(backoff=0.0)
    patient = replace(lab, policy=policy)

    def run(
        action: Callable[[Session], bytes] = hear, lab: Lab = patient, **options: object
    ) -> bytes:
        chosen = {"lab": lab, "source": desk, "runner": "nrfutil", **options}
        return Opening(firmware, **chosen).run(action)

    return run


def test_board_that_vanishes_for_half_a_second_is_run_again_from_its_boot(
    desk: Desk, lab: Lab, run: Run
) -> None:
    desk.leaves = [HALF]
    assert run() == TEXT
    assert desk.calls == ["fw-verify", "program", "fw-verify", "reset", "fw-verify", "reset"]
    assert desk.cycles == [f"mine {SERIAL}"]
    assert free(lab)
    assert Quarantine(lab.state).note(SERIAL) is None


def test_board_of_the_lab_file_is_awaited_although_its_port_is_gone(
    desk: Desk, lab: Lab, run: Run
) -> None:
    desk.leaves = [HALF]
    first = desk.board

    def find() -> object:  # the lab file always lists it
        return desk.board if desk.plugged else replace(first, port="")

    assert run(source=Source(find)) == TEXT


def test_board_that_vanishes_each_time_is_an_error_with_the_number_of_attempts(
    desk: Desk, lab: Lab, run: Run
) -> None:
    desk.leaves = [HALF, HALF]
    with pytest.raises(TargetLost, match="disappeared during the run") as lost:
        run()
    assert "first of 2 failed attempts" in lost.value.hint
    assert desk.calls.count("reset") == 3  # two runs, one health check
    assert free(lab)


def test_board_that_stays_away_is_in_quarantine(desk: Desk, lab: Lab, run: Run) -> None:
    desk.leaves, desk.away_seconds = [HALF], 2.0
    hasty = replace(lab, policy=Policy(backoff=0.0, return_seconds=0.1))
    with pytest.raises(TargetLost, match="disappeared during the run"):
        run(lab=hasty)
    assert Quarantine(lab.state).note(SERIAL) is not None


def test_verdict_about_the_firmware_is_not_tried_again(desk: Desk, run: Run) -> None:
    def fails(session: Session) -> bytes:
        raise FirmwareFailed("no output")

    with pytest.raises(FirmwareFailed):
        run(fails)
    assert desk.calls.count("reset") == 1


def test_board_that_is_taken_is_left_to_its_new_user(desk: Desk, lab: Lab, run: Run) -> None:
    other = ProbeLock(SERIAL.lstrip("0"), "mine", state=lab.state)

    def taken(session: Session) -> bytes:
        other.take()
        session.run(None, session.deadline(5))
        raise AssertionError("not noticed")

    with other, pytest.raises(BoardTaken):
        run(taken)
    assert (desk.calls.count("reset"), desk.cycles) == (1, [])
    assert Quarantine(lab.state).note(SERIAL) is None


def test_board_that_is_taken_and_then_lost_is_not_power_cycled(
    desk: Desk, lab: Lab, run: Run
) -> None:
    other = ProbeLock(SERIAL.lstrip("0"), "mine", state=lab.state)

    def taken(session: Session) -> bytes:
        other.take()
        raise TargetLost("the port went away")

    with other, pytest.raises(BoardTaken):
        run(taken)
    assert (desk.calls.count("reset"), desk.cycles) == (1, [])
    assert Quarantine(lab.state).note(SERIAL) is None


def test_console_that_prints_too_much_is_not_tried_again(desk: Desk, run: Run) -> None:
    desk.says = BOOT + b"x" * 4000
    with pytest.raises(ConsoleOverflow):
        run(console_limit=1000)
    assert desk.calls.count("reset") == 1


def test_board_stays_locked_between_two_attempts(desk: Desk, lab: Lab, run: Run) -> None:
    desk.leaves = [HALF]
    seen: list[bool] = []

    def watched(session: Session) -> bytes:
        seen.append(free(lab))
        threading.Timer(0.3, lambda: seen.append(free(lab))).start()  # it is away then
        return hear(session)

    assert run(watched) == TEXT
    assert seen and not any(seen)


def test_targets_try_a_board_again(desk: Desk, lab: Lab, firmware: Image) -> None:
    desk.says, desk.leaves = TEXT, [HALF]
    link = desk.folder / "ttyACM0"
    desk.follow(link)
    entry = BoardEntry(name="mine", probe=SERIAL, port=str(link), runner="nrfutil")
    known = replace(lab, entries=(entry,), policy=Policy(backoff=0.0))
    with Targets() as targets:
        options = {"lab": known, "board": "mine"}
        assert targets.run("board", firmware, hear, options) == TEXT
