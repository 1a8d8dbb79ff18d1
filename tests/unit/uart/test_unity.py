"""Results of Unity, line by line: which tests are read, and which outputs contradict themselves."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.findings import Kind
from harness.uart import Console, scraper
from harness.uart.scrapers import ExpectedResults, Scraper, TestResult, scrapers_that_fit


def row(name: str, state: str = "PASS", message: str = "", file: str = "test/test_add_s8.c") -> str:
    return f"{file}:12:{name}:{state}" + (f": {message}" if message else "") + "\n"


def tally(tests: int, failures: int = 0, ignored: int = 0, word: str = "") -> str:
    word = word or ("FAIL" if failures else "OK")
    counts = f"{tests} Tests {failures} Failures {ignored} Ignored "
    return f"\n-----------------------\n{counts}\n{word}\n"


HEADER = "Unity test run 1 of 1\n"
MIXED = row("add") + row("sub", "FAIL", "Expected 1 Was 2") + row("mul", "IGNORE", "later")


def problems(scrape, text: str, **wanted) -> tuple[str, ...]:
    return scrape("unity", text).scrapers[0].check(ExpectedResults(**wanted)).problems


def read_tests(scrape, text: str) -> tuple[TestResult, ...]:
    return scrape("unity", text).scrapers[0].check(ExpectedResults()).tests


def states(scrape, text: str) -> list[tuple[str, str]]:
    return [(test.name, test.state) for test in read_tests(scrape, text)]


# plain


def test_each_test_is_a_result_with_its_message(scrape):
    assert [(t.name, t.state, t.messages) for t in read_tests(scrape, MIXED + tally(3, 1, 1))] == [
        ("add", "pass", ()),
        ("sub", "fail", ("test/test_add_s8.c:12: Expected 1 Was 2",)),
        ("mul", "skip", ("test/test_add_s8.c:12: later",)),
    ]


def test_a_run_that_passes_has_no_problem_and_is_counted(scrape):
    check = scrape("unity", row("a") + row("b") + tally(2)).scrapers[0].check(ExpectedResults())
    assert (check.problems, check.compared, check.pass_reason) == ((), 2, "2 of 2 tests passed")


def test_a_failure_is_named_and_may_be_known(scrape):
    text = MIXED + tally(3, 1, 1)
    assert problems(scrape, text) == ("1 of 3 tests failed: sub",)
    assert problems(scrape, text, tests={"sub": "fail"}) == ()


def test_a_known_failure_that_passes_is_taken_off_the_list(scrape):
    (problem,) = problems(scrape, row("a") + tally(1), tests={"a": "fail"})
    assert problem == "a passes, and expect.tests says fail: take it off the list"


def test_output_of_a_failing_test_is_kept(scrape):
    text = "ERROR at pos 1\n" + row("good") + "ERROR at pos 4\n" + row("bad", "FAIL", "why")
    good, bad = read_tests(scrape, text + tally(2, 1))
    assert good.messages == ()
    assert bad.messages == ("test/test_add_s8.c:12: why", "ERROR at pos 4")


def test_a_message_of_a_test_is_not_its_result(scrape):
    text = row("a", "INFO", "seed 3") + row("a", "FAIL", "why") + tally(1, 1)
    (test,) = read_tests(scrape, text)
    assert test.messages[1:] == ("test/test_add_s8.c:12: seed 3",)


@pytest.mark.parametrize("file", ["C:\\my tests\\t.c", "../t.c", "./t.c", "/a/b/t.c"])
def test_a_path_may_have_any_form(scrape, file):
    (test,) = read_tests(scrape, row("a", "FAIL", "why", file) + tally(1, 1))
    assert test.messages == (f"{file}:12: why",)


@pytest.mark.parametrize("name", ["test_add(1, 2)", 'test_add("a:b")', "test_add"])
def test_a_name_may_have_arguments(scrape, name):
    assert states(scrape, row(name) + tally(1)) == [(name, "pass")]


@pytest.mark.parametrize("text", ["a.c:1:t:PASS (7 ms)", "a.c:1:t:FAIL: why (7 ms)",
                                  "TEST(g, t) PASS (7 ms)"])  # fmt: skip
def test_the_time_of_a_test_is_read(scrape, text):
    assert read_tests(scrape, f"{text}\n")[0].seconds == pytest.approx(0.007)


def test_colours_are_not_part_of_a_result(scrape):
    assert states(scrape, "a.c:1:t:\x1b[42mPASS\x1b[00m\r\n" + tally(1)) == [("t", "pass")]


@pytest.mark.parametrize("line", ["a.c:1:t:PASSED", "a.c:x:t:PASS", "1:t:PASS", "a.c:1:t: PASS",
                                  "PASS", "t:PASS", "TEST(a) PASS"])  # fmt: skip
def test_other_lines_are_not_results(scrape, line):
    assert states(scrape, f"{line}\n") == []


@pytest.mark.parametrize(
    "line",
    [
        "(t/a.c:12) test_add:{0}",  # for Eclipse
        '<SRCREF line=12 file="t/a.c">test_add</SRCREF> {0}',  # for IAR
        "file://t/a.c:12 test_add:{0}",  # for Qt Creator
        "[00:00:00.010,000] <inf> app: t/a.c:12:test_add:{0}",
        "<inf> app: t/a.c:12:test_add:{0}",
        "half: 0.5 t/a.c:12:test_add:{0}",  # the test printed no line feed
    ],
)
def test_a_result_has_the_form_of_the_build(scrape, line):
    assert problems(scrape, line.format("PASS") + "\n" + tally(1)) == ()
    text = line.format("FAIL: Expected 1") + "\n" + tally(1, 1)
    (test,) = read_tests(scrape, text)
    assert (test.name, test.state, test.messages) == (
        "test_add", "fail", ("t/a.c:12: Expected 1",),
    )  # fmt: skip


def test_the_tally_may_stand_behind_a_log_prefix(scrape):
    text = row("a") + tally(1)
    logged = "".join(f"[00:00:00.010,000] <inf> app: {line}\n" for line in text.splitlines())
    assert problems(scrape, logged) == ()


def test_tests_of_two_files_may_share_a_name(scrape):
    text = row("init", file="a.c") + row("init", "FAIL", "why", file="b.c") + tally(2, 1)
    assert states(scrape, text) == [("init", "pass"), ("init", "fail")]


@pytest.mark.parametrize(("failures", "state"), [((0, 0), "pass"), ((1, 0), "flaky"),
                                                 ((0, 1), "flaky"), ((1, 1), "fail")])  # fmt: skip
def test_a_repeated_test_has_the_result_of_all_its_runs(scrape, failures, state):
    ends = {0: "TEST(g, a) PASS\n", 1: "TEST(g, a)./t.c:12::FAIL: why\n"}
    text = "".join(HEADER + ends[failed] + tally(1, failed) for failed in failures)
    assert states(scrape, text) == [("g.a", state)]


# fixtures


def test_a_verbose_fixture_names_its_tests_by_group(scrape):
    text = (HEADER + "TEST(add, s8) PASS\nTEST(add, s16)./t.c:12::FAIL: Expected 1\n"
            "IGNORE_TEST(add, s32)\nTEST(add, f32)./t.c:15::IGNORE: later\n")  # fmt: skip
    assert states(scrape, text + tally(4, 1, 2)) == [
        ("add.s8", "pass"), ("add.s16", "fail"), ("add.s32", "skip"), ("add.f32", "skip"),
    ]  # fmt: skip
    assert problems(scrape, text + tally(4, 1, 2)) == ("1 of 4 tests failed: add.s16",)
    assert read_tests(scrape, text)[1].messages == ("./t.c:12: Expected 1",)


def test_a_test_of_a_verbose_fixture_may_print(scrape):
    text = HEADER + "TEST(g, a)hello\nto you PASS\n" + tally(1)
    assert states(scrape, text) == [("g.a", "pass")]
    assert problems(scrape, text) == ()


def test_a_test_of_a_verbose_fixture_that_never_ends_has_not_passed(scrape):
    assert "g.b began and did not end" in problems(
        scrape, HEADER + "TEST(g, a) PASS\nTEST(g, b)\n" + tally(2)
    )


def test_a_quiet_fixture_names_its_failures_only(scrape):
    text = HEADER + "..!.../t.c:12:TEST(g, b):FAIL: Expected 1\n.\n" + tally(5, 1, 1)
    assert states(scrape, text) == [
        ("g.b", "fail"), ("unnamed 1", "pass"), ("unnamed 2", "pass"), ("unnamed 3", "pass"),
        ("unnamed 4", "skip"),
    ]  # fmt: skip
    assert problems(scrape, text) == ("1 of 5 tests failed: g.b",)


@pytest.mark.parametrize("told", [tally(2), tally(4), tally(3, 0, 1), tally(3, 1)])
def test_the_tally_of_a_quiet_fixture_is_held_against_its_marks(scrape, told):
    assert problems(scrape, HEADER + "...\n" + tally(3)) == ()
    assert problems(scrape, HEADER + "...\n" + told) != ()


def test_dots_without_a_fixture_are_not_tests(scrape):
    assert problems(scrape, "...\n" + tally(3)) != ()


# tallies


@pytest.mark.parametrize("told", [tally(4, 1, 1), tally(2, 1, 1), tally(3, 0, 1), tally(3, 1, 0),
                                  tally(3, 2, 1)])  # fmt: skip
def test_a_tally_that_contradicts_the_rows_fails(scrape, told):
    found = problems(scrape, MIXED + told, tests={"sub": "fail"})
    assert any(problem.startswith("the tally on line 6 counts") for problem in found)


@pytest.mark.parametrize(("failures", "word"), [(0, "FAIL"), (1, "OK")])
def test_a_closing_line_that_contradicts_the_tally_fails(scrape, failures, word):
    text = row("a", "FAIL" if failures else "PASS") + tally(1, failures, word=word)
    known = {"a": "fail"} if failures else {}
    assert problems(scrape, text, tests=known) == (
        f"{word} is printed, and the tally counts {failures} failures",
    )


@pytest.mark.parametrize("word", ["OK", "FAIL"])
def test_a_second_closing_line_is_a_problem(scrape, word):
    (problem,) = problems(scrape, row("a") + tally(1) + f"{word}\n")
    assert problem == f"line 6 '{word}' came after the end"


def test_a_test_may_print_ok(scrape):
    assert problems(scrape, "OK\n" + row("a") + "FAIL\n" + row("b") + tally(2)) == ()


def test_a_tally_that_never_comes_fails(scrape):
    assert problems(scrape, row("a")) == ("the tally (N Tests N Failures N Ignored) never came",)


def test_a_tally_without_its_closing_line_fails(scrape):
    text = (row("a") + tally(1)).removesuffix("OK\n")
    assert problems(scrape, text) == ("after the last tally neither OK nor FAIL came",)


def test_a_run_of_no_test_fails(scrape):
    assert problems(scrape, tally(0)) == ("no test ran",)
    assert problems(scrape, row("a", "IGNORE") + tally(1, 0, 1)) == ("no test ran: 1 were skipped",)


def test_several_tallies_count_the_tests_between_them(scrape):
    assert problems(scrape, row("a") + tally(1) + row("b") + row("c") + tally(2)) == ()
    assert problems(scrape, row("a") + tally(1) + row("b")) == (
        "1 tests came after the last tally",
    )


def test_a_tally_right_after_another_is_a_problem(scrape):
    text = row("a") + "1 Tests 0 Failures 0 Ignored\n" * 2 + "OK\n"
    assert any("came before OK or FAIL" in problem for problem in problems(scrape, text))


def test_a_console_that_stops_anywhere_does_not_pass(scrape):
    text = MIXED.replace("FAIL: Expected 1 Was 2", "PASS") + tally(3, 0, 1)
    assert problems(scrape, text) == ()
    for end in range(len(text) - 2):  # the last line feed may be lost
        assert problems(scrape, text[:end]) != (), text[:end]


@given(st.lists(st.sampled_from(["PASS", "FAIL", "IGNORE"]), max_size=6), st.integers(0, 6),
       st.integers(0, 6), st.integers(0, 6))  # fmt: skip
def test_only_the_true_tally_passes(made, tests, failures, ignored):
    text = "".join(row(f"t{number}", state) for number, state in enumerate(made))
    console = Console([scraper("unity")])
    console.feed((text + tally(tests, failures, ignored)).encode())
    console.finish()
    true = (tests, failures, ignored) == (len(made), made.count("FAIL"), made.count("IGNORE"))
    good = true and not failures and "PASS" in made
    assert (console.scrapers[0].check(ExpectedResults()).problems == ()) is good


# when it ends, and what is found beside it


@pytest.mark.parametrize(("text", "over"), [
    (row("a"), False), (row("a") + tally(1).removesuffix("OK\n"), False),
    (row("a") + tally(1), True),
    (row("a") + tally(1) + row("b"), False), (row("a") + tally(1) + row("b") + tally(1), True),
    ("OK\n", False),
])  # fmt: skip
def test_a_run_has_ended_after_the_closing_line(text, over):
    reader = scraper("unity")
    Console([reader]).feed(text.encode())
    assert reader.ended is over


def test_no_message_belongs_to_a_test(scrape):
    text = "AllocateTensors() failed\n" + row("a") + "Invoke failed\n" + HEADER
    console = scrape("unity", text + "TEST(g, b)\nNode ADD (number 0f) failed to invoke "
                              "with status 1\n PASS\n" + tally(2))  # fmt: skip
    kinds = {finding.kind for finding in console.findings}
    assert kinds == {Kind.ALLOCATION_FAILED, Kind.INVOKE_FAILED}
    assert not console.scrapers[0].between_tests


def test_the_scraper_is_suggested_for_its_output():
    console = Console()
    console.feed((MIXED + tally(3, 1, 1)).encode())
    assert scrapers_that_fit(console.read_lines()) == {"unity": 3}


# failed tests that no scraper reads

FAILED = {
    "unity": "3 Tests 1 Failures 1 Ignored ",
    "ztest": "PROJECT EXECUTION FAILED",
    "unit_tests": "~~~SOME TESTS FAILED~~~",
}


@pytest.mark.parametrize("name", FAILED)
@pytest.mark.parametrize("readers", [[], ["/(?P<x>\\d+) Tests/"], ["hello_world"]])
def test_failed_tests_that_nothing_reads_are_a_finding_with_the_scraper(name, readers):
    console = Console([scraper(reader) for reader in readers])
    console.feed(f"{FAILED[name]}\r\n".encode())
    (finding,) = console.findings
    assert finding.kind is Kind.TESTS_FAILED
    assert f"--scraper {name}" in finding.message


@pytest.mark.parametrize("name", FAILED)
def test_failed_tests_that_are_read_are_not_a_finding(scrape, name):
    assert scrape(name, f"{FAILED[name]}\n").findings == []


@pytest.mark.parametrize("line", ["3 Tests 0 Failures 1 Ignored", "FAILED", "Failures: 3"])
def test_other_lines_are_not_failed_tests(line):
    console = Console()
    console.feed(f"{line}\n".encode())
    assert console.findings == []


def test_the_owner_of_lines_is_never_a_test():
    assert scraper("unity").owner == Scraper.owner == 0
