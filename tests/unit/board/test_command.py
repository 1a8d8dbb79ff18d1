"""Running flash tools: exit codes that lie, hangs, floods, children left behind."""

from __future__ import annotations

import os
import sys
import time

import pytest

from harness.base.errors import EnvironmentMissing
from harness.targets.board.command import SCRIPT, Command, run


def python(code, timeout=10.0, **rest):
    return Command((sys.executable, "-c", code), timeout, **rest)


def test_output_and_exit_code_are_kept():
    output = run(python("import sys; print('hello'); sys.exit(3)"))
    assert (output.returncode, output.text, output.ok) == (3, "hello\n", False)
    assert "exit code 3" in output.problem


def test_failure_pattern_outweighs_exit_code_0():
    output = run(python("print('Cannot connect to target.')", failures=("cannot connect.*",)))
    assert output.returncode == 0
    assert "Cannot connect to target." in output.problem


@pytest.mark.slow
def test_missing_success_pattern_is_a_failure():
    assert "did not print" in run(python("print('x')", success="All .* match")).problem
    assert run(python("print('All 3 match')", success="All .* match")).ok


def test_a_tool_that_hangs_is_stopped_at_its_limit():
    started = time.monotonic()
    output = run(Command(("sh", "-c", "echo x; sleep 60"), 1.5))
    assert time.monotonic() - started < 10
    assert output.hung
    assert output.text == "x\n"
    assert "did not end within 1.5 s" in output.problem


@pytest.mark.slow
def test_a_child_left_behind_is_stopped_too(tmp_path):
    note = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(note)!r}, 'w').write(str(child.pid))\n"
    )
    started = time.monotonic()
    assert run(python(code)).ok
    assert time.monotonic() - started < 8
    pid = int(note.read_text())
    for _ in range(100):
        if not _runs(pid):
            return
        time.sleep(0.05)
    raise AssertionError("the child still runs")


def _runs(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    from pathlib import Path

    stat = Path(f"/proc/{pid}/stat")
    return not stat.exists() or ") Z " not in stat.read_text()


@pytest.mark.slow
def test_a_flood_of_output_is_bounded():
    output = run(python("print('x' * 1000000 + 'end')"))
    assert len(output.text) <= 256 * 1024
    assert output.text.endswith("end\n")


@pytest.mark.slow
def test_bytes_that_are_not_text_are_kept_visible():
    code = r"import sys; sys.stdout.buffer.write(b'a\xffb')"
    assert run(python(code)).text == "a\\xffb"


def test_a_script_is_a_file_while_the_tool_runs():
    code = "import sys; print(open(sys.argv[1]).read())"
    output = run(Command((sys.executable, "-c", code, SCRIPT), 10.0, script="r\ng\n"))
    assert output.text == "r\ng\n\n"


def test_a_program_that_is_not_there_is_an_environment_error(tmp_path):
    with pytest.raises(EnvironmentMissing, match="'nrfutil' is not on PATH"):
        run(Command(("nrfutil",), 1.0), search_path=str(tmp_path))


def shell(text, timeout=10.0, **rest):
    return Command(("sh", "-c", text), timeout, **rest)


def test_gravest_of_several_problems_is_reported():
    hangs = run(shell("echo error; sleep 9", timeout=0.2, failures=("error",)))
    assert (hangs.problem, hangs.returncode) == (
        "sh did not end within 0.2 s and was stopped", None
    )  # fmt: skip
    fails = run(shell("echo error; exit 2", failures=("error",), success="done"))
    assert fails.problem == "sh ended with exit code 2"
    lies = run(shell("echo An ERROR occurred", failures=("fault", "error .*"), success="done"))
    assert lies.problem == "sh ended with exit code 0 but printed 'ERROR occurred'"
    silent = run(shell("true", failures=("error",), success="done"))
    assert silent.problem == "sh ended with exit code 0 but did not print 'done'"
    assert run(shell("echo DONE", failures=("error",), success="done")).ok


def test_a_program_is_called_by_its_own_name_in_messages(tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    assert run(Command((str(tool),), 5.0)).problem == "tool ended with exit code 1"


def test_the_last_twelve_lines_are_shown_without_empty_ones():
    said = run(shell('for i in $(seq 20); do echo "line $i  "; echo; done'))
    assert said.tail().splitlines() == [f"    line {number}" for number in range(9, 21)]
    assert said.tail(1) == "    line 20"
    assert run(shell("echo; echo '  '")).tail() == "    (it printed nothing)"


def test_standard_error_is_kept_and_standard_input_is_empty():
    said = run(shell("echo out; echo err >&2; read answer || echo no input"))
    assert said.text == "out\nerr\nno input\n"
    assert 0 < said.seconds < 10


@pytest.mark.slow
def test_exactly_the_last_256_kib_are_kept():
    said = run(python("print('a' * 10 + 'b' * (256 * 1024 - 1), end='\\n')"))
    assert said.text == "b" * (256 * 1024 - 1) + "\n"
    whole = run(python("print('b' * (256 * 1024), end='')"))
    assert len(whole.text) == 256 * 1024


def test_search_path_is_used_for_the_tool_and_passed_to_it(tmp_path):
    for name, text in (("outer", "inner"), ("inner", "echo found $EXTRA")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    said = run(Command(("outer",), 5.0), search_path=str(tmp_path), environment={"EXTRA": "more"})
    assert said.text == "found more\n"


def test_a_tool_runs_in_its_folder(tmp_path):
    assert run(shell("pwd", folder=tmp_path)).text == f"{tmp_path}\n"


def test_a_command_is_shown_as_a_user_would_type_it(tmp_path):
    plain = Command(("tool", "an argument", SCRIPT), 1.0)
    assert str(plain) == "tool 'an argument' {script}"
    whole = Command(("tool", SCRIPT), 1.0, script="r\ng\n", folder=tmp_path / "a folder")
    assert str(whole) == f"cd '{tmp_path}/a folder' && tool {{script}}\n    | r\n    | g"
    assert plain.program == "tool"


def test_a_tool_that_closes_its_output_and_goes_on_is_waited_for_until_its_limit():
    said = run(shell("exec >&- 2>&-; sleep 0.3; exit 3"))
    assert (said.returncode, said.hung) == (3, False)
    assert run(shell("exec >&- 2>&-; sleep 9", timeout=0.3)).hung
