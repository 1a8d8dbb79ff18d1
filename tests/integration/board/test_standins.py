"""The stand-ins as programs on a bench (what each does: tests/unit/board/test_standins.py)."""

from __future__ import annotations

import subprocess

import pytest

from harness.base.platforms import board_table
from harness.elf import hexfile

S = "960000001"
NRFUTIL = ["nrfutil", "device", "program", "--serial-number", S, "--firmware", "{hex}"]


@pytest.fixture
def tool(dk, bench, tmp_path):
    dk(S)
    image = tmp_path / "a.hex"
    image.write_text(hexfile.write([(0, b"hello world")]))

    def call(words):
        words = [str(image) if word == "{hex}" else word for word in words]
        return subprocess.run(
            [str(bench / "bin" / words[0]), *words[1:]],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )

    return call


def test_the_script_on_the_bench_ends_with_the_tools_words_and_exit_code(tool):
    done = tool([*NRFUTIL, "--fast"])
    assert (done.returncode, done.stdout) == (2, "Error: unexpected argument '--fast' found\n")
    assert not done.stderr


@pytest.mark.parametrize("runner", ["nrfutil", "pyocd", "jlink"])
def test_the_runners_read_commands_give_what_is_in_flash(
    tool, tmp_path, bench, runner, runner_installed
):
    from harness.targets.board.discovery import on_bench
    from harness.targets.board.opening import flash_tool

    runner_installed(runner)

    options = "chip_erase_mode=ERASE_ALL,verify=VERIFY_READ"
    assert tool([*NRFUTIL, "--options", options]).returncode == 0
    file = tmp_path / "memory"  # nrfutil writes HEX whatever it is called
    (board,) = on_bench(bench)
    flasher = flash_tool(board, runner, 30.0, board_table())
    for command in flasher.runner.read(0, 11, file):
        command.run(flasher.search_path)
    content = file.read_bytes()
    data = hexfile.read(content.decode())[0][1] if runner == "nrfutil" else content
    assert data == b"hello world"
