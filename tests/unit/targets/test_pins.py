"""Pins and presses, as a user writes them."""

from __future__ import annotations

import pytest

from harness.base.errors import UsageError
from harness.base.platforms import board_table
from harness.targets.pins import Press, parse_press, pin_number

KIT = board_table()


@pytest.mark.parametrize(
    ("text", "press"),
    [
        ("button1", Press(6, 0.0, 0.1)),
        ("P0.31@2", Press(31, 2.0)),
        ("P0.20@0.5+0.25", Press(20, 0.5, 0.25)),
    ],
)
def test_a_press_is_read_from_its_text(text: str, press: Press) -> None:
    assert parse_press(text, KIT) == press


@pytest.mark.parametrize(
    "text", ["", "button3", "P0.32", "32", "button1@x", "6@-1", "6@1+0", "6@1+nan", "led1", "P0.02"]
)
def test_invalid_press_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_press(text, KIT)


def test_the_dks_leds_buttons_and_switches_have_the_pins_of_its_user_guide() -> None:
    order = [f"led{n}" for n in (1, 2, 3, 4)] + ["button1", "button2", "switch1", "switch2"]
    assert [pin_number(name, KIT) for name in order] == list(range(2, 10))


@pytest.mark.parametrize(
    ("name", "number"),
    [("BUTTON2", 7), (" led1 ", 2), ("switch2", 9), ("p0.07", 7), ("7", 7), ("0", 0),
     ("P0.31", 31)],
)  # fmt: skip
def test_a_pin_has_a_name_or_a_number(name: str, number: int) -> None:
    assert pin_number(name, KIT) == number


@pytest.mark.parametrize("name", ["P0.32", "32", "007", "P1.3", "button", ""])
def test_invalid_pin_is_refused_with_the_valid_ones(name: str) -> None:
    with pytest.raises(UsageError, match="no pin") as refused:
        pin_number(name, KIT)
    assert refused.value.hint.startswith("P0.0 to P0.31, or led1, led2")
