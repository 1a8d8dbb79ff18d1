"""From a board to a session and back, with a flash tool of a few lines of shell."""

from __future__ import annotations

from dataclasses import replace

from board_desk import BOOT, SERIAL, Desk, Source, Start, free

from harness.elf import Image
from harness.targets.base import ConsoleMatch, Stop
from harness.targets.board.discovery import BenchBoard
from harness.targets.board.lab import Lab
from harness.targets.board.opening import Opening


def test_board_is_locked_flashed_reset_and_read_from_its_boot_on(
    desk: Desk, lab: Lab, start: Start, firmware: Image
) -> None:
    desk.says = b"the image before\n" + BOOT + b"hello\n"
    session = start()
    assert desk.calls == ["fw-verify", "program", "fw-verify", "reset"]
    assert session.run(ConsoleMatch(b"hello\n"), session.deadline(5)) is Stop.CONDITION
    assert session.read() == BOOT + b"hello\n"
    assert (session.target, session.findings) == ("board", ())
    assert (session.flashed.programmed, session.flashed.size) == (True, len(b"the image"))
    assert not free(lab)
    session.reset()
    assert desk.calls[-1] == "reset"
    session.close()
    assert free(lab)


def test_an_image_that_is_there_is_only_reset_unless_it_is_to_be_flashed(
    desk: Desk, start: Start
) -> None:
    start().close()
    again = start()
    again.close()
    assert desk.calls[4:] == ["fw-verify", "reset"]
    assert (again.flashed.programmed, again.flashed.size) == (False, 0)
    assert start(reflash=True).flashed.programmed


def test_board_without_a_banner_is_read_from_its_reset_on(
    desk: Desk, lab: Lab, start: Start
) -> None:
    desk.says = b"no banner\n"
    session = start(lab=replace(lab, policy=replace(lab.policy, settle_seconds=0.1)))
    assert session.run(ConsoleMatch(b"banner\n"), session.deadline(5)) is Stop.CONDITION
    assert session.read() == b"no banner\n"
    assert len(session.findings) == 1


def test_port_has_the_boards_rate_unless_an_option_overrules_it(desk: Desk, start: Start) -> None:
    slow = replace(desk.board, baud=9600)
    for baud, used in ((0, 9600), (57600, 57600)):
        session = start(source=Source(lambda: slow), baud=baud)
        assert session._port.baud == used
        session.close()


def test_runner_is_the_options_else_the_boards_else_the_first_installed(
    desk: Desk, lab: Lab, firmware: Image
) -> None:
    def chosen(board: BenchBoard, runner: str = "") -> str:
        opening = Opening(firmware, lab=lab, source=desk, runner=runner)
        return opening.flasher(board).runner.name

    named = replace(desk.board, runner="jlink", probe_host="far")
    assert chosen(named, "pyocd") == "pyocd"
    assert chosen(named) == "jlink"
    assert chosen(desk.board) == "nrfutil"
    flasher = Opening(firmware, lab=lab, source=desk).flasher(named)
    assert (flasher.runner.serial, flasher.runner.host) == (SERIAL, "far")
    assert flasher.runner.seconds == lab.policy.flash_seconds
