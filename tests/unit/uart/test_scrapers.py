"""Values out of text, and the judgement of what they are held against."""

import math
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import UsageError
from harness.findings import Kind
from harness.uart import Console, scraper
from harness.uart.numbers import integer, number
from harness.uart.scrapers import SCRAPERS, Wanted


def judge(console: Console, **wanted):
    return console.scrapers[0].check(Wanted(**wanted))


@given(st.floats(-100, 100), st.integers(-20, 20))
def test_mantissa_and_exponent_make_a_number(mantissa, exponent):
    assert number(f"{mantissa:.7f}*2^{exponent}") == float(f"{mantissa:.7f}") * 2.0**exponent


@pytest.mark.parametrize(
    "text", ["", "-", "nan", "inf", "1.2*3^4", "*float*", "%f", "9" * 5000, "1e999", "٣"]
)
def test_what_is_no_number_is_none(text):
    assert number(text) is None


@pytest.mark.parametrize("text", ["0", "-7", "9" * 20])
def test_an_integer_has_up_to_twenty_digits(text):
    assert integer(text) == int(text)


@pytest.mark.parametrize("text", [None, "", "x", "1.5", "9" * 21, "9" * 5000, "٣"])
def test_what_is_no_integer_is_none(text):
    assert integer(text) is None


@pytest.mark.parametrize("name", [*SCRAPERS, r"/(?P<x>\w+)=(?P<y>.*)/"])
@given(data=st.binary(max_size=300))
def test_no_scraper_trips_over_garbage(name, data):
    console = Console([scraper(name)])
    console.feed(data)
    console.finish()
    console.scrapers[0].check(Wanted(values=({"x": 1.0, "y": "a"},)))
    console.scrapers[0].check(Wanted(tests={"a": "fail"}))


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
        ({"n": 13}, "n is '12.0', expected 13"),
        ({"m": 13}, "m is not there, expected 13"),
    ],
)
def test_a_text_or_number_that_is_another_is_told(scrape, value, words):
    console = scrape(r"/state=(?P<state>\w+) n=(?P<n>\S+)/", "state=idle n=12.0\n")
    told = judge(console, values=(value,))
    assert told.problems == ("1 of 1 values differ",)
    assert told.details == f"result 0: {words}"


@pytest.mark.parametrize("text", ["inf", "nan", "-Infinity", "9" * 400, "1e400"])
def test_a_number_without_bounds_is_no_number(scrape, text):
    console = scrape(r"/y=(?P<y>\S+)/", f"y={text}\n")
    assert judge(console, values=({"y": 1.0},)).mismatches == 1


def test_a_result_that_was_read_cannot_be_changed(scrape):
    (result,) = scrape(r"/x=(?P<x>\d+)/", "x=7\n").scrapers[0].results
    with pytest.raises(FrozenInstanceError):
        result.line = 9


def test_a_scraper_of_values_knows_neither_an_end_nor_tests(scrape):
    one = scrape("hello_world", "x_value: 0\n").scrapers[0]
    assert (one.ended, one.between_tests) == (False, False)


def test_a_regex_that_is_none_is_refused_with_the_reason():
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


def test_of_a_text_that_differs_eighty_characters_are_shown(scrape):
    console = scrape(r"/x=(?P<x>\w+)/", f"x={'a' * 100}\n")
    assert (
        judge(console, values=({"x": "b"},)).details == f"result 0: x is '{'a' * 80}', expected 'b'"
    )


def test_one_result_too_many_or_too_few_is_told(scrape):
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


def test_results_that_nothing_is_held_against_are_a_problem(scrape):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n")
    assert judge(console).problems == ("the results were read but held against nothing",)
    assert judge(console, tests={"a": "fail"}).problems


@pytest.mark.parametrize("tolerance", [0.5, None])
def test_a_number_may_be_off_by_the_tolerance_and_no_more(scrape, tolerance):
    console = scrape(r"/y=(?P<y>\S+)/", "y=1.5\ny=1.6\n")
    told = judge(console, values=({"y": 1.0}, {"y": 1.0}), tolerance=tolerance)
    assert told.mismatches == (1 if tolerance else 2)


def test_a_flood_of_results_is_counted_and_no_pass(scrape, monkeypatch):
    monkeypatch.setattr("harness.uart.scrapers.base.MOST_RESULTS", 3)
    console = scrape(r"/y=(?P<y>\S+)/", "y=1\n" * 5)
    told = judge(console, values=({"y": 1},), repeats=True)
    assert len(console.scrapers[0].results) == 3
    assert told.problems == ("2 results more than 3 came, held by nothing",)


# hello_world


def sine(xs, *, truncate: bool):
    return [math.sin(x) for x in xs]


def lines(places, cycle=20, y=math.sin) -> str:
    xs = [place % cycle / cycle * 2 * math.pi for place in places]
    return "".join(f"x_value: {x:.6f}, y_value: {y(x):.6f}\n\n" for x in xs)


@pytest.mark.parametrize("cycle", [20, 1000])
@pytest.mark.parametrize("start", [0, 7, 19])
def test_the_samples_own_sequence_passes_from_wherever_it_starts(scrape, start, cycle):
    console = scrape("hello_world", lines(range(start, start + 45), cycle))
    told = judge(console, predict=sine)
    assert (told.compared, told.mismatches, told.problems) == (45, 0, ())


@pytest.mark.parametrize(
    "places",
    [
        [0] * 20,  # zeros
        [0, 1, 1, 2],  # repeated
        [0, 1, 3, 4],  # left out
        [3, 2, 1, 0],  # backwards
        [*range(15), 0, 1],  # begun again too early
    ],
)
def test_another_sequence_of_x_fails_although_each_y_is_right(scrape, places):
    told = judge(scrape("hello_world", lines(places)), predict=sine)
    assert told.mismatches
    assert "not the sequence that the sample makes" in told.problems[0]


def test_a_y_that_the_model_does_not_make_fails(scrape):
    text = lines(range(20)).replace("y_value: 0.809017", "y_value: 0.809027", 1)
    told = judge(scrape("hello_world", text), predict=sine)
    assert told.problems == ("1 of 20 printed values are not what the model computes",)
    assert "the model says 0.809017" in told.details


def test_inputs_may_be_quantized_by_truncation_throughout_and_not_in_turns(scrape):
    def quantized(xs, *, truncate):
        return [math.floor(x * 8 + (0.0 if truncate else 0.5)) for x in xs]

    cut = scrape("hello_world", lines(range(20), y=lambda x: math.floor(x * 8)))
    told = judge(cut, predict=quantized)
    assert (told.problems, told.details) == ((), "inputs quantized by truncation")
    turns = iter([0.5] * 10 + [0.0] * 10)
    mixed = scrape("hello_world", lines(range(20), y=lambda x: math.floor(x * 8 + next(turns))))
    assert judge(mixed, predict=quantized).mismatches


def test_half_a_result_and_empty_numbers_are_findings(scrape):
    console = scrape("hello_world", "x_value: 1.0\nx_value: , y_value: \ny_value: 1, x_value: 2\n")
    assert [finding.kind for finding in console.findings] == [Kind.UNPARSED_VALUE] * 3
    assert "printf built without floats" in console.findings[1].message
    assert console.scrapers[0].results == []


def test_hello_world_against_nothing_asks_for_a_model(scrape):
    told = judge(scrape("hello_world", lines(range(3))))
    assert told.problems and "--model" in told.hint


def test_hello_world_holds_listed_values_and_the_sequence(scrape):
    console = scrape("hello_world", lines([0, 0]))
    values = ({"x": 0, "y": 0}, {"x": 0, "y": 0})
    told = judge(console, values=values)
    assert "not the sequence" in told.problems[0]
    assert told.compared == 4
    both = judge(console, values=values, predict=lambda x, truncate: [0.0] * len(x))
    assert both.compared == 6


# person detection


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("person score: 113, no person score: -113", 113),
        ("person score:72% no person score 28%", None),
        ("person score:72%, no person score: 28%", 72),
        ("person score: x, no person score: 1", None),
    ],
)
def test_person_scores_are_read_or_a_finding(scrape, text, person):
    console = scrape("person_detection", text + "\n")
    read = [result.values["person"] for result in console.scrapers[0].results]
    assert read == ([person] if person is not None else [])
    assert bool(console.findings) == (person is None)


@pytest.mark.parametrize(
    "text", ["x_value: 1.0\n", "x_value: 1.0 y_value: 2.0\n", "y_value: 2.0\n", "x_value: 1.0,\n"]
)
def test_half_of_a_hello_world_result_is_called_so(scrape, text):
    (finding,) = scrape("hello_world", text).findings
    assert finding.kind is Kind.UNPARSED_VALUE
    assert finding.message.endswith("half of a hello_world result")
