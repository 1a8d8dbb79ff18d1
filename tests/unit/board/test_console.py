"""The console, on a pseudo-terminal."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
import tty

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import BoardUnavailable, TargetLost
from harness.targets.board.console import Console
from harness.targets.board.counts import ConsoleCounts
from harness.uart.records import encode


class Wire:
    """The device's end of a serial port."""

    def __init__(self):
        self.master, self.slave = os.openpty()
        tty.setraw(self.slave)
        self.port = os.ttyname(self.slave)

    def send(self, data):
        while data:
            data = data[os.write(self.master, data) :]

    def unplug(self):
        os.close(self.slave)
        os.close(self.master)
        self.slave = self.master = -1

    def close(self):
        if self.master >= 0:
            self.unplug()


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


def counts_of(data, cuts=()):
    counts = ConsoleCounts()
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    for begin, end in itertools.pairwise(edges):
        counts.feed(data[begin:end])
    return (counts.boots, counts.cycles, counts.hz, counts.build, counts.ended, counts.odd)


def inference(**more):
    said = {"index": 0, "ticks": 100, "source": "dwt", "hz": 64_000_000, "status": 0}
    return encode(1, "inference", said | more)


NAMES = {"sample": "a", "board": "b", "runtime": "tflm", "model_crc32": "0badcafe"}
BOOT = encode(0, "boot", NAMES | {"model_bytes": 9, "build": "abc 1"})
INFERENCE = inference()
END = encode(2, "end", {"inferences": 1, "status": 0})


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_counts_do_not_depend_on_how_the_bytes_arrive(cuts):
    data = b"*** Booting Zephyr OS ***\r\n" + BOOT + INFERENCE + b"\xff\xfe" + INFERENCE + END
    assert counts_of(data, cuts) == counts_of(data)


def test_cycles_are_summed_from_records_whose_crc_is_right():
    broken = INFERENCE.replace(b"ticks=100", b"ticks=900")
    assert counts_of(BOOT + INFERENCE + broken + INFERENCE)[1:3] == (200, 64_000_000)


def test_systick_is_not_counted_as_dwt():
    other = inference(ticks=7, source="systick", hz=32768)
    assert counts_of(BOOT + other)[1:3] == (0, 0)


def test_a_boot_behind_a_line_that_a_reset_cut_short_is_counted():
    boots, _, _, build, ended, _ = counts_of(BOOT + INFERENCE + END[:10] + BOOT)
    assert (boots, build, ended) == (2, "abc 1", False)


def test_a_banner_and_its_boot_record_are_one_boot():
    banner = b"*** Booting Zephyr OS ***\r\n"
    assert counts_of(banner)[0] == 1
    assert counts_of(BOOT + banner + BOOT)[0] == 2


@given(st.binary(max_size=600))
def test_any_bytes_can_be_fed(data):
    counts_of(data)
