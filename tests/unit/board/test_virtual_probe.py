"""A virtual board's debug port, what goes wrong there, and its control socket."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from virtual_boards import SERIAL, Plugged, ThreadDk, peek, poke

from harness.base.platforms import chip_table
from harness.elf.hexfile import Block
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.client import ControlError
from harness.targets.board.virtual.misbehaviour import NAMES, parse
from harness.targets.board.virtual.port_client import PortClient, PortError

PAGE = chip_table().flash.page
UICR = chip_table().area("uicr").addresses
BIG = bytes(range(1, 251)) * 2


# -- the debug port ---------------------------------------------------------------------------


@contextmanager
def client(dk: ThreadDk) -> Iterator[PortClient]:
    """A client that has halted the core."""
    with PortClient(dk.board.server.number, chip_table()) as port:
        port.halt()
        yield port


def write(dk: ThreadDk, *blocks: Block) -> None:
    """What a tool does: erase what is touched, and write."""
    with client(dk) as port:
        port.erase_pages(blocks)
        port.program(blocks)


def read(dk: ThreadDk, address: int, size: int) -> bytes:
    with PortClient(dk.board.server.number, chip_table()) as port:
        return port.read(address, size)


def settle(dk: ThreadDk) -> None:
    """Wait until the board has noticed that its clients have gone."""
    limit = time.monotonic() + 5
    while dk.board.server.connected and time.monotonic() < limit:
        time.sleep(0.002)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Any]:
    """Starts a board in a thread, with misbehaviours."""
    boards = []

    def start(*wrong: str) -> ThreadDk:
        boards.append(ThreadDk(tmp_path / "bench", misbehave=wrong))
        return boards[-1]

    yield start
    for board in boards:
        board.close()


def test_erasing_takes_the_touched_pages_only(started: Any) -> None:
    dk = started()
    poke(dk.board, 3 * PAGE, b"behind")
    write(dk, (0, bytes(3 * PAGE)), (UICR.start + 0x100, bytes(4)))
    assert read(dk, 3 * PAGE, 6) == b"behind"
    write(dk, (PAGE + 9, b"new"), (UICR.start + 0x105, b"u"))
    assert read(dk, 0, PAGE) == bytes(PAGE)
    assert read(dk, PAGE, PAGE) == (b"\xff" * 9 + b"new").ljust(PAGE, b"\xff")
    assert read(dk, 2 * PAGE, PAGE) == bytes(PAGE)
    assert read(dk, UICR.start + 0x100, 6) == b"\0\0\0\0\xffu"


def test_all_is_erased_by_nvmc_or_by_the_control_port(started: Any) -> None:
    dk = started()
    for erase in (PortClient.erase_all, PortClient.recover):
        write(dk, (8 * PAGE, b"far away"))
        with client(dk) as port:
            erase(port)
        assert read(dk, 8 * PAGE, 8) == b"\xff" * 8


def test_the_reset_pin_starts_the_image_and_leaves_it_to_itself(started: Any) -> None:
    dk = started()
    with client(dk) as port:
        assert dk.board.chip.port.core.halted
        port.reset()
        assert not dk.board.chip.port.core.halted and not dk.board.chip.port.core.enabled
    assert dk.board.resets == 1


@pytest.mark.parametrize("wrong", ["brown-out", "unplug-flash=7"])
def test_power_that_fails_leaves_a_part_in_flash_and_a_board_that_is_away(
    started: Any, wrong: str
) -> None:
    dk = started(wrong)
    with pytest.raises(PortError, match="the connection to the target was lost while programming"):
        write(dk, (0, BIG))
    with pytest.raises(PortError, match=f"the board {SERIAL} is not on the bus"):
        settle(dk)
        read(dk, 0, 4)
    limit = time.monotonic() + 20
    while not dk.board.plugged and time.monotonic() < limit:
        time.sleep(0.01)
    words = {"brown-out": 15, "unplug-flash=7": 6}[wrong]  # the first operation erases
    assert read(dk, 0, len(BIG)) == BIG[: 4 * words].ljust(len(BIG), b"\xff")
    write(dk, (0, BIG))
    assert read(dk, 0, len(BIG)) == BIG


def test_firmware_that_writes_flash_is_not_disturbed(plugged: Plugged) -> None:
    board = plugged(misbehave=["brown-out", "flash-fails", "tool-lies"])
    assert board.probe.powered()
    assert board.wrong == parse(["brown-out", "flash-fails", "tool-lies"])


def test_a_tool_that_fails_does_so_for_one_connection(started: Any) -> None:
    dk = started("flash-fails=1")
    with client(dk) as port:
        for _ in range(2):
            with pytest.raises(PortError, match="target did not respond"):
                port.erase_pages([(0, b"x")])
        with pytest.raises(PortError, match="target did not respond"):
            port.read(0, 4)
    settle(dk)
    write(dk, (0, b"text"))
    assert read(dk, 0, 4) == b"text"


def test_a_probe_that_hangs_answers_the_next_client(started: Any) -> None:
    dk = started("flash-hangs=1")
    with socket.create_connection(("127.0.0.1", dk.board.server.number), 0.2) as mute:
        nvmc = 0x5003_9504
        asked = [("write_mem", 0, 0xE000_EDF0, 0xA05F_0003, 32), ("write_mem", 0, nvmc, 2, 32),
                 ("write_mem", 0, 0, 0xFFFF_FFFF, 32), ("read_dp", 0)]  # fmt: skip
        for number, (request, *arguments) in enumerate(asked):
            line = {"id": number, "request": request, "arguments": arguments}
            mute.sendall(json.dumps(line).encode() + b"\n")
        with mute.makefile("rb") as answers:
            assert [json.loads(answers.readline())["status"] for _ in range(2)] == [0, 0]
            with pytest.raises(TimeoutError):
                answers.readline()
    settle(dk)
    write(dk, (0, b"text"))
    assert read(dk, 0, 4) == b"text"


@pytest.mark.parametrize(("wrong", "left"), [("flash-lies=2", 1), ("tool-lies", 0)])
def test_a_lying_probe_writes_nothing(started: Any, wrong: str, left: int) -> None:
    dk = started(wrong)
    poke(dk.board, 0, b"old")
    with client(dk) as port:
        port.erase_pages([(0, b"new")])
        port.program([(0, b"new")])
        assert port.read(0, 3) == b"new"
    settle(dk)
    assert peek(dk.board, 0, 3) == b"old"
    assert read(dk, 0, 3) == (b"new" if wrong == "tool-lies" else b"old")
    assert dk.board.wrong.flash_lies == left


def test_a_lie_ends_with_a_reset(started: Any) -> None:
    dk = started("flash-lies=1")
    poke(dk.board, 0, b"old")
    with client(dk) as port:
        port.program([(0, b"\0\0\0")])
        port.reset()
        assert port.read(0, 3) == b"old"


def test_a_chip_is_locked_once(started: Any) -> None:
    dk = started("locked")
    assert dk.board.wrong.locked == 0
    with PortClient(dk.board.server.number, chip_table()) as port:
        assert port.locked
        with pytest.raises(PortError, match=r"locked \(UICR.APPROTECT\)"):
            port.read(0, 4)
        port.reset()
        assert port.locked
        port.recover()
        assert not port.locked
        port.reset()
        assert port.read(0, 4) == b"\xff" * 4


def test_a_client_is_told_that_nobody_answers(started: Any) -> None:
    dk = started()
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


def test_the_supply_starts_the_image_again(plugged: Plugged) -> None:
    board = plugged()
    assert board.answer({"do": "power"}) == {} and not board.terminals
    assert 0.1 < board.back_at - time.monotonic() <= 0.2
    away = board.back_at
    assert board.answer({"do": "power"}) == {} and board.back_at == away  # it has none to lose
    assert board.chip.port is None


def test_info_has_serial_number_and_misbehaviours(plugged: Plugged) -> None:
    board = plugged(misbehave=["flash-fails=2", "silent"])
    board.reset()
    board.chip.halted = "a lockup"
    told = board.answer({"do": "info"})
    assert (told["serial"], told["resets"], told["halted"]) == (SERIAL, 1, "a lockup")
    assert set(told["wrong"]) == set(NAMES)
    assert (told["wrong"]["flash_fails"], told["wrong"]["silent"]) == (2, 1)
    assert board.answer({"do": "misbehave", "names": ["drop=5"]}) == {}
    assert board.wrong == parse(["drop=5"])


@pytest.mark.parametrize(
    ("request_", "error"),
    [({"do": "dance"}, "no operation 'dance'"), ({}, "no operation None"),
     ({"do": "pin"}, "'pin'"), ({"do": "drive", "pin": "x", "level": 1}, "invalid literal")],
)  # fmt: skip
def test_invalid_request_is_refused_with_a_message(
    plugged: Plugged, request_: dict[str, Any], error: str
) -> None:
    assert error in plugged().answer(request_)["error"]


def test_unplugged_board_answers_operations_without_a_cable_only(plugged: Plugged) -> None:
    board = plugged()
    board.unplug(10)
    for operation in ("pin", "drive"):
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
