"""``--variable CHIP:NAME``: the chip of keywords that name none; a contradiction fails the test."""

from __future__ import annotations

import io

import pytest
from elf_writer import MadeSection, MadeSymbol, write_elf

from harness.base.platforms import chip_names
from robot import api

SUITE = """
*** Settings ***
Library    harness.keywords.TflmHil

*** Test Cases ***
One
    {step}
"""
CASES = """
[[case]]
name = "a"
elf = "a.elf"
chip = "{chip}"
"""


@pytest.fixture
def said(tmp_path, monkeypatch):
    """The message of a test with one keyword, and ``a.elf``, an image for the nRF5340."""
    monkeypatch.chdir(tmp_path)
    table = (0x2000_1000).to_bytes(4, "little") + (0x41).to_bytes(4, "little") + bytes(0x100)
    text = MadeSection(".text", 0, table, load=0, executable=True)
    mark = MadeSymbol("CONFIG_SOC_NRF5340_CPUAPP", 1, section=None)
    (tmp_path / "a.elf").write_bytes(write_elf([text], [mark]))

    def said(step: str, chip: str, case: str = "") -> str:
        (tmp_path / "hil.toml").write_text(CASES.format(chip=case))
        (tmp_path / "one.robot").write_text(SUITE.format(step=step))
        suite = api.TestSuite.from_file_system(tmp_path / "one.robot")
        done = suite.run(variable=[f"CHIP:{chip}"], outputdir=str(tmp_path / "out"),
                         stdout=io.StringIO(), stderr=io.StringIO())  # fmt: skip
        (test,) = done.suite.all_tests
        assert test.status == "FAIL"
        return str(test.message)

    return said


@pytest.mark.parametrize("step", [
    "Start Target    a.elf", "Resolver Check Should Say    a.elf    atan_float32    ok",
    "Run Case    hil.toml", "Case Should End As    hil.toml    a    pass",
])  # fmt: skip
def test_an_image_for_another_chip_is_refused(said, step):
    message = said(step, "nrf9151")
    assert "a.elf is for the nRF5340 (Kconfig: CONFIG_SOC_NRF5340_CPUAPP)" in message
    assert "the nRF9151" in message


@pytest.mark.parametrize("step", [
    "Run Case    hil.toml", "Case Should End As    hil.toml    a    fail",
])  # fmt: skip
def test_a_case_for_another_chip_is_refused(said, step):
    message = said(step, "nrf9151", case="nrf5340")
    assert "${CHIP} nRF9151, but case 'a' is for the nRF5340" in message


@pytest.mark.parametrize("step", [
    "Start Target    a.elf", "Build Firmware    atan", "Run Sample Case    atan",
])  # fmt: skip
def test_a_misspelt_chip_lists_those_that_there_are(said, step):
    assert "no chip 'nrf5430'" in (message := said(step, "nrf5430"))
    assert f"one of {', '.join(chip_names())}" in message
