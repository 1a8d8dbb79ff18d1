"""Names of boards in the forms of Zephyr's releases."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.build.board_names import Board, named_in, same

WORDS = st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("nrf9160dk", ("nrf9160dk", "", ())),
        ("nrf9160dk/nrf9160", ("nrf9160dk", "", ("nrf9160",))),
        ("nrf9160dk@0.14.0/nrf9160/ns", ("nrf9160dk", "0.14.0", ("nrf9160", "ns"))),
        ("nrf9160dk_nrf9160@0.14.0", ("nrf9160dk_nrf9160", "0.14.0", ())),
        ("mimxrt1170_evk@B/mimxrt1176/cm7", ("mimxrt1170_evk", "B", ("mimxrt1176", "cm7"))),
    ],
)
def test_a_name_has_a_board_a_revision_and_qualifiers(text: str, parts: tuple) -> None:
    assert Board.of(text) == Board(*parts)


@pytest.mark.parametrize(
    "text", ["", "/nrf9160", "nrf9160dk/", "a b", "a@", "a@1/b@2", "a//b", "ä"]
)
def test_text_that_is_not_a_name_has_no_parts(text: str) -> None:
    assert Board.of(text) is None
    assert not same(text, text)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("nrf9160dk@0.14.0/nrf9160", "nrf9160dk/nrf9160"),
        ("nrf9160dk/nrf9160/ns", "nrf9160dk_nrf9160_ns"),
        ("nrf9160dk@0.14.0/nrf9160", "nrf9160dk_nrf9160"),
        ("nrf9160dk@0.14.0/nrf9160", "nrf9160dk_nrf9160@0.14.0"),
    ],
)
def test_one_board_may_be_written_in_several_ways(one: str, other: str) -> None:
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    "other",
    ["nrf9160dk/nrf9160/ns", "nrf9160dk", "nrf9161dk/nrf9160", "nrf52840dk/nrf52840",
     "nrf9160dk@0.7.0/nrf9160", "nrf9160dk/nrf9161", "nrf9160dk/nrf9160/nrf9160"],
)  # fmt: skip
def test_another_board_revision_or_qualifier_is_another_board(other: str) -> None:
    assert not same("nrf9160dk@0.14.0/nrf9160", other)


@given(WORDS, st.sampled_from(["", "1.2.3", "A"]), st.lists(WORDS, max_size=3))
def test_a_name_is_read_as_it_is_written(name: str, revision: str, qualifiers: list[str]) -> None:
    text = "/".join([f"{name}@{revision}" if revision else name, *qualifiers])
    board = Board.of(text)
    assert board == Board(name, revision, tuple(qualifiers))
    assert same(text, "_".join([name, *qualifiers]))


def test_the_name_in_an_image_is_found_as_it_stands_there() -> None:
    data = b"\0x\0nrf9160dk@0.14.0/nrf9160\0nrf9160dk/other\0my_nrf9160dk/nrf9160\0nrf9160dk"
    assert list(named_in(data)) == ["nrf9160dk@0.14.0/nrf9160"]
