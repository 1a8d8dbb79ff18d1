"""TFLM's own unit tests, rule by rule."""

import pytest

from harness.uart import Console, scraper
from harness.uart.scrapers import ExpectedResults

CLOSED = "~~~ALL TESTS PASSED~~~\n"


def judge(console: Console, **wanted):
    return console.scrapers[0].check(ExpectedResults(**wanted))


def begun(name: str) -> str:
    return f"[ RUN      ] {name}\n"


def passed(name: str) -> str:
    return f"{begun(name)}[       OK ] {name}\n"


def failed(name: str, details: str = "") -> str:
    return f"{begun(name)}{details}[  FAILED  ] {name}\n"


def tally(ran: int, good: int) -> str:
    return f"[==========] {ran} tests ran.\n[  PASSED  ] {good} tests.\n"


def listing(*names: str, count: int) -> str:
    head = f"[  FAILED  ] {count} tests, listed below:\n"
    return head + "".join(f"[  FAILED  ] {name}\n" for name in names)


def problems(scrape, text: str) -> tuple[str, ...]:
    return judge(scrape("unit_tests", text)).problems


def ended(text: str) -> bool:
    reader = scraper("unit_tests")
    Console([reader]).feed(text.encode())
    return reader.ended


def test_a_run_that_passes_has_no_problem(scrape):
    assert problems(scrape, passed("S.A") + passed("S.B") + tally(2, 2) + CLOSED) == ()


def test_a_run_that_reports_its_failure_has_one_problem(scrape):
    text = passed("S.A") + failed("S.B") + tally(2, 1) + listing("S.B", count=1)
    assert problems(scrape, text) == ("1 of 2 tests failed: S.B",)


# how a run ends


@pytest.mark.parametrize(
    ("text", "over"),
    [
        (passed("S.A"), False),
        (passed("S.A") + tally(1, 1), True),
        (CLOSED, True),
        ("~~~SOME TESTS FAILED~~~\n", True),
        ("[==========] 1 tests ran.\n", False),
        ("Testing A\n1/2 tests passed\n", False),
        (tally(1, 2), False),  # more passed than ran
        (tally(3, 1), False),
        (tally(3, 1) + listing("S.A", count=2), False),
        (tally(3, 1) + listing("S.A", "S.B", count=2), True),
        (tally(3, 1) + listing("S.A", "S.B", "S.C", count=2), True),
    ],
)
def test_a_run_is_over_with_its_closing_line_or_its_whole_tally(text, over):
    assert ended(text) is over


def test_a_closing_line_inside_a_test_is_output_of_that_test(scrape):
    inside = begun("S.A") + CLOSED
    assert not ended(inside)
    assert problems(scrape, inside + "[       OK ] S.A\n" + tally(1, 1) + CLOSED) == ()
    assert problems(scrape, inside) == (
        "S.A began and did not end",
        "how many tests ran and how many passed was never printed",
        "the closing line (~~~ALL TESTS PASSED~~~) or tally never came",
    )


def test_some_tests_failed_agrees_with_failed_tests(scrape):
    text = "Testing A\nx == y failed at a_test.cc:12\n0/1 tests passed\n~~~SOME TESTS FAILED~~~\n"
    assert problems(scrape, text) == ("1 of 1 tests failed: A",)


def test_all_tests_passed_contradicts_an_unfinished_test(scrape):
    found = problems(scrape, passed("S.A") + begun("S.B") + tally(2, 1) + CLOSED)
    assert found == (
        "S.B began and did not end",
        "ALL TESTS PASSED is printed, but the lines before say otherwise",
    )


# tallies


@pytest.mark.parametrize("ran", [0, 2])
def test_the_run_count_must_equal_the_tests_seen(scrape, ran):
    found = problems(scrape, passed("S.A") + tally(ran, 1) + CLOSED)
    assert found == (f"the image says that {ran} tests ran, 1 were seen",)


@pytest.mark.parametrize("good", [0, 2])
def test_the_passed_count_must_equal_the_tests_passed(scrape, good):
    found = problems(scrape, passed("S.A") + tally(1, good) + CLOSED)
    assert found == (f"the image says that {good} tests passed, 1 did",)


@pytest.mark.parametrize(("count", "listed"), [(0, ()), (2, ("S.A", "S.B"))])
def test_the_failed_count_must_equal_the_tests_failed(scrape, count, listed):
    text = failed("S.A") + tally(1, 0) + listing(*listed, count=count)
    assert f"the image says that {count} tests failed, 1 did" in problems(scrape, text)


@pytest.mark.parametrize("name", ["S.A", "S.C"])
def test_the_failed_tests_must_equal_the_list(scrape, name):
    text = failed("S.B") + tally(1, 0) + listing(name, count=1)
    wrong = "the failed tests that the image lists are not those that failed"
    assert wrong in problems(scrape, text)


def test_failed_tests_may_be_listed_in_any_order(scrape):
    text = failed("S.A") + failed("S.B") + tally(2, 0) + listing("S.B", "S.A", count=2)
    assert problems(scrape, text) == ("2 of 2 tests failed: S.A, S.B",)


@pytest.mark.parametrize("said", ["[==========] 1 tests ran.\n", ""])
def test_both_tallies_are_required(scrape, said):
    found = problems(scrape, passed("S.A") + said + CLOSED)
    assert found == ("how many tests ran and how many passed was never printed",)


def test_a_list_without_end_is_kept_up_to_its_bound(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.unit_tests.MOST_RESULTS", 1)
    text = failed("S.A") + failed("S.B") + tally(2, 0) + listing("S.A", "S.B", count=2)
    assert not ended(text)


# one test


@pytest.mark.parametrize(("name", "other"), [("S.A", "S.B"), ("S.B", "S.A")])
def test_a_test_ends_under_its_own_name(scrape, name, other):
    text = begun(name) + f"[       OK ] {other}\n" + tally(1, 1) + CLOSED
    assert problems(scrape, text) == (f"{other} ends (pass) while {name} is running",)


def test_a_bracketed_word_belongs_to_the_running_test(scrape):
    own = "[ WORDS    ] of its own\n"
    text = begun("S.A") + own + "[       OK ] S.A\n" + own + tally(1, 1) + CLOSED
    assert problems(scrape, text) == (f"line 4 {own.strip()!r} makes no sense",)


def test_of_a_failure_two_indented_lines_are_kept(scrape):
    said = "a_test.cc:12: Failure\n  one\n  two\n  three\n"
    (test,) = judge(scrape("unit_tests", failed("S.A", said) + tally(1, 0))).tests
    assert test.messages == ("a_test.cc:12: Failure", "one", "two")


def test_a_line_that_is_not_indented_ends_the_details(scrape):
    said = "a_test.cc:12: Failure\n  one\nanother voice\n  two\n"
    (test,) = judge(scrape("unit_tests", failed("S.A", said) + tally(1, 0))).tests
    assert test.messages == ("a_test.cc:12: Failure", "one")


def test_a_failure_in_the_next_test_has_details_of_its_own(scrape):
    text = failed("S.A", "a.cc:1: Failure\n  one\n") + failed("S.B", "  none\n") + tally(2, 0)
    first, second = judge(scrape("unit_tests", text)).tests
    assert (first.messages, second.messages) == (("a.cc:1: Failure", "one"), ())


def test_indented_lines_between_failures_are_the_last_ones(scrape):
    said = "a.cc:1: Failure\n  one\na.cc:2: Failure\n  two\n  three\n"
    (test,) = judge(scrape("unit_tests", failed("S.A", said) + tally(1, 0))).tests
    assert test.messages == ("a.cc:1: Failure", "one", "a.cc:2: Failure", "two", "three")


@pytest.mark.parametrize("prefix", ["[00:00:00.010,000] <inf> tflm: ", "I: "])
@pytest.mark.parametrize("text", [passed("S.A") + tally(1, 1), "Testing A\n1/1 tests passed\n"])
def test_a_log_may_stand_before_each_line(scrape, text, prefix):
    logged = "".join(f"{prefix}{line}\n" for line in (text + CLOSED).splitlines())
    assert problems(scrape, logged) == ()


def test_a_test_may_print_before_its_end_without_a_line_feed(scrape):
    text = begun("S.A") + "half [ 1 ] done[       OK ] S.A\n" + tally(1, 1) + CLOSED
    assert problems(scrape, text) == ()


def test_a_string_that_differs_fails_a_test_of_the_older_form(scrape):
    text = "Testing A\nFAIL: one did not match two\n0/1 tests passed\n~~~SOME TESTS FAILED~~~\n"
    told = judge(scrape("unit_tests", text))
    assert told.problems == ("1 of 1 tests failed: A",)
    assert "FAIL: one did not match two" in told.details


def test_a_test_of_the_older_form_passes_without_a_failure(scrape):
    text = "Testing A\nhello\nTesting B\n2/2 tests passed\n" + CLOSED
    told = judge(scrape("unit_tests", text))
    assert [(test.name, test.state, test.line) for test in told.tests] == [
        ("A", "pass", 1),
        ("B", "pass", 3),
    ]
    assert told.problems == ()
