"""Every form that ztest prints, of each release and option, is read as what it says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from ztest_log import Image, Suite, UnitTest

from harness.uart import Console, scraper
from harness.uart.scrapers import Check, ExpectedResults

FAILURES = ["", "Assertion failed at a.c:12: f: x is false", "Assumption failed at a.c:12"]
TESTS = st.builds(
    UnitTest,
    st.sampled_from(["test_a", "test_b", "test_c"]),
    st.lists(st.sampled_from(["pass", "pass", "fail", "skip"]), min_size=1, max_size=3).map(tuple),
    st.sampled_from([(), (), ("0", "1"), ("two words", "1.5")]),
    st.sampled_from(["", "...", "busy "]),
    st.sampled_from(FAILURES),
)
SUITES = st.builds(
    Suite,
    st.sampled_from(["s", "other"]),
    st.lists(TESTS, max_size=3, unique_by=lambda one: one.name).map(tuple),
    st.booleans(),
)
SURE = Suite("sure", (UnitTest("test_get"), UnitTest("test_put")))


def _names_tests(image: Image) -> bool:
    """Whether the log names each test and all of its results.

    Before Zephyr 4.4 a row without lines calls a test that passed and was skipped flaky, and before
    3.5 it tells the last repetition alone, whatever the closing lines say.
    """
    several = image.suite_repeat * image.test_repeat > 1 or any(
        test.values for suite in image.suites for test in suite.tests
    )
    return image.verbose_output or (image.has_rows and (image.release >= 4.4 or not several))


IMAGES = st.builds(
    Image,
    st.lists(SUITES, max_size=2, unique_by=lambda one: one.name).map(lambda one: (SURE, *one)),
    release=st.sampled_from([3.1, 3.2, 3.4, 3.7, 4.4]),
    verbose_output=st.booleans(),
    summary=st.booleans(),
    verbose_summary=st.booleans(),
    fail_fast=st.booleans(),
    fail_on_assume=st.booleans(),
    suite_repeat=st.integers(1, 3),
    test_repeat=st.integers(1, 2),
    resets=st.integers(0, 1),
    prefix=st.sampled_from(["", "[00:00:00.010,000] <inf> ztest: ", "I: "]),
).filter(_names_tests)
GET, PUT = UnitTest("test_get"), UnitTest("test_put", ("skip",))
LINK = UnitTest("test_link", ("fail", "pass"))


def read(text: str, **expected) -> Check:
    reader = scraper("ztest")
    console = Console([reader])
    console.feed(text.encode())
    console.finish()
    return reader.check(ExpectedResults(**expected))


def states(text: str) -> dict[str, str]:
    return {test.name: test.state for test in read(text).tests}


@given(IMAGES)
@example(Image((Suite("s", (LINK,)),), suite_repeat=2))
@example(Image((Suite("s", (GET, PUT)),), verbose_output=False, release=3.2))
def test_the_results_are_those_of_the_image_and_nothing_contradicts(image):
    named = {name: state for name, state in image.results.items() if state != "pass"}
    check = read(image.text, tests=named, resets=image.resets > 0)
    found = {test.name: test.state for test in check.tests if "unnamed" not in test.name}
    assert found == image.results
    # An assumption fails the run of a test that passed otherwise, or of one without lines.
    assert image.fail_on_assume or not check.problems


@given(IMAGES, st.data())
def test_a_log_that_lost_a_line_of_a_test_or_a_row_does_not_pass(image, data):
    image = replace(image, resets=0, fail_on_assume=False)
    named = {name: state for name, state in image.results.items() if state != "pass"}
    assert not read(image.text, tests=named).problems
    lines = image.text.splitlines(keepends=True)
    told = [
        number
        for number, line in enumerate(lines)
        if re.search(r"TESTSUITE|START - | (PASS|FAIL|SKIP|FLAKY) - |PROJECT", line)
        # One line alone tells of a suite that did not run, if it has no rows.
        and not ("SUITE SKIP" in line and ("total = 0" in line or not image.verbose_summary))
    ]
    lost = data.draw(st.sampled_from(told))
    assert read("".join(lines[:lost] + lines[lost + 1 :]), tests=named).problems
    assert read("".join(lines[:lost] + [lines[lost]] * 2 + lines[lost + 1 :]), tests=named).problems
    assert read("".join(lines[:lost]), tests=named).problems


@pytest.mark.parametrize(
    ("image", "results"),
    [
        (Image((Suite("s", (GET, PUT)),)), {"s.test_get": "pass", "s.test_put": "skip"}),
        (
            Image((Suite("s", (GET, PUT)),), verbose_output=False),
            {"s.test_get": "pass", "s.test_put": "skip"},
        ),
        (
            Image((Suite("s", (GET, PUT)),), verbose_output=False, verbose_summary=False),
            {"s.unnamed 1": "pass", "s.unnamed 2": "skip"},
        ),
        (
            Image((Suite("s", (GET,)), Suite("t", (PUT,), runs=False)), verbose_summary=False),
            {"s.test_get": "pass", "t.unnamed 1": "skip"},
        ),
        (
            Image((Suite("s", (UnitTest("test_add", values=("0", "a b")),)),)),
            {"s.test_add[all/0]": "pass", "s.test_add[all/a b]": "pass"},
        ),
        (Image((Suite("s", (LINK,)),), test_repeat=2), {"s.test_link": "flaky"}),
        (
            Image((Suite("s", (UnitTest("test_get", ("fail",)), PUT)),), fail_fast=True),
            {"s.test_get": "fail", "s.test_put": "skip"},
        ),
        (Image((Suite("s", (GET,)),), verbose_output=False, summary=False), {}),
    ],
)
def test_a_form_gives_results(image, results):
    assert states(image.text) == results


def test_without_any_test_by_name_or_number_nothing_ran():
    image = Image((Suite("s", (GET,)),), verbose_output=False, summary=False)
    assert read(image.text).problems == ("no test ran",)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (" PASS - test_get in 0.1 seconds", "pass"),
        ("... PASS - test_get in 0.1 seconds", "pass"),
        ("[00:00:01.000,000] <inf> app:  PASS - test_get in 0.1 seconds", "pass"),
        (" \x1b[32mPASS\x1b[0m - test_get in 0.1 seconds", "pass"),
        (" ? - test_get in 0.1 seconds", "fail"),  # skipped, with values of a mock unused
        (" FLAKY - test_get in 0.1 seconds", "fail"),
        ("a PASS - test_put in 0.1 seconds", "unfinished"),  # text of the test's own
        ("main: START - test_put", "unfinished"),
    ],
)
def test_a_test_ends_with_its_own_name_behind_any_text(end, state):
    text = f"Running TESTSUITE s\nSTART - test_get\n{end}\nTESTSUITE s succeeded\n"
    assert states(text + "PROJECT EXECUTION SUCCESSFUL\n") == {"s.test_get": state}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("    Assertion failed at a.c:12", "Assertion failed at a.c:12"),
        ("    Expectation failed at a.c:12: f: x is 0", "Expectation failed at a.c:12: f: x is 0"),
        ("    Assumption failed at a.c:12: f: x is 0", "Assumption failed at a.c:12: f: x is 0"),
        (
            "Test test_get failed: Unused mock return values",
            "Test test_get failed: Unused mock return values",
        ),
    ],
)
def test_the_cause_of_a_failure_is_a_message_of_its_test(line, message):
    text = f"START - test_get\n\n{line}\n FAIL - test_get in 0.1 seconds\n"
    (test,) = read("Running TESTSUITE s\n" + text).tests
    assert test.messages == (message,)


def test_a_failure_in_the_set_up_of_a_suite_is_a_message_of_its_tests():
    failure = "Assertion failed at a.c:3: s_setup: no device"
    tests = "START - test_get\n FAIL - test_get in 0.1 seconds\n"
    text = f"Running TESTSUITE s\n\n    {failure}\n{tests}TESTSUITE s failed.\n"
    assert [test.messages for test in read(text).tests] == [(failure,)]


def test_a_failure_of_a_test_without_lines_is_the_message_of_its_row():
    failing = UnitTest("test_put", ("fail",), failure="Assertion failed at a.c:9: s_test_put: no")
    image = Image((Suite("s", (GET, failing)),), verbose_output=False)
    assert [test.messages for test in read(image.text).tests] == [(), (failing.failure,)]


@pytest.mark.parametrize(
    "error",
    [
        "ERROR: Test suite 't' did not run.",
        "ERROR: Test 'test_get' assigned to test suite 't' which doesn't exist",
        "ERROR: cannot fail in test phase 'teardown()', bailing",
        "Bad stats for s.test_get",
    ],
)
def test_a_run_that_failed_without_a_test_says_why(error):
    text = Image((Suite("s", (GET,)),), summary=False).text.replace("SUCCESSFUL", "FAILED")
    assert read(text.replace("PROJECT", f" {error}\nPROJECT")).problems == (error,)


def test_a_failure_in_the_tear_down_of_a_suite_is_told():
    failure = "Assertion failed at a.c:3: s_teardown: stuck"
    text = Image((Suite("s", (GET,)),), summary=False).text
    text = text.replace("TESTSUITE s succeeded\n", f"TESTSUITE s succeeded\n    {failure}\n")
    assert read(text).problems == (f"{failure} (outside of a suite)",)


def test_a_failure_in_after_is_told_with_the_test_that_passed():
    failure = "Assertion failed at a.c:3: s_after: leaked is not 0"
    error = "ERROR: cannot fail in test phase 'after()', bailing"
    text = Image((Suite("s", (GET,)),)).text.replace("SUCCESSFUL", "FAILED")
    text = text.replace(" PASS - test_get in", f"    {failure}\n {error}\n PASS - test_get in", 1)
    assert read(text).problems == (f"s.test_get, in after(): {failure}",)


def test_an_end_in_after_is_told_with_its_test():
    error = "ERROR: cannot pass in test phase 'after()', bailing"
    text = Image((Suite("s", (GET,)),)).text.replace("SUCCESSFUL", "FAILED")
    text = text.replace(" PASS - test_get in", f" {error}\n PASS - test_get in", 1)
    assert read(text).problems == (f"s.test_get, in after(): {error}",)


def test_a_failure_in_set_up_is_told_before_the_tests_that_it_fails():
    failure = "Assertion failed at a.c:3: s_setup: no sensor"
    text = Image((Suite("s", (replace(GET, ends=("fail",)), LINK)), SURE)).text
    set_up = text.replace("START - test_get", f"    {failure}\nSTART - test_get", 1)
    assert read(set_up).problems[:2] == (
        f"s, in setup(): {failure}", "2 of 4 tests failed: s.test_get, s.test_link",
    )  # fmt: skip


@pytest.mark.parametrize("ends", [("pass",), ("fail",)])
def test_a_failure_between_two_tests_is_no_failure_of_the_set_up(ends):
    failure = "Assertion failed at a.c:3: watcher: late"
    text = Image((Suite("s", (replace(GET, ends=ends), LINK)),)).text
    between = text.replace("START - test_link", f"    {failure}\nSTART - test_link", 1)
    assert not [one for one in read(between).problems if "setup()" in one]


def test_a_log_that_lost_results_names_the_messages_that_were_dropped():
    text = Image((Suite("s", (GET, PUT)),)).text
    start, end = text.index(" PASS - test_get"), text.index("START - test_put")
    dropped = f"{text[:start]}--- 3 messages dropped ---\n{text[end:]}"
    assert read(dropped).problems[0] == (
        "the log dropped 3 messages (line 5), and results with them: "
        "CONFIG_LOG_BUFFER_SIZE is too small"
    )


@pytest.mark.parametrize("failing", [False, True])
def test_dropped_messages_that_held_no_result_are_no_problem(failing):
    test = replace(GET, ends=("fail",)) if failing else GET
    text = Image((Suite("s", (test, SURE.tests[1])),)).text
    text = text.replace("START - test_get\n", "START - test_get\n--- 3 messages dropped ---\n", 1)
    assert read(text).problems == (("1 of 2 tests failed: s.test_get",) if failing else ())


def test_a_suite_of_ztests_shell_has_no_closing_line_where_the_case_names_its_end():
    text = Image((Suite("s", (GET,)),), summary=False).text
    text = text[: text.index("=" * 67, text.index("TESTSUITE s succeeded"))] + "uart:~$ "
    assert read(text, names_end=True).problems == ()
    assert read(text).problems == ("the closing line (PROJECT EXECUTION) never came",)


@pytest.mark.parametrize("lost", ["TESTSUITE s succeeded\n", " PASS - test_get in"])
def test_a_suite_of_ztests_shell_ends_its_tests_and_itself(lost):
    text = Image((Suite("s", (GET,)),), summary=False).text
    text = text[: text.index("=" * 67, text.index("TESTSUITE s succeeded"))] + "uart:~$ "
    assert lost in text
    assert read(text.replace(lost, "...", 1), names_end=True).problems != ()


def test_another_thread_may_print_within_the_summary():
    text = Image((Suite("s", (GET,)),)).text
    assert read(text.replace("SUITE PASS", "app: tick\nSUITE PASS")).problems == ()


def test_benchmarks_have_no_result():
    figures = (
        "bench ######\nS,bench,fifo,1000,12.000,0.012,0.001,0.000,0.010,1,0.014,7\n"
        "get ======\n\tSample size:1000, total cycles: 12.000\n\tMean(u): 0.012\n"
        "\tMin: 0.010 (run #1)\nT,bench,put\tINCONCLUSIVE\n"
    )
    text = Image((Suite("s", (GET,)),)).text
    assert (
        read(text.replace("\n------ TESTSUITE", f"{figures}\n------ TESTSUITE", 1)).problems == ()
    )


@pytest.mark.parametrize("option", ["flaky", "fail", "skip"])
def test_a_flaky_test_is_expected_by_that_name_alone(option):
    text = Image((Suite("s", (LINK, GET)),), suite_repeat=2).text
    problems = read(text, tests={"s.test_link": option}).problems
    assert problems == (() if option == "flaky" else ("s.test_link is flaky: failed 1 of 2",))


def test_a_test_that_is_known_as_flaky_may_pass():
    text = Image((Suite("s", (GET,)),), suite_repeat=2).text
    assert read(text, tests={"s.test_get": "flaky"}).problems == ()


def test_a_flaky_row_says_how_often_the_test_failed():
    text = Image((Suite("s", (LINK, GET)),), suite_repeat=2).text
    problems = read(text.replace("Failed 1 of 2", "Failed 2 of 3"), tests={"s.test_link": "flaky"})
    assert problems.problems == (
        "the summary says flaky: failed 2 of 3 of s.test_link, which ended fail and pass",
    )


def test_the_messages_and_the_longest_time_of_all_runs_are_kept():
    runs = (
        "START - t\n    Assertion failed at a.c:1\n FAIL - t in 0.002 seconds\n"
        "START - t\n PASS - t in 0.001 seconds\n"
    )
    (test,) = read("Running TESTSUITE s\n" + runs).tests
    assert test.messages == ("flaky: failed 1 of 2", "Assertion failed at a.c:1")
    assert (test.seconds, test.line) == (pytest.approx(0.002), 2)


# resets


def test_a_test_that_the_reset_ended_and_that_did_not_run_again_is_told():
    text = Image((Suite("s", (GET, PUT)),), resets=1).text
    first = text.index("START - test_get")
    text = text[:first] + "START - test_wdt" + text[first + len("START - test_get") :]
    assert read(text).problems == ("s.test_wdt began, and the chip was reset",)
    check = read(text, resets=True)
    assert (check.problems, check.pass_reason) == (
        (), "1 of 3 tests passed, 1 skipped, 1 ended with a reset",
    )  # fmt: skip


def test_a_repetition_after_the_whole_run_may_be_cut():
    image = Image((Suite("s", (GET, PUT)),))
    text = image.text + "Reset board #1 to test again\n"
    again = image.text.partition(" SKIP")[0]
    assert read(text + again, resets=True).problems == ()
    whole = read(text + image.text.replace("PASS", "FAIL"), resets=True)
    assert "s.test_get is flaky: failed 1 of 2" in whole.problems


def test_a_reset_that_the_console_shows_excuses_no_lost_line():
    text = Image((Suite("s", (GET,)),), suite_repeat=2, resets=1).text
    lost = text.replace("TESTSUITE s succeeded\n", "", 1)
    assert read(text, resets=True).problems == ()
    assert read(lost, resets=True).problems == ("TESTSUITE s began again on line 11",)


def test_a_flaky_row_without_its_attempts_is_no_row():
    image = Image((Suite("s", (LINK, GET)),), suite_repeat=2, verbose_output=False)
    spoilt = image.text.replace(" - (Failed 1 of 2 attempts) -", "")
    known = {"s.test_link": "flaky"}
    assert read(image.text, tests=known).problems == ()
    assert read(spoilt, tests=known).problems != ()


def test_a_test_whose_rows_of_two_boots_fail_is_flaky():
    image = Image((Suite("s", (LINK, GET)),), suite_repeat=2, verbose_output=False)
    failed = Image((Suite("s", (UnitTest("test_link", ("fail",)), GET)),), verbose_output=False)
    problems = read(failed.text + image.text, resets=True).problems
    assert problems == ("s.test_link is flaky: failed 1 of 2",)
