"""A virtual board: its ports and its console."""

from __future__ import annotations

import os
from pathlib import Path

from virtual_boards import SERIAL, TEXT, Plugged, everything, heard, port

from harness.base.platforms import board_table
from harness.targets.board.discovery import on_bench
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.chip import VirtualChip
from harness.targets.board.virtual.server import VirtualBoard

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
    board = VirtualBoard(tmp_path, SERIAL, VirtualChip(board_table()))
    assert (board.name, board.baud) == (f"virtual-{SERIAL}", 115200)


def test_a_closed_board_has_left_the_bench(plugged: Plugged) -> None:
    board = plugged()
    links = [terminal.link for terminal in board.terminals]
    board.close()
    board.terminals = []
    assert benches.read(board.folder) is None
    assert not any(os.path.lexists(link) for link in links)


# -- the console ------------------------------------------------------------------------------


def test_output_of_the_image_comes_out_of_the_first_port(plugged: Plugged) -> None:
    board = plugged()
    handle = port(board)
    board.reset()
    assert everything(board, handle) == TEXT
    board.reset()
    assert everything(board, handle) == TEXT
    assert board.resets == 2


def test_input_of_the_host_reaches_the_chip(plugged: Plugged) -> None:
    board = plugged()
    os.write(port(board), b"hello\0\xff\r")
    ((key, _),) = board.selector.select(1)
    key.data()
    assert board.chip.fed == b"hello\0\xff\r"


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
        board.line.push(bytes(waiting))
        board.turn()
        assert board.chip.steps == steps
        board.unplug(10)


def test_a_host_that_does_not_read_is_waited_for_and_nothing_is_lost(plugged: Plugged) -> None:
    long = bytes(range(32, 127)) * 300
    board = plugged(long)
    handle = port(board)
    board.reset()
    while not board.outgoing:  # until the terminal's buffer is full
        pause = board.turn()
    assert pause == 0.002
    assert heard(board, handle, lambda got: len(got) == len(long)) == long


def test_reset_drops_output_that_was_not_sent(plugged: Plugged) -> None:
    board = plugged(baud=9600)
    handle = port(board)
    board.reset()
    first = heard(board, handle, lambda got: len(got) > 5)
    board.reset()
    assert (board.outgoing, board.line.waiting) == (b"", 0)
    assert everything(board, handle) == TEXT
    assert TEXT.startswith(first)


def test_a_board_of_another_kit_shows_its_ports_and_its_chip(tmp_path: Path) -> None:
    board = VirtualBoard(tmp_path, SERIAL, VirtualChip(board_table("nrf9151dk")))
    board.plug()
    try:
        (found,) = on_bench(tmp_path)
        assert (found.chip, found.kit) == ("nrf9151", "virtual nRF9151 DK (PCA10171)")
        assert len(found.ports) == 2
        assert found.rate == 115_200
    finally:
        board.close()
