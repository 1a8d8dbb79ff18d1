"""The console, on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest
from serial_pty import SerialPty

from harness.base.errors import BoardUnavailable, TargetLost
from harness.targets.board.console import SerialConsole


@pytest.fixture
def wire():
    made = SerialPty()
    yield made
    made.close()


@pytest.fixture
def console(wire):
    made = SerialConsole(wire.port, 115200, limit=100_000)
    yield made
    made.close()


def test_match_is_found_across_chunks(wire, console):
    wire.send(b"one tw")
    time.sleep(0.05)
    wire.send(b"o three")
    assert console.search(re.compile(b"two"), 0, 5) == 7
    assert console.search(re.compile(b"three"), 7, 5) == 13
    assert b"".join(chunk.data for chunk in console.chunks()) == b"one two three"


def test_a_search_ends_at_its_time(wire, console):
    started = time.monotonic()
    assert console.search(re.compile(b"never"), 0, 0.2) is None
    assert 0.1 < time.monotonic() - started < 3


def test_unplugging_ends_a_search_at_once(wire, console):
    threading.Timer(0.2, wire.unplug).start()
    started = time.monotonic()
    with pytest.raises(TargetLost, match="disappeared during"):
        console.search(re.compile(b"never"), 0, 30)
    assert time.monotonic() - started < 5


def test_writing_to_a_port_that_is_gone_is_target_lost(wire, console):
    wire.unplug()
    with pytest.raises(TargetLost):
        console.wait(5)
    with pytest.raises(TargetLost):
        console.write(b"x")


def test_written_bytes_arrive(wire, console):
    console.write(b"~HIL 0 run\n")
    assert os.read(wire.master, 100) == b"~HIL 0 run\n"


def test_memory_is_bounded_and_dropped_bytes_are_counted(wire, console):
    sent = 0
    for number in range(3000):
        line = b"%06d %s\n" % (number, b"x" * 92)
        wire.send(line)
        sent += len(line)
    assert console.search(re.compile(b"002999 x+\n"), 0, 10) == sent
    held = console.since(0)
    assert len(held) <= 100_000
    assert console.dropped + len(held) == sent
    assert b"".join(chunk.data for chunk in console.chunks()) == held


def arrived(console, count):
    """Wait until so many bytes are there."""
    limit = time.monotonic() + 5
    while console.end < count and time.monotonic() < limit:
        time.sleep(0.001)
    assert console.end == count


def test_search_begins_at_its_position_after_bytes_were_dropped(wire, console):
    wire.send(b"abc abc")
    arrived(console, 7)
    pattern = re.compile(b"abc")
    assert [console.search(pattern, at, 0.01) for at in (0, 1, 4, 5)] == [3, 7, 7, None]
    small = SerialConsole(SerialPty().port, 9600, limit=8)
    small.close()
    small._take(b"0123456789")  # two more than are held: a quarter of the limit goes beside them
    assert (small.dropped, small.end, small.since(0)) == (4, 10, b"456789")
    assert small.search(re.compile(b"45"), 0, 0.01) == 6
    assert small.search(re.compile(b"."), 7, 0.01) == 8


def test_a_match_that_began_in_bytes_seen_before_is_found(wire, console):
    """However long the search has run: it looks back 64 KiB."""
    threading.Timer(0.05, wire.send, [b"end"]).start()
    wire.send(b"the ")
    assert console.search(re.compile(b"the end"), 0, 5) == 7


def test_bytes_and_chunks_are_given_from_a_position_on(wire, console):
    for data in (b"one", b"two", b"three"):
        wire.send(data)
        arrived(console, console.end + len(data) if console.end < 3 else console.end)
        time.sleep(0.02)
    arrived(console, 11)
    assert [console.since(at) for at in (0, 3, 10, 11, 12)] == [
        b"onetwothree", b"twothree", b"e", b"", b""
    ]  # fmt: skip
    whole = console.chunks()
    assert b"".join(chunk.data for chunk in whole) == b"onetwothree"
    times = [chunk.time for chunk in whole]
    assert times == sorted(times) and 0 <= times[0] < times[-1] < 5
    assert b"".join(chunk.data for chunk in console.chunks(4)) == b"wothree"
    assert console.chunks(11) == [] and console.chunks(4)[-1].time == times[-1]


def test_a_silent_port_has_no_chunks(console):
    assert console.chunks() == [] and console.since(0) == b"" and console.end == 0


def test_chunks_after_a_drop_keep_their_times(wire):
    small = SerialConsole(wire.port, 9600, limit=8)
    small.close()
    for data in (b"abc", b"def", b"ghi"):
        small._take(data)
    assert (small.dropped, small.since(0)) == (3, b"defghi")
    assert [chunk.data for chunk in small.chunks()] == [b"def", b"ghi"]
    assert [chunk.data for chunk in small.chunks(4)] == [b"ef", b"ghi"]
    small._take(b"x" * 100)
    assert (small.end, len(small.since(0))) == (109, 6)


def test_waiting_lasts_its_time_and_ends_where_the_port_goes_away(wire, console):
    started = time.monotonic()
    console.wait(0.1)
    assert 0.1 <= time.monotonic() - started < 2
    wire.unplug()
    with pytest.raises(TargetLost, match="disappeared during the run") as lost:
        console.wait(5)
    assert "(it no longer exists)" in lost.value.message


def test_a_port_is_closed_twice(wire):
    console = SerialConsole(wire.port, 9600)
    console.close()
    console.close()
    with pytest.raises(TargetLost, match="cannot write"):
        console.write(b"x")


def test_hint_of_an_unknown_port_names_the_lab_file():
    with pytest.raises(BoardUnavailable, match="mine: its serial port is unknown") as unknown:
        SerialConsole("", 115200, board="mine")
    assert unknown.value.hint == "set it in lab.toml: port = ..."


def test_a_short_burst_at_1_mbaud_arrives_whole(wire, console):
    line = bytes(range(32, 127)) + b"\n"
    total, sent, started = 50_000, 0, time.monotonic()
    got = bytearray()
    position = 0
    while sent < total:
        due = min(total, int((time.monotonic() - started) * 100_000))
        if due > sent:
            data = (line * (2 + (due - sent) // len(line)))[sent % len(line) :][: due - sent]
            wire.send(data)
            sent = due
        fresh = console.since(position)
        got += fresh
        position += len(fresh)
        time.sleep(0.001)
    limit = time.monotonic() + 10
    while len(got) < total and time.monotonic() < limit:
        fresh = console.since(position)
        got += fresh
        position += len(fresh)
        time.sleep(0.01)
    assert bytes(got) == (line * (total // len(line) + 1))[:total]


def test_missing_port_is_reported(tmp_path):
    with pytest.raises(BoardUnavailable, match="does not exist"):
        SerialConsole(str(tmp_path / "ttyACM0"), 115200)


def test_remote_port_without_an_answer_is_reported():
    with pytest.raises(BoardUnavailable, match="cannot open rfc2217"):
        SerialConsole("rfc2217://127.0.0.1:1", 115200)


def test_a_remote_port_works_like_a_local_one():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=_greet, args=(server,), daemon=True).start()
        console = SerialConsole(url, 115200)
        console.write(b"?")
        assert console.search(re.compile(b"hello"), 0, 5) == 5
        with pytest.raises(TargetLost):
            console.wait(10)
        console.close()


def _greet(server):
    channel, _ = server.accept()
    channel.recv(1)
    channel.sendall(b"hello")
    time.sleep(0.3)
    channel.close()
