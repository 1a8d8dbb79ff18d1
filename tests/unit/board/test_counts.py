"""What is counted of a board's console: boots, cycles, bytes that are no text."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from harness.targets.board.counts import ConsoleCounts
from harness.uart.records import encode


def counts_of(data, cuts=()):
    counts = ConsoleCounts()
    edges = [0, *sorted(c % (len(data) + 1) for c in cuts), len(data)]
    for begin, end in itertools.pairwise(edges):
        counts.feed(data[begin:end])
    return counts


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
    counts = counts_of(BOOT + INFERENCE + broken + INFERENCE)
    assert (counts.cycles, counts.hz) == (200, 64_000_000)


def test_systick_is_not_counted_as_dwt():
    other = inference(ticks=7, source="systick", hz=32768)
    counts = counts_of(BOOT + other)
    assert (counts.cycles, counts.hz) == (0, 0)


def test_a_boot_behind_a_line_that_a_reset_cut_short_is_counted():
    counts = counts_of(BOOT + INFERENCE + END[:10] + BOOT)
    assert (counts.boots, counts.build, counts.unended) == (2, "abc 1", 2)


def test_a_banner_and_its_boot_record_are_one_boot():
    banner = b"*** Booting Zephyr OS ***\r\n"
    assert counts_of(banner).boots == 1
    assert counts_of(BOOT + banner + BOOT).boots == 2


def test_boots_are_counted_since_the_last_end_too():
    assert counts_of(BOOT + BOOT + END).unended == 0
    assert counts_of(BOOT + END + BOOT + BOOT + BOOT).unended == 3


def test_bytes_are_counted_and_those_that_are_no_text():
    counts = counts_of(b"text\x1b\t\r\n\x00\x7f\x80")
    assert (counts.total, counts.odd) == (11, 3)


def test_a_line_without_an_end_is_kept_to_its_last_4096_bytes():
    assert counts_of(b"x" * 9000 + BOOT).boots == 1
    assert counts_of(b"*** Booting " + b"x" * 4084 + b"\n", [12]).boots == 1
    assert counts_of(b"*** Booting " + b"x" * 4085 + b"\n", [4097]).boots == 0


@given(st.binary(max_size=600))
def test_any_bytes_can_be_fed(data):
    counts_of(data)
