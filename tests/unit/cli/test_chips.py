"""``tflm-hil list chips``: what there is, and what of it is modelled on which target."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.platforms import chip_names, chip_table
from harness.cli import main
from harness.cli.list_.chips import chips


def printed(*words: str) -> str:
    result = CliRunner().invoke(chips, words)
    assert result.exit_code == 0, result.output
    return result.output


def test_every_chip_is_listed_with_its_boards_and_notes() -> None:
    text = printed()
    assert [line.split(":")[0] for line in text.splitlines() if line.startswith("nrf")] == [
        *chip_names()
    ]
    assert "boards         nrf9131ek" in text
    assert "note           the network core is held in reset, and its IPC is silent" in text


@pytest.mark.parametrize("chip", ["", *chip_names()])
def test_lines_fit_a_terminal_of_80_columns(chip) -> None:
    assert max(map(len, printed(*filter(None, [chip])).splitlines())) <= 80


def test_a_peripheral_is_modelled_or_not_on_each_target() -> None:
    (row,) = json.loads(printed("nrf5340", "--json"))
    names = {block.name for block in chip_table("nrf5340").blocks}
    assert set(row["modelled"]) | set(row["without_model"]) == names
    assert {"CACHE", "IPC", "UARTE0"} <= set(row["modelled"])


def test_one_chip_is_shown_with_its_addresses_and_sources() -> None:
    text = printed("nRF9151")
    assert "UARTE0         0x50008000 0x40008000, interrupt 8, model uarte" in text
    assert "[zephyr]" in text and "nrf5340" not in text


CASES = """
[[case]]
name = "a"
elf = "a.elf"
chip = "nrf9151"
"""


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """What is said of ``a.elf``, an image for the nRF5340, and of a case for the nRF9151."""
    monkeypatch.chdir(tmp_path)
    table = (0x2000_1000).to_bytes(4, "little") + (0x41).to_bytes(4, "little") + bytes(0x100)
    text = MadeSection(".text", 0, table, load=0, executable=True)
    mark = MadeSymbol("CONFIG_SOC_NRF5340_CPUAPP", 1, section=None)
    Path("a.elf").write_bytes(write_elf([text], [mark]))
    Path("hil.toml").write_text(CASES)

    def call(*words: str) -> str:
        assert main([*words]) == 2
        return capsys.readouterr().err

    return call


@pytest.mark.parametrize("command", [["run"], ["debug", "--port", "0"]])
@pytest.mark.parametrize(
    ("words", "one", "other"),
    [
        (["a.elf", "--chip", "nrf9160"], "a.elf is for the nRF5340", "is the nRF9160"),
        (["hil.toml"], "a.elf is for the nRF5340", "is the nRF9151"),
        (["hil.toml", "--chip", "nrf5340"], "'a' is for the nRF9151", "--chip nRF5340"),
        (["atan", "--chip", "nrf5430"], "no chip 'nrf5430'", "one of nrf5340, nrf9131, "),
    ],
)
def test_a_contradiction_names_both(refused, command, words, one, other) -> None:
    said = refused(*command, *words)
    assert one in said and other in said


def test_a_board_has_a_chip(refused) -> None:
    both = ("--board", "nrf5340dk/nrf5340/cpuapp", "--chip", "nrf9160")
    assert "the board determines the chip" in refused("build", "atan", *both)
