import pytest
from device import line

from harness.base.findings import Kind
from harness.case.case import Case, LastLine
from harness.case.observe import observe
from harness.targets import Fault, Stop
from harness.uart import TensorKey

BOOT = line(0, "boot", sample="echo")
READY = line(1, "ready", input_bytes=40)


def echo(scripted, device):
    device.sequence = 2
    return scripted([BOOT, READY], answer=device)


def test_a_silent_image_is_seen_as_unfinished_with_nothing_printed(scripted):
    seen = observe(scripted([], end=Stop.DEADLINE), Case("silent"))
    assert not seen.ended
    assert seen.stop is Stop.DEADLINE
    assert bytes(seen.console.raw) == b""


def test_it_stops_at_the_end_record_and_reads_what_follows(scripted):
    late = b"[00:00:00.1] <wrn> app: late\r\n"
    session = scripted([BOOT, line(1, "end", status=0), late])
    seen = observe(session, Case("short"))
    assert seen.ended
    assert list(seen.console.read_lines())[-1].text == late.decode().strip()


RESULTS = [f"y={i}\r\n".encode() for i in range(100)]
FAULT = Fault("BusFault", "PRECISERR", 0x10, 0, None, "f at a.c:1", "report")


def scraped(**more) -> Case:
    return Case("mine", **{"scraper": r"/y=(?P<y>\d+)/", "inferences": 10, **more})


def test_results_beyond_the_expected_ones_are_read_until_the_image_sleeps_for_good(scripted):
    seen = observe(scripted(RESULTS), scraped())
    assert (seen.ended, seen.stop) == (True, Stop.IDLE)
    assert len(seen.console.scrapers[0].results) == 100


def test_an_image_that_sleeps_before_its_results_came_is_unfinished(scripted):
    seen = observe(scripted(RESULTS[:9]), scraped())
    assert (seen.ended, seen.stop) == (False, Stop.IDLE)
    assert seen.where == "spin at main.c:7"


def test_an_image_that_spins_after_its_results_is_unfinished_at_the_deadline(scripted):
    session = scripted(RESULTS, end=Stop.DEADLINE)
    seen = observe(session, scraped())
    assert (seen.ended, seen.stop) == (False, Stop.DEADLINE)
    assert session.time == pytest.approx(10.0)


def test_firmware_that_never_ends_is_watched_for_so_long_after_its_results(scripted):
    session = scripted(RESULTS[:20], end=Stop.DEADLINE)
    seen = observe(session, scraped(end="never", observe_after=3.0))
    assert seen.ended
    assert 3.0 <= session.time <= 4.1
    assert len(seen.console.scrapers[0].results) == 20


def test_firmware_that_never_ends_and_gives_too_little_is_unfinished(scripted):
    seen = observe(scripted(RESULTS[:9], end=Stop.DEADLINE), scraped(end="never"))
    assert (seen.ended, seen.stop) == (False, Stop.DEADLINE)


@pytest.mark.parametrize("stop", [Stop.LOCKUP, Stop.RESET_LOOP])
def test_a_lockup_while_the_image_is_watched_counts(scripted, stop):
    seen = observe(scripted([b"all done\r\n"], end=stop), scraped(end=LastLine("^all done$")))
    assert (seen.ended, seen.stop) == (False, stop)


def test_a_line_that_the_case_declares_is_the_end_and_what_follows_is_read(scripted):
    session = scripted([*RESULTS[:12], b"all done\r\n", b"y=99\r\n"], end=Stop.DEADLINE)
    seen = observe(session, scraped(end=LastLine("^all done$"), observe_after=0.5))
    assert seen.ended
    assert session.time < 2.0
    assert len(seen.console.scrapers[0].results) == 13


def test_an_image_that_sleeps_without_its_declared_line_is_unfinished(scripted):
    assert not observe(scripted(RESULTS), scraped(end=LastLine("^all done$"))).ended


SUITE = b"Running TESTSUITE s\nSTART - a\n PASS - a in 0.1 seconds\nTESTSUITE s succeeded\n"
PROJECT = b"PROJECT EXECUTION SUCCESSFUL\n"


def test_a_suite_that_spins_after_its_closing_line_does_not_run_to_the_deadline(scripted):
    session = scripted([SUITE, PROJECT], end=Stop.DEADLINE)
    seen = observe(session, Case("suite", scraper="ztest", observe_after=0.5))
    assert seen.ended
    assert session.time < 0.6


def test_a_suite_without_its_closing_line_is_unfinished_even_asleep(scripted):
    assert not observe(scripted([SUITE]), Case("suite", scraper="ztest")).ended


class Faulting:
    """A session that takes a processor fault whenever it prints `mark`."""

    def __init__(self, session, mark: bytes) -> None:
        self.session, self.mark = session, mark

    @property
    def faults(self):
        return [FAULT] * sum(chunk.data.count(self.mark) for chunk in self.session.console)

    def __getattr__(self, name):
        return getattr(self.session, name)


def test_faults_that_tests_provoke_are_theirs_and_one_after_the_end_is_not(scripted):
    within = SUITE.replace(b" PASS", b"BOOM\n PASS")
    session = Faulting(scripted([within, PROJECT], end=Stop.DEADLINE), b"BOOM")
    assert observe(session, Case("suite", scraper="ztest")).faults == ()
    late = Faulting(scripted([within, PROJECT, b"BOOM\n"], end=Stop.DEADLINE), b"BOOM")
    assert observe(late, Case("suite", scraper="ztest")).faults == (FAULT,)
    dead = SUITE.partition(b" PASS")[0] + b"BOOM\n"
    died = Faulting(scripted([dead], end=Stop.DEADLINE), b"BOOM")
    assert observe(died, Case("suite", scraper="ztest")).faults == (FAULT,)


@pytest.mark.parametrize(
    "words", [b"AllocateTensors() failed\r\n", b"<err> os: Halting system\r\n"]
)
def test_an_image_that_gives_up_is_not_waited_for(scripted, words):
    session = scripted([RESULTS[0], words], end=Stop.DEADLINE)
    seen = observe(session, scraped())
    assert not seen.ended
    assert session.time < 2.0


def test_a_console_that_never_rests_ends_the_run(scripted, monkeypatch):
    monkeypatch.setattr("harness.uart.console.LARGEST", 1000)
    session = scripted([b"noise " * 20 + b"\n"] * 5000)
    seen = observe(session, scraped())
    assert not seen.ended
    assert session.time < 2.0
    assert Kind.CONSOLE_FLOOD in {finding.kind for finding in seen.console.findings}


@pytest.mark.parametrize("faults", [{}, {"lose": 2}, {"corrupt": 2}])
def test_inputs_are_fed_record_by_record_and_come_back(scripted, echo_device, faults):
    inputs = [[bytes([i] * 40)] for i in range(3)]
    seen = observe(echo(scripted, echo_device(**faults)), Case("echo"), inputs)
    assert seen.complaint == ""
    assert seen.ended
    for number in range(3):
        assert seen.console.tensors[TensorKey("output", number, 0)] == bytes([number + 1] * 40)


def test_a_device_that_never_acknowledges_is_given_up_after_three_tries(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.DEADLINE
    seen = observe(session, Case("deaf"), [[b"\0" * 40]])
    assert "did not take input 0 of inference 0 in 3 tries" in seen.complaint
    assert session.time < 10


def test_an_image_that_ends_before_its_input_is_reported(scripted):
    session = scripted([BOOT, line(1, "failed", stage="allocate", status=1)])
    seen = observe(session, Case("fails"), [[b"\0"]])
    assert "failed at 'allocate'" in seen.complaint


def test_a_guard_that_runs_out_while_feeding_is_not_a_missing_answer(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.GUARD
    seen = observe(session, Case("slow", guard=1e-9), [[b"\0" * 40]])
    assert seen.stop is Stop.GUARD
    assert seen.complaint == "while it was sent input 0 of inference 0"


def test_a_deadline_that_runs_out_while_feeding_is_not_a_missing_answer(scripted, echo_device):
    session = echo(scripted, echo_device(lose=99))
    session.end = Stop.DEADLINE
    seen = observe(session, Case("slow", timeout=1.0), [[b"\0" * 40]])
    assert seen.stop is Stop.DEADLINE
    assert seen.complaint == "while it was sent input 0 of inference 0"


def test_sent_records_are_counted_with_repetitions(scripted, echo_device):
    inputs = [[bytes([i] * 40)] for i in range(3)]
    assert observe(echo(scripted, echo_device()), Case("echo"), inputs).sent == (1,) * 7
    seen = observe(echo(scripted, echo_device(corrupt=2)), Case("echo"), inputs)
    assert seen.sent == (3, *[1] * 6)
    assert observe(scripted([BOOT]), Case("mute")).sent is None


def test_an_image_that_is_never_ready_for_input_is_reported_with_its_end(scripted):
    seen = observe(scripted([BOOT]), Case("asleep"), [[b"\0"]])
    assert seen.complaint.startswith("the image was not ready for input: ")
    late = observe(scripted([BOOT], end=Stop.DEADLINE), Case("late"), [[b"\0"]])
    assert (late.stop, late.complaint) == (Stop.DEADLINE, "before it was ready for input")


def test_a_fault_on_the_way_counts_where_the_exchange_broke_off(scripted):
    session = Faulting(scripted([BOOT, b"BOOM\n"]), b"BOOM")
    assert observe(session, Case("broken"), [[b"\0"]]).faults == (FAULT,)


def test_what_follows_the_end_has_a_second_of_the_hosts_time_where_less_was_left(scripted):
    guards: list[float] = []

    class Watched(scripted):
        def deadline(self, seconds, *, guard=60.0):
            guards.append(guard)
            return super().deadline(seconds, guard=guard)

    observe(Watched([BOOT, line(1, "end")]), Case("slow", guard=1e-9))
    assert guards[-2:] == [1e-9, 1.0]


def test_what_follows_the_end_has_what_is_left_of_the_hosts_time(scripted):
    guards: list[float] = []

    class Watched(scripted):
        def deadline(self, seconds, *, guard=60.0):
            guards.append(guard)
            return super().deadline(seconds, guard=guard)

    observe(Watched([BOOT, line(1, "end")]), Case("quick", guard=500.0))
    assert guards[-2:] == [500.0, pytest.approx(500.0, abs=60.0)]


@pytest.mark.parametrize("seconds", [1.0, 0.25])
def test_what_follows_an_end_is_watched_for_the_documented_time(scripted, seconds):
    session = scripted([BOOT, line(1, "end")], end=Stop.DEADLINE)
    observe(session, Case("short", observe_after=seconds))
    assert session.time == pytest.approx(0.002 + seconds)
