"""The console, on a pseudo-terminal."""

from __future__ import annotations

import os
import re
import threading
import time

import pytest
from wire import Wire

from harness.errors import BoardUnavailable, TargetLost
from harness.targets.board.console import Console


@pytest.fixture
def wire():
    made = Wire()
    yield made
    made.close()


@pytest.fixture
def console(wire):
    made = Console(wire.port, 115200, limit=100_000)
    yield made
    made.close()


def test_what_is_sent_is_found_across_chunks(wire, console):
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
    with pytest.raises(TargetLost, match="went away in the middle"):
        console.search(re.compile(b"never"), 0, 30)
    assert time.monotonic() - started < 5


def test_writing_to_a_port_that_is_gone_is_target_lost(wire, console):
    wire.unplug()
    with pytest.raises(TargetLost):
        console.wait(5)
    with pytest.raises(TargetLost):
        console.write(b"x")


def test_what_is_written_arrives(wire, console):
    console.write(b"~HIL 0 run\n")
    assert os.read(wire.master, 100) == b"~HIL 0 run\n"


def test_memory_is_bounded_and_what_was_dropped_is_known(wire, console):
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


def test_a_port_that_is_not_there_says_so(tmp_path):
    with pytest.raises(BoardUnavailable, match="does not exist"):
        Console(str(tmp_path / "ttyACM0"), 115200)


def test_a_remote_port_that_does_not_answer_says_so():
    with pytest.raises(BoardUnavailable, match="cannot open rfc2217"):
        Console("rfc2217://127.0.0.1:1", 115200)


def test_a_remote_port_works_like_a_local_one():
    import socket

    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        threading.Thread(target=_greet, args=(server,), daemon=True).start()
        console = Console(url, 115200)
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
