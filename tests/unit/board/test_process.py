"""Running flash tools: exit codes that lie, hangs, floods, children left behind."""

from __future__ import annotations

import os
import sys
import time

import pytest

from harness.errors import EnvironmentMissing
from harness.targets.board.process import SCRIPT, Command, run


def python(code, timeout=10.0, **rest):
    return Command((sys.executable, "-c", code), timeout, **rest)


def test_output_and_exit_code_are_kept():
    output = run(python("import sys; print('hello'); sys.exit(3)"))
    assert (output.returncode, output.text, output.ok) == (3, "hello\n", False)
    assert "exit code 3" in output.problem


def test_words_that_mean_failure_outweigh_exit_code_0():
    output = run(python("print('Cannot connect to target.')", failures=("cannot connect.*",)))
    assert output.returncode == 0
    assert "Cannot connect to target." in output.problem


def test_words_that_have_to_be_there_and_are_not():
    assert "did not say" in run(python("print('x')", success="All .* match")).problem
    assert run(python("print('All 3 match')", success="All .* match")).ok


def test_a_tool_that_hangs_is_stopped_at_its_limit():
    started = time.monotonic()
    output = run(python("import time; print('x', flush=True); time.sleep(60)", timeout=0.5))
    assert time.monotonic() - started < 5
    assert output.hung
    assert output.text == "x\n"
    assert "did not end within 0.5 s" in output.problem


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


def test_a_flood_of_output_is_bounded():
    output = run(python("print('x' * 1000000 + 'end')"))
    assert len(output.text) <= 256 * 1024
    assert output.text.endswith("end\n")


def test_bytes_that_are_no_text_are_kept_visible():
    code = r"import sys; sys.stdout.buffer.write(b'a\xffb')"
    assert run(python(code)).text == "a\\xffb"


def test_a_script_is_a_file_while_the_tool_runs():
    code = "import sys; print(open(sys.argv[1]).read())"
    output = run(Command((sys.executable, "-c", code, SCRIPT), 10.0, script="r\ng\n"))
    assert output.text == "r\ng\n\n"


def test_a_program_that_is_not_there_is_an_environment_error(tmp_path):
    with pytest.raises(EnvironmentMissing, match="'nrfutil' is not on PATH"):
        run(Command(("nrfutil",), 1.0), search_path=str(tmp_path))
