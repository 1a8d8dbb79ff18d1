"""Listed values, and ranges, in the forms in which applications print them (`expect.compare`)."""

from __future__ import annotations

import pytest

from harness.base.expected import ValueRule
from harness.uart import Console, scraper
from harness.uart.scrapers import Check, ExpectedResults

REGEX = r"/^v=(?P<v>\S+)(?: t=(?P<t>\S+))?/"


def check(text: str, *values, rules=None, **wanted) -> Check:
    console = Console([scraper(REGEX)])
    console.feed(text.encode())
    console.finish()
    return console.scrapers[0].check(ExpectedResults(values=values, rules=rules or {}, **wanted))


@pytest.mark.parametrize(
    ("printed", "expected", "rule", "told"),
    [
        ("0xAA", 170, {}, ""),
        ("0xaa", 171, {}, "0xaa, expected 171"),
        ("0xAA", "0xAA", {}, ""),
        ("0xAA", "170", {}, "'0xAA', expected '170'"),
        ("1.7e2", 170, {}, ""),
        ("93", 0.93, {"factor": 0.01}, ""),
        ("94", 0.93, {"factor": 0.01}, "94 * 0.01, expected 0.93"),
        ("93", 93, {"factor": 0.01}, "93 * 0.01, expected 93"),
        ("93%", 0.93, {"factor": 0.01}, "'93%', expected 0.93"),
        ("0x5D", 0.93, {"factor": 0.01}, ""),
        ("21500", 21.5, {"factor": 0.001}, ""),
        ("-7", 0.7, {"factor": -0.1}, ""),
        ("0.93", 0.9312, {}, "0.93, expected 0.9312"),
        ("0.93", 0.9312, {"rounded": True}, ""),
        ("0.93", 0.9267, {"rounded": True}, ""),
        ("0.93", 0.9399, {"rounded": True}, ""),
        ("0.93", 0.94, {"rounded": True},
         "0.93, expected 0.94, rounded or cut off to its digits"),
        ("0.93", 0.92, {"rounded": True}, "0.93, expected 0.92, rounded or cut off to its digits"),
        ("0.93", 0.9249, {"rounded": True},
         "0.93, expected 0.9249, rounded or cut off to its digits"),
        ("-0.93", -0.9399, {"rounded": True}, ""),
        ("-0.93", -0.9249, {"rounded": True},
         "-0.93, expected -0.9249, rounded or cut off to its digits"),
        ("0.93", -0.93, {"rounded": True},
         "0.93, expected -0.93, rounded or cut off to its digits"),
        ("0.00", -0.0099, {"rounded": True}, ""),
        ("12", 12.9, {"rounded": True}, ""),
        ("13", 12.5, {"rounded": True}, ""),
        ("0.125", 0.13, {"rounded": True},
         "0.125, expected 0.13, rounded or cut off to its digits"),
        ("1.23e-3", 0.0012349, {"rounded": True}, ""),
        ("93", 0.9312, {"rounded": True, "factor": 0.01}, ""),
        ("93", 0.9412, {"rounded": True, "factor": 0.01},
         "93 * 0.01, expected 0.9412, rounded or cut off to its digits"),
        ("0.4", 0.3, {"tolerance": 0.1}, ""),
        ("0.41", 0.3, {"tolerance": 0.1}, "0.41, expected 0.3"),
        ("nan", 0.3, {"tolerance": 0.1}, "'nan', expected 0.3"),
        ("idle", 0.3, {"rounded": True},
         "'idle', expected 0.3, rounded or cut off to its digits"),
    ],
)  # fmt: skip
def test_a_listed_value_compares_as_its_rule_says(printed, expected, rule, told):
    rules = {"v": ValueRule(**rule)} if rule else {}
    found = check(f"v={printed}\n", {"v": expected}, rules=rules)
    assert found.compared == 1
    reason = f"1 of 1 values differ: v of result 1 is {told}"
    assert found.problems == ((reason,) if told else ())


@pytest.mark.parametrize(
    ("printed", "rule", "told"),
    [
        ("20", {"min": 20, "max": 25}, ""),
        ("25.0", {"min": 20, "max": 25}, ""),
        ("25.1", {"min": 20, "max": 25}, "25.1, expected 20 to 25"),
        ("19", {"min": 20, "max": 25}, "19, expected 20 to 25"),
        ("19", {"max": 25}, ""),
        ("26", {"max": 25}, "26, expected at most 25"),
        ("1e9", {"min": 20}, ""),
        ("-1", {"min": 0}, "-1, expected at least 0"),
        ("0x18", {"min": 20, "max": 25}, ""),
        ("3", {"min": 0.3, "max": 0.3, "factor": 0.1}, ""),
        ("300", {"min": 20, "max": 25, "factor": 0.1}, "300 * 0.1, expected 20 to 25"),
        ("hot", {"min": 20, "max": 25}, "'hot', expected 20 to 25"),
        ("nan", {"min": 20, "max": 25}, "'nan', expected 20 to 25"),
        ("inf", {"min": 20}, "'inf', expected at least 20"),
    ],
)
def test_a_range_needs_no_listed_value(printed, rule, told):
    found = check(f"v=1 t={printed}\n", rules={"t": ValueRule(**rule)})
    assert found.compared == 1
    assert found.compared_with == ("the ranges of expect.compare",)
    assert found.problems == ((f"1 of 1 values differ: t of result 1 is {told}",) if told else ())


def test_every_result_that_has_the_value_must_lie_in_its_range():
    ranges = {"t": ValueRule(min=20, max=25)}
    right = check("v=1 t=21\nv=2\nv=3 t=22\n", rules=ranges)
    assert (right.compared, right.problems) == (2, ())
    wrong = check("v=1 t=21\nv=2\nv=3 t=26\n", rules=ranges)
    assert wrong.problems == ("1 of 2 values differ: t of result 3 is 26, expected 20 to 25",)


def test_a_range_stands_beside_listed_values():
    ranges = {"t": ValueRule(max=25)}
    found = check("v=1 t=21\nv=2 t=30\n", {"v": 1}, {"v": 2}, rules=ranges)
    assert (found.compared, found.mismatches) == (4, 1)
    assert found.compared_with == ("expect.values", "the ranges of expect.compare")
    short = check("v=1 t=21\n", {"v": 1}, {"v": 2}, rules=ranges)
    assert short.problems == ("1 results came, 2 are expected",)


def test_a_range_of_a_value_that_never_came_fails():
    found = check("v=1\n", {"v": 1}, rules={"t": ValueRule(max=25)})
    assert found.problems == ("no result has t, of which expect.compare has a range",)


def test_an_ignored_value_is_never_compared():
    listed = {"v": 1, "t": 100}
    assert check("v=1 t=99\n", listed).mismatches == 1
    found = check("v=1 t=99\n", listed, rules={"t": "ignored"})
    assert (found.compared, found.problems) == (1, ())
    assert check("v=2 t=100\n", listed, rules={"t": "ignored"}).mismatches == 1


def test_a_rule_replaces_the_tolerance_of_the_case():
    rules = {"t": ValueRule(tolerance=0.001)}
    found = check("v=1.4 t=1.4\n", {"v": 1, "t": 1}, rules=rules, tolerance=0.5)
    assert found.problems == ("1 of 2 values differ: t of result 1 is 1.4, expected 1",)
    rounded = {"t": ValueRule(rounded=True)}
    assert check("v=1.4 t=1.4\n", {"v": 1, "t": 1}, rules=rounded, tolerance=0.5).mismatches == 1


def test_a_pattern_of_scaled_numbers_is_named():
    lines = "".join(f"v={n}\n" for n in (10, 20, 40, 70))
    listed = [{"v": n / 100 + 0.05} for n in (10, 20, 40, 70)]
    (problem,) = check(lines, *listed, rules={"v": ValueRule(factor=0.01)}).problems
    assert "v is off by -0.05 everywhere" in problem


def test_a_named_scraper_has_ranges_too():
    console = Console([scraper("person_detection")])
    console.feed(b"person score: 113, no person score: -113\n")
    console.finish()
    wanted = ExpectedResults(rules={"person": ValueRule(min=100), "no_person": ValueRule(max=-120)})
    found = console.scrapers[0].check(wanted)
    assert (found.compared, found.mismatches) == (2, 1)
