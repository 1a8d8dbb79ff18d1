"""gdb on a board: the gdb server, gdb's first commands, the console."""

from __future__ import annotations

import pytest

from harness.base.errors import EnvironmentMissing, Unsupported
from harness.base.platforms import board_table
from harness.debug import board as boards
from harness.debug.replay import Breakpoint
from harness.targets.board.discovery import BenchBoard

REAL = BenchBoard("dk1", "000960012345", port="/dev/ttyACM0")
VIRTUAL = BenchBoard("v", "960000001", port="/tmp/tty", remote_probe="127.0.0.1:4711",
                     control="folder")  # fmt: skip
FAULT = Breakpoint("fault", "fault")


@pytest.fixture
def without_pyocd(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)


KIT = board_table()


@pytest.fixture
def with_pyocd(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())


@pytest.mark.parametrize(
    ("board", "uid"), [(REAL, "960012345"), (VIRTUAL, "remote:127.0.0.1:4711")]
)
def test_pyocd_finds_the_board_by_its_probe(board, uid, with_pyocd):
    command = boards.server_command(board, KIT, None)
    assert command[2:4] == ["pyocd", "gdbserver"]
    assert command[command.index("--uid") + 1] == uid
    assert command[command.index("--connect") + 1] == "halt"
    assert "auto_unlock=false" in command
    assert command[-1] == "--port"


def test_faults_halt_only_for_the_breakpoint_fault(with_pyocd):
    assert "vector_catch=h" in boards.server_command(REAL, KIT, None)
    assert "vector_catch=hbmiscp" in boards.server_command(REAL, KIT, FAULT)


def test_jlinks_server_is_the_fallback_for_a_real_board(without_pyocd, monkeypatch, tmp_path):
    program = tmp_path / "JLinkGDBServerCLExe"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    command = boards.server_command(REAL, KIT, None)
    assert command[0] == str(program)
    assert command[-1] == "-port"
    for words in ("-select USB=960012345", "-device nRF9160_xxAA", "-if SWD", "-localhostonly"):
        assert words in " ".join(command)
    with pytest.raises(EnvironmentMissing, match="needs pyOCD"):
        boards.server_command(VIRTUAL, KIT, None)


def test_a_missing_server_is_an_error(without_pyocd, monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(
        EnvironmentMissing, match="not installed, nor is J-Link's gdb server"
    ) as refused:
        boards.server_command(REAL, KIT, None)
    assert refused.value.exit_code == 3


@pytest.mark.parametrize(
    ("place", "commands"),
    [(None, []), (FAULT, ["continue"]),
     (Breakpoint("main", 0x464), ["tbreak *0x464", "ignore $bpnum 0", "continue"]),
     (Breakpoint("inference 3", 0x464, hit=3),
      ["tbreak *0x464", "ignore $bpnum 2", "continue"])],
)  # fmt: skip
def test_gdb_runs_from_reset_to_a_breakpoint(place, commands):
    assert boards.first_commands(place, "board") == ["monitor reset halt", *commands]


@pytest.mark.parametrize("place", [Breakpoint("fault-10", "fault", 10), Breakpoint("hang", "hang")])
def test_a_board_has_no_repeatable_runs(place):
    with pytest.raises(Unsupported, match=f"'board' cannot stop at {place.text}"):
        boards.first_commands(place, "board")


class Session:
    """A board's session that has said something."""

    board = REAL

    def __init__(self):
        self.said = b"before"

    def read(self):
        said, self.said = self.said, b""
        return said


def test_console_output_is_shown_once_the_debugger_is_connected():
    session, shown = Session(), []
    debuggee = boards.DebuggedBoard(session, shown.append)
    debuggee.poll()
    debuggee.begin()
    debuggee.poll()
    session.said = b"behind"
    debuggee.poll()
    assert shown == [b"behind"]
    assert debuggee.note == "console: /dev/ttyACM0"
