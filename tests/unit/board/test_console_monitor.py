"""Figures from a board's console: boots, cycles, build, bytes that are not text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from harness.targets.board.session import ConsoleMonitor
from harness.uart.records import encode

NAMES = {"sample": "a", "board": "b", "runtime": "tflm", "model_crc32": "0badcafe"}
BOOT = encode(0, "boot", NAMES | {"model_bytes": 9, "build": "abc 1"})
BANNER = b"*** Booting Zephyr OS ***\r\n"
END = encode(2, "end", {"inferences": 1, "status": 0})


def inference(**more: object) -> bytes:
    fields = {"index": 0, "ticks": 100, "source": "dwt", "hz": 64_000_000, "status": 0}
    return encode(1, "inference", fields | more)


INFERENCE = inference()


def fed(data: bytes, cuts: Sequence[int] = ()) -> ConsoleMonitor:
    monitor = ConsoleMonitor()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in itertools.pairwise(edges):
        monitor.feed(data[begin:end])
    return monitor


def figures(monitor: ConsoleMonitor) -> tuple[object, ...]:
    return (
        monitor.boots, monitor.unended, monitor.cycles, monitor.hz, monitor.build, monitor.size,
        monitor.garbage,
    )  # fmt: skip


@given(st.lists(st.integers(0, 10_000), max_size=8))
def test_figures_do_not_depend_on_how_the_bytes_arrive(cuts: list[int]) -> None:
    data = BANNER + BOOT + INFERENCE + b"\xff\xfe" + INFERENCE + END
    assert figures(fed(data, cuts)) == figures(fed(data))


def test_cycles_are_summed_from_records_with_the_right_crc() -> None:
    broken = INFERENCE.replace(b"ticks=100", b"ticks=900")
    monitor = fed(BOOT + INFERENCE + broken + INFERENCE)
    assert (monitor.cycles, monitor.hz) == (200, 64_000_000)


def test_systick_is_not_counted_as_dwt() -> None:
    monitor = fed(BOOT + inference(ticks=7, source="systick", hz=32768))
    assert (monitor.cycles, monitor.hz) == (0, 0)


def test_boot_after_a_line_that_a_reset_cut_short_is_counted() -> None:
    monitor = fed(BOOT + INFERENCE + END[:10] + BOOT)
    assert (monitor.boots.number, monitor.build, monitor.unended.number) == (2, "abc 1", 2)


def test_banner_and_boot_record_are_one_boot_in_either_order() -> None:
    assert fed(BANNER).boots.number == 1
    assert fed(BANNER + BOOT).boots.number == 1
    assert fed(BOOT + BANNER + BOOT + BANNER).boots.number == 2


def test_boots_since_the_last_end_are_counted_by_themselves() -> None:
    assert fed(BOOT + BOOT + END).unended.number == 0
    assert fed(BOOT + END + BOOT + BOOT + BOOT).unended.number == 3


def test_bytes_that_are_not_text_are_counted() -> None:
    monitor = fed(b"text\x1b\t\r\n\x00\x7f\x80")
    assert (monitor.size, monitor.garbage) == (11, 3)


def test_boot_record_after_a_long_line_without_an_end_is_read() -> None:
    assert fed(b"x" * 20_000 + BOOT).boots.number == 1


@given(st.binary(max_size=600))
def test_any_bytes_can_be_fed(data: bytes) -> None:
    assert fed(data).size == len(data)
