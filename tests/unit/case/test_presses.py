"""Buttons pressed and released while an image runs, at their times on the target's clock."""

from __future__ import annotations

import pytest

from harness.base.clock import Deadline
from harness.case.tap import Presses
from harness.targets import Stop
from harness.targets.pins import Press


class Board:
    """Runs to the deadline, to what is waited for at ``condition``, or sleeps from ``asleep`` on.

    What wakes it is a pin that changes. Its clock stands still while it sleeps.
    """

    def __init__(self, *, asleep: float = 1e9, condition: float = 1e9) -> None:
        self.time = 0.0
        self.asleep = asleep
        self.condition = condition
        self.driven: list[tuple[float, int, bool | None]] = []
        self.guards: list[float] = []
        self.pins = self

    def drive(self, pin: int, level: bool | None) -> None:
        self.driven.append((pytest.approx(self.time, abs=1e-5), pin, level))

    def deadline(self, seconds: float, *, guard: float = 60.0) -> Deadline:
        return Deadline(seconds, now=lambda: self.time, guard=guard)

    def run(self, until, deadline: Deadline) -> Stop:
        self.guards.append(deadline.guard)
        end = self.time + deadline.remaining
        if until is not None and self.condition <= end:
            self.time = max(self.time, self.condition)
            return Stop.CONDITION
        if self.asleep <= end:
            self.time = max(self.time, self.asleep)
            return Stop.IDLE
        self.time = end
        return Stop.DEADLINE


def test_a_button_is_pressed_and_let_go_at_its_times():
    board = Board()
    presses = Presses(board, [Press(6, 0.5, 0.2)])
    assert presses.run(None, board.deadline(3.0)) is Stop.DEADLINE
    assert board.driven == [(0.5, 6, False), (0.7, 6, None)]
    assert board.time == pytest.approx(3.0)


def test_presses_take_turns_in_the_order_of_time():
    board = Board()
    presses = Presses(board, [Press(7, 0.6, 0.1), Press(6, 0.1, 1.0)])
    presses.run(None, board.deadline(3.0))
    assert board.driven == [(0.1, 6, False), (0.6, 7, False), (0.7, 7, None), (1.1, 6, None)]


def test_a_press_behind_the_deadline_waits_for_the_next_run():
    board = Board()
    presses = Presses(board, [Press(6, 2.0, 0.5)])
    assert presses.run(None, board.deadline(1.5)) is Stop.DEADLINE
    assert board.driven == []
    presses.run(None, board.deadline(1.5))
    assert board.driven == [(2.0, 6, False), (2.5, 6, None)]


def test_a_sleeping_image_is_woken_at_once_and_its_sleep_counts_as_time():
    board = Board(asleep=0.25)
    presses = Presses(board, [Press(6, 5.0, 0.1), Press(7, 9.0, 0.1)])
    assert presses.run(None, board.deadline(1.0)) is Stop.IDLE  # the press is too far off
    assert board.driven == []
    presses.run(None, board.deadline(60.0))
    assert [(pin, level) for _, pin, level in board.driven] == [
        (6, False), (6, None), (7, False), (7, None),
    ]  # fmt: skip
    assert board.driven[0][0] == board.driven[-1][0] == pytest.approx(board.time, abs=1e-5)


def test_a_match_ends_a_run_before_the_press():
    board = Board(condition=0.3)
    presses = Presses(board, [Press(6, 0.5, 0.2)])
    assert presses.run("words", board.deadline(3.0)) is Stop.CONDITION
    assert (board.time, board.driven) == (0.3, [])


def test_the_guard_of_the_whole_run_is_that_of_its_parts():
    board = Board()
    Presses(board, [Press(6, 0.5, 0.2)]).run(None, board.deadline(3.0, guard=7.0))
    assert board.guards == [pytest.approx(7.0, abs=1.0)] * 3


def test_buttons_that_are_pressed_at_one_moment_have_no_run_between_them():
    board = Board()
    Presses(board, [Press(6, 0.5, 0.2), Press(7, 0.5, 0.2)]).run(None, board.deadline(3.0))
    assert len(board.guards) == 3  # to the presses, to the releases, to the deadline


def test_a_press_at_the_beginning_has_no_run_before_it():
    board = Board()
    Presses(board, [Press(6, 0.0, 0.2)]).run(None, board.deadline(3.0))
    assert len(board.guards) == 2  # to the release, to the deadline
