"""Reasons and hints for an image that did not come to its end."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from device import line

from harness.base.platforms import DEFAULT_CHIP, chip_called
from harness.case.case import Case, LastLine
from harness.case.hang import time_hint, unread, why_unfinished
from harness.case.invocations import Invocations
from harness.case.observation import Observation
from harness.case.outputs import OutputCheck
from harness.targets import Counters, Stop
from harness.uart import Console
from harness.uart import scraper as scraper_called

CHIP = chip_called(DEFAULT_CHIP)
CASE = Case("c")
INFERENCE = line(0, "inference", index=0, ticks=64, source="dwt", hz=1, status=0)


def seen(
    stop: Stop, complaint: str = "", *, said: bytes = b"", scraper: str = "", where: str = "",
    clock: float | None = 5.0, quiet: float | None = None,
) -> Observation:  # fmt: skip
    counters = Counters("simulator", 1000, None, clock, 9.0)
    console = Console([scraper_called(scraper)] if scraper else [])
    console.feed(said)
    console.finish()
    return Observation(console, stop, False, complaint, where, counters, (), (), None, quiet=quiet)


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (seen(Stop.GUARD, quiet=1.0), "--guard"),
        (seen(Stop.GUARD, quiet=4.0), ""),
        (seen(Stop.GUARD), ""),
        (seen(Stop.DEADLINE, said=INFERENCE, quiet=1.0), "it needs more time"),
        (seen(Stop.DEADLINE, said=INFERENCE, quiet=4.0), ""),
        (seen(Stop.DEADLINE, said=b"wait\n", quiet=1.0), ""),
        (seen(Stop.DEADLINE), ""),
        (seen(Stop.IDLE, "the image was not ready for input"), ""),
        (seen(Stop.LOCKUP, "the image was not ready for input"), ""),
    ],
)
def test_more_time_is_advised_where_it_would_help(observation, words):
    hint = time_hint(CASE, observation)
    assert words in hint
    assert bool(hint) is bool(words)


@pytest.mark.parametrize(("quiet", "hinted"), [(1.0, True), (4.0, False)])
def test_an_image_that_printed_nothing_for_long_needs_no_more_time(quiet, hinted):
    suite = seen(Stop.DEADLINE, said=b"START - a\n PASS - a in 0.1 seconds\n", scraper="ztest")
    case = Case("c", scraper="ztest")
    assert bool(time_hint(case, replace(suite, quiet=quiet))) is hinted


@pytest.mark.parametrize(
    ("keys", "hinted"),
    [
        ({"quiet": 0.5}, True),
        ({"quiet": 0.9}, False),
        ({"quiet": None}, False),
        ({"quiet": 0.9, "invocations": Invocations(running=0.2)}, True),
        ({"quiet": 0.5, "cause": "the handler of TIMER0 does not clear EVENTS_COMPARE[0]"}, False),
    ],
)
def test_a_larger_guard_is_advised_to_an_image_that_was_getting_on(keys, hinted):
    found = replace(seen(Stop.GUARD, clock=1.0), **keys)
    hint = "10 s take this machine about 90 s: give it a larger guard"
    told = time_hint(Case("c", timeout=10.0), found)
    assert told.partition(" (--guard")[0] == (hint if hinted else "")


def test_a_silent_console_has_no_scraper_to_suggest():
    assert unread(CASE, seen(Stop.IDLE)) == ("", "")


@pytest.mark.parametrize(
    ("observation", "words"),
    [
        (seen(Stop.IDLE), "the console stayed silent: it sleeps and nothing can wake it"),
        (seen(Stop.LOCKUP, where="f at a.c:1"), "silent: the core locked up; pc is in f at a.c:1"),
        (seen(Stop.LOCKUP, "the image ended"), "the console stayed silent: the image ended"),
        (seen(Stop.DEADLINE), "silent: it ran on to the deadline of 2.5 s"),
        (seen(Stop.DEADLINE, "before it asked"), "the deadline of 2.5 s before it asked"),
        (seen(Stop.GUARD), "guard stopped it after 30 s at 5.000 s of the 2.5 s it has"),
        (seen(Stop.GUARD, clock=None), "guard stopped it after 30 s"),
        (seen(Stop.GUARD, "before", clock=0.0), "guard stopped it after 30 s before"),
        (seen(Stop.IDLE, said=b"a\n"), "1 line and no record came, then it sleeps and nothing "),
        (seen(Stop.IDLE, said=b"a\nb\n"), "2 lines and no record came, then"),
        (seen(Stop.IDLE, said=line(0, "boot")), "1 line and 1 result came, then it sleeps"),
    ],
)
def test_the_reason_of_a_hang_has_the_progress_of_the_image(observation, words):
    case = Case("c", timeout=2.5, guard=30.0)
    assert words in f"{why_unfinished(case, observation, OutputCheck(inferences=1), CHIP)}"


def test_an_image_that_is_scraped_needs_no_record():
    case = Case("c", scraper="hello_world")
    said = why_unfinished(case, seen(Stop.IDLE, said=b"hello\n"), OutputCheck(inferences=2), CHIP)
    assert said.startswith("1 line and 2 results came, then")


HELLO = b"x_value: 0.0, y_value: 0.0\n" * 2


def test_a_scraper_that_reads_results_is_suggested_by_name():
    text = seen(Stop.IDLE, said=HELLO)
    what, hint = unread(CASE, text)
    assert what == "the image prints no records, and no scraper is given to read its text"
    assert hint == "--scraper hello_world reads 2 results from it"
    what, hint = unread(Case("c", scraper="ztest"), seen(Stop.IDLE, said=HELLO, scraper="ztest"))
    assert what == "scraper ztest reads nothing from its text"
    assert hint == "--scraper hello_world reads 2 results from it"


def test_text_that_nothing_reads_has_a_hint_at_init():
    what, hint = unread(CASE, seen(Stop.IDLE, said=b"score 12 of 20\n"))
    assert what == ""
    assert hint.endswith("or a /regex/; `tflm-hil init` writes a case file for its text")


@pytest.mark.parametrize("kind", ["boot", "stack"])
def test_an_image_whose_last_record_is_not_ready_does_not_wait_for_input(kind):
    said = line(0, "ready") + line(1, kind)
    assert time_hint(CASE, seen(Stop.IDLE, said=said)) == ""


def test_an_image_that_is_fed_has_no_hint_about_input():
    case = Case("c", inputs=Path("rows.npy"))
    assert time_hint(case, seen(Stop.IDLE, said=line(0, "ready"))) == ""


def test_results_that_the_scraper_has_read_are_read():
    case = Case("c", scraper="hello_world", end=LastLine("^done$"))
    observation = seen(Stop.IDLE, said=HELLO, scraper="hello_world")
    assert unread(case, observation) == ("", "")


def test_the_given_scraper_is_not_suggested():
    assert unread(Case("c", scraper="ztest"), seen(Stop.IDLE, said=b"x\n", scraper="ztest")) == (
        "",
        "",
    )
