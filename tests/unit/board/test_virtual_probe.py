"""A virtual board's debug port and its control socket."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from port_client import PortClient, PortError
from virtual_boards import SERIAL, Plugged, ThreadDk, client, poke, read, write

from harness.base.platforms import chip_table
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.client import ControlError

PAGE = chip_table().flash.page
UICR = chip_table().area("uicr").addresses


@pytest.fixture
def dk(tmp_path: Path) -> Iterator[ThreadDk]:
    with ThreadDk(tmp_path) as board:
        yield board


# -- the debug port ---------------------------------------------------------------------------


def test_erasing_takes_the_touched_pages_only(dk: ThreadDk) -> None:
    poke(dk.board, 3 * PAGE, b"behind")
    write(dk, (0, bytes(3 * PAGE)), (UICR.start + 0x100, bytes(4)))
    assert read(dk, 3 * PAGE, 6) == b"behind"
    write(dk, (PAGE + 9, b"new"), (UICR.start + 0x105, b"u"))
    assert read(dk, 0, PAGE) == bytes(PAGE)
    assert read(dk, PAGE, PAGE) == (b"\xff" * 9 + b"new").ljust(PAGE, b"\xff")
    assert read(dk, 2 * PAGE, PAGE) == bytes(PAGE)
    assert read(dk, UICR.start + 0x100, 6) == b"\0\0\0\0\xffu"


def test_all_is_erased_by_nvmc_or_by_the_control_port(dk: ThreadDk) -> None:
    for erase in (PortClient.erase_all, PortClient.recover):
        write(dk, (8 * PAGE, b"far away"))
        with client(dk) as port:
            erase(port)
        assert read(dk, 8 * PAGE, 8) == b"\xff" * 8


def test_the_reset_pin_starts_the_image_and_leaves_it_to_itself(dk: ThreadDk) -> None:
    with client(dk) as port:
        assert dk.board.chip.port.core.halted
        port.reset()
        assert not dk.board.chip.port.core.halted and not dk.board.chip.port.core.enabled
    assert dk.board.resets == 1


def test_a_client_is_told_that_nobody_answers(dk: ThreadDk) -> None:
    number = dk.board.server.number
    dk.do("power")
    with pytest.raises(PortError, match="not on the bus"), PortClient(number, chip_table()) as port:
        port.read(0, 4)
    dk.board.server.close()
    with pytest.raises(PortError, match="the debug port does not answer"):
        PortClient(number, chip_table())


# -- requests of the control socket -----------------------------------------------------------


def test_pins_are_driven_and_let_go(plugged: Plugged) -> None:
    board = plugged()
    for level in (False, True):
        assert board.answer({"do": "drive", "pin": 6, "level": level}) == {}
        assert board.answer({"do": "pin", "pin": 6}) == {"level": level}
    assert board.answer({"do": "drive", "pin": 6, "level": None}) == {}


@pytest.mark.parametrize(
    ("request_", "error"),
    [({"do": "dance"}, "no operation 'dance'"), ({}, "no operation None"),
     ({"do": "pin"}, "'pin'"), ({"do": "drive", "pin": "x", "level": 1}, "invalid literal")],
)  # fmt: skip
def test_invalid_request_is_refused_with_a_message(
    plugged: Plugged, request_: dict[str, Any], error: str
) -> None:
    assert error in plugged().answer(request_)["error"]


# -- the control socket -----------------------------------------------------------------------


def test_requests_come_by_a_socket_until_the_parent_ends(tmp_path: Path) -> None:
    with ThreadDk(tmp_path) as dk:
        assert dk.do("info")["serial"] == SERIAL
        with pytest.raises(ControlError, match="no operation 'dance'"):
            dk.do("dance")
    assert benches.read(dk.board.folder) is None
    with pytest.raises(ControlError, match="no virtual board in"):
        dk.do("info")


def test_request_that_is_not_json_is_refused_and_a_hang_up_is_harmless(dk: ThreadDk) -> None:
    path = benches.read(dk.board.folder).control
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(path)
        channel.sendall(b"hello")
        channel.shutdown(socket.SHUT_WR)
        assert channel.recv(4096) == b'{"error": "the request is not JSON"}'
    with socket.socket(socket.AF_UNIX) as channel:
        channel.connect(path)
    assert dk.do("info")["serial"] == SERIAL
