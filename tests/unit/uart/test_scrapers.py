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
    ("text", "value"),
    [
        ("12", 12),
        ("-0.5", -0.5),
        ("+1.5e-3", 0.0015),
        ("0xAA", 170),
        (" 0Xff ", 255),
        ("-0x10", -16),
        ("0xFFFFFFFFFFFFFFFF", 2.0**64),
    ],
)
def test_a_number_is_decimal_scientific_or_hexadecimal(text, value):
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "-", "nan", "inf", "1.2*3^4", "*float*", "%f", "9" * 5000, "1e999", "٣", "0x", "AA",
     "0xAA.5", "0x" + "f" * 17],
)  # fmt: skip
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
    name, _, rest = words.partition(" ")
    assert told.problems == (f"1 of 1 values differ: {name} of result 1 {rest}",)
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
    assert told.problems == ("1 of 4 values differ: y of result 4 is 3, expected 2",)
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
    assert told.problems == (
        "1 results came, 2 are expected",
        "1 of 1 values differ: y of result 1 is 1, expected 2",
    )


def test_extra_results_are_reported_after_differences(scrape):
    told = judge(scrape(r"/y=(?P<y>\S+)/", "y=1\ny=1\n"), values=({"y": 2},))
    assert told.problems == (
        "1 of 1 values differ: y of result 1 is 1, expected 2",
        "2 results came, 1 are expected",
    )


def results(*columns: str) -> str:
    """Console lines, one a result, from the texts of each column."""
    rows = zip(*(column.split() for column in columns), strict=True)
    return "".join(f"window: {' '.join(row)}\n" for row in rows)


LABELS = "idle shake tap shake idle shake"
SCORES = "0.744 0.999 0.682 1.000 0.955 0.581"
PATTERNS = {
    "not a number comes first": (
        (LABELS, "0.744 0.990 0.682 1.000 nan 0.581"),
        "2 of 12 values differ: p of result 5 is 'nan', expected 0.955"),
    "labels of a list with one more entry": (
        ("unknown idle shake idle unknown idle", SCORES),
        "6 of 12 values differ: label is off by one in the list: 'unknown' for 'idle', "
        "'idle' for 'shake', 'shake' for 'tap'; label of result 1 is 'unknown', expected 'idle'"),
    "two labels exchanged": (
        ("idle tap shake tap idle tap", SCORES),
        "4 of 12 values differ: label is 'tap' for 'shake', 'shake' for 'tap'; "
        "label of result 2 is 'tap', expected 'shake'"),
    "a label that is not always the same one": (
        ("idle tap shake tap idle shake", SCORES),
        "3 of 12 values differ: label of result 2 is 'tap', expected 'shake'"),
    "stale": (
        ("none idle shake tap shake idle", "0.000 0.744 0.999 0.682 1.000 0.955"),
        "12 of 12 values differ: each of label, p is that of the result before; "
        "label of result 1 is 'none', expected 'idle'"),
    "one name stale and another one wrong": (
        ("none idle shake tap shake idle", "0.744 0.999 0.682 1.000 0.955 0.590"),
        "7 of 12 values differ: label of result 1 is 'none', expected 'idle'"),
    "a factor": (
        (LABELS, "74.4 99.9 68.2 100.0 95.5 58.1"),
        "6 of 12 values differ: p is 100 times what is expected; p of result 1 is 74.4, "
        "expected 0.744"),
    "all zeros": (
        (LABELS, "0.000 0.000 0.000 0.000 0.000 0.000"),
        "6 of 12 values differ: p is 0 everywhere; p of result 1 is 0.000, expected 0.744"),
    "wrong from some result on": (
        (LABELS, "0.744 0.999 0.682 1.000 0.519 0.969"),
        "2 of 12 values differ: p is right before, and wrong from result 5 on; "
        "p of result 5 is 0.519, expected 0.955"),
    "wrong here and there": (
        (LABELS, "0.744 0.999 0.682 1.010 0.955 0.969"),
        "2 of 12 values differ: p of result 4 is 1.010, expected 1"),
}  # fmt: skip


@pytest.mark.parametrize(("printed", "words"), PATTERNS.values(), ids=PATTERNS)
def test_the_pattern_of_all_differences_is_named(scrape, printed, words):
    values = tuple(
        {"label": label, "p": float(p)}
        for label, p in zip(LABELS.split(), SCORES.split(), strict=True)
    )
    console = scrape(r"/window: (?P<label>\w+) (?P<p>\S+)/", results(*printed))
    assert judge(console, values=values).problems == (words,)


@pytest.mark.parametrize(
    ("printed", "expected", "words"),
    [
        ("5 253 120 136 7", (5, -3, 120, -120, 7),
         "y is 256 too large where it is negative: signed, read as unsigned; "),
        ("5 253 120 137 7", (5, -3, 120, -120, 7), ""),
        ("256 -512 1025 -2", (1, 254, 260, -257),
         "y has the bytes of each 16-bit number swapped; "),
        ("256 -512 1025 -3", (1, 254, 260, -257), ""),
        ("4 5 6", (3, 4, 5), "y is off by 1 everywhere; "),
        ("4 5", (3, 4), ""),  # any two are
        ("-4 -5 6", (4, 5, -6), "y has the opposite sign; "),
    ],
)  # fmt: skip
def test_patterns_of_whole_numbers(scrape, printed, expected, words):
    console = scrape(r"/y=(?P<y>\S+)/", "".join(f"y={one}\n" for one in printed.split()))
    (problem,) = judge(console, values=tuple({"y": one} for one in expected)).problems
    _, _, told = problem.partition(": ")
    assert told.partition("y of result")[0] == words


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
