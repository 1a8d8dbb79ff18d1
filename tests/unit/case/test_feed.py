"""The host's side of the console, at its beginning."""

from __future__ import annotations

import pytest
from device import line

from harness.base.errors import FirmwareFailed
from harness.case.feed import Feeder, hand_over
from harness.case.tap import Tap
from harness.targets import Stop
from harness.uart import Console
from harness.uart.records import BLOCK, fill_blocks


class Blocks:
    """Hands what comes to a device in whole blocks alone; the first ``lost`` bytes never come."""

    def __init__(self, device, lost: int) -> None:
        self.device, self.lost = device, lost
        self.block, self.text = b"", b""
        self.pushes = 0

    def __call__(self, data: bytes) -> bytes:
        self.pushes += data == b"\n"
        gone = min(self.lost, len(data))
        self.lost -= gone
        self.block += data[gone:]
        whole = len(self.block) - len(self.block) % BLOCK
        self.text, self.block = self.text + self.block[:whole], self.block[whole:]
        *told, self.text = self.text.split(b"\n")
        return b"".join(self.device(one) for one in told)


@pytest.mark.parametrize("lost", [0, 1, 2, 3])
def test_a_record_that_waits_in_an_unfinished_block_is_pushed_on_and_not_sent_again(
    scripted, echo_device, lost
):
    blocks = Blocks(echo_device(), lost)
    session = scripted([line(0, "ready")], end=Stop.DEADLINE, answer=blocks)
    feeder = Feeder(Tap(session, Console()), session.deadline(60.0))
    feeder.wait_ready()
    rows = [[b"12"], [b"345"]]
    filled = len(fill_blocks(next(hand_over(0, 0, rows[0]))[1])) - len(
        next(hand_over(0, 0, rows[0]))[1]
    )
    assert filled >= 3  # nothing but empty lines is lost
    for number, row in enumerate(rows):
        feeder.infer(number, row)
    feeder.done()
    assert (blocks.pushes, feeder.sent) == (lost, [1] * 5)


def feeder_of(session, console=None):
    tap = Tap(session, console or Console())
    return Feeder(tap, session.deadline(1.0))


def test_earlier_output_of_a_session_is_read_once(scripted):
    session = scripted([b"booting\n", line(0, "ready")])
    session.run(None, session.deadline(1.0))
    console = Console()
    tap = Tap(session, console)
    tap.run(None, session.deadline(1.0))
    assert console.line_count == 2
    assert len(console.of_kind("ready")) == 1


def test_a_line_that_came_byte_by_byte_has_the_time_of_its_last_byte(scripted):
    text = b"one\ntwo\n" + b"x" * 600 + b"\nrest"
    session = scripted([bytes([one]) for one in text])
    console = Console()
    Tap(session, console).run(None, session.deadline(1e9))
    console.finish()
    ends = [0.004, 0.008, 0.609, 0.0]
    told = [(one.text, end) for one, end in zip(console.read_lines(), ends, strict=True)]
    assert [text for text, _ in told] == ["one", "two", "x" * 600, "rest"]
    stamps = [float(line[1:13]) for line in console.transcript().splitlines()]
    assert stamps == pytest.approx(ends)


def test_a_ready_record_that_came_already_is_not_waited_for(scripted):
    console = Console()
    console.feed(line(0, "ready"))
    session = scripted([])
    feeder_of(session, console).wait_ready()
    assert session.time == 0.0


def test_only_the_last_ready_record_is_open(scripted):
    console = Console()
    console.feed(line(0, "ready") + line(1, "ready"))
    feeder = feeder_of(scripted([]), console)
    feeder.wait_ready()
    with pytest.raises(FirmwareFailed, match="was not ready for input"):
        feeder.wait_ready()


def test_a_ready_record_is_waited_for(scripted):
    session = scripted([b"booting\n", line(0, "ready")])
    feeder_of(session).wait_ready()
    assert session.time == pytest.approx(2e-3)


def test_the_answer_to_a_record_is_found_among_other_records(scripted):
    device = [line(1, "ack", of=7), line(2, "op"), line(3, "ack", of=0)]
    session = scripted([line(0, "ready")], answer=lambda data: device.pop(0) if device else b"")
    feeder = feeder_of(session)
    feeder.wait_ready()
    session.answer = lambda data: b"".join(device)
    feeder.done()
    assert feeder.sent == [1]


def test_a_device_that_is_deaf_is_pushed_as_often_as_a_block_has_bytes_before_each_try(scripted):
    written: list[bytes] = []
    session = scripted(
        [line(0, "ready")], end=Stop.DEADLINE, answer=lambda data: written.append(data) or b""
    )
    feeder = Feeder(Tap(session, Console()), session.deadline(60.0))
    feeder.wait_ready()
    with pytest.raises(FirmwareFailed, match=r"did not take done in 3 tries \(no answer\)"):
        feeder.done()
    assert [data == b"\n" for data in written] == [False, *[True] * (BLOCK - 1)] * 3
    assert session.time == pytest.approx(1e-3 + 3 * (2.0 + (BLOCK - 1) * 0.05), abs=1e-3)


def test_a_record_refused_three_times_fails_with_the_last_reason(scripted):
    reasons = ["crc", "crc", "format"]
    session = scripted(
        [line(0, "ready")], answer=lambda data: line(4 - len(reasons), "nak", reason=reasons.pop(0))
    )
    feeder = feeder_of(session)
    feeder.wait_ready()
    with pytest.raises(FirmwareFailed, match=r"in 3 tries \(nak: format\)"):
        feeder.done()
    assert feeder.sent == [3]


@pytest.mark.parametrize(("of", "record"), [(0, "run"), (1, "input 0 of inference 0")])
def test_the_answer_to_another_record_is_none(scripted, of, record):
    session = scripted([line(0, "ready")], answer=lambda data: line(1, "ack", of=of))
    tap = Tap(session, Console())
    feeder = Feeder(tap, session.deadline(60.0))
    feeder.wait_ready()
    with pytest.raises(FirmwareFailed, match=rf"did not take {record} in 3 tries \(no answer\)"):
        feeder.infer(0, [b"1"])
