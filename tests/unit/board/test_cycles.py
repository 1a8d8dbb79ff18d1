"""A virtual board whose ticks are those of a core with wait states."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.targets.board.virtual.cycles import (
    IMAGE_DEVIATION,
    INFERENCE_DEVIATION,
    CycleCounter,
    ratio,
)
from harness.targets.board.virtual.line import SerialLine
from harness.targets.board.virtual.misbehaviour import Misbehaviour
from harness.uart.records import LARGEST, each_in, encode, with_ticks

BOOT = {"sample": "s", "board": "b", "runtime": "tflm", "model_crc32": "00000000",
        "model_bytes": 1, "build": "one"}  # fmt: skip


def inference(index: int, ticks: int) -> bytes:
    return encode(1, "inference", {"index": index, "ticks": ticks, "source": "dwt",
                                   "hz": 64_000_000, "status": 0})  # fmt: skip


def op(index: int, operator: str, ticks: int) -> bytes:
    return encode(2, "op", {"inference": index, "node": 0, "operator": operator, "ticks": ticks})


CONSOLE = b"".join([
    encode(0, "boot", BOOT), b"a log line\r\n", inference(0, 100_000), op(0, "CONV_2D", 60_000),
    op(0, "ADD", 30_000), encode(3, "end", {"inferences": 1, "status": 0}), b"no end of line",
])  # fmt: skip


def ticks_of(console: bytes) -> dict[str, int]:
    lines = (record for line in console.splitlines() for record in each_in(line))
    return {str(one.fields.get("operator", "all")): one.integer("ticks")
            for one in lines if "ticks" in one.fields}  # fmt: skip


def test_each_operator_has_a_ratio_of_its_own_and_the_whole_is_their_sum():
    counter = CycleCounter(7)
    told = ticks_of(counter.feed(CONSOLE) + counter.flush())
    spread = 5 * (IMAGE_DEVIATION + INFERENCE_DEVIATION)
    assert told["CONV_2D"] == pytest.approx(60_000 * ratio(7, "CONV_2D"), rel=spread)
    assert told["ADD"] == pytest.approx(30_000 * ratio(7, "ADD"), rel=spread)
    between = told["all"] - told["CONV_2D"] - told["ADD"]
    assert between == pytest.approx(10_000 * ratio(7, ""), rel=spread)
    assert ratio(7, "CONV_2D") != ratio(7, "ADD") != ratio(8, "ADD")


def test_only_the_ticks_are_changed():
    counter = CycleCounter(7)
    said = (counter.feed(CONSOLE) + counter.flush()).split(b"\r\n")
    for before, after in zip(CONSOLE.split(b"\r\n"), said, strict=True):
        if b"ticks" in before:
            assert next(each_in(after), None) is not None  # its CRC-32 is right
        else:
            assert after == before


@given(st.lists(st.integers(1, 40), max_size=60), st.integers(1, 9))
def test_ticks_do_not_depend_on_chunk_borders(sizes, seed):
    whole, parts = CycleCounter(seed), CycleCounter(seed)
    cut = CONSOLE
    said = b""
    for size in sizes:
        said += parts.feed(cut[:size])
        cut = cut[size:]
    said += parts.feed(cut) + parts.flush()
    assert said == whole.feed(CONSOLE) + whole.flush()


@given(st.binary(max_size=300))
def test_other_lines_pass_untouched(noise):
    counter = CycleCounter(1)
    assert counter.feed(noise) + counter.flush() == noise


def test_an_image_is_always_off_by_the_same_and_another_by_something_else():
    def run(build: str) -> dict[str, int]:
        counter = CycleCounter(3)
        boot = encode(0, "boot", BOOT | {"build": build})
        return ticks_of(counter.feed(boot + CONSOLE[CONSOLE.index(b"a log") :]))

    assert run("x") == run("x") != run("y")


def test_other_text_is_passed_on_at_once():
    counter = CycleCounter(1)
    assert counter.feed(b"login: ") == b"login: "
    assert counter.feed(b"~" * 1000) == b"~" * 1000


def test_an_inference_is_sent_after_a_silence():
    clock = [0.0]
    line = SerialLine(1_000_000, now=lambda: clock[0])
    line.push(inference(0, 1000), Misbehaviour(cycles=7))
    clock[0] = 0.05
    assert line.due() == b""
    told = b""
    for _ in range(40):
        clock[0] += 0.02
        told += line.due()
    assert ticks_of(told)["all"] != 1000


@given(st.integers(0, 2 * LARGEST))
def test_ticks_are_replaced_with_a_crc_that_fits(ticks):
    body, _, crc = with_ticks(op(3, "ADD", 17), ticks).strip().rpartition(b" *")
    assert int(crc, 16) == zlib.crc32(body)
    assert f"ticks={min(ticks, LARGEST)}".encode() in body
