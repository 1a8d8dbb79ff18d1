"""A virtual board: its ports, its chip, its probe, and what it does wrong when it is told to."""

from __future__ import annotations

import base64
import fcntl
import os
import socket
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from virtual_bench import SERIAL, ThreadDk

from harness.targets.board.image import UICR
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.chip import PAGE, TranscriptChip
from harness.targets.board.virtual.client import ControlError
from harness.targets.board.virtual.misbehaviour import NAMES, parse
from harness.targets.board.virtual.server import Board
from harness.targets.board.virtual.terminal import Terminal

TEXT = b"0123456789" * 20
Plugged = Callable[..., Board]


class Recorder(TranscriptChip):
    """A transcript that remembers what it was sent and how often it was asked to go on."""

    def __init__(self) -> None:
        super().__init__()
        self.fed = b""
        self.steps = 0
        self.ram = {0x2000_0000: b"abcd"}
        self.pins: dict[int, bool | None] = {}

    def feed(self, data: bytes) -> None:
        self.fed += data

    def step(self, seconds: float) -> bytes:
        self.steps += 1
        return super().step(seconds)

    def read(self, address: int, size: int) -> bytes:
        if address not in self.ram:
            raise ValueError(f"no memory at 0x{address:08x}")
        return self.ram[address][:size]

    def write(self, address: int, data: bytes) -> None:
        self.ram[address] = data

    def read_pin(self, pin: int) -> bool:
        return self.pins[pin] is not False

    def drive_pin(self, pin: int, level: bool | None) -> None:
        self.pins[pin] = level


@pytest.fixture
def plugged(tmp_path: Path) -> Iterator[Plugged]:
    """A board on the bus, with a text in its flash."""
    with ExitStack() as held:

        def made(text: bytes = TEXT, **options: Any) -> Board:
            board = Board(tmp_path, SERIAL, Recorder(), **{"baud": 1_000_000, **options})
            board.store.program(0, text)
            held.callback(board.close)
            board.plug()
            return board

        yield made


def set_rate(handle: int, rate: int) -> None:
    settings = termios.tcgetattr(handle)
    settings[4] = settings[5] = getattr(termios, f"B{rate}")
    termios.tcsetattr(handle, termios.TCSANOW, settings)


def port(board: Board, rate: int = 0) -> int:
    """The host's end of the console, open at the board's rate or another."""
    handle = os.open(board.terminals[0].link, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK)
    set_rate(handle, rate or board.baud)
    return handle


def heard(board: Board, handle: int, enough: Callable[[bytes], bool]) -> bytes:
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


def everything(board: Board, handle: int) -> bytes:
    return heard(board, handle, lambda _: False)


# -- the bus ----------------------------------------------------------------------------------


def test_a_board_shows_its_name_its_serial_number_and_three_ports(plugged: Plugged) -> None:
    board = plugged(name="mine")
    presence = benches.read(board.folder)
    assert presence is not None
    assert (presence.name, presence.serial, presence.pid) == ("mine", SERIAL, os.getpid())
    assert presence.baud == 1_000_000
    assert [(Path(device).name, usb) for device, usb in presence.ports] == [
        ("ttyACM0", 0), ("ttyACM1", 2), ("ttyACM2", 4)
    ]  # fmt: skip
    assert all(Path(device).exists() for device, _ in presence.ports)


def test_a_board_without_a_name_is_called_after_its_serial_number(tmp_path: Path) -> None:
    board = Board(tmp_path, SERIAL, Recorder())
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


def test_a_board_that_left_is_not_asked_for_longer_than_it_stays_away(plugged: Plugged) -> None:
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


def test_a_terminal_tells_the_rate_that_the_host_has_set(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "tty", 0)
    for rate in (9600, 1_000_000, 0):
        set_rate(terminal.master, rate)
        assert terminal.rate == rate
    terminal.close()
    assert not os.path.lexists(tmp_path / "tty")


# -- the console ------------------------------------------------------------------------------


def test_what_the_image_prints_comes_out_of_the_first_port(plugged: Plugged) -> None:
    board = plugged()
    handle = port(board)
    board.reset()
    assert everything(board, handle) == TEXT
    assert board.said == len(TEXT)
    board.reset()
    assert everything(board, handle) == TEXT
    assert board.resets == 2


def test_what_the_host_sends_reaches_the_chip(plugged: Plugged) -> None:
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
        board.line.push(bytes(waiting), board.wrong)
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


def test_a_reset_ends_what_was_being_said(plugged: Plugged) -> None:
    board = plugged(baud=9600)
    handle = port(board)
    board.reset()
    first = heard(board, handle, lambda got: len(got) > 5)
    board.reset()
    assert (board.outgoing, board.said, board.line.waiting) == (b"", 0, 0)
    assert everything(board, handle) == TEXT
    assert TEXT.startswith(first)


# -- what goes wrong --------------------------------------------------------------------------


def test_a_board_leaves_the_bus_once_after_exactly_so_many_bytes(plugged: Plugged) -> None:
    board = plugged(misbehave=["unplug-after=123", "gone=50"])
    board.reset()
    said = 0
    while board.terminals:
        board.turn()
        said = max(said, board.said)
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


# -- the probe --------------------------------------------------------------------------------


def coded(*blocks: tuple[int, bytes]) -> list[tuple[int, str]]:
    return [(address, base64.b64encode(data).decode()) for address, data in blocks]


def program(board: Board, *blocks: tuple[int, bytes], **more: object) -> dict[str, Any]:
    return board.answer({"do": "program", "blocks": coded(*blocks), **more})


def read(board: Board, address: int, size: int) -> bytes:
    reply = board.answer({"do": "read", "address": address, "size": size})
    return base64.b64decode(reply["data"])


def test_programming_erases_the_pages_that_are_touched_and_no_other(plugged: Plugged) -> None:
    board = plugged(b"")
    board.store.program(3 * PAGE, b"behind")
    assert program(board, (0, bytes(3 * PAGE)), (UICR.start, b"\0\0")) == {}
    assert read(board, 3 * PAGE, 6) == b"behind"
    assert program(board, (PAGE + 8, b"new"), (UICR.start + 4, b"u")) == {}
    assert read(board, 0, PAGE) == bytes(PAGE)
    assert read(board, PAGE, PAGE) == (b"\xff" * 8 + b"new").ljust(PAGE, b"\xff")
    assert read(board, 2 * PAGE, PAGE) == bytes(PAGE)
    assert read(board, UICR.start, 6) == b"\xff\xff\xff\xffu\xff"


def test_all_is_erased_where_the_tool_says_so(plugged: Plugged) -> None:
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
def test_a_tool_that_lies_writes_nothing(plugged: Plugged, wrong: str, left: int) -> None:
    board = plugged(b"", misbehave=[wrong])
    assert program(board, (0, b"text")) == {}
    assert read(board, 0, 4) == b"\xff" * 4
    assert board.wrong.flash_lies == left


def test_memory_that_is_no_flash_is_the_chips(plugged: Plugged) -> None:
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


def test_a_board_says_what_it_is_and_what_it_does_wrong(plugged: Plugged) -> None:
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
def test_a_request_that_makes_no_sense_is_refused_in_words(
    plugged: Plugged, request_: dict[str, Any], error: str
) -> None:
    assert error in plugged().answer(request_)["error"]


def test_a_board_that_is_away_answers_only_what_needs_no_cable(plugged: Plugged) -> None:
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


def test_what_is_no_json_is_refused_and_a_caller_that_hangs_up_harms_nothing(
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
