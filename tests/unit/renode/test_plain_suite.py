"""The suite for Renode's own runner names what the descriptions have."""

from __future__ import annotations

import re

import pytest

from harness.base import paths, platforms

FOLDER = paths.platforms()
SUITE = (FOLDER / "nrf9160dk.robot").read_text()
BOARD = platforms.board_table("nrf9160dk")
P0 = BOARD.chip.peripheral("P0").addresses[0]


@pytest.mark.parametrize("name", sorted(set(re.findall(r"sysbus\.([\w.]+)", SUITE))))
def test_a_peripheral_of_the_suite_is_in_a_description(name):
    parent, _, child = name.rpartition(".")
    text = "".join((FOLDER / f"{file}.repl").read_text() for file in ("nrf9160", "nrf9160dk"))
    assert re.search(rf"^{child}: [\w.]+ @ {parent or '(sysbus|{)'}", text, re.M)


@pytest.mark.parametrize(
    ("register", "offset"),
    [
        ("BUTTON1_CNF", 0x200 + 4 * BOARD.pins["button1"]),
        ("LED1_CNF", 0x200 + 4 * BOARD.pins["led1"]),
        ("OUTSET", 0x008),
        ("OUTCLR", 0x00C),
        ("IN", 0x010),
    ],
)
def test_a_register_of_the_suite_is_the_ports(register, offset):
    assert int(re.search(rf"^\${{{register}}} +(0x\w+)", SUITE, re.M)[1], 16) == P0 + offset


def test_the_suites_script_is_the_boards():
    assert re.search(r"^\${SCRIPT} +\${CURDIR}/(\S+)$", SUITE, re.M)[1] == f"{BOARD.key}.resc"
