"""The bench flow on a virtual board, from discovery to the last record."""

from __future__ import annotations

import time

import needs
import pytest
from firmwares import build  # noqa: F401

from harness.base.errors import EnvironmentMissing, Unsupported, UsageError
from harness.debug.report import StateReporter
from harness.targets import open_target
from harness.targets.base import ConsoleMatch, Elapsed, Executed, Stop
from harness.targets.board.discovery import attached
from harness.targets.board.lab import Lab

END = ConsoleMatch(rb"~HIL \d+ end [^\n]*\n")


def text(session):
    return b"".join(chunk.data for chunk in session.console)


@pytest.mark.parametrize(
    "runner", ["nrfutil", "nrfjprog", "jlink", pytest.param("pyocd", marks=pytest.mark.slow)]
)
def test_each_runner_flashes_resets_and_the_image_speaks(
    dk, run, firmware, runner, runner_installed
):
    runner_installed(runner)
    dk()
    image = firmware("alpha")
    session = run(image, runner=runner)
    assert session.flashed.programmed
    assert session.run(END, session.deadline(10)) is Stop.CONDITION
    assert text(session) == image.segments[0].data


def test_west_flashes_what_lies_in_a_zephyr_build_folder(dk, run, firmware, tmp_path):
    from harness.elf import Image

    dk()
    folder = tmp_path / "build"
    (folder / "zephyr").mkdir(parents=True)
    (folder / "CMakeCache.txt").touch()
    elf = folder / "zephyr" / "zephyr.elf"
    elf.write_bytes(firmware("alpha").data)
    session = run(Image.from_elf(elf), runner="west")
    assert session.run(END, session.deadline(10)) is Stop.CONDITION
    session.close()
    with pytest.raises(UsageError, match="Zephyr build folder"):
        run(firmware("beta"), runner="west")


@pytest.mark.slow
def test_an_image_that_is_in_flash_already_is_not_flashed_again(dk, run, firmware):
    dk()
    run(firmware("alpha")).close()
    again = run(firmware("alpha"))
    assert not again.flashed.programmed
    assert again.run(END, again.deadline(10)) is Stop.CONDITION
    again.close()
    other = run(firmware("beta"))
    assert other.flashed.programmed
    other.close()
    assert run(firmware("beta"), reflash=True).flashed.programmed


def test_bytes_of_the_image_before_are_dropped(dk, run, firmware):
    dk(baud=115200)
    first = run(firmware("alpha", filler=400))
    first.run(Elapsed(0.3), first.deadline(5))
    first.close()  # in the middle of its output
    second = run(firmware("beta"))
    assert second.run(END, second.deadline(10)) is Stop.CONDITION
    assert text(second) == firmware("beta").segments[0].data


def test_a_session_writes_and_resets(dk, run, firmware):
    dk()
    session = run(firmware("alpha"))
    session.run(END, session.deadline(10))
    session.write(b"hello board\r\n")
    assert session.run(ConsoleMatch(b"hello board"), session.deadline(5)) is Stop.CONDITION
    session.reset()
    assert session.run(END, session.deadline(10)) is Stop.CONDITION
    assert session.counters.resets == 1
    assert text(session).count(b"~HIL 0 boot ") == 2
    assert session.findings == ()


def test_console_is_only_ever_appended_to_and_read_gives_each_byte_once(dk, run, firmware):
    dk()
    session = run(firmware("alpha", filler=50))
    taken, got = 0, b""
    session.run(ConsoleMatch(b"line 00010"), session.deadline(10))
    for chunk in list(session.console)[taken:]:
        got += chunk.data
    taken = len(session.console)
    session.run(END, session.deadline(10))
    for chunk in list(session.console)[taken:]:
        got += chunk.data
    assert got == firmware("alpha", filler=50).segments[0].data == session.read()
    assert session.read() == b""


def test_a_virtual_boards_ticks_are_instructions_and_never_cycles(dk, run, firmware):
    dk()
    session = run(firmware("alpha"))
    session.run(END, session.deadline(10))
    counters = session.counters
    assert (counters.source, counters.instructions, counters.cycles) == ("simulator", 5344, None)


def test_memory_is_read_while_the_board_runs(dk, run, firmware):
    needs.require("pyocd")
    dk()
    session = run(firmware("alpha"))
    assert session.memory.read(0, 16) == firmware("alpha").segments[0].data[:16]


@pytest.mark.slow
def test_a_board_that_hangs_has_a_call_stack_as_often_as_one_looks(build):  # noqa: F811
    needs.require("pyocd")
    image = build("deep")
    with open_target("virtual-board", image) as session:
        limit = session.deadline(30)
        reporter = StateReporter(image, session.power_on)
        while "Divide at deep.c:" not in reporter.threads(session.core_state):
            assert session.run(Elapsed(0.05), limit) is Stop.CONDITION
        state = session.core_state
        place, stacks = reporter.place(state), reporter.threads(state)
    assert place.startswith("Stop")
    assert "Inner at deep.c:25  <- EGU0 (IRQ27)" in stacks
    assert "Outer at deep.c:" in stacks


def test_what_needs_a_debugger_is_refused_by_name(dk, run, firmware):
    dk()
    session = run(firmware("alpha"))
    with pytest.raises(Unsupported, match=r"virtual-board.*Executed"):
        session.run(Executed(1000), session.deadline(1))


def test_the_console_is_the_lowest_interface_of_three_ports(dk, bench):
    dk()
    (board,) = attached(Lab(), ports=list, bench=bench)
    assert len(board.ports) == 3
    assert board.port.endswith("ttyACM0")
    assert "VCOM0" in board.how


def test_two_boards_and_none_named_is_an_error_that_lists_both(dk, run, firmware):
    dk("960000001")
    dk("960000002")
    with pytest.raises(UsageError) as caught:
        run(firmware())
    assert "960000001" in str(caught.value)
    assert "960000002" in str(caught.value)
    session = run(firmware(), board="960000002")
    assert session.board.probe == "960000002"


def test_no_board_is_an_environment_error(run, firmware, monkeypatch):
    monkeypatch.setattr("serial.tools.list_ports.comports", list)
    with pytest.raises(EnvironmentMissing, match="no board is attached"):
        run(firmware())


def test_output_is_paced_to_the_baud_rate(dk, run, firmware):
    dk(baud=115200)
    started = time.monotonic()  # before the first byte
    session = run(firmware("alpha", filler=200))
    session.run(END, session.deadline(10))
    size = len(text(session))
    assert size / (time.monotonic() - started) < 1.5 * 115200 / 10
