"""What counts as a difference between two runs."""

from __future__ import annotations

from dataclasses import replace

from device import line
from hypothesis import given
from hypothesis import strategies as st

from harness.case.crosscheck import Seen, compare
from harness.targets import Stop

END = line(2, "end", inferences=1)
RUN = line(0, "output", total=1, hex="7f")
AGAIN = line(1, "output", inference=1, total=1, hex="7f")


def seen(console: bytes, *, stop: Stop = Stop.CONDITION, **more) -> Seen:
    return replace(Seen("simulator", stop, console, ()), **more)


def test_an_image_without_an_end_may_be_cut_off_at_another_byte():
    check = compare(seen(RUN * 3), seen(RUN * 5))
    assert check.equal
    assert "cut off by the clock" in check.compared


def test_an_image_with_an_end_may_not():
    assert "output records against" in compare(seen(RUN + END), seen(RUN + AGAIN + END)).difference
    assert "console lines" in compare(seen(RUN + END), seen(RUN + END + b"more\r\n")).difference


def test_one_silent_target_is_a_difference():
    assert not compare(seen(b""), seen(b"x\r\n")).equal
    assert not compare(seen(b""), seen(b"")).equal


def test_another_end_of_the_run_is_a_difference_even_where_the_console_is_equal():
    check = compare(seen(RUN), seen(RUN, stop=Stop.LOCKUP))
    assert check.difference == "the run ended otherwise: condition against lockup"


def test_ram_is_not_held_where_the_runs_stand_at_different_points():
    one, other = seen(RUN, symbols=(("a", b"1"),)), seen(RUN * 2, symbols=(("a", b"2"),))
    assert compare(one, other).equal
    assert not compare(one, replace(other, console=RUN)).equal


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_consoles_that_end_are_equal_where_their_bytes_are(left, right):
    one, other = seen(left + END), seen(right + END)
    assert compare(one, other).equal == (left == right)
    assert compare(one, other).equal == compare(other, one).equal


def test_the_first_output_that_differs_is_named():
    other = line(0, "output", total=1, hex="80")
    assert compare(seen(RUN + END), seen(other + END)).difference == (
        "output record 0: 7f (offset 0 of output 0, inference 0) against "
        "80 (offset 0 of output 0, inference 0)"
    )


def test_measured_ticks_may_differ_and_nothing_else_of_their_records():
    def inference(**fields: int) -> Seen:
        return seen(line(0, "inference", **fields) + line(1, "op", ticks=fields["ticks"]) + END)

    check = compare(inference(ticks=5), inference(ticks=7))
    assert check.equal
    assert list(check.first.ticks) == [5]
    assert not compare(inference(ticks=5), inference(ticks=5, status=1)).equal


SUITE = b" PASS - test_a in %b seconds\r\n - PASS - [s.test_a] duration = %b seconds\r\n"
PROJECT = b"PROJECT EXECUTION SUCCESSFUL\r\n"


def test_durations_of_tests_are_the_targets_own():
    assert compare(
        seen(SUITE % (b"0.1", b"0.001") + PROJECT), seen(SUITE % (b"0.12", b"0.012") + PROJECT)
    ).equal
    failed = (SUITE % (b"0.1", b"0.1")).replace(b" PASS - test", b" FAIL - test")
    assert not compare(seen(SUITE % (b"0.1", b"0.1") + PROJECT), seen(failed + PROJECT)).equal


def test_a_suite_whose_closing_line_one_target_lacks_is_a_difference():
    suite = SUITE % (b"0.1", b"0.1")
    assert not compare(seen(suite), seen(suite + PROJECT)).equal
