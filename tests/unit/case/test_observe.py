import pytest

from harness.case.observe import observe
from harness.case.spec import Case
from harness.targets import Stop
from harness.uart import encode
from harness.uart.records import TensorKey

BOOT = encode(0, "boot", {"sample": "echo"})
READY = encode(1, "ready", {"input_bytes": 40})


def echo(scripted, device):
    device.sequence = 2
    return scripted([BOOT, READY], answer=device)


def test_a_silent_image_is_seen_as_unfinished_with_nothing_printed(scripted):
    seen = observe(scripted([], end=Stop.DEADLINE), Case("silent"))
    assert not seen.finished
    assert seen.stop is Stop.DEADLINE
    assert bytes(seen.console.raw) == b""


def test_it_stops_at_the_end_record_and_reads_what_follows(scripted):
    late = b"[00:00:00.1] <wrn> app: late\r\n"
    session = scripted([BOOT, encode(1, "end", {"status": 0}), late])
    seen = observe(session, Case("short"))
    assert seen.finished
    assert seen.console.lines[-1].text == late.decode().strip()


def test_scraped_images_stop_after_the_results_that_were_asked_for(scripted):
    lines = [f"x_value: {i}.0, y_value: 0.0\r\n".encode() for i in range(100)]
    session = scripted(lines)
    seen = observe(session, Case("hello", scraper="hello_world", inferences=10))
    assert seen.finished
    assert session.time < 0.07


@pytest.mark.parametrize("faults", [{}, {"lose": 2}, {"corrupt": 2}])
def test_inputs_are_fed_record_by_record_and_come_back(scripted, echo_device, faults):
    inputs = [[bytes([i] * 40)] for i in range(3)]
    seen = observe(echo(scripted, echo_device(**faults)), Case("echo"), inputs)
    assert seen.complaint == ""
    assert seen.finished
    for number in range(3):
        assert seen.console.tensors[TensorKey("output", number, 0)] == bytes([number + 1] * 40)


def test_a_device_that_never_acknowledges_is_given_up_after_three_tries(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.DEADLINE
    seen = observe(session, Case("deaf"), [[b"\0" * 40]])
    assert "did not take input 0 of inference 0 in 3 tries" in seen.complaint
    assert session.time < 10


def test_an_image_that_ends_instead_of_asking_for_input_is_told_so(scripted):
    session = scripted([BOOT, encode(1, "failed", {"stage": "allocate", "status": 1})])
    seen = observe(session, Case("fails"), [[b"\0"]])
    assert "failed at 'allocate'" in seen.complaint


def test_a_guard_that_runs_out_while_feeding_is_no_missing_answer(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.GUARD
    seen = observe(session, Case("slow", guard=1e-9), [[b"\0" * 40]])
    assert seen.stop is Stop.GUARD
    assert seen.complaint == "while it was sent input 0 of inference 0"


def test_a_deadline_that_runs_out_while_feeding_is_no_missing_answer(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.DEADLINE
    seen = observe(session, Case("slow", timeout=1.0), [[b"\0" * 40]])
    assert seen.stop is Stop.DEADLINE
    assert seen.complaint == "while it was sent input 0 of inference 0"
