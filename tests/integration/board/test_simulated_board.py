"""A real image on the virtual board: the simulator behind the pseudo-terminal."""

from __future__ import annotations

import needs
import pytest

from harness.elf import Image
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


@pytest.mark.slow
def test_the_console_is_the_simulators_byte_for_byte(dk, run, hello_world):
    from harness import targets

    with targets.open_target("simulator", hello_world) as simulator:
        assert simulator.run(END, simulator.deadline(60)) is Stop.CONDITION
        expected = records(simulator)
    board = dk(play=False)
    session = run(hello_world)
    assert session.run(END, session.deadline(60)) is Stop.CONDITION
    assert records(session) == expected
    assert session.counters.instructions > 0
    assert board.do("info")["halted"] == ""


@pytest.mark.slow
def test_ram_is_read_through_the_boards_probe(dk, run, hello_world):
    dk(play=False)
    session = run(hello_world)
    session.run(END, session.deadline(60))
    stack = int.from_bytes(session.memory.read(0, 4), "little")
    assert 0x2000_0000 < stack <= 0x2004_0000
    assert len(session.memory.read(stack - 64, 64)) == 64


@pytest.mark.slow
def test_an_image_that_is_reflashed_runs_from_its_start(dk, run, hello_world):
    dk(play=False)
    for _ in range(2):
        with run(hello_world, reflash=True) as session:
            assert session.run(END, session.deadline(60)) is Stop.CONDITION
            assert records(session)[0].startswith(b"~HIL 0 boot ")
