"""The state of one console: its end, its profile, its boots, the order of its findings."""

import re
from pathlib import Path

import pytest
from device import line, lines, parts, told

from harness.base.findings import Kind
from harness.uart import Console, TensorKey, scraper
from harness.uart.console import LARGEST, MOST_LINES
from harness.uart.lines import LONGEST
from harness.uart.scrapers.base import MOST_RESULTS
from harness.uart.scrapers.tests import MOST_TESTS

BOOT = line(0, "boot")
BANNER = b"*** Booting Zephyr OS build v3.4 ***\r\n"
A_TEST = b"Running TESTSUITE s\nSTART - a\n"


def console_of(*data: bytes, scrapers: tuple[str, ...] = ()) -> Console:
    console = Console([scraper(name) for name in scrapers])
    for one in data:
        console.feed(one)
    console.finish()
    return console


def told_of(console: Console) -> list[tuple[Kind, int, str]]:
    return [(one.kind, one.line, one.message) for one in console.findings]


def test_the_page_about_cases_lists_the_limits_of_a_console():
    page = (Path(__file__).parents[3] / "docs" / "cases.md").read_text(encoding="utf-8")
    section = page.split("## A console without end\n")[1].split("\n## ")[0]
    numbers = [int(text.replace(",", "")) for text in re.findall(r"\d[\d,]*", section)]
    assert "million lines" in section
    assert numbers == [LARGEST >> 20, LONGEST, 20, MOST_RESULTS, MOST_TESTS]
    assert (LARGEST % (1 << 20), MOST_LINES) == (0, 1_000_000)


@pytest.mark.parametrize(("most", "flooded"), [(5, True), (6, True), (7, False)])
def test_a_console_is_full_at_its_largest_size(monkeypatch, most, flooded):
    monkeypatch.setattr("harness.uart.console.LARGEST", most)
    assert console_of(b"hello\n").flooded is flooded


@pytest.mark.parametrize(("most", "flooded"), [(1, True), (2, True), (3, False)])
def test_a_console_is_full_at_its_last_line(monkeypatch, most, flooded):
    monkeypatch.setattr("harness.uart.console.MOST_LINES", most)
    assert console_of(b"one\ntwo\n").flooded is flooded


def test_a_flood_reports_kept_and_dropped_bytes(monkeypatch):
    monkeypatch.setattr("harness.uart.console.MOST_LINES", 2)
    console = console_of(b"one\ntwo\n", b"three\n")
    assert console.raw == b"one\ntwo\n"
    message = (
        "the console printed more than is read: 8 bytes in 2 lines are kept, 6 more bytes came"
    )
    assert told_of(console) == [(Kind.CONSOLE_FLOOD, 2, message)]


def test_bytes_without_a_time_stamp_have_time_zero():
    console = console_of(b"whole\nbroken off")
    assert console.transcript() == "[    0.000000] whole\n[    0.000000] broken off\n"
    assert [one.time for one in console.read_lines()] == [0.0, 0.0]


def test_an_unterminated_last_line_has_the_time_of_the_end():
    console = Console()
    console.feed(b"broken off", 1.0)
    console.finish(2.5)
    assert console.transcript() == "[    2.500000] broken off\n"


# where it gives up


def test_a_halting_system_message_is_fatal():
    assert console_of(b"E: Halting system\r\n").gave_up


def test_a_test_may_provoke_a_failed_allocation_and_the_suite_goes_on():
    said = A_TEST + b"AllocateTensors() failed\n"
    assert not console_of(said, scrapers=("ztest",)).gave_up
    assert console_of(said + b"Halting system\n", scrapers=("ztest",)).gave_up


def test_output_during_a_test_belongs_to_it_with_any_scraper():
    said = A_TEST + b"AllocateTensors() failed\n PASS - a in 0.1 seconds\n"
    for scrapers in (("ztest", "hello_world"), ("hello_world", "ztest")):
        assert console_of(said, scrapers=scrapers).findings == []


def test_output_of_a_test_on_the_first_line_belongs_to_it():
    said = b"START - a\nInvoke failed\n PASS - a in 0.1 seconds\n"
    assert console_of(said, scrapers=("ztest",)).findings == []


# profiles


def test_a_profile_of_zeros_counts_its_operators():
    console = console_of(b"ADD took 0 ticks (0 ms).\nMUL took 0 ticks (0 ms).\n")
    message = "all 2 profiled operators took 0 ticks"
    assert told_of(console) == [(Kind.ZERO_TICKS, 0, message)]
    assert console.findings[0].subject == "profile"


@pytest.mark.parametrize(("rate", "found"), [("0", True), ("1", False), ("64000000", False)])
def test_a_clock_without_ticks_is_a_finding(rate, found):
    console = console_of(f"hello\nticks_per_second {rate}\n".encode())
    message = "the profiler's clock runs at 0 ticks per second: the stock tick source"
    assert told_of(console) == [(Kind.ZERO_TICKS, 2, message)] * found
    assert [one.subject for one in console.findings] == ["ticks_per_second"] * found


def test_an_endless_profile_keeps_its_first_operators(monkeypatch):
    monkeypatch.setattr("harness.uart.console._MOST_PROFILED", 2)
    console = console_of(b"".join(b"OP%d took 7 ticks (0 ms).\n" % n for n in range(4)))
    assert [entry.operator for entry in console.profile] == ["OP0", "OP1"]


def test_a_profile_in_a_test_belongs_to_the_test():
    said = A_TEST + b"ADD took 0 ticks (0 ms).\n PASS - a in 0.1 seconds\n"
    console = console_of(said, b"MUL took 7 ticks (0 ms).\n", scrapers=("ztest",))
    assert [entry.operator for entry in console.profile] == ["MUL"]


# boots


def test_boots_are_the_larger_count_of_banners_and_records():
    banners = told_of(console_of(BANNER * 3, BOOT, line(1, "failed")))
    assert (Kind.REBOOTED, 2, "the image booted 3 times") in banners
    records = told_of(console_of(BANNER, *[BOOT, line(1, "failed")] * 3))
    assert (Kind.REBOOTED, 4, "the image booted 3 times") in records


def test_a_banner_and_the_record_behind_it_are_one_boot():
    boot = BANNER + BOOT + line(1, "failed")
    assert (Kind.REBOOTED, 5, "the image booted 2 times") in told_of(console_of(boot * 2))


def test_a_boot_loader_without_a_banner_is_not_a_boot():
    assert console_of(b"I: Jumping to the first image slot\r\n", BANNER).findings == []


# what records tell that no message told


def test_refused_registrations_are_counted():
    console = console_of(BOOT, line(1, "resolver", refused=2), line(2, "failed"))
    assert told_of(console)[0] == (Kind.RESOLVER_TOO_SMALL, 2, "2 Add* calls were refused")


def test_a_refusal_in_message_and_record_is_one_finding():
    message = b"Calling AddCustom for the same op more than once is not supported (Op: Atan).\n"
    console = console_of(BOOT, message, line(1, "resolver", refused=1), line(2, "failed"))
    assert [one.kind for one in console.findings] == [
        Kind.DUPLICATE_OPERATOR,
        Kind.ALLOCATION_FAILED,
    ]


def test_a_failure_has_its_stage_and_status():
    console = console_of(BOOT, line(1, "failed", stage="invoke", status=-3))
    message = "the image failed at 'invoke', status -3"
    assert told_of(console) == [(Kind.INVOKE_FAILED, 2, message)]


def test_missing_records_name_the_last_one():
    message = "the records stop after number 1 (resolver): no end record"
    console = console_of(b"hello\n", BOOT, line(1, "resolver"), b"bye\n")
    assert told_of(console) == [(Kind.RECORD_TRUNCATED, 3, message)]


# what may be asked at any time


def test_a_console_without_records_has_no_tensors():
    assert dict(console_of(b"~HIL garbage\n").tensors) == {}


def test_tensors_are_those_of_the_last_boot_so_far():
    console = Console()
    console.feed(lines([told("boot"), *parts("output", 0, 0, b"a")]))
    assert dict(console.tensors) == {TensorKey("output", 0, 0): b"a"}
    console.feed(lines(parts("output", 1, 0, b"b"), 2))
    assert dict(console.tensors)[TensorKey("output", 1, 0)] == b"b"
    console.feed(BOOT)
    assert dict(console.tensors) == {}


def test_tensors_are_joined_once():
    console = console_of(lines([told("boot"), *parts("output", 0, 0, b"a")]))
    assert console.tensors is console.tensors


def test_findings_are_in_line_order_with_those_without_a_line_last():
    said = b"ADD took 0 ticks (0 ms).\nInvoke failed\nx_value: 1\n"
    console = console_of(said, scrapers=("hello_world",))
    assert [(one.kind, one.line) for one in console.findings] == [
        (Kind.INVOKE_FAILED, 2),
        (Kind.UNPARSED_VALUE, 3),
        (Kind.ZERO_TICKS, 0),
    ]


@pytest.mark.parametrize("name", ["Zephyr OS build v4.2.0", "nRF Connect SDK v2.9.0-7787b2649840"])
def test_a_second_boot_banner_is_a_reset(name):
    console = Console()
    console.feed(f"*** Booting {name} ***\nhello\n".encode() * 2)
    console.finish()
    assert [finding.kind for finding in console.findings] == [Kind.REBOOTED]
