"""Unmodified pyOCD and gdb on the simulator's debug port."""

import subprocess
import sys
import threading
from contextlib import contextmanager

import needs
import pytest
from firmwares import build  # noqa: F401

from harness.debug.replay import Rerun
from harness.debug.simulator import DebuggedSimulator
from harness.simulator import Machine

pytestmark = pytest.mark.needs("pyocd")


@contextmanager
def serving(image):
    """The probe's id; the simulator is served by a thread."""
    session = DebuggedSimulator(Rerun(Machine(image)), lambda _: None)
    over = threading.Event()

    def poll():
        while not over.is_set():
            session.poll()

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield session, f"remote:127.0.0.1:{session.server.number}"
    finally:
        over.set()
        thread.join()
        session.close()
        session.port.machine.close()


def pyocd(probe, subcommand, *words):
    command = [
        sys.executable,
        "-m",
        "pyocd",
        subcommand,
        "--no-config",
        "--no-wait",
        "--uid",
        probe,
    ]
    done = subprocess.run([*command, "--target", "nrf91", *words], capture_output=True, text=True,
                          check=False, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def hex_file(image, folder):
    """The image as plain bytes, which pyOCD loads at address 0."""
    segment = image.segments[0]
    path = folder / "image.bin"
    path.write_bytes(segment.data.ljust(-len(segment.data) % 4 + len(segment.data), b"\xff"))
    return path


@pytest.mark.slow
def test_pyocd_loads_compares_resets_and_erases(build, tmp_path):  # noqa: F811
    with serving(build("counter")) as (session, probe):
        content = hex_file(build("nullcall"), tmp_path)
        said = pyocd(
            probe, "load", "--erase", "sector", "--no-reset", "--format", "bin", str(content)
        )
        assert "programmed 4096 bytes" in said
        said = pyocd(probe, "commander", "--connect", "attach", "-c", f"compare 0 {content}")
        assert f"All {content.stat().st_size} bytes match" in said
        pyocd(probe, "reset", "--method", "hw")
        assert "before" in wait_for(session, b"before")
        pyocd(probe, "erase", "--chip")
        said = pyocd(probe, "commander", "-c", "read32 0 16")
        assert "ffffffff ffffffff ffffffff ffffffff" in said


def wait_for(session, text):
    for _ in range(500):
        printed = session.port.machine.console.since(0)
        if text in printed:
            break
        threading.Event().wait(0.01)
    return printed.decode()


def test_commander_halts_reads_and_resumes(build):  # noqa: F811
    with serving(build("counter")) as (_, probe):
        commands = ("halt", "reg pc", "status", "read32 0xe000ed00", "step", "go", "status")
        said = pyocd(probe, "commander", *(word for one in commands for word in ("-c", one)))
    assert "Halted" in said
    assert "410fd213" in said


@pytest.fixture
def gdb():
    return needs.require("gdb-multiarch")


def debug(image, commands, tmp_path, *options):
    script = tmp_path / "commands.gdb"
    script.write_text("\n".join(commands) + "\n", encoding="utf-8")
    words = ["-m", "harness", "debug", str(image.path), "--batch", str(script), *options]
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False,
                          timeout=180)  # fmt: skip


SESSION = (
    "break Rtc0", "watch results[2]", "continue", "print results[2]", "delete 3", "backtrace",
    "stepi", "info registers pc", "print $s0", "info threads", "continue", "backtrace", "delete",
    "detach",
)  # fmt: skip


@pytest.mark.slow
def test_a_scripted_session_with_gdb(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("counter"), SESSION, tmp_path, "--at", "Main")
    assert done.returncode == 0, done.stdout + done.stderr
    for seen in ("Temporary breakpoint 1, Main", "SIGTRAP", "$1 = 1", "Main () at", "Thread 1",
                 "Breakpoint 2, Rtc0", "<signal handler called>", "detached"):  # fmt: skip
        assert seen in done.stdout, f"{seen}: {done.stdout}{done.stderr}"


@pytest.mark.slow
def test_at_fault_stops_before_the_fault(build, tmp_path, gdb):  # noqa: F811
    commands = ("print callee", "backtrace", "stepi", "stepi", "kill")
    done = debug(build("nullcall"), commands, tmp_path, "--at", "fault-1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Caller" in done.stdout
    assert "before" in done.stderr  # the console


@pytest.mark.slow
def test_at_hang_stops_where_the_core_sleeps_for_good(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("counter"), ("backtrace", "info threads"), tmp_path, "--at", "hang")
    assert done.returncode == 0, done.stdout + done.stderr
    for seen in ("Temporary breakpoint 1", "#0  Reset () at", "Thread 1"):
        assert seen in done.stdout, f"{seen}: {done.stdout}{done.stderr}"


@pytest.mark.slow
def test_a_scripted_session_on_the_virtual_board(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("counter"), SESSION, tmp_path, "--at", "Main", "--target", "virtual-board")
    assert done.returncode == 0, done.stdout + done.stderr
    for seen in ("Temporary breakpoint 1, Main", "SIGTRAP", "$1 = 1", "Thread 1",
                 "Breakpoint 2, Rtc0", "<signal handler called>", "detached"):  # fmt: skip
        assert seen in done.stdout, f"{seen}: {done.stdout}{done.stderr}"


@pytest.mark.slow
def test_at_fault_halts_the_virtual_board_in_the_handler(build, tmp_path, gdb):  # noqa: F811
    commands = ("backtrace", "detach")
    done = debug(build("nullcall"), commands, tmp_path, "--at", "fault", "--target",
                 "virtual-board")  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<signal handler called>" in done.stdout
    assert done.stderr.count("before") == 1  # the console, from the debugger's reset on


def test_a_board_cannot_stop_before_a_fault(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("nullcall"), (), tmp_path, "--at", "fault-9", "--target", "virtual-board")
    assert (done.returncode, "cannot stop at fault-9" in done.stderr) == (2, True)


def test_options_of_another_target_are_refused(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("counter"), (), tmp_path, "--board", "dk1")
    assert (done.returncode, "--board cannot be used here" in done.stderr) == (2, True)


STEPS = (
    "set var results[2] = 4", "break Recurse", "continue", "next", "step", "backtrace", "continue",
    "delete", "up", "info args", "finish", "awatch results[0]", "continue",
    "print results[0] == $", "delete", "info registers", "thread apply all backtrace",
    "monitor reset halt", "info registers pc", "hbreak Print", "continue", "backtrace", "detach",
)  # fmt: skip
SEEN = (
    "Breakpoint 2, Recurse (depth=depth@entry=0)", "#1  0x", "in Start () at",
    "Breakpoint 2, Recurse (depth=depth@entry=1)", "depth = 0", "Value returned is $1 = ",
    "Hardware access (read/write) watchpoint 3", "$2 = 1", "fpscr", "psplim_s", "Thread 1 (",
    "Print (text=", "detached",
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("target", ["simulator", "virtual-board"])
def test_gdb_steps_finishes_and_starts_again(build, tmp_path, gdb, target):  # noqa: F811
    done = debug(build("overflow"), STEPS, tmp_path, "--at", "Main", "--target", target)
    assert done.returncode == 0, done.stdout + done.stderr
    rest = done.stdout
    for seen in SEEN:
        assert seen in rest, f"{seen}: {done.stdout}{done.stderr}"
        rest = rest.partition(seen)[2]


def test_an_error_in_the_commands_is_gdbs_exit_code(build, tmp_path, gdb):  # noqa: F811
    done = debug(build("counter"), ("print nothing_like_it",), tmp_path, "--at", "Main")
    assert done.returncode == 1
