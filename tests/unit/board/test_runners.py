"""The commands that flash tools are called with."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.base.errors import EnvironmentMissing, Unsupported, UsageError
from harness.base.platforms import board_table
from harness.targets.board.flash_image import FlashImage
from harness.targets.board.runners import RUNNERS, choose

SERIAL = "000960012345"


@pytest.fixture
def image(tmp_path: Path) -> FlashImage:
    return FlashImage(tmp_path / "a.hex", tmp_path / "a.elf", ((0, b"abcd"),), "f" * 64)


def commands(runner, image, folder):
    return [*runner.program(image, folder), *runner.verify(image, folder), *runner.reset()]


@pytest.mark.parametrize("name", [n for n in RUNNERS if n != "west"])
def test_every_command_names_the_probe(name, image, tmp_path):
    for command in commands(RUNNERS[name](SERIAL), image, tmp_path):
        assert any(SERIAL.lstrip("0") in word for word in command.argv), command


@pytest.mark.parametrize("name", [n for n in RUNNERS if n != "west"])
def test_nothing_erases_more_than_the_image_touches(name, image, tmp_path):
    for command in commands(RUNNERS[name](SERIAL), image, tmp_path):
        text = f"{shlex.join(command.argv)} {command.script}".lower()
        for word in ("erase_all", "eraseall", "chiperase", "--erase chip", "recover", "\nerase"):
            assert word not in text


def test_nrfutil_programs_touched_ranges_verifies_and_does_not_reset(image, tmp_path):
    (command,) = RUNNERS["nrfutil"](SERIAL).program(image, tmp_path)
    assert command.argv[:5] == ("nrfutil", "device", "program", "--serial-number", SERIAL)
    assert command.argv[-1] == (
        "chip_erase_mode=ERASE_RANGES_TOUCHED_BY_FIRMWARE,verify=VERIFY_READ,reset=RESET_NONE"
    )


def test_nrfjprog_gets_the_serial_number_without_zeros(image, tmp_path):
    (command,) = RUNNERS["nrfjprog"](SERIAL).program(image, tmp_path)
    text = shlex.join(command.argv)
    assert text.startswith("nrfjprog --family NRF91 --snr 960012345 --program ")
    assert text.endswith("--sectorerase --verify")


def test_a_jlink_command_file_is_shown_with_its_command(image, tmp_path):
    (command,) = RUNNERS["jlink"](SERIAL).reset()
    assert "-CommandFile {script}" in str(command)
    assert "    | RSetType 2" in str(command)


@pytest.mark.parametrize("name", ["nrfutil", "jlink"])
def test_a_probe_on_another_host_is_reached(name, image, tmp_path):
    (command,) = RUNNERS[name](SERIAL, host="bench2").reset()
    assert "bench2" in command.argv


def test_remote_probe_is_unsupported_by_a_local_tool():
    with pytest.raises(Unsupported, match="probe on bench2"):
        RUNNERS["nrfjprog"](SERIAL, host="bench2").reset()


def test_pyocd_reaches_a_remote_probes_server():
    (command,) = RUNNERS["pyocd"](SERIAL, host="bench2:5555").reset()
    assert command.argv[command.argv.index("--uid") + 1] == "remote:bench2:5555"


@pytest.mark.needs("pyocd")
def test_the_real_pyocd_takes_these_arguments(image, tmp_path):
    from pyocd.__main__ import PyOCDTool

    tool = PyOCDTool()
    parser = tool.build_parser()
    runner = RUNNERS["pyocd"](SERIAL)
    file = tmp_path / "m.bin"
    for command in [*commands(runner, image, tmp_path), *runner.read(0x2000_0000, 16, file)]:
        options = parser.parse_args(command.argv[1:])
        assert options.unique_id == "960012345"
        assert options.target_override == "nrf91"
        assert options.options == ["auto_unlock=false"]
        assert options.no_wait


def test_west_refuses_an_image_outside_a_build_folder(image, tmp_path):
    with pytest.raises(UsageError, match="Zephyr build folder"):
        RUNNERS["west"](SERIAL).program(image, tmp_path)


def test_the_first_installed_tool_is_chosen(tmp_path):
    for name in ("JLinkExe", "pyocd"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert choose("", board_table(), str(tmp_path)).name == "jlink"


def test_missing_tools_are_listed(tmp_path):
    with pytest.raises(EnvironmentMissing, match="nrfutil, nrfjprog, JLinkExe, pyocd"):
        choose("", board_table(), str(tmp_path))


def test_an_unknown_runner_lists_the_known_ones():
    with pytest.raises(UsageError) as caught:
        choose("openocd", board_table())
    assert "nrfjprog" in caught.value.hint


def test_runners_of_the_board_table_exist():
    assert set(board_table().probe.runners) < RUNNERS.keys()


def test_chip_has_the_name_that_each_tool_knows(image, tmp_path):
    programmed = {name: RUNNERS[name](SERIAL).program(image, tmp_path)[0].argv
                  for name in ("nrfjprog", "jlink", "pyocd")}  # fmt: skip
    assert programmed["nrfjprog"][1:3] == ("--family", "NRF91")
    assert "-Device nRF9160_xxAA -If SWD -Speed 4000" in " ".join(programmed["jlink"])
    assert "--target nrf91" in " ".join(programmed["pyocd"])


@pytest.mark.parametrize("name", sorted(RUNNERS.keys() - {"west"}))
def test_calls_that_reset_have_a_part_of_the_limit(name):
    kind = RUNNERS[name]
    limits = [kind("1", seconds=seconds).reset()[0].timeout for seconds in (1.0, 120.0, 480.0)]
    assert limits == [30.0, 30.0, 120.0]
