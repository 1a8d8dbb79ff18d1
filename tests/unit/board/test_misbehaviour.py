"""Boards of tests/support do wrong what they are told to, and nothing else."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import misbehaviour
import pytest
from hypothesis import given
from hypothesis import strategies as st
from misbehaving_board import SwitchedChip, TranscriptChip
from misbehaving_line import MisbehavingLine, host_rate, resample
from misbehaviour import Misbehaviour, parse
from port_client import PortClient, PortError
from virtual_boards import (
    SERIAL,
    TEXT,
    Plugged,
    ThreadDk,
    client,
    everything,
    heard,
    peek,
    poke,
    port,
    read,
    set_rate,
    settle,
    write,
)

from harness.base.errors import UsageError
from harness.base.platforms import board_table, chip_table
from harness.targets.board.session import not_text
from harness.targets.board.virtual import bench as benches
from harness.targets.board.virtual.line import Terminal

BIG = bytes(range(1, 251)) * 2


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


# -- in words ---------------------------------------------------------------------------------


def test_a_board_behaves_by_default():
    wrong = parse([])
    assert {name: getattr(wrong, name) for name in misbehaviour.NAMES if getattr(wrong, name)} == {
        "gone": 500
    }


def test_misbehaviours_are_parsed_from_text():
    assert parse(["unplug-after=300", "silent"]) == Misbehaviour(unplug_after=300, silent=1)


@pytest.mark.parametrize("word", ["explode", "flip=many", "flip=-1"])
def test_unknown_misbehaviours_are_refused(word):
    with pytest.raises(UsageError):
        parse([word])


# -- the line ---------------------------------------------------------------------------------


@pytest.fixture
def carried(tmp_path: Path) -> Iterator[Any]:
    """What a host hears of data on a line with a misbehaviour."""
    terminal = Terminal(tmp_path / "tty", 0)

    def carry(data: bytes, **wrong: int) -> bytes:
        clock = SimpleNamespace(time=0.0)
        board = SimpleNamespace(baud=1_000_000, wrong=Misbehaviour(**wrong), terminals=[terminal])
        line = MisbehavingLine(board, now=lambda: clock.time)
        set_rate(terminal.master, 1_000_000)
        line.push(data)
        got = b""
        for clock.time in range(1, 100 + len(data)):
            got += line.due()
        return got

    yield carry
    terminal.close()


@pytest.mark.parametrize(
    ("wrong", "heard"),
    [
        ({}, b"abcdefghi"),
        ({"drop": 4}, b"abcefgi"),
        ({"drop": 1}, b""),
        ({"repeat": 4}, b"abcddefghhi"),
        ({"drop": 4, "flip": 4, "repeat": 4}, b"abcefgi"),
        ({"silent": 1}, b""),
    ],
)
def test_errors_hit_every_nth_byte(carried, wrong, heard):
    assert carried(b"abcdefghi", **wrong) == heard


def test_a_flipped_byte_has_another_bit_wrong_each_time(carried):
    flipped = carried(bytes(16), flip=2)
    assert [byte for byte in flipped if byte] == [2, 4, 8, 16, 32, 64, 128, 1]


def test_terminal_knows_the_rate_that_the_host_has_set(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "tty", 0)
    for rate in (9600, 1_000_000, 0):
        set_rate(terminal.master, rate)
        assert host_rate(terminal) == rate
    terminal.close()


@pytest.mark.parametrize(
    ("sent", "read", "data", "heard"),
    [
        (2, 1, b"\xff\xff", b"\xff"),  # two bytes' time for one: the second start bit is a data bit
        (1, 2, b"\x55", b"\x66\xe6"),  # each bit is heard twice; an edge inside begins another byte
        (1, 4, b"\x00", b"\x00"),  # what is low for so long begins no second one
        (3, 2, b"Hello", b"`|\xf9"),
    ],
)
def test_a_receiver_samples_the_middle_of_its_own_bits(sent, read, data, heard):
    assert resample(data, sent, read) == heard


@given(st.binary(max_size=200))
def test_rate_that_is_2_percent_off_is_received_correctly(data):
    assert resample(data, 117500, 115200) == data


@pytest.mark.parametrize("read", [9600, 57600, 230400, 460800])
def test_text_at_a_wrong_rate_is_garbage(read):
    data = b"*** Booting Zephyr OS build v3.7.0 ***\r\nx_value: 1.25, y_value: 0.94\r\n" * 4
    heard = resample(data, 115200, read)
    assert not_text(heard) >= 0.2 * len(heard) > 0


def test_a_board_at_another_rate_than_the_host_is_garbage(plugged: Plugged) -> None:
    board = plugged(misbehave=["baud=57600"])
    handle = port(board, 115200)
    board.reset()
    garbage = everything(board, handle)
    assert garbage and not garbage.startswith(TEXT[:3])
    board.wrong = parse(["baud=115200"])
    board.reset()
    assert everything(board, handle) == TEXT


# -- the bus ----------------------------------------------------------------------------------


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


def test_a_board_leaves_the_bus_once_after_exactly_so_many_bytes(plugged: Plugged) -> None:
    board = plugged(misbehave=["unplug-after=123", "gone=50"])
    board.reset()
    while board.terminals:
        said = board.line.sent
        board.turn()
    assert said <= 123
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


def test_a_busy_board_has_its_console_port_locked_by_another_process(plugged: Plugged) -> None:
    board = plugged(misbehave=["busy"])
    handle = port(board)
    with pytest.raises(BlockingIOError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    board.answer({"do": "misbehave", "names": []})
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert board.holder is None


def test_the_supply_starts_the_image_again(plugged: Plugged) -> None:
    board = plugged()
    assert board.answer({"do": "power"}) == {} and not board.terminals
    assert 0.1 < board.back_at - time.monotonic() <= 0.2
    away = board.back_at
    assert board.answer({"do": "power"}) == {} and board.back_at == away  # it has none to lose
    assert board.chip.port is None
    assert board.answer({"do": "pin", "pin": 6}) == {"error": "the chip has no power"}


def test_flash_and_uicr_outlive_the_power_and_ram_does_not():
    chip = SwitchedChip(board_table())
    chip.power_on(SimpleNamespace(pin_reset=chip.pin_reset))
    for address in (0, 0xFF_8100, 0x2000_0000):
        chip.port.machine.write_memory(address, b"text")
    for _ in range(2):
        chip.power_off()
    chip.power_on(SimpleNamespace(pin_reset=chip.pin_reset))
    kept = [chip.port.machine.read_memory(at, 4) for at in (0, 0xFF_8100, 0x2000_0000)]
    chip.power_off()
    assert kept[:2] == [b"text", b"text"] and kept[2] != b"text"


def test_info_has_serial_number_and_misbehaviours(plugged: Plugged) -> None:
    board = plugged(misbehave=["flash-fails=2", "silent"])
    board.reset()
    board.chip.halted = "a lockup"
    told = board.answer({"do": "info"})
    assert (told["serial"], told["resets"], told["halted"]) == (SERIAL, 1, "a lockup")
    assert (told["wrong"]["flash_fails"], told["wrong"]["silent"]) == (2, 1)
    assert board.answer({"do": "misbehave", "names": ["drop=5"]}) == {}
    assert board.wrong == parse(["drop=5"])


# -- the probe --------------------------------------------------------------------------------


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
    while not dk.board.terminals and time.monotonic() < limit:
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


def test_a_chip_is_locked_once_until_all_of_it_is_erased(started: Any) -> None:
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


# -- a transcript -----------------------------------------------------------------------------


@pytest.fixture
def player() -> Iterator[TranscriptChip]:
    """A chip that prints "hello"."""
    chip = TranscriptChip(board_table())
    chip.power_on(SimpleNamespace(pin_reset=chip.pin_reset))
    chip.port.machine.write_memory(0, b"hello")
    chip.pin_reset()
    yield chip
    chip.power_off()


def test_a_transcript_prints_the_text_in_flash_after_each_reset(player: TranscriptChip) -> None:
    assert player.step(0.01) == b"hello"
    assert player.idle and player.step(0.01) == b""
    player.pin_reset()
    assert player.step(0.01) == b"hello"
    player.power_off()
    player.power_on(SimpleNamespace(pin_reset=player.pin_reset))
    assert player.step(0.01) == b"hello"


def test_a_transcript_echoes_and_a_reset_drops_what_was_not_read(player: TranscriptChip) -> None:
    player.step(0.01)
    player.feed(b"you")
    assert not player.idle
    assert player.step(0.01) == b"you"
    player.feed(b"lost")
    player.pin_reset()
    assert player.step(0.01) == b"hello"
