"""Values out of text, and their comparison with the expected ones."""

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.base.errors import UsageError
from harness.uart import Console, scraper
from harness.uart.lines import integer, number
from harness.uart.scrapers import SCRAPERS, EndLine, ExpectedResults, Scraper, scrapers_that_fit


def judge(console: Console, **wanted):
    return console.scrapers[0].check(ExpectedResults(**wanted))


@given(st.floats(-100, 100), st.integers(-20, 20))
def test_mantissa_and_exponent_make_a_number(mantissa, exponent):
    assert number(f"{mantissa:.7f}*2^{exponent}") == float(f"{mantissa:.7f}") * 2.0**exponent


@pytest.mark.parametrize(
    "text", ["", "-", "nan", "inf", "1.2*3^4", "*float*", "%f", "9" * 5000, "1e999", "٣"]
)
def test_text_that_is_not_a_number_is_none(text):
    assert number(text) is None


@pytest.mark.parametrize("text", ["0", "-7", "9" * 20])
def test_an_integer_has_up_to_twenty_digits(text):
    assert integer(text) == int(text)


@pytest.mark.parametrize("text", [None, "", "x", "1.5", "9" * 21, "9" * 5000, "٣"])
def test_text_that_is_not_an_integer_is_none(text):
    assert integer(text) is None


@pytest.mark.parametrize("name", [*SCRAPERS, r"/(?P<x>\w+)=(?P<y>.*)/"])
@given(data=st.binary(max_size=300))
def test_no_scraper_trips_over_garbage(name, data):
    console = Console([scraper(name)])
    console.feed(data)
    console.finish()
    console.scrapers[0].check(ExpectedResults(values=({"x": 1.0, "y": "a"},)))
    console.scrapers[0].check(ExpectedResults(tests={"a": "fail"}))


@pytest.mark.parametrize("name", SCRAPERS)
def test_a_scraper_with_a_last_line_has_ended_after_it(name):
    kind = SCRAPERS[name]
    assert (kind.end is None) == (kind.ended is Scraper.ended)


@pytest.mark.parametrize(
    "name",
    [
        "nothing",
        "/score: (\\d+)/",
        "/(/",
        "/(?P<x>\\d*)/",
        "/(?P<x>a)(?=b)/",
        "/(?P<x>" + "a" * 9999 + ")/",
    ],
)
def test_a_scraper_that_cannot_fail_or_does_not_exist_is_refused(name):
    with pytest.raises(UsageError):
        scraper(name)


@pytest.mark.parametrize("name", ["", "/", "//", "/abc", "abc/", "Ztest"])
def test_a_scraper_is_a_name_or_a_regex(name):
    with pytest.raises(UsageError, match=f"no scraper '{name}'") as caught:
        scraper(name)
    assert caught.value.hint == f"one of {', '.join(SCRAPERS)}, or /a regex/"


def test_a_regex_of_one_character_reads_no_value():
    with pytest.raises(UsageError, match="'a' has no named group"):
        scraper("/a/")


def test_a_broken_regex_is_reported_with_its_error(capfd):
    with pytest.raises(UsageError):
        scraper("/(/")
    assert capfd.readouterr() == ("", "")


# a regex of the user's own


def test_a_regex_reads_text_and_numbers(scrape):
    console = scrape(r"/state=(?P<state>\w+)( n=(?P<n>\S+))?/", "state=idle n=12.0\nx\nstate=run\n")
    assert [dict(r.values) for r in console.scrapers[0].results] == [
        {"state": "idle", "n": "12.0"},
        {"state": "run"},
    ]
    assert console.findings == []
    told = judge(console, values=({"state": "idle", "n": 12}, {"state": "run"}))
    assert (told.compared, told.problems) == (3, ())


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"state": "run"}, "state is 'idle', expected 'run'"),
        ({"state": 1}, "state is 'idle', expected 1"),
        ({"n": "12"}, "n is '12.0', expected '12'"),
        ({"n": 13}, "n is 12.0, expected 13"),
        ({"m": 13}, "m is not there, expected 13"),
    ],
)
def test_a_different_value_is_reported(scrape, value, words):
    console = scrape(r"/state=(?P<state>\w+) n=(?P<n>\S+)/", "state=idle n=12.0\n")
    told = judge(console, values=(value,))
    assert told.problems == ("1 of 1 values differ",)
    beside = "" if "state" in value else " (state 'idle')"
    assert told.details == f"result 1{beside}: {words}"


@pytest.mark.parametrize("text", ["inf", "nan", "-Infinity", "9" * 400, "1e400"])
def test_a_number_that_is_not_finite_is_a_mismatch(scrape, text):
    console = scrape(r"/y=(?P<y>\S+)/", f"y={text}\n")
    assert judge(console, values=({"y": 1.0},)).mismatches == 1


def test_a_result_that_was_read_cannot_be_changed(scrape):
    (result,) = scrape(r"/x=(?P<x>\d+)/", "x=7\n").scrapers[0].results
    with pytest.raises(FrozenInstanceError):
        result.line = 9


def test_a_scraper_of_values_knows_neither_an_end_nor_tests(scrape):
    one = scrape("hello_world", "x_value: 0\n").scrapers[0]
    assert (one.ended, one.between_tests) == (False, False)


def test_an_invalid_regex_is_refused_with_the_reason():
    with pytest.raises(UsageError, match=r"is broken: missing \)"):
        scraper("/(?P<x>a/")


@pytest.mark.parametrize(("length", "good"), [(2000, True), (2001, False)])
def test_a_regex_may_have_two_thousand_characters(length, good):
    regex = "(?P<x>" + "a" * (length - 7) + ")"
    if good:
        scraper(f"/{regex}/")
    else:
        with pytest.raises(UsageError, match=f"too long: {length} characters"):
            scraper(f"/{regex}/")


def test_a_differing_text_is_cut_to_80_characters(scrape):
    console = scrape(r"/x=(?P<x>\w+)/", f"x={'a' * 100}\n")
    assert (
        judge(console, values=({"x": "b"},)).details == f"result 1: x is '{'a' * 80}', expected 'b'"
    )


def test_one_result_too_many_or_too_few_is_a_problem(scrape):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\ny=2\ny=3\n")
    assert judge(console, values=({"y": 1}, {"y": 2})).problems == (
        "3 results came, 2 are expected",
    )
    more = judge(console, values=tuple({"y": i} for i in (1, 2, 3, 4)))
    assert more.problems == ("3 results came, 4 are expected",)


def test_firmware_that_goes_on_for_ever_begins_the_list_again(scrape):
    good = scrape(r"/y=(?P<y>\S+)/", "y=1\ny=2\ny=1\ny=2\ny=1\n")
    assert judge(good, values=({"y": 1}, {"y": 2}), repeats=True).problems == ()
    bad = scrape(r"/y=(?P<y>\S+)/", "y=1\ny=2\ny=1\ny=3\n")
    told = judge(bad, values=({"y": 1}, {"y": 2}), repeats=True)
    assert told.problems == ("1 of 4 values differ",)
    assert "begin again" in told.hint


def test_differences_are_listed_up_to_twenty_and_counted(scrape):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n" * 100)
    told = judge(console, values=tuple({"y": 2.0} for _ in range(100)))
    assert told.mismatches == 100
    assert told.details.splitlines()[-1] == "and 80 more"


@pytest.mark.parametrize(("count", "more"), [(20, ()), (21, ("and 1 more",))])
def test_twenty_differences_are_listed_each(scrape, count, more):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n" * count)
    told = judge(console, values=tuple({"y": 2.0} for _ in range(count)))
    rows = told.details.splitlines()
    assert rows[:20] == [f"result {n}: y is 1, expected 2" for n in range(1, 21)]
    assert tuple(rows[20:]) == more


def test_an_unexpected_result_is_cut_to_80_characters(scrape):
    long = f"y=2 {'x' * 100}"
    told = judge(scrape(r"/y=(?P<y>\S+)/", f"y=1\n\n{long}\ny=3\n"), values=({"y": 1},))
    assert told.details == f"result 2, not expected: line 3 {long[:80]!r}"
    assert told.mismatches == 0


def test_missing_results_are_reported_before_differences(scrape):
    told = judge(scrape(r"/y=(?P<y>\S+)/", "y=1\n"), values=({"y": 2}, {"y": 2}))
    assert told.problems == ("1 results came, 2 are expected", "1 of 1 values differ")


def test_extra_results_are_reported_after_differences(scrape):
    told = judge(scrape(r"/y=(?P<y>\S+)/", "y=1\ny=1\n"), values=({"y": 2},))
    assert told.problems == ("1 of 1 values differ", "2 results came, 1 are expected")


@pytest.mark.parametrize(
    ("text", "repeats", "hint"),
    [
        ("y=1\ny=2\ny=9\n", True, True),  # a second round that differs
        ("y=1\ny=9\ny=9\n", True, False),  # the first round differs
        ("y=9\n", True, False),  # not even a round
        ("y=1\ny=2\ny=1\n", True, False),  # nothing differs
        ("y=1\ny=9\ny=9\n", False, False),  # no rounds
    ],
)
def test_a_later_round_that_differs_has_a_hint(scrape, text, repeats, hint):
    values = ({"y": 1}, {"y": 2})
    told = judge(scrape(r"/y=(?P<y>\S+)/", text), values=values, repeats=repeats)
    assert bool(told.hint) is hint


def test_a_rounded_number_equals_its_decimal(scrape):
    console = scrape("person_detection", "person score: 0.3, no person score: 1\n")
    assert judge(console, values=({"person": 0.1 + 0.2},)).problems == ()
    assert judge(console, values=({"person": 0.3000000001},)).problems


def test_a_line_that_cannot_be_read_is_shown_by_its_first_200_characters(scrape):
    text = "x_value: " + "1" * 300
    (finding,) = scrape("hello_world", f"hello\n{text}\n").findings
    assert finding.line == 2
    assert finding.message == f"line 2 {text[:200]!r}: half of a hello_world result"


def test_the_first_results_are_kept_of_a_flood(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.base.MOST_RESULTS", 2)
    one = scrape(r"/y=(?P<y>\S+)/", "y=1\ny=2\ny=3\n").scrapers[0]
    assert [dict(result.values) for result in one.results] == [{"y": "1"}, {"y": "2"}]


def test_a_scraper_must_implement_reading_a_line():
    with pytest.raises(TypeError, match="feed"):
        Scraper()


def test_matching_scrapers_are_listed_with_their_line_counts():
    console = Console()
    console.feed(b"x_value: 1.0, y_value: 2.0\n" * 3 + b"Testing a\n")
    assert scrapers_that_fit(console.read_lines()) == {"hello_world": 3, "unit_tests": 1}


def test_the_end_of_a_run_may_be_a_line_of_the_users_own():
    one = EndLine("all done")
    seen = []
    for text in ("hello", "so, all done.", "bye"):
        console = Console([one])
        console.feed(f"{text}\n".encode())
        seen.append(one.ended)
    assert seen == [False, True, True]
    assert one.results == []


def test_results_without_a_reference_are_a_problem(scrape):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n")
    told = judge(console)
    assert told.problems == ("the results were read but compared with nothing",)
    assert (told.compared, told.mismatches) == (0, 0)
    assert judge(console, tests={"a": "fail"}).problems


@pytest.mark.parametrize("tolerance", [0.5, None])
def test_a_number_may_be_off_by_the_tolerance_and_no_more(scrape, tolerance):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1.5\ny=1.6\n")
    told = judge(console, values=({"y": 1.0}, {"y": 1.0}), tolerance=tolerance)
    assert told.mismatches == (1 if tolerance else 2)


def test_a_flood_of_results_is_counted_and_fails(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.base.MOST_RESULTS", 3)
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n" * 5)
    told = judge(console, values=({"y": 1},), repeats=True)
    assert len(console.scrapers[0].results) == 3
    assert told.problems == ("2 results more than 3 came and were not checked",)
