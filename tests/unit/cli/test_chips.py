"""``tflm-hil chips``: what there is, and what of it is modelled on which target."""

from __future__ import annotations

import json

from click.testing import CliRunner

from harness.base.platforms import chip_names, chip_table
from harness.cli.chips import chips


def printed(*words: str) -> str:
    result = CliRunner().invoke(chips, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_chip_is_listed_with_its_boards_and_notes() -> None:
    text = printed()
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("nrf")] == [
        *chip_names()
    ]
    assert "boards        nrf9131ek" in text
    assert "note          the network core is held in reset, and its IPC is silent" in text


def test_a_peripheral_is_modelled_or_not_on_each_target() -> None:
    (row,) = json.loads(printed("nrf5340", "--json"))
    names = {block.name for block in chip_table("nrf5340").blocks}
    assert set(row["modelled"]) | set(row["without_model"]) == names
    assert {"CACHE", "IPC"} <= set(row["modelled"]) & set(row["without_model_on_renode"])
    assert "UARTE0" not in row["without_model_on_renode"]


def test_one_chip_is_shown_with_its_addresses_and_sources() -> None:
    text = printed("nRF9151")
    assert "UARTE0        0x50008000 0x40008000, interrupt 8, model uarte" in text
    assert "[zephyr]" in text and "nrf5340" not in text
