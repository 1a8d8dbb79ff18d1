"""Suites of tests: tflite-micro's own, and Zephyr's ztest."""

import pytest

from harness.base.findings import Kind
from harness.uart.scrapers import ExpectedResults


def judge(console, **wanted):
    return console.scrapers[0].check(ExpectedResults(**wanted))


# captures of real images


@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("kernel_add_n_test", 2),
        ("kernel_conv_test", 21),
        ("micro_allocator_test", 30),
        ("single_arena_buffer_allocator_test", 14),
        ("testing_util_test", 3),
    ],
)
def test_passing_unit_tests_pass(transcript, name, count):
    console = transcript(f"unit_tests/{name}", "unit_tests")
    told = judge(console)
    assert (told.compared, told.mismatches, told.problems) == (count, 0, ())
    assert console.findings == []
    assert console.scrapers[0].ended
    assert told.pass_reason == f"{count} of {count} tests passed"


def test_a_unit_test_that_fails_is_named_with_expression_file_and_line(transcript):
    console = transcript("unit_tests/memory_arena_threshold_test", "unit_tests")
    name = "MemoryArenaThresholdTest.TestKeywordModelMemoryThreshold"
    told = judge(console)
    assert told.problems == (f"1 of 2 tests failed: {name}",)
    assert "memory_arena_threshold_test.cc:215: Failure" in told.details
    assert "thresholds.tail_alloc_size - tail_est_length <=" in told.details
    assert "2520 <= 2048" in told.details
    assert console.scrapers[0].ended
    assert judge(console, tests={name: "fail"}).problems == ()


@pytest.mark.parametrize(
    ("name", "passed", "skipped"),
    [
        ("context_skips_3.1", 6, 3),
        ("fatal_3.1", 1, 0),
        ("msgq", 17, 0),
        ("semaphore_3.1", 29, 0),
        ("userspace_3.1", 39, 0),
        ("userspace_3.4", 40, 0),
    ],
)
def test_passing_suites_pass(transcript, name, passed, skipped):
    console = transcript(f"ztest/{name}", "ztest")
    told = judge(console)
    assert told.problems == ()
    assert console.findings == []
    states = [test.state for test in told.tests]
    assert (states.count("pass"), states.count("skip")) == (passed, skipped)
    assert len(states) == passed + skipped
    assert console.scrapers[0].ended


FAILED = ("duration_period", "k_define", "remaining", "status_get_anytime")


@pytest.mark.parametrize("release", ["3.1", "3.4"])
def test_failures_are_named_and_may_be_known(transcript, release):
    console = transcript(f"ztest/timer_api_failures_{release}", "ztest")
    told = judge(console)
    assert told.problems[0].startswith("4 of 15 tests failed: timer_api.test_timer_duration_period")
    assert len(told.problems) == 1
    assert "Assertion failed at WEST_TOPDIR/zephyr/tests/kernel/timer/timer_api/" in told.details
    known = {f"timer_api.test_timer_{name}": "fail" for name in FAILED}
    listed = judge(console, tests=known)
    assert listed.problems == ()
    assert listed.pass_reason == "11 of 15 tests passed, 4 failed as known"


def test_provoked_faults_are_not_findings_and_a_failure_is(transcript):
    console = transcript("ztest/threads_api_3.1", "ztest")
    assert console.findings == []
    assert judge(console).problems == ("1 of 41 tests failed: threads_lifecycle.test_k_busy_wait",)


def test_a_suite_that_was_cut_off_does_not_pass(transcript):
    console = transcript("ztest/mem_protect_3.1", "ztest")
    told = judge(console)
    assert not console.scrapers[0].ended
    assert (len(told.tests), told.mismatches) == (45, 0)
    assert "the closing line (PROJECT EXECUTION) never came" in told.problems


def test_durations_are_read_in_both_forms(transcript):
    old = judge(transcript("ztest/context_skips_3.1", "ztest")).tests
    assert {test.name: test.seconds for test in old}["context.test_k_sleep"] == 5.319
    assert old[2].seconds == pytest.approx(0.034)  # "0.34 seconds": milliseconds without zeros
    new = judge(transcript("ztest/timer_api_failures_3.4", "ztest")).tests
    assert new[0].seconds == pytest.approx(0.004)


# ztest, line by line

BAR = "=" * 67 + "\n"
HEAD = "*** Booting Zephyr OS build v3.4  ***\nRunning TESTSUITE s\n" + BAR
ONE = "START - test_a\n PASS - test_a in 0.001 seconds\n" + BAR
TAIL = "TESTSUITE s succeeded\n" + BAR + "PROJECT EXECUTION SUCCESSFUL\n"
SUMMARY = (
    "\n------ TESTSUITE SUMMARY START ------\n\n"
    "SUITE PASS - 100.00% [s]: pass = 1, fail = 0, skip = 0, total = 1 duration = 0.001 seconds\n"
    " - PASS - [s.test_a] duration = 0.001 seconds\n\n"
    "------ TESTSUITE SUMMARY END ------\n\n"
)
COUNT, ROW = (line + "\n" for line in SUMMARY.splitlines()[3:5])
DUMP = (
    "E: ***** MPU FAULT *****\nE:   Data Access Violation\n"
    "E: r3/a4:  0x20001114 r12/ip:  0x0000f493 r14/lr:  0x000007b1\n"
    "E: Faulting instruction address (r15/pc): 0x0000082e\n"
    "E: >>> ZEPHYR FATAL ERROR 0: CPU exception on CPU 0\n"
)


def test_one_test_with_its_suite_passes(scrape):
    text = HEAD + ONE + TAIL.replace(BAR, SUMMARY)
    assert judge(scrape("ztest", text)).problems == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + TAIL, "no test ran"),
        (HEAD + ONE.replace("PASS", "SKIP") + TAIL, "no test ran: 1 were skipped"),
        (HEAD + ONE, "the closing line of TESTSUITE s never came"),
        (HEAD + ONE + "TESTSUITE s succeeded\n", "PROJECT EXECUTION) never came"),
        (
            HEAD + ONE + TAIL.replace("SUCCESSFUL", "FAILED"),
            "FAILED is printed, and no test failed",
        ),
        (HEAD + ONE + TAIL.replace("succeeded", "failed."), "says failed, and none"),
        (HEAD + ONE.replace("PASS", "FAIL") + TAIL, "says succeeded, and not all"),
        (HEAD + ONE.replace("PASS", "FAIL") + TAIL, "SUCCESSFUL is printed, and not all"),
        (HEAD + "START - test_a\n" + TAIL, "s.test_a began and did not end"),
        (HEAD + "START - test_b\n" + ONE + TAIL, "s.test_b began and did not end"),
        (HEAD + " PASS - test_b in 0.1 seconds\n" + ONE + TAIL, "while no test is running"),
        (
            HEAD + ONE.replace("START - test_a", "START - test_b") + TAIL,
            "while s.test_b is running",
        ),
        (ONE + TAIL, "TESTSUITE s ends and did not begin"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("pass = 1", "pass = 2")), "pass 2 of 1"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("total = 1", "total = 2")), "total 2 of 1"),
        (
            HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("- PASS - [", "- FAIL - [")),
            "says fail of",
        ),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("test_a]", "test_b]")), "did not run"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("test_a]", "test_b]")), "does not name"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY + SUMMARY), "SUMMARY START came on line 9 and"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace(ROW, ROW + ROW)), "row of s.test_a came"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace(COUNT, COUNT + COUNT)), "of s came on"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace(COUNT, "")), "does not count suite s"),
        (
            HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("pass = 1", "pass = -1")),
            "does not count",
        ),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY.replace("E PASS", "E FAIL")), "counts 0 failures"),
        (HEAD + ONE + TAIL.replace(BAR, SUMMARY[:-40]), "the summary has no end"),
        (HEAD + ONE + TAIL.replace(BAR, BAR + ROW), "is outside the summary"),
        (HEAD + ONE + TAIL + ONE, "came after the end"),
        (HEAD + ONE + TAIL + SUMMARY, "came after the end"),
        (HEAD + ONE + TAIL + "PROJECT EXECUTION SUCCESSFUL\n", "PROJECT EXECUTION came on line"),
    ],
)
def test_a_suite_that_contradicts_itself_does_not_pass(scrape, text, words):
    assert words in "\n".join(judge(scrape("ztest", text)).problems)


def test_a_dump_within_a_test_is_the_tests_and_after_the_end_a_finding(scrape):
    within = scrape("ztest", HEAD + ONE.replace(" PASS", DUMP + " PASS") + TAIL)
    assert within.findings == []
    after = scrape("ztest", HEAD + ONE + TAIL + DUMP)
    assert [finding.kind for finding in after.findings] == [Kind.FAULT, Kind.KERNEL_PANIC]
    before = scrape("ztest", DUMP + HEAD + ONE + TAIL)
    assert [finding.kind for finding in before.findings] == [Kind.FAULT, Kind.KERNEL_PANIC]


def test_a_line_between_tests_does_not_belong_to_a_suite(scrape):
    text = HEAD + "I: the TEST bench is ready\n" + ONE + "I: FAIL-safe mode\n" + TAIL
    assert judge(scrape("ztest", text)).problems == ()


def test_a_dump_in_an_unfinished_test_is_its_reason(scrape):
    console = scrape("ztest", HEAD + ONE + "START - test_b\n" + DUMP)
    assert console.findings[0].value("pc") == 0x82E
    assert "s.test_b began and did not end" in judge(console).problems


def test_a_dump_that_a_test_owns_hides_no_later_one(scrape):
    owned = HEAD + ONE.replace(" PASS", DUMP * 30 + " PASS")
    assert len(scrape("ztest", owned + TAIL + DUMP).findings) == 2


@pytest.mark.parametrize(
    ("tests", "words"),
    [
        ({"s.test_a": "fail"}, "s.test_a passes, and expect.tests says fail: take it off the list"),
        ({"s.test_a": "skip"}, "s.test_a passes, and expect.tests says skip"),
        ({"s.test_b": "fail"}, "names s.test_b (fail), which did not run; is it s.test_a?"),
    ],
)
def test_a_known_failure_that_passes_is_reported(scrape, tests, words):
    problems = judge(scrape("ztest", HEAD + ONE + TAIL), tests=tests).problems
    assert words in "\n".join(problems)


def test_a_test_that_is_expected_to_pass_and_is_skipped_fails(scrape):
    two = ONE + ONE.replace("test_a", "test_b").replace("PASS", "SKIP")
    console = scrape("ztest", HEAD + two + TAIL)
    assert judge(console).problems == ()
    assert judge(console, tests={"s.test_b": "pass"}).problems


# unit tests, line by line

RUN = "[==========] Running tests.\n[ RUN      ] S.A\n[       OK ] S.A\n"
COUNTED = "[==========] 1 tests ran.\n"
PASSED = "[  PASSED  ] 1 tests.\n"
RAN = COUNTED + PASSED
ALL = "~~~ALL TESTS PASSED~~~\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (RUN + RAN, "~~~ALL TESTS PASSED~~~ never came"),
        (RUN + RAN.replace("1 tests ran", "2 tests ran") + ALL, "2 tests ran, 1 were seen"),
        (RUN + RAN.replace("] 1 tests.", "] 2 tests.") + ALL, "2 tests passed, 1 did"),
        (RUN.replace("[       OK ]", "[  FAILED  ]") + RAN + ALL, "1 of 1 tests failed: S.A"),
        (RUN.replace("[       OK ]", "[  FAILED  ]") + RAN + ALL, "say otherwise"),
        (RUN.replace("[       OK ] S.A", "[       OK ] S.B") + RAN + ALL, "while S.A is running"),
        (RUN + "[       OK ] S.B\n" + RAN + ALL, "S.B ends (pass) while no test is running"),
        (RUN + "[ RUN      ] S.B\n" + RAN + ALL, "S.B began and did not end"),
        (RUN, "never came"),
        ("Testing A\n", "never came"),
        ("Testing A\n0/0 tests passed\n" + ALL, "0 tests ran, 1 were seen"),
        ("0/0 tests passed\n" + ALL, "no test ran"),
        ("Testing A\n" + ALL, "how many tests ran and how many passed was never printed"),
        ("Testing A\nTesting A\n2/2 tests passed\n" + ALL, "the beginning of A came on line 1"),
        ("Testing A\n" + "1/1 tests passed\n" * 2 + ALL, "the tally came on line 2 and again"),
        ("Testing A\n" + ALL + "1/1 tests passed\n", "came after the end"),
        (RUN + RUN + RAN + ALL, "Running tests came on line 1 and again on line 4"),
        (RUN + RAN + "[ RUN      ] S.B\n" + ALL, "S.B began after the tests were counted"),
        (RUN + COUNTED + ALL, "how many tests ran and how many passed was never printed"),
        (RUN + PASSED + ALL, "came before the number of tests"),
        (RUN + RAN + RAN + ALL, "the number of tests that ran came on line 4 and again on line 6"),
        (RUN + RAN.replace("1 tests ran", "-1 tests ran") + ALL, "makes no sense"),
        (RUN + RAN.replace("PASSED ", "PASSES ") + ALL, "makes no sense"),
        (RUN + COUNTED + ALL + PASSED, "came after the closing line"),
        (RUN + RAN + ALL + ALL, "the closing line came on line 6 and again on line 7"),
        ("Testing A\n~~~SOME TESTS FAILED~~~\n", "no line says which"),
        (
            "Testing A\nx == y (1 vs 2) failed at a_test.cc:12\n0/1 tests passed\n" + ALL,
            "say other",
        ),
    ],
)
def test_unit_tests_that_do_not_clearly_pass_fail(scrape, text, words):
    assert words in "\n".join(judge(scrape("unit_tests", text)).problems)


def test_the_older_form_names_the_test_that_failed_and_where(scrape):
    text = (
        "Testing A\nTesting B\nx == y (1 vs 2) failed at a_test.cc:12\nTesting C\n"
        "2/3 tests passed\n~~~SOME TESTS FAILED~~~\n"
    )
    told = judge(scrape("unit_tests", text))
    assert [test.state for test in told.tests] == ["pass", "fail", "pass"]
    assert told.problems == ("1 of 3 tests failed: B",)
    assert "x == y (1 vs 2) failed at a_test.cc:12" in told.details


def test_a_failing_run_is_over_with_its_list(scrape):
    run = RUN.replace("[       OK ]", "[  FAILED  ]")
    tally = (
        "[==========] 1 tests ran.\n[  PASSED  ] 0 tests.\n[  FAILED  ] 1 tests, listed below:\n"
    )
    assert not scrape("unit_tests", run + tally).scrapers[0].ended
    whole = scrape("unit_tests", run + tally + "[  FAILED  ] S.A\n")
    assert whole.scrapers[0].ended
    assert judge(whole).problems == ("1 of 1 tests failed: S.A",)
    other = scrape("unit_tests", run + tally + "[  FAILED  ] S.B\n")
    assert "not those that failed" in "\n".join(judge(other).problems)


def test_a_message_between_tests_is_a_finding(scrape):
    message = "Failed to allocate tail memory. Requested: 768, available 256, missing: 512\n"
    assert scrape("unit_tests", RUN.replace("[       OK", message + "[       OK")).findings == []
    assert [one.kind for one in scrape("unit_tests", RUN + message + RAN + ALL).findings] == [
        Kind.ARENA_TOO_SMALL
    ]


def test_an_endless_list_of_tests_is_counted_and_fails(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.tests.MOST_TESTS", 2)
    five = "".join(ONE.replace("test_a", f"test_{number}") for number in range(5))
    told = judge(scrape("ztest", HEAD + five + TAIL))
    assert len(told.tests) == 2
    assert "3 results more than 2 came and were not checked" in told.problems


def test_a_test_that_another_one_follows_takes_its_messages_along(scrape):
    text = HEAD + "START - test_b\n" + DUMP + ONE + DUMP + TAIL
    assert [finding.line for finding in scrape("ztest", text).findings if finding.line] == [13, 17]


def test_a_test_keeps_ten_lines_of_300_characters(scrape):
    said = [f"Assertion failed at x.c:{n}: {'z' * 290}" for n in range(12)]
    text = "".join(f"    {line}\n" for line in said) + " FAIL - test_a in 0.1 seconds\n"
    (test,) = judge(scrape("ztest", HEAD + "START - test_a\n" + text + BAR)).tests
    assert test.messages == tuple(line[:300] for line in said[:10])


def test_output_before_a_failure_is_not_in_its_details(scrape):
    text = RUN.replace("[       OK ]", "  a word of its own\n[  FAILED  ]")
    (test,) = judge(scrape("unit_tests", text)).tests
    assert (test.state, test.messages) == ("fail", ())


def test_fifty_contradictions_are_kept(scrape):
    said = judge(scrape("ztest", HEAD + ONE + "TESTSUITE x succeeded\n" * 60 + TAIL)).problems
    assert len(said) == 50


def test_an_invalid_line_is_cut_to_80_characters(scrape):
    odd = "[  PASSED  ] " + "x" * 100
    (said,) = [
        one
        for one in judge(scrape("unit_tests", RUN + COUNTED + odd + "\n" + ALL)).problems
        if "makes no sense" in one
    ]
    assert repr(odd[:80]) in said


@pytest.mark.parametrize(("count", "more"), [(20, False), (21, True)])
def test_twenty_failed_tests_are_reported_in_full(scrape, count, more):
    failed = "".join(f"START - t{n:02}\n FAIL - t{n:02} in 0.1 seconds\n" for n in range(count))
    told = judge(scrape("ztest", HEAD + failed + TAIL))
    assert "s.t19" in told.details
    assert ("s.t20" in told.details) is False
    assert ("1 more" in told.details) is more
