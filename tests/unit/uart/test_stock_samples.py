"""The stock samples' results: hello_world's x and y, person detection's two scores."""

import math

import pytest

from harness.base.findings import Kind
from harness.uart import Console
from harness.uart.scrapers import Check, ExpectedResults
from harness.uart.scrapers.readings import Readings


def judge(console: Console, **wanted):
    return console.scrapers[0].check(ExpectedResults(**wanted))


def believed(readings: Readings) -> Check:
    """A comparison that finds every y right."""
    (x,), (y,) = readings.inputs, readings.outputs
    assert len(x.values) == len(y.values) == len(x.units) == len(readings.lines)
    return Check(len(y.values))


def lines(places, cycle=20, y=math.sin) -> str:
    xs = [place % cycle / cycle * 2 * math.pi for place in places]
    return "".join(f"x_value: {x:.6f}, y_value: {y(x):.6f}\n\n" for x in xs)


@pytest.mark.parametrize("cycle", [20, 1000])
@pytest.mark.parametrize("start", [0, 7, 19, 999])
def test_the_samples_own_sequence_passes_from_wherever_it_starts(scrape, start, cycle):
    console = scrape("hello_world", lines(range(start, start + 45), cycle))
    told = judge(console, compare=believed)
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
    told = judge(scrape("hello_world", lines(places)), compare=believed)
    assert told.mismatches
    assert "not the sequence that the sample makes" in told.problems[0]


@pytest.mark.parametrize(
    "text",
    [
        "x_value: 1.0\n",
        "x_value: 1.0 y_value: 2.0\n",
        "y_value: 2.0\n",
        "x_value: 1.0,\n",
        "x_value: 1.0, or y_value: 2.0\n",
    ],
)
def test_half_of_a_result_is_reported(scrape, text):
    (finding,) = scrape("hello_world", text).findings
    assert finding.kind is Kind.UNPARSED_VALUE
    assert finding.message.endswith("half of a hello_world result")


def test_half_a_result_and_empty_numbers_are_findings(scrape):
    console = scrape("hello_world", "x_value: 1.0\nx_value: , y_value: \ny_value: 1, x_value: 2\n")
    assert [finding.kind for finding in console.findings] == [Kind.UNPARSED_VALUE] * 3
    assert "printf built without floats" in console.findings[1].message
    assert console.scrapers[0].results == []


def test_hello_world_without_a_reference_hints_at_model(scrape):
    told = judge(scrape("hello_world", lines(range(3))))
    assert told.problems and "--model" in told.hint


def test_hello_world_holds_listed_values_and_the_sequence(scrape):
    console = scrape("hello_world", lines([0, 0]))
    values = ({"x": 0, "y": 0}, {"x": 0, "y": 0})
    told = judge(console, values=values)
    assert "not the sequence" in told.problems[0]
    assert told.compared == 4
    both = judge(console, values=values, compare=believed)
    assert both.compared == 6


@pytest.mark.parametrize("x", ["1e308", "-1e308", "7"])
def test_an_x_outside_the_samples_sequence_fails(scrape, x):
    told = judge(scrape("hello_world", f"x_value: {x}, y_value: 0\n"), values=({"y": 0},))
    assert told.mismatches == 1
    assert told.problems == ("1 of 1 printed x are not the sequence that the sample makes",)


def test_a_wrong_x_is_reported_with_the_samples_x(scrape):
    text = lines([0, 1, 2]).replace("x_value: 0.314159", "x_value: 0.324159")
    told = judge(scrape("hello_world", text), compare=believed)
    assert told.mismatches == 1
    assert told.details.splitlines()[-1] == (
        "result 2: x is 0.324159, the sample goes on at 0.314159"
    )


@pytest.mark.parametrize(
    ("text", "floats"),
    [
        ("x_value: , y_value: ", False),
        ("x_value: 1, y_value: ", True),
        ("x_value: , y_value: 1", True),
    ],
)
def test_only_two_empty_numbers_mean_printf_without_floats(scrape, text, floats):
    (finding,) = scrape("hello_world", text + "\n").findings
    assert ("printf" in finding.message) is not floats


def test_no_result_is_a_problem(scrape):
    assert judge(scrape("hello_world", "hello\n"), compare=believed).problems == (
        "no result was printed",
    )


def test_results_are_compared_with_the_model_and_with_the_list(scrape):
    console = scrape("hello_world", lines([0, 1, 2]))
    compare = Check(3, 1, ("1 of 3 printed values are not what the model computes",))
    told = judge(console, values=({"y": 9},) * 3, compare=lambda _: compare, tolerance=0.5)
    assert told.compared == 6
    assert told.mismatches == 3 + 1
    assert told.problems == (
        "1 of 3 printed values are not what the model computes",
        "3 of 3 values differ: y of result 1 is 0.000000, expected 9",
    )  # fmt: skip


# person detection


@pytest.mark.parametrize(
    ("text", "person"),
    [
        ("person score: 113, no person score: -113", "113"),
        ("person score:72% no person score 28%", None),
        ("person score:72%, no person score: 28%", "72"),
        ("person score: x, no person score: 1", None),
    ],
)
def test_person_scores_are_read_or_a_finding(scrape, text, person):
    console = scrape("person_detection", text + "\n")
    read = [result.values["person"] for result in console.scrapers[0].results]
    assert read == ([person] if person is not None else [])
    assert bool(console.findings) == (person is None)
