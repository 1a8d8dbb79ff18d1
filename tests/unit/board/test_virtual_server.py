"""A virtual board: its ports, its chip, its misbehaviours."""

from __future__ import annotations

import fcntl
import os
import termios
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from virtual_boards import SERIAL, TEXT, Plugged, Recorder

from harness.base.platforms import board_table
from harness.targets.board.discovery import on_bench
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.chip import TranscriptChip
from harness.targets.board.virtual.line import Terminal
from harness.targets.board.virtual.misbehaviour import parse
from harness.targets.board.virtual.server import VirtualBoard


def set_rate(handle: int, rate: int) -> None:
    settings = termios.tcgetattr(handle)
    settings[4] = settings[5] = getattr(termios, f"B{rate}")
    termios.tcsetattr(handle, termios.TCSANOW, settings)


def port(board: VirtualBoard, rate: int = 0) -> int:
    """The host's end of the console, open at the board's rate or another."""
    handle = os.open(board.terminals[0].link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    set_rate(handle, rate or board.baud)
    return handle


def heard(board: VirtualBoard, handle: int, enough: Callable[[bytes], bool]) -> bytes:
    """What comes at ``handle`` until it is enough, or nothing more can come."""
    got = b""
    limit = time.monotonic() + 3
    while not enough(got) and time.monotonic() < limit:
        board.turn()
        try:
            got += os.read(handle, 4096)
        except BlockingIOError:
            if board.chip.idle and not board.line.waiting and not board.outgoing:
                break
        except OSError:
            break  # it was unplugged
    return got


def everything(board: VirtualBoard, handle: int) -> bytes:
    return heard(board, handle, lambda _: False)


# -- the bus ----------------------------------------------------------------------------------


def test_a_board_shows_its_name_its_serial_number_and_three_ports(plugged: Plugged) -> None:
    board = plugged(name="mine")
    published = benches.read(board.folder)
    assert published is not None
    assert (published.name, published.serial, published.pid) == ("mine", SERIAL, os.getpid())
    assert published.baud == 1_000_000
    assert [(Path(device).name, usb) for device, usb in published.ports] == [
        ("ttyACM0", 0), ("ttyACM1", 2), ("ttyACM2", 4)
    ]  # fmt: skip
    assert all(Path(device).exists() for device, _ in published.ports)


def test_a_board_without_a_name_is_called_after_its_serial_number(tmp_path: Path) -> None:
    board = VirtualBoard(tmp_path, SERIAL, Recorder())
    assert (board.name, board.baud) == (f"virtual-{SERIAL}", 115200)


@pytest.mark.parametrize(("wrong", "ports"), [("", (0, 1, 2)), ("rename", (3, 4, 5))])
def test_an_unplugged_board_comes_back_in_its_time_and_starts_anew(
    plugged: Plugged, wrong: str, ports: tuple[int, ...]
) -> None:
    board = plugged(misbehave=[wrong] if wrong else [])
    board.reset()
    before = list(board.folder.glob("ttyACM*"))
    board.unplug(0.1)
    assert benches.read(board.folder).ports == ()
    assert not any(os.path.lexists(path) for path in before)
    assert 0 < board.turn() <= 0.05
    assert not board.terminals
    time.sleep(0.1)
    board.turn()
    found = [Path(device).name for device, _ in benches.read(board.folder).ports]
    assert found == [f"ttyACM{number}" for number in ports]
    assert board.resets == 2
    handle = port(board)
    board.reset()
    assert everything(board, handle).endswith(TEXT)


def test_turn_waits_at_most_until_an_unplugged_board_returns(plugged: Plugged) -> None:
    board = plugged()
    board.unplug(10)
    assert board.turn() == 0.05
    board.back_at = time.monotonic() + 0.01
    assert 0 < board.turn() <= 0.01
    board.receive()  # its selector had woken: nothing is there


def test_a_closed_board_has_left_the_bench(plugged: Plugged) -> None:
    board = plugged()
    links = [terminal.link for terminal in board.terminals]
    board.close()
    board.terminals = []
    assert benches.read(board.folder) is None
    assert not any(os.path.lexists(link) for link in links)


def test_terminal_knows_the_rate_that_the_host_has_set(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "tty", 0)
    for rate in (9600, 1_000_000, 0):
        set_rate(terminal.master, rate)
        assert terminal.rate == rate
    terminal.close()
    assert not os.path.lexists(tmp_path / "tty")


# -- the console ------------------------------------------------------------------------------


def test_output_of_the_image_comes_out_of_the_first_port(plugged: Plugged) -> None:
    board = plugged()
    handle = port(board)
    board.reset()
    assert everything(board, handle) == TEXT
    assert board.sent == len(TEXT)
    board.reset()
    assert everything(board, handle) == TEXT
    assert board.resets == 2


def test_input_of_the_host_reaches_the_chip(plugged: Plugged) -> None:
    board = plugged()
    os.write(port(board), b"hello\0\xff\r")
    ((key, _),) = board.selector.select(1)
    key.data()
    assert board.chip.fed == b"hello\0\xff\r"


@pytest.mark.slow
def test_the_board_rests_while_nothing_can_happen(plugged: Plugged) -> None:
    board = plugged(baud=9600)
    handle = port(board)
    assert board.turn() == 0.2 and board.chip.steps == 0  # not started yet
    board.reset()
    assert board.turn() == 0.002 and board.chip.steps == 1  # the wire is busy, the chip sleeps
    everything(board, handle)
    assert board.turn() == 0.2 and board.chip.steps == 1
    board.chip.idle = False
    board.chip.step = lambda seconds: b""  # it computes in silence
    assert board.turn() == 0.0


def test_the_chip_waits_while_4096_bytes_are_on_the_wire(plugged: Plugged) -> None:
    for waiting, steps in ((4095, 1), (4096, 0)):
        board = plugged(baud=9600)
        port(board)
        board.reset()
        board.line.push(bytes(waiting), board.wrong)
        board.turn()
        assert board.chip.steps == steps
        board.unplug(10)


@pytest.mark.slow
def test_a_host_that_does_not_read_is_waited_for_and_nothing_is_lost(plugged: Plugged) -> None:
    long = bytes(range(32, 127)) * 300
    board = plugged(long)
    handle = port(board)
    board.reset()
    while not board.outgoing:  # until the terminal's buffer is full
        pause = board.turn()
    assert pause == 0.002
    assert heard(board, handle, lambda got: len(got) == len(long)) == long


@pytest.mark.slow
def test_reset_drops_output_that_was_not_sent(plugged: Plugged) -> None:
    board = plugged(baud=9600)
    handle = port(board)
    board.reset()
    first = heard(board, handle, lambda got: len(got) > 5)
    board.reset()
    assert (board.outgoing, board.sent, board.line.waiting) == (b"", 0, 0)
    assert everything(board, handle) == TEXT
    assert TEXT.startswith(first)


# -- what goes wrong --------------------------------------------------------------------------


def test_a_board_leaves_the_bus_once_after_exactly_so_many_bytes(plugged: Plugged) -> None:
    board = plugged(misbehave=["unplug-after=123", "gone=50"])
    board.reset()
    said = 0
    while board.terminals:
        board.turn()
        said = max(said, board.sent)
    assert said == 123
    time.sleep(0.05)
    board.turn()
    handle = port(board)
    board.reset()
    assert everything(board, handle).endswith(TEXT)


def test_a_chip_that_resets_itself_does_so_after_exactly_so_many_bytes_again_and_again(
    plugged: Plugged,
) -> None:
    board = plugged(misbehave=["reset-loop=7"])
    handle = port(board)
    board.reset()
    got = heard(board, handle, lambda got: len(got) >= 35)
    assert got[:35] == TEXT[:7] * 5
    assert board.resets >= 5


def test_a_board_at_another_rate_than_the_host_is_garbage(plugged: Plugged) -> None:
    board = plugged(misbehave=["baud=57600"])
    handle = port(board, 115200)
    board.reset()
    garbage = everything(board, handle)
    assert garbage and not garbage.startswith(TEXT[:3])
    board.wrong = parse(["baud=115200"])
    board.reset()
    assert everything(board, handle) == TEXT


def test_a_busy_board_has_its_console_port_locked_by_another_process(plugged: Plugged) -> None:
    board = plugged(misbehave=["busy"])
    handle = port(board)
    with pytest.raises(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    board.answer({"do": "misbehave", "names": []})
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert board.holder is None


def test_a_board_of_another_kit_shows_its_ports_and_its_chip(tmp_path: Path) -> None:
    board = VirtualBoard(tmp_path, SERIAL, TranscriptChip(board_table("nrf9151dk")))
    board.plug()
    try:
        (found,) = on_bench(tmp_path)
        assert (found.chip, found.kit) == ("nrf9151", "virtual nRF9151 DK (PCA10171)")
        assert len(found.ports) == 2
        assert found.rate == 115_200
    finally:
        board.close()
