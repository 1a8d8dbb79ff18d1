"""Renode by itself with the scripts of platforms/: no agent, as its user types the commands."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import firmwares
import needs
import pytest
import renode_images

from harness.base import paths, platforms
from harness.build.standalone import build_standalone

pytestmark = pytest.mark.renode

FOLDER = paths.platforms()
BOOT, LAST = "~HIL 0 boot sample=hello_world", "x_value: 5.969026, y_value: -0.319624"
#: After each command, the Monitor's answer: results[0] of pins.c counts button 1.
COUNT, LED = "sysbus ReadDoubleWord 0x20000000", "p0.led1 State"


@pytest.fixture(scope="module")
def hello_world() -> Path:
    needs.require("arm-none-eabi-gcc", "flatc")
    return build_standalone("hello_world", "exact").elf


@pytest.fixture(scope="module")
def pins(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = needs.require("arm-none-eabi-gcc")
    return firmwares.compiled(compiler, "pins", tmp_path_factory.mktemp("pins") / "pins.elf")


@pytest.fixture
def console(tmp_path: Path) -> Path:
    """The file of the console's file backend."""
    return tmp_path / "uart.txt"


def typed(*commands: str, log: bool = True) -> str:
    """What Renode prints when it is started with the commands, then quits.

    Without ``log`` it prints answers alone; lines of the log may come in the middle of one.
    """
    program = str(needs.require("renode"))
    options = ["--disable-xwt", "--console", "--plain", *(() if log else ("--hide-log",))]
    options += [word for command in (*commands, "quit") for word in ("-e", command)]
    silent, kept_open = os.pipe()  # without an input Renode's shell polls it
    try:
        # Renode leaves its temporary files behind now and then.
        with TemporaryDirectory() as folder:
            done = subprocess.run(
                [program, *options], env=os.environ | {"TMPDIR": folder},
                stdin=silent, capture_output=True, text=True, timeout=200, check=False,
            )  # fmt: skip
    finally:
        os.close(silent)
        os.close(kept_open)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def script(elf: Path, board: str = "nrf9160dk") -> list[str]:
    return [f"$bin=@{elf}", f"include @{FOLDER / board}.resc"]


def test_an_image_without_a_vector_table_symbol_boots(hello_world, console):
    log = typed(
        *script(hello_world), f"uarte0 CreateFileBackend @{console} true", 'emulation RunFor "1.2"'
    )
    lines = console.read_text().splitlines()
    assert lines[0].startswith(BOOT)
    assert LAST in lines
    assert not re.search(r"\[(WARNING|ERROR)\]|There was an error", log)


def test_a_reset_boots_again_with_the_image_in_flash(hello_world, console):
    typed(
        *script(hello_world), f"uarte0 CreateFileBackend @{console} true",
        'emulation RunFor "0.02"', "machine Reset", 'emulation RunFor "0.02"',
    )  # fmt: skip
    assert console.read_text().count(BOOT) == 2


def test_firmware_sees_a_button_and_lights_an_led(pins):
    press = ('emulation RunFor "0.005"', COUNT, LED)
    log = typed(
        *script(pins), *press,
        "p0.button1 Press", *press,
        "p0.button1 Release", "p0.button1 PressAndRelease", *press,
        "machine Reset", *press,
        "p0.button1 Press", *press,
        log=False,
    )  # fmt: skip
    answers = re.findall(r"^(0x\w+|True|False)\s*$", log, re.M)
    assert list(zip((int(one, 16) for one in answers[::2]), answers[1::2], strict=True)) == [
        (0, "False"), (1, "True"), (2, "False"), (0, "False"), (1, "True")
    ]  # fmt: skip


def test_a_held_button_is_held_over_a_reset(pins):
    level = ('emulation RunFor "0.005"', "sysbus ReadDoubleWord 0x50842510")
    log = typed(*script(pins), *level, "p0.button1 Press", "machine Reset", *level, log=False)
    assert re.findall(r"^(0x\w+)\s*$", log, re.M) == ["0x000000C0", "0x00000080"]


def test_a_finding_is_a_warning_with_its_place(tmp_path):
    compiler = needs.require("arm-none-eabi-gcc")
    (row,) = (one for one in renode_images.images() if one.name == "uarte_buffer_in_flash")
    row.build(compiler, tmp_path)
    log = typed(*script(tmp_path / f"{row.name}.elf"), 'emulation RunFor "0.01"')
    assert re.search(r"\[WARNING\] chip: EasyDMA of UARTE0 cannot read .* \(at 0x\w+, \w+\)", log)


def test_a_secure_image_is_loaded_beside_a_non_secure_one(tmp_path, console):
    compiler = needs.require("arm-none-eabi-gcc")
    renode_images.pair(compiler, tmp_path, renode_images.WORLDS / "own_vectors.c")
    typed(
        *script(tmp_path / "own_vectors.elf"),
        f"sysbus LoadELF @{tmp_path / 'secure.elf'}", "nvmc GuardErased",
        f"uarte0 CreateFileBackend @{console} true", 'emulation RunFor "0.05"',
    )  # fmt: skip
    assert console.read_text().split() == ["taken=00000007", "ok"]


def test_a_non_secure_image_runs_alone_on_a_core_without_security_states(pins):
    log = typed(
        f"$platform=@{FOLDER}/nrf9160dk_nonsecure.repl", *script(pins),
        'emulation RunFor "0.005"', "chip IsAlone",
    )  # fmt: skip
    assert "ready" in log
    assert re.search(r"^True\s*$", log, re.M)


def test_the_script_of_each_board_loads(pins):
    boards = platforms.board_names()
    commands: list[str] = []
    for board in boards:
        commands += [*script(pins, board), 'emulation RunFor "0.001"', "Clear"]
    log = typed(*commands)
    assert "rror" not in log
    assert [name for name in boards if f"{name}: Machine started" in log] == list(boards)


def test_renodes_own_runner_passes_the_suite_beside_the_script(hello_world, tmp_path):
    runner = needs.require("renode-test")
    suite = FOLDER / "nrf9160dk.robot"
    command = [str(runner), "-r", str(tmp_path), "--variable", f"BIN:{hello_world}", str(suite)]
    done = subprocess.run(
        command, cwd=tmp_path, env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True, text=True, timeout=280, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
