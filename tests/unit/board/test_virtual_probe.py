"""A virtual board's probe and its control socket."""

from __future__ import annotations

import base64
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from virtual_boards import SERIAL, Plugged, ThreadDk

from harness.base.platforms import chip_table
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.client import ControlError
from harness.targets.board.virtual.misbehaviour import NAMES, parse
from harness.targets.board.virtual.server import VirtualBoard

# -- the probe --------------------------------------------------------------------------------

PAGE = chip_table().flash.page
UICR = chip_table().area("uicr").addresses


def coded(*blocks: tuple[int, bytes]) -> list[tuple[int, str]]:
    return [(address, base64.b64encode(data).decode()) for address, data in blocks]


def program(board: VirtualBoard, *blocks: tuple[int, bytes], **more: object) -> dict[str, Any]:
    return board.answer({"do": "program", "blocks": coded(*blocks), **more})


def read(board: VirtualBoard, address: int, size: int) -> bytes:
    reply = board.answer({"do": "read", "address": address, "size": size})
    return base64.b64decode(reply["data"])


def test_programming_erases_the_touched_pages_only(plugged: Plugged) -> None:
    board = plugged(b"")
    board.store.program(3 * PAGE, b"behind")
    assert program(board, (0, bytes(3 * PAGE)), (UICR.start, b"\0\0")) == {}
    assert read(board, 3 * PAGE, 6) == b"behind"
    assert program(board, (PAGE + 8, b"new"), (UICR.start + 4, b"u")) == {}
    assert read(board, 0, PAGE) == bytes(PAGE)
    assert read(board, PAGE, PAGE) == (b"\xff" * 8 + b"new").ljust(PAGE, b"\xff")
    assert read(board, 2 * PAGE, PAGE) == bytes(PAGE)
    assert read(board, UICR.start, 6) == b"\xff\xff\xff\xffu\xff"


def test_erase_all_erases_everything(plugged: Plugged) -> None:
    board = plugged(b"")
    program(board, (8 * PAGE, b"far away"))
    program(board, (0, b"near"), erase_all=True)
    assert read(board, 8 * PAGE, 8) == b"\xff" * 8


def test_a_brown_out_leaves_half_of_each_block_and_a_board_that_is_away(plugged: Plugged) -> None:
    board = plugged(b"", misbehave=["brown-out=1"])
    reply = program(board, (0, b"0123456789"), (PAGE, b"abc"))
    assert reply == {"error": "the connection to the target was lost while programming"}
    assert not board.terminals and board.wrong.brown_out == 0
    assert 0.2 < board.back_at - time.monotonic() <= 0.4
    board.plug()
    assert (read(board, 0, 6), read(board, PAGE, 2)) == (b"01234\xff", b"a\xff")


@pytest.mark.parametrize(("wrong", "left"), [("flash-lies=2", 1), ("tool-lies", 0)])
def test_a_lying_tool_writes_nothing(plugged: Plugged, wrong: str, left: int) -> None:
    board = plugged(b"", misbehave=[wrong])
    assert program(board, (0, b"text")) == {}
    assert read(board, 0, 4) == b"\xff" * 4
    assert board.wrong.flash_lies == left


def test_memory_outside_flash_is_the_chips(plugged: Plugged) -> None:
    board = plugged()
    assert read(board, 0x2000_0000, 2) == b"ab"
    data = base64.b64encode(b"xyz").decode()
    assert board.answer({"do": "write", "address": 0x2000_0000, "data": data}) == {}
    assert board.chip.ram[0x2000_0000] == b"xyz"
    assert board.answer({"do": "read", "address": 0x3000_0000, "size": 4}) == {
        "error": "no memory at 0x30000000"
    }


def test_pins_are_driven_and_let_go(plugged: Plugged) -> None:
    board = plugged()
    for level in (False, True, None):
        assert board.answer({"do": "drive", "pin": 6, "level": level}) == {}
        assert board.chip.pins[6] is level
        assert board.answer({"do": "pin", "pin": 6}) == {"level": level is not False}


def test_the_reset_pin_and_the_supply_start_the_image_again(plugged: Plugged) -> None:
    board = plugged()
    assert board.answer({"do": "reset"}) == {} and board.resets == 1
    assert board.answer({"do": "power"}) == {} and not board.terminals
    assert 0.1 < board.back_at - time.monotonic() <= 0.2
    away = board.back_at
    assert board.answer({"do": "power"}) == {} and board.back_at == away  # it has none to lose


def test_info_has_serial_number_and_misbehaviours(plugged: Plugged) -> None:
    board = plugged(misbehave=["flash-fails=2", "silent"])
    board.reset()
    board.chip.halted = "a lockup"
    told = board.answer({"do": "info"})
    assert (told["serial"], told["resets"], told["halted"]) == (SERIAL, 1, "a lockup")
    assert set(told["wrong"]) == set(NAMES)
    assert (told["wrong"]["flash_fails"], told["wrong"]["silent"]) == (2, 1)
    assert board.answer({"do": "spent", "name": "flash_fails"}) == {}
    assert board.answer({"do": "info"})["wrong"]["flash_fails"] == 1
    assert board.answer({"do": "misbehave", "names": ["drop=5"]}) == {}
    assert board.wrong == parse(["drop=5"])


@pytest.mark.parametrize(
    ("request_", "error"),
    [({"do": "dance"}, "no operation 'dance'"), ({}, "no operation None"),
     ({"do": "read", "address": 0}, "'size'"),
     ({"do": "read", "address": "x", "size": 1}, "invalid literal"),
     ({"do": "program", "blocks": 3}, "not iterable"),
     ({"do": "program", "blocks": [[0x5000_0000, ""]]}, "0x50000000 is not in flash")],
)  # fmt: skip
def test_invalid_request_is_refused_with_a_message(
    plugged: Plugged, request_: dict[str, Any], error: str
) -> None:
    assert error in plugged().answer(request_)["error"]


def test_unplugged_board_answers_operations_without_a_cable_only(plugged: Plugged) -> None:
    board = plugged()
    board.unplug(10)
    for operation in ("program", "read", "write", "reset", "spent", "pin", "drive"):
        assert board.answer({"do": operation}) == {"error": "the board is not on the bus"}
    assert "error" not in board.answer({"do": "info"})
    assert board.answer({"do": "power"}) == {}
    assert board.answer({"do": "misbehave", "names": []}) == {}


# -- the control socket -----------------------------------------------------------------------


def test_requests_come_by_a_socket_until_the_parent_ends(tmp_path: Path) -> None:
    with ThreadDk(tmp_path) as dk:
        assert dk.do("info")["serial"] == SERIAL
        with pytest.raises(ControlError, match="no operation 'dance'"):
            dk.do("dance")
    assert benches.read(dk.board.folder) is None
    with pytest.raises(ControlError, match="no virtual board in"):
        dk.do("info")


def test_request_that_is_not_json_is_refused_and_a_hang_up_is_harmless(
    tmp_path: Path,
) -> None:
    with ThreadDk(tmp_path) as dk:
        path = benches.read(dk.board.folder).control
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(path)
            channel.sendall(b"hello")
            channel.shutdown(socket.SHUT_WR)
            assert channel.recv(4096) == b'{"error": "the request is not JSON"}'
        with socket.socket(socket.AF_UNIX) as channel:
            channel.connect(path)
        assert dk.do("info")["serial"] == SERIAL
