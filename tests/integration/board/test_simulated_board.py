"""A real image on the virtual board: the simulator behind the pseudo-terminal."""

from __future__ import annotations

import needs
import pytest

from harness.elf import Image
from harness.targets import open_target
from harness.targets.base import ConsoleMatch, Stop

END = ConsoleMatch(rb"~HIL \d+ end [^\n]*\n")


@pytest.fixture(scope="module")
def hello_world():
    from harness.build.builders import build_one

    needs.require("arm-none-eabi-gcc", "flatc")
    return Image.from_elf(build_one("hello_world", "exact", "standalone"))


def records(session):
    text = b"".join(chunk.data for chunk in session.console)
    return [line for line in text.splitlines() if b"~HIL" in line]


def test_the_console_is_the_simulators_byte_for_byte(dk, run, hello_world):
    with open_target("simulator", hello_world) as simulator:
        assert simulator.run(END, simulator.deadline(60)) is Stop.CONDITION
        expected = records(simulator)
    board = dk(play=False)
    session = run(hello_world)
    assert session.run(END, session.deadline(60)) is Stop.CONDITION
    assert records(session) == expected
    assert session.counters.instructions > 0
    assert board.do("info")["halted"] == ""


@pytest.mark.slow
def test_the_target_starts_a_board_for_its_session_which_pyocd_flashes_reads_and_resets(
    hello_world,
):
    needs.require("pyocd")
    with open_target("virtual-board", hello_world) as session:
        assert (session.target, session.flashed.programmed) == ("virtual-board", True)
        folder = session.board.control
        assert session.run(END, session.deadline(60)) is Stop.CONDITION
        stack = int.from_bytes(session.memory.read(0, 4), "little")
        assert 0x2000_0000 < stack <= 0x2004_0000
        assert len(session.memory.read(stack - 64, 64)) == 64
        session.reset()  # while the probe is open
        assert session.run(END, session.deadline(60)) is Stop.CONDITION
        assert [record[:11] for record in records(session)].count(b"~HIL 0 boot") == 2
    assert not folder.parent.exists()


@pytest.mark.slow
def test_an_image_that_is_reflashed_runs_from_its_start(dk, run, hello_world):
    dk(play=False)
    for _ in range(2):
        with run(hello_world, reflash=True) as session:
            assert session.run(END, session.deadline(60)) is Stop.CONDITION
            assert records(session)[0].startswith(b"~HIL 0 boot ")
