"""A session that stays open, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from device import builtin_run, line, lines

from harness.base import paths
from harness.base.errors import CheckFailed, FirmwareFailed, UsageError
from harness.base.findings import Kind
from harness.case.case import Case
from harness.case.live import Live
from harness.model import Model
from harness.targets import Fault, Stop

FAULT = Fault("BusFault", "PRECISERR", 0x10, 0, None, "f at a.c:1", "report")
MISSING = (Kind.MISSING_OPERATOR, "CONV_2D")
BOOT = line(0, "boot")
INFERENCES = [line(1, "inference"), line(2, "inference", index=1)]
END = line(3, "end", inferences=2)


@pytest.fixture
def live(scripted):
    """An open session on an image that prints these chunks, one a millisecond."""

    def make(*chunks: bytes, end: Stop = Stop.IDLE, **case) -> Live:
        return Live(Case("own", **case), scripted(chunks, end=end))

    return make


def test_a_line_is_waited_for_and_no_further(live):
    one = live(b"begin\r\n", b"x=12\r\n", b"later\r\n")
    assert one.wait_for(r"x=(\d+)").group(1) == "12"
    assert one.session.time == pytest.approx(0.002)


def test_text_is_searched_once(live):
    one = live(b"x=1 x=2\r\nx=3\r\n", b"x=4")
    assert [one.wait_for(r"x=(\d)").group(1) for _ in range(4)] == list("1234")
    with pytest.raises(FirmwareFailed, match=r"no line matched 'x='"):
        one.wait_for("x=")


def test_text_before_a_match_is_used_up(live):
    one = live(b"first\r\nsecond\r\n")
    one.wait_for("second")
    with pytest.raises(FirmwareFailed):
        one.wait_for("first")


def test_the_beginning_of_a_line_is_enough(live):
    one = live(b"a line\n", b"prompt> ")
    one.wait_for("prompt>")
    with pytest.raises(FirmwareFailed):
        one.wait_for("prompt")


def test_a_character_that_is_cut_in_two_is_whole(live):
    assert live(b"gr\xc3", b"\xbcn\n").wait_for("gr.n$").group() == "grün"


def test_a_line_without_end_is_searched_in_pieces(live):
    one = live(b"a" * 20_000 + b"here\n")
    assert one.wait_for("a*here").group() == "a" * (20_004 - 2 * 8192 - 4) + "here"
    one = live(b"a" * 20_000)
    assert len(one.wait_for("a+").group()) == 8192


def test_a_failed_wait_reports_how_the_run_ended_and_where(live):
    with pytest.raises(FirmwareFailed) as failed:
        live(b"begin\n").wait_for("end")
    assert "no line matched 'end': " in failed.value.message
    assert "pc is in spin at main.c:7" in failed.value.message


def test_time_is_counted_over_all_steps_and_anew_after_a_reset(live):
    one = live(*[b"tick\n"] * 10, end=Stop.DEADLINE, timeout=1.0)
    one.run_for(0.75)
    assert one.session.time == pytest.approx(0.75)
    with pytest.raises(FirmwareFailed):
        one.wait_for("tock")
    assert one.session.time == pytest.approx(1.0)
    one.reset()
    assert one.session.resets == 1
    with pytest.raises(FirmwareFailed):
        one.wait_for("tock")
    assert one.session.time == pytest.approx(2.0)


def test_inferences_are_waited_for_by_their_records(live):
    one = live(BOOT, *INFERENCES, END)
    one.wait_for_inferences()
    assert (one.inferences, one.ended) == (1, False)
    one.wait_for_inferences(2)
    assert (one.inferences, one.session.time) == (2, pytest.approx(0.003))
    with pytest.raises(FirmwareFailed, match="the image ended after 2 of 3 inferences"):
        one.wait_for_inferences(3)


def test_inferences_are_waited_for_by_the_results_of_a_scraper(live):
    one = live(b"y=1\r\n", b"y=2\r\n", b"y=3\r\n", scraper=r"/y=(?P<y>\d)/")
    one.wait_for_inferences(2)
    assert one.inferences == 2
    with pytest.raises(FirmwareFailed, match="3 of 4 inferences came: "):
        one.wait_for_inferences(4)


@pytest.mark.parametrize(
    "last", [line(1, "end"), line(1, "failed"), b"AllocateTensors() failed\r\n"]
)
def test_the_end_is_a_record_or_a_fatal_message(live, last):
    one = live(BOOT, last, b"late\n")
    assert not one.ended
    one.wait_for_end()
    assert one.ended
    assert one.session.time == pytest.approx(0.002)


def test_an_image_that_never_ends_is_reported(live):
    with pytest.raises(FirmwareFailed, match="the image did not come to its end"):
        live(BOOT, end=Stop.DEADLINE).wait_for_end()


def test_an_expected_finding_is_found(live):
    one = live(b"Didn't find op for builtin opcode 'CONV_2D'\r\n", b"Jumping\r\n")
    one.run_for(1.0)
    assert [(finding.kind, finding.subject) for finding in one.findings] == [MISSING]
    one.check_reported(Kind.MISSING_OPERATOR)
    one.check_reported(Kind.MISSING_OPERATOR, "CONV_2D")
    with pytest.raises(CheckFailed, match="no rebooted; found: missing_operator CONV_2D"):
        one.check_reported(Kind.REBOOTED)
    with pytest.raises(CheckFailed, match="no missing_operator ADD; found"):
        one.check_reported(Kind.MISSING_OPERATOR, "ADD")


def test_a_missing_finding_fails(live):
    one = live()
    one.run_for(1.0)
    with pytest.raises(CheckFailed, match="no rebooted; found: nothing"):
        one.check_reported(Kind.REBOOTED)


@pytest.mark.parametrize(
    "check",
    [
        lambda live: live.findings,
        lambda live: live.check_reported(Kind.REBOOTED),
        lambda live: live.check_outputs(),
    ],
)
def test_a_check_before_the_first_step_is_a_mistake_of_the_test(live, check):
    with pytest.raises(UsageError, match="nothing has run yet"):
        check(live(BOOT))


@pytest.mark.parametrize("count", [0, -1])
def test_no_inference_at_all_cannot_be_waited_for(live, count):
    with pytest.raises(UsageError, match="are not a check"):
        live(BOOT).wait_for_inferences(count)


def test_a_processor_fault_is_a_finding_at_once(live):
    one = live(b"begin\n", end=Stop.DEADLINE)
    one.session.faults.append(FAULT)
    one.run_for(1.0)
    assert [(finding.kind, finding.subject) for finding in one.findings] == [
        (Kind.FAULT, "BusFault")
    ]
    one.check_reported(Kind.FAULT)
    with pytest.raises(FirmwareFailed, match="BusFault"):
        one.wait_for("never")


def test_a_lockup_is_a_finding(live):
    one = live(b"begin\n", end=Stop.LOCKUP)
    one.run_for(1.0)
    assert [finding.kind for finding in one.findings] == [Kind.FAULT]


@pytest.mark.parametrize("stop", [Stop.RESET_LOOP, Stop.DEADLINE])
def test_a_reset_of_the_firmware_is_a_finding_and_one_by_the_test_is_not(live, stop):
    one = live(b"begin\n", end=stop, timeout=1.0)
    one.reset()
    one.run_for(0.5)
    wanted = [Kind.RESET_LOOP] if stop is Stop.RESET_LOOP else []
    assert [finding.kind for finding in one.findings] == wanted
    one.session.resets += 1
    one.run_for(0.25)
    assert [finding.kind for finding in one.findings] == (wanted or [Kind.REBOOTED])


def test_a_console_that_is_flooded_ends_every_wait(live, monkeypatch):
    monkeypatch.setattr("harness.uart.console.LARGEST", 100)
    with pytest.raises(FirmwareFailed, match="it printed more than is read of a console"):
        live(*[b"noise\n"] * 100, end=Stop.DEADLINE).wait_for("end")


@pytest.mark.parametrize("spoil", [False, True])
def test_outputs_are_held_against_the_reference(live, spoil):
    model = paths.models() / "hello_world_int8.tflite"
    records = builtin_run(Model.from_file(model), [np.array([[3]], np.int8)])
    for kind, fields in records:
        if kind == "output" and spoil:
            fields["hex"] = f"{int(fields['hex'], 16) ^ 1:02x}"
    one = live(lines(records), model=model)
    one.wait_for_end()
    if spoil:
        with pytest.raises(CheckFailed, match="1 of 1 output values differ"):
            one.check_outputs()
    else:
        assert one.check_outputs().compared == 1


def test_a_session_is_closed_with_the_block(live):
    with live(b"begin\n") as one:
        one.wait_for("begin")
        assert not one.session.closed
    assert one.session.closed


def test_checking_without_outputs_fails(live):
    one = live(BOOT)
    one.run_for(1.0)
    with pytest.raises(CheckFailed, match="no model is given"):
        one.check_outputs()


def test_the_console_is_kept_with_times(live):
    one = live(b"one\n", b"two\n")
    one.run_for(1.0)
    assert one.transcript() == "[    0.001000] one\n[    0.002000] two\n"


def test_a_case_without_an_elf_cannot_be_opened():
    with pytest.raises(UsageError, match="names neither an ELF nor a sample"):
        Live.open(Case("nothing"), None)


def test_text_before_the_first_wait_is_searched(live):
    one = live(b"first\r\n", b"second\r\n")
    one.run_for(1.0)
    assert one.wait_for("^[a-z]+$").group() == "first"


def test_memory_and_pins_are_those_of_the_session(live):
    one = live()
    one.session.memory, one.session.pins = Recorder(), Recorder()
    assert one.memory.read(4, 2) == "read(4, 2)"
    one.memory.write(4, b"a")
    assert one.pins.read(7) == "read(7)"
    one.pins.drive(7, None)
    assert one.session.memory.calls == ["read(4, 2)", "write(4, b'a')"]
    assert one.session.pins.calls == ["read(7)", "drive(7, None)"]


class Recorder:
    """Records its calls, and returns each."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append(f"{name}({', '.join(map(repr, arguments))})")
            return self.calls[-1]

        return call
