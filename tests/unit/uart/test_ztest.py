"""Zephyr's test suites, rule by rule."""

import pytest

from harness.uart import Console, scraper
from harness.uart.scrapers import ExpectedResults, TestResult
from harness.uart.scrapers.tests import TestScraper


def judge(console: Console, **wanted):
    return console.scrapers[0].check(ExpectedResults(**wanted))


def one(name: str, state: str = "PASS") -> str:
    """A whole test; ``OPEN`` for one that never ends."""
    return f"START - {name}\n" + f" {state} - {name} in 0.1 seconds\n" * (state != "OPEN")


def suite(*tests: str, name: str = "s", word: str = "succeeded", after: str = "") -> str:
    """A whole run of one suite; `after` stands between the suite's end and the closing line."""
    end = f"TESTSUITE {name} {word}\n" if word else ""
    project = "SUCCESSFUL" if word == "succeeded" else "FAILED"
    body = "".join(tests)
    return f"Running TESTSUITE {name}\n{body}{end}{after}PROJECT EXECUTION {project}\n"


def summary(*rows: str, word: str = "PASS", **counts: int) -> str:
    """A summary of suite `s`; a row is `STATE name`."""
    told = {"pass": 0, "fail": 0, "skip": 0, "total": len(rows), **counts}
    numbers = ", ".join(f"{name} = {count}" for name, count in told.items())
    text = "------ TESTSUITE SUMMARY START ------\n"
    text += f"SUITE {word} - 100.00% [s]: {numbers} duration = 0.1 seconds\n"
    for row in rows:
        state, name = row.split()
        text += f" - {state} - [s.{name}] duration = 0.1 seconds\n"
    return text + "------ TESTSUITE SUMMARY END ------\n"


@pytest.mark.parametrize("found", [TestResult, TestScraper])
def test_test_results_are_not_collected_by_pytest(found):
    assert found.__test__ is False


def test_the_owner_is_the_number_of_the_test_that_is_running():
    reader, owners = scraper("ztest"), []
    console = Console([reader])
    for text in ("hello", "START - a", " PASS - a in 0.1 seconds", "START - b", "START - c"):
        console.feed(f"{text}\n".encode())
        owners.append((reader.owner, reader.between_tests))
    assert owners == [(0, False), (1, False), (0, True), (2, False), (3, False)]


def test_a_pass_counts_skipped_and_known_failures(scrape):
    text = suite(one("a"), one("b", "SKIP"), one("c", "FAIL"), one("d"), word="failed.")
    told = judge(scrape("ztest", text), tests={"s.c": "fail"})
    assert told.pass_reason == "2 of 4 tests passed, 1 skipped, 1 failed as known"
    assert (told.compared, told.mismatches, told.problems) == (4, 0, ())


def test_a_test_that_is_expected_to_be_skipped_may_be(scrape):
    text = suite(one("a"), one("b", "SKIP"))
    assert judge(scrape("ztest", text), tests={"s.b": "skip"}).problems == ()


def test_of_tests_that_were_only_skipped_none_ran(scrape):
    text = suite(one("a", "SKIP"), one("b", "SKIP"), word="skipped")
    problems = judge(scrape("ztest", text.replace("FAILED", "SUCCESSFUL"))).problems
    assert problems == ("no test ran: 2 were skipped",)


def test_a_test_that_never_ended_ran(scrape):
    problems = judge(scrape("ztest", suite(one("a", "OPEN"), word="failed."))).problems
    assert problems == ("s.a began and did not end",)


@pytest.mark.parametrize(("count", "more"), [(3, ""), (5, " and 2 more")])
def test_three_failed_tests_are_named(scrape, count, more):
    text = suite(*(one(f"t{n}", "FAIL") for n in range(count)), word="failed.")
    assert judge(scrape("ztest", text)).problems == (
        f"{count} of {count} tests failed: s.t0, s.t1, s.t2{more}",
    )


@pytest.mark.parametrize(("count", "more"), [(3, ()), (5, ("2 more tests began and did not end",))])
def test_three_tests_that_never_ended_are_named(scrape, count, more):
    text = suite(*(one(f"t{n}", "OPEN") for n in range(count)), word="failed.")
    named = tuple(f"s.t{n} began and did not end" for n in range(3))
    assert judge(scrape("ztest", text)).problems == (*named, *more)


@pytest.mark.parametrize(("count", "more"), [(1, ""), (20, ""), (22, "and 2 more")])
def test_the_report_counts_the_failures_that_it_does_not_list(scrape, count, more):
    text = suite(*(one(f"t{n}", "FAIL") for n in range(count)), word="failed.")
    rows = judge(scrape("ztest", text)).details.splitlines()
    assert rows[:20] == [f"fail s.t{n}" for n in range(min(count, 20))]
    assert rows[20:] == ([more] if more else [])


def test_an_expected_name_that_did_not_run_is_reported_with_the_nearest(scrape):
    text = suite(*(one(name) for name in ("test_read", "test_read_all", "test_write")))
    (problem,) = judge(scrape("ztest", text), tests={"s.test_red": "fail"}).problems
    assert problem == (
        "expect.tests names s.test_red (fail), which did not run; is it s.test_read?"
    )


def test_an_expected_name_without_a_near_match_is_reported_alone(scrape):
    (problem,) = judge(scrape("ztest", suite(one("a"))), tests={"zzzzzz": "fail"}).problems
    assert problem == "expect.tests names zzzzzz (fail), which did not run"


def test_beyond_the_most_tests_the_rest_is_counted(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.tests.MOST_TESTS", 2)
    reader = scrape("ztest", suite(*(one(f"t{n}") for n in range(5)))).scrapers[0]
    assert [test.name for test in reader.tests] == ["s.t0", "s.t1"]
    assert (len(reader.results), reader.left_out) == (2, 3)


# suites


@pytest.mark.parametrize(("name", "other"), [("a", "b"), ("b", "a")])
def test_a_test_ends_under_its_own_name(scrape, name, other):
    text = suite(one(name, "OPEN"), f" PASS - {other} in 0.1 seconds\n", word="failed.")
    problems = judge(scrape("ztest", text)).problems
    assert f"s.{other} ends (PASS) while s.{name} is running" in problems


@pytest.mark.parametrize("other", ["a", "z"])
def test_a_suite_ends_under_its_own_name(scrape, other):
    text = suite(one("a")).replace("TESTSUITE s succeeded", f"TESTSUITE {other} succeeded")
    assert judge(scrape("ztest", text)).problems == (f"TESTSUITE {other} ends and did not begin",)


def test_a_suite_that_another_one_follows_has_to_end(scrape):
    text = "Running TESTSUITE r\n" + one("a") + suite(one("a"))
    assert judge(scrape("ztest", text)).problems == ("the closing line of TESTSUITE r never came",)


def test_a_suite_answers_for_its_own_tests_only(scrape):
    first = "Running TESTSUITE r\n" + one("a", "FAIL") + "TESTSUITE r failed.\n"
    text = first + suite(one("a")).replace("SUCCESSFUL", "FAILED")
    console = scrape("ztest", text)
    assert judge(console).problems == ("1 of 2 tests failed: r.a",)
    assert judge(console, tests={"r.a": "fail"}).problems == ()


def test_a_suite_with_a_test_that_never_ended_has_not_succeeded(scrape):
    problems = judge(scrape("ztest", suite(one("a", "OPEN")))).problems
    assert "TESTSUITE s says succeeded, and not all of its tests did" in problems
    assert "PROJECT EXECUTION SUCCESSFUL is printed, and not all tests passed" in problems


def test_a_run_that_failed_has_a_test_that_failed(scrape):
    text = suite(one("a")).replace("SUCCESSFUL", "FAILED")
    assert judge(scrape("ztest", text)).problems == (
        "PROJECT EXECUTION FAILED is printed, and no test failed",
    )


# summaries


def test_a_summary_that_matches_the_tests_passes(scrape):
    told = summary("PASS a", "SKIP b", "FAIL c", word="FAIL", **{"pass": 1, "fail": 1, "skip": 1})
    text = suite(one("a"), one("b", "SKIP"), one("c", "FAIL"), word="failed.", after=told)
    assert judge(scrape("ztest", text)).problems == ("1 of 3 tests failed: s.c",)


@pytest.mark.parametrize("state", ["FAIL", "SKIP"])
def test_a_row_of_the_summary_is_held_against_its_test(scrape, state):
    text = suite(one("a"), after=summary(f"{state} a", **{"pass": 1}))
    problem = f"the summary says {state.lower()} of s.a, which ended pass"
    assert problem in judge(scrape("ztest", text)).problems


@pytest.mark.parametrize(("word", "failures"), [("PASS", 1), ("PASS", 2), ("FAIL", 0)])
def test_a_summary_fails_where_it_counts_failures(scrape, word, failures):
    text = suite(one("a"), after=summary("PASS a", word=word, **{"pass": 1, "fail": failures}))
    problems = judge(scrape("ztest", text)).problems
    assert f"the summary of s says {word}, and counts {failures} failures" in problems


def test_a_row_of_a_test_that_passed_without_lines_is_reported(scrape):
    text = suite(one("a"), after=summary("PASS a", "PASS b", **{"pass": 2}))
    problems = judge(scrape("ztest", text)).problems
    assert problems == ("the summary says pass of s.b, which did not run",)


def test_a_wrong_count_is_reported_with_all_counts(scrape):
    text = suite(one("a"), after=summary("PASS a", skip=1, **{"pass": 1}))
    words = "pass 1 of 1 seen, fail 0 of 0 seen, skip 1 of 0 seen, total 1 of 1 seen"
    assert judge(scrape("ztest", text)).problems == (f"the summary of s counts {words}",)


def test_a_suite_count_outside_the_summary_is_invalid(scrape):
    count = summary(**{"pass": 0}).splitlines()[1]
    (problem,) = judge(scrape("ztest", suite(one("a"), after=f"{count}\n"))).problems
    assert problem == f"line 5 {count[:80]!r} is outside the summary"


def test_a_test_may_print_text_like_a_summary(scrape):
    row = " - FAIL - [s.a] duration = 0.1 seconds\n"
    text = suite(one("a").replace("\n", f"\n{row}", 1))
    assert judge(scrape("ztest", text)).problems == ()


def test_after_a_summary_without_end_the_closing_line_is_read(scrape):
    told = summary("PASS a", **{"pass": 1}).rpartition("------ TESTSUITE")[0]
    console = scrape("ztest", suite(one("a"), after=told))
    assert console.scrapers[0].ended
    assert judge(console).problems == ("the summary has no end",)


def test_an_endless_summary_keeps_a_limited_number_of_rows(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.ztest_summary.MOST_RESULTS", 1)
    other = summary("PASS a", "PASS b", **{"pass": 2})
    text = suite(one("a"), one("b"), after=other)
    problems = judge(scrape("ztest", text)).problems
    assert "the summary does not name s.b, which ran (pass)" in problems


def test_seconds_are_read_with_and_without_leading_zeros(scrape):
    text = one("a").replace("0.1 seconds", "12.034 seconds")
    (test,) = judge(scrape("ztest", suite(text))).tests
    assert test.seconds == pytest.approx(12.034)
