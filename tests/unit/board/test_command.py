"""Calls of flash tools: exit codes that lie, scripts, what users are shown."""

from __future__ import annotations

import pytest

from harness.base.errors import ProgramFailed, ProgramMissing, ProgramTimedOut
from harness.targets.board.runners.base import SCRIPT, Command


def shell(text, timeout=10.0, **rest):
    return Command(("sh", "-c", text), timeout, **rest)


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (shell("echo error; sleep 9", timeout=0.2, failures=("error",)),
         "sh did not end within 0.2 s and was stopped"),
        (shell("echo error; exit 2", failures=("error",), success="done"),
         "sh ended with exit code 2"),
        (shell("echo An ERROR occurred", failures=("fault", "error .*"), success="done"),
         "sh ended with exit code 0 but printed 'ERROR occurred'"),
        (shell("true", failures=("error",), success="done"),
         "sh ended with exit code 0 but did not print 'done'"),
    ],
)  # fmt: skip
def test_the_gravest_of_several_problems_is_the_reason(command, reason):
    with pytest.raises(ProgramFailed) as failed:
        command.run()
    assert failed.value.reason == reason


def test_a_tool_that_prints_what_it_must_and_nothing_else_succeeds():
    shell("echo DONE", failures=("error",), success="done").run()


def test_a_tool_that_hangs_is_a_failure_with_its_output():
    with pytest.raises(ProgramTimedOut, match=r"stopped\n    x$"):
        shell("echo x; sleep 60", timeout=0.5).run()


def test_a_missing_tool_is_not_on_path_and_another_runner_may_be(tmp_path):
    with pytest.raises(ProgramMissing, match="'nrfutil' is not on PATH") as missing:
        Command(("nrfutil",), 1.0).run(search_path=str(tmp_path))
    assert "another runner" in missing.value.hint


def test_a_tool_is_searched_and_runs_on_the_search_path_in_its_folder(tmp_path):
    (tmp_path / "tool").write_text('#!/bin/sh\necho "$PATH in $PWD"\n')
    (tmp_path / "tool").chmod(0o755)
    wanted = f"^{tmp_path} in {tmp_path}$"
    Command(("tool",), 5.0, success=wanted, folder=tmp_path).run(search_path=str(tmp_path))


def test_a_script_is_a_file_while_the_tool_runs():
    Command(("cat", SCRIPT), 10.0, script="r\ng\n", success=r"\Ar\ng\n\Z").run()


def test_a_command_is_shown_as_a_user_would_type_it(tmp_path):
    plain = Command(("tool", "an argument", SCRIPT), 1.0)
    assert str(plain) == "tool 'an argument' {script}"
    whole = Command(("tool", SCRIPT), 1.0, script="r\ng\n", folder=tmp_path / "a folder")
    assert str(whole) == f"cd '{tmp_path}/a folder' && tool {{script}}\n    | r\n    | g"
