"""Failures of opening a board: errors, quarantine, released resources."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from board_desk import SERIAL, Desk, Source, Start, free

from harness.base.errors import (
    BoardUnavailable,
    EnvironmentMissing,
    FlashFailed,
    PortBusy,
    TargetLost,
    UsageError,
)
from harness.elf import Image
from harness.elf.wrapped import wrap
from harness.targets.board import open as open_board
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import BoardEntry, Lab
from harness.targets.board.lock import ProbeLock
from harness.targets.board.opening import pins_of, require_chip, search_path
from harness.targets.board.policy import Quarantine
from harness.targets.board.virtual.client import VirtualPins

#: Keeps a serial port for itself until its standard input ends.
HOLDER = """
import fcntl, sys
port = open(sys.argv[1], "rb+", buffering=0)
fcntl.flock(port, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


# -- what fails -------------------------------------------------------------------------------


def test_a_failure_gives_everything_back(desk: Desk, lab: Lab, start: Start) -> None:
    desk.fails("program", 1)
    with pytest.raises(FlashFailed, match="no answer from the target"):
        start()
    assert free(lab)
    assert desk.cycles == []
    assert Quarantine(lab.state).note(SERIAL) is None  # the board itself is well
    start()


def test_a_board_is_power_cycled_before_it_is_tried_again(
    desk: Desk, lab: Lab, start: Start
) -> None:
    desk.fails("reset", 1)
    again = replace(lab, policy=replace(lab.policy, retries=1))
    assert start(lab=again).flashed.programmed is False  # it was programmed the first time
    assert desk.cycles == [f"mine {SERIAL}"]


def test_board_that_fails_its_health_check_is_in_quarantine(
    desk: Desk, lab: Lab, start: Start
) -> None:
    desk.fails("program", 1)
    gone = replace(desk.board, port="/dev/ttyNOWHERE")
    with pytest.raises(FlashFailed) as failed:
        start(source=Source(lambda: gone))
    ill = "mine: the port /dev/ttyNOWHERE does not exist"
    assert f"the board failed its health check ({ill}) and is now in quarantine" in (
        failed.value.hint
    )
    note = Quarantine(lab.state).note(SERIAL)
    assert note is not None
    first = failed.value.message.splitlines()[0]
    assert (note.board, note.reason) == ("mine", f"{ill}; before that: {first}")
    with pytest.raises(BoardUnavailable, match="in quarantine since"):
        start()
    assert free(lab)


def test_quarantine_reason_is_not_repeated(desk: Desk, lab: Lab, start: Start) -> None:
    gone = replace(desk.board, port="/dev/ttyNOWHERE")
    with pytest.raises(BoardUnavailable):
        start(source=Source(lambda: gone))
    assert Quarantine(lab.state).note(SERIAL).reason == (
        "mine: the port /dev/ttyNOWHERE does not exist"
    )


def test_a_lab_may_do_without_quarantine(desk: Desk, lab: Lab, start: Start) -> None:
    gone = replace(desk.board, port="/dev/ttyNOWHERE")
    without = replace(lab, policy=replace(lab.policy, quarantine=False))
    with pytest.raises(BoardUnavailable):
        start(source=Source(lambda: gone), lab=without)
    assert Quarantine(lab.state).note(SERIAL) is None


def test_port_that_is_open_elsewhere_is_not_the_boards_fault(
    desk: Desk, lab: Lab, start: Start
) -> None:
    command = [sys.executable, "-c", HOLDER, desk.wire.port]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(PortBusy, match=f"process {holder.pid}"):
            start()
        holder.stdin.close()
    assert desk.calls[-1] == "reset"
    assert Quarantine(lab.state).note(SERIAL) is None


def test_usage_error_puts_no_board_into_quarantine(desk: Desk, lab: Lab, start: Start) -> None:
    with pytest.raises(UsageError, match="no runner 'wand'"):
        start(runner="wand")
    assert desk.calls == []
    assert Quarantine(lab.state).note(SERIAL) is None


def test_a_board_that_left_the_bus_gets_time_to_come_back(
    desk: Desk, lab: Lab, start: Start
) -> None:
    found = [desk.board]

    def find() -> BenchBoard:
        if found:
            return found.pop()
        desk.plugged, was = True, desk.plugged
        if not was:
            raise EnvironmentMissing("no board is attached")
        return desk.board

    desk.plugged = False
    patient = replace(lab, policy=replace(lab.policy, return_seconds=5.0))
    assert start(source=Source(find), lab=patient).flashed.programmed


@pytest.mark.parametrize(
    ("later", "words"),
    [(None, ""),
     (BenchBoard("other", "960000002", "/dev/x"),
      "; found other (probe 960000002, port /dev/x) instead")],
)  # fmt: skip
def test_a_board_that_does_not_come_back_is_lost(
    desk: Desk, lab: Lab, start: Start, later: BenchBoard | None, words: str
) -> None:
    seen = [desk.board]

    def find() -> BenchBoard:
        if seen:
            return seen.pop()
        if later is None:
            raise EnvironmentMissing("no board is attached")
        return later

    with pytest.raises(TargetLost) as lost:
        start(source=Source(find))
    away = f"board {desk.board} left the bus and did not return within 0.1 s"
    assert lost.value.message == away + words
    assert Quarantine(lab.state).note(SERIAL) is not None


def test_a_board_that_is_in_use_is_refused_or_waited_for(
    desk: Desk, lab: Lab, start: Start
) -> None:
    first = start()
    with pytest.raises(BoardUnavailable, match="is held by"):
        start()
    threading.Timer(0.2, first.close).start()
    assert start(wait=10.0).flashed.programmed is False


def test_lock_of_a_crashed_run_is_taken_over_and_logged(
    desk: Desk, lab: Lab, start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    lock = ProbeLock(SERIAL.lstrip("0"), "mine", state=lab.state)
    lock.acquire()
    os.close(lock._handle)  # its process ends without a word
    caplog.set_level(logging.INFO, "harness")
    start()
    said = [record.getMessage() for record in caplog.records]
    assert any(text.startswith("took over the lock that ") for text in said)
    assert "mine: programmed and read back" in said


# -- what a session gets ----------------------------------------------------------------------


def test_only_a_virtual_board_has_pins(desk: Desk, tmp_path: Path) -> None:
    assert pins_of(desk.board) is None
    assert isinstance(pins_of(replace(desk.board, control=tmp_path)), VirtualPins)


def test_flash_tools_are_searched_on_path_and_beside_this_python(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    assert search_path() == f"/usr/bin:{Path(sys.executable).parent}"


def test_image_for_another_chip_than_the_boards_is_refused(desk: Desk, tmp_path: Path) -> None:
    carries = replace(desk.board, name="mine", chip="nrf9151")
    image = Image(tmp_path / "a.elf", wrap([(0, b"text")]), chip_name="nrf9160")
    with pytest.raises(UsageError, match="is for the nRF9160, but board mine has the nRF9151"):
        require_chip(carries, image)
    require_chip(replace(carries, chip="nrf9160"), image)
    require_chip(replace(carries, chip=""), image)  # the lab file does not say


# -- the door ---------------------------------------------------------------------------------


def test_a_board_of_the_lab_is_opened_by_name_variable_or_tag(
    desk: Desk, lab: Lab, firmware: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = tuple(
        BoardEntry(name=name, probe=probe, port=desk.wire.port, runner="nrfutil", tags=(name[0],))
        for name, probe in (("mine", SERIAL), ("other", "960000002"))
    )
    whole = replace(lab, entries=entries)
    monkeypatch.delenv("TFLM_HIL_BOARD", raising=False)
    with pytest.raises(UsageError, match="2 boards are attached"):
        open_board(firmware, lab=whole)
    for options in ({"board": "mine"}, {"board": "m", "baud": "9600"}):
        with open_board(firmware, lab=whole, wait="1", **options) as session:
            assert session.board.name == "mine"
            assert session._port.baud == int(options.get("baud", 115200))
            assert session.flashed.programmed is ("baud" not in options)  # the first time
    monkeypatch.setenv("TFLM_HIL_BOARD", "other")
    with open_board(firmware, lab=whole, reflash=True) as session:
        assert session.board.name == "other" and session.flashed.programmed


@pytest.mark.parametrize(
    "options", [{"baud": "fast"}, {"baud": -1}, {"wait": "-1"}, {"wait": "soon"}]
)
def test_invalid_rate_or_time_is_refused(
    lab: Lab, firmware: Image, options: dict[str, Any]
) -> None:
    with pytest.raises((UsageError, ValueError)):
        open_board(firmware, lab=lab, **options)


def test_a_probe_that_nobody_sees_is_an_error_of_the_lab_file_and_sets_no_board_aside(
    desk: Desk, lab: Lab, firmware: Image
) -> None:
    policy = replace(lab.policy, return_seconds=0.1)
    wrong = replace(lab, entries=(BoardEntry("dk7", "960077777"),), policy=policy)
    with pytest.raises(UsageError, match="names board dk7 by the probe 960077777") as refused:
        open_board(firmware, lab=wrong, board="dk7")
    assert refused.value.exit_code == 2
    assert Quarantine(lab.state).note("960077777") is None
