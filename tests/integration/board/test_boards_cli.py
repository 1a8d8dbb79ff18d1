"""`tflm-hil boards` and `tflm-hil virtual-board`, as a user calls them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import needs
import pytest
from firmwares import build  # noqa: F401
from forked_python import run_python


@pytest.fixture
def cli(bench, tmp_path):
    environment = {
        **os.environ,
        "TFLM_HIL_VIRTUAL_BENCH": str(bench),
        "TFLM_HIL_LAB_STATE": str(tmp_path / "state"),
        "XDG_CONFIG_HOME": str(tmp_path),
    }
    environment.pop("TFLM_HIL_LAB", None)

    def run(*arguments, **more):
        return run_python("harness", *arguments, cwd=tmp_path, env={**environment, **more})

    return run


def test_boards_lists_port_and_state(dk, cli):
    dk("960000001", name="dk-one")
    done = cli("boards")
    assert done.returncode == 0
    assert "dk-one: free" in done.stdout
    assert "lowest USB interface (0) of 3" in done.stdout


def test_boards_json_says_who_holds_a_board(dk, cli, run, firmware, lab):
    dk("960000001")
    run(firmware())
    (row,) = json.loads(cli("boards", "--json").stdout)["boards"]
    assert (row["probe"], row["state"]) == ("960000001", "in use")
    assert row["holder"]["pid"] == os.getpid()


def test_taking_and_releasing_a_board(dk, cli, run, firmware, lab):
    from harness.base.errors import TargetLost
    from harness.targets.base import ConsoleMatch
    from harness.targets.board.policy import Quarantine

    dk("960000001", name="dk-one")
    session = run(firmware())
    done = cli("boards", "take", "dk-one")
    assert done.returncode == 0
    assert f"(process {os.getpid()})" in done.stdout
    with pytest.raises(TargetLost, match="taken over"):
        session.run(ConsoleMatch(b"never"), session.deadline(10))
    Quarantine(lab.state).add("dk-one", "960000001", "smoke")
    assert "quarantine" in cli("boards").stdout
    assert "smoke" in cli("boards", "release", "dk-one").stdout
    assert "dk-one: free" in cli("boards").stdout


def test_flash_programs_once(dk, cli, firmware):
    dk("960000001")
    elf = str(firmware().path)
    first = cli("boards", "flash", elf, "--runner", "nrfjprog")
    assert (first.returncode, first.stderr) == (0, "")
    assert "programmed and read back" in first.stdout
    assert "read-back equals the image" in cli("boards", "flash", elf, "--runner", "jlink").stdout


def test_dry_run_prints_every_command_and_runs_none(dk, cli, firmware):
    board = dk("960000001")
    done = cli("boards", "flash", str(firmware().path), "--runner", "jlink", "--dry-run")
    assert done.returncode == 0
    assert done.stdout.count("JLinkExe -NoGui 1 -USB 960000001 -Device nRF9160_xxAA") == 4
    assert "    | loadfile " in done.stdout
    assert board.do("info")["resets"] == 0


def test_two_boards_and_none_named_ends_with_exit_code_2(dk, cli, firmware):
    dk("960000001")
    dk("960000002")
    done = cli("boards", "flash", str(firmware().path), "--runner", "nrfutil")
    assert done.returncode == 2
    assert "960000001" in done.stderr
    assert "960000002" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_flash_failure_ends_with_exit_code_3_and_the_tools_words(dk, cli, firmware):
    dk("960000001", misbehave=["flash-fails"])
    done = cli("boards", "flash", str(firmware().path), "--runner", "nrfutil")
    assert done.returncode == 3
    assert "target did not respond" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_virtual_board_prints_what_a_shell_needs(tmp_path, build):  # noqa: F811
    needs.require("pyocd")
    call = "import sys; from harness.cli import main; sys.exit(main())"
    arguments = ["virtual-board", "--bench", str(tmp_path / "b"), "--name", "mine"]
    child = subprocess.Popen(
        [sys.executable, "-u", "-c", call, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        script = child.stdout.readline() + (
            f"{sys.executable} -c '{call}' boards flash {build('idle').path} && "
            f"{sys.executable} -c '{call}' boards --json"
        )
        done = subprocess.run(
            ["sh", "-c", script],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "TFLM_HIL_LAB_STATE": str(tmp_path / "state")},
        )
        assert done.returncode == 0, done.stderr
        assert "mine: programmed and read back" in done.stdout
        assert re.search(r'"name": "mine"', done.stdout)
    finally:
        child.terminate()
        child.communicate(timeout=20)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--serial", "../../x"), "--serial '../../x' cannot be used"),
        (("--serial", ".hidden"), "cannot be used"),
        (("--name", "a/b"), "--name 'a/b' cannot be used"),
        (("--baud", "-5"), "not a baud rate"),
        (("--baud", "1e9"), "not a baud rate"),
    ],
)
def test_what_a_virtual_board_cannot_be_is_refused_and_leaves_nothing(
    cli, tmp_path, arguments, words
):
    done = cli("virtual-board", "--bench", str(tmp_path / "made"), *arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert not (tmp_path / "made").exists()
    assert not (tmp_path.parent / "x").exists()


@pytest.mark.slow
def test_a_folder_for_temporary_files_may_have_blanks_in_its_name(
    dk, cli, firmware, tmp_path, runner_installed
):
    runner_installed("pyocd")
    dk("960000001", name="mine")
    blank = tmp_path / "with some blanks"
    blank.mkdir()
    for runner in ("pyocd", "jlink"):
        call = ("boards", "flash", str(firmware().path), "--runner", runner, "--always")
        done = cli(*call, TMPDIR=str(blank))
        assert done.returncode == 0, done.stderr
        assert "mine: programmed and read back" in done.stdout


def test_a_board_whose_note_a_neighbour_planted_does_not_hide_the_others(dk, cli, tmp_path):
    dk("960000001", name="one")
    dk("960000002", name="two")
    assert cli("boards").returncode == 0
    (tmp_path / "state" / "960000001.quarantine.json").symlink_to("/etc/passwd")
    said = cli("boards").stdout
    assert "one: unusable: cannot use" in said
    assert "it is a link" in said
    assert "two: free" in said
