"""Errors of gdb, its server and its port are reported before the image runs."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import needs
import pytest

from harness.base.errors import EnvironmentMissing
from harness.debug.gdb import GdbCall, debug, find_gdb, free_port, listen


def program(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def test_a_port_that_is_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        number = taken.getsockname()[1]
        with pytest.raises(EnvironmentMissing, match=f":{number}: Address already in use"):
            listen(number)
    listen(number).close()


@pytest.mark.parametrize("text", ["exit 1", "echo hello", "not-a-command"])
def test_a_program_that_is_not_a_gdb_for_arm_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EnvironmentMissing, match="is not a gdb for Arm"):
        find_gdb(program(tmp_path, text))


def test_a_file_that_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gdb"
    path.write_bytes(b"\x7fELFnonsense")
    path.chmod(0o755)
    with pytest.raises(EnvironmentMissing, match="is not a gdb for Arm"):
        find_gdb(str(path))


def test_a_gdb_for_arm_is_taken() -> None:
    found = needs.require("gdb-multiarch")
    assert find_gdb(found) == found


class Idle:
    """Something to debug that does nothing."""

    note = ""

    def begin(self) -> None:
        pass

    def poll(self) -> None:
        pass


def test_a_server_that_does_not_start_is_an_error_with_its_last_line(tmp_path: Path) -> None:
    server = [sys.executable, "-c", "print('first', flush=True); raise SystemExit('no probe')"]
    with pytest.raises(EnvironmentMissing, match="did not start: no probe"):
        debug(Idle(), server, GdbCall(None), tmp_path / "a.elf", lambda _: None)


def test_a_server_that_ends_by_itself_is_an_error(tmp_path: Path) -> None:
    serve = (
        "import socket, sys, time\n"
        "made = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
        "time.sleep(0.5)\nsys.exit('the probe has gone')"
    )
    said: list[str] = []
    port = free_port()
    with pytest.raises(EnvironmentMissing, match="the gdb server ended: the probe has gone"):
        debug(Idle(), [sys.executable, "-c", serve], GdbCall(None, port=port), tmp_path / "a.elf",
              said.append)  # fmt: skip
    assert said == [f"gdb: target remote 127.0.0.1:{port}"]
