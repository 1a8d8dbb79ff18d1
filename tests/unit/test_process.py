"""Programs end in time with all that they started, however they and the harness end."""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.base import process
from harness.base.errors import ProgramFailed, ProgramMissing, ProgramTimedOut
from harness.base.process import LIMIT, RunningProgram, run

PYTHON = [sys.executable, "-c"]
NOBODY = 65534


def sh(text: str, seconds: float = 20.0, **options) -> process.Finished:
    return run(["sh", "-c", text], seconds=seconds, **options)


def executable(path: Path, content: str) -> Path:
    path.write_text(content)
    path.chmod(0o755)
    return path


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def number_in(path: Path) -> int:
    """The process number that a program writes to a file, with a line end."""
    wait_until(lambda: path.exists() and path.read_text().endswith("\n"))
    return int(path.read_text())


def ends(number: int) -> bool:
    """True once a process has ended, also if nobody has asked for its exit code yet."""
    limit = time.monotonic() + 5
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.01)
    return False


@contextmanager
def within(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds


# -- to the end -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "split", "code", "output", "errors"),
    [
        ("echo out; echo err >&2; exit 3", False, 3, "out\nerr\n", ""),
        ("echo out; echo err >&2", True, 0, "out\n", "err\n"),
        ("read answer || echo no input", False, 0, "no input\n", ""),
        (r"printf 'a\377b'", False, 0, r"a\xffb", ""),
        ("exec >&- 2>&-; sleep 0.2; exit 4", False, 4, "", ""),
        ("kill -SEGV $$", False, -signal.SIGSEGV, "", ""),
    ],
)
def test_a_result_has_exit_code_and_output(text, split, code, output, errors):
    done = sh(text, check=False, split=split)
    assert (done.code, done.output, done.errors, done.cut) == (code, output, errors, 0)
    assert 0 < done.seconds < 20


def test_progress_gets_each_line_once_while_the_program_runs():
    seen = []

    def progress(line):
        seen.append((line, time.monotonic()))

    sh(r"echo a; sleep 0.3; printf 'b\nc'", progress=progress)
    assert [line for line, _ in seen] == ["a", "b", "c"]
    assert seen[1][1] - seen[0][1] > 0.1


def test_a_program_runs_in_its_folder(tmp_path):
    assert sh("pwd", folder=tmp_path).output == f"{tmp_path}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("echo one; echo; echo 'two  '; exit 3", "sh ended with exit code 3\n    one\n    two"),
        ("kill -KILL $$", "sh was ended by signal 9 (Killed)\n    (it printed nothing)"),
        ("seq 20; exit 1", "sh ended with exit code 1\n"
         + "\n".join(f"    {number}" for number in range(9, 21))),
        (f"printf %0{2 * LIMIT}d 0; exit 1", f"sh ended with exit code 1\n    {'0' * 400}..."),
    ],
)  # fmt: skip
def test_a_failure_has_its_last_lines(text, message):
    with pytest.raises(ProgramFailed) as failed:
        sh(text)
    assert failed.value.message == message


@pytest.mark.slow
def test_a_flood_is_bounded_and_says_what_was_left_out():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done = sh("echo first; yes | head -c 1000000000; echo last", 120.0)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 8 * LIMIT / 1024
    assert done.cut == 1_000_000_000 + len("first\nlast\n") - LIMIT
    assert f"\n... {done.cut:,} bytes of output left out ...\n" in done.output
    assert done.output.startswith("first\ny\n")
    assert done.output.endswith("y\nlast\n")


def test_an_output_at_the_limit_is_whole():
    done = sh(f"yes | head -c {LIMIT}")
    assert (done.cut, done.output) == (0, "y\n" * (LIMIT // 2))


# -- the program and its environment ----------------------------------------------------------


def test_a_program_is_searched_on_the_path_that_it_gets(tmp_path):
    executable(tmp_path / "outer", "#!/bin/sh\nPATH=$PATH:/bin; inner\n")
    executable(tmp_path / "inner", "#!/bin/sh\necho found $EXTRA\n")
    environment = {"PATH": str(tmp_path), "EXTRA": "more"}
    assert run(["outer"], seconds=5, environment=environment).output == "found more\n"


def test_command_folder_and_changed_environment_are_logged(tmp_path, caplog):
    with caplog.at_level(logging.DEBUG, "harness.base.process"):
        sh("echo hello", folder=tmp_path, environment={"ONE": "a b"})
    assert caplog.messages[0] == f"cd {tmp_path} && ONE='a b' sh -c 'echo hello'"
    assert caplog.messages[1].startswith("sh ended with exit code 0 after 0.")
    assert caplog.messages[1].endswith(" s\nhello\n")


def test_no_secret_is_logged(monkeypatch, caplog):
    monkeypatch.setenv("LAB_TOKEN", "pl4nted-s3cret")
    url = "rfc2217://lab:s3cret@bench"
    with caplog.at_level(logging.DEBUG, "harness.base.process"):
        done = sh(f"echo $LAB_TOKEN {url} --token s3cret", environment={"PASSWORD": "s3cret"})
    assert done.output == f"pl4nted-s3cret {url} --token s3cret\n"
    assert "s3cret" not in caplog.text
    assert caplog.messages[1].endswith("\n*** rfc2217://lab:***@bench --token ***\n")


@pytest.mark.parametrize(
    ("mode", "content", "message"),
    [
        (0o755, "\x7fELF garbage", "{} cannot be started: Exec format error"),
        (0o755, "#!/nowhere\n", "{} cannot be started: No such file or directory"),
        (0o644, "#!/bin/sh\n", "{} is not a program"),
        (None, "", "{} is not a program"),
    ],
)
def test_a_program_that_cannot_be_started_is_named(tmp_path, mode, content, message):
    path = tmp_path / "tool"
    if mode is not None:
        path.write_text(content)
        path.chmod(mode)
    with pytest.raises(ProgramMissing) as missing:
        run([str(path)], seconds=5)
    assert missing.value.message == message.format(path)


@contextmanager
def not_root() -> Iterator[None]:
    """Root may enter any folder: the block has another user."""
    if os.getuid() != 0:
        yield
        return
    os.setresuid(NOBODY, NOBODY, 0)
    try:
        yield
    finally:
        os.setresuid(0, 0, 0)


def test_a_folder_on_path_that_may_not_be_entered_is_passed_over(tmp_path):
    closed = tmp_path / "closed"
    closed.mkdir()
    executable(closed / "tool", "#!/bin/sh\n")
    closed.chmod(0)
    environment = {"PATH": f"{closed}:/usr/bin:/bin"}
    try:
        with not_root():
            with pytest.raises(ProgramMissing, match="the program 'tool' is not on PATH"):
                run(["tool"], seconds=5, environment=environment)
            assert run(["echo", "hello"], seconds=5, environment=environment).output == "hello\n"
    finally:
        closed.chmod(0o755)


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ProgramMissing, match=f"sh cannot be started: .*: {tmp_path}/no$"):
        sh("true", folder=tmp_path / "no")


# -- the time limit, and what is left ---------------------------------------------------------

IGNORES_SIGNALS = "trap '' TERM INT HUP; echo $$ > pid; while :; do sleep 1; done"
GRANDCHILD = "sh -c 'echo $$ > pid; exec sleep 600' & wait"
#: As ninja does: a child in a process group of its own.
OWN_GROUP = f"""exec {sys.executable} -c '
import subprocess
subprocess.Popen(["sh", "-c", "echo $$ > pid; exec sleep 600"], process_group=0).wait()'"""
BACKGROUND = "sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do sleep 0.01; done"
ENDLESS = "echo $$ > pid; exec yes"


@pytest.mark.parametrize("text", [IGNORES_SIGNALS, GRANDCHILD, OWN_GROUP, ENDLESS])
def test_at_the_limit_nothing_is_left(tmp_path, text):
    seconds = 1.0
    while not (tmp_path / "pid").exists():  # on a busy machine the child may start later
        with pytest.raises(ProgramTimedOut) as late, within(seconds + 1):
            sh(text, seconds, folder=tmp_path)
        assert late.value.reason == f"sh did not end within {seconds:g} s and was stopped"
        seconds *= 2
    assert ends(number_in(tmp_path / "pid"))


def test_the_output_until_the_limit_is_kept():
    with pytest.raises(ProgramTimedOut) as late:
        sh("echo x; sleep 60", 0.5)
    assert late.value.output == "x\n"


def test_a_process_left_behind_is_ended(tmp_path):
    with within(10):
        sh(BACKGROUND, folder=tmp_path)
    assert ends(number_in(tmp_path / "pid"))


@pytest.mark.parametrize(("text", "limit"), [("true", 20.0), ("sleep 60", 0.5)])
def test_a_daemon_that_keeps_the_output_open_is_not_waited_for(tmp_path, text, limit):
    daemon = "echo $$ > pid; exec sleep 600"
    start = f"setsid sh -c '{daemon}' & while [ ! -s pid ]; do sleep 0.01; done; {text}"
    with within(10):
        if limit < 1:
            with pytest.raises(ProgramTimedOut):
                sh(start, limit, folder=tmp_path)
        else:
            sh(start, limit, folder=tmp_path)
    os.kill(number_in(tmp_path / "pid"), signal.SIGKILL)


# -- the end of the harness -------------------------------------------------------------------

HARNESS = """
import sys
from pathlib import Path
from harness.base import process, signals
text = {text!r}
with signals.raised():
    {run}
"""
RUNS = 'process.run(["sh", "-c", text], seconds=600)'
HOLDS = """command, scratch = ["sh", "-c", text], Path("scratch")
    with process.RunningProgram(command, scratch=scratch, grace=0.1) as program:
        Path("held").touch()
        program.wait(600)"""
FAILS = """with process.RunningProgram(["sh", "-c", text]) as program:
        program.wait_for("ready", 20)
        1 / 0"""


@pytest.mark.parametrize("text", [IGNORES_SIGNALS, GRANDCHILD])
@pytest.mark.parametrize(
    ("how", "number"),
    [
        (RUNS, signal.SIGINT),
        (RUNS, signal.SIGTERM),
        (HOLDS, signal.SIGINT),
        (HOLDS, signal.SIGHUP),
        (HOLDS, signal.SIGKILL),
    ],
)
def test_a_signal_to_the_harness_ends_its_program(tmp_path, how, number, text):
    (tmp_path / "scratch").mkdir()
    code = HARNESS.format(text=text, run=how)
    with subprocess.Popen([*PYTHON, code], cwd=tmp_path, stderr=subprocess.DEVNULL) as harness:
        program = number_in(tmp_path / "pid")
        if how == HOLDS:
            wait_until((tmp_path / "held").exists)
        harness.send_signal(number)
        assert harness.wait(timeout=10) != 0
    assert ends(program)
    if how == HOLDS:
        wait_until(lambda: not (tmp_path / "scratch").exists())


def test_an_error_of_the_harness_ends_its_program(tmp_path):
    text = "echo $$ > pid; echo ready; exec sleep 600"
    code = HARNESS.format(text=text, run=FAILS)
    done = subprocess.run([*PYTHON, code], cwd=tmp_path, capture_output=True, check=False)
    assert b"ZeroDivisionError" in done.stderr
    assert ends(number_in(tmp_path / "pid"))


# -- a program that stays ---------------------------------------------------------------------


def test_lines_are_read_while_the_program_runs():
    with RunningProgram(["sh", "-c", "echo one; echo two >&2; exec sleep 600"]) as program:
        assert program.wait_for("two", 20)
        assert program.output == "one\ntwo\n"
        assert program.alive
    assert not program.alive
    program.close()


@pytest.mark.parametrize(("text", "seconds"), [("echo other", 20), ("exec sleep 600", 0.2)])
def test_a_line_that_does_not_come(text, seconds):
    with RunningProgram(["sh", "-c", text]) as program, within(10):
        assert not program.wait_for("wanted", seconds)


def test_a_program_has_its_grace_after_sigterm():
    text = "trap 'sleep 0.2; echo saved; exit 0' TERM; echo ready; while :; do sleep 0.01; done"
    with RunningProgram(["sh", "-c", text], grace=20.0) as program:
        assert program.wait_for("ready", 20)
    assert program.output == "ready\nsaved\n"


def test_a_program_that_does_not_take_its_grace_is_killed(tmp_path):
    with (
        within(10),
        RunningProgram(["sh", "-c", IGNORES_SIGNALS], folder=tmp_path, grace=0.2) as program,
    ):
        number_in(tmp_path / "pid")
    assert not program.alive


def test_an_open_input_stays_open_and_silent():
    text = "echo ready; read line; echo $?"
    with RunningProgram(["sh", "-c", text], open_input=True, grace=20.0) as program:
        assert program.wait_for("ready", 20)
        assert not program.wait_for("1", 0.2)
    assert program.output.startswith("ready\n")


def test_descriptors_are_inherited():
    ours, theirs = os.pipe()
    with RunningProgram(
        ["sh", "-c", f"echo hello > /dev/fd/{theirs}"], descriptors=[theirs]
    ) as program:
        os.close(theirs)
        program.wait(20)
        assert os.read(ours, 100) == b"hello\n"
    os.close(ours)


def test_the_scratch_folder_goes_with_the_program(tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with RunningProgram(
        ["sh", "-c", "touch file; exec sleep 600"], folder=scratch, scratch=scratch
    ):
        assert scratch.exists()
    assert not scratch.exists()


def test_a_program_that_does_not_start_leaves_nothing(tmp_path):
    (tmp_path / "scratch").mkdir()
    with pytest.raises(ProgramMissing):
        RunningProgram(["/nowhere"], scratch=tmp_path / "scratch")
    assert list(tmp_path.iterdir()) == []


# -- on the terminal --------------------------------------------------------------------------


def test_an_interactive_program_has_the_streams_of_the_harness(capfd):
    assert process.interactive(["sh", "-c", "echo out; echo err >&2; exit 3"]) == 3
    assert capfd.readouterr() == ("out\n", "err\n")


def test_an_interactive_program_ends_if_its_poll_fails(tmp_path):
    pid = tmp_path / "pid"

    def poll() -> None:
        if pid.exists() and pid.read_text().endswith("\n"):
            raise ZeroDivisionError
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError):
        process.interactive(["sh", "-c", f"echo $$ > {pid}; exec sleep 600"], poll)
    assert ends(int(pid.read_text()))


INTERACTIVE = """
import sys
from harness.base import process, signals
try:
    with signals.raised():
        code = process.interactive(["sh", "-c", sys.argv[1]])
    print("code", code)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("trap 'exit 7' INT; echo $$ > pid; while :; do sleep 0.01; done", "code 7\n"),
        ("echo $$ > pid; exec sleep 600", "interrupted\n"),
    ],
)
def test_ctrl_c_is_for_the_interactive_program(tmp_path, text, outcome):
    with subprocess.Popen(
        [*PYTHON, INTERACTIVE, text], cwd=tmp_path, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as harness:  # fmt: skip
        number_in(tmp_path / "pid")
        os.killpg(harness.pid, signal.SIGINT)
        assert harness.communicate(timeout=20)[0] == outcome


# -- small functions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("output", "line"),
    [("", "none"), ("\n \n", "none"), ("one\n two \n\n", "two"), ("x" * 10, "x" * 10)],
)
def test_last_line(output, line):
    assert process.last_line(output, "none") == line
